# SPDX-License-Identifier: Apache-2.0
"""Reductions inside a point: windows, column sums, contractions too small or odd for a template.

The loops over the reduced variables run at one point, or at 16 points side by side, a term after the other. For `lanes`
the 16 partial sums of a block are computed one after the other, so that each lives in a register. Several reductions of
the same terms share a loop, and so their loads.
"""
from __future__ import annotations

from typing import Any, Iterable, Mapping

from ...graph.dtypes import DTYPES
from ...loops.loop_ir import Store
from ...loops.scalar_ir import Acc, Apply, Buffer, Const, InBounds, Load, Local, Reduction, Scalar
from ...loops.products import SHORT
from ...loops.scalars import identity, own_expressions, Rewriter, substitute, walk
from ...symbolic import Expr, Sym, const, product, sym
from ..constants import constant
from ..scalar import C_TYPE, V_TYPE, ScalarEmitter, CValue, extent, indent, splat

BLOCK = 4096     # terms of a block of the order `lanes`
POSITIONS = frozenset(("argmax", "argmin"))
OPERATION = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and"}


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
        a, b = (text(x) for x in value.children)
        if DTYPES[dtype].is_float:
            return f"{prefix}_fma_{dtype}({a}, {b}, {acc})"
        if vector and dtype == "i32" and all(_short(x) for x in value.children):
            return f"tcv_fma_short({a}, {b}, {acc})"
        return f"{prefix}_add_{dtype}({acc}, {prefix}_mul_{dtype}({a}, {b}))"
    return f"{prefix}_{OPERATION[op]}_{dtype}({acc}, {text(value)})"


def _short(factor: Scalar) -> bool:
    """Its values are within 16 bits, signed."""
    return isinstance(factor, Apply) and factor.op == "cast" and factor.args[0].dtype in SHORT


def tree(lanes: list[str | None], operation: str) -> str:
    """The text that combines the lanes of a block by `operation`; None is a lane without terms."""
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a if b is None else b if a is None else f"{operation}({a}, {b})"
                 for a, b in zip(lanes[:half], lanes[half:])]
    return str(lanes[0])


def flatten(node: Reduction, buffers: Mapping[str, Buffer], joined: dict[tuple[Sym, ...], Sym]) -> Reduction:
    """One variable in place of several where every access steps through them as through one. joined: those made so
    far, by the variables that they stand for."""
    if len(node.vars) < 2:
        return node
    size = product(extent(s) for s in node.vars)
    whole = joined.setdefault(node.vars, Sym(node.vars[0].name, 0, size - 1))
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


def siblings(stores: Iterable[Store]) -> dict[Reduction, tuple[Reduction, ...]]:
    """For each reduction of a value that is stored: those of the other ones that may be computed with it. What holds a
    reduction itself waits for that one, so it is alone."""
    found: dict[Reduction, None] = {}
    seen: set[Scalar] = set()
    stack = [value for store in stores for value in store.values][::-1]
    while stack:
        s = stack.pop()
        if s in seen:
            continue
        seen.add(s)
        if not isinstance(s, Reduction):
            stack += reversed(s.children)
        elif not any(isinstance(x, Reduction) for x in walk(s.value)):
            found[s] = None
    return {s: tuple(x for x in found if x is not s) for s in found} if len(found) > 1 else {}


def emit_reduction(emitter: ScalarEmitter, node: Reduction) -> CValue:
    """The value of a reduction; siblings that have the same terms at the same points are computed in the same loop."""
    loop = _SharedLoop(emitter, node)
    loop.nodes += [s for s in emitter.siblings.get(node, ())
                    if not emitter.known(s) and _SharedLoop(emitter, s).key == loop.key]
    return loop.emit()


