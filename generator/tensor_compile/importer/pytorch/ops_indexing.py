# SPDX-License-Identifier: Apache-2.0
"""Elements at indices. PyTorch's negative indices count from the end, where the DSL has none: they are moved first,
unless they are known not to be negative."""
from __future__ import annotations

from typing import Any

from ...symbolic import Expr
from ..problems import Malformed
from ..values import UNSIGNED, Value
from .ops_elementwise import as_bool
from .registry import Node, op


def wrapped(n: Node, index: Value, size: Expr) -> str:
    """An index that may count from the end, as i64 or i32 from the front."""
    known = index.integers
    if known is not None and min(known, default=0) >= 0 or index.dtype in UNSIGNED:
        return f"{index}" if index.dtype in ("i32", "i64") else f"tc_cast({index}, TC_I64)"
    wide = n.let(f"tc_cast({index}, TC_I64)", "i64", index.shape, "index") if index.dtype not in ("i32",
                                                                                                  "i64") else index
    end = n.operand(size, wide.dtype)
    return f"tc_where(tc_lt({wide}, 0), tc_add({wide}, {end}), {wide})"


@op("aten.embedding.default")
def embedding(n: Node) -> None:
    n.ignore("padding_idx", "scale_grad_by_freq", "sparse")
    weight, index = n.tensor("weight"), n.tensor("indices")
    n.result(f"tc_embedding({index}, {weight})")


@op("aten.embedding_bag.padding_idx", "aten.embedding_bag.default", "aten._embedding_bag.default",
    "aten._embedding_bag_forward_only.default")
def embedding_bag(n: Node) -> None:
    """Rows in bags, which begin at the offsets: the sum, the mean or the largest of each bag. The other results (the
    bag of each row, the sizes, where the largest is) are PyTorch's notes for training."""
    n.ignore("scale_grad_by_freq", "sparse")
    weight, indices, offsets = n.tensor("weight"), n.tensor("indices"), n.tensor("offsets")
    mode, last = n.integer("mode", 0), n.flag("include_last_offset")
    if n.integer("padding_idx", -1) >= 0:
        n.refuse("padding_idx")
    if mode not in (0, 1):
        n.refuse("the largest of a bag")
    bags, width = n.type.shape
    starts = offsets if not last else n.let(f"tc_slice({offsets}, 0, 0, {n.dim(bags)})", offsets.dtype, (bags,))
    place = n.let(f"tc_arange(g, TC_{starts.dtype.upper()}, {n.dim(indices.shape[0])})", starts.dtype, indices.shape)
    bag = n.let(f"tc_sub(tc_searchsorted({starts}, {place}, true), 1)", "i64", indices.shape, "bag")
    rows = f"tc_embedding({indices}, {weight})"
    if n.has("per_sample_weights"):
        rows = f"tc_mul({rows}, tc_unsqueeze({n.tensor('per_sample_weights')}, 1))"
    kind = f"TC_{weight.dtype.upper()}"
    total = f"tc_index_add(tc_full(g, 0, {kind}, {n.dim(bags)}, {n.dim(width)}), 0, {bag}, {rows})"
    count = n.let(f"tc_bincount({bag}, {n.dim(bags)})", "i64", (bags,), "sizes")
    n.result(total if mode == 0 else f"tc_div({total}, tc_unsqueeze(tc_cast(tc_maximum({count}, 1), {kind}), 1))")
    for rest in n.results[1:]:
        shape = f", {n.dim_list(rest.shape)}" if rest.shape else ""
        n.result(f"tc_full(g, 0, TC_{rest.dtype.upper()}{shape})")


@op("aten.index_select.default")
def index_select(n: Node) -> None:
    x, index = n.tensor("self"), n.tensor("index")
    n.result(f"tc_gather({x}, {index}, {n.axis('dim', x.rank)})")


