# SPDX-License-Identifier: Apache-2.0
"""Which kernels have the same source, known before it is written.

A model's layers repeat: their kernels differ in nothing but the names of their buffers and in which objects their loop
variables are. `identity` is a kernel with both replaced by their positions, so each source is emitted once.
"""
from __future__ import annotations

from dataclasses import fields as dataclass_fields, is_dataclass
from typing import Any, Hashable, Mapping, Sequence

from ..loops.loop_ir import Computation, Contraction, Kernel, RowSort, Store
from ..loops.scalar_ir import Buffer, Load, Scalar
from ..symbolic import Atom, Expr, Extremum, FloorDiv, Sym


def identity(kernel: Kernel) -> Hashable:
    """Equal for two kernels only where every emitter gives the same text for both."""
    walk = Walk(kernel)
    walk.value(kernel)
    # Emitters make expressions, and those sort their atoms: which is older is part of a kernel.
    atoms = sorted(walk.atoms, key=lambda atom: atom.key)
    return tuple(walk.entries), tuple(walk.atoms[atom] for atom in atoms)


def of_items(items: Sequence[Computation | Contraction], buffers: Mapping[str, Buffer]) -> Hashable:
    """Equal for items that compute the same of buffers that lie alike, whatever their names are."""
    walk = _Items(buffers)
    return tuple(walk.value(item) for item in items), tuple(walk.entries)


def fields_of(x: Any) -> list[str]:
    """What a part of a kernel is made of, without where the user wrote it."""
    names = [f.name for f in dataclass_fields(x)] if is_dataclass(x) else type(x).__slots__
    return [name for name in names if name != "loc"]


def held(b: Buffer) -> str:
    """Whether a buffer is a constant or scratch, which texts of kernels and keys of locks say. Of the others emitters
    ask which of them leave the model or a tile, for speed alone."""
    return b.kind if b.kind in ("packed", "scratch") else ""


class Walk:
    """A kernel's. entries: every object reached, in the order of reaching, its parts by their numbers."""

    def __init__(self, kernel: Kernel | None = None):
        self.position = {p.name: i for i, p in enumerate(kernel.params)} if kernel is not None else {}
        self.entries: list[Hashable] = []
        self.atoms: dict[Atom, int] = {}
        self.numbers: dict[Any, int] = {}

    def value(self, x: Any) -> Hashable:
        if x is None or isinstance(x, (int, str)):
            return x
        if isinstance(x, (tuple, list)):
            return tuple([self.value(item) for item in x])
        number = self.numbers.get(x)
        if number is None:
            entry = (type(x).__name__, *self.parts(x))
            number = self.numbers[x] = len(self.entries)
            self.entries.append(entry)
            if isinstance(x, (Sym, FloorDiv, Extremum)):
                self.atoms[x] = number
        return ("#", number)

    def lives(self, b: Buffer) -> str:
        return b.kind

    def parts(self, x: Any) -> list[Hashable]:
        if isinstance(x, Expr):
            return [(tuple([self.value(atom) for atom in monomial]), c) for monomial, c in x.terms]
        if isinstance(x, Sym):
            return [x.name, x.lo, self.value(x.hi), x.divisor, x.is_dim]
        if isinstance(x, FloorDiv):
            return [self.value(x.num), self.value(x.den)]
        if isinstance(x, Extremum):
            return [x.largest, *(self.value(part) for part in x.parts)]
        if isinstance(x, Buffer):
            return [self.position[x.name], x.dtype, self.value(x.shape), x.order, self.lives(x)]
        found: list[Hashable] = [x.dtype] if isinstance(x, Scalar) else []
        for name in fields_of(x):
            of_buffer = name == "buffer" and isinstance(x, (Load, RowSort, Store))
            found.append(self.position[x.buffer] if of_buffer else self.value(getattr(x, name)))
        return found


class _Items(Walk):
    """Of items, whose buffers are numbered as they are met."""

    def __init__(self, buffers: Mapping[str, Buffer]):
        super().__init__()
        self.buffers = buffers

    def parts(self, x: Any) -> list[Hashable]:
        if isinstance(x, (Computation, Contraction)):
            return [self.named(x.out), *(self.value(getattr(x, name)) for name in fields_of(x)
                                         if name not in ("out", "label", "copy"))]
        if isinstance(x, Load):
            self.named(x.buffer)
        return super().parts(x)

    def named(self, buffer: str) -> int:
        """The number of a buffer; what it is like is an entry."""
        if buffer not in self.position:
            self.position[buffer] = len(self.position)
            b = self.buffers[buffer]
            self.entries.append((b.dtype, self.value(b.shape), b.order, held(b)))
        return self.position[buffer]
