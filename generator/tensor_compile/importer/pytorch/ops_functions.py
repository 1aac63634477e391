# SPDX-License-Identifier: Apache-2.0
"""Functions of one tensor: mathematics, rounding, activations."""
from __future__ import annotations

from ..values import FLOATS
from .registry import Function, Node, add, op


def _unary(name: str) -> Function:
    """Integers become floats where PyTorch's result is one."""
    def function(n: Node) -> None:
        x = n.tensor("self")
        n.result(f"{name}({n.as_dtype(x, n.type.dtype) if n.type.dtype in FLOATS else x})")
    return function


for _name in """abs exp expm1 log log1p log2 log10 exp2 sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh erf
erfc lgamma sqrt rsqrt reciprocal neg relu sigmoid silu hardswish hardsigmoid selu mish square sinc""".split():
    add(_unary(f"tc_{_name}"), f"aten.{_name}.default")
for _aten, _name in (("absolute", "abs"), ("negative", "neg"), ("special_expit", "sigmoid"), ("special_erf", "erf"),
                     ("special_erfc", "erfc"), ("special_gammaln", "lgamma"),
                     ("special_exp2", "exp2"), ("special_expm1", "expm1"), ("special_log1p", "log1p"),
                     ("arcsin", "asin"),
                     ("arccos", "acos"), ("arctan", "atan"), ("arcsinh", "asinh"), ("arccosh", "acosh"),
                     ("arctanh", "atanh"),
                     ("log_sigmoid", "logsigmoid"), ("rad2deg", "rad2deg"), ("deg2rad", "deg2rad")):
    add(_unary(f"tc_{_name}"), f"aten.{_aten}.default")


def _keeps_integers(name: str) -> Function:
    """Of integers: the same."""
    def function(n: Node) -> None:
        x = n.tensor("self")
        if x.dtype in FLOATS:
            n.result(f"{name}({x})")
        else:
            n.give(x)
    return function


for _name in ("floor", "ceil", "trunc"):
    add(_keeps_integers(f"tc_{_name}"), f"aten.{_name}.default")
add(_keeps_integers("tc_trunc"), "aten.fix.default")


@op("aten.round.default", "aten.round.decimals")
def round_(n: Node) -> None:
    x, decimals = n.tensor("self"), n.integer("decimals", 0)
    if x.dtype not in FLOATS:
        n.give(x)
    elif not decimals:
        n.result(f"tc_round({x})")
    elif 0 < decimals < 10:
        n.result(f"tc_div(tc_round(tc_mul({x}, {10 ** decimals})), {10 ** decimals})")
    else:
        n.refuse(f"decimals={decimals}")


@op("aten.frac.default")
def frac(n: Node) -> None:
    n.result(f"tc_frac({n.tensor('self')})")


@op("aten.sign.default", "aten.sgn.default")
def sign(n: Node) -> None:
    n.result(f"tc_sign({n.tensor('self')})")


