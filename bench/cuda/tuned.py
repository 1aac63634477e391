# SPDX-License-Identifier: Apache-2.0
"""`tune` on this machine's GPU, and what a build with `--tune frozen` makes of its lock: results beside those of the
cost model's shapes, times in turns, memcheck. Needs nvcc, a C compiler and a GPU.

    python3 bench/cuda/tuned.py [--log FILE] [--work DIR] [--only NAME,…]
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from cases import EXAMPLES, OWN, Case
from run import TOOL, Log, comparison, device, library, sanitizer, summary, workplace

TURNS, SEARCHES = 3, 4


def cases() -> list[Case]:
    llama = ("-DLAYERS=1", "-DVOCABULARY=4000")
    return [
        Case("llama", "llama", OWN / "llama.c", (OWN / "make_weights.c", "-DLLAMA", *llama),
             (*llama, "--specialize", "past=512"), ("--below", "ids=4000"), ("llama,past=512",), 45),
        Case("bert", "minilm", EXAMPLES / "minilm/model.c", (OWN / "make_weights.c", "-DBERT"),
             ("-DLAYERS=12", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128"),
             ("--below", "ids=30522"), ("minilm,batch=1,seq=128",), 75),
    ]


def searched(case: Case, folder: Path, log: Log) -> bool:
    """Whether a lock of all kernels came of it: what one search has no time for is left for the next."""
    for _ in range(SEARCHES):
        begun = time.time()
        done = subprocess.run([*TOOL, "tune", "-C", str(folder / "cache"), "--budget", f"{case.budget}s"],
                              capture_output=True, text=True, check=False)
        log.say(f"tune --budget {case.budget}s: exit {done.returncode} after {time.time() - begun:.0f} s\n{done.stdout}"
                f"{done.stderr}\n{(folder / 'lock').read_text() if (folder / 'lock').exists() else 'no lock'}")
        if done.returncode or "left for the next run" not in done.stdout:
            return not done.returncode
    return False


def tuned(case: Case, work: Path, cc: str, compare: Path, log: Log) -> bool:
    folder = work / case.name
    folder.mkdir()
    options = (*case.prepare(folder, cc), "--lock", folder / "lock")
    begun = time.time()
    before = library(case.source, folder, folder / "before", cc, *options)
    log.say(f"\n{case.name}: built in {time.time() - begun:.0f} s")
    if not searched(case, folder, log):
        return False
    try:
        frozen = library(case.source, folder, folder / "frozen", cc, *options, "--tune", "frozen")
    except SystemExit as error:
        log.say(f"--tune frozen: {error}")
        return False
    log.say("--tune frozen takes the lock")
    good = True
    for turn in range(TURNS):
        for what, words in (("the cost model's shapes", (frozen, before)), ("the lock's", (before, frozen))):
            done = subprocess.run(list(map(str, [compare, *words, case.model, "--tolerance", "0.05", "--repeat", "20",
                                                 *case.words, *case.calls])), capture_output=True, text=True,
                                  check=False)
            good &= done.returncode == 0 and "OTHER" not in done.stdout
            lines = [line for line in (done.stdout + done.stderr).splitlines() if turn == 0 or "recorded" in line]
            log.say(f"{what}, exit {done.returncode}\n  " + "\n  ".join(lines))
    done = subprocess.run([*sanitizer("memcheck"), *map(str, [compare, frozen, frozen, case.model, *case.words,
                                                              *case.calls])], capture_output=True, text=True,
                          check=False)
    log.say(f"the lock's under memcheck: exit {done.returncode}, {summary(done.stdout.splitlines())}")
    return good and done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    cc, log, good = os.environ.get("CC", "cc"), Log(args.log), True
    with workplace(args.work) as work:
        log.say(f"device: {device()}")
        compare = comparison(work, cc)
        for case in cases():
            if not args.only or case.name in args.only.split(","):
                good &= tuned(case, work, cc, compare, log)
    log.say(f"\n{'all as it should be' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
