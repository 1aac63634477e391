# SPDX-License-Identifier: Apache-2.0
"""Elements in another order or shape, parts and their sides."""
from __future__ import annotations

import math
from typing import Sequence

from ...symbolic import Expr, equal, exact_div, never_equal, product, wrap
from ..problems import Malformed
from ..program import Statement
from ..values import Value, number
from .ops_elementwise import either, give
from .registry import Node, op
from .rows import ROW_UPDATE


def placed(axis: int, rank: int, first: bool) -> int:
    """Where an axis is with channels first."""
    return axis if not first or axis == 0 else 1 if axis == rank - 1 else axis + 1


@op("RESHAPE", versions=2)
def reshape(n: Node) -> None:
    x, first = either(n)
    if first and any(not equal(s, 1) for s in x.shape[2:]):
        x = n.input(0)   # the elements are in another order
    given = n.sizes(1, "the shape") if n.has(1) else tuple(wrap(s) for s in n.option_list("new_shape"))
    n.ignore("new_shape")
    opened = [equal(s, -1) for s in given]
    if sum(opened) > 1 or any(s.is_const and s.value < -1 for s in given):
        raise Malformed(f"the shape {list(given)}")
    n.same_scale()
    total, known = product(x.shape), product(s for s, o in zip(given, opened) if not o)
    rest = wrap(1)
    if any(opened):
        found = None if equal(known, 0) else exact_div(total, known)
        if found is None:
            n.refuse("a shape that depends on the dims of the model")
        rest = found
    elif never_equal(total, known):
        raise Malformed(f"{total} elements to the shape {list(given)}")
    shape = tuple(rest if o else s for s, o in zip(given, opened))
    if [*shape] == [*x.shape]:
        n.given[0] = n.importer.hold(last=x)
    elif not shape:
        n.give(f"tc_reshape_scalar({x})", x.dtype, shape)
    else:
        n.give(f"tc_reshape({x}, {n.dim_list(shape)})", x.dtype, shape)


@op("SQUEEZE", "EXPAND_DIMS", versions=2)
def axes_of_one(n: Node) -> None:
    x = n.input(0)
    if n.name == "SQUEEZE":
        axes = {n.axis(a, x.rank) for a in n.option_list("dims")} or {a for a, s in enumerate(x.shape) if equal(s, 1)}
        if any(not equal(x.shape[a], 1) for a in axes):
            raise Malformed("it squeezes an axis that is not 1")
        shape = tuple(s for a, s in enumerate(x.shape) if a not in axes)
    else:
        at = n.integers(1, "the axis")
        if len(at) != 1:
            raise Malformed(f"{len(at)} axes")
        axis = n.axis(at[0], x.rank + 1)
        shape = (*x.shape[:axis], wrap(1), *x.shape[axis:])
    text = f"tc_reshape({x}, {n.dim_list(shape)})" if shape else f"tc_reshape_scalar({x})"
    n.give(text, x.dtype, shape)


@op("TRANSPOSE", versions=6)
def transpose(n: Node) -> None:
    x, order = n.input(0), n.integers(1, "the order of the axes")
    if sorted(order) != list(range(x.rank)):
        raise Malformed(f"the order {list(order)} of {x.rank} axes")
    n.same_scale()
    n.give(f"tc_permute({x}, {', '.join(map(str, order))})", x.dtype, [x.shape[a] for a in order])


@op("PAD", "PADV2", "MIRROR_PAD", versions=4)
def pad(n: Node) -> None:
    x, first = either(n)
    sides = n.integers(1, "the padding")
    if len(sides) != 2 * x.rank or any(s < 0 for s in sides):
        raise Malformed(f"{len(sides)} paddings of {x.rank} axes")
    n.same_scale()
    low, high = [0] * x.rank, [0] * x.rank
    for axis in range(x.rank):
        at = placed(axis, x.rank, first)
        low[at], high[at] = sides[2 * axis], sides[2 * axis + 1]
    shape = tuple(s + low[a] + high[a] for a, s in enumerate(x.shape))
    if n.name == "MIRROR_PAD":
        if n.option("mode") not in (0, 1):
            raise Malformed(f"the mode {n.option('mode')}")
        if n.option("mode"):
            give(n, _mirrored(n, x, low, high), x.dtype, shape, first)
            return
        words = f".low = {{{', '.join(map(str, low))}}}, .high = {{{', '.join(map(str, high))}}}"
        give(n, f"tc_pad_reflect({x}, {words})", x.dtype, shape, first)
        return
    value = "0"
    if n.has(2):
        if n.is_integer and n.scale(2) != n.scale(0):
            n.refuse("a value of another scale")
        single = n.input(2).single
        if single is None or (text := number(single, x.dtype)) is None:
            n.refuse("a value that is known at run time only")
        value = text
    elif n.is_integer:
        value = str(n.quantized(0).zero)
    text = f"{x}"
    wide = [a for a in range(x.rank) if low[a] or high[a]]
    for a in wide:
        text = f"tc_pad_axis({text}, {a}, {low[a]}, {high[a]}, {value})"
    if wide:
        give(n, text, x.dtype, shape, first)
    else:
        n.hand_on()


