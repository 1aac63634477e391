# SPDX-License-Identifier: Apache-2.0
"""Nests that threads go through eight points at a time, and those beside them that they must not."""
from __future__ import annotations

from dataclasses import dataclass

from tensor_compile.loops.loop_ir import LoopNestKernel, Phase, RowReduce, Store
from tensor_compile.loops.scalar_ir import Apply, Buffer, IndexValue, Load, Local, Scalar
from tensor_compile.symbolic import Sym, const, sym

ROWS, POINTS, LINES, MANY = 3, 512, 5, 1 << 15


@dataclass(frozen=True)
class Nest:
    """wide: its threads take eight points at a time."""

    name: str
    kernel: LoopNestKernel
    wide: bool


def _buffer(name: str, kind: str, *shape: int) -> Buffer:
    return Buffer(name, "f32", tuple(map(const, shape)), tuple(range(len(shape))), kind)


def _add(a: Scalar, b: Scalar) -> Scalar:
    return Apply("add", "f32", (a, b))


def _nest(name: str, wide: bool, rows: tuple[Sym, ...], phases: list[Phase], *buffers: Buffer) -> Nest:
    return Nest(name, LoopNestKernel(name, rows, tuple(phases), buffers, ()), wide)


def handed_on() -> list[Nest]:
    """A row whose first phase sums and stores what the last one loads: at the point itself, elsewhere, from one
    thread, and the other way round."""
    r = Sym("r", 0, const(ROWS - 1))
    a, b, c = (Sym(name, 0, const(POINTS - 1)) for name in "abc")
    x, t, y = (_buffer(name, kind, ROWS, POINTS) for name, kind in (("x", "input"), ("t", "temp"), ("y", "output")))
    one = _buffer("one", "temp", ROWS)
    at, again = Load("x", "f32", (sym(r), sym(a))), Load("x", "f32", (sym(r), sym(c)))
    total = RowReduce("s", "sum", "free", at, "f32")
    stored = [Phase((a,), (total,)), Phase((c,), (), (Store("t", (sym(r), sym(c)), _add(again, again)),))]
    found = []
    for name, place, wide in (("the same", sym(b), True), ("another", POINTS - 1 - sym(b), False)):
        value = _add(Load("t", "f32", (sym(r), place)), Local("s", "f32"))
        last = Phase((b,), (), (Store("y", (sym(r), sym(b)), value),))
        found.append(_nest(f"{name} point's", wide, (r,), [*stored, last], x, t, y))
    value = _add(Load("one", "f32", (sym(r),)), Load("x", "f32", (sym(r), sym(b))))
    found.append(_nest("one thread's", False, (r,),
                       [Phase((a,), (total,)), Phase((), (), (Store("one", (sym(r),), Local("s", "f32")),)),
                        Phase((b,), (), (Store("y", (sym(r), sym(b)), value),))], x, one, y))
    back = RowReduce("s", "sum", "free", Load("y", "f32", (sym(r), POINTS - 1 - sym(a))), "f32")
    found.append(_nest("overwritten elsewhere", False, (r,),
                       [Phase((a,), (back,)), Phase((b,), (), (Store("y", (sym(r), sym(b)), Local("s", "f32")),))], y))
    return found


def overwritten() -> list[Nest]:
    """Rows whose second phase stores what the last one divides and stores in the same place, or in another one; or that
    the second loads itself."""
    r, v = Sym("r", 0, const(ROWS - 1)), Sym("v", 0, const(POINTS - 1))
    x, y, z = (_buffer(name, kind, ROWS, POINTS) for name, kind in (("x", "input"), ("y", "temp"), ("z", "output")))
    here = (sym(r), sym(v))
    most = RowReduce("most", "max", "free", Load("x", "f32", here), "f32")
    found = []
    for name, there, own in (("in place", "y", "x"), ("elsewhere", "z", "x"), ("loaded before", "y", "y")):
        less = Apply("sub", "f32", (Load(own, "f32", here), Local("most", "f32")))
        total = RowReduce("total", "sum", "lanes", less, "f32")
        part = Apply("div", "f32", (Load("y", "f32", here), Local("total", "f32")))
        buffers = (x, y, z) if there == "z" else (x, y)
        found.append(_nest(f"stored and divided {name}", False, (r,),
                           [Phase((v,), (most,)), Phase((v,), (total,), (Store("y", here, less),)),
                            Phase((v,), (), (Store(there, here, part),))], *buffers))
    return found


def looked_up() -> list[Nest]:
    """Lines by an index that is computed of the point, or loaded for the row."""
    r, k = Sym("r", 0, const(ROWS - 1)), Sym("k", 0, const(LINES - 1))
    found = []
    for rows, points in ((True, POINTS), (False, MANY)):
        v = Sym("v", 0, const(points - 1))
        w = _buffer("w", "packed", LINES, points)
        third = IndexValue("i32", sym(v) - sym(v) // 3 * 3)
        given = Load("i", "i32", (sym(r),) if rows else (const(0),))
        indices = Buffer("i", "i32", (const(ROWS if rows else 1),), (0,), "input")
        y = _buffer("y", "output", *([ROWS] if rows else []), points)
        place = (sym(r), sym(v)) if rows else (sym(v),)
        for name, index, more in (("of the point", third, ()), ("of the row", given, (indices,))):
            line = Load("w", "f32", (sym(k), sym(v)), dynamic=((k, index),))
            if rows:
                phases = [Phase((v,), (RowReduce("s", "sum", "free", line, "f32"),)),
                          Phase((v,), (), (Store("y", place, _add(line, Local("s", "f32"))),))]
            else:
                phases = [Phase((v,), (), (Store("y", place, line),))]
            found.append(_nest(f"an index {name}{', rows' * rows}", True, (r,) if rows else (), phases, w, *more, y))
    return found


NESTS = [*handed_on(), *looked_up()]
