# SPDX-License-Identifier: Apache-2.0
"""Which instruction sets the processor that runs the tests has."""
from __future__ import annotations

from tensor_compile.emit.contraction.candidate_table import has_candidates
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.target import ARCHITECTURES


def lacks(isa: str) -> list[str]:
    """The parts of an instruction set that this processor does not have."""
    parts = [feature.linux for feature in instruction_set(isa).features]
    if not parts:
        return []
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        flags = next((line.split(":")[1].split() for line in f if line.startswith(("flags", "Features"))), [])
    return [part for part in parts if part not in flags]


def own_sets(arch: str) -> list[str]:
    """The instruction sets of an architecture that have kernels of their own; others take those of their base, sets of
    tiles all but products of bytes."""
    return [isa for isa in ARCHITECTURES.get(arch, ()) if has_candidates(isa) and not instruction_set(isa).tiles]
