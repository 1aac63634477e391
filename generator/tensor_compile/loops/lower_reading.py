# SPDX-License-Identifier: Apache-2.0
"""Lowering of what needs no computation: an element of a leaf, and of a view as an element of what it views."""
from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ..graph.ir import Value
from ..symbolic import ZERO
from .scalar_ir import Const, IndexValue, Load, Scalar
from .predicates import Index, guarded, inside
from .scalars import reshaped

if TYPE_CHECKING:
    from .lower import Lowering


def _constant(low: Lowering, v: Value, index: Index) -> Scalar:
    return Const(v.dtype, v.node.attrs["bits"])


def _iota(low: Lowering, v: Value, index: Index) -> Scalar:
    return IndexValue(v.dtype, index[v.node.attrs["axis"]])


def _dim_value(low: Lowering, v: Value, index: Index) -> Scalar:
    return IndexValue(v.dtype, v.node.attrs["value"][0])


def _packed(low: Lowering, v: Value, index: Index) -> Scalar:
    return Load(low.buffer(v.node.attrs["name"], v.dtype, v.shape, "packed").name, v.dtype, index)


def _state(low: Lowering, v: Value, index: Index) -> Scalar:
    return Load(low.buffer(v.node.attrs["name"], v.dtype, v.shape, "state").name, v.dtype, index)


# Of views, formula as of Lowering.read.
def _reshape(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    source = v.node.operands[0]
    return low.read(source, reshaped(index, v.shape, source.shape), formula)


def _transpose(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    inner = [ZERO] * len(index)
    for i, p in zip(index, v.node.attrs["perm"], strict=True):
        inner[p] = i
    return low.read(v.node.operands[0], tuple(inner), formula)


def _slice(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    attrs = v.node.attrs
    inner = tuple(s + i * t for i, s, t in zip(index, attrs["start"], attrs["stride"], strict=True))
    return low.read(v.node.operands[0], inner, formula)


def _reverse(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    axes = v.node.attrs["axes"]
    inner = tuple(n - 1 - i if d in axes else i for d, (i, n) in enumerate(zip(index, v.shape, strict=True)))
    return low.read(v.node.operands[0], inner, formula)


def _broadcast(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    source = v.node.operands[0]
    inner = tuple(ZERO if n == 1 else index[a] for a, n in zip(v.node.attrs["axes"], source.shape, strict=True))
    return low.read(source, inner, formula)


def _pad(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    source, value = v.node.operands
    inner = tuple(i - before for i, before in zip(index, v.node.attrs["low"], strict=True))
    return guarded(low.read(source, inner), inside(inner, source.shape), low.read(value, ()))


LEAVES: dict[str, Callable[[Lowering, Value, Index], Scalar]] = {
    "constant": _constant, "iota": _iota, "dim_value": _dim_value, "packed": _packed, "weight": _packed,
    "state": _state}
VIEWS: dict[str, Callable[[Lowering, Value, Index, int], Scalar]] = {
    "reshape": _reshape, "transpose": _transpose, "slice": _slice, "reverse": _reverse, "broadcast": _broadcast,
    "pad": _pad}
