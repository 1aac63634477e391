# SPDX-License-Identifier: Apache-2.0
"""Benchmark processes and the conditions that they ran under. Needs nothing but Python."""
from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Callable, Mapping, Sequence

import builds


class Server:
    """A process that answers line by line (server.h). cpu: the processor that it runs on."""

    def __init__(self, command: Sequence[str | Path | int], cpu: int | None = None):
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.process = subprocess.Popen([*pin, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:    # it ended before it was asked
            raise SystemExit(f"a benchmark process failed before {line!r}") from None
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"a benchmark process failed on {line!r}")
        return answer

    def seconds(self, calls: int) -> float:
        """Of a call, the mean of some."""
        return int(self.ask(f"run {calls}")) / 1e9 / calls

    def output(self, path: Path) -> Path:
        """The file, which then has the first output of a call."""
        self.ask(f"out {path}")
        return path

    def profile(self, calls: int) -> list[tuple[str, float]]:
        """Kernels with their microseconds."""
        rows = [part.rpartition("=") for part in self.ask(f"profile {calls}").split("\t") if part]
        return [(name, int(ns) / 1e3) for name, _, ns in rows]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def interleaved(contenders: Mapping[str, Callable[[int], float]], rounds: int, turn: float
                ) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Of each contender, a function from a number of calls to the seconds of one: how many calls it makes a round, for
    `turn` seconds, and the seconds of a call in every round. In a round all take their turn, so that slow phases of a
    shared machine hit all of them."""
    counts: dict[str, int] = {}
    for name, seconds in contenders.items():
        seconds(2)
        # The fastest of some samples: one that the host disturbs would leave every round a few calls behind a pause.
        counts[name] = max(1, int(turn / min(seconds(2) for _ in range(3))))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, seconds in contenders.items():
            times[name].append(seconds(counts[name]))
    return counts, times


def conditions(versions: str, isa: str, rounds: int, threads: str = "one thread",
               times: str = "medians") -> str:
    """The machine, its load, compilers and settings, in one line. versions: of what is compared with. times: what is
    taken of the rounds."""
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return (f"{cpu}, {len(os.sched_getaffinity(0))} processors, load {load}; {platform.system()} {platform.release()}; "
            f"{builds.banner()}; {versions}, Python {platform.python_version()}; {threads}; --isa {isa or 'all'}; "
            f"{times} of {rounds} interleaved rounds")
