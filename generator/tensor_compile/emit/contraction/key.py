# SPDX-License-Identifier: Apache-2.0
"""The identity for tuning of a contraction kernel, and of a variant: what its speed may depend on, free of names and of
where it stands.

    contraction f32 rows=56x56 columns=64 terms=3x3x64 batches=1 walk=5c0e41d2 epilogue=9b1d22f0 target=x86_64/avx512

rows, columns, terms, batches: extents of the kernel's variables (expressions where a dim is dynamic). walk: how its
operands lie in memory and where padding is. epilogue: the fused operations and how their buffers lie.
"""
from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Mapping, Sequence

from ...graph.ir import Function, Node
from ...graph.text import print_function
from ...loops.loop_ir import AttentionKernel, Computation, Contraction, ContractionKernel, GroupedContractionKernel, \
    LoopNestKernel
from ...loops.orders import Group
from ...loops.scalar_ir import Acc, Apply, Buffer, Const, InBounds, IndexValue, Load, Reduction, Scalar
from ...loops.scalars import walk
from ...symbolic import Expr, Sym, product, sym
from ..identity import identity, of_items
from ..scalar import extent

SPLIT, FUSE, ORDER, BLOCK = "split ", "fuse ", "order ", "block "    # what keys of each kind begin with
MOST_NAMED = 4    # operations in a key, for people


def kernel_key(kernel: ContractionKernel, isa: str, target: str) -> str:
    """target: the name of the target description."""
    key = _Key(kernel)
    return (f"contraction {kernel.a.dtype} rows={key.extents(kernel.m)} columns={key.extents(kernel.n)} "
            f"terms={key.extents(kernel.k)} batches={key.extents(kernel.batch)} walk={_digest(key.walk)} "
            f"epilogue={_digest(key.epilogue)} target={target}/{isa}")


def split_key(kernel: ContractionKernel, target: str) -> str:
    """Of how a team shares a contraction's results, whatever the instruction set."""
    kind, _, rest = kernel_key(kernel, "", target).partition(" ")
    assert kind == "contraction"
    return f"{SPLIT}{rest.removesuffix('/')}"


def fuse_key(first: Contraction | Computation, item: Computation, buffers: Mapping[str, Buffer], target: str) -> str:
    """Of whether an item is computed in the kernel of another one.

        fuse points=1x56x56x64 terms=64 with=add+max items=5c0e41d2 target=x86_64
    """
    points = (*first.batch, *first.m, *first.n) if isinstance(first, Contraction) else first.vars
    terms = f" terms={_extents(first.k)}" if isinstance(first, Contraction) else ""
    ops = dict.fromkeys(x.op for x in walk(item.value) if isinstance(x, (Apply, Reduction)))
    return f"{FUSE}points={_extents(points)}{terms} with={'+'.join(list(ops)[:MOST_NAMED]) or 'copy'} " \
           f"items={_digest([of_items((first, item), buffers)])} target={target}"


def order_key(group: Group, target: str) -> str:
    """Of the order in which values lie that one kernel makes of one another.

        order f32 1x64x56x56 makers=packed_convolution+add users=5c0e41d2 target=x86_64
    """
    first = group.members[0]
    makers = dict.fromkeys(v.node.op for v in group.members)
    lines = [(v.node.op, _attributes(v.node), [(x.dtype, x.shape) for x in v.node.operands], v.dtype, v.shape,
              [(position, node.op, _attributes(node), [t.shape for t in node.types])
               for node, position in group.users.get(v, ())]) for v in group.members]
    shape = "x".join(map(str, first.shape))
    return f"{ORDER}{first.dtype} {shape} makers={'+'.join(list(makers)[:MOST_NAMED])} users={_digest(lines)} " \
           f"target={target}"


def block_key(kernels: Sequence[ContractionKernel | LoopNestKernel], target: str) -> str:
    """Of the rows of a block of a tile region, by its kernels before they are cut.

        block points=12x128x128 terms=64 with=exp+max kernels=5c0e41d2 target=x86_64
    """
    first = kernels[0]
    points = (*first.batch, *first.m, *first.n) if isinstance(first, ContractionKernel) else first.rows
    terms = f" terms={_extents(first.k)}" if isinstance(first, ContractionKernel) else ""
    ops = dict.fromkeys(x.op for kernel in kernels for value in kernel.values for x in walk(value)
                        if isinstance(x, (Apply, Reduction)))
    return f"{BLOCK}points={_extents(points)}{terms} with={'+'.join(list(ops)[:MOST_NAMED]) or 'product'} " \
           f"kernels={_digest([identity(replace(kernel, label='')) for kernel in kernels])} target={target}"


def _attributes(node: Node) -> list[tuple[str, str]]:
    """Without names and the functions of loops and branches."""
    return [(name, repr(value)) for name, value in sorted(node.attrs.items())
            if name != "name" and isinstance(value, (int, str, tuple))]


def _extents(variables: tuple[Sym, ...]) -> str:
    return "x".join(str(extent(s)).replace(" ", "") for s in variables) or "1"


