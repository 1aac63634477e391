# SPDX-License-Identifier: Apache-2.0
"""How many processes of this one's kind have room at once, by what Linux says of the memory that is free."""
from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Iterator

from ..records import dataclass

UNKNOWN = 4     # processes at once where nothing tells
AVAILABLE = re.compile(r"MemAvailable: *(\d+) kB")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The control groups of one version. mount: their root; own: this process's group in /proc/self/cgroup; limit: the
    file of a group's limit; held: the lines of its memory.stat, with groups below it, of what does not give way."""

    mount: str
    own: re.Pattern[str]
    limit: str
    held: tuple[str, ...]


# What a group holds besides are files, which give way; shared memory and files of tmpfs do not.
HIERARCHIES = (
    Hierarchy("sys/fs/cgroup", re.compile(r"^0::/(.*)$", re.MULTILINE), "memory.max", ("anon", "shmem")),
    Hierarchy("sys/fs/cgroup/memory", re.compile(r"^\d+:memory:/(.*)$", re.MULTILINE), "memory.limit_in_bytes",
              ("total_rss", "total_shmem")))


def fitting(size: int, root: Path = Path("/")) -> int:
    """How many processes of `size` bytes fit in half of the free memory, at least one."""
    free = available(root)
    return UNKNOWN if free is None else max(1, free // 2 // max(size, 1))


def available(root: Path = Path("/")) -> int | None:
    """Bytes that processes may still get: the machine's, and those of each control group with a limit that this process
    is in, the inner one or one around it."""
    found = AVAILABLE.search(_text(root / "proc/meminfo"))
    sizes = [int(found[1]) << 10] if found else []
    groups = _text(root / "proc/self/cgroup")
    for hierarchy in HIERARCHIES:
        for group in _groups(root / hierarchy.mount, hierarchy.own.search(groups)):
            limit, holds = _text(group / hierarchy.limit).strip(), dict(_counts(_text(group / "memory.stat")))
            if limit.isdigit() and hierarchy.held[0] in holds:
                sizes.append(max(0, int(limit) - sum(holds.get(name, 0) for name in hierarchy.held)))
    return min(sizes, default=None)


def _groups(mount: Path, own: re.Match[str] | None) -> Iterator[Path]:
    """The folders of the groups that the process is in, up to the root. In a container the root may be its group, which
    is named as it is outside: such a folder is not there."""
    inside = Path(own[1]) if own else Path()
    if ".." not in inside.parts:
        yield from (mount / part for part in (inside, *inside.parents) if part != Path())
    yield mount


def _counts(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, _, count = line.partition(" ")
        if count.isdigit():
            yield name, int(count)


def largest_child() -> int:
    """Bytes of the largest process that this one has started and that has ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
