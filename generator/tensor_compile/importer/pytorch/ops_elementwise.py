# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons, logic, casts: everything with PyTorch's rules of type promotion."""
from __future__ import annotations

from ...symbolic import Expr
from ..values import FLOATS, Value
from .registry import Argument, Function, Node, add, op

_ORDER = ("bool", "u8", "i8", "i16", "u16", "i32", "i64", "f16", "bf16", "f32", "f64")


def _category(dtype: str) -> int:
    return 0 if dtype == "bool" else 2 if dtype in FLOATS else 1


def _joined(a: str, b: str) -> str:
    """The element type of two operands of one kind."""
    if a == b:
        return a
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    if {a, b} == {"u8", "i8"}:
        return "i16"
    return max(a, b, key=_ORDER.index)


def promoted(*operands: Argument) -> str:
    """torch.result_type: tensors with axes before tensors without, those before numbers, unless the latter are of a
    higher kind (bool, integer, float)."""
    kinds: list[str] = ["", "", ""]
    for x in operands:
        if isinstance(x, Value):
            place, dtype = (0 if x.rank else 1), x.dtype
        else:
            place = 2
            dtype = "bool" if isinstance(x, bool) else "i64" if isinstance(x, (int, Expr)) else "f32"
        kinds[place] = _joined(kinds[place], dtype) if kinds[place] else dtype
    found = kinds[0]
    for other in kinds[1:]:
        if other and (not found or _category(other) > _category(found)):
            found = other
    return found


def _binary(name: str, first: str = "self", second: str = "other") -> Function:
    def function(n: Node) -> None:
        a, b = n.argument(first), n.argument(second)
        dtype = n.type.dtype
        left = n.operand(a, dtype) if isinstance(b, Value) else n.constant(a, dtype)
        own = name.replace("bit_", "logical_") if dtype == "bool" else name
        n.result(f"{own}({left}, {n.operand(b, dtype)})")
    return function


for _atens, _name in ((("mul", "multiply"), "tc_mul"), (("maximum", "max"), "tc_maximum"),
                      (("minimum", "min"), "tc_minimum"),
                      (("remainder",), "tc_remainder"), (("fmod",), "tc_fmod"), (("atan2", "arctan2"), "tc_atan2"),
                      (("hypot",), "tc_hypot"), (("floor_divide",), "tc_floor_divide"), (("fmax",), "tc_fmax"),
                      (("fmin",), "tc_fmin"), (("copysign",), "tc_copysign"), (("logaddexp",), "tc_logaddexp"),
                      (("logaddexp2",), "tc_logaddexp2"), (("bitwise_and", "__and__"), "tc_bit_and"),
                      (("bitwise_or", "__or__"), "tc_bit_or"), (("bitwise_xor", "__xor__"), "tc_bit_xor"),
                      (("bitwise_left_shift", "__lshift__"), "tc_shift_left"),
                      (("bitwise_right_shift", "__rshift__"), "tc_shift_right"),
                      (("xlogy", "special_xlogy"), "tc_xlogy")):
    for _aten in _atens:
        if _aten in ("max", "min"):
            add(_binary(_name), f"aten.{_aten}.other")
            continue
        add(_binary(_name), f"aten.{_aten}.Tensor", f"aten.{_aten}.Scalar", f"aten.{_aten}.default")
add(_binary("tc_atan2"), "aten.special_atan2.default")
add(_binary("tc_remainder"), "aten.remainder.Scalar_Tensor")
add(_binary("tc_xlogy"), "aten.xlogy.Scalar_Other", "aten.xlogy.Scalar_Self")
add(_binary("tc_bit_and"), "aten.bitwise_and.Scalar_Tensor")
add(_binary("tc_heaviside", second="values"), "aten.heaviside.default")


@op("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar", "aten.rsub.Tensor", "aten.rsub.Scalar",
    "aten.subtract.Tensor")
