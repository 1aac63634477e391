# SPDX-License-Identifier: Apache-2.0
"""Products of bytes whose full tiles end in bytes: several tiles and rows that are left, words of sums that sorting
takes and that it leaves, windows of three channels, both signs of rows and results, a residual; the bits of the
interpreter. Full tiles of AVX2 are called with the tile's first row, and their sums start from zeros: columns are
loaded as they are before their bits were turned. Loops over sorted words keep their sums in registers."""
import random
import re
import shutil
import tempfile
from pathlib import Path

from disassembly import functions, inner_loops, OBJDUMP
from samples import bits, run, st
from tap import done, note, ok, skip

# channels, height, width, filters, window, dtype, scale, residual
CASES = [(19, 5, 8, 37, 1, "I8", 4e-3, False), (20, 6, 5, 24, 3, "U8", 1e-3, True),
         (280, 4, 7, 80, 1, "I8", 2e-3, False), (3, 7, 6, 16, 3, "U8", 3e-3, False),
         (5, 4, 7, 16, 1, "I8", 5e-3, False), (3, 6, 9, 24, 3, "I8", 3e-3, True), (9, 5, 6, 32, 3, "U8", 2e-3, False)]
rng = random.Random(11)
with tempfile.TemporaryDirectory() as name:
    folder, tensors = Path(name), {}
    text = "#include <tensor_compile/model.h>\nTC_MODEL(m)\n{\n    tc_weights(g, \"w.safetensors\");\n"
    for i, (c, h, w, n, k, dtype, scale, residual) in enumerate(CASES):
        tensors |= {f"w{i}": ("I8", [n, c, k, k], [rng.randrange(-128, 128) if rng.random() < 0.3 else
                                                   rng.randrange(-30, 30) for _ in range(n * c * k * k)]),
                    f"s{i}": ("F32", [n], [scale * (j % 5 - 1) for j in range(n)]),
                    f"b{i}": ("I32", [n], [rng.randrange(-9999, 9999) for _ in range(n)])}
        text += f"""    tc_tensor x{i} = tc_permute(tc_input(g, "x{i}", TC_{dtype}, 1, {h}, {w}, {c}), 0, 3, 1, 2);
    tc_tensor y{i} = tc_quantized_conv(.x = {{x{i}, 0.5f, 11}}, .w = tc_weight(g, "w{i}"),
                                       .w_scale = tc_weight(g, "s{i}"), .bias = tc_weight(g, "b{i}"), .scale = 0.5f,
                                       .zero = {3 * i}, .floats = true, .low = {{{k // 2}, {k // 2}}},
                                       .high = {{{k // 2}, {k // 2}}});
"""
        if residual:
            text += f"""    tc_tensor r{i} = tc_permute(tc_input(g, "r{i}", TC_{dtype}, 1, {h}, {w}, {n}), 0, 3, 1, 2);
    y{i} = tc_quantized_add(.a = {{y{i}, 0.5f, {3 * i}}}, .b = {{r{i}, 0.3f, 4}}, .scale = 0.6f, .zero = 5,
                          .floats = true);
"""
        text += f"    tc_output(g, \"y{i}\", tc_permute(y{i}, 0, 2, 3, 1));\n"
    (folder / "m.c").write_text(text + "}\n", encoding="utf-8")
    st.write(folder / "w.safetensors", tensors)
    # words of AVX2 alone are sorted or pairs of 16 bits; beside VNNI, whose panels it reads, it takes bytes apart
    for sets in ("avx2", "avx2,avx_vnni"):
        bits(f"{sets}: tiles that end in bytes have the bits of the interpreter", folder / "m.c", "--isa", sets)
    if shutil.which(OBJDUMP["x86_64"]):
        built = run("build", folder / "m.c", "--isa", "avx2", "-o", folder / "out")
        loops = [loop for name, body in functions(folder / "out" / "m.o", "x86_64").items() if name.startswith("whole")
                 for loop in inner_loops(body) if sum("vpmaddubsw" in line for line in loop) == 12]
        stored = [line for loop in loops for line in loop if re.search(r"\tvmov\w+\s+%ymm\d+,\S*\(", line)]
        if not ok(loops and not stored, "loops over sorted words store none of their sums"):
            note(f"{len(loops)} loops\n" + "\n".join(stored[:4]) + built.stdout + built.stderr)
    else:
        skip("loops over sorted words", "no objdump")

