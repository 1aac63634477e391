# SPDX-License-Identifier: Apache-2.0
"""The verifier of the loop IR: raises LoopError with every finding.

Of a LoweredFunction and of a Program: every load and store is within its buffer, proved or guarded; dtypes agree; what
is read has been written; every variable is bound, and once (verify_variables.py); no two points store one element. Of a
Program also: temps that live at the same time do not overlap, unless one is overwritten point by point; parameters name
every buffer that is used; where threads depend on each other there is a barrier (races.py). Of what fusion made: its
variables, which the schedule takes apart and renames.
"""
from __future__ import annotations

from typing import Any, Callable

from ..graph.dtypes import NARROW_FLOATS
from ..symbolic import exact_div, Expr, holds, is_nonnegative, sym
from . import accesses, plan, races, verify_variables
from .column_pairs import half_of
from .fused import Fused
from .loop_ir import CheckKernel, Computation, Contraction, ContractionKernel, ExternKernel, GroupedContractionKernel, \
    LoopNestKernel, Phase, PreparedKernel, RowSort, Store
from .program_ir import Branch, Element, leaves, Loop, Program, Step, Tiles
from .products import F32
from .scalar_ir import Buffer, Scalar
from .scalars import affine, domain_size, empty, extent, guarded_loads, lasts, loads, sort_space
from .tile_axes import Window


class LoopError(Exception):
    """All findings, one a line."""


def verify(thing: Any, facts: tuple[Expr, ...] = (), known: dict[int, Any] | None = None) -> None:
    """A LoweredFunction, a Fused or a Program. facts: what the entry's guards make sure of, as expressions that are >=
    0. known: kernels of a Fused that were verified, by identity; those of this one are added. Kernels do not change,
    and most passes hand most of them on."""
    problems: list[str] = []
    if isinstance(thing, Program):
        _Checker(thing.buffers, problems, facts).program(thing)
    elif isinstance(thing, Fused):
        known = {} if known is None else known
        kernels = [kernel for kernel in leaves(thing.kernels) if id(kernel) not in known]
        problems = [line for kernel in kernels for line in verify_variables.unbound(kernel)]
        known |= {id(kernel): kernel for kernel in kernels}
    else:
        _Checker(thing.buffers, problems, facts).lowered(thing)
    if problems:
        raise LoopError("\n".join(problems))


