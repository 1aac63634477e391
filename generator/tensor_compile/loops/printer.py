# SPDX-License-Identifier: Apache-2.0
"""Loop IR as text (docs/loops.md): for dumps, tests and people. parse.py reads it; print(parse(text)) == text.

A unit is what one pass hands to the next: `lowered` (LoweredFunction), `fused` (Fused, also behind schedule) or
`program`. A text may hold several, one after the other.
"""
from __future__ import annotations

from typing import Iterable, Iterator, Sequence

from ..tokens import quote
from ..symbolic import Atom, Expr, FloorDiv, Sym
from .fused import Fused
from .byte_products import ByteProductKernel
from .loop_ir import AttentionKernel, CheckKernel, Computation, Contraction, ContractionKernel, ExternKernel, \
    GroupedContractionKernel, Kernel, LoopNestKernel, PreparedKernel, RowReduce, RowSort, Store
from .program_ir import Branch, Element, leaves, Loop, Program, regions, Step, Tiles
from .products import F32
from .scalar_ir import Acc, Apply, Buffer, Const, InBounds, IndexValue, Load, Local, Reduction, Scalar, Sorted
from .lower import LoweredFunction
from .scalars import expressions, extent, loads, walk

VERSION = 1
Unit = LoweredFunction | Fused | Program


def print_unit(unit: Unit) -> str:
    if isinstance(unit, Program):
        return print_program(unit)
    head = f"lowered {quote(unit.name)}" if isinstance(unit, LoweredFunction) else f"fused {quote(unit.name)}"
    items = unit.items if isinstance(unit, LoweredFunction) else unit.kernels
    dims = _dims(unit.buffers, items, unit.dims)
    out = _head(head, dims, unit.buffers) + _items(items, dims)
    if isinstance(unit, Fused):
        out += _log(unit)
    return "\n".join(out) + "\n"


def print_program(program: Program) -> str:
    dims = _dims(program.buffers, program.steps, program.dims)
    out = _head("program", dims, program.buffers) + _items(program.steps, dims)
    arena = program.arena
    known = [f" {name}={value}" for name, value in (("size", arena.size), ("lower_bound", arena.lower_bound))
             if value is not None]
    out.append("arena" + "".join(known))
    out += [f"slot {_expr(slot.size)}" + (f" above [{', '.join(map(str, slot.above))}]" if slot.above else "")
            for slot in arena.slots]
    for name in {**arena.slot_of, **arena.offset}:
        slot = f" slot={arena.slot_of[name]}" if name in arena.slot_of else ""
        offset = f" offset={arena.offset[name]}" if name in arena.offset else ""
        out.append(f"place {quote(name)}{slot}{offset}")
    return "\n".join(out + _asides(program) + _log(program)) + "\n"


def _items(items: list[Element], names: tuple[Sym, ...]) -> list[str]:
    """names: the dims, and the iterations of the loops around."""
    out = []
    for item in items:
        if isinstance(item, Step):
            out += (["barrier"] if item.barrier else []) + _Printer(names).item(item.kernel)
        elif isinstance(item, Loop):
            out += _loop(item, names)
        elif isinstance(item, Tiles):
            axes = ", ".join(f"{a.start.name} by {a.block} of {_expr(a.size)}" for a in item.axes)
            growing = " growing" if item.growing else ""
            windows = ", ".join(f"{w.begin.name} in {quote(w.buffer)} dim {w.dim} from {_expr(w.first)} to "
                                f"{_expr(w.end)} of {_expr(w.size)}" for w in item.windows)
            out += [*(["barrier"] if item.barrier else []), f"tiles {quote(item.label)} ({axes}){growing}" +
                    (f" windows ({windows})" if windows else "") + " {",
                    *_inside(item.body, (*names, *item.symbols)), "}"]
        elif isinstance(item, Branch):
            out += [f"branch {quote(item.label)} on {quote(item.condition)}{_barrier(item)} {{",
                    *_inside(item.then, names), "} else {", *_inside(item.other, names), "}"]
        else:
            out += _Printer(names).item(item)
    return out


def _inside(items: list[Element], names: tuple[Sym, ...]) -> list[str]:
    return ["  " + line for line in _items(items, names)]


def _loop(loop: Loop, names: tuple[Sym, ...]) -> list[str]:
    settings = f" carried ({', '.join(map(quote, loop.carried))})" if loop.carried else ""
    settings += "".join(f" swap ({quote(a)}, {quote(b)})" for a, b in loop.swaps)
    settings += " iteration_barrier" if loop.iteration_barrier else ""
    if loop.iteration is None:
        return [f"while {quote(loop.label)}{settings} {{", *_inside(loop.test, names),
                f"}} decide {quote(loop.condition)}{_barrier(loop)} {{", *_inside(loop.body, names), "}"]
    iteration = loop.iteration
    return [f"loop {quote(loop.label)} iteration {iteration.name}:{_expr(extent(iteration))}{settings} {{",
            *_inside(loop.body, (*names, iteration)), "}"]


