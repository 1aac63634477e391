# SPDX-License-Identifier: Apache-2.0
"""Lines of loop text and what they may name: buffers, dims, loop variables, shared operations (parse.py reads the
items)."""
from __future__ import annotations

from typing import Any, Callable, TypeVar

from ..graph.dtypes import DTYPES
from ..tokens import Line, quote
from ..symbolic import Expr, Sym
from .fused import Fused
from .loop_ir import RowSort, Store
from .program_ir import Apart, Arena, Aside, Element, Program
from .scalar_ir import Acc, Apply, Buffer, Const, Dynamic, InBounds, IndexValue, Load, Local, Reduction, Scalar, \
    Sorted
from .lower import LoweredFunction
from .printer import Unit
from .tile_axes import Axis, Window

T = TypeVar("T")

_REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "dot", "argmax", "argmin")
_ORDERS = ("seq", "lanes", "free", "running")
_MAX_NESTING = 200   # of scalar operations


class Declarations:
    """What the lines of a unit declare."""

    def __init__(self, kind: str, name: str):
        self.kind, self.name = kind, name
        self.dims: dict[str, Sym] = {}
        self.iterations: dict[str, Sym] = {}                  # of the loops around the line
        self.buffers: dict[str, Buffer] = {}
        self.variables: dict[tuple[str, Expr], Sym] = {}
        self.items: list[Element] = []                   # of the list that is being read: the unit's, or a region's
        self.arena = Arena()
        self.fusions: list[str] = []
        self.refusals: list[tuple[str, str]] = []
        self.apart: list[Apart] = []
        self.asides: list[Aside] = []

    def made(self) -> Unit:
        dims = tuple(self.dims.values())
        if self.kind == "program":
            return Program(self.buffers, self.items, self.arena, dims, self.fusions, self.refusals, tuple(self.asides),
                           self.apart)
        inputs, outputs, states = ([b for b in self.buffers.values() if b.kind == kind]
                                   for kind in ("input", "output", "state"))
        if self.kind == "lowered":
            return LoweredFunction(self.name, self.buffers, self.items, inputs, outputs, states, dims)
        return Fused(self.name, self.buffers, self.items, inputs, outputs, states, dims, self.fusions, self.refusals,
                     self.apart)


class Scope:
    """The scope of one item: dims and its loop variables by name, named operations."""

    def __init__(self, unit: Declarations):
        self.unit = unit
        self.names: dict[str, Sym] = {**unit.dims, **unit.iterations}
        self.shared: dict[str, Scalar] = {}


