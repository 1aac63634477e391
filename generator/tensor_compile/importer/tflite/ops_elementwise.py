# SPDX-License-Identifier: Apache-2.0
"""Operations of each element, in the order of axes in which their operands are."""
from __future__ import annotations

from ...symbolic import equal, wrap
from ..dims import Shape
from ..problems import Malformed
from ..values import DTYPES, FLOATS, INTEGERS, Value, number
from .registry import Node, Scale, op


def either(n: Node, i: int = 0) -> tuple[Value, bool]:
    """An input in an order that is there, and whether that is channels first."""
    held = n.held(i)
    return (held.last, False) if held.last is not None else (n.first(i), True)


def give(n: Node, text: str, dtype: str, shape: Shape, first: bool) -> None:
    (n.give_first if first else n.give)(text, dtype, shape)


def both(n: Node) -> tuple[Value, Value, Shape, bool]:
    """Two operands that broadcast. Channels are first where one of them is so already and the other one has the same
    shape or is a constant along the channels."""
    a, b = n.held(0), n.held(1)
    if (a.last is None or b.last is None) and (moved := _first(n)) is not None:
        return (*moved, n.broadcast(moved[0].shape, moved[1].shape), True)
    x, y = n.input(0), n.input(1)
    return x, y, n.broadcast(x.shape, y.shape), False


def _first(n: Node) -> tuple[Value, Value] | None:
    found: list[Value] = []
    rank = max(h.rank for i in (0, 1) for h in (n.held(i).first, n.held(i).last) if h is not None)
    for i in (0, 1):
        held = n.held(i)
        x = held.first or held.last
        assert x is not None
        if held.first is not None or x.rank == rank and not x.is_constant:
            found.append(n.first(i))
        elif x.single is not None:
            found.append(x)
        elif all(equal(s, 1) for s in x.shape[:-1]):
            # One number a channel: axes for the window behind it.
            shape = (x.shape[-1], *[wrap(1)] * (rank - 2))
            found.append(n.let(f"tc_reshape({x}, {n.dim_list(shape)})", x.dtype, shape, x.hint))
        else:
            return None
    return found[0], found[1]


def operand(value: Value, beside: Value) -> str:
    """A number where the value is one and does not widen the other operand."""
    if not beside.is_constant and value.rank <= beside.rank and value.dtype == beside.dtype \
            and (single := value.single) is not None and (text := number(single, value.dtype)) is not None:
        return text
    return f"{value}"


@op("ADD", "SUB", "MUL", "DIV", versions=7)
def arithmetic(n: Node) -> None:
    x, y, shape, first = both(n)
    if x.dtype != y.dtype:
        raise Malformed(f"{x.dtype} and {y.dtype}")
    name = n.name.lower()
    if name in ("add", "sub"):
        n.ignore("pot_scale")
    if n.is_integer:
        if name == "div" or x.dtype not in ("i8", "u8", "i16"):
            n.refuse(f"integers of {x.dtype}")
        text = f"tc_quantized_{name}(.a = {n.affine(x, n.quantized(0))}, .b = {n.affine(y, n.quantized(1))}" \
               f"{n.behind()})"
    elif name == "div" and x.dtype not in (*FLOATS, "i32"):
        n.refuse(f"a quotient of {x.dtype}")
    elif x.is_constant and not y.is_constant and name in ("add", "mul"):
        text = f"tc_{name}({y}, {operand(x, y)})"
    else:
        text = f"tc_{name}({operand(x, y)}, {operand(y, x)})"
    give(n, n.activated(text, x.dtype, shape), x.dtype, shape, first)


@op("MAXIMUM", "MINIMUM", versions=5)
def extremum(n: Node) -> None:
    x, y, shape, first = both(n)
    if x.dtype != y.dtype:
        raise Malformed(f"{x.dtype} and {y.dtype}")
    if n.is_integer and not n.scale(0) == n.scale(1) == n.result_scale():
        n.refuse("operands of different scales")
    give(n, f"tc_{n.name.lower()}({operand(x, y)}, {operand(y, x)})", x.dtype, shape, first)


