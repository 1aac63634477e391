# SPDX-License-Identifier: Apache-2.0
"""Reading and writing at indices."""
from __future__ import annotations

from typing import Sequence

from ...symbolic import Expr, product, wrap
from ..problems import Malformed
from ..values import FLOATS, INTEGERS, Value, number
from .registry import Node, op

INDICES = ("i32", "i64")


def _index(n: Node, i: int) -> Value:
    """Indices: those of 16 bits become some of 32."""
    index = n.input(i)
    if index.dtype == "i16":
        return n.let(f"tc_cast({index}, TC_I32)", "i32", index.shape, "places")
    if index.dtype not in INDICES:
        n.refuse(f"indices of {index.dtype}")
    return index


def _require_inside(index: Value, sizes: Sequence[Expr]) -> None:
    """Raises where an index that is known now lies outside. sizes: what its elements index, in turns."""
    for i, at in enumerate(index.integers or ()):
        size = sizes[i % len(sizes)]
        if at < 0 or size.is_const and at >= size.value:
            raise Malformed(f"index {at} of {size}")


@op("GATHER", versions=7)
def gather(n: Node) -> None:
    x, index = n.input(0), _index(n, 1)
    axis, batch = n.axis(n.option("axis"), x.rank), n.option("batch_dims")
    batch += index.rank if batch < 0 else 0
    n.same_scale()
    _require_inside(n.input(1), x.shape[axis:axis + 1])
    if not batch:
        n.give(f"tc_gather({x}, {index}, {axis})", x.dtype, (*x.shape[:axis], *index.shape, *x.shape[axis + 1:]))
        return
    if not 0 <= batch <= min(axis, index.rank) or [*x.shape[:batch]] != [*index.shape[:batch]]:
        raise Malformed(f"{batch} axes that {list(x.shape)} and {list(index.shape)} have in common")
    # The axis comes behind the batch, and what it becomes goes back behind the axes that it was moved over.
    order = [*range(batch), axis, *range(batch, axis), *range(axis + 1, x.rank)]
    moved = f"tc_permute({x}, {', '.join(map(str, order))})" if axis != batch else f"{x}"
    places = f"tc_reshape({index}, {n.dim_list((*index.shape, wrap(1)))})"
    shape = [*index.shape, *x.shape[batch:axis], *x.shape[axis + 1:]]
    text = f"tc_gather_nd({moved}, {places}, {batch})"
    if axis != batch and index.rank != batch:
        between = axis - batch
        back = [*range(batch), *range(index.rank, index.rank + between), *range(batch, index.rank),
                *range(index.rank + between, len(shape))]
        text, shape = f"tc_permute({text}, {', '.join(map(str, back))})", [shape[a] for a in back]
    n.give(text, x.dtype, shape)


def _depth(n: Node, index: Value, rank: int) -> int:
    """How many axes the last axis of the index has places in."""
    count = n.constant_sizes(index.shape[-1:])[0] if index.rank else 0
    if not 1 <= count <= rank:
        raise Malformed(f"indices of {count} axes of a tensor of rank {rank}")
    return count


@op("GATHER_ND", versions=5)
def gather_nd(n: Node) -> None:
    x, index = n.input(0), _index(n, 1)
    n.same_scale()
    count = _depth(n, index, x.rank)
    _require_inside(n.input(1), x.shape[:count])
    n.give(f"tc_gather_nd({x}, {index}, 0)", x.dtype, (*index.shape[:-1], *x.shape[count:]))


@op("SCATTER_ND", versions=1)
def scatter_nd(n: Node) -> None:
    """Slices that meet are added."""
    index, x, shape = _index(n, 0), n.input(1), n.sizes(2, "the shape")
    if n.scale(1) is not None or x.dtype not in (*FLOATS, *INTEGERS):
        n.refuse(f"slices of {'quantized integers' if n.scale(1) else x.dtype}")
    count = _depth(n, index, len(shape))
    if any(s.is_const and s.value < 0 for s in shape):
        raise Malformed(f"the shape {list(shape)}")
    if [*x.shape] != [*index.shape[:-1], *shape[count:]]:
        raise Malformed(f"slices of the shape {list(x.shape)}")
    _require_inside(n.input(0), shape[:count])
    zeros = n.let(f"tc_full(g, 0, TC_{x.dtype.upper()}, {n.dim_list(shape)})", x.dtype, shape, "zeros")
    n.give(f"tc_scatter_nd_add({zeros}, {index}, {x})", x.dtype, shape)


