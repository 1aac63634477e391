# SPDX-License-Identifier: Apache-2.0
"""Stripes: chains of convolutions and pooling, some rows at a time, give the bits of the direct evaluation. Backwards,
each tile computes all rows that it needs; forwards, it goes on with those of the tile before."""
from harness import compare_ways, moved_in_calls
from images import Image
from tap import done, equal, note, ok, raises
from tensor_compile.emit.work import kernel_work
from tensor_compile.graph.errors import ParseError
from tensor_compile.loops.program_ir import Tiles, regions
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit
from tensor_compile.loops.scalar_ir import Load, Reduction
from tensor_compile.loops.scalars import walk
from tensor_compile.loops.stripes import chains, striped
from tensor_compile.loops.verify_loops import LoopError, verify

def in_stripes(block: int):
    def form(joined):
        return striped(joined, {c.key: (c, block) for c in chains(joined, joined.kernels)})
    return form


def moves(name: str, program, said: list[tuple[int, int]], counts: list[tuple[int, int]]) -> None:
    """Weights that meet nothing but padding in a stripe are not read there; they count all the same."""
    padded = [any(x.valid for x in walk(*step.kernel.values) if isinstance(x, (Load, Reduction)))
              for step in program.kernel_steps]
    equal([w for _, w in said], [w for _, w in counts], f"{name}: bytes written in a call")
    ok(all(r >= c if p else r == c for (r, _), (c, _), p in zip(said, counts, padded, strict=True)),
       f"{name}: bytes read in a call") or note((said, counts, padded))


def check(name: str, image: Image, kernels: int, blocks: tuple[int, ...] = (1, 2, 3), extreme: bool = False):
    """The program at the last number of rows a block."""
    module = image.module()
    for n in ((1, 3) if image.batch == "n" else (1,)):
        for block in blocks:
            differences, program, counts = compare_ways((False, True), module, "f", {"n": n}, form=in_stripes(block),
                                                        seed=block, extreme=extreme)
            for difference, way in zip(differences, ("", ", backwards"), strict=True):
                equal(difference, "", f"{name}, {n} images, {block} rows a block{way}")
            moves(f"{name}, {n} images, {block} rows a block", program, moved_in_calls(module, program, {"n": n}), counts)
    found = [r for r in regions(program.steps) if isinstance(r, Tiles)]
    equal([len(t.body) for t in found], [kernels], f"{name}: kernels of its region")
    equal(print_unit(parse_unit(print_unit(program), name)), print_unit(program), f"{name}: read as it was printed")
    return program


check("an inverted residual", Image("1", 4, 7, 5).conv(8).depthwise().conv(4), 3)
check("with its sum", Image("1", 4, 6, 5).conv(8).depthwise().conv(4).add(0), 3, (2,), extreme=True)
check("two rows further", Image("1", 4, 8, 6).conv(8).depthwise(2).conv(4), 3)
check("odd sizes, two rows further", Image("1", 4, 9, 7).conv(8).depthwise(2).conv(4), 3)
check("no padding above", Image("1", 4, 8, 5).conv(8).depthwise(2, 0, 1).conv(4), 3, (1, 2))
check("a batch", Image("n", 3, 5, 4).conv(6).depthwise().conv(3), 3, (2,))
check("a long chain", Image("1", 3, 9, 7).conv(4, 3, 2, 1, 1).depthwise().conv(6).depthwise(2).conv(4), 5, (1, 2))
check("windows far apart", Image("1", 4, 9, 4).conv(4).depthwise(1, 2, 2, 2).conv(4), 3, (1, 2))
check("more stride than window", Image("1", 4, 9, 4).conv(4).pool(1, 3).conv(4), 3, (1, 2))
check("convolution and pooling", Image("n", 3, 8, 6).conv(4, 3, 1, 1, 1).pool(2, 2), 2, (1, 2))
check("pooling with a border", Image("1", 3, 7, 5).conv(4, 3, 1, 1, 1).pool(3, 2, 1), 2, (1, 3))
check("rows that neighbouring windows share", Image("1", 3, 11, 9).conv(4, 3, 2, 0, 0).depthwise().conv(4), 3, (1, 2))
check("blocks larger than the image", Image("1", 4, 3, 3).conv(8).depthwise().conv(4), 3, (4,))
for name, wide, kernels in (("windows", Image("1", 4, 7, 5).conv(8).depthwise().conv(4), 3),
                            ("windows of one row", Image("2", 4, 8, 5).conv(3).conv(3, 1, 4, groups=3), 2)):
    narrower = [(",5]", ",n]"), ("[2,3,2,2]", "[2,3,2,floordiv(n+3, 4)]")]
    for old, new in narrower:
        wide.parameter, wide.lines = wide.parameter.replace(old, new), [line.replace(old, new) for line in wide.lines]
    for n in (1, 4):
        differences, program, _ = compare_ways((False, True), wide.module(), "f", {"n": n}, form=in_stripes(1))
        equal(differences, ["", ""], f"{name} of lines of {n} elements, a number that is not known")
        equal([len(r.body) for r in regions(program.steps) if isinstance(r, Tiles)], [kernels], "in a region")
program = check("stripes of one row", Image("1", 4, 7, 5).conv(8).depthwise().conv(4), 3, (1,))
tile = {b.name: b.shape[2].value for b in program.buffers.values() if b.kind == "tile"}
equal(sorted(tile.values()), [1, 3], "one row of the last kernel needs three rows of the first")
(usual,) = [r.usual for r in regions(program.steps) if isinstance(r, Tiles)]
counts = {s.name: n for s, n in usual.items()}
equal((counts["rows0n"], counts["rows1n"]), (1, 1), "a block of one row needs one more of each")
points = {str(step.kernel.params[-1].name): kernel_work(step.kernel, usual) for step in program.kernel_steps}
equal(points["%2"].value, 5 * 8 * (2 * 4 + 1), "operations of one row")
scalar = Image("1", 4, 3, 3)
total = scalar.put("reduce(%0) {op=sum, axes=[0, 1, 2, 3], order=lanes} : f32[]")
scalar.last = 0
before = scalar.conv(6).last
spread = scalar.put(f"broadcast(%{total}) {{shape=[1, 6, 3, 3], axes=[]}} : {scalar.type}")
scalar.put(f"mul(%{before}, %{spread}) : {scalar.type}")
differences, *_ = compare_ways((False,), scalar.module(), "f", {}, form=in_stripes(1))
equal(differences, [""], "a temp without dims is no link of a chain")

# -- mistakes
GOOD = print_unit(program)
for what, message, old, new in (
        ("a row that the tile before computed", "stores other rows of %2 than its window has not", "+rows0at,", ","),
        ("rows that no block begins with", "0 is no row of %2 that a block begins with", "from tile0-1", "from 0"),
        ("channels before the rows", "rows of %2 are no window of tiles", 'tile "%2" : f32[1,8,3,5] order=[0, 2, 3, 1]',
         'tile "%2" : f32[1,8,3,5]')):
    assert old in GOOD, old
    text = GOOD.replace(old, new, 1)
    raises(LoopError, lambda: verify(parse_unit(text, "m")), message, what)
for what, message, old, new in (
        ("a dim that is not there", "%2 has no dim 4 of a constant size", 'in "%2" dim 2', 'in "%2" dim 4'),
        ("a name of the axis", "tile0 is the name of a dim or of a loop around this one", "rows0 in", "tile0 in")):
    text = GOOD.replace(old, new, 1)
    raises(ParseError, lambda: parse_unit(text, "m"), message, what)
done()