_COMPARISONS = {"EQUAL": "eq", "NOT_EQUAL": "ne", "LESS": "lt", "LESS_EQUAL": "le", "GREATER": "gt",
                "GREATER_EQUAL": "ge"}
_FLOATS = {"POW": "pow", "ATAN2": "atan2", "FLOOR_DIV": "floor_divide", "FLOOR_MOD": "remainder"}
_TRUTHS = {"LOGICAL_AND": "logical_and", "LOGICAL_OR": "logical_or"}


@op(*_COMPARISONS, *_FLOATS, *_TRUTHS, "SQUARED_DIFFERENCE", versions=3)
def two(n: Node) -> None:
    x, y, shape, first = both(n)
    if x.dtype != y.dtype:
        raise Malformed(f"{x.dtype} and {y.dtype}")
    if n.is_integer:
        if n.scale(0) != n.scale(1) or n.name not in _COMPARISONS:
            n.refuse("quantized operands")
    if x.dtype not in FLOATS and n.name in ("POW", "ATAN2") or \
            n.name == "SQUARED_DIFFERENCE" and x.dtype not in (*FLOATS, "i32"):
        n.refuse(f"integers of {x.dtype}")
    if n.name == "SQUARED_DIFFERENCE":
        d = n.let(f"tc_sub({operand(x, y)}, {operand(y, x)})", x.dtype, shape, "difference")
        give(n, f"tc_mul({d}, {d})", x.dtype, shape, first)
        return
    name = (_COMPARISONS | _FLOATS | _TRUTHS)[n.name]
    dtype = "bool" if n.name in _COMPARISONS else x.dtype
    give(n, f"tc_{name}({operand(x, y)}, {operand(y, x)})", dtype, shape, first)


@op("BITWISE_XOR", "RIGHT_SHIFT", versions=1)
def bits(n: Node) -> None:
    x, y, shape, first = both(n)
    if n.is_integer:
        n.refuse("bits of quantized integers")
    if x.dtype not in INTEGERS or x.dtype != y.dtype:
        n.refuse(f"bits of {x.dtype} and {y.dtype}")
    if n.name == "BITWISE_XOR":
        text = f"tc_bit_xor({operand(x, y)}, {operand(y, x)})"
    else:   # by as many places as there are
        places = n.let(f"tc_clamp({y}, 0, {8 * DTYPES[x.dtype][0] - 1})", y.dtype, y.shape, "places")
        text = f"tc_shift_right({x}, {places})"
    give(n, text, x.dtype, shape, first)


@op("ADD_N", versions=1)
def total(n: Node) -> None:
    parts = [n.input(i) for i in range(n.count)]
    if not parts or any([*p.shape] != [*parts[0].shape] or p.dtype != parts[0].dtype for p in parts):
        raise Malformed("parts of different shapes or types")
    if n.is_integer:
        n.refuse("quantized operands")
    text, dtype, shape = f"{parts[0]}", parts[0].dtype, parts[0].shape
    for i, part in enumerate(parts[1:], 1):
        text = f"tc_add({text}, {part})"
        if i < len(parts) - 1:
            text = f"{n.let(text, dtype, shape, 'sum')}"
    if len(parts) == 1:
        n.hand_on()
    else:
        n.give(text, dtype, shape)


@op("BUCKETIZE", versions=1)
def bucketize(n: Node) -> None:
    """How many of the boundaries lie below each element or are it."""
    x, first = either(n)
    boundaries = n.real_list("boundaries")
    if x.dtype not in ("f32", "i32"):
        n.refuse(f"buckets of {x.dtype}")
    if any(not a < b for a, b in zip(boundaries, boundaries[1:])):
        raise Malformed("boundaries that do not rise")
    values = f"{x}" if x.dtype == "f32" else f"tc_cast({x}, TC_F32)"
    limits_ = n.importer.program.value("f32", (wrap(len(boundaries)),), elements=boundaries)
    give(n, f"tc_cast(tc_bucketize({values}, {limits_}, true), TC_I32)", "i32", x.shape, first)


