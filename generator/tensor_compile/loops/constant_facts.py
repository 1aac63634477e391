# SPDX-License-Identifier: Apache-2.0
"""What only the function `constants` tells of packed constants of requantization (generator/capture/quantization.c,
rounded_twice), and what kernels of bytes need fewer instructions for."""
from __future__ import annotations


from ..graph.ir import Function, Node, Value
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class ConstantFacts:
    """By name. shifts: pairs that are one shift in two parts: -1 where there is a shift to the right, else 0, and the
    places of the shift without the last one; both are one rounding shift. doubled: twice a number from 2^30 on, as
    i32."""

    shifts: frozenset[tuple[str, str]] = frozenset()
    doubled: frozenset[str] = frozenset()


def constant_facts(constants: Function) -> ConstantFacts:
    return ConstantFacts(_shifts(constants), frozenset(name for name, value, _ in constants.results if _doubled(value)))


def _doubled(value: Value) -> bool:
    node = value.node
    if value.dtype != "i32" or node.op != "shift_left" or not _is_constant(node.operands[1], 1):
        return False
    half = node.operands[0].node
    return half.op == "maximum" and _is_constant(half.operands[1], 1 << 30)


def _shifts(constants: Function) -> frozenset[tuple[str, str]]:
    """(name of -min(right, 1), name of right - min(right, 1)), right not negative."""
    shifts: dict[Value, list[str]] = {}
    rests: list[tuple[Value, str]] = []
    for name, value, _ in constants.results:
        inner = value.node.operands[0].node if value.node.op == "cast" else None
        if inner is None:
            continue
        if value.dtype == "i8" and inner.op == "neg" and _one(inner.operands[0]) is not None:
            shifts.setdefault(inner.operands[0], []).append(name)
        elif value.dtype == "u8" and inner.op == "sub" and _one(inner.operands[1]) == inner.operands[0]:
            rests.append((inner.operands[1], name))
    return frozenset((first, name) for one, name in rests for first in shifts.get(one, ()))


def _one(value: Value) -> Value | None:
    """right where the value is min(right, 1) of a right that is not negative."""
    if value.node.op != "minimum" or not _is_constant(value.node.operands[1], 1):
        return None
    right = value.node.operands[0]
    return right if right.node.op == "maximum" and _is_constant(right.node.operands[1], 0) else None


def _is_constant(value: Value, bits: int) -> bool:
    node: Node = value.node
    if node.op == "broadcast":
        node = node.operands[0].node
    return node.op == "constant" and node.attrs["bits"] == bits
