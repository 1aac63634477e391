# SPDX-License-Identifier: Apache-2.0
"""What a convolution costs by the cost model of contractions, with its first operand in some physical order."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...graph.ir import Function, Module, Node, Value
from ...loops.fuse import fuse
from ...loops.loop_ir import ContractionKernel
from ...loops.lower import lower
from ...loops.order_costs import Price, TURNED, elements
from ...loops.physical_order import Order
from ...symbolic import product
from ...target import Target
from .access import Access
from .candidates import ranked
from .cost_model import cycles


def price_of(target: Target) -> Price:
    """The price of the target's best instruction set. Equal convolutions are asked about once."""
    kernels: dict[tuple[Any, ...], ContractionKernel | None] = {}
    prices: dict[tuple[Any, ...], float] = {}

    def price(node: Node, order: Order) -> float:
        key = (node.op, tuple(sorted(node.attrs.items())), *(v.type for v in node.operands), node.types)
        if key not in kernels:
            kernels[key] = _kernel(node, target)
        kernel, x = kernels[key], node.operands[0]
        if kernel is None:   # integers: rows are copied, window by window
            return 0.0 if order[-1] == 1 else TURNED * elements(x) * product(node.attrs["window"]).value
        if (key, order) not in prices:
            params = tuple(replace(p, order=order) if p.name == kernel.a.buffer else p for p in kernel.params)
            turned, isa = replace(kernel, params=params), target.isas[-1]
            # of as many rows as `elements` counts beside it, where their number is not known
            prices[key, order] = cycles(Access.of(turned), ranked(turned, isa, target)[0], target, handed=True)
        return prices[key, order]

    return price


def _kernel(node: Node, target: Target) -> ContractionKernel | None:
    """The node alone, as a kernel; None for products of integers."""
    if node.attrs["group"] > 1:
        return None
    inputs = tuple(Node("parameter", (), {"name": name}, (v.type,)) for name, v in zip("xw", node.operands))
    alone = Node(node.op, tuple(Value(p) for p in inputs), node.attrs, node.types)
    function = Function("alone", True, list(inputs), [], [alone], [], [("y", Value(alone), None)])
    kernels = fuse(lower(function, Module("alone"), target)).kernels
    found = [k for k in kernels if isinstance(k, ContractionKernel)]
    return found[0] if len(found) == 1 else None
