# SPDX-License-Identifier: Apache-2.0
"""Tile regions: chains of kernels that hand rows on run block by block, so that what they hand on stays in a thread's
cache.

A chain begins at a contraction. The next kernel joins it where it alone reads a temp that only the last one writes, at
equal rows: each row dim of the temp is walked by variables of both kernels' rows alone. Those dims are the axes of the
tiles. The last axis is cut into blocks, of the others a tile has one point. Temps that nobody outside of the chain
reads become buffers of kind `tile`.

A region is formed where it pays. It saves what is handed on from leaving the cache; it costs that every tile walks the
second operands of the contractions again. explain says what was decided and why. A tuning lock may decide how many rows
a block of a region has that is formed.
"""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Callable, Iterator, Mapping, Sequence

from ..graph.dtypes import DTYPES
from ..records import dataclass
from ..symbolic import Expr, Sym, ZERO, sym, wrap
from ..target import Target
from .accesses import read, written
from .clip import clip
from .fused import Fused
from .kernel_interface import changed
from .loop_ir import ContractionKernel, GroupedContractionKernel, LoopNestKernel, Store
from .program_ir import Branch, each_list, Element, Loop, Tiles
from .scalar_ir import Buffer, Load, row_major, Scalar, unused
from .plan import bytes_of, in_place
from .races import between_tiles
from .scalars import Rewriter, domain_size, extent, loads, point_number, rewritten, unlinear
from .term_by_term import without_panels
from .tile_axes import Axis
from .tile_panels import panels, tiled
from .uses import Uses

ROWS = 32
FAR_ROWS = 64      # where second operands do not stay in the second cache
FEWEST = 8         # below, contractions run too few rows side by side
MOST = 4           # kernels of a region
TERMS = 1 << 17    # that a tile adds at least, as its kernels take time to begin;
PER_TERM = 8       # fewer where the second cache has less than so many bytes for each of them
NEARER = 3         # bytes that come from a second level of cache in the time of one from behind it (Zen 4), where the
                   # target file does not say
LESS_NEAR = 2      # the same for a third level and memory
FEW = 16           # rows of a product up to which a tile packs the panels that it uses
UNKNOWN = 1024     # what a dim without an upper end is taken for

Chained = ContractionKernel | LoopNestKernel

# of a chain's kernels, the temps that they hand on, the rows of a block by the cost model and at most: the rows it has
Rows = Callable[[Sequence[Chained], Sequence[str], int, int], int]


def form(fused: Fused, target: Target, rows: Rows | None = None) -> Fused:
    """The same kernels, some of them within tile regions. rows: of blocks where all sizes are known; None: the cost
    model's."""
    former = _Former(fused, target, rows)
    kernels = each_list(fused.kernels, former.formed)
    return replace(fused, kernels=kernels, buffers=former.buffers, fusions=former.fusions, refusals=former.refusals)


@dataclass(slots=True)
class _Chain:
    """kernels with their positions in the list; handed: the temps between them; rows: for each axis, a dim's extent and
    the variables that walk it in each kernel. narrowed: a shorter chain has more axes."""

    at: list[int]
    kernels: list[Chained]
    handed: list[str]
    rows: list[tuple[Expr, list[tuple[Sym, ...]]]]
    narrowed: bool = False

    @property
    def label(self) -> str:
        return "+".join(dict.fromkeys(k.label for k in self.kernels))


def row_variables(kernel: Chained) -> tuple[Sym, ...]:
    return kernel.batch + kernel.m if isinstance(kernel, ContractionKernel) else kernel.rows


def walked_by(e: Expr, kernel: Chained) -> tuple[Sym, ...] | None:
    """The row variables of the kernel that e is the row-major position of; None where e is anything else."""
    variables = tuple(s for s in row_variables(kernel) if s in e.symbols())
    if not variables or point_number(variables) != e:
        return None
    return variables


