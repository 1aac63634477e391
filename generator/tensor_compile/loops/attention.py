# SPDX-License-Identifier: Apache-2.0
"""Attention as one kernel, where products round their operands anyway: a product, softmax over its columns and a
product with the result, whose scores nobody else reads, become an AttentionKernel. It goes over the keys block by
block and keeps maximum and sum of each row, so that scores never leave the chip; what a mask leaves out behind the
last row of a block of queries is not computed."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..symbolic import Expr, Sym, divisor_of, sym
from .accesses import read, written
from .fused import Fused
from .kernel_interface import attention
from .loop_ir import AttentionKernel, ContractionKernel, LoopNestKernel
from .program_ir import each_list
from .scalar_ir import Buffer, Load, Scalar
from .masks import false_from, has_zeros, is_lowest, softmax_columns
from .scalars import Rewriter, extent, loads, walk
from .uses import Uses

MOST = 128     # terms of a score, and columns of a result
STEP = 16      # what a matrix unit takes at once


def form(fused: Fused) -> Fused:
    """The same kernels, some of them as one."""
    former = _Former(fused)
    return replace(fused, kernels=each_list(fused.kernels, former.joined_in), fusions=former.fusions)


class _Former:
    def __init__(self, fused: Fused):
        self.buffers = fused.buffers
        self.uses = Uses(fused.kernels)
        self.fusions = list(fused.fusions)

    def joined_in(self, items: list[Any]) -> list[Any]:
        """One list of kernels, in which what is attention is one of them."""
        out = list(items)
        for i, scores in enumerate(out):
            if not isinstance(scores, ContractionKernel) or len(scores.stores) != 1:
                continue
            softmax = self.only_reader(out, i, scores)
            values = self.only_reader(out, softmax, out[softmax]) if softmax is not None else None
            if softmax is None or values is None or not isinstance(out[values], ContractionKernel):
                continue
            made = self.joined(scores, out[softmax], out[values])
            if made is None or self.crossed(out[i + 1:values], made, (out[softmax],)):
                continue
            out[i] = out[softmax] = None
            out[values] = made
            self.fusions.append(f"{made.label} is one kernel")
        return [item for item in out if item is not None]

    def only_reader(self, items: list[Any], at: int, kernel: ContractionKernel | LoopNestKernel) -> int | None:
        """The position of the one kernel that reads what this one stores."""
        names = written(kernel)
        if len(names) != 1 or not self.uses.hands_on(kernel, self.buffers[names[0]]):
            return None
        return next((j for j in range(at + 1, len(items)) if isinstance(items[j], (ContractionKernel, LoopNestKernel))
                     and names[0] in read(items[j])), None)

    def crossed(self, between: list[Any], made: AttentionKernel, own: tuple[Any, ...]) -> bool:
        """Whether a kernel that ran behind the scores changes what they are made of."""
        needs = set(read(made))
        return any(not isinstance(item, (ContractionKernel, LoopNestKernel)) or needs & set(written(item))
                   for item in between if item is not None and item not in own)

    def joined(self, scores: ContractionKernel, softmax: LoopNestKernel,
               values: ContractionKernel) -> AttentionKernel | None:
        (store,) = scores.stores
        if not isinstance(softmax, LoopNestKernel) or len(scores.b) != 1 or len(values.b) != 1 or len(values.k) != 1 \
                or len(scores.n) != 1 or len(values.n) != 1 or len(scores.k) != 1:
            return None
        columns = softmax_columns(softmax, store.buffer)
        out = softmax.phases[-1].stores[0]
        if columns is not None and values.where is not None and not has_zeros(softmax):
            return None     # the row of a query that has no key is not one of NaN
        if columns is None or values.a.buffer != out.buffer or values.a.valid or values.b[0].valid or scores.a.valid:
            return None
        if any(x.buffer == out.buffer for x in loads(*values.b, *(v for s in values.stores for v in s.values))):
            return None     # weights that something else needs have to be in memory
        (n,), (k,) = scores.n, values.k
        # Softmax is of the rows of the scores, in the order in which the second product reads them.
        if extent(n) != extent(columns) or extent(n) != extent(k) or scores.batch != values.batch \
                or scores.m != values.m:
            return None
        loaded = next(x for x in walk(softmax.phases[0].reduces[0].value) if isinstance(x, Load))
        # The row of softmax that is this row of the scores: softmax may go over the same rows by other loops.
        rename = {columns: sym(n)} | {s: place for s in softmax.rows for e, place in zip(loaded.index, store.index)
                                      if e == sym(s)}
        place = tuple(e.substitute(rename) for e in loaded.index)
        wanted = tuple(e.substitute({k: sym(n)}) for e in values.a.index)
        if place != store.index or tuple(e.substitute(rename) for e in out.index) != wanted:
            return None
        key = Sym("key", 0, extent(n) - 1)
        first = Rewriter(lambda e: e.substitute({n: sym(key)}))
        second = Rewriter(lambda e: e.substitute({k: sym(key)}))
        keys, weighted = first(scores.b[0]), second(values.b[0])
        assert isinstance(keys, Load) and isinstance(weighted, Load)
        score = first(store.value)
        made = attention(self.buffers, values, (key, *scores.k), scores.a, weighted, second=keys, score=score,
                         limit=_limit(score, key, scores.m), zeros=has_zeros(softmax))
        return made if self.fits(made) else None

    def fits(self, k: AttentionKernel) -> bool:
        """Its operands are read by vectors."""
        depth, column = k.depth, k.n[-1]
        assert k.second is not None
        if not all(extent(s).is_const and extent(s).value <= MOST and extent(s).value % STEP == 0
                   for s in (depth, column)):
            return False
        return _vectors(self.buffers, k.a, depth) and _vectors(self.buffers, k.second, depth) \
            and _vectors(self.buffers, k.b[0], column)


def _vectors(buffers: dict[str, Buffer], load: Load, last: Sym) -> bool:
    address = buffers[load.buffer].address(load.index)
    return load.dtype == "f32" and not load.dynamic and not load.valid and address.coefficient(last) == 1 \
        and divisor_of(address.substitute({last: 0})) % 8 == 0


def _limit(score: Scalar, key: Sym, rows: tuple[Sym, ...]) -> Expr | None:
    """Keys from here on have a score of -inf, in the row of the variable and all rows before; None where that is not
    known."""
    return next((found for s in walk(score) if is_lowest(score, s)
                 and (found := false_from(s, key, rows)) is not None), None)
