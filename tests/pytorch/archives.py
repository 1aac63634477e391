# SPDX-License-Identifier: Apache-2.0
"""Writes small archives as torch.export.save does, whole or broken, without PyTorch."""
from __future__ import annotations

import io
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


def word(text: str) -> bytes:
    """A text, as an operation of a pickle."""
    return b"X" + struct.pack("<I", len(text.encode())) + text.encode()


def called(function: str, arguments: bytes) -> bytes:
    """A pickle's operations for function(arguments); `function` is "module name"."""
    return b"c" + function.replace(" ", "\n").encode() + b"\n(" + arguments + b"tR"


def pickled_tensor(key: str, *sizes: int, storage: str = "torch FloatStorage", offset: int = 0) -> bytes:
    strides, step = [], 1
    for s in reversed(sizes):
        strides.insert(0, step)
        step *= s
    held = b"(" + word("storage") + b"c" + storage.replace(" ", "\n").encode() + b"\n" + word(key) + word("cpu") \
        + b"K" + bytes([step]) + b"tQ"
    shape = b"".join(b"K" + bytes([s]) for s in sizes)
    return called("torch._utils _rebuild_tensor_v2", held + b"J" + struct.pack("<i", offset) + b"(" + shape + b"t("
                  + b"".join(b"K" + bytes([s]) for s in strides) + b"t\x89" + called("collections OrderedDict", b""))


def pickled(**values: bytes) -> bytes:
    """The pickle of a table."""
    return b"\x80\x02}(" + b"".join(word(name.replace("__", ".")) + value for name, value in values.items()) + b"u."


WHOLE = {"fc__weight": pickled_tensor("0", 3, 2), "fc__bias": pickled_tensor("1", 3)}


def torch_save(pickle: bytes, compression: int = zipfile.ZIP_STORED, **others: bytes) -> bytes:
    """A file of torch.save: the pickle, and the elements of the two weights. others: members with other bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        content = {"data.pkl": pickle, "byteorder": b"little", "data/0": struct.pack("<6f", 1, 2, 3, 4, 5, 6),
                   "data/1": struct.pack("<3f", -1, 0, 1), **others}
        for name, data in content.items():
            z.writestr(f"archive/{name}", data)
    return out.getvalue()


def old_members(file: bytes, before_2_8: bool = False) -> dict[str, bytes]:
    """The archive as older versions of PyTorch write it, with weights in a file of torch.save."""
    model, empty = json.dumps(program()).encode(), torch_save(pickled())
    if before_2_8:
        return {"serialized_exported_program.json": model, "serialized_state_dict.pt": file,
                "serialized_constants.pt": empty, "version": b"8.7"}
    return {"m/models/model.json": model, "m/data/weights/model.pt": file, "m/data/constants/model.pt": empty}


def save(path: Path, content: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as z:
        for name, data in content.items():
            z.writestr(name, data)
    return path
