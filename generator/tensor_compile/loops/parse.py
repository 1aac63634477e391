# SPDX-License-Identifier: Apache-2.0
"""Reads the text that printer.py prints: units (LoweredFunction, Fused, Program), one after the other.

Loop variables of one name and extent are one variable throughout a unit, as lowering makes them. The parser checks
what a line alone shows, that buffers, dims and variables are declared, and stops at the first mistake; what accesses
and memory have to satisfy is verify_loops.py's.
"""
from __future__ import annotations

from typing import Callable

from ..graph.errors import ParseError
from ..graph.ir import Loc
from ..tokens import quote
from ..symbolic import Sym
from . import contraction_schedule
from .contraction_schedule import Schedule
from .byte_products import ByteProductKernel
from .loop_ir import AttentionKernel, CheckKernel, Computation, Contraction, ContractionKernel, ExternKernel, \
    GroupedContractionKernel, LoopNestKernel, Phase, PreparedKernel, RowReduce, RowSort, Store
from .program_ir import Apart, Aside, Branch, Element, Loop, Slot, Step, Tiles
from .products import F32, Product
from .scalar_ir import Acc, Buffer, Load, Scalar
from .parse_line import Declarations, ItemLine, Scope
from .printer import VERSION, Unit

# The variables of batch, m, n and k.
Spaces = tuple[tuple[Sym, ...], tuple[Sym, ...], tuple[Sym, ...], tuple[Sym, ...]]
_KINDS = ("input", "output", "state", "packed", "temp", "scratch", "tile")


def parse_units(text: str, file: str) -> list[Unit]:
    """Every unit of a text; `file` is its name in messages. Raises ParseError at the first mistake."""
    return _Parser(text, file).units()


def parse_unit(text: str, file: str) -> Unit:
    """The text's only unit."""
    units = parse_units(text, file)
    if len(units) != 1:
        raise ParseError(file, 1, f"expected one unit, not {len(units)}")
    return units[0]


