# SPDX-License-Identifier: Apache-2.0
"""The rest of ai.onnx.ml that has no strings: what scikit-learn's converters write of pipelines."""
from __future__ import annotations

from ...symbolic import product
from ..problems import Malformed
from ..values import FLOATS, Element, Value
from .ops_trees import DOMAIN, classes
from .registry import Node, op


def _floats(x: Value) -> str:
    return f"{x}" if x.dtype == "f32" else f"tc_cast({x}, TC_F32)"


def _vector(n: Node, values: list[float], name: str) -> str:
    """A number for all columns, or one a column."""
    return f"{n.constant(values, 'f32', (len(values),), name)}" if len(values) != 1 else f"{values[0]}"


@op("Binarizer", domain=DOMAIN)
def binarizer(n: Node) -> None:
    x = n.input(0)
    n.result(f"tc_cast(tc_gt({x}, {n.real('threshold', 0.0)}), TC_{x.dtype.upper()})", x.dtype, x.shape)


@op("ArrayFeatureExtractor", domain=DOMAIN)
def feature_extractor(n: Node) -> None:
    x, index = n.input(0), n.input(1)
    flat = f"{index}" if index.rank == 1 else f"tc_reshape({index}, -1)"
    if x.rank < 2:
        x = n.let(f"tc_reshape({x}, 1, {n.dim_list(x.shape or [1])})", x.dtype, (1, *x.shape))
    n.result(f"tc_gather({x}, {flat}, {x.rank - 1})", x.dtype,
             (*x.shape[:-1], product(index.shape)))


@op("Scaler", domain=DOMAIN)
def scaler(n: Node) -> None:
    x, offset, scale = n.input(0), n.reals("offset") or [0.0], n.reals("scale") or [1.0]
    moved = f"tc_sub({_floats(x)}, {_vector(n, offset, 'offset')})"
    n.result(f"tc_mul({moved}, {_vector(n, scale, 'scale')})", "f32", x.shape)


@op("Normalizer", domain=DOMAIN)
def normalizer(n: Node) -> None:
    """A row of zeros stays."""
    x, norm = n.input(0), n.text("norm", "MAX")
    text = _floats(x)
    size = {"MAX": f"tc_amax_keepdims({text}, -1)", "L1": f"tc_norm_keepdims({text}, 1, -1)",
            "L2": f"tc_norm_keepdims({text}, 2, -1)"}.get(norm)
    if size is None:
        raise Malformed(f"norm={norm!r}")
    whole = n.let(size, "f32", (*x.shape[:-1], 1), "size")
    n.result(f"tc_div({text}, tc_where(tc_eq({whole}, 0), 1, {whole}))", "f32", x.shape)


@op("Imputer", domain=DOMAIN)
def imputer(n: Node) -> None:
    x, numbers = n.input(0), n.reals("imputed_value_floats") or []
    old, whole, old_whole = n.real("replaced_value_float", 0.0), n.ints("imputed_value_int64s") or [], \
        n.integer("replaced_value_int64", 0)
    new: list[Element] = [*numbers] if x.dtype in FLOATS else [*whole]
    if not new:
        raise Malformed("no values to impute")
    value = f"{n.constant(new, x.dtype, (len(new),), 'imputed')}"
    missing = f"tc_isnan({x})" if old != old else f"tc_eq({x}, {old if x.dtype in FLOATS else old_whole})"
    n.result(f"tc_where({missing}, {value}, {x})", x.dtype, x.shape)


def _linear(n: Node, x: Value, count: int) -> Value:
    """[rows, count]: a product by `coefficients`, and `intercepts`."""
    numbers, base = n.reals("coefficients") or [], n.reals("intercepts") or []
    features = x.shape[1]
    if x.rank != 2 or not features.is_const or len(numbers) != count * features.value or len(base) not in (0, count):
        raise Malformed(f"{len(numbers)} coefficients, {len(base)} intercepts")
    weight = n.constant(numbers, "f32", (count, features.value), "coefficients")
    bias = n.constant(base, "f32", (count,), "intercepts") if base else "NULL"
    return n.let(f"tc_linear({_floats(x)}, {weight}, {bias})", "f32", (x.shape[0], count), "scores")


@op("LinearRegressor", domain=DOMAIN)
def linear_regressor(n: Node) -> None:
    if n.text("post_transform", "NONE") != "NONE":
        n.refuse(f"post_transform={n.text('post_transform')}")
    n.give(_linear(n, n.input(0), n.integer("targets", 1)))


@op("LinearClassifier", domain=DOMAIN)
def linear_classifier(n: Node) -> None:
    x, labels, after = n.input(0), n.ints("classlabels_ints") or [], n.text("post_transform", "NONE")
    n.integer("multi_class", 0)
    if n.texts("classlabels_strings") or not labels:
        n.refuse("labels that are strings", "train or convert it with numbers as labels")
    count = len(n.reals("intercepts") or []) or len(labels)
    classes(n, _linear(n, x, count), labels, after, count == 1)


@op("LabelEncoder", domain=DOMAIN, since=2)
def label_encoder(n: Node) -> None:
    """The value of the first key that equals an element, else the default."""
    x = n.input(0)
    if any(n.texts(f"{name}_strings") for name in ("keys", "values")):
        n.refuse("tensors of string")
    n.text("default_string", "")

    def listed(name: str) -> tuple[list[Element], str]:
        tensor = n.tensor(f"{name}_tensor")
        if tensor is not None:
            value = n.importer.source.value(tensor)
            return list(n.elements(value, name)), value.dtype
        whole = n.ints(f"{name}_int64s")
        return ([*whole], "i64") if whole else ([*(n.reals(f"{name}_floats") or [])], "f32")

    (keys, _), (values, dtype) = listed("keys"), listed("values")
    if not keys or len(keys) != len(values):
        raise Malformed(f"{len(keys)} keys, {len(values)} values")
    whole, real, given = n.integer("default_int64", -1), n.real("default_float", 0.0), n.tensor("default_tensor")
    other: Element = real if dtype in FLOATS else whole
    if given is not None:
        other = n.elements(n.importer.source.value(given), "the default")[0]
    same = n.let(f"tc_eq(tc_unsqueeze({x}, -1), {n.constant(keys, x.dtype, (len(keys),), 'keys')})", "bool",
                 (*x.shape, len(keys)), "same")
    if any(isinstance(key, float) and key != key for key in keys):
        n.refuse("a key that is NaN")
    table = n.constant(values, dtype, (len(values),), "values")
    found = f"tc_embedding(tc_argmax(tc_cast({same}, TC_U8), -1), {table})"
    n.result(f"tc_where(tc_any({same}, -1), {found}, {n.constant([other], dtype, (), 'default')})", dtype, x.shape)