_UNARY = {"EXP": "exp", "LOG": "log", "SQRT": "sqrt", "RSQRT": "rsqrt", "SIN": "sin", "COS": "cos", "FLOOR": "floor",
          "CEIL": "ceil", "ROUND": "round", "NEG": "neg", "ABS": "abs", "SIGN": "sign", "LOGICAL_NOT": "logical_not"}


@op(*_UNARY, "SQUARE", versions=2)
def unary(n: Node) -> None:
    x, first = either(n)
    if n.is_integer or x.dtype not in FLOATS and n.name not in ("NEG", "ABS", "SIGN", "LOGICAL_NOT"):
        n.refuse(f"integers of {x.dtype}")
    text = f"tc_mul({x}, {x})" if n.name == "SQUARE" else f"tc_{_UNARY[n.name]}({x})"
    give(n, text, x.dtype, x.shape, first)


def limits(low: int | None, high: int | None, x: str) -> str:
    if low is not None and high is not None:
        return f"tc_clamp({x}, {low}, {high})"
    if low is None and high is None:
        return x
    return f"tc_maximum({x}, {low})" if low is not None else f"tc_minimum({x}, {high})"


@op("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", versions=3)
def rectified(n: Node) -> None:
    x, first = either(n)
    if not n.is_integer:
        calls = {"RELU": f"tc_relu({x})", "RELU6": f"tc_relu6({x})", "RELU_N1_TO_1": f"tc_clamp({x}, -1, 1)",
                 "RELU_0_TO_1": f"tc_clamp({x}, 0, 1)"}
        give(n, calls[n.name], x.dtype, x.shape, first)
        return
    low, high = n.limits(n.name.lower(), x.dtype)
    text = f"{x}"
    if n.scale(0) != n.result_scale():
        text = f"{n.let(f'tc_quantized_rescale(.x = {n.affine(x, n.quantized(0))}{n.behind()})', x.dtype, x.shape)}"
    if low is None and high is None and text == f"{x}":
        n.hand_on()
    else:
        give(n, limits(low, high, text), x.dtype, x.shape, first)


@op("LEAKY_RELU", "GELU", versions=2)
def activation(n: Node) -> None:
    x, first = either(n)
    if n.is_integer and n.name == "LEAKY_RELU":
        text = f"tc_quantized_leaky_relu(.x = {n.affine(x, n.quantized(0))}, .slope = {n.real('alpha')}{n.behind()})"
    elif n.is_integer:
        n.refuse(f"integers of {x.dtype}")
    elif n.name == "GELU":
        text = f"tc_gelu_tanh({x})" if n.option("approximate") else f"tc_gelu({x})"
    else:
        text = f"tc_leaky_relu({x}, {n.real('alpha')})"
    give(n, text, x.dtype, x.shape, first)


@op("ELU", "HARD_SWISH", versions=1)
def plain_activation(n: Node) -> None:
    x, first = either(n)
    if n.name == "HARD_SWISH" and x.dtype in ("i8", "u8"):
        into = n.importer.dtype(n.output())
        if into != x.dtype:
            n.refuse(f"a hard swish of {x.dtype} to {into}")
        text = f"tc_quantized_hardswish(.x = {n.affine(x, n.quantized(0))}{n.behind()})"
    elif x.dtype not in FLOATS:
        n.refuse(f"integers of {x.dtype}")
    else:
        text = f"tc_elu({x}, 1)" if n.name == "ELU" else f"tc_hardswish({x})"
    give(n, text, x.dtype, x.shape, first)


@op("PRELU", versions=1)
def prelu(n: Node) -> None:
    x, slope, shape, first = both(n)
    if x.dtype not in FLOATS:
        n.refuse(f"integers of {x.dtype}")
    give(n, f"tc_where(tc_ge({x}, 0), {x}, tc_mul({x}, {slope}))", x.dtype, shape, first)


