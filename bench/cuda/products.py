# SPDX-License-Identifier: Apache-2.0
"""Models whose products are cuBLASLt's wherever they can be (docs/cuda.md, Libraries), not only where that is faster:
beside the same models with our kernels alone, repeated, and under memcheck and initcheck of compute-sanitizer. Each has
two locks: the fastest algorithms, and of those with a workspace the fastest. Needs nvcc, a C compiler, a GPU and
libcublasLt.

    python3 bench/cuda/products.py [--log FILE] [--work DIR] [--only NAME,…] [--seconds N]
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import EXAMPLES, OWN, Case
from run import ROOT, Log, comparison, device, library, sanitizer, summary, workplace

sys.path.insert(0, str(ROOT / "generator"))
from tensor_compile.compile import cuda_image, lock as locks, record, tune_cuda, tune_model
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.lock import Entry
from tensor_compile.loops import schedule_cuda
from tensor_compile.loops.library_products import algorithm

ROUNDS = 4
tune_cuda.MOST = 1   # of our shapes the first alone


def cases() -> list[Case]:
    bert = ("-DLAYERS=2", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "seq=128")
    gpt2 = ("-DLAYERS=2", "-DHIDDEN=768", "-DHEADS=12", "-DVOCABULARY=50257", "-DCAPACITY=1024")
    encoder, ids = EXAMPLES / "minilm/model.c", ("--below", "ids=30522")
    return [
        Case("bert1", "minilm", encoder, (OWN / "make_weights.c", "-DBERT"), (*bert, "--specialize", "batch=1"), ids,
             ("minilm,batch=1,seq=128",)),
        Case("bert32", "minilm", encoder, (OWN / "make_weights.c", "-DBERT"), (*bert, "--specialize", "batch=32"), ids,
             ("minilm,batch=32,seq=128",)),
        Case("gpt2", "gpt2", OWN / "gpt2.c", (EXAMPLES / "gpt2/make_weights.c", *gpt2),
             (*gpt2, "-DDTYPE=TC_BF16", "--specialize", "length=512"), ("--below", "ids=50257"), ("gpt2,length=512",)),
        Case("resnet50", "resnet50", EXAMPLES / "resnet50/model.c", (EXAMPLES / "resnet50/make_weights.c",),
             ("--specialize", "batch=32"), (), ("resnet50,batch=32",)),
    ]


class Model:
    """A case, built in a folder of its own."""

    def __init__(self, case: Case, work: Path, cc: str, compare: Path, log: Log):
        self.case, self.cc, self.compare, self.log = case, cc, compare, log
        self.work = work / case.name
        self.work.mkdir(exist_ok=True)
        self.options = (*case.prepare(self.work, cc), "--cuda-libraries", "auto")
        self.ours = self.build("ours")

    def build(self, name: str) -> Path:
        """With the lock of that name."""
        return library(self.case.source, self.work, self.work / name, self.cc, *self.options, "--lock",
                       self.work / f"{name}.lock", "--keep", self.work / name / "keep")

    def products(self, name: str) -> int:
        """How many of a build's kernels are the library's."""
        (driver,) = (self.work / name / "keep").glob("tcd_*.c")
        return driver.read_text(encoding="utf-8").count("static const tc_device_product ")

    def measure(self) -> None:
        """Writes the locks."""
        (asked,) = list(record.builds(self.work / "cache"))
        of = tune_model.planned(asked)
        tools = tune_cuda.Toolset(cuda_image.detect(asked.nvcc), of.host, of.target, Cache(self.work / "cache"), None,
                                  True)
        found = tune_cuda.kernels(of.plan, schedule_cuda.units(of.target))
        result = tune_cuda.tune(found, tools, self.work / "ours.lock", ROUNDS, again=True, keep=False)
        made: dict[str, dict[str, Entry]] = {"fastest": {}, "workspace": {}}
        for key, times in result.counts.items():
            theirs = {name: us for name, us in times.items() if algorithm(name)}
            roomy = {name: us for name, us in theirs.items() if algorithm(name).workspace}
            ours = min((us for name, us in times.items() if name not in theirs), default=0.0)
            self.log.say(f"  {key.partition(' walk')[0]}: ours {ours:.2f}, {len(theirs)} of the library's "
                         f"{min(theirs.values(), default=0):.2f}, {len(roomy)} with a workspace "
                         f"{min(roomy.values(), default=0):.2f} us")
            for name, some in (("fastest", theirs), ("workspace", roomy)):
                if some:
                    best = min(some, key=lambda one: some[one])
                    made[name][key] = Entry(key, best, some[best], False, result.by[key], tune_cuda.templates_digest())
        for line in result.wrong:
            self.log.say(f"  left out: {line[:200]}")
        for name, entries in made.items():
            if entries:
                locks.write(self.work / f"{name}.lock", entries)

    def compared(self, name: str, theirs: Path) -> bool:
        done = subprocess.run(list(map(str, [self.compare, self.ours, theirs, self.case.model, "--tolerance", "0.05",
                                             "--repeat", "10", *self.case.words, *self.case.calls])),
                              capture_output=True, text=True, check=False, timeout=100,
                              env={**os.environ, "SHOW_LOADING": "1"})
        good = done.returncode == 0 and "OTHER" not in done.stdout
        self.log.say(f"{self.case.name}, {name}: {self.products(name)} kernels of the library's beside ours, exit "
                     f"{done.returncode}\n  " + "\n  ".join((done.stdout + done.stderr).splitlines()))
        return good

    def checked(self, name: str, theirs: Path, tool: str, end: float) -> bool:
        title = f"{self.case.name}, {name}, {tool}"
        begun = time.time()
        if begun >= end:
            self.log.say(f"{title}: no time left")
            return False
        try:
            done = subprocess.run([*sanitizer(tool), *map(str, [self.compare, theirs, theirs, self.case.model,
                                                                *self.case.words, *self.case.calls])],
                                  capture_output=True, text=True, check=False, timeout=min(300.0, end - begun))
        except subprocess.TimeoutExpired:
            self.log.say(f"{title}: not ended in {time.time() - begun:.0f} s")
            return False
        lines = done.stdout.splitlines()
        self.log.say(f"{title}: exit {done.returncode}, {summary(lines)}, {time.time() - begun:.0f} s")
        if done.returncode:
            self.log.say("\n".join(f"  {line}" for line in (lines + done.stderr.splitlines())[:30]))
        return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="nothing goes on after that")
    args = parser.parse_args()
    cc, log, good, end = os.environ.get("CC", "cc"), Log(args.log), True, time.time() + args.seconds
    with workplace(args.work) as work, ThreadPoolExecutor(8) as pool:
        log.say(f"device: {device()}")
        compare = comparison(work, cc)
        chosen = [case for case in cases() if not args.only or case.name in args.only.split(",")]
        built = [(case, pool.submit(Model, case, work, cc, compare, log)) for case in chosen]
        jobs = []
        for case, made in built:
            try:
                model = made.result()
                log.say(f"\n{case.name}: built after {time.time() - end + args.seconds:.0f} s")
                model.measure()
                for name in ("fastest", "workspace"):
                    if (model.work / f"{name}.lock").exists():
                        theirs = model.build(name)
                        good &= model.products(name) > 0 and model.compared(name, theirs)
                        jobs += [pool.submit(model.checked, name, theirs, tool, end)
                                 for tool in ("memcheck", "initcheck")]
            except (SystemExit, Exception) as error:   # the others are still of use
                log.say(f"{case.name}: {type(error).__name__}: {getattr(error, 'message', '')} {error}")
                good = False
        good = all([job.result() for job in jobs]) and good
    log.say(f"\n{'all as it should be' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
