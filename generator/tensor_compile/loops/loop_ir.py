# SPDX-License-Identifier: Apache-2.0
"""Data of the loop IR (docs/loops.md): computations, kernels, regions and programs over the buffers and scalar
expressions of scalar_ir.py."""
from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, TypeAlias

from ..graph.ir import Loc
from ..records import dataclass
from ..symbolic import Expr, Sym
from .contraction_schedule import Schedule
from .products import F32, Product
from .scalar_ir import Buffer, Dynamic, Load, Scalar
from .tile_axes import Axis, Window

if TYPE_CHECKING:
    from .schedule_cuda import Shape

# What a list of the program holds: Computations, Contractions and checks behind lowering, kernels behind fusion, Steps
# in a Program; Regions (Loop, Branch, Tiles) at every stage.
Element: TypeAlias = Any


# -- computations: what lowering makes, one a materialised tensor -----------------------------------------------------
@dataclass(frozen=True, slots=True)
class Computation:
    """out[index] = value for every point of `vars`. `value` may hold Reductions. label: region or op, for people.

    dynamic: as in Store: the points run in order, one after the other, where variables do not occur in `index`.
    window: the reduction slides over its operand (pooling, a convolution without panels): never a row reduction.
    copy: of a copy to where a value is needed, why it is not computed there.
    """

    out: str
    vars: tuple[Sym, ...]
    index: tuple[Expr, ...]
    value: Scalar
    label: str = ""
    loc: Loc | None = None
    window: bool = False
    dynamic: Dynamic = ()
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Contraction:
    """out[index] = sum over k of a*b in `order` seq, for every point of batch x m x n.

    a and b are Loads; a depends on batch, m, k; b on batch, n, k; both affine in every variable, but for groups of
    terms. A convolution is m = (n, spatial), k = (window…, channel), a with `valid` where the window reaches into
    padding. panel: the width of b's panels, 0 where b is read in place. product: the dtypes; where its group is more
    than 1 the index of b is (batch…, n//P, k//group, n%P, k%group). where: the predicate of a term, over batch, m and
    k, or None. a is a zero or NaN where it is false, so it is asked only for a sum that is NaN: that one is computed
    again, of the terms for which it is true.
    """

    out: str
    batch: tuple[Sym, ...]
    m: tuple[Sym, ...]
    n: tuple[Sym, ...]
    k: tuple[Sym, ...]
    a: Load
    b: Load
    index: tuple[Expr, ...]
    label: str = ""
    loc: Loc | None = None
    panel: int = 0
    product: Product = F32
    where: Scalar | None = None

    @property
    def predicates(self) -> list[Scalar]:
        """The predicate of a term, where there is one."""
        return [] if self.where is None else [self.where]

    @property
    def values(self) -> list[Scalar]:
        """All that is evaluated."""
        return [self.a, self.b, *self.predicates]


# -- kernels: what fusion and scheduling make -------------------------------------------------------------------------
# A kernel is its content: equal ones are one key, wherever they stand. kernel_interface.py makes those that compute at
# points, with the params and dims that follow from their content.
@dataclass(frozen=True, slots=True)
class Store:
    """buffer[index] = value.

    dynamic: pairs (symbol, Scalar) of index symbols that are data, known to `value` as well: where a value lies outside
    its symbol's range nothing is stored. Several points may then store one element, the last one last.
    """

    buffer: str
    index: tuple[Expr, ...]
    value: Scalar
    dynamic: Dynamic = ()

    @property
    def values(self) -> tuple[Scalar, ...]:
        """All that is evaluated for it."""
        return (*(v for _, v in self.dynamic), self.value)


@dataclass(frozen=True, slots=True)
class RowReduce:
    """local `name` = reduction over the phase's variables of `value` (op and order as in Reduction). Where the order is
    `running`, the local is known at every point of its own phase (behind the reductions before it): the terms so
    far."""

    name: str
    op: str
    order: str
    value: Scalar
    dtype: str


