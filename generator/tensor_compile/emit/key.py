# SPDX-License-Identifier: Apache-2.0
"""The identity of a contraction kernel for tuning: what its speed may depend on, free of names and of where it stands.

    contraction f32 rows=56x56 columns=64 terms=3x3x64 batches=1 walk=5c0e41d2 epilogue=9b1d22f0 target=x86_64/avx512

rows, columns, terms, batches: extents of the kernel's variables (expressions where a dim is dynamic). walk: how its
operands lie in memory and where padding is. epilogue: the fused operations and how their buffers lie.
"""
from __future__ import annotations

import hashlib
from typing import Any

from ..loops.loop_ir import ContractionKernel
from ..loops.scalar_ir import Acc, Apply, Const, InBounds, IndexValue, Load, Scalar
from ..symbolic import Expr, Sym, sym
from .scalar import extent


def kernel_key(kernel: ContractionKernel, isa: str, target: str) -> str:
    """target: the name of the target description."""
    names = _Names(kernel)

    def extents(variables: tuple[Sym, ...]) -> str:
        return "x".join(f"({t})" if any(c in t for c in "+-*/ ") else t
                        for t in (names.text(extent(s)).replace(" ", "") for s in variables)) or "1"

    walk = [kernel.b_panel, names.load(kernel.a), *(names.load(b) for b in kernel.b)]
    epilogue = [f"{names.place(s.buffer, s.index)} = {names.value(s.value)}" for s in kernel.stores]
    return (f"contraction {kernel.a.dtype} rows={extents(kernel.m)} columns={extents(kernel.n)} "
            f"terms={extents(kernel.k)} batches={extents(kernel.batch)} walk={_digest(walk)} "
            f"epilogue={_digest(epilogue)} target={target}/{isa}")


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
