# SPDX-License-Identifier: Apache-2.0
"""The scalar operations have the same bits from every compiler, at every level and on every architecture."""
from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tap import done, equal, ok, skip

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off", "-fwrapv",
         f"-I{ROOT / 'templates' / 'include'}"]

#: name, compiler and flags, emulator
WAYS = [
    ("gcc -O2", ["gcc", "-O2"], []),
    ("gcc -O0", ["gcc", "-O0"], []),
    ("gcc -O3, AVX2 and FMA", ["gcc", "-O3", "-mavx2", "-mfma"], ["host:fma"]),
    ("gcc -O0, AVX2 and FMA", ["gcc", "-O0", "-mavx2", "-mfma"], ["host:fma"]),
    ("clang -O2", ["clang", "-O2"], []),
    ("clang -O2, FMA", ["clang", "-O2", "-mfma"], ["host:fma"]),
    ("aarch64", ["aarch64-linux-gnu-gcc", "-O2", "-static"], ["qemu-aarch64"]),
    ("riscv64", ["riscv64-linux-gnu-gcc", "-O2", "-static"], ["qemu-riscv64"]),
]

#: compilers whose freestanding objects may need nothing but the ARM helpers
FREESTANDING = [
    ["gcc", "-O2"], ["gcc", "-O0"], ["gcc", "-O2", "-mfma"], ["gcc", "-O0", "-mfma"], ["clang", "-O0"],
    ["clang", "-O2", "-mfma"], ["aarch64-linux-gnu-gcc", "-O0"], ["aarch64-linux-gnu-gcc", "-O2"],
    ["riscv64-linux-gnu-gcc", "-O0"], ["riscv64-linux-gnu-gcc", "-O2"],
    ["arm-none-eabi-gcc", "-O2", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
]

EVERY_OPERATION = """#include "tc_scalar.h"
float all(float a, float b, float c, int32_t i);
double all_f64(double a, double b);
double all_f64(double a, double b)
{
    double r = tc_fma_f64(a, b, a) + tc_sqrt_f64(a) + tc_exp_f64(b) + tc_log_f64(a) + tc_tanh_f64(a) + tc_erf_f64(b);
    r += tc_erfc_f64(a) + tc_lgamma_f64(b);
    return r + tc_expm1_f64(a) + tc_log1p_f64(a) + tc_sin_f64(a) + tc_cos_f64(b) + tc_pow_f64(a, b) + tc_rem_f64(a, b);
}
float all(float a, float b, float c, int32_t i)
{
    float r = tc_fma_f32(a, b, c) + tc_sqrt_f32(a) + tc_exp_f32(b) + tc_log_f32(c) + tc_tanh_f32(a) + tc_erf_f32(b);
    r += tc_erfc_f32(a) + tc_lgamma_f32(b);
    r += tc_maximum_f32(a, b) + tc_minimum_f32(b, c) + tc_abs_f32(a) + tc_neg_f32(b) + a / b;
    return r + (float)tc_cast_f32_i32(a) + tc_cast_i32_f32(tc_div_i32(i, tc_cast_f32_i32(b)));
}
"""


def fma_here() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and " fma " in cpuinfo.read_text(encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first: tuple[str, str] | None = None
        for name, command, needs in WAYS:
            missing = [tool for tool in (command[0], *needs) if not tool.startswith("host:") and not shutil.which(tool)]
            if missing or ("host:fma" in needs and not fma_here()):
                skip(f"bits: {name}", f"no {missing[0] if missing else 'FMA on this machine'}")
                continue
            program = Path(folder) / "bits"
            subprocess.run([*command, *FLAGS, str(HERE / "bits.c"), "-o", str(program)], check=True)
            emulator = [tool for tool in needs if not tool.startswith("host:")]
            out = subprocess.run([*emulator, str(program)], check=True, capture_output=True, text=True).stdout
            if first is None:
                first = (name, out)
                ok(len(out.splitlines()) >= 20, f"bits: {name}")
            else:
                equal(out, first[1], f"bits: {name} as {first[0]}")
        source = Path(folder) / "all.c"
        source.write_text(EVERY_OPERATION, encoding="utf-8")
        for command in FREESTANDING:
            if not shutil.which(command[0]):
                skip(f"freestanding: {' '.join(command)}", f"no {command[0]}")
                continue
            made = Path(folder) / "all.o"
            subprocess.run([*command, *FLAGS, "-ffreestanding", "-c", str(source), "-o", str(made)], check=True)
            needed = subprocess.run(["nm", "-u", str(made)], check=True, capture_output=True, text=True).stdout.split()
            calls = [symbol for symbol in needed if symbol != "U" and not symbol.startswith("__aeabi_")]
            equal(calls, [], f"freestanding: {' '.join(command)} calls nothing")
    done()


main()
