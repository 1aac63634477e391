# SPDX-License-Identifier: Apache-2.0
"""What a GPU without memory, without code, without a driver, or lost, ends in; what BERT-base's start takes, and what
its calls allocate and ask of the processor (status.c). Needs nvcc, a C compiler and a GPU.

    python3 bench/cuda/status.py [--log FILE] [--work DIR]
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run import ROOT, RUNTIME, TOOL, Log, best_isa, comparison, device, library, make_weights, run, workplace

SOURCE = ROOT / "examples/minilm/model.c"
WEIGHTS = ROOT / "bench/cuda/models/make_weights.c"
BERT = ("-DLAYERS=12", "-DHIDDEN=768", "-DHEADS=12")
SMALL = ("-DLAYERS=1", "-DHIDDEN=768", "-DHEADS=12")
FIXED = ("--specialize", "batch=1", "--specialize", "seq=128")
LATER = "sm_120"   # has no code for chips before it


def program(work: Path, cc: str, name: str, *options: str) -> Path:
    """status.c with the model built so."""
    folder = work / name
    run([*TOOL, "build", SOURCE, "-o", folder, "--cache", work / "cache", "--cc", cc, "--host-cc", cc,
         f'-DWEIGHTS="{work}/bert.safetensors"', "--target", "cuda", *FIXED, *options])
    run([cc, "-std=gnu11", "-O2", f"-I{folder}", f"-I{ROOT}", f"-I{ROOT / 'runtime/include'}",
         ROOT / "bench/cuda/status.c", folder / "model.o", *RUNTIME, "-o", folder / "status", "-ldl", "-lm"])
    return folder / "status"


def later(work: Path) -> Path:
    """A target file for chips that this one is not."""
    text = (ROOT / "targets/cuda-sm80.toml").read_text(encoding="utf-8")
    path = work / "later.toml"
    path.write_text(text.replace('"sm_80"', f'"{LATER}"').replace('"cuda-sm80"', '"later"'), encoding="utf-8")
    return path


def drivers(work: Path, cc: str) -> list[tuple[str, dict[str, str]]]:
    """Environments in which there is none to open, and what each is."""
    found = []
    for name, what in (("empty", "a driver's library that is none"), ("old", "a driver without most functions")):
        (work / name).mkdir(exist_ok=True)
        found.append((what, {"LD_LIBRARY_PATH": str(work / name)}))
    (work / "empty/libcuda.so.1").touch()
    (work / "old.c").write_text("int cuInit(unsigned flags) { return (int)flags; }\n", encoding="utf-8")
    run([cc, "-shared", "-fPIC", work / "old.c", "-o", work / "old/libcuda.so.1"])
    for stub in sorted(Path("/usr/local/cuda").glob("**/stubs/libcuda.so"))[:1]:
        (work / "stub").mkdir(exist_ok=True)
        (work / "stub/libcuda.so.1").unlink(missing_ok=True)
        (work / "stub/libcuda.so.1").symlink_to(stub)
        found.append(("the toolkit's stub", {"LD_LIBRARY_PATH": str(work / "stub")}))
    return [*found, ("no GPU that may be seen", {"CUDA_VISIBLE_DEVICES": ""})]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--work", type=Path)
    args = parser.parse_args()
    cc, log, good = os.environ.get("CC", "cc"), Log(args.log), True

    def scenario(path: Path, name: str, what: str, **env: str) -> None:
        nonlocal good
        done = subprocess.run([path, name], env={**os.environ, **env}, capture_output=True, text=True, check=False,
                              timeout=100)
        good &= done.returncode == 0
        log.say(f"\n{what}: exit {done.returncode}\n{done.stdout}{done.stderr}".rstrip())

    with workplace(args.work) as work:
        log.say(f"device: {device()}")
        make_weights(work / "bert.safetensors", cc, WEIGHTS, "-DBERT")
        weights = f'-DWEIGHTS="{work}/bert.safetensors"'
        with ThreadPoolExecutor(5) as pool:
            bf16 = pool.submit(program, work, cc, "bf16", *BERT, "--target-file", "cuda-sm90", "--precision", "bf16")
            exact = pool.submit(program, work, cc, "exact", *BERT, "--target-file", "cuda-sm90")
            foreign = pool.submit(program, work, cc, "foreign", *SMALL, "--target-file", str(later(work)))
            portable = pool.submit(library, SOURCE, work, work / "sm80", cc, weights, *SMALL, *FIXED, "--target",
                                   "cuda", "--target-file", "cuda-sm80")
            processor = pool.submit(library, SOURCE, work, work / "cpu", cc, weights, *SMALL, *FIXED, "--isa",
                                    best_isa())
            compare = comparison(work, cc)
        for what, env in drivers(work, cc):
            scenario(foreign.result(), "absent", what, **env)
        scenario(foreign.result(), "foreign", f"one layer with code for {LATER} alone")
        for name, path in (("bf16", bf16.result()), ("f32, exact", exact.result())):
            for one in ("start", "start", "calls", "memory", "lost"):
                scenario(path, one, f"BERT-base, {name}, {one}")
        done = subprocess.run([compare, processor.result(), portable.result(), "minilm", "--below", "ids=30522",
                               "minilm,batch=1,seq=128"], capture_output=True, text=True, check=False)
        good &= done.returncode == 0 and ", 0 of " in done.stdout
        log.say(f"\none layer with portable code of sm_80, translated by the driver: exit {done.returncode}\n"
                f"{done.stdout}{done.stderr}".rstrip())
    log.say(f"\n{'all as it should be' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
