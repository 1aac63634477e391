# SPDX-License-Identifier: Apache-2.0
"""Tensors that are changed in place: what a name holds, and what its views hold then.

PyTorch's programs may write into a tensor or into a view of it; the DSL's tensors never change. A Slot is what one name
of the program stands for. Writing to a view makes a new whole of its parent, and reading a view whose root has changed
makes the view again.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ...records import dataclass
from ...symbolic import wrap
from ..problems import Unsupported
from ..program import Statement
from ..values import Value
from .registry import is_complex

if TYPE_CHECKING:
    from .graph import Importer
    from .registry import Node

# The parent with the part in its place; of an operation with several results, the number of the part.
Inverse = Callable[["Node", Value, Value], str]
InverseOfPart = Callable[["Node", int, Value, Value], str]


@dataclass(eq=False, slots=True)
class Slot:
    """value: as it was last computed; again: computes a view from what its parent holds now; back: the text of the
    parent with a new part. version: how often it was changed."""

    value: Value
    parent: Slot | None = None
    again: Callable[[], Value] | None = None
    back: Callable[[Value, Value], str] | None = None
    version: int = 0
    seen: int = 0

    def __post_init__(self) -> None:
        self.seen = self.root.version

    @property
    def root(self) -> Slot:
        slot = self
        while slot.parent is not None:
            slot = slot.parent
        return slot

    def read(self, importer: Importer) -> Value:
        if self.parent is not None and self.seen != self.root.version:
            assert self.again is not None
            self.value = self.again()
            self.seen = self.root.version
        return self.value

    def change(self, importer: Importer, value: Value) -> None:
        if self.parent is None:
            self.value = value
            self.version += 1
            return
        assert self.back is not None
        whole = self.parent.read(importer)
        made = importer.program.value(whole.dtype, whole.shape, hint=whole.hint)
        importer.emit(Statement(self.back(whole, value), made))
        self.parent.change(importer, made)
        self.value = value
        self.seen = self.root.version


def _reshaped(n: Node, whole: Value, part: Value) -> str:
    return f"tc_reshape({part}, {n.dim_list(whole.shape)})" if whole.shape else f"tc_reshape_scalar({part})"


def _select(n: Node, whole: Value, part: Value) -> str:
    axis = n.axis("dim", whole.rank)
    return f"tc_select_scatter({whole}, {part}, {axis}, {n.dim(n.size('index'))})"


def _slice(n: Node, whole: Value, part: Value) -> str:
    from .ops_parts import bounds

    axis, start, stop, step = bounds(n, whole)
    return f"tc_slice_scatter({whole}, {part}, {axis}, {n.dim(start)}, {n.dim(stop)}, {step})"


def _transposed(n: Node, whole: Value, part: Value) -> str:
    return f"tc_transpose({part}, {n.integer('dim0')}, {n.integer('dim1')})"


def _permuted(n: Node, whole: Value, part: Value) -> str:
    order = [n.counted(a, whole.rank) for a in n.integers("dims")]
    return f"tc_permute({part}, {', '.join(str(order.index(i)) for i in range(whole.rank))})"


def _matrix(n: Node, whole: Value, part: Value) -> str:
    return f"tc_transpose({part}, 0, 1)" if whole.rank - is_complex(n.argument("self")) == 2 else f"{part}"


def _diagonal(n: Node, whole: Value, part: Value) -> str:
    if whole.rank != 2:
        raise Unsupported("writing to a diagonal of more than two axes")
    return f"tc_diagonal_scatter({whole}, {part}, {n.integer('offset', 0)})"


def _component(n: Node, whole: Value, part: Value) -> str:
    """One of the two parts of complex numbers."""
    if not is_complex(n.argument("self")):
        return f"{part}"
    return f"tc_select_scatter({whole}, {part}, {whole.rank - 1}, {0 if 'real' in n.target else 1})"


def _whole(n: Node, whole: Value, part: Value) -> str:
    return f"{part}"


_INVERSES: dict[str, Inverse] = {
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.transpose.int": _transposed,
    "aten.permute.default": _permuted,
    "aten.t.default": _matrix,
    "aten.diagonal.default": _diagonal,
    "aten.real.default": _component,
    "aten.imag.default": _component,
    "aten.view_as_real.default": _whole,
    "aten.view_as_complex.default": _whole,
    "aten.alias.default": _whole,
    "aten.detach.default": _whole,
    **{f"aten.{name}": _reshaped for name in (
        "view.default", "reshape.default", "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims",
        "flatten.using_ints", "unflatten.int", "view_as.default", "_unsafe_view.default")},
}



def _split(n: Node, number: int, whole: Value, part: Value) -> str:
    axis = n.axis("dim", whole.rank, 0)
    start = sum((kind.shape[axis] for kind in n.results[:number]), wrap(0))
    stop = start + n.results[number].shape[axis]
    return f"tc_slice_scatter({whole}, {part}, {axis}, {n.dim(start)}, {n.dim(stop)}, 1)"


def _unbound(n: Node, number: int, whole: Value, part: Value) -> str:
    return f"tc_select_scatter({whole}, {part}, {n.axis('dim', whole.rank, 0)}, {number})"


_INVERSES_OF_PARTS: dict[str, InverseOfPart] = {
    "aten.unbind.int": _unbound,
    **{f"aten.{name}": _split for name in (
        "split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default", "tensor_split.sections",
        "tensor_split.indices", "hsplit.int", "vsplit.int")},
}

# Views that are read again when their root has changed, and that nothing is written to.
_READ_ONLY = frozenset(f"aten.{name}" for name in (
    "expand.default", "expand_as.default", "broadcast_to.default", "unfold.default", "as_strided.default",
    "movedim.int", "movedim.intlist", "swapaxes.default", "swapdims.default", "mT.default", "numpy_T.default",
    "narrow.default", "positive.default", "unsafe_split.Tensor", "unsafe_chunk.default"))


def inverse(target: str) -> InverseOfPart | None:
    """How a part is written back, for operations whose results are views; None for the others."""
    of_one = _INVERSES.get(target)
    if of_one is not None:
        return lambda n, number, whole, part: of_one(n, whole, part)
    if target in _READ_ONLY:
        return _refused
    return _INVERSES_OF_PARTS.get(target)


def _refused(n: Node, number: int, whole: Value, part: Value) -> str:
    raise Unsupported(f"writing to a part that {n.target} made")