@op("LOGISTIC", "TANH", versions=3)
def sigmoid(n: Node) -> None:
    x, first = either(n)
    name = "sigmoid" if n.name == "LOGISTIC" else "tanh"
    if not n.is_integer:
        give(n, f"tc_{name}({x})", x.dtype, x.shape, first)
        return
    into = n.importer.dtype(n.output())
    if x.dtype not in ("i8", "u8", "i16") or into != x.dtype:
        n.refuse(f"a function of {x.dtype} to {into}")
    middle = 128 if x.dtype == "u8" else 0
    want = Scale("0.0078125", middle) if name == "tanh" else Scale("0.00390625", middle - 128)
    if x.dtype == "i16":
        want = Scale("3.0517578e-05", 0)   # 1 / 32768
        if n.quantized(0).zero:
            n.refuse(f"16 bits with the zero {n.quantized(0).zero}")
    if n.into() != want:
        n.refuse(f"a result of the scale {n.into().scale}, zero {n.into().zero}")
    give(n, f"tc_quantized_{name}(.x = {n.affine(x, n.quantized(0))})", x.dtype, x.shape, first)


@op("QUANTIZE", versions=3)
def quantize(n: Node) -> None:
    x, first = either(n)
    dtype, into = n.importer.dtype(n.output()), n.into()
    if x.dtype in FLOATS:
        zero = n.importer.program.value(dtype, (), splat=into.zero)
        scale = n.importer.program.value("f32", (), splat=float(into.scale))
        text = f"tc_quantize({x}, {scale}, {zero})" if x.dtype == "f32" else ""
        if not text:
            n.refuse(f"an input of {x.dtype}")
        # Halves away from zero: TensorFlow Lite rounds so.
        text = f"tc_quantize({x}, {scale}, {zero}, .halves_away = true)"
    elif x.dtype == dtype and n.quantized(0) == into:
        n.hand_on()
        return
    else:
        text = f"tc_quantized_rescale(.x = {n.affine(x, n.quantized(0))}{n.behind()}" \
               + (f", .dtype = TC_{dtype.upper()})" if dtype != x.dtype else ")")
    give(n, text, dtype, x.shape, first)


@op("DEQUANTIZE", versions=6)
def dequantize(n: Node) -> None:
    x, first = either(n)
    dtype = n.importer.dtype(n.output())
    if x.dtype in FLOATS:
        give(n, f"tc_cast({x}, TC_{dtype.upper()})", dtype, x.shape, first)
        return
    q = n.tensor(0).quantization
    if len(q.scales) > 1:
        x, first = n.input(0), False
        scale = n.importer.program.value("f32", (wrap(len(q.scales)),), elements=q.scales)
        if any(q.zeros) or not 0 <= q.axis < x.rank:
            n.refuse("zero points along an axis")
        give(n, f"tc_dequantize({x}, {scale}, .axis = {q.axis})", dtype, x.shape, first)
        return
    found = n.quantized(0)
    zero = n.importer.program.value(x.dtype, (), splat=found.zero)
    scale = n.importer.program.value("f32", (), splat=float(found.scale))
    give(n, f"tc_dequantize({x}, {scale}{f', {zero}' if found.zero else ''})", dtype, x.shape, first)


@op("CAST", versions=7)
def cast(n: Node) -> None:
    x, first = either(n)
    n.ignore("from", "to")
    dtype = n.importer.dtype(n.output())
    give(n, f"tc_cast({x}, TC_{dtype.upper()})", dtype, x.shape, first)


@op("SELECT", "SELECT_V2", versions=3)
def select(n: Node) -> None:
    p, x, y = (n.input(i) for i in range(3))
    if x.dtype != y.dtype or p.dtype != "bool":
        raise Malformed(f"{p.dtype}, {x.dtype} and {y.dtype}")
    if x.dtype not in FLOATS and not n.scale(1) == n.scale(2) == n.result_scale():
        n.refuse("operands of different scales")
    if n.name == "SELECT" and p.rank not in (0, 1, x.rank):
        n.refuse("a condition of another rank")
    text, shape = f"{p}", p.shape
    if n.name == "SELECT" and p.rank == 1 and x.rank > 1:   # of each slice along the first axis
        shape = (*p.shape, *[wrap(1)] * (x.rank - 1))
        text = f"tc_reshape({p}, {n.dim_list(shape)})"
    n.give(f"tc_where({text}, {x}, {y})", x.dtype, n.broadcast(shape, x.shape, y.shape))