def add_sub(n: Node) -> None:
    """self + alpha * other, and the difference; rsub takes self away."""
    dtype = n.type.dtype
    a, b = n.argument("self"), n.argument("other")
    alpha = n.argument("alpha", 1)
    if n.target.startswith("aten.rsub"):
        a, b = b, a
        if alpha != 1:
            n.refuse(f"alpha={alpha}")
    if dtype == "bool":
        n.result(f"tc_logical_or({n.constant(a, dtype)}, {n.constant(b, dtype)})")
        return
    right = n.operand(b, dtype)
    if alpha != 1:
        if isinstance(b, Value):
            right = f"tc_mul({right}, {n.operand(alpha, dtype)})"
        elif isinstance(b, (int, float)) and isinstance(alpha, (int, float)):
            right = n.operand(b * alpha, dtype)
        else:
            n.refuse(f"alpha={alpha}")
    left = n.operand(a, dtype) if isinstance(b, Value) else n.constant(a, dtype)
    n.result(f"tc_{'add' if 'add' in n.target else 'sub'}({left}, {right})")


@op("aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.divide.Tensor",
    "aten.true_divide.Tensor", "aten.divide.Tensor_mode")
def div(n: Node) -> None:
    """The true quotient is a float; with a mode it is rounded and keeps the operands' type."""
    mode = n.text("rounding_mode")
    dtype = n.type.dtype
    a, b = n.constant(n.argument("self"), dtype), n.operand(n.argument("other"), dtype)
    if mode == "floor":
        n.result(f"tc_floor_divide({a}, {b})")
    elif mode == "trunc" and dtype in FLOATS:
        n.result(f"tc_trunc(tc_div({a}, {b}))")
    elif mode in ("", "trunc"):
        n.result(f"tc_div({a}, {b})")
    else:
        n.refuse(f"rounding_mode={mode}")