@op("ONE_HOT", versions=1)
def one_hot(n: Node) -> None:
    """Indices outside, negative ones among them, leave the off value alone."""
    index, depth, on, off = n.input(0), n.sizes(1, "the depth"), n.input(2), n.input(3)
    if index.dtype not in INDICES:
        n.refuse(f"indices of {index.dtype}")
    if any(d.is_const and d.value < 0 for d in depth):
        raise Malformed(f"a depth of {depth[0]}")
    if len(depth) != 1 or on.dtype != off.dtype or len(on.shape) + len(off.shape):
        raise Malformed("one depth and two numbers of one type")
    if not n.scale(2) == n.scale(3) == n.result_scale():
        n.refuse("numbers of another scale than the result")
    axis = n.axis(n.option("axis"), index.rank + 1)
    shape = (*index.shape[:axis], depth[0], *index.shape[axis:])
    places = (depth[0], *[wrap(1)] * (index.rank - axis))
    classes = f"tc_arange(g, TC_{index.dtype.upper()}, {n.importer.dims.c(depth[0])})"
    if len(places) > 1:
        classes = f"tc_reshape({classes}, {n.dim_list(places)})"
    same = n.let(f"tc_eq(tc_unsqueeze({index}, {axis}), {classes})", "bool", shape, "same")
    n.give(f"tc_where({same}, {on}, {off})", on.dtype, shape)


@op("EMBEDDING_LOOKUP", versions=4)
def embedding(n: Node) -> None:
    """Rows of a table; one of 8-bit integers stands for floats."""
    index, table = n.input(0), n.input(1)
    into = n.importer.dtype(n.output())
    if index.dtype not in INDICES or index.rank != 1 or not table.rank:
        raise Malformed(f"indices of {index.dtype}, of rank {index.rank}")
    _require_inside(index, table.shape[:1])
    shape = (*index.shape, *table.shape[1:])
    text = f"tc_embedding({index}, {table})"
    if into != table.dtype:
        scale = n.scale(1)
        if into not in FLOATS or table.dtype != "i8" or scale is None or scale.zero:
            n.refuse(f"rows of {table.dtype} that become {into}")
        rows = n.let(text, table.dtype, shape, "rows")
        text = f"tc_dequantize({rows}, {n.importer.program.value('f32', (), splat=float(scale.scale))})"
    n.give(text, into, shape)


@op("REVERSE_SEQUENCE", versions=1)
def reverse_sequence(n: Node) -> None:
    x, lengths = n.input(0), _index(n, 1)
    time, batch = n.axis(n.option("time"), x.rank), n.axis(n.option("batch"), x.rank)
    if time == batch or lengths.rank != 1:
        raise Malformed(f"lengths of rank {lengths.rank}, sequences along axis {time} of a batch along axis {batch}")
    if [*lengths.shape] != [x.shape[batch]]:
        raise Malformed(f"{lengths.shape[0]} lengths of {x.shape[batch]} sequences")
    for length in n.input(1).integers or ():
        if length < 0 or x.shape[time].is_const and length > x.shape[time].value:
            raise Malformed(f"a length of {length}, of {x.shape[time]}")
    n.give(f"tc_reverse_sequence({x}, {lengths}, {time}, {batch})", x.dtype, x.shape)


