# SPDX-License-Identifier: Apache-2.0
"""A thread arranges the weights of a convolution by lines of images (emit/contraction/image_lines.py) once for all its
pieces: they are cleared behind its first piece, and its next ones give the same results. Another step, with cleared
weights, does not.
"""
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from cases import image
from processor import lacks
from tap import done, equal, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile import toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.emit.contraction import image_lines
from tensor_compile.emit.contraction.source import emit_contraction
from tensor_compile.emit.contraction.schedules import with_scratch
from tensor_compile.loops import products
from tensor_compile.loops.loop_ir import ContractionKernel

ISA = "avx512_vnni"
PIECES = 5
TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "include"
PROGRAM = """
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef ptrdiff_t tc_index;
void kernel(void *const *p, const tc_index *d, tc_index thread, tc_index threads);
enum {{ COUNT = {count}, X = {x}, W = {w}, Y = {y}, PIECES = {pieces} }};
static const size_t sizes[COUNT] = {{{sizes}}};
static void run(void **p, tc_index *held, tc_index first, tc_index end)
{{
    p[COUNT] = held;
    for (tc_index piece = first; piece < end; ++piece)
        kernel(p, 0, piece, PIECES);
}}
int main(void)
{{
    void *p[COUNT + 1];
    for (int i = 0; i < COUNT; ++i) {{
        p[i] = aligned_alloc(64, (sizes[i] + 63) / 64 * 64);
        for (size_t at = 0; at < sizes[i]; ++at)
            ((unsigned char *)p[i])[at] = i == X || i == W ? (unsigned char)(at * at * 37 + at / 3) : 0;
    }}
    char *const expected = malloc(sizes[Y]);
    run(p, NULL, 0, PIECES);
    memcpy(expected, p[Y], sizes[Y]);
    memset(p[Y], 0, sizes[Y]);
    tc_index held[6] = {{0, 0, 0, 1}}, next[6] = {{0, 0, 0, 1}};
    run(p, held, 2, 3);
    memset(p[W], 0, sizes[W]);
    run(p, held, 3, PIECES);
    run(p, held, 0, 2);
    printf("%d", memcmp(expected, p[Y], sizes[Y]) == 0);
    run(p, next, 0, PIECES);
    printf(" %d\\n", memcmp(expected, p[Y], sizes[Y]) == 0);
    return 0;
}}
"""


def program(kernel: ContractionKernel) -> str:
    sizes = [p.elements.value * {"f32": 4, "i32": 4}.get(p.dtype, 1) for p in kernel.params]
    number = {p.name: i for i, p in enumerate(kernel.params)}
    return PROGRAM.format(count=len(sizes), sizes=", ".join(map(str, sizes)), pieces=PIECES,
                          **{name: number[name] for name in "xwy"})


def main() -> None:
    if lacks(ISA):
        skip("arranged weights", f"this processor lacks {', '.join(lacks(ISA))}")
        done()
    target = targets.load(targets.find("x86_64"))
    unsigned, signed = (products.integers(a, "i8", "x86_64")[0] for a in ("u8", "i8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiler = toolchain.detect(("cc",), Cache(folder / "cache").root, "compiler")
        flags = toolchain.kernel_flags(compiler, ISA, target.flags, (), target.arch)
        for kernel in (image(3, 13, 33, 72, (3, 3), 2, 1, unsigned, "u8", 0),
                       image(2, 9, 25, 32, (5, 5), 1, 2, signed, "i8", 3)):
            schedule = image_lines.schedule_of(kernel, ISA)
            assert schedule is not None
            roomy = with_scratch(kernel, [schedule])
            (folder / "kernel.c").write_text(emit_contraction(roomy, [schedule], "kernel").text, encoding="utf-8")
            (folder / "main.c").write_text(program(roomy), encoding="utf-8")
            commands = (["cc", *flags, "-O1", f"-I{TEMPLATES}", "-c", "kernel.c"],
                        ["cc", "-std=c11", "main.c", "kernel.o", "-o", "main"])
            for command in commands:
                found = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
                ok(found.returncode == 0, f"{schedule.name}: {command[-1]} is made {found.stderr}")
            said = subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout.split()
            equal(said, ["1", "0"], f"{schedule.name}: weights are read by a thread's first piece alone")
    done()


if __name__ == "__main__":
    main()
