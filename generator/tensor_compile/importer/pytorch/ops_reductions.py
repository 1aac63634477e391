# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes."""
from __future__ import annotations

from ..values import Value
from .ops_elementwise import as_bool
from .registry import Function, Node, add, op


def _where(n: Node, x: Value, name: str = "dim") -> str:
    """The axes as arguments, none where all are meant."""
    if not x.rank:
        n.ignore(name)
        return ""
    axes = n.axes(name, x.rank)
    return "" if len(axes) == x.rank else "".join(f", {a}" for a in axes)


def _reduction(name: str) -> Function:
    def function(n: Node) -> None:
        x = n.tensor("self")
        n.ignore("dtype")
        keep = "_keepdims" if n.flag("keepdim") else ""
        dtype = n.type.dtype
        if name in ("any", "all"):
            text, made = as_bool(n, x), "bool"
        else:
            text, made = (n.as_dtype(x, dtype), dtype)
        if not x.rank:
            n.result(f"tc_{name}({text})" if name != "mean" else text, made)
            return
        n.result(f"tc_{name}{keep}({text}{_where(n, x)})", made)
    return function


add(_reduction("sum"), "aten.sum.default", "aten.sum.dim_IntList")
add(_reduction("mean"), "aten.mean.default", "aten.mean.dim")
add(_reduction("amax"), "aten.amax.default", "aten.max.default")
add(_reduction("amin"), "aten.amin.default", "aten.min.default")
add(_reduction("any"), "aten.any.default", "aten.any.dim", "aten.any.dims")
add(_reduction("all"), "aten.all.default", "aten.all.dim", "aten.all.dims")
add(_reduction("prod"), "aten.prod.default", "aten.prod.dim_int")
add(_reduction("logsumexp"), "aten.logsumexp.default", "aten.special_logsumexp.default")


def _correction(n: Node) -> int:
    if n.has("unbiased"):
        return 1 if n.flag("unbiased") else 0
    return int(n.real("correction", 1))


def _spread(name: str) -> Function:
    def function(n: Node) -> None:
        x = n.tensor("self")
        correction = _correction(n)
        if correction not in (0, 1):
            n.refuse(f"correction={correction}")
        form = ("_unbiased" if correction else "") + ("_keepdims" if n.flag("keepdim") else "")
        where = _where(n, x)
        n.result(f"tc_{name}{form}({x}{where})")
        if len(n.results) > 1:
            n.result(f"tc_mean{'_keepdims' if n.flag('keepdim') else ''}({x}{where})")
    return function


for _name in ("var", "std"):
    add(_spread(_name), *(f"aten.{_name}.{o}" for o in ("default", "dim", "correction")),
        *(f"aten.{_name}_mean.{o}" for o in ("default", "dim", "correction")))


def _extreme(name: str) -> Function:
    """max.dim, min.dim: the values and where they are."""
    def function(n: Node) -> None:
        x = n.tensor("self")
        keep = "_keepdims" if n.flag("keepdim") else ""
        axis = n.axis("dim", x.rank)
        if not x.rank:
            n.refuse("a tensor of rank 0")
        n.result(f"tc_a{name}{keep}({x}, {axis})" if x.dtype != "bool" else
                 f"tc_{'any' if name == 'max' else 'all'}{keep}({x}, {axis})")
        arg = f"{x}" if x.dtype != "bool" else f"tc_cast({x}, TC_U8)"
        n.result(f"tc_arg{name}{keep}({arg}, {axis})")
    return function


add(_extreme("max"), "aten.max.dim")
add(_extreme("min"), "aten.min.dim")


@op("aten.argmax.default", "aten.argmin.default")
def arg_extreme(n: Node) -> None:
    x = n.tensor("self")
    name = f"tc_{n.target.split('.')[1]}"
    if x.dtype == "bool":
        x = n.let(f"tc_cast({x}, TC_U8)", "u8", x.shape)
    if not n.has("dim"):
        if n.flag("keepdim"):
            n.refuse("keepdim without dim")
        n.result(f"{name}(tc_reshape({x}, -1), 0)")
        return
    n.result(f"{name}{'_keepdims' if n.flag('keepdim') else ''}({x}, {n.axis('dim', x.rank)})")


@op("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar", "aten.norm.ScalarOpt_dtype",
    "aten.norm.ScalarOpt_dim_dtype", "aten.linalg_norm.default", "aten.frobenius_norm.dim")
def norm(n: Node) -> None:
    x = n.tensor("self")
    dtype = n.type.dtype
    n.ignore("dtype")
    order = n.real("ord" if "linalg" in n.target else "p", 2.0)
    if n.target == "aten.linalg_norm.default" and n.has("ord") and x.rank != 1 and len(n.integers("dim", ())) != 1:
        n.refuse("a norm of matrices")
    keep = "_keepdims" if n.flag("keepdim") else ""
    text = {float("inf"): "INFINITY", float("-inf"): "-INFINITY"}.get(order, f"{order:g}")
    where = _where(n, x) if n.has("dim") or not x.rank else ""
    n.result(f"tc_norm{keep}({n.as_dtype(x, dtype)}, {text}{where})")


@op("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_sum(tc_cast({as_bool(n, x)}, TC_I64){_where(n, x)})")


@op("aten.cumsum.default", "aten.cumprod.default", "aten.logcumsumexp.default")
def cumulative(n: Node) -> None:
    x = n.tensor("self")
    n.ignore("dtype")
    n.result(f"tc_{n.target.split('.')[1]}({n.as_dtype(x, n.type.dtype)}, {n.axis('dim', x.rank)})")


@op("aten.cummax.default", "aten.cummin.default")
def cumulative_extreme(n: Node) -> None:
    x = n.tensor("self")
    n.fill(f"tc_{n.target.split('.')[1]}({x}, {n.axis('dim', x.rank)}, &@1)")


@op("aten.trace.default")
def trace(n: Node) -> None:
    n.result(f"tc_trace({n.tensor('self')})", n.tensor("self").dtype)


