# SPDX-License-Identifier: Apache-2.0
"""Tiles of contractions of 16-bit operands on a GPU: which there are, and which is estimated to be done first.

A block brings pieces of 64 terms to shared memory, several ahead. What bounds it is the larger of the matrix units'
time and that of the operands' way from the second cache; blocks that share a multiprocessor fill each other's gaps.
The numbers are bench/cuda/tiles.py's on an H100."""
from __future__ import annotations

from dataclasses import replace

from ..records import dataclass
from .loop_ir import ContractionKernel, GroupedContractionKernel
from .scalar_ir import Apply
from .scalars import loads, walk

TERMS = 64                 # of a piece: lines of 128 bytes
MOST_SHARED = 96 * 1024    # bytes of a block: compute capabilities 8.6 and 8.9 have 99 KiB
MOST_SHARED_90 = 226 * 1024
MOST_SHARED_BULK = 227 * 1024
SUMS_OF_A_THREAD = 128
BARRIER_BYTES = 64         # of the stages, 8 each
MULTIPROCESSORS = 132      # of an H100 or H200; decides speed alone
PORT_BYTES = 34            # a cycle that a multiprocessor copies from the second cache, 16 at a time
BULK_BYTES = 50            # the same by the bulk copy engine
BULK_BEGIN = 1900          # BEGIN for it
STAY_BEGIN = 4500          # of blocks that stay
STAY_TILE = 1060           # cycles between their tiles
STAY_BYTES = 5150          # as CACHE_BYTES, for them
CACHE_BYTES = 3000         # a cycle, of the second cache for all multiprocessors
BEGIN = 1500               # cycles until the first piece is there, and of a launch
MULTIPLIED = 2048          # a cycle, by a multiprocessor's matrix units
JOINED = {2: 3500, 4: 3000, 8: 7000}   # cycles that so many blocks of a cluster cost: to start, to wait for each other
BULK_JOINED = {2: 540, 4: 620, 8: 7000}
FEWEST_PIECES = 3          # of a block of a cluster
ENOUGH_STAGES = 6          # more of them than these leave the next kernel less room to begin early
FUNCTIONS = ("erf", "exp", "tanh", "log", "sin", "cos", "pow")
JOIN_BYTES = 8             # a cycle that a multiprocessor reads of others' shared memory


