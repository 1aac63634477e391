# SPDX-License-Identifier: Apache-2.0
"""Convolutions and products of bytes on emulated microcontrollers, with and without the instructions for them, beside
the same model on this machine: shapes that no group of four terms, no pair of points or rows divides, padding, strides,
results in the place of operands, sums and factors at their limits. test_byte_products.py [--all] [BOARD...]

Kernels are compiled with -O1, or with --all as users compile them."""
from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from tap import done, equal, note, ok, skip

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]


@dataclass(frozen=True, slots=True)
class Board:
    """target: its description, but with these flags; machine: of the emulator; sources: built from sources alone."""

    name: str
    flags: tuple[str, ...]
    machine: tuple[str, ...]
    target: str = "cortex-m4f"
    script: str = "m4f"
    sources: bool = False

    @property
    def riscv(self) -> bool:
        return self.script == "rv32"

    @property
    def cc(self) -> list[str]:
        return ["riscv64-unknown-elf-gcc" if self.riscv else "arm-none-eabi-gcc", *self.flags]

    @property
    def library(self) -> list[str]:
        return ["--specs=picolibc.specs"] if self.riscv else []

    @property
    def emulator(self) -> list[str]:
        return list(self.machine) if self.riscv else ["qemu-system-arm", "-M", *self.machine, "-nographic",
                                                      "-semihosting-config", "enable=on,target=native", "-kernel"]


M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
M55 = ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard")
MICROBIT = ("microbit", "-global", "nrf51-soc.flash-size=0x400000", "-global", "nrf51-soc.sram-size=0x100000")
BOARDS = (Board("cortex-m4f", M4, ("mps2-an386",)),
          Board("without-dsp", (*M4, "-U__ARM_FEATURE_SIMD32", "-U__ARM_FEATURE_DSP"), ("mps2-an386",), sources=True),
          Board("cortex-m55", M55, ("mps3-an547",), "cortex-m55", "m55"),
          Board("cortex-m55-sources", M55, ("mps3-an547",), "cortex-m55", "m55", sources=True),
          Board("cortex-m0plus", ("-mcpu=cortex-m0plus", "-mthumb"), MICROBIT, "cortex-m0plus", "m0"),
          Board("cortex-m0plus-sources", ("-mcpu=cortex-m0plus", "-mthumb"), MICROBIT, "cortex-m0plus", "m0",
                sources=True),
          # the kernels of a Cortex-M0+ with Thumb-2, whose C stands in their place
          Board("cortex-m3", ("-mcpu=cortex-m3", "-mthumb"), ("mps2-an385",), "cortex-m0plus"),
          Board("rv32imac", ("-march=rv32imac", "-mabi=ilp32"), ("qemu-riscv32",), "rv32imac", "rv32"))


@dataclass(frozen=True, slots=True)
class Conv:
    """x is [1, h, w, c]; depthwise where out is 0."""

    h: int
    w: int
    c: int
    out: int
    kernel: tuple[int, int]
    options: str = ""
    zero: int = -3


CONVS = (
    Conv(9, 7, 3, 5, (3, 3), ".stride = {2, 2}, .padding = {1, 1}"), Conv(8, 8, 8, 6, (3, 3), ".padding = {1, 1}"),
    Conv(5, 5, 64, 16, (1, 1), zero=-128), Conv(6, 5, 1, 7, (4, 3), ".low = {2, 1}, .high = {1, 1}", 100),
    Conv(7, 7, 6, 4, (3, 3), ".padding = {1, 1}"), Conv(6, 6, 4, 3, (2, 2)),
    Conv(7, 9, 4, 8, (3, 2), ".dilation = {2, 3}"),
    Conv(4, 4, 4, 4, (3, 3), ".low = {0, 2}, .high = {3, 0}, .stride = {1, 3}"), Conv(3, 3, 40, 1, (3, 3)),
    Conv(9, 8, 8, 0, (3, 3), ".padding = {1, 1}"), Conv(10, 9, 12, 0, (3, 3), ".stride = {2, 2}, .high = {1, 1}"),
    Conv(7, 7, 4, 0, (5, 5), ".padding = {2, 2}", 127), Conv(6, 7, 16, 0, (3, 3)), Conv(8, 5, 6, 0, (3, 3)),
    Conv(6, 6, 8, 0, (2, 3), ".stride = {1, 2}, .padding = {1, 1}"), Conv(9, 9, 8, 0, (3, 3), ".dilation = {2, 2}"))
