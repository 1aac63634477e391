# SPDX-License-Identifier: Apache-2.0
"""Primitives of the graph as C of the language: what stays as it is in a quantized model."""
from __future__ import annotations

from math import prod
from typing import Callable, Sequence

from ..graph.dtypes import DTYPES
from ..graph.ir import Node, TensorType, Value
from ..graph.table import is_elementwise
from ..importer.dims import Dims
from ..importer.values import decode, number, per_axis
from ..symbolic import Expr, equal

_NAMED = {"select": "tc_where"}
_REDUCED = {"sum": "tc_sum", "prod": "tc_prod", "max": "tc_amax", "min": "tc_amin", "any": "tc_any", "all": "tc_all"}
_RUNNING = {("sum", 0): "tc_cumsum", ("prod", 0): "tc_cumprod", ("max", 0): "tc_cumulative_max",
            ("min", 0): "tc_cumulative_min", ("sum", 1): "tc_cumsum_reverse", ("prod", 1): "tc_cumprod_reverse"}


def dtype_name(dtype: str) -> str:
    return f"TC_{dtype.upper()}"


def constant_of(node: Node) -> str | None:
    """The C number of a constant node, where there is one."""
    dtype = node.types[0].dtype
    found = decode(node.attrs["bits"].to_bytes(DTYPES[dtype].bytes, "little"), dtype, 1)
    return number(found[0], dtype) if found else None


def scalar_of(value: Value) -> str | None:
    """The C number that all elements of a value are."""
    node = value.through(("broadcast", "reshape")).node
    return constant_of(node) if node.op == "constant" else None


def windows(node: Node, names: Sequence[str], text: Callable[[Sequence[object]], str] = per_axis) -> str:
    """Options of a convolution or pooling that are not what they are when left out."""
    usual = {"stride": 1, "low": 0, "high": 0, "dilation": 1}
    return "".join(f", .{name} = {text(node.attrs[name])}" for name in names
                   if any(n != usual[name] for n in node.attrs[name]))


