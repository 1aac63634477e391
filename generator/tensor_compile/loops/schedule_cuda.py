# SPDX-License-Identifier: Apache-2.0
"""How the loops of a kernel, in the order that schedule.py gave them, are spread over the blocks and threads of a GPU.

    points       a nest of pointwise stores: some points a thread, neighbours along the innermost loop
    rows         a nest with sweeps: one row a warp, or a block where rows are few or long, whose threads share each sweep
    tiles        a contraction: one tile of results a block, some of them a thread
    indices      a check: one block, which finds the first that is outside
    team         a nest whose points follow each other, or whose sums a block has no room for, and every kernel of the
                 reference: threads are those of the processor's kernel, some rows or points each

Blocks walk a grid of any size, so the number of blocks decides speed only; where blocks have scratch, there are as many
as instances of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ..graph.dtypes import DTYPES
from ..symbolic import ONE, ZERO, Expr, Sym, product
from .ir import CheckKernel, ContractionKernel, Kernel, NestKernel, Reduction, RowReduce, RowSort, SiblingsKernel
from .scalars import extent, walk

THREADS = 256        # of a block of points or tiles
FEWEST = 32          # threads of a row: a warp
UNROLL = 4           # points of a thread, where there are
MANY_POINTS = 1 << 19
SHARED = 32 * 1024   # bytes of shared memory that the sums of a row may take: every device has 48 KiB for a block
MOST_BLOCKS = 1 << 16
MOST_SMALL = 1 << 29   # elements and points, of which positions are an int


@dataclass(frozen=True, slots=True)
class Tile:
    """rows x columns results of a block, height x width of them a thread, over `depth` terms at a time."""

    rows: int
    columns: int
    depth: int
    height: int
    width: int

    @property
    def threads(self) -> int:
        return self.rows // self.height * (self.columns // self.width)


# From much work a byte to many blocks. All have a multiple of 32 threads, at least one a row and a column.
TILES = (Tile(128, 128, 16, 8, 8), Tile(128, 64, 16, 8, 4), Tile(64, 64, 32, 8, 4), Tile(64, 32, 32, 4, 4),
         Tile(32, 64, 32, 4, 4), Tile(32, 32, 64, 4, 2), Tile(16, 64, 64, 2, 4), Tile(16, 32, 64, 2, 2),
         Tile(8, 32, 128, 1, 2), Tile(8, 32, 32, 1, 2))
MULTIPROCESSORS = 132   # of an H100 or H200; decides speed alone
USUAL_ROWS = 256        # of a contraction, where dims decide
SUMS_OF_A_THREAD = 64   # registers that accumulators may take
FLOATS_OF_A_BLOCK = 12 * 1024   # of shared memory


@dataclass(frozen=True, slots=True)
class Launch:
    """points: rows, tiles… of the whole kernel, `each` of them a block of `threads` threads. scratch: each block has an
    instance of it. warps: each warp has a row. unroll: points that a thread takes side by side."""

    points: Expr
    each: int
    threads: int
    scratch: bool = False
    warps: bool = False
    unroll: int = 1

    def most(self, instances: int) -> int:
        """Blocks; instances: of scratch."""
        return instances if self.scratch else MOST_BLOCKS

    def blocks(self, sizes: Mapping[Sym, int], instances: int) -> int:
        return min(-(-self.points.evaluate(sizes) // self.each), self.most(instances))


def launch(kernel: Kernel, plain: bool = False) -> Launch:
    """plain: as a kernel of the reference."""
    if isinstance(kernel, CheckKernel):
        return Launch(ONE, THREADS, THREADS)
    if isinstance(kernel, (ContractionKernel, SiblingsKernel)):
        if plain:
            points = [product(extent(s) for s in part.batch + part.m + part.n) for part in kernel.parts]
            return Launch(sum(points, ZERO), FEWEST, FEWEST)
        shape = tile(kernel)
        return Launch(sum((tiles(part, shape) for part in kernel.parts), ZERO), 1, shape.threads)
    scratch = any(b.kind == "scratch" for b in kernel.params)
    points = product(extent(s) for s in kernel.rows + (kernel.stages[0].vars if is_flat(kernel) else ()))
    if plain or is_team(kernel):
        threads = 1 if scratch else FEWEST
        return Launch(points, threads, threads, scratch)
    if is_flat(kernel):
        side_by_side = UNROLL if (points.range()[1] or MANY_POINTS) >= MANY_POINTS else 1
        return Launch(points, THREADS * side_by_side, THREADS, unroll=side_by_side)
    if not scratch and has_warps(kernel):
        return Launch(points, THREADS // 32, THREADS, warps=True)
    return Launch(points, 1, row_threads(kernel), scratch)


def is_team(kernel: NestKernel) -> bool:
    """Whether points have to run one after the other, terms be joined by another operation than addition, or one sweep
    has more sums than the fewest threads have shared memory for."""
    if shared_bytes(kernel) * FEWEST > SHARED:
        return True
    for stage in kernel.stages:
        inner = [r for s in stage.stores for v in s.values for r in walk(v) if isinstance(r, Reduction)]
        if any(isinstance(r, RowSort) or r.order == "running" or (r.op, r.order) == ("prod", "lanes")
               for r in (*stage.reduces, *inner)) or any(s.dynamic for s in stage.stores):
            return True
    return False


def is_flat(kernel: NestKernel) -> bool:
    """One sweep without reductions or scratch: its points need nothing of each other."""
    return len(kernel.stages) == 1 and not kernel.stages[0].reduces and all(b.kind != "scratch" for b in kernel.params)


def has_warps(kernel: NestKernel) -> bool:
    """Whether a warp a row is enough: as short as the sweeps are, or as many as the rows are."""
    longest = max((usual(stage.vars) for stage in kernel.stages), default=1)
    rows = usual(kernel.rows)
    return longest <= 64 or (longest <= 1024 and rows >= 64) or (longest <= 8192 and rows >= 16 * MULTIPROCESSORS)


def row_threads(kernel: NestKernel) -> int:
    """Threads of a row's block: a power of two, no more than its longest sweep has use for."""
    longest = 1
    for stage in kernel.stages:
        most = product(extent(s) for s in stage.vars).range()[1]
        longest = THREADS if most is None else max(longest, most)
    threads = FEWEST
    while threads < min(longest, THREADS):
        threads *= 2
    while threads > FEWEST and threads * shared_bytes(kernel) > SHARED:
        threads //= 2
    return threads


