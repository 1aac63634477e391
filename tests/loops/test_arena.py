# SPDX-License-Identifier: Apache-2.0
"""Random blocks of memory: whatever the dims, what lives at the same time lies apart, inside the arena."""
import random

from tap import done, note, ok
from tensor_compile.loops.arena import Block, most_alive, offsets, place, rounded
from tensor_compile.loops.program_ir import Arena
from tensor_compile.symbolic import Expr, Sym, const, sym

N, M = Sym("n", 1, 512, 1, is_dim=True), Sym("m", 8, 64, 8, is_dim=True)


def size(draw: random.Random, dynamic: bool) -> Expr:
    c = const(draw.choice((4, 64, 100, 1024, 4000)))
    if not dynamic:
        return c
    return draw.choice((c, c * sym(N), c * sym(N) * sym(M), 4 * sym(N) * sym(N) + c * sym(M), c * sym(M)))


def wrong(blocks: list[Block], arena: Arena, dims: dict[Sym, int]) -> str:
    """What is wrong with the arena at the given dims."""
    begins, end = offsets(arena.slots, dims) if arena.size is None else ([], arena.size)
    sizes = [rounded(b.size.evaluate(dims)) for b in blocks]
    at = [arena.offset[b.names[0]] if arena.size is not None else begins[arena.slot_of[b.names[0]]] for b in blocks]
    if end < most_alive(blocks, sizes):
        return f"{end} bytes, of which {most_alive(blocks, sizes)} live at once"
    for i, one in enumerate(blocks):
        if at[i] + sizes[i] > end or at[i] % 64:
            return f"{one.names[0]} at {at[i]} of {end}"
        for j, two in enumerate(blocks[:i]):
            alive = one.first <= two.last and two.first <= one.last
            if alive and at[i] < at[j] + sizes[j] and at[j] < at[i] + sizes[i]:
                return f"{one.names[0]} and {two.names[0]} overlap"
    return ""


for dynamic in (False, True):
    found, worst = "", 1.0
    for seed in range(40):
        draw = random.Random(seed)
        blocks = []
        for i in range(draw.randrange(1, 40)):
            first = draw.randrange(30)
            blocks.append(Block([f"t{i}"], size(draw, dynamic), first, first + draw.choice((0, 1, 1, 2, 5, 30))))
        arena = Arena()
        place(blocks, arena)
        for _ in range(6):
            dims = {N: draw.randrange(1, 513), M: 8 * draw.randrange(1, 9)}
            found = found or wrong(blocks, arena, dims)
            if arena.size is not None:
                worst = max(worst, arena.size / arena.lower_bound)
    ok(not found, f"{'dynamic' if dynamic else 'constant'} sizes: no overlap, nothing outside")
    note(found or f"at most {worst:.2f} of the bound")
narrow = [Block([f"t{i}"], const(n), i, i + 1) for i, n in enumerate((128, 128, 128, 128, 8, 128, 128, 128))]
arena = Arena()
place(narrow, arena)
ok(arena.size == arena.lower_bound == 256, "layers with a narrow one between: no more than what lives at once")
note(f"{arena.size} bytes")
chain = [Block([f"t{i}"], 4 * (i % 2 + 1) * sym(N) * sym(M), i, i + 1) for i in range(50)]
arena = Arena()
place(chain, arena)
chain_dims = [{N: n, M: m} for n in (2, 16, 511) for m in (8, 64)]
chain_sizes = [[rounded(b.size.evaluate(dims)) for b in chain] for dims in chain_dims]
ok(all(offsets(arena.slots, dims)[1] == most_alive(chain, sizes)
       for dims, sizes in zip(chain_dims, chain_sizes, strict=True)),
   "a chain of layers needs no more than two of them at every size")
ok(len(arena.slots) <= 8, "equal places are one slot")
arena = Arena()
place([], arena)
ok(arena.size == 0, "no blocks, no bytes")
done()
