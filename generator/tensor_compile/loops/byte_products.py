# SPDX-License-Identifier: Apache-2.0
"""Loop nests that are products of bytes, for processors whose registers have 32 bits: two multiply-adds an instruction.

A convolution or a product of i8 whose sums are i32 is a loop nest with one reduction there (layout.apply leaves it
one), and what is computed from the sum is fused with it already. `find` says which of three forms a nest has:

- Columns: each point's terms are copied to scratch, widened to 16 bits, two points at a time; then every row of weights
  is multiplied with both.
- Row: a single point whose terms lie one behind the other is multiplied where it is.
- Channels: a depthwise convolution goes by four neighbouring channels, whose rows are widened into a ring in scratch.

What a form reads of its operand is in scratch before it stores anything to the same bytes, so the result may take the
operand's place (`overwrites`).
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable

from ..graph.dtypes import DTYPES
from ..records import dataclass
from ..symbolic import ZERO, Expr, Sym, wrap
from .constant_facts import ConstantFacts
from .fused import Fused
from .loop_ir import Kernel, LoopNestKernel, RowReduce, Store
from .program_ir import mapped
from .scalar_ir import Acc, Apply, Buffer, Load, Local, Reduction, Scalar, unused
from .scalars import domain_size, extent, loads, Rewriter, walk

FAR = 4092   # bytes from where on a row of weights is out of reach of another row's address
MOST_TAPS = 32   # of a window that is written out


@dataclass(frozen=True, slots=True)
class ByteProductKernel(LoopNestKernel):
    """A loop nest that `find` knows, with its scratch as the last of `params` where it needs some. shifts,
    doubled: positions of parameters, as ConstantFacts has their names."""

    shifts: tuple[tuple[int, int], ...] = ()
    doubled: tuple[int, ...] = ()

    @property
    def facts(self) -> ConstantFacts:
        """Of the names of its parameters."""
        names = [p.name for p in self.params]
        return ConstantFacts(frozenset((names[a], names[b]) for a, b in self.shifts),
                             frozenset(names[a] for a in self.doubled))

    @property
    def work(self) -> Buffer | None:
        """Its scratch: a temp where there is one thread, so that it lies where nothing else is needed just then."""
        last = self.params[-1]
        touched = {s.buffer for s in self.stores} | {load.buffer for load in loads(*self.values)}
        return None if last.name in touched else last


@dataclass(frozen=True, slots=True)
class Columns:
    """x, w: the operands; other: what stands for x outside of its tensor. m: the variables of the points, n that of
    the rows of weights, which are `pitch` bytes apart; of `terms` terms, each run of `length` is contiguous in x.
    outer: the variables of the runs; bounded: the run's own variable that predicates ask about, `unit` elements a
    step."""

    x: Load
    w: Load
    other: int
    stores: tuple[Store, ...]
    m: tuple[Sym, ...]
    n: Sym
    terms: int
    pitch: int
    outer: tuple[Sym, ...]
    run: tuple[Sym, ...]
    length: int
    bounded: Sym | None
    unit: int

    @property
    def points(self) -> Expr:
        return domain_size(self.m)

    @property
    def groups(self) -> int:
        return -(-self.terms // 4)

    @property
    def whole_words(self) -> bool:
        """Runs, and what exists of them, are whole groups."""
        return self.length % 4 == 0 and self.unit % 4 == 0

    @property
    def scratch(self) -> int:
        """Words."""
        return 4 * self.groups + (0 if self.whole_words else self.groups)


@dataclass(frozen=True, slots=True)
class Row:
    """As Columns, of a single point, without padding: the variables of m have one value each."""

    x: Load
    w: Load
    stores: tuple[Store, ...]
    m: tuple[Sym, ...]
    n: Sym
    terms: int
    pitch: int
    k: tuple[Sym, ...]

    @property
    def scratch(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Channels:
    """channel: the variable that both operands share. row, column: variables of the points; taps: sizes of the
    window. Point (y, x) of the operand is at `base + row_step * y + column_step * x` and the channel; a window begins
    at y = row_stride * row, x = column_stride * column. Points exist from y_low to y_high-1, and x_low to x_high-1.
    How many rows there are, and which of the operand's exist, may be known at run time alone."""

    x: Load
    w: Load
    other: int
    stores: tuple[Store, ...]
    batch: tuple[Sym, ...]
    channel: Sym
    row: Sym
    column: Sym
    taps: tuple[int, int]
    tap_step: int
    base: Expr
    row_step: int
    column_step: int
    row_stride: int
    column_stride: int
    y_low: Expr
    y_high: Expr
    x_low: int
    x_high: int

    @property
    def width(self) -> int:
        """Points of a row of the ring."""
        return (extent(self.column).value - 1) * self.column_stride + self.taps[1]

    @property
    def scratch(self) -> int:
        return 2 * (self.taps[0] * self.width + self.taps[0] * self.taps[1])


