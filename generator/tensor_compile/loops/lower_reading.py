# SPDX-License-Identifier: Apache-2.0
"""The element of a value as a scalar expression: a load of where it is placed, or for leaves and views what they stand
for, which needs no computation."""
from __future__ import annotations

from typing import Callable

from ..graph.ir import Value
from ..graph.table import is_elementwise
from ..symbolic import ZERO, sym
from .bodies import LoweringError
from .placement import Placement, Placements, Storage
from .predicates import Index, fold, guarded, inside
from .scalar_ir import Buffer, Const, IndexValue, Load, Scalar, row_major
from .scalars import reshaped
from .value_facts import ValueFacts


class Memory:
    """The buffers of a function while its items are made. A temp gets its number when it is first asked for."""

    def __init__(self, name: str):
        self.name, self.temps = name, 0
        self.buffers: dict[str, Buffer] = {}
        self._of: dict[Storage, Buffer] = {}

    def buffer(self, name: str, dtype: str, shape: Index, kind: str, order: tuple[int, ...] | None = None) -> Buffer:
        """order: None for row-major."""
        buffer = self.buffers.get(name)
        if buffer is None:
            buffer = self.buffers[name] = Buffer(name, dtype, tuple(shape), order or row_major(shape), kind)
        elif buffer.kind != kind:
            raise LoweringError(f"{self.name}: the name {name!r} is both {buffer.kind} and {kind}")
        return buffer

    def of(self, storage: Storage) -> Buffer:
        buffer = self._of.get(storage)
        if buffer is None:
            name = storage.name
            if not name:
                self.temps += 1
                name = f"%{self.temps}"
            buffer = self._of[storage] = self.buffer(name, storage.dtype, storage.shape, storage.kind, storage.order)
        return buffer


class Reader:
    """of: by value, as placed, and copies that were made since, which nothing but the items knows."""

    def __init__(self, facts: ValueFacts, places: Placements, memory: Memory):
        self.facts, self.slices, self.memory = facts, places.slices, memory
        self.of: dict[Value, Placement] = dict(places.of)

    def read(self, v: Value, index: Index, formula: int = 0) -> Scalar:
        """The element of v at `index`. formula: how many integer operations in a row are shown as what they compute
        rather than as the memory that they are stored in; for proofs, never for code."""
        placement = self.of.get(v)
        shown = formula > 0 and is_elementwise(v.node.op) and v.dtype in ("i32", "i64")
        if placement is not None and not shown:
            return Load(self.memory.of(placement.storage).name, v.dtype, placement.index(index))
        if v in self.slices:
            operand, iteration = self.slices[v]
            return self.read(operand, (sym(iteration), *index))
        node = v.node
        if node.op in LEAVES:
            return LEAVES[node.op](self, v, index)
        if node.op in VIEWS:
            return VIEWS[node.op](self, v, index, formula)
        assert shown or node in self.facts.free, f"{node.op} is read before it is computed"
        return fold(node.op, v.dtype, tuple(self.read(o, index, formula - 1) for o in node.operands))


def _constant(reader: Reader, v: Value, index: Index) -> Scalar:
    return Const(v.dtype, v.node.attrs["bits"])


def _iota(reader: Reader, v: Value, index: Index) -> Scalar:
    return IndexValue(v.dtype, index[v.node.attrs["axis"]])


def _dim_value(reader: Reader, v: Value, index: Index) -> Scalar:
    return IndexValue(v.dtype, v.node.attrs["value"][0])


def _packed(reader: Reader, v: Value, index: Index) -> Scalar:
    return Load(reader.memory.buffer(v.node.attrs["name"], v.dtype, v.shape, "packed").name, v.dtype, index)


def _state(reader: Reader, v: Value, index: Index) -> Scalar:
    return Load(reader.memory.buffer(v.node.attrs["name"], v.dtype, v.shape, "state").name, v.dtype, index)


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


def _ordered(v: Value, index: Index) -> Index:
    return index


_PLACES: dict[str, Callable[[Value, Index], Index]] = {
    "ordered": _ordered, "reshape": _reshape, "transpose": _transpose, "slice": _slice, "reverse": _reverse,
    "broadcast": _broadcast}


def viewed(v: Value, index: Index) -> tuple[Value, Index] | None:
    """Which element of which value is the one of a view; None where v is no view, or one that adds elements."""
    place = _PLACES.get(v.node.op)
    return (v.node.operands[0], place(v, index)) if place is not None else None


# Of views, formula as of Reader.read.
def _moved(reader: Reader, v: Value, index: Index, formula: int) -> Scalar:
    return reader.read(v.node.operands[0], _PLACES[v.node.op](v, index), formula)


def _pad(reader: Reader, v: Value, index: Index, formula: int) -> Scalar:
    source, value = v.node.operands
    inner = tuple(i - before for i, before in zip(index, v.node.attrs["low"], strict=True))
    return guarded(reader.read(source, inner), inside(inner, source.shape), reader.read(value, ()))


LEAVES: dict[str, Callable[[Reader, Value, Index], Scalar]] = {
    "constant": _constant, "iota": _iota, "dim_value": _dim_value, "packed": _packed, "weight": _packed,
    "state": _state}
VIEWS: dict[str, Callable[[Reader, Value, Index, int], Scalar]] = {**dict.fromkeys(_PLACES, _moved), "pad": _pad}
