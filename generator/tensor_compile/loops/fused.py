# SPDX-License-Identifier: Apache-2.0
"""A function as kernels, before it is planned: what fusion makes and the passes behind it hand on."""
from __future__ import annotations

from dataclasses import field

from ..records import dataclass
from ..symbolic import Sym
from .program_ir import Apart, Element
from .scalar_ir import Buffer


@dataclass(slots=True)
class Fused:
    """Kernels in an order in which they may run; until `schedule` their loops are those of the items. apart, refusals:
    as of a Program."""

    name: str
    buffers: dict[str, Buffer]
    kernels: list[Element]
    inputs: list[Buffer]
    outputs: list[Buffer]
    states: list[Buffer]
    dims: tuple[Sym, ...]
    fusions: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    apart: list[Apart] = field(default_factory=list)
