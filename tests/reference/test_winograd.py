# SPDX-License-Identifier: Apache-2.0
"""`--numerics relaxed`: Winograd's transformations in exact numbers, their errors in f32 beside those of direct sums
(docs/numerics.md), and models with convolutions of all sizes that `check` compares with the interpreter's bits and with
double precision."""
import math
import random
import tempfile
from array import array
from fractions import Fraction
from itertools import product
from pathlib import Path

import models
from squares import both, Exact
from tap import done, equal, note, ok
from tensor_compile.graph.winograd import _scope, chosen, FORMS, reckoned, TAPS, Form

# docs/numerics.md: root mean squares in those of direct sums, of weights that fill their windows and of one tap; the
# largest error of 64 channels, of the largest result
ERRORS = {2: (1.0, 3.0, 1e-6), 4: (4.0, 12.0, 6e-6)}
RESULTS = {16: 960, 32: 320, 64: 240}   # that are looked at, by channels
IMAGES = {"normal": lambda: rng.gauss(0, 1), "uniform": lambda: rng.uniform(-1, 1),
          "rectified": lambda: max(0.0, rng.gauss(0, 1))}
WEIGHTS_OF = {"normal": lambda i, j: rng.gauss(0, 1), "uniform": lambda i, j: rng.uniform(-1, 1),
              "one tap, centre": lambda i, j: rng.gauss(0, 1) if i == j == 1 else 0.0,
              "one tap, corner": lambda i, j: rng.gauss(0, 1) if i == j == 0 else 0.0}


def rounded(x: float) -> float:
    return array("f", [x])[0]


class Single(Exact):
    """Numbers of f32: every step is rounded."""

    @staticmethod
    def add(a, b):
        return rounded(a + b)

    @staticmethod
    def sub(a, b):
        return rounded(a - b)

    @staticmethod
    def scale(by, a):
        return rounded(float(by) * a)


def weights_of(form: Form, window):
    lines = [[sum(by * t for by, t in zip(line, column)) for line in form.weights] for column in zip(*window)]
    return [[sum(by * t for by, t in zip(line, row)) for line in form.weights] for row in zip(*lines)]


def direct(form: Form, image, window, step):
    """m x m results; step adds a product to a sum."""
    out = [[0.0] * form.m for _ in range(form.m)]
    for i, j in product(range(form.m), repeat=2):
        for a, b in product(range(TAPS), repeat=2):
            for x, w in zip(image, window):
                out[i][j] = step(out[i][j], x[i + a][j + b], w[a][b])
    return out


rng = random.Random(1)
for form in FORMS:
    one = [Fraction(rng.randrange(-99, 99), 7) for _ in range(form.n)]
    taps = [Fraction(rng.randrange(-99, 99), 5) for _ in range(TAPS)]
    points = [a * sum(by * t for by, t in zip(line, taps))
              for a, line in zip(form.image(Exact, one), form.weights, strict=True)]
    equal(form.result(Exact, points), [sum(one[i + t] * taps[t] for t in range(TAPS)) for i in range(form.m)],
          f"F({form.m},3) is the convolution, in exact numbers")


