# SPDX-License-Identifier: Apache-2.0
"""Stripes: chains of kernels over images run some rows at a time, so that what they hand on never exists whole.

A chain hands on temps of which a row of the next kernel needs some neighbouring rows: a window's, or one. The last
kernel's rows are the axis of a tile region, cut into blocks. Of each temp a tile holds the rows that its block needs,
in a buffer of kind `tile`; rows that the block before left there are not computed again (a Window). Every element
is computed by the same operations as before.

`chains` finds the longest chains, `parted` says which parts of one need the least memory, `striped` makes the regions.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Callable, Mapping

from ..records import dataclass
from ..symbolic import Expr, Sym, ZERO, sym, wrap
from .accesses import read, written
from .fused import Fused
from .kernel_interface import changed
from .loop_ir import ContractionKernel, LoopNestKernel, Store
from .program_ir import Branch, each_list, Element, Loop, Tiles
from .plan import bytes_of
from .races import between_tiles
from .scalar_ir import Buffer, Load, Scalar
from .scalars import Rewriter, extent, loads
from .tile_axes import Axis, Window
from .uses import Uses

MOST = 12          # kernels of a region
MOST_ROWS = 16     # of a block, where memory decides

Imaged = ContractionKernel | LoopNestKernel


@dataclass(frozen=True, slots=True)
class Link:
    """A temp between two kernels. dim: its rows, which `row` of its maker walks; row r of its reader, which `reader`
    walks, needs rows step*r + low to step*r + high. images: the outer dim and its variables in both; None where there
    is one image."""

    name: str
    dim: int
    row: Sym
    reader: Sym
    step: int
    low: int
    high: int
    images: tuple[int, Sym, Sym] | None


@dataclass(frozen=True, slots=True)
class Chain:
    """kernels with their positions in the list, and the links between them."""

    at: tuple[int, ...]
    kernels: tuple[Imaged, ...]
    links: tuple[Link, ...]

    @property
    def key(self) -> str:
        """The same for all parts that begin alike, and apart from all others."""
        return self.links[0].name

    @property
    def label(self) -> str:
        return "+".join(dict.fromkeys(k.label for k in self.kernels))

    def part(self, first: int, behind: int) -> Chain:
        return Chain(self.at[first:behind], self.kernels[first:behind], self.links[first:behind - 1])

    def heights(self, block: int) -> list[int]:
        """Rows of each temp that `block` rows of the last kernel need."""
        out: list[int] = []
        for link in reversed(self.links):
            block = link.step * (block - 1) + link.high - link.low + 1
            out.append(block)
        return out[::-1]


# -- finding ----------------------------------------------------------------------------------------------------------
def chains(fused: Fused, items: list[Element]) -> list[Chain]:
    """The longest chains of a list, each kernel in one of them at most."""
    uses, out, taken = Uses(fused.kernels), [], set()
    for i, kernel in enumerate(items):
        if i in taken or not isinstance(kernel, (ContractionKernel, LoopNestKernel)):
            continue
        chain = Chain((i,), (kernel,), ())
        while len(chain.kernels) < MOST and (longer := _longer(fused.buffers, uses, items, chain)) is not None:
            chain = longer
        if any(link.step > 1 or link.high > link.low for link in chain.links):
            out.append(chain)
            taken |= set(chain.at)
    return out


def _longer(buffers: Mapping[str, Buffer], uses: Uses, items: list[Element], chain: Chain) -> Chain | None:
    last = chain.kernels[-1]
    names = written(last)
    if len(names) != 1 or not uses.hands_on(last, buffers[names[0]]):
        return None
    (name,) = names
    number = next((j for j in range(chain.at[-1] + 1, len(items))
                   if isinstance(items[j], (ContractionKernel, LoopNestKernel)) and name in read(items[j])), None)
    if number is None or not _movable(items, chain, number):
        return None
    link = _link(buffers[name], last, items[number])
    if link is None or chain.links and (link.row is not chain.links[-1].reader or _apart(chain.links[-1], link)):
        return None
    return Chain((*chain.at, number), (*chain.kernels, items[number]), (*chain.links, link))


def _apart(one: Link, two: Link) -> bool:
    """The images of the kernel between are not walked alike."""
    if one.images is None or two.images is None:
        return one.images is not two.images
    return one.images[2] is not two.images[1]


def _movable(items: list[Element], chain: Chain, to: int) -> bool:
    """The chain may run where the item at `to` does: nothing behind one of its kernels writes what that one touches or
    reads what it writes."""
    reads: set[str] = set()
    writes: set[str] = set()
    for j in range(chain.at[0], to):
        item = items[j]
        if j in chain.at:
            reads, writes = reads | set(read(item)), writes | set(written(item))
        elif isinstance(item, (Loop, Branch, Tiles)) or set(written(item)) & (reads | writes) or \
                set(read(item)) & writes:
            return False
    return True


def rows_of(kernel: Imaged) -> tuple[Sym, ...]:
    return kernel.batch + kernel.m if isinstance(kernel, ContractionKernel) else kernel.rows


def _link(b: Buffer, maker: Imaged, reader: Imaged) -> Link | None:
    indices = {s.index for s in maker.stores if s.buffer == b.name}
    used = {x for x in loads(*reader.values) if x.buffer == b.name}
    if len(indices) != 1 or not b.shape or _dynamic(maker, reader) or \
            b.name in read(maker) or isinstance(reader, ContractionKernel) and any(x.buffer == b.name
                                                                                   for x in reader.b):
        return None
    (index,) = indices
    images, walked = None, rows_of(reader)
    dims = [d for d in b.order if b.shape[d] != 1]
    if b.shape[b.order[0]] != 1:
        (d, *dims), made = dims, _plain(index[b.order[0]], b.shape[b.order[0]], rows_of(maker))
        through = {_plain(x.index[d], b.shape[d], walked) for x in used}
        if made is None or len(through) != 1 or (by := through.pop()) is None:
            return None
        images = (d, made, by)
    if not dims or (row := _plain(index[dims[0]], b.shape[dims[0]], rows_of(maker))) is None:
        return None
    found = {_walk(x.index[dims[0]], walked) for x in used}
    ways = [way for way in found if way is not None]
    if len(ways) < len(found) or len({way[:2] for way in ways}) != 1:
        return None
    return Link(b.name, dims[0], row, *ways[0][:2], min(way[2] for way in ways), max(way[3] for way in ways), images)


def _dynamic(maker: Imaged, reader: Imaged) -> bool:
    """Some index is data."""
    return any(s.dynamic for s in (*maker.stores, *reader.stores)) or any(x.dynamic for x in loads(*reader.values))


def _plain(e: Expr, size: Expr, variables: tuple[Sym, ...]) -> Sym | None:
    """The variable that e is, where it takes all values below `size`."""
    return next((s for s in variables if e == sym(s) and extent(s) == size), None)


def _walk(e: Expr, variables: tuple[Sym, ...]) -> tuple[Sym, int, int, int] | None:
    """(s, step, low, high) where e is step*s and what lies between low and high."""
    walkers = [s for s in variables if s in e.symbols()]
    step = e.coefficient(walkers[0]) if len(walkers) == 1 else None
    if step is None or not step.is_const or step.value < 1:
        return None
    low, high = (e - step * sym(walkers[0])).range()
    return None if low is None or high is None else (walkers[0], step.value, low, high)


# -- which parts ------------------------------------------------------------------------------------------------------
def parted(fused: Fused, chain: Chain, size: Callable[[Expr], int]) -> list[Chain]:
    """The parts of a chain whose regions, at one row a block, make the most that is needed at once the least; of those,
    the ones with the fewest kernels."""
    count = len(chain.kernels)
    ends = [[size(bytes_of(fused.buffers[name])) for name in (*read(k), *written(k))
             if fused.buffers[name].kind == "temp"] for k in (chain.kernels[0], chain.kernels[-1])]
    whole = [size(bytes_of(fused.buffers[link.name])) for link in chain.links]
    around = [max(ends[0], default=0) if not chain.links else sum(ends[0]) - whole[0], *whole, sum(ends[1]) - whole[-1]]
    row = [w // max(1, size(fused.buffers[link.name].shape[link.dim])) for w, link in zip(whole, chain.links)]
    best: list[tuple[int, int, tuple[tuple[int, int], ...]]] = [(0, 0, ())]
    for behind in range(1, count + 1):
        found = []
        for first in range(behind):
            part = chain.part(first, behind)
            held = sum(h * r for h, r in zip(part.heights(1), row[first:behind - 1]))
            need, kernels, parts = best[first]
            more = behind - first if behind - first > 1 else 0
            found.append((max(need, around[first] + around[behind] + held), kernels + more,
                          (*parts, (first, behind)) if more else parts))
        best.append(min(found))
    return [chain.part(*ends) for ends in best[-1][2]]


# -- making -----------------------------------------------------------------------------------------------------------
def striped(fused: Fused, chosen: Mapping[str, tuple[Chain, int]]) -> Fused:
    """The same kernels, the chosen chains as regions: by key the chain and the rows of a block."""
    maker = _Maker(fused)
    by_first = {id(chain.kernels[0]): (chain, block) for chain, block in chosen.values()}

    def regions(items: list[Element]) -> list[Element]:
        out = list(items)
        for kernel in items:
            if id(kernel) in by_first:
                maker.put(out, *by_first[id(kernel)])
        return [item for item in out if item is not None]
    kernels = each_list(fused.kernels, regions)
    return replace(fused, kernels=kernels, buffers=maker.buffers, fusions=maker.fusions, refusals=maker.refusals)


class _Maker:
    def __init__(self, fused: Fused):
        self.buffers = dict(fused.buffers)
        self.fusions, self.refusals = list(fused.fusions), list(fused.refusals)
        self.taken = {s.name for s in fused.dims} | {s.name for b in fused.buffers.values() for d in b.shape
                                                     for s in d.symbols()}

    def put(self, out: list[Element | None], chain: Chain, block: int) -> None:
        were = dict(self.buffers)
        tiles = self.tiles(chain, block)
        if between_tiles(self.buffers, tiles.axes, tiles.body):
            self.buffers = were
            self.refusals.append((f"{chain.label} in stripes", "a stripe would need what another one stores"))
            return
        for at in chain.at:
            out[at] = None
        out[chain.at[-1]] = tiles
        self.fusions.append(f"{chain.label} runs in stripes of {tiles.axes[-1].block} of {tiles.axes[-1].size} rows")

    def name(self, prefix: str, number: int) -> str:
        """Not one of a dim."""
        while f"{prefix}{number}" in self.taken:
            prefix += "_"
        return f"{prefix}{number}"

    def tiles(self, chain: Chain, block: int) -> Tiles:
        last = chain.links[-1]
        images = () if last.images is None else (Axis.of(self.name("tile", 0), 1, extent(last.images[2])),)
        rows = Axis.of(self.name("tile", len(images)), block, extent(last.reader))
        image = sym(images[0].start) if images else None
        windows: list[Window] = []
        first, end, height = sym(rows.start), sym(rows.start) + rows.points, rows.block
        for number, link in reversed(list(enumerate(chain.links))):
            first, end = first * link.step + link.low, (end - 1) * link.step + link.high + 1
            height = link.step * (height - 1) + link.high - link.low + 1
            old = self.buffers[link.name]
            shape = list(old.shape)
            shape[link.dim] = wrap(height)
            if link.images is not None:
                shape[link.images[0]] = wrap(1)
            buffer = self.buffers[link.name] = replace(old, shape=tuple(shape), kind="tile")
            windows.insert(0, Window.of(self.name("rows", number), buffer, link.dim, first, end, old.shape[link.dim]))
        body: list[Element] = []
        for i, kernel in enumerate(chain.kernels):
            makes = chain.links[i] if i < len(windows) else None
            needs = chain.links[i - 1] if i else None
            begin, at, count = (sym(rows.start), ZERO, rows.points) if makes is None else map(sym, windows[i].symbols)
            body.append(self.cut(kernel, needs, makes, begin, at, count, image))
        return Tiles(chain.label, (*images, rows), body, windows=tuple(windows))

    def cut(self, kernel: Imaged, needs: Link | None, makes: Link | None, begin: Expr, at: Expr, count: Expr,
            image: Expr | None) -> Imaged:
        """The kernel at `count` rows from row `begin` on, which is at position `at` of what it makes."""
        row = makes.row if makes is not None else needs.reader if needs is not None else None
        assert row is not None
        own = Sym(row.name, 0, count - 1)
        step = {row: begin + sym(own)}
        kept: dict[Sym, tuple[Sym, ...]] = {row: (own,)}
        for link, which in ((makes, 1), (needs, 2)):
            if link is not None and link.images is not None and image is not None:
                one = link.images[which]
                assert isinstance(one, Sym)
                step[one], kept[one] = image, ()

        def placed(link: Link, index: tuple[Expr, ...], rows: Expr) -> tuple[Expr, ...]:
            """The index in what a tile has of the link's temp."""
            return tuple(rows if d == link.dim else ZERO if link.images is not None and d == link.images[0] else
                         e.substitute(step) for d, e in enumerate(index))

        def leaf(x: Scalar) -> Scalar | None:
            if not isinstance(x, Load) or needs is None or x.buffer != needs.name:
                return None
            e = x.index[needs.dim].substitute({row: at + sym(own)}) - needs.low
            valid = tuple(v.substitute(step) for v in x.valid)
            return Load(x.buffer, x.dtype, placed(needs, x.index, e), valid, x.other)
        change = Rewriter(lambda e: e.substitute(step), leaf)

        def stored(s: Store) -> Store:
            if makes is not None and s.buffer == makes.name:
                return Store(s.buffer, placed(makes, s.index, at + sym(own)), change(s.value))
            return Store(s.buffer, tuple(e.substitute(step) for e in s.index), change(s.value))

        def loops(variables: tuple[Sym, ...]) -> tuple[Sym, ...]:
            return tuple(t for s in variables for t in kept.get(s, (s,)))
        if isinstance(kernel, ContractionKernel):
            return changed(self.buffers, kernel, batch=loops(kernel.batch), m=loops(kernel.m), a=change.load(kernel.a),
                           b=tuple(change.load(b) for b in kernel.b), stores=tuple(map(stored, kernel.stores)),
                           where=change(kernel.where) if kernel.where is not None else None)
        phases = tuple(replace(p, reduces=tuple(replace(r, value=change(r.value)) for r in p.reduces),
                               stores=tuple(map(stored, p.stores))) for p in kernel.phases)
        return changed(self.buffers, kernel, rows=loops(kernel.rows), phases=phases)


