# SPDX-License-Identifier: Apache-2.0
"""Common subexpressions: equal nodes (primitive, operands, attributes, types) become the first of them.

Every primitive is a pure function of its operands (state is read as of entry), so no node is exempt. One walk in
order: by the time a node is looked at, its operands are already the shared ones.
"""
from __future__ import annotations

from .infer import Context
from .ir import Function
from .rewrite import Builder, Values


def cse(function: Function) -> Function:
    """The function without repeated nodes; a shared node keeps the place of its first occurrence."""
    builder, values = Builder(function, Context()), Values()
    for node in function.nodes:
        values.bind(node, builder.again(node, values.all(node.operands)))
    return builder.finish(function, values.__getitem__)
