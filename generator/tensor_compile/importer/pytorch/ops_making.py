# SPDX-License-Identifier: Apache-2.0
"""Tensors of nothing but sizes and numbers."""
from __future__ import annotations

from ...symbolic import Expr
from .registry import Argument, Node, op


def _full(n: Node, value: Argument) -> None:
    kind = n.type
    shape = f", {n.dim_list(kind.shape)}" if kind.shape else ""
    text = n.operand(value, kind.dtype)
    if "tc_" in text:
        n.result(f"tc_expand({text}{shape})" if shape else text)
    else:
        n.result(f"tc_full(g, {text}, TC_{kind.dtype.upper()}{shape})")


@op("aten.full.default", "aten.full_like.default", "aten.new_full.default", "aten.scalar_tensor.default")
def full(n: Node) -> None:
    n.ignore("size", "dtype", "self")
    _full(n, n.argument("s" if "scalar_tensor" in n.target else "fill_value"))


@op("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.ones.default",
    "aten.ones_like.default",
    "aten.new_ones.default", "aten.empty.memory_format", "aten.empty_like.default", "aten.new_empty.default",
    "aten.empty.default", "aten.empty_permuted.default", "aten.new_empty_strided.default", "aten.empty_strided.default")
def zeros(n: Node) -> None:
    """Memory that PyTorch leaves as it is, is zero here."""
    n.ignore("size", "dtype", "self", "physical_layout", "stride")
    _full(n, 1 if "ones" in n.target else 0)


@op("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(n: Node) -> None:
    n.ignore("dtype")
    dtype, (count,) = n.vector().dtype, n.vector().shape
    start, stop, step = n.argument("start", 0), n.argument("end"), n.argument("step", 1)
    whole = all(isinstance(v, (int, Expr)) for v in (start, stop, step))
    if whole and start == 0 and step == 1:
        n.result(f"tc_arange(g, TC_{dtype.upper()}, {n.dim(count)})")
        return
    text = f"tc_arange(g, TC_{dtype.upper()}, {n.dim(count)})"
    if step != 1:
        text = f"tc_mul({text}, {n.operand(step, dtype)})"
    if start != 0:
        text = f"tc_add({text}, {n.operand(start, dtype)})"
    n.result(text)


@op("aten.linspace.default")
def linspace(n: Node) -> None:
    n.ignore("steps", "dtype")
    kind = n.vector()
    n.result(f"tc_linspace(g, TC_{kind.dtype.upper()}, {n.real('start')}, {n.real('end')}, {n.dim(kind.shape[0])})")


@op("aten.logspace.default")
def logspace(n: Node) -> None:
    n.ignore("steps", "dtype")
    kind = n.vector()
    n.result(f"tc_logspace(g, TC_{kind.dtype.upper()}, {n.real('start')}, {n.real('end')}, {n.dim(kind.shape[0])}, "
             f"{n.real('base', 10.0)})")


@op("aten.eye.default", "aten.eye.m")
def eye(n: Node) -> None:
    n.ignore("n", "m", "dtype")
    n.result(f"tc_eye(g, TC_{n.type.dtype.upper()}, {n.dim_list(n.type.shape)})")


@op("aten.tril.default", "aten.triu.default")
def triangle(n: Node) -> None:
    n.result(f"tc_{n.target.split('.')[1]}({n.tensor('self')}, {n.dim(n.size('diagonal', 0))})")


@op("aten.tril_indices.default", "aten.triu_indices.default")
def triangle_indices(n: Node) -> None:
    n.ignore("dtype")
    n.result(f"tc_{n.target.split('.')[1]}(g, {n.integer('row')}, {n.integer('col')}, {n.integer('offset', 0)})", "i64")


@op("aten.meshgrid.default", "aten.meshgrid.indexing")
def meshgrid(n: Node) -> None:
    parts = n.tensors("tensors")
    name = "tc_meshgrid_xy" if n.text("indexing", "ij") == "xy" else "tc_meshgrid"
    n.array(f"{name}({{array}}, {', '.join(f'{p}' for p in parts)})")


@op("aten.bernoulli.default", "aten.rand.default", "aten.randn.default", "aten.rand_like.default",
    "aten.randn_like.default",
    "aten.randint.low", "aten.randperm.default", "aten.multinomial.default", "aten.normal.Tensor_Tensor",
    "aten.randint.default")
def random(n: Node) -> None:
    n.refuse("random numbers", "make them an input of the module, so that the caller's generator decides")
