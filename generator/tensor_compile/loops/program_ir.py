# SPDX-License-Identifier: Apache-2.0
"""Data of the loop IR (docs/loops.md): programs, which are calls of kernels (loop_ir.py) in their order, their
regions and their memory, and the plan of a model."""
from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Callable, Iterable, Iterator, TypeAlias

from ..records import dataclass
from ..symbolic import Expr, Sym
from .loop_ir import Kernel, Store
from .scalar_ir import Buffer
from .tile_axes import Axis, Window

# What a list of the program holds: Computations, Contractions and checks behind lowering, kernels behind fusion, Steps
# in a Program; Regions (Loop, Branch, Tiles) at every stage.
Element: TypeAlias = Any


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