Form = Columns | Row | Channels


def pair_words(form: Form) -> int:
    """Scratch of a form that is computed by words of two points (emit/integers/pairs.py)."""
    if isinstance(form, Columns):
        return 4 * form.groups
    if isinstance(form, Row):
        return 0
    tall, wide = form.taps
    return tall * (tall * wide + form.width) + extent(form.column).value


def with_byte_products(scheduled: Fused, threads: int, scratch: Callable[[Form, int | None], int],
                       facts: ConstantFacts = ConstantFacts()) -> Fused:
    """The same kernels, those with a form as ByteProductKernel, with as many words of scratch. facts: of
    packed constants. scratch: of a form, in as many bytes as there is room for (None: there is)."""
    buffers = dict(scheduled.buffers)

    def one(kernel: Kernel) -> Kernel:
        if not isinstance(kernel, LoopNestKernel) or (form := find(kernel)) is None:
            return kernel
        params = kernel.params
        if words := scratch(form, None):
            name = unused(buffers, "%p")
            buffers[name] = Buffer(name, "u32", (wrap(words),), (0,), "scratch" if threads > 1 else "temp")
            params = (*params, buffers[name])
        position = {p.name: i for i, p in enumerate(params)}
        shifts = sorted((position[a], position[b]) for a, b in facts.shifts if a in position and b in position)
        doubled = sorted(position[a] for a in facts.doubled if a in position)
        return ByteProductKernel(kernel.label, kernel.rows, kernel.phases, params, kernel.dims, kernel.grain,
                                 kernel.loc, shifts=tuple(shifts), doubled=tuple(doubled))

    kernels = mapped(scheduled.kernels, one)
    return replace(scheduled, kernels=kernels, buffers=buffers)


def find(kernel: LoopNestKernel) -> Form | None:
    """The form of a loop nest; None where it has none."""
    found = _reduction(kernel)
    if found is None:
        return None
    reduction, stores, points = found
    buffers = {p.name: p for p in kernel.params}
    pair = _operands(reduction.value, buffers)
    variables = (*points, *reduction.vars)
    loose = [s for s in variables if not extent(s).is_const]    # rows of a stripe
    if pair is None or reduction.valid or len(loose) > 1 or set(loose) & set(reduction.vars):
        return None
    x, w = pair
    x_at, w_at = (buffers[v.buffer].address(v.index) for v in pair)
    steps = [e.coefficient(s) for e in (x_at, w_at, *x.valid) for s in variables]
    if any(step is None or not step.is_const for step in steps):
        return None
    if any(s not in variables and not s.is_dim for e in (x_at, w_at, *x.valid) for s in e.symbols()) or w_at.substitute(
            {s: ZERO for s in variables}) != ZERO:
        return None
    other = DTYPES[x.other.dtype].number(x.other.bits) if x.valid and x.other is not None else 0
    shared = w_at.symbols() & x_at.symbols() - set(reduction.vars)
    if shared:
        return _channels(x, w, x_at, w_at, other, stores, points, reduction.vars)
    return _rows(x, w, x_at, w_at, other, stores, points, reduction.vars)


