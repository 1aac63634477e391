# SPDX-License-Identifier: Apache-2.0
"""Makes ops.tcg, ops.in.safetensors and ops.want.safetensors: one function a case, expectations from PyTorch in double.

Needs torch and safetensors; run by hand in this folder: `python3 make_ops.py`.
"""
from __future__ import annotations

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.manual_seed(3)
INF, NAN = float("inf"), float("nan")
NAMES = {torch.float32: "f32", torch.float64: "f64", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.5, INF, -INF, NAN, 1e-42, -1e-42, 88.9, -103.5, 3e38])

texts: list[str] = []
inputs: dict[str, torch.Tensor] = {}
wants: dict[str, torch.Tensor] = {}


def type_of(t: torch.Tensor) -> str:
    return f"{NAMES[t.dtype]}[{','.join(map(str, t.shape))}]"


def case(name: str, node: str, operands: list[torch.Tensor], want: torch.Tensor,
         dtype: torch.dtype | None = None) -> None:
    """node: the primitive with its attributes, operands as {0}, {1}, ..."""
    params = ", ".join(f'%{i} "{name}.{i}" : {type_of(t)}' for i, t in enumerate(operands))
    values = [f"%{i}" for i in range(len(operands))]
    result = dtype or (torch.float32 if want.dtype == torch.float64 else want.dtype)
    shape = f"{NAMES[result]}[{','.join(map(str, want.shape))}]"
    text = node.replace("(...)", "(" + ", ".join(values) + ")")
    texts.append(f'function {name}({params}) entry {{\n  %{len(operands)} = {text} : {shape}\n'
                 f'  return "{name}" %{len(operands)}\n}}\n')
    for i, t in enumerate(operands):
        inputs[f"{name}.{i}"] = t.contiguous().clone()
    wants[name] = want.contiguous().clone()


def wide(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [t.double() if t.dtype == torch.float32 else t for t in tensors]


def elementwise() -> None:
    x = torch.cat([SPECIAL, torch.randn(20) * 4])
    for name, function in (("neg", torch.neg), ("abs", torch.abs), ("exp", torch.exp), ("log", torch.log),
                           ("sqrt", torch.sqrt), ("floor", torch.floor), ("tanh", torch.tanh), ("erf", torch.erf),
                           ("sin", torch.sin), ("cos", torch.cos), ("expm1", torch.expm1), ("log1p", torch.log1p),
                           ("erfc", torch.special.erfc), ("lgamma", torch.lgamma), ("round", torch.round)):
        case(f"{name}_f32", f"{name}(...)", [x], function(*wide(x)))
    a, b = SPECIAL[:, None].expand(12, 12).contiguous(), SPECIAL[None, :].expand(12, 12).contiguous()
    i, j = torch.randint(-9, 9, (3, 5), dtype=torch.int32), torch.randint(1, 9, (3, 5), dtype=torch.int32)
    for name, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("maximum", torch.maximum),
                           ("minimum", torch.minimum)):
        case(f"{name}_f32", f"{name}(...)", [a, b], function(*wide(a, b)))
        case(f"{name}_i32", f"{name}(...)", [i, j], function(i, j))
        case(f"{name}_i64", f"{name}(...)", [i.long(), j.long()], function(i.long(), j.long()))
    for name, function in (("rem", torch.fmod), ("bit_and", torch.bitwise_and), ("bit_or", torch.bitwise_or),
                           ("bit_xor", torch.bitwise_xor), ("shift_left", torch.bitwise_left_shift),
                           ("shift_right", torch.bitwise_right_shift)):
        case(f"{name}_i32", f"{name}(...)", [i, j], function(i, j))
        case(f"{name}_i64", f"{name}(...)", [i.long(), j.long()], function(i.long(), j.long()))
    case("bit_not_i32", "bit_not(...)", [i], ~i)
    case("rem_f32", "rem(...)", [a, b], torch.fmod(*wide(a, b)))
    case("pow_f32", "pow(...)", [a, b], torch.pow(*wide(a, b)))
    case("div_f32", "div(...)", [a, b], torch.div(*wide(a, b)))
    case("div_i64", "div(...)", [i.long(), j.long()], torch.div(i.long(), j.long(), rounding_mode="trunc"))
    for name, function in (("eq", torch.eq), ("ne", torch.ne), ("lt", torch.lt), ("le", torch.le), ("gt", torch.gt),
                           ("ge", torch.ge)):
        case(f"{name}_f32", f"{name}(...)", [a, b], function(a, b))
        case(f"{name}_i64", f"{name}(...)", [i.long(), j.long()], function(i.long(), j.long()))
    p, q = torch.tensor([False, False, True, True]), torch.tensor([False, True, False, True])
    case("not_bool", "logical_not(...)", [p], ~p)
    for name, function in (("and", torch.logical_and), ("or", torch.logical_or), ("xor", torch.logical_xor)):
        case(f"{name}_bool", f"logical_{name}(...)", [p, q], function(p, q))
    case("select_f32", "select(...)", [a > b, a, b], torch.where(a > b, a, b).double())
    case("cast_i32_f32", "cast(...) {dtype=f32}", [i], i.double())
    case("cast_f32_i64", "cast(...) {dtype=i64}", [torch.tensor([1.9, -1.9, 0.0])], torch.tensor([1, -1, 0]))
    case("cast_bool_f32", "cast(...) {dtype=f32}", [p], p.double())
    case("cast_f32_bool", "cast(...) {dtype=bool}", [SPECIAL], SPECIAL.bool())
    bits = torch.tensor([0, 1 << 31, 0x3f800000, -1 << 20, 12345678], dtype=torch.int64).to(torch.int32)
    case("bitcast_f32_i32", "bitcast(...) {dtype=i32}", [SPECIAL], SPECIAL.view(torch.int32))
    case("bitcast_i32_f32", "bitcast(...) {dtype=f32}", [bits], bits.view(torch.float32).double())
    case("bitcast_f64_i64", "bitcast(...) {dtype=i64}", [SPECIAL.double()], SPECIAL.double().view(torch.int64))
    empty = torch.zeros(0, 3)
    case("add_empty", "add(...)", [empty, empty], empty.double())


