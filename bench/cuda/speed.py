# SPDX-License-Identifier: Apache-2.0
"""What calls on a GPU take, with everything in the device's memory: builds each model, compares its results with those
of the processor's (or, with a precision, with the exact ones of the GPU), then prints medians. Needs nvcc, a C compiler
and a GPU. bench/cuda/torch_speed.py measures PyTorch on models of the same shapes.

    python3 bench/cuda/speed.py [--log FILE] [--work DIR] [--only NAME,…] [--precision f32,bf16] [--kernels]

--kernels: what each kernel takes, by ncu.
"""
from __future__ import annotations

import argparse
import csv
import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run import ROOT, Log, best_isa, comparison, device, library, make_weights, workplace

MODELS = ROOT / "bench" / "cuda" / "models"
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Case:
    """weights: the source of the program that writes them, and its options. checked: calls that are compared with the
    processor's; timed: further ones, which are not, as it would take long."""

    name: str
    model: str
    source: Path
    weights: tuple[Path | str, ...]
    options: tuple[str, ...]
    checked: tuple[str, ...]
    timed: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    alone: bool = False   # too large to be built in f32 as well; the weights are in a file of their own


def cases() -> list[Case]:
    own = MODELS / "make_weights.c"
    bert = ("-DLAYERS=12", "-DHIDDEN=768", "-DHEADS=12")
    two = ("-DLAYERS=2", "-DVOCABULARY=32000")
    ids, tokens = ("--below", "ids=30522"), ("--below", "ids=50257")
    return [
        Case("mlp", "mlp", MODELS / "mlp.c", (own, "-DMLP"), ("--specialize", "batch=1,64"),
             ("mlp,batch=1", "mlp,batch=64")),
        Case("gated", "gated", MODELS / "gated.c", (own, "-DGATED"), ("--specialize", "rows=8192"),
             ("gated,rows=8192",)),
        Case("gated16", "gated", MODELS / "gated.c", (own, "-DGATED"), ("-DDTYPE=TC_BF16", "--specialize", "rows=8192"),
             (), ("gated,rows=8192",)),
        Case("bert", "minilm", EXAMPLES / "minilm/model.c", (own, "-DBERT"),
             (*bert, "--specialize", "batch=1,32", "--specialize", "seq=128"), ("minilm,batch=1,seq=128",),
             ("minilm,batch=32,seq=128",), ids),
        Case("resnet50", "resnet50", EXAMPLES / "resnet50/model.c", (EXAMPLES / "resnet50/make_weights.c",),
             ("--specialize", "batch=1,32"), ("resnet50,batch=1",), ("resnet50,batch=32",)),
        Case("gpt2", "gpt2", EXAMPLES / "gpt2/model.c", (EXAMPLES / "gpt2/make_weights.c",),
             ("--specialize", "length=512", "--specialize", "past=128"),
             ("gpt2_prefill,length=512", "gpt2_decode,past=128"),
             (), tokens),
        Case("gpt2all", "gpt2", MODELS / "gpt2.c", (EXAMPLES / "gpt2/make_weights.c",),
             ("-DDTYPE=TC_BF16", "--specialize", "length=512"), (), ("gpt2,length=512",), tokens),
        Case("vit", "vit", MODELS / "vit.c", (own, "-DVIT"), ("-DDTYPE=TC_BF16", "--specialize", "batch=32"), (),
             ("vit,batch=32",)),
        Case("llama2", "llama", MODELS / "llama.c", (own, "-DLLAMA", *two), (*two, "--specialize", "past=512"), (),
             ("llama,past=512",), ("--below", "ids=32000")),
        Case("llama", "llama", MODELS / "llama.c", (own, "-DLLAMA"), ("--specialize", "past=512"), (),
             ("llama,past=512",), ("--below", "ids=128256"), alone=True),
        Case("minilm", "minilm", EXAMPLES / "minilm/model.c", (EXAMPLES / "minilm/make_weights.c",),
             ("-DLAYERS=6", "-DHIDDEN=384", "-DHEADS=12", "--specialize", "batch=1,8", "--specialize", "seq=128"),
             ("minilm,batch=1,seq=128", "minilm,batch=8,seq=128", "minilm,batch=2,seq=33"), (), ids),
    ]


def build(case: Case, target: str, more: tuple[str, ...], work: Path, cc: str, out: str) -> Path:
    options = [f'-DWEIGHTS="{work}/{case.name}.safetensors"', *case.options, *more]
    if case.alone:
        options += ["--weights", "external"]
    if target:
        options += ["--target", "cuda", "--target-file", target]
    return library(case.source, work, work / case.name / out, cc, *options)


