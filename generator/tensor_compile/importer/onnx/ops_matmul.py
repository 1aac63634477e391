# SPDX-License-Identifier: Apache-2.0
"""Products of matrices."""
from __future__ import annotations

from ...symbolic import Expr
from ..dims import Shape, broadcast
from .registry import Node, op
from ..problems import Malformed


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """The type of NumPy's matmul."""
    if not a or not b:
        raise Malformed("a product of a number")
    batch = broadcast(a[:-2], b[:-2])
    if batch is None:
        raise Malformed("the dims of the batch do not broadcast")
    return (*batch, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ()))


@op("MatMul")
def matmul(n: Node) -> None:
    a, b = n.input(0), n.input(1)
    n.result(f"tc_matmul({a}, {b})", n.same_dtype(a, b), matmul_shape(a.shape, b.shape))


@op("Gemm")
def gemm(n: Node) -> None:
    a, b, c = n.input(0), n.input(1), n.optional(2)
    alpha, beta = n.real("alpha", 1.0), n.real("beta", 1.0)
    n.integer("broadcast", 1)
    turned_a, turned_b = n.integer("transA", 0), n.integer("transB", 0)
    if a.rank != 2 or b.rank != 2:
        raise Malformed("an operand is no matrix")
    dtype = n.same_dtype(a, b, c)
    rows, columns = a.shape[1 if turned_a else 0], b.shape[0 if turned_b else 1]
    left = f"tc_transpose({a}, 0, 1)" if turned_a else f"{a}"
    shape = (rows, columns)
    if c is not None and alpha == beta == 1 and turned_b and c.rank == 1 and not c.is_constant or \
            c is not None and alpha == beta == 1 and turned_b and c.rank == 1 and c.shape[0] == columns:
        n.result(f"tc_linear({left}, {b}, {c})", dtype, shape)
        return
    right = f"tc_transpose({b}, 0, 1)" if turned_b else f"{b}"
    if c is None or beta == 0:
        product = f"tc_linear({left}, {b})" if turned_b else f"tc_matmul({left}, {right})"
        n.result(product if alpha == 1 else f"tc_mul({product}, {alpha})", dtype, shape)
        return
    product = f"tc_matmul({left}, {right})"
    product = product if alpha == 1 else f"tc_mul({product}, {alpha})"
    bias = f"{c}" if beta == 1 else f"tc_mul({c}, {beta})"
    n.result(f"tc_add({product}, {bias})", dtype, shape)


@op("Einsum")
def einsum(n: Node) -> None:
    values = [n.input(i) for i in range(len(n.inputs))]
    text = n.text("equation").replace(" ", "")
    dtype = n.same_dtype(*values)
    left, _, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(values):
        raise Malformed(f"the equation {text!r} is not of {len(values)} operands")
    sizes: dict[str, Expr] = {}
    spread: Shape = ()
    for term, v in zip(terms, values):
        labels = [c for c in term.replace("...", ".")]
        extra = v.rank - len([c for c in labels if c != "."])
        if extra < 0 or extra and "." not in labels:
            raise Malformed(f"the equation {text!r} does not fit an operand of rank {v.rank}")
        at = 0
        for label in labels:
            if label == ".":
                found = broadcast(spread, v.shape[at:at + extra])
                if found is None:
                    raise Malformed("dims of ... do not broadcast")
                spread = found
                at += extra
                continue
            if label not in sizes or sizes[label] == 1:
                sizes[label] = v.shape[at]
            at += 1
    if "->" not in text:
        joined = left.replace(",", "").replace(".", "")
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    shape = []
    for label in right.replace("...", "."):
        if label != "." and label not in sizes:
            raise Malformed(f"the equation {text!r} has a result {label!r} of no operand")
        shape += list(spread) if label == "." else [sizes[label]]
    n.result(f'tc_einsum("{text}", {", ".join(map(str, (f"{v}" for v in values)))})', dtype, shape)
