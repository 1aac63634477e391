# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of every instruction set against the direct evaluation of the loop IR, bit for bit."""
from __future__ import annotations

import math
import os
import random
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field

ROOT = os.environ["TC_SOURCE_ROOT"]

from oracle import programs
from oracle.scalars import rounded
from processor import lacks, own_sets
from tap import note, ok, skip
from tensor_compile.compile.toolchain import EXACT
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.graph.table import PRIMITIVES
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.loops.loop_ir import LoopNestKernel, Phase
from tensor_compile.loops.program_ir import Arena, Program, Step
from tensor_compile.loops.scalar_ir import Apply, Buffer
from tensor_compile.loops.scalars import is_function, walk
from tensor_compile.symbolic import Expr, Sym, wrap

PACK = {"f32": "f", "f16": "e", "i32": "i", "i64": "q", "bool": "B", "i8": "b", "u8": "B", "i16": "h", "u16": "H"}
SIZE = {"f32": 4, "f16": 2, "i32": 4, "i64": 8, "bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2}
BYTES = {"i8": (-128, 127), "u8": (0, 255), "i16": (-1 << 15, (1 << 15) - 1), "u16": (0, (1 << 16) - 1)}
# the evaluation takes these from the host: compared within its error
INEXACT = {op for op in PRIMITIVES if is_function(op)} - {"rem"}
TEAMS = (1, 2, 5)
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0]
SPECIAL_OF = {"f32": [*SPECIAL, 1e-40, -1e-45, 3e38, -3e38], "f16": [*SPECIAL, 6e-8, -65504.0]}


@dataclass
class Case:
    """A kernel, the sizes of its dims, what its index buffers stay below, and the largest of its numbers of f32."""

    name: str
    kernel: LoopNestKernel
    sizes: dict[Sym, int] = field(default_factory=dict)
    below: int = 5
    extreme: bool = False
    most: float = 2


def dim(name: str) -> Sym:
    return Sym(name, 0, 1 << 20, is_dim=True)


def loop(name: str, size: int | Expr) -> Sym:
    return Sym(name, 0, wrap(size) - 1)


def buffer(name: str, dtype: str, shape: tuple, kind: str, order: tuple | None = None) -> Buffer:
    return Buffer(name, dtype, tuple(wrap(s) for s in shape), order or tuple(range(len(shape))), kind)


def kernel(label: str, rows: tuple, phases: list[Phase], params: tuple[Buffer, ...], dims: tuple = (),
           grain: int = 1) -> LoopNestKernel:
    return LoopNestKernel(label, rows, tuple(phases), params, dims, grain)


@dataclass
class Machine:
    """How to compile for one instruction set and what to start the program with."""

    isa: str
    compiler: str
    run: list[str]
    more: list[str]