class _SharedLoop:
    """Reductions over the same terms. depth: the scope that they are computed in; how: the loops that they need."""

    def __init__(self, emitter: ScalarEmitter, node: Reduction):
        self.e, self.nodes = emitter, [node]
        flat = self.flat(node)
        exprs = [e for x in walk(node.value) for e in own_expressions(x)] + list(node.valid)
        inner = set(node.vars) | {s for x in walk(node.value) if isinstance(x, Reduction) for s in x.vars}
        inner |= {s for x in walk(node.value) if isinstance(x, Load) for s, _ in x.dynamic}
        self.depth = emitter.depth_of({s for e in exprs for s in e.symbols()} - inner)
        names = [x for x in walk(node.value)]
        for x in names:
            if isinstance(x, Local):
                self.depth = max(self.depth, emitter.locals[x.name].depth)
            elif isinstance(x, Acc) or isinstance(x, Load) and x.buffer in emitter.written:
                self.depth = len(emitter.scopes) - 1
        guards = [i for i, scope in enumerate(emitter.scopes) if scope.guard]
        if guards:
            self.depth = max(self.depth, guards[-1])
        self.vector = emitter.width == 16 and (emitter.varies(*exprs) or any(isinstance(x, Acc) for x in names))
        self.vars, self.valid = flat.vars, flat.valid
        self.terms = product(extent(s) for s in node.vars)
        if node.order != "lanes":
            self.how = self.running
        elif self.terms.is_const and self.terms.value <= 16 and len(self.vars) == 1 and not self.valid:
            self.how = self.few
        else:
            self.how = self.lanes if len(self.vars) == 1 else self.scattered

    def flat(self, node: Reduction) -> Reduction:
        return flatten(node, self.e.buffers, self.e.joined) if node.order == "lanes" else node

    @property
    def key(self) -> tuple[Any, ...]:
        return self.how.__name__, self.depth, self.vector, self.vars, self.valid

    def emit(self) -> CValue:
        """The first one's value; the others are known from then on."""
        emitter, asked = self.e, self.nodes
        self.nodes = [self.flat(node) for node in asked]
        above = emitter.scopes[self.depth + 1:]
        del emitter.scopes[self.depth + 1:]
        try:
            done = [CValue(text, self.vector, self.depth) for text in self.how()]
        finally:
            emitter.scopes += above
        emitter.scopes[self.depth].values.update(zip(asked, done))
        return done[0]

    # -- parts ------------------------------------------------------------------------------------------------------
    @property
    def prefix(self) -> str:
        return "tcv" if self.vector else "tc"

    def kind(self, node: Reduction) -> str:
        return (V_TYPE if self.vector else C_TYPE)[node.dtype]

    def text(self, value: Const) -> str:
        return splat(value.dtype, constant(value)) if self.vector else constant(value)

    def declare(self, name: str, start: Const) -> str:
        kind = (V_TYPE if self.vector else C_TYPE)[start.dtype]
        self.e.lines.append(f"{kind} {name} = {self.text(start)};")
        return name

    def first(self, node: Reduction) -> Const:
        return identity(node.op, node.order, node.dtype)

    def accumulate(self, accs: list[str], number: str = "") -> None:
        """One term of the variables that are bound now, if it exists. number: the term's, where positions are
        wanted."""
        emitter = self.e
        same = [e for e in self.valid if not emitter.varies(e)]
        mixed = tuple(e for e in self.valid if emitter.varies(e))
        if same:
            emitter.open(guard=True)
        for acc, node in zip(accs, self.nodes, strict=True):
            if node.op in POSITIONS:
                self.position(acc, node, number)
            elif mixed:
                mask = emitter.wide(InBounds(mixed))
                text = term(emitter, node.op, node.dtype, acc, _protected(node.value, mixed, emitter), True)
                emitter.lines.append(f"{acc} = tcv_select_{node.dtype}({mask}, {text}, {acc});")
            else:
                emitter.lines.append(f"{acc} = {term(emitter, node.op, node.dtype, acc, node.value, self.vector)};")
        if same:
            emitter.close(f"if ({emitter.all_nonnegative(same)})")

    def position(self, where: str, node: Reduction, number: str) -> None:
        """The number of the first extreme; NaN counts as one."""
        best, dtype = f"{where}_best", node.value.dtype
        if self.vector:
            value, better_lanes = self.e.wide(node.value), self.e.fresh("m")
            self.e.lines += [f"const tcv_mask {better_lanes} = tcv_{node.op}_better_{dtype}({value}, {best});",
                             f"{best} = tcv_select_{dtype}({better_lanes}, {value}, {best});",
                             f"{where} = tcv_select_i32({better_lanes}, tcv_splat_i32((int32_t){number}), {where});"]
            return
        value = self.e.scalar(node.value)
        self.e.lines += [f"if ({number} == 0 || {better(node.op, node.value.dtype, value, best)}) {{",
                         f"    {best} = {value};", f"    {where} = {number};", "}"]

    def running(self) -> list[str]:
        """An accumulator each over all terms in ascending order."""
        emitter, accs, number = self.e, [], ""
        for node in self.nodes:
            accs.append(emitter.fresh("s"))
            if node.op in POSITIONS and self.vector:
                self.declare(f"{accs[-1]}_best", identity(node.op[3:], node.order, node.value.dtype))
                self.declare(accs[-1], Const("i32", 0))
                number = number or emitter.fresh("n")
            elif node.op in POSITIONS:
                emitter.lines += [f"{C_TYPE[node.value.dtype]} {accs[-1]}_best = 0;", f"int64_t {accs[-1]} = 0;"]
                number = number or emitter.fresh("n")
            else:
                self.declare(accs[-1], self.first(node))
        if number:
            emitter.lines.append(f"tc_index {number} = 0;")
        heads = [emitter.loop(s) for s in self.vars]
        self.accumulate(accs, number)
        if number:
            emitter.lines.append(f"++{number};")
        for head in reversed(heads):
            emitter.close(head)
        for acc, node in zip(accs, self.nodes, strict=True):
            if node.op == "dot" and DTYPES[node.dtype].is_float:
                # A sum that starts from +0 never is -0; a fused product that underflows may be.
                zero = self.text(Const(node.dtype, 0))
                emitter.lines.append(f"{acc} = {self.prefix}_add_{node.dtype}({acc}, {zero});")
        return [f"tcv_cast_i32_i64({acc})" if self.vector and node.op in POSITIONS else acc
                for acc, node in zip(accs, self.nodes, strict=True)]

    def few(self) -> list[str]:
        """At most one term a lane: the tree over the terms."""
        emitter, done = self.e, []
        n = self.terms.value
        for node in self.nodes:
            if n == 0:
                done.append(self.declare(emitter.fresh("s"), empty(node.op, node.dtype)))
                continue
            lanes: list[str | None] = [None] * 16
            for i in range(n):
                value = substitute(node.value, {node.vars[0]: const(i)})
                if node.op == "dot":
                    parts = [(emitter.wide if self.vector else emitter.scalar)(x) for x in value.children]
                    text = f"{self.prefix}_mul_{node.dtype}({', '.join(parts)})"
                    lanes[i] = emitter.name(text, node.dtype, self.vector, self.depth).text
                else:
                    lanes[i] = emitter.wide(value) if self.vector else emitter.scalar(value)
            operation = f"{self.prefix}_{joining(node.op)}_{node.dtype}"
            done.append(emitter.name(tree(lanes, operation), node.dtype, self.vector, self.depth).text)
        return done

    def total(self, node: Reduction, total: str, lane: str) -> list[str]:
        dtype = node.dtype
        joined = f"{self.prefix}_{joining(node.op)}_{dtype}"
        if not self.vector:
            return [f"{total} = {joined}({total}, tc_lanes_{lanes_of(node.op)}_{dtype}({lane}));"]
        return ["for (int h = 8; h > 0; h /= 2)", "    for (int l = 0; l < h; ++l)",
                f"        {lane}[l] = {joined}({lane}[l], {lane}[l + h]);", f"{total} = {joined}({total}, {lane}[0]);"]

    def totals(self, totals: list[str], lanes: list[str]) -> list[str]:
        return [line for node, *names in zip(self.nodes, totals, lanes, strict=True)
                for line in self.total(node, *names)]

    def lanes(self) -> list[str]:
        emitter, nodes = self.e, self.nodes
        totals = [self.declare(emitter.fresh("s"), self.first(node)) for node in nodes]
        lanes = [emitter.fresh("a") for _ in nodes]
        block, end, l = (emitter.fresh(x) for x in ("b", "e", "l"))
        accs = [emitter.fresh("s") for _ in nodes]
        n = emitter.index(self.terms)
        blocks = not (self.terms.is_const and self.terms.value <= BLOCK)
        emitter.open()
        emitter.lines += [f"{self.kind(node)} {lane}[16];" for node, lane in zip(nodes, lanes, strict=True)]
        if blocks:
            emitter.lines.append(f"const tc_index {end} = tc_min({block} + {BLOCK}, {n});")
        emitter.open()
        for node, acc in zip(nodes, accs, strict=True):
            self.declare(acc, self.first(node))
        (s,) = self.vars
        name = emitter.bind(s)
        emitter.open((s,))
        self.accumulate(accs)
        start = f"{block} + {l}" if blocks else l
        emitter.close(f"for (tc_index {name} = {start}; {name} < {end if blocks else n}; {name} += 16)")
        emitter.lines += [f"{lane}[{l}] = {acc};" for lane, acc in zip(lanes, accs, strict=True)]
        emitter.close(f"for (int {l} = 0; {l} < 16; ++{l})")
        emitter.lines += self.totals(totals, lanes)
        emitter.close(f"for (tc_index {block} = 0; {block} < {n}; {block} += {BLOCK})" if blocks else "")
        return self.emptied(totals)

    def scattered(self) -> list[str]:
        """Several variables that are not one: the term's number decides its lane as it comes."""
        emitter, nodes = self.e, self.nodes
        totals = [self.declare(emitter.fresh("s"), self.first(node)) for node in nodes]
        lanes, number = [emitter.fresh("a") for _ in nodes], emitter.fresh("n")
        clear = []
        for node, lane in zip(nodes, lanes, strict=True):
            emitter.lines.append(f"{self.kind(node)} {lane}[16];")
            clear += ["for (int l = 0; l < 16; ++l)", f"    {lane}[l] = {self.text(self.first(node))};"]
        emitter.lines += [*clear, f"tc_index {number} = 0;"]
        heads = [emitter.loop(s) for s in self.vars]
        self.accumulate([f"{lane}[{number} & 15]" for lane in lanes])
        flush = self.totals(totals, lanes)
        emitter.lines += [f"if (++{number} == {BLOCK}) {{", *indent([*flush, *clear, f"{number} = 0;"]), "}"]
        for head in reversed(heads):
            emitter.close(head)
        emitter.lines += [f"if ({number} > 0) {{", *indent(flush), "}"]
        return self.emptied(totals)

    def emptied(self, totals: list[str]) -> list[str]:
        """No terms: +0, or 1 of a product."""
        if (self.terms.range()[0] or 0) < 1:
            for node, total in zip(self.nodes, totals, strict=True):
                none = self.text(empty(node.op, node.dtype))
                self.e.lines += [f"if ({self.e.index(self.terms)} == 0)", f"    {total} = {none};"]
        return totals


def better(op: str, dtype: str, value: str, best: str) -> str:
    """Whether value replaces best as the first extreme."""
    sign = ">" if op == "argmax" else "<"
    if not DTYPES[dtype].is_float:
        return f"{value} {sign} {best}"
    return f"({best} == {best} && ({value} {sign} {best} || {value} != {value}))"


def _protected(value: Scalar, valid: tuple[Expr, ...], emitter: ScalarEmitter) -> Scalar:
    """The value with every load that may lie outside its buffer made subject to the predicate. The guard around the
    term may hold the rest of what such a load relies on."""
    def leaf(node: Scalar) -> Scalar | None:
        if isinstance(node, Load) and not emitter.inside(node):
            load = Load(node.buffer, node.dtype, node.index, (*node.valid, *valid), node.other or Const(node.dtype, 0),
                        node.dynamic)
            emitter.confined.add(load)
            return load
        return None
    return Rewriter(leaf=leaf)(value)