def shape_key(kernel: ContractionKernel | GroupedContractionKernel, precision: str, isa: str, target: str) -> str:
    """Of a whole kernel for a GPU, whose parts are one launch: columns=768+768+768. precision: what the operands are
    rounded to."""
    first, keys = kernel.contractions[0], [_Key(part) for part in kernel.contractions]
    columns = "+".join(key.extents(part.n) for key, part in zip(keys, kernel.contractions))
    return (f"contraction {precision} rows={keys[0].extents(first.m)} columns={columns} "
            f"terms={keys[0].extents(first.k)} batches={keys[0].extents(first.batch)} "
            f"walk={_digest([x for key in keys for x in key.walk])} "
            f"epilogue={_digest([x for key in keys for x in key.epilogue])} target={target}/{isa}")


def attention_key(kernel: AttentionKernel, precision: str, isa: str, target: str) -> str:
    """
        attention bf16 rows=128 keys=128 terms=64 columns=64 batches=12 walk=… epilogue=… target=cuda-sm90/sm_90a
    """
    key = _Key(kernel)
    assert kernel.second is not None and kernel.score is not None
    limit = "" if kernel.limit is None else key.names.text(kernel.limit)
    return (f"attention {precision} rows={key.extents(kernel.m)} keys={key.extents((kernel.key,))} "
            f"terms={key.extents((kernel.depth,))} columns={key.extents(kernel.n)} batches={key.extents(kernel.batch)} "
            f"walk={_digest([*key.walk, key.names.load(kernel.second), limit, kernel.zeros])} "
            f"epilogue={_digest([key.names.value(kernel.score), *key.epilogue])} target={target}/{isa}")


def rows_key(kernel: LoopNestKernel, precision: str, isa: str, target: str) -> str:
    """Of a nest with phases:

        rows bf16 rows=128 points=768 nest=5c0e41d2 target=cuda-sm90/sm_90a
    """
    rows, points = (product(extent(s) for s in variables) for variables in (kernel.rows, kernel.phases[-1].vars))
    return (f"rows {precision} rows={_plain(rows)} points={_plain(points)} "
            f"nest={_digest([identity(replace(kernel, shape=None))])} target={target}/{isa}")


def _plain(e: Expr) -> str:
    text = repr(e).replace(" ", "")
    return f"({text})" if any(c in text for c in "+-*/") else text


class _Key:
    """What keys have of a contraction. walk, epilogue: what their digests are of."""

    def __init__(self, kernel: ContractionKernel):
        self.names = names = _Names(kernel)
        self.walk: list[Any] = [kernel.b_panel, names.load(kernel.a), *(names.load(b) for b in kernel.b)]
        self.epilogue = [f"{names.place(s.buffer, s.index)} = {names.value(s.value)}" for s in kernel.stores]

    def extents(self, variables: tuple[Sym, ...]) -> str:
        return "x".join(f"({t})" if any(c in t for c in "+-*/ ") else t
                        for t in (self.names.text(extent(s)).replace(" ", "") for s in variables)) or "1"


def variant_key(entry: str, variant: str, graph: Function, target: str) -> str:
    """The identity of a variant whose form is tuned: its graph, wherever that stands in the model.

        variant resnet50/batch1 graph=0f3b2c11 target=x86_64
    """
    return f"variant {entry}/{variant} graph={_digest([print_function(graph, places=False)])} target={target}"


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:8]


class _Names:
    """Variables by their role, buffers by their position: equal kernels of two models have equal texts."""

    def __init__(self, kernel: ContractionKernel):
        self.buffers = {p.name: p for p in kernel.params}
        self.number = {p.name: i for i, p in enumerate(kernel.params)}
        roles = (("b", kernel.batch), ("m", kernel.m), ("n", kernel.n), ("k", kernel.k))
        # Dims sort by name in canonical text, loop variables by age: as dims, the text depends on the role alone.
        self.renamed = {s: sym(Sym(f"{role}.{i}", 0, None, is_dim=True))
                        for role, variables in roles for i, s in enumerate(variables)}

    def text(self, e: Expr) -> str:
        return repr(e.substitute(self.renamed))

    def place(self, buffer: str, index: tuple[Expr, ...]) -> str:
        return f"p{self.number[buffer]}[{self.text(self.buffers[buffer].address(index))}]"

    def load(self, load: Load) -> str:
        valid = ", ".join(self.text(e) for e in load.valid)
        dynamic = ", ".join(f"{s.name}: {self.value(v)}" for s, v in load.dynamic)
        other = f"{load.other.bits:x}" if load.other is not None else ""
        return f"{load.dtype} {self.place(load.buffer, load.index)} ({valid}) {other} ({dynamic})"

    def value(self, value: Scalar) -> str:
        """The value as text; a shared part is written once."""
        seen: dict[Scalar, int] = {}
        lines: list[str] = []

        def visit(node: Scalar) -> int:
            if node not in seen:
                parts = [str(visit(child)) for child in node.children]
                if isinstance(node, Load):
                    text = self.load(node)
                elif isinstance(node, Const):
                    text = f"{node.dtype} {node.bits:x}"
                elif isinstance(node, IndexValue):
                    text = f"{node.dtype} index {self.text(node.expr)}"
                elif isinstance(node, InBounds):
                    text = "inside " + ", ".join(self.text(e) for e in node.exprs)
                elif isinstance(node, Apply):
                    text = f"{node.dtype} {node.op} {' '.join(parts)}"
                else:
                    assert isinstance(node, Acc), f"{type(node).__name__} in an epilogue"
                    text = f"acc {node.number}" if node.number else "acc"
                seen[node] = len(lines)
                lines.append(text)
            return seen[node]

        visit(value)
        return "; ".join(lines)