class _Checker:
    def __init__(self, buffers: dict[str, Buffer], problems: list[str], facts: tuple[Expr, ...]):
        self.buffers, self.problems, self.facts = buffers, problems, facts
        self.proved: set[tuple[Any, ...]] = set()
        self.in_tiles = False

    def lowered(self, function: Any) -> None:
        self.items(function.items, set(), self.item)

    def program(self, program: Program) -> None:
        self.items(program.steps, set(), self.step)
        if self.overlaps(program):
            self.problems += races.unordered(program, plan.in_common(program.steps, program.arena, self.buffers))

    def items(self, items: list[Element], written: set[str], leaf: Callable[[Any, set[str]], None]) -> None:
        """written: what has been stored before; grows. A scan stores all that its iterations do, also if there is none:
        its results have no elements then. A while may end before its first iteration, and of a branch one side runs."""
        for item in items:
            if isinstance(item, Loop):
                self.loop(item, written, leaf)
            elif isinstance(item, Tiles):
                self.tiles(item, written, leaf)
            elif isinstance(item, Branch):
                self.decision(item, written)
                then, other = set(written), set(written)
                self.items(item.then, then, leaf)
                self.items(item.other, other, leaf)
                written |= then & other
            else:
                leaf(item, written)

    def loop(self, loop: Loop, written: set[str], leaf: Callable[[Any, set[str]], None]) -> None:
        self.readable(loop.label, set(loop.carried), written)
        used = {b.name for step in leaves([loop]) if isinstance(step, Step) for b in step.kernel.params}
        for a, b in loop.swaps:
            if not used & {a, b}:
                self.problems.append(f"{loop.label}: {a} and {b} change places and no iteration uses them")
            if plan.bytes_of(self.buffers[a]) != plan.bytes_of(self.buffers[b]):
                self.problems.append(f"{loop.label}: {a} and {b} change places and have different sizes")
        self.items(loop.test, written, leaf)
        if loop.condition:
            self.decision(loop, written)
        inside = set(written)
        self.items(loop.body, inside, leaf)
        if loop.iteration is not None:
            written |= inside - {name for pair in loop.swaps for name in pair}

    def tiles(self, tiles: Tiles, written: set[str], leaf: Callable[[Any, set[str]], None]) -> None:
        """Every tile begins without what the kernels of another one handed on."""
        own = {b.name for b in self.buffers.values() if b.kind == "tile"}
        if any(not isinstance(item, Step) or isinstance(item.kernel, CheckKernel) for item in tiles.body):
            self.problems.append(f"{tiles.label}: tiles hold a check, a loop or a branch")
            return
        if any(item.barrier for item in tiles.body):
            self.problems.append(f"{tiles.label}: a barrier within tiles, which threads run as they come")
        for w in tiles.windows:
            self.window(tiles, w)
        inside, self.in_tiles = written - own, True
        self.items(tiles.body, inside, leaf)
        self.in_tiles = False
        written |= inside - own
        self.problems += races.between_tiles(self.buffers, tiles.axes, [step.kernel for step in tiles.body])

    def window(self, tiles: Tiles, w: Window) -> None:
        """What a tile stores into the window are the rows that it has not from the one before: one kernel's."""
        b = self.buffers[w.buffer]
        if b.kind != "tile" or any(b.shape[d] != 1 for d in b.order[:b.order.index(w.dim)]):
            self.problems.append(f"{tiles.label}: rows of {b.name} are no window of tiles")
        for e in (w.first, w.end):
            step = e.coefficient(tiles.axes[-1].start)
            if step is None or not step.is_const or step.value < 1:
                self.problems.append(f"{tiles.label}: {e} is no row of {b.name} that a block begins with")
        makers = [item.kernel for item in tiles.body if any(s.buffer == b.name for s in item.kernel.stores)]
        if len(makers) != 1:
            self.problems.append(f"{tiles.label}: {len(makers)} kernels store rows of {b.name}")
        for s, variables in (pair for k in makers for pair in races.stores(k) if pair[0].buffer == b.name):
            some = [w.count] if any(exact_div(extent(v), sym(w.count)) is not None for v in variables) else []
            row, there = s.index[w.dim] - sym(w.at), (*lasts(variables), *(sym(n) - 1 for n in some))
            if not (holds(row, there) and holds(sym(w.count) - 1 - row, there)):
                self.problems.append(f"{tiles.label}: stores other rows of {b.name} than its window has not")

    def decision(self, region: Loop | Branch, written: set[str]) -> None:
        b = self.buffers[region.condition]
        if b.dtype != "bool" or b.shape:
            self.problems.append(f"{region.label}: {b.name} is no bool[]")
        self.readable(region.label, {b.name}, written)

    def item(self, item: Any, written: set[str]) -> None:
        self.problems += verify_variables.unbound(item)
        self.problems += races.same_element(self.buffers, item, facts=self.facts)
        if isinstance(item, CheckKernel):
            self.readable(item.label, {item.buffer.name}, written)
            return
        if isinstance(item, ExternKernel):
            self.readable(item.label, {b.name for b in item.reads}, written)
            self.extern(item)
            written |= {b.name for b in item.writes}
            return
        if isinstance(item, Contraction):
            values: list[Scalar] = [] if empty(item.k) else item.values
            self.access(item.label, item.out, item.index, self.facts)
        else:
            assert isinstance(item, Computation)
            store = Store(item.out, item.index, item.value, item.dynamic)
            values = list(store.values)
            self.store(item.label, store)
        for v in values:
            self.value(item.label, v)
        self.readable(item.label, {x for v in values for x in _names(v)}, written)
        written.add(item.out)

    def step(self, step: Step, written: set[str]) -> None:
        k = step.kernel
        reads, writes = set(accesses.read(k)), set(accesses.written(k))
        missing = (reads | writes) - {b.name for b in k.params}
        for b in k.params:
            if b.kind == "tile" and not self.in_tiles:
                self.problems.append(f"{k.label}: {b.name} belongs to a tile, and the kernel stands in none")
        if missing:
            self.problems.append(f"{k.label}: {sorted(missing)} are no parameters")
        self.problems += verify_variables.unbound(k)
        if isinstance(k, LoopNestKernel):
            self.nest(k, written)
        elif isinstance(k, PreparedKernel):
            self.nest(k.rows, written)
            for part in k.contraction.contractions:
                self.contraction(part)
            self.readable(k.label, reads, written | set(accesses.written(k.rows)))
        elif isinstance(k, (ContractionKernel, GroupedContractionKernel)):
            for part in k.contractions:
                self.contraction(part)
            if isinstance(k, GroupedContractionKernel) and k.consecutive:
                self.consecutive(k, written)
            else:
                self.readable(k.label, reads, written)
        else:
            if isinstance(k, ExternKernel):
                self.extern(k)
            self.readable(k.label, reads, written)
        written |= writes
        self.problems += races.same_element(self.buffers, k, self.in_tiles, self.facts)
        self.problems += races.crossed(self.buffers, k)

    def consecutive(self, k: GroupedContractionKernel, written: set[str]) -> None:
        """Each part reads what those before it stored; all have one row and the same columns."""
        there = set(written)
        for part in k.contractions:
            self.readable(part.label, set(accesses.read(part)), there)
            there |= set(accesses.written(part))
            if domain_size(part.batch + part.m) != 1 or domain_size(part.n) != domain_size(k.contractions[0].n):
                self.problems.append(f"{k.label}: {part.label} has other rows or columns than the parts before it")

    def nest(self, k: LoopNestKernel, written: set[str]) -> None:
        mine: set[str] = set()
        for phase in k.phases:
            if empty(phase.vars):
                continue
            for r in phase.reduces:
                self.value(k.label, r.value)
                if isinstance(r, RowSort):
                    self.sort(k.label, r, phase)
            for s in phase.stores:
                self.store(k.label, s)
            loaded = {n for v in phase.values for n in _names(v)}
            self.readable(k.label, loaded, written | mine)
            mine |= {s.buffer for s in phase.stores} | {r.buffer for r in phase.reduces if isinstance(r, RowSort)}

    def extern(self, k: ExternKernel) -> None:
        for b in k.params:
            if b.order != tuple(range(len(b.shape))):
                self.problems.append(f"{k.label}: {b.name} is not row-major")
        for b in k.writes:
            if b.kind != "temp":
                self.problems.append(f"{k.label}: stores into {b.kind} {b.name}")

    def contraction(self, k: ContractionKernel) -> None:
        product = k.product
        firsts = (product.a,) if product.integer else (product.a, *NARROW_FLOATS)    # narrow makes operands short
        if product != F32 and (not product.legal or k.a.dtype not in firsts or any(b.dtype != product.b for b in k.b)):
            self.problems.append(f"{k.label}: its operands are not those of {product}")
        for v in () if empty(k.k) else (k.a, *k.b):
            self.value(k.label, v)
            walked: tuple[Expr, ...] = (self.buffers[v.buffer].address(v.index),)
            if product.group > 1 and v is not k.a:   # without the group of a term, and the term in it
                walked = (*v.index[:-3], v.index[-2])
            if not all(affine(e, k.k) for e in (*walked, *v.valid)):
                self.problems.append(f"{k.label}: {v.buffer} is not walked by the terms alone")
        if len({self.buffers[b.buffer].address(b.index) for b in k.b}) > 1 and not half_of(self.buffers, k):
            self.problems.append(f"{k.label}: its second operands lie otherwise")
        if k.where is not None and (k.where.dtype != "bool" or len(k.b) > 1 or product.integer):
            self.problems.append(f"{k.label}: a predicate is a bool, and one of a single sum of floats")
        for p in () if empty(k.k) else k.predicates:
            self.value(k.label, p)
        for s in k.stores:
            self.store(k.label, s)

    # -- accesses -------------------------------------------------------------------------------------------------
    def store(self, label: str, s: Store) -> None:
        b = self.buffers[s.buffer]
        if b.kind in ("input", "packed"):
            self.problems.append(f"{label}: stores into {b.kind} {b.name}")
        if s.value.dtype != b.dtype:
            self.problems.append(f"{label}: stores {s.value.dtype} into {b.name} of {b.dtype}")
        self.access(label, s.buffer, s.index, self.facts)
        for v in s.values:
            self.value(label, v)

    def sort(self, label: str, r: RowSort, phase: Phase) -> None:
        b, space = self.buffers[r.buffer], sort_space(domain_size(phase.vars), r.value.dtype)
        if b.kind != "scratch" or b.dtype != "i64" or not is_nonnegative(b.elements - space):
            self.problems.append(f"{label}: {b.name} has no room for sorting {domain_size(phase.vars)} points")
        if not holds(domain_size(phase.vars) - r.count, self.facts):
            self.problems.append(f"{label}: {r.count} of {domain_size(phase.vars)} sorted points")

    def value(self, label: str, s: Scalar) -> None:
        for x, within in guarded_loads(s):
            if (x, within) in self.proved:
                continue
            self.proved.add((x, within))
            if x.dtype != self.buffers[x.buffer].dtype:
                self.problems.append(f"{label}: loads {x.dtype} from {x.buffer} of {self.buffers[x.buffer].dtype}")
            if x.valid and x.other is None:
                self.problems.append(f"{label}: a guarded load of {x.buffer} without a value")
            self.access(label, x.buffer, x.index, self.facts + within)

    def access(self, label: str, name: str, index: tuple[Expr, ...], guards: tuple[Expr, ...]) -> None:
        b = self.buffers[name]
        if len(index) != len(b.shape):
            self.problems.append(f"{label}: {name} has rank {len(b.shape)}, not {len(index)}")
            return
        if (name, index, guards) in self.proved:
            return
        self.proved.add((name, index, guards))
        variables = {s for i in index for s in i.symbols() if not s.is_dim and s.hi is not None}
        guards += lasts(sorted(variables, key=lambda s: s.key))
        if all(holds(i, guards) and holds(n - 1 - i, guards) for i, n in zip(index, b.shape)):
            return
        address = b.address(index)
        if holds(address, guards) and holds(b.elements - 1 - address, guards):
            return
        self.problems.append(f"{label}: {name}[{', '.join(map(str, index))}] is not proved to be within "
                          f"[{', '.join(map(str, b.shape))}]")

    def readable(self, label: str, names: set[str], written: set[str]) -> None:
        for name in sorted(names):
            if self.buffers[name].is_empty:
                continue
            if self.buffers[name].kind in ("temp", "scratch", "tile", "output") and name not in written:
                self.problems.append(f"{label}: reads {name} before it is written")

    # -- memory ---------------------------------------------------------------------------------------------------
    def overlaps(self, program: Program) -> bool:
        """False where a temp has no place at all."""
        span = plan.Lives(program.steps, program.asides)
        kernel_at = {i: step.kernel for i, step in span.steps}
        lives = {name: (first, span.last[name]) for name, first in span.first.items()
                 if self.buffers[name].kind == "temp"}
        arena = program.arena
        names = sorted(lives, key=lambda n: lives[n])
        for name in names:
            if name not in arena.offset and name not in arena.slot_of:
                self.problems.append(f"{name} has no place in the arena")
                return False
            size, slot = plan.bytes_of(self.buffers[name]), arena.slot_of.get(name)
            if slot is not None and not is_nonnegative(arena.slots[slot].size - size):
                self.problems.append(f"{name} is larger than its slot")
        together = plan.in_common(program.steps, arena, self.buffers)
        changing = plan.swapped_with(program.steps)
        open_: list[str] = []
        for name in names:
            first = lives[name][0]
            open_ = [o for o in open_ if lives[o][1] >= first]
            for other in open_:
                if not together(name, other):
                    continue
                writer = kernel_at.get(first)
                handed = writer is not None and lives[other][1] == first and not span.beside(other, first) and any(
                    plan.in_place(writer, self.buffers[other], self.buffers[partner])
                    for partner in changing.get(name, (name,)))
                if not handed:
                    self.problems.append(f"{name} and {other} live at the same time in the same memory")
            open_.append(name)
        return True


def _names(s: Scalar) -> set[str]:
    return {x.buffer for x in loads(s)}
