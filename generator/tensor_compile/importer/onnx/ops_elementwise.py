# SPDX-License-Identifier: Apache-2.0
"""Element by element: arithmetic, comparisons, functions, activations."""
from __future__ import annotations

import math
import operator
from typing import Callable, Sequence

from ...symbolic import Expr, equal, never_equal, wrap
from ..dims import ARITHMETIC
from ..values import FLOATS, INTEGERS, UNSIGNED, Element, Value, round_to
from .registry import Node, add, op

# -- one operand -------------------------------------------------------------------------------------------------------

UNARY = {"Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
         "Atanh": "atanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
         "Log": "log",
         "Neg": "neg", "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid",
         "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softsign": "softsign", "Softplus": "softplus", "Sqrt": "sqrt",
         "Tan": "tan",
         "Tanh": "tanh", "Mish": "mish", "HardSwish": "hardswish", "Not": "logical_not", "BitwiseNot": "bit_not"}


# Of single floats, which sizes may follow from.
# In f64 and rounded once: exact.
FLOAT_UNARY: dict[str, Callable[[float], float]] = {
    "floor": lambda v: float(math.floor(v)), "ceil": lambda v: float(math.ceil(v)), "round": lambda v: float(round(v)),
    "neg": operator.neg, "abs": abs, "relu": lambda v: max(v, 0.0),
    "reciprocal": lambda v: 1 / v if v else math.inf, "sqrt": lambda v: math.sqrt(v) if v >= 0 else math.nan}


def unary_number(value: Value, function: str) -> float | None:
    """A function of a single float constant."""
    single = single_float(value) if function in FLOAT_UNARY else None
    if single is None:
        return None
    found = FLOAT_UNARY[function](single)
    return round_to(found, value.dtype) if math.isfinite(found) else None


def single_float(value: Value) -> float | None:
    """The one number of a float constant."""
    found = value.single
    if value.dtype not in FLOATS:
        return None
    if isinstance(found, Expr):
        found = float(found.value) if found.is_const and abs(found.value) < 1 << 24 else None
    return float(found) if found is not None and math.isfinite(found) else None


def _unary(function: str) -> Callable[[Node], None]:
    def apply(n: Node) -> None:
        n.ints("consumed_inputs")
        x = n.input(0)
        if function == "neg" and x.folded is not None and x.dtype in INTEGERS:
            n.give_elements([-wrap(e) for e in n.sizes(x, "it")], x.dtype, x.shape)
        elif function in ("floor", "ceil", "round") and x.folded is not None \
                and all(isinstance(e, Expr) for e in x.folded):
            n.give(x)
        elif (single := unary_number(x, function)) is not None:
            n.give_elements([single], x.dtype, x.shape)
        elif function == "logical_not" and x.folded is not None and all(isinstance(e, (bool, int)) for e in x.folded):
            n.give_elements([not e for e in x.folded], "bool", x.shape)
        else:
            n.result(f"tc_{function}({x})", x.dtype, x.shape)
    return apply


for _onnx, _name in UNARY.items():
    add(_unary(_name), _onnx)


@op("Identity")
def identity(n: Node) -> None:
    n.give(n.input(0))


@op("LeakyRelu")
def leaky_relu(n: Node) -> None:
    n.ints("consumed_inputs")
    x = n.input(0)
    n.result(f"tc_leaky_relu({x}, {n.real('alpha', 0.01)})", x.dtype, x.shape)


@op("Elu")
def elu(n: Node) -> None:
    n.ints("consumed_inputs")
    x = n.input(0)
    n.result(f"tc_elu({x}, {n.real('alpha', 1.0)})", x.dtype, x.shape)


@op("Celu")
def celu(n: Node) -> None:
    x = n.input(0)
    n.result(f"tc_celu({x}, {n.real('alpha', 1.0)})", x.dtype, x.shape)


@op("Selu")
def selu(n: Node) -> None:
    n.ints("consumed_inputs")
    x = n.input(0)
    alpha, gamma = n.real("alpha", 1.6732632), n.real("gamma", 1.0507010)
    if (alpha, gamma) == (1.6732632, 1.050701):
        n.result(f"tc_selu({x})", x.dtype, x.shape)
    else:
        n.result(f"tc_mul(tc_elu({x}, {alpha}), {gamma})", x.dtype, x.shape)


