# SPDX-License-Identifier: Apache-2.0
"""Models on a GPU against themselves on the processor: builds the examples and the decoder of the tests for both, calls
them with the same data and prints how results differ, whether repetitions give the same bits, what a call takes, and
what compute-sanitizer finds in the smaller ones. Besides `check`, and every family of tests/ops against the
interpreter, bit for bit. Needs nvcc, a C compiler and a GPU; nothing is downloaded, but seeded weights are made (1 GB).

    python3 bench/cuda/run.py [--log FILE] [--work DIR] [--target-file cuda-sm90] [--only PART,…] [--dtypes DTYPE,…]
        [--precisions PRECISION,…]

A part: the name of a model, `check`, `families` or `sanitizers`; dtypes: of the families, f32,f64,f16,bf16, which
have the interpreter's bits; precisions: tf32,bf16,f16, of those that have products, which have the same bits in each
call.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]
TOOL = [sys.executable, str(ROOT / "generator/tensor-compile")]
BATCHED = [sys.executable, str(ROOT / "tests/cuda/batching.py")]   # the same, several kernels a unit
SANITIZERS = ("memcheck", "racecheck", "initcheck")
# Families whose kernels are of every kind: points, rows, tiles, teams, loops; all dtypes.
PRODUCTS = ("attention", "attention_onnx", "contractions", "convolutions", "einsum", "fusion", "recurrent")
SANITIZED = ("contractions", "control", "dtypes", "indexing", "ordering", "reductions", "recurrent")
RUNTIME = [*sorted((ROOT / "runtime" / "core").glob("*.c")), *sorted((ROOT / "runtime" / "cuda").glob("*.c")),
           ROOT / "runtime" / "hosted" / "file.c", ROOT / "runtime" / "hosted" / "sha256.c"]
# Of the programs of the tests.
os.environ.update(TC_SOURCE_ROOT=str(ROOT), PYTHONPATH=f"{ROOT / 'generator'}:{ROOT / 'tests'}")


@dataclass(frozen=True)
class Model:
    """name: of the model; options: of its builds; calls: timed; brief: those under the sanitizer, none where there are
    none; weights: the example's, made by its make_weights.c and given as WEIGHTS."""

    name: str
    source: Path
    options: tuple[str, ...]
    calls: tuple[str, ...]
    brief: tuple[str, ...]
    weights: bool = True

    def prepare(self, work: Path, cc: str) -> tuple[str, ...]:
        """The options with the weights, which are made where they are not there yet."""
        if not self.weights:
            return self.options
        path = work / f"{self.name}.safetensors"
        if not path.exists():
            make_weights(path, cc, self.source.parent / "make_weights.c")
        return (f'-DWEIGHTS="{path}"', *self.options)


