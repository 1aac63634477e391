# SPDX-License-Identifier: Apache-2.0
"""Writes contrib.zip: cases of com.microsoft and ai.onnx.ml as ONNX's suite has them, with what ONNX Runtime gives
for them, or ONNX's reference.

  python make_contrib.py        (needs numpy, onnx and onnxruntime)
"""
from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

MS, ML = "com.microsoft", "ai.onnx.ml"
rng = np.random.default_rng(1)


def f(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def u8(*shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


def i8(*shape: int) -> np.ndarray:
    return rng.integers(-128, 128, shape).astype(np.int8)


def i32(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def listed(kind: int, values: list[float]) -> onnx.TensorProto:
    return helper.make_tensor("", kind, [len(values)], values)


def s(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def z(value: int, dtype: type = np.uint8) -> np.ndarray:
    return np.array(value, dtype)


def trees(kind: str, leaves: int, targets: list[int], modes: list[str], **more: Any) -> dict[str, Any]:
    """Attributes of full binary trees, a tree for each entry of targets: which class its leaves are of, -1: all
    three."""
    attributes: dict[str, list] = {f"nodes_{name}": [] for name in (
        "treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
        "missing_value_tracks_true")}
    attributes |= {f"{kind}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, target in enumerate(targets):
        for node in range(2 * leaves - 1):
            leaf = node >= leaves - 1
            row = (tree, node, 0 if leaf else (node + tree) % 4, 0.0 if leaf else float(rng.normal()) / 2,
                   "LEAF" if leaf else modes[node % len(modes)], 0 if leaf else 2 * node + 1,
                   0 if leaf else 2 * node + 2, 0 if leaf else node % 2)
            for name, value in zip(list(attributes)[:8], row):
                attributes[name].append(value)
            for each in (range(3) if target < 0 else [target]) if leaf else []:
                for name, value in zip(list(attributes)[8:], (tree, node, each, float(rng.normal()))):
                    attributes[name].append(value)
    return attributes | more


def with_nan(x: np.ndarray) -> np.ndarray:
    x[1, 2] = np.nan
    return x


def cases() -> dict[str, tuple]:
    """name -> (operation, inputs (None: left out; of those in a list the array is constant), types of outputs,
    attributes). What begins with onnx_ ONNX Runtime has not, or not right (Col2Im of three axes): there the results are
    those of ONNX's reference."""
    x, h = f(2, 5, 8), f(8)
    q = {"x": u8(2, 3, 4), "scale": s(0.05), "zero": z(120)}
    triple = [q["x"], q["scale"], q["zero"]]
    result = [s(0.02), z(100)]
    qkv = [f(2, 5, 12), f(2, 5, 12), f(2, 5, 12)]
    tables = [f(16, 2), f(16, 2)]
    wide = [f(16, 8), f(16, 8)]
    past = [f(2, 3, 4, 4), f(2, 3, 4, 4)]
    F = T.FLOAT
    return {
        "gelu": ("Gelu", [x], [F], {}), "bias_gelu": ("BiasGelu", [x, h], [F], {}),
        "fast_gelu": ("FastGelu", [x, h], [F], {}),
        "quick_gelu": ("QuickGelu", [x], [F], {"alpha": 1.5}),
        "fused_matmul": ("FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], [F], {"alpha": 0.5, "transA": 1, "transB": 1}),
        "nbits": ("MatMulNBits", [f(3, 40), u8(5, 3, 8), np.abs(f(5, 3)), u8(5, 2)], [F],
                  {"K": 40, "N": 5, "bits": 4, "block_size": 16, "accuracy_level": 1}),
        "skip_layer_norm": ("SkipLayerNormalization", [x, f(2, 5, 8), h, f(8), f(8)], [F, None, None, F],
                            {"epsilon": 1e-5}),
        "skip_rms_norm": ("SkipSimplifiedLayerNormalization", [x, f(2, 5, 8), h], [F, None, None, F],
                          {"epsilon": 1e-5}),
        "embed": ("EmbedLayerNormalization",
                  [i32([1, 2, 3], [4, 0, 1]), i32([0, 0, 1], [1, 0, 1]), f(9, 8), f(7, 8), f(2, 8), h,
                                              f(8), i32([1, 1, 1], [1, 1, 0])], [F, T.INT32, F], {}),
        "rotary": ("RotaryEmbedding", [f(2, 3, 5, 4), np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]], np.int64), *tables],
                   [F], {}),
        "rotary_from": ("RotaryEmbedding", [f(2, 5, 12), np.array([3], np.int64), *tables], [F],
                        {"interleaved": 1, "num_heads": 3}),
        "attention": ("Attention", [x, f(8, 36), f(36), i32(5, 3)], [F], {"num_heads": 3}),
        "attention_past": ("Attention", [x, f(8, 36), f(36), None, f(2, 2, 3, 4, 4)], [F, F],
                           {"num_heads": 3, "unidirectional": 1}),
        "attention_mask": ("Attention",
                           [x, f(8, 36), f(36), i32([1, 1, 0, 1, 1], [1, 1, 1, 0, 0]), None, f(2, 3, 5, 5)], [F],
                           {"num_heads": 3}),
        "multi_head": ("MultiHeadAttention", [*qkv, f(36), i32([1, 1, 1, 1, 0], [1, 1, 0, 0, 1])], [F],
                       {"num_heads": 3}),
        "multi_head_past": ("MultiHeadAttention", [*qkv, None, None, f(1, 3, 5, 9), *past], [F, F, F],
                            {"num_heads": 3}),
        "grouped": ("GroupQueryAttention", [f(1, 3, 64), f(1, 3, 32), f(1, 3, 32), None, None, i32(2),
                                            np.array(3, np.int32), *wide], [F, F, F],
                    {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}),
        "grouped_past": ("GroupQueryAttention",
                         [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 4, 16), f(2, 2, 4, 16), i32(4, 4),
                                                 np.array(5, np.int32), *wide], [F, F, F],
                         {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "rotary_interleaved": 1,
                          "local_window_size": 3}),
        "qlinear_add": ("QLinearAdd", [*triple, u8(3, 4), s(0.03), z(7), *result], [T.UINT8], {}),
        "qlinear_mul": ("QLinearMul", [*triple, u8(3, 4), s(0.03), z(7), *result], [T.UINT8], {}),
        "qlinear_sigmoid": ("QLinearSigmoid", [i8(3, 4), s(0.05), z(3, np.int8), s(1 / 256), z(-128, np.int8)],
                            [T.INT8], {}),
        "qlinear_leaky_relu": ("QLinearLeakyRelu", [*triple, *result], [T.UINT8], {"alpha": 0.1}),
        "qlinear_concat": ("QLinearConcat", [*result, *triple, u8(2, 3, 2), s(0.03), z(7)], [T.UINT8], {"axis": 2}),
        "qlinear_pool": ("QLinearGlobalAveragePool", [u8(2, 3, 4, 4), s(0.05), z(120), *result], [T.UINT8],
                         {"channels_last": 0}),
        "qlinear_average": ("QLinearAveragePool", [u8(1, 3, 6, 6), s(0.05), z(120), *result], [T.UINT8],
                            {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
        "qgemm": ("QGemm", [u8(3, 6), s(0.04), z(120), i8(5, 6), np.abs(f(5)) + 0.1, np.zeros(5, np.int8),
                            rng.integers(-99, 99, 5).astype(np.int32), s(0.9), z(99)], [T.UINT8], {"transB": 1}),
        "to_float": ("MatMulIntegerToFloat",
                     [u8(3, 6), i8(6, 5), s(0.04), np.abs(f(5)), z(120), np.zeros(5, np.int8), f(5)], [F], {}),
        "dynamic_matmul": ("DynamicQuantizeMatMul", [f(3, 6), i8(6, 5), np.abs(f(5)), np.zeros(5, np.int8), f(5)], [F],
                           {}),
        "ml_regressor": ("TreeEnsembleRegressor", [with_nan(f(7, 4))], [F],
                         trees("target", 8, [-1, -1, -1], ["BRANCH_LEQ"], n_targets=3, base_values=[0.5, -1.0, 2.0])),
        "ml_regressor_modes": ("TreeEnsembleRegressor", [np.round(f(9, 4) * 2) / 2], [F],
                               trees("target", 4, [0, 0], ["BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"], n_targets=1,
                                     aggregate_function="AVERAGE")),
        "ml_regressor_least": ("TreeEnsembleRegressor", [f(5, 4)], [F],
                               trees("target", 4, [0, 1, 0], ["BRANCH_LEQ"], n_targets=2, aggregate_function="MIN")),
        "ml_classifier": ("TreeEnsembleClassifier", [f(6, 4)], [T.INT64, F],
                          trees("class", 4, [-1, -1], ["BRANCH_LEQ"], classlabels_int64s=[5, 7, 9],
                                post_transform="SOFTMAX")),
        "ml_two_classes": ("TreeEnsembleClassifier", [f(6, 4)], [T.INT64, F],
                           trees("class", 4, [0, 0], ["BRANCH_LT"], classlabels_int64s=[0, 1],
                                 post_transform="LOGISTIC")),
        "ml_shares": ("TreeEnsembleClassifier", [f(6, 4)], [T.INT64, F],
                      shares(trees("class", 4, [1, 1, 1], ["BRANCH_LEQ"], classlabels_int64s=[3, 4]))),
        "ml_first_shares": ("TreeEnsembleClassifier", [f(6, 4)], [T.INT64, F],
                            shares(trees("class", 4, [0, 0, 0], ["BRANCH_LEQ"], classlabels_int64s=[3, 4]))),
        "ml_signs": ("TreeEnsembleClassifier", [f(6, 4)], [T.INT64, F],
                     trees("class", 4, [0, 0], ["BRANCH_LEQ"], classlabels_int64s=[0, 1])),
        "ml_scaler": ("Scaler", [f(3, 4)], [F], {"offset": [0.5, 1.0, -1.0, 0.0], "scale": [2.0, 0.5, 1.0, 3.0]}),
        "ml_normalizer": ("Normalizer", [np.vstack([f(2, 4), np.zeros((1, 4), np.float32)])], [F], {"norm": "L2"}),
        "ml_normalizer_max": ("Normalizer", [np.abs(f(3, 4))], [F], {"norm": "MAX"}),
        "ml_imputer": ("Imputer", [with_nan(f(3, 4))], [F],
                       {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}),
        "ml_linear": ("LinearRegressor", [f(3, 4)], [F],
                      {"coefficients": f(8).tolist(), "intercepts": [0.5, -0.5], "targets": 2}),
        "ml_linear_classes": ("LinearClassifier", [f(5, 4)], [T.INT64, F],
                              {"coefficients": f(12).tolist(), "intercepts": f(3).tolist(), "multi_class": 1,
                               "classlabels_ints": [2, 4, 6], "post_transform": "SOFTMAX"}),
        "ml_linear_two": ("LinearClassifier", [f(5, 4)], [T.INT64, F],
                          {"coefficients": f(8).tolist(), "intercepts": f(2).tolist(), "classlabels_ints": [0, 1],
                           "post_transform": "LOGISTIC"}),
        "ml_trees": ("TreeEnsemble", [f(9, 2)], [F], {
            "n_targets": 2, "tree_roots": [0, 3], "nodes_featureids": [0, 1, 0, 1], "nodes_truenodeids": [1, 0, 2, 4],
            "nodes_trueleafs": [0, 1, 1, 1], "nodes_falsenodeids": [2, 1, 3, 5], "nodes_falseleafs": [0, 1, 1, 1],
            "nodes_splits": listed(F, [0.1, -0.3, 0.4, 0.0]), "nodes_modes": listed(T.UINT8, [0, 3, 6, 1]),
            "membership_values": listed(F, [0.5, 1.5, float("nan")]), "leaf_targetids": [0, 1, 1, 0, 1, 0],
            "leaf_weights": listed(F, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])}),
        "onnx_col2im": ("Col2Im", [f(2, 24, 27), i64(4, 5, 7), i64(2, 3, 2)], [F],
                        {"strides": [1, 1, 2], "dilations": [1, 2, 1], "pads": [0, 1, 0, 0, 1, 0]}),
        "onnx_bitcast": ("BitCast", [x], [T.INT32], {"to": T.INT32}),
        "onnx_bitcast_truth": ("BitCast", [x > 0], [T.UINT8], {"to": T.UINT8}),
        "onnx_bitcast_halves": ("BitCast", [x.view(np.uint16)], [T.FLOAT16], {"to": T.FLOAT16}),
        "ml_features": ("ArrayFeatureExtractor", [f(1, 5), np.array([[4], [0], [4], [2]], np.int64)], [F], {}),
        "ml_labels": ("LabelEncoder", [np.array([3, 1, 8, 3], np.int64)], [F],
                      {"keys_int64s": [1, 3], "values_floats": [0.5, 1.5], "default_float": -2.0}),
    }


def shares(attributes: dict[str, Any]) -> dict[str, Any]:
    """Leaves that are shares, as a forest's are."""
    return attributes | {"class_weights": [abs(w) / 4 for w in attributes["class_weights"]]}


def save(archive: zipfile.ZipFile, path: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


def main() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, (op, inputs, outputs, attributes) in cases().items():
            names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
            given = {n: x for n, x in zip(names, inputs) if x is not None}
            results = ["" if t is None else f"y{i}" for i, t in enumerate(outputs)]
            domain = {"ml": ML, "onnx": ""}.get(name.partition("_")[0], MS)
            node = helper.make_node(op, names, results, domain=domain, **attributes)
            graph = helper.make_graph(
                [node], name, [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                               for n, x in given.items()],
                [helper.make_tensor_value_info(n, t, None) for n, t in zip(results, outputs) if n])
            model = helper.make_model(graph, ir_version=10, opset_imports=[
                helper.make_opsetid("", 26 if op == "BitCast" else 21), helper.make_opsetid(MS, 1),
                helper.make_opsetid(ML, 5 if op == "TreeEnsemble" else 3)])
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            found = ReferenceEvaluator(model).run(None, given) if not domain else onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)
            for info, y in zip(model.graph.output, found):
                info.CopyFrom(helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, y.shape))
            onnx.checker.check_model(model)
            save(archive, f"test_{name}/model.onnx", model.SerializeToString())
            for word, tensors in (("input", given.items()), ("output", zip([r for r in results if r], found))):
                for i, (n, x) in enumerate(tensors):
                    save(archive, f"test_{name}/test_data_set_0/{word}_{i}.pb",
                         numpy_helper.from_array(np.asarray(x), n).SerializeToString())
    (Path(__file__).resolve().parent / "contrib.zip").write_bytes(packed.getvalue())
    print(len(packed.getvalue()), "bytes")


if __name__ == "__main__":
    main()
