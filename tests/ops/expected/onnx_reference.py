# SPDX-License-Identifier: Apache-2.0
"""One ONNX operation by ONNX's reference implementation, on PyTorch's tensors: for families that PyTorch lacks."""
from __future__ import annotations

import onnx
import torch
from onnx.reference import ReferenceEvaluator


def run(op: str, *inputs: torch.Tensor | None, outputs: int = 1, opset: int = 0,
        **attributes: object) -> list[torch.Tensor]:
    """None stands for an input that is left out."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    feeds = {name: x.numpy() for name, x in zip(names, inputs) if x is not None}
    node = onnx.helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attributes)
    values = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for n, x in feeds.items()]
    graph = onnx.helper.make_graph([node], op, values, [onnx.ValueInfoProto(name=n) for n in node.output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset
                                                                                  or onnx.defs.onnx_opset_version())])
    return [torch.from_numpy(y.copy()) for y in ReferenceEvaluator(model).run(None, feeds)]
