# SPDX-License-Identifier: Apache-2.0
"""How the loops of a kernel, in the order that schedule.py gave them, are spread over the blocks and threads of a GPU.

    points       a loop nest of pointwise stores: some points a thread, neighbours along the innermost loop
    rows         a loop nest with phases: one row a warp, or a block where rows are few or long, whose threads share
    each phase
    tiles        a contraction: one tile of results a block, some of them a thread
    indices      a check: one block, which finds the first that is outside
    team         a loop nest whose points follow each other, or whose sums a block has no room for, and every kernel of
    the
                 reference: threads are those of the processor's kernel, some rows or points each

Blocks walk a grid of any size, so the number of blocks decides speed only; where blocks have scratch, there are as many
as instances of it."""
from __future__ import annotations

from dataclasses import replace
from typing import Mapping, TypeAlias

from ..graph.dtypes import DTYPES
from ..records import dataclass
from ..symbolic import ONE, ZERO, Expr, Sym, product
from ..target import Target
from . import bulk_copies, few_rows, line_tiles, schedule_attention, schedule_half, tile_limits, wide
from .few_rows import FewRows
from .library_products import LibraryAlgorithm
from .schedule_attention import AttentionTile
from .line_tiles import LineTile
from .loop_ir import AttentionKernel, CheckKernel, ContractionKernel, ExternKernel, GroupedContractionKernel, Kernel, \
    LoopNestKernel, Phase, PreparedKernel, RowReduce, RowSort
from .scalar_ir import Reduction
from .scalars import extent, walk
from .wide import RowShape
from .schedule_half import MULTIPROCESSORS, HalfTile

THREADS = 256        # of a block of points or tiles
FEWEST = 32          # threads of a row: a warp
UNROLL = 4           # points of a thread, where there are
MANY_POINTS = 1 << 19
MOST_AT_ONCE = 4096   # terms of a block of the order `lanes`
MANY_ROWS = 8 * MULTIPROCESSORS
MOST_PASSES = 32     # points of a thread whose operands are kept
SHARED = 32 * 1024   # bytes of shared memory that the sums of a row may take: every device has 48 KiB for a block
MOST_BLOCKS = 1 << 16
MOST_SMALL = 1 << 29   # elements and points, of which positions are an int