@dataclass(frozen=True, slots=True)
class RowSort:
    """Behind the phase buffer[0..count-1] (scratch of i64) holds the positions of the first `count` of the phase's
    points in the order of `value`, as Sorted has it. The buffer has room for the sort: `sort_space` elements."""

    buffer: str
    value: Scalar
    count: Expr
    descending: bool


@dataclass(frozen=True, slots=True)
class Phase:
    """One loop over `vars` (nested; the last is innermost) within a row: reductions and stores at every point.

    At a point the reductions are evaluated first, then the stores one after the other; a load that an earlier statement
    of the point needed as well has the value that it had there. vars may be empty: the statements run once a row.
    vector: the last variable may be run 16 at a time. A store of
    one phase may be loaded by a later one of the same row. A store with a dynamic index is alone in its loop nest: no
    row holds a variable that its index does without, so one thread walks those, in order.
    """

    vars: tuple[Sym, ...]
    reduces: tuple[RowReduce | RowSort, ...] = ()
    stores: tuple[Store, ...] = ()
    vector: bool = True

    @property
    def values(self) -> list[Scalar]:
        """All that is evaluated at a point."""
        return [r.value for r in self.reduces] + [v for s in self.stores for v in s.values]


@dataclass(frozen=True, slots=True)
class LoopNestKernel:
    """for every point of `rows` (split over threads): the phases in order.

    params: the buffers in the order of the kernel's pointer array; dims: the dims it reads, in the order of its dim
    array (empty in a specialized variant). grain: rows a thread should have at least. shape: how a GPU goes over a
    row, where a tuning lock says so (wide.RowShape).
    """

    label: str
    rows: tuple[Sym, ...]
    phases: tuple[Phase, ...]
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    grain: int = 1
    loc: Loc | None = None
    shape: Shape | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(s for phase in self.phases for s in phase.stores)

    @property
    def values(self) -> list[Scalar]:
        """All that it evaluates."""
        return [r.value for phase in self.phases for r in phase.reduces] + [v for s in self.stores for v in s.values]


@dataclass(frozen=True, slots=True)
class ContractionKernel:
    """Contractions of one `a` at the same points with their epilogue: at every point of batch x m x n the stores, whose
    values contain Acc.

    m may have no variable; n and k have at least one, n exactly one where b is packed. b: the second operands, each
    with an accumulator of its own, which already had `+ (+0)`; they lie alike (equal addresses), or the second one is
    another column of the first one (column_pairs.py). b is packed (`b_panel` =
    panel width: index (batch…, n//P, k, n%P)) or read in place (`b_panel` 0: stride 1 in n). product: the dtypes, as
    of a Contraction. schedules: how it is computed, one for each instruction set of the target, as soon as that is
    chosen; params then has their scratch. where: as of a Contraction, and then there is one second operand. shape: how
    a GPU computes it, where a tuning lock says so (schedule_cuda.Shape).
    """

    label: str
    batch: tuple[Sym, ...]
    m: tuple[Sym, ...]
    n: tuple[Sym, ...]
    k: tuple[Sym, ...]
    a: Load
    b: tuple[Load, ...]
    b_panel: int
    stores: tuple[Store, ...]
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    schedules: tuple[Schedule, ...] = ()
    loc: Loc | None = None
    product: Product = F32
    where: Scalar | None = None
    shape: Shape | None = None

    @property
    def predicates(self) -> list[Scalar]:
        """The predicate of a term, where there is one."""
        return [] if self.where is None else [self.where]

    @property
    def values(self) -> list[Scalar]:
        """All that is evaluated."""
        return [self.a, *self.b, *self.predicates, *(s.value for s in self.stores)]

    @property
    def contractions(self) -> tuple[ContractionKernel, ...]:
        return (self,)


