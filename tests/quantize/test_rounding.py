# SPDX-License-Identifier: Apache-2.0
"""`.floats` of operations on quantized tensors: the results that the formulas of ops.md give, in f32 step by step."""
import math
import random
import struct
import tempfile
from pathlib import Path

from samples import bits, run, st
from tap import done, equal, note, ok

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_tensor a = tc_input(g, "a", TC_I8, 64), b = tc_input(g, "b", TC_I8, 64), rows = tc_reshape(a, 8, 8);
    tc_affine x = {a, 0.037f, 11}, y = {b, 0.0213f, -90};
    tc_output(g, "sum", tc_quantized_add(.a = x, .b = y, .scale = 0.05f, .zero = -7, .floats = true));
    tc_output(g, "difference", tc_quantized_sub(.a = x, .b = y, .scale = 0.05f, .zero = -7, .floats = true));
    tc_output(g, "product", tc_quantized_mul(.a = x, .b = y, .scale = 0.09f, .zero = 5, .floats = true));
    tc_output(g, "other", tc_quantized_rescale(.x = x, .scale = 0.011f, .zero = 3, .floats = true));
    tc_output(g, "mean", tc_quantized_mean(.x = {rows, 0.037f, 11}, .axes = {1}, .axis_count = 1, .scale = 0.02f, .zero
    = 1, .floats = true));
    tc_output(g, "linear", tc_quantized_linear(.x = {rows, 0.037f, 11}, .w = tc_reshape(b, 8, 8),
                                               .w_scale = tc_full(g, 0.004f, TC_F32, 8), .scale = 0.3f, .zero = -2,
                                               .floats = true));
    tc_output(g, "matmul", tc_quantized_matmul(.a = {rows, 0.037f, 11}, .b = {tc_reshape(b, 8, 8), 0.0213f, -90},
                                               .scale = 0.3f, .zero = -2, .floats = true));
    tc_output(g, "transposed", tc_quantized_conv_transpose2d(.x = {tc_reshape(a, 1, 1, 8, 8), 0.037f, 11},
                                                             .w = tc_reshape(b, 1, 64, 1, 1), .stride = 2,
                                                             .w_scale = tc_full(g, 0.004f, TC_F32, 64), .scale = 0.09f,
                                                             .zero = 4, .floats = true));
}
"""


def f32(x: float) -> float:
    found: float = struct.unpack("<f", struct.pack("<f", x))[0]
    return found


def saturated(x: float) -> int:
    return int(max(-128, min(127, x)))


def even(x: float) -> float:
    return float(round(x))      # Python's halves go to even


def scaled(total: int, factor: float, zero: int) -> int:
    return saturated(even(f32(f32(total) * f32(factor))) + zero)


rng = random.Random(3)
a, b = ([rng.randrange(-128, 128) for _ in range(64)] for _ in range(2))
sa, sb = f32(0.037), f32(0.0213)


def together(sign: int) -> list[int]:
    scale = f32(0.05)
    left, right = sa / scale, sign * sb / scale
    more = f32(-7 - left * 11 - right * -90)
    return [saturated(even(f32(f32(f32(p * f32(left)) + f32(q * f32(right))) + more))) for p,
            q in zip(a, b, strict=True)]


want = {"sum": together(1), "difference": together(-1),
        "product": [scaled((p - 11) * (q + 90), sa * sb / f32(0.09), 5) for p, q in zip(a, b, strict=True)],
        "other": [scaled(p - 11, sa / f32(0.011), 3) for p in a],
        "mean": [scaled(sum(p - 11 for p in a[i:i + 8]), sa / (f32(0.02) * 8), 1) for i in range(0, 64, 8)],
        "linear": [scaled(sum((a[8 * i + k] - 11) * b[8 * j + k] for k in range(8)), sa * f32(0.004) / f32(0.3), -2)
                   for i in range(8) for j in range(8)],
        "matmul": [scaled(sum((a[8 * i + k] - 11) * (b[8 * k + j] + 90) for k in range(8)), f32(sa * sb) / f32(0.3), -2)
                   for i in range(8) for j in range(8)],
        "transposed": [4 if i % 2 or j % 2 else scaled((a[4 * i + j // 2] - 11) * w, sa * f32(0.004) / f32(0.09), 4)
                       for w in b for i in range(15) for j in range(15)]}

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    st.write(folder / "in", {"a": ("I8", [64], a), "b": ("I8", [64], b)})
    called = run("run", folder / "m.c", "--inputs", folder / "in", "-o", folder / "out", "--target", "reference")
    if not ok(called.returncode == 0, "the model runs"):
        note(called.stderr)
    got = st.read(folder / "out")
    for op, values in want.items():
        equal(got[op][2], values, op)

# Every number of columns that vectors store together, with factors that need no limits and with some that do. Of the
# 258 terms AVX2 takes words of weights by kinds (loops/sorted_words.py), all of which are there.
COLUMNS = (24, 48, 64, 100, 144)
SCALES = {"small": [1e-4, 0.003, -0.002], "large": [1e-4, 3e8, -1e12], "none": [1e-4, math.nan, math.inf]}
LAYERS = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_tensor x = tc_input(g, "x", TC_I8, 3, 13, 258), y = tc_input(g, "y", TC_U8, 37, 70);
    tc_weights(g, "w.safetensors");
""" + "".join(f"""    tc_output(g, "{kind}{n}", tc_quantized_linear(.x = {{{x}, 0.5f, 11}},
                                             .w = tc_weight(g, "{kind}_w{n}"),
                                             .w_scale = tc_weight(g, "{kind}{n}"), .scale = 0.5f, .zero = {zero},
                                             .floats = true));
""" for n in COLUMNS for kind, zero, x in (("small", -128, "x"), ("large", 7, "x"), ("small", 200, "y"),
                                           ("none", 0, "y")) if (kind, x) != ("small", "xy"[n % 32 == 0])) + "}\n"
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(LAYERS, encoding="utf-8")
    # one product for each result: sums that two results share are stored otherwise
    terms = {(kind, n): 258 if kind == "large" or kind == "small" and n % 32 == 0 else 70
             for n in COLUMNS for kind in SCALES}
    tensors = {f"{kind}_w{n}": ("I8", [n, k], [rng.randrange(-most, most) for j in range(n) for _ in range(k)
                                               for most in [(128, 64, 85)[j // 8 % 3]]])
               for (kind, n), k in terms.items()}
    tensors |= {f"{kind}{n}": ("F32", [n], [some[i * i % 3] for i in range(n)]) for n in COLUMNS
                for kind, some in SCALES.items()}
    st.write(folder / "w.safetensors", tensors)
    bits("results of vectors are those of the interpreter", folder / "m.c", "--isa",
         "avx2,avx512,avx512_vnni,avx512_amx", least=15)

# A difference of infinite numbers within a rounding that needs no limits.
NONE = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_tensor x = tc_input(g, "x", TC_I8, 3, 13, 70), r = tc_input(g, "r", TC_I8, 3, 13, 80);
    tc_weights(g, "w.safetensors");
    tc_tensor y = tc_quantized_linear(.x = {x, 0.5f, 11}, .w = tc_weight(g, "w"),
                                      .w_scale = tc_full(g, 1e-3, TC_F32, 80), .scale = 0.5f, .floats = true);
    tc_tensor z = tc_quantized_sub(.a = {y, 3.7f, 0}, .b = {r, 3.7f, 0}, .scale = 1e-37f, .zero = 3, .floats = true);
    tc_output(g, "z", tc_quantized_add(.a = {z, 0.05f, 1}, .b = {r, 0.03f, 2}, .scale = 0.1f, .floats = true));
}
"""
with tempfile.TemporaryDirectory() as name:
    (Path(name) / "m.c").write_text(NONE, encoding="utf-8")
    st.write(Path(name) / "w.safetensors", {"w": ("I8", [80, 70], [rng.randrange(-128, 128) for _ in range(80 * 70)])})
    bits("what is no number is rounded as the interpreter does", Path(name) / "m.c", "--isa", "avx2,avx512_vnni")

# Rounded products that are added to: within the limits, beyond them, and halfway between two integers.
ADDED = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_tensor x = tc_input(g, "x", TC_I8, 3, 13, 64), r = tc_input(g, "r", TC_I8, 3, 13, 96);
    tc_weights(g, "w.safetensors");
""" + "".join(f"""    tc_affine y{i} = {{tc_quantized_linear(.x = {{x, 0.5f, 11}}, .w = tc_weight(g, "w{i}"),
                                         .w_scale = tc_weight(g, "scale"), .scale = 0.5f, .zero = {zero},
                                         .floats = true), 0.05f, {zero}}};
    tc_output(g, "z{i}", tc_quantized_add(.a = y{i}, .b = {{r, 0.03f, 2}}, .scale = {scale}, .zero = 3,
                                          .floats = true));
""" for i, (zero, scale) in enumerate(((-128, "0.05f"), (19, "0.3f")))) + "}\n"
with tempfile.TemporaryDirectory() as name:
    (Path(name) / "m.c").write_text(ADDED, encoding="utf-8")
    tensors = {f"w{i}": ("I8", [96, 64], [rng.randrange(-most, most) for _ in range(96 * 64)])
               for i, most in enumerate((128, 8))}
    st.write(Path(name) / "w.safetensors", tensors | {"scale": ("F32", [96], [(0.2, 1e-3, 0.125, 3e-5)[i % 4]
                                                                           for i in range(96)])})
    bits("rounded products that are added to have the interpreter's bits", Path(name) / "m.c", "--isa",
         "avx2,avx512_vnni,avx512_amx", least=2)

# Sums of as many terms by what the caller guarantees alone: 2 n = 3 k. Words that are not sorted say so. And weights
# that another variant sorts: of known rows.
SIZES = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_dim n = tc_dynamic(g, "n", 1, 400), k = tc_dynamic(g, "k", 1, 400);
    tc_tensor x = tc_cast(tc_input(g, "x", TC_I8, 3, 16, tc_dim_mul(n, 2)), TC_I32);
    tc_output(g, "z", tc_matmul(x, tc_cast(tc_input(g, "y", TC_I8, tc_dim_mul(k, 3), 80), TC_I32)));
    tc_weights(g, "w.safetensors");
    tc_tensor v = tc_cast(tc_input(g, "v", TC_U8, 2, tc_dynamic(g, "rows", 1, 40), 259), TC_I32);
    tc_output(g, "sums", tc_matmul(v, tc_cast(tc_weight(g, "w"), TC_I32)));
}
"""
with tempfile.TemporaryDirectory() as name:
    (Path(name) / "m.c").write_text(SIZES, encoding="utf-8")
    words = [rng.randrange(-128, 128) for _ in range(259 * 80)]
    st.write(Path(name) / "w.safetensors", {"w": ("I8", [259, 80], words)})
    called = run("check", Path(name) / "m.c", "--isa", "avx2", "--specialize", "rows=16", "--dims",
                 "n=150,k=100,rows=5")
    if not ok(called.returncode == 0 and called.stdout.count("bits of the interpreter:") == 2,
              "sums of bytes whose terms are counted in two ways, and beside those of sorted words"):
        note(called.stdout + called.stderr)
done()