@op("aten.gather.default", "aten.take_along_dim.default")
def gather(n: Node) -> None:
    n.ignore("sparse_grad")
    x, index = n.tensor("self"), n.tensor("index" if n.target == "aten.gather.default" else "indices")
    if not x.rank:
        n.refuse("a tensor of rank 0")
    n.result(f"tc_take_along({x}, {index}, {n.axis('dim', x.rank)})")


@op("aten.index.Tensor", "aten._unsafe_index.Tensor", "aten.index.Tensor_hacked_twin")
def index(n: Node) -> None:
    """Masks select as many elements as are true: their result has a size that depends on data."""
    x = n.tensor("self")
    found = _indices(n)
    places = _places(n, x, found)
    n.result(f"tc_index({x}, {', '.join(places)})")


def _indices(n: Node) -> list[Any]:
    found = n.argument("indices")
    if not isinstance(found, list) or not all(entry is None or isinstance(entry, Value) for entry in found):
        raise Malformed("the argument 'indices' is no list of tensors")
    return found


def _places(n: Node, x: Value, indices: list[Any]) -> list[str]:
    if len(indices) > x.rank:
        n.refuse(f"{len(indices)} indices of a tensor of {x.rank} axes")
    places, axis = [], 0
    for entry in indices:
        if entry is None:
            places.append("NULL")
            axis += 1
            continue
        if entry.dtype == "bool" or entry.dtype == "u8":
            n.refuse("a mask as an index", "its result has a size that depends on data: use torch.where")
        places.append(wrapped(n, entry, x.shape[axis]))
        axis += 1
    while places and places[-1] == "NULL":
        places.pop()
    return places


@op("aten.index_put.default", "aten._unsafe_index_put.default", "aten.index_put.hacked_twin")
def index_put(n: Node) -> None:
    x, values = n.tensor("self"), n.tensor("values")
    found = _indices(n)
    accumulate = n.flag("accumulate")
    masks = [entry for entry in found if isinstance(entry, Value) and entry.dtype == "bool"]
    if masks:
        # x[mask] = one value: a choice. More values would be as many as the mask has true elements.
        if len(found) != 1 or accumulate or any(s != 1 for s in values.shape):
            n.refuse("values at a mask", "use torch.where or masked_scatter")
        mask = masks[0]
        wide = f"tc_reshape({mask}, {n.dim_list([*mask.shape, *[1] * (x.rank - mask.rank)])})" \
            if mask.rank < x.rank else f"{mask}"
        one = f"tc_reshape_scalar({values})" if values.rank else f"{values}"
        n.result(f"tc_where({wide}, {one}, {x})")
        return
    places = _places(n, x, found)
    n.result(f"tc_index_put({x}, {n.as_dtype(values, x.dtype)}, {'true' if accumulate else 'false'}, "
             f"{', '.join(places)})")


