# SPDX-License-Identifier: Apache-2.0
"""How the loops of a kernel, in the order that schedule.py gave them, are spread over the blocks and threads of a GPU.

    points       a nest of pointwise stores: one point a thread, neighbours along the innermost loop
    rows         a nest with sweeps: one row a block, whose threads share each sweep
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
SHARED = 32 * 1024   # bytes of shared memory that the sums of a row may take: every device has 48 KiB for a block
MOST_BLOCKS = 1 << 16


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


# For many rows, and for so few that most of the first would be idle.
TILE, LOW_TILE = Tile(64, 64, 16, 4, 4), Tile(4, 64, 32, 1, 1)
FEW_ROWS = 16


@dataclass(frozen=True, slots=True)
class Launch:
    """points: rows, tiles… of the whole kernel, `each` of them a block of `threads` threads. scratch: each block has an
    instance of it."""

    points: Expr
    each: int
    threads: int
    scratch: bool = False

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
        return Launch(points, THREADS, THREADS)
    return Launch(product(extent(s) for s in kernel.rows), 1, row_threads(kernel), scratch)


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
    rows = product(extent(s) for s in kernel.parts[0].m).range()[1]
    return LOW_TILE if rows is not None and rows <= FEW_ROWS else TILE


def tiles(kernel: ContractionKernel, shape: Tile) -> Expr:
    rows, columns = product(extent(s) for s in kernel.m), product(extent(s) for s in kernel.n)
    return product(extent(s) for s in kernel.batch) * ((rows + shape.rows - 1) // shape.rows) \
        * ((columns + shape.columns - 1) // shape.columns)
