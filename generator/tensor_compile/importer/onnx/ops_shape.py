# SPDX-License-Identifier: Apache-2.0
"""Shapes: what asks for sizes, and what moves elements by them."""
from __future__ import annotations

import math

from ...symbolic import Expr, equal, exact_div, floordiv, maximum, minimum, product, wrap
from ..dims import Shape, broadcast, ceildiv, constants
from ..values import INTEGERS, Element, Value, taken
from .registry import Node, only, op
from ..problems import Malformed

# -- sizes as values ---------------------------------------------------------------------------------------------------


@op("Shape")
def shape(n: Node) -> None:
    x = n.input(0)
    start, end = n.integer("start", 0), n.integer("end", x.rank)
    start, end = (max(0, min(x.rank, v + x.rank if v < 0 else v)) for v in (start, end))
    part = x.shape[start:end]
    n.give_elements(part, "i64", (len(part),))


@op("Size")
def size(n: Node) -> None:
    n.give_elements([product(n.input(0).shape)], "i64", ())


@op("Constant")
def constant(n: Node) -> None:
    t = n.tensor("value")
    if t is not None:
        value = n.importer.source.value(t, n.outputs[0])
        value.hint = n.outputs[0]
        n.give(n.importer.program.add(value))
    elif n.has("value_float"):
        n.give_elements([n.real("value_float")], "f32", ())
    elif n.has("value_floats"):
        found = n.reals("value_floats") or []
        n.give_elements(found, "f32", (len(found),))
    elif n.has("value_int"):
        n.give_elements([n.integer("value_int")], "i64", ())
    elif n.has("value_ints"):
        ints = n.ints("value_ints") or []
        n.give_elements(ints, "i64", (len(ints),))
    elif not n.attributes:
        raise Malformed("it has no value")


@op("ConstantOfShape")
def constant_of_shape(n: Node) -> None:
    sizes = n.sizes(n.input(0), "the shape")
    t = n.tensor("value")
    if t is None:
        dtype, element = "f32", 0.0
    else:
        made = n.importer.source.value(t)
        single = made.single
        if single is None:
            raise Malformed("its value is not one number")
        dtype, element = made.dtype, single  # type: ignore[assignment]
    value = n.value(dtype, sizes, n.outputs[0])
    value.splat = element
    count = constants(value.shape)
    if dtype in INTEGERS and len(sizes) <= 1 and count is not None and math.prod(count) <= 64:
        value.elements = (element,) * math.prod(count)  # shapes are made of it
    n.give(value)


@op("Range")
def range_(n: Node) -> None:
    start, limit, delta = (n.input(i) for i in range(3))
    dtype = n.same_dtype(start, limit, delta)
    if dtype in INTEGERS:
        a, b = n.size(start, "the start"), n.size(limit, "the limit")
        step = only(n.whole(delta, "the step"), "the step")
        if not step:
            raise Malformed("a step of 0")
        count = floordiv(b - a + step - 1, wrap(step)) if step > 0 else floordiv(a - b - step - 1, wrap(-step))
        count = maximum(count, wrap(0))
        if count.is_const and count.value <= 64:
            n.give_elements([a + i * step for i in range(count.value)], dtype, (count,))
            return
        if equal(a, 0) and step == 1:
            n.result(f"tc_arange(g, TC_{dtype.upper()}, {n.dim(b)})", dtype, (count,))
        else:
            n.result(f"tc_arange_step(g, TC_{dtype.upper()}, {n.dim(a)}, {n.dim(b)}, {step})", dtype, (count,))
        return
    numbers = [only(n.elements(v, what), what)
               for v, what in ((start, "the start"), (limit, "the limit"), (delta, "the step"))]
    if any(isinstance(e, Expr) and not e.is_const for e in numbers):
        _range_of_sizes(n, numbers, dtype)
        return
    first, last, by = (float(e.value if isinstance(e, Expr) else e) for e in numbers)
    if not by:
        raise Malformed("a step of 0")
    total = max(math.ceil((last - first) / by), 0)
    n.result(f"tc_add(tc_mul(tc_arange(g, TC_{dtype.upper()}, {total}), {by}), {first})", dtype, (total,))


