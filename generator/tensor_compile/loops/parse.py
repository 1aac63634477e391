# SPDX-License-Identifier: Apache-2.0
"""Reads the text that text.py prints: units (LoweredFunction, Fused, Program), one after the other.

Loop variables of one name and extent are one variable throughout a unit, as lowering makes them. The parser checks
what a line alone shows, that buffers, dims and variables are declared, and stops at the first mistake; what accesses
and memory have to satisfy is verify.py's.
"""
from __future__ import annotations

from typing import Any, Callable

from ..graph.errors import ParseError
from ..graph.dtypes import DTYPES
from ..reader import Line, quote
from ..symbolic import Expr, Sym
from .fuse import Fused
from .ir import Acc, Apply, Arena, Branch, Buffer, CheckKernel, Computation, Const, Contraction, ContractionKernel, \
    InBounds, IndexValue, Load, Local, Loop, NestKernel, Program, Reduction, RowReduce, RowSort, Scalar, \
    SiblingsKernel, Sorted, Slot, Stage, Step, Store
from .lower import LoweredFunction
from .text import VERSION, Unit

_KINDS = ("input", "output", "state", "packed", "temp", "scratch")
_REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "dot", "argmax", "argmin")
_ORDERS = ("seq", "lanes", "free", "running")
_MAX_NESTING = 200   # of scalar operations


def parse_units(text: str, file: str) -> list[Unit]:
    """Every unit of a text; `file` is its name in messages. Raises ParseError at the first mistake."""
    return _Parser(text, file).units()


def parse_unit(text: str, file: str) -> Unit:
    """The text's only unit."""
    found = parse_units(text, file)
    if len(found) != 1:
        raise ParseError(file, 1, f"expected one unit, not {len(found)}")
    return found[0]


class _Line(Line):
    """A line of loop text and the item that it stands in."""

    __slots__ = ("item",)
    kind_of_name = "dim or loop variable"

    def __init__(self, file: str, number: int, text: str, item: "_Item"):
        super().__init__(file, number, text, item.names)
        self.item = item

    def dtype(self) -> str:
        name = self.word("a dtype")
        if name not in DTYPES:
            raise self.error(f"unknown dtype {name}; there are {', '.join(DTYPES)}")
        return name

    def many(self, read: Callable) -> tuple:
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
        found = self.names.get(name)
        if found is None:
            found = self.item.unit.variables.setdefault((name, extent), Sym(name, 0, extent - 1))
            self.names[name] = found
        elif found.is_dim:
            raise self.error(f"{name} is a dim")
        elif found.hi != extent - 1:
            raise self.error(f"{name} has another extent above")
        return found

    def variables(self) -> tuple[Sym, ...]:
        found = self.many(self.variable)
        if len(set(found)) < len(found):
            raise self.error("one variable is named twice")
        return found

    def turn(self) -> Sym:
        """NAME:COUNT of a loop."""
        name = self.word("the turn of a loop")
        self.expect(":")
        count = self.dim()
        if name in self.names:
            raise self.error(f"{name} is the name of a dim or of a loop around this one")
        return Sym(name, 0, count - 1, is_dim=True)

    def loop_settings(self) -> dict[str, Any]:
        carried = tuple(b.name for b in self.many(self.buffer)) if self.accept("carried") else ()
        swaps = []
        while self.accept("swap"):
            pair = self.many(self.buffer)
            if len(pair) != 2:
                raise self.error("two buffers change places")
            swaps.append((pair[0].name, pair[1].name))
        return {"carried": carried, "swaps": tuple(swaps), "meets": self.accept("meets")}

    def buffer(self) -> Buffer:
        name = self.string()
        found = self.item.unit.buffers.get(name)
        if found is None:
            raise self.error(f"unknown buffer {quote(name)}")
        return found

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

    def exactly(self, count: int, found: tuple) -> tuple:
        if len(found) != count:
            raise self.error(f"expected {count} in parentheses, not {len(found)}")
        return found

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

    def dynamic(self, depth: int) -> tuple:
        found = []
        while self.accept("let"):
            s = self.variable()
            self.expect("=")
            found.append((s, self.scalar(depth + 1)))
            self.expect("in")
        return tuple(found)

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
        found = unit.turns.get(name) or unit.dims.get(name)
        if found is None:
            raise self.error(f"unknown dim {name}")
        return found