def least(e: Expr) -> int:
    """The value with dims at their lower ends."""
    return max(1, e.evaluate({s: s.lo for s in e.symbols()}))


class _Former:
    def __init__(self, fused: Fused, target: Target, asked: Rows | None):
        self.buffers, self.target, self.asked = dict(fused.buffers), target, asked
        self.fusions, self.refusals = list(fused.fusions), list(fused.refusals)
        self.uses = Uses(fused.kernels)
        self.taken = {s.name for s in fused.dims} | {s.name for b in fused.buffers.values() for d in b.shape
                                                     for s in d.symbols()}

    def formed(self, items: list[Element]) -> list[Element]:
        """One list of kernels, with the regions that are made of them."""
        out = list(items)
        for i, kernel in enumerate(out):
            if isinstance(kernel, ContractionKernel):
                self.settle(out, self.chains(out, i))
        for i, kernel in enumerate(out):
            if isinstance(kernel, ContractionKernel):
                self.pack_within(out, i)
            if isinstance(kernel, GroupedContractionKernel):
                self.tell_grouped(out, i, kernel)
        return [item for item in out if item is not None]

    # -- chains
    def chains(self, items: list[Element], first: int) -> list[_Chain]:
        """The chains from a contraction, the longest first. A kernel that joins keeps the axes that it walks, so a
        shorter chain may have more tiles."""
        chain, found = _Chain([first], [items[first]], [], []), []
        while len(chain.kernels) < MOST:
            longer = self.longer(items, chain)
            if longer is None:
                break
            chain = longer
            found.append(chain)
        return found[::-1]

    def tell_grouped(self, items: list[Element], at: int, kernel: GroupedContractionKernel) -> None:
        """Says of products that fusion put into one kernel why they begin no chain, where they would by themselves."""
        for part in kernel.contractions:
            for name in written(part):
                number = next((j for j in range(at + 1, len(items))
                               if isinstance(items[j], (ContractionKernel, LoopNestKernel))
                               and name in read(items[j])), None)
                if number is None or not self.uses.hands_on(kernel, self.buffers[name]) \
                        or not self.movable(items, _Chain([at], [part], [], []), number):
                    continue
                rows = self.rows(_Chain([at], [part], [], []), items[number], name)
                if not rows or any(x.dynamic for x in (*items[number].stores, *loads(*items[number].values))):
                    continue
                chain = _Chain([at, number], [part, items[number]], [name], rows)
                reason = self.best_block(chain)[1] or f"the product is one of {len(kernel.contractions)} of a " \
                    "kernel, which read their first operand once"
                self.refusals.append((f"{chain.label} in tiles", reason))

    def longer(self, items: list[Element], chain: _Chain) -> _Chain | None:
        last, at = chain.kernels[-1], chain.at[-1]
        for name in written(last):
            if not self.uses.hands_on(last, self.buffers[name]):
                continue
            number = next((j for j in range(at + 1, len(items))
                           if isinstance(items[j], (ContractionKernel, LoopNestKernel))
                           and name in read(items[j])), None)
            if number is None or not self.movable(items, chain, number):
                continue
            joined = items[number]
            if any(x.dynamic for x in (*joined.stores, *loads(*joined.values))):
                continue
            rows = self.rows(chain, joined, name)
            if rows:
                narrowed = chain.narrowed or len(rows) < len(chain.rows)
                return _Chain([*chain.at, number], [*chain.kernels, joined], [*chain.handed, name], rows, narrowed)
        return None

    def movable(self, items: list[Element], chain: _Chain, to: int) -> bool:
        """The chain may run where the item at `to` does: nothing between writes what it touches or reads what it
        writes."""
        reads = {name for k in chain.kernels for name in read(k)}
        writes = {name for k in chain.kernels for name in written(k)}
        for j in range(chain.at[0] + 1, to):
            item = items[j]
            if item is None or j in chain.at:
                continue
            if isinstance(item, (Loop, Branch, Tiles)):
                return False
            if set(written(item)) & (reads | writes) or set(read(item)) & writes:
                return False
        return True

    def rows(self, chain: _Chain, joined: Chained, name: str) -> list[tuple[Expr, list[tuple[Sym, ...]]]]:
        """The axes that stay when a kernel joins the chain, which it reads through `name`."""
        last = chain.kernels[-1]
        indices = list(dict.fromkeys(s.index for s in last.stores if s.buffer == name))
        used = list(dict.fromkeys(x.index for x in loads(*joined.values) if x.buffer == name))
        if len(indices) != 1 or any(x.index != indices[0] for x in loads(*last.values) if x.buffer == name):
            return []
        row_dims = []
        known = {walkers[-1]: (size, walkers) for size, walkers in chain.rows}
        for d, e in enumerate(indices[0]):
            by = walked_by(e, last)
            through = {walked_by(index[d], joined) for index in used}
            reader, *others = through or (None,)
            if by is None or reader is None or others or (chain.handed and by not in known):
                continue
            size, walkers = known.get(by, (self.buffers[name].shape[d], [by]))
            if domain_size(reader) == size:
                row_dims.append((size, [*walkers, reader]))
        return row_dims

    # -- panels
    def pack_within(self, items: list[Element], at: int) -> None:
        """Leaves out the packing of a product's second operand, or puts it and the product into a region, where that
        pays."""
        kernel = items[at]
        name = kernel.b[0].buffer
        makers = [j for j in range(at) if isinstance(items[j], LoopNestKernel) and name in written(items[j])]
        if len(makers) != 1 or name in read(items[makers[0]]) \
                or not self.uses.hands_on(items[makers[0]], self.buffers[name]):
            return
        pack = panels(items[makers[0]], kernel)
        if pack is None or not self.movable(items, _Chain(makers, [pack.pack], [], []), at):
            return
        rows = self.size(domain_size(kernel.m))
        plain = without_panels(pack, self.buffers, self.target)
        if isinstance(plain, ContractionKernel):
            del self.buffers[name]
            items[makers[0]], items[at] = None, plain
            self.fusions.append(f"{kernel.label} reads columns of {plain.b[0].buffer} where they lie, without panels")
            return
        if plain and rows <= FEW:
            self.refusals.append((f"{kernel.label} without panels", plain))
        label = f"{pack.pack.label}+{kernel.label}"
        panel_bytes = self.size(bytes_of(self.buffers[name]))
        reason = ""
        if rows > FEW:
            reason = f"{rows} rows use the panels, which are made once for all of them"
        elif panel_bytes <= self.target.l2 // 2:
            reason = f"the panels, {panel_bytes} bytes, stay in the cache as they are"
        if reason:
            self.refusals.append((f"{label} in tiles", reason))
            return
        were = dict(self.buffers)
        tiles = tiled(pack, self.buffers, self.names().__next__)
        if between_tiles(self.buffers, tiles.axes, tiles.body):
            self.buffers = were
            return
        items[makers[0]], items[at] = None, tiles
        what = " by ".join(f"{a.block} of {a.size}" for a in tiles.axes)
        self.fusions.append(f"{label} runs in tiles of {what} points")

    # -- decisions
    def settle(self, items: list[Element], chains: list[_Chain]) -> None:
        """Makes a region of the longest chain for which that pays. Of chains that do not pay, explain names the longest
        alone."""
        for chain in chains:
            reason = self.region(items, chain)
            if not reason:
                break
            if chain is chains[0]:
                self.refusals.append((f"{chain.label} in tiles", reason))

    def region(self, items: list[Element], chain: _Chain) -> str:
        """Makes a region of the chain, where that pays: "". Else the reason why not."""
        block, reason = self.best_block(chain)
        if reason:
            return reason
        were, higher = dict(self.buffers), self.growing_block(chain)
        before, tiles = self.tiles(chain, block)
        chosen = self.chosen_block(chain, max(block, higher) if tiles.growing else block, were)
        if chosen != block:
            self.buffers = dict(were)
            before, tiles = self.tiles(chain, chosen)
        if between_tiles(self.buffers, tiles.axes, tiles.body):
            self.buffers = were
            return "a tile would need what another one stores"
        for at in chain.at:
            items[at] = None
        items[chain.at[-1]] = tiles
        if before is not None:
            items[chain.at[0]] = before
        what = " by ".join(f"{a.block} of {a.size}" for a in tiles.axes)
        self.fusions.append(f"{chain.label} runs in tiles of {what} points" +
                            (", without columns that are masked in all of a tile's rows" if tiles.growing else ""))
        return ""

    def best_block(self, chain: _Chain) -> tuple[int, str]:
        """Rows of a block, with which it pays: "". Else the reason why no block does."""
        block = self.block(chain)
        reason = self.refusal(chain, block)
        while reason and block < self.most_rows(chain):   # larger blocks walk second operands less often
            block = min(2 * block, self.most_rows(chain))
            reason = self.refusal(chain, block) and reason
        return block, reason

    def chosen_block(self, chain: _Chain, usual: int, were: Mapping[str, Buffer]) -> int:
        """Rows of a block of a region that is formed. usual: by the cost model; were: the buffers before it was."""
        if self.asked is None or not all(were[name].elements.is_const for name in chain.handed):
            return usual
        most = self.size(chain.rows[-1][0])
        return min(most, self.asked(chain.kernels, chain.handed, usual, most))

    def size(self, e: Expr) -> int:
        """With dims at their upper ends."""
        for _ in range(8):
            if not e.symbols():
                break
            e = e.substitute({s: wrap(UNKNOWN if s.hi is None else s.hi) for s in e.symbols()})
        return e.value

    def handed_bytes(self, chain: _Chain) -> int:
        """Of all that the kernels hand on."""
        return sum(self.size(bytes_of(self.buffers[name])) for name in chain.handed)

    def most_rows(self, chain: _Chain) -> int:
        return min(ROWS, max(1, self.size(chain.rows[-1][0])))

    def block(self, chain: _Chain) -> int:
        """Rows of a block: what they hand on and walk fits half of the cache."""
        block = self.most_rows(chain)
        while block > FEWEST and self.handed_by_tile(chain, block) > self.target.l2 // 2:
            block = max(FEWEST, block // 2)
        return block

    def handed_by_tile(self, chain: _Chain, block: int) -> int:
        """Bytes that the kernels of one tile hand on, of all that is no axis, such as heads, too."""
        total = math.prod(self.size(size) for size, _ in chain.rows)
        return self.handed_bytes(chain) // max(1, total) * block

    def growing_block(self, chain: _Chain) -> int:
        """Rows of a block of a region whose tiles compute half of what they might, on average, and walk second operands
        that come from behind the second cache: more, so that these are walked less often."""
        tile, _ = self.operands(chain, 1)
        block = min(FAR_ROWS, max(1, self.size(chain.rows[-1][0])))
        if tile <= self.target.l2:
            return 0
        total = max(1, self.size(domain_size(row_variables(chain.kernels[0]))))
        row = sum(self.size(bytes_of(self.buffers[name])) for name in set(self.in_place(chain).values())) // total
        while block > FEWEST and row * block // 2 > self.target.l2:
            block //= 2
        return block

    def refusal(self, chain: _Chain, block: int) -> str:
        cache = self.target.l2 // 2
        if not cache:
            return "the target has no second level of cache"
        if any(len(by) > 1 for by in chain.rows[-1][1]):
            return "its rows are walked by several loops"
        handed = self.handed_bytes(chain)
        if handed <= cache:
            return f"what its kernels hand on, {handed} bytes, stays in the cache as it is"
        count = 1
        for size, walkers in chain.rows:
            count *= -(-least(size) // (block if walkers is chain.rows[-1][1] else 1))
        if 2 * count < self.target.threads:
            small = "" if all(size.is_const for size, _ in chain.rows) else " where dims are small"
            return f"a team of {self.target.threads} would share {count} tile{'' if count == 1 else 's'}{small}"
        own = self.handed_by_tile(chain, block)
        if chain.narrowed and own > cache:
            return f"what a tile would hand on, {own} bytes, would not stay in the cache"
        tile, again = self.operands(chain, block)
        if again // self.nearer(tile, handed) >= 2 * handed:
            return f"the tiles would walk {again} bytes of second operands again, for {handed} bytes handed on"
        terms = self.terms(chain, block)
        if terms < min(TERMS, self.target.l2 // PER_TERM):
            return f"a tile would have {terms} terms to add, too few for what it takes to begin one"
        return ""

    def terms(self, chain: _Chain, block: int) -> int:
        """Terms that the products of a tile add, with dims at their upper ends."""
        rows = [size for size, _ in chain.rows]
        tiles = math.prod(map(self.size, rows[:-1])) * self.size(rows[-1]) // block
        return sum(self.size(domain_size((*k.batch, *k.m, *k.n, *k.k))) for k in chain.kernels
                   if isinstance(k, ContractionKernel)) // max(1, tiles)

    def nearer(self, tile: int, handed: int) -> float:
        """How much nearer the second operands that a tile walks are than what kernels hand on without tiles."""
        target = self.target
        if tile <= target.l2 // 2:
            return max(1.0, target.l2_read / target.l3_read) if target.l2_read and target.l3_read else NEARER
        if tile <= target.l3 // 4 and handed > target.l3:
            return max(1.0, target.l3_read / target.memory_read) if target.l3_read and target.memory_read else LESS_NEAR
        return 1

    def operands(self, chain: _Chain, block: int) -> tuple[int, int]:
        """Bytes of second operands that a tile walks, and those that tiles walk which others have walked before."""
        last, tile, again = chain.rows[-1][1], 0, 0
        for i, kernel in enumerate(chain.kernels):
            for b in kernel.b if isinstance(kernel, ContractionKernel) else ():
                symbols = {s for e in b.index for s in e.symbols() if not s.is_dim}
                own, distinct, walks = DTYPES[b.dtype].bytes, 1, 1
                for size, walkers in chain.rows:
                    tiles = -(-self.size(size) // (block if walkers is last else 1))
                    distinct *= tiles if symbols & set(walkers[i]) else 1
                    walks *= 1 if symbols & set(walkers[i]) else tiles
                    symbols -= set(walkers[i])
                own *= self.size(domain_size(tuple(symbols)))
                tile += own
                again += own * distinct * (walks - 1)
        return tile, again

    # -- making
    def tiles(self, chain: _Chain, block: int) -> tuple[LoopNestKernel | None, Tiles]:
        """The region, and what has to run before it."""
        names = self.names()
        last = len(chain.rows) - 1
        axes = tuple(Axis.of(next(names), block if i == last else 1, size) for i, (size, _) in enumerate(chain.rows))
        joined = self.in_place(chain)
        body: list[Element] = []
        step: dict[Sym, Expr] = {}
        for i, kernel in enumerate(chain.kernels):
            cut, step = self.cut(chain, i, kernel, axes, joined)
            body.append(cut)
        whole = chain.kernels[-1]
        clipped = clip(body, axes[-1], whole, step, self.buffers, self.fresh) \
            if isinstance(whole, ContractionKernel) else None
        if clipped is not None:
            return clipped.before, Tiles(chain.label, axes, clipped.body, growing=True)
        return None, Tiles(chain.label, axes, body)

    def names(self) -> Iterator[str]:
        """Of axes."""
        return (name for i in range(len(self.taken) + 16) if (name := f"tile{i}") not in self.taken)

    def fresh(self, kind: str, shape: tuple[Expr, ...]) -> Buffer:
        """A new buffer of f32."""
        name = unused(self.buffers, "%t")
        buffer = self.buffers[name] = Buffer(name, "f32", shape, row_major(shape), kind)
        return buffer

    def in_place(self, chain: _Chain) -> dict[str, str]:
        """For each temp that is handed on, the one whose memory it is in: the one before, where it may overwrite
        that."""
        host = {name: name for name in chain.handed}
        for kernel, x, out in zip(chain.kernels[1:], chain.handed, chain.handed[1:]):
            one, two = self.buffers[x], self.buffers[out]
            if (one.shape, one.order, one.dtype) == (two.shape, two.order, two.dtype) and in_place(kernel, one, two):
                host[out] = host[x]
        return host

    def cut(self, chain: _Chain, number: int, kernel: Chained, axes: tuple[Axis, ...], host: dict[str, str]) \
            -> tuple[Chained, dict[Sym, Expr]]:
        """The kernel at the points of one tile, and what its row variables are there."""
        step: dict[Sym, Expr] = {}     # of indices of what all tiles share
        inner: dict[Sym, Expr] = {}    # of indices of what a tile hands on
        new: dict[Sym, tuple[Sym, ...]] = {}
        for axis, (_size, walkers) in zip(axes, chain.rows, strict=True):
            by = walkers[number]
            if axis.block == 1:
                parts = unlinear(sym(axis.start), tuple(map(extent, by)))
                step |= dict(zip(by, parts, strict=True))
                inner |= {s: ZERO for s in by}
                new |= {s: () for s in by}
            else:
                (s,) = by
                own = Sym(s.name, 0, axis.points - 1)
                step[s], inner[s], new[s] = sym(axis.start) + sym(own), sym(own), (own,)
        handed = {name: self.handed(chain, host[name], axes) for name in chain.handed}

        def leaf(x: Scalar) -> Scalar | None:
            if isinstance(x, Load) and x.buffer in handed:
                return Load(handed[x.buffer].name, x.dtype, tuple(e.substitute(inner) for e in x.index),
                            tuple(e.substitute(step) for e in x.valid), x.other)
            return None
        change = Rewriter(lambda e: e.substitute(step), leaf)

        def stored(s: Store) -> Store:
            if s.buffer in handed:
                return Store(handed[s.buffer].name, tuple(e.substitute(inner) for e in s.index), change(s.value))
            return rewritten(s, change)

        def kept(variables: tuple[Sym, ...]) -> tuple[Sym, ...]:
            return tuple(t for s in variables for t in new.get(s, (s,)))
        if isinstance(kernel, ContractionKernel):
            return changed(self.buffers, kernel, batch=kept(kernel.batch), m=kept(kernel.m), a=change.load(kernel.a),
                           b=tuple(change.load(b) for b in kernel.b), stores=tuple(map(stored, kernel.stores)),
                           where=change(kernel.where) if kernel.where is not None else None), step
        phases = tuple(replace(s, reduces=tuple(replace(r, value=change(r.value)) for r in s.reduces),
                               stores=tuple(map(stored, s.stores))) for s in kernel.phases)
        return changed(self.buffers, kernel, rows=kept(kernel.rows), phases=phases), step

    def handed(self, chain: _Chain, name: str, axes: tuple[Axis, ...]) -> Buffer:
        """The buffer of one tile for a temp that is handed on."""
        old = self.buffers[name]
        if old.kind == "tile":
            return old
        number = chain.handed.index(name)
        index = next(s.index for s in chain.kernels[number].stores if s.buffer == name)
        shape = list(old.shape)
        for axis, (_, walkers) in zip(axes, chain.rows, strict=True):
            for d, e in enumerate(index):
                if walked_by(e, chain.kernels[number]) == walkers[number]:
                    shape[d] = wrap(axis.block)
        buffer = self.buffers[name] = Buffer(old.name, old.dtype, tuple(shape), old.order, "tile")
        return buffer
