# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions as vectors of four i32 along one variable, over templates/include/tc_helium.h: what follows the
sums of products of bytes. Narrow integers are widened where they are loaded."""
from __future__ import annotations

from typing import Collection, Iterable, Mapping

from ...loops.constant_facts import ConstantFacts
from ...loops.loop_ir import Store
from ...loops.scalar_ir import Acc, Apply, Buffer, Load, Scalar
from ...loops.scalars import own_expressions
from ...records import dataclass
from ...symbolic import Expr, Sym
from .fixed_point import FixedPointEmitter, by_byte, limited, shift_of, where_negative
from ..halves import high_half, upper_half
from ..scalar import CValue

LANES = 4
SIMPLE = {"add": "vaddq_s32", "sub": "vsubq_s32", "mul": "vmulq_s32", "bit_and": "vandq_s32", "bit_or": "vorrq_s32",
          "minimum": "vminq_s32", "maximum": "vmaxq_s32"}
_LOADED, _STORED = ("i8", "u8", "i32"), ("i8", "i32")


def rounding_shift(s: Scalar, pairs: Collection[tuple[str, str]]) -> tuple[Scalar, Scalar] | None:
    """x and n of i32 where s is x shifted by -n places to the right, the last of them rounded up; n is not positive.
    pairs: as ConstantFacts.shifts."""
    if not (isinstance(s, Apply) and (s.op, s.dtype) == ("sub", "i32") and isinstance(s.args[1], Apply)
            and s.args[1].op == "bit_and"):
        return None
    most, (half, shifts) = s.args[0], s.args[1].args
    if shift_of(half) != 1 or half.children[0] is not most or not by_byte(most) or most.op != "shift_right":
        return None
    x, rest = most.args
    parts = [v.args[0] for v in (shifts, rest) if isinstance(v, Apply) and v.op == "cast"]
    if len(parts) != 2 or not all(isinstance(p, Load) and not p.valid and not p.dynamic for p in parts):
        return None
    first, second = parts
    assert isinstance(first, Load) and isinstance(second, Load)
    if (first.buffer, second.buffer) not in pairs or first.index != second.index:
        return None
    return x, Apply("sub", "i32", (shifts, rest))


@dataclass(frozen=True, slots=True)
class Call:
    """Four lanes as a function of those of `operands` and of literals behind them; without a function they are those
    of the one operand."""

    function: str
    operands: tuple[Scalar, ...]
    literals: tuple[str, ...] = ()


def call_of(s: Scalar, facts: ConstantFacts) -> Call | None:
    """What four lanes of s are computed by; None where there is no way to."""
    if not isinstance(s, Apply):
        return None
    if (shift := rounding_shift(s, facts.shifts)) is not None:
        return Call("vrshlq_s32", shift)
    if (pair := high_half(s)) is not None:
        return Call("tch_high_half", pair)
    if (pair := where_negative(s)) is not None:
        return Call("tch_add_where_negative", pair)
    if (half := upper_half(s)) is not None:
        return _upper_half(*half, facts.doubled)
    if (limit := limited(s)) is not None:
        return Call("tch_limited", limit[:1], (str(limit[1]),))
    if by_byte(s):
        return Call(f"tch_{s.op}_by", s.args)
    if (places := shift_of(s)) is not None and 0 < places < 32:
        return Call("vshrq_n_s32", s.args[:1], (str(places),))
    if s.op == "cast" and s.dtype == "i32" and isinstance(s.args[0], Load) and s.args[0].dtype in ("i8", "u8"):
        return Call("", s.args)
    return Call(SIMPLE[s.op], s.args) if s.op in SIMPLE and {s.dtype, *(a.dtype for a in s.args)} == {"i32"} else None


def _upper_half(x: Scalar, b: Scalar | int, doubled: Collection[str]) -> Call:
    """The factor is 2^32 + b. Where it is even, one instruction multiplies with its half and doubles."""
    if isinstance(b, int):
        return Call("vqrdmulhq_n_s32", (x,), (str((b + (1 << 32)) // 2),)) if b < 0 and b % 2 == 0 else \
            Call("tch_upper_half", (x,), (f"vdupq_n_s32({b})",))
    twice = isinstance(b, Load) and b.buffer in doubled and not b.valid
    return Call("tch_upper_half_doubled" if twice else "tch_upper_half", (x, b))


def possible(stores: Iterable[Store], lane: Sym, buffers: Mapping[str, Buffer], facts: ConstantFacts) -> bool:
    """Four neighbours along `lane` can be computed together."""
    memo: dict[Scalar, bool] = {}

    def varies(s: Scalar) -> bool:
        if s not in memo:
            memo[s] = isinstance(s, Acc) or any(lane in e.symbols() for e in own_expressions(s)) \
                or any(map(varies, s.children))
        return memo[s]

    def known(s: Scalar) -> bool:
        if not varies(s) or isinstance(s, Acc):
            return True
        if isinstance(s, Load):
            return not (s.dynamic or s.valid) and s.dtype in _LOADED \
                and buffers[s.buffer].address(s.index).coefficient(lane) == 1
        call = call_of(s, facts)
        return call is not None and all(map(known, call.operands))

    return all(s.value.dtype in _STORED and not s.dynamic and varies(s.value) and known(s.value)
               and buffers[s.buffer].address(s.index).coefficient(lane) == 1 for s in stores)


class LanesEmitter(FixedPointEmitter):
    """Of four lanes while `width` is LANES, of one while it is 1. Only for stores that are `possible`. facts: of
    the kernel's buffers."""

    facts: ConstantFacts = ConstantFacts()

    def varies(self, *exprs: Expr) -> bool:
        return self.width == LANES and any(self.vector in e.symbols() for e in exprs)

    def name(self, text: str, dtype: str, vector: bool, depth: int) -> CValue:
        if not vector:
            return super().name(text, dtype, vector, depth)
        name = self.fresh("v")
        self.scopes[depth].lines.append(f"const int32x4_t {name} = {text};")
        return CValue(name, True, depth)

    def read(self, node: Load, depth: int, spread: bool) -> CValue:
        address = self.address(node.buffer, node.index)
        if not self.varies(address):
            return super().read(node, depth, spread)
        return self.name(f"tch_load_{node.dtype}({self.pointers[node.buffer]} + ({self.index(address)}))", node.dtype,
                         True, depth)

    def apply(self, node: Apply) -> CValue:
        call = call_of(node, self.facts) if self.width == LANES else None
        if call is None:
            return super().apply(node)
        values = [self.value(x) for x in call.operands]
        if not any(v.vector for v in values):
            return super().apply(node)
        texts = [v.text if v.vector else f"vdupq_n_s32({v.text})" for v in values]
        depth = max(v.depth for v in values)
        if not call.function:
            return CValue(texts[0], True, depth)
        text = f"{call.function}({', '.join((*texts, *call.literals))})"
        return self.name(text, node.dtype, True, depth)

    def store_value(self, node: Store, result: CValue) -> None:
        if self.width == 1:
            super().store_value(node, result)
            return
        address = self.address(node.buffer, node.index)
        self.lines.append(f"tch_store_{node.value.dtype}({self.pointers[node.buffer]} + ({self.index(address)}), "
                          f"{result.text});")
