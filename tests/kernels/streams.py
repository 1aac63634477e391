# SPDX-License-Identifier: Apache-2.0
"""Which steps are taken to read packed weights once, and where their panels lie."""
from __future__ import annotations

from dataclasses import replace

from cases import dim, heads, matmul, siblings
from tap import done, equal
from tensor_compile.emit.streams import streams
from tensor_compile.loops.kernel_interface import changed
from tensor_compile.loops.loop_ir import ContractionKernel, Kernel, LoopNestKernel, Phase, Store
from tensor_compile.loops.products import Product
from tensor_compile.loops.program_ir import Step, Tiles
from tensor_compile.loops.scalar_ir import Buffer, Const, Load
from tensor_compile.loops.tile_panels import panels, tiled
from tensor_compile.symbolic import IntLike, sym, Sym, wrap


def found(kernel: Kernel, **packed: int) -> list[tuple[int, int, int, int]] | None:
    read = streams(Step(kernel), packed)
    return None if read is None else [(p.first.value, p.count.value, p.offset, p.bytes) for p in read.parts]


def state(heads: int, room: int, width: int, kind: str = "state", dtype: str = "f32") -> Buffer:
    return Buffer("s", dtype, (wrap(heads), wrap(room), wrap(width)), (0, 1, 2), kind)


def values(heads: int, rows: int, count: IntLike, room: int, width: int, first: int = 0, kind: str = "state",
           dtype: str = "f32") -> ContractionKernel:
    """out[h, m, n] = a[h, m, k] * s[h, k, first + n]: a decoder's values, of columns of a state."""
    kernel = matmul(rows, 64, count, 0, heads, bias=False)
    (h,), (n,), (k,) = kernel.batch, kernel.n, kernel.k
    buffers = {p.name: p for p in kernel.params} | {"s": state(heads, room, width, kind, dtype)}
    return changed(buffers, kernel, b=(Load("s", dtype, (sym(h), sym(k), sym(n) + first)),),
                   product=Product("f32", dtype))


def columns(heads: int, rows: int, count: IntLike, room: int, width: int, used: int | None = None,
            dtype: str = "f32") -> ContractionKernel:
    """out[h, m, n] = a[h, m, k] * s[h, n, k]: a decoder's keys, of whose terms `used` are taken (all)."""
    kernel = matmul(rows, count, used or width, 0, heads, bias=False)
    (h,), (n,), (k,) = kernel.batch, kernel.n, kernel.k
    buffers = {p.name: p for p in kernel.params} | {"s": state(heads, room, width, dtype=dtype)}
    return changed(buffers, kernel, b=(Load("s", dtype, (sym(h), sym(n), sym(k))),), product=Product("f32", dtype))


def of_two(rows: int, count: int, room: int) -> ContractionKernel:
    """out[h, m, d] = a[m, k] * s[h, k, d]: columns of two variables, which lie as far apart as states of heads."""
    kernel = heads(rows, 3, 64, count)
    (h, d), (k,) = kernel.n, kernel.k
    buffers = {p.name: p for p in kernel.params} | {"s": state(3, room, 64)}
    return changed(buffers, kernel, b=(Load("s", "f32", (sym(h), sym(k), sym(d))),), b_panel=0)


