# SPDX-License-Identifier: Apache-2.0
"""Data of the loop IR (docs/loops.md): computations and kernels over the buffers and scalar expressions of
scalar_ir.py. program_ir.py has what calls them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.ir import Loc
from ..records import dataclass
from ..symbolic import Expr, Sym
from .contraction_schedule import Schedule
from .products import F32, Product
from .scalar_ir import Buffer, Dynamic, Load, Scalar

if TYPE_CHECKING:
    from .schedule_cuda import Shape


ALONE, ALWAYS = "alone", "always"   # where a loop nest stores past the caches


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
    row, where a tuning lock says so (wide.RowShape). far: who stores past the caches (loops/far.py): nobody (""), a
    thread that is ALONE, or whoever runs it (ALWAYS).
    """

    label: str
    rows: tuple[Sym, ...]
    phases: tuple[Phase, ...]
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    grain: int = 1
    loc: Loc | None = None
    shape: Shape | None = None
    far: str = ""

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
    panel width: index (batch…, n//P, k, n%P)) or read in place (`b_panel` 0): stride 1 in n, or of few rows in k
    (term_by_term.py). product: the dtypes, as
    of a Contraction. schedules: how it is computed, one for each instruction set of the target, as soon as that is
    chosen; params then has their scratch. where: as of a Contraction, and then there is one second operand. shape: how
    a GPU computes it, where a tuning lock says so (schedule_cuda.Shape). cold: its one row meets constants that come
    from memory in every call (cold.py).
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
    cold: bool = False

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
    """Contractions that run as one kernel. Each has params and dims of its own, which are among the kernel's. shape: as
    of a ContractionKernel, of all.

    Side by side they have one `a` and the same batch, m and k, and a team shares the tiles of all of them: none reads
    what another one stores, and they store different elements. consecutive: they have one row each and the same
    columns, which a team shares; of its own a thread computes one part behind the other, which may read what the
    parts before it stored at the same columns (consecutive.py).
    """

    label: str
    contractions: tuple[ContractionKernel, ...]
    params: tuple[Buffer, ...]
    dims: tuple[Sym, ...]
    loc: Loc | None = None
    shape: Shape | None = None
    consecutive: bool = False

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(s for part in self.contractions for s in part.stores)

    @property
    def values(self) -> list[Scalar]:
        return [v for part in self.contractions for v in part.values]


def consecutive(kernel: object) -> bool:
    """Whether a kernel has parts that are computed one behind the other."""
    return isinstance(kernel, GroupedContractionKernel) and kernel.consecutive


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
