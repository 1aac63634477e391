# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, and attention."""
from __future__ import annotations

from .registry import Node, op


@op("aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.mv.default", "aten.dot.default",
    "aten.vdot.default",
    "aten.linalg_matmul.default", "aten.inner.default")
def matmul(n: Node) -> None:
    vector = n.target in ("aten.dot.default", "aten.vdot.default")
    a = n.tensor("self")
    b = n.tensor("tensor" if vector else {"aten.mm.default": "mat2", "aten.bmm.default": "mat2",
                                          "aten.mv.default": "vec"}.get(n.target, "other"))
    n.result(f"tc_{'inner' if 'inner' in n.target else 'matmul'}({a}, {b})")


@op("aten.linear.default")
def linear(n: Node) -> None:
    x, weight, bias = n.tensor("input"), n.tensor("weight"), n.optional("bias")
    n.result(f"tc_linear({x}, {weight}{f', {bias}' if bias is not None else ''})")


@op("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default", "aten.addbmm.default")
def addmm(n: Node) -> None:
    bias = n.tensor("self")
    names = {"aten.addmm.default": ("mat1", "mat2"), "aten.addmv.default": ("mat", "vec")}.get(n.target,
                                                                                               ("batch1", "batch2"))
    a, b = (n.tensor(name) for name in names)
    beta, alpha = n.real("beta", 1.0), n.real("alpha", 1.0)
    if n.target == "aten.addbmm.default":
        n.refuse("a sum over the batch")
    if n.target == "aten.addmv.default" or beta == 0 or alpha == 0:
        product = f"tc_matmul({a}, {b})"
        product = product if alpha == 1 else f"tc_mul({product}, {alpha})"
        if beta == 0:
            n.result(product)
        else:
            n.result(f"tc_add({bias if beta == 1 else f'tc_mul({bias}, {beta})'}, {product})")
        return
    factors = (f", .beta = {beta}" if beta != 1 else "") + (f", .alpha = {alpha}" if alpha != 1 else "")
    n.result(f"tc_{n.target.split('.')[1]}({bias}, {a}, {b}{factors})")


@op("aten.outer.default", "aten.ger.default")
def outer(n: Node) -> None:
    n.result(f"tc_outer({n.tensor('self')}, {n.tensor('vec2')})")


@op("aten.einsum.default")
def einsum(n: Node) -> None:
    n.only("path", None)
    parts = ", ".join(f"{x}" for x in n.tensors("tensors"))
    n.result(f'tc_einsum("{n.text("equation").replace(" ", "")}", {parts})')


@op("aten.tensordot.default")
def tensordot(n: Node) -> None:
    a, b = n.tensor("self"), n.tensor("other")
    first = [n.counted(i, a.rank) for i in n.integers("dims_self")]
    second = [n.counted(i, b.rank) for i in n.integers("dims_other")]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in range(a.rank)]
    right = [left[first[second.index(i)]] if i in second else next(letters) for i in range(b.rank)]
    out = [c for i, c in enumerate(left) if i not in first] + [c for i, c in enumerate(right) if i not in second]
    n.result(f'tc_einsum("{"".join(left)},{"".join(right)}->{"".join(out)}", {a}, {b})')


@op("aten.bilinear.default")
def bilinear(n: Node) -> None:
    bias = n.optional("bias")
    a, b, weight = n.tensor("input1"), n.tensor("input2"), n.tensor("weight")
    n.result(f"tc_bilinear({a}, {b}, {weight}{f', {bias}' if bias is not None else ''})")


@op("aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_flash_attention.default", "aten._scaled_dot_product_efficient_attention.default")
def attention(n: Node) -> None:
    q, k, v = n.tensor("query"), n.tensor("key"), n.tensor("value")
    mask = n.optional("attn_mask") if n.has("attn_mask") else n.optional("attn_bias")
    if n.real("dropout_p", 0.0):
        n.refuse("dropout in attention", "export the module after .eval()")
    n.ignore("enable_gqa", "return_debug_mask", "compute_log_sumexp", "dropout_p")
    words = ""
    if mask is not None:
        words += f", .mask = {mask if mask.dtype == 'bool' else n.as_dtype(mask, q.dtype)}"
    if n.flag("is_causal"):
        words += ", .causal = true"
    if n.has("scale"):
        scale = n.real("scale")
        if not scale:
            n.refuse("a scale of 0")
        words += f", .scale = {scale!r}"
    n.result(f"tc_scaled_dot_product_attention({q}, {k}, {v}{words})")
    if len(n.results) > 1:
        # What the backward pass wants: the logarithms of the softmax's sums.
        factor = n.real("scale") if n.has("scale") else None
        if mask is not None or n.flag("is_causal") or factor is None and not q.shape[-1].is_const:
            n.refuse("the logarithms of masked sums, which only training reads", "export with torch.no_grad()")
        scale = factor if factor is not None else q.shape[-1].value ** -0.5
        n.result(f"tc_logsumexp(tc_mul(tc_matmul({q}, tc_transpose({k}, -2, -1)), {scale!r}), -1)", q.dtype)


@op("aten.cdist.default", "aten._cdist_forward.default")
def cdist(n: Node) -> None:
    n.ignore("compute_mode")
    n.result(f"tc_cdist({n.tensor('x1')}, {n.tensor('x2')}, {n.real('p', 2.0)})")


@op("aten.cosine_similarity.default")
def cosine_similarity(n: Node) -> None:
    a, b = n.tensor("x1"), n.tensor("x2")
    n.result(f"tc_cosine_similarity({a}, {b}, {n.axis('dim', max(a.rank, b.rank), 1)}, {n.real('eps', 1e-8)})")


@op("aten.pairwise_distance.default")
def pairwise_distance(n: Node) -> None:
    n.only("keepdim", False)
    n.result(f"tc_pairwise_distance({n.tensor('x1')}, {n.tensor('x2')}, .p = {n.real('p', 2.0)}, .eps = "
             f"{n.real('eps', 1e-6)})")


@op("aten.kron.default")
def kron(n: Node) -> None:
    n.result(f"tc_kron({n.tensor('self')}, {n.tensor('other')})")


@op("aten._grouped_mm.default", "transformers.grouped_mm_fallback.default")
def grouped_mm(n: Node) -> None:
    """Rows in groups, each times its own matrix: the experts of a mixture."""
    names = ("self", "mat2") if n.target == "aten._grouped_mm.default" else ("input", "weight")
    a, b = (n.tensor(name) for name in names)
    n.ignore("out_dtype")
    if a.rank != 2 or b.rank != 3 or not n.has("offs") or n.has("bias"):
        n.refuse("groups of other operands than a matrix and a stack of matrices, without a bias")
    n.result(f"tc_grouped_mm({a}, {b}, {n.tensor('offs')})", a.dtype)
