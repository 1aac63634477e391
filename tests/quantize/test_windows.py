# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions of bytes by words of AVX-512 VNNI and by pairs of AVX2: the bits of the interpreter. An image
of floats as three bytes a point."""
import random
import tempfile
from pathlib import Path

from samples import bits, run, st
from tap import done, equal, note, ok

# channels, height, width, window, stride, padding (low = high), dtype, scale
CASES = [(16, 7, 9, (3, 3), (1, 1), (1, 1), "U8", 3e-3), (96, 9, 8, (3, 3), (2, 2), (1, 1), "I8", 3e-3),
         (80, 6, 5, (4, 2), (1, 2), (2, 0), "I8", 3e8), (192, 3, 6, (3, 3), (1, 1), (1, 1), "I8", 3e-3),
         (32, 4, 5, (3, 3), (1, 1), (1, 1), "U8", 3e-3), (128, 5, 4, (3, 3), (2, 1), (1, 1), "I8", 3e-3),
         (144, 5, 6, (3, 3), (1, 1), (1, 1), "U8", 3e-3), (112, 4, 3, (3, 3), (1, 1), (1, 1), "I8", 3e-3)]
UNSHIFTED = 4   # from here on values have the zero 0: taps in the padding are left out
HEAD = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4);
    tc_weights(g, "w.safetensors");
    tc_tensor image = tc_input(g, "image", TC_F32, batch, 3, 5, 32);
    tc_tensor bytes = tc_quantize(image, tc_full(g, 0.04, TC_F32), tc_full(g, -3, TC_I8));
    tc_output(g, "bytes", tc_permute(bytes, 0, 2, 3, 1));
"""
rng = random.Random(5)
with tempfile.TemporaryDirectory() as name:
    folder, text, tensors = Path(name), HEAD, {}
    for i, (c, h, w, (ky, kx), (sy, sx), (py, px), dtype, scale) in enumerate(CASES):
        tensors |= {f"w{i}": ("I8", [c, 1, ky, kx], [rng.randrange(-128, 128) for _ in range(c * ky * kx)]),
                    f"s{i}": ("F32", [c], [scale * (j % 5 - 1) for j in range(c)]),
                    f"b{i}": ("I32", [c], [rng.randrange(-9999, 9999) for _ in range(c)])}
        bias = f".bias = tc_weight(g, \"b{i}\"), " if i % 3 else ""
        text += f"""    tc_tensor x{i} = tc_permute(tc_input(g, "x{i}", TC_{dtype}, batch, {h}, {w}, {c}), 0, 3, 1, 2);
    tc_output(g, "y{i}", tc_permute(tc_quantized_conv(.x = {{x{i}, 0.5f, {11 if i < UNSHIFTED else 0}}},
                                           .w = tc_weight(g, "w{i}"), .w_scale = tc_weight(g, "s{i}"),
                                           {bias}.scale = 0.5f, .zero = {3 * i},
                                           .floats = true, .stride = {{{sy}, {sx}}}, .low = {{{py}, {px}}},
                                           .high = {{{py}, {px}}}, .groups = {c}), 0, 2, 3, 1));
"""
    (folder / "m.c").write_text(text + "}\n", encoding="utf-8")
    st.write(folder / "w.safetensors", tensors)
    bits("windows of bytes have the bits of the interpreter", folder / "m.c", "--isa", "avx2,avx512_vnni", "--dims",
         "batch=3", "--threads", 4)
    called = run("build", folder / "m.c", "--isa", "avx2,avx512,avx512_vnni", "--emit", "c", "-o", folder / "out")
    kernels = {p: p.read_text(encoding="utf-8") for p in (folder / "out").glob("*__*.c")}
    made = [p for p, text in kernels.items() if "tct_interleave" in text]
    together = {p.stem.partition("__")[2] for p, text in kernels.items() if "tcv_store_three_bytes" in text}
    ok(together >= {"avx2", "avx512"}, "three bytes of a point are stored together")
    if not ok(called.returncode == 0 and len(made) == len(CASES) and \
              all(p.stem.endswith("__avx512_vnni") for p in made),
              "those of AVX-512 VNNI are words, and no others"):
        note(f"{called.stderr}{sorted(p.name for p in made)}")
    equal(sorted("channels_halves" in kernels[p] for p in made), sorted(0 < c % 64 <= 32 for c, *_ in CASES),
          "up to 32 channels that are left are those of two rows")
done()
