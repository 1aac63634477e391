# SPDX-License-Identifier: Apache-2.0
"""Loop nests of integers by vectors of four i32 (lanes.py), over templates/include/tc_helium.h: poolings, additions,
softmax. Only the innermost loop of a phase runs so, and only where all that it computes is known to lanes; where four
do not divide it, each step has a predicate. Integers wrap, so the order of a sum's terms changes no bit.
"""
from __future__ import annotations

from typing import Iterable, Mapping

from ...instruction_sets import instruction_set
from ...loops.constant_facts import ConstantFacts
from ...loops.loop_ir import LoopNestKernel, Phase, RowReduce, Store
from ...loops.scalar_ir import Acc, Apply, Buffer, Load, Reduction, Scalar
from ...loops.scalars import identity, own_expressions, walk
from ...symbolic import Sym
from ..frame import PROCESSOR
from .lanes import LANES, LanesEmitter, call_of
from ..nests.general_nest import GeneralNest
from ..nests.loop_nest import function
from ..nests.row_sums import row_reduces
from ..constants import constant
from ..scalar import CValue, extent

HEADERS = ("tc_scalar.h", "tc_fixed.h", "tc_helium.h")
_NARROW = ("i8", "u8")
_LANES = ("i32", *_NARROW)      # dtypes whose values are lanes of i32
_COMPARED = {"gt": "vcmpgtq_s32", "lt": "vcmpltq_s32", "ge": "vcmpgeq_s32", "le": "vcmpleq_s32", "eq": "vcmpeqq_s32",
             "ne": "vcmpneq_s32"}
_EXTREME = {"maximum": "vmaxq_s32", "minimum": "vminq_s32"}
# What a reduction of lanes is made of: two vectors, those with a predicate, and the lanes of one.
_REDUCED = {"sum": ("vaddq_s32", "vaddq_m_s32", "vaddvq_s32({})"),
            "max": ("vmaxq_s32", "vmaxq_m_s32", "vmaxvq_s32(INT32_MIN, {})"),
            "min": ("vminq_s32", "vminq_m_s32", "vminvq_s32(INT32_MAX, {})")}


def runs_by_lanes(kernel: LoopNestKernel, isa: str) -> bool:
    return _by_lanes(kernel, isa) is not None


def emit_lane_nest(kernel: LoopNestKernel, isa: str, symbol: str) -> str | None:
    """The kernel's C; None where no loop of it is known to lanes."""
    nest = _by_lanes(kernel, isa)
    if nest is None:
        return None
    nest.nest()
    return function(nest, symbol, PROCESSOR, [PROCESSOR.header, *HEADERS, *sorted(nest.e.headers)])


def _by_lanes(kernel: LoopNestKernel, isa: str) -> _LaneNest | None:
    nest = _LaneNest(kernel, instruction_set(isa), NestLanesEmitter)
    return nest if any(map(nest.by_lanes, kernel.phases)) else None


class _Known:
    """What of a phase is known to lanes along its innermost variable."""

    def __init__(self, phase: Phase, buffers: Mapping[str, Buffer]):
        self.lane, self.buffers = phase.vars[-1], buffers
        self.memo: dict[Scalar, bool] = {}
        roots, reduced = [s.value for s in phase.stores], {r.value for r in row_reduces(phase)}
        read = reduced | {c for s in walk(*roots, *reduced) for c in s.children}
        self.stored = {s for s in roots if s not in read}   # and not read besides

    def varies(self, s: Scalar) -> bool:
        if s not in self.memo:
            self.memo[s] = isinstance(s, Acc) or any(self.lane in e.symbols() for e in own_expressions(s)) \
                or any(map(self.varies, s.children))
        return self.memo[s]

    def known(self, s: Scalar) -> bool:
        if not self.varies(s):
            return s.dtype in (*_LANES, "bool")
        if isinstance(s, Load):
            return self.load(s)
        if isinstance(s, Reduction):
            return s.op in _REDUCED and s.order != "running" and (s.dtype == "i32" or _narrow_extreme(s)) \
                and not any(self.lane in e.symbols() for e in s.valid) and self.known(s.value)
        return isinstance(s, Apply) and self.apply(s)

    def load(self, s: Load) -> bool:
        if s.valid or s.dtype not in _LANES:
            return False
        address = self.buffers[s.buffer].address(s.index)
        if not s.dynamic:
            return address.coefficient(self.lane) == 1
        if len(s.dynamic) > 1 or s.dtype == "u8":
            return False
        ((place, value),) = s.dynamic
        return value.dtype == "i32" and self.lane not in address.symbols() and address.coefficient(place) == 1 \
            and self.known(value)

    def apply(self, s: Apply) -> bool:
        if s.op == "cast" and s.dtype in _NARROW and s not in self.stored:
            return False    # a lane has more than its low byte, of which a store takes no notice
        if (call := call_of(s, ConstantFacts())) is not None:
            return all(map(self.known, call.operands))
        dtypes = {s.dtype, *(a.dtype for a in s.args)}
        if s.op in ("shift_left", "shift_right", "div"):
            return dtypes == {"i32"} and not self.varies(s.args[1]) and self.known(s.args[0])
        if s.op == "cast":
            fits = s.args[0].dtype in (*_LANES, "bool") and (s.dtype == "i32" or s.args[0].dtype == "i32")
        elif s.op in _COMPARED:
            fits = dtypes - {"bool"} <= set(_LANES) and s.args[0].dtype != "bool"
        else:
            fits = s.op in (*_EXTREME, "select") and s.dtype in _LANES
        return fits and all(map(self.known, s.args))