class _Parser:
    def __init__(self, text: str, file: str):
        self.file = file
        self.lines = [(i, line) for i, line in enumerate(text.split("\n"), 1)
                      if line.strip() and not line.lstrip().startswith("#")]
        self.at = 0
        self.last = text.rstrip("\n").count("\n") + 1
        self.barrier: ItemLine | None = None

    def next(self, item: Scope) -> ItemLine | None:
        if self.at == len(self.lines):
            return None
        number, text = self.lines[self.at]
        self.at += 1
        return ItemLine(self.file, number, text, item)

    def within(self, item: Scope, what: str) -> ItemLine:
        line = self.next(item)
        if line is None:
            raise ParseError(self.file, self.last, f"{what} is not closed by '}}'")
        return line

    def units(self) -> list[Unit]:
        out: list[Unit] = []
        unit = Declarations("", "")
        while (line := self.next(Scope(unit))) is not None:
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

    def open(self, line: ItemLine) -> Declarations:
        version = line.integer()
        if version != VERSION:
            raise line.error(f"version {version} of the loop text is not known; this tool reads version {VERSION}")
        kind = line.word("lowered, fused or program")
        if kind not in ("lowered", "fused", "program"):
            raise line.error(f"expected lowered, fused or program, not {kind}")
        unit = Declarations(kind, "" if kind == "program" else line.string())
        line.end()
        return unit

    def close(self, unit: Declarations) -> Unit:
        if self.barrier is not None:
            raise self.barrier.error("a barrier without a kernel behind it")
        for name, slot in unit.arena.slot_of.items():
            if not 0 <= slot < len(unit.arena.slots):
                raise ParseError(self.file, self.last, f"{quote(name)} is in slot {slot}, which is not declared")
        return unit.made()

    def declaration(self, line: ItemLine, unit: Declarations) -> None:
        readers: dict[str, Callable[[ItemLine, Declarations], Element | None]] = {
            "dim": self.dim, "buffer": self.buffer, "check": self.check, "extern": self.extern,
            "contraction": self.contraction if unit.kind == "lowered" else self.contraction_kernel,
            "grouped_contraction": self.grouped_contraction, "loop": self.loop, "while": self.while_,
            "branch": self.branch}
        if unit.kind == "lowered":
            readers["compute"] = self.compute
        else:
            readers |= {"loop_nest": self.loop_nest, "byte_product": self.byte_product, "attention": self.attention,
                        "prepared": self.prepared, "tiles": self.tiles, "fusion": self.fusion, "apart": self.apart,
                        "refusal": self.refusal}
        if unit.kind == "program":
            readers |= {"barrier": self.read_barrier, "arena": self.arena, "slot": self.slot, "place": self.place,
                        "aside": self.aside}
        word = line.word("a declaration")
        if word not in readers:
            raise line.error(f"unknown declaration {word} in a {unit.kind}; there are {', '.join(readers)}")
        if word in ("loop", "while", "branch") and self.barrier is not None:
            raise line.error("a barrier stands before a kernel")
        element = readers[word](line, unit)
        if element is None:
            return
        if isinstance(element, Tiles):
            element.barrier, self.barrier = self.barrier is not None, None
        elif unit.kind == "program" and not isinstance(element, (Loop, Branch)):
            element = Step(element, self.barrier is not None)
            self.barrier = None
        unit.items.append(element)

    # -- regions
    def inside(self, unit: Declarations, what: str, *symbols: Sym) -> tuple[list[Element], ItemLine]:
        """The items up to the line that closes the region, and that line behind its brace. symbols: known inside."""
        around, iterations = unit.items, unit.iterations
        items: list[Element] = []
        unit.items = items
        unit.iterations = iterations | {s.name: s for s in symbols}
        while not (line := self.within(Scope(unit), what)).accept("}"):
            self.declaration(line, unit)
        if self.barrier is not None:
            raise self.barrier.error("a barrier without a kernel behind it")
        unit.items, unit.iterations = around, iterations
        return items, line

    def loop(self, line: ItemLine, unit: Declarations) -> Loop:
        label = line.string()
        line.expect("iteration")
        iteration = line.iteration()
        settings = line.loop_settings()
        line.expect("{")
        line.end()
        body, last = self.inside(unit, "a loop", iteration)
        last.end()
        return Loop(label, iteration, body, **settings)

    def while_(self, line: ItemLine, unit: Declarations) -> Loop:
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

    def branch(self, line: ItemLine, unit: Declarations) -> Branch:
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

    def tiles(self, line: ItemLine, unit: Declarations) -> Tiles:
        label, axes, growing = line.string(), line.many(line.axis), line.accept("growing")
        line.names.update({s.name: s for a in axes for s in a.symbols})
        windows = line.many(line.window) if line.accept("windows") else ()
        line.expect("{")
        line.end()
        around, self.barrier = self.barrier, None
        symbols = [s for a in axes for s in a.symbols] + [s for w in windows for s in w.symbols]
        if len({s.name for s in symbols}) < len(symbols):
            raise line.error("one variable is named twice")
        body, last = self.inside(unit, "tiles", *symbols)
        last.end()
        self.barrier = around
        return Tiles(label, axes, body, growing, windows)

    # -- declarations
    def dim(self, line: ItemLine, unit: Declarations) -> None:
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

    def buffer(self, line: ItemLine, unit: Declarations) -> None:
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

    def fusion(self, line: ItemLine, unit: Declarations) -> None:
        unit.fusions.append(line.string())
        line.end()

    def apart(self, line: ItemLine, unit: Declarations) -> None:
        what, why = line.string(), line.string()
        line.expect("of")
        unit.apart.append(Apart(what, why, (line.string(), line.string())))
        line.end()

    def refusal(self, line: ItemLine, unit: Declarations) -> None:
        unit.refusals.append((line.string(), line.string()))
        line.end()

    def read_barrier(self, line: ItemLine, unit: Declarations) -> None:
        line.end()
        if self.barrier is not None:
            raise line.error("two barriers with no kernel between")
        self.barrier = line

    def aside(self, line: ItemLine, unit: Declarations) -> None:
        steps = line.listed(line.integer)
        line.expect("of")
        first = line.integer()
        line.expect("to")
        unit.asides.append(Aside(first, steps, line.integer()))
        line.end()

    def arena(self, line: ItemLine, unit: Declarations) -> None:
        if line.peek() == "size":
            unit.arena.size = line.setting("size")
        if line.peek() == "lower_bound":
            unit.arena.lower_bound = line.setting("lower_bound")
        line.end()

    def slot(self, line: ItemLine, unit: Declarations) -> None:
        size = line.dim()
        above = line.listed(line.integer) if line.accept("above") else ()
        if above:
            if any(not 0 <= i < len(unit.arena.slots) for i in above):
                raise line.error("a slot lies above earlier ones only")
        line.end()
        unit.arena.slots.append(Slot(size, above))

    def place(self, line: ItemLine, unit: Declarations) -> None:
        b = line.buffer()
        if line.peek() == "slot":
            unit.arena.slot_of[b.name] = line.setting("slot")
        if line.peek() == "offset":
            unit.arena.offset[b.name] = line.setting("offset")
        line.end()

    # -- items
    def interface(self, item: Scope) -> tuple[tuple[Buffer, ...], tuple[Sym, ...]]:
        """The line of parameters, which every kernel has."""
        line = self.next(item)
        if line is None:
            raise ParseError(self.file, self.last, "a kernel without params")
        return line.interface()

    def check(self, line: ItemLine, unit: Declarations) -> CheckKernel:
        label, b = line.string(), line.buffer()
        line.expect("below")
        bound, loc = line.dim(), line.loc()
        line.end()
        return CheckKernel(label, b, bound, *self.interface(line.item), loc)

    def extern(self, line: ItemLine, unit: Declarations) -> ExternKernel:
        label, function = line.string(), line.string()
        reads = line.many(line.buffer)
        line.expect("to")
        writes, loc = line.many(line.buffer), line.loc()
        line.end()
        params, dims = self.interface(line.item)
        return ExternKernel(label, function, reads, writes, (*reads, *writes), dims, loc)

    def compute(self, line: ItemLine, unit: Declarations) -> Computation:
        label, variables = line.string(), line.variables()
        window, copy = line.accept("window"), line.string() if line.accept("copy") else ""
        loc = line.loc()
        line.expect("{")
        line.end()
        s = self.within(line.item, "a computation").store()
        self.within(line.item, "a computation").closing()
        return Computation(s.buffer, variables, s.index, s.value, label, loc, window, s.dynamic, copy)

    def contraction(self, line: ItemLine, unit: Declarations) -> Contraction:
        label, (batch, m, n, k), panel, product, loc = self.product(line)
        a, b = self.factor(line, "a"), self.factor(line, "b")
        inner, where = self.within(line.item, "a contraction"), None
        if inner.peek() == "where":
            where, inner = inner.named_scalar("where"), self.within(line.item, "a contraction")
        if inner.accept("}"):
            raise inner.error("a contraction that stores nothing")
        store, last = inner.store(), self.within(line.item, "a contraction")
        if store.value is not Acc(product.sum) or not last.accept("}"):
            raise inner.error("a lowered contraction stores its accumulator and nothing else")
        last.end()
        return Contraction(store.buffer, batch, m, n, k, a, b, store.index, label, loc, panel, product, where)

    def contraction_kernel(self, line: ItemLine, unit: Declarations) -> ContractionKernel:
        label, (batch, m, n, k), panel, product, loc = self.product(line)
        params, dims = self.interface(line.item)
        schedules, cold = self.schedules(line.item), self.accepted(line.item, "cold")
        a, second = self.factor(line, "a"), [self.factor(line, "b")]
        stores: list[Store] = []
        where: Scalar | None = None
        while not (inner := self.within(line.item, "a contraction")).accept("}"):
            if inner.peek() == "b":
                second.append(inner.factor("b"))
            elif inner.peek() == "where" and where is None and not stores:
                where = inner.named_scalar("where")
            else:
                stores.append(inner.store())
        inner.end()
        return ContractionKernel(label, batch, m, n, k, a, tuple(second), panel, tuple(stores), params, dims, schedules,
                                 loc, product, where, cold=cold)

    def product(self, line: ItemLine) -> tuple[str, Spaces, int, Product, Loc | None]:
        """The head of a contraction: its label, the variables of batch, m, n and k, its panel, its dtypes and where it
        is from."""
        def space(name: str) -> tuple[Sym, ...]:
            line.expect(name)
            return line.variables()

        label = line.string()
        spaces = space("batch"), space("m"), space("n"), space("k")
        line.expect("panel")
        panel, product = line.integer(), F32
        if line.accept("of"):
            a, b = line.dtype(), line.dtype()
            group = line.integer() if line.accept("group") else 1
            zero = line.integer() if line.accept("zero") else 0
            ordered = line.accept("ordered")
            line.expect("in")
            product = Product(a, b, line.dtype(), group, zero, ordered)
            if not product.legal:
                raise line.error("no product of these dtypes is known")
        loc = line.loc()
        line.expect("{")
        line.end()
        return label, spaces, panel, product, loc

    def attention(self, line: ItemLine, unit: Declarations) -> AttentionKernel:
        label, (batch, m, n, k), panel, _, loc = self.product(line)
        if len(k) != 2:
            raise line.error("k of attention is the key and the term of a score")
        params, dims = self.interface(line.item)
        second, inner, limit = self.factor(line, "second"), self.within(line.item, "attention"), None
        inner.expect("score")
        inner.expect("=")
        score: Scalar = inner.scalar()
        inner.end()
        inner = self.within(line.item, "attention")
        if inner.accept("limit"):
            limit = inner.dim()
            inner.end()
            inner = self.within(line.item, "attention")
        if zeros := inner.accept("zeros"):
            inner.end()
            inner = self.within(line.item, "attention")
        a, b, stores = inner.factor("a"), self.factor(line, "b"), []
        while not (inner := self.within(line.item, "attention")).accept("}"):
            stores.append(inner.store())
        inner.end()
        return AttentionKernel(label, batch, m, n, k, a, (b,), panel, tuple(stores), params, dims, loc=loc,
                               second=second, score=score, limit=limit, zeros=zeros)

    def schedules(self, item: Scope) -> tuple[Schedule, ...]:
        schedules = []
        while (line := self.next(item)) is not None:
            if not line.accept("schedule"):
                self.at -= 1
                break
            name = line.string()
            schedule = contraction_schedule.parse(name)
            if schedule is None:
                raise line.error(f"{name!r} is no schedule")
            schedules.append(schedule)
            line.end()
        return tuple(schedules)

    def accepted(self, item: Scope, word: str) -> bool:
        """Whether the next line is this word alone; then it is read."""
        line = self.next(item)
        if line is None or not line.accept(word):
            self.at -= line is not None
            return False
        line.end()
        return True

    def grouped_contraction(self, line: ItemLine, unit: Declarations) -> GroupedContractionKernel:
        label, consecutive, loc = line.string(), line.accept("consecutive"), line.loc()
        parts: list[ContractionKernel] = []
        line.expect("{")
        line.end()
        params, dims = self.interface(line.item)
        while not (inner := self.within(Scope(unit), "a grouped contraction")).accept("}"):
            inner.expect("contraction")
            parts.append(self.contraction_kernel(inner, unit))
        inner.end()
        return GroupedContractionKernel(label, tuple(parts), params, dims, loc, consecutive=consecutive)

    def prepared(self, line: ItemLine, unit: Declarations) -> PreparedKernel:
        label, loc = line.string(), line.loc()
        line.expect("{")
        line.end()
        params, dims = self.interface(line.item)
        inner = self.within(Scope(unit), "a prepared product")
        inner.expect("loop_nest")
        rows = self.loop_nest(inner, unit)
        inner = self.within(Scope(unit), "a prepared product")
        product = self.grouped_contraction(inner, unit) if inner.accept("grouped_contraction") else None
        if product is None:
            inner.expect("contraction")
        made = PreparedKernel(label, rows, product or self.contraction_kernel(inner, unit), params, dims, loc)
        inner = self.within(line.item, "a prepared product")
        inner.expect("}")
        inner.end()
        return made

    def factor(self, line: ItemLine, name: str) -> Load:
        return self.within(line.item, "a contraction").factor(name)

    def loop_nest(self, line: ItemLine, unit: Declarations) -> LoopNestKernel:
        label = line.string()
        line.expect("rows")
        rows = line.variables()
        line.expect("grain")
        grain = line.integer()
        far = line.word() if line.accept("far") else ""
        loc = line.loc()
        line.expect("{")
        line.end()
        params, dims = self.interface(line.item)
        phases = []
        while not (inner := self.within(line.item, "a loop nest")).accept("}"):
            inner.expect("phase")
            phases.append(self.phase(inner))
        inner.end()
        return LoopNestKernel(label, rows, tuple(phases), params, dims, grain, loc, far=far)

    def byte_product(self, line: ItemLine, unit: Declarations) -> ByteProductKernel:
        nest = self.loop_nest(line, unit)
        return ByteProductKernel(nest.label, nest.rows, nest.phases, nest.params, nest.dims, nest.grain, nest.loc)

    def phase(self, line: ItemLine) -> Phase:
        variables, vector = line.variables(), not line.accept("scalar")
        reduces: list[RowReduce | RowSort] = []
        stores: list[Store] = []
        line.expect("{")
        line.end()
        line.item.shared = {}
        while not (inner := self.within(line.item, "a phase")).accept("}"):
            if inner.peek().startswith('"') or inner.peek() == "let":
                stores.append(inner.store())
                continue
            if stores:
                raise inner.error("the reductions of a phase stand before its stores")
            name = inner.word("a row reduction or a store")
            if name == "sort":
                reduces.append(inner.row_sort())
                continue
            inner.expect("=")
            op, order = inner.reduction(inner.word("a reduction such as sum.lanes"))
            dtype = inner.dtype()
            (value,) = inner.exactly(1, inner.many(inner.scalar))
            inner.end()
            reduces.append(RowReduce(name, op, order, value, dtype))
        inner.end()
        return Phase(variables, tuple(reduces), tuple(stores), vector)