LINEAR = ((64, 10), (2048, 6), (33, 9), (20, 7), (4, 1))
LIMITS = (0, 1, -1, 2147483647, -2147483648, 1 << 30, -(1 << 30), 123456789, -2000000000)


class Weights:
    def __init__(self) -> None:
        self.random = random.Random(7)
        self.header: dict[str, object] = {}
        self.data = b""

    def add(self, name: str, dtype: str, shape: list[int], data: bytes) -> None:
        first = len(self.data)
        self.data += data
        self.header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [first, len(self.data)]}

    def layer(self, name: str, shape: list[int], terms: int, hard: bool) -> None:
        """Weights, a bias and a scale for each of shape[0] rows. hard: biases and scales at their limits."""
        count, rows = 1, shape[0]
        for n in shape:
            count *= n
        self.add(f"{name}.w", "I8", shape, bytes(self.random.choice((self.random.randrange(256), 128, 127))
                                                 for _ in range(count)))
        bias = [self.random.choice(LIMITS) if hard else self.random.randrange(-99999, 99999) for _ in range(rows)]
        usual = 0.02 / terms ** 0.5
        scale = [self.random.choice((0.0, 1e-30, 3e-10, 0.5, 40.0, 1e9, usual)) if hard else
                 usual * self.random.uniform(0.5, 2) for _ in range(rows)]
        self.add(f"{name}.b", "I32", [rows], struct.pack(f"<{rows}i", *bias))
        self.add(f"{name}.s", "F32", [rows], struct.pack(f"<{rows}f", *scale))

    def write(self, path: Path) -> None:
        head = json.dumps(self.header).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + self.data)


def layer(op: str, x: str, zero: int, name: str, more: str = "") -> str:
    return f"tc_quantized_{op}(.x = {{{x}, 0.5, {zero}}}, .w = tc_weight(g, \"{name}.w\"), .w_scale = " \
           f"tc_weight(g, \"{name}.s\"), .bias = tc_weight(g, \"{name}.b\"), .scale = 0.25, .zero = {-zero // 2}{more})"


def model(weights: Weights) -> tuple[str, list[int], list[int]]:
    """model.c, and the bytes of each input and output."""
    lines, inputs, outputs = ["#include <tensor_compile/model.h>", "TC_MODEL(bytes)", "{",
                              '    tc_weights(g, "weights.safetensors");'], [], []

    def given(*shape: int) -> str:
        name, dims = f"x{len(inputs)}", ", ".join(map(str, shape))
        lines.append(f"    tc_tensor {name} = tc_input(g, \"{name}\", TC_I8, {dims});")
        size = 1
        for n in shape:
            size *= n
        inputs.append(size)
        return name

    def gives(text: str) -> None:
        lines.append(f"    tc_output(g, \"y{len(outputs)}\", {text});")
        outputs.append(0)

    for i, c in enumerate(CONVS):
        depthwise = not c.out
        shape = [c.c, 1, *c.kernel] if depthwise else [c.out, c.c, *c.kernel]
        weights.layer(f"c{i}", shape, c.kernel[0] * c.kernel[1] * (1 if depthwise else c.c), i % 3 == 1)
        more = (f", {c.options}" if c.options else "") + (f", .groups = {c.c}" if depthwise else "")
        gives(layer("conv", f"tc_permute({given(1, c.h, c.w, c.c)}, 0, 3, 1, 2)", c.zero, f"c{i}", more))
    for i, (k, n) in enumerate(LINEAR):
        weights.layer(f"l{i}", [n, k], k, i == 1)
        gives(layer("linear", given(1, k), 5, f"l{i}"))
    for i, (kernel, options) in enumerate((([3, 3], ".stride = {2, 2}, .padding = {1, 1}"),
                                           ([2, 1], ".stride = {2, 3}, .output_padding = {0, 2}"))):
        name = f"t{i}"
        weights.layer(name, [8, 6, *kernel], 6, False)
        x = f"tc_permute({given(1, 5, 4, 6)}, 0, 3, 1, 2)"
        w = f'tc_weight(g, "{name}.w")'
        gives(layer("conv_transpose2d", x, 7, name, f", {options}").replace(w, f"tc_transpose({w}, 0, 1)"))
    for name, shape in (("a", [8, 8, 1, 1]), ("d", [8, 1, 3, 3]), ("e", [8, 8, 1, 1]), ("f", [8, 8, 3, 3])):
        weights.layer(name, shape, 8, False)
    first = f"tc_permute({given(1, 5, 5, 8)}, 0, 3, 1, 2)"   # each result may take the place of the one before
    lines.append(f"    tc_tensor a = {layer('conv', first, 1, 'a')};")
    lines.append(f"    tc_tensor d = {layer('conv', 'a', 2, 'd', ', .padding = {1, 1}, .groups = 8')};")
    lines.append(f"    tc_tensor e = {layer('conv', 'd', 3, 'e')};")
    lines.append(f"    tc_tensor f = {layer('conv', 'e', 4, 'f', ', .padding = {1, 1}')};")
    gives("tc_quantized_add(.a = {f, 0.5, 3}, .b = {e, 0.25, -7}, .scale = 0.3, .zero = 9)")
    nests(given, gives)
    return "\n".join([*lines, "}", ""]), inputs, outputs


