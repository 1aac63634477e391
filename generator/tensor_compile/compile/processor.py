# SPDX-License-Identifier: Apache-2.0
"""What this machine runs: sub-commands that build and run at once leave out instruction sets that it does not have."""
from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from .options import Options
from .toolchain import BASELINE

# By the names that Linux has for them; it names those alone whose registers it saves.
NEEDED = {"avx2": {"avx2", "fma", "f16c"}, "avx512": {"avx512f", "avx512vl", "avx512dq", "avx512bw"}}


def best_only(options: Options, arch: str, isas: tuple[str, ...]) -> Options:
    """The options with the best of the instruction sets that this processor runs, unless the user chose some. Another
    machine's target keeps all of its."""
    if options.isas or options.backend != "c" or arch != os.uname().machine or len(isas) < 2:
        return options
    found = [isa for isa in isas if NEEDED.get(isa, set()) <= _flags()]
    return replace(options, isas=(found[-1] if found else BASELINE[arch],))


def _flags() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return {flag for line in text.splitlines() if line.startswith("flags") for flag in line.partition(":")[2].split()}
