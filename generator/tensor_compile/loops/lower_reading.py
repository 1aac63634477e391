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


# The index of what a view shows, from its own.
def _reshape(v: Value, index: Index) -> Index:
    return reshaped(index, v.shape, v.node.operands[0].shape)


def _transpose(v: Value, index: Index) -> Index:
    inner = [ZERO] * len(index)
    for i, p in zip(index, v.node.attrs["perm"], strict=True):
        inner[p] = i
    return tuple(inner)


def _slice(v: Value, index: Index) -> Index:
    attrs = v.node.attrs
    return tuple(s + i * t for i, s, t in zip(index, attrs["start"], attrs["stride"], strict=True))


def _reverse(v: Value, index: Index) -> Index:
    axes = v.node.attrs["axes"]
    return tuple(n - 1 - i if d in axes else i for d, (i, n) in enumerate(zip(index, v.shape, strict=True)))


def _broadcast(v: Value, index: Index) -> Index:
    source = v.node.operands[0]
    return tuple(ZERO if n == 1 else index[a] for a, n in zip(v.node.attrs["axes"], source.shape, strict=True))


_PLACES: dict[str, Callable[[Value, Index], Index]] = {
    "reshape": _reshape, "transpose": _transpose, "slice": _slice, "reverse": _reverse, "broadcast": _broadcast}


def viewed(v: Value, index: Index) -> tuple[Value, Index] | None:
    """Which element of which value is the one of a view; None where v is no view, or one that adds elements."""
    place = _PLACES.get(v.node.op)
    return (v.node.operands[0], place(v, index)) if place is not None else None


# Of views, formula as of Lowering.read.
def _moved(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    return low.read(v.node.operands[0], _PLACES[v.node.op](v, index), formula)


def _pad(low: Lowering, v: Value, index: Index, formula: int) -> Scalar:
    source, value = v.node.operands
    inner = tuple(i - before for i, before in zip(index, v.node.attrs["low"], strict=True))
    return guarded(low.read(source, inner), inside(inner, source.shape), low.read(value, ()))


LEAVES: dict[str, Callable[[Lowering, Value, Index], Scalar]] = {
    "constant": _constant, "iota": _iota, "dim_value": _dim_value, "packed": _packed, "weight": _packed,
    "state": _state}
VIEWS: dict[str, Callable[[Lowering, Value, Index, int], Scalar]] = {**dict.fromkeys(_PLACES, _moved), "pad": _pad}
