# SPDX-License-Identifier: Apache-2.0
"""The type rule of every primitive (docs/graph.md). Capture has the same rules in C; the verifier compares."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Sequence

from ..records import dataclass
from ..symbolic import ONE, Expr, exact_div, floordiv
from .dtypes import DTYPES, FLOATS, INDICES, INTEGERS, NUMBERS
from .errors import IrError
from .facts import NO_FACTS, Facts
from .ir import Function, TensorType
from .table import PRIMITIVES

Types = tuple[TensorType, ...]


@dataclass(slots=True)
class Context:
    """What a rule may ask beyond the operands: the module's functions and the guards of the function."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    facts: Facts = NO_FACTS


Rule = Callable[[str, Types, dict[str, Any], Types, Context], Types]   # op, operand types, attributes, declared types


class _Mismatch(Exception):
    """A rule's complaint, without the primitive's name."""


def _need(condition: bool, message: str | Callable[[], str]) -> None:
    """message: what is complained of where the condition is false; one that names types or sizes is made then, as text
    of types takes longer than the rules."""
    if not condition:
        raise _Mismatch(message if isinstance(message, str) else message())


def _listing(types: Types) -> str:
    return ", ".join(map(str, types)) or "none"


def _is_permutation(perm: tuple[int, ...], rank: int) -> bool:
    return len(perm) == rank and sorted(perm) == list(range(rank))


def _axes(axes: tuple[int, ...], rank: int, what: str, ascending: bool = True) -> None:
    _need(all(0 <= a < rank for a in axes), lambda: f"{what} {list(axes)} are not axes of rank {rank}")
    _need(len(set(axes)) == len(axes), lambda: f"{what} {list(axes)} name an axis twice")
    _need(not ascending or list(axes) == sorted(axes), lambda: f"{what} {list(axes)} are not ascending")


def _kinds(dtypes: tuple[str, ...]) -> str:
    return {NUMBERS: "numbers", FLOATS: "floats", INTEGERS: "integers"}.get(dtypes, ", ".join(dtypes))


def _same(types: Types, dtypes: tuple[str, ...], facts: Facts) -> TensorType:
    first = types[0]
    _need(first.dtype in dtypes, lambda: f"operand is {first}; it takes {_kinds(dtypes)}")
    for other in types[1:]:
        _need(other is first or facts.same_type(first, other), lambda: f"operands differ: {_listing(types)}")
    return first