def overwrites(kernel: LoopNestKernel, x: Buffer, out: Buffer) -> bool:
    """Every byte of `out` is stored when all that is read from the same place of x is in scratch, or is read by the
    very point that stores it."""
    form = find(kernel)
    if form is None or isinstance(form, Row) or form.x.buffer != x.name or x.dtype != out.dtype:
        return False
    if any(s.buffer != out.name for s in form.stores) or len(form.stores) != 1:
        return False
    if any(load.buffer == x.name for load in loads(*(s.value for s in form.stores))):
        return False
    (store,) = form.stores
    at, read = out.address(store.index), x.address(form.x.index)
    if isinstance(form, Columns):
        # the bytes of a point are those that it stores, and no other point reads them
        if form.x.valid or form.outer or form.terms != extent(form.n).value or at.coefficient(form.n) != 1:
            return False
        drop = {s: ZERO for s in (*form.run, form.n)}
        return at.substitute(drop) == read.substitute(drop)
    # four channels of all rows: row y of the result is stored when rows up to y of the operand are in the ring
    step = {s: at.coefficient(s) for s in (form.row, form.column, form.channel)}
    return (step[form.row] == form.row_step and step[form.column] == form.column_step and step[form.channel] == 1
            and form.row_stride == form.column_stride == 1 and form.y_low.is_const and form.y_low.value < form.taps[0]
            and not form.batch and form.base == -form.y_low * form.row_step - form.x_low * form.column_step
            and at.substitute({s: ZERO for s in step}) == ZERO)


# -- reading a nest ---------------------------------------------------------------------------------------------------
def _reduction(kernel: LoopNestKernel) -> tuple[Reduction, tuple[Store, ...], tuple[Sym, ...]] | None:
    """The one reduction, the stores with an accumulator in its place, and the variables of the points."""
    phases = kernel.phases
    stores = kernel.stores
    if not stores or any(s.dynamic for s in stores):
        return None
    if not isinstance(kernel, ByteProductKernel) and any(b.kind == "scratch" for b in kernel.params):
        return None
    if len(phases) == 1 and not phases[0].reduces:
        found = dict.fromkeys(v for v in walk(*(s.value for s in stores)) if isinstance(v, Reduction))
        if len(found) != 1:
            return None
        (reduction,) = found
        place: Scalar = reduction
        points = (*kernel.rows, *phases[0].vars)
    elif len(phases) == 2 and len(phases[0].reduces) == 1 and not (phases[0].stores or phases[1].vars or
                                                                    phases[1].reduces):
        row = phases[0].reduces[0]
        if not isinstance(row, RowReduce):
            return None
        reduction = Reduction(row.op, row.order, row.dtype, phases[0].vars, row.value)
        place, points = Local(row.name, row.dtype), kernel.rows
        if any(isinstance(v, Reduction) for v in walk(*(s.value for s in stores))):
            return None
    else:
        return None
    if reduction.op != "dot" or reduction.dtype != "i32":
        return None
    change = Rewriter(leaf=lambda v: Acc("i32") if v is place else None)
    return reduction, tuple(replace(s, value=change(s.value)) for s in stores), points


def _operands(value: Scalar, buffers: dict[str, Buffer]) -> tuple[Load, Load] | None:
    """x and the weights, which are constants."""
    if not (isinstance(value, Apply) and value.op == "pair"):
        return None
    found = []
    for side in value.args:
        inner = side.args[0] if isinstance(side, Apply) and side.op == "cast" else None
        if not isinstance(inner, Load) or inner.dtype != "i8" or inner.dynamic:
            return None
        found.append(inner)
    constant = [buffers[v.buffer].kind == "packed" and not v.valid for v in found]
    if constant == [True, False]:
        found.reverse()
    elif constant != [False, True]:
        return None
    return found[0], found[1]


def _step(e: Expr, s: Sym) -> int:
    step = e.coefficient(s)
    assert step is not None
    return step.value


