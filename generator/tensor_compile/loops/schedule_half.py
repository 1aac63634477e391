# SPDX-License-Identifier: Apache-2.0
"""Tiles of contractions of 16-bit operands on a GPU: which there are, and which is estimated to be done first.

A block brings pieces of 64 terms to shared memory, several ahead. What bounds it is the larger of the matrix units'
time and that of the operands' way from the second cache; blocks that share a multiprocessor fill each other's gaps.
The numbers are bench/cuda/tiles.py's on an H100."""
from __future__ import annotations

from dataclasses import dataclass, replace

from .loop_ir import ContractionKernel, GroupedContractionKernel
from .scalars import loads

TERMS = 64                 # of a piece: lines of 128 bytes
MOST_SHARED = 96 * 1024    # bytes of a block: compute capabilities 8.6 and 8.9 have 99 KiB
MOST_SHARED_90 = 226 * 1024
SUMS_OF_A_THREAD = 128
MULTIPROCESSORS = 132      # of an H100 or H200; decides speed alone
PORT_BYTES = 34            # a cycle that a multiprocessor copies from the second cache, 16 at a time
CACHE_BYTES = 3000         # a cycle, of the second cache for all multiprocessors
BEGIN = 1500               # cycles until the first piece is there, and of a launch
MULTIPLIED = 2048          # a cycle, by a multiprocessor's matrix units
JOINED = {2: 3500, 4: 3000, 8: 7000}   # cycles that so many blocks of a cluster cost: to start, to wait for each other
FEWEST_PIECES = 3          # of a block of a cluster
JOIN_BYTES = 8             # a cycle that a multiprocessor reads of others' shared memory


@dataclass(frozen=True, slots=True)
class HalfTile:
    """rows x columns results of a block, height x width of them a warp. slices: groups of warps that share a tile,
    each with some terms of a piece. wgmma: four warps have 64 rows of it; height is 16 for them, which is what a warp
    holds. efficiency: of full matrix units, in percent. split: blocks of a cluster that share a tile, each with some
    pieces."""

    rows: int
    columns: int
    height: int
    width: int
    efficiency: int
    slices: int = 1
    wgmma: bool = False
    split: int = 1

    @property
    def warps(self) -> int:
        """Of a slice."""
        return self.rows // self.height * (self.columns // self.width)

    @property
    def threads(self) -> int:
        return 32 * self.warps * self.slices

    @property
    def sums(self) -> int:
        """Of a thread."""
        return self.height * self.width // 32

    def piece_bytes(self, operands: int) -> int:
        return 128 * (self.rows + operands * self.columns)

    def stages(self, operands: int) -> int:
        """Pieces in shared memory: as many as leave room for a second block."""
        room = 112 * 1024 if self.wgmma else MOST_SHARED // 2 if self.sums < 64 and self.threads <= 256 else MOST_SHARED
        if self.wgmma and 2 * self.sums * operands > 128:
            room = MOST_SHARED_90
        least = 3 if self.wgmma else 2
        return max(least, min(8, room // self.piece_bytes(operands)))

    def shared(self, operands: int) -> int:
        """Bytes; in the end the sums take the place of the pieces."""
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


def candidates(kernel: ContractionKernel | GroupedContractionKernel, sums: int, wgmma: bool) -> list[HalfTile]:
    """The tiles for which a block has room, where chips have clusters also by several blocks a tile."""
    from .schedule_cuda import usual

    found = fitting(sums, wgmma)
    pieces = max(-(-usual(part.k) // TERMS) for part in kernel.contractions)
    return found + [replace(t, split=split) for split in JOINED for t in found
                    if t.wgmma and pieces >= split * FEWEST_PIECES]


def fitting(sums: int, wgmma: bool) -> list[HalfTile]:
    """The tiles for which a block has room, with so many second operands."""
    found = [t for t in WGMMA_TILES if sums * t.sums <= SUMS_OF_A_THREAD
             and t.shared(sums) <= MOST_SHARED_90] if wgmma else []
    return found + [t for t in TILES if sums * t.sums <= 64 and t.shared(sums) <= MOST_SHARED]


def tile(kernel: ContractionKernel | GroupedContractionKernel, wgmma: bool) -> HalfTile:
    """The tile that is estimated to be done first, of equal ones the first. wgmma: every image is for a GPU that has
    it."""
    sums = max(len(part.b) for part in kernel.contractions)
    return min(candidates(kernel, sums, wgmma), key=lambda t: estimate(kernel, t, sums))


def estimate(kernel: ContractionKernel | GroupedContractionKernel, tile: HalfTile, sums: int) -> float:
    """Cycles."""
    from .schedule_cuda import usual

    blocks = 0
    pieces = 1
    for part in kernel.contractions:
        batch, rows, columns = (usual(group) for group in (part.batch, part.m, part.n))
        blocks += batch * -(-rows // tile.rows) * -(-columns // tile.columns) * tile.split
        pieces = max(pieces, -(-usual(part.k) // TERMS))
    pieces = -(-pieces // tile.split)
    multiplied = tile.rows * tile.columns * sums * TERMS / MULTIPLIED * 100 / tile.efficiency
    copied = tile.piece_bytes(sums) / PORT_BYTES
    full = -(-blocks // MULTIPROCESSORS)
    room = MULTIPROCESSORS * 9 // 10 if tile.split > 1 else MULTIPROCESSORS   # a cluster's are neighbours
    waves = -(-blocks // (room * tile.together(sums)))
    outer = {s for part in kernel.contractions for s in (*part.batch, *part.m)}
    read = {x.buffer for part in kernel.contractions for x in loads(*(s.value for s in part.stores))
            if any(outer & e.symbols() for e in x.index)}
    results = tile.rows * tile.columns
    store = results * (sums + (1 + len(read)) / tile.split) / 8    # the end: sums to shared memory and out
    if tile.split > 1:
        store += JOINED[tile.split] + results * sums * 4 * (tile.split - 1) / tile.split / JOIN_BYTES
    inner = pieces * max(multiplied, copied)
    overlap = min(full, tile.together(sums)) > 1
    together = full * (max(inner, store) + min(inner, store) / 3 if overlap else inner + store)
    alone = waves * (pieces * ((60 if tile.wgmma else 150) + max(multiplied, copied)) + store + BEGIN)
    return max(together + BEGIN, alone, blocks * pieces * tile.piece_bytes(sums) / CACHE_BYTES + BEGIN)