def _mirrored(n: Node, x: Value, low: Sequence[int], high: Sequence[int]) -> str:
    """With its mirror image on both sides, the border twice."""
    text, shape = f"{x}", list(x.shape)
    for a, size in enumerate(n.constant_sizes(x.shape)):
        if not low[a] and not high[a]:
            continue
        if low[a] > size or high[a] > size:
            raise Malformed(f"a mirror image of {max(low[a], high[a])} elements of {size}")
        middle = n.let(text, x.dtype, shape, "middle") if text != f"{x}" else x
        parts = [f"tc_flip(tc_slice({middle}, {a}, 0, {low[a]}), {a})"] * bool(low[a]) + [f"{middle}"] \
            + [f"tc_flip(tc_slice({middle}, {a}, {size - high[a]}, {size}), {a})"] * bool(high[a])
        text = f"tc_concat({a}, {', '.join(parts)})"
        shape[a] += low[a] + high[a]
    return text


@op("CONCATENATION", versions=4)
def concat(n: Node) -> None:
    first = all(n.held(i).last is None for i in range(n.count))
    parts = [n.first(i) if first else n.input(i) for i in range(n.count)]
    if not parts:
        raise Malformed("nothing to join")
    rank = parts[0].rank
    if any(p.rank != rank or p.dtype != parts[0].dtype for p in parts):
        raise Malformed("parts of different ranks or types")
    axis = placed(n.axis(n.option("axis"), rank), rank, first)
    texts = []
    for i, part in enumerate(parts):
        if n.is_integer and n.scale(i) != n.result_scale():
            part = n.let(f"tc_quantized_rescale(.x = {n.affine(part, n.quantized(i))}{n.behind()})", part.dtype,
                         part.shape)
        texts.append(f"{part}")
    size = sum((p.shape[axis] for p in parts[1:]), parts[0].shape[axis])
    shape = (*parts[0].shape[:axis], size, *parts[0].shape[axis + 1:])
    text = n.activated(f"tc_concat({axis}, {', '.join(texts)})", parts[0].dtype, shape)
    give(n, text, parts[0].dtype, shape, first)


def _parts(n: Node, x: Value, axis: int, sizes: list[int]) -> None:
    """The results, one behind the other along the axis."""
    if sum(sizes) != n.constant_sizes(x.shape[axis:axis + 1])[0] or len(sizes) != len(n.operator.outputs):
        raise Malformed(f"parts of {sizes}")
    at = 0
    for i, size in enumerate(sizes):
        shape = (*x.shape[:axis], wrap(size), *x.shape[axis + 1:])
        value = n.value(x.dtype, shape, n.importer.result_hint(n.operator, i))
        n.emit(Statement(f"tc_slice({x}, {axis}, {at}, {at + size})", value))
        n.given[i] = n.importer.hold(last=value)
        at += size


