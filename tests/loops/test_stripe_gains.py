# SPDX-License-Identifier: Apache-2.0
"""Which chains run in stripes to save time: by the bytes that leave the second cache, for teams of several sizes."""
from dataclasses import replace

from harness import compare_ways, program_of, TARGET
from images import Image
from tap import done, equal, note, ok
from tensor_compile.emit.work import kernel_work
from tensor_compile.loops.program_ir import regions, Tiles
from tensor_compile.loops.stripe_gains import fastest, STRIPES, SURE

SMALL = replace(TARGET, isas=("avx512",), l2=4096, l3=4096, threads=4)


def fast(target=SMALL, teams=(), margin=SURE):
    return lambda joined: fastest(joined, target, kernel_work, teams or range(1, target.threads + 1), margin)


def residual(images: str, channels: int = 2, tall: int = 12) -> Image:
    return Image(images, channels, tall, 6).conv(8).depthwise().conv(channels)


def stripes(image: Image, *how, **more) -> tuple[list[tuple[int, int]], list[str]]:
    """Kernels and rows of a block of each region, and the reasons of what is none."""
    _, program = program_of(image.module(), "f", target=replace(TARGET, l2=1 << 30), form=fast(*how, **more))
    found = [r for r in regions(program.steps) if isinstance(r, Tiles) and r.windows]
    return [(len(t.body), t.axes[-1].block) for t in found], \
        [why for what, why in program.refusals if what.endswith(STRIPES)]


equal(stripes(residual("4")), ([(3, 4)], []), "four images, whose shares leave the second cache in any team")
for batch, sizes in (("4", {}), ("n", {"n": 3})):
    form = fast(teams=[1], margin=0.0)
    differences, program, _ = compare_ways((False, True), residual(batch).module(), "f", sizes, form=form, extreme=True)
    equal(differences, ["", ""], f"{batch} images: the bits of the direct evaluation, forwards and backwards")
    equal([len(r.body) for r in regions(program.steps) if isinstance(r, Tiles)], [3], f"{batch} images: a region")
made, why = stripes(residual("4"), replace(SMALL, threads=5))
ok(not made and len(why) == 1 and why[0].startswith("that would save a thread of 5 0 cycles"),
   "not where a team's shares stay there") or note(repr((made, why)))
equal(stripes(residual("4"), replace(SMALL, threads=5), teams=[1], margin=1.0)[0], [(3, 4)],
      "but where one thread is asked about")
equal(stripes(residual("n"))[0], [], "a size that is not known counts at its lower end")
equal(stripes(residual("4"), replace(SMALL, l2=1 << 20)), ([], []), "nothing where all stays in the second cache")
equal(stripes(residual("4"), replace(SMALL, l2=0)), ([], []), "nothing without a second cache")
equal(stripes(residual("4"), replace(SMALL, l2=1024))[0], [], "nothing where few rows do not stay there")
made, why = stripes(Image("4", 32, 12, 6).conv(32, 3, 1, 1, 1).conv(32, 3, 1, 1, 1),
                    replace(SMALL, l2=16384, l3=1 << 20, threads=1))
ok(not made and len(why) == 1 and why[0].startswith("that would save one thread "),
   "not where kernels compute for long") or note(repr((made, why)))
equal(stripes(residual("4", tall=10), teams=[1], margin=1.0)[0], [(3, 4)], "rows of blocks that are not equal")
two = Image("4", 2, 12, 6).conv(8).depthwise().conv(2).conv(8).depthwise().conv(2)
equal(stripes(two)[0], [(3, 4), (3, 4)], "two parts of a chain, each of which stays in the second cache")
done()
