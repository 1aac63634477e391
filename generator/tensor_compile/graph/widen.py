# SPDX-License-Identifier: Apache-2.0
"""16-bit floats: every node that computes on f16 or bf16 computes on f32 between casts.

That is what f16 and bf16 mean (docs/numerics.md): operands are exact in f32, and a result is rounded once to its dtype.
Written down, the casts are nodes like others: loops and kernels know loads, stores and casts of 16-bit floats and no
arithmetic. Nodes that only move elements stay on 16 bits. A cast to 16 bits and back is a rounding, no later pass may
drop it; one to 32 bits and back is nothing, and simplify drops it.
"""
from __future__ import annotations

from .dtypes import NARROW_FLOATS
from .infer import Context
from .ir import Function, Node, TensorType, Value
from .rewrite import Builder, Values
from .table import PRIMITIVES


def widen(function: Function) -> Function:
    """The function with all arithmetic on 16-bit floats in f32."""
    builder, values = Builder(function, Context()), Values()

    def wide(v: Value, like: Node) -> Value:
        return builder.value("cast", v, like=like, dtype="f32") if v.dtype in NARROW_FLOATS else v

    for node in function.nodes:
        operands = values.all(node.operands)
        narrow = any(t.dtype in NARROW_FLOATS for t in (*node.types, *(v.type for v in operands)))
        if not narrow or PRIMITIVES[node.op].moves or PRIMITIVES[node.op].graphs:
            values.bind(node, builder.again(node, operands))
            continue
        types = tuple(TensorType("f32", t.shape) if t.dtype in NARROW_FLOATS else t for t in node.types)
        made = builder.make(node.op, (wide(v, node) for v in operands), node.attrs, types, node.loc, node.scope)
        for i, t in enumerate(node.types):
            result = Value(made, i)
            values[Value(node, i)] = builder.value("cast", result, like=node, dtype=t.dtype) \
                if t.dtype in NARROW_FLOATS else result
    return builder.finish(function, values.__getitem__)