@op("aten.signbit.default")
def signbit(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_signbit({x})" if x.dtype in FLOATS else f"tc_lt({x}, 0)")


def _kind(name: str, integers: str) -> Function:
    """A question about floats; of integers the answer is one for all."""
    def function(n: Node) -> None:
        x = n.tensor("self")
        n.result(f"{name}({x})" if x.dtype in FLOATS else
                 f"tc_full(g, {integers}, TC_BOOL{''.join(', ' + n.dim(s) for s in x.shape)})")
    return function


for _name, _answer in (("isnan", "0"), ("isinf", "0"), ("isfinite", "1"), ("isposinf", "0"), ("isneginf", "0")):
    add(_kind(f"tc_{_name}", _answer), f"aten.{_name}.default")


@op("aten.nan_to_num.default")
def nan_to_num(n: Node) -> None:
    x = n.tensor("self")
    if x.dtype not in FLOATS:
        n.give(x)
        return
    if n.has("posinf") or n.has("neginf"):
        low, high = n.argument("neginf"), n.argument("posinf")
        text = f"tc_where(tc_isnan({x}), {n.operand(n.argument('nan', 0), x.dtype)}, {x})"
        if high is not None:
            text = f"tc_where(tc_isposinf({x}), {n.operand(high, x.dtype)}, {text})"
        if low is not None:
            text = f"tc_where(tc_isneginf({x}), {n.operand(low, x.dtype)}, {text})"
        if high is None or low is None:
            n.refuse("one of posinf and neginf alone")
        n.result(text)
        return
    nan = n.real("nan", 0.0)
    n.result(f"tc_nan_to_num({x})" if not nan else f"tc_nan_to_num(tc_where(tc_isnan({x}), {nan}, {x}))")


# -- activations
# -------------------------------------------------------------------------------------------------------------
@op("aten.gelu.default")
def gelu(n: Node) -> None:
    form = n.text("approximate", "none")
    if form not in ("none", "tanh"):
        n.refuse(f"approximate={form}")
    n.result(f"tc_gelu{'_tanh' if form == 'tanh' else ''}({n.tensor('self')})")


@op("aten.leaky_relu.default")
def leaky_relu(n: Node) -> None:
    n.result(f"tc_leaky_relu({n.tensor('self')}, {n.real('negative_slope', 0.01)})")


@op("aten.elu.default")
def elu(n: Node) -> None:
    n.only("scale", 1, 1.0)
    n.only("input_scale", 1, 1.0)
    n.result(f"tc_elu({n.tensor('self')}, {n.real('alpha', 1.0)})")


@op("aten.celu.default")
def celu(n: Node) -> None:
    n.result(f"tc_celu({n.tensor('self')}, {n.real('alpha', 1.0)})")


@op("aten.prelu.default", "aten._prelu_kernel.default")
def prelu(n: Node) -> None:
    x, weight = n.tensor("self"), n.tensor("weight")
    if n.target == "aten._prelu_kernel.default":
        n.result(f"tc_where(tc_gt({x}, 0), {x}, tc_mul({weight}, {x}))")
    else:
        n.result(f"tc_prelu({x}, {weight})")


@op("aten.softplus.default")
def softplus(n: Node) -> None:
    n.result(f"tc_softplus({n.tensor('self')}, .beta = {n.real('beta', 1.0)}, .threshold = "
             f"{n.real('threshold', 20.0)})")


@op("aten.hardshrink.default", "aten.softshrink.default")
def shrink(n: Node) -> None:
    n.result(f"tc_{n.target.split('.')[1]}({n.tensor('self')}, {n.real('lambd', 0.5)})")


@op("aten.threshold.default")
def threshold(n: Node) -> None:
    n.result(f"tc_threshold({n.tensor('self')}, {n.real('threshold')}, {n.real('value')})")


@op("aten.glu.default")
def glu(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_glu({x}, {n.axis('dim', x.rank, -1)})")


@op("aten.softsign.default")
def softsign(n: Node) -> None:
    n.result(f"tc_softsign({n.tensor('self')})")


@op("aten.logit.default", "aten.special_logit.default")
def logit(n: Node) -> None:
    n.result(f"tc_logit({n.tensor('self')}, {n.real('eps', 0.0)})")


@op("aten.rrelu.default", "aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default",
    "aten.native_dropout.default", "aten.feature_alpha_dropout.default")
def dropout(n: Node) -> None:
    """Of inference: nothing but rrelu's average slope."""
    rrelu = n.target == "aten.rrelu.default"
    if n.flag("training" if rrelu else "train") and n.real("p", 0.5):
        n.refuse("dropout while training", "export the module after .eval()")
    x = n.tensor("self") if rrelu or not n.has("input") else n.tensor("input")
    if rrelu:
        n.result(f"tc_rrelu({x}, {n.real('lower', 0.125)}, {n.real('upper', 1 / 3)})")
        return
    n.ignore("p")
    n.give(x)
    if len(n.results) > 1:
        n.result(f"tc_full(g, 1, TC_BOOL, {n.dim_list(x.shape)})")


def softmaxes(n: Node) -> None:
    x = n.tensor("self")
    dtype = n.type.dtype
    n.ignore("dtype", "half_to_float", "_stacklevel")
    name = "tc_log_softmax" if "log_softmax" in n.target else "tc_softmax"
    n.result(f"{name}({n.as_dtype(x, dtype)}, {n.axis('dim', x.rank)})" if x.rank else
             f"tc_full(g, {0 if 'log' in name else 1}, TC_{dtype.upper()})")


add(softmaxes, "aten.softmax.int", "aten._softmax.default", "aten.log_softmax.int", "aten._log_softmax.default",
    "aten._safe_softmax.default", "aten.special_softmax.int", "aten.special_log_softmax.int")
