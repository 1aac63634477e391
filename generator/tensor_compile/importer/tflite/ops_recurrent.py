# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers as one operator. What they hold from call to call are variables among their inputs: states of the
model."""
from __future__ import annotations

from ...symbolic import Expr, wrap
from ..problems import Malformed
from ..program import Statement
from ..values import FLOATS, Value
from .ops_windows import real_weight
from .registry import Node, op


def _weight(n: Node, i: int) -> Value:
    """A matrix or vector of floats, also where it is stored as integers."""
    w = n.input(i)
    if not w.rank:
        raise Malformed("weights of rank 0")
    return real_weight(n, i, w, 0)


def _joined(n: Node, places: tuple[int, ...], hidden: Expr, what: str) -> Value:
    """Parts of the gates, one behind the other, with an axis of one direction before."""
    parts = [_weight(n, i) for i in places]
    if any(p.shape[0] != hidden or [*p.shape[1:]] != [*parts[0].shape[1:]] for p in parts):
        raise Malformed(f"{what} of the shapes {', '.join(str(list(p.shape)) for p in parts)}")
    shape = (wrap(1), hidden * len(parts), *parts[0].shape[1:])
    return n.let(f"tc_unsqueeze(tc_concat(0, {', '.join(f'{p}' for p in parts)}), 0)", parts[0].dtype, shape, what)


def _sequence(n: Node) -> tuple[Value, bool, Expr]:
    """The sequences, whether their batch comes first, and its size."""
    x, first = n.input(0), not n.option("time_major")
    if x.dtype not in FLOATS:
        n.refuse(f"sequences of {x.dtype}")
    if x.rank != 3:
        raise Malformed(f"sequences of rank {x.rank}")
    return x, first, x.shape[0 if first else 1]


def _state(n: Node, i: int, shape: tuple[Expr, ...], first: bool) -> str:
    """What the layer held, [batch, hidden], with an axis of one direction."""
    held = n.input(i)
    if not n.tensor(i).is_variable:
        raise Malformed("a state that is no variable")
    if [*held.shape] != [*shape]:
        raise Malformed(f"a state of the shape {list(held.shape)} for {list(shape)}")
    return f"tc_unsqueeze({held}, {int(first)})"


@op("UNIDIRECTIONAL_SEQUENCE_LSTM", versions=4)
def lstm(n: Node) -> None:
    """Inputs: x; weights beside x and beside h, of the gates i, f, c and o; peepholes i, f and o; biases of the gates;
    a projection and its bias; the states h and c; norms."""
    x, first, batch = _sequence(n)
    n.ignore("asymmetric")
    if n.activation != "tanh" or float(n.real("cell_clip")) or float(n.real("proj_clip")) or n.option("diagonal"):
        n.refuse(f"a cell with the activation {n.activation or 'none'}, a limit or diagonal weights")
    if any(n.has(i) for i in (16, 17, *range(20, 24))):
        n.refuse("a projection or norms of gates")
    if not n.has(1) or n.has(9) != n.has(10) or n.has(10) != n.has(11):
        n.refuse("a cell without an input gate, or with peepholes of some gates")
    hidden = n.input(8).shape[0] if n.input(8).rank == 2 else wrap(0)
    w, r = (_joined(n, (at, at + 3, at + 1, at + 2), hidden, "weight") for at in (1, 5))
    if w.rank != 3 or r.rank != 3 or w.shape[2] != x.shape[2] or r.shape[2] != hidden:
        raise Malformed(f"weights of the shapes {list(w.shape)} and {list(r.shape)} for {list(x.shape)}")
    bias = _joined(n, (12, 15, 13, 14), hidden, "bias")
    if bias.rank != 2:
        raise Malformed(f"a bias of rank {bias.rank - 1}")
    both = n.let(f"tc_pad_axis({bias}, 1, 0, {n.importer.dims.c(hidden * 4)}, 0)", bias.dtype, (wrap(1), hidden * 8))
    state = (batch, hidden)
    h, c = (_state(n, i, state, first) for i in (18, 19))
    text = f"tc_onnx_lstm({x}, {w}, {r}, {both}, .h0 = {h}, .c0 = {c}"
    if n.has(9):
        text += f", .peepholes = {_joined(n, (9, 11, 10), hidden, 'peepholes')}"
    _steps(n, text, x, first, hidden, (18, 19))


@op("UNIDIRECTIONAL_SEQUENCE_RNN", versions=3)
def rnn(n: Node) -> None:
    """Inputs: x, weights beside x and beside h, the bias, the state h."""
    x, first, batch = _sequence(n)
    n.ignore("asymmetric")
    kinds = {"tanh": "", "relu": ", .activations = {{TC_CELL_RELU}}"}
    if n.activation not in kinds:
        n.refuse(f"a cell with the activation {n.activation or 'none'}")
    hidden = n.input(2).shape[0] if n.input(2).rank == 2 else wrap(0)
    w, r, bias = (_joined(n, (i,), hidden, what) for i, what in ((1, "weight"), (2, "recurrent"), (3, "bias")))
    if w.rank != 3 or w.shape[2] != x.shape[2] or r.shape[2] != hidden or bias.rank != 2:
        raise Malformed(f"weights of the shapes {list(w.shape)} and {list(r.shape)} for {list(x.shape)}")
    both = n.let(f"tc_pad_axis({bias}, 1, 0, {n.importer.dims.c(hidden)}, 0)", bias.dtype, (wrap(1), hidden * 2))
    text = f"tc_onnx_rnn({x}, {w}, {r}, {both}, .h0 = {_state(n, 4, (batch, hidden), first)}{kinds[n.activation]}"
    _steps(n, text, x, first, hidden, (4,))


def _steps(n: Node, text: str, x: Value, first: bool, hidden: Expr, states: tuple[int, ...]) -> None:
    """The call without its end: gives h of all steps and keeps what is behind the last one."""
    batch = x.shape[0 if first else 1]
    shape = (batch, wrap(1), hidden) if first else (wrap(1), batch, hidden)
    last = [n.value(x.dtype, shape, name) for name in ("h_n", "c_n")[:len(states)]]
    text += "".join(f", .{name} = &{v}" for name, v in zip(("h_n", "c_n"), last))
    text += ", .batch_first = true)" if first else ")"
    every = n.value(x.dtype, (*x.shape[:2], wrap(1), hidden) if first else (x.shape[0], *shape), "steps")
    n.emit(Statement(text, every, declared=tuple(last)))
    for i, v in zip(states, last):
        n.importer.keep(n.operator.inputs[i], n.let(f"tc_squeeze({v}, {int(first)})", x.dtype, (batch, hidden)))
    n.give(f"tc_squeeze({every}, {2 if first else 1})", x.dtype, (*x.shape[:2], hidden))


@op("SVDF", versions=4)
def svdf(n: Node) -> None:
    """Inputs: x [batch, depth], weights of features [filters, depth] and of time [filters, memory], the bias, the last
    features. Each unit is the sum of `rank` filters."""
    x, rank = n.input(0), n.option("rank")
    n.ignore("asymmetric")
    if x.dtype not in FLOATS:
        n.refuse(f"frames of {x.dtype}")
    features, time = _weight(n, 1), _weight(n, 2)
    if x.rank != 2 or features.rank != 2 or time.rank != 2 or features.shape[1] != x.shape[1] \
            or time.shape[0] != features.shape[0]:
        raise Malformed(f"weights of the shapes {list(features.shape)} and {list(time.shape)} for {list(x.shape)}")
    filters, memory = n.constant_sizes(time.shape)
    batch = x.shape[0]
    if rank < 1 or filters % rank or not memory:
        raise Malformed(f"{filters} filters in units of {rank}")
    held = n.input(4)
    if [*held.shape] != [batch, wrap(filters * memory)] or not n.tensor(4).is_variable:
        raise Malformed(f"a state of the shape {list(held.shape)} for {filters} filters of {memory} features")
    shape = (batch, wrap(filters), wrap(memory))
    words = n.dim_list(shape)
    new = n.let(f"tc_reshape(tc_linear({x}, {features}), {n.dim_list((batch, wrap(filters), wrap(1)))})", x.dtype,
                (batch, wrap(filters), wrap(1)), "features")
    before = f"tc_slice(tc_reshape({held}, {words}), 2, 1, {memory})"
    now = n.let(f"tc_concat(2, {before}, {new})" if memory > 1 else f"{new}", x.dtype, shape, "features")
    n.importer.keep(n.operator.inputs[4], n.let(f"tc_reshape({now}, {n.dim_list(held.shape)})", x.dtype, held.shape))
    units = (batch, wrap(filters // rank))
    text = f"tc_sum(tc_mul({now}, {time}), 2)"
    if rank != 1:
        text = f"tc_sum(tc_reshape({text}, {n.dim_list((*units, wrap(rank)))}), 2)"
    bias = n.optional(3)
    if bias is not None:
        text = f"tc_add({n.let(text, x.dtype, units)}, {bias})"
    n.give(n.activated(text, x.dtype, units), x.dtype, units)
