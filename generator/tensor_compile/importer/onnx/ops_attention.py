# SPDX-License-Identifier: Apache-2.0
"""Attention and what stands around it, as ONNX has it since opset 23."""
from __future__ import annotations

from ...symbolic import IntLike, wrap
from ..problems import Malformed
from ..values import Value
from .registry import Node, op


def divided(n: Node, size: IntLike, count: int, what: str) -> IntLike:
    """A size that is so many heads: the size of one."""
    size = wrap(size)
    if count < 1 or not size.is_const or size.value % count:
        raise Malformed(f"{what} of {size} features in {count} heads")
    return size.value // count


@op("Attention", since=23)
def attention(n: Node) -> None:
    q, k, v = (n.input(i) for i in range(3))
    mask, past_key, past_value, lengths = (n.optional(i) for i in range(3, 7))
    scale, softcap = n.real("scale", 0.0), n.real("softcap", 0.0)
    heads, shared = n.integer("q_num_heads", 0), n.integer("kv_num_heads", 0)
    precision = n.integer("softmax_precision", 0)
    if precision == 11 and q.dtype != "f64":
        n.refuse("a softmax in f64")   # the DSL computes 16 bits in f32, which is what 1, 10 and 16 ask for or more
    if q.rank not in (3, 4) or k.rank != q.rank or v.rank != q.rank:
        raise Malformed("q, k and v have not one rank of 3 or 4")
    text = f"{q}, {k}, {v}"
    for name, value in (("mask", mask), ("past_key", past_key), ("past_value", past_value), ("lengths", lengths)):
        if value is not None:
            text += f", .{name} = {value}"
    if q.rank == 3:
        one, other = divided(n, q.shape[2], heads, "q"), divided(n, v.shape[2], shared, "v")
        key = divided(n, k.shape[2], shared, "k")
        batch, rows, columns = q.shape[0], q.shape[1], k.shape[1]
        text += f", .q_heads = {heads}, .kv_heads = {shared}"
        shape: list[IntLike] = [batch, rows, wrap(other) * heads]
    else:
        one, other, key = q.shape[3], v.shape[3], k.shape[3]
        batch, rows, columns = q.shape[0], q.shape[2], k.shape[2]
        heads_of_q, shared_of_k = q.shape[1], k.shape[1]
        shape = [batch, heads_of_q, rows, other]
    if n.integer("is_causal", 0):
        text += ", .causal = true"
    if scale:
        text += f", .scale = {scale}"
    elif not wrap(one).is_const:
        n.refuse("no scale for a dynamic number of features")
    if softcap:
        text += f", .softcap = {softcap}"
    total = columns if past_key is None else columns + past_key.shape[2]
    groups: IntLike = shared if q.rank == 3 else shared_of_k
    more: dict[int, tuple[str, list[IntLike]]] = {}
    if n.wants(1):
        more[1] = (k.dtype, [batch, groups, total, key])
        text += ", .present_key = &{out1}"
    if n.wants(2):
        more[2] = (v.dtype, [batch, groups, total, other])
        text += ", .present_value = &{out2}"
    mode = n.integer("qk_matmul_output_mode", 0)
    if n.wants(3):
        names = ("SCALED", "CAPPED", "MASKED", "SOFTMAX")
        if not 0 <= mode < 4:
            raise Malformed(f"qk_matmul_output_mode={mode}")
        more[3] = (q.dtype, [batch, heads if q.rank == 3 else heads_of_q, rows, total])
        text += ", .scores = &{out3}" + (f", .scores_at = TC_SCORES_{names[mode]}" if mode else "")
    n.call(f"tc_onnx_attention({text})", q.dtype, shape, more)


def rotary(n: Node, x: Value, cosines: Value, sines: Value, positions: str, dims: int, heads: int,
           interleaved: bool) -> str:
    """The C of a rotary embedding."""
    text = f"tc_rotary_embedding({x}, {cosines}, {sines}" + (f", {positions}" if positions else "")
    text += f", .heads = {heads}" if x.rank == 3 else ""
    text += f", .dims = {dims}" if dims else ""
    return text + (", .interleaved = true)" if interleaved else ")")


