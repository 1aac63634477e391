# SPDX-License-Identifier: Apache-2.0
"""One ONNX node, run by ONNX Runtime or by ONNX's reference evaluator: what expected/*.py compare with beside
PyTorch."""
from __future__ import annotations

from typing import Any

import numpy
import onnx
import torch
from onnx import helper


def run(op: str, inputs: list, outputs: int = 1, *, opset: int = 21, domain: str = "", by: str = "runtime",
        types: dict[int, int] | None = None, **attributes: Any) -> list[torch.Tensor]:
    """inputs: tensors or arrays, f64 ones as f32; None where one is left out. by: "runtime" or "reference". types: of
    inputs (by number) and of outputs (negative, -1 the first) that are not what the arrays say, f32 for outputs."""
    arrays = [None if x is None else _array(x) for x in inputs]
    types = types or {}
    names = ["" if a is None else f"x{i}" for i, a in enumerate(arrays)]
    given = {n: a for n, a in zip(names, arrays) if a is not None}
    wanted = [f"y{i}" for i in range(outputs)]
    declared = [helper.make_tensor_value_info(n, types.get(i, helper.np_dtype_to_tensor_dtype(a.dtype)), a.shape)
                for i, (n, a) in enumerate(zip(names, arrays)) if a is not None]
    results = [helper.make_tensor_value_info(n, types.get(-1 - i, onnx.TensorProto.FLOAT), None)
               for i, n in enumerate(wanted)]
    node = helper.make_node(op, names, wanted, domain=domain, **attributes)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(helper.make_graph([node], "node", declared, results), opset_imports=opsets, ir_version=10)
    if by == "reference":
        from onnx.reference import ReferenceEvaluator
        found = ReferenceEvaluator(model).run(None, given)
    else:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, given)
    return [_tensor(y) for y in found]


def _tensor(y: Any) -> torch.Tensor:
    """Integers of 4 bits as i8 or u8, small floats as their bit patterns."""
    y = numpy.asarray(y)
    if "int" in y.dtype.name and y.dtype.kind == "V":
        y = y.astype(numpy.uint8 if y.dtype.name.startswith("u") else numpy.int8)
    elif y.dtype.kind == "V" or y.dtype.name.startswith("float8"):
        y = y.view(numpy.uint8)
    return torch.from_numpy(numpy.ascontiguousarray(y)).reshape(y.shape)


def _array(x: Any) -> numpy.ndarray:
    if isinstance(x, torch.Tensor):
        x = x.float() if x.dtype == torch.float64 else x
        return x.numpy()
    return numpy.asarray(x)
