# SPDX-License-Identifier: Apache-2.0
"""Random graphs in the public operations: from model.c to real kernels, against the interpreter bit for bit and against
PyTorch's values in double (random_batch.py).

  test_random_graphs.py [--family F] [--count N] [--seed FIRST] [--jobs J] [--batch B] [--isas N] [--optimise -O1]
                       [--optimize O] [--memory M] [--numerics N] [--caches L2,L3] [--stripes] [--arch A]
                       [--sanitize address,undefined] [--print]

Graphs FIRST to FIRST + N - 1, B functions a model, J models at a time, each for some of this machine's instruction
sets, in turn. The family `values` is of all operations, on small tensors; `layers` of layers on images and sequences,
built for caches that are as small, and in other ways, in turn, unless one is asked for. A graph follows from its seed
alone: `--seed S --count 1` runs one again, and --print shows it. Without PyTorch its values are not compared, which is
a SKIP.
"""
from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("TC_SOURCE_ROOT", str(ROOT))
sys.path[1:1] = [str(ROOT / "generator"), str(ROOT / "tests")]

import random_batch
from random_batch import FAMILIES, Job, Outcome, Way
from runner import native_isas
from tap import done, note, ok, skip

OPTIMIZE = ("size", "speed", "balanced")
WAYS = {"values": (Way(),), "layers": (
    Way(caches=(16384, 16384), stripes=True), Way(), Way(memory="small"), Way(caches=(65536, 65536)),
    Way(numerics="relaxed", caches=(8192, 1 << 20), stripes=True), Way(caches=(1024, 4096)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", choices=list(FAMILIES), default="values")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=24, help="functions a model")
    parser.add_argument("--isas", type=int, default=1, help="instruction sets a model")
    parser.add_argument("--optimise", default="-O1", help="of the kernels' compiler")
    parser.add_argument("--optimize", choices=OPTIMIZE, help="the tool's option; without it a model each, in turn")
    parser.add_argument("--memory", choices=("fast", "small"), help="the tool's option")
    parser.add_argument("--numerics", choices=("exact", "relaxed"), help="the tool's option")
    parser.add_argument("--caches", help="bytes of the second and of the third cache; 0,0: the target's")
    parser.add_argument("--stripes", action="store_true",
                        help="all chains run in stripes whose rows stay in the second cache")
    parser.add_argument("--arch", choices=("aarch64", "riscv64"), default="", help="under an emulator")
    parser.add_argument("--sanitize", default="", help="what GCC's -fsanitize looks for in all but the generator")
    parser.add_argument("--print", action="store_true", help="shows the model's functions")
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.count)
    if asked.print:
        for seed in seeds:
            print(FAMILIES[asked.family](seed).text)
        return
    torch = importlib.util.find_spec("torch") is not None
    with tempfile.TemporaryDirectory() as folder:
        cache = os.environ.get("TC_TESTS_CACHE", folder)
        jobs = [Job(list(seeds[i:i + asked.batch]), () if asked.arch else native_isas(asked.isas, number), cache,
                    asked.optimise, torch, asked.optimize or OPTIMIZE[number % len(OPTIMIZE)], asked.family,
                    way(asked, number)) for number, i in enumerate(range(0, len(seeds), asked.batch))]
        of_seed = {seed: job for job in jobs for seed in job.seeds}
        begin, whole = time.monotonic(), Outcome()
        for outcome in results(jobs, asked.jobs):
            whole.add(outcome)
            for seed, what in outcome.failures:
                ok(False, f"graph {seed}")
                note(what)
                job = of_seed[seed]
                note(f"again: tests/ops/test_random_graphs.py --family {job.family} --seed {seed} --count 1 "
                     f"--batch 1 --optimize {job.optimize} {job.way.words}, for {job.isas}")
    ok(not whole.failures, f"graphs {seeds[0]} to {seeds[-1]}: the interpreter's bits")
    summary = (f"{whole.graphs} graphs, seeds {seeds[0]} to {seeds[-1]}, at {whole.cases} sizes, "
               f"{whole.kernels} kernels: {len(whole.failures)} mismatches; {whole.values} outputs compared with "
               f"PyTorch's, {whole.refused} that it has none for; {time.monotonic() - begin:.0f} s")
    if torch and all(job.way.numerics == "relaxed" for job in jobs):
        skip("PyTorch's values", "sums in other orders")
    elif torch:
        ok(whole.values > 0, "PyTorch's values")
    else:
        skip("PyTorch's values", "PyTorch is not installed")
    note(", ".join(f"{name} {count}" for name, count in sorted(whole.forms.items())))
    note(summary)
    done()


def way(asked: argparse.Namespace, number: int) -> Way:
    """That of a model: what is asked for, else one in turn."""
    ways = WAYS[asked.family]
    if not (asked.memory or asked.numerics or asked.caches or asked.stripes):
        return replace(ways[number % len(ways)], arch=asked.arch, sanitize=asked.sanitize)
    second, third = map(int, (asked.caches or "0,0").split(","))
    return Way(asked.memory or "fast", asked.numerics or "exact", (second, third), asked.stripes, asked.arch,
               asked.sanitize)


def results(jobs: list[Job], at_once: int):
    """The first alone: it fills the cache with what all need."""
    if at_once <= 1 or len(jobs) <= 1:
        yield from map(random_batch.run, jobs)
        return
    yield random_batch.run(jobs[0])
    with multiprocessing.get_context("spawn").Pool(at_once) as pool:
        yield from pool.imap_unordered(random_batch.run, jobs[1:])


if __name__ == "__main__":
    main()
