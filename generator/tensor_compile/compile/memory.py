# SPDX-License-Identifier: Apache-2.0
"""How many processes of this one's kind have room at once, by what Linux says of the memory that is free."""
from __future__ import annotations

import re
import resource
from pathlib import Path

UNKNOWN = 4     # processes at once where nothing tells
AVAILABLE = re.compile(r"MemAvailable: *(\d+) kB")
GROUP = re.compile(r"^0::/(.*)$", re.MULTILINE)
HELD = re.compile(r"^anon (\d+)$", re.MULTILINE)


def fitting(size: int, root: Path = Path("/")) -> int:
    """How many processes of `size` bytes fit in half of the free memory, at least one."""
    free = available(root)
    return UNKNOWN if free is None else max(1, free // 2 // max(size, 1))


def available(root: Path = Path("/")) -> int | None:
    """Bytes that processes may still get: the machine's, and those of the control group where it has a limit."""
    found, path = AVAILABLE.search(_text(root / "proc/meminfo")), GROUP.search(_text(root / "proc/self/cgroup"))
    group = root / "sys/fs/cgroup" / (path[1] if path else "")
    limit, held = _text(group / "memory.max").strip(), HELD.search(_text(group / "memory.stat"))
    sizes = [int(found[1]) << 10] if found else []
    if limit.isdigit() and held:    # what it holds besides are files, which give way
        sizes.append(max(0, int(limit) - int(held[1])))
    return min(sizes, default=None)


def largest_child() -> int:
    """Bytes of the largest process that this one has started and that has ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