def _narrow_extreme(s: Reduction) -> bool:
    return s.op != "sum" and s.dtype in _NARROW


class NestLanesEmitter(LanesEmitter):
    """lanes: C text of the predicate of the lanes that exist; None: all four."""

    def name(self, text: str, dtype: str, vector: bool, depth: int) -> CValue:
        if not vector or dtype != "bool":
            return super().name(text, dtype, vector, depth)
        name = self.fresh("m")
        self.scopes[depth].lines.append(f"const mve_pred16_t {name} = {text};")
        return CValue(name, True, depth)

    def lanes_of(self, node: Scalar) -> str:
        """The value as a vector of i32."""
        found = self.value(node)
        return found.text if found.vector else f"vdupq_n_s32({found.text})"

    def value(self, node: Scalar) -> CValue:
        if isinstance(node, Reduction) and self.width == LANES and self.known(node) is None and self.differs(node):
            result = self.reduction(node)
            self.scopes[result.depth].values[node] = result
            return result
        return super().value(node)

    def differs(self, node: Scalar) -> bool:
        return any(self.varies(*own_expressions(s)) for s in walk(node))

    def reduction(self, node: Reduction) -> CValue:
        acc, first = self.fresh("s"), constant(identity(node.op, "seq", node.dtype))
        self.lines.append(f"int32x4_t {acc} = vdupq_n_s32({first});")
        heads = [self.loop(s) for s in node.vars]
        if node.valid:
            self.open(guard=True)
        self.lines.append(f"{acc} = {_REDUCED[node.op][0]}({acc}, {self.lanes_of(node.value)});")
        if node.valid:
            self.close(f"if ({self.all_nonnegative(node.valid)})")
        for head in reversed(heads):
            if head is not heads[-1]:
                self.scopes[-2].lines.append("TC_UNROLL(1)")
            self.close(head)
        return CValue(acc, True, len(self.scopes) - 1)

    def load(self, node: Load) -> CValue:
        if self.width == LANES and node.dynamic and (at := self.value(node.dynamic[0][1])).vector:
            ((place, _),) = node.dynamic
            self.names[place] = "0"
            first = f"{self.pointers[node.buffer]} + ({self.index(self.address(node.buffer, node.index))})"
            del self.names[place]
            return self.name(self.some("gather", node.dtype, first, at.text), "i32", True, len(self.scopes) - 1)
        return super().load(node)

    def some(self, what: str, dtype: str, *arguments: str) -> str:
        """A call that touches memory, of the lanes that exist."""
        if self.lanes is None:
            return f"tch_{what}_{dtype}({', '.join(arguments)})"
        return f"tch_{what}_some_{dtype}({', '.join((*arguments, self.lanes))})"

    def read(self, node: Load, depth: int, spread: bool) -> CValue:
        address = self.address(node.buffer, node.index)
        if self.lanes is None or not self.varies(address):
            return super().read(node, depth, spread)
        place = f"{self.pointers[node.buffer]} + ({self.index(address)})"
        return self.name(self.some("load", node.dtype, place), "i32", True, depth)

    def apply(self, node: Apply) -> CValue:
        if self.width != LANES or call_of(node, self.facts) is not None:
            return super().apply(node)
        values = [self.value(x) for x in node.args]
        if not any(v.vector for v in values):
            return super().apply(node)
        depth = max(v.depth for v in values)
        texts = [v.text if v.vector else f"vdupq_n_s32({v.text})" for v in values]
        if node.op == "cast" and node.args[0].dtype != "bool":
            return CValue(texts[0], True, depth)
        if node.op == "cast":
            text = f"vpselq_s32(vdupq_n_s32(1), vdupq_n_s32(0), {texts[0]})"
        elif node.op == "select":
            text = f"vpselq_s32({texts[1]}, {texts[2]}, {texts[0]})" if values[0].vector else \
                f"{values[0].text} ? {texts[1]} : {texts[2]}"
        elif node.op in _COMPARED or node.op in _EXTREME:
            text = f"{(_COMPARED | _EXTREME)[node.op]}({', '.join(texts)})"
        else:
            text = f"tch_{node.op}({texts[0]}, {values[1].text})"
        return self.name(text, node.dtype, True, depth)

    def store_value(self, node: Store, result: CValue) -> None:
        if self.width == 1:
            super().store_value(node, result)
            return
        place = f"{self.pointers[node.buffer]} + ({self.index(self.address(node.buffer, node.index))})"
        text = result.text if result.vector else f"vdupq_n_s32({result.text})"
        self.lines.append(f"{self.some('store', node.value.dtype, place, text)};")


