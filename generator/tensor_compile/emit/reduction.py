# SPDX-License-Identifier: Apache-2.0
"""Reductions inside a point: windows, column sums, contractions too small or odd for a template.

The loops over the reduced variables run at one point, or at 16 points side by side, a term after the other. For `lanes`
the 16 partial sums of a block are computed one after the other, so that each lives in a register.
"""
from __future__ import annotations

from ..graph.dtypes import DTYPES
from ..loops.ir import Const, Load, Reduction, Scalar
from ..loops.scalars import Rewriter, substitute, walk
from ..symbolic import Expr, Sym, const, product, sym
from .scalar import C_TYPE, V_TYPE, ScalarEmitter, Value, constant, extent, indent, splat

BLOCK = 4096     # terms of a block of the order `lanes`
OPERATION = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and"}


def identity(op: str, order: str, dtype: str) -> Const:
    """What a reduction starts from. -0 is the identity of addition: `lanes` and `running` start from terms, `seq` from
    +0."""
    if op in ("max", "min"):
        return Const(dtype, DTYPES[dtype].lowest if op == "max" else DTYPES[dtype].highest)
    if op == "prod":
        return Const(dtype, DTYPES[dtype].one)
    if op == "sum" and order in ("lanes", "running") or op == "dot" and order == "lanes":
        return Const(dtype, DTYPES[dtype].minus_zero)
    return Const(dtype, 1 if op == "all" else 0)


def empty(op: str, dtype: str) -> Const:
    """The sum (of factors too) or product of no terms."""
    return identity(op, "seq", dtype) if op != "dot" else Const(dtype, 0)


def joining(op: str) -> str:
    """The operation that combines lanes and blocks."""
    return "mul" if op == "prod" else "add"


def lanes_of(op: str) -> str:
    """What combines the 16 lanes of a block, as a part of its name."""
    return "prod" if op == "prod" else "sum"


def term(emitter: ScalarEmitter, op: str, dtype: str, acc: str, value: Scalar, vector: bool) -> str:
    """acc with one more term."""
    text = emitter.wide if vector else emitter.scalar
    prefix = "tcv" if vector else "tc"
    if op == "dot":
        a, b = (text(x) for x in value.args)
        if DTYPES[dtype].is_float:
            return f"{prefix}_fma_{dtype}({a}, {b}, {acc})"
        return f"{prefix}_add_{dtype}({acc}, {prefix}_mul_{dtype}({a}, {b}))"
    return f"{prefix}_{OPERATION[op]}_{dtype}({acc}, {text(value)})"


def tree(lanes: list[str | None], operation: str) -> str:
    """The text that combines the lanes of a block by `operation`; None is a lane without terms."""
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a if b is None else b if a is None else f"{operation}({a}, {b})"
                 for a, b in zip(lanes[:half], lanes[half:])]
    return str(lanes[0])


def flatten(node: Reduction, buffers) -> Reduction:
    """One variable in place of several where every access steps through them as through one."""
    if len(node.vars) < 2:
        return node
    size = product(extent(s) for s in node.vars)
    whole = Sym(node.vars[0].name, 0, size - 1)
    first, back, rest = {}, {}, sym(whole)
    step = size
    for s in node.vars:
        step = product(extent(t) for t in node.vars[node.vars.index(s) + 1:])
        back[s] = rest // step
        rest = rest - back[s] * step
        first[s] = const(0)
    position = sum((sym(s) * product(extent(t) for t in node.vars[i + 1:]) for i, s in enumerate(node.vars)), const(0))
    mine = set(node.vars)

    def same(e: Expr) -> bool:
        last = node.vars[-1]
        flat = e.substitute({**first, last: sym(whole)})
        return flat.substitute({whole: position}) is e

    for x in walk(node.value):
        if isinstance(x, Reduction):
            return node
        if isinstance(x, Load):
            exprs = [buffers[x.buffer].address(x.index), *x.valid]
        else:
            exprs = list(getattr(x, "exprs", ())) + ([x.expr] if hasattr(x, "expr") else [])
        if any(mine & e.symbols() and not same(e) for e in exprs):
            return node
    if any(mine & e.symbols() and not same(e) for e in node.valid):
        return node
    change = Rewriter(lambda e: e.substitute(back))
    return Reduction(node.op, node.order, node.dtype, (whole,), change(node.value),
                     tuple(e.substitute(back) for e in node.valid))


def emit_reduction(emitter: ScalarEmitter, node: Reduction) -> Value:
    return _Inside(emitter, node).emit()


