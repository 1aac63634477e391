# SPDX-License-Identifier: Apache-2.0
"""3x3 convolutions of bytes by Winograd's points (graph/winograd_integers.py): the transformations in exact numbers at
the ends of bytes; which convolutions; models that `check` compares with the interpreter's bits, of both signs of
bytes, sizes that tiles do not divide, images unknown in number and what follows a convolution."""
import random
import tempfile
from fractions import Fraction
from itertools import product
from pathlib import Path

from samples import bits, run, st
from squares import both, Exact
from tap import done, equal, ok
from tensor_compile.graph.winograd_integers import FORM, SHIFT, worth


def twice(_, taps):
    return [sum(2 * by * t for by, t in zip(line, taps)) for line in FORM.weights]


rng = random.Random(5)
right = within = True
for low, high in ((-128, 127), (0, 255)):
    for number in range(600):
        draw = (lambda ends: rng.choice(ends)) if number % 2 else (lambda ends: rng.randint(*ends))
        image = [[draw((low, high)) for _ in range(FORM.n)] for _ in range(FORM.n)]
        window = [[draw((-128, 127)) for _ in range(3)] for _ in range(3)]
        points, weights = both(FORM.image, Exact, image), both(twice, Exact, window)
        flat = [*sum(points, []), *sum(weights, [])]
        within &= all(Fraction(x).denominator == 1 and -(1 << 15) <= x < 1 << 15 for x in flat)
        sums = [[x * w for x, w in zip(*lines)] for lines in zip(points, weights)]
        got = both(FORM.result, Exact, sums)
        want = [[sum(image[i + a][j + b] * window[a][b] for a, b in product(range(3), repeat=2)) for j in range(2)]
                for i in range(2)]
        right &= [[int(x) >> SHIFT for x in line] for line in got] == want
ok(right, "sums of products at points, shifted, are those of the convolution")
ok(within, "bytes and their weights are integers of 16 bits at points")
equal([worth(s, s, c, c) for s, c in ((56, 64), (28, 128), (14, 256), (7, 512), (6, 24))],
      [True, True, True, False, False], "few positions and many weights stay as they are")

# channels, filters, height, width, dtype, padding, residual; the last has a stride
CASES = [(96, 80, 13, 14, "I8", 1, True), (64, 112, 14, 16, "U8", 0, False), (96, 80, 13, 14, "I8", 1, False)]
with tempfile.TemporaryDirectory() as name:
    folder, tensors = Path(name), {}
    text = "#include <tensor_compile/model.h>\nTC_MODEL(m)\n{\n    tc_weights(g, \"w.safetensors\");\n" \
        "    tc_dim images = tc_dynamic(g, \"images\", 1, 2);\n"
    for i, (c, n, h, w, dtype, pad, residual) in enumerate(CASES):
        stride = 2 if i == len(CASES) - 1 else 1
        tensors |= {f"w{i}": ("I8", [n, c, 3, 3], [rng.choice((-128, 127)) if i == 1 else rng.randrange(-128, 128)
                                                   for _ in range(n * c * 9)]),
                    f"s{i}": ("F32", [n], [2e-4 * (j % 5 - 1) for j in range(n)]),
                    f"b{i}": ("I32", [n], [rng.randrange(-9999, 9999) for _ in range(n)])}
        text += f"""    tc_tensor x{i} = tc_permute(tc_input(g, "x{i}", TC_{dtype}, images, {h}, {w}, {c}), 0, 3, 1, 2);
    tc_tensor y{i} = tc_quantized_conv(.x = {{x{i}, 0.5f, 11}}, .w = tc_weight(g, "w{i}"),
                                       .w_scale = tc_weight(g, "s{i}"), .bias = tc_weight(g, "b{i}"), .scale = 0.5f,
                                       .zero = {3 * i}, .floats = true, .stride = {{{stride}, {stride}}},
                                       .low = {{{pad}, {pad}}}, .high = {{{pad}, {pad}}});
"""
        if residual:
            text += f"""    tc_tensor r{i} = tc_input(g, "r{i}", TC_{dtype}, images, {h}, {w}, {n});
    r{i} = tc_permute(r{i}, 0, 3, 1, 2);
    y{i} = tc_quantized_add(.a = {{y{i}, 0.5f, {3 * i}}}, .b = {{r{i}, 0.3f, 4}}, .scale = 0.6f, .zero = 5,
                          .floats = true);
"""
        text += f"    tc_output(g, \"y{i}\", tc_permute(y{i}, 0, 2, 3, 1));\n"
    (folder / "m.c").write_text(text + "}\n", encoding="utf-8")
    st.write(folder / "w.safetensors", tensors)

    def points_of(*words):
        """Of a build, its convolutions that are products at points, and those that are not."""
        called = run("build", folder / "m.c", "-o", folder / "out", "--dump-after", "points", *words)
        graph = [line for line in called.stdout.splitlines() if " = " in line]
        return [sum(what in line for line in graph) for what in (" = dot(", " = convolution(")]

    bits("results have the bits of the interpreter", folder / "m.c", "--isa", "avx2", "--verify")
    quick = ("--emit", "c")
    equal(points_of("--isa", "avx2", *quick), [2, 1], "AVX2 alone: but for the stride all are at points")
    equal(points_of("--isa", "avx2,avx512,avx512_vnni", *quick), [0, 3], "none where a processor has dot products")
    equal(points_of("--isa", "avx2", "--memory", "small", *quick), [0, 3], "none where memory is little")
done()