class _LaneNest(GeneralNest):
    e: NestLanesEmitter

    def by_lanes(self, phase: Phase) -> bool:
        """The innermost loop runs by four lanes."""
        reduces = row_reduces(phase)
        if not phase.vars or not phase.vector or len(reduces) < len(phase.reduces) or not _long(phase.vars[-1]):
            return False
        known = _Known(phase, self.e.buffers)
        return all(r.op in _REDUCED and r.order != "running" and r.dtype in (("i32",) if r.op == "sum" else _LANES)
                   and known.known(r.value) for r in reduces) \
            and all(not s.dynamic and s.value.dtype in _LANES and known.known(s.value)
                    and self.e.buffers[s.buffer].address(s.index).coefficient(known.lane) == 1 for s in phase.stores)

    def phase(self, phases: list[Phase], piece: tuple[str, str] | None) -> None:
        if len(phases) > 1 or not self.by_lanes(phases[0]):
            super().phase(phases, piece)
            return
        e, (phase,) = self.e, phases
        inner, reduces = phase.vars[-1], row_reduces(phase)
        low, high = piece or ("0", e.index(extent(inner)))
        accs = [e.fresh("r") for _ in reduces]
        e.lines += [f"int32x4_t {acc} = vdupq_n_s32({constant(identity(r.op, 'seq', r.dtype))});"
                    for acc, r in zip(accs, reduces, strict=True)]
        heads = [e.loop(s) for s in phase.vars[:-1]]
        name = e.bind(inner)
        e.open((inner,))
        e.width, e.vector = LANES, inner
        if extent(inner).value % LANES:
            e.lanes = e.fresh("m")
            e.lines.append(f"const mve_pred16_t {e.lanes} = vctp32q((uint32_t)({high} - {name}));")
        self.four(zip(accs, reduces, strict=True), phase.stores)
        e.width, e.vector, e.lanes = 1, None, None
        e.close(f"for (tc_index {name} = {low}; {name} < {high}; {name} += {LANES})")
        for head in reversed(heads):
            e.close(head)
        for acc, r in zip(accs, reduces, strict=True):
            e.name_local(r.name, r.dtype, _REDUCED[r.op][2].format(acc))


    def four(self, sums: Iterable[tuple[str, RowReduce]], stores: Iterable[Store]) -> None:
        """One step of the loop."""
        e = self.e
        for acc, r in sums:
            whole, some, _ = _REDUCED[r.op]
            value = e.lanes_of(r.value)
            e.lines.append(f"{acc} = {whole}({acc}, {value});" if e.lanes is None else
                           f"{acc} = {some}({acc}, {acc}, {value}, {e.lanes});")
        e.stores(stores)


def _long(s: Sym) -> bool:
    size = extent(s)
    return size.is_const and size.value >= LANES
