# SPDX-License-Identifier: Apache-2.0
"""Threads and shared memory of rows: what all sums of a phase take together has room in a block. Argument: nvcc, or
`none`; with it a kernel whose phases share the same memory compiles for a device."""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from emulation import ROOT

sys.path.insert(0, str(ROOT / "tests" / "kernels"))

import cases as forms
from attending import attend
from sums import CASES, REUSED
from wide_nests import NESTS, overwritten
from tap import done, equal, note, ok, skip
from tensor_compile import target as targets
from tensor_compile.compile.cuda_image import FLAGS
from tensor_compile.compile.cuda_target import Cuda
from tensor_compile.emit.cuda.half import emit_half
from tensor_compile.emit.cuda.kernels import emit_kernel
from tensor_compile.loops import line_tiles, schedule_cuda, schedule_half
from tensor_compile.loops.grouped_contractions import MOST_SUMS
from tensor_compile.loops.scalar_ir import Apply, Buffer, Load, Reduction
from tensor_compile.symbolic import Sym, ZERO, const, sym

nvcc = sys.argv[1] if len(sys.argv) > 1 else "none"
for case in CASES:
    kernel = case.kernel
    found = schedule_cuda.launch(kernel)
    equal((found.threads, schedule_cuda.is_team(kernel)), (case.threads, case.team), f"{case.name}: threads")
    source = emit_kernel(kernel)
    taken = re.search(r"__shared__ .*\[(\d+)\];", source.text)
    most = 0 if case.team else max(case.positions) * 12 * case.threads
    equal(int(taken[1]) if taken else 0, most, f"{case.name}: {most} bytes of shared memory")
    ok(most <= schedule_cuda.SHARED, f"{case.name}: within the limit")
    if case is not REUSED:
        continue
    if nvcc == "none":
        skip(f"{case.name}: compiles", "no nvcc")
        continue
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(source.text, encoding="utf-8")
        result = subprocess.run([nvcc, *FLAGS, "-fatbin", "-arch=sm_90", f"-I{ROOT}/templates/cuda",
                                 f"-I{ROOT}/templates/include", path, "-o", path.with_suffix(".bin")],
                                capture_output=True, text=True, check=False)
        if not ok(result.returncode == 0, f"{case.name}: compiles"):
            note(result.stdout + result.stderr)
for nest in NESTS:
    equal(schedule_cuda.launch(nest.kernel, units=schedule_cuda.Units("bf16")).wide > 0, nest.wide,
          f"{nest.name}: {'' if nest.wide else 'not '}eight points a thread")
for sums in range(1, MOST_SUMS + 1):   # what contraction.cu.in takes of them
    for name, found, most in (("", schedule_cuda.fitting(sums), 99), (" in tf32", schedule_cuda.matrix_tiles(sums), 99),
                              (" of 16 bits", schedule_half.fitting(sums, False), 99),
                              (" of 16 bits, wgmma", schedule_half.fitting(sums, True), 227),
                              (" in lines", line_tiles.fitting(sums), 227)):
        taken = max((tile.shared(sums) for tile in found), default=0)
        ok(found and taken <= most * 1024,
           f"{len(found)} tiles for {sums} sums{name}: at most {taken} bytes of shared memory")

# A block of compute capability 12.0 has 99 KiB, however late it is.
long = forms.matmul(512, 768, 768)
for isas, lines in ((("sm_90a",), True), (("sm_90", "sm_100"), True), (("sm_120",), False),
                    (("sm_90", "sm_121"), False), (("sm_80", "sm_90"), False)):
    units = schedule_cuda.units(replace(targets.load(targets.find("cuda-sm90")), isas=isas))
    found = schedule_cuda.shapes(long, units)
    equal(any(isinstance(shape, line_tiles.LineTile) for shape in found), lines, f"{', '.join(isas)}: lines")
    ok(lines or max(shape.shared(1) for shape in found) <= 99 * 1024, f"{', '.join(isas)}: tiles have room")

# Kernels that differ in nothing but whose memory a buffer is.
temp = CASES[0].kernel
names = {s.buffer for s in temp.stores}
caller = replace(temp, params=tuple(replace(b, kind="output") if b.name in names else b for b in temp.params))
temp = replace(temp, params=tuple(replace(b, kind="temp") if b.name in names else b for b in temp.params))
program = SimpleNamespace(kernel_steps=[SimpleNamespace(kernel=kernel) for kernel in (temp, caller)])
function = SimpleNamespace(built=[SimpleNamespace(program=program)], is_plain=lambda variant: False)
target = targets.load(targets.find("cuda-sm90"))
sources = Cuda().sources(None, SimpleNamespace(functions=[function]), target)
for kernel, wanted, name in ((temp, 0, "a temp's address comes as it is"),
                             (caller, len(names), "a caller's may lie in a table")):
    at = [i for i, b in enumerate(kernel.params) if b.name in names]
    text = sources.of_kernel[kernel, target.isas[0], False].text
    equal(sum(f"tc_external(arguments.p[{i}])" in text for i in at), wanted, name)