# -- leaves ---------------------------------------------------------------------------------------------------------
def _declared(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(len(declared) == 1, "one declared type is needed")
    if op == "iota":
        _need(declared[0].dtype in INDICES, lambda: f"result is {declared[0]}; it is i32 or i64")
        _axes((attrs["axis"],), declared[0].rank, "axis")
    return declared


def _written(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(len(declared) > 0, "its results are written down")
    _need(attrs["takes"] == ",".join(t.dtype for t in types),
          lambda: f"it takes {attrs['takes']}, not {_listing(types)}")
    return declared


def _scalar(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(len(declared) == 1 and declared[0].rank == 0, "the result has rank 0")
    dtype = declared[0].dtype
    if op == "constant":
        _need(0 <= attrs["bits"] < 1 << DTYPES[dtype].bits, lambda: f"the bits do not fit {dtype}")
        _need(dtype != "bool" or attrs["bits"] <= 1, "a bool is 0x00 or 0x01")
    else:
        _need(dtype in INDICES, lambda: f"result is {declared[0]}; it is i32 or i64")
        _need(len(attrs["value"]) == 1, "value holds one expression")
    return declared


# -- elementwise ----------------------------------------------------------------------------------------------------
def _elementwise(dtypes: tuple[str, ...]) -> Rule:
    def rule(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
        return (_same(types, dtypes, context.facts),)
    return rule


def _cast(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(attrs["dtype"] in DTYPES, lambda: f"unknown dtype {attrs['dtype']}")
    return (TensorType(attrs["dtype"], types[0].shape),)


def _bitcast(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(attrs["dtype"] in DTYPES, lambda: f"unknown dtype {attrs['dtype']}")
    pair = DTYPES[types[0].dtype], DTYPES[attrs["dtype"]]
    _need(pair[0].bytes == pair[1].bytes and sum(d.is_float for d in pair) == sum(d.is_integer for d in pair) == 1,
          lambda: f"{types[0]} as {attrs['dtype']}: one is a float, the other an integer of its width")
    return (TensorType(attrs["dtype"], types[0].shape),)


def _compare(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    dtypes = tuple(DTYPES) if op in ("eq", "ne") else NUMBERS
    return (TensorType("bool", _same(types, dtypes, context.facts).shape),)


def _select(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(types[0].dtype == "bool", lambda: f"the condition is {types[0]}; it is bool")
    _need(context.facts.same_type(types[1], types[2])
          and context.facts.same_type(TensorType("bool", types[1].shape), types[0]),
          lambda: f"operands differ: {_listing(types)}")
    return (types[1],)


# -- index maps -----------------------------------------------------------------------------------------------------
def _sizes(shape: tuple[Expr, ...], facts: Facts) -> None:
    for d in shape:
        _need(facts.is_nonnegative(d), lambda: f"the size {d} may be negative")


def _broadcast(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, shape, axes = types[0], attrs["shape"], attrs["axes"]
    _need(len(axes) == x.rank, lambda: f"{len(axes)} axes for an operand of rank {x.rank}")
    _axes(axes, len(shape), "axes")
    _sizes(shape, context.facts)
    for d, axis in enumerate(axes):
        _need(x.shape[d] is ONE or context.facts.equal(x.shape[d], shape[axis]),
              lambda: f"dim {d} of {x} is neither 1 nor {shape[axis]}")
    return (TensorType(x.dtype, shape),)


def _reshape(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    out = TensorType(types[0].dtype, attrs["shape"])
    _sizes(out.shape, context.facts)
    _need(context.facts.equal(types[0].elements, out.elements), lambda: f"{types[0]} and {out} differ in elements")
    return (out,)


def _transpose(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, perm = types[0], attrs["perm"]
    _need(_is_permutation(perm, x.rank), lambda: f"perm {list(perm)} is not a permutation of the axes of {x}")
    return (TensorType(x.dtype, tuple(x.shape[p] for p in perm)),)


def _slice(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, start, size, stride = types[0], attrs["start"], attrs["size"], attrs["stride"]
    _need(len(start) == len(size) == len(stride) == x.rank,
          lambda: f"start, size and stride have one entry an axis of {x}")
    _sizes(size, context.facts)
    holds = context.facts.is_nonnegative
    for d in range(x.rank):
        _need(stride[d] >= 1, lambda: f"stride {stride[d]} is not positive")
        _need(holds(start[d]), lambda: f"start {start[d]} may be negative")
        last = start[d] + (size[d] - 1) * stride[d]
        _need(size[d].terms == () and holds(x.shape[d] - start[d]) or holds(x.shape[d] - 1 - last),
              lambda: f"axis {d}: start {start[d]}, size {size[d]}, stride {stride[d]} may reach beyond {x}")
    return (TensorType(x.dtype, size),)


def _pad(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, low, high = types[0], attrs["low"], attrs["high"]
    _need(types[1] == TensorType(x.dtype, ()), lambda: f"the value is {types[1]}; it is {x.dtype}[]")
    _need(len(low) == len(high) == x.rank, lambda: f"low and high have one entry an axis of {x}")
    for amount in (*low, *high):
        _need(context.facts.is_nonnegative(amount), lambda: f"the padding {amount} may be negative")
    return (TensorType(x.dtype, tuple(a + d + b for a, d, b in zip(low, x.shape, high))),)


def _concat(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(len(types) > 0, "at least one operand is needed")
    first, axis = types[0], attrs["axis"]
    _axes((axis,), first.rank, "axis")
    total = first.shape[axis]
    for other in types[1:]:
        _need(other.dtype == first.dtype and other.rank == first.rank
              and all(d == axis or context.facts.equal(first.shape[d], other.shape[d]) for d in range(first.rank)),
              lambda: f"operands differ beyond axis {axis}: {_listing(types)}")
        total = total + other.shape[axis]
    return (TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1:])),)


def _gather(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, index, axis = types[0], types[1], attrs["axis"]
    _axes((axis,), x.rank, "axis")
    _need(index.dtype in INDICES, lambda: f"the index is {index}; it is i32 or i64")
    return (TensorType(x.dtype, (*x.shape[:axis], *index.shape, *x.shape[axis + 1:])),)


def _update_slice(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, y, start = types[0], types[1], attrs["start"]
    _need(x.dtype == y.dtype and x.rank == y.rank, lambda: f"operands differ in dtype or rank: {_listing(types)}")
    _need(len(start) == x.rank, lambda: f"start has one entry an axis of {x}")
    for d in range(x.rank):
        _need(context.facts.is_nonnegative(start[d]), lambda: f"start {start[d]} may be negative")
        _need(context.facts.is_nonnegative(x.shape[d] - start[d] - y.shape[d]),
              lambda: f"axis {d}: {y} at {start[d]} may reach beyond {x}")
    return (x,)


def _reverse(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _axes(attrs["axes"], types[0].rank, "axes")
    return types


def _scatter(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, index, u = types
    how, axis = attrs["op"], attrs["axis"]
    _need(how in ("set", "add", "mul", "max", "min"), lambda: f"op {how} is none of set, add, mul, max, min")
    _need(how == "set" or x.dtype in NUMBERS, lambda: f"op {how} does not take {x}")
    _axes((axis,), x.rank, "axis")
    _need(index.dtype in INDICES, lambda: f"the index is {index}; it is i32 or i64")
    wanted = (*x.shape[:axis], *index.shape, *x.shape[axis + 1:])
    _need(u.dtype == x.dtype and u.rank == len(wanted) and all(map(context.facts.equal, u.shape, wanted)),
          lambda: f"the values are {u}; at {index} into axis {axis} of {x} they are {TensorType(x.dtype, wanted)}")
    return (x,)


def _sort(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, axis = types[0], attrs["axis"]
    _axes((axis,), x.rank, "axis")
    _need(len(attrs["count"]) == 1, "count holds one expression")
    count = attrs["count"][0]
    _need(context.facts.is_nonnegative(count) and context.facts.is_nonnegative(x.shape[axis] - count),
          lambda: f"count {count} is not within 0..{x.shape[axis]}")
    _need(attrs["descending"] in (0, 1), lambda: f"descending {attrs['descending']} is neither 0 nor 1")
    shape = (*x.shape[:axis], count, *x.shape[axis + 1:])
    return (TensorType(x.dtype, shape), TensorType("i64", shape))


def _cumulative(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x = types[0]
    _need(attrs["op"] in ("sum", "prod", "max", "min"), lambda: f"op {attrs['op']} is none of sum, prod, max, min")
    _need(x.dtype in NUMBERS, lambda: f"it does not take {x}")
    _need(attrs["reverse"] in (0, 1), lambda: f"reverse {attrs['reverse']} is neither 0 nor 1")
    _axes((attrs["axis"],), x.rank, "axis")
    return types


# -- reductions and contractions ------------------------------------------------------------------------------------
def _reduce(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, how, axes = types[0], attrs["op"], attrs["axes"]
    _need(how in ("sum", "prod", "max", "min", "any", "all"),
          lambda: f"op {how} is none of sum, prod, max, min, any, all")
    _need(x.dtype in (("bool",) if how in ("any", "all") else NUMBERS), lambda: f"op {how} does not take {x}")
    _axes(axes, x.rank, "axes")
    order = "lanes" if how in ("sum", "prod") and x.dtype in FLOATS else "free"
    _need(attrs["order"] == order, lambda: f"the order of {how} over {x.dtype} is {order}, not {attrs['order']}")
    return (TensorType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in axes)),)


def _predicate(p: TensorType, x: TensorType, facts: Facts) -> None:
    _need(p.dtype == "bool" and facts.same_type(TensorType(x.dtype, p.shape), x),
          lambda: f"the predicate is {p}; of {x} it is {TensorType('bool', x.shape)}")


def _reduce_where(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _predicate(types[1], types[0], context.facts)
    return _reduce(op, types[:1], attrs, declared, context)


def _arg_reduce(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, axis = types[0], attrs["axis"]
    _need(attrs["op"] in ("max", "min"), lambda: f"op {attrs['op']} is neither max nor min")
    _need(x.dtype in NUMBERS, lambda: f"it does not take {x}")
    _axes((axis,), x.rank, "axis")
    return (TensorType("i64", (*x.shape[:axis], *x.shape[axis + 1:])),)


def _windows(dims: tuple[Expr, ...], sizes: Sequence[Expr], attrs: dict[str, Any], facts: Facts) -> tuple[Expr, ...]:
    """How many positions a window of `sizes` has on each of `dims`."""
    stride, low, high, dilation = attrs["stride"], attrs["low"], attrs["high"], attrs["dilation"]
    _need(len(stride) == len(low) == len(high) == len(dilation) == len(dims),
          lambda: f"stride, low, high and dilation have {len(dims)} entries")
    out = []
    for d, size, s, a, b, t in zip(dims, sizes, stride, low, high, dilation):
        _need(facts.is_nonnegative(size - 1), lambda: f"the window size {size} is not positive")
        _need(s >= 1 and t >= 1 and a >= 0 and b >= 0, "strides and dilations are >= 1, paddings >= 0")
        room = d + (a + b) - (size - 1) * t - 1
        _need(facts.is_nonnegative(room), lambda: f"a window of {size} does not fit a size of {d}")
        out.append(floordiv(room, ONE * s) + 1)
    return tuple(out)


def _window_reduce(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, size = types[0], attrs["size"]
    _need(attrs["op"] in ("max", "min", "sum"), lambda: f"op {attrs['op']} is none of max, min, sum")
    _need(x.dtype in NUMBERS, lambda: f"it does not take {x}")
    _need(0 < len(size) <= x.rank, lambda: f"a window of rank {len(size)} on {x}")
    kept = x.rank - len(size)
    windows = _windows(x.shape[kept:], tuple(ONE * s for s in size), attrs, context.facts)
    return (TensorType(x.dtype, (*x.shape[:kept], *windows)),)


def _dot(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    a, b = types
    _need(a.dtype == b.dtype and a.dtype in NUMBERS,
          lambda: f"operands are {_listing(types)}; both are numbers of one dtype")
    pairs = (("lhs_batch", "rhs_batch"), ("lhs_contract", "rhs_contract"))
    for lhs, rhs in pairs:
        _need(len(attrs[lhs]) == len(attrs[rhs]), lambda: f"{lhs} and {rhs} differ in length")
    used = [(*attrs[f"{side}_batch"], *attrs[f"{side}_contract"]) for side in ("lhs", "rhs")]
    _axes(used[0], a.rank, "lhs axes", ascending=False)
    _axes(used[1], b.rank, "rhs axes", ascending=False)
    for lhs, rhs in pairs:
        for i, j in zip(attrs[lhs], attrs[rhs]):
            _need(context.facts.equal(a.shape[i], b.shape[j]), lambda: f"dim {i} of {a} differs from dim {j} of {b}")
    _need(attrs["order"] in ("seq", "lanes"), lambda: f"order {attrs['order']} is neither seq nor lanes")
    return (TensorType(a.dtype, (*(a.shape[i] for i in attrs["lhs_batch"]),
                                 *(d for i, d in enumerate(a.shape) if i not in used[0]),
                                 *(d for i, d in enumerate(b.shape) if i not in used[1]))),)


def _dot_where(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _predicate(types[2], types[0], context.facts)
    _need(attrs["order"] == "seq", lambda: f"the order of a sum with a predicate is seq, not {attrs['order']}")
    return _dot(op, types[:2], attrs, declared, context)


def _convolution(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    x, w = types
    groups = attrs["groups"]
    _need(x.dtype == w.dtype and x.dtype in NUMBERS,
          lambda: f"operands are {_listing(types)}; both are numbers of one dtype")
    _need(x.rank == w.rank and x.rank >= 3, lambda: f"operands are {_listing(types)}; ranks are equal and at least 3")
    _need(groups >= 1, lambda: f"groups {groups} is not positive")
    _need(context.facts.equal(x.shape[1], w.shape[1] * groups),
          lambda: f"{x} has not the {groups} x {w.shape[1]} channels of {w}")
    _need(exact_div(w.shape[0], ONE * groups) is not None,
          lambda: f"the {w.shape[0]} outputs are not {groups} equal groups")
    return (TensorType(x.dtype, (x.shape[0], w.shape[0], *_windows(x.shape[2:], w.shape[2:], attrs, context.facts))),)


# -- nodes that hold a graph ----------------------------------------------------------------------------------------
def _callee(name: str, types: Types, context: Context) -> Types:
    """Result types of function `name` applied to operands of `types`."""
    function = context.functions.get(name)
    if function is None:
        raise _Mismatch(f"there is no function @{name}")
    wanted = tuple(p.types[0] for p in function.parameters)
    _need(len(wanted) == len(types) and all(map(context.facts.same_type, wanted, types)),
          lambda: f"@{name} takes {_listing(wanted)}, not {_listing(types)}")
    return tuple(value.type for _, value, _ in function.results)


def _same_types(a: Types, b: Types, context: Context) -> bool:
    return len(a) == len(b) and all(map(context.facts.same_type, a, b))


def _call(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    return _callee(attrs["callee"], types, context)


def _cond(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    _need(len(types) > 0 and types[0] == TensorType("bool", ()), "the first operand is bool[]")
    then, other = _callee(attrs["then"], types[1:], context), _callee(attrs["else"], types[1:], context)
    _need(_same_types(then, other, context),
          lambda: f"the branches' results differ: {_listing(then)} and {_listing(other)}")
    return then


def _while(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    test = _callee(attrs["test"], types, context)
    _need(test == (TensorType("bool", ()),), lambda: f"@{attrs['test']} gives {_listing(test)}, not bool[]")
    body = _callee(attrs["body"], types, context)
    _need(_same_types(body, types, context), lambda: f"@{attrs['body']} gives {_listing(body)}, not {_listing(types)}")
    return types


def _scan(op: str, types: Types, attrs: dict[str, Any], declared: Types, context: Context) -> Types:
    carries = attrs["carries"]
    _need(0 <= carries <= len(types), lambda: f"carries {carries} is not a number of operands")
    _need(len(attrs["length"]) == 1, "length holds one expression")
    length = attrs["length"][0]
    _sizes((length,), context.facts)
    for x in types[carries:]:
        _need(x.rank > 0 and context.facts.equal(x.shape[0], length), lambda: f"axis 0 of {x} is not {length}")
    slices = tuple(TensorType(x.dtype, x.shape[1:]) for x in types[carries:])
    results = _callee(attrs["body"], types[:carries] + slices, context)
    _need(_same_types(results[:carries], types[:carries], context),
          lambda: f"@{attrs['body']} gives {_listing(results)}, not first {_listing(types[:carries])}")
    return types[:carries] + tuple(TensorType(r.dtype, (length, *r.shape)) for r in results[carries:])


_RULES: dict[str, Rule] = {
    "declared": _declared, "written": _written, "scalar": _scalar, "same": _elementwise(NUMBERS),
    "same_float": _elementwise(FLOATS),
    "same_bool": _elementwise(("bool",)), "same_number": _elementwise(NUMBERS),
    "same_integer": _elementwise(INTEGERS), "cast": _cast, "bitcast": _bitcast, "compare": _compare,
    "select": _select,
    "broadcast": _broadcast, "reshape": _reshape, "transpose": _transpose, "slice": _slice,
    "pad": _pad, "concat": _concat, "gather": _gather, "update_slice": _update_slice, "reverse": _reverse,
    "scatter": _scatter, "sort": _sort, "cumulative": _cumulative, "reduce": _reduce,
    "reduce_where": _reduce_where, "dot_where": _dot_where,
    "arg_reduce": _arg_reduce, "window_reduce": _window_reduce, "dot": _dot, "convolution": _convolution,
    "call": _call, "cond": _cond, "while": _while, "scan": _scan,
}
_NO_CONTEXT = Context()


def infer(op: str, operand_types: Types, attrs: dict[str, Any], declared: Types = (),
          context: Context | None = None) -> Types:
    """The result types of a primitive. `declared` are the types written down, of use to leaves alone.

    Raises IrError with one finding, `op: what is wrong`, where the primitive cannot be applied.
    """
    primitive = PRIMITIVES[op]
    try:
        if primitive.operands is not None and len(operand_types) != primitive.operands:
            raise _Mismatch(f"{len(operand_types)} operands instead of {primitive.operands}")
        return _RULES[primitive.rule](op, tuple(operand_types), attrs, tuple(declared), context or _NO_CONTEXT)
    except _Mismatch as mismatch:
        raise IrError([f"{op}: {mismatch}"]) from None