def machine(isa: str, sanitize: bool = False, optimise: str = "-O1") -> Machine | str:
    """How to run an instruction set here, or why that cannot be."""
    native = os.uname().machine
    more = [optimise, *(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"] if sanitize else [])]
    compiler = os.environ.get("CC", "cc")
    if isa == "scalar" or (isa == "neon" and native == "aarch64"):
        return Machine(isa, compiler, [], more)
    if isa == "neon":
        if sanitize:
            return "sanitizers do not run under qemu-user"
        if shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64"):
            return Machine(isa, "aarch64-linux-gnu-gcc", ["qemu-aarch64"], [optimise, "-static"])
        return "no aarch64-linux-gnu-gcc or no qemu-aarch64"
    if native != "x86_64":
        return f"not on {native}"
    missing = lacks(isa)
    return f"this processor has no {', '.join(missing)}" if missing else Machine(isa, compiler, [], more)


def machines(sanitize: bool = False, optimise: str = "-O1", isas: tuple[str, ...] = ()) -> list[Machine]:
    """Every instruction set, or those of `isas`, that this machine or qemu runs; what cannot be had is a visible
    SKIP."""
    out = []
    for isa in isas or (*own_sets("x86_64"), "neon"):
        found = machine(isa, sanitize, optimise)
        if isinstance(found, str):
            skip(isa, found)
        else:
            out.append(found)
    return out


def fill(rng: random.Random, dtype: str, count: int, extreme: bool, below: int, most: float = 2) -> list:
    if dtype == "bool":
        return [rng.random() < 0.5 for _ in range(count)]
    if dtype in BYTES:
        return [rng.choice((*BYTES[dtype], rng.randint(*BYTES[dtype]))) for _ in range(count)]
    if dtype not in SPECIAL_OF:
        if extreme:
            half = 1 << (SIZE[dtype] * 8 - 1)
            return [rng.choice((0, -1, 1, half - 1, -half, rng.randrange(-half, half))) for _ in range(count)]
        return [rng.randrange(below) for _ in range(count)]
    special = SPECIAL_OF[dtype]
    return [rounded(dtype, rng.choice(special) if extreme and rng.random() < 0.1 else rng.uniform(-most, most))
            for _ in range(count)]


def expected(case: Case, values: dict[str, list]) -> dict[str, list]:
    k = case.kernel
    stored = {x.buffer for s in k.phases for x in s.stores}
    buffers = {b.name: Buffer(b.name, b.dtype, b.shape, b.order, "scratch" if b.kind == "scratch" else
                              "output" if b.name in stored else "input") for b in k.params}
    program = Program(buffers, [Step(k)], Arena(), k.dims)
    work = {n: list(v) for n, v in values.items()}
    programs.run(program, case.sizes, work)
    return work


def exact(k: LoopNestKernel) -> bool:
    values = [x.value for s in k.phases for x in (*s.reduces, *s.stores)]
    return not any(isinstance(n, Apply) and n.op in INEXACT for n in walk(*values))


def same(dtype: str, a, b, exactly: bool) -> bool:
    if dtype not in SPECIAL_OF:
        return int(a) == int(b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if exactly or math.isinf(a) or math.isinf(b):
        return _bits(dtype, a) == _bits(dtype, b)
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + 5e-7    # 1 + erf(x) cancels


def _bits(dtype: str, x) -> bytes:
    return struct.pack(PACK[dtype], x)


def run_all(cases: list[Case], sanitize: bool = False, everywhere: bool = True, optimise: str = "-O1",
            isas: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> None:
    """One point a case and instruction set; unless everywhere, two of five instruction sets a case, other ones for its
    neighbour. optimise: how the kernels are compiled; -O1 takes two thirds of the time of -O2. isas: these alone.
    flags: more of the compiler's."""
    rng = random.Random(7)
    prepared = []
    for case in cases:
        counts = {b.name: b.elements.evaluate(case.sizes) for b in case.kernel.params}
        values = {b.name: fill(rng, b.dtype, counts[b.name], case.extreme, case.below, case.most)
                  for b in case.kernel.params}
        prepared.append((case, values, expected(case, values)))
    written = [{x.buffer for s in c.kernel.phases for x in s.stores} for c in cases]
    right = [{b.name: packed(b, [x if y is None else y for x, y in zip(values[b.name], wanted[b.name], strict=True)])
              for b in case.kernel.params} for case, values, wanted in prepared]
    first: dict[str, dict[str, bytes]] = {}
    found = machines(sanitize, optimise, isas)
    everywhere = everywhere or len(found) < 4   # or some would run nowhere
    for number, machine in enumerate(found):
        chosen = [i for i in range(len(prepared)) if everywhere or (i + number) % 5 < 2]
        machine.more.extend(flags)
        outputs = dict(zip(chosen, _run(machine, [prepared[i] for i in chosen])))
        for i in chosen:
            case, values, wanted = prepared[i]
            exactly = exact(case.kernel)
            problem = ""
            for team, got in zip(TEAMS, outputs[i]):
                for b in case.kernel.params:
                    reference = first.get(case.name, {}).get(b.name)
                    if b.kind == "scratch" or got[b.name] == (reference or right[i][b.name]):
                        continue   # bytes that were found to be right
                    before = unpacked(b, reference) if reference else ()
                    for at, (x, y) in enumerate(zip(unpacked(b, got[b.name]), wanted[b.name], strict=True)):
                        if y is None:   # not an output point: what was there before
                            x, y = _bits(b.dtype, x), _bits(b.dtype, values[b.name][at])
                            problem = problem or (f"team {team}: {b.name}[{at}] was written" if x != y else "")
                        elif not same(b.dtype, x, y, exactly or b.name not in written[i]):
                            problem = problem or f"team {team}: {b.name}[{at}] = {x!r}, not {y!r}"
                        elif reference and not same(b.dtype, x, before[at], True):
                            problem = problem or f"team {team}: {b.name}[{at}] = {x!r}, elsewhere {before[at]!r}"
            first.setdefault(case.name, outputs[i][0])
            if not ok(not problem, f"{machine.isa}: {case.name}"):
                note(problem)


def packed(b: Buffer, values: list) -> bytes:
    return struct.pack(f"<{len(values)}{PACK[b.dtype]}", *values)


def unpacked(b: Buffer, raw: bytes) -> tuple:
    return struct.unpack(f"<{len(raw) // SIZE[b.dtype]}{PACK[b.dtype]}", raw)


def _run(machine: Machine, prepared: list) -> list[list[dict[str, bytes]]]:
    """Of each case and team, the bytes of its buffers."""
    sources = [emit_kernel(case.kernel, machine.isa) for case, _, _ in prepared]
    unique = {s.symbol: s.text for s in sources}
    numbers = {symbol: i for i, symbol in enumerate(unique)}
    table = "\n".join([*unique.values(), "extern tc_kernel *const kernels[];", "extern const int kernel_count;",
                       f"tc_kernel *const kernels[] = {{{', '.join(unique)}}};",
                       f"const int kernel_count = {len(unique)};", ""])
    data = [struct.pack("<q", len(prepared) * len(TEAMS))]
    for (case, values, _), source in zip(prepared, sources):
        k = case.kernel
        for team in TEAMS:
            data.append(struct.pack(f"<qqq{len(k.dims)}qq", numbers[source.symbol], team, len(k.dims),
                                    *(case.sizes[d] for d in k.dims), len(k.params)))
            for b in k.params:
                raw = packed(b, values[b.name])
                if b.kind == "scratch":
                    raw = bytes(len(raw))
                align = SIZE[b.dtype] if b.kind in ("input", "output", "state") else 64
                data += [struct.pack("<qq", len(raw), align), raw]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(table)
        program = os.path.join(folder, "run")
        subprocess.run([machine.compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *EXACT,
                        *instruction_set(machine.isa).compile_flags, *machine.more,
                        "-I", os.path.join(ROOT, "templates", "include"), "-I", ROOT, path,
                        os.path.join(ROOT, "tests", "nests", "run_kernels.c"),
                        os.path.join(ROOT, "autotune", "guard.c"), "-o", program], check=True)
        # GCC (bug 110027) may lay an object of 64-byte alignment less aligned into the frames of use-after-return
        # checks, where aligned AVX-512 stores then fault.
        env = os.environ | {"ASAN_OPTIONS": "detect_stack_use_after_return=0"}
        done = subprocess.run([*machine.run, program], input=b"".join(data), stdout=subprocess.PIPE, env=env,
                              check=False)
    assert done.returncode == 0, f"{machine.isa}: the kernels' program ended with {done.returncode}"
    at, outputs = 0, []
    for case, values, _ in prepared:
        teams = []
        for _ in TEAMS:
            found = {}
            for b in case.kernel.params:
                size = len(values[b.name]) * SIZE[b.dtype]
                found[b.name] = done.stdout[at:at + size]
                at += size
            teams.append(found)
        outputs.append(teams)
    return outputs
