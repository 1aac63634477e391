# SPDX-License-Identifier: Apache-2.0
"""Values of which one axis has as many places as there may be, and a count (Value.counted): what may compute with them.

An operation that treats the places one by one has as many results as places; behind the count it computes something
that nobody asked for. Values in which that is not zero are rough, and zeros are put there where they leave the model.
"""
from __future__ import annotations

from typing import Callable

from ...symbolic import equal
from ..problems import Unsupported
from ..program import Program, Statement
from ..values import Value
from .registry import Node

HINT = ("detectors' usual ways behind it are known (Gather, GatherND, Slice, Concat, arithmetic and comparisons); "
        "else make "
        "it an output beside its number NAME_count, and compute with it in your program")
# An element of the result depends on the same element of the operands.
ELEMENTWISE = frozenset("""Add Sub Mul Div Pow Mod Max Min Sqrt Exp Log Abs Neg Floor Ceil Round Relu Sigmoid Tanh Clip
Equal Less Greater LessOrEqual GreaterOrEqual Not And Or Where Reciprocal Sign Erf""".split())


def axis_of(n: Node) -> int:
    """The counted axis of the operation's result."""
    rule = _elementwise if n.op_type in ELEMENTWISE else _RULES.get(n.op_type)
    if rule is None or n.domain:
        raise Unsupported("the size of an input is data", HINT)
    if len({value.counted[0].number for value in n.inputs if value is not None and value.counted is not None}) > 1:
        raise Unsupported("the sizes of two inputs are different data", HINT)
    return rule(n)


def is_rough(n: Node) -> bool:
    """Whether the result may be something else than zero behind the count."""
    if any(value.rough for value in n.inputs if value is not None):
        return True
    return n.op_type in ELEMENTWISE or n.op_type in ("Gather", "GatherND") and n.input(0).counted is None


def finished(program: Program, value: Value) -> Value:
    """The value as an output: with zeros behind the count."""
    if not value.rough:
        return value
    assert value.counted is not None
    count, axis = value.counted
    most = program.dims.c(value.shape[axis])
    shape = ", ".join(most if i == axis else "1" for i in range(value.rank))
    places = f"tc_reshape(tc_arange(g, TC_I64, {most}), {shape})"
    made = program.value(value.dtype, value.shape, hint=value.hint)
    made.counted = value.counted
    program.statements.append(Statement(f"tc_where(tc_lt({places}, {count}), {value}, 0)", made))
    return made


def _refuse() -> int:
    raise Unsupported("the size of an axis that it works along is data", HINT)


def _place(value: Value) -> int:
    assert value.counted is not None
    return value.counted[1]


def _elementwise(n: Node) -> int:
    given = [value for value in n.inputs if value is not None]
    places = {_place(value) - value.rank for value in given if value.counted is not None}
    behind = places.pop()
    spread = any(value.counted is None and value.rank >= -behind and not equal(value.shape[behind], 1)
                 for value in given)
    return _refuse() if places or spread else max(value.rank for value in given) + behind


def _transpose(n: Node) -> int:
    """Where it moves the axis."""
    return (n.ints("perm") or list(range(n.input(0).rank))[::-1]).index(_place(n.input(0)))


def _gather(n: Node) -> int:
    x, i = n.input(0), n.input(1)
    axis = n.axis(n.integer("axis", 0), x.rank)
    if i.counted is not None:
        return _refuse() if x.counted is not None else axis + _place(i)
    place = _place(x)
    return _refuse() if place == axis else place if place < axis else place + i.rank - 1


def _gather_nd(n: Node) -> int:
    x, i = n.input(0), n.input(1)
    good = x.counted is None and i.counted is not None and _place(i) < i.rank - 1 and not n.integer("batch_dims", 0)
    return _place(i) if good else _refuse()


def _concat(n: Node) -> int:
    given = [n.input(i) for i in range(len(n.inputs))]
    places = {_place(value) if value.counted is not None else -1 for value in given}
    place = places.pop()
    return _refuse() if places or place < 0 or place == n.axis(n.integer("axis"), given[0].rank) else place


def _axes(n: Node) -> list[int]:
    if n.opset < 13:
        return n.ints("axes") or []
    axes = n.optional(1)
    return n.whole(axes, "axes") if axes is not None else []


def _unsqueeze(n: Node) -> int:
    rank = n.input(0).rank + len(_axes(n))
    new = {n.axis(a, rank) for a in _axes(n)}
    return [axis for axis in range(rank) if axis not in new][_place(n.input(0))]


def _squeeze(n: Node) -> int:
    x = n.input(0)
    gone = {n.axis(a, x.rank) for a in _axes(n)} or {i for i, s in enumerate(x.shape) if equal(s, 1)}
    place = _place(x)
    return _refuse() if place in gone else place - sum(axis < place for axis in gone)


def _slice(n: Node) -> int:
    x = n.input(0)
    if n.opset < 10:
        axes = n.ints("axes") or list(range(x.rank))
    else:
        given = n.optional(3)
        axes = n.whole(given, "axes") if given is not None else list(range(n.input(1).shape[0].value))
    return _refuse() if _place(x) in {n.axis(a, x.rank) for a in axes} else _place(x)


_RULES: dict[str, Callable[[Node], int]] = {
    "Identity": lambda n: _place(n.input(0)), "Cast": lambda n: _place(n.input(0)), "Transpose": _transpose,
    "Gather": _gather, "GatherND": _gather_nd, "Concat": _concat, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze,
    "Slice": _slice}