def _barrier(region: Loop | Branch) -> str:
    return " barrier" if region.barrier else ""


def print_kernel(kernel: Kernel) -> str:
    """One kernel, with a final newline."""
    return "\n".join(_Printer(kernel.dims).item(kernel)) + "\n"


def print_buffer(b: Buffer) -> str:
    shape = ",".join(_expr(d) for d in b.shape)
    order = "" if b.order == tuple(range(len(b.shape))) else f" order=[{', '.join(map(str, b.order))}]"
    return f"buffer {b.kind} {quote(b.name)} : {b.dtype}[{shape}]{order}"


def _head(title: str, dims: tuple[Sym, ...], buffers: dict[str, Buffer]) -> list[str]:
    out = [f"tensor_compile.loops {VERSION} {title}"]
    out += [f"dim {s.name} range={s.lo}:{s.hi} divisor={s.divisor}" for s in dims]
    return out + [print_buffer(b) for b in buffers.values()]


def _log(unit: Fused | Program) -> list[str]:
    return [f"fusion {quote(text)}" for text in unit.fusions] + \
        [f"apart {quote(a.what)} {quote(a.why)} of {' '.join(map(quote, a.between))}" for a in unit.apart] + \
        [f"refusal {quote(what)} {quote(reason)}" for what, reason in unit.refusals]


def _asides(program: Program) -> list[str]:
    return [f"aside [{', '.join(map(str, a.steps))}] of {a.first} to {a.end}" for a in program.asides]


def _expr(e: Expr) -> str:
    return str(e).replace(" ", "")


def _dims(buffers: dict[str, Buffer], items: list[Element], more: tuple[Sym, ...]) -> tuple[Sym, ...]:
    """Every size that the unit names, in order of their names."""
    symbols: set[Sym] = set(more)
    for b in buffers.values():
        for e in b.shape:
            symbols |= e.symbols()
    for region in regions(items):
        if isinstance(region, Loop) and region.iteration is not None:
            symbols |= extent(region.iteration).symbols()
        if isinstance(region, Tiles):
            for size in (*(a.size for a in region.axes), *(w.size for w in region.windows)):
                symbols |= size.symbols()
    for item in leaves(items):
        for e in _asked(item.kernel if isinstance(item, Step) else item):
            symbols |= e.symbols()
    return tuple(sorted((s for s in symbols if s.is_dim and not s.is_iteration), key=lambda s: s.key))


def _asked(item: Element) -> Iterator[Expr]:
    """Every expression of an item."""
    if isinstance(item, CheckKernel):
        yield item.bound
        return
    if isinstance(item, ExternKernel):
        yield from (s for b in item.params for s in b.shape)
        return
    if isinstance(item, PreparedKernel):
        for each in (item.rows, item.contraction):
            yield from _asked(each)
        return
    if isinstance(item, GroupedContractionKernel):
        for part in item.contractions:
            yield from _asked(part)
        return
    loops, roots = [], []
    stores: Sequence[Store] = ()
    if isinstance(item, Computation):
        loops, stores = list(item.vars), [Store(item.out, item.index, item.value, item.dynamic)]
    elif isinstance(item, LoopNestKernel):
        loops = [*item.rows, *(s for phase in item.phases for s in phase.vars)]
        roots = [r.value for phase in item.phases for r in phase.reduces]
        yield from (r.count for phase in item.phases for r in phase.reduces if isinstance(r, RowSort))
        stores = item.stores
    else:
        loops, roots = [*item.batch, *item.m, *item.n, *item.k], [item.a, *_second(item), *item.predicates]
        stores = item.stores if isinstance(item, ContractionKernel) else \
            [Store(item.out, item.index, Acc(item.product.sum))]
    roots += [v for s in stores for v in s.values]
    for s in stores:
        yield from s.index
        loops += [g for g, _ in s.dynamic]
    for x in loads(*roots):
        yield from x.index
        loops += [s for s, _ in x.dynamic]
    yield from expressions(*roots)
    loops += [s for x in walk(*roots) if isinstance(x, Reduction) for s in x.vars]
    loops += [x.var for x in walk(*roots) if isinstance(x, Sorted)]
    for variable in loops:
        yield extent(variable)


