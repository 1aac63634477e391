# SPDX-License-Identifier: Apache-2.0
"""Second operands that are packed and used once: a tile packs some panels and multiplies by them while they are in
cache.

A decoder's keys change with every token, so their panels cannot be made in advance. Where few rows are multiplied by
them, packing is most of the work and writing the panels to memory is most of packing. The region's axes are the batch
dims of the product and blocks of its columns. Each panel is made in one tile, so nothing is done twice.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable

from ..records import dataclass
from ..symbolic import Expr, Sym, ZERO, sym, wrap
from .kernel_interface import changed
from .loop_ir import ContractionKernel, LoopNestKernel, Store
from .program_ir import Tiles
from .scalar_ir import Buffer, Load
from .scalars import Rewriter, domain_size, extent, rewritten
from .tile_axes import Axis

COLUMNS = 64      # of a tile: packing waits for memory, multiplying does not, so they take turns soon
OF_ONE_ROW = 128  # one row has as many sums in registers as it has vectors of columns


@dataclass(frozen=True, slots=True)
class Panels:
    """pack fills what `kernel` alone reads as its second operand. batch: for each variable of the kernel's batch, the
    one of pack's rows that walks the same dim (None: the operand has no such dim). panel: pack's variable of the
    panels. walkers: pack's variable of each dim of what is
    packed (None: its index is no variable)."""

    pack: LoopNestKernel
    kernel: ContractionKernel
    batch: tuple[tuple[Sym, Sym | None], ...]
    panel: Sym
    walkers: tuple[Sym | None, ...]


def panels(pack: LoopNestKernel, kernel: ContractionKernel) -> Panels | None:
    """None where the two are anything else."""
    if len(kernel.b) != 1 or not kernel.b_panel or len(kernel.n) != 1 or len(pack.phases) != 1:
        return None
    (b,), (n,), (phase,) = kernel.b, kernel.n, pack.phases
    if phase.vars or phase.reduces or len(phase.stores) != 1 or phase.stores[0].buffer != b.buffer \
            or b.valid or b.dynamic or phase.stores[0].dynamic:
        return None
    number = sym(n) // kernel.b_panel
    index = phase.stores[0].index
    if number not in b.index or b.index[-1] != sym(n) - number * kernel.b_panel:
        return None
    at = b.index.index(number)
    walkers = [next((v for v in pack.rows if sym(v) == e), None) for e in index]
    walkers_of: dict[Sym, Sym | None] = dict.fromkeys(kernel.batch)
    for e, walker in zip(b.index[:at], walkers):
        if not e.symbols():
            continue
        (own, *others) = e.symbols()
        if others or e != sym(own) or own not in walkers_of or walker is None or walker.hi != own.hi:
            return None
        walkers_of[own] = walker
    panel = walkers[at]
    inside = {s for e in b.index[at + 1:] for s in e.symbols()}
    if panel is None or inside & set(kernel.batch):
        return None
    return Panels(pack, kernel, tuple(walkers_of.items()), panel, tuple(walkers))


def tiled(p: Panels, buffers: dict[str, Buffer], names: Callable[[], str]) -> Tiles:
    """The region. The buffer of the panels becomes that of a tile."""
    kernel, (n,), (b,) = p.kernel, p.kernel.n, p.kernel.b
    axes = tuple(Axis.of(names(), 1, extent(s)) for s in kernel.batch)
    one = domain_size(kernel.m) == 1
    columns = Axis.of(names(), OF_ONE_ROW if one else COLUMNS, extent(n))
    at = b.index.index(sym(n) // kernel.b_panel)
    old = buffers[b.buffer]
    shape = tuple(wrap(1) if d < at else wrap(-(-columns.block // kernel.b_panel)) if d == at else size
                  for d, size in enumerate(old.shape))
    buffers[b.buffer] = Buffer(old.name, old.dtype, shape, old.order, "tile")
    own = Sym(n.name, 0, columns.points - 1)
    count = (columns.points + (kernel.b_panel - 1)) // kernel.b_panel
    panel = Sym(p.panel.name, 0, count - 1)

    step: dict[Sym, Expr] = {s: sym(axis.start) for axis, (s, _) in zip(axes, p.batch)}
    step[n] = sym(columns.start) + sym(own)
    number = sym(own) // kernel.b_panel
    inside = (*(ZERO for _ in range(at)), number, *b.index[at + 1:-1], sym(own) - number * kernel.b_panel)
    change = Rewriter(lambda e: e.substitute(step))
    product = changed(buffers, kernel, batch=(), n=(own,), a=change.load(kernel.a),
                      b=(Load(b.buffer, b.dtype, inside),),
                      stores=tuple(rewritten(s, change) for s in kernel.stores),
                      where=change(kernel.where) if kernel.where is not None else None)

    there: dict[Sym, Expr] = {w: sym(axis.start) for axis, (_, w) in zip(axes, p.batch) if w is not None}
    gone = set(there)
    there[p.panel] = sym(columns.start) // kernel.b_panel + sym(panel)
    moved = Rewriter(lambda e: e.substitute(there))
    (phase,), store = p.pack.phases, p.pack.phases[0].stores[0]
    index = tuple(ZERO if d < at else sym(panel) if d == at else e for d, e in enumerate(store.index))
    rows = tuple(panel if s is p.panel else s for s in p.pack.rows if s not in gone)
    store = Store(store.buffer, index, moved(store.value))
    packed = changed(buffers, p.pack, rows=rows, phases=(replace(phase, stores=(store,)),))
    return Tiles(f"{p.pack.label}+{kernel.label}", (*axes, columns), [packed, product])
