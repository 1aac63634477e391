# SPDX-License-Identifier: Apache-2.0
"""Random numbers: Philox under a seed of the node's own, so that every call gives the same ones."""
from __future__ import annotations

import struct
import zlib
from typing import Sequence

from ...symbolic import IntLike
from ..values import FLOATS
from .registry import Node, op


def _seed(n: Node) -> int:
    """The bits of the attribute; else a number that follows from the node."""
    if n.has("seed"):
        return int(struct.unpack("<I", struct.pack("<f", n.real("seed")))[0])
    return zlib.crc32("/".join((n.name, *n.outputs)).encode())


def _drawn(n: Node, dtype: str, shape: Sequence[IntLike]) -> None:
    """Uniform or normal numbers of the attributes' range."""
    if dtype not in FLOATS:
        n.refuse(f"random numbers of {dtype}")
    uniform = n.op_type.startswith("RandomUniform")
    a, b = (n.real("low", 0.0), n.real("high", 1.0)) if uniform else (n.real("mean", 0.0), n.real("scale", 1.0))
    if not shape:
        n.refuse("random numbers of rank 0")
    name = "tc_random_uniform" if uniform else "tc_random_normal"
    text = f"{name}(g, {_seed(n)}, 0, {n.dim_list(shape)})"
    width = b - a if uniform else b
    text = f"tc_mul({text}, {width:.9g})" if width != 1 else text
    text = f"tc_add({text}, {a:.9g})" if a else text
    n.result(text if dtype == "f32" else f"tc_cast({text}, TC_{dtype.upper()})", dtype, shape)


@op("RandomNormal", "RandomUniform")
def random(n: Node) -> None:
    _drawn(n, n.dtype("dtype", "f32"), n.ints("shape") or [])


@op("RandomNormalLike", "RandomUniformLike")
def random_like(n: Node) -> None:
    x = n.input(0)
    _drawn(n, n.dtype("dtype", x.dtype), x.shape)


@op("Bernoulli", since=15)
def bernoulli(n: Node) -> None:
    p = n.input(0)
    n.floats_only(p)
    dtype = n.dtype("dtype", p.dtype)
    text = f"tc_bernoulli({p}, {_seed(n)}, 0)"
    n.result(text if dtype == p.dtype else f"tc_cast({text}, TC_{dtype.upper()})", dtype, p.shape)


@op("Multinomial", since=7)
def multinomial(n: Node) -> None:
    x, count = n.input(0), n.integer("sample_size", 1)
    dtype = n.dtype("dtype", "i32")
    n.floats_only(x)
    wide = f"{x}" if x.dtype == "f32" else f"tc_cast({x}, TC_F32)"
    text = f"tc_multinomial(tc_softmax({wide}, -1), {count}, true, {_seed(n)}, 0)"
    n.result(text if dtype == "i64" else f"tc_cast({text}, TC_{dtype.upper()})", dtype, (x.shape[0], count))