# What an epilogue loads for all points alike is read behind the wait for the kernel in front.
terms = Sym("terms", 0, 39)
for name, value in (("an element", Load("t", "f32", (ZERO,))),
                    ("a sum", Reduction("sum", "seq", "f32", (terms,), Load("t", "f32", (sym(terms),))))):
    for rows, tile in ((1, None), (128, schedule_half.BULK_TILES[-1])):
        plain = forms.matmul(rows, 128, 1024, panel=1, bias=False)
        a, b = (Load(x.buffer, "bf16", x.index) for x in (plain.a, *plain.b))
        (stored,) = plain.stores
        params = (replace(plain.params[0], kind="temp", dtype="bf16"), replace(plain.params[1], dtype="bf16"),
                  Buffer("t", "f32", (const(40),), (0,), "temp"), plain.params[2])
        kernel = replace(plain, a=a, b=(b,), params=params,
                         stores=(replace(stored, value=Apply("add", "f32", (stored.value, value))),))
        text = emit_half(kernel, "k", "bf16", tile) if tile else emit_kernel(kernel, schedule_cuda.Units("bf16")).text
        ok(text.index("tc_begin_wait();") < text.index("p2["),
           f"{name}, {'in blocks that stay' if tile else 'few rows'}")
    exact = forms.matmul(128, 128, 1024, bias=False)
    (stored,) = exact.stores
    params = (*exact.params[:2], Buffer("t", "f32", (const(40),), (0,), "temp"), exact.params[2])
    for shape in (schedule_cuda.TILES[0], line_tiles.TILES[0]):
        kernel = replace(exact, params=params, shape=shape,
                         stores=(replace(stored, value=Apply("add", "f32", (stored.value, value))),))
        text = emit_kernel(kernel, schedule_cuda.Units("f32", True, True)).text
        ok(text.index("tc_begin_wait();") < text.index("p2["), f"{name}, {schedule_cuda.shape_name(shape)}")

# What a row's last phase stores over what an earlier one has stored is stored once; what that loads itself stays.
for nest, stores in zip(overwritten(), (1, 2, 2)):
    text = emit_kernel(nest.kernel).text
    equal(len(re.findall(r"^ *p\d\[.*\] = ", text, re.MULTILINE)), stores, nest.name)

# Where a mask leaves out terms, small tiles beside each other take turns.
for given, wanted in ((True, schedule_cuda.Tile), (False, schedule_cuda.LineTile)):
    kernel, units = forms.predicated(512, 768, 512, given=False), schedule_cuda.Units("f32", True, True)
    shape = schedule_cuda.shapes(kernel if given else replace(kernel, where=None), units)[0]
    ok(isinstance(shape, wanted), f"{'some' if given else 'all'} terms: {schedule_cuda.shape_name(shape)}")

# So are what comes in lines and is no constant, and what is added to sums.
kernel = replace(forms.matmul(33, 70, 96, residual=True), shape=line_tiles.TILES[0])
text = emit_kernel(kernel, schedule_cuda.Units("f32", True, True)).text
ok(text.index("tc_begin_wait();") < text.index("first_operand(again)") and
   text.rindex("tc_begin_wait();") < text.index("= p3["), "lines and residuals")

# Each thread that reads a piece says that it has, behind its own reads: racecheck sees no lane that speaks for others.
for tile in (line_tiles.TILES[0], next(t for t in line_tiles.TILES if t.ahead)):
    text = emit_kernel(replace(forms.matmul(33, 70, 256), shape=tile), schedule_cuda.Units("f32", True, True)).text
    arrivals = re.findall(r"tc_full_init\(empty \+ i, (.*?)\);", text)
    equal(arrivals, ["MULTIPLYING"], "those that say a piece is not needed")
    equal(re.findall(r"(.*)\n.*tc_empty_arrive", text), ["            __syncwarp();"], "all of them say so")

# A query's keys are parted among the blocks of a cluster; each takes what it has at once, where registers have room.
for keys, wanted in ((513, "q16_k80_c8"), (512, "q16_k64_c8"), (1024, "q16_k128_c8"), (1025, "q16_k64_c8"),
                     (100, "q16_k64_c2")):
    shape = schedule_cuda.shapes(attend(8, 4, keys, 64), schedule_cuda.Units("bf16", True))[0]
    equal(schedule_cuda.shape_name(shape), f"attention_{wanted}", f"{keys} keys")

# Kernels with operands of 32 bits do not let the next one begin beside them.
exact = forms.matmul(128, 128, 1024, panel=1, bias=False)
for precision in ("f32", "tf32"):
    text = emit_kernel(exact, schedule_cuda.Units(precision)).text
    ok("tc_begin_wait();" in text and "tc_begin();" not in text and "tc_begin_others();" not in text,
       f"{precision}: the next kernel comes when this one ends")
done()
