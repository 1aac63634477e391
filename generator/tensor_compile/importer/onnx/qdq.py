# SPDX-License-Identifier: Apache-2.0
"""QDQ models in integers: an operation between DequantizeLinear and QuantizeLinear becomes one node of DOMAIN, whose
functions are in ops_qdq.py.

Its inputs are those of the operation, each as integers, scale and zero, and at the end the result's scale and zero. A
Relu before the QuantizeLinear becomes the attribute `relu`. What is left of the DequantizeLinear nodes nobody reads
any more.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Iterator

from .model import Attribute, Graph, NodeMessage

DOMAIN = "tensor_compile.qdq"
_WHOLE = {"Conv": (2, 3), "AveragePool": (1, 1), "GlobalAveragePool": (1, 1), "Softmax": (1, 1), "Sigmoid": (1, 1),
          "Tanh": (1, 1),
          "Add": (2, 2), "Sub": (2, 2), "Mul": (2, 2), "MatMul": (2, 2)}


class _Fusion:
    def __init__(self, graph: Graph):
        self.makers = {name: node for node in graph.node for name in node.output if name}
        self.readers = Counter(name for node in graph.node for name in node.input if name)
        self.readers.update(o.name for o in graph.output)

    def _alone(self, name: str) -> NodeMessage | None:
        """The node that gives a value with one reader."""
        return self.makers.get(name) if self.readers[name] == 1 else None

    def _integers(self, name: str) -> tuple[str, str, str] | None:
        """Integers, scale and zero of what DequantizeLinear gives."""
        node = self.makers.get(name)
        if node is None or node.op_type != "DequantizeLinear" or node.domain or len(node.input) < 2:
            return None
        return node.input[0], node.input[1], node.input[2] if len(node.input) > 2 else ""

    def node(self, q: NodeMessage) -> NodeMessage:
        """The one that stands for the operation before this QuantizeLinear, or this node itself."""
        if q.op_type != "QuantizeLinear" or q.domain or len(q.input) < 2:
            return q
        inner, relu = self._alone(q.input[0]), False
        if inner is not None and inner.op_type == "Relu" and not inner.domain:
            inner, relu = self._alone(inner.input[0]), True
        if inner is None or inner.domain:
            return q
        names, op = list(inner.input), inner
        if inner.op_type == "Add":   # of a bias to a product
            for product, bias in (names, names[::-1]) if len(names) == 2 else ():
                found = self._alone(product)
                if found is not None and found.op_type == "MatMul" and not found.domain and self._integers(bias):
                    names, op = [*found.input, bias], found
        least, most = (2, 3) if op is not inner else _WHOLE.get(op.op_type, (1, 0))
        operands = [self._integers(name) for name in names]
        if not least <= len(names) <= most or any(o is None for o in operands):
            return q
        flat = [part for o in operands if o is not None for part in o]
        zero = q.input[2] if len(q.input) > 2 else ""
        more = (Attribute("relu", i=1, type=2),) if relu else ()
        return NodeMessage((*flat, q.input[1], zero), q.output, "", op.op_type, (*op.attribute, *more), DOMAIN)


def _nodes(graph: Graph) -> Iterator[NodeMessage]:
    fusion = _Fusion(graph)
    for node in graph.node:
        yield fusion.node(node)


def in_integers(graph: Graph) -> Graph:
    """The graph with such nodes in the place of its QuantizeLinear nodes."""
    return replace(graph, node=tuple(_nodes(graph)))
