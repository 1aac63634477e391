# SPDX-License-Identifier: Apache-2.0
"""Operands of 16-bit contractions that the bulk copy engine of compute capability 9.0 brings to shared memory: lines
of neighbouring terms, at equal distances. The host describes each of them to the kernel (a tensor map); one thread asks
for a piece, swizzled as wgmma wants it, with zeros outside."""
from __future__ import annotations


from ..records import dataclass
from ..symbolic import Expr, Sym, divisor_of
from .loop_ir import ContractionKernel, GroupedContractionKernel
from .scalar_ir import Buffer, Load
from .scalars import domain_size, point_number
from .schedule_half import WGMMA_TILES, HalfTile

MAP_WORDS = 16   # of 8 bytes, of a tensor map
KINDS = ("temp", "packed")   # buffers whose addresses a recording may keep


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """Lines of `terms` elements of a buffer from the element `offset` on, `stride` elements apart, `box` of them at a
    time."""

    buffer: str
    offset: Expr
    terms: Expr
    lines: Expr
    stride: Expr
    box: int


def bulk_copies(kernel: ContractionKernel | GroupedContractionKernel, tile: HalfTile) -> list[list[BulkCopy | None]]:
    """Of each part, for its first operand and the second ones; None: threads copy it. Without any where there is a part
    that has none."""
    if not tile.wgmma:
        return [[None] * (1 + len(part.b)) for part in kernel.contractions]
    buffers = {b.name: b for b in kernel.params}
    found = [[_copy(buffers, part, part.a, part.m, tile.rows),
              *(_copy(buffers, part, b, part.n, tile.columns) for b in part.b)] for part in kernel.contractions]
    for copies in found:    # second operands all in the same way
        if None in copies[1:]:
            copies[1:] = [None] * (len(copies) - 1)
    if not all(any(copies) for copies in found):
        return [[None] * len(copies) for copies in found]
    return found


def come_in_bulk(kernel: ContractionKernel | GroupedContractionKernel) -> tuple[bool, bool]:
    """Whether tiles for wgmma have their first and their second operands so, in all parts."""
    copies = bulk_copies(kernel, WGMMA_TILES[0])
    return all(c[0] is not None for c in copies), all(c[-1] is not None for c in copies)


def tensor_maps(kernel: ContractionKernel | GroupedContractionKernel, tile: HalfTile) -> list[BulkCopy]:
    """Each of them once, in the order of the kernel's arguments."""
    return list(dict.fromkeys(c for copies in bulk_copies(kernel, tile) for c in copies if c))


def _copy(buffers: dict[str, Buffer], part: ContractionKernel, load: Load, group: tuple[Sym, ...],
          box: int) -> BulkCopy | None:
    buffer = buffers[load.buffer]
    if load.valid or load.dynamic or load.dtype not in ("bf16", "f16") or buffer.kind not in KINDS or not group:
        return None
    address = buffer.address(load.index)
    outer = address.substitute({s: 0 for s in part.k})
    offset = outer.substitute({s: 0 for s in group})
    stride = outer.coefficient(group[-1])
    if stride is None or any(not s.is_dim for e in (offset, stride) for s in e.symbols()) \
            or outer - offset != point_number(group) * stride \
            or address - outer != point_number(part.k) \
            or divisor_of(offset) % 8 or divisor_of(stride) % 8:
        return None
    return BulkCopy(load.buffer, offset, domain_size(part.k), domain_size(group), stride, box)
