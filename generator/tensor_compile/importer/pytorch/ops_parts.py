# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors, and tensors of parts: slices, splits, concatenation, padding."""
from __future__ import annotations

from ...symbolic import Expr, equal, is_nonnegative, maximum, minimum, wrap
from ..problems import Malformed
from ..values import Value, braces
from .registry import Node, op

_END = (1 << 63) - 1


def clamped(at: Expr, size: Expr) -> Expr:
    """PyTorch's bound of a slice: counted from the end where it is negative, then moved into the axis."""
    if at.is_const and at.value >= _END:
        return size
    if is_nonnegative(-at - 1):
        at = at + size
        return at if is_nonnegative(at) else maximum(at, wrap(0))
    if is_nonnegative(size - at):
        return at
    return size if is_nonnegative(at - size) else minimum(at, size)


def bounds(n: Node, x: Value) -> tuple[int, Expr, Expr, int]:
    """The axis, the bounds within it and the step of a slice."""
    axis = n.axis("dim", x.rank, 0)
    size = x.shape[axis]
    start = clamped(n.size("start", 0), size)
    stop = clamped(n.size("end", _END), size)
    if not is_nonnegative(stop - start):
        stop = start if is_nonnegative(start - stop) else maximum(stop, start)
    step = n.integer("step", 1)
    if step < 1:
        raise Malformed(f"a step of {step}")
    return axis, start, stop, step