@op("HardSigmoid")
def hard_sigmoid(n: Node) -> None:
    n.ints("consumed_inputs")
    x = n.input(0)
    alpha, beta = n.real("alpha", 0.2), n.real("beta", 0.5)
    n.result(f"tc_clamp(tc_add(tc_mul({x}, {alpha}), {beta}), 0, 1)", x.dtype, x.shape)


@op("ThresholdedRelu")
def thresholded_relu(n: Node) -> None:
    x = n.input(0)
    n.result(f"tc_threshold({x}, {n.real('alpha', 1.0)}, 0)", x.dtype, x.shape)


@op("Shrink")
def shrink(n: Node) -> None:
    x = n.input(0)
    bias, l = n.real("bias", 0.0), n.real("lambd", 0.5)
    low, high = f"tc_add({x}, {bias})", f"tc_sub({x}, {bias})"
    if x.dtype in FLOATS:
        n.result(f"tc_where(tc_gt({x}, {l}), {high}, tc_where(tc_lt({x}, {-l}), {low}, 0))", x.dtype, x.shape)
    else:
        n.refuse(f"Shrink of {x.dtype}")


@op("Gelu", since=20)
def gelu(n: Node) -> None:
    x = n.input(0)
    how = n.text("approximate", "none")
    if how not in ("none", "tanh"):
        n.refuse(f"approximate={how!r}")
    n.result(f"tc_gelu{'_tanh' if how == 'tanh' else ''}({x})", x.dtype, x.shape)


@op("Swish", since=24)
def swish(n: Node) -> None:
    x = n.input(0)
    alpha = n.real("alpha", 1.0)
    n.result(f"tc_silu({x})" if alpha == 1 else f"tc_mul({x}, tc_sigmoid(tc_mul({x}, {alpha})))", x.dtype, x.shape)


@op("PRelu")
def prelu(n: Node) -> None:
    n.ints("consumed_inputs")
    x, slope = n.input(0), n.input(1)
    s = n.operand(slope, x)
    if n.opset < 7 and slope.rank == 1 and x.rank > 1 and not equal(slope.shape[0], 1):
        s = f"tc_prelu({x}, {slope})"
        n.result(s, x.dtype, x.shape)
        return
    n.result(f"tc_where(tc_lt({x}, 0), tc_mul({x}, {s}), {x})", x.dtype, n.broadcast(x, slope))


@op("IsNaN")
def is_nan(n: Node) -> None:
    x = n.input(0)
    n.result(f"tc_isnan({x})", "bool", x.shape)


@op("IsInf")
def is_inf(n: Node) -> None:
    x = n.input(0)
    negative, positive = n.integer("detect_negative", 1), n.integer("detect_positive", 1)
    if negative and positive:
        n.result(f"tc_isinf({x})", "bool", x.shape)
    elif negative or positive:
        n.result(f"tc_is{'neg' if negative else 'pos'}inf({x})", "bool", x.shape)
    else:
        n.give_elements((False,), "bool", ()) if not x.rank else \
            n.result(f"tc_full(g, 0, TC_BOOL, {n.dim_list(x.shape)})", "bool", x.shape)


@op("Clip")
def clip(n: Node) -> None:
    """Since 11 the bounds are inputs."""
    n.ints("consumed_inputs")
    x = n.input(0)
    if n.opset < 11:
        bounds = [str(n.real(name, 0.0)) if n.has(name) else "NULL" for name in ("min", "max")]
    else:
        bounds = [n.operand(v, x) if v is not None else "NULL" for v in (n.optional(1), n.optional(2))]
    # A bound that is no bound: exporters write the ends of the dtype.
    if bounds == ["NULL", "NULL"]:
        n.give(x)
    else:
        n.result(f"tc_clamp({x}, {bounds[0]}, {bounds[1]})", x.dtype, x.shape)


# -- two operands ------------------------------------------------------------------------------------------------------

def legacy_broadcast(n: Node, a: Value, b: Value) -> tuple[Value, Value]:
    """Before opset 7: b's axes stand at `axis` of a, where `broadcast` is set."""
    n.ints("consumed_inputs")
    if n.opset >= 7:
        return a, b
    axis = n.integer("axis", a.rank - b.rank)
    if not n.integer("broadcast", 0) or axis + b.rank == a.rank or b.rank == 0:
        return a, b
    axis = n.axis(axis, a.rank)
    shape = (*b.shape, *(wrap(1) for _ in range(a.rank - axis - b.rank)))
    return a, n.let(f"tc_reshape({b}, {n.dim_list(shape)})", b.dtype, shape)


