# SPDX-License-Identifier: Apache-2.0
"""Writes driver, header, weights and assembler text of a small model whose kernels are tests/runtime/kernels.c: what
emission and runtime do, tested without the stages before them.

    y[i, j] = 2 * x[rows - 1 - i, j] + table[index[i]]; seen += 1
"""
from __future__ import annotations

import hashlib
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from tensor_compile.target import ARCHITECTURES, find, load
from tensor_compile.emit.header import emit_header
from tensor_compile.emit.driver import emit_driver
from tensor_compile.emit.weights import embedding, weights_header, weights_symbol
from tensor_compile.graph.ir import DimDecl, Guard
from tensor_compile.loops.loop_ir import CheckKernel, LoopNestKernel, Phase, Store
from tensor_compile.loops.program_ir import Arena, FunctionPlan, ModelPlan, Program, Slot, Step, Variant
from tensor_compile.loops.scalar_ir import Buffer, Const
from tensor_compile.symbolic import Sym, const, sym

TABLE = 10


@dataclass(frozen=True)
class Source:
    symbol: str
    arguments: tuple[int, ...] = ()


def buffer(name: str, dtype: str, shape: tuple, kind: str) -> Buffer:
    return Buffer(name, dtype, shape, tuple(range(len(shape))), kind)


def program(n: Sym, rows, m: Sym, fixed: bool, spare: int = 0) -> tuple[Program, list[Buffer], list[Buffer],
            list[Buffer]]:
    columns = sym(m)
    x = buffer("x", "f32", (rows, columns), "input")
    index = buffer("index", "i32", (rows,), "input")
    y = buffer("y", "f32", (rows, columns), "output")
    seen = buffer("seen.count", "f32", (const(4),), "state")
    table = buffer("table", "f32", (const(TABLE),), "packed")
    twice = buffer("twice", "f32", (rows, columns), "temp")
    line, pair = buffer("line", "f32", (columns,), "scratch"), buffer("pair", "f32", (columns, const(2)), "scratch")
    dims = (m,) if fixed else (m, n)  # not the order of the arguments
    suffix = "_fixed" if fixed else ""
    loop = Sym("loop", 0, 1 << 24)  # as if it were worth a team

    def nest(label: str, params: tuple[Buffer, ...], dims: tuple[Sym, ...], stored: str) -> LoopNestKernel:
        return LoopNestKernel(label + suffix, (loop,), (Phase((), (), (Store(stored, (), Const("f32", 0)),)),),
                              params, dims)

    steps = [
        Step(CheckKernel("check" + suffix, index, const(TABLE), (index,), (n,) if not fixed else ()), False),
        Step(nest("twice", (x, twice, pair), dims, "twice"), True),
        Step(nest("reverse", (twice, index, table, y, line), dims, "y"), True),
        Step(nest("count", (seen,), (), "seen.count"), False),
    ]
    slots = Arena({"twice": 0}, [Slot(rows * columns * 4 + spare)])
    buffers = {b.name: b for b in (x, index, y, seen, table, twice, line, pair)}
    return Program(buffers, steps, slots, (n, m)), [x, index], [y], [seen]


def model(name: str) -> ModelPlan:
    n, m = Sym("n", 1, 4096, 1, True), Sym("m", 2, 64, 2, True)
    fixed, *_ = program(n, const(4), m, True)
    generic, inputs, outputs, states = program(n, sym(n), m, False)
    variants = [Variant("n4", {"n": 4}, fixed), Variant("generic", {}, generic)]
    guard = Guard("64*n >= m*m", sym(n) * 64, ">=", sym(m) * sym(m))
    reference = Variant("reference", {}, program(n, sym(n), m, False, spare=256)[0]) if name == "fakex" else None
    function = FunctionPlan("run", inputs, outputs, states, [DimDecl(n, (4,)), DimDecl(m)], [guard], variants,
                            reference)
    return ModelPlan(name, [function], {"table": 64}, 128, states, {"seen.count": 0}, 64)


def main(name: str, weights: str, target: str, driver: str, header: str, assembly: str, payload: str) -> None:
    plan = model(name)
    embed = weights == "embed"
    sources = {}
    described = load(find(target))
    described = described.with_isas(ARCHITECTURES[described.arch][1:] or described.isas)    # all but the plain one
    for variant in plan.functions[0].built:
        for step in variant.program.kernel_steps:
            for isa in described.isas:
                code = step.kernel, isa, plan.functions[0].is_plain(variant)
                sources[code] = Source(f"tck_{step.kernel.label}__{isa}")
    Path(driver).write_text(emit_driver(plan, described, sources, embed=embed), encoding="utf-8")
    Path(header).write_text(emit_header(plan, described, stem=name, embed=embed), encoding="utf-8")
    data = bytes(64) + struct.pack(f"<{TABLE}f", *(i / 4 for i in range(TABLE))).ljust(64, b"\0")
    digest = hashlib.sha256(data).digest()
    Path(payload).write_bytes(data if embed else weights_header(plan, digest) + data)
    Path(assembly).write_text(embedding(weights_symbol(plan), payload) if embed else "", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