def errors(form: Form, channels: int, element, weight) -> tuple[float, float]:
    """The root mean square in that of direct sums; the largest, of the largest result."""
    squares, largest, most = [0.0, 0.0], 0.0, 0.0
    for _ in range(RESULTS[channels] // form.m ** 2):
        image = [[[rounded(element()) for _ in range(form.n)] for _ in range(form.n)] for _ in range(channels)]
        window = [[[rounded(weight(i, j)) for j in range(TAPS)] for i in range(TAPS)] for _ in range(channels)]
        want = direct(form, image, window, lambda s, x, w: s + x * w)
        plain = direct(form, image, window, lambda s, x, w: rounded(s + x * w))
        sums = [[0.0] * form.n for _ in range(form.n)]
        for x, w in zip(image, window):
            at, by = both(form.image, Single, x), weights_of(form, w)
            for i, j in product(range(form.n), repeat=2):
                sums[i][j] = rounded(sums[i][j] + at[i][j] * rounded(float(by[i][j])))
        got = both(form.result, Single, sums)
        for i, j in product(range(form.m), repeat=2):
            squares[0] += (plain[i][j] - want[i][j]) ** 2
            squares[1] += (got[i][j] - want[i][j]) ** 2
            largest, most = max(largest, abs(got[i][j] - want[i][j])), max(most, abs(want[i][j]))
    return math.sqrt(squares[1] / squares[0]), largest / most


for form in FORMS:
    full, tap, largest = ERRORS[form.m]
    for (kind, weight), (image, element) in product(WEIGHTS_OF.items(), IMAGES.items()):
        for channels in (form.fewest, *([64] if image == "normal" and kind in ("normal", "one tap, corner") else [])):
            ratio, part = errors(form, channels, element, weight)
            bound = tap if kind.startswith("one tap") else full
            if not ok(ratio <= bound and part <= largest,
                      f"F({form.m},3), {channels} channels, {image} images, {kind} weights: errors at most {bound:g} "
                      "times those of direct sums"):
                note(f"{ratio:.2f}, the largest {part:.1e}")

# convolutions with and without padding, of sizes that tiles do not divide, images unknown in number, what follows them;
# the last three stay as they are: a stride, groups, weights that are an input
MODEL = """
#include <tensor_compile/model.h>

TC_MODEL(winograd)
{
    tc_dim images = tc_dynamic(g, "images", 1, 3);
    tc_tensor x = tc_input(g, "x", TC_F32, images, 24, 14, 11);
    tc_weights(g, "weights.safetensors");
    tc_tensor w = tc_weight(g, "w"), b = tc_weight(g, "b");
    tc_tensor a = tc_relu(tc_conv2d(x, tc_weight(g, "first"), .bias = b, .padding = {1, 1}));
    tc_tensor c = tc_relu(tc_add(tc_conv2d(a, w, .padding = {1, 1}), a));
    tc_tensor d = tc_conv2d(c, w, .bias = b);
    tc_tensor e = tc_relu(tc_conv2d(d, w, .padding = {1, 0}));
    tc_tensor f = tc_conv2d(e, w, .stride = {2, 2});
    f = tc_conv2d(f, tc_weight(g, "grouped"), .groups = 2, .padding = {1, 1});
    tc_tensor v = tc_mul(tc_input(g, "v", TC_F32, 64, 64, 3, 3), 0.02);
    tc_output(g, "y", tc_conv2d(f, v, .padding = {1, 1}));
    tc_output(g, "z", d);
}
"""
SIZES = ((56, 64), (28, 128), (14, 256), (7, 512))     # of ResNet-50's layers, and their channels
equal([form and form.m for form in (chosen(size, size, channels, channels) for size, channels in SIZES)],
      [4, 4, 2, None], "the more weights there are, the fewer points")
REASONS = {(28, 28, 15, 64): (None, "results have fewer than 16 channels"),
           (28, 28, 64, 15): (None, "the image has fewer than 16 channels"),
           (1, 28, 64, 64): (None, "results are one element high or wide"),
           (7, 7, 512, 512): (None, "the model of the costs expects no gain"),
           (28, 28, 64, 24): (FORMS[0], "for F(4,3) the image has fewer than 32 channels"),
           (14, 14, 256, 256): (FORMS[0], "for F(4,3) the model of the costs expects less gain"),
           (28, 28, 128, 128): (FORMS[1], "")}
for size, wanted in REASONS.items():
    equal(reckoned(*size), wanted, f"what is said of {size}")
for scope, name in (("a/conv2d#3", "a/conv2d_winograd4#3"), ("conv2d#1", "conv2d_winograd4#1"),
                    ("f#1/b/conv2d#2/c", "f#1/b/conv2d_winograd4#2/c"), ("", "convolution_winograd4#1"),
                    ("a/b", "a/b/convolution_winograd4#1")):
    equal(_scope(scope, FORMS[1]), name, f"kernels of scope {scope or 'none'} have the form in their names")

WEIGHTS = {"first": (64, 24, 3, 3), "w": (64, 64, 3, 3), "b": (64,), "grouped": (64, 32, 3, 3)}

# heights and widths that are known when a model runs, and what becomes of them: halves, twice these, two less
DYNAMIC = """
#include <tensor_compile/model.h>

static tc_tensor twice(tc_tensor x)
{
    tc_dim n = tc_size(x, 0), c = tc_size(x, 1), h = tc_size(x, 2), w = tc_size(x, 3);
    x = tc_expand(tc_reshape(x, n, c, h, 1, w, 1), n, c, h, 2, w, 2);
    return tc_reshape(x, n, c, tc_dim_mul(h, 2), tc_dim_mul(w, 2));
}

TC_MODEL(dynamic)
{
    tc_dim h = tc_dynamic(g, "h", 3, 40), w = tc_dynamic(g, "w", 4, 64, .divisor = 4);
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 24, h, w);
    tc_weights(g, "weights.safetensors");
    tc_tensor v = tc_weight(g, "w"), b = tc_weight(g, "b");
    tc_tensor a = tc_relu(tc_conv2d(x, tc_weight(g, "first"), .bias = b, .padding = {1, 1}));
    a = tc_relu(tc_add(tc_conv2d(a, v, .bias = b, .padding = {1, 1}), a));
    tc_tensor half = tc_conv2d(a, v, .stride = {2, 2}, .padding = {1, 1});
    half = tc_relu(tc_conv2d(half, v, .padding = {1, 1}));
    tc_tensor both = tc_concat(1, a, tc_slice(twice(half), 2, 0, h));
    tc_tensor y = tc_conv2d(both, tc_weight(g, "both"), .bias = b, .padding = {1, 1});
    tc_output(g, "y", tc_conv2d(y, v, .padding = {0, 1}));
    tc_output(g, "half", half);
}
"""
DYNAMIC_WEIGHTS = {"first": (32, 24, 3, 3), "w": (32, 32, 3, 3), "b": (32,), "both": (32, 64, 3, 3)}


def written(folder: Path, name: str, text: str, shapes) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    models.safetensors(folder / "weights.safetensors",
                       {name: (shape, [0.2 * v for v in values])
                        for name, (shape, values) in models.seeded(shapes, 3).items()})


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    written(folder, "dynamic.c", DYNAMIC, DYNAMIC_WEIGHTS)
    result = models.tool(folder, "check", "dynamic.c", "--numerics", "relaxed", "--verify", "--specialize", "h=15,w=20",
                         "--dump-after", "dce-winograd", *(("--isa", "avx2") if models.X86 else ()))
    graph = [line for line in result.stdout.splitlines() if " = " in line]
    equal(([sum(" dot(" in line and f": f32[{n},{n}," in line for line in graph) for n in (4, 6)],
           sum(" convolution(" in line for line in graph)), ([1, 4], 1),
          "convolutions of images whose sizes are not known become products")
    lines = [line for line in result.stdout.splitlines() if "bits of the interpreter" in line]
    if not ok(result.returncode == 0 and len(lines) == 4 and all(line.endswith(": equal") for line in lines),
              "every variant has the interpreter's bits, and is near double precision"):
        note(result.stdout[-3000:] + result.stderr)

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    written(folder, "model.c", MODEL, WEIGHTS)
    relaxed = ("--numerics", "relaxed", "--verify", *(("--isa", "avx2") if models.X86 else ()))
    result = models.tool(folder, "check", "model.c", *relaxed, "--dump-after", "dce-winograd")
    graph = [line for line in result.stdout.splitlines() if " = " in line]
    dots = [line for line in graph if " dot(" in line]
    kinds = [sum(what in line for line in dots) for what in (": f32[4,4,", ": f32[6,6,")]
    equal((kinds, sum(" convolution(" in line for line in graph)), ([1, 3], 3),
          "convolutions of stride 1 with constant weights become products, others stay")
    lines = [line for line in result.stdout.splitlines() if "bits of the interpreter" in line]
    if not ok(result.returncode == 0 and len(lines) == 2 and all(line.endswith(": equal") for line in lines),
              "results have the interpreter's bits, and are near those of double precision"):
        note(result.stdout[-3000:] + result.stderr)

    relaxed = tuple(word for word in relaxed if word != "--verify")
    told = models.tool(folder, "explain", "model.c", *relaxed).stdout
    head = "Winograd (--numerics relaxed): 1 by F(2,3), 3 by F(4,3), of 7 convolutions"
    lines = told.partition(f"\n{head}\n")[2].splitlines()
    equal(lines[:lines.index("")] if "" in lines else lines,
          ["  model.c:10: F(2,3), 4 products a result in place of 9; for F(4,3) the image has fewer than 32 channels",
           *(f"  model.c:{line}: F(4,3), 2.25 products a result in place of 9" for line in (11, 12, 13)),
           "  model.c:14: its stride is not 1", "  model.c:15: it has groups",
           "  model.c:17: its weights are no constants"], "explain says which form, and why not") or note(told[-2000:])
    ok("  conv2d_winograd2" in told and "  conv2d_winograd4" in told, "and kernels have the form in their names")
    told = models.tool(folder, "explain", "model.c", "--summary", "--html", "page.html", *relaxed).stdout
    page = (folder / "page.html").read_text(encoding="utf-8")
    ok(f"<summary>{head}</summary><ul><li>model.c:10: F(2,3), 4 products" in page
       and "<li>model.c:15: it has groups</li>" in page, "so does the page") or note(page[:3000])
    ok(f"\n  {head}:\n    not so: its stride is not 1\n    not so: it has groups\n    not so: its weights are no "
       "constants\n" in told, "so does the summary") or note(told)
    told = models.tool(folder, "explain", "model.c", "--summary", "--html", "page.html",
                       *(word for word in relaxed if word not in ("--numerics", "relaxed"))).stdout
    page = (folder / "page.html").read_text(encoding="utf-8")
    ok(told and "Winograd" not in told + page, "nothing is said of the exact order") or note(told)
    told = models.tool(folder, "bench", "model.c", "--calls", "1", *relaxed).stdout
    ok(", of Winograd's own operations where kernels are named so\n" in told and
       all(f"\nwinograd{m}: Winograd's F({m},3); operations are its own, a direct convolution has {times} times as "
           "many products" in told for m, times in ((2, "2.25"), (4, "4"))), "bench says whose operations they are") \
        or note(told)
done()
