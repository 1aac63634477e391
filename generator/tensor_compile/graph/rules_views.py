# SPDX-License-Identifier: Apache-2.0
"""Rewrite rules of index maps: views that cancel or merge, and one normal form for what can be written in two ways.

Normal forms: a broadcast of rank > 0 repeats something, and its operand has no dims of size 1; whatever only moves,
adds or removes dims of size 1 is a reshape; a scalar is repeated by broadcast, never by reshape. A rule takes the
builder and a node that is not part of the function yet, and gives the value that stands for it, or None.
"""
from __future__ import annotations

from typing import Any

from ..symbolic import ONE, ZERO, Expr
from .ir import Node, Value
from .rewrite import Builder

Shape = tuple[Expr, ...]


def _squeezed(shape: Shape) -> Shape:
    return tuple(d for d in shape if d is not ONE)


def _same(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


# -- reshape --------------------------------------------------------------------------------------------------------
def reshape_nothing(b: Builder, n: Node) -> Value | None:
    """reshape to the same shape -> x."""
    return n.operands[0] if _same(n.operands[0].shape, n.attrs["shape"]) else None


def reshape_of_reshape(b: Builder, n: Node) -> Value | None:
    """reshape(reshape(x)) -> reshape(x)."""
    inner = n.operands[0].node
    return b.value("reshape", inner.operands[0], like=n, **n.attrs) if inner.op == "reshape" else None


def reshape_of_scalar(b: Builder, n: Node) -> Value | None:
    """reshape of a scalar, or of a scalar repeated -> broadcast of the scalar."""
    x = n.operands[0]
    if x.node.op == "broadcast":
        x = x.node.operands[0]
    if x.type.rank:
        return None
    return b.value("broadcast", x, like=n, shape=n.attrs["shape"], axes=()) if n.attrs["shape"] else x


def reshape_of_broadcast(b: Builder, n: Node) -> Value | None:
    """reshape(broadcast(x)) that only adds or removes dims of size 1 -> broadcast(x)."""
    inner = n.operands[0].node
    old, new = n.operands[0].shape, n.attrs["shape"]
    if inner.op != "broadcast" or not _same(_squeezed(old), _squeezed(new)):
        return None
    where = dict(zip((i for i, d in enumerate(old) if d is not ONE), (i for i, d in enumerate(new) if d is not ONE)))
    axes = inner.attrs["axes"]
    if any(a not in where for a in axes):
        return None
    return b.value("broadcast", inner.operands[0], like=n, shape=new, axes=tuple(where[a] for a in axes))


# -- broadcast ------------------------------------------------------------------------------------------------------
def broadcast_nothing(b: Builder, n: Node) -> Value | None:
    """A broadcast that repeats nothing -> x, or a reshape."""
    x, shape = n.operands[0], n.attrs["shape"]
    if _same(x.shape, shape):
        return x
    if x.type.rank == 0 or not _same(_squeezed(x.shape), _squeezed(shape)):
        return None
    if any(shape[a] is not d for a, d in zip(n.attrs["axes"], x.shape)):
        return None
    return b.value("reshape", x, like=n, shape=shape)


def broadcast_of_broadcast(b: Builder, n: Node) -> Value | None:
    """broadcast(broadcast(x)) -> broadcast(x)."""
    inner = n.operands[0].node
    if inner.op != "broadcast":
        return None
    axes = tuple(n.attrs["axes"][a] for a in inner.attrs["axes"])
    return b.value("broadcast", inner.operands[0], like=n, shape=n.attrs["shape"], axes=axes)


def broadcast_of_ones(b: Builder, n: Node) -> Value | None:
    """broadcast(x) with dims of size 1 in x -> broadcast(reshape(x)) without them."""
    x = n.operands[0]
    if ONE not in x.shape:
        return None
    axes = tuple(a for a, d in zip(n.attrs["axes"], x.shape) if d is not ONE)
    small = b.value("reshape", x, like=n, shape=_squeezed(x.shape))
    return b.value("broadcast", small, like=n, shape=n.attrs["shape"], axes=axes)


# -- transpose ------------------------------------------------------------------------------------------------------
def transpose_nothing(b: Builder, n: Node) -> Value | None:
    """A transpose that leaves dims of other sizes than 1 in their order -> x, or a reshape."""
    x, perm = n.operands[0], n.attrs["perm"]
    if perm == tuple(range(len(perm))):
        return x
    moved = [p for p in perm if x.shape[p] is not ONE]
    return b.value("reshape", x, like=n, shape=n.types[0].shape) if moved == sorted(moved) else None


def transpose_of_transpose(b: Builder, n: Node) -> Value | None:
    """transpose(transpose(x)) -> transpose(x)."""
    inner = n.operands[0].node
    if inner.op != "transpose":
        return None
    return b.value("transpose", inner.operands[0], like=n, perm=tuple(inner.attrs["perm"][p] for p in n.attrs["perm"]))


def transpose_of_broadcast(b: Builder, n: Node) -> Value | None:
    """transpose(broadcast(x)) -> broadcast(transpose(x)): fewer elements move, often none."""
    inner = n.operands[0].node
    if inner.op != "broadcast":
        return None
    new = [n.attrs["perm"].index(a) for a in inner.attrs["axes"]]   # where each dim of x goes
    order = sorted(range(len(new)), key=new.__getitem__)
    x = b.value("transpose", inner.operands[0], like=n, perm=tuple(order))
    return b.value("broadcast", x, like=n, shape=n.types[0].shape, axes=tuple(sorted(new)))


# -- slice ----------------------------------------------------------------------------------------------------------
def slice_nothing(b: Builder, n: Node) -> Value | None:
    """The whole of x -> x."""
    x = n.operands[0]
    return x if _same(x.shape, n.attrs["size"]) and all(not s.terms for s in n.attrs["start"]) else None


def slice_of_slice(b: Builder, n: Node) -> Value | None:
    """slice(slice(x)) -> slice(x)."""
    inner = n.operands[0].node
    if inner.op != "slice":
        return None
    a, o = inner.attrs, n.attrs
    start = tuple(s + t * k for s, t, k in zip(a["start"], o["start"], a["stride"]))
    stride = tuple(s * t for s, t in zip(a["stride"], o["stride"]))
    return b.value("slice", inner.operands[0], like=n, start=start, size=o["size"], stride=stride)


def slice_of_concat(b: Builder, n: Node) -> Value | None:
    """slice(concat(x...)) that lies within one operand, or covers some of them wholly -> without the others."""
    inner = n.operands[0].node
    if inner.op != "concat" or len(inner.operands) < 2:
        return None
    axis, holds = inner.attrs["axis"], b.context.facts.is_nonnegative
    start, size, stride = (n.attrs[a][axis] for a in ("start", "size", "stride"))
    if not size.terms:
        return None
    end = start + (size - 1) * stride + 1
    offsets = [ZERO]
    for x in inner.operands:
        offsets.append(offsets[-1] + x.shape[axis])
    first = [i for i in range(len(inner.operands)) if holds(start - offsets[i])]
    last = [i for i in range(len(inner.operands)) if holds(offsets[i + 1] - end)]
    if not first or not last or (first[-1] == 0 and last[0] == len(inner.operands) - 1):
        return None
    low, high = first[-1], last[0]
    if low > high:
        return None
    kept = inner.operands[low:high + 1]
    x = kept[0] if len(kept) == 1 else b.value("concat", *kept, like=n, axis=axis)
    moved = tuple(s - offsets[low] if d == axis else s for d, s in enumerate(n.attrs["start"]))
    return b.value("slice", x, like=n, start=moved, size=n.attrs["size"], stride=n.attrs["stride"])


def slice_of_pad(b: Builder, n: Node) -> Value | None:
    """slice(pad(x)) that lies within x -> slice(x)."""
    inner = n.operands[0].node
    if inner.op != "pad":
        return None
    x, low, holds = inner.operands[0], inner.attrs["low"], b.context.facts.is_nonnegative
    start, size, stride = (n.attrs[a] for a in ("start", "size", "stride"))
    if any(not holds(s - a) or not holds(a + d - (s + (k - 1) * t + 1)) or not k.terms
           for s, k, t, a, d in zip(start, size, stride, low, x.shape)):
        return None
    return b.value("slice", x, like=n, start=tuple(s - a for s, a in zip(start, low)), size=size, stride=stride)


def slice_of_broadcast(b: Builder, n: Node) -> Value | None:
    """slice(broadcast(x)) -> broadcast(slice(x))."""
    inner = n.operands[0].node
    if inner.op != "broadcast":
        return None
    x, axes = inner.operands[0], inner.attrs["axes"]
    if ONE in x.shape:
        return None
    small = b.value("slice", x, like=n, **{name: tuple(n.attrs[name][a] for a in axes)
                                           for name in ("start", "size", "stride")}) if axes else x
    return b.value("broadcast", small, like=n, shape=n.attrs["size"], axes=axes)


# -- pad, concat, update_slice --------------------------------------------------------------------------------------
def pad_nothing(b: Builder, n: Node) -> Value | None:
    """No padding -> x."""
    return n.operands[0] if all(not p.terms for p in (*n.attrs["low"], *n.attrs["high"])) else None


def pad_of_pad(b: Builder, n: Node) -> Value | None:
    """pad(pad(x, v), v) -> pad(x, v)."""
    inner = n.operands[0].node
    if inner.op != "pad" or inner.operands[1] != n.operands[1]:
        return None
    low, high = (tuple(p + q for p, q in zip(inner.attrs[side], n.attrs[side])) for side in ("low", "high"))
    return b.value("pad", inner.operands[0], n.operands[1], like=n, low=low, high=high)


def concat_of_one(b: Builder, n: Node) -> Value | None:
    """concat(x) -> x; operands without elements along the axis are dropped."""
    kept = [x for x in n.operands if x.shape[n.attrs["axis"]].terms]
    if len(kept) == len(n.operands) > 1:
        return None
    if len(kept) > 1:
        return b.value("concat", *kept, like=n, **n.attrs)
    return kept[0] if kept else n.operands[0]


def concat_of_concat(b: Builder, n: Node) -> Value | None:
    """concat(concat(x, y), z) along one axis -> concat(x, y, z)."""
    axis = n.attrs["axis"]
    flat = [v for x in n.operands for v in
            (x.node.operands if x.node.op == "concat" and x.node.attrs["axis"] == axis else (x,))]
    return b.value("concat", *flat, like=n, axis=axis) if len(flat) > len(n.operands) else None


def concat_of_slices(b: Builder, n: Node) -> Value | None:
    """concat of neighbouring slices of one value -> one slice (what split and concat leave behind)."""
    axis = n.attrs["axis"]
    merged: list[tuple[Any, ...]] = []   # (source, start, size, stride) of a run, or (value,)
    for x in n.operands:
        a = x.node.attrs if x.node.op == "slice" else None
        if a is None or a["stride"][axis] != 1:
            merged.append((x,))
            continue
        last = merged[-1] if merged and len(merged[-1]) == 4 else None
        others = all(d == axis or (last is not None and last[1][d] is a["start"][d] and last[2][d] is a["size"][d])
                     for d in range(len(a["start"])))
        if (last is not None and last[0] == x.node.operands[0] and last[3] == a["stride"] and others
                and last[1][axis] + last[2][axis] is a["start"][axis]):
            size = tuple(s + t if d == axis else s for d, (s, t) in enumerate(zip(last[2], a["size"])))
            merged[-1] = (last[0], last[1], size, last[3])
        else:
            merged.append((x.node.operands[0], a["start"], a["size"], a["stride"]))
    if len(merged) == len(n.operands):
        return None
    values = [m[0] if len(m) == 1 else b.value("slice", m[0], like=n, start=m[1], size=m[2], stride=m[3])
              for m in merged]
    return b.value("concat", *values, like=n, axis=axis)


def update_whole(b: Builder, n: Node) -> Value | None:
    """update_slice that overwrites everything -> y; that overwrites nothing -> x."""
    x, y = n.operands
    if any(not d.terms for d in y.shape):
        return x
    return y if _same(x.shape, y.shape) else None


# -- reductions -----------------------------------------------------------------------------------------------------
def reduce_one(b: Builder, n: Node) -> Value | None:
    """A reduction of single terms -> reshape: in every order of docs/numerics.md it starts from its first term."""
    x = n.operands[0]
    if any(x.shape[a] is not ONE for a in n.attrs["axes"]):
        return None
    return b.value("reshape", x, like=n, shape=n.types[0].shape)


def window_of_one(b: Builder, n: Node) -> Value | None:
    """A window maximum or minimum over single elements -> x (a sum would still add +0)."""
    a = n.attrs
    if a["op"] == "sum" or any(s != 1 for s in (*a["size"], *a["stride"])) or any((*a["low"], *a["high"])):
        return None
    return n.operands[0]


def _named(*rules: Any) -> tuple[Any, ...]:
    return tuple((rule.__name__, rule) for rule in rules)


RULES: dict[str, tuple[Any, ...]] = {
    "reshape": _named(reshape_nothing, reshape_of_reshape, reshape_of_scalar, reshape_of_broadcast),
    "broadcast": _named(broadcast_nothing, broadcast_of_broadcast, broadcast_of_ones),
    "transpose": _named(transpose_nothing, transpose_of_transpose, transpose_of_broadcast),
    "slice": _named(slice_nothing, slice_of_slice, slice_of_concat, slice_of_pad, slice_of_broadcast),
    "pad": _named(pad_nothing, pad_of_pad),
    "concat": _named(concat_of_one, concat_of_concat, concat_of_slices),
    "update_slice": _named(update_whole),
    "reduce": _named(reduce_one),
    "window_reduce": _named(window_of_one),
}
