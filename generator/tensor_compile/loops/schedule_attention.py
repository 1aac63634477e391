# SPDX-License-Identifier: Apache-2.0
"""How attention is spread over the blocks of a GPU: queries of a block, keys that it takes at a time, and blocks of a
cluster that share the keys of few queries."""
from __future__ import annotations


from ..records import dataclass
from ..symbolic import Expr, product
from .loop_ir import AttentionKernel
from .scalars import extent
from .schedule_half import MULTIPROCESSORS, TERMS

WARPS = 4            # of a block, all of which copy
WARP_QUERIES = 16
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
    def threads(self) -> int:
        return 32 * WARPS

    @property
    def shares(self) -> int:
        """Warps that have the same queries, each with some of the keys that are taken at a time."""
        return WARPS * WARP_QUERIES // self.queries

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
    """wgmma: every image is for a GPU that has it, and clusters."""
    from .schedule_cuda import usual

    warps, batch, rows, keys = WARPS, usual(kernel.batch), usual(kernel.m), usual((kernel.key,))
    while warps > 1 and (rows <= WARP_QUERIES * (warps // 2)
                         or batch * -(-rows // (WARP_QUERIES * warps)) < MULTIPROCESSORS // 2):
        warps //= 2
    queries = WARP_QUERIES * warps
    blocks, split, most = batch * -(-rows // queries), 1, MULTIPROCESSORS * (2 if warps == WARPS else 1)
    while wgmma and split < 8 and 2 * split <= -(-keys // KEYS) and 2 * split * blocks <= most:
        split *= 2
    depth, columns = extent(kernel.depth).value, extent(kernel.n[-1]).value
    grouped = wgmma and warps == WARPS and columns % TERMS == 0
    small, at_a_time = max(depth, columns) <= TERMS, KEYS
    if grouped and small and split == 1 and kernel.limit is None and extent(kernel.key).is_const:
        each = -(-keys // -(-keys // MOST_KEYS))
        at_a_time = -(-each // WARP_QUERIES) * WARP_QUERIES
    elif grouped and small and kernel.limit is not None and keys >= MANY_KEYS:
        at_a_time = MOST_KEYS
    crowded = blocks > 3 * MULTIPROCESSORS and small
    return AttentionTile(queries, at_a_time, depth, columns, split, grouped,
                         (4 if at_a_time <= KEYS else 3) if crowded else 1)