class _Printer:
    """One item. Loop variables of one name are told apart by a number, in order of appearance. An operation that a
    phase needs more than once is written once, as `%0 = …`, and named from there on."""

    def __init__(self, dims: tuple[Sym, ...]) -> None:
        self.dims = dims
        self.names: dict[Sym, str] = {}
        self.taken: set[str] = {s.name for s in dims}
        self.shared: dict[Scalar, str] = {}
        self.written: set[Scalar] = set()
        self.numbers = 0

    def name(self, s: Sym) -> str:
        if s.is_dim:
            return s.name
        name = self.names.get(s)
        if name is None:
            name, n = s.name, 1
            while name in self.taken:
                name, n = f"{s.name}_{n}", n + 1
            self.names[s] = name
            self.taken.add(name)
        return name

    def expr(self, e: Expr) -> str:
        """The polynomial with this printer's names, terms ordered by their text so that creation order never shows."""
        parts = []
        for monomial, c in e.terms:
            atoms = sorted(self.atom(a) for a in monomial)
            body = "*".join(([] if abs(c) == 1 and atoms else [str(abs(c))]) + atoms)
            parts.append((len(monomial) == 0, -len(monomial), body, c < 0))
        parts.sort()
        out = ""
        for _, _, body, negative in parts:
            out += ("-" if negative else "+" if out else "") + body
        return out or "0"

    def atom(self, a: Atom) -> str:
        if isinstance(a, Sym):
            return self.name(a)
        return f"{'floordiv' if isinstance(a, FloorDiv) else a.name}({self.exprs(a.parts)})"

    def exprs(self, items: Iterable[Expr]) -> str:
        return ",".join(self.expr(e) for e in items)

    def vars(self, items: Iterable[Sym]) -> str:
        return ", ".join(f"{self.name(s)}:{self.expr(extent(s))}" for s in items)

    def share(self, roots: list[Scalar]) -> None:
        """What follows are the statements of one point, with these values: finds what to name."""
        uses: dict[Scalar, int] = {}
        for s in roots + [c for s in walk(*roots) for c in s.children]:
            uses[s] = uses.get(s, 0) + 1
        self.shared, self.written = {}, set()
        for s in walk(*roots):
            if uses[s] > 1 and s.children:
                self.shared[s] = ""

    def scalar(self, s: Scalar) -> str:
        if s in self.written:
            return self.shared[s]
        if s not in self.shared:
            return self.operation(s)
        self.shared[s] = f"%{self.numbers}"
        self.numbers += 1
        text = f"{self.shared[s]} = {self.operation(s)}"
        self.written.add(s)
        return text

    def operation(self, s: Scalar) -> str:
        if isinstance(s, Const):
            return f"{s.dtype} 0x{s.bits:x}"
        if isinstance(s, IndexValue):
            return f"index {s.dtype} ({self.expr(s.expr)})"
        if isinstance(s, InBounds):
            return f"inside({self.exprs(s.exprs)})"
        if isinstance(s, Acc):
            return f"acc {s.dtype}" + (f" {s.number}" if s.number else "")
        if isinstance(s, Local):
            return f"local {s.dtype} {s.name}"
        if isinstance(s, Sorted):
            return f"sorted i64 over ({self.vars([s.var])}) first {self.expr(s.count)}" \
                f"{' descending' if s.descending else ''} ({self.scalar(s.value)}) at ({self.expr(s.at)})"
        if isinstance(s, Load):
            dynamic = self.dynamic(s)
            valid = f" if ({self.exprs(s.valid)})" if s.valid else ""
            other = f" else {self.scalar(s.other)}" if s.other is not None else ""
            return f"load {s.dtype} ({dynamic}{quote(s.buffer)}[{self.exprs(s.index)}]{valid}{other})"
        if isinstance(s, Reduction):
            valid = f" if ({self.exprs(s.valid)})" if s.valid else ""
            return f"{s.op}.{s.order} {s.dtype} over ({self.vars(s.vars)}) ({self.scalar(s.value)}){valid}"
        assert isinstance(s, Apply)
        return f"{s.op} {s.dtype} ({', '.join(self.scalar(a) for a in s.args)})"

    def dynamic(self, s: Load | Store) -> str:
        return "".join(f"let {self.vars([k])} = {self.scalar(v)} in " for k, v in s.dynamic)

    def reduce(self, r: RowReduce | RowSort) -> str:
        if isinstance(r, RowSort):
            return f"sort {quote(r.buffer)} first {self.expr(r.count)}{' descending' if r.descending else ''} " \
                f"({self.scalar(r.value)})"
        return f"{r.name} = {r.op}.{r.order} {r.dtype} ({self.scalar(r.value)})"

    def store(self, s: Store, indent: str) -> str:
        return f"{indent}{self.dynamic(s)}{quote(s.buffer)}[{self.exprs(s.index)}] = {self.scalar(s.value)}"

    def item(self, k: Element) -> list[str]:
        if isinstance(k, CheckKernel):
            return [f"check {quote(k.label)} {quote(k.buffer.name)} below {self.expr(k.bound)}{_loc(k)}",
                    *_interface(k)]
        if isinstance(k, ExternKernel):
            sides = [", ".join(quote(b.name) for b in side) for side in (k.reads, k.writes)]
            return [f"extern {quote(k.label)} {quote(k.function)} ({sides[0]}) to ({sides[1]}){_loc(k)}",
                    *_interface(k)]
        if isinstance(k, Computation):
            self.share([*(v for _, v in k.dynamic), k.value])
            how = (" window" if k.window else "") + (f" copy {quote(k.copy)}" if k.copy else "")
            return [f"compute {quote(k.label)} ({self.vars(k.vars)}){how}{_loc(k)} {{",
                    self.store(Store(k.out, k.index, k.value, k.dynamic), "  "), "}"]
        if isinstance(k, LoopNestKernel):
            word = "byte_product" if isinstance(k, ByteProductKernel) else "loop_nest"
            past = f" far {k.far}" if k.far else ""
            out = [f"{word} {quote(k.label)} rows ({self.vars(k.rows)}) grain {k.grain}{past}{_loc(k)} {{",
                   *_interface(k)]
            for phase in k.phases:
                out.append(f"  phase ({self.vars(phase.vars)}){'' if phase.vector else ' scalar'} {{")
                self.share(phase.values)
                out += [f"    {self.reduce(r)}" for r in phase.reduces]
                out += [self.store(s, "    ") for s in phase.stores]
                out.append("  }")
            return out + ["}"]
        if isinstance(k, GroupedContractionKernel):
            parts = [line for part in k.contractions for line in _Printer(self.dims).item(part)]
            how = " consecutive" if k.consecutive else ""
            return [f"grouped_contraction {quote(k.label)}{how}{_loc(k)} {{", *_interface(k),
                    *("  " + line for line in parts), "}"]
        if isinstance(k, PreparedKernel):
            parts = [line for part in (k.rows, k.contraction) for line in _Printer(self.dims).item(part)]
            return [f"prepared {quote(k.label)}{_loc(k)} {{", *_interface(k), *("  " + line for line in parts), "}"]
        panel = k.panel if isinstance(k, Contraction) else k.b_panel
        stores = [Store(k.out, k.index, Acc(k.product.sum))] if isinstance(k, Contraction) else k.stores
        self.share(k.values if isinstance(k, AttentionKernel) else
                   [k.a, *_second(k), *k.predicates, *(s.value for s in stores)])
        given = [] if isinstance(k, Contraction) else \
            [*_interface(k), *(f"  schedule {quote(s.name)}" for s in k.schedules), *(["  cold"] if k.cold else [])]
        word = "contraction"
        if isinstance(k, AttentionKernel):
            assert k.second is not None and k.score is not None
            word = "attention"
            given += [f"  second = {self.scalar(k.second)}", f"  score = {self.scalar(k.score)}",
                      *([f"  limit {self.expr(k.limit)}"] if k.limit is not None else []),
                      *(["  zeros"] if k.zeros else [])]
        out = [f"{word} {quote(k.label)} batch ({self.vars(k.batch)}) m ({self.vars(k.m)}) n ({self.vars(k.n)})"
               f" k ({self.vars(k.k)}) panel {panel}{_product(k)}{_loc(k)} {{", *given,
               f"  a = {self.scalar(k.a)}", *(f"  b = {self.scalar(b)}" for b in _second(k)),
               *(f"  where = {self.scalar(p)}" for p in k.predicates)]
        return out + [self.store(s, "  ") for s in stores] + ["}"]


def _second(k: Contraction | ContractionKernel) -> tuple[Load, ...]:
    return (k.b,) if isinstance(k, Contraction) else k.b


def _interface(kernel: Kernel) -> list[str]:
    """What the caller hands over."""
    params, dims = ", ".join(quote(b.name) for b in kernel.params), ", ".join(s.name for s in kernel.dims)
    return [f"  params ({params}) dims ({dims})"]


def _product(k: Contraction | ContractionKernel) -> str:
    p = k.product
    if p == F32:
        return ""
    return f" of {p.a} {p.b}" + (f" group {p.group}" if p.group != 1 else "") + (f" zero {p.zero}" if p.zero else "") \
        + (" ordered" if p.ordered else "") + f" in {p.sum}"


def _loc(item: Computation | Contraction | Kernel) -> str:
    if item.loc is None:
        return ""
    scope = f" {quote(item.loc.scope)}" if item.loc.scope else ""
    return f" loc({quote(item.loc.file)}:{item.loc.line}{scope})"