def nests(given: Callable[..., str], gives: Callable[[str], None]) -> None:
    """What stands between products: its loops run by four lanes where there are vectors, with rests and without."""
    for channels in (12, 10):
        a, b = (f"tc_permute({given(1, 6, 7, channels)}, 0, 3, 1, 2)" for _ in "ab")
        for text in (f"tc_quantized_avg_pool2d({a}, {{3, 3}}, .padding = {{1, 1}})",
                     f"tc_quantized_avg_pool2d({b}, {{6, 7}})",
                     f"tc_max_pool2d({a}, {{3, 3}}, .stride = {{2, 2}}, .padding = {{1, 1}})",
                     f"tc_quantized_add(.a = {{{a}, 0.5, 3}}, .b = {{{b}, 0.25, -7}}, .scale = 0.3, .zero = 9)",
                     f"tc_quantized_mul(.a = {{{a}, 0.5, 3}}, .b = {{{b}, 0.25, -7}}, .scale = 0.3, .zero = 9)",
                     f"tc_quantized_mean(.x = {{{a}, 0.1, 3}}, .axes = {{2, 3}}, .axis_count = 2, .scale = 0.05)",
                     f"tc_relu({b})"):
            gives(text)
        rows = given(3, channels)
        for text in (f"tc_quantized_softmax(.x = {{{rows}, 0.05, 3}})", f"tc_quantized_tanh(.x = {{{rows}, 0.1, 3}})",
                     f"tc_quantized_softmax(.x = {{tc_cast({rows}, TC_I16), 0.05, 0}})",
                     f"tc_quantized_sigmoid(.x = {{tc_cast({rows}, TC_I16), 0.03, 0}})",
                     f"tc_quantized_hardswish(.x = {{{rows}, 0.06, 3}}, .scale = 0.04, .zero = -90)",
                     f"tc_quantized_matmul(.a = {{{rows}, 0.1, 3}}, .b = {{tc_transpose({rows}, 0, 1), 0.1, -7}}, "
                     ".scale = 5, .zero = 2)",
                     f"tc_quantized_leaky_relu(.x = {{{rows}, 0.1, 3}}, .slope = 0.2f, .scale = 0.1, .zero = 3)",
                     f"tc_sum(tc_cast({rows}, TC_I32), 1)"):
            gives(text)
        short = f"tc_cast(tc_mul(tc_cast({given(3, channels)}, TC_I32), 3), TC_I8)"   # does not fit
        gives(short)
        gives(f"tc_amax({short}, 1)")


MAIN = """#include "bytes.h"
#ifdef BOARD
void semihosting_text(const char *text);
#define print semihosting_text
#else
#include <stdio.h>
#define print(text) fputs(text, stdout)
#endif
static unsigned char arena[BYTES_ARENA_BYTES + 64];
static int8_t in[%(in)d];
static _Alignas(8) int8_t out[%(count)d][%(most)d];
int main(void)
{
    static tc_context context;
    uint32_t seed = 1;
    for (int i = 0; i < %(in)d; ++i) {
        seed = seed * 1664525 + 1013904223;
        in[i] = (int8_t)(seed >> 24);
    }
    tc_context_init(&context, (unsigned char *)(((uintptr_t)arena + 63) & ~(uintptr_t)63), BYTES_ARENA_BYTES);
    if (bytes(&context, &(bytes_args){%(args)s}) != TC_STATUS_OK) {
        print(context.error.message);
        return 1;
    }
    for (int i = 0; i < %(count)d; ++i) {
        uint32_t hash = 2166136261u;
        for (int k = 0; k < %(most)d; ++k)
            hash = (hash ^ (uint8_t)out[i][k]) * 16777619u;
        char text[10];
        for (int k = 0; k < 8; ++k)
            text[k] = "0123456789abcdef"[hash >> (28 - 4 * k) & 15];
        text[8] = '\\n', text[9] = 0;
        print(text);
    }
    return 0;
}
"""


