# SPDX-License-Identifier: Apache-2.0
"""What this machine runs: sub-commands that build and run at once leave out instruction sets that it does not have."""
from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..instruction_sets import baseline, instruction_set
from ..target import Target
from .options import Options


def best_only(options: Options, target: Target) -> Options:
    """The options with the best of the target's instruction sets that this processor runs, and those for integers that
    stand on it, unless the user chose some. Another machine's target keeps all of its."""
    if options.isas or options.backend != "c" or target.arch != os.uname().machine or len(target.isas) < 2:
        return options
    found, integers = ([isa for isa in isas if runs(isa)] for isas in (target.isas, target.integer_isas))
    return replace(options, isas=(found[-1] if found else baseline(target.arch).name,), integer_isas=tuple(integers))


def runs(isa: str) -> bool:
    """Whether this processor has an instruction set of its architecture."""
    return {feature.linux for feature in instruction_set(isa).features} <= _flags()


@cache
def _flags() -> set[str]:
    """Linux names the extensions alone whose registers it saves (on AArch64 as `Features`)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return {flag for line in text.splitlines() if line.startswith(("flags", "Features"))
            for flag in line.partition(":")[2].split()}
