# SPDX-License-Identifier: Apache-2.0
"""Writes small archives as torch.export.save does, whole or broken, without PyTorch."""
from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any, Mapping

Json = dict[str, Any]


def tensor(*sizes: int | str, dtype: int = 7) -> Json:
    """The type of a tensor; a size that is text is a symbol."""
    found: list[Json] = [{"as_int": s} if isinstance(s, int) else
                         {"as_expr": {"expr_str": f"Symbol('{s}', positive=True, integer=True)", "hint": None}}
                         for s in sizes]
    strides, step = [], 1
    for s in reversed(sizes):
        strides.insert(0, {"as_int": step})
        step *= s if isinstance(s, int) else 1
    return {"dtype": dtype, "sizes": found, "strides": strides, "storage_offset": {"as_int": 0}, "layout": 7}


def arg(name: str) -> Json:
    return {"as_tensor": {"name": name}}


def node(target: str, result: str, **inputs: Any) -> Json:
    return {"target": f"torch.ops.{target}", "metadata": {}, "outputs": [arg(result)],
            "inputs": [{"name": name, "arg": value, "kind": 1} for name, value in inputs.items()]}


def program() -> Json:
    """y = relu(linear(x, w, b)): x f32[s0, 2], w f32[3, 2]."""
    graph = {
        "inputs": [arg("p_w"), arg("p_b"), arg("x")], "outputs": [arg("relu")],
        "nodes": [node("aten.linear.default", "linear", input=arg("x"), weight=arg("p_w"), bias=arg("p_b")),
                  node("aten.relu.default", "relu", self=arg("linear"))],
        "tensor_values": {"p_w": tensor(3, 2), "p_b": tensor(3), "x": tensor("s0", 2), "linear": tensor("s0", 3),
                          "relu": tensor("s0", 3)},
        "sym_int_values": {}, "sym_bool_values": {}, "sym_float_values": {}, "custom_obj_values": {}}
    signature = {
        "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "fc.weight"}},
                        {"parameter": {"arg": {"name": "p_b"}, "parameter_name": "fc.bias"}},
                        {"user_input": {"arg": arg("x")}}],
        "output_specs": [{"user_output": {"arg": arg("relu")}}]}
    return {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": []},
            "range_constraints": {"s0": {"min_val": 1, "max_val": 8}}, "schema_version": {"major": 8, "minor": 20}}


def weights() -> Json:
    return {"config": {"fc.weight": {"path_name": "weight_0", "use_pickle": False, "tensor_meta": tensor(3, 2)},
                       "fc.bias": {"path_name": "weight_1", "use_pickle": False, "tensor_meta": tensor(3)}}}


def members(changed: Json | None = None, table: Json | None = None) -> dict[str, bytes]:
    return {"m/models/model.json": json.dumps(changed or program()).encode(),
            "m/data/weights/model_weights_config.json": json.dumps(table or weights()).encode(),
            "m/data/weights/weight_0": struct.pack("<6f", 1, 2, 3, 4, 5, 6),
            "m/data/weights/weight_1": struct.pack("<3f", -1, 0, 1),
            "m/data/constants/model_constants_config.json": b'{"config": {}}'}


def save(path: Path, content: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as z:
        for name, data in content.items():
            z.writestr(name, data)
    return path