@dataclass(frozen=True, slots=True)
class AttentionKernel(ContractionKernel):
    """A product with the softmax of another one: at every point of batch x m x n the stores, whose Acc is the sum
    over the keys of softmax(score) times b.

    k is the key and the term of a score: `second`, over batch and k, is the second operand of the scores, `a` the first
    one, whose epilogue is `score`. limit: keys from there on have a score of -inf in the row and in all before it;
    None: not known. zeros: a row of scores that are all -inf has the sum +0, otherwise NaN.
    """

    second: Load | None = None
    score: Scalar | None = None
    limit: Expr | None = None
    zeros: bool = False

    @property
    def key(self) -> Sym:
        return self.k[0]

    @property
    def depth(self) -> Sym:
        return self.k[1]

    @property
    def values(self) -> list[Scalar]:
        assert self.second is not None and self.score is not None
        return [self.a, self.second, self.score, *self.b, *(s.value for s in self.stores)]


@dataclass(frozen=True, slots=True)
class GroupedContractionKernel:
    """Contractions of one `a` over the same batch, m and k that run as one kernel: a team shares the tiles of all of
    them.

    None reads what another one stores, and they store different elements. Each has params and dims of its own,
    which are among the kernel's. shape: as of a ContractionKernel, of all.
    """

    label: str
    contractions: tuple[ContractionKernel, ...]
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    loc: Loc | None = None
    shape: Shape | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(s for part in self.contractions for s in part.stores)

    @property
    def values(self) -> list[Scalar]:
        return [v for part in self.contractions for v in part.values]


@dataclass(frozen=True, slots=True)
class PreparedKernel:
    """A product and the nest in front of it that makes its first operand, as one kernel of a GPU: each block makes all
    rows of the operand for itself, in its own memory.

    Nothing else reads what the nest stores, and the product stores nothing that the nest reads. Both have params and
    dims of their own, which are among the kernel's.
    """

    label: str
    rows: LoopNestKernel
    contraction: ContractionKernel | GroupedContractionKernel
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    loc: Loc | None = None

    @property
    def stores(self) -> tuple[Store, ...]:
        return self.rows.stores + self.contraction.stores

    @property
    def values(self) -> list[Scalar]:
        return [*self.rows.values, *self.contraction.values]


class WholeBuffers:
    """What reads and stores whole buffers: nothing at a point."""

    __slots__ = ()

    @property
    def stores(self) -> tuple[Store, ...]:
        return ()

    @property
    def values(self) -> list[Scalar]:
        return []


@dataclass(frozen=True, slots=True)
class CheckKernel(WholeBuffers):
    """Records a fault unless every element of `buffer` (i32, i64) is in 0..bound-1. Runs before what reads by it."""

    label: str
    buffer: Buffer
    bound: Expr
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class ExternKernel(WholeBuffers):
    """Calls `function` of the user's program: it reads all of `reads` and stores all of `writes`, row-major buffers.
    One thread runs it. params: reads, then writes (one buffer may stand in `reads` twice)."""

    label: str
    function: str
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    loc: Loc | None = None


Kernel = LoopNestKernel | ContractionKernel | GroupedContractionKernel | PreparedKernel | CheckKernel | ExternKernel


# -- regions ---------------------------------------------------------------------------------------------------------
def bodies(region: Region) -> tuple[list[Element], ...]:
    """The lists that a region holds, in the order of the text."""
    if isinstance(region, Branch):
        return region.then, region.other
    return (region.test, region.body) if isinstance(region, Loop) else (region.body,)


def leaves(items: Iterable[Element]) -> Iterator[Element]:
    """The elements of a list and of its regions, without the regions themselves."""
    for item in items:
        if isinstance(item, (Loop, Branch, Tiles)):
            for body in bodies(item):
                yield from leaves(body)
        else:
            yield item


def numbered(items: Iterable[Element]) -> Iterator[tuple[int, Element]]:
    """Each element of a list with the number of its first step."""
    number = 0
    for item in items:
        yield number, item
        number += len(list(leaves([item])))