def keys(heads: int, count: IntLike, room: int, width: int, used: int | None = None) -> Tiles:
    """Tiles that pack `used` columns (all) of a state's keys and multiply by them."""
    used = used or width
    kernel = matmul(1, count, used, 16, heads, bias=False)
    (b,) = kernel.b
    p, i, c, lane = (Sym(name, 0, wrap(hi) - 1) for name, hi in
                     (("p", (wrap(count) + 15) // 16), ("i", used), ("h", heads), ("lane", 16)))
    at = 16 * sym(p) + sym(lane)
    value = Load("s", "f32", (sym(c), at, sym(i)), (wrap(count) - 1 - at,), Const("f32", 0))
    made = next(x for x in kernel.params if x.name == "b")
    buffers = {x.name: x for x in kernel.params} | {"s": state(heads, room, width)}
    buffers["b"] = replace(made, kind="temp")
    kernel = changed(buffers, kernel)
    index = (sym(c), sym(p), sym(i), sym(lane))
    nest = LoopNestKernel("pack", (c, p, i, lane), (Phase((), (), (Store("b", index, value),)),), (), ())
    pair = panels(changed(buffers, nest), kernel)
    assert pair is not None
    names = iter(("t0", "t1", "t2"))
    made_tiles = tiled(pair, buffers, lambda: next(names))
    return replace(made_tiles, body=[Step(k) for k in made_tiles.body if not isinstance(k, (Step, Tiles))])


def of_state(item: Step | Tiles) -> tuple[str, ...] | None:
    """first, count, across, runs, offset, bytes, between, apart, reach, outer."""
    read = streams(item, {})
    if read is None:
        return None
    equal(read.state is not None and read.state.name, "s", "what is read is part of a state")
    ((part,), panels_of) = read.parts, read.panels
    equal(panels_of, part.count, "all panels are shared")
    return tuple(str(e) for e in part.numbers)


equal(found(matmul(1, 1000, 300), b=128), [(0, 63, 128, 19200)], "a product of one row: 63 panels of 16 columns")
equal(found(matmul(8, 1000, 300), b=128), [(0, 63, 128, 19200)], "of eight rows, which are one tile")
equal(found(matmul(9, 1000, 300), b=128), None, "of more rows than a tile has")
equal(found(matmul(1, 1000, 100), b=128), None, "weights that stay in the caches of a team")
equal(found(matmul(1, 1000, 300)), None, "weights of the call's own")
equal(found(matmul(1, 1000, 300, panel=0), b=128), None, "columns that are no panels")
equal(found(matmul(sym(dim("m")), 1000, 300), b=128), None, "rows that are known at run time alone")
equal(found(matmul(1, 1000, 300, batch=2), b=128), None, "a batch")
group = siblings(1, 300, (992, 500, 16))
equal(found(group, **{p.b[0].buffer: 4096 * i for i, p in enumerate(group.contractions)}),
      [(0, 62, 0, 19200), (62, 32, 4096, 19200), (94, 1, 8192, 19200)],
      "of products side by side, one behind the other")

# -- states
past = sym(dim("past"))
equal(of_state(Step(values(3, 3, 4097, 4608, 64))),
      ("0", "12", "4", "4097", "0", "64", "256", "64", "256", str(4608 * 256)), "values: 16 columns of each head")
equal(of_state(Step(values(12, 1, past + 1, 4608, 64))),
      ("0", "48", "4", "past + 1", "0", "64", "256", "64", "256", str(4608 * 256)), "of a number that a call gives")
equal(of_state(Step(values(3, 9, 4097, 4608, 64))), None, "of more rows than a tile has")
equal(of_state(Step(values(3, 3, 64, 100, 64))), None, "values that stay in the caches of a team")
equal(of_state(Step(values(3, 3, 4097, 4608, 64, kind="temp"))), None, "values of the call's own")
equal(of_state(Step(values(3, 3, 4097, 4608, 128, first=64))),
      ("0", "12", "4", "4097", "256", "64", "512", "64", "256", str(4608 * 512)), "columns behind others")
equal(of_state(Step(of_two(1, 4097, 4608))), None, "columns that are no neighbours")
equal(of_state(Step(columns(3, 3, 4097, 4608, 64))),
      ("0", "771", "257", "1", "0", "4096", "0", "4096", str(4097 * 256), str(4608 * 256)),
      "keys: 16 columns of each head")
equal(of_state(Step(columns(3, 1, past + 1, 4608, 64))),
      ("0", "3*floordiv(past, 16) + 3", "floordiv(past, 16) + 1", "1", "0", "4096", "0", "4096", "256*past + 256",
       str(4608 * 256)), "of a number that a call gives")
for half in ("f16", "bf16"):
    equal(of_state(Step(values(3, 3, 4097, 4608, 64, dtype=half))),
          ("0", "12", "4", "4097", "0", "32", "128", "32", "128", str(4608 * 128)), f"values of {half}")
    equal(of_state(Step(columns(3, 3, 4097, 4608, 64, dtype=half))),
          ("0", "771", "257", "1", "0", "2048", "0", "2048", str(4097 * 128), str(4608 * 128)), f"keys of {half}")
equal(of_state(Step(columns(3, 3, 4097, 4608, 64, used=32))), None, "columns that have others' terms between them")
equal(of_state(keys(3, 4097, 4608, 64)),
      ("0", "99", "33", "1", "0", "32768", "0", "32768", str(4097 * 256), str(4608 * 256)), "keys: tiles of 128")
equal(of_state(keys(3, past + 1, 4608, 64)),
      ("0", "3*floordiv(past, 128) + 3", "floordiv(past, 128) + 1", "1", "0", "32768", "0", "32768", "256*past + 256",
       str(4608 * 256)), "of a number that a call gives")
equal(of_state(keys(3, 4097, 4608, 128, 64)), None, "keys that have others' columns between them")
done()