def _range_of_sizes(n: Node, numbers: list[Element], dtype: str) -> None:
    """A range of floats whose ends are sizes."""
    if any(isinstance(e, float) and not e.is_integer() for e in numbers):
        n.refuse("a range of floats whose ends are sizes, with a fraction")
    first, last, by = (e if isinstance(e, Expr) else wrap(int(e)) for e in numbers)
    if not by.is_const or not first.is_const or by.value < 1:
        n.refuse("a range of floats that begins at a size, or whose step is none or a size")
    count = maximum(ceildiv(last - first, by), wrap(0))
    text = f"tc_arange(g, TC_{dtype.upper()}, {n.dim(count)})"
    text = text if by.value == 1 else f"tc_mul({text}, {float(by.value)})"
    n.result(text if not first.value else f"tc_add({text}, {float(first.value)})", dtype, (count,))


# -- reshaping ---------------------------------------------------------------------------------------------------------

def reshape_to(n: Node, x: Value, target: Shape) -> None:
    """Output 0 is x in another shape; known elements stay known."""
    if x.folded is not None:
        n.give_elements(x.folded, x.dtype, target)
    elif x.shape == target:
        n.give(x)
    else:
        text = f"tc_reshape({x}, {n.dim_list(target)})" if target else f"tc_reshape_scalar({x})"
        n.result(text, x.dtype, target)


@op("Reshape")
def reshape(n: Node) -> None:
    x = n.input(0)
    asked = [wrap(s) for s in n.ints("shape") or []] if n.opset < 5 else n.sizes(n.input(1), "the shape")
    keeps_zero = n.integer("allowzero", 0)
    n.ints("consumed_inputs")
    target: list[Expr] = []
    for i, s in enumerate(asked):
        if equal(s, 0) and not keeps_zero:
            if i >= x.rank:
                raise Malformed(f"size {i} is 0, which stands for one of the input's {x.rank} sizes")
            s = x.shape[i]
        target.append(s)
    open_axes = [i for i, s in enumerate(target) if equal(s, -1)]
    if len(open_axes) > 1:
        raise Malformed("two sizes are -1")
    if open_axes:
        rest = product(s for i, s in enumerate(target) if i not in open_axes)
        total = product(x.shape)
        found = None if equal(rest, 0) else exact_div(total, rest)
        if found is None:
            if total.is_const and rest.is_const and (not rest.value or total.value % rest.value):
                raise Malformed(f"{total} elements do not fit {asked}")
            found = floordiv(total, rest)
        target[open_axes[0]] = found
    reshape_to(n, x, tuple(target))