@dataclass(frozen=True, slots=True)
class HalfTile:
    """rows x columns results of a block, height x width of them a warp. slices: groups of warps that share a tile,
    each with some terms of a piece. wgmma: four warps have 64 rows of it; height is 16 for them, which is what a warp
    holds. efficiency: of full matrix units, in percent. split: blocks of a cluster that share a tile, each with some
    pieces. alone: a block has its multiprocessor's shared memory for itself, as there are no more blocks than
    multiprocessors. bulk: a warp brings pieces for the others, in blocks that stay (contraction_bulk.cu.in). staging:
    such a block has room in shared memory for sums on their way out."""

    rows: int
    columns: int
    height: int
    width: int
    efficiency: int
    slices: int = 1
    wgmma: bool = False
    split: int = 1
    alone: bool = False
    bulk: bool = False
    staging: bool = True

    @property
    def warps(self) -> int:
        """Of a slice."""
        return self.rows // self.height * (self.columns // self.width)

    @property
    def threads(self) -> int:
        return 32 * self.warps * self.slices + (128 if self.bulk else 0)

    @property
    def registers(self) -> int:
        """Of a thread that multiplies, where the warp that brings pieces and its neighbours have 24."""
        return min(240, (65536 // 128 - 24) // (self.warps // 4) // 8 * 8) if self.bulk else 0

    @property
    def bulk_efficiency(self) -> int:
        """Where nothing but the matrix units has to be waited for."""
        results = self.rows * self.columns
        if results >= 128 * 192 or self.bulk:
            return 100
        return 63 if results >= 128 * 128 else 57 if self.columns >= 128 else 50

    @property
    def sums(self) -> int:
        """Of a thread."""
        return self.height * self.width // 32

    def piece_bytes(self, operands: int) -> int:
        return 128 * (self.rows + operands * self.columns)

    def stages(self, operands: int) -> int:
        """Pieces in shared memory: as many as leave room for a second block."""
        if self.bulk:
            return min(8, (MOST_SHARED_BULK - 2 * BARRIER_BYTES - self.staged(operands)) // self.piece_bytes(operands))
        room = 112 * 1024 if self.wgmma else MOST_SHARED // 2 if self.sums < 64 and self.threads <= 256 else MOST_SHARED
        if self.wgmma and (self.alone or 2 * self.sums * operands > 128):
            room = MOST_SHARED_90
        least = 3 if self.wgmma else 2
        return max(least, min(8, room // self.piece_bytes(operands)))

    def shared(self, operands: int) -> int:
        """Bytes; in the end the sums take the place of the pieces."""
        return self.barriers(operands) + (BARRIER_BYTES * (2 if self.bulk else 1) if self.wgmma else 0)

    def staged(self, operands: int) -> int:
        """Bytes of 64 columns of sums, on their way out."""
        return 4 * operands * self.rows * (64 + 4) if self.staging else 0

    def barriers(self, operands: int) -> int:
        """Where the stages' barriers lie, behind the pieces and the sums."""
        if self.bulk:
            return self.stages(operands) * self.piece_bytes(operands) + self.staged(operands)
        return max(self.stages(operands) * self.piece_bytes(operands),
                   4 * operands * self.slices * self.rows * (self.columns + 8))

    def together(self, operands: int) -> int:
        """Blocks of a multiprocessor at a time."""
        registers = self.sums * operands + 64
        return max(1, min(MOST_SHARED_90 // (self.shared(operands) + 1024), 2048 // self.threads,
                          65536 // (registers * self.threads), 8))

    def least_blocks(self, operands: int) -> int:
        return 2 if self.together(operands) > 1 and self.sums * operands <= 64 else 1


TILES = (HalfTile(128, 128, 64, 32, 55), HalfTile(64, 128, 32, 32, 50), HalfTile(64, 64, 32, 32, 45),
         HalfTile(64, 32, 32, 16, 40), HalfTile(32, 64, 16, 32, 40), HalfTile(32, 32, 16, 16, 35, 2),
         HalfTile(32, 32, 16, 16, 35), HalfTile(16, 64, 16, 16, 30), HalfTile(16, 32, 16, 16, 25, 4),
         HalfTile(16, 16, 16, 16, 20, 4))
WGMMA_TILES = (HalfTile(128, 256, 16, 256, 85, wgmma=True), HalfTile(128, 192, 16, 192, 85, wgmma=True),
               HalfTile(128, 128, 16, 128, 80, wgmma=True), HalfTile(128, 64, 16, 64, 70, wgmma=True),
               HalfTile(64, 256, 16, 256, 75, wgmma=True), HalfTile(64, 192, 16, 192, 75, wgmma=True),
               HalfTile(64, 128, 16, 128, 70, wgmma=True), HalfTile(64, 64, 16, 64, 60, wgmma=True))
BULK_TILES = tuple(HalfTile(rows, columns, 16, columns, 85, wgmma=True, bulk=True)
                   for rows, columns in ((128, 256), (128, 192), (128, 128), (192, 192)))


def candidates(kernel: ContractionKernel | GroupedContractionKernel, sums: int, wgmma: bool,
               bulk: tuple[bool, bool]) -> list[HalfTile]:
    """The tiles for which a block has room, where chips have clusters also by several blocks a tile. bulk: as of
    estimate."""
    from .schedule_cuda import usual

    found = fitting(sums, wgmma)
    pieces = max(-(-usual(part.k) // TERMS) for part in kernel.contractions)
    found += [replace(t, split=split) for split in JOINED for t in found
              if t.wgmma and pieces >= split * FEWEST_PIECES]
    found = [replace(t, alone=True) if t.wgmma and t.stages(sums) < ENOUGH_STAGES and
             _work(kernel, t).tiles * t.split <= _room(t) else t for t in found]
    if wgmma and all(bulk):
        wide = all(is_wide(part) for part in kernel.contractions)
        found += [tile for tile in (replace(t, staging=not wide) for t in BULK_TILES)
                  if sums * tile.sums <= tile.registers - 48 and tile.stages(sums) >= 3]
    return found


def is_wide(kernel: ContractionKernel) -> bool:
    """Whether what follows the sums has eight columns of a row at a time, side by side in memory where they can be."""
    from .wide import apart, eights

    return eights(kernel.n[-1]) and apart(kernel.stores)


def fitting(sums: int, wgmma: bool) -> list[HalfTile]:
    """The tiles for which a block has room, with so many second operands."""
    found = [t for t in WGMMA_TILES if sums * t.sums <= SUMS_OF_A_THREAD
             and t.shared(sums) <= MOST_SHARED_90] if wgmma else []
    return found + [t for t in TILES if sums * t.sums <= 64 and t.shared(sums) <= MOST_SHARED]


def ranked(kernel: ContractionKernel | GroupedContractionKernel, wgmma: bool,
           bulk: tuple[bool, bool]) -> list[HalfTile]:
    """The candidates, those that are estimated to be done first in front, of equal ones as the tables have them. wgmma:
    every image is for a GPU that has it; bulk: as of estimate."""
    sums = max(len(part.b) for part in kernel.contractions)
    return sorted(candidates(kernel, sums, wgmma, bulk), key=lambda t: estimate(kernel, t, sums, bulk))


def estimate(kernel: ContractionKernel | GroupedContractionKernel, tile: HalfTile, sums: int,
             bulk: tuple[bool, bool]) -> float:
    """Cycles. bulk: whether first and second operands are for the bulk copy engine."""
    work = _work(kernel, tile)
    if tile.wgmma and all(bulk):
        return _staying(work, tile, sums) if tile.bulk else _bulk(work, tile, sums)
    pieces, blocks = work.pieces, work.tiles * tile.split
    multiplied = tile.rows * tile.columns * sums * TERMS / MULTIPLIED * 100 / tile.efficiency
    threads_copy = [not (tile.wgmma and each) for each in bulk]
    by_threads = 128 * (tile.rows * threads_copy[0] + sums * tile.columns * threads_copy[1])
    copied = max(by_threads / PORT_BYTES, tile.piece_bytes(sums) / BULK_BYTES)
    full = -(-blocks // MULTIPROCESSORS)
    waves = -(-blocks // (_room(tile) * tile.together(sums)))
    results = tile.rows * tile.columns
    store = results * (sums + (1 + work.read) / tile.split) / 8    # the end: sums to shared memory and out
    if tile.split > 1:
        store += JOINED[tile.split] + results * sums * 4 * (tile.split - 1) / tile.split / JOIN_BYTES
    inner = pieces * max(multiplied, copied)
    overlap = min(full, tile.together(sums)) > 1
    together = full * (max(inner, store) + min(inner, store) / 3 if overlap else inner + store)
    alone = waves * (pieces * ((60 if tile.wgmma else 150) + max(multiplied, copied)) + store + BEGIN)
    return max(together + BEGIN, alone, blocks * pieces * tile.piece_bytes(sums) / CACHE_BYTES + BEGIN)


@dataclass(frozen=True, slots=True)
class _Work:
    """tiles of a contraction, pieces of a block; buffers that each result reads, and functions like exp that it
    takes."""

    tiles: int
    pieces: int
    read: int
    functions: int


def _work(kernel: ContractionKernel | GroupedContractionKernel, tile: HalfTile) -> _Work:
    from .schedule_cuda import usual

    tiles, pieces = 0, 1
    for part in kernel.contractions:
        batch, rows, columns = (usual(group) for group in (part.batch, part.m, part.n))
        tiles += batch * -(-rows // tile.rows) * -(-columns // tile.columns)
        pieces = max(pieces, -(-usual(part.k) // TERMS))
    outer = {s for part in kernel.contractions for s in (*part.batch, *part.m)}
    values = [s.value for part in kernel.contractions for s in part.stores]
    read = {x.buffer for x in loads(*values) if any(outer & e.symbols() for e in x.index)}
    functions = max(sum(isinstance(x, Apply) and x.op in FUNCTIONS for x in walk(value)) for value in values)
    return _Work(tiles, -(-pieces // tile.split), len(read), functions)


def _room(tile: HalfTile) -> int:
    """Multiprocessors: a cluster's are neighbours."""
    return MULTIPROCESSORS * 9 // 10 if tile.split > 1 else MULTIPROCESSORS


def _bulk(work: _Work, tile: HalfTile, sums: int) -> float:
    """Cycles where one thread asks for both operands."""
    blocks, results = work.tiles * tile.split, tile.rows * tile.columns
    inner = work.pieces * (75 + max(_multiplied(tile, sums), tile.piece_bytes(sums) / BULK_BYTES))
    store = results * (sums + (1 + work.read) / tile.split + 1.33 * work.functions) / 9.1
    if tile.split > 1:
        store += BULK_JOINED[tile.split] + results * sums * 4 * (tile.split - 1) / tile.split / JOIN_BYTES
    full, waves = -(-blocks // MULTIPROCESSORS), -(-blocks // (_room(tile) * tile.together(sums)))
    overlap = min(full, tile.together(sums)) > 1
    together = full * (max(inner, store) + min(inner, store) * 0.71 if overlap else inner + store)
    return BULK_BEGIN + max(together, waves * (inner + store + BULK_BEGIN) - BULK_BEGIN)


def _staying(work: _Work, tile: HalfTile, sums: int) -> float:
    """Cycles of blocks that stay: only the first pieces are waited for."""
    copied = tile.piece_bytes(sums) * max(1 / BULK_BYTES, min(work.tiles, MULTIPROCESSORS) / STAY_BYTES)
    store = tile.rows * tile.columns * (sums + work.read + 1.44 * work.functions) / 9.3
    waves = -(-work.tiles // MULTIPROCESSORS)
    return STAY_BEGIN + waves * (work.pieces * max(_multiplied(tile, sums), copied) + STAY_TILE + store)


def _multiplied(tile: HalfTile, sums: int) -> float:
    """Cycles of a piece in the matrix units."""
    return tile.rows * tile.columns * sums * TERMS / MULTIPLIED * 100 / tile.bulk_efficiency
