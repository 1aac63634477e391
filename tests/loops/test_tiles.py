# SPDX-License-Identifier: Apache-2.0
"""Tile regions: what runs in them gives the bits of the direct evaluation, and what the verifier says of mistakes."""
from harness import PLAIN, TARGET, TINY, compare, compare_ways, module_of, moved_in_calls, sample
from tap import done, equal, ok, raises
from tensor_compile import target as targets
from tensor_compile.graph.errors import ParseError
from tensor_compile.graph.inline import inline
from tensor_compile.graph.text import parse_module
from tensor_compile.loops import fuse, layout, lower, tile_regions
from tensor_compile.loops.program_ir import Tiles, regions
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit
from tensor_compile.loops.verify_loops import LoopError, verify

LOC = 'loc("m.c":1)'


def entry(parameters: str, lines: list[str], **options):
    body = "\n".join(f"  {line} {LOC}" for line in lines)
    return module_of(f"function f({parameters}) entry {{\n{body}\n}}\n", **options)


def attention(heads: int, shared: int, rows: str, keys: str, features: int, out: int, causal: bool,
              project: bool = False):
    """The graph of scaled_dot_product_attention. project: of all heads side by side, behind it, where `shared` heads of
    keys have as many features as these."""
    group = heads // shared
    scores, split = f"f32[{heads},{rows},{keys}]", f"f32[{shared},{group},{rows}"
    lines = [f"%3 = reshape(%0) {{shape=[{shared}, {group}, {rows}, {features}]}} : {split},{features}]",
             f"%4 = dot(%3, %1) {{lhs_batch=[0], rhs_batch=[0], lhs_contract=[3], rhs_contract=[2], order=seq}} : "
             f"{split},{keys}]",
             f"%5 = reshape(%4) {{shape=[{heads}, {rows}, {keys}]}} : {scores}"]
    at = 5

    def put(line: str) -> int:
        nonlocal at
        at += 1
        lines.append(f"%{at} = {line}")
        return at
    if causal:
        column = put(f"iota() {{axis=2}} : i32[{heads},{rows},{keys}]")
        row = put(f"iota() {{axis=1}} : i32[{heads},{rows},{keys}]")
        mask = put(f"le(%{column}, %{row}) : bool[{heads},{rows},{keys}]")
        low = put("constant() {bits=0xff800000} : f32[]")
        low = put(f"broadcast(%{low}) {{shape=[{heads}, {rows}, {keys}], axes=[]}} : {scores}")
        put(f"select(%{mask}, %5, %{low}) : {scores}")
    masked = at
    top = put(f"reduce(%{masked}) {{op=max, axes=[2], order=free}} : f32[{heads},{rows}]")
    top = put(f"broadcast(%{top}) {{shape=[{heads}, {rows}, {keys}], axes=[0, 1]}} : {scores}")
    e = put(f"sub(%{masked}, %{top}) : {scores}")
    e = put(f"exp(%{e}) : {scores}")
    total = put(f"reduce(%{e}) {{op=sum, axes=[2], order=lanes}} : f32[{heads},{rows}]")
    total = put(f"broadcast(%{total}) {{shape=[{heads}, {rows}, {keys}], axes=[0, 1]}} : {scores}")
    p = put(f"div(%{e}, %{total}) : {scores}")
    p = put(f"reshape(%{p}) {{shape=[{shared}, {group}, {rows}, {keys}]}} : {split},{keys}]")
    y = put(f"dot(%{p}, %2) {{lhs_batch=[0], rhs_batch=[0], lhs_contract=[3], rhs_contract=[1], order=seq}} : "
            f"{split},{out}]")
    y = put(f"reshape(%{y}) {{shape=[{heads}, {rows}, {out}]}} : f32[{heads},{rows},{out}]")
    if project:
        y = put(f"transpose(%{y}) {{perm=[1, 0, 2]}} : f32[{rows},{heads},{out}]")
        y = put(f"reshape(%{y}) {{shape=[{rows}, {heads * out}]}} : f32[{rows},{heads * out}]")
        w = put(f"reshape(%1) {{shape=[{heads * out}, {keys}]}} : f32[{heads * out},{keys}]")
        y = put(f"dot(%{y}, %{w}) {{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq}} : "
                f"f32[{rows},{keys}]")
    lines.append(f'return "y" %{y}')
    return entry(f'%0 "q" : f32[{heads},{rows},{features}] {LOC}, %1 "k" : f32[{shared},{keys},{features}] {LOC}, '
                 f'%2 "v" : f32[{shared},{keys},{out}] {LOC}', lines, dims=("n 1:20", "s 1:40"))


