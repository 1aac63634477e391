# SPDX-License-Identifier: Apache-2.0
"""Which instruction sets the processor that runs the tests has."""
from __future__ import annotations

# x86 sets: what /proc/cpuinfo calls their parts. The sets of other architectures are part of the architecture.
NEEDS = {"scalar": (), "x86_64": (), "avx2": ("avx2", "fma", "f16c"), "avx512": ("avx512f", "avx512bw", "avx512dq", "avx512vl")}


def lacks(isa: str) -> list[str]:
    """The parts of an x86 instruction set that this processor does not have; of other sets none."""
    if not NEEDS.get(isa):
        return []
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        flags = next((line.split(":")[1].split() for line in f if line.startswith("flags")), [])
    return [part for part in NEEDS[isa] if part not in flags]