def views() -> None:
    x = torch.randn(2, 3, 4)
    w = x.double()
    case("reshape", "reshape(...) {shape=[4, 6]}", [x], w.reshape(4, 6))
    case("transpose", "transpose(...) {perm=[2, 0, 1]}", [x], w.permute(2, 0, 1))
    case("broadcast", "broadcast(...) {shape=[5, 2, 3, 4], axes=[1, 2, 3]}", [x], w.expand(5, 2, 3, 4))
    case("broadcast_one", "broadcast(...) {shape=[2, 3], axes=[0, 1]}", [x[:, :1, 0]], w[:, :1, 0].expand(2, 3))
    case("slice", "slice(...) {start=[0, 1, 0], size=[2, 2, 2], stride=[1, 1, 3]}", [x], w[:, 1:, ::3])
    case("slice_empty", "slice(...) {start=[0, 3, 0], size=[2, 0, 4], stride=[1, 1, 1]}", [x], w[:, 3:])
    v = torch.tensor(7.5)
    case("pad", "pad(...) {low=[0, 1, 2], high=[1, 0, 3]}", [x, v], F.pad(w, (2, 3, 1, 0, 0, 1), value=7.5))
    case("concat", "concat(...) {axis=1}", [x, x[:, :1], x], torch.cat([w, w[:, :1], w], 1))
    i = torch.tensor([[2, 0], [1, 1]])
    case("gather", "gather(...) {axis=1}", [x, i], w[:, i])
    case("gather_i32", "gather(...) {axis=0}", [x, i[1].int()], w[i[1]])
    y = torch.randn(1, 2, 2)
    updated = w.clone()
    updated[1:2, 1:3, 2:4] = y.double()
    case("update_slice", "update_slice(...) {start=[1, 1, 2]}", [x, y], updated)
    case("iota", "iota() {axis=1}", [], torch.arange(4).expand(3, 4))