def check(name: str, module, sizes: dict[str, int], count: int = 1, target=TINY, **options):
    """The program in tiles, once it gave the right results forwards and backwards."""
    differences, program, counts = compare_ways((False, True), module, "f", sizes, target=target, **options)
    for difference, way in zip(differences, ("", ", backwards"), strict=True):
        equal(difference, "", f"{name}, {sizes}{way}")
    found = [r for r in regions(program.steps) if isinstance(r, Tiles)]
    equal(moved_in_calls(module, program, sizes), counts, f"{name}, {sizes}: bytes of a call")
    equal(len(found), count, f"{name}: regions")
    equal(print_unit(parse_unit(print_unit(program), name)), print_unit(program), f"{name}: read as it was printed")
    return found[0] if found else None


for heads, shared in ((2, 2), (4, 2)):
    for causal in (False, True):
        name = f"{heads} heads over {shared}{', causal' if causal else ''}"
        for sizes in ({"n": 8, "s": 8}, {"n": 17, "s": 17}, {"n": 3, "s": 21}):
            graph = attention(heads, shared, "n", "s", 4, 16, causal)
            tiles = check(name, graph, sizes, seed=heads, extreme=sizes["n"] == 8)
        equal(len(tiles.body), 3, f"{name}: product, softmax and product are one region")
tiles = check("sizes that are constant", attention(2, 2, "16", "24", 4, 16, True), {})
equal([(a.block, a.count) for a in tiles.axes], [(1, None), (8, None)], "blocks that divide the rows need no count")
tiles = check("rows that blocks do not divide", attention(2, 2, "19", "24", 4, 16, True), {})
ok(tiles.axes[1].count is not None, "the last block is shorter")

# Causal attention leaves out columns that are masked in all rows of a tile, and keeps what values that are no numbers
# do.
for heads, shared in ((2, 2), (4, 2)):
    for n in (1, 8, 9, 20):
        for extreme in (False, True):
            for seed in range(3):
                graph = attention(heads, shared, "n", "n", 4, 16, True)
                tiles = check("causal", graph, {"n": n}, seed=seed, extreme=extreme)
    equal(len(tiles.body), 4, "a kernel more: what was left out, summed")
tiles = check("causal, constant", attention(2, 2, "24", "24", 4, 16, True), {}, extreme=True)
equal(str(tiles.body[0].kernel.n[0].hi + 1), "tile1 + 8", "columns up to the tile's last row")
ok(tiles.growing, "later blocks have more work")
tiles = check("full", attention(2, 2, "24", "24", 4, 16, False), {})
equal(str(tiles.body[0].kernel.n[0].hi), "23", "no mask, all columns")

# A residual sum that others read too, and its norm: what stays a tensor is stored and read by one tile.
norm = entry(f'%0 "x" : f32[n,16] {LOC}, %1 "h" : f32[n,32] {LOC}', [
    '%2 = weight() {name="w"} : f32[16,32]',
    "%3 = dot(%0, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,32]",
    "%4 = add(%3, %1) : f32[n,32]", "%5 = mul(%4, %4) : f32[n,32]",
    "%6 = reduce(%5) {op=sum, axes=[1], order=lanes} : f32[n]",
    "%7 = broadcast(%6) {shape=[n, 32], axes=[0]} : f32[n,32]",
    "%8 = div(%4, %7) : f32[n,32]", 'return "sum" %4', 'return "y" %8'],
    dims=("n 1:40",), weights=(("w", "f32[16,32]"),))
for n in (1, 8, 21):
    tiles = check("a norm behind a product", norm, {"n": n}, seed=n)
difference, program, _ = compare(norm, "f", {"n": 8}, target=TARGET)
ok(not list(regions(program.steps)), "in a larger cache it pays to leave them apart")

# Of products that fusion put into one kernel it is said why they begin no region, where they would by themselves.
pair = entry(f'%0 "x" : f32[n,16] {LOC}', [
    '%1 = weight() {name="w"} : f32[16,32]', '%2 = weight() {name="v"} : f32[16,32]',
    "%3 = dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,32]",
    "%4 = dot(%0, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,32]",
    "%5 = reduce(%3) {op=max, axes=[1], order=free} : f32[n]", "%6 = broadcast(%5) {shape=[n, 32], axes=[0]} : f32[n,32]",
    "%7 = sub(%3, %6) : f32[n,32]", 'return "y" %7', 'return "z" %4'],
    dims=("n 1:40",), weights=(("w", "f32[16,32]"), ("v", "f32[16,32]")))
