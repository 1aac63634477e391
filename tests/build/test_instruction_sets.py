# SPDX-License-Identifier: Apache-2.0
"""The table of instruction sets: what is read from it, mistakes in it, and a model for all sets of this
architecture."""
import platform
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import forked
from processor import lacks
from tap import done, equal, ok, raises, skip
from tensor_compile.emit.contraction.candidate_table import candidates, has_candidates
from tensor_compile.instruction_sets import INSTRUCTION_SETS, TABLE, baseline, instruction_set, read_instruction_sets
from tensor_compile.loops.contraction_schedule import parse
from tensor_compile.target import ARCHITECTURES, find, load

equal(ARCHITECTURES["x86_64"], ("scalar", "x86_64", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "avx512_amx"),
      "x86-64: in ascending order of preference")
equal([ARCHITECTURES[arch] for arch in ("aarch64", "riscv64", "arm", "riscv32")],
      [("scalar", "neon", "neon_dot"), ("rv64",), ("m0", "m4f", "m55"), ("rv32",)],
      "the other architectures")
for arch, sets in ARCHITECTURES.items():
    if arch != "cuda":
        ok(not instruction_set(sets[0]).has_vectors, f"{arch}: its first set, that of the reference, has no vectors")
        ok(baseline(arch).name in sets, f"{arch}: its baseline is {baseline(arch).name}")
equal(load(find("x86_64")).isas, ("x86_64", "avx2", "avx512"), "what a target builds is its file's choice")

equal([f.option for f in instruction_set("avx512_bf16").features],
      ["avx", "avx2", "fma", "f16c", "avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512vnni", "avx512bf16"],
      "a set needs what its bases need")
equal(instruction_set("avx_vnni").compile_flags,
      ("-march=x86-64", "-mtune=haswell", "-mavx", "-mavx2", "-mfma", "-mf16c", "-mavxvnni", "-DTC_ISA_AVX2"),
      "flags of a set that takes another's vectors")
equal(instruction_set("neon_dot").compile_flags,
      ("-mno-outline-atomics", "-march=armv8.2-a+dotprod", "-DTC_ISA_NEON"), "flags of a set of AArch64")
equal(load(find("aarch64")).integer_isas, ("neon_dot",), "which is beside the baseline where bytes are multiplied")
for name, base in (("avx_vnni", "avx2"), ("avx512_vnni", "avx512"), ("avx512_bf16", "avx512"),
                   ("m55", "m4f"), ("neon_dot", "neon")):
    ok(not has_candidates(name), f"{name}: no line of its own in the table of candidates")
    equal([(c.op, c.dtype, c.rows, c.columns, c.isa) for c in candidates(name)],
          [(c.op, c.dtype, c.rows, c.columns, name) for c in candidates(base)], f"{name}: the candidates of {base}")
equal({(c.dtype, c.rows % 16, c.columns % 16) for c in candidates("avx512_amx") if c.dtype == "i32"}, {("i32", 0, 0)},
      "avx512_amx: whole tiles alone")
equal([c for c in candidates("avx512_amx") if c.dtype != "i32"],
      [replace(c, isa="avx512_amx") for c in candidates("avx512") if c.dtype != "i32"], "and its base's of other sums")
made = parse("tc_contraction_f32_8x48_k1152_m96_n480_a__avx512_bf16")
ok(made is not None and made.isa == "avx512_bf16" and made.packed_a, "a name with a set of two words")

table = TABLE.read_text(encoding="utf-8")
for old, new, what in (("TC_INSTRUCTION_SET(m4f, M4F, 6,", "TC_INSTRUCTION_SET(m4f, M4F, 5,", "a number twice"),
                       ("F16C, \"-march", "F17C, \"-march", "an unknown feature"),
                       ("AVX_VNNI, 7, AVX2,", "AVX_VNNI, 7, AVX3,", "an unknown base"),
                       ("BASELINE | PLAIN_SCHEDULE", "BASELINE | QUICK", "an unknown trait"),
                       ("4, 32, 24, 2, 2, 4, 0, \"-mno", "4, 32, 24, 2, 2, \"-mno", "a column too few")):
    assert old in table
    raises(ValueError, lambda: read_instruction_sets(table.replace(old, new)), "instruction_sets.def", what)

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(small)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 40), w = tc_input(g, "w", TC_F32, 40, 37);
    tc_output(g, "y", tc_softmax(tc_add(tc_matmul(x, w), tc_cast(tc_erf(tc_input(g, "b", TC_F16, 37)), TC_F32)), -1));
}
"""


def check(folder: Path, *more: str, code: int = 0) -> list[str]:
    result = forked.tool("check", folder / "small.c", "--build-cache", folder / "cache", *more)
    ok(result.returncode == code,
       "check " + " ".join(more)) or print("# " + (result.stdout + result.stderr).replace("\n", "\n# "))
    return result.stdout.splitlines()


def ran(lines: list[str], isa: str) -> bool:
    """A set's outputs were compared; otherwise it has to be skipped."""
    own = [line for line in lines if re.search(rf" {isa}: ", line)]
    skipped = any("skipped, this processor does not have it" in line for line in own)
    assert own and skipped != any("bits of the interpreter: y: " in line for line in own), lines
    return not skipped


if platform.machine() != "x86_64":
    skip("a model for every set of x86-64", "this machine is none")
    done()
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "small.c").write_text(MODEL, encoding="utf-8")
    sets = ARCHITECTURES["x86_64"][1:]
    lines = check(folder, "--isa", ",".join(reversed(sets)))
    for isa in sets:
        equal(ran(lines, isa), not lacks(isa), f"{isa}: its bits where the processor has it, else nothing runs")
    for isa in ("avx512_bf16", "avx512_amx"):
        lines = check(folder, "--isa", isa, code=1 if lacks(isa) else 0)
        equal(ran(lines, isa), not lacks(isa), f"a model for {isa} alone")
        if lacks(isa):
            equal(lines[-1], f"{folder / 'small.c'}: NOTHING WAS COMPARED, 1 run skipped: this processor does not have "
                  f"{isa}", f"{isa}: nothing was compared, which is no success")
done()
