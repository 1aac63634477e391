# SPDX-License-Identifier: Apache-2.0
"""Reading and writing at indices."""
from __future__ import annotations

from ...symbolic import Expr, IntLike, wrap
from ..values import Value
from .registry import Node, op
from ..problems import Malformed


def from_front(n: Node, index: Value, size: Expr) -> str:
    """Indices that may count from the end, as the DSL takes them."""
    integers = index.integers
    if integers is not None and all(i >= 0 for i in integers) or index.dtype[0] == "u":
        return f"{index}"
    return f"tc_from_end({index}, {n.dim(size)})"


@op("Gather")
def gather(n: Node) -> None:
    x, index = n.input(0), n.input(1)
    axis = n.axis(n.integer("axis", 0), x.rank)
    size = x.shape[axis]
    shape: list[IntLike] = [*x.shape[:axis], *index.shape, *x.shape[axis + 1:]]
    places = index.integers
    if places is not None and size.is_const and any(not -size.value <= p < size.value for p in places):
        raise Malformed(f"an index outside of an axis of {size}")
    if x.folded is not None and x.rank == 1 and places is not None:
        n.give_elements([x.folded[p] for p in places], x.dtype, index.shape)
        return
    if places is not None and len(places) == 1:
        at = wrap(places[0]) if places[0] >= 0 else size + places[0]
        if not index.rank:
            n.result(f"tc_select({x}, {axis}, {n.dim(at)})", x.dtype, shape)
            return
        if index.rank == 1:
            n.result(f"tc_slice({x}, {axis}, {n.dim(at)}, {n.dim(at + 1)})", x.dtype, shape)
            return
    if index.single is not None and isinstance(index.single, Expr) and not index.rank:
        n.result(f"tc_select({x}, {axis}, {n.dim(index.single)})", x.dtype, shape)
        return
    text = from_front(n, index, size)
    n.result(f"tc_embedding({text}, {x})" if axis == 0 else f"tc_gather({x}, {text}, {axis})", x.dtype, shape)


@op("GatherElements")
def gather_elements(n: Node) -> None:
    x, index = n.input(0), n.input(1)
    axis = n.axis(n.integer("axis", 0), x.rank)
    n.result(f"tc_take_along({x}, {from_front(n, index, x.shape[axis])}, {axis})", x.dtype, index.shape)


@op("ScatterElements", "Scatter")
def scatter_elements(n: Node) -> None:
    x, index, values = (n.input(i) for i in range(3))
    axis = n.axis(n.integer("axis", 0), x.rank)
    how = n.text("reduction", "none")
    name = "scatter" if how == "none" else f"scatter_{how}"
    if how not in ("none", "add", "mul", "max", "min"):
        raise Malformed(f"reduction={how!r}")
    n.result(f"tc_{name}({x}, {from_front(n, index, x.shape[axis])}, {values}, {axis})", x.dtype, x.shape)


def _places(n: Node, x: Value, index: Value, first: int) -> tuple[str, int]:
    """index[..., k], places in k axes of x from `first` on, and k."""
    last = index.shape[-1] if index.rank else wrap(0)
    if not last.is_const or not 1 <= last.value <= x.rank - first:
        raise Malformed(f"indices of {last} axes of a tensor of rank {x.rank}")
    integers = index.integers
    if integers is not None and all(i >= 0 for i in integers):
        return f"{index}", last.value
    return f"tc_from_end({index}, {n.dim_list(x.shape[first:first + last.value])})", last.value


@op("GatherND")
def gather_nd(n: Node) -> None:
    x, index = n.input(0), n.input(1)
    batch = n.integer("batch_dims", 0)
    if not 0 <= batch < min(x.rank, max(index.rank, 1)):
        raise Malformed(f"batch_dims={batch}")
    places, count = _places(n, x, index, batch)
    n.result(f"tc_gather_nd({x}, {places}, {batch})", x.dtype, (*index.shape[:-1], *x.shape[batch + count:]))


@op("ScatterND")
def scatter_nd(n: Node) -> None:
    x, index, values = (n.input(i) for i in range(3))
    how = n.text("reduction", "none")
    if how not in ("none", "add", "mul", "max", "min"):
        raise Malformed(f"reduction={how!r}")
    places, _ = _places(n, x, index, 0)
    name = "tc_scatter_nd" if how == "none" else f"tc_scatter_nd_{how}"
    n.result(f"{name}({x}, {places}, {values})", x.dtype, x.shape)


@op("OneHot")
def one_hot(n: Node) -> None:
    """Indices outside leave the off value; negative ones count from the end."""
    index, depth, values = (n.input(i) for i in range(3))
    size = n.size(depth, "the depth")
    axis = n.axis(n.integer("axis", -1), index.rank + 1)
    shape: list[IntLike] = [*index.shape[:axis], size, *index.shape[axis:]]
    place = f"{index}" if index.dtype in ("i32", "i64") else f"tc_cast({index}, TC_I64)"
    n.result(f"tc_one_hot_values({place}, {n.dim(size)}, {values}, {axis})", values.dtype, shape)


@op("ReverseSequence")
def reverse_sequence(n: Node) -> None:
    x, lengths = n.input(0), n.input(1)
    time, batch = n.integer("time_axis", 0), n.integer("batch_axis", 1)
    if {time, batch} != {0, 1}:
        raise Malformed("time_axis and batch_axis are not 0 and 1")
    if x.rank < 2 or lengths.rank != 1:
        raise Malformed(f"sequences of rank {x.rank}, lengths of rank {lengths.rank}")
    # Element t of a sequence of length l is element l - 1 - t, behind the length t itself.
    total = n.dim(x.shape[time])
    steps = f"tc_unsqueeze(tc_arange(g, TC_I64, {total}), {1 - time})"
    each = f"tc_unsqueeze(tc_cast({lengths}, TC_I64), {1 - batch})"
    t = n.let(steps, "i64", [x.shape[time] if i == time else 1 for i in range(2)], "step")
    length = n.let(each, "i64", [x.shape[batch] if i == batch else 1 for i in range(2)], "length")
    place = n.let(f"tc_where(tc_lt({t}, {length}), tc_sub(tc_sub({length}, 1), {t}), {t})", "i64", x.shape[:2], "place")
    if x.rank > 2:
        wide: list[IntLike] = [*x.shape[:2], *(1 for _ in x.shape[2:])]
        spread = f"tc_expand(tc_reshape({place}, {n.dim_list(wide)}), {n.dim_list(x.shape)})"
        place = n.let(spread, "i64", x.shape, "place")
    n.result(f"tc_take_along({x}, {place}, {time})", x.dtype, x.shape)