class ItemLine(Line):
    """A line of loop text and the item that it stands in."""

    __slots__ = ("item",)
    kind_of_name = "dim or loop variable"

    def __init__(self, file: str, number: int, text: str, item: Scope):
        super().__init__(file, number, text, item.names)
        self.item = item

    def dtype(self) -> str:
        name = self.word("a dtype")
        if name not in DTYPES:
            raise self.error(f"unknown dtype {name}; there are {', '.join(DTYPES)}")
        return name

    def many(self, read: Callable[[], T]) -> tuple[T, ...]:
        self.expect("(")
        return self.items(")", read)

    def exprs(self) -> tuple[Expr, ...]:
        return self.many(self.dim)

    def setting(self, name: str) -> int:
        self.expect(name)
        self.expect("=")
        return self.integer()

    def variable(self) -> Sym:
        """NAME:EXTENT, declared here."""
        name = self.word("a loop variable")
        self.expect(":")
        extent = self.dim()
        if any(not s.is_dim for s in extent.symbols()):
            raise self.error(f"the extent of {name} depends on a loop variable")
        variable = self.names.get(name)
        if variable is None:
            variable = self.item.unit.variables.setdefault((name, extent), Sym(name, 0, extent - 1))
            self.names[name] = variable
        elif variable.is_dim:
            raise self.error(f"{name} is a dim")
        elif variable.hi != extent - 1:
            raise self.error(f"{name} has another extent above")
        return variable

    def variables(self) -> tuple[Sym, ...]:
        variables = self.many(self.variable)
        if len(set(variables)) < len(variables):
            raise self.error("one variable is named twice")
        return variables

    def iteration(self) -> Sym:
        """NAME:COUNT of a loop."""
        name = self.word("the iteration of a loop")
        self.expect(":")
        count = self.dim()
        if name in self.names:
            raise self.error(f"{name} is the name of a dim or of a loop around this one")
        return Sym(name, 0, count - 1, is_dim=True)

    def axis(self) -> Axis:
        """NAME by BLOCK of SIZE."""
        name = self.word("an axis of tiles")
        self.expect("by")
        block = self.integer()
        self.expect("of")
        size = self.dim()
        if block < 1:
            raise self.error("a block has at least one point")
        axis = Axis.of(name, block, size)
        if any(s.name in self.names for s in axis.symbols):
            raise self.error(f"{name} is the name of a dim or of a loop around this one")
        return axis

    def window(self) -> Window:
        """NAME in BUFFER dim NUMBER from FIRST to END of SIZE."""
        name = self.word("a window of tiles")
        self.expect("in")
        buffer = self.buffer()
        dim = self.setting_of("dim")
        self.expect("from")
        first = self.dim()
        self.expect("to")
        end = self.dim()
        self.expect("of")
        if not 0 <= dim < len(buffer.shape) or not buffer.shape[dim].is_const:
            raise self.error(f"{buffer.name} has no dim {dim} of a constant size")
        window = Window.of(name, buffer, dim, first, end, self.dim())
        if any(s.name in self.names for s in window.symbols):
            raise self.error(f"{name} is the name of a dim or of a loop around this one")
        return window

    def setting_of(self, name: str) -> int:
        self.expect(name)
        return self.integer()

    def loop_settings(self) -> dict[str, Any]:
        carried = tuple(b.name for b in self.many(self.buffer)) if self.accept("carried") else ()
        swaps = []
        while self.accept("swap"):
            pair = self.many(self.buffer)
            if len(pair) != 2:
                raise self.error("two buffers change places")
            swaps.append((pair[0].name, pair[1].name))
        return {"carried": carried, "swaps": tuple(swaps), "iteration_barrier": self.accept("iteration_barrier")}

    def buffer(self) -> Buffer:
        name = self.string()
        buffer = self.item.unit.buffers.get(name)
        if buffer is None:
            raise self.error(f"unknown buffer {quote(name)}")
        return buffer

    def access(self) -> tuple[Buffer, tuple[Expr, ...]]:
        b = self.buffer()
        index = self.listed(self.dim)
        if len(index) != len(b.shape):
            raise self.error(f"{quote(b.name)} has rank {len(b.shape)}, not {len(index)}")
        return b, index

    def reduction(self, word: str) -> tuple[str, str]:
        op, _, order = word.partition(".")
        if op not in _REDUCTIONS or order not in _ORDERS:
            raise self.error(f"unknown reduction {word}")
        return op, order

    # -- scalar expressions
    def scalar(self, depth: int = 0) -> Scalar:
        if depth > _MAX_NESTING:
            raise self.error("an expression is nested too deeply")
        if self.peek().startswith("%"):
            name = self.take(1, "a name")
            if self.accept("="):
                self.item.shared[name] = self.operation(depth)
            elif name not in self.item.shared:
                raise self.error(f"{name} stands for nothing yet")
            return self.item.shared[name]
        return self.operation(depth)

    def operation(self, depth: int) -> Scalar:
        word = self.word("an operation")
        if word in DTYPES:
            bits = self.bits()
            if bits >> DTYPES[word].bits:
                raise self.error(f"0x{bits:x} does not fit {word}")
            return Const(word, bits)
        if word == "inside":
            return InBounds(self.exprs())
        dtype = self.dtype()
        if word == "acc":
            return Acc(dtype, self.integer() if self.peek().isdigit() else 0)
        if word == "local":
            return Local(self.word("a row reduction"), dtype)
        if word == "load":
            return self.load(dtype, depth)
        if word == "sorted":
            return self.sorted(depth)
        if word == "index":
            (expr,) = self.exactly(1, self.exprs())
            return IndexValue(dtype, expr)
        if "." in word:
            op, order = self.reduction(word)
            self.expect("over")
            over = self.variables()
            (value,) = self.exactly(1, self.many(lambda: self.scalar(depth + 1)))
            return Reduction(op, order, dtype, over, value, self.exprs() if self.accept("if") else ())
        args: list[Scalar] = []
        self.expect("(")
        while not self.accept(")"):
            if args:
                self.expect(",")
            args.append(self.scalar(depth + 1))
        return Apply(word, dtype, tuple(args))

    def sorted(self, depth: int) -> Sorted:
        self.expect("over")
        (over,) = self.exactly(1, self.variables())
        count, descending, value = self.sorting(depth)
        self.expect("at")
        (at,) = self.exactly(1, self.exprs())
        return Sorted(over, value, at, count, descending)

    def exactly(self, count: int, values: tuple[T, ...]) -> tuple[T, ...]:
        if len(values) != count:
            raise self.error(f"expected {count} in parentheses, not {len(values)}")
        return values

    def load(self, dtype: str, depth: int) -> Load:
        self.expect("(")
        dynamic = self.dynamic(depth)
        b, index = self.access()
        valid = self.exprs() if self.accept("if") else ()
        other = self.operation(depth + 1) if self.accept("else") else None
        if other is not None and not isinstance(other, Const):
            raise self.error("what stands for an element that is not there is a constant")
        self.expect(")")
        return Load(b.name, dtype, index, valid, other, dynamic)

    def dynamic(self, depth: int) -> Dynamic:
        pairs = []
        while self.accept("let"):
            s = self.variable()
            self.expect("=")
            pairs.append((s, self.scalar(depth + 1)))
            self.expect("in")
        return tuple(pairs)

    def sorting(self, depth: int) -> tuple[Expr, bool, Scalar]:
        self.expect("first")
        count, descending = self.dim(), self.accept("descending")
        (value,) = self.exactly(1, self.many(lambda: self.scalar(depth + 1)))
        return count, descending, value

    def row_sort(self) -> RowSort:
        b = self.buffer()
        count, descending, value = self.sorting(0)
        self.end()
        return RowSort(b.name, value, count, descending)

    def store(self) -> Store:
        dynamic = self.dynamic(0)
        b, index = self.access()
        self.expect("=")
        value = self.scalar()
        self.end()
        return Store(b.name, index, value, dynamic)

    def closing(self) -> None:
        self.expect("}")
        self.end()

    def named_scalar(self, name: str) -> Scalar:
        self.expect(name)
        self.expect("=")
        value = self.scalar()
        self.end()
        return value

    def factor(self, name: str) -> Load:
        value = self.named_scalar(name)
        if not isinstance(value, Load):
            raise self.error(f"{name} is a load")
        return value

    def interface(self) -> tuple[tuple[Buffer, ...], tuple[Sym, ...]]:
        self.expect("params")
        params = self.many(self.buffer)
        self.expect("dims")
        dims = self.many(self.known_dim)
        self.end()
        return params, dims

    def known_dim(self) -> Sym:
        name = self.word("a dim")
        unit = self.item.unit
        symbol = unit.iterations.get(name) or unit.dims.get(name)
        if symbol is None:
            raise self.error(f"unknown dim {name}")
        return symbol
