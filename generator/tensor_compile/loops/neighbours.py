# SPDX-License-Identifier: Apache-2.0
"""Passes that make one kernel of two that follow each other in a list of steps (prepare.py, paired.py)."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..target import Target
from . import schedule_cuda
from .fused import Fused
from .program_ir import each_list
from .uses import Uses


class Neighbours:
    """joined says which two become one, guest_and_host which of them runs in the other, for the list of fusions."""

    def __init__(self, fused: Fused, target: Target):
        self.fused, self.buffers, self.units = fused, fused.buffers, schedule_cuda.units(target)
        self.uses = Uses(fused.kernels)
        self.fusions = list(fused.fusions)

    def form(self) -> Fused:
        """The same kernels, some of them as one."""
        return replace(self.fused, kernels=each_list(self.fused.kernels, self.joined_in), fusions=self.fusions)

    def joined_in(self, items: list[Any]) -> list[Any]:
        out: list[Any] = []
        for item in items:
            made = self.joined(out[-1], item) if out else None
            if made is None:
                out.append(item)
                continue
            guest, host = self.guest_and_host(out[-1], item)
            self.fusions.append(f"{guest.label} runs in {host.label}")
            out[-1] = made
        return out

    def joined(self, first: Any, second: Any) -> Any:
        """The two kernels as one, where they can be that; None where not."""
        raise NotImplementedError

    def guest_and_host(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Which of the two runs in the other one."""
        raise NotImplementedError
