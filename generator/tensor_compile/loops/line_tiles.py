# SPDX-License-Identifier: Apache-2.0
"""Tiles of exact contractions of compute capability 9.0 for which one warp of a block brings lines of neighbouring
floats, rows of the first operand, panels or rows of columns of the second ones, and the others multiply
(templates/cuda/contraction_lines.cu.in)."""
from __future__ import annotations


from ..records import dataclass
from ..symbolic import Expr, Sym, divisor_of, sym
from .loop_ir import ContractionKernel, GroupedContractionKernel
from .scalar_ir import Buffer, Load
from .scalars import domain_size, extent, point_number
from .schedule_half import MULTIPROCESSORS

PANEL = 16                 # columns of a packed operand that lie together
BARRIER_BYTES = 16         # of a piece: that it is there, that it is not needed any more
MOST_STAGES = 6
MOST_SUMS = 96             # registers that accumulators may take
FEWEST_STAGES = 3
DEPTH = 64                 # terms of a piece, at most
FEWEST_TERMS = 256         # of a sum: of fewer, small blocks beside each other are faster
ROOM = 222 * 1024          # bytes of shared memory of a multiprocessor, for the tiles of its blocks
CHIPS = frozenset(("sm_90", "sm_90a", "sm_100", "sm_103", "sm_110"))   # that have it; sm_120 and sm_121 have 100 KiB