class _Inside:
    """One reduction: `depth` is the scope that it is computed in."""

    def __init__(self, emitter: ScalarEmitter, node: Reduction):
        if node.order == "lanes":
            node = flatten(node, emitter.buffers)
        self.e, self.node = emitter, node
        exprs = [e for x in walk(node.value) for e in _expressions(x)] + list(node.valid)
        inner = set(node.vars) | {s for x in walk(node.value) if isinstance(x, Reduction) for s in x.vars}
        inner |= {s for x in walk(node.value) if isinstance(x, Load) for s, _ in x.dynamic}
        self.depth = emitter.depth_of({s for e in exprs for s in e.symbols()} - inner)
        names = [x for x in walk(node.value)]
        for x in names:
            if type(x).__name__ == "Local":
                self.depth = max(self.depth, emitter.locals[x.name].depth)
            elif type(x).__name__ == "Acc" or isinstance(x, Load) and x.buffer in emitter.written:
                self.depth = len(emitter.scopes) - 1
        guards = [i for i, scope in enumerate(emitter.scopes) if scope.guard]
        if guards:
            self.depth = max(self.depth, guards[-1])
        self.vector = emitter.width == 16 and (emitter.varies(*exprs) or any(type(x).__name__ == "Acc" for x in names))
        self.terms = product(extent(s) for s in node.vars)

    def emit(self) -> Value:
        emitter, node = self.e, self.node
        above = emitter.scopes[self.depth + 1:]
        del emitter.scopes[self.depth + 1:]
        try:
            if node.op in ("argmax", "argmin"):
                text = self.position()
            elif node.order == "lanes" and self.terms.is_const and self.terms.value <= 16 and len(node.vars) == 1 \
                    and not node.valid:
                text = self.few()
            elif node.order == "lanes":
                text = self.lanes() if len(node.vars) == 1 else self.scattered()
            else:
                text = self.running()
        finally:
            emitter.scopes += above
        return Value(text, self.vector, self.depth)

    # -- parts ------------------------------------------------------------------------------------------------------
    @property
    def prefix(self) -> str:
        return "tcv" if self.vector else "tc"

    @property
    def kind(self) -> str:
        return (V_TYPE if self.vector else C_TYPE)[self.node.dtype]

    def text(self, value: Const) -> str:
        return splat(value.dtype, constant(value)) if self.vector else constant(value)

    def declare(self, name: str, start: Const, size: str = "") -> str:
        kind = (V_TYPE if self.vector else C_TYPE)[start.dtype]
        self.e.lines.append(f"{kind} {name} = {self.text(start)};")
        return name

    def accumulate(self, acc: str, value: Scalar, valid: tuple[Expr, ...]) -> None:
        """One term of the variables that are bound now, if it exists."""
        emitter = self.e
        op, dtype = self.node.op, self.node.dtype
        if not valid:
            emitter.lines.append(f"{acc} = {term(emitter, op, dtype, acc, value, self.vector)};")
            return
        same = [e for e in valid if not emitter.varies(e)]
        mixed = tuple(e for e in valid if emitter.varies(e))
        if same:
            emitter.open(guard=True)
        if mixed:
            from ..loops.ir import InBounds
            mask = emitter.wide(InBounds(mixed))
            text = term(emitter, op, dtype, acc, _protected(value, mixed, emitter), True)
            emitter.lines.append(f"{acc} = tcv_select_{dtype}({mask}, {text}, {acc});")
        else:
            emitter.lines.append(f"{acc} = {term(emitter, op, dtype, acc, value, self.vector)};")
        if same:
            emitter.close(f"if ({emitter.all_nonnegative(same)})")

    def running(self) -> str:
        """One accumulator over all terms in ascending order."""
        emitter, node = self.e, self.node
        acc = self.declare(emitter.fresh("s"), identity(node.op, node.order, node.dtype))
        heads = [emitter.loop(s) for s in node.vars]
        self.accumulate(acc, node.value, node.valid)
        for head in reversed(heads):
            emitter.close(head)
        if node.op == "dot" and DTYPES[node.dtype].is_float:
            # A sum that starts from +0 never is -0; a fused product that underflows may be.
            zero = self.text(Const(node.dtype, 0))
            emitter.lines.append(f"{acc} = {self.prefix}_add_{node.dtype}({acc}, {zero});")
        return acc

    def few(self) -> str:
        """At most one term a lane: the tree over the terms."""
        emitter, node = self.e, self.node
        n = self.terms.value
        if n == 0:
            return self.declare(emitter.fresh("s"), empty(node.op, node.dtype))
        lanes: list[str | None] = [None] * 16
        for i in range(n):
            value = substitute(node.value, {node.vars[0]: const(i)})
            if node.op == "dot":
                parts = [(emitter.wide if self.vector else emitter.scalar)(x) for x in value.args]
                text = f"{self.prefix}_mul_{node.dtype}({', '.join(parts)})"
                lanes[i] = emitter.name(text, node.dtype, self.vector, self.depth).text
            else:
                lanes[i] = emitter.wide(value) if self.vector else emitter.scalar(value)
        operation = f"{self.prefix}_{joining(node.op)}_{node.dtype}"
        return emitter.name(tree(lanes, operation), node.dtype, self.vector, self.depth).text

    def total(self, total: str, lane: str) -> list[str]:
        dtype = self.node.dtype
        joined = f"{self.prefix}_{joining(self.node.op)}_{dtype}"
        if not self.vector:
            return [f"{total} = {joined}({total}, tc_lanes_{lanes_of(self.node.op)}_{dtype}({lane}));"]
        return [f"for (int h = 8; h > 0; h /= 2)", "    for (int l = 0; l < h; ++l)",
                f"        {lane}[l] = {joined}({lane}[l], {lane}[l + h]);", f"{total} = {joined}({total}, {lane}[0]);"]

    def lanes(self) -> str:
        emitter, node = self.e, self.node
        s = node.vars[0]
        total, lane = self.declare(emitter.fresh("s"), self.first()), emitter.fresh("a")
        block, end, l, acc = (emitter.fresh(x) for x in ("b", "e", "l", "s"))
        n = emitter.index(self.terms)
        blocks = not (self.terms.is_const and self.terms.value <= BLOCK)
        emitter.open()
        emitter.lines.append(f"{self.kind} {lane}[16];")
        if blocks:
            emitter.lines.append(f"const tc_index {end} = tc_min({block} + {BLOCK}, {n});")
        emitter.open()
        self.declare(acc, self.first())
        name = emitter.bind(s)
        emitter.open((s,))
        self.accumulate(acc, node.value, node.valid)
        start = f"{block} + {l}" if blocks else l
        emitter.close(f"for (tc_index {name} = {start}; {name} < {end if blocks else n}; {name} += 16)")
        emitter.lines.append(f"{lane}[{l}] = {acc};")
        emitter.close(f"for (int {l} = 0; {l} < 16; ++{l})")
        emitter.lines.extend(self.total(total, lane))
        emitter.close(f"for (tc_index {block} = 0; {block} < {n}; {block} += {BLOCK})" if blocks else "")
        return self.empty(total)

    def scattered(self) -> str:
        """Several variables that are not one: the term's number decides its lane as it comes."""
        emitter, node = self.e, self.node
        total, lane, number = self.declare(emitter.fresh("s"), self.first()), emitter.fresh("a"), emitter.fresh("n")
        first = self.text(self.first())
        clear = ["for (int l = 0; l < 16; ++l)", f"    {lane}[l] = {first};"]
        emitter.lines += [f"{self.kind} {lane}[16];", *clear, f"tc_index {number} = 0;"]
        heads = [emitter.loop(s) for s in node.vars]
        self.accumulate(f"{lane}[{number} & 15]", node.value, node.valid)
        flush = self.total(total, lane)
        emitter.lines += [f"if (++{number} == {BLOCK}) {{", *indent([*flush, *clear, f"{number} = 0;"]), "}"]
        for head in reversed(heads):
            emitter.close(head)
        emitter.lines += [f"if ({number} > 0) {{", *indent(flush), "}"]
        return self.empty(total)

    def first(self) -> Const:
        return identity(self.node.op, "lanes", self.node.dtype)

    def empty(self, total: str) -> str:
        """No terms: +0, or 1 of a product."""
        if (self.terms.range()[0] or 0) < 1:
            none = self.text(empty(self.node.op, self.node.dtype))
            self.e.lines += [f"if ({self.e.index(self.terms)} == 0)", f"    {total} = {none};"]
        return total

    def position(self) -> str:
        """The number of the first extreme; NaN counts as one."""
        emitter, node = self.e, self.node
        assert not self.vector
        dtype = node.value.dtype
        best, where, number = (emitter.fresh(x) for x in ("s", "s", "n"))
        emitter.lines += [f"{C_TYPE[dtype]} {best} = 0;", f"int64_t {where} = 0;", f"tc_index {number} = 0;"]
        heads = [emitter.loop(s) for s in node.vars]
        value = emitter.scalar(node.value)
        emitter.lines += [f"if ({number} == 0 || {better(node.op, dtype, value, best)}) {{", f"    {best} = {value};",
                          f"    {where} = {number};", "}", f"++{number};"]
        for head in reversed(heads):
            emitter.close(head)
        return where


def better(op: str, dtype: str, value: str, best: str) -> str:
    """Whether value replaces best as the extreme met first."""
    sign = ">" if op == "argmax" else "<"
    if not DTYPES[dtype].is_float:
        return f"{value} {sign} {best}"
    return f"({best} == {best} && ({value} {sign} {best} || {value} != {value}))"


def _expressions(x: Scalar) -> tuple[Expr, ...]:
    if isinstance(x, Load):
        return (*x.index, *x.valid)
    return (*getattr(x, "exprs", ()), *((x.expr,) if hasattr(x, "expr") else ()), *getattr(x, "valid", ()))


def _protected(value: Scalar, valid: tuple[Expr, ...], emitter: ScalarEmitter) -> Scalar:
    """The value with every load that may lie outside its buffer made subject to the predicate. The guard around the
    term may hold the rest of what such a load relies on."""
    def leaf(node: Scalar) -> Scalar | None:
        if isinstance(node, Load) and not emitter.inside(node):
            load = Load(node.buffer, node.dtype, node.index, valid, Const(node.dtype, 0), node.dynamic)
            emitter.confined.add(load)
            return load
        return None
    return Rewriter(leaf=leaf)(value)
