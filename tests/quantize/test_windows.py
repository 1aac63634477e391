# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions of bytes by words of AVX-512 VNNI and by pairs of AVX2: the bits of the interpreter. An image
of floats as three bytes a point."""
import math
import platform
import random
import re
import subprocess
import tempfile
from pathlib import Path

from processor import lacks
from samples import bits, run, st
from tap import done, equal, note, ok
from tensor_compile import target as targets
from tensor_compile.compile import toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.host_programs import TEMPLATES

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
# Calls a kernel as a team of 16 whose image is {bytes} bytes of batch 3: how many of its lines are fetched, and how
# many other fetches there are. One thread fetches nothing.
FETCHED = """#include <stdio.h>
#include <stdlib.h>
#include "tc_kernel.h"
tc_kernel {symbol};
static _Alignas(64) unsigned char image[{bytes} + 64], out[{bytes} * 4 + 64], weights[1 << 14], numbers[3][1 << 12];
static unsigned char hits[{bytes} / 64 + 2];
static long others, alone;

void prefetch_seen(const void *at)
{{
    const long byte = (const unsigned char *)at - image;
    if (byte >= 0 && byte < {bytes})
        hits[byte / 64] = 1;
    else
        ++others;
    ++alone;
}}

int main(void)
{{
    void *p[] = {{image, weights, {numbers}out, out}};
    const tc_index d[] = {{3}};
    {symbol}(p, d, 0, 1);
    const long first = alone;
    for (tc_index i = 0; i < 16; ++i)
        {symbol}(p, d, i, 16);
    long lines = 0;
    for (long i = 0; i < ({bytes} + 63) / 64; ++i)
        lines += hits[i];
    printf("%ld %ld %ld\\n", lines, others, first);
    return 0;
}}
"""


def fetches(kernel: Path, isa: str, folder: Path) -> None:
    """The threads of a team fetch the rows of the image that their first windows read, and nothing else."""
    text = kernel.read_text(encoding="utf-8")
    symbol = re.search(r"^void (\w+)\(void \*const \*p", text, re.M).group(1)
    shape = re.search(r"p\[0\] +[ui]8\[batch, (\d+), (\d+), (\d+)\]", text)
    size = 3 * math.prod(map(int, shape.groups()))
    numbers = "".join(f"numbers[{i}], " for i in range(len(re.findall(r" \*   p\[\d+\]  packed [if]32", text))))
    arch = platform.machine()
    compiler = toolchain.detect(("cc",), Cache(folder).root, "compiler")
    flags = toolchain.kernel_flags(compiler, isa, targets.load(targets.find(arch)).flags, (), arch)
    (folder / "main.c").write_text(FETCHED.format(symbol=symbol, bytes=size, numbers=numbers), encoding="utf-8")
    (folder / "seen.h").write_text("void prefetch_seen(const void *at);\n"
                                   "#define __builtin_prefetch(at, ...) prefetch_seen(at)\n", encoding="utf-8")
    subprocess.run([*compiler.command, *flags, "-O1", "-w", "-include", str(folder / "seen.h"),
                    f"-I{TEMPLATES / 'include'}", str(kernel), str(folder / "main.c"), "-o", str(folder / "fetched")],
                   check=True)
    lines, others, alone = map(int, subprocess.run([str(folder / "fetched")], capture_output=True, text=True,
                                                   check=True).stdout.split())
    ok(others == alone == 0 and lines >= 0.9 * (size // 64),
       f"{isa}, {'x'.join(shape.groups())}: {lines} of {size // 64} lines of the image, {others} others, {alone} alone")


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
    windows = [(p, p.stem.partition("__")[2]) for p, text in kernels.items() if "static inline void fetch" in text]
    equal({isa for _, isa in windows}, {"avx2", "avx512_vnni"}, "windows of both forms fetch")
    for kernel, isa in sorted(windows):
        if not lacks(isa):
            fetches(kernel, isa, folder)
    equal(sorted("channels_halves" in kernels[p] for p in made), sorted(0 < c % 64 <= 32 for c, *_ in CASES),
          "up to 32 channels that are left are those of two rows")
done()