def reductions() -> None:
    x = torch.randn(3, 5, 7)
    w = x.double()
    case("sum_last", "reduce(...) {op=sum, axes=[2], order=lanes}", [x], w.sum(2))
    case("sum_two", "reduce(...) {op=sum, axes=[0, 2], order=lanes}", [x], w.sum((0, 2)))
    case("sum_all", "reduce(...) {op=sum, axes=[0, 1, 2], order=lanes}", [x], w.sum())
    long = torch.randn(2, 9001)
    case("sum_blocks", "reduce(...) {op=sum, axes=[1], order=lanes}", [long], long.double().sum(1))
    case("sum_empty", "reduce(...) {op=sum, axes=[0], order=lanes}", [torch.zeros(0, 2)], torch.zeros(2).double())
    case("sum_i64", "reduce(...) {op=sum, axes=[0], order=free}", [(x * 9).long()], (x * 9).long().sum(0))
    case("max", "reduce(...) {op=max, axes=[1], order=free}", [x], w.amax(1))
    case("min", "reduce(...) {op=min, axes=[1], order=free}", [x], w.amin(1))
    case("max_nan", "reduce(...) {op=max, axes=[0], order=free}", [SPECIAL], SPECIAL.double().amax(0))
    case("any", "reduce(...) {op=any, axes=[1], order=free}", [x[0] > 1], (x[0] > 1).any(1))
    case("all", "reduce(...) {op=all, axes=[1], order=free}", [x[0] > -1], (x[0] > -1).all(1))
    q = x > 0.3
    q[0] = False                                          # no term
    case("sum_where", "reduce_where(...) {op=sum, axes=[2], order=lanes}", [x, q], (w * q).sum(2))
    case("prod_where", "reduce_where(...) {op=prod, axes=[1], order=lanes}", [x, q], torch.where(q, w, 1).prod(1))
    case("max_where", "reduce_where(...) {op=max, axes=[1, 2], order=free}", [x, q],
         torch.where(q, w, -INF).amax((1, 2)))
    case("min_where", "reduce_where(...) {op=min, axes=[0], order=free}", [x, q], torch.where(q, w, INF).amin(0))
    case("any_where", "reduce_where(...) {op=any, axes=[1], order=free}", [x > 1, q], ((x > 1) & q).any(1))
    case("all_where", "reduce_where(...) {op=all, axes=[1], order=free}", [x > 1, q], ((x > 1) | ~q).all(1))
    case("sum_where_i64", "reduce_where(...) {op=sum, axes=[0], order=free}", [(x * 9).long(), q],
         ((x * 9).long() * q).sum(0))
    case("argmax", "arg_reduce(...) {op=max, axis=1}", [x], x.argmax(1))
    case("argmin", "arg_reduce(...) {op=min, axis=2}", [x], x.argmin(2))
    case("argmax_nan", "arg_reduce(...) {op=max, axis=0}", [SPECIAL], SPECIAL.argmax(0))
    p = torch.randn(2, 3, 7, 6)
    attrs = "size=[3, 2], stride=[2, 2], low=[1, 0], high=[1, 0], dilation=[1, 1]"
    case("max_pool", f"window_reduce(...) {{op=max, {attrs}}}", [p],
         F.max_pool2d(p.double(), (3, 2), (2, 2), (1, 0)))
    case("sum_pool", f"window_reduce(...) {{op=sum, {attrs}}}", [p],
         F.avg_pool2d(p.double(), (3, 2), (2, 2), (1, 0), divisor_override=1))
    case("max_pool_dilated", "window_reduce(...) {op=max, size=[2], stride=[1], low=[0], high=[0], dilation=[3]}", [p],
         F.max_pool1d(p.double().reshape(6, 7, 6), 2, 1, 0, 3).reshape(2, 3, 7, 3))