@op("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(n: Node) -> None:
    x = n.tensor("self")
    n.result(f"tc_masked_fill({x}, {as_bool(n, n.tensor('mask'))}, {n.operand(n.argument('value'), x.dtype)})")


@op("aten.masked_scatter.default")
def masked_scatter(n: Node) -> None:
    x, mask = n.tensor("self"), n.tensor("mask")
    if mask.shape != x.shape:
        mask = n.let(f"tc_expand({mask}, {n.dim_list(x.shape)})", "bool", x.shape, "mask")
    n.result(f"tc_masked_scatter({x}, {mask}, {n.tensor('source')})")


@op("aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default", "aten.scatter.reduce",
    "aten.scatter.value_reduce")
def scatter(n: Node) -> None:
    x, place = n.tensor("self"), n.tensor("index")
    kind = n.text("reduce") if n.target.endswith("reduce") else "add" if "scatter_add" in n.target else ""
    source = n.argument("src" if "src" in n.arguments else "value")
    if isinstance(source, Value) and source.rank:
        values = n.as_dtype(source, x.dtype)
        if source.shape != place.shape:
            values = _corner(n, values, source, place)
    else:
        values = n.constant(source, x.dtype)
        values = f"tc_expand({values}, {n.dim_list(place.shape)})"
    name = {"": "scatter", "add": "scatter_add", "multiply": "scatter_mul"}.get(kind)
    if name is None:
        n.refuse(f"reduce={kind}")
    n.result(f"tc_{name}({x}, {place}, {values}, {n.axis('dim', x.rank)})")


def _corner(n: Node, text: str, source: Value, place: Value) -> str:
    """The part of the source that has indices."""
    for axis, (have, want) in enumerate(zip(source.shape, place.shape, strict=True)):
        if have != want:
            text = f"tc_slice({text}, {axis}, 0, {n.dim(want)})"
    return text


@op("aten.scatter_reduce.two")
def scatter_reduce(n: Node) -> None:
    x, place, source = n.tensor("self"), n.tensor("index"), n.tensor("src")
    kind = n.text("reduce")
    if kind not in ("sum", "prod", "mean", "amax", "amin"):
        n.refuse(f"reduce={kind}")
    values = f"{source}" if source.shape == place.shape else _corner(n, f"{source}", source, place)
    own = "true" if n.flag("include_self", True) else "false"
    axis = n.axis("dim", x.rank)
    n.result(f'tc_scatter_reduce({x}, {place}, {values}, {axis}, "{kind}", {own})')


@op("aten.index_add.default", "aten.index_copy.default", "aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_change(n: Node) -> None:
    x, place = n.tensor("self"), n.tensor("index")
    axis = n.axis("dim", x.rank)
    if "index_fill" in n.target:
        n.result(f"tc_index_fill({x}, {axis}, {place}, {n.operand(n.argument('value'), x.dtype)})")
        return
    values = f"{n.tensor('source')}"
    if n.real("alpha", 1.0) != 1:
        values = f"tc_mul({values}, {n.operand(n.argument('alpha'), x.dtype)})"
    n.result(f"tc_{n.target.split('.')[1]}({x}, {axis}, {place}, {values})")


@op("aten.take.default")
def take(n: Node) -> None:
    n.result(f"tc_take({n.tensor('self')}, {n.tensor('index')})")


@op("aten.one_hot.default")
def one_hot(n: Node) -> None:
    classes = n.integer("num_classes", -1)
    if classes < 0:
        n.refuse("as many classes as the data have", "name num_classes")
    n.result(f"tc_one_hot({n.tensor('self')}, {classes}, TC_{n.type.dtype.upper()})")


@op("aten.bincount.default")
def bincount(n: Node) -> None:
    n.refuse("as many bins as the data have", "torch.zeros(bins).index_add(0, x, ones) has a size that is known")


@op("aten.histc.default")
def histc(n: Node) -> None:
    low, high = n.real("min", 0.0), n.real("max", 0.0)
    if low >= high:
        n.refuse("a range that depends on data", "name min and max")
    n.result(f"tc_histc({n.tensor('self')}, {n.integer('bins', 100)}, {low}, {high})")


@op("aten.nonzero.default", "aten.masked_select.default", "aten.unique_consecutive.default", "aten._unique2.default",
    "aten.nonzero_numpy.default", "aten.item.default", "aten._local_scalar_dense.default",
    "aten.repeat_interleave.Tensor")
def data_dependent(n: Node) -> None:
    n.refuse("a size or a number that depends on data", "sizes must follow from the sizes of the inputs")


@op("aten.searchsorted.Tensor", "aten.bucketize.Tensor")
def searchsorted(n: Node) -> None:
    n.only("side", "left", "right")
    n.only("sorter", None)
    n.ignore("out_int32")
    right = "true" if n.flag("right") or n.text("side") == "right" else "false"
    if "bucketize" in n.target:
        n.result(f"tc_bucketize({n.tensor('self')}, {n.tensor('boundaries')}, {right})", "i64")
    else:
        n.result(f"tc_searchsorted({n.tensor('sorted_sequence')}, {n.tensor('self')}, {right})", "i64")