def _divide(a: Expr, b: Expr) -> Expr | None:
    """The quotient that truncates: of constants, or where it is that of a floor division."""
    if b.is_const and b.value == 0:
        return None
    if a.is_const and b.is_const:
        q = abs(a.value) // abs(b.value)
        return wrap(q if (a.value < 0) == (b.value < 0) else -q)
    lo = a.range()[0]
    return a // b if b.is_const and b.value > 0 and lo is not None and lo >= 0 else None


def folded(n: Node, a: Value, b: Value, function: str) -> list[Element] | None:
    """The elements of an operation of sizes; None where they are not known, or the dtype has no sizes."""
    if a.dtype not in INTEGERS or a.folded is None or b.folded is None:
        return None
    pairs = pairwise(a, b)
    if pairs is None:
        return None
    out: list[Element] = []
    for x, y in pairs:
        x, y = wrap(x), wrap(y)  # type: ignore[arg-type]
        value: Expr | None
        if function in ARITHMETIC:
            value = ARITHMETIC[function](x, y)
        elif function == "div":
            value = _divide(x, y)
        elif function == "remainder" and y.is_const and y.value > 0:
            value = x % y
        else:
            return None
        if value is None:
            return None
        out.append(value)
    return out


def pairwise(a: Value, b: Value) -> list[tuple[Element, Element]] | None:
    """The elements of two known values, broadcast."""
    assert a.folded is not None and b.folded is not None
    if len(a.folded) == 1 and b.rank >= a.rank:
        return [(a.folded[0], y) for y in b.folded]
    if len(b.folded) == 1 and a.rank >= b.rank:
        return [(x, b.folded[0]) for x in a.folded]
    return list(zip(a.folded, b.folded)) if a.shape == b.shape else None


def folded_number(a: Value, b: Value, function: str) -> list[Element] | None:
    """The same of two single floats, which sizes may follow from (a Range of floats). In f64 and rounded once:
    exact."""
    if a.dtype not in FLOATS or a.dtype != b.dtype \
            or function not in ("add", "sub", "mul", "div", "minimum", "maximum"):
        return None
    x, y = single_float(a), single_float(b)
    if x is None or y is None or function == "div" and not y:
        return None
    value = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y if y else 0.0, "minimum": min(x, y),
             "maximum": max(x, y)}[function]
    rounded = round_to(value, a.dtype)
    return None if rounded is None else [rounded]


def folded_truth(a: Value, b: Value, function: str) -> list[Element] | None:
    """The same of known conditions."""
    logic = {"logical_and": operator.and_, "logical_or": operator.or_, "logical_xor": operator.xor}.get(function)
    if logic is None or a.dtype != "bool" or b.dtype != "bool" or a.folded is None or b.folded is None:
        return None
    pairs = pairwise(a, b)
    if pairs is None or any(isinstance(e, Expr) for pair in pairs for e in pair):
        return None
    return [bool(logic(bool(x), bool(y))) for x, y in pairs]


def binary(n: Node, function: str, a: Value, b: Value, dtype: str = "") -> None:
    shape = n.broadcast(a, b)
    known = folded(n, a, b, function) or folded_number(a, b, function) or folded_truth(a, b, function)
    if known is not None:
        n.give_elements(known, a.dtype, shape)
        return
    n.same_dtype(a, b)
    n.result(f"tc_{function}({n.operand(a, b)}, {n.operand(b, a)})", dtype or a.dtype, shape)


def _binary(function: str, dtype: str = "") -> Callable[[Node], None]:
    def apply(n: Node) -> None:
        a, b = legacy_broadcast(n, n.input(0), n.input(1))
        binary(n, function, a, b, dtype)
    return apply


for _onnx, _name in {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "BitwiseAnd": "bit_and",
                     "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor"}.items():
    add(_binary(_name), _onnx)
for _onnx, _name in {"And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "Less": "lt", "Greater": "gt",
                     "LessOrEqual": "le", "GreaterOrEqual": "ge", "Equal": "eq"}.items():
    add(_binary(_name, "bool"), _onnx)