def regions(items: Iterable[Element]) -> Iterator[Region]:
    """Every region below, outer ones first."""
    for item in items:
        if isinstance(item, (Loop, Branch, Tiles)):
            yield item
            for body in bodies(item):
                yield from regions(body)


def each_list(items: Iterable[Element], change: Callable[[list[Element]], list[Element]]) -> list[Element]:
    """The same tree with `change` applied to every list of it, the inner ones first."""
    out = []
    for item in items:
        if isinstance(item, Loop):
            item = replace(item, test=each_list(item.test, change), body=each_list(item.body, change))
        elif isinstance(item, Branch):
            item = replace(item, then=each_list(item.then, change), other=each_list(item.other, change))
        elif isinstance(item, Tiles):
            item = replace(item, body=each_list(item.body, change))
        out.append(item)
    return change(out)


def mapped(items: Iterable[Element], change: Callable[[Element], Element]) -> list[Element]:
    """The same tree with `change` applied to every leaf."""
    return each_list(items, lambda one: [x if isinstance(x, (Loop, Branch, Tiles)) else change(x) for x in one])


# -- programs ---------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Step:
    """One kernel call. barrier: one stands before it, because it reads what others wrote (or overwrites)."""

    kernel: Kernel
    barrier: bool = True


@dataclass(slots=True)
class Loop:
    """`body` in turn; what is inside are the elements of the stage (Computations, kernels, Steps) and further regions.

    iteration     0..count-1, a symbol that kernels receive among their dims: one iteration for each value (scan). None:
    a while,
             which before each iteration runs `test` and goes on where the bool[] in buffer `condition` is true then
    carried  buffers that an iteration reads as the one before left them; they are written before the loop
    swaps    pairs of buffers of one size that change places behind each iteration (instead of a copy)
    barrier  one stands before the condition is read; iteration_barrier: one before each iteration (or test)
    """

    label: str
    iteration: Sym | None
    body: list[Element]
    carried: tuple[str, ...] = ()
    test: list[Element] = field(default_factory=list)
    condition: str = ""
    swaps: tuple[tuple[str, str], ...] = ()
    barrier: bool = False
    iteration_barrier: bool = False


@dataclass(slots=True)
class Branch:
    """`then` where the bool[] in buffer `condition` is true, else `other`. barrier: as in Loop."""

    label: str
    condition: str
    then: list[Element]
    other: list[Element]
    barrier: bool = False


@dataclass(slots=True)
class Tiles:
    """`body` once for every combination of blocks of the axes: a tile. The team shares the tiles; of each, one thread
    runs the whole list, one kernel behind the other, without barriers.

    Buffers of kind `tile` hold what the kernels of one tile hand on. Kernels of different tiles store different
    elements of all other buffers, and none loads what another tile stores.
    growing: later blocks of the last axis have more work; threads take blocks from both ends in turn, so that equal
    numbers of tiles are equal shares.
    windows: of kernels that make rows which several blocks of the last axis need, the kernels in order.
    barrier: one stands before the first tile.
    """

    label: str
    axes: tuple[Axis, ...]
    body: list[Element]
    growing: bool = False
    windows: tuple[Window, ...] = ()
    barrier: bool = False

    @property
    def stores(self) -> tuple[Store, ...]:
        kernels = [item.kernel if isinstance(item, Step) else item for item in leaves([self])]
        return tuple(s for kernel in kernels for s in kernel.stores)

    @property
    def symbols(self) -> tuple[Sym, ...]:
        """What kernels inside may have among their dims."""
        return tuple(s for axis in self.axes for s in axis.symbols) + tuple(
            s for window in self.windows for s in window.symbols)

    @property
    def usual(self) -> dict[Sym, int]:
        """What the windows' symbols are in most tiles, for estimates: each block needs as many new rows as it steps
        over."""
        out: dict[Sym, int] = {}
        for w in self.windows:
            step = w.first.coefficient(self.axes[-1].start)
            rows = w.count.hi
            assert step is not None and isinstance(rows, Expr)
            out |= {w.begin: 0, w.at: 0, w.count: min(rows.value, step.value * self.axes[-1].block)}
        return out