check("two products of one operand", pair, {"n": 21}, count=0)
for target, why in ((TINY, "the product is one of 2 of a kernel, which read their first operand once"),
                    (TARGET, "what its kernels hand on, 5120 bytes, stays in the cache as it is")):
    difference, program, _ = compare(pair, "f", {"n": 8}, target=target)
    equal([said for said in program.refusals if said[0].endswith(" in tiles")], [("dot+reduce_max_sub in tiles", why)],
          "which explain says")

# Keys of a decoder: each tile packs some panels of them. More rows would share them, and they are made once for all.
def keys(rows: int, size: int | str = "s", dims: tuple[str, ...] = ("s 1:300",), batch: tuple[int, ...] = (3,)):
    lead, axes, last = "".join(f"{b}," for b in batch), [*range(len(batch))], len(batch) + 1
    return entry(f'%0 "q" : f32[{lead}{rows},8] {LOC}, %1 "k" : f32[{lead}{size},8] {LOC}', [
        f"%2 = dot(%0, %1) {{lhs_batch={axes}, rhs_batch={axes}, lhs_contract=[{last}], rhs_contract=[{last}], "
        f"order=seq}} : f32[{lead}{rows},{size}]",
        'return "y" %2'], dims=dims)


for rows in (1, 2):
    for size in (1, 16, 130, 257):
        tiles = check("keys", keys(rows), {"s": size}, target=PLAIN, seed=size)
equal([s.kernel.label for s in tiles.body], ["pack", "dot"], "packed within the tile")
for size in (160, 163):     # whole panels, and not; the last tile has fewer of them
    check(f"{size} keys", keys(2, size, ()), {}, target=PLAIN, seed=size)
for s in (3, 10):
    check("whole panels of keys", keys(2, "16*s", ("s 1:20",)), {"s": s}, target=PLAIN, seed=s)
check("keys of many rows", keys(17), {"s": 20}, count=0, target=PLAIN)

# With vectors, the product reads the columns where they lie.
for rows in (1, 3, 16, 17):
    for size in (1, 16, 130):
        difference, program, _ = compare(keys(rows), "f", {"s": size}, seed=size, target=TARGET)
        equal(difference, "", f"{size} keys of {rows} rows, term by term")
    equal([s.kernel.label for s in program.steps], ["dot"] if rows < 17 else ["pack", "dot"],
          f"{rows} rows: panels are made for many rows alone")
equal(program.refusals[0], ("pack+dot in tiles", "17 rows use the panels, which are made once for all of them"),
      "which explain says")
difference, program, _ = compare(keys(9), "f", {"s": 37}, target=targets.load(targets.find("aarch64")))
equal((difference, program.refusals[0]), ("", ("dot without panels", "9 rows meet the columns, not at most 8")), "NEON")
for batch in ((1,), (1, 3), (2, 1), (1, 1), (2, 3)):
    difference, program, _ = compare(keys(4, batch=batch), "f", {"s": 37}, target=TARGET)
    equal((difference, [s.kernel.label for s in program.steps]), ("", ["dot"]), f"keys of {batch} heads, term by term")

# Images of a batch: convolution and pooling of some of them at a time.
digits = parse_module(sample("digits"), "digits.tcg")
for batch in (1, 9):
    difference, program, _ = compare(digits, "digits", {"batch": batch}, backwards=True, target=TINY)
    equal(difference, "", f"digits in tiles, batch {batch}")
labels = [[s.kernel.label for s in r.body] for r in regions(program.steps)]
equal(labels, [["conv2d_relu", "max_pool2d", "conv2d_relu"]], "chains of digits")

