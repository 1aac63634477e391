# SPDX-License-Identifier: Apache-2.0
"""com.microsoft: what ONNX Runtime's transformer optimizer writes. What its quantizer writes: ops_qlinear.py."""
from __future__ import annotations

from ...symbolic import Expr, IntLike, wrap
from ..dims import Shape
from ..problems import Malformed
from ..values import Value
from .ops_attention import divided, rotary
from .ops_matmul import matmul_shape
from .registry import Node, op

DOMAIN = "com.microsoft"


# -- activations and products ------------------------------------------------------------------------------------------
@op("Gelu", domain=DOMAIN)
def gelu(n: Node) -> None:
    x = n.input(0)
    n.result(f"tc_gelu({x})", x.dtype, x.shape)


@op("BiasGelu", "FastGelu", domain=DOMAIN)
def bias_gelu(n: Node) -> None:
    x, bias = n.input(0), n.optional(1)
    name = "tc_gelu" if n.op_type == "BiasGelu" else "tc_gelu_tanh"
    n.result(f"{name}(tc_add({x}, {bias}))" if bias is not None else f"{name}({x})", x.dtype, x.shape)


@op("QuickGelu", domain=DOMAIN)
def quick_gelu(n: Node) -> None:
    x, alpha = n.input(0), n.real("alpha", 1.702)
    n.result(f"tc_mul({x}, tc_sigmoid(tc_mul({x}, {alpha})))", x.dtype, x.shape)


@op("FusedMatMul", domain=DOMAIN)
def fused_matmul(n: Node) -> None:
    a, b = n.input(0), n.input(1)
    if n.integer("transBatchA", 0) or n.integer("transBatchB", 0):
        n.refuse("transBatchA and transBatchB")
    sides = []
    shapes = []
    for x, turned in ((a, n.integer("transA", 0)), (b, n.integer("transB", 0))):
        if turned and x.rank < 2:
            raise Malformed("a vector is not transposed")
        sides.append(f"tc_transpose({x}, {x.rank - 2}, {x.rank - 1})" if turned else f"{x}")
        shapes.append((*x.shape[:-2], x.shape[-1], x.shape[-2]) if turned else x.shape)
    alpha = n.real("alpha", 1.0)
    text = f"tc_matmul({sides[0]}, {sides[1]})"
    n.result(text if alpha == 1 else f"tc_mul({text}, {alpha})", n.same_dtype(a, b), matmul_shape(shapes[0], shapes[1]))