@op("RotaryEmbedding", since=23)
def rotary_embedding(n: Node) -> None:
    x, cosines, sines, positions = n.input(0), n.input(1), n.input(2), n.optional(3)
    heads, dims = n.integer("num_heads", 0), n.integer("rotary_embedding_dim", 0)
    text = rotary(n, x, cosines, sines, f"{positions}" if positions is not None else "", dims, heads,
                  bool(n.integer("interleaved", 0)))
    n.result(text, x.dtype, x.shape)


@op("LinearAttention", since=27)
def linear_attention(n: Node) -> None:
    q, k, v = (n.input(i) for i in range(3))
    state, decay, beta = (n.optional(i) for i in range(3, 6))
    heads, shared = n.integer("q_num_heads"), n.integer("kv_num_heads")
    rule, scale = n.text("update_rule", "gated_delta"), n.real("scale", 0.0)
    n.integer("chunk_size", 64)
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise Malformed(f"update_rule={rule!r}")
    gated, delta = rule.startswith("gated"), rule.endswith("delta")
    if gated and decay is None or delta and beta is None:
        raise Malformed(f"update_rule={rule!r} without its decay or beta")
    if q.rank != 3 or k.rank != 3 or v.rank != 3:
        raise Malformed("q, k and v have not rank 3")
    text = f"{q}, {k}, {v}"
    for name, value, used in (("state", state, True), ("decay", decay, gated), ("beta", beta, delta)):
        if value is not None and used:
            text += f", .{name} = {value}"
    text += f", .q_heads = {heads}, .kv_heads = {shared}" + (f", .scale = {scale}" if scale else "")
    key, one = divided(n, k.shape[2], shared, "k"), divided(n, v.shape[2], shared, "v")
    more: dict[int, tuple[str, list[IntLike]]] = {}
    if n.wants(1):
        more[1] = (q.dtype, [q.shape[0], shared, key, one])
        text += ", .present_state = &{out1}"
    n.call(f"tc_linear_attention({text})", q.dtype, [q.shape[0], q.shape[1], wrap(one) * heads], more)