class Writer:
    """text: C of a value that a statement reads."""

    def __init__(self, dims: Dims, text: Callable[[Value], str]):
        self.dims, self.text = dims, text

    def statement(self, node: Node) -> str | None:
        """The expression that gives the node's result; None where the language has none for it."""
        if is_elementwise(node.op):
            return self._elementwise(node)
        write = getattr(self, f"_{node.op}", None)
        found: str | None = write(node) if write else None
        return found

    # -- leaves and elements -------------------------------------------------------------------------------------------
    def _constant(self, node: Node) -> str | None:
        value = constant_of(node)
        return None if value is None else f"tc_full(g, {value}, {dtype_name(node.types[0].dtype)})"

    def _iota(self, node: Node) -> str:
        axis, shape = node.attrs["axis"], node.types[0].shape
        line = f"tc_arange(g, {dtype_name(node.types[0].dtype)}, {self.dims.c(shape[axis])})"
        return self._stretched(line, TensorType(node.types[0].dtype, (shape[axis],)), shape, (axis,))

    def _dim_value(self, node: Node) -> str:
        return f"tc_dim_value(g, {dtype_name(node.types[0].dtype)}, {self.dims.c(node.attrs['value'][0])})"

    def _elementwise(self, node: Node) -> str:
        if node.op in ("cast", "bitcast"):
            return f"tc_{node.op}({self.text(node.operands[0])}, {dtype_name(node.types[0].dtype)})"
        first = 1 if node.op == "select" else 0      # a condition is a tensor
        numbers = [scalar_of(v) if i >= first and len(node.operands) > 1 else None for i, v in enumerate(node.operands)]
        if None not in numbers[first:]:
            numbers[first] = None                    # one of them says the dtype and the shape
        texts = [text or self.text(v) for text, v in zip(numbers, node.operands, strict=True)]
        return f"{_NAMED.get(node.op, f'tc_{node.op}')}({', '.join(texts)})"

    # -- views ---------------------------------------------------------------------------------------------------------
    def _stretched(self, x: str, have: TensorType, shape: tuple[Expr, ...], axes: tuple[int, ...]) -> str:
        """x at the axes of a shape, repeated along the others."""
        placed = [self.dims.c(have.shape[axes.index(i)]) if i in axes else "1" for i in range(len(shape))]
        if have.rank != len(shape):
            x = f"tc_reshape({x}, {', '.join(placed)})"
        full = [i for i in range(len(shape)) if i in axes and equal(have.shape[axes.index(i)], shape[i])]
        return x if len(full) == len(shape) else f"tc_expand({x}, {self.dims.list(shape)})"

    def _broadcast(self, node: Node) -> str:
        x = node.operands[0]
        return self._stretched(self.text(x), x.type, node.types[0].shape, node.attrs["axes"])

    def _reshape(self, node: Node) -> str:
        x, shape = self.text(node.operands[0]), node.types[0].shape
        return f"tc_reshape({x}, {self.dims.list(shape)})" if shape else f"tc_reshape_scalar({x})"

    def _transpose(self, node: Node) -> str:
        return f"tc_permute({self.text(node.operands[0])}, {', '.join(map(str, node.attrs['perm']))})"

    def _slice(self, node: Node) -> str:
        text, shape = self.text(node.operands[0]), node.operands[0].shape
        for axis, (start, size, step) in enumerate(zip(node.attrs["start"], node.attrs["size"], node.attrs["stride"],
                                                       strict=True)):
            if equal(size, shape[axis]) and step == 1:
                continue
            stop = start + (size - 1) * step + 1
            ends = f"{axis}, {self.dims.c(start)}, {self.dims.c(stop)}"
            text = f"tc_slice({text}, {ends})" if step == 1 else f"tc_slice_step({text}, {ends}, {step})"
        return text

    def _pad(self, node: Node) -> str | None:
        value = node.operands[1].node
        filled = constant_of(value) if value.op == "constant" else None
        return None if filled is None else self.padded(node, self.text(node.operands[0]), filled)

    def padded(self, node: Node, text: str, value: str) -> str:
        for axis, (low, high) in enumerate(zip(node.attrs["low"], node.attrs["high"], strict=True)):
            if not (equal(low, 0) and equal(high, 0)):
                text = f"tc_pad_axis({text}, {axis}, {self.dims.c(low)}, {self.dims.c(high)}, {value})"
        return text

    def _concat(self, node: Node) -> str:
        return f"tc_concat({node.attrs['axis']}, {', '.join(map(self.text, node.operands))})"

    def _gather(self, node: Node) -> str:
        x, index = map(self.text, node.operands)
        return f"tc_gather({x}, {index}, {node.attrs['axis']})"

    def _reverse(self, node: Node) -> str:
        return f"tc_flip({self.text(node.operands[0])}, {', '.join(map(str, node.attrs['axes']))})"

    def _scatter(self, node: Node) -> str:
        x, index, values = map(self.text, node.operands)
        name = "tc_scatter" if node.attrs["op"] == "set" else f"tc_scatter_{node.attrs['op']}"
        return f"{name}({x}, {index}, {values}, {node.attrs['axis']})"

    def _update_slice(self, node: Node) -> str:
        x, y = map(self.text, node.operands)
        return f"tc_update_slice({x}, {y}, {self.dims.list(node.attrs['start'])})"

    # -- reductions and products ---------------------------------------------------------------------------------------
    def _reduce(self, node: Node) -> str:
        axes = ", ".join(map(str, node.attrs["axes"]))
        return f"{_REDUCED[node.attrs['op']]}({self.text(node.operands[0])}, {axes})"

    def _arg_reduce(self, node: Node) -> str:
        return f"tc_arg{node.attrs['op']}({self.text(node.operands[0])}, {node.attrs['axis']})"

    def _cumulative(self, node: Node) -> str | None:
        name = _RUNNING.get((node.attrs["op"], node.attrs["reverse"]))
        return f"{name}({self.text(node.operands[0])}, {node.attrs['axis']})" if name else None

    def _window_reduce(self, node: Node) -> str | None:
        size, op = node.attrs["size"], node.attrs["op"]
        padded = any((*node.attrs["low"], *node.attrs["high"]))
        if node.types[0].rank != len(size) + 2 or len(size) > 3:
            return None
        end = f"pool{len(size)}d({self.text(node.operands[0])}, .kernel = {per_axis(size)}, " \
              f".stride = {per_axis(node.attrs['stride'])}"
        if op == "max":
            return f"tc_max_{end}{windows(node, ('low', 'high', 'dilation'))})"
        if op == "sum" and not padded and all(d == 1 for d in node.attrs["dilation"]):
            return f"tc_mul(tc_avg_{end}), {prod(size)})"
        return None

    def _convolution(self, node: Node) -> str:
        x, w = map(self.text, node.operands)
        groups = f", .groups = {node.attrs['groups']}" if node.attrs["groups"] != 1 else ""
        return f"tc_conv{len(node.attrs['stride'])}d({x}, {w}" \
               f"{windows(node, ('stride', 'low', 'high', 'dilation'))}{groups})"

    def _dot(self, node: Node) -> str:
        """As an equation: batch, what is left of the one, what is left of the other."""
        a, b = node.operands
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        left = [next(letters) for _ in a.shape]
        right = [next(letters) for _ in b.shape]
        for mine, other in (*zip(node.attrs["lhs_batch"], node.attrs["rhs_batch"], strict=True),
                            *zip(node.attrs["lhs_contract"], node.attrs["rhs_contract"], strict=True)):
            right[other] = left[mine]
        out = [left[i] for i in node.attrs["lhs_batch"]]
        out += [c for i, c in enumerate(left) if i not in node.attrs["lhs_batch"]
                and i not in node.attrs["lhs_contract"]]
        out += [c for i, c in enumerate(right) if i not in node.attrs["rhs_batch"]
                and i not in node.attrs["rhs_contract"]]
        return f'tc_einsum("{"".join(left)},{"".join(right)}->{"".join(out)}", {self.text(a)}, {self.text(b)})'
