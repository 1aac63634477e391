# SPDX-License-Identifier: Apache-2.0
"""The reductions of a row in the C of a loop nest: what is declared before the loop over their terms, what each term
adds, and what names the result behind the loop.

Sums of the order `lanes` hold their 16 lanes in one vector (in an array where code is one lane wide), blocks of 4096
terms outermost. The loop starts lane 0 at term 0, so lane l holds the terms l, l + 16, ... as the order demands.
"""
from __future__ import annotations

from typing import Sequence

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import Phase, RowReduce
from ...loops.scalar_ir import Apply, Local, Scalar
from ...loops.scalars import domain_size, identity, Rewriter, rewritten, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, divisor_of
from .reduction import BLOCK, POSITIONS, better, empty, joining, lanes_of, term
from ..constants import constant
from ..scalar import C_TYPE, V_TYPE, ScalarEmitter, extent, indent, splat, vectorizable


AT_ONCE = 4    # vectors that tcv_divs_by_f32 divides at most


@dataclass(slots=True)
class RowSum:
    """A row reduction over the terms `vars` in the making: `acc` over the loop, `total` over blocks ("" where there are
    none). loses_nan: of a maximum, which may be that of the terms that are numbers, and a zero of either sign."""

    reduce: RowReduce
    vars: tuple[Sym, ...]
    acc: str
    vector: bool
    lanes: bool
    total: str = ""
    number: str = ""
    loses_nan: bool = False

    def clear(self) -> list[str]:
        """Every lane without terms."""
        first = constant(identity(self.reduce.op, self.reduce.order, self.reduce.dtype))
        if self.vector:
            return [f"{self.acc} = {splat(self.reduce.dtype, first)};"]
        return ["for (int l = 0; l < 16; ++l)", f"    {self.acc}[l] = {first};"]

    def combined(self) -> str:
        """All lanes in one."""
        lanes = f"{lanes_of(self.reduce.op)}_{self.reduce.dtype}({self.acc})"
        return f"tcv_{lanes}" if self.vector else f"tc_lanes_{lanes}"

    def added(self) -> str:
        """The total with the lanes of the block that ends."""
        return f"tc_{joining(self.reduce.op)}_{self.reduce.dtype}({self.total}, {self.combined()})"

    def finish(self, e: ScalarEmitter) -> None:
        """Names the result as the local that later phases read."""
        r = self.reduce
        if r.order == "running":
            return
        terms = domain_size(self.vars)
        dtype = "i64" if r.op in POSITIONS else r.dtype
        if self.lanes:
            text = self.total or self.combined()
            if self.total and self.number:
                text = f"{self.number} > 0 ? {self.added()} : {self.total}"
            if (terms.range()[0] or 0) < 1:
                text = f"{e.index(terms)} == 0 ? {constant(empty(r.op, r.dtype))} : {text}"
        elif self.vector and r.op in POSITIONS:
            text = f"tcv_{r.op}_{r.value.dtype}({self.acc}_best, {self.acc})"
        elif self.vector:
            text = f"tcv_{r.op}_{r.dtype}({self.acc})" if r.op != "dot" else f"tcv_sum_{r.dtype}({self.acc})"
        else:
            text = self.acc
        e.name_local(r.name, dtype, text)

    def accumulate(self, e: ScalarEmitter, mask: str, position: str) -> None:
        """One step of the loop. mask: of the lanes that exist, "": all; position: of the first term."""
        r = self.reduce
        if r.op in POSITIONS and self.vector:
            dtype, value, better_lanes = r.value.dtype, e.wide(r.value), e.fresh("m")
            text = f"tcv_{r.op}_better_{dtype}({value}, {self.acc}_best)"
            if mask:
                text = f"tcv_logical_and_bool({mask}, {text})"
            here = f"tcv_add_i32(tcv_splat_i32((int32_t){position}), tcv_iota_i32())"
            e.lines += [f"const tcv_mask {better_lanes} = {text};",
                        f"{self.acc}_best = tcv_select_{dtype}({better_lanes}, {value}, {self.acc}_best);",
                        f"{self.acc} = tcv_select_i32({better_lanes}, {here}, {self.acc});"]
            return
        if r.op in POSITIONS:
            value = e.scalar(r.value)
            e.lines += [f"if ({self.number} == 0 || {better(r.op, r.value.dtype, value, self.acc + '_best')}) {{",
                        f"    {self.acc}_best = {value};", f"    {self.acc} = {self.number};", "}", f"++{self.number};"]
            return
        if self.vector:
            text = f"tcv_larger_{r.dtype}({e.wide(r.value)}, {self.acc})" if self.loses_nan else \
                term(e, r.op, r.dtype, self.acc, r.value, True)
            if mask:
                text = f"tcv_select_{r.dtype}({mask}, {text}, {self.acc})"
            e.lines.append(f"{self.acc} = {text};")
            step = 16
        elif self.lanes:
            at = f"{self.acc}[{self.number or position} & 15]"
            e.lines.append(f"{at} = {term(e, r.op, r.dtype, at, r.value, False)};")
            step = 1
        else:
            e.lines.append(f"{self.acc} = {term(e, r.op, r.dtype, self.acc, r.value, False)};")
            return
        if self.lanes and self.number:
            e.lines.append(f"{self.number} += {step};")
            if self.total:
                e.lines += [f"if ({self.number} == {BLOCK}) {{", f"    {self.total} = {self.added()};",
                            *indent(self.clear()), f"    {self.number} = 0;", "}"]


def row_reduces(phase: Phase) -> list[RowReduce]:
    """Its reductions, sorts apart."""
    return [r for r in phase.reduces if isinstance(r, RowReduce)]


