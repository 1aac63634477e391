# SPDX-License-Identifier: Apache-2.0
"""Products of matrices."""
from __future__ import annotations

from ...symbolic import exact_div, product, wrap
from ..problems import Malformed
from ..values import FLOATS
from .ops_windows import real_weight, weight_scale
from .registry import Node, op


@op("FULLY_CONNECTED", versions=13)
def fully_connected(n: Node) -> None:
    """x of any rank becomes rows as long as those of the weights."""
    x, w, bias = n.input(0), n.input(1), n.optional(2)
    n.ignore("asymmetric", "bias_type")
    if n.option("weights_format"):
        n.refuse("shuffled weights")
    if w.rank != 2:
        raise Malformed(f"weights of rank {w.rank}")
    outputs, depth = n.constant_sizes(w.shape)
    keep = bool(n.option("keep_num_dims"))
    last = x.shape[-1] if x.rank else wrap(1)
    if keep or x.rank == 2 and last == w.shape[1]:
        if last != w.shape[1]:
            raise Malformed(f"rows of {last} for weights of {depth}")
        shape = (*x.shape[:-1], w.shape[0])
        rows = x
    else:
        total = product(x.shape)
        count = exact_div(total, depth) if depth else None
        if count is None:
            n.refuse("rows whose number depends on the dims of the model")
        shape = (count, w.shape[0])
        rows = n.let(f"tc_reshape({x}, {n.dim_list((shape[0], wrap(depth)))})", x.dtype, (shape[0], wrap(depth)))
    if n.is_integer:
        if x.dtype not in ("i8", "i16") or w.dtype != "i8":
            n.refuse(f"a layer of {x.dtype} by {w.dtype}")
        scale = weight_scale(n, 1, w.shape[0], 0)
        text = f"tc_quantized_linear(.x = {n.affine(rows, n.quantized(0))}, .w = {w}, .w_scale = {scale}" \
               + (f", .bias = {bias}" if bias is not None else "") + n.behind() + ")"
    else:
        operands = f"{rows}, {real_weight(n, 1, w, 0)}" + (f", {bias}" if bias is not None else "")
        text = f"tc_linear({operands})"
    n.give(n.activated(text, x.dtype, shape), x.dtype, shape)


@op("BATCH_MATMUL", versions=4)
def batch_matmul(n: Node) -> None:
    a, b = n.input(0), n.input(1)
    n.ignore("asymmetric")
    into = n.importer.dtype(n.output())
    if a.dtype in FLOATS and b.dtype == "i8":
        b = real_weight(n, 1, b, b.rank - 1)
    dtypes = {a.dtype, b.dtype, into}
    integers = a.dtype in ("i8", "i16")
    taken = len(dtypes) == 1 if integers else dtypes <= set(FLOATS)
    if not taken:
        n.refuse(f"a product of {a.dtype} and {b.dtype}{f' that is {into}' if into != a.dtype else ''}")
    if a.rank < 2 or b.rank < 2:
        raise Malformed("matrices have two axes")
    sides, shapes = [], []
    for x, turned in ((a, n.option("adj_x")), (b, n.option("adj_y"))):
        sides.append(f"tc_transpose({x}, -2, -1)" if turned else f"{x}")
        shapes.append((*x.shape[:-2], x.shape[-1], x.shape[-2]) if turned else x.shape)
    batch = n.broadcast(shapes[0][:-2], shapes[1][:-2])
    if integers:
        first, second = (f"{{{side}, {q.scale}, {q.zero}}}" for side, q in zip(sides, (n.quantized(0), n.quantized(1))))
        text = f"tc_quantized_matmul(.a = {first}, .b = {second}{n.behind()})"
    else:
        text = f"tc_matmul({sides[0]}, {sides[1]})"
    n.give(text, a.dtype, (*batch, shapes[0][-2], shapes[1][-1]))
