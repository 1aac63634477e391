# SPDX-License-Identifier: Apache-2.0
"""Other shapes of the same elements."""
from __future__ import annotations

from ...symbolic import equal
from .registry import Node, op


def _shaped(n: Node, x: str) -> None:
    """To the result's shape, which the archive knows."""
    shape = n.type.shape
    n.result(f"tc_reshape({x}, {n.dim_list(shape)})" if shape else f"tc_reshape_scalar({x})")


@op("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.view_copy.default",
    "aten.flatten.using_ints",
    "aten.unflatten.int", "aten.view_as.default", "aten.reshape_as.default", "aten._reshape_alias.default",
    "aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze_copy.dim", "aten.squeeze_copy.dims",
    "aten.atleast_1d.default", "aten.ravel.default")
def reshape(n: Node) -> None:
    n.ignore("size", "shape", "start_dim", "end_dim", "dim", "sizes", "other", "stride")
    x = n.tensor("self")
    if x.shape == n.type.shape:
        n.give(x)
    else:
        _shaped(n, f"{x}")


@op("aten.unsqueeze.default", "aten.unsqueeze_copy.default")
def unsqueeze(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_unsqueeze({x}, {n.counted(n.integer('dim'), x.rank + 1)})")


@op("aten.permute.default", "aten.permute_copy.default")
def permute(n: Node) -> None:
    x = n.tensor("self")
    order = [n.counted(a, x.rank) for a in n.integers("dims")]
    if order == list(range(x.rank)):
        n.give(x)
    else:
        n.result(f"tc_permute({x}, {', '.join(map(str, order))})")


@op("aten.transpose.int", "aten.swapaxes.default", "aten.swapdims.default", "aten.transpose_copy.int")
def transpose(n: Node) -> None:
    x = n.tensor("self")
    names = ("axis0", "axis1") if "swapaxes" in n.target else ("dim0", "dim1")
    a, b = (n.axis(name, x.rank) for name in names)
    if a == b or not x.rank:
        n.give(x)
    else:
        n.result(f"tc_transpose({x}, {a}, {b})")


@op("aten.t.default", "aten.numpy_T.default", "aten.mT.default", "aten.mH.default", "aten.adjoint.default",
    "aten.matrix_H.default")
def matrix_transpose(n: Node) -> None:
    x = n.tensor("self")
    if x.rank < 2:
        n.give(x)
    elif n.target == "aten.numpy_T.default":
        n.result(f"tc_permute({x}, {', '.join(str(i) for i in reversed(range(x.rank)))})")
    else:
        n.result(f"tc_transpose({x}, {x.rank - 2}, {x.rank - 1})")


@op("aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int")
def movedim(n: Node) -> None:
    x = n.tensor("self")
    sources = [n.counted(a, x.rank) for a in n.integers("source")]
    places = [n.counted(a, x.rank) for a in n.integers("destination")]
    order = [a for a in range(x.rank) if a not in sources]
    for place, source in sorted(zip(places, sources, strict=True)):
        order.insert(place, source)
    n.result(f"tc_permute({x}, {', '.join(map(str, order))})")


@op("aten.expand.default", "aten.expand_copy.default", "aten.expand_as.default", "aten.broadcast_to.default")
def expand(n: Node) -> None:
    n.ignore("size", "implicit", "other")
    x = n.tensor("self")
    if x.shape == n.type.shape:
        n.give(x)
    else:
        n.result(f"tc_expand({x}, {n.dim_list(n.type.shape)})")


@op("aten.broadcast_tensors.default")
def broadcast_tensors(n: Node) -> None:
    for x, kind in zip(n.tensors("tensors"), n.results, strict=True):
        if x.shape == kind.shape:
            n.give(x)
        else:
            n.result(f"tc_expand({x}, {n.dim_list(kind.shape)})")


@op("aten.repeat.default", "aten.tile.default")
def repeat(n: Node) -> None:
    x = n.tensor("self")
    times = n.sizes("repeats" if "repeat" in n.target else "dims")
    rank = max(x.rank, len(times))
    times = [*[times[0] * 0 + 1] * (rank - len(times)), *times] if times else []
    text = f"{x}" if x.rank == rank else \
        f"tc_reshape({x}, {', '.join(['1'] * (rank - x.rank) + [n.dim(s) for s in x.shape])})"
    if all(equal(t, 1) for t in times):
        if x.rank == rank:
            n.give(x)
        else:
            n.result(text)
        return
    if all(t.is_const for t in times):
        n.result(f"tc_tile({text}, {n.dim_list(times)})")
        return
    # Times that are sizes: an axis of them beside each, expanded, then joined.
    sizes = [*[times[0] * 0 + 1] * (rank - x.rank), *x.shape]
    apart = ", ".join(f"1, {n.dim(s)}" for s in sizes)
    wide = ", ".join(f"{n.dim(t)}, {n.dim(s)}" for t, s in zip(times, sizes))
    if 2 * rank > 8:
        n.refuse("a repetition by sizes of a tensor of more than four axes")
    n.result(f"tc_reshape(tc_expand(tc_reshape({x}, {apart}), {wide}), {n.dim_list(n.type.shape)})")


@op("aten.flip.default", "aten.fliplr.default", "aten.flipud.default")
def flip(n: Node) -> None:
    x = n.tensor("self")
    axes = {"aten.fliplr.default": [1], "aten.flipud.default": [0]}.get(n.target)
    axes = [n.counted(a, x.rank) for a in n.integers("dims")] if axes is None else axes
    if axes:
        n.result(f"tc_flip({x}, {', '.join(map(str, axes))})")
    else:
        n.give(x)


@op("aten.roll.default")
def roll(n: Node) -> None:
    x = n.tensor("self")
    shifts, axes = n.sizes("shifts"), n.integers("dims", ())
    if not axes:
        flat = f"tc_roll(tc_reshape({x}, -1), {n.dim(shifts[0])}, 0)"
        _shaped(n, flat)
        return
    text = f"{x}"
    for shift, axis in zip(shifts, axes, strict=True):
        text = f"tc_roll({text}, {n.dim(shift)}, {n.counted(axis, x.rank)})"
    n.result(text)


@op("aten.pixel_shuffle.default", "aten.pixel_unshuffle.default", "aten.channel_shuffle.default")
def shuffle(n: Node) -> None:
    name = {"aten.pixel_shuffle.default": "upscale_factor",
            "aten.pixel_unshuffle.default": "downscale_factor"}.get(n.target, "groups")
    n.result(f"tc_{n.target.split('.')[1]}({n.tensor('self')}, {n.integer(name)})")


@op("aten.rot90.default")
def rot90(n: Node) -> None:
    x = n.tensor("self")
    a, b = n.integers("dims", (0, 1))
    n.result(f"tc_rot90({x}, {n.integer('k', 1)}, {n.counted(a, x.rank)}, {n.counted(b, x.rank)})")


@op("aten.repeat_interleave.self_int")
def repeat_interleave(n: Node) -> None:
    x = n.tensor("self")
    n.ignore("output_size")
    times = n.integer("repeats")
    if n.has("dim"):
        n.result(f"tc_repeat_interleave({x}, {times}, {n.axis('dim', x.rank)})")
    else:
        n.result(f"tc_repeat_interleave(tc_reshape({x}, -1), {times}, 0)")