def run(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                          **more)  # type: ignore[call-overload]


def results(folder: Path, cache: str, cc: list[str], options: list[str], link: list[str],
            emulator: list[str]) -> tuple[str, str]:
    """What the program prints; and what went wrong. From the object, or with --emit from sources alone."""
    made = run([*TOOL, "build", folder / "bytes.c", "-o", folder / "out", "--cache", cache, "--cc", " ".join(cc),
                *options])
    core, objects = sorted((ROOT / "runtime" / "core").glob("*.c")), [folder / "out" / "bytes.o"]
    if "--emit" in options:
        core, objects = [], ["-Wall", "-Wextra", "-Werror", *sorted((folder / "out").glob("*.c"))]
    if not made.returncode:
        made = run([*cc, "-std=gnu11", "-O1", "-I", folder / "out", "-I", ROOT / "runtime" / "include",
                    folder / "main.c", *objects, *core, *link, "-o", folder / "program"])
    if made.returncode:
        return "", made.stdout + made.stderr
    made = run([*emulator, folder / "program"], timeout=300)
    return made.stdout + made.stderr, "" if not made.returncode else f"exit code {made.returncode}"


def described(root: Path, name: str, target: str, flags: tuple[str, ...]) -> str:
    """The file of a target with other flags."""
    text = (ROOT / "targets" / f"{target}.toml").read_text(encoding="utf-8").split("\nflags")[0].rstrip("\n")
    words = ", ".join(f'"{f}"' for f in flags)
    path = root / f"{name}.toml"
    path.write_text(f"{text}\nflags = [{words}]\n", encoding="utf-8")
    return str(path)


with tempfile.TemporaryDirectory() as temporary:
    root, weights = Path(temporary), Weights()
    cache = os.environ.get("TC_TESTS_CACHE", str(root / "cache"))
    text, sizes, ends = model(weights)
    weights.write(root / "weights.safetensors")
    (root / "bytes.c").write_text(text, encoding="utf-8")
    at, args = 0, []
    for i, size in enumerate(sizes):
        args.append(f".x{i} = in + {at}")
        at += size
    args += [f".y{i} = (void *)out[{i}]" for i in range(len(ends))]
    (root / "main.c").write_text(MAIN % {"in": at, "count": len(ends), "most": 1024, "args": ", ".join(args)},
                                 encoding="utf-8")
    native = os.environ.get("CC", "cc").split()
    fast = () if "--all" in sys.argv else ("-O1",)   # a target's flags come behind the level of the build
    options = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []
    if fast and options:
        options += ["--target-file", described(root, "here", "x86_64", fast)]
    want, wrong = results(root, cache, native, options, [], [])
    if not ok(not wrong and len(want.split()) == len(ends), "on this machine"):
        note(wrong)
        done()
    for board in [b for b in BOARDS if b.name in ([a for a in sys.argv[1:] if a != "--all"] or [BOARDS[0].name])]:
        missing = [name for name in (board.cc[0], board.emulator[0]) if not shutil.which(name)]
        if missing:
            skip(board.name, f"{missing[0]} is not installed")
            continue
        description = described(root, board.name, board.target, (*board.flags, *fast))
        started = run([*board.cc, *board.library, "-std=c11", "-O1", "-c",
                       HERE / ("rv32" if board.riscv else "m4f") / "startup.c", "-o", root / "startup.o"])
        ok(not started.returncode, f"{board.name}: startup")
        emit = ["--emit", "c"] if board.sources else []
        shutil.rmtree(root / "out")
        got, wrong = results(root, cache, board.cc, ["--target-file", description, *emit],
                             ["-DBOARD", *board.library, "-nostartfiles", "-T", HERE / board.script / "link.ld",
                              root / "startup.o"], board.emulator)
        if not equal(got.split(), want.split(), f"{board.name}: the bits of this machine"):
            note(wrong)
done()