@op("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(n: Node) -> None:
    x = n.tensor("self")
    axis, start, stop, step = bounds(n, x)
    if equal(start, 0) and equal(stop, x.shape[axis]) and step == 1:
        n.give(x)
    elif step == 1:
        n.result(f"tc_slice({x}, {axis}, {n.dim(start)}, {_stop(n, stop, x.shape[axis])})")
    else:
        n.result(f"tc_slice_step({x}, {axis}, {n.dim(start)}, {_stop(n, stop, x.shape[axis])}, {step})")


def _stop(n: Node, stop: Expr, size: Expr) -> str:
    return "TC_END" if equal(stop, size) else n.dim(stop)


@op("aten.narrow.default")
def narrow(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_narrow({x}, {n.axis('dim', x.rank)}, {n.dim(n.size('start'))}, {n.dim(n.size('length'))})")


@op("aten.select.int", "aten.select_copy.int")
def select(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_select({x}, {n.axis('dim', x.rank)}, {n.dim(n.size('index'))})")


@op("aten.split.Tensor", "aten.split_copy.Tensor", "aten.chunk.default", "aten.split_with_sizes.default",
    "aten.split.sizes",
    "aten.split_with_sizes_copy.default", "aten.tensor_split.sections", "aten.tensor_split.indices",
    "aten.unsafe_split.Tensor", "aten.unsafe_chunk.default", "aten.hsplit.int", "aten.vsplit.int")
def split(n: Node) -> None:
    """The archive says how large each part is."""
    n.ignore("split_size", "split_sizes", "chunks", "sections", "indices", "split_size_or_sections")
    x = n.tensor("self")
    axis = n.axis("dim", x.rank, 0)
    sizes = [kind.shape[axis] for kind in n.results]
    if len(sizes) == 1:
        n.give(x)
    elif all(equal(s, sizes[0]) for s in sizes) and len(sizes) * sizes[0] == x.shape[axis]:
        n.array(f"tc_split({x}, {axis}, {len(sizes)}, {{array}})")
    else:
        start = wrap(0)
        for s in sizes:
            n.result(f"tc_slice({x}, {axis}, {n.dim(start)}, {_stop(n, start + s, x.shape[axis])})")
            start = start + s


@op("aten.unbind.int", "aten.unbind_copy.int")
def unbind(n: Node) -> None:
    x = n.tensor("self")
    n.array(f"tc_unbind({x}, {n.axis('dim', x.rank, 0)}, {len(n.results)}, {{array}})")


@op("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(n: Node) -> None:
    """Empty vectors beside tensors of more axes count for nothing."""
    parts = n.tensors("tensors")
    axis = n.axis("dim", n.type.shape and len(n.type.shape) or 1, 0)
    parts = [p for p in parts if not (p.rank == 1 and p.shape[0] == 0 and len(n.type.shape) != 1)]
    texts = [n.as_dtype(p, n.type.dtype) for p in parts]
    n.result(f"tc_concat({axis}, {', '.join(texts)})" if len(texts) > 1 else texts[0])


@op("aten.stack.default", "aten.hstack.default", "aten.vstack.default", "aten.column_stack.default")
def stack(n: Node) -> None:
    parts = [n.as_dtype(p, n.type.dtype) for p in n.tensors("tensors")]
    if n.target == "aten.stack.default":
        n.result(f"tc_stack({n.counted(n.integer('dim', 0), len(n.type.shape))}, {', '.join(parts)})")
        return
    rank = len(n.type.shape)
    axis = 0 if "vstack" in n.target or rank == 1 else 1
    n.result(f"tc_concat({axis}, {', '.join(parts)})")


@op("aten.slice_scatter.default")
def slice_scatter(n: Node) -> None:
    x = n.tensor("self")
    axis, start, stop, step = bounds(n, x)
    n.result(f"tc_slice_scatter({x}, {n.tensor('src')}, {axis}, {n.dim(start)}, {n.dim(stop)}, {step})")


@op("aten.select_scatter.default")
def select_scatter(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_select_scatter({x}, {n.tensor('src')}, {n.axis('dim', x.rank)}, {n.dim(n.size('index'))})")


@op("aten.diagonal_scatter.default")
def diagonal_scatter(n: Node) -> None:
    x = n.tensor("self")
    if x.rank != 2 or n.integer("dim1", 0) % 2 != 0 or n.integer("dim2", 1) % 2 != 1:
        n.refuse("a diagonal of other axes than the two of a matrix")
    n.result(f"tc_diagonal_scatter({x}, {n.tensor('src')}, {n.integer('offset', 0)})")


@op("aten.constant_pad_nd.default", "aten.pad.default", "aten.reflection_pad1d.default",
    "aten.reflection_pad2d.default",
    "aten.reflection_pad3d.default", "aten.replication_pad1d.default", "aten.replication_pad2d.default",
    "aten.replication_pad3d.default", "aten._pad_enum.default", "aten._pad_circular.default")
def pad(n: Node) -> None:
    """PyTorch counts the axes of a padding from the last one; a negative padding cuts off."""
    x = n.tensor("self")
    amounts = n.sizes("padding" if n.target.split(".")[1].startswith(("reflection", "replication")) else "pad")
    mode = n.text("mode", "constant") if n.target == "aten.pad.default" else \
        "reflect" if "reflection" in n.target else "replicate" if "replication" in n.target else \
        "circular" if "circular" in n.target else "constant"
    value = n.argument("value", 0)
    pairs = [(axis, amounts[2 * i], amounts[2 * i + 1]) for i, axis in
             zip(range(len(amounts) // 2), range(x.rank - 1, -1, -1))]
    text, shape = f"{x}", list(x.shape)
    for axis, low, high in pairs:
        cut_low, cut_high = is_nonnegative(-low - 1), is_nonnegative(-high - 1)
        if cut_low or cut_high:
            start = -low if cut_low else wrap(0)
            stop = shape[axis] + high if cut_high else shape[axis]
            text = f"tc_slice({text}, {axis}, {n.dim(start)}, {_stop(n, stop, shape[axis])})"
            shape[axis] = stop - start
    added = [(axis, low if is_nonnegative(low) else wrap(0), high if is_nonnegative(high) else wrap(0))
             for axis, low, high in pairs]
    added = [(axis, low, high) for axis, low, high in added if not (equal(low, 0) and equal(high, 0))]
    if not added:
        if text == f"{x}":
            n.give(x)
        else:
            n.result(text)
        return
    constant = all(low.is_const and high.is_const for _, low, high in added)
    if mode == "constant":
        number = n.operand(value, x.dtype)
        if constant:
            n.result(f"tc_pad({text}, {_both_sides(x.rank, added)}, .value = {number})")
            return
        for axis, a, b in sorted(added):
            text = f"tc_pad_axis({text}, {axis}, {n.dim(a)}, {n.dim(b)}, {number})"
        n.result(text)
        return
    if mode not in ("reflect", "replicate", "circular") or not constant:
        n.refuse(f"padding {mode} by sizes" if not constant else f"padding {mode}")
    n.result(f"tc_pad_{mode}({text}, {_both_sides(x.rank, added)})")


def _both_sides(rank: int, added: list[tuple[int, Expr, Expr]]) -> str:
    """The options of a padding by constants."""
    before, behind = [0] * rank, [0] * rank
    for axis, a, b in added:
        before[axis], behind[axis] = a.value, b.value
    return f".low = {braces(before)}, .high = {braces(behind)}"


@op("aten.unfold.default")
def unfold(n: Node) -> None:
    """Windows along an axis, as a last axis."""
    x = n.tensor("self")
    axis = n.axis("dimension", x.rank)
    n.result(f"tc_sliding({x}, {axis}, {n.integer('size')}, {n.integer('step')})")


@op("aten.as_strided.default")
def as_strided(n: Node) -> None:
    n.refuse("strides", "export with operations that name what they take (slice, unfold, diagonal)")


@op("aten.diagonal.default", "aten.diagonal_copy.default", "aten.linalg_diagonal.default")
def diagonal(n: Node) -> None:
    """The DSL's diagonal is of the last two axes."""
    x = n.tensor("self")
    last = n.target == "aten.linalg_diagonal.default"
    a = n.counted(n.integer("dim1", -2 if last else 0), x.rank)
    b = n.counted(n.integer("dim2", -1 if last else 1), x.rank)
    order = [*(i for i in range(x.rank) if i not in (a, b)), a, b]
    text = f"{x}" if order == list(range(x.rank)) else f"tc_permute({x}, {', '.join(map(str, order))})"
    n.result(f"tc_diagonal({text}, {n.integer('offset', 0)})")


@op("aten.diag.default")
def diag(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_{'diag' if x.rank == 1 else 'diagonal'}({x}, {n.integer('diagonal', 0)})")


@op("aten.diag_embed.default")
def diag_embed(n: Node) -> None:
    x = n.tensor("self")
    a, b = (n.counted(n.integer(name, default), x.rank + 1) for name, default in (("dim1", -2), ("dim2", -1)))
    if (a, b) != (x.rank - 1, x.rank):
        n.refuse("diagonals of other axes than the last two")
    n.result(f"tc_diag({x}, {n.integer('offset', 0)})")


@op("aten.diff.default")
def diff(n: Node) -> None:
    """Differences of neighbours, n times; what is to stand before and behind comes first."""
    x = n.tensor("self")
    times, axis = n.integer("n", 1), n.axis("dim", x.rank, -1)
    parts = [v for v in (n.optional("prepend"), x, n.optional("append")) if v is not None]
    size = parts[0].shape[axis]
    for part in parts[1:]:
        size = size + part.shape[axis]
    shape = [*x.shape[:axis], size, *x.shape[axis + 1:]]
    value = x if len(parts) == 1 else n.let(f"tc_concat({axis}, {', '.join(f'{p}' for p in parts)})", x.dtype, shape)
    for _ in range(times):
        size = size - 1
        shape[axis] = size
        high, low = f"tc_slice({value}, {axis}, 1, TC_END)", f"tc_slice({value}, {axis}, 0, {n.dim(size)})"
        value = n.let(f"tc_ne({high}, {low})" if x.dtype == "bool" else f"tc_sub({high}, {low})", x.dtype, shape)
    n.give(value)
