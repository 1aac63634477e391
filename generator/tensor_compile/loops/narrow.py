# SPDX-License-Identifier: Apache-2.0
"""Narrow: temps of f32 that a product reads or stores have 16 bits, where a build asks for that (--precision bf16,
f16).

A product's operands are rounded anyway, and so is what it hands on: those are the lists of PyTorch's autocast.
Arithmetic stays f32: a value is rounded where it is stored and widened where it is loaded. Sums, norms and softmax
keep f32 inside their kernels. Outputs, inputs and states have the dtype that the model says; so has what a loop
carries on.
"""
from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Callable, Mapping

from ..records import dataclass
from .accesses import written
from .fused import Fused
from .kernel_interface import changed, grouped
from .loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, Kernel, LoopNestKernel, RowReduce, \
    RowSort, Store
from .program_ir import leaves, Loop, mapped, regions
from .scalar_ir import Apply, Buffer, Const, InBounds, Load, Scalar
from .scalars import Rewriter


def narrow(fused: Fused, dtype: str) -> Fused:
    """The same kernels over narrow temps."""
    return with_stored(fused, dict.fromkeys(_chosen(fused), rounded(dtype)))


@dataclass(frozen=True, slots=True)
class Stored:
    """How a temp is stored: its new dtype, the element of what is stored now, and that of what is loaded then."""

    dtype: str
    narrowed: Callable[[Scalar], Scalar]
    widened: Callable[[Load], Scalar]


def rounded(dtype: str) -> Stored:
    """f32 as a narrow float."""
    def narrowed(value: Scalar) -> Scalar:
        return Apply("cast", dtype, (value,))

    def widened(load: Load) -> Scalar:
        return Apply("cast", "f32", (load,))
    return Stored(dtype, narrowed, widened)


def with_stored(fused: Fused, chosen: Mapping[str, Stored]) -> Fused:
    """The same kernels with temps that are stored so."""
    buffers = {name: replace(b, dtype=chosen[name].dtype) if name in chosen else b
               for name, b in fused.buffers.items()}
    return replace(fused, buffers=buffers, kernels=mapped(fused.kernels, Change(buffers, chosen).kernel))


def carried(fused: Fused) -> set[str]:
    """What loops carry on."""
    return {name for r in regions(fused.kernels) if isinstance(r, Loop)
            for name in (*r.carried, *(n for pair in r.swaps for n in pair))}


def _chosen(fused: Fused) -> set[str]:
    found: set[str] = set()
    for kernel in leaves(fused.kernels):
        if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
            found.update(written(kernel))
            for part in kernel.contractions:
                found.update(x.buffer for x in (part.a, *part.b))
                if isinstance(part, AttentionKernel) and part.second is not None:
                    found.add(part.second.buffer)
    return {name for name in found - carried(fused) if _may(fused.buffers[name])}


def _may(b: Buffer) -> bool:
    return b.kind == "temp" and b.dtype == "f32"


@dataclass(frozen=True)
class Change:
    """Kernels over the buffers, of which the chosen ones are stored otherwise than before."""

    buffers: Mapping[str, Buffer]
    chosen: Mapping[str, Stored]

    @cached_property
    def value(self) -> Rewriter:
        return Rewriter(leaf=self.leaf)

    def leaf(self, s: Scalar) -> Scalar | None:
        if not isinstance(s, Load) or s.buffer not in self.chosen:
            return None
        wide = self.chosen[s.buffer].widened(self.load(s))
        if s.other is not None and s.other.bits:
            wide = Apply("select", s.dtype, (InBounds(s.valid), wide, s.other))
        return wide

    def load(self, s: Load) -> Load:
        """The load of a narrow element, 0 where it is missing."""
        if s.buffer not in self.chosen:
            return s
        dtype = self.chosen[s.buffer].dtype
        other = None if s.other is None else Const(dtype, 0)
        return Load(s.buffer, dtype, s.index, s.valid, other, tuple((k, self.value(v)) for k, v in s.dynamic))

    def store(self, s: Store) -> Store:
        value = self.value(s.value)
        if s.buffer in self.chosen:
            value = self.chosen[s.buffer].narrowed(value)
        return Store(s.buffer, s.index, value, tuple((k, self.value(v)) for k, v in s.dynamic))

    def kernel(self, k: Kernel) -> Kernel:
        if isinstance(k, GroupedContractionKernel):
            return grouped(k.label, tuple(map(self.contraction, k.contractions)), k.loc, k.consecutive)
        if isinstance(k, ContractionKernel):
            return self.contraction(k)
        if isinstance(k, LoopNestKernel):
            return self.nest(k)
        return k

    def contraction(self, k: ContractionKernel) -> ContractionKernel:
        content: dict[str, Any] = {"a": self.load(k.a), "b": tuple(map(self.load, k.b)),
                                   "stores": tuple(map(self.store, k.stores)),
                                   "where": self.value(k.where) if k.where is not None else None}
        if isinstance(k, AttentionKernel):
            assert k.second is not None and k.score is not None
            content |= {"second": self.load(k.second), "score": self.value(k.score)}
        return changed(self.buffers, k, **content)

    def nest(self, k: LoopNestKernel) -> LoopNestKernel:
        phases = tuple(replace(s, reduces=tuple(map(self.reduce, s.reduces)), stores=tuple(map(self.store, s.stores)))
                       for s in k.phases)
        return changed(self.buffers, k, phases=phases)

    def reduce(self, r: RowReduce | RowSort) -> RowReduce | RowSort:
        return replace(r, value=self.value(r.value))
