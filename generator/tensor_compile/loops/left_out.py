# SPDX-License-Identifier: Apache-2.0
"""Predicates of contractions, and what a first operand is where its predicate is false.

A contraction wants a zero or NaN there (loop_ir.Contraction). Weights of a softmax are that as they come: a score that
is -inf by a mask, less the maximum, is -inf or NaN, its exp +0 or NaN, and so is the quotient. Each rule below is about
values alone, so that it holds for whatever is computed so.
"""
from __future__ import annotations

from ..graph.ir import Value
from .lower_reading import Reader, viewed
from .masks import conjuncts
from .predicates import Index
from .scalar_ir import Apply, Scalar
from .scalars import loads

ZERO, LOWEST = "zero", "lowest"        # a zero of either sign, -inf; or NaN
_CONSTANTS = {0x00000000: ZERO, 0x80000000: ZERO, 0xff800000: LOWEST}
_DEPTH = 24


def predicate(reader: Reader, p: Value, index: Index) -> Scalar:
    """The element of p, a conjunction as the operation that it is: what it is made of says more than where it is
    stored. A state may have changed until it is asked."""
    whole = _parted(reader, p, index)
    changes = any(reader.memory.buffers[x.buffer].kind == "state" for x in loads(whole))
    return reader.read(p, index) if changes else whole


def _parted(reader: Reader, p: Value, index: Index) -> Scalar:
    view = viewed(p, index)
    if view is not None:
        return _parted(reader, *view)
    if p.node.op == "logical_and":
        return Apply("logical_and", "bool", tuple(_parted(reader, o, index) for o in p.node.operands))
    return reader.read(p, index)


def zero_outside(reader: Reader, v: Value, index: Index, where: Scalar) -> bool:
    """v is a zero or NaN wherever the predicate is false: wherever any part of it is."""
    return all(_outside(reader, v, index, part, _DEPTH) == ZERO for part in conjuncts(where))


def _outside(reader: Reader, v: Value, index: Index, part: Scalar, depth: int) -> str | None:
    """What v is where a part of the predicate is false; None where that is not known."""
    node = v.node
    if depth == 0 or v.dtype != "f32":
        return None
    if node.op == "constant":
        return _CONSTANTS.get(node.attrs["bits"])

    def operand(number: int) -> str | None:
        return _outside(reader, node.operands[number], index, part, depth - 1)
    view = viewed(v, index)
    if view is not None:
        return _outside(reader, *view, part, depth - 1)
    if node.op == "select":
        no = operand(2)
        return no if part in conjuncts(_parted(reader, node.operands[0], index)) or no == operand(1) else None
    if node.op == "exp":
        return ZERO if operand(0) == LOWEST else None
    if node.op == "sub":
        return LOWEST if operand(0) == LOWEST else None
    if node.op == "add":
        return LOWEST if LOWEST in (operand(0), operand(1)) else None
    if node.op == "mul":
        return ZERO if ZERO in (operand(0), operand(1)) else None
    return ZERO if node.op == "div" and operand(0) == ZERO else None
