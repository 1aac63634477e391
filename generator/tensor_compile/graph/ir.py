# SPDX-License-Identifier: Apache-2.0
"""Data of the graph IR (docs/graph.md). No behaviour beyond lookups: text, inference and passes have files of their
own."""
from __future__ import annotations

from dataclasses import field
from typing import Any, Container

from ..records import dataclass
from ..symbolic import Expr, Sym, product


@dataclass(frozen=True, slots=True)
class Loc:
    """scope: where the user's scopes are of interest too, those around, outermost first, with dots between."""

    file: str
    line: int
    scope: str = ""

    def __str__(self) -> str:
        return f"{self.scope} {self.file}:{self.line}" if self.scope else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class TensorType:
    dtype: str
    shape: tuple[Expr, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> Expr:
        return product(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(d).replace(' ', '') for d in self.shape)}]"


class Node:
    """One operation. Mutable only while a pass builds it; passes make new functions rather than edit old ones.

    operands  values in order; attrs: by name, values of the kinds of primitives.def (dims: tuple[Expr], ints:
    tuple[int], int: int, word/name/graph: str, bits: int); types: one a result.
    """

    __slots__ = ("op", "operands", "attrs", "types", "loc", "scope")

    def __init__(self, op: str, operands: tuple["Value", ...], attrs: dict[str, Any], types: tuple[TensorType, ...],
                 loc: Loc | None = None, scope: str = ""):
        self.op, self.operands, self.attrs = op, tuple(operands), attrs
        self.types, self.loc, self.scope = tuple(types), loc, scope

    def __repr__(self) -> str:
        return f"<{self.op} : {', '.join(map(str, self.types))}>"


@dataclass(frozen=True, slots=True, eq=True)
class Value:
    """Result `index` of `node`. Hashes by the node's identity."""

    node: Node
    index: int = 0

    @property
    def type(self) -> TensorType:
        return self.node.types[self.index]

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.type.shape

    def through(self, ops: Container[str]) -> Value:
        """What the value is made of behind nodes of these operations: of each its first operand."""
        value = self
        while value.node.op in ops:
            value = value.node.operands[0]
        return value


@dataclass(slots=True)
class Guard:
    """`lhs relation rhs`, relation `==` or `>=`, checked at entry; name is what a user reads."""

    name: str
    lhs: Expr
    relation: str
    rhs: Expr
    loc: Loc | None = None


@dataclass(slots=True, eq=False)
class Function:
    """One function of a module, and no other one, whatever it holds. Parameters are nodes of op `parameter` (attrs:
    name), not part of `nodes`. `nodes` is in topological order."""

    name: str
    entry: bool
    parameters: list[Node] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    assigns: list[tuple[str, Value, Loc | None]] = field(default_factory=list)
    results: list[tuple[str, Value, Loc | None]] = field(default_factory=list)


@dataclass(slots=True)
class DimDecl:
    """A dynamic dim: `sym` carries its range and divisor; specialize: the sizes that get variants of their own."""

    sym: Sym
    specialize: tuple[int, ...] = ()
    loc: Loc | None = None


@dataclass(slots=True)
class WeightDecl:
    name: str
    type: TensorType
    file: int
    loc: Loc | None = None


@dataclass(slots=True)
class StateDecl:
    name: str
    type: TensorType
    loc: Loc | None = None


@dataclass(slots=True)
class Module:
    model: str
    dims: dict[str, DimDecl] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    weights: dict[str, WeightDecl] = field(default_factory=dict)
    states: dict[str, StateDecl] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    @property
    def entries(self) -> list[Function]:
        return [f for f in self.functions.values() if f.entry]