@op("DYNAMIC_UPDATE_SLICE", versions=4)
def update_slice(n: Node) -> None:
    """The update lies within x: where it would not, it begins earlier."""
    x, y, start = n.input(0), n.input(1), _index(n, 2)
    if y.rank != x.rank or y.dtype != x.dtype or [*start.shape] != [x.rank]:
        raise Malformed(f"{list(y.shape)} into {list(x.shape)}")
    n.same_scale()
    if n.scale(0) != n.scale(1):
        n.refuse("an update of another scale")
    moved = [a for a in range(x.rank) if x.shape[a] != y.shape[a]]
    if not moved:
        n.give(f"{y}", x.dtype, x.shape)
        return
    first, last = moved[0], moved[-1]
    sizes, parts = (n.constant_sizes(v.shape[first:last + 1]) for v in (x, y))
    if any(p > s for p, s in zip(parts, sizes)):
        raise Malformed(f"{list(y.shape)} into {list(x.shape)}")
    places = []
    for i, (size, part) in enumerate(zip(sizes, parts)):
        begin = n.let(f"tc_clamp(tc_select({start}, 0, {first + i}), 0, {size - part})", start.dtype, (), "begin")
        steps = f"tc_arange(g, TC_{start.dtype.upper()}, {part})"
        wide = [part if k == i else 1 for k in range(len(parts))]
        text = f"tc_add({steps}, {begin})"
        places.append(f"tc_reshape({text}, {', '.join(map(str, wide))})" if len(parts) > 1 else text)
    if len(places) == 1:
        n.give(f"tc_index_copy({x}, {first}, {places[0]}, {y})", x.dtype, x.shape)
    else:
        n.give(f"tc_index_put({x}, {y}, false, {', '.join(['NULL'] * first + places)})", x.dtype, x.shape)


_SEGMENTS = {"SUM": "add", "PROD": "mul", "MAX": "max", "MIN": "min"}


@op("SEGMENT_SUM", *[f"UNSORTED_SEGMENT_{how}" for how in _SEGMENTS], versions=1)
def segments(n: Node) -> None:
    """Slices of x whose segment has one number, together. A negative number is of none."""
    x, index = n.input(0), _index(n, 1)
    how = n.name.rpartition("_")[2]
    if n.scale(0) is not None or x.dtype not in ("f32", "i32"):
        n.refuse(f"segments of {'quantized integers' if n.scale(0) else x.dtype}")
    if index.rank > x.rank or [*x.shape[:index.rank]] != [*index.shape]:
        raise Malformed(f"numbers of the shape {list(index.shape)} for {list(x.shape)}")
    numbers = index.integers
    if n.name == "SEGMENT_SUM":
        if numbers is None:
            n.refuse("segments whose number is known at run time only")
        count = max(numbers, default=-1) + 1
    else:
        found = n.integers(2, "the number of segments")
        if len(found) != 1 or found[0] < 0:
            raise Malformed(f"{list(found)} segments")
        count = found[0]
        if any(at >= count for at in numbers or ()):
            raise Malformed(f"index {max(numbers or ())} of {count}")
    total, rest = product(index.shape), x.shape[index.rank:]
    flat = f"tc_reshape({x}, {n.dim_list((total, *rest))})" if index.rank != 1 else f"{x}"
    place = f"tc_reshape({index}, {n.dim_list((total,))})" if index.rank != 1 else f"{index}"
    inside = numbers is not None and min(numbers, default=0) >= 0
    if not inside:   # a segment behind the others takes what belongs to none
        place = f"tc_where(tc_lt({place}, 0), {count}, {place})"
    shape = (wrap(count + (not inside)), *rest)
    empty = n.let(f"tc_full(g, {_empty(how, x.dtype)}, TC_{x.dtype.upper()}, {n.dim_list(shape)})", x.dtype, shape,
                  "empty")
    text = f"tc_index_{_SEGMENTS[how]}({empty}, 0, {place}, {flat})"
    n.give(text if inside else f"tc_slice({text}, 0, 0, {count})", x.dtype, (wrap(count), *rest))


def _empty(how: str, dtype: str) -> str | None:
    """What a segment of no slices has."""
    ends = (-(2.0**128 - 2.0**104), 2.0**128 - 2.0**104) if dtype == "f32" else (-(1 << 31), (1 << 31) - 1)
    return number({"SUM": 0, "PROD": 1, "MAX": ends[0], "MIN": ends[1]}[how], dtype)