@dataclass(frozen=True, slots=True)
class Tile:
    """rows x columns results of a block, height x width of them a thread, over pieces of `depth` terms. efficiency: of
    matrix units that are full of them, in percent. pads: floats behind the lines of the operands in shared memory,
    which spread what a warp reads over the banks. matrix: the matrix units do it, and height x width are a warp's."""

    rows: int
    columns: int
    depth: int
    height: int
    width: int
    efficiency: int = 100
    pads: tuple[int, int] = (4, 0)
    matrix: bool = False

    @property
    def threads(self) -> int:
        return self.rows // self.height * (self.columns // self.width) * (32 if self.matrix else 1)

    @property
    def sums(self) -> int:
        """Of a thread."""
        return self.height * self.width // (32 if self.matrix else 1)

    def piece_bytes(self, operands: int) -> int:
        """Of shared memory, with so many second operands."""
        return 4 * (self.rows * (self.depth + self.pads[0]) + operands * self.depth * (self.columns + self.pads[1]))

    def stages(self, operands: int) -> int:
        """Pieces that are in shared memory at a time: where blocks are small, many on their way."""
        return max(2, min(6 if self.sums < 32 else 4, MOST_SHARED // self.piece_bytes(operands)))

    def shared(self, operands: int) -> int:
        return self.stages(operands) * self.piece_bytes(operands)


# From much work a byte to many blocks. All have a multiple of 32 threads, at least one a row and a column. Shared
# memory gives 32 floats a cycle and 128 are multiplied, so a thread with few sums waits for it. Columns in multiples of
# 48 part widths like 768 and 3072 into 128 blocks, for 132 multiprocessors.
TILES = (Tile(128, 128, 16, 8, 8), Tile(128, 64, 16, 8, 8), Tile(64, 96, 16, 8, 6), Tile(64, 64, 16, 8, 4),
         Tile(64, 48, 16, 4, 6), Tile(32, 96, 16, 4, 6), Tile(64, 32, 32, 4, 4), Tile(32, 64, 32, 4, 4),
         Tile(32, 32, 32, 4, 4), Tile(16, 64, 32, 4, 4), Tile(16, 32, 64, 2, 4), Tile(8, 32, 32, 2, 4),
         Tile(1, 32, 32, 1, 1))
MOST_SHARED = 96 * 1024   # bytes of a block's tiles: compute capabilities 8.6 and 8.9 have 99 KiB
# For the matrix units; height x width of a warp.
MATRIX_TILES = (Tile(128, 128, 16, 64, 32, 100), Tile(64, 128, 16, 32, 32, 85), Tile(64, 64, 32, 32, 32, 70),
                Tile(32, 64, 32, 32, 16, 50), Tile(32, 32, 64, 16, 16, 40), Tile(16, 32, 64, 16, 8, 25))
MATRIX_PADS = (4, 8)    # of tf32
MATRIX_ROWS = 9         # fewest rows of a contraction that are worth them
PRECISIONS = ("f32", "tf32", "bf16", "f16")
NARROW = ("bf16", "f16")
USUAL_ROWS = 256        # of a contraction, where dims decide
SUMS_OF_A_THREAD = 64   # registers that accumulators may take


@dataclass(frozen=True, slots=True)
class Units:
    """What contractions run on. precision: what they round their operands to; wgmma: every image with machine code is
    for chips that have it; lines: every image with machine code is for chips on which a warp brings operands for the
    others (loops/line_tiles.py)."""

    precision: str = "f32"
    wgmma: bool = False
    lines: bool = False

    @property
    def relaxed(self) -> bool:
        """Numbers are rounded to 16 bits, so sums need not follow an order, nor functions be exact."""
        return self.precision in NARROW


EXACT = Units()
ROW_SHAPES = (32, 64, 128, 256)   # threads of a row
Product: TypeAlias = Tile | LineTile | HalfTile | FewRows | LibraryAlgorithm   # shapes of a contraction
Shape: TypeAlias = Product | AttentionTile | RowShape


def units(target: Target) -> Units:
    return Units(target.precision, set(target.isas) == {"sm_90a"}, line_tiles.CHIPS.issuperset(target.isas))


def overlaps(target: Target) -> bool:
    """Whether a kernel may be started before the one in front of it has ended, as all images make it wait by itself."""
    return all(int(isa.removeprefix("sm_").removesuffix("a")) >= 90 for isa in target.isas)


@dataclass(frozen=True, slots=True)
class Launch:
    """points: rows, tiles… of the whole kernel, `each` of them a block of `threads` threads. scratch: each block has
    an instance of it. warps: each warp has a row. unroll: points that a thread takes side by side. shared: bytes of
    shared memory that a launch asks for. wide: threads take eight points at a time (loops/wide.py), and so many have a
    row. cluster: blocks that share a tile, side by side. at_most: blocks."""

    points: Expr
    each: int
    threads: int
    scratch: bool = False
    warps: bool = False
    unroll: int = 1
    shared: int = 0
    wide: int = 0
    cluster: int = 1
    at_most: int = MOST_BLOCKS

    @property
    def leaves_room(self) -> bool:
        """Whether the blocks are so few that those of kernels behind them find room beside them."""
        most = self.points.range()[1]
        return most is not None and -(-most // self.each) <= MULTIPROCESSORS // 2

    def most(self, instances: int) -> int:
        """Blocks; instances: of scratch."""
        return instances if self.scratch else self.at_most

    def blocks(self, sizes: Mapping[Sym, int], instances: int) -> int:
        return min(-(-self.points.evaluate(sizes) // self.each), self.most(instances))


def launch(kernel: Kernel, plain: bool = False, units: Units = EXACT) -> Launch:
    """plain: as a kernel of the reference; units: what contractions run on."""
    if isinstance(kernel, CheckKernel):
        return Launch(ONE, THREADS, THREADS)
    if isinstance(kernel, PreparedKernel):
        return launch(kernel.contraction, units=units)
    if isinstance(kernel, AttentionKernel):
        attention = schedule_attention.tile(kernel, units.wgmma)
        return Launch(attention.blocks(kernel), 1, attention.threads, shared=attention.shared, cluster=attention.split)
    if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        if plain:
            parts = [product(extent(s) for s in part.batch + part.m + part.n) for part in kernel.contractions]
            return Launch(sum(parts, ZERO), FEWEST, FEWEST)
        shape = tile(kernel, units)
        if isinstance(shape, LibraryAlgorithm):
            return Launch(ONE, 1, 1)
        if isinstance(shape, FewRows):
            columns = (product(extent(s) for s in part.n) for part in kernel.contractions)
            return Launch(sum(((n + shape.columns - 1) // shape.columns for n in columns), ZERO), 1, shape.threads,
                          shared=shape.shared, at_most=shape.most_blocks)
        return tiled(kernel, shape)
    assert not isinstance(kernel, ExternKernel), "a GPU cannot call it"
    scratch = any(b.kind == "scratch" for b in kernel.params)
    points = product(extent(s) for s in kernel.rows + (kernel.phases[0].vars if is_flat(kernel) else ()))
    if plain or is_team(kernel):
        threads = 1 if scratch else FEWEST
        return Launch(points, threads, threads, scratch)
    if is_flat(kernel):
        if wide.points(kernel, {b.name: b for b in kernel.params}):
            return Launch(points, THREADS * wide.WIDTH, THREADS, wide=THREADS)
        side_by_side = UNROLL if (points.range()[1] or MANY_POINTS) >= MANY_POINTS else 1
        return Launch(points, THREADS * side_by_side, THREADS, unroll=side_by_side)
    if units.relaxed and (threads := wide.row_threads(kernel, usual(kernel.rows))):
        return Launch(points, 4, 128, wide=32) if threads == 32 else Launch(points, 1, threads, wide=threads)
    if not scratch and has_warps(kernel):
        warps = row_warps(kernel)
        return Launch(points, warps, 32 * warps, warps=True)
    return Launch(points, 1, row_threads(kernel), scratch)


def tiled(kernel: ContractionKernel | GroupedContractionKernel, shape: Tile | LineTile | HalfTile) -> Launch:
    """Of a contraction in tiles of this shape."""
    operands = max(len(part.b) for part in kernel.contractions)
    split = shape.split if isinstance(shape, HalfTile) else 1
    at_most = MULTIPROCESSORS * shape.together if isinstance(shape, LineTile) else \
        MULTIPROCESSORS if isinstance(shape, HalfTile) and shape.bulk else MOST_BLOCKS
    return Launch(sum((tiles(part, shape) for part in kernel.contractions), ZERO) * split, 1, shape.threads,
                  shared=shape.shared(operands), cluster=split, at_most=at_most)


def is_team(kernel: LoopNestKernel) -> bool:
    """Whether points have to run one after the other, terms be joined by another operation than addition, or one phase
    has more sums than the fewest threads have shared memory for."""
    if shared_bytes(kernel) * FEWEST > SHARED:
        return True
    for phase in kernel.phases:
        inner = [r for s in phase.stores for v in s.values for r in walk(v) if isinstance(r, Reduction)]
        if any(isinstance(r, RowSort) or r.order == "running" or (r.op, r.order) == ("prod", "lanes")
               for r in (*phase.reduces, *inner)) or any(s.dynamic for s in phase.stores):
            return True
    return False


def is_flat(kernel: LoopNestKernel) -> bool:
    """One phase without reductions or scratch: its points need nothing of each other."""
    return len(kernel.phases) == 1 and not kernel.phases[0].reduces and all(b.kind != "scratch" for b in kernel.params)


def has_warps(kernel: LoopNestKernel) -> bool:
    """Whether a warp a row is enough: as short as the phases are, or as many as the rows are. A warp with a long row
    for itself stores many points, and loads for each wait for the store in front: few rows are faster by blocks."""
    if isinstance(kernel.shape, RowShape):
        return kernel.shape.threads == FEWEST
    longest = max((usual(phase.vars) for phase in kernel.phases), default=1)
    rows = usual(kernel.rows)
    return longest <= 64 or (longest <= 256 and rows >= 64) or (longest <= 1024 and rows >= MANY_ROWS)


def row_warps(kernel: LoopNestKernel) -> int:
    """Warps of a block, each of which has a row: so few that all multiprocessors have blocks."""
    rows = product(extent(s) for s in kernel.rows)
    if not rows.is_const:
        return 4
    warps = THREADS // 32
    while warps > 1 and rows.value < warps * MULTIPROCESSORS:
        warps //= 2
    return warps


def passes(kernel: LoopNestKernel) -> int:
    """How many points of every phase of a row a thread has, where that is a constant small enough to have what they
    load in registers and their terms in shared memory; 0 otherwise."""
    counts = {product(extent(s) for s in phase.vars) for phase in kernel.phases if phase.vars}
    if len(counts) != 1 or not (count := counts.pop()).is_const or count.value > MOST_AT_ONCE:
        return 0
    threads = 32 if has_warps(kernel) else row_threads(kernel)
    passes = -(-count.value // threads)
    return passes if passes <= MOST_PASSES and memory(kernel, threads, passes) <= SHARED else 0


def memory(kernel: LoopNestKernel, threads: int, terms: int) -> int:
    """Bytes of shared memory that the sums of a row take, with so many terms a thread at a time of those that are added
    in order."""
    def taken(phase: Phase) -> int:
        return sum(sum_bytes(r) * threads * (terms if r.order in ("lanes", "seq") else 1)
                   for r in phase.reduces if isinstance(r, RowReduce))

    return max(map(taken, kernel.phases), default=0)


def row_threads(kernel: LoopNestKernel) -> int:
    """Threads of a row's block: a power of two, no more than its longest phase has use for."""
    return kernel.shape.threads if isinstance(kernel.shape, RowShape) else most_threads(kernel)


def most_threads(kernel: LoopNestKernel) -> int:
    """That it has use and room for."""
    longest = 1
    for phase in kernel.phases:
        most = product(extent(s) for s in phase.vars).range()[1]
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
    if isinstance(kernel, LoopNestKernel):
        rows = product(extent(s) for s in kernel.rows)
        counts += [rows * product(extent(s) for s in phase.vars) for phase in kernel.phases]
    elif isinstance(kernel, PreparedKernel):
        return is_small(kernel.rows) and is_small(kernel.contraction)
    elif not isinstance(kernel, (CheckKernel, ExternKernel)):
        for part in kernel.contractions:
            counts += [product(extent(s) for s in part.batch + part.m + part.n), product(extent(s) for s in part.k)]
    return all((most := count.range()[1]) is not None and most < MOST_SMALL for count in counts)


def shared_bytes(kernel: LoopNestKernel) -> int:
    """Bytes of shared memory that a row's sums take for each thread: those of one phase at a time, as each phase begins
    when all threads have the results of the one before."""
    return max((sum(sum_bytes(r) for r in phase.reduces if isinstance(r, RowReduce)) for phase in kernel.phases),
               default=0)


def sum_bytes(reduce: RowReduce) -> int:
    """Of them, one reduction's."""
    if reduce.op in ("argmax", "argmin"):
        return DTYPES[reduce.value.dtype].bytes + 8
    return DTYPES[reduce.dtype].bytes * (2 if reduce.op == "dot" else 1)


def tile(kernel: ContractionKernel | GroupedContractionKernel, units: Units = EXACT) -> Product:
    """The shape that a tuning lock names, else the one that is estimated to be done first, of equal ones the larger."""
    found = kernel.shape or products(kernel, units)[0]
    assert not isinstance(found, (AttentionTile, RowShape)), "a shape of another kind of kernel"
    return found


def shapes(kernel: Kernel, units: Units = EXACT) -> list[Shape]:
    """Every shape that the kernel can have, those that are estimated to be done first in front; none where its kind has
    none."""
    if isinstance(kernel, AttentionKernel):
        return [*schedule_attention.tiles(kernel, units.wgmma)]
    if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        return [*products(kernel, units)]
    return [*row_shapes(kernel, units)] if isinstance(kernel, LoopNestKernel) else []


def row_shapes(kernel: LoopNestKernel, units: Units) -> list[RowShape]:
    """Those of a nest whose rows have threads of their own, the rule's in front."""
    plain = replace(kernel, shape=None)
    if is_team(plain) or is_flat(plain) or any(b.kind == "scratch" for b in plain.params):
        return []
    if units.relaxed and (threads := wide.row_threads(plain, usual(plain.rows))):
        found = [n for n in ROW_SHAPES if wide.row_threads(replace(plain, shape=RowShape(n)), 0)]
    else:
        threads = FEWEST if has_warps(plain) else row_threads(plain)
        found = [n for n in ROW_SHAPES if n <= most_threads(plain)]
    return [RowShape(n) for n in dict.fromkeys([threads, *found])]


def products(kernel: ContractionKernel | GroupedContractionKernel, units: Units = EXACT) -> list[Product]:
    """Those of a contraction."""
    sums = max(len(part.b) for part in kernel.contractions)
    if units.precision in NARROW:
        return [*few_rows.few_rows(kernel, units.precision),
                *schedule_half.ranked(kernel, units.wgmma, bulk_copies.come_in_bulk(kernel))]
    matrix = units.precision == "tf32" and usual(kernel.contractions[0].m) >= MATRIX_ROWS
    if matrix and (tiles := matrix_tiles(sums)):
        return [*sorted(tiles, key=lambda t: estimate(kernel, t))]
    parted = any(tile_limits.of_terms(part) is not None for part in kernel.contractions)
    others = sorted(fitting(sums), key=lambda t: (estimate(kernel, t), t.rows if parted else 0))
    lines = line_tiles.ranked(kernel, sums) if units.lines and units.precision == "f32" else []
    # Tiles of fewer terms than others leave room for those only where there are several on a multiprocessor.
    # Products side by side of many rows were faster in tiles, too; of 128 rows they were not (bench/cuda/h200_f32.txt).
    few = bool(lines) and (isinstance(kernel, ContractionKernel) or lines[0].sums <= 24)
    first = few and not parted and line_tiles.fills(kernel, lines[0])
    return [*lines, *others] if first else [*others, *lines]


def shape_name(shape: Shape) -> str:
    """As a tuning lock has it; of the shapes of one kernel each has another."""
    if isinstance(shape, LibraryAlgorithm):
        return shape.name
    if isinstance(shape, FewRows):
        return f"few_{shape.rows}x{shape.terms}_w{shape.warps}_a{shape.ahead}_b{shape.together}_l{shape.at_once}" \
               + f"_p{shape.parted}" * (shape.parted > 1)
    if isinstance(shape, RowShape):
        return f"row_t{shape.threads}"
    if isinstance(shape, AttentionTile):
        return f"attention_q{shape.queries}_k{shape.keys}_c{shape.split}"
    if isinstance(shape, LineTile):
        return f"lines_{shape.rows}x{shape.columns}_{shape.height}x{shape.width}_k{shape.depth}_b{shape.together}" \
               + "_a" * shape.ahead
    words = [f"{shape.rows}x{shape.columns}", f"{shape.height}x{shape.width}"]
    if isinstance(shape, Tile):
        return "_".join(["mma" if shape.matrix else "tile", *words, f"k{shape.depth}"])
    words += [f"s{shape.slices}"] if shape.slices > 1 else []
    words += [f"c{shape.split}"] if shape.split > 1 else []
    return "_".join(["bulk" if shape.bulk else "wgmma" if shape.wgmma else "half", *words])


def fitting(sums: int) -> list[Tile]:
    """The tiles for which a block has room, with so many second operands."""
    return [t for t in TILES if sums * t.sums <= SUMS_OF_A_THREAD and t.shared(sums) <= MOST_SHARED]


def matrix_tiles(sums: int) -> list[Tile]:
    """The same for the matrix units and operands of f32."""
    candidates = [replace(t, pads=MATRIX_PADS, matrix=True) for t in MATRIX_TILES]
    return [t for t in candidates if sums * t.sums <= SUMS_OF_A_THREAD and t.shared(sums) <= MOST_SHARED]


def estimate(kernel: ContractionKernel | GroupedContractionKernel, tile: Tile) -> float:
    """Cycles a term: blocks that share a multiprocessor wait for its arithmetic; a block alone for its own
    instructions, or, where those are few, for memory."""
    blocks = 0
    for part in kernel.contractions:
        batch, rows, columns = (usual(group) for group in (part.batch, part.m, part.n))
        blocks += batch * -(-rows // tile.rows) * -(-columns // tile.columns)
    if tile.matrix:
        together, alone = tile.rows * tile.columns / 512 * 100 / tile.efficiency, 4.0
    else:
        together = max(tile.rows * tile.columns / 128 * 1.3, tile.threads * (tile.height + tile.width) / 32)
        alone = 6 + tile.sums * -(-tile.threads // 128)
    return max(together * -(-blocks // MULTIPROCESSORS), alone * -(-blocks // (4 * MULTIPROCESSORS)))


def tensor_maps(kernel: Kernel, units: Units) -> list[bulk_copies.BulkCopy]:
    """What the host describes to a kernel, in front of its other arguments."""
    if units.precision not in NARROW or isinstance(kernel, AttentionKernel) \
            or not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        return []
    shape = tile(kernel, units)
    return bulk_copies.tensor_maps(kernel, shape) if isinstance(shape, HalfTile) else []


def usual(variables: tuple[Sym, ...]) -> int:
    """Points of some loops, where dims decide a usual number."""
    low, high = product(extent(s) for s in variables).range()
    if high is None:
        return USUAL_ROWS
    return high if low == high else min(USUAL_ROWS, high)


def tiles(kernel: ContractionKernel, shape: Tile | LineTile | HalfTile) -> Expr:
    rows, columns = product(extent(s) for s in kernel.m), product(extent(s) for s in kernel.n)
    return product(extent(s) for s in kernel.batch) * ((rows + shape.rows - 1) // shape.rows) \
        * ((columns + shape.columns - 1) // shape.columns)
