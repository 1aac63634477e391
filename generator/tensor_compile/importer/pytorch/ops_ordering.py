# SPDX-License-Identifier: Apache-2.0
"""Sorting and what is made of it."""
from __future__ import annotations

from .registry import Node, op


@op("aten.sort.default", "aten.sort.stable", "aten.argsort.default", "aten.argsort.stable", "aten.msort.default")
def sort(n: Node) -> None:
    x = n.tensor("self")
    axis = 0 if "msort" in n.target else n.axis("dim", x.rank, -1)
    order = "true" if n.flag("descending") else "false"
    if "argsort" in n.target:
        n.result(f"tc_argsort({x}, {axis}, {order})")
    elif len(n.results) == 1:
        n.result(f"tc_sort({x}, {axis}, {order}, NULL)")
    else:
        n.fill(f"tc_sort({x}, {axis}, {order}, &@1)")


@op("aten.topk.default")
def topk(n: Node) -> None:
    n.ignore("sorted")
    x = n.tensor("self")
    largest = "true" if n.flag("largest", True) else "false"
    n.fill(f"tc_topk({x}, {n.dim(n.size('k'))}, {n.axis('dim', x.rank, -1)}, {largest}, &@1)")


@op("aten.kthvalue.default")
def kthvalue(n: Node) -> None:
    n.only("keepdim", False)
    x = n.tensor("self")
    n.fill(f"tc_kthvalue({x}, {n.dim(n.size('k'))}, {n.axis('dim', x.rank, -1)}, &@1)")


@op("aten.median.dim", "aten.median.default")
def median(n: Node) -> None:
    n.only("keepdim", False)
    x = n.tensor("self")
    if n.target == "aten.median.default":
        n.result(f"tc_median(tc_reshape({x}, -1), 0, NULL)")
    else:
        n.fill(f"tc_median({x}, {n.axis('dim', x.rank)}, &@1)")