def is_wide(phase: Phase, isa: InstructionSet) -> bool:
    """Whether the innermost loop of a phase runs 16 at a time."""
    reduces = row_reduces(phase)
    if len(reduces) < len(phase.reduces):
        return False
    inner, outer = phase.vars[-1], phase.vars[:-1]
    most = extent(inner).range()[1]
    counted = not outer and most is not None and most < 1 << 31    # positions are lanes of i32
    wide = isa.has_vectors and phase.vector and vectorizable(phase.values, inner) \
        and all(counted and r.value.dtype in ("f32", "i32") if r.op in POSITIONS else r.dtype in V_TYPE
                for r in reduces)
    ordered = any(r.order == "lanes" for r in reduces)
    running = any(r.order == "running" for r in reduces)
    # with outer loops a row of the inner variable has to start at lane 0
    return wide and not running and not (ordered and outer and divisor_of(extent(inner)) % 16)


def placed(variable: Sym, at: Expr) -> Rewriter:
    """Puts `at` in the place of a variable."""
    return Rewriter(lambda e: e.substitute({variable: at}))


def copied(phase: Phase, row: Sym, at: Expr, suffix: str) -> Phase:
    """The phase of the row `at`; its reductions are named apart from those of other rows."""
    def leaf(node: Scalar) -> Scalar | None:
        return Local(node.name + suffix, node.dtype) if isinstance(node, Local) else None
    change = Rewriter(lambda e: e.substitute({row: at}), leaf)
    reduces = tuple(RowReduce(r.name + suffix, r.op, r.order, change(r.value), r.dtype) for r in row_reduces(phase))
    stores = tuple(rewritten(x, change) for x in phase.stores)
    return Phase(phase.vars, reduces, stores, phase.vector)


def row_sum(e: ScalarEmitter, r: RowReduce, wide: bool, variables: tuple[Sym, ...], loses_nan: bool = False) -> RowSum:
    """Declares what the terms are added to."""
    first = identity(r.op, r.order, r.dtype) if r.op not in POSITIONS else None
    s = RowSum(r, variables, e.fresh("r"), wide, r.order == "lanes", loses_nan=loses_nan and r.op == "max")
    if s.lanes:
        assert first is not None    # positions are free
        s.number = "" if len(variables) == 1 else e.fresh("n")
        most = domain_size(variables).range()[1]
        if most is None or most > BLOCK:
            s.total = e.fresh("r")
            e.lines.append(f"{C_TYPE[r.dtype]} {s.total} = {constant(first)};")
        if wide:
            e.lines.append(f"{V_TYPE[r.dtype]} {s.acc} = {splat(r.dtype, constant(first))};")
        else:
            e.lines += [f"{C_TYPE[r.dtype]} {s.acc}[16];", *s.clear()]
        if s.number:
            e.lines.append(f"tc_index {s.number} = 0;")
    elif first is None and wide:
        # A lane without terms keeps the worst value and a position behind every other of the same value.
        dtype = r.value.dtype
        worst = constant(identity(r.op[3:], r.order, dtype))
        e.lines += [f"{V_TYPE[dtype]} {s.acc}_best = {splat(dtype, worst)};", f"tcv_i32 {s.acc} = tcv_iota_i32();"]
    elif first is None:
        s.number = e.fresh("n")
        e.lines += [f"{C_TYPE[r.value.dtype]} {s.acc}_best = 0;", f"int64_t {s.acc} = 0;",
                    f"tc_index {s.number} = 0;"]
    elif wide:
        e.lines.append(f"{V_TYPE[r.dtype]} {s.acc} = {splat(r.dtype, constant(first))};")
    else:
        e.lines.append(f"{C_TYPE[r.dtype]} {s.acc} = {constant(first)};")
    return s


def exps_of_rows(e: ScalarEmitter, values: Sequence[Scalar]) -> None:
    """Computes the exps of values of several rows at once: whether all operands are near 0 is asked once."""
    found = [x for x in dict.fromkeys(x for value in values for x in walk(value))
             if isinstance(x, Apply) and x.op == "exp"]
    if len(found) < 2:
        return
    name = e.fresh("v")
    e.lines += [f"tcv_f32 {name}[] = {{{', '.join([e.wide(x.args[0]) for x in found])}}};",
                f"tcv_exps_below_f32({name}, {len(found)});"]
    for i, x in enumerate(found):
        e.know(x, f"{name}[{i}]")


def quotients_of_rows(e: ScalarEmitter, values: Sequence[Scalar]) -> None:
    """Computes the quotients of several rows by numbers that stay in the loop at once: whether multiply-adds give them
    is asked once."""
    found = [x for x in dict.fromkeys(x for value in values for x in walk(value))
             if isinstance(x, Apply) and x.op == "div" and x.dtype == "f32"]
    within = {y for x in found for a in x.args for y in walk(a)}
    if len(found) < 2 or not within.isdisjoint(found):
        return
    pairs = [(x, e.value(x.args[0]), e.value(x.args[1])) for x in found]
    if not all(a.vector and not b.vector and b.depth < a.depth for _, a, b in pairs):
        return
    for first in range(0, len(pairs), AT_ONCE):
        some, name = pairs[first:first + AT_ONCE], e.fresh("v")
        numbers = ", ".join(b.text for _, _, b in some)
        e.lines += [f"tcv_f32 {name}[] = {{{', '.join(a.text for _, a, _ in some)}}};",
                    f"tcv_divs_by_f32({name}, (const float[]){{{numbers}}}, {len(some)});"]
        for i, (x, _, _) in enumerate(some):
            e.know(x, f"{name}[{i}]")