def models() -> list[Model]:
    ids, tokens = ("--below", "ids=30522"), ("--below", "ids=50257")
    decoder = ("--below", "ids=96", "decoder_model_prefill,length=32", "decoder_model_decode,past=32",
               "decoder_model_decode,past=33")
    example = ROOT / "examples"
    return [
        Model("digits", example / "digits/model.c", ("--specialize", "batch=1,32"),
              ("digits,batch=1", "digits,batch=32", "digits,batch=33"), ("digits,batch=1", "digits,batch=7"), False),
        Model("decoder_model", ROOT / "tests/decoder/model.c", (), decoder, decoder, False),
        Model("minilm", example / "minilm/model.c",
              ("-DLAYERS=6", "-DHIDDEN=384", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128"),
              (*ids, "minilm,batch=1,seq=128", "minilm,batch=8,seq=128", "minilm,batch=1,seq=33"),
              (*ids, "minilm,batch=2,seq=5")),
        Model("resnet50", example / "resnet50/model.c", ("--specialize", "batch=1"),
              ("resnet50,batch=1", "resnet50,batch=3"), ()),
        Model("mobilenet_v2", example / "mobilenet_v2/model.c", ("--specialize", "batch=1"),
              ("mobilenet_v2,batch=1", "mobilenet_v2,batch=3"), ()),
        Model("gpt2", example / "gpt2/model.c", (),
              (*tokens, "gpt2_prefill,length=128", "gpt2_decode,past=128", "gpt2_decode,past=129"), ()),
        Model("unet", example / "unet/model.c", (),
              ("unet,height=64,width=64", "unet,height=96,width=160"), ("unet,height=16,width=16",)),
        Model("vad", example / "lstm-vad/model.c", (), ("vad", "vad"), ("vad",)),
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


@contextmanager
def workplace(asked: Path | None) -> Iterator[Path]:
    """The folder that is asked for, made where it is not there; without one a temporary one."""
    with tempfile.TemporaryDirectory() as place:
        work = (asked or Path(place)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        yield work


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


def device() -> str:
    return first_line(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])


def make_weights(path: Path, cc: str, *words: Path | str) -> None:
    """A file of seeded ones; words: the source of the program that writes it, and its options."""
    maker = path.with_name(f"make_{path.stem}")
    run([cc, "-O2", *words, "-o", maker, "-lm"])
    run([maker, path])


def library(source: Path, work: Path, folder: Path, cc: str, *options: Path | str, tool: list[str] = TOOL) -> Path:
    """A model, built in the folder, as a library."""
    run([*tool, "build", source, "-o", folder, "--cache", work / "cache", "--cc", cc, "--host-cc", cc, *options])
    run([cc, "-shared", folder / f"{source.stem}.o", "-o", folder / "model.so"])
    return folder / "model.so"


def best_isa() -> str:
    """Of this processor."""
    return "avx512" if "avx512bw" in Path("/proc/cpuinfo").read_text(encoding="utf-8") else "avx2"


def comparison(work: Path, cc: str) -> Path:
    compare = work / "compare"
    run([cc, "-std=gnu11", "-O2", f"-I{ROOT / 'runtime/include'}", ROOT / "bench/cuda/compare.c", *RUNTIME, "-rdynamic",
         "-o", compare, "-ldl", "-lm"])
    return compare


def build(model: Model, work: Path, cc: str, target_file: str) -> tuple[Path, Path]:
    """The model as libraries for the processor and for the device."""
    options, folder = model.prepare(work, cc), work / model.name
    return (library(model.source, work, folder / "cpu", cc, *options, "--isa", best_isa()),
            library(model.source, work, folder / "cuda", cc, *options, "--target", "cuda", "--target-file",
                    target_file))


def against_processor(model: Model, libraries: tuple[Path, Path], compare: Path, log: Log, repeat: int) -> bool:
    log.say(f"\n{model.name}")
    words = [compare, *libraries, model.name]
    done = subprocess.run([*words, "--repeat", str(repeat), *model.calls], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    equal = [line for line in lines if ", 0 of " in line]
    log.say("\n".join([f"{len(equal)} outputs and states with the processor's bits",
                       *(line for line in lines if line not in equal)]))
    if done.returncode:
        log.say(f"exit {done.returncode}")
    return done.returncode == 0


def sanitized(model: Model, libraries: tuple[Path, Path], compare: Path, log: Log) -> bool:
    good = True
    for tool in SANITIZERS if model.brief else ():
        words = [*sanitizer(tool), compare, *libraries, model.name, *model.brief]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        found = summary(done.stdout.splitlines()) or done.stdout[-400:] + done.stderr[-400:]
        good &= done.returncode == 0
        log.say(f"{model.name}, compute-sanitizer {tool}: {found}")
    return good


def sanitizer(tool: str) -> list[str]:
    return ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]


def summary(lines: Iterable[str]) -> str:
    """Of what compute-sanitizer printed, what it counted; empty where it did not end."""
    return "; ".join(line.replace("=", "").strip() for line in lines if "SUMMARY" in line)


class Families:
    """Those of tests/ops on the device, by tests/cuda/test_families.py."""

    def __init__(self, work: Path, log: Log, target_file: str):
        self.log, self.device = log, ("--device", target_file, "nvcc")
        slots = work / "slots"
        slots.unlink(missing_ok=True)
        os.mkfifo(slots)
        self.slots = os.open(slots, os.O_RDWR)   # a jobserver's, which all builds share
        os.write(self.slots, b"+" * len(os.sched_getaffinity(0)))
        self.env = {**os.environ, "MAKEFLAGS": f"-j --jobserver-auth=fifo:{slots}",
                    "TC_TESTS_CACHE": str(work / "cache")}

    def run(self, dtypes: set[str], precisions: list[str]) -> bool:
        """In f32 all of them at all sizes, and at a few in every other float that they are tested in; of each what
        takes longest first. With a precision those that have products, whose calls are repeated."""
        self.log.say("\nfamilies of tests/ops: the interpreter's bits; where indices are outside, the status")
        found = []
        for path in (ROOT / "tests/ops/families").glob("*.py"):
            floats = re.search(r"^FLOATS\b.*", path.read_text(encoding="utf-8"), re.MULTILINE)
            others = re.findall(r'"(f64|f16|bf16)"', floats[0] if floats else "")
            size = (ROOT / f"tests/ops/{path.stem}.c").stat().st_size
            found += [(0, -size, path.stem)] if "f32" in dtypes else []
            found += [(1, -size, f"{path.stem}:{name}") for name in others if name in dtypes]
            found += [(2, -size, f"{path.stem}@{name}") for name in precisions if name and path.stem in PRODUCTS]
        names = [name for _, _, name in sorted(found)]
        return self.all([(names.pop(),)]) & self.all([(name,) for name in names])   # what all need is built once

    def sanitized(self) -> bool:
        return self.all([(name, *sanitizer(tool)) for tool in SANITIZERS[:2] for name in SANITIZED])

    def all(self, calls: list[tuple[str, ...]]) -> bool:
        """In the order in which they end."""
        good, begun = True, time.time()
        with ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 2) as pool:
            for call in as_completed([pool.submit(self.one, *call) for call in calls]):
                text, right = call.result()
                self.log.say(text)
                good &= right
        self.log.say(f"# {len(calls)} in {time.time() - begun:.0f} s")
        return good

    def one(self, name: str, *wrapper: str) -> tuple[str, bool]:
        done = subprocess.run([sys.executable, ROOT / "tests/cuda/test_families.py", name, *self.device, *wrapper],
                              env=self.env, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        wrong = [i for i, line in enumerate(lines) if line.startswith("not ok")]
        calls = sum(int(line.split()[1]) for line in lines if re.fullmatch(r"# \d+ calls, .*", line))
        right = sum(line.startswith("ok ") for line in lines)
        title = " ".join([name, *wrapper[2:3]])
        text = f"family {title}: {right} of {right + len(wrong)} cases, {calls} calls"
        for i in wrong[:4]:
            text += "\n  " + "\n  ".join(lines[i:i + 6])
        if not lines or (done.returncode and not wrong):
            text += f"\n  exit {done.returncode}: {done.stderr[-600:]}"
        return text, done.returncode == 0


def checks(work: Path, log: Log, target_file: str) -> bool:
    log.say("\ncheck --target cuda")
    good = True
    for source, more in ((ROOT / "examples/digits/model.c", ("--with-reference", "--weights", "external")),
                         (ROOT / "tests/decoder/model.c", ("--with-reference",))):
        done = subprocess.run([*TOOL, "check", str(source), "--target", "cuda", "--target-file", target_file, "--cache",
                               str(work / "cache"), *more], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        good &= done.returncode == 0
        log.say(f"{source.relative_to(ROOT)} {' '.join(more)}: exit {done.returncode}, {len(lines)} lines, "
                f"{sum('bits of the interpreter' in line for line in lines)} of bits")
        if done.returncode:
            log.say(done.stdout + done.stderr)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, help="also write what is printed there")
    parser.add_argument("--work", type=Path, help="where to build (default: a temporary folder)")
    parser.add_argument("--target-file", default="cuda-sm90")
    parser.add_argument("--only", default="", help="these parts alone, e.g. digits,families")
    parser.add_argument("--dtypes", default="f32,f64,f16,bf16")
    parser.add_argument("--precisions", default="tf32,bf16,f16")
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    cc = os.environ.get("CC", "cc")
    log = Log(args.log)
    only = set(filter(None, args.only.split(",")))
    good = True
    with workplace(args.work) as work:
        log.say(f"device: {device()}; target {args.target_file}; {first_line([cc, '--version'])}")
        compare = comparison(work, cc)
        chosen = [model for model in models() if not only or model.name in only]
        with ThreadPoolExecutor(8) as pool:  # all of it before the first clock
            built = list(pool.map(lambda model: build(model, work, cc, args.target_file), chosen))
        for model, libraries in zip(chosen, built):
            good &= against_processor(model, libraries, compare, log, args.repeat)
        if not only or "check" in only:
            good &= checks(work, log, args.target_file)
        family = Families(work, log, args.target_file)
        if not only or "families" in only:
            good &= family.run(set(args.dtypes.split(",")), args.precisions.split(","))
        if not only or "sanitizers" in only:
            log.say("")
            for model, libraries in zip(chosen, built):
                good &= sanitized(model, libraries, compare, log)
            good &= family.sanitized()
    log.say(f"\n{'all results right, the same from run to run' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