# Rows of unsigned bytes that are read where they lie: at any byte and further apart than they are long; of a part of an
# image, whose lines lie further apart; windows that share columns; of batches, with a residual.
LYING = {"cut": ("2, 5, 7, 72", "tc_slice(x, 3, 3, 67)", 64, 48, 1), "part": (
    "1, 9, 9, 64", "tc_slice(tc_slice(x, 1, 1, 9), 2, 1, 9)", 64, 100, 1), "wide": ("1, 8, 9, 64", "x", 64, 32, 3),
    "lower": ("2, 5, 7, 100", "tc_slice(x, 3, 2, 98)", 96, 48, 1), "more": ("1, 7, 7, 160", "x", 160, 80, 1),
    "batch": ("n, 5, 7, 128", "tc_maximum(x, tc_flip(x, 3))", 128, 128, 1),
    "sorted": ("1, 6, 9, 270", "tc_slice(x, 3, 3, 263)", 260, 80, 1)}
with tempfile.TemporaryDirectory() as name:
    folder, tensors = Path(name), {}
    text = "#include <tensor_compile/model.h>\nTC_MODEL(m)\n{\n    tc_dim n = tc_dynamic(g, \"n\", 1, 3);\n" \
        "    tc_weights(g, \"w.safetensors\");\n"
    for case, (shape, rows, c, n, k) in LYING.items():
        tensors |= {f"w_{case}": ("I8", [n, c, 1, k], [rng.randrange(-30, 30) for _ in range(n * c * k)]),
                    f"s_{case}": ("F32", [n], [4e-3 * (j % 5 - 1) for j in range(n)]),
                    f"b_{case}": ("I32", [n], [rng.randrange(-9999, 9999) for _ in range(n)])}
        text += f"""    {{
        tc_tensor x = tc_input(g, "x_{case}", TC_U8, {shape}), rows = tc_permute({rows}, 0, 3, 1, 2);
        tc_tensor y = tc_quantized_conv(.x = {{rows, 0.5f, 0}}, .w = tc_weight(g, "w_{case}"),
                                        .w_scale = tc_weight(g, "s_{case}"), .bias = tc_weight(g, "b_{case}"),
                                        .scale = 0.5f, .zero = 3, .floats = true);
"""
        if case == "batch":
            text += """        tc_tensor r = tc_permute(x, 0, 3, 1, 2);
        r = tc_max_pool2d(r, .kernel = {3, 3}, .padding = {1, 1}, .stride = {1, 1});
        y = tc_quantized_add(.a = {y, 0.5f, 3}, .b = {r, 0.3f, 4}, .scale = 0.6f, .zero = 5, .floats = true);
        y = tc_max_pool2d(y, .kernel = {3, 3}, .padding = {1, 1}, .stride = {1, 1});
"""
        text += f"        tc_output(g, \"y_{case}\", tc_permute(y, 0, 2, 3, 1));\n    }}\n"
    (folder / "m.c").write_text(text + "}\n", encoding="utf-8")
    st.write(folder / "w.safetensors", tensors)
    for sets, threads in (("avx2", 1), ("avx2", 3),
                          ("avx2,avx_vnni", 1), ("avx512_vnni,avx512_amx", 1), ("avx512_vnni,avx512_amx", 3)):
        bits(f"{sets}, {threads} threads: rows where they lie have the bits of the interpreter", folder / "m.c",
             "--isa", sets, "--threads", threads)
done()