@op("SPLIT", versions=4)
def split(n: Node) -> None:
    at, x = n.integers(0, "the axis"), n.input(1)
    if len(at) != 1:
        raise Malformed(f"{len(at)} axes")
    axis, count = n.axis(at[0], x.rank), n.option("count")
    size = n.constant_sizes(x.shape[axis:axis + 1])[0]
    if count < 1 or size % count:
        raise Malformed(f"{count} parts of {size}")
    _parts(n, x, axis, [size // count] * count if count == len(n.operator.outputs) else [])


@op("SPLIT_V", versions=2)
def split_sizes(n: Node) -> None:
    x, sizes, at = n.input(0), list(n.integers(1, "the sizes")), n.integers(2, "the axis")
    n.ignore("count")
    if len(at) != 1 or sum(s < 0 for s in sizes) > 1:
        raise Malformed("one axis, and at most one size that is left open")
    axis = n.axis(at[0], x.rank)
    whole = n.constant_sizes(x.shape[axis:axis + 1])[0]
    _parts(n, x, axis, [s if s >= 0 else whole - sum(v for v in sizes if v >= 0) for s in sizes])


@op("SLICE", versions=6)
def slice_(n: Node) -> None:
    x, begin, size = n.input(0), n.integers(1, "the first positions"), n.integers(2, "the sizes")
    if len(begin) != x.rank or len(size) != x.rank:
        raise Malformed(f"bounds of {len(begin)} axes of {x.rank}")
    n.same_scale()
    text, shape = f"{x}", list(x.shape)
    for axis, (at, count) in enumerate(zip(begin, size)):
        if at == 0 and count == -1:
            continue
        whole = n.constant_sizes(x.shape[axis:axis + 1])[0]
        count = whole - at if count < 0 else count
        if at < 0 or at + count > whole or count < 0:
            raise Malformed(f"{count} elements from {at} on of {whole}")
        if count != whole:
            text = f"tc_slice({text}, {axis}, {at}, {at + count})"
            shape[axis] = wrap(count)
    if text == f"{x}":
        n.hand_on()
    else:
        n.give(text, x.dtype, shape)


class _Bounds:
    """Which elements of an axis: count of them from `first` on, `step` apart."""

    def __init__(self, size: int, begin: int | None, end: int | None, step: int):
        """Bounds that are None are the axis's ends; negative ones count from the end, others are cut off there."""
        least, most = (0, size) if step > 0 else (-1, size - 1)

        def cut(at: int) -> int:
            return min(max(at + size * (at < 0), least), most)
        self.first = (least if step > 0 else most) if begin is None else cut(begin)
        last = (most if step > 0 else least) if end is None else cut(end)
        self.step, self.count = step, max(-((last - self.first) // -step), 0)

    def of(self, text: str, axis: int, size: int) -> str:
        """The call that takes them of an axis of that size."""
        first, step, count = self.first, self.step, self.count
        if step < 0:
            text, first, step = f"tc_flip({text}, {axis})", size - 1 - first, -step
        last = first + (count - 1) * step + 1 if count else first
        if (first, last) == (0, size) and step == 1:
            return text
        return f"tc_slice({text}, {axis}, {first}, {last})" if step == 1 else \
            f"tc_slice_step({text}, {axis}, {first}, {last}, {step})"


@op("STRIDED_SLICE", versions=8)
def strided_slice(n: Node) -> None:
    """Bounds of each axis, in order. A bit of a mask says what else a place is: all axes that no other place is of, a
    new axis, an axis that goes."""
    x = n.input(0)
    begin, end, stride = (n.integers(i, "a bound") for i in (1, 2, 3))
    masks = {name: n.option(f"{name}_mask") for name in ("begin", "end", "shrink_axis", "ellipsis", "new_axis")}
    offset = n.option("offset")

    def has(name: str, i: int) -> bool:
        return bool(masks[name] >> i & 1)
    if not len(begin) == len(end) == len(stride):
        raise Malformed(f"bounds of {len(begin)}, {len(end)} and {len(stride)} axes")
    places = range(len(stride))
    dots = [i for i in places if has("ellipsis", i)]
    own = [i for i in places if not has("ellipsis", i) and not has("new_axis", i)]
    if len(own) > x.rank or len(dots) > 1:
        raise Malformed(f"bounds of {len(own)} axes of {x.rank}, {len(dots)} places for all others")
    n.same_scale()
    text, axis = f"{x}", 0
    shape: list[Expr] = []
    for i in places:
        if has("ellipsis", i):
            skipped = x.rank - len(own)
            shape += x.shape[axis:axis + skipped]
            axis += skipped
        elif has("new_axis", i):
            shape.append(wrap(1))
        elif stride[i] == 1 and has("begin", i) and has("end", i) and not has("shrink_axis", i):
            shape.append(x.shape[axis])
            axis += 1
        else:
            size = n.constant_sizes(x.shape[axis:axis + 1])[0]
            first, last = None if has("begin", i) else begin[i], None if has("end", i) else end[i]
            if offset and last is not None and stride[i]:   # it counts from the first element
                last += _Bounds(size, first, None, stride[i]).first
            text = _bounded(n, text, axis, size, (first, last, stride[i]), has("shrink_axis", i), shape)
            axis += 1
    shape += x.shape[axis:]
    if any(has("new_axis", i) or has("shrink_axis", i) for i in places if not has("ellipsis", i)):
        text = f"tc_reshape({text}, {n.dim_list(shape)})" if shape else f"tc_reshape_scalar({text})"
    if text == f"{x}":
        n.hand_on()
    else:
        n.give(text, x.dtype, shape)


def _bounded(n: Node, text: str, axis: int, size: int, bounds: tuple[int | None, int | None, int], one: bool,
             shape: list[Expr]) -> str:
    """The elements of an axis; shape: of the result, to which the axis is added unless it is `one` element."""
    begin, end, step = bounds
    if not step:
        raise Malformed("a step of 0")
    if one:
        at = 0 if begin is None else begin + size * (begin < 0)
        if not 0 <= at < size:
            raise Malformed(f"element {begin} of {size}")
        return f"tc_slice({text}, {axis}, {at}, {at + 1})" if size != 1 else text
    found = _Bounds(size, begin, end, step)
    shape.append(wrap(found.count))
    return found.of(text, axis, size)


@op("PACK", versions=4)
def pack(n: Node) -> None:
    n.ignore("count")
    parts = [n.input(i) for i in range(n.count)]
    if not parts or any([*p.shape] != [*parts[0].shape] or p.dtype != parts[0].dtype for p in parts):
        raise Malformed("parts of different shapes or types")
    if any(n.scale(i) != n.scale(0) for i in range(n.count)):
        n.refuse("parts of different scales")
    n.same_scale()
    axis = n.axis(n.option("axis"), parts[0].rank + 1)
    shape = (*parts[0].shape[:axis], wrap(len(parts)), *parts[0].shape[axis:])
    n.give(f"tc_stack({axis}, {', '.join(f'{p}' for p in parts)})", parts[0].dtype, shape)


@op("UNPACK", versions=4)
def unpack(n: Node) -> None:
    x = n.input(0)
    n.ignore("count")
    axis = n.axis(n.option("axis"), x.rank)
    shape = (*x.shape[:axis], *x.shape[axis + 1:])
    if len(n.operator.outputs) != n.constant_sizes(x.shape[axis:axis + 1])[0]:
        raise Malformed(f"{len(n.operator.outputs)} results of an axis of {x.shape[axis]}")
    for i in range(len(n.operator.outputs)):
        value = n.value(x.dtype, shape, n.importer.result_hint(n.operator, i))
        n.emit(Statement(f"tc_select({x}, {axis}, {i})", value))
        n.given[i] = n.importer.hold(last=value)


@op("TILE", "BROADCAST_TO", versions=3)
def repeat(n: Node) -> None:
    x, sizes = n.input(0), n.sizes(1, "the sizes")
    if len(sizes) < x.rank or n.name == "TILE" and len(sizes) != x.rank or \
            any(s.is_const and s.value < 1 for s in sizes):
        raise Malformed(f"{len(sizes)} sizes of {x.rank} axes")
    words = n.dim_list(sizes)
    if n.name == "TILE":
        n.give(f"tc_tile({x}, {words})", x.dtype, [s * t for s, t in zip(x.shape, sizes)])
    else:
        n.give(f"tc_expand({x}, {words})", x.dtype, sizes)


@op("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", versions=2)
def depth(n: Node) -> None:
    """The block's place is the outer part of the channels: that of DCR in ONNX."""
    x, block = n.first(0), n.option("block")
    if x.rank != 4:
        raise Malformed(f"an operand of rank {x.rank}")
    b, c, h, w = n.constant_sizes(x.shape)
    n.same_scale()
    if block < 2:
        raise Malformed(f"a block of {block}")
    if n.name == "DEPTH_TO_SPACE":
        if c % (block * block):
            raise Malformed(f"{c} channels in blocks of {block}")
        n.give_first(f"tc_depth_to_space({x}, {block})", x.dtype, (b, c // block // block, h * block, w * block))
    else:
        if h % block or w % block:
            raise Malformed(f"{h} by {w} in blocks of {block}")
        n.give_first(f"tc_space_to_depth({x}, {block})", x.dtype, (b, c * block * block, h // block, w // block))


@op("SHAPE", versions=1)
def shape(n: Node) -> None:
    x = n.input(0)
    n.ignore("dtype")
    n.know(x.shape, n.importer.dtype(n.output()), (x.rank,))


@op("RANK", versions=1)
def rank(n: Node) -> None:
    n.know((wrap(n.input(0).rank),), n.importer.dtype(n.output()), ())


@op("REVERSE_V2", versions=3)
def reverse(n: Node) -> None:
    x, axes = n.input(0), n.integers(1, "the axes")
    n.same_scale()
    listed = sorted({n.axis(a, x.rank) for a in axes})
    if listed:
        n.give(f"tc_flip({x}, {', '.join(map(str, listed))})", x.dtype, x.shape)
    else:
        n.hand_on()


@op(ROW_UPDATE, versions=1)
def row_update(n: Node) -> None:
    x, row, at = n.input(0), n.input(1), n.input(2)
    if x.rank != row.rank or [*x.shape[1:]] != [*row.shape[1:]] or x.dtype != row.dtype or at.rank:
        raise Malformed("a row of another type or size than the list's")
    n.give(f"tc_index_copy({x}, 0, tc_reshape({at}, 1), {row})", x.dtype, x.shape)


@op("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", versions=4)
def blocks(n: Node) -> None:
    """Places of a block become batches, or back: converters write dilated convolutions of an open batch so. Axes behind
    the batch are padded before, or cropped behind."""
    x, block, sides = n.input(0), n.integers(1, "the block"), n.integers(2, "the sides")
    count = len(block)
    if not 0 < count < x.rank or len(sides) != 2 * count or any(b < 1 for b in block) or any(s < 0 for s in sides):
        raise Malformed(f"blocks of {list(block)} in {x.rank} axes")
    n.same_scale()
    spatial, rest, area = range(1, count + 1), x.shape[count + 1:], math.prod(block)
    if n.name == "SPACE_TO_BATCH_ND":
        text, fill = f"{x}", n.quantized(0).zero if n.is_integer else 0
        sizes = [x.shape[a] + sides[2 * a - 2] + sides[2 * a - 1] for a in spatial]
        for a in spatial:
            if any(sides[2 * a - 2:2 * a]):
                text = f"tc_pad_axis({text}, {a}, {sides[2 * a - 2]}, {sides[2 * a - 1]}, {fill})"
        parts = [p for s, b in zip(sizes, block) if (p := exact_div(s, b)) is not None]
        if len(parts) != count:
            n.refuse("sizes that are no multiples of the block")
        split = [x.shape[0], *[s for p, b in zip(parts, block) for s in (p, wrap(b))], *rest]
        order = [*[2 * a for a in spatial], 0, *[2 * a - 1 for a in spatial], *range(2 * count + 1, len(split))]
        shape = [x.shape[0] * area, *parts, *rest]
        n.give(_regrouped(n, text, split, order, shape), x.dtype, shape)
        return
    batch = exact_div(x.shape[0], area)
    if batch is None:
        n.refuse("a batch that is no multiple of the block")
    split = [*map(wrap, block), batch, *x.shape[1:]]
    order = [count, *[a for i in range(count) for a in (count + 1 + i, i)], *range(2 * count + 1, len(split))]
    whole = [x.shape[a] * b for a, b in zip(spatial, block)]
    shape = [batch, *whole, *rest]
    text = _regrouped(n, f"{x}", split, order, shape)
    for a in spatial:
        low, high = sides[2 * a - 2:2 * a]
        if low or high:
            text = f"tc_slice({text}, {a}, {low}, {n.importer.dims.c(whole[a - 1] - high)})"
            shape[a] = whole[a - 1] - low - high
    n.give(text, x.dtype, shape)


def _regrouped(n: Node, text: str, split: Sequence[Expr], order: Sequence[int], shape: Sequence[Expr]) -> str:
    return f"tc_reshape(tc_permute(tc_reshape({text}, {n.dim_list(split)}), {', '.join(map(str, order))}), " \
           f"{n.dim_list(shape)})"