def _rows(x: Load, w: Load, x_at: Expr, w_at: Expr, other: int, stores: tuple[Store, ...],
          points: tuple[Sym, ...], k: tuple[Sym, ...]) -> Form | None:
    """Rows of weights whose terms follow one another in the order of `k`."""
    columns = [s for s in points if s in w_at.symbols()]
    if len(columns) != 1 or _step(x_at, k[-1]) != 1:
        return None
    (n,) = columns
    if not extent(n).is_const or any(not extent(s).is_const for s in [s for s in points if s is not n][1:]):
        return None
    step = 1
    for s in reversed(k):
        if _step(w_at, s) != step:
            return None
        step *= extent(s).value
    pitch, m = _step(w_at, n), tuple(s for s in points if s is not n)
    if pitch % 4 or pitch < step:
        return None
    asked = {s for e in x.valid for s in e.symbols()}
    run, length = [k[-1]], extent(k[-1]).value
    for s in reversed(k[:-1]):
        if _step(x_at, s) != length or asked & set(run):
            break
        run.insert(0, s)
        length *= extent(s).value
    outer = k[:len(k) - len(run)]
    if asked & set(run[1:]):
        return None
    if not outer and not x.valid and domain_size(m) == 1:
        return Row(x, w, stores, m, n, step, pitch, k) if step % 4 == 0 else None
    if pitch >= FAR:
        return None
    bounded = run[0] if run[0] in asked else None
    if bounded is not None and any(abs(_step(e, bounded)) > 1 for e in x.valid):
        return None
    unit = length // extent(bounded).value if bounded is not None else length
    return Columns(x, w, other, stores, m, n, step, pitch, outer, tuple(run), length, bounded, unit)


def _channels(x: Load, w: Load, x_at: Expr, w_at: Expr, other: int, stores: tuple[Store, ...], points: tuple[Sym, ...],
              k: tuple[Sym, ...]) -> Form | None:
    shared = [s for s in points if s in w_at.symbols()]
    if len(shared) != 1 or len(k) != 2 or domain_size(k).value > MOST_TAPS:
        return None
    (c,) = shared
    across = [s for s in points if s is not c]
    if len(across) < 2 or any(not extent(s).is_const for s in (c, *across[:-2], across[-1])):
        return None
    depth = extent(c).value
    if depth % 4 or (_step(x_at, c), _step(w_at, c)) != (1, 1):
        return None
    tall, wide = (extent(s).value for s in k)
    if (_step(w_at, k[0]), _step(w_at, k[1])) != (depth * wide, depth):
        return None
    row, column = across[-2:]
    row_step, column_step = _step(x_at, k[0]), _step(x_at, k[1])
    if min(row_step, column_step) < 1 or _step(x_at, row) % row_step or _step(x_at, column) % column_step:
        return None
    row_stride, column_stride = _step(x_at, row) // row_step, _step(x_at, column) // column_step
    if min(row_stride, column_stride) < 1 or row_stride > tall:
        return None
    limits = [[ZERO, (extent(r) - 1) * stride + size] for r, stride, size in ((row, row_stride, tall),
                                                                             (column, column_stride, wide))]
    told: set[tuple[int, int]] = set()   # other limits are those of all positions, which need no test
    for e in x.valid:
        for axis, (point, tap, stride) in enumerate(((row, k[0], row_stride), (column, k[1], column_stride))):
            sign = _step(e, tap)
            others = e.symbols() - {point, tap}
            if all(s.is_dim for s in others) and sign in (1, -1) and _step(e, point) == sign * stride:
                rest = e.substitute({point: ZERO, tap: ZERO})
                bound, nearer = (-rest, max) if sign > 0 else (rest + 1, min)
                known = limits[axis][sign < 0]
                if known.is_const and bound.is_const:
                    bound = wrap(nearer(known.value, bound.value))
                elif (axis, sign) in told:
                    return None
                limits[axis][sign < 0] = bound
                told.add((axis, sign))
                break
        else:
            return None
    base = x_at.substitute({row: ZERO, column: ZERO, k[0]: ZERO, k[1]: ZERO, c: ZERO})
    return Channels(x, w, other, stores, tuple(across[:-2]), c, row, column, (tall, wide), depth, base, row_step,
                    column_step, row_stride, column_stride, limits[0][0], limits[0][1], limits[1][0].value,
                    limits[1][1].value)
