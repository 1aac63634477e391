# SPDX-License-Identifier: Apache-2.0
"""Convolutions of images of few channels by words of lines (emit/contraction/image_lines.py): the same bits."""
import math
import random
import tempfile
from pathlib import Path
from typing import Iterable

from samples import bits, run, st
from tap import done, equal, note, ok

# channels, height, width, filters, window, stride, padding low and high, dtype, in planes, scale, computed by lines
CASES = [
    (3, 9, 33, 32, (3, 3), (2, 2), (1, 1), (1, 1), "U8", False, 3e-3, True),
    (3, 8, 34, 16, (3, 3), (2, 2), (0, 0), (1, 1), "I8", False, 3e-3, True),
    (3, 13, 41, 64, (7, 7), (2, 2), (3, 3), (3, 3), "U8", False, 1e-3, True),
    (3, 9, 20, 24, (3, 3), (1, 1), (1, 1), (1, 1), "I8", False, 3e-3, True),
    (1, 8, 30, 96, (5, 5), (1, 1), (2, 2), (2, 2), "U8", False, 3e-3, True),
    (1, 7, 29, 80, (3, 3), (1, 2), (1, 1), (1, 1), "I8", False, 3e-3, True),
    (2, 7, 31, 40, (3, 5), (2, 2), (1, 2), (1, 2), "I8", False, 3e8, True),
    (2, 9, 23, 32, (3, 3), (1, 1), (0, 0), (0, 0), "U8", False, 3e8, True),
    (4, 9, 25, 64, (3, 3), (2, 2), (1, 1), (0, 1), "U8", False, 2e-3, True),
    (3, 9, 33, 32, (3, 3), (2, 2), (1, 1), (1, 1), "U8", True, 3e-3, True),
    (4, 10, 27, 48, (5, 5), (2, 1), (2, 2), (2, 2), "I8", True, 1e-3, True),
    (3, 12, 39, 24, (6, 6), (3, 3), (1, 2), (2, 1), "U8", False, 1e-3, True),
    (1, 6, 37, 32, (1, 5), (1, 2), (0, 2), (0, 1), "I8", False, 3e-3, True),      # one line
    (16, 9, 21, 32, (1, 1), (2, 2), (0, 0), (0, 0), "U8", False, 3e-3, False),    # windows that share nothing
    (3, 5, 11, 32, (3, 3), (2, 2), (1, 1), (1, 1), "U8", False, 3e-3, False),     # few windows a row
    (12, 6, 20, 32, (5, 5), (1, 1), (2, 2), (2, 2), "U8", False, 1e-3, False)]    # many words
# The same of signals, images of one dim: their windows lie in one line, or in one a channel.
SIGNALS = [
    (3, (60,), 32, (5,), (2,), (2,), (1,), "U8", False, 3e-3, True),
    (2, (47,), 48, (9,), (1,), (8,), (0,), "I8", False, 1e-3, True),
    (1, (96,), 64, (16,), (4,), (0,), (0,), "U8", False, 2e-3, True),
    (4, (50,), 24, (7,), (2,), (3,), (3,), "I8", True, 1e-3, True),
    (2, (41,), 40, (5,), (3,), (2,), (1,), "U8", True, 3e-3, True),
    (2, (41,), 40, (6,), (3,), (2,), (1,), "U8", True, 3e-3, False),     # words of terms of both lines
    (8, (40,), 32, (1,), (1,), (0,), (0,), "U8", False, 3e-3, False)]    # windows that share nothing
rng = random.Random(17)


def listed(sizes: Iterable[int]) -> str:
    return ", ".join(map(str, sizes))


with tempfile.TemporaryDirectory() as name:
    folder, tensors = Path(name), {}
    text = "#include <tensor_compile/model.h>\nTC_MODEL(m)\n{\n    tc_dim batch = tc_dynamic(g, \"batch\", 1, 4);\n" \
        "    tc_weights(g, \"w.safetensors\");\n"
    both = [(c, (h, w), *more) for c, h, w, *more in CASES] + SIGNALS
    for i, (c, size, n, window, stride, low, high, dtype, planes, scale, _) in enumerate(both):
        taps = c * math.prod(window)
        tensors |= {f"w{i}": ("I8", [n, c, *window], [rng.randrange(-128, 128) for _ in range(n * taps)]),
                    f"s{i}": ("F32", [n], [scale * (j % 5 - 1) for j in range(n)]),
                    f"b{i}": ("I32", [n], [rng.randrange(-9999, 9999) for _ in range(n)])}
        bias = f".bias = tc_weight(g, \"b{i}\"), " if i % 3 else ""
        first = listed(range(1, 1 + len(size)))
        image = f"tc_input(g, \"x{i}\", TC_{dtype}, batch, {c}, {listed(size)})" if planes else \
            f"tc_permute(tc_input(g, \"x{i}\", TC_{dtype}, batch, {listed(size)}, {c}), 0, {1 + len(size)}, {first})"
        text += f"""    tc_output(g, "y{i}", tc_permute(tc_quantized_conv(.x = {{{image}, 0.5f, {11 * (i % 2)}}},
                                           .w = tc_weight(g, "w{i}"), .w_scale = tc_weight(g, "s{i}"),
                                           {bias}.scale = 0.5f, .zero = {3 * i}, .floats = true,
                                           .stride = {{{listed(stride)}}}, .low = {{{listed(low)}}},
                                           .high = {{{listed(high)}}}), 0, {listed(range(2, 2 + len(size)))}, 1));
"""
    text += "    tc_tensor image = tc_permute(tc_input(g, \"image\", TC_U8, batch, 9, 21, 3), 0, 3, 1, 2);\n"
    for j, n in enumerate((32, 24)):    # of one image: parts of one kernel
        tensors |= {f"both{j}": ("I8", [n, 3, 3, 3], [rng.randrange(-128, 128) for _ in range(n * 27)]),
                    f"scale{j}": ("F32", [n], [2e-3 * (i % 7 - 2) for i in range(n)])}
        text += f"""    tc_output(g, "of{j}", tc_permute(tc_quantized_conv(.x = {{image, 0.5f, 7}},
                                           .w = tc_weight(g, "both{j}"), .w_scale = tc_weight(g, "scale{j}"),
                                           .scale = 0.5f, .zero = 9, .floats = true, .low = {{1, 1}},
                                           .high = {{1, 1}}), 0, 2, 3, 1));
"""
    (folder / "m.c").write_text(text + "}\n", encoding="utf-8")
    st.write(folder / "w.safetensors", tensors)
    for threads in (1, 2, 5):
        bits(f"{threads} threads: images of few channels have the bits of the interpreter", folder / "m.c", "--isa",
             "avx2,avx512_vnni", "--dims", "batch=2", "--threads", threads)
    called = run("build", folder / "m.c", "--isa", "avx2,avx512,avx512_vnni", "--emit", "c", "-o", folder / "out")
    made = [p for p in (folder / "out").glob("*__*.c") if "tct_copy_line" in p.read_text(encoding="utf-8")]
    if not ok(called.returncode == 0 and all(p.stem.endswith("__avx512_vnni") for p in made),
              "lines are those of AVX-512 VNNI alone"):
        note(f"{called.stderr}{sorted(p.name for p in made)}")
    calls = sum(p.read_text(encoding="utf-8").count("tct_copy_line(") for p in made)
    equal(calls, sum(by_lines for *_, by_lines in both) + 2, "what is computed by lines")
done()