@dataclass(frozen=True, slots=True)
class LineTile:
    """rows x columns results of a block, height x width of them a thread, over pieces of `depth` terms. together:
    blocks of a multiprocessor. ahead: threads read the next terms before they multiply those that they have."""

    rows: int
    columns: int
    depth: int
    height: int
    width: int
    together: int = 1
    ahead: bool = False

    @property
    def multiplying(self) -> int:
        """Threads of a block, of which one more warp brings the operands."""
        return self.rows // self.height * (self.columns // self.width)

    @property
    def threads(self) -> int:
        return self.multiplying + 32

    @property
    def sums(self) -> int:
        """Of a thread."""
        return self.height * self.width

    @property
    def panels(self) -> int:
        """Of a tile's columns, which may begin within one."""
        return self.columns // PANEL + (self.columns % PANEL > 0)

    @property
    def panel(self) -> int:
        """Floats from one panel of a piece to the next: the same columns of neighbours lie in other banks."""
        return self.depth * PANEL + PANEL

    def piece_bytes(self, operands: int) -> int:
        return 4 * (self.rows * (self.depth + 4) + operands * self.panels * self.panel) + BARRIER_BYTES

    def stages(self, operands: int) -> int:
        """Pieces that are on their way or in use."""
        return min(MOST_STAGES, ROOM // self.together // self.piece_bytes(operands))

    def shared(self, operands: int) -> int:
        return self.stages(operands) * self.piece_bytes(operands)


def come_in_lines(kernel: ContractionKernel | GroupedContractionKernel) -> bool:
    """Whether all operands of all parts can be brought so."""
    buffers = {b.name: b for b in kernel.params}
    forms = {_form(buffers, part) for part in kernel.contractions}
    return len(forms) == 1 and None not in forms


# Measured by bench/cuda/h200_f32.txt. Rows and columns part usual sizes (768, 3072, 128, 512) into as many blocks as
# there are multiprocessors, or a little fewer.
TILES = tuple(LineTile(*sizes) for sizes in (
    (128, 128, 32, 8, 8), (128, 96, 64, 8, 6), (64, 96, 32, 8, 6, 2), (128, 72, 32, 8, 9), (64, 144, 32, 8, 9),
    (32, 72, 64, 4, 6), (64, 48, 64, 4, 6), (32, 96, 64, 4, 6), (48, 64, 32, 6, 4), (32, 96, 32, 8, 4),
    (64, 48, 32, 4, 6, 1, True), (32, 96, 32, 4, 6, 1, True), (32, 48, 32, 4, 4, 2),
    (16, 48, 64, 4, 2), (16, 48, 64, 4, 2, 1, True), (16, 48, 64, 2, 6), (16, 48, 64, 2, 4), (32, 32, 64, 2, 4)))


def ranked(kernel: ContractionKernel | GroupedContractionKernel, sums: int) -> list[LineTile]:
    """The tiles that the kernel can have, those that are estimated to be done first in front."""
    if not come_in_lines(kernel):
        return []
    return sorted(fitting(sums), key=lambda t: estimate(kernel, t))


def fitting(sums: int) -> list[LineTile]:
    """The tiles for which a block has room, with so many second operands."""
    return [t for t in TILES if sums * t.sums <= MOST_SUMS and t.stages(sums) >= FEWEST_STAGES]


def estimate(kernel: ContractionKernel | GroupedContractionKernel, tile: LineTile) -> float:
    """Cycles a term. Each of four schedulers multiplies for one warp in 1.5 cycles: operands of a multiplication are in
    three registers, of which it reads two a cycle. A warp alone also waits for what it reads."""
    count = blocks(kernel, tile)
    warps = -(-min(tile.together, -(-count // MULTIPROCESSORS)) * tile.multiplying // 128)
    reads = tile.height + tile.width
    one = warps * 1.5 * tile.sums + (0.9 if warps == 1 else 0.2 * warps) * reads
    return -(-count // (MULTIPROCESSORS * tile.together)) * one


def blocks(kernel: ContractionKernel | GroupedContractionKernel, tile: LineTile) -> int:
    from .schedule_cuda import usual

    count = 0
    for part in kernel.contractions:
        batch, rows, columns = (usual(group) for group in (part.batch, part.m, part.n))
        count += batch * -(-rows // tile.rows) * -(-columns // tile.columns)
    return count


def fills(kernel: ContractionKernel | GroupedContractionKernel, tile: LineTile) -> bool:
    """Whether most multiprocessors have a block; smaller blocks of fewer results are faster otherwise."""
    return 3 * blocks(kernel, tile) >= 2 * MULTIPROCESSORS


def is_packed(part: ContractionKernel) -> bool:
    """Whether second operands lie in panels; otherwise in rows of columns."""
    return part.b_panel == PANEL


def _form(buffers: dict[str, Buffer], part: ContractionKernel) -> bool | None:
    """Whether second operands are packed; None where an operand does not come in lines."""
    terms = domain_size(part.k)
    if not terms.is_const or terms.value < FEWEST_TERMS or terms.value % DEPTH or part.b_panel not in (0, PANEL):
        return None
    if not _rows(buffers[part.a.buffer], part.a, part.k):
        return None
    packed = is_packed(part)
    fits = _panels if packed else _columns
    return packed if len(part.n) == 1 and all(fits(buffers[b.buffer], b, part) for b in part.b) else None


def _plain(buffer: Buffer, load: Load) -> bool:
    return not load.valid and not load.dynamic and load.dtype == "f32" and buffer.kind != "scratch"


def _fours(e: Expr) -> bool:
    return divisor_of(e) % 4 == 0


def _parted(buffer: Buffer, load: Load, terms: tuple[Sym, ...]) -> tuple[Expr, Expr]:
    """Its address, without the terms and what they add to it."""
    address = buffer.address(load.index)
    outer = address.substitute({s: 0 for s in terms})
    return outer, address - outer


def _rows(buffer: Buffer, load: Load, terms: tuple[Sym, ...]) -> bool:
    outer, inner = _parted(buffer, load, terms)
    return _plain(buffer, load) and inner == point_number(terms) and _fours(outer)


def _panels(buffer: Buffer, load: Load, part: ContractionKernel) -> bool:
    outer, inner = _parted(buffer, load, part.k)
    number, lane = Sym("number", 0, None), Sym("lane", 0, PANEL - 1)
    moved = outer.substitute({part.n[0]: PANEL * sym(number) + sym(lane)})
    return _plain(buffer, load) and inner == point_number(part.k) * PANEL \
        and moved.coefficient(lane) == 1 and _fours(moved.substitute({lane: 0}))


def _columns(buffer: Buffer, load: Load, part: ContractionKernel) -> bool:
    outer, inner = _parted(buffer, load, part.k)
    n = part.n[0]
    return _plain(buffer, load) and inner.symbols() <= set(part.k) | {s for s in inner.symbols() if s.is_dim} \
        and _fours(inner) and outer.coefficient(n) == 1 and _fours(outer.substitute({n: 0})) and _fours(extent(n))