Region = Loop | Branch | Tiles


@dataclass(frozen=True, slots=True)
class Slot:
    """Memory of a generic program: `size` bytes (rounded up to 64), behind the ends of the earlier slots `above`."""

    size: Expr
    above: tuple[int, ...] = ()


@dataclass(slots=True)
class Arena:
    """Where temp buffers lie: byte offsets (multiples of 64) from the start of the arena.

    In a generic program a buffer sits at the start of its slot. Scratch buffers are not planned here: the driver puts
    them behind the temps, one instance for each thread of the team; scratch of steps between two barriers never
    overlaps.
    """

    slot_of: dict[str, int] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    offset: dict[str, int] = field(default_factory=dict)   # constant-size programs only: planned byte offsets
    size: int | None = None                                # bytes of the temps where constant
    lower_bound: int | None = None                         # max-live bytes, for the report


@dataclass(frozen=True, slots=True)
class Aside:
    """Steps of a stretch, by their numbers, that a device may run in this order beside the others of it. The stretch is
    the steps first..end-1; nothing that the others touch is stored by these, nor the other way round."""

    first: int
    steps: tuple[int, ...]
    end: int


@dataclass(frozen=True, slots=True)
class Apart:
    """Two kernels that fusion did not make one: what was tried, the reason, and a buffer that each of them writes, by
    which it is found."""

    what: str
    why: str
    between: tuple[str, str]


@dataclass(slots=True)
class Program:
    """What one variant runs, in order: kernels, and loops and branches of them. `kernel_steps` has the kernels alone.
    apart: one for every two kernels that were tried; refusals: (what, reason) of all else that was tried and not made.
    asides: stretches are equal or disjoint."""

    buffers: dict[str, Buffer]
    steps: list[Element]
    arena: Arena
    dims: tuple[Sym, ...]
    fusions: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    asides: tuple[Aside, ...] = ()
    apart: list[Apart] = field(default_factory=list)

    @property
    def kernel_steps(self) -> list[Step]:
        """Every kernel's step in the order of the text: a loop's test before its body, both sides of a branch."""
        return list(leaves(self.steps))


@dataclass(slots=True)
class Variant:
    """when: the dims' fixed sizes by dim name ({} for the generic variant, which is last). threads: of a team that a
    call uses at most; 0: as many as its operations are worth."""

    name: str
    when: dict[str, int]
    program: Program
    threads: int = 0


@dataclass(slots=True)
class FunctionPlan:
    """An entry function: the parameters, results and states by buffer (kinds input, output, state), and variants.

    An input's or output's name is the user's. dims: graph.ir.DimDecl of every dim that the function uses; guards:
    graph.ir.Guard. reference: what TC_STANCE_REFERENCE runs, None where it was not asked for; a variant of its own, or
    the generic one where all of them are plain.
    """

    name: str
    inputs: list[Buffer]
    outputs: list[Buffer]
    states: list[Buffer]
    dims: list[Any]
    guards: list[Any]
    variants: list[Variant]
    reference: Variant | None = None

    def is_plain(self, variant: Variant) -> bool:
        """Its kernels are the reference's, which have code of their own: one element after the other."""
        return variant is self.reference

    @property
    def built(self) -> list[Variant]:
        """Everything that is emitted: the variants, and the reference behind them where it is one of its own."""
        if self.reference is None or self.reference is self.variants[-1]:
            return self.variants
        return [*self.variants, self.reference]


@dataclass(slots=True)
class ModelPlan:
    """Everything emission needs. packed: byte offset of each packed constant within the weights blob. baked: what the
    code relies on of the weights' values, as a digest; "": nothing."""

    model: str
    functions: list[FunctionPlan]
    packed: dict[str, int]
    packed_bytes: int
    states: list[Buffer]
    state_offset: dict[str, int]
    state_bytes: int
    baked: str = ""