def compared(a: Element, b: Element, name: str) -> bool | None:
    """What a comparison of two known elements gives; None where it depends on dims."""
    if isinstance(a, float) or isinstance(b, float):
        if isinstance(a, Expr) or isinstance(b, Expr):
            return None
        return bool(getattr(operator, name)(a, b))
    x, y = wrap(int(a) if isinstance(a, bool) else a), wrap(int(b) if isinstance(b, bool) else b)
    if name in ("eq", "ne"):
        found = True if equal(x, y) else False if never_equal(x, y) else None
        return found if name == "eq" or found is None else not found
    lo, hi = (x - y).range()
    if name == "lt":
        return True if hi is not None and hi < 0 else False if lo is not None and lo >= 0 else None
    if name == "gt":
        return True if lo is not None and lo > 0 else False if hi is not None and hi <= 0 else None
    if name == "le":
        return True if hi is not None and hi <= 0 else False if lo is not None and lo > 0 else None
    return True if lo is not None and lo >= 0 else False if hi is not None and hi < 0 else None


def _comparison(name: str) -> Callable[[Node], None]:
    plain = _binary(name, "bool")

    def apply(n: Node) -> None:
        a, b = n.input(0), n.input(1)
        if a.folded is not None and b.folded is not None:
            pairs = pairwise(a, b)
            found = [compared(x, y, name) for x, y in pairs] if pairs is not None else [None]
            if None not in found:
                n.give_elements(found, "bool", n.broadcast(a, b))  # type: ignore[arg-type]
                return
        plain(n)
    return apply


for _onnx, _name in {"Less": "lt", "Greater": "gt", "LessOrEqual": "le", "GreaterOrEqual": "ge", "Equal": "eq"}.items():
    add(_comparison(_name), _onnx, since=7)


@op("Mod")
def mod(n: Node) -> None:
    a, b = n.input(0), n.input(1)
    binary(n, "fmod" if n.integer("fmod", 0) else "remainder", a, b)


@op("BitShift")
def bit_shift(n: Node) -> None:
    direction = n.text("direction")
    if n.input(0).dtype not in UNSIGNED:
        n.refuse(f"a shift of {n.input(0).dtype}")
    binary(n, "shift_left" if direction == "LEFT" else "shift_right", n.input(0), n.input(1))


def whole_power(a: Value, b: Value) -> int | float | None:
    """A power of single numbers that is a whole number, from which sizes may follow: the side of a square."""
    numbers = []
    for x in (a, b):
        found = single_float(x) if x.dtype in FLOATS else x.integers[0] if x.integers and x.single is not None else None
        if found is None or found < 0 or abs(found) > 1 << 24:
            return None
        numbers.append(float(found))
    base, exponent = numbers
    if not base or exponent > 24 or base ** exponent > 1 << 24 or not (base ** exponent).is_integer():
        return None
    return base ** exponent if a.dtype in FLOATS else int(base ** exponent)


@op("Pow")
def power(n: Node) -> None:
    """The exponent may have another dtype; the result has that of the base."""
    a, b = legacy_broadcast(n, n.input(0), n.input(1))
    shape = n.broadcast(a, b)
    if (known := whole_power(a, b)) is not None:
        n.give_elements([known], a.dtype, shape)
        return
    e = n.number(b) if b.rank <= a.rank else None
    if e is not None and a.dtype in FLOATS:
        whole = int(e) if float(e).is_integer() and abs(e) <= 64 else float(e)
        n.result(f"tc_pow({a}, {whole})", a.dtype, shape)
    elif e is not None and float(e).is_integer() and 0 <= e <= 64:
        n.result(f"tc_pow({a}, {int(e)})", a.dtype, shape)
    elif a.dtype in FLOATS:
        exponent = f"{b}" if a.dtype == b.dtype else f"tc_cast({b}, TC_{a.dtype.upper()})"
        n.result(f"tc_pow({a}, {exponent})", a.dtype, shape)
    elif a.dtype in ("i32", "i64"):
        # Whole powers in f64: exact as long as they are below 2^53.
        n.result(f"tc_cast(tc_pow(tc_cast({a}, TC_F64), tc_cast({b}, TC_F64)), TC_{a.dtype.upper()})", a.dtype, shape)
    else:
        n.refuse(f"a power of {a.dtype}")