# -- mistakes
GOOD = '''tensor_compile.loops 1 program
dim n range=1:64 divisor=1
buffer input "x" : f32[n,8]
buffer output "y" : f32[n,8]
buffer output "z" : f32[n]
buffer tile "t" : f32[4,8]
loop_nest "before" rows (i0:n) grain 1 {
  params ("x", "z") dims (n)
  phase () {
    "z"[i0] = load f32 ("x"[i0,0])
  }
}
barrier
tiles "both" (t0 by 4 of n) {
  loop_nest "first" rows (i0:t0n) grain 1 {
    params ("x", "t") dims (t0, t0n)
    phase (i1:8) {
      "t"[i0,i1] = exp f32 (load f32 ("x"[i0+t0,i1]))
    }
  }
  loop_nest "second" rows (i0:t0n) grain 1 {
    params ("t", "z", "y") dims (t0, t0n)
    phase (i1:8) {
      "y"[i0+t0,i1] = mul f32 (load f32 ("t"[i0,i1]), load f32 ("z"[i0+t0]))
    }
  }
}
arena size=0
'''
verify(parse_unit(GOOD, "good"))
ok(True, "a region that is right")
for what, message, *changes in (
        ("without a barrier", "both: reads z where before stores z, with no barrier between",
         ("barrier\ntiles", "tiles")),
        ("a barrier within", "both: a barrier within tiles, which threads run as they come",
         ('  loop_nest "second"', '  barrier\n  loop_nest "second"')),
        ("one row stored by two tiles", "second: two tiles may store one element of y[i0, i1]",
         ('"y"[i0+t0,i1]', '"y"[i0,i1]')),
        ("blocks that overlap", "second: two tiles may store one element of y",
         ("rows (i0:t0n) grain 1 {\n    params (\"t\"", "rows (i0:t0n+1) grain 1 {\n    params (\"t\"")),
        ("a row past the tensor", "first: x[t0 + i0 + 1, i1] is not proved to be within",
         ('"x"[i0+t0,i1]', '"x"[i0+t0+1,i1]')),
        ("what another tile stores", "second: reads y[0, i1], which second stores in another tile",
         ('load f32 ("z"[i0+t0])', 'load f32 ("y"[0,i1])')),
        ("one tile's, of the next row", "second: reads z[t0], which first stores in another tile",
         ('"t"[i0,i1] = exp f32 (load f32 ("x"[i0+t0,i1]))', '"z"[i0+t0+4] = load f32 ("x"[i0+t0,i1])'),
         ('params ("x", "t")', 'params ("x", "z")'), ('load f32 ("t"[i0,i1]), load f32 ("z"[i0+t0])',
                                                      'f32 0x0, load f32 ("z"[t0])')),
        ("a buffer of tiles outside", "before: t belongs to a tile, and the kernel stands in none",
         ('params ("x", "z") dims (n)\n  phase () {\n    "z"[i0] = load f32 ("x"[i0,0])',
          'params ("x", "z", "t") dims (n)\n  phase () {\n    "z"[i0] = load f32 ("t"[0,0])')),
        ("what a tile before left", "first: reads t before it is written",
         ('(load f32 ("x"[i0+t0,i1]))', '(load f32 ("t"[i0,i1]))')),
        ("a check", "both: tiles hold a check, a loop or a branch",
         ('  loop_nest "second"', '  check "c" "z" below 3\n    params ("z") dims ()\n  loop_nest "second"')),
        ("a region", "both: tiles hold a check, a loop or a branch",
         ('  loop_nest "second"', '  loop "l" iteration u0:n {\n  }\n  loop_nest "second"'))):
    text = GOOD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    raises(LoopError, lambda: verify(parse_unit(text, "m")), message, what)
for old, new, message in (("by 4", "by 0", "a block has at least one point"),
                          ("t0 by 4 of n", "n by 4 of n", "n is the name of a dim or of a loop around this one"),
                          ("(t0 by 4 of n)", "(t0 by 4 of n, t0 by 1 of 8)", "one variable is named twice")):
    raises(ParseError, lambda: parse_unit(GOOD.replace(old, new, 1), "m"), message, message)


def blocks(length: int) -> list[int]:
    """Rows of the blocks of causal attention's tiles, on a processor with 1 MiB and 32 MiB of cache."""
    module = inline(attention(12, 12, str(length), str(length), 64, 64, True))
    target = targets.load(targets.find("x86_64"))
    fused = fuse.fuse(lower.lower(layout.apply(module.functions["f"], target), module, target))
    return [item.axes[-1].block for item in tile_regions.form(fused, target).kernels if isinstance(item, Tiles)]


def axes(heads: int, length: int) -> list[int]:
    """The sizes that tiles of attention are cut from, where a product of all heads follows."""
    module = inline(attention(heads, heads, str(length), str(length), 64, 64, False, True))
    target = targets.load(targets.find("x86_64"))
    fused = fuse.fuse(lower.lower(layout.apply(module.functions["f"], target), module, target))
    return [int(str(a.size)) for item in tile_regions.form(fused, target).kernels if isinstance(item, Tiles)
            for a in item.axes]


equal(axes(6, 1500), [6, 1500], "all heads' scores of a block of rows would not stay in the cache: a tile has one head")
equal(blocks(2048), [32], "attention of 2048 keys is tiles whose scores fit the second cache")
equal(blocks(8192), [64], "of 8192 keys tiles of more rows, which read keys and values less often")
done()