# -- choosing ---------------------------------------------------------------------------------------------------------
def smallest(fused: Fused, arena: Callable[[Fused], int]) -> Fused:
    """The chains in stripes that make the arena smaller, at as many rows a block as do not make it larger. arena: bytes
    that a form needs, with the dims at their upper ends."""
    found: list[Chain] = []

    def collect(items: list[Element]) -> list[Element]:
        for chain in chains(fused, items):
            found.extend(parted(fused, chain, _size))
        return items
    each_list(fused.kernels, collect)
    chosen = {chain.key: (chain, 1) for chain in found}
    least, result = arena(fused), fused
    trial = striped(fused, chosen)
    if not chosen or (need := arena(trial)) >= least:
        return fused
    least, result = need, trial
    for key in list(chosen):      # what the arena does without stays as it is
        fewer = {k: v for k, v in chosen.items() if k != key}
        trial = striped(fused, fewer)
        if (need := arena(trial)) <= least:
            chosen, least, result = fewer, need, trial
    block = 2
    while block <= MOST_ROWS:
        larger = {k: (chain, block) for k, (chain, _) in chosen.items()}
        trial = striped(fused, larger)
        if arena(trial) > least:
            break
        result, block = trial, 2 * block
    return result


def _size(e: Expr) -> int:
    """With dims at their upper ends."""
    for _ in range(8):
        if not e.symbols():
            break
        e = e.substitute({s: wrap(1024 if s.hi is None else s.hi) for s in e.symbols()})
    return e.value
