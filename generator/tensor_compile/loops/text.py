# SPDX-License-Identifier: Apache-2.0
"""Loop IR as text: for dumps, tests and people."""
from __future__ import annotations

from ..symbolic import Expr, Sym
from .ir import Acc, Apply, Arena, Buffer, CheckKernel, Computation, Const, Contraction, ContractionKernel, InBounds, \
    IndexValue, Load, Local, NestKernel, Program, Reduction, Scalar
from .scalars import extent


def print_kernel(kernel) -> str:
    """One kernel, with a final newline."""
    return "\n".join(_Printer().kernel(kernel)) + "\n"


def print_program(program: Program) -> str:
    out = [print_buffer(b) for b in program.buffers.values()]
    for step in program.steps:
        out.append("barrier" if step.barrier else "")
        out.append(print_kernel(step.kernel).rstrip("\n"))
    return "\n".join(line for line in out if line) + "\n"


def print_buffer(b: Buffer) -> str:
    shape = ",".join(_expr(d) for d in b.shape)
    order = "" if b.order == tuple(range(len(b.shape))) else f" order=[{', '.join(map(str, b.order))}]"
    return f"buffer {b.kind} {_quote(b.name)} : {b.dtype}[{shape}]{order}"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _expr(e: Expr) -> str:
    return str(e).replace(" ", "")


class _Printer:
    """Loop variables of one name are told apart by a number, in order of appearance."""

    def __init__(self) -> None:
        self.names: dict[Sym, str] = {}
        self.taken: set[str] = set()

    def name(self, s: Sym) -> str:
        found = self.names.get(s)
        if found is None:
            if s.is_dim:
                found = s.name
            else:
                found, n = s.name, 1
                while found in self.taken:
                    found, n = f"{s.name}_{n}", n + 1
            self.names[s] = found
            self.taken.add(found)
        return found

    def expr(self, e: Expr) -> str:
        """The polynomial with this printer's names, terms ordered by their text so that creation order never shows."""
        parts = []
        for monomial, c in e.terms:
            atoms = sorted(self.atom(a) for a in monomial)
            body = "*".join(([] if abs(c) == 1 and atoms else [str(abs(c))]) + atoms)
            parts.append((len(monomial) == 0, -len(monomial), body, c < 0))
        parts.sort()
        out = ""
        for _, _, body, negative in parts:
            out += ("-" if negative else "+" if out else "") + body
        return out or "0"

    def atom(self, a) -> str:
        return self.name(a) if isinstance(a, Sym) else f"floordiv({self.expr(a.num)},{self.expr(a.den)})"

    def exprs(self, items) -> str:
        return ",".join(self.expr(e) for e in items)

    def vars(self, items) -> str:
        return ", ".join(f"{self.name(s)}:{self.expr(extent(s))}" for s in items)

    def scalar(self, s: Scalar) -> str:
        if isinstance(s, Const):
            return f"{s.dtype} 0x{s.bits:x}"
        if isinstance(s, IndexValue):
            return f"index {s.dtype} ({self.expr(s.expr)})"
        if isinstance(s, InBounds):
            return f"inside({self.exprs(s.exprs)})"
        if isinstance(s, Acc):
            return f"acc {s.dtype}"
        if isinstance(s, Local):
            return f"local {s.dtype} {s.name}"
        if isinstance(s, Load):
            dynamic = "".join(f" where {self.name(k)}:{self.expr(extent(k))} = {self.scalar(v)}" for k, v in s.dynamic)
            text = f"{_quote(s.buffer)}[{self.exprs(s.index)}]{dynamic}"
            if s.valid:
                text += f" if ({self.exprs(s.valid)}) else {self.scalar(s.other)}"
            return f"load {s.dtype} ({text})"
        if isinstance(s, Reduction):
            valid = f" if ({self.exprs(s.valid)})" if s.valid else ""
            return f"{s.op}.{s.order} {s.dtype} over ({self.vars(s.vars)}) ({self.scalar(s.value)}){valid}"
        assert isinstance(s, Apply)
        return f"{s.op} {s.dtype} ({', '.join(self.scalar(a) for a in s.args)})"

    def store(self, s, indent: str) -> str:
        return f"{indent}{_quote(s.buffer)}[{self.exprs(s.index)}] = {self.scalar(s.value)}"

    def kernel(self, k) -> list[str]:
        if isinstance(k, CheckKernel):
            return [f"check {_quote(k.label)} {_quote(k.buffer.name)} below {self.expr(k.bound)}"]
        if isinstance(k, NestKernel):
            out = [f"nest {_quote(k.label)} rows ({self.vars(k.rows)}) grain {k.grain} {{"]
            for stage in k.stages:
                out.append(f"  sweep ({self.vars(stage.vars)}){'' if stage.vector else ' scalar'} {{")
                for r in stage.reduces:
                    out.append(f"    {r.name} = {r.op}.{r.order} {r.dtype} ({self.scalar(r.value)})")
                out += [self.store(s, "    ") for s in stage.stores]
                out.append("  }")
            return out + ["}"]
        assert isinstance(k, ContractionKernel)
        out = [f"contraction {_quote(k.label)} batch ({self.vars(k.batch)}) m ({self.vars(k.m)}) n ({self.vars(k.n)})"
               f" k ({self.vars(k.k)}) panel {k.b_panel} {{",
               f"  a = {self.scalar(k.a)}", f"  b = {self.scalar(k.b)}"]
        return out + [self.store(s, "  ") for s in k.stores] + ["}"]