@op("Flatten")
def flatten(n: Node) -> None:
    x = n.input(0)
    axis = n.integer("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    if not 0 <= axis <= x.rank:
        raise Malformed(f"axis {axis} of a tensor of rank {x.rank}")
    target = (product(x.shape[:axis]), product(x.shape[axis:]))
    if axis == 1 and x.rank > 1:
        n.result(f"tc_flatten({x}, 1)", x.dtype, target)
    else:
        reshape_to(n, x, target)


def _axes(n: Node, since: int = 13) -> list[int] | None:
    """The axes, an attribute at first and an input later."""
    if n.opset < since:
        return n.ints("axes")
    value = n.optional(1)
    return None if value is None else n.whole(value, "the axes")


@op("Squeeze")
def squeeze(n: Node) -> None:
    x = n.input(0)
    given = _axes(n)
    axes = [i for i, s in enumerate(x.shape) if equal(s, 1)] if given is None else n.axes(given, x.rank)
    target = tuple(s for i, s in enumerate(x.shape) if i not in axes)
    if x.folded is not None or not axes:
        reshape_to(n, x, target)
    elif len(axes) == 1:
        n.result(f"tc_squeeze({x}, {axes[0]})", x.dtype, target)
    else:
        n.result(f"tc_squeeze_axes({x}, {', '.join(map(str, sorted(axes)))})", x.dtype, target)


@op("Unsqueeze")
def unsqueeze(n: Node) -> None:
    x = n.input(0)
    given = _axes(n)
    if given is None:
        raise Malformed("it has no axes")
    axes = sorted(n.axes(given, x.rank + len(given)))
    target = list(x.shape)
    for a in axes:
        target.insert(a, wrap(1))
    if x.folded is None and len(axes) == 1:
        n.result(f"tc_unsqueeze({x}, {axes[0]})", x.dtype, target)
    else:
        reshape_to(n, x, tuple(target))


@op("Transpose")
def transpose(n: Node) -> None:
    x = n.input(0)
    perm = n.ints("perm")
    if perm is None:
        perm = list(reversed(range(x.rank)))
    perm = n.axes(perm, x.rank)
    if len(perm) != x.rank:
        raise Malformed(f"perm has {len(perm)} axes of {x.rank}")
    if perm == sorted(perm):
        n.give(x)
        return
    target = [x.shape[p] for p in perm]
    if x.folded is not None and (sizes := constants(target)) is not None:
        back = [perm.index(i) for i in range(x.rank)]
        n.give_elements(taken(x, tuple(sizes), lambda index: [index[b] for b in back]), x.dtype, target)
        return
    moved = [i for i, p in enumerate(perm) if p != i]
    text = f"tc_transpose({x}, {moved[0]}, {moved[1]})" if len(moved) == 2 else \
        f"tc_permute({x}, {', '.join(map(str, perm))})"
    n.result(text, x.dtype, target)


@op("Expand")
def expand(n: Node) -> None:
    x = n.input(0)
    asked = tuple(n.sizes(n.input(1), "the shape"))
    target = broadcast(x.shape, asked)
    if target is None:
        raise Malformed(f"{list(x.shape)} does not expand to {list(asked)}")
    if target == x.shape:
        n.give(x)
    elif x.splat is not None:
        value = n.value(x.dtype, target, n.outputs[0])
        value.splat = x.splat
        n.give(value)
    elif x.folded is not None and len(x.folded) == 1 and len(target) == 1 and target[0].is_const \
            and target[0].value <= 64:
        n.give_elements(x.folded * target[0].value, x.dtype, target)
    else:
        n.result(f"tc_expand({x}, {n.dim_list(target)})", x.dtype, target)


@op("Tile")
def tile(n: Node) -> None:
    x = n.input(0)
    if n.opset < 6:
        times, axis = n.size(n.input(1), "tiles"), only(n.whole(n.input(2), "axis"), "axis")
        repeats = [times if i == n.axis(axis, x.rank) else wrap(1) for i in range(x.rank)]
    else:
        repeats = n.sizes(n.input(1), "the repeats")
    if len(repeats) != x.rank:
        raise Malformed(f"{len(repeats)} repeats of {x.rank} axes")
    target = [s * r for s, r in zip(x.shape, repeats)]
    # [a, b] -> [1, a, 1, b] -> [r, a, q, b] -> [r*a, q*b]
    tiled = [i for i, r in enumerate(repeats) if not equal(r, 1)]
    if not tiled:
        n.give(x)
        return
    current: Value = x
    shape = list(x.shape)
    for done, i in enumerate(tiled):
        at = i + done
        current = n.let(f"tc_unsqueeze({current}, {at})", x.dtype, [*shape[:at], 1, *shape[at:]])
        shape.insert(at, wrap(1))
    wide = list(shape)
    for done, i in enumerate(tiled):
        wide[i + done] = repeats[i]
    if len(wide) > 8:
        n.refuse("more than 8 axes with those of the repeats")
    n.result(f"tc_reshape(tc_expand({current}, {n.dim_list(wide)}), {n.dim_list(target)})", x.dtype, target)


# -- joining and parting -----------------------------------------------------------------------------------------------

@op("Concat")
def concat(n: Node) -> None:
    values = [n.input(i) for i in range(len(n.inputs))]
    if not values:
        raise Malformed("it has no inputs")
    dtype = n.same_dtype(*values)
    axis = n.axis(n.integer("axis", 1 if n.opset < 4 else None), values[0].rank)
    total = values[0].shape[axis]
    for v in values[1:]:
        if v.rank != values[0].rank:
            raise Malformed("its inputs differ in rank")
        total = total + v.shape[axis]
    target = [*values[0].shape[:axis], total, *values[0].shape[axis + 1:]]
    if values[0].rank == 1 and all(v.folded is not None for v in values):
        n.give_elements([e for v in values for e in v.folded or ()], dtype, target)
        return
    values = [v for v in values if not equal(v.shape[axis], 0)] or values[:1]
    if len(values) == 1:
        n.give(values[0])
        return
    n.result(f"tc_concat({axis}, {', '.join(f'{v}' for v in values)})", dtype, target)


@op("Split")
def split(n: Node) -> None:
    x = n.input(0)
    axis = n.axis(n.integer("axis", 0), x.rank)
    count = len(n.outputs)
    asked = n.ints("split")
    given = n.optional(1)
    total = x.shape[axis]
    number = n.integer("num_outputs", count)
    if number != count:
        raise Malformed(f"num_outputs is {number}, and it has {count} outputs")
    if given is not None:
        sizes = n.sizes(given, "the sizes")
    elif asked is not None:
        sizes = [wrap(s) for s in asked]
    elif total.is_const and total.value % count:
        part = -(-total.value // count)
        sizes = [wrap(min(part, max(total.value - i * part, 0))) for i in range(count)]
    else:
        part_size = exact_div(total, count)
        if part_size is None:
            part_size = floordiv(total, wrap(count))
        sizes = [part_size] * count
    if len(sizes) != count:
        raise Malformed(f"{len(sizes)} sizes of {count} outputs")
    if x.folded is not None and x.rank == 1 and (numbers := constants(sizes)) is not None:
        at = 0
        for i, s in enumerate(numbers):
            n.give_elements(x.folded[at:at + s], x.dtype, (s,), i)
            at += s
        return
    types = [(x.dtype, [*x.shape[:axis], s, *x.shape[axis + 1:]]) for s in sizes]
    if count == 1:
        n.give(x)
    elif all(s is sizes[0] for s in sizes):
        n.results(f"tc_split({x}, {axis}, {count}, {{array}})", types)
    else:
        n.results(f"tc_split_sizes({x}, {axis}, {{array}}, {n.dim_list(sizes)})", types)


def bound(value: Expr, size: Expr, low: int, high: Expr) -> Expr:
    """A bound of a slice as ONNX takes it: from the end where it is negative, then within low..high."""
    lo, hi = value.range()
    if value.is_const:
        value = value if value.value >= 0 else value + size
    elif hi is not None and hi < 0:
        value = value + size
    return minimum(maximum(value, wrap(low)), high)


@op("Slice")
def slice_(n: Node) -> None:
    x = n.input(0)
    steps: list[int] = []
    if n.opset < 10:
        starts, ends = ([wrap(v) for v in n.ints(name) or []] for name in ("starts", "ends"))
        axes = n.ints("axes")
    else:
        starts, ends = n.sizes(n.input(1), "starts"), n.sizes(n.input(2), "ends")
        given = n.optional(3)
        axes = None if given is None else n.whole(given, "the axes")
        by = n.optional(4)
        steps = [] if by is None else n.whole(by, "the steps")
    axes = list(range(len(starts))) if axes is None else axes
    axes = n.axes(axes, x.rank)
    steps = steps or [1] * len(axes)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Malformed("starts, ends, axes and steps differ in number")
    first, by_axis = [0] * x.rank, [1] * x.rank
    text, target = f"{x}", list(x.shape)
    changed = False
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if not step:
            raise Malformed("a step of 0")
        total = x.shape[axis]
        if step > 0:
            a, b = bound(start, total, 0, total), bound(end, total, 0, total)
            count = maximum(floordiv(b - a + step - 1, wrap(step)), wrap(0))
        else:
            # From the end: the elements a, a + step, … above b, which is -1 where everything is taken.
            a = bound(start, total, 0, total - 1)
            far = end.is_const and end.value < 0 and (not total.is_const or end.value < -total.value)
            b = wrap(-1) if far and (end.value < -(1 << 31) or total.is_const) else bound(end, total, -1, total - 1)
            count = maximum(floordiv(a - b - step - 1, wrap(-step)), wrap(0))
        if equal(count, total) and step == 1:
            continue
        changed = True
        first[axis], by_axis[axis] = a.value if a.is_const else -1, step
        target[axis] = count
        text = _sliced(n, text, axis, a, b, count, total, step)
    if not changed:
        n.give(x)
    elif x.folded is not None and min(first, default=0) >= 0 and (sizes := constants(target)) is not None:
        n.give_elements(taken(x, tuple(sizes), lambda index: [f + i * s for f, i, s in zip(first, index, by_axis)]),
                        x.dtype, target)
    else:
        n.result(text, x.dtype, target)


def _sliced(n: Node, text: str, axis: int, a: Expr, b: Expr, count: Expr, total: Expr, step: int) -> str:
    if equal(count, 0):
        return f"tc_slice({text}, {axis}, 0, 0)"
    if step == 1:
        end = "TC_END" if equal(b, total) else n.dim(maximum(a, b))
        return f"tc_slice({text}, {axis}, {n.dim(a)}, {end})"
    if step > 0:
        end = "TC_END" if equal(b, total) else n.dim(maximum(a, b))
        return f"tc_slice_step({text}, {axis}, {n.dim(a)}, {end}, {step})"
    # Element i of the reversed axis is element total - 1 - i.
    first, last = total - 1 - a, total - 1 - b
    turned = f"tc_flip({text}, {axis})"
    if equal(first, 0) and equal(last, total) and step == -1:
        return turned
    end = "TC_END" if equal(last, total) else n.dim(maximum(first, last))
    if step == -1:
        return f"tc_slice({turned}, {axis}, {n.dim(first)}, {end})"
    return f"tc_slice_step({turned}, {axis}, {n.dim(first)}, {end}, {-step})"


@op("Pad")
def pad(n: Node) -> None:
    x = n.input(0)
    mode = n.text("mode", "constant")
    value: Value | None = None
    if n.opset < 11:
        pads = [wrap(p) for p in (n.ints("pads") if n.has("pads") else n.ints("paddings")) or []]
        fill: str = str(n.real("value", 0.0))
        axes = list(range(x.rank))
    else:
        pads = n.sizes(n.input(1), "the pads")
        value, given = n.optional(2), n.optional(3)
        fill = "0" if value is None else n.operand(value, x) if value.single is not None else \
            f"tc_reshape_scalar({value})" if value.rank else f"{value}"
        axes = list(range(x.rank)) if given is None else n.axes(n.whole(given, "the axes"), x.rank)
    if len(pads) != 2 * len(axes):
        raise Malformed(f"{len(pads)} pads of {len(axes)} axes")
    low, high = [wrap(0)] * x.rank, [wrap(0)] * x.rank
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[i + len(axes)]
    target = [s + a + b for s, a, b in zip(x.shape, low, high)]
    text = f"{x}"
    # Negative pads take elements away.
    for axis in range(x.rank):
        a, b = low[axis], high[axis]
        if a.is_const and a.value < 0 or b.is_const and b.value < 0:
            start = -a if a.is_const and a.value < 0 else wrap(0)
            stop = x.shape[axis] + b if b.is_const and b.value < 0 else x.shape[axis]
            text = f"tc_slice({text}, {axis}, {n.dim(start)}, {n.dim(stop)})"
            low[axis], high[axis] = (wrap(0) if p.is_const and p.value < 0 else p for p in (a, b))
    padded = [i for i in range(x.rank) if not (equal(low[i], 0) and equal(high[i], 0))]
    if not padded:
        n.give(x) if text == f"{x}" else n.result(text, x.dtype, target)
        return
    if mode == "constant":
        if fill in ("0", "0.0") and constants(low + high) is not None and len(padded) > 1:
            n.result(f"tc_pad({text}, {_pads(low, high)})", x.dtype, target)
            return
        number = value is None or value.single is not None
        padded_text = text
        for axis in padded:
            around = f"{n.dim(low[axis])}, {n.dim(high[axis])}"
            padded_text = f"tc_pad_axis({padded_text}, {axis}, {around}, {fill if number else 0})"
        if number:
            n.result(padded_text, x.dtype, target)
            return
        # The value is known at run time: it stands wherever nothing of x does.
        inside = f"tc_full(g, 1, TC_BOOL, {n.dim_list([s - a - b for s, a, b in zip(target, low, high)])})"
        for axis in padded:
            inside = f"tc_pad_axis({inside}, {axis}, {n.dim(low[axis])}, {n.dim(high[axis])}, 0)"
        n.result(f"tc_where({inside}, {padded_text}, {fill})", x.dtype, target)
        return
    function = {"reflect": "tc_pad_reflect", "edge": "tc_pad_replicate", "wrap": "tc_pad_circular"}.get(mode)
    if function is None:
        n.refuse(f"mode={mode!r}")
    if constants(low + high) is None:
        n.refuse(f"mode={mode!r} with pads that depend on dims")
    n.result(f"{function}({text}, {_pads(low, high)})", x.dtype, target)


def _pads(low: list[Expr], high: list[Expr]) -> str:
    return ", ".join(f".{name} = {{{', '.join(map(str, constants(values) or []))}}}"
                     for name, values in (("low", low), ("high", high)))


# -- rearranging -------------------------------------------------------------------------------------------------------

@op("DepthToSpace")
def depth_to_space(n: Node) -> None:
    x = n.input(0)
    b = n.integer("blocksize")
    mode = n.text("mode", "DCR")
    if x.rank != 4 or b < 1:
        raise Malformed("x is no batch of images, or the block has no size")
    c = exact_div(x.shape[1], b * b)
    if c is None:
        raise Malformed(f"{x.shape[1]} channels of blocks of {b}")
    function = "tc_pixel_shuffle" if mode == "CRD" else "tc_depth_to_space"
    n.result(f"{function}({x}, {b})", x.dtype, (x.shape[0], c, x.shape[2] * b, x.shape[3] * b))


@op("SpaceToDepth")
def space_to_depth(n: Node) -> None:
    x = n.input(0)
    b = n.integer("blocksize")
    if x.rank != 4 or b < 1:
        raise Malformed("x is no batch of images, or the block has no size")
    h, w = (exact_div(s, b) or floordiv(s, wrap(b)) for s in x.shape[2:])
    n.result(f"tc_space_to_depth({x}, {b})", x.dtype, (x.shape[0], x.shape[1] * b * b, h, w))


@op("Trilu")
def trilu(n: Node) -> None:
    x = n.input(0)
    k = n.optional(1)
    diagonal = n.whole(k, "the diagonal")[0] if k is not None else 0
    limit = (1 << 31) - 1
    diagonal = max(-limit, min(limit, diagonal))
    n.result(f"tc_{'triu' if n.integer('upper', 1) else 'tril'}({x}, {diagonal})", x.dtype, x.shape)


@op("EyeLike")
def eye_like(n: Node) -> None:
    x = n.input(0)
    dtype, k = n.dtype("dtype", x.dtype), n.integer("k", 0)
    if x.rank != 2:
        raise Malformed("x is no matrix")
    rows, columns = x.shape
    name = f"TC_{dtype.upper()}"
    if not k:
        n.result(f"tc_eye(g, {name}, {n.dim_list(x.shape)})", dtype, x.shape)
        return
    row = f"tc_unsqueeze(tc_arange(g, TC_I64, {n.dim(rows)}), 1)"
    n.result(f"tc_cast(tc_eq(tc_sub(tc_arange(g, TC_I64, {n.dim(columns)}), {row}), {k}), {name})", dtype, x.shape)