def contractions() -> None:
    a, b = torch.randn(5, 300), torch.randn(300, 70)
    plain = "lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]"
    case("dot_seq", f"dot(...) {{{plain}, order=seq}}", [a, b], a.double() @ b.double())
    q, holes = a > 0, b.clone()
    q[:, 0], holes[0] = False, NAN
    case("dot_where", f"dot_where(...) {{{plain}, order=seq}}", [a, holes, q], (a * q).double() @ b.double())
    c = torch.randn(300, 3)
    case("dot_lanes", f"dot(...) {{{plain}, order=lanes}}", [a, c], a.double() @ c.double())
    long = torch.randn(4500, 2)
    wide_a = torch.randn(2, 4500)
    case("dot_lanes_blocks", f"dot(...) {{{plain}, order=lanes}}", [wide_a, long], wide_a.double() @ long.double())
    case("dot_empty", f"dot(...) {{{plain}, order=seq}}", [torch.zeros(2, 0), torch.zeros(0, 3)],
         torch.zeros(2, 3).double())
    q, k = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 6, 8)
    case("dot_batch", "dot(...) {lhs_batch=[0, 1], rhs_batch=[0, 1], lhs_contract=[3], rhs_contract=[3], order=seq}",
         [q, k], q.double() @ k.double().transpose(2, 3))
    i = torch.randint(-5, 5, (4, 6))
    case("dot_i64", f"dot(...) {{{plain}, order=seq}}", [i, i.T.contiguous()], i @ i.T)
    x = torch.randn(2, 6, 9, 8)
    for name, w, s, p, d, g in (("conv", torch.randn(4, 6, 3, 3), (1, 1), (1, 1), (1, 1), 1),
                                ("conv_strided", torch.randn(70, 6, 3, 2), (2, 3), (2, 0), (1, 2), 1),
                                ("conv_groups", torch.randn(4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 2),
                                ("conv_depthwise", torch.randn(6, 1, 3, 3), (1, 1), (1, 1), (1, 1), 6)):
        attrs = (f"stride={list(s)}, low={list(p)}, high={list(p)}, dilation={list(d)}, groups={g}")
        case(name, f"convolution(...) {{{attrs}}}", [x, w],
             F.conv2d(x.double(), w.double(), None, s, p, d, g))
    y, w1 = torch.randn(1, 2, 11), torch.randn(3, 2, 4)
    case("conv_1d", "convolution(...) {stride=[2], low=[3], high=[3], dilation=[1], groups=1}", [y, w1],
         F.conv1d(y.double(), w1.double(), None, 2, 3))


def ordered() -> None:
    x = torch.randn(3, 5, 4)
    w = x.double()
    case("reverse", "reverse(...) {axes=[0, 2]}", [x], w.flip(0, 2))
    i, u = torch.tensor([[1, 4, 1], [0, 1, 4]], dtype=torch.int32), torch.randn(3, 2, 3, 4)
    j, v = i.long().flatten(), u.double().reshape(3, 6, 4)
    case("scatter_add", "scatter(...) {op=add, axis=1}", [x, i, u], w.index_add(1, j, v))
    whole = j[None, :, None].expand(3, 6, 4)
    for name, reduce in (("mul", "prod"), ("max", "amax"), ("min", "amin")):
        case(f"scatter_{name}", f"scatter(...) {{op={name}, axis=1}}", [x, i, u], w.scatter_reduce(1, whole, v, reduce))
    last = w.clone()
    for k in range(6):
        last[:, j[k]] = v[:, k]
    case("scatter_set", "scatter(...) {op=set, axis=1}", [x, i, u], last)
    case("cumulative_sum", "cumulative(...) {op=sum, axis=1, reverse=0}", [x], w.cumsum(1))
    case("cumulative_prod", "cumulative(...) {op=prod, axis=2, reverse=1}", [x], w.flip(2).cumprod(2).flip(2))
    case("cumulative_max", "cumulative(...) {op=max, axis=0, reverse=0}", [SPECIAL], SPECIAL.double().cummax(0).values)
    # of 4,500 factors all but 30 are powers of two: the product of more would not be within the test's tolerance
    long = torch.where(torch.arange(4500) % 150 == 7, 1 + torch.randn(2, 4500) / 30,
                       2.0 ** torch.randint(-1, 2, (2, 4500)))
    case("prod_blocks", "reduce(...) {op=prod, axes=[1], order=lanes}", [long], long.double().prod(1))
    case("prod_empty", "reduce(...) {op=prod, axes=[0], order=lanes}", [torch.zeros(0, 2)], torch.ones(2).double())
    case("prod_i32", "reduce(...) {op=prod, axes=[0], order=free}", [(x * 9).int()], (x * 9).int().prod(0).int())


def doubles() -> None:
    edges = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.5, INF, -INF, NAN, 1e-310, 1e22, -1e300], dtype=torch.float64)
    y = torch.cat([edges, torch.randn(9).double() * 4])
    for name, function in (("sin", torch.sin), ("cos", torch.cos), ("expm1", torch.expm1), ("log1p", torch.log1p),
                           ("erfc", torch.special.erfc), ("lgamma", torch.lgamma)):
        case(f"{name}_f64", f"{name}(...)", [y], function(y), torch.float64)
    a, b = y[:, None].expand(20, 20).contiguous(), y[None, :].expand(20, 20).contiguous()
    case("pow_f64", "pow(...)", [a, b], torch.pow(a, b), torch.float64)


def main() -> None:
    elementwise()
    views()
    reductions()
    contractions()
    ordered()
    doubles()
    head = "# SPDX-License-Identifier: Apache-2.0\ntensor_compile.graph 1\nmodel \"ops\"\n"
    with open("ops.tcg", "w", encoding="utf-8") as out:
        out.write(head + "".join("\n" + text for text in texts))
    save_file(inputs, "ops.in.safetensors")
    save_file(wants, "ops.want.safetensors")


if __name__ == "__main__":
    main()