def prepare(case: Case, target: str, precisions: list[str], work: Path, cc: str, processor: bool) -> dict[str, Path]:
    weights = work / f"{case.name}.safetensors"
    if not weights.exists():
        make_weights(weights, cc, *case.weights)
    made = {"cpu": build(case, "", ("--isa", best_isa()), work, cc, "cpu")} if processor else {}
    for precision in precisions:
        if case.alone and precision == "f32":
            continue
        more = () if precision == "f32" else ("--precision", precision)
        made[precision] = build(case, target, more, work, cc, precision)
    return made


def weights(case: Case, library: Path) -> list:
    return ["--weights", library.with_name(f"{case.source.stem}.weights")] if case.alone else []


def compared(log: Log, words: list) -> bool:
    try:
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        log.say("hangs")
        return False
    lines = (done.stdout + done.stderr).splitlines()
    equal = [line for line in lines if ", 0 of " in line]
    different = [line for line in lines if "elements differ" in line and line not in equal]
    rest = [line for line in lines if line not in equal and line not in different[8:]]
    log.say("\n".join([f"{len(equal)} results with the same bits, {len(different)} with others", *rest]))
    if done.returncode:
        log.say(f"exit {done.returncode}")
    return done.returncode == 0


@dataclass(frozen=True)
class Launch:
    """A kernel's on the device; grid: with its block."""

    kernel: str
    grid: str
    us: float


def profile(words: list) -> list[Launch]:
    """What a command launches, in its order, by ncu; ends the program where ncu tells nothing."""
    command = ["ncu", "--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--csv", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    start = done.stdout.find('"ID"')
    if start < 0:
        raise SystemExit(f"ncu: {done.stdout[-300:]}{done.stderr[-300:]}")
    scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3}
    return [Launch(re.sub(r"^tck_|_[0-9a-f]{12}__cuda.*", "", row["Kernel Name"]), row["Grid Size"] + row["Block Size"],
                   float(row["Metric Value"].replace(",", "")) * scale[row["Metric Unit"]])
            for row in csv.DictReader(io.StringIO(done.stdout[start:])) if row.get("Metric Value")]


def kernels(log: Log, words: list, call: str) -> None:
    """The kernels of one call by what they take in all."""
    try:
        launches = profile([*words, call])
    except SystemExit as error:
        log.say(str(error))
        return
    total: dict[tuple[str, str], list[float]] = {}
    for launch in launches:
        total.setdefault((launch.kernel, launch.grid), []).append(launch.us)
    log.say(f"{call}: {len(launches)} kernels, {sum(map(sum, total.values())):.1f} us in all")
    for (name, grid), times in sorted(total.items(), key=lambda item: -sum(item[1]))[:12]:
        log.say(f"  {sum(times):9.1f} us  {len(times):4} x {sum(times) / len(times):8.2f}  {grid:32} {name[:60]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--target-file", default="cuda-sm90")
    parser.add_argument("--only", default="")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--without-processor", action="store_true",
                        help="no results of the processor's to compare with")
    parser.add_argument("--build-only", action="store_true", help="to measure later, in the same --work")
    parser.add_argument("--tolerance", default="0.05", help="of a precision, of the largest element")
    args = parser.parse_args()
    cc, log, only = os.environ.get("CC", "cc"), Log(args.log), set(filter(None, args.only.split(",")))
    precisions = list(dict.fromkeys(["f32", *args.precision.split(",")]))
    good = True
    with workplace(args.work) as work:
        log.say(f"device: {device()}")
        compare = comparison(work, cc)
        chosen = [case for case in cases() if not only or case.name in only]
        with ThreadPoolExecutor(8) as pool:   # all of it before the first clock
            built = list(pool.map(lambda case: prepare(case, args.target_file, precisions, work, cc,
                                                       not args.without_processor), chosen))
        for case, made in zip(chosen, built) if not args.build_only else ():
            for precision in args.precision.split(","):
                exact = precision == "f32"
                log.say(f"\n{case.name} {precision}")
                repeat = ["--repeat", str(args.repeat)]
                if exact and not args.without_processor:
                    good &= compared(log, [compare, made["cpu"], made["f32"], case.model, *repeat, *case.words,
                                           *case.checked])
                others = case.timed if exact else case.checked + case.timed
                if others and precision in made:
                    other = made[precision if case.alone else "f32"]
                    good &= compared(log, [compare, other, made[precision], case.model, "--tolerance", args.tolerance,
                                           *weights(case, made[precision]), *repeat,
                                           *case.words, *others])
        if args.kernels:
            for case, made in zip(chosen, built):
                for precision in args.precision.split(","):
                    for call in case.checked + case.timed:
                        log.say(f"\n{case.name} {precision}")
                        if precision in made:
                            kernels(log, [compare, made[precision], made[precision], case.model,
                                          *weights(case, made[precision]), *case.words], call)
    log.say(f"\n{'all results within their bounds' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