class _Unit:
    """What the lines of a unit declare."""

    def __init__(self, kind: str, name: str):
        self.kind, self.name = kind, name
        self.dims: dict[str, Sym] = {}
        self.turns: dict[str, Sym] = {}                  # of the loops around the line
        self.buffers: dict[str, Buffer] = {}
        self.variables: dict[tuple[str, Expr], Sym] = {}
        self.items: list = []                            # of the list that is being read: the unit's, or a region's
        self.arena = Arena()
        self.fusions: list[str] = []
        self.refusals: list[tuple[str, str]] = []

    def made(self) -> Unit:
        dims = tuple(self.dims.values())
        if self.kind == "program":
            return Program(self.buffers, self.items, self.arena, dims, self.fusions, self.refusals)
        inputs, outputs, states = ([b for b in self.buffers.values() if b.kind == kind]
                                   for kind in ("input", "output", "state"))
        if self.kind == "lowered":
            return LoweredFunction(self.name, self.buffers, self.items, inputs, outputs, states, dims)
        return Fused(self.name, self.buffers, self.items, inputs, outputs, states, dims, self.fusions, self.refusals)


class _Item:
    """The scope of one item: dims and its loop variables by name, named operations."""

    def __init__(self, unit: _Unit):
        self.unit = unit
        self.names: dict[str, Sym] = {**unit.dims, **unit.turns}
        self.shared: dict[str, Scalar] = {}


