# SPDX-License-Identifier: Apache-2.0
"""Models on a GPU against themselves on the processor: builds digits, the sentence encoder and the decoder of the tests
for both, calls them with the same data and prints how results differ, whether repetitions give the same bits, what a
call takes, and what compute-sanitizer finds. Needs nvcc, a C compiler and a GPU; nothing is downloaded.

    python3 bench/cuda/run.py [--log FILE] [--work DIR] [--target-file cuda-sm90] [--only MODEL]
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = [*sorted((ROOT / "runtime" / "core").glob("*.c")), *sorted((ROOT / "runtime" / "cuda").glob("*.c"))]


@dataclass(frozen=True)
class Model:
    """name: of the model; options: of its builds; calls: timed; brief: those under the sanitizer."""

    name: str
    source: Path
    options: tuple[str, ...]
    calls: tuple[str, ...]
    brief: tuple[str, ...]


def models(work: Path) -> list[Model]:
    weights = work / "minilm.safetensors"
    below = "--below"
    decoder = (below, "ids=96", "decoder_model_prefill,length=32", "decoder_model_decode,past=32",
               "decoder_model_decode,past=33")
    return [
        Model("digits", ROOT / "examples/digits/model.c", ("--specialize", "batch=1,32"),
              ("digits,batch=1", "digits,batch=32", "digits,batch=33"), ("digits,batch=1", "digits,batch=7")),
        Model("decoder_model", ROOT / "tests/decoder/model.c", (), decoder, decoder),
        Model("minilm", ROOT / "examples/minilm/model.c",
              ("-DLAYERS=6", "-DHIDDEN=384", "-DHEADS=12", f'-DWEIGHTS="{weights}"', "--specialize", "batch=1",
               "--specialize", "seq=128"),
              (below, "ids=30522", "minilm,batch=1,seq=128", "minilm,batch=8,seq=128", "minilm,batch=1,seq=33"),
              (below, "ids=30522", "minilm,batch=1,seq=128", "minilm,batch=2,seq=5")),
    ]


class Log:
    """Everything that is said goes to the log, too."""

    def __init__(self, path: Path | None):
        self.path, self.lines = path, []

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.lines.append(text)
        if self.path:
            self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")


def run(command: list, **more) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_line(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not there"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[0]


def prepare(work: Path, cc: str) -> Path:
    """compare, and the weights that are made."""
    compare = work / "compare"
    run([cc, "-std=gnu11", "-O2", f"-I{ROOT / 'runtime/include'}", ROOT / "bench/cuda/compare.c", *RUNTIME, "-rdynamic",
         "-o", compare, "-ldl", "-lm"])
    if not (work / "minilm.safetensors").exists():
        run([cc, "-O2", ROOT / "examples/minilm/make_weights.c", "-o", work / "make_weights", "-lm"])
        run([work / "make_weights", work / "minilm.safetensors"])
    return compare


def build(model: Model, work: Path, cc: str, args: argparse.Namespace) -> tuple[Path, Path]:
    """The model as libraries for the processor and for the device."""
    out = []
    for name, more in (("cpu", []), ("cuda", ["--target", "cuda", "--target-file", args.target_file])):
        folder = work / model.name / name
        run([sys.executable, ROOT / "generator/tensor-compile", "build", model.source, "-o", folder,
             "--cache", work / "cache", "--cc", cc, "--host-cc", cc, *model.options, *more])
        out.append(folder / f"{name}.so")
        run([cc, "-shared", folder / f"{model.source.stem}.o", "-o", out[-1]])
    return out[0], out[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, help="also write what is printed there")
    parser.add_argument("--work", type=Path, help="where to build (default: a temporary folder)")
    parser.add_argument("--target-file", default="cuda-sm90")
    parser.add_argument("--only", default="", help="this model alone")
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    cc = os.environ.get("CC", "cc")
    log = Log(args.log)
    good = True
    with tempfile.TemporaryDirectory() as place:
        work = (args.work or Path(place)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        log.say(f"device: {first_line(['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader'])}; "
                f"target {args.target_file}; {first_line([cc, '--version'])}")
        compare = prepare(work, cc)
        sanitizer = shutil.which("compute-sanitizer")
        for model in models(work):
            if args.only not in ("", model.name):
                continue
            cpu, cuda = build(model, work, cc, args)
            log.say(f"\n{model.name}")
            done = subprocess.run([compare, cpu, cuda, model.name, "--repeat", str(args.repeat), *model.calls],
                                  capture_output=True, text=True, check=False)
            good &= done.returncode == 0
            log.say((done.stdout + done.stderr).rstrip())
            if done.returncode:
                log.say(f"exit {done.returncode}")
            for tool in ("memcheck", "racecheck", "initcheck") if sanitizer else ():
                done = subprocess.run([sanitizer, "--tool", tool, "--error-exitcode", "9", compare, cpu, cuda,
                                       model.name, *model.brief], capture_output=True, text=True, check=False)
                found = [line for line in done.stdout.splitlines() if "SUMMARY" in line] \
                    or [done.stdout[-400:] + done.stderr[-400:]]
                good &= done.returncode == 0
                log.say(f"compute-sanitizer {tool}: {'; '.join(line.replace('=', '').strip() for line in found)}")
            if not sanitizer:
                log.say("compute-sanitizer is not there")
    log.say(f"\n{'all results within the bound, the same from run to run' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