def _comparison(name: str) -> Function:
    def function(n: Node) -> None:
        a, b = n.argument("self"), n.argument("other")
        dtype = promoted(a, b)
        left = n.constant(a, dtype)
        right = n.operand(b, dtype)
        if dtype == "bool" and name in ("tc_lt", "tc_le", "tc_gt", "tc_ge"):
            left, right = f"tc_cast({left}, TC_U8)", f"tc_cast({n.constant(b, dtype)}, TC_U8)"
        n.result(f"{name}({left}, {right})")
    return function


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    add(_comparison(f"tc_{_name}"), f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")
for _name, _long in (("tc_ne", "not_equal"), ("tc_lt", "less"), ("tc_le", "less_equal"), ("tc_gt", "greater"),
                     ("tc_ge", "greater_equal")):
    add(_comparison(_name), f"aten.{_long}.Tensor", f"aten.{_long}.Scalar")


def as_bool(n: Node, x: Argument) -> str:
    """Whether elements are not zero."""
    if isinstance(x, Value) and x.dtype != "bool":
        return f"tc_ne({x}, 0)"
    return n.constant(x, "bool")


def _logical(name: str) -> Function:
    def function(n: Node) -> None:
        n.result(f"{name}({as_bool(n, n.argument('self'))}, {as_bool(n, n.argument('other'))})")
    return function


for _name in ("and", "or", "xor"):
    add(_logical(f"tc_logical_{_name}"), f"aten.logical_{_name}.default")


@op("aten.logical_not.default")
def logical_not(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_logical_not({x})" if x.dtype == "bool" else f"tc_eq({x}, 0)")


@op("aten.bitwise_not.default")
def bitwise_not(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_logical_not({x})" if x.dtype == "bool" else f"tc_bit_not({x})")


@op("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar", "aten.float_power.Tensor_Scalar",
    "aten.float_power.Tensor_Tensor")
def power(n: Node) -> None:
    dtype = n.type.dtype
    base, exponent = n.argument("self"), n.argument("exponent")
    if isinstance(exponent, (int, float)) and exponent == 2:
        n.result(f"tc_square({n.constant(base, dtype)})")
    elif isinstance(exponent, (int, float)) and exponent == 0.5 and dtype in FLOATS:
        n.result(f"tc_sqrt({n.constant(base, dtype)})")
    else:
        n.result(f"tc_pow({n.constant(base, dtype)}, {n.operand(exponent, dtype)})")


@op("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(n: Node) -> None:
    dtype = n.type.dtype
    condition = as_bool(n, n.tensor("condition"))
    a, b = n.argument("self"), n.argument("other")
    right = n.operand(b, dtype)
    n.result(f"tc_where({condition}, {n.operand(a, dtype) if isinstance(b, Value) else n.constant(a, dtype)}, {right})")


@op("aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default", "aten.clamp_min.default", "aten.clamp_max.default",
    "aten.clamp_min.Tensor", "aten.clamp_max.Tensor", "aten.hardtanh.default", "aten.relu6.default")
def clamp(n: Node) -> None:
    dtype = n.type.dtype
    x = n.as_dtype(n.tensor("self"), dtype)
    if n.target == "aten.relu6.default":
        n.result(f"tc_relu6({x})")
        return
    hard = n.target.startswith("aten.hardtanh")
    low = n.argument("min_val", -1) if hard else n.argument("min")
    high = n.argument("max_val", 1) if hard else n.argument("max")
    if low is not None and high is not None and not isinstance(low, Value) and not isinstance(high, Value):
        n.result(f"tc_clamp({x}, {n.operand(low, dtype)}, {n.operand(high, dtype)})")
        return
    if low is not None:
        x = f"tc_maximum({x}, {n.operand(low, dtype)})"
    n.result(x if high is None else f"tc_minimum({x}, {n.operand(high, dtype)})")


@op("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.type_as.default",
    "aten.to.other", "aten.to.prim_dtype")
def to(n: Node) -> None:
    n.ignore("other", "dtype")
    x = n.tensor("self")
    if x.dtype == n.type.dtype:
        n.give(x)
    else:
        n.result(f"tc_cast({x}, TC_{n.type.dtype.upper()})")


@op("aten.clone.default", "aten.contiguous.default", "aten.detach.default", "aten.alias.default",
    "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default", "aten.detach_copy.default", "aten.positive.default", "aten.resolve_conj.default",
    "aten.resolve_neg.default",
    "aten._conj.default", "aten.conj.default", "aten.real.default", "aten.requires_grad.default")
def same(n: Node) -> None:
    n.give(n.tensor("self"))


@op("aten.copy.default")
def copy(n: Node) -> None:
    x, y = n.tensor("self"), n.tensor("src")
    if y.dtype == x.dtype and y.shape == x.shape:
        n.give(y)
        return
    text = n.as_dtype(y, x.dtype)
    n.result(text if y.shape == x.shape else f"tc_expand({text}, {n.dim_list(x.shape)})")


@op("aten.fill.Scalar", "aten.fill.Tensor", "aten.zero.default")
def fill(n: Node) -> None:
    x = n.tensor("self")
    value = 0 if n.target == "aten.zero.default" else n.argument("value")
    n.result(f"tc_full_like({x}, {n.operand(value, x.dtype)})" if not isinstance(value, Value) else
             f"tc_expand({n.as_dtype(value, x.dtype)}, {n.dim_list(x.shape)})")


@op("aten.addcmul.default", "aten.addcdiv.default")
def addc(n: Node) -> None:
    dtype = n.type.dtype
    x, a, b = (n.as_dtype(n.tensor(name), dtype) for name in ("self", "tensor1", "tensor2"))
    n.result(f"tc_{n.target.split('.')[1]}({x}, {a}, {b}, {n.operand(n.argument('value', 1), dtype)})")


@op("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(n: Node) -> None:
    dtype = n.type.dtype
    a, b = n.as_dtype(n.tensor("self"), dtype), n.as_dtype(n.tensor("end"), dtype)
    n.result(f"tc_lerp({a}, {b}, {n.operand(n.argument('weight'), dtype)})")


@op("aten.isclose.default")
def isclose(n: Node) -> None:
    n.only("equal_nan", False)
    a, b = n.tensor("self"), n.tensor("other")
    n.result(f"tc_isclose({a}, {b}, {n.real('rtol', 1e-5)}, {n.real('atol', 1e-8)})")
