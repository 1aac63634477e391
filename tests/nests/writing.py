# SPDX-License-Identifier: Apache-2.0
"""What nests of the tests are written with."""
from __future__ import annotations

import struct

from harness import Case, buffer, dim, kernel, loop
from tensor_compile.loops.loop_ir import Phase, Store
from tensor_compile.loops.scalar_ir import Apply, Const, Load, Scalar
from tensor_compile.symbolic import Expr, Sym, const, sym


def f32(x: float) -> Const:
    return Const("f32", struct.unpack("<I", struct.pack("<f", x))[0])


def op(name: str, *args: Scalar, dtype: str = "f32") -> Scalar:
    return Apply(name, dtype, args)


def load(b: str, *index, dtype: str = "f32", valid: tuple = (), other: Const | None = None,
         dynamic: tuple = ()) -> Load:
    return Load(b, dtype, tuple(const(i) if isinstance(i, int) else i for i in index), valid, other, dynamic)


def sized(name: str, size: int, symbolic: bool) -> tuple[Expr, tuple[Sym, ...], dict[Sym, int]]:
    if not symbolic:
        return const(size), (), {}
    s = dim(name)
    return sym(s), (s,), {s: size}


def flat(name: str, size: int, symbolic: bool, value, dtype: str = "f32", source: str = "f32", extreme: bool = True,
         grain: int = 1) -> Case:
    """y[v] = value(load of x, load of z)."""
    n, dims, sizes = sized("n", size, symbolic)
    v = loop("v", n)
    params = (buffer("x", source, (n,), "input"), buffer("z", source, (n,), "temp"), buffer("y", dtype, (n,), "output"))
    result = value(load("x", sym(v), dtype=source), load("z", sym(v), dtype=source))
    return Case(f"{name} {size}{' dynamic' * symbolic}",
                kernel(name, (), [Phase((v,), (), (Store("y", (sym(v),), result),))], params, dims, grain), sizes,
                extreme=extreme)


def small(name: str, rows: tuple, phases: list[Phase], params: tuple, dims: tuple = (), sizes: dict | None = None,
          **more) -> Case:
    return Case(name, kernel(name, rows, phases, params, dims), sizes or {}, **more)
