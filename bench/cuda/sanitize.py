# SPDX-License-Identifier: Apache-2.0
"""What compute-sanitizer finds in small models that have every form of kernel, in every precision; results are compared
with the processor's. Needs nvcc, a C compiler and a GPU.

    python3 bench/cuda/sanitize.py [--log FILE] [--work DIR] [--precision bf16,f16,tf32,f32] [--only NAME,…]
        [--tools racecheck,…] [--each-launch]

--each-launch: racecheck runs in a process of its own for each launch (one of those of a kernel with the same grid), as
it takes minutes for some whole models in f32; ncu tells what is launched. Not for models with clusters: in blocks that
read each other's shared memory racecheck of 2025.3.1 itself fails (CUDA_ERROR_ILLEGAL_ADDRESS) once launches are
chosen.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run import BATCHED, ROOT, Log, best_isa, comparison, device, library, make_weights, sanitizer, summary, workplace
from speed import profile

MODELS = ROOT / "bench" / "cuda" / "models"
TOOLS = ("memcheck", "initcheck", "synccheck", "racecheck")   # the last takes longest
TOLERANCE = {"f32": "1e-4", "tf32": "0.02", "bf16": "0.08", "f16": "0.02"}


@dataclass(frozen=True)
class Small:
    """model: its name, where that is another; weights: the source of the program that writes them, and its options;
    calls: with what stands before them."""

    name: str
    source: Path
    options: tuple[str, ...]
    calls: tuple[str, ...]
    weights: tuple[Path | str, ...] = ()
    model: str = ""


def models() -> list[Small]:
    example, tests = ROOT / "examples", ROOT / "tests"
    llama = ("-DLAYERS=1", "-DVOCABULARY=512")
    return [
        Small("attend", tests / "cuda/attend.c", ("--specialize", "length=130"),
              ("attend,length=130", "attend,length=33")),
        Small("attend_group", tests / "cuda/attend.c", ("-DGROUP", "--specialize", "length=200"),
              ("attend,length=200", "attend,length=70"), (), "attend"),
        Small("decoder_model", tests / "decoder/model.c", (),
              ("--below", "ids=96", "decoder_model_prefill,length=32", "decoder_model_decode,past=32")),
        Small("mlp", MODELS / "mlp.c", ("--specialize", "batch=1,64"), ("mlp,batch=1", "mlp,batch=64", "mlp,batch=5"),
              (MODELS / "make_weights.c", "-DMLP")),
        Small("gated", MODELS / "gated.c", ("--specialize", "rows=8"), ("gated,rows=8", "gated,rows=3"),
              (MODELS / "make_weights.c", "-DGATED")),
        Small("llama", MODELS / "llama.c", (*llama, "--specialize", "past=300"),
              ("--below", "ids=512", "llama,past=300", "llama,past=5"), (MODELS / "make_weights.c", "-DLLAMA", *llama)),
        Small("minilm", example / "minilm/model.c",
              ("-DLAYERS=1", "-DHIDDEN=384", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128"),
              ("--below", "ids=30522", "minilm,batch=1,seq=128", "minilm,batch=2,seq=5"),
              (example / "minilm/make_weights.c",)),
        Small("minilm_wide", example / "minilm/model.c",
              ("-DLAYERS=1", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128"),
              ("--below", "ids=30522", "minilm,batch=1,seq=128", "minilm,batch=3,seq=9"),
              (MODELS / "make_weights.c", "-DBERT"), "minilm"),
        Small("minilm_rows", example / "minilm/model.c",
              ("-DLAYERS=1", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "batch=32", "--specialize", "seq=128"),
              ("--below", "ids=30522", "minilm,batch=32,seq=128"),
              (MODELS / "make_weights.c", "-DBERT"), "minilm"),
        Small("unet", example / "unet/model.c", (), ("unet,height=16,width=16",), (example / "unet/make_weights.c",)),
    ]


def build(model: Small, precision: str, work: Path, cc: str, target: str) -> Path:
    """precision: "" for the processor."""
    options = [*model.options]
    if model.weights:
        options.append(f'-DWEIGHTS="{work}/{model.name}.safetensors"')
    if precision:
        options += ["--target", "cuda", "--target-file", target]
        options += ["--precision", precision] if precision != "f32" else []
    else:
        options += ["--isa", best_isa()]
    return library(model.source, work, work / model.name / (precision or "cpu"), cc, *options, tool=BATCHED)


@dataclass(frozen=True)
class Made:
    """A model built for the processor and in a precision for the device."""

    model: Small
    precision: str
    plain: Path
    made: Path

    def command(self, compare: Path, *words: str) -> list[str]:
        return list(map(str, [compare, self.plain, self.made, self.model.model or self.model.name, *words,
                              "--tolerance", TOLERANCE[self.precision], *self.model.calls]))


class Runs:
    """Of models in precisions: alone, which tells what is wrong or hangs, then under the tools. What has ended is said
    at once."""

    def __init__(self, args: argparse.Namespace, work: Path, log: Log):
        self.work, self.log, self.target, self.begun = work, log, args.target_file, time.time()
        self.end, self.tools = self.begun + args.seconds, list(filter(None, args.tools.split(",")))
        self.each_launch = args.each_launch
        self.cc = os.environ.get("CC", "cc")
        self.compare = comparison(work, self.cc)
        self.failed: list[str] = []
        self.right = 0

    def all(self, chosen: list[Small], precisions: list[str]) -> bool:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(lambda m: make_weights(self.work / f"{m.name}.safetensors", self.cc, *m.weights),
                          [m for m in chosen if m.weights]))
            plain = {m: pool.submit(build, m, "", self.work, self.cc, self.target) for m in chosen}
            first = [pool.submit(self.first, m, p, plain[m]) for p in precisions for m in chosen]
            built = [made for made in (one.result() for one in first) if made]
            of_race = {made: pool.submit(self.launches, made) for made in built} if self.each_launch else {}
            runs = [pool.submit(self.one, made, tool, launch) for tool in self.tools for made in built
                    for launch in (of_race[made].result() if of_race and tool == "racecheck" else [0])]
            for run in runs:
                run.result()
        self.log.say(f"{self.right} right, {len(self.failed)} not: {', '.join(self.failed)}")
        return not self.failed

    def first(self, model: Small, precision: str, plain: Future[Path]) -> Made | None:
        """Builds, and calls alone; None where the build fails."""
        try:
            found = Made(model, precision, plain.result(), build(model, precision, self.work, self.cc, self.target))
        except SystemExit as error:
            self.log.say(f"{model.name} {precision}: {error}")
            self.failed.append(f"{model.name} {precision}")
            return None
        self.one(found, "", 0)
        return found

    def launches(self, made: Made) -> list[int]:
        """Numbers from 1 of those that each have a run of their own: one of each kernel and grid."""
        try:
            launches = profile(made.command(self.compare))
        except SystemExit as error:
            self.log.say(f"{made.model.name} {made.precision}: {error}")
            self.failed.append(f"{made.model.name} {made.precision} launches")
            return []
        of: dict[tuple[str, str], int] = {}
        for number, launch in enumerate(launches, 1):
            of.setdefault((launch.kernel, launch.grid), number)
        self.log.say(f"{made.model.name} {made.precision}: {len(launches)} launches, {len(of)} of them alone")
        return list(of.values())

    def one(self, made: Made, tool: str, launch: int) -> None:
        title = f"{made.model.name} {made.precision} {tool or 'alone'}{f' launch {launch}' if launch else ''}"
        under = [*sanitizer(tool), *(("--launch-skip", str(launch - 1), "--launch-count", "1") if launch else ())]
        words = [*(under if tool else ()), *made.command(self.compare, *(() if tool else ("--repeat", "3")))]
        begun, lines, code = time.time(), ["no time left"], -1
        if begun < self.end:
            try:
                done = subprocess.run(words, capture_output=True, text=True, check=False,
                                      timeout=min(120.0, self.end - begun))
                lines, code = (done.stdout + done.stderr).splitlines(), done.returncode
            except subprocess.TimeoutExpired:
                lines = ["not ended"]
        said = summary(lines) if tool else \
            f"{sum('repetitions give the same bits' in line for line in lines)} calls repeated, the same bits"
        text = f"{title}: exit {code}, {said}, {time.time() - begun:.0f} s at {begun - self.begun:.0f}"
        if code:
            text += "\n  " + "\n  ".join(line for line in lines if "elements differ" not in line
                                         or "FAILED" in line)[:1500]
            self.failed.append(title)
        self.right += not code
        self.log.say(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--target-file", default="cuda-sm90")
    parser.add_argument("--precision", default="bf16,f16,tf32,f32")
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--each-launch", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="nothing goes on after that")
    args = parser.parse_args()
    log = Log(args.log)
    with workplace(args.work) as work:
        log.say(f"device: {device()}")
        good = Runs(args, work, log).all([m for m in models() if not args.only or m.name in args.only.split(",")],
                                         args.precision.split(","))
    log.say("all clean" if good else "FAILED")
    return not good


if __name__ == "__main__":
    sys.exit(main())
