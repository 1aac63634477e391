# SPDX-License-Identifier: Apache-2.0
"""What the body of a kernel of one element after the other stands in, on the processor and on a device."""
from __future__ import annotations

from ..records import dataclass



@dataclass(frozen=True, slots=True)
class Frame:
    """header: declares what the body calls; storage, pointers: of the function, and the type of its first parameter."""

    header: str
    storage: str
    pointers: str

    def begin(self, symbol: str) -> str:
        return f"{self.storage}void {symbol}({self.pointers}p, const tc_index *d, tc_index thread, tc_index threads)"


PROCESSOR = Frame("tc_kernel.h", "", "void *const *")
DEVICE = Frame("tc_team.cuh", "static __device__ ", "const tc_team_pointers ")   # called by each thread of the grid