@op("MatMulNBits", domain=DOMAIN)
def matmul_nbits(n: Node) -> None:
    x, w, scale, zero, bias = n.input(0), n.input(1), n.input(2), n.optional(3), n.optional(5)
    if n.optional(4) is not None:
        n.refuse("g_idx", "quantize without reordering (act_order)")
    rows, columns = n.integer("K"), n.integer("N")
    bits, block = n.integer("bits", 4), n.integer("block_size")
    n.integer("accuracy_level", 0)   # how exact ONNX Runtime is: here always f32
    blocks = -(-rows // block)
    text = f"tc_reshape({w}, {columns}, {blocks}, {block * bits // 8})" if w.rank != 3 else f"{w}"
    text = f"tc_matmul_nbits({x}, {text}, {scale}"
    for name, value in (("zero", zero), ("bias", bias)):
        if value is not None:
            text += f", .{name} = {value}"
    n.result(text + f", .bits = {bits}, .block = {block})", x.dtype, [*x.shape[:-1], columns])


# -- normalizations
# ------------------------------------------------------------------------------------------------------
@op("SimplifiedLayerNormalization")
def simplified_layer_norm(n: Node) -> None:
    """ONNX Runtime has it in ONNX's own domain."""
    x, weight = n.input(0), n.input(1)
    axis, eps = n.axis(n.integer("axis", -1), x.rank), n.real("epsilon", 1e-5)
    n.integer("stash_type", 1)
    count = x.rank - axis
    options = f", .eps = {eps}" + (f", .axes = {count}" if count > 1 else "")
    more: dict[int, tuple[str, list[IntLike]]] = {}
    if n.wants(1):
        more[1] = ("f32" if x.dtype in ("f16", "bf16") else x.dtype, [*x.shape[:axis], *(1 for _ in range(count))])
        options += ", .inverse = &{out1}"
    n.call(f"tc_rms_norm({x}, {weight}{options})", x.dtype, x.shape, more)


@op("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_layer_norm(n: Node) -> None:
    """The normalized sum; output 3 is the sum."""
    x, skip, weight = (n.input(i) for i in range(3))
    simple = n.op_type.startswith("SkipSimplified")
    shift, bias = (None, n.optional(3)) if simple else (n.optional(3), n.optional(4))
    eps = n.real("epsilon", 1e-12)
    total = f"tc_add({x}, {skip})"
    total = f"tc_add({total}, {bias})" if bias is not None else total
    added = n.let(total, x.dtype, x.shape, n.outputs[3] if n.wants(3) else "sum")
    operands = f"{added}, {weight}" + (f", {shift}" if shift is not None else "")
    n.result(f"{'tc_rms_norm' if simple else 'tc_layer_norm'}({operands}, .eps = {eps})", x.dtype, x.shape)
    if n.wants(1) or n.wants(2):
        n.refuse("its outputs of mean and deviation")
    n.give(added, 3)


@op("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_norm(n: Node) -> None:
    ids, segments, words, places, kinds = n.input(0), n.optional(1), n.input(2), n.input(3), n.optional(4)
    weight, bias, mask, given = n.input(5), n.input(6), n.optional(7), n.optional(8)
    eps = n.real("epsilon", 1e-12)
    n.integer("mask_index_type", 0)
    batch, steps = ids.shape
    shape: list[IntLike] = [batch, steps, words.shape[1]]
    at = f"tc_embedding({given}, {places})" if given is not None else f"tc_slice({places}, 0, 0, {n.dim(steps)})"
    total = f"tc_add(tc_embedding({ids}, {words}), {at})"
    if segments is not None:
        if kinds is None:
            raise Malformed("segments without their embedding")
        total = f"tc_add({total}, tc_embedding({segments}, {kinds}))"
    added = n.let(total, words.dtype, shape, n.outputs[2] if n.wants(2) else "embedding")
    n.result(f"tc_layer_norm({added}, {weight}, {bias}, .eps = {eps})", words.dtype, shape)
    if n.wants(1):
        if mask is None:
            n.result(f"tc_full(g, 0, TC_I32, {n.dim(batch)})", "i32", [batch], 1)
        else:
            n.result(f"tc_sum(tc_cast({mask}, TC_I32), 1)", "i32", [batch], 1)
    n.give(added, 2)


# -- attention
# -------------------------------------------------------------------------------------------------------------
@op("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(n: Node) -> None:
    x, positions, cosines, sines = (n.input(i) for i in range(4))
    heads, dims = n.integer("num_heads", 0), n.integer("rotary_embedding_dim", 0)
    interleaved = bool(n.integer("interleaved", 0))
    n.integer("is_packed_batching", 0)
    if n.real("scale", 1.0) != 1:
        n.refuse("a scale other than 1")
    if x.rank == 3 and not heads:
        one = 2 * cosines.shape[1]
        if not one.is_const or not x.shape[2].is_const or x.shape[2].value % one.value:
            n.refuse("a number of heads that is not known")
        heads = x.shape[2].value // one.value
    batch, steps = x.shape[0], x.shape[1 if x.rank == 3 else 2]
    where = f"{positions}"
    if positions.rank < 2:   # one number: where the first step is
        first = f"tc_reshape({positions}, 1, 1)"
        row = f"tc_reshape(tc_arange(g, TC_{positions.dtype.upper()}, {n.dim(steps)}), 1, {n.dim(steps)})"
        where = f"tc_expand(tc_add({row}, {first}), {n.dim(batch)}, {n.dim(steps)})"
    n.result(rotary(n, x, cosines, sines, where, dims, heads, interleaved), x.dtype, x.shape)


def _padding(n: Node, mask: Value, batch: Expr, rows: IntLike, columns: IntLike, dtype: str, value: float) -> Value:
    """What is added where keys are padding: of lengths [b], of 0 and 1 [b, columns] or [b, rows, columns]."""
    if mask.rank == 1 and mask.shape[0] == batch:
        column = f"tc_reshape(tc_arange(g, TC_{mask.dtype.upper()}, {n.dim(columns)}), 1, 1, 1, {n.dim(columns)})"
        seen = f"tc_lt({column}, tc_reshape({mask}, {n.dim(batch)}, 1, 1, 1))"
        shape: list[IntLike] = [batch, 1, 1, columns]
    elif mask.rank in (2, 3):
        shape = [batch, 1, 1 if mask.rank == 2 else rows, columns]
        seen = f"tc_ne(tc_reshape({mask}, {n.dim_list([wrap(s) for s in shape])}), 0)"
    else:
        n.refuse(f"a mask of rank {mask.rank} and shape {', '.join(map(str, mask.shape))}")
    number = f"tc_full(g, {value}, TC_{dtype.upper()}, 1)"
    return n.let(f"tc_where({seen}, 0, {number})", dtype, shape, "padding")


def _arguments(q: str, k: str, v: str, heads: int, shared: int, masks: list[Value], options: str,
               past: tuple[str, str, Expr] | None) -> str:
    """Of tc_onnx_attention, but where the keys and values that are there now go. shared: heads of k and v."""
    text = f"{q}, {k}, {v}"
    if masks:
        text += ", .mask = " + (f"tc_add({masks[0]}, {masks[1]})" if len(masks) > 1 else f"{masks[0]}")
    if past is not None:
        text += f", .past_key = {past[0]}, .past_value = {past[1]}"
    return f"{text}, .q_heads = {heads}, .kv_heads = {shared}{options}"


def _attend(n: Node, q: str, k: str, v: str, x: Value, sizes: tuple[IntLike, IntLike, IntLike, IntLike], heads: int,
            shared: int,
            masks: list[Value], options: str, past: tuple[str, str, Expr] | None, wants: dict[int, str],
            value: IntLike) -> None:
    """The call. sizes: batch, rows, columns of this step, features of a head; value: those of one of v. wants: outputs
    by number: .present_key, .present_value."""
    batch, rows, columns, features = sizes
    total: IntLike = columns if past is None else wrap(columns) + past[2]
    text = _arguments(q, k, v, heads, shared, masks, options, past)
    more: dict[int, tuple[str, list[IntLike]]] = {}
    for i, name in wants.items():
        more[i] = (x.dtype, [batch, shared, total, features if name == "present_key" else value])
        text += f", .{name} = &{{out{i}}}"
    n.call(f"tc_onnx_attention({text})", x.dtype, [batch, rows, wrap(value) * heads], more)


def _options(n: Node) -> str:
    scale = n.real("scale", 0.0)
    text = ", .causal = true" if n.integer("unidirectional", 0) else ""
    return text + (f", .scale = {scale}" if scale else "")


@op("Attention", domain=DOMAIN)
def attention(n: Node) -> None:
    """One product gives q, k and v side by side; past and present hold keys and values on axis 0."""
    x, weight = n.input(0), n.input(1)
    bias, mask, past, added = n.optional(2), n.optional(3), n.optional(4), n.optional(5)
    heads = n.integer("num_heads")
    if n.integer("do_rotary", 0) or n.integer("past_present_share_buffer", 0) or n.integer("rotary_embedding_dim", 0):
        n.refuse("do_rotary and past_present_share_buffer")
    lowest = n.real("mask_filter_value", -10000.0)
    widths = n.ints("qkv_hidden_sizes")
    if widths is None:
        third = divided(n, weight.shape[1], 3, "the weight")
        assert isinstance(third, int)
        widths = [third] * 3
    if len(widths) != 3:
        raise Malformed("qkv_hidden_sizes are not three")
    batch, steps = x.shape[:2]
    together = f"tc_matmul({x}, {weight})"
    together = f"tc_add({together}, {bias})" if bias is not None else together
    all_three = n.let(together, x.dtype, [batch, steps, sum(widths)], "qkv")
    parts, at = [], 0
    for name, width in zip("qkv", widths):
        parts.append(n.let(f"tc_slice({all_three}, 2, {at}, {at + width})", x.dtype, [batch, steps, width], name))
        at += width
    one, value = divided(n, widths[0], heads, "q"), divided(n, widths[2], heads, "v")
    before = None
    total: IntLike = steps
    if past is not None:
        length = past.shape[3]
        keys = n.let(f"tc_select({past}, 0, 0)", x.dtype, past.shape[1:], "past_key")
        values = n.let(f"tc_select({past}, 0, 1)", x.dtype, past.shape[1:], "past_value")
        before, total = (f"{keys}", f"{values}", length), steps + length
    masks = [_padding(n, mask, batch, steps, total, x.dtype, lowest)] if mask is not None else []
    masks += [added] if added is not None else []
    options = _options(n)
    if not n.wants(1):
        _attend(n, f"{parts[0]}", f"{parts[1]}", f"{parts[2]}", x, (batch, steps, steps, one), heads, heads, masks,
                options,
                before, {}, value)
        return
    present = [n.value(x.dtype, [batch, heads, total, one], name) for name in ("present_key", "present_value")]
    text = _arguments(f"{parts[0]}", f"{parts[1]}", f"{parts[2]}", heads, heads, masks, options, before)
    n.give(n.declare(f"tc_onnx_attention({text}, .present_key = &{present[0]}, .present_value = &{present[1]})",
                     x.dtype,
                     [batch, steps, wrap(value) * heads], present))
    n.result(f"tc_stack(0, {present[0]}, {present[1]})", x.dtype, [2, batch, heads, total, one], 1)


@op("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(n: Node) -> None:
    q, k, v, bias, mask, added = n.input(0), n.optional(1), n.optional(2), n.optional(3), n.optional(4), n.optional(5)
    past_key, past_value = n.optional(6), n.optional(7)
    heads, lowest = n.integer("num_heads"), n.real("mask_filter_value", -10000.0)
    if len(n.inputs) > 8 and any(i is not None for i in n.inputs[8:]):
        n.refuse("inputs behind past_value")
    if q.rank != 3 or k is None or v is None:
        n.refuse("packed queries, keys and values")
    batch, rows, width = q.shape
    one = divided(n, width, heads, "q")
    if bias is not None:
        at: IntLike = 0
        biased = []
        for x in (q, k, v):
            if x.rank != 3:
                n.refuse("a bias beside keys and values whose heads are apart")
            part = f"tc_slice({bias}, 0, {n.dim(at)}, {n.dim(at + x.shape[2])})"
            biased.append(n.let(f"tc_add({x}, {part})", x.dtype, x.shape, "biased"))
            at = at + x.shape[2]
        q, k, v = biased
    together = []
    for x in (k, v):   # keys and values whose heads are apart, of the encoder
        together.append(x if x.rank == 3 else n.let(
            f"tc_reshape(tc_transpose({x}, 1, 2), {n.dim_list([x.shape[0], x.shape[2], x.shape[1] * x.shape[3]])})",
            x.dtype,
            [x.shape[0], x.shape[2], x.shape[1] * x.shape[3]], "rows"))
    k, v = together
    columns, value = k.shape[1], divided(n, v.shape[2], heads, "v")
    before = None if past_key is None or past_value is None else (f"{past_key}", f"{past_value}", past_key.shape[2])
    total: IntLike = columns if before is None else columns + before[2]
    masks = [_padding(n, mask, batch, rows, total, q.dtype, lowest)] if mask is not None else []
    masks += [added] if added is not None else []
    wants = {i: name for i, name in ((1, "present_key"), (2, "present_value")) if n.wants(i)}
    _attend(n, f"{q}", f"{k}", f"{v}", q, (batch, rows, columns, one), heads, heads, masks, _options(n), before, wants,
            value)


@op("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(n: Node) -> None:
    """seqlens_k[b] + 1 is how many keys batch b has with this step's: those of the past before, which may be fewer than
    the cache has room for. Present holds the cache and this step: as many columns as both."""
    q, k, v = n.input(0), n.optional(1), n.optional(2)
    past_key, past_value, lengths = n.optional(3), n.optional(4), n.input(5)
    cosines, sines, positions, added = n.optional(7), n.optional(8), n.optional(9), n.optional(10)
    heads, shared = n.integer("num_heads"), n.integer("kv_num_heads")
    scale, softcap, window = n.real("scale", 0.0), n.real("softcap", 0.0), n.integer("local_window_size", -1)
    turned, interleaved = n.integer("do_rotary", 0), n.integer("rotary_interleaved", 0)
    if n.integer("smooth_softmax", 0) > 0 or n.optional(11) is not None:
        n.refuse("smooth_softmax and head_sink")
    if q.rank != 3:
        raise Malformed(f"q of rank {q.rank}")
    batch, steps = q.shape[:2]
    dtype = q.dtype
    if k is None or v is None:
        one = divided(n, q.shape[2], heads + 2 * shared, "q, k and v")
        assert isinstance(one, int)
        cuts = [0, heads * one, (heads + shared) * one, (heads + 2 * shared) * one]
        q, k, v = (n.let(f"tc_slice({q}, 2, {a}, {b})", dtype, [batch, steps, b - a], name)
                   for a, b, name in zip(cuts, cuts[1:], "qkv"))
    else:
        found = divided(n, q.shape[2], heads, "q")
        assert isinstance(found, int)
        one = found
    # where the step begins, one a batch
    first = n.let(f"tc_sub(tc_cast({lengths}, TC_I64), tc_sub(tc_dim_value(g, TC_I64, {n.dim(steps)}), 1))", "i64",
                  lengths.shape,
                  "first")
    first = n.let(f"tc_reshape({first}, {n.dim(batch)}, 1)", "i64", [batch, 1], "first")
    if turned:
        if cosines is None or sines is None:
            raise Malformed("do_rotary without its tables")
        where = positions
        if where is None:
            row = f"tc_reshape(tc_arange(g, TC_I64, {n.dim(steps)}), 1, {n.dim(steps)})"
            where = n.let(f"tc_add({first}, {row})", "i64", [batch, steps], "position")
        q = n.let(rotary(n, q, cosines, sines, f"{where}", 2 * _constant(n, cosines.shape[1]), heads,
                         bool(interleaved)), dtype,
                  q.shape, "turned_q")
        k = n.let(rotary(n, k, cosines, sines, f"{where}", 2 * _constant(n, cosines.shape[1]), shared,
                         bool(interleaved)), dtype,
                  k.shape, "turned_k")
    apart: Shape = (batch, wrap(shared), steps, wrap(one))
    split = [n.let(f"tc_transpose(tc_reshape({x}, {n.dim_list([batch, steps, wrap(shared), wrap(one)])}), 1, 2)", dtype,
                   apart,
                   name) for x, name in ((k, "keys"), (v, "values"))]
    total = steps
    if past_key is not None and past_value is not None:
        room = past_key.shape[2]
        total = room + steps
        column = f"tc_reshape(tc_arange(g, TC_I64, {n.dim(total)}), 1, {n.dim(total)})"
        # column t is the past's where it lies before this step, else this step's, which stands behind the room of the
        # cache
        behind = f"tc_add(tc_sub({column}, {first}), tc_dim_value(g, TC_I64, {n.dim(room)}))"
        place = f"tc_where(tc_lt({column}, {first}), {column}, {behind})"
        place = f"tc_clamp({place}, 0, tc_dim_value(g, TC_I64, {n.dim(total - 1)}))"
        whole: Shape = (batch, wrap(shared), total, wrap(one))
        rows = n.let(f"tc_expand(tc_reshape({place}, {n.dim_list([batch, wrap(1), total, wrap(1)])}), "
                     f"{n.dim_list(whole)})", "i64",
                     whole, "place")
        split = [n.let(f"tc_take_along(tc_concat(2, {past}, {x}), {rows}, 2)", dtype, whole, name)
                 for past, x, name in ((past_key, split[0], "keys"), (past_value, split[1], "values"))]
    line = f"tc_reshape(tc_arange(g, TC_I64, {n.dim(total)}), 1, 1, 1, {n.dim(total)})"
    row = f"tc_reshape(tc_arange(g, TC_I64, {n.dim(steps)}), 1, 1, {n.dim(steps)}, 1)"
    last = n.let(f"tc_add(tc_reshape({first}, {n.dim(batch)}, 1, 1, 1), {row})", "i64", [batch, 1, steps, 1], "last")
    seen = f"tc_le({line}, {last})"
    if window > 0:
        seen = f"tc_logical_and({seen}, tc_gt({line}, tc_sub({last}, {window})))"
    mask = n.let(seen, "bool", [batch, 1, steps, total], "seen")
    if added is not None:
        mask = n.let(f"tc_where({mask}, {added}, -INFINITY)", dtype, [batch, added.shape[1], steps, total], "mask")
    rows_of_q = n.let(f"tc_transpose(tc_reshape({q}, {n.dim_list([batch, steps, wrap(heads), wrap(one)])}), 1, 2)",
                      dtype,
                      [batch, heads, steps, one], "queries")
    options = (f", .scale = {scale}" if scale else "") + (f", .softcap = {softcap}" if softcap else "")
    y = n.let(f"tc_scaled_dot_product_attention({rows_of_q}, {split[0]}, {split[1]}, {mask}{options})", dtype,
              [batch, heads, steps, one], "attention")
    n.result(f"tc_reshape(tc_transpose({y}, 1, 2), {n.dim_list([batch, steps, wrap(heads * one)])})", dtype,
             [batch, steps, heads * one])
    n.give(split[0], 1)
    n.give(split[1], 2)


def _constant(n: Node, size: Expr) -> int:
    if not size.is_const:
        n.refuse(f"a table of {size} columns")
    return size.value