@op("CausalConvWithState", since=27)
def causal_conv(n: Node) -> None:
    """A depthwise convolution behind the last k - 1 elements of the step before."""
    x, weight, bias, state = n.input(0), n.input(1), n.optional(2), n.optional(3)
    activation = n.text("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise Malformed(f"activation={activation!r}")
    if x.rank != 3 or weight.rank != 3 or not weight.shape[2].is_const or not x.shape[1].is_const:
        raise Malformed("x and the weight have not rank 3 and constant channels")
    kept = weight.shape[2].value - 1
    total = x.shape[2] + kept
    if state is not None:
        whole = f"tc_concat(2, {state}, {x})"
    else:
        whole = f"tc_pad({x}, .low = {{0, 0, {kept}}})" if kept else f"{x}"
    padded = n.let(whole, x.dtype, [x.shape[0], x.shape[1], total], "padded") if whole != f"{x}" else x
    operands = f"{padded}, {weight}" + (f", {bias}" if bias is not None else "")
    text = f"tc_conv1d({operands}, .groups = {x.shape[1].value})"
    n.result(text if activation == "none" else f"tc_silu({text})", x.dtype, x.shape)
    if n.wants(1):
        n.result(f"tc_slice({padded}, 2, {n.dim(x.shape[2])}, {n.dim(total)})", x.dtype, [x.shape[0], x.shape[1], kept],
                 1)


@op("TensorScatter", since=24)
def tensor_scatter(n: Node) -> None:
    """Each element of the cache takes that of the update which its place, counted from the batch's index, names."""
    cache, update, index = n.input(0), n.input(1), n.optional(2)
    axis, mode = n.axis(n.integer("axis", -2), cache.rank), n.text("mode", "linear")
    if mode not in ("linear", "circular") or not axis:
        raise Malformed(f"mode={mode!r}, axis={axis}")
    size, steps = cache.shape[axis], update.shape[axis]
    line: list[IntLike] = [size if i == axis else 1 for i in range(cache.rank)]
    place = f"tc_reshape(tc_arange(g, TC_I64, {n.dim(size)}), {n.dim_list([wrap(s) for s in line])})"
    batch: list[IntLike] = [cache.shape[0] if i == 0 else 1 for i in range(cache.rank)]
    shape: list[IntLike] = [cache.shape[0] if i == 0 else s for i, s in enumerate(line)]
    if index is not None:
        begin = f"tc_reshape(tc_cast({index}, TC_I64), {n.dim_list([wrap(s) for s in batch])})"
        place = f"tc_sub({place}, {begin})"
    else:
        shape = line
    at = n.let(place, "i64", shape, "place")
    if mode == "circular":
        at = n.let(f"tc_remainder({at}, tc_dim_value(g, TC_I64, {n.dim(size)}))", "i64", shape, "place")
    seen = n.let(f"tc_logical_and(tc_ge({at}, 0), tc_lt({at}, tc_dim_value(g, TC_I64, {n.dim(steps)})))", "bool", shape,
                 "written")
    near = f"tc_clamp({at}, 0, tc_dim_value(g, TC_I64, {n.dim(steps - 1)}))"
    source = n.let(f"tc_expand({near}, {n.dim_list(cache.shape)})", "i64", cache.shape, "source")
    n.result(f"tc_where({seen}, tc_take_along({update}, {source}, {axis}), {cache})", cache.dtype, cache.shape)


@op("FlexAttention", domain="ai.onnx.preview")
def flex_attention(n: Node) -> None:
    """Its graphs stand where they act: on the scores, and on their softmax."""
    q, k, v = (n.input(i) for i in range(3))
    if any(x.rank != 4 for x in (q, k, v)):
        raise Malformed("q, k and v have not rank 4")
    scale, precision = n.real("scale", 0.0), n.integer("softmax_precision", 0)
    dtype = {0: "f64" if q.dtype == "f64" else "f32", 1: "f32", 10: "f16", 11: "f64", 16: "bf16"}.get(precision)
    heads, shared = q.shape[1], k.shape[1]
    if dtype is None:
        raise Malformed(f"softmax_precision={precision}")
    if not (heads.is_const and shared.is_const and shared.value and heads.value % shared.value == 0):
        raise Malformed(f"{heads} heads of q and {shared} of k and v")
    if not scale:
        if not q.shape[3].is_const:
            n.refuse("no scale for a dynamic number of features")
        scale = float(q.shape[3].value) ** -0.5
    each = heads.value // shared.value
    keys, values = ((f"tc_repeat_interleave({x}, {each}, 1)" if each > 1 else f"{x}") for x in (k, v))
    wide = (lambda text: text) if q.dtype == dtype else lambda text: f"tc_cast({text}, TC_{dtype.upper()})"
    shape = [q.shape[0], heads, q.shape[2], k.shape[2]]
    scores = n.let(f"tc_mul(tc_matmul({wide(f'{q}')}, tc_transpose({wide(keys)}, 2, 3)), {scale!r})", dtype, shape,
                   "scores")
    for name in ("score_mod", "prob_mod"):
        if n.has(name):
            (found,) = n.importer.graph(n.graph(name), [scores])
            if found is None:
                n.refuse(f"{name}: a node within it is not imported")
            scores = found
        if name == "score_mod":
            scores = n.let(f"tc_softmax({scores}, -1)", dtype, shape, "probabilities")
    text = f"tc_matmul({scores}, {wide(values)})"
    text = text if q.dtype == dtype else f"tc_cast({text}, TC_{q.dtype.upper()})"
    n.result(text, q.dtype, [q.shape[0], heads, q.shape[2], v.shape[3]])