class _Parser:
    def __init__(self, text: str, file: str):
        self.file = file
        self.lines = [(i, line) for i, line in enumerate(text.split("\n"), 1)
                      if line.strip() and not line.lstrip().startswith("#")]
        self.at = 0
        self.last = text.rstrip("\n").count("\n") + 1
        self.barrier: _Line | None = None

    def next(self, item: _Item) -> _Line | None:
        if self.at == len(self.lines):
            return None
        number, text = self.lines[self.at]
        self.at += 1
        return _Line(self.file, number, text, item)

    def within(self, item: _Item, what: str) -> _Line:
        line = self.next(item)
        if line is None:
            raise ParseError(self.file, self.last, f"{what} is not closed by '}}'")
        return line

    def units(self) -> list[Unit]:
        out: list[Unit] = []
        unit = _Unit("", "")
        while (line := self.next(_Item(unit))) is not None:
            if line.accept("tensor_compile.loops"):
                if unit.kind:
                    out.append(self.close(unit))
                unit = self.open(line)
            elif not unit.kind:
                raise line.error(f"expected 'tensor_compile.loops {VERSION}' first")
            else:
                self.declaration(line, unit)
        if not unit.kind:
            raise ParseError(self.file, self.last, f"expected 'tensor_compile.loops {VERSION}'")
        return out + [self.close(unit)]

    def open(self, line: _Line) -> _Unit:
        version = line.integer()
        if version != VERSION:
            raise line.error(f"version {version} of the loop text is not known; this tool reads version {VERSION}")
        kind = line.word("lowered, fused or program")
        if kind not in ("lowered", "fused", "program"):
            raise line.error(f"expected lowered, fused or program, not {kind}")
        unit = _Unit(kind, "" if kind == "program" else line.string())
        line.end()
        return unit

    def close(self, unit: _Unit) -> Unit:
        if self.barrier is not None:
            raise self.barrier.error("a barrier without a kernel behind it")
        for name, slot in unit.arena.slot_of.items():
            if not 0 <= slot < len(unit.arena.slots):
                raise ParseError(self.file, self.last, f"{quote(name)} is in slot {slot}, which is not declared")
        return unit.made()

    def declaration(self, line: _Line, unit: _Unit) -> None:
        readers = {"dim": self.dim, "buffer": self.buffer, "check": self.check, "contraction": self.contraction,
                   "siblings": self.siblings, "loop": self.loop, "while": self.while_, "branch": self.branch}
        if unit.kind == "lowered":
            readers["compute"] = self.compute
        else:
            readers |= {"nest": self.nest, "fusion": self.fusion, "refusal": self.refusal}
        if unit.kind == "program":
            readers |= {"barrier": self.meet, "arena": self.arena, "slot": self.slot, "place": self.place}
        word = line.word("a declaration")
        if word not in readers:
            raise line.error(f"unknown declaration {word} in a {unit.kind}; there are {', '.join(readers)}")
        if word in ("loop", "while", "branch") and self.barrier is not None:
            raise line.error("a barrier stands before a kernel")
        made = readers[word](line, unit)
        if made is None:
            return
        if unit.kind == "program" and not isinstance(made, (Loop, Branch)):
            made = Step(made, self.barrier is not None)
            self.barrier = None
        unit.items.append(made)

    # -- regions
    def inside(self, unit: _Unit, what: str, turn: Sym | None = None) -> tuple[list, _Line]:
        """The items up to the line that closes the region, and that line behind its brace."""
        around, turns = unit.items, unit.turns
        unit.items = found = []
        unit.turns = {**turns, turn.name: turn} if turn is not None else turns
        while not (line := self.within(_Item(unit), what)).accept("}"):
            self.declaration(line, unit)
        if self.barrier is not None:
            raise self.barrier.error("a barrier without a kernel behind it")
        unit.items, unit.turns = around, turns
        return found, line

    def loop(self, line: _Line, unit: _Unit) -> Loop:
        label = line.string()
        line.expect("turn")
        turn = line.turn()
        settings = line.loop_settings()
        line.expect("{")
        line.end()
        body, last = self.inside(unit, "a loop", turn)
        last.end()
        return Loop(label, turn, body, **settings)

    def while_(self, line: _Line, unit: _Unit) -> Loop:
        label, settings = line.string(), line.loop_settings()
        line.expect("{")
        line.end()
        test, middle = self.inside(unit, "a while")
        middle.expect("decide")
        condition, barrier = middle.buffer().name, middle.accept("barrier")
        middle.expect("{")
        middle.end()
        body, last = self.inside(unit, "a while")
        last.end()
        return Loop(label, None, body, test=test, condition=condition, barrier=barrier, **settings)

    def branch(self, line: _Line, unit: _Unit) -> Branch:
        label = line.string()
        line.expect("on")
        condition, barrier = line.buffer().name, line.accept("barrier")
        line.expect("{")
        line.end()
        then, middle = self.inside(unit, "a branch")
        middle.expect("else")
        middle.expect("{")
        middle.end()
        other, last = self.inside(unit, "a branch")
        last.end()
        return Branch(label, condition, then, other, barrier)

    # -- declarations
    def dim(self, line: _Line, unit: _Unit) -> None:
        name = line.word("the dim's name")
        low = line.setting("range")
        line.expect(":")
        high = line.integer()
        divisor = line.setting("divisor")
        line.end()
        if name in unit.dims:
            raise line.error(f"dim {name} is declared twice")
        if not 0 <= low <= high:
            raise line.error(f"the range {low}:{high} of dim {name} is not an interval of sizes")
        if divisor < 1:
            raise line.error(f"the divisor of dim {name} is not positive")
        unit.dims[name] = Sym(name, low, high, divisor, is_dim=True)

    def buffer(self, line: _Line, unit: _Unit) -> None:
        kind = line.word("a kind of buffer")
        if kind not in _KINDS:
            raise line.error(f"unknown kind of buffer {kind}; there are {', '.join(_KINDS)}")
        name = line.string()
        line.expect(":")
        tensor = line.type()
        order = tuple(range(tensor.rank))
        if line.accept("order"):
            line.expect("=")
            order = line.listed(line.integer)
            if sorted(order) != list(range(tensor.rank)):
                raise line.error(f"the order of {quote(name)} is no order of its {tensor.rank} dims")
        line.end()
        if name in unit.buffers:
            raise line.error(f"buffer {quote(name)} is declared twice")
        unit.buffers[name] = Buffer(name, tensor.dtype, tensor.shape, order, kind)

    def fusion(self, line: _Line, unit: _Unit) -> None:
        unit.fusions.append(line.string())
        line.end()

    def refusal(self, line: _Line, unit: _Unit) -> None:
        unit.refusals.append((line.string(), line.string()))
        line.end()

    def meet(self, line: _Line, unit: _Unit) -> None:
        line.end()
        if self.barrier is not None:
            raise line.error("two barriers with no kernel between")
        self.barrier = line

    def arena(self, line: _Line, unit: _Unit) -> None:
        if line.peek() == "size":
            unit.arena.size = line.setting("size")
        if line.peek() == "lower_bound":
            unit.arena.lower_bound = line.setting("lower_bound")
        line.end()

    def slot(self, line: _Line, unit: _Unit) -> None:
        size, above = line.dim(), ()
        if line.accept("above"):
            above = line.listed(line.integer)
            if any(not 0 <= i < len(unit.arena.slots) for i in above):
                raise line.error("a slot lies above earlier ones only")
        line.end()
        unit.arena.slots.append(Slot(size, above))

    def place(self, line: _Line, unit: _Unit) -> None:
        b = line.buffer()
        if line.peek() == "slot":
            unit.arena.slot_of[b.name] = line.setting("slot")
        if line.peek() == "offset":
            unit.arena.offset[b.name] = line.setting("offset")
        line.end()

    # -- items
    def interface(self, item: _Item) -> tuple[tuple[Buffer, ...], tuple[Sym, ...]]:
        """The line of parameters, where there is one."""
        line = self.next(item)
        if line is not None and line.peek() == "params":
            return line.interface()
        self.at -= line is not None
        return (), ()

    def check(self, line: _Line, unit: _Unit) -> CheckKernel:
        label, b = line.string(), line.buffer()
        line.expect("below")
        bound = line.dim()
        line.end()
        return CheckKernel(label, b, bound, *self.interface(line.item))

    def compute(self, line: _Line, unit: _Unit) -> Computation:
        label, variables = line.string(), line.variables()
        window, copy = line.accept("window"), line.string() if line.accept("copy") else ""
        loc = line.loc()
        line.expect("{")
        line.end()
        s = self.within(line.item, "a computation").store()
        self.within(line.item, "a computation").closing()
        return Computation(s.buffer, variables, s.index, s.value, label, loc, window, s.dynamic, copy)

    def contraction(self, line: _Line, unit: _Unit) -> Contraction | ContractionKernel:
        label, spaces = line.string(), []
        for name in ("batch", "m", "n", "k"):
            line.expect(name)
            spaces.append(line.variables())
        line.expect("panel")
        panel = line.integer()
        lowered = unit.kind == "lowered"
        loc = line.loc() if lowered else None
        line.expect("{")
        line.end()
        params, dims = ((), ()) if lowered else self.interface(line.item)
        a, second, stores = self.factor(line, "a"), [self.factor(line, "b")], []
        while not (inner := self.within(line.item, "a contraction")).accept("}"):
            if inner.peek() == "b" and not lowered:
                second.append(inner.factor("b"))
                continue
            stores.append(inner.store())
            if lowered and (len(stores) > 1 or stores[0].value is not Acc("f32")):
                raise inner.error("a lowered contraction stores its accumulator and nothing else")
        inner.end()
        if not lowered:
            return ContractionKernel(label, *spaces, a, tuple(second), panel, stores, params, dims)
        if not stores:
            raise inner.error("a contraction that stores nothing")
        return Contraction(stores[0].buffer, *spaces, a, *second, stores[0].index, label, loc, panel)

    def siblings(self, line: _Line, unit: _Unit) -> SiblingsKernel:
        label, parts = line.string(), []
        line.expect("{")
        line.end()
        params, dims = self.interface(line.item)
        while not (inner := self.within(_Item(unit), "siblings")).accept("}"):
            inner.expect("contraction")
            parts.append(self.contraction(inner, unit))
        inner.end()
        return SiblingsKernel(label, parts, params, dims)

    def factor(self, line: _Line, name: str) -> Load:
        return self.within(line.item, "a contraction").factor(name)

    def nest(self, line: _Line, unit: _Unit) -> NestKernel:
        label = line.string()
        line.expect("rows")
        rows = line.variables()
        line.expect("grain")
        grain = line.integer()
        line.expect("{")
        line.end()
        params, dims = self.interface(line.item)
        stages = []
        while not (inner := self.within(line.item, "a nest")).accept("}"):
            inner.expect("sweep")
            stages.append(self.sweep(inner))
        inner.end()
        return NestKernel(label, rows, stages, params, dims, grain)

    def sweep(self, line: _Line) -> Stage:
        stage = Stage(line.variables(), vector=not line.accept("scalar"))
        line.expect("{")
        line.end()
        line.item.shared = {}
        while not (inner := self.within(line.item, "a sweep")).accept("}"):
            if inner.peek().startswith('"') or inner.peek() == "let":
                stage.stores.append(inner.store())
                continue
            if stage.stores:
                raise inner.error("the reductions of a sweep stand before its stores")
            name = inner.word("a row reduction or a store")
            if name == "sort":
                stage.reduces.append(inner.row_sort())
                continue
            inner.expect("=")
            op, order = inner.reduction(inner.word("a reduction such as sum.lanes"))
            dtype = inner.dtype()
            (value,) = inner.exactly(1, inner.many(inner.scalar))
            inner.end()
            stage.reduces.append(RowReduce(name, op, order, value, dtype))
        inner.end()
        return stage
