# SPDX-License-Identifier: Apache-2.0
"""What other work did while something was measured: how many of this process's processors it had, as Linux counts, and
how far what was measured lies above its least."""
from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Sequence

from ..records import dataclass
from .numbers import number_of

STAT = Path("/proc/stat")
LEAST = 0.3     # seconds, below which the system's ticks of 10 ms tell little
ROOM = 0.25     # of a processor, which the system itself may take
APART = 1.25    # medians in terms of least times, above which they are not to be trusted


def busy_ticks(text: str, processors: Sequence[int]) -> int:
    """Ticks that these processors did not stand idle, of /proc/stat. What a hypervisor took from them counts."""
    found = 0
    for line in text.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in processors:
            user, nice, system, _, _, irq, softirq, steal = (*map(int, numbers[:8]), *[0] * (8 - len(numbers[:8])))
            found += user + nice + system + irq + softirq + steal
    return found


@dataclass(frozen=True, slots=True)
class Moment:
    """busy: seconds that the processors had work; ours: those that children of this process computed, and it itself."""

    at: float
    busy: float
    ours: float

    @staticmethod
    def now() -> "Moment | None":
        """None: the system does not tell."""
        try:
            ticks = busy_ticks(STAT.read_text(encoding="ascii"), sorted(os.sched_getaffinity(0)))
        except (OSError, ValueError):
            return None
        used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
        return Moment(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), sum(u.ru_utime + u.ru_stime for u in used))


def others(begun: Moment | None, ended: Moment | None) -> float:
    """How many processors other work had meanwhile; 0 where that is not known."""
    if begun is None or ended is None or ended.at - begun.at < LEAST:
        return 0.0
    return max(0.0, (ended.busy - begun.busy) - (ended.ours - begun.ours)) / (ended.at - begun.at)


def warning(others: float, threads: int, processors: int, median: float, least: float) -> str:
    """Why medians tell little of what was measured by so many threads; "" where they do."""
    why = []
    if others > processors - threads + ROOM:
        why.append(f"other work took {others:.1f} of {number_of(processors, 'processor')} meanwhile, beside "
                   f"{number_of(threads, 'thread')} of calls")
    if least and median > APART * least:
        why.append(f"medians are {median / least:.1f} times the least times")
    return f"{'; '.join(why)}: read the least times, or measure while nothing else runs" if why else ""
