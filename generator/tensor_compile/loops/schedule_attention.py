# SPDX-License-Identifier: Apache-2.0
"""How attention is spread over the blocks of a GPU: queries of a block, keys that it takes at a time, and blocks of a
cluster that share the keys of few queries."""
from __future__ import annotations


from ..records import dataclass
from ..symbolic import Expr, product
from .loop_ir import AttentionKernel
from .scalars import extent
from .schedule_half import MULTIPROCESSORS, TERMS

WARPS = 4            # of a block, all of which copy; of few queries as many as share the keys that it takes at a time
WARP_QUERIES = 16
WARP_KEYS = 16       # that a warp multiplies at least
KEYS = 64            # of a block at a time
MOST_KEYS = 128      # the same, where four warps multiply as a group and no mask leaves keys out,
MANY_KEYS = 512      # or one leaves out those behind a query and there are so many


@dataclass(frozen=True, slots=True)
class AttentionTile:
    """queries: of a block, 16 a warp. keys: that it takes at a time. depth, columns: terms of a score and columns of a
    result. split: blocks of a cluster that share the keys. grouped: four warps multiply together, by wgmma.
    least_blocks: of a multiprocessor at a time."""

    queries: int
    keys: int
    depth: int
    columns: int
    split: int
    grouped: bool
    least_blocks: int

    @property
    def warps(self) -> int:
        return max(WARPS, self.keys // WARP_KEYS) if self.queries == WARP_QUERIES else WARPS

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def shares(self) -> int:
        """Warps that have the same queries, each with some of the keys that are taken at a time."""
        return self.warps * WARP_QUERIES // self.queries

    @property
    def shared(self) -> int:
        """Bytes: the queries and two times keys and values; in the end the results take their place."""
        panels, across = -(-self.depth // TERMS), -(-self.columns // TERMS)
        return max(128 * (panels * self.queries + 2 * self.keys * (panels + across)),
                   4 * self.shares * self.queries * (self.columns + 6))

    def blocks(self, kernel: AttentionKernel) -> Expr:
        batch, rows = (product(extent(s) for s in group) for group in (kernel.batch, kernel.m))
        return batch * ((rows + self.queries - 1) // self.queries) * self.split


def tile(kernel: AttentionKernel, wgmma: bool) -> AttentionTile:
    """That a tuning lock names, else the one that is estimated to be done first."""
    return kernel.shape if isinstance(kernel.shape, AttentionTile) else estimated(kernel, wgmma)


def tiles(kernel: AttentionKernel, wgmma: bool) -> list[AttentionTile]:
    """All that the kernel can have, those in front that differ least from the estimate's. wgmma: as of tile."""
    first, keys = estimated(kernel, wgmma), _points(kernel)[2]
    others = [_made(kernel, wgmma, warps, at_a_time, split) for warps in (1, 2, 4)
              for at_a_time in ((KEYS, 80, 96, MOST_KEYS) if warps == 1 else (KEYS, MOST_KEYS))
              for split in ((1, 2, 4, 8) if wgmma else (1,))
              if split <= max(1, -(-keys // KEYS)) and (at_a_time == KEYS or _is_small(kernel))]
    return sorted(dict.fromkeys([first, *others]), key=lambda t: (
        (t.queries != first.queries) + (t.keys != first.keys) + (t.split != first.split), abs(t.split - first.split)))


def estimated(kernel: AttentionKernel, wgmma: bool) -> AttentionTile:
    """wgmma: every image is for a GPU that has it, and clusters."""
    warps, (batch, rows, keys) = WARPS, _points(kernel)
    while warps > 1 and (rows <= WARP_QUERIES * (warps // 2)
                         or batch * -(-rows // (WARP_QUERIES * warps)) < MULTIPROCESSORS // 2):
        warps //= 2
    blocks, split, most = batch * -(-rows // (WARP_QUERIES * warps)), 1, MULTIPROCESSORS * (2 if warps == WARPS else 1)
    while wgmma and split < 8 and 2 * split <= -(-keys // KEYS) and 2 * split * blocks <= most:
        split *= 2
    columns = extent(kernel.n[-1]).value
    grouped = wgmma and warps == WARPS and columns % TERMS == 0
    small, at_a_time = _is_small(kernel), KEYS
    if grouped and small and split == 1 and kernel.limit is None and extent(kernel.key).is_const:
        each = -(-keys // -(-keys // MOST_KEYS))
        at_a_time = -(-each // WARP_QUERIES) * WARP_QUERIES
    elif grouped and small and kernel.limit is not None and keys >= MANY_KEYS:
        at_a_time = MOST_KEYS
    elif warps == 1 and split > 1 and small and kernel.limit is None and KEYS < -(-keys // split) <= MOST_KEYS:
        at_a_time = -(-keys // (split * WARP_KEYS)) * WARP_KEYS    # what a block has at all
    return _made(kernel, wgmma, warps, at_a_time, split)


def _made(kernel: AttentionKernel, wgmma: bool, warps: int, at_a_time: int, split: int) -> AttentionTile:
    depth, columns = extent(kernel.depth).value, extent(kernel.n[-1]).value
    batch, rows, _ = _points(kernel)
    crowded = batch * -(-rows // (WARP_QUERIES * warps)) > 3 * MULTIPROCESSORS and _is_small(kernel)
    return AttentionTile(WARP_QUERIES * warps, at_a_time, depth, columns, split,
                         wgmma and warps == WARPS and columns % TERMS == 0,
                         (4 if at_a_time <= KEYS else 3) if crowded else 1)


def _is_small(kernel: AttentionKernel) -> bool:
    """Whether registers have room for many keys."""
    return max(extent(kernel.depth).value, extent(kernel.n[-1]).value) <= TERMS


def _points(kernel: AttentionKernel) -> tuple[int, int, int]:
    """Of batches, rows and keys, as many as are usual."""
    from .schedule_cuda import usual

    return usual(kernel.batch), usual(kernel.m), usual((kernel.key,))