def _several(function: str) -> Callable[[Node], None]:
    """Sum, Max, Min, Mean of any number of operands, from the first on."""
    def apply(n: Node) -> None:
        n.ints("consumed_inputs")
        values = [n.input(i) for i in range(len(n.inputs))]
        if not values:
            n.refuse("no inputs")
        n.same_dtype(*values)
        total = values[0]
        if function == "mean":
            for v in values[1:]:
                total = n.let(f"tc_add({total}, {v})", total.dtype, n.broadcast(total, v))
            n.result(f"tc_div({total}, {len(values)})", total.dtype, total.shape)
            return
        if len(values) == 1:
            n.give(total)
            return
        for v in values[1:-1]:
            total = n.let(f"tc_{function}({n.operand(total, v)}, {n.operand(v, total)})", total.dtype,
                          n.broadcast(total, v))
        binary(n, function, total, values[-1])
    return apply


for _onnx, _name in {"Sum": "add", "Max": "maximum", "Min": "minimum", "Mean": "mean"}.items():
    add(_several(_name), _onnx)


@op("Where")
def where(n: Node) -> None:
    c, a, b = n.input(0), n.input(1), n.input(2)
    shape = n.broadcast(c, a, b)
    if c.folded is not None and not any(isinstance(e, Expr) for e in c.folded) and a.folded is not None \
            and b.folded is not None and a.dtype in INTEGERS:
        chosen = _chosen(c, a, b)
        if chosen is not None:
            n.give_elements(chosen, a.dtype, shape)
            return
    n.same_dtype(a, b)
    n.result(f"tc_where({c}, {n.operand(a, b) if not a.rank else a}, {n.operand(b, a) if not b.rank else b})", a.dtype,
             shape)


def _chosen(c: Value, a: Value, b: Value) -> Sequence[Element] | None:
    assert c.folded is not None and a.folded is not None and b.folded is not None
    all_of = [c.folded, a.folded, b.folded]
    count = max(map(len, all_of))
    if any(len(found) not in (1, count) for found in all_of):
        return None
    full = [found * count if len(found) == 1 else found for found in all_of]
    return [x if test else y for test, x, y in zip(*full)]


@op("Cast", "CastLike")
def cast(n: Node) -> None:
    x = n.input(0)
    n.integer("saturate", 1)
    n.text("round_mode", "up")
    to = n.dtype("to") if n.op_type == "Cast" else n.input(1).dtype
    if x.dtype == to:
        n.give(x)
        return
    known = x.folded
    if known is not None and to == "bool" and x.dtype in INTEGERS:
        truths = [compared(e, 0, "ne") for e in known]
        if None not in truths:
            n.give_elements(truths, "bool", x.shape)  # type: ignore[arg-type]
            return
    if known is not None and x.dtype in INTEGERS + ("bool",) and to in INTEGERS + FLOATS \
            and all(isinstance(e, (Expr, int)) for e in known):
        # Sizes are whole numbers in any dtype: as floats they stay sizes until something is computed with them.
        n.give_elements([wrap(int(e)) if isinstance(e, bool) else e for e in known], to, x.shape)
        return
    if known is not None and x.dtype in FLOATS and to in ("i32", "i64") and all(isinstance(e, Expr) for e in known):
        n.give_elements(known, to, x.shape)
        return
    if (single := single_float(x)) is not None and to in ("i32", "i64", "bool") and abs(single) < 1 << 31:
        n.give_elements([bool(single) if to == "bool" else int(single)], to, x.shape)
        return
    if single is not None and to in FLOATS and x.dtype in FLOATS and (rounded := round_to(single, to)) is not None:
        n.give_elements([rounded], to, x.shape)
        return
    n.result(f"tc_cast({x}, TC_{to.upper()})", to, x.shape)


@op("Dropout")
def dropout(n: Node) -> None:
    """Inference only."""
    n.real("ratio", 0.5)
    n.integer("is_test", 1)
    n.integer("seed", 0)
    x = n.input(0)
    training = n.optional(2)
    if training is not None and n.number(training):
        ratio = n.optional(1)
        if ratio is not None:
            n.elements(ratio, "the ratio")
        if ratio is None or n.number(ratio) != 0:
            n.refuse("training mode: its results are random")
    elif training is not None and n.number(training) is None:
        n.elements(training, "training_mode")
    n.give(x)
    if n.wants(1):
        mask = n.value("bool", x.shape, n.outputs[1])
        mask.splat = True
        n.give(mask, 1)
