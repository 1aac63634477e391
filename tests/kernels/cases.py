# SPDX-License-Identifier: Apache-2.0
"""Contraction kernels built by hand, of the forms that lowering makes: matmul packed, in place, batched, of constant
and of dynamic sizes; convolution of every padding, stride, dilation and grouping."""
from __future__ import annotations

import struct
from dataclasses import replace

from tensor_compile.loops.loop_ir import ContractionKernel, GroupedContractionKernel, Store
from tensor_compile.loops.products import Product
from tensor_compile.loops.scalar_ir import Acc, Apply, Buffer, Const, IndexValue, Load
from tensor_compile.loops.sorted_words import order_rows
from tensor_compile.symbolic import Expr, IntLike, Sym, ZERO, sym, wrap

Size = IntLike


def dim(name: str, hi: int = 4096) -> Sym:
    return Sym(name, 1, hi, is_dim=True)


def dims_of(*sizes: Expr) -> tuple[Sym, ...]:
    return tuple(sorted({s for e in sizes for s in e.symbols()}, key=lambda s: s.name))


def matmul(m: Size, n: Size, k: Size, panel: int = 16, batch: Size | None = None, bias: bool = True,
           residual: bool = False, transposed: bool = False) -> ContractionKernel:
    """out[b, m, n] = a[b, m, k] * b[b, k, n] (+ bias[n]) (+ residual[m, n]). transposed: a is stored [k, m]."""
    m, n, k = wrap(m), wrap(n), wrap(k)
    vm, vn, vk = Sym("m", 0, m - 1), Sym("n", 0, n - 1), Sym("k", 0, k - 1)
    outer = () if batch is None else (Sym("b", 0, wrap(batch) - 1),)
    sizes = () if batch is None else (wrap(batch),)
    at = tuple(sym(s) for s in outer)
    rank = len(outer)

    def buffer(name: str, shape: tuple[Expr, ...], kind: str, order: tuple[int, ...] | None = None) -> Buffer:
        return Buffer(name, "f32", sizes + shape, order or tuple(range(rank + len(shape))), kind)

    order = (*range(rank), rank + 1, rank) if transposed else None
    a = buffer("a", (m, k), "input", order)
    if panel:
        b = buffer("b", ((n + (panel - 1)) // panel, k, wrap(panel)), "packed")
        b_index = (sym(vn) // panel, sym(vk), sym(vn) % panel)
    else:
        b, b_index = buffer("b", (k, n), "input"), (sym(vk), sym(vn))
    out = buffer("out", (m, n), "output")
    params, value = [a, b], Acc("f32")
    if bias:
        params.append(Buffer("bias", "f32", (n,), (0,), "packed"))
        value = Apply("add", "f32", (value, Load("bias", "f32", (sym(vn),))))
    if residual:
        params.append(buffer("residual", (m, n), "temp"))
        value = Apply("add", "f32", (value, Load("residual", "f32", (*at, sym(vm), sym(vn)))))
    return ContractionKernel("matmul", outer, (vm,), (vn,), (vk,), Load("a", "f32", (*at, sym(vm), sym(vk))),
                             (Load("b", "f32", (*at, *b_index)),), panel,
                             (Store("out", (*at, sym(vm), sym(vn)), value),), (*params, out), dims_of(m, n, k, *sizes))


def term_by_term(m: Size, n: Size, k: Size, apart: int | None = None, batch: Size = 2,
                 transposed: bool = False, dtype: str = "f32") -> ContractionKernel:
    """out[b, m, n] = a[b, m, k] * b[b, n, k]: columns lie term by term, as a decoder's keys do; apart: from one to the
    next. transposed: a is stored [k, m]. dtype: of b."""
    kernel = matmul(m, n, k, 0, batch, bias=False, transposed=transposed)
    ((at,), (vn,), (vk,)) = kernel.batch, kernel.n, kernel.k
    keys = Buffer("b", dtype, (wrap(batch), wrap(n), wrap(k if apart is None else apart)), (0, 1, 2), "input")
    params = tuple(keys if p.name == "b" else p for p in kernel.params)
    return replace(kernel, b=(Load("b", dtype, (sym(at), sym(vn), sym(vk))),), params=params,
                   product=Product("f32", dtype))


def in_place(m: Size, n: Size, k: Size, dtype: str, batch: Size = 2) -> ContractionKernel:
    """out[b, m, n] = a[b, m, k] * b[b, k, n], b of 16 bits where it lies, as a decoder's values do."""
    kernel = matmul(m, n, k, 0, batch, bias=False)
    (b,) = kernel.b
    params = tuple(replace(p, dtype=dtype) if p.name == "b" else p for p in kernel.params)
    return replace(kernel, b=(Load(b.buffer, dtype, b.index),), params=params, product=Product("f32", dtype))


def predicated(m: Size, n: Size, k: Size, given: bool = True) -> ContractionKernel:
    """out[m, n] = the sum of a[m, k] * b[k, n] where k <= m + 3 and p[k], if that is given, as far as NaN shows it; b
    in place."""
    kernel = matmul(m, n, k, 0, bias=False)
    (row,), (term,) = kernel.m, kernel.k
    before = Apply("le", "bool", (IndexValue("i32", sym(term)), IndexValue("i32", sym(row) + 3)))
    if not given:
        return replace(kernel, where=before)
    p = Buffer("p", "bool", (wrap(k),), (0,), "input")
    where = Apply("logical_and", "bool", (before, Load("p", "bool", (sym(term),))))
    return replace(kernel, params=(*kernel.params[:2], p, *kernel.params[2:]), where=where)


def causal(m: Size, n: Size, k: Size, beyond: int = 3, scaled: bool = False, heads: int = 0) -> ContractionKernel:
    """out[m, n] = the sum of a[m, k] * b[k, n] (, an eighth of it) where n <= m + beyond, -inf elsewhere. heads: so
    many of these, the mask of each two columns wider than that of the one before."""
    kernel = matmul(m, n, k, bias=False, batch=heads or None)
    (store,) = kernel.stores
    last = sym(kernel.m[0]) + sum((2 * sym(s) for s in kernel.batch), wrap(beyond))
    there = Apply("le", "bool", (IndexValue("i32", sym(kernel.n[0])), IndexValue("i32", last)))
    part = Apply("mul", "f32", (store.value, Const("f32", 0x3e000000))) if scaled else store.value
    value = Apply("select", "f32", (there, part, Const("f32", 0xff800000)))
    return replace(kernel, stores=(replace(store, value=value),))


def padded(m: int, n: int, c: int, j: int) -> ContractionKernel:
    """out[m, n] = the sum of a[m, c, j] * b[c, j, n], b in place, where the first c and the last lie in the padding."""
    vm, vn, vc, vj = Sym("m", 0, m - 1), Sym("n", 0, n - 1), Sym("c", 0, c - 1), Sym("j", 0, j - 1)
    a = Buffer("a", "f32", (wrap(m), wrap(c - 2), wrap(j)), (0, 1, 2), "input")
    b = Buffer("b", "f32", (wrap(c), wrap(j), wrap(n)), (0, 1, 2), "input")
    out, at = Buffer("out", "f32", (wrap(m), wrap(n)), (0, 1), "output"), sym(vc) - 1
    return ContractionKernel("padded", (), (vm,), (vn,), (vc, vj),
                             Load("a", "f32", (sym(vm), at, sym(vj)), (at, c - 3 - at), Const("f32", 0)),
                             (Load("b", "f32", (sym(vc), sym(vj), sym(vn))),), 0,
                             (Store("out", (sym(vm), sym(vn)), Acc("f32")),), (a, b, out), ())


def convolution(n: Size, c: int, h: Size, w: Size, o: int, window: tuple[int, int], stride: int = 1, pad: int = 0,
                dilation: int = 1, groups: int = 1, planar_in: bool = False, planar_out: bool = False,
                panel: int = 16) -> ContractionKernel:
    """Channels last unless planar; m = those of (n, oh, ow) that are not 1, as lowering has it, k = (kh, kw, channel),
    groups are the batch."""
    n, h, w = wrap(n), wrap(h), wrap(w)
    kh, kw = window
    oh = (h + 2 * pad - dilation * (kh - 1) - 1) // stride + 1
    ow = (w + 2 * pad - dilation * (kw - 1) - 1) // stride + 1
    cg, og = c // groups, o // groups
    vn, vh, vw, vo = Sym("n", 0, n - 1), Sym("oh", 0, oh - 1), Sym("ow", 0, ow - 1), Sym("oc", 0, og - 1)
    vkh, vkw, vc, vg = Sym("kh", 0, kh - 1), Sym("kw", 0, kw - 1), Sym("c", 0, cg - 1), Sym("g", 0, groups - 1)
    g = sym(vg) if groups > 1 else ZERO
    x = Buffer("x", "f32", (n, wrap(c), h, w), (0, 1, 2, 3) if planar_in else (0, 2, 3, 1), "input")
    weights = Buffer("w", "f32", (wrap(groups), wrap(-(-og // panel)), wrap(kh * kw * cg), wrap(panel)), (0, 1, 2, 3),
                     "packed")
    y = Buffer("y", "f32", (n, wrap(o), oh, ow), (0, 1, 2, 3) if planar_out else (0, 2, 3, 1), "output")
    bias = Buffer("bias", "f32", (wrap(o),), (0,), "packed")
    first, row, column = (sym(v) if v.hi != 0 else ZERO for v in (vn, vh, vw))
    iy, ix = row * stride + sym(vkh) * dilation - pad, column * stride + sym(vkw) * dilation - pad
    valid = (iy, h - 1 - iy, ix, w - 1 - ix) if pad else ()
    a = Load("x", "f32", (first, g * cg + sym(vc), iy, ix), valid, Const("f32", 0) if pad else None)
    b = Load("w", "f32", (g, sym(vo) // panel, (sym(vkh) * kw + sym(vkw)) * cg + sym(vc), sym(vo) % panel))
    channel = g * og + sym(vo)
    value = Apply("add", "f32", (Acc("f32"), Load("bias", "f32", (channel,))))
    rows = tuple(v for v in (vn, vh, vw) if v.hi != 0)
    return ContractionKernel("convolution", (vg,) if groups > 1 else (), rows, (vo,), (vkh, vkw, vc), a, (b,), panel,
                             (Store("y", (first, channel, row, column), value),), (x, weights, bias, y),
                             dims_of(n, h, w))


def with_residual(kernel: ContractionKernel) -> ContractionKernel:
    """The same with a tensor that lies as the results do added to them."""
    (store,), out = kernel.stores, kernel.params[-1]
    value = Apply("add", "f32", (store.value, Load("residual", "f32", store.index)))
    return replace(kernel, stores=(replace(store, value=value),),
                   params=(*kernel.params[:-1], replace(out, name="residual", kind="temp"), out))


def heads(m: Size, h: int, d: int, k: int, panel: int = 16) -> ContractionKernel:
    """out[h, m, d] = gelu(a[m, k] * b[k, (h, d)]): columns of two variables, stored apart, with a costly epilogue."""
    m = wrap(m)
    vm, vh, vd, vk = Sym("m", 0, m - 1), Sym("h", 0, h - 1), Sym("d", 0, d - 1), Sym("k", 0, k - 1)
    a = Buffer("a", "f32", (m, wrap(k)), (0, 1), "input")
    b = Buffer("b", "f32", (wrap(-(-h * d // panel)), wrap(k), wrap(panel)), (0, 1, 2), "packed")
    out = Buffer("out", "f32", (wrap(h), m, wrap(d)), (0, 1, 2), "output")
    column = sym(vh) * d + sym(vd)
    acc = Acc("f32")
    inner = Apply("erf", "f32", (Apply("mul", "f32", (acc, Const("f32", 0x3f3504f3))),))
    value = Apply("mul", "f32", (acc, Apply("add", "f32", (inner, Const("f32", 0x3f800000)))))
    return ContractionKernel("heads", (), (vm,), (vh, vd), (vk,), Load("a", "f32", (sym(vm), sym(vk))),
                             (Load("b", "f32", (column // panel, sym(vk), column % panel)),), panel,
                             (Store("out", (sym(vh), sym(vm), sym(vd)), value),), (a, b, out), dims_of(m))


def sums(m: Size, n: Size, k: Size, count: int, panel: int = 16) -> ContractionKernel:
    """out[m, n] = relu(a*b0) * a*b1 (+ a*b2 …): several sums a point; b is packed, or in place where panel is 0."""
    m, n, k = wrap(m), wrap(n), wrap(k)
    vm, vn, vk = Sym("m", 0, m - 1), Sym("n", 0, n - 1), Sym("k", 0, k - 1)
    shape = ((n + (panel - 1)) // panel, k, wrap(panel)) if panel else (k, n)
    index = (sym(vn) // panel, sym(vk), sym(vn) % panel) if panel else (sym(vk), sym(vn))
    second = [Buffer(f"b{i}", "f32", shape, tuple(range(len(shape))), "packed" if panel else "input")
              for i in range(count)]
    value = Apply("mul", "f32", (Apply("maximum", "f32", (Acc("f32"), Const("f32", 0))), Acc("f32", 1)))
    for i in range(2, count):
        value = Apply("add", "f32", (value, Acc("f32", i)))
    a, out = Buffer("a", "f32", (m, k), (0, 1), "input"), Buffer("out", "f32", (m, n), (0, 1), "output")
    return ContractionKernel("sums", (), (vm,), (vn,), (vk,), Load("a", "f32", (sym(vm), sym(vk))),
                             tuple(Load(b.name, "f32", index) for b in second), panel,
                             (Store("out", (sym(vm), sym(vn)), value),), (a, *second, out), dims_of(m, n, k))


def typed(m: Size, n: Size, k: Size, product: Product, panel: int = 16) -> ContractionKernel:
    """out[m, n] = bias[n] + a[m, k] * (b[k, n] - zero), of any dtypes; of integers, b lies in panels by groups."""
    kernel = matmul(m, n, k, panel)
    return _retyped(kernel, product, wrap(n), wrap(k), panel)


def quantized(m: Size, n: Size, k: Size, product: Product, dtype: str, zero: int, panel: int = 16) -> ContractionKernel:
    """The same, scaled, rounded and moved by `zero` to a dtype of 8 bits."""
    return _rounded(typed(m, n, k, product, panel), dtype, zero)


def image(c: int, h: Size, w: Size, o: int, size: tuple[int, int], stride: int, pad: int, product: Product, dtype: str,
          zero: int, planar: bool = False, fill: int = 0, n: Size = 1, panel: int = 16) -> ContractionKernel:
    """A convolution of an image whose results are such bytes."""
    kernel = convolution(n, c, h, w, o, size, stride, pad, planar_in=planar, panel=panel)
    return _rounded(_retyped(kernel, product, wrap(o), wrap(size[0] * size[1] * c), panel, fill), dtype, zero)


def _rounded(kernel: ContractionKernel, dtype: str, zero: int) -> ContractionKernel:
    (store,) = kernel.stores
    scaled = Apply("mul", "f32", (Apply("cast", "f32", (store.value,)), Const("f32", 0x3c23d70a)))    # 0.01
    (bits,) = struct.unpack("<I", struct.pack("<f", zero))
    moved = Apply("add", "f32", (Apply("round", "f32", (scaled,)), Const("f32", bits))) if zero else \
        Apply("round", "f32", (scaled,))
    params = tuple(replace(p, dtype=dtype) if p.name == store.buffer else p for p in kernel.params)
    return replace(kernel, stores=(replace(store, value=Apply("cast", dtype, (moved,))),), params=params)


def window(c: int, h: Size, o: int, product: Product, stride: int = 1, pad: int = 1, planar: bool = False,
           panel: int = 16, fill: int = 0) -> ContractionKernel:
    """A 3x3 convolution of any dtypes, padded with `fill`."""
    kernel = convolution(1, c, h, 7, o, (3, 3), stride, pad, planar_in=planar, panel=panel)
    return _retyped(kernel, product, wrap(o), wrap(9 * c), panel, fill)


def _retyped(kernel: ContractionKernel, product: Product, n: Expr, k: Expr, panel: int, fill: int = 0
             ) -> ContractionKernel:
    """The kernel with operands, sums, bias and results of the product's dtypes."""
    (b,), group = kernel.b, product.group
    dtypes = {kernel.a.buffer: product.a, b.buffer: product.b}
    index = b.index
    if group > 1:
        heads, at, column = index[:-2], index[-2], index[-1]
        index = (*heads, at // group, column, at % group)
    params = []
    for p in kernel.params:
        shape = p.shape
        if p.name == b.buffer and group > 1:
            words = (k + (group - 1)) // group
            more = order_rows(words.value) if product.ordered else 0
            shape = (*p.shape[:-2], words + more, wrap(panel), wrap(group))
        order = p.order if len(shape) == len(p.shape) else tuple(range(len(shape)))
        params.append(Buffer(p.name, dtypes.get(p.name, product.sum), shape, order, p.kind))
    other = Const(product.a, fill) if kernel.a.other is not None else None
    (store,) = kernel.stores
    bias = next(x for x in store.value.args if isinstance(x, Load))
    value = Apply("add", product.sum, (Acc(product.sum), Load(bias.buffer, product.sum, bias.index)))
    return ContractionKernel(kernel.label, kernel.batch, kernel.m, kernel.n, kernel.k,
                             Load(kernel.a.buffer, product.a, kernel.a.index, kernel.a.valid, other),
                             (Load(b.buffer, product.b, index),), panel, (Store(store.buffer, store.index, value),),
                             tuple(params), kernel.dims, product=product)


def siblings(m: Size, k: Size, columns: tuple[Size, ...], panel: int = 16) -> GroupedContractionKernel:
    """outI[m, n] = a[m, k] * bI[k, n], n of `columns`, side by side; every other one is stored transposed."""
    m, k = wrap(m), wrap(k)
    vm, vk = Sym("m", 0, m - 1), Sym("k", 0, k - 1)
    a = Buffer("a", "f32", (m, k), (0, 1), "input")
    parts = []
    for i, n in enumerate(map(wrap, columns)):
        vn = Sym("n", 0, n - 1)
        b = Buffer(f"b{i}", "f32", ((n + (panel - 1)) // panel, k, wrap(panel)), (0, 1, 2), "packed")
        out = Buffer(f"out{i}", "f32", (m, n), (1, 0) if i % 2 else (0, 1), "output")
        second = Load(b.name, "f32", (sym(vn) // panel, sym(vk), sym(vn) % panel))
        parts.append(ContractionKernel(f"part{i}", (), (vm,), (vn,), (vk,), Load("a", "f32", (sym(vm), sym(vk))),
                                       (second,),
                                       panel, (Store(out.name, (sym(vm), sym(vn)), Acc("f32")),), (a, b, out),
                                       dims_of(m, n, k)))
    params = tuple(dict.fromkeys(b for part in parts for b in part.params))
    return GroupedContractionKernel("siblings", tuple(parts), params, dims_of(m, k, *map(wrap, columns)))
