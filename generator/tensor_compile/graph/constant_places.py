# SPDX-License-Identifier: Apache-2.0
"""Where constants and states lie: one behind the other, each at a multiple of ALIGNMENT.

A constant that is a piece of another one's memory, such as the panels of some columns, lies there: it is stored once
for the product that reads it and the one that reads the whole.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Collection, Iterable

from ..records import dataclass
from ..symbolic import product
from .dce import dce
from .dtypes import DTYPES
from .ir import Function, Node, TensorType

ALIGNMENT = 64  # bytes


@dataclass(frozen=True, slots=True)
class ConstantPlaces:
    """Of each constant its first byte, the bytes of all, and the function of those that are computed."""

    offset: dict[str, int]
    bytes: int
    computed: Function


def constant_places(constants: Function, alone: Collection[str]) -> ConstantPlaces:
    """alone: names of constants that are no part of another one."""
    named = {value: name for name, value, _ in constants.results}
    parts: dict[str, tuple[str, int]] = {}
    for name, value, _ in constants.results:
        first = _first_byte(value.node)
        if first is not None and name not in alone and (whole := value.node.operands[0]) in named:
            parts[name] = named[whole], first
    stored = [result for result in constants.results if result[0] not in parts]
    offset, size = offsets((name, value.type) for name, value, _ in stored)
    for name in parts:
        at, whole_name = 0, name
        while whole_name in parts:
            whole_name, first = parts[whole_name]
            at += first
        offset[name] = offset[whole_name] + at
    return ConstantPlaces(offset, size, dce(replace(constants, results=stored)) if parts else constants)


def _first_byte(node: Node) -> int | None:
    """Where a slice that is one piece of what it is taken of begins there; None of any other node, and where it begins
    between multiples of ALIGNMENT."""
    if node.op != "slice":
        return None
    (x,), (first, *others) = node.operands, node.attrs["start"]
    at = first.value * product(x.shape[1:]).value * DTYPES[x.dtype].bytes
    whole = not any(e.value for e in others) and node.types[0].shape[1:] == x.shape[1:]
    return at if whole and set(node.attrs["stride"]) == {1} and at % ALIGNMENT == 0 else None


def offsets(tensors: Iterable[tuple[str, TensorType]]) -> tuple[dict[str, int], int]:
    """Each tensor at the next multiple of ALIGNMENT, in order; the whole size."""
    out: dict[str, int] = {}
    at = 0
    for name, kind in tensors:
        out[name] = at
        at += -(-kind.elements.value * DTYPES[kind.dtype].bytes // ALIGNMENT) * ALIGNMENT
    return out, at