def is_small(kernel: Kernel) -> bool:
    """Whether all positions in it fit in an int, with room for what they are computed from."""
    counts = [b.elements for b in kernel.params]
    if isinstance(kernel, NestKernel):
        rows = product(extent(s) for s in kernel.rows)
        counts += [rows * product(extent(s) for s in stage.vars) for stage in kernel.stages]
    elif not isinstance(kernel, CheckKernel):
        for part in kernel.parts:
            counts += [product(extent(s) for s in part.batch + part.m + part.n), product(extent(s) for s in part.k)]
    return all((most := count.range()[1]) is not None and most < MOST_SMALL for count in counts)


def shared_bytes(kernel: NestKernel) -> int:
    """Bytes of shared memory that a row's sums take for each thread: those of one sweep at a time, as each sweep begins
    when all threads have the results of the one before."""
    return max((sum(sum_bytes(r) for r in stage.reduces if isinstance(r, RowReduce)) for stage in kernel.stages),
               default=0)


def sum_bytes(reduce: RowReduce) -> int:
    """Of them, one reduction's."""
    if reduce.op in ("argmax", "argmin"):
        return DTYPES[reduce.value.dtype].bytes + 8
    return DTYPES[reduce.dtype].bytes * (2 if reduce.op == "dot" else 1)


def tile(kernel: ContractionKernel | SiblingsKernel) -> Tile:
    """The tile that is estimated to be done first, of equal ones the larger."""
    return min(fitting(max(len(part.b) for part in kernel.parts)), key=lambda t: estimate(kernel, t))


def fitting(sums: int) -> list[Tile]:
    """The tiles for which a block has room, with so many second operands."""
    return [t for t in TILES if sums * t.height * t.width <= SUMS_OF_A_THREAD
            and 2 * t.depth * (t.rows + 4 + sums * t.columns) <= FLOATS_OF_A_BLOCK]


def estimate(kernel: ContractionKernel | SiblingsKernel, tile: Tile) -> float:
    """Cycles a term: blocks that share a multiprocessor wait for its arithmetic or its shared memory; a block alone for
    the chain of its own instructions."""
    blocks = 0
    for part in kernel.parts:
        batch, rows, columns = (usual(group) for group in (part.batch, part.m, part.n))
        blocks += batch * -(-rows // tile.rows) * -(-columns // tile.columns)
    warps = tile.threads / 32
    arithmetic = tile.rows * tile.columns / 128
    across = tile.columns // tile.width
    reads = warps * (max(1, tile.height // 4) + max(1, min(32, across) * tile.width // 32))
    alone = 6 + tile.height * tile.width / 2 + (tile.height + tile.width) / 4
    return max(max(arithmetic, reads) * 1.1 * -(-blocks // MULTIPROCESSORS), alone * -(-blocks // (4 * MULTIPROCESSORS)))


def usual(variables: tuple[Sym, ...]) -> int:
    """Points of some loops, where dims decide a usual number."""
    low, high = product(extent(s) for s in variables).range()
    return low if low == high else min(USUAL_ROWS, high) if high is not None else USUAL_ROWS


def tiles(kernel: ContractionKernel, shape: Tile) -> Expr:
    rows, columns = product(extent(s) for s in kernel.m), product(extent(s) for s in kernel.n)
    return product(extent(s) for s in kernel.batch) * ((rows + shape.rows - 1) // shape.rows) \
        * ((columns + shape.columns - 1) // shape.columns)
