# SPDX-License-Identifier: Apache-2.0
"""Kernels of attention without a mask, of 16 bits."""
from __future__ import annotations

from tensor_compile.loops.kernel_interface import attention, contraction
from tensor_compile.loops.loop_ir import AttentionKernel, Store
from tensor_compile.loops.scalar_ir import Acc, Buffer, Load
from tensor_compile.symbolic import Sym, const, sym


def attend(heads: int = 2, queries: int = 5, keys: int = 200, depth: int = 16) -> AttentionKernel:
    """Queries of some heads over all keys; as many columns as terms."""
    h, r, n, key, d = (Sym(name, 0, const(size - 1))
                       for name, size in zip("hrnkd", (heads, queries, depth, keys, depth)))
    few, many = (heads, queries, depth), (heads, keys, depth)
    shapes = {"q": few, "k": many, "v": many, "y": few}
    buffers = {name: Buffer(name, "f32" if name == "y" else "bf16", tuple(map(const, shape)), (0, 1, 2),
                            "output" if name == "y" else "temp") for name, shape in shapes.items()}

    def load(name: str, *at: Sym) -> Load:
        return Load(name, "bf16", tuple(map(sym, at)))

    stores = (Store("y", (sym(h), sym(r), sym(n)), Acc("f32")),)
    values = contraction(buffers, "attend", (h,), (r,), (n,), (key,), load("q", h, r, key), (load("v", h, key, n),), 0,
                         stores)
    return attention(buffers, values, (key, d), load("q", h, r, d), load("v", h, key, n), second=load("k", h, key, d),
                     score=Acc("f32"), limit=None, zeros=False)
