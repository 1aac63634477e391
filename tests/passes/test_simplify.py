# SPDX-License-Identifier: Apache-2.0
"""Every rule of simplify: text in, text out, the same bits; and near misses that have to stay as they are."""
from __future__ import annotations

import re

from passes import case, function, module
from tap import done, equal, ok
from tensor_compile.graph.dce import dce
from tensor_compile.graph.simplify import RULES, simplify
from tensor_compile.graph.text import print_function

X = '%0 "x" : f32[4]'
XY = '%0 "x" : f32[4], %1 "y" : f32[4]'
B = '%0 "p" : bool[4], %1 "x" : f32[4], %2 "y" : f32[4]'
BOOL = '%0 "p" : bool[4], %1 "q" : bool[4]'
I = '%0 "i" : i32[4], %1 "j" : i32[4]'
tested: set[str] = set()


def rule(name: str, parameters: str, body: str, want: str) -> None:
    """A case of the rule `name` (what follows a colon tells cases of one rule apart)."""
    tested.add(name.partition(":")[0])
    case(lambda f: dce(simplify(f)), name, parameters, body, want)


def stays(name: str, parameters: str, body: str) -> None:
    case(lambda f: dce(simplify(f)), f"stays: {name}", parameters, body, body)


def constant(bits: str, n: int, dtype: str = "f32") -> str:
    """Lines that make %n a repeated constant; %(n-1) is the scalar."""
    return (f"%{n - 1} = constant() {{bits={bits}}} : {dtype}[]\n"
            f"%{n} = broadcast(%{n - 1}) {{shape=[4], axes=[]}} : {dtype}[4]\n")


def binary(op: str, bits: str, left: bool = False, dtype: str = "f32") -> str:
    operands = "%2, %0" if left else "%0, %2"
    return constant(bits, 2, dtype) + f"%3 = {op}({operands}) : {dtype}[4]"


# -- algebra
rule("identity_operand: x + -0", X, binary("add", "0x80000000"), "")
rule("identity_operand: x - +0", X, binary("sub", "0x00000000"), "")
rule("identity_operand: x * 1", X, binary("mul", "0x3f800000"), "")
rule("identity_operand: x / 1", X, binary("div", "0x3f800000"), "")
rule("identity_operand: max(x, -inf)", X, binary("maximum", "0xff800000"), "")
rule("identity_operand: min(x, +inf)", X, binary("minimum", "0x7f800000"), "")
rule("identity_operand: integer x + 0", '%0 "i" : i32[4]', binary("add", "0x00000000", dtype="i32"), "")
rule("identity_operand: integer max(x, INT_MIN)", '%0 "i" : i64[4]',
     binary("maximum", "0x8000000000000000", dtype="i64"), "")
stays("x + +0 (-0 + +0 is +0)", X, binary("add", "0x00000000"))
stays("x - -0", X, binary("sub", "0x80000000"))
stays("x * 0 (NaN, -0)", X, binary("mul", "0x00000000"))
stays("max(x, -FLT_MAX)", X, binary("maximum", "0xff7fffff"))
rule("constant_second: 1 * x", X, binary("mul", "0x3f800000", left=True), "")
rule("constant_second: -0 + x", X, binary("add", "0x80000000", left=True), "")
rule("constant_second: 2 + x", X, binary("add", "0x40000000", left=True), binary("add", "0x40000000"))
rule("negate_by_product: x * -1", X, binary("mul", "0xbf800000"), "%1 = neg(%0) : f32[4]")
rule("negate_by_product: integer x / -1", '%0 "i" : i32[4]', binary("div", "0xffffffff", dtype="i32"),
     "%1 = neg(%0) : i32[4]")
rule("negate_by_difference", X, binary("sub", "0x80000000", left=True), "%1 = neg(%0) : f32[4]")
stays("+0 - x (+0 - +0 is +0)", X, binary("sub", "0x00000000", left=True))
rule("add_negated: x + -y", XY, "%2 = neg(%1) : f32[4]\n%3 = add(%0, %2) : f32[4]", "%2 = sub(%0, %1) : f32[4]")
rule("add_negated: -x + y", XY, "%2 = neg(%0) : f32[4]\n%3 = add(%2, %1) : f32[4]", "%2 = sub(%1, %0) : f32[4]")
rule("subtract_negated", XY, "%2 = neg(%1) : f32[4]\n%3 = sub(%0, %2) : f32[4]", "%2 = add(%0, %1) : f32[4]")
rule("product_of_negated", XY, "%2 = neg(%0) : f32[4]\n%3 = neg(%1) : f32[4]\n%4 = mul(%2, %3) : f32[4]",
     "%2 = mul(%0, %1) : f32[4]")
rule("product_of_negated: quotient", XY, "%2 = neg(%0) : f32[4]\n%3 = neg(%1) : f32[4]\n%4 = div(%2, %3) : f32[4]",
     "%2 = div(%0, %1) : f32[4]")
stays("quotient of negated integers", I, "%2 = neg(%0) : i32[4]\n%3 = neg(%1) : i32[4]\n%4 = div(%2, %3) : i32[4]")
rule("divide_by_power_of_two: 8", X, binary("div", "0x41000000"), binary("mul", "0x3e000000"))
rule("divide_by_power_of_two: -0.5", X, binary("div", "0xbf000000"), binary("mul", "0xc0000000"))
stays("x / 3", X, binary("div", "0x40400000"))
stays("x / 2**127 (its reciprocal is a denormal)", X, binary("div", "0x7f000000"))
# -- other dtypes: their own constants, what wraps, what rounds
for other, one, low in (("f64", "0x3ff0000000000000", "0xfff0000000000000"), ("f16", "0x3c00", "0xfc00"),
                        ("bf16", "0x3f80", "0xff80"), ("u8", "0x01", "0x00"), ("i16", "0x0001", "0x8000")):
    rule(f"identity_operand: {other} x * 1", f'%0 "x" : {other}[4]', binary("mul", one, dtype=other), "")
    rule(f"identity_operand: {other} max(x, lowest)", f'%0 "x" : {other}[4]', binary("maximum", low, dtype=other), "")
stays("f16 x + +0", '%0 "x" : f16[4]', binary("add", "0x0000", dtype="f16"))
rule("divide_by_power_of_two: f16 8", '%0 "x" : f16[4]', binary("div", "0x4800", dtype="f16"),
     binary("mul", "0x3000", dtype="f16"))
rule("negate_by_product: u8 x * 255", '%0 "x" : u8[4]', binary("mul", "0xff", dtype="u8"), "%1 = neg(%0) : u8[4]")
stays("u8 x / 255", '%0 "x" : u8[4]', binary("div", "0xff", dtype="u8"))
rule("absolute_twice: of unsigned numbers", '%0 "x" : u16[4]', "%1 = neg(%0) : u16[4]\n%2 = abs(%1) : u16[4]",
     "%1 = neg(%0) : u16[4]")


def casts(*dtypes: str) -> str:
    return "\n".join(f"%{i} = cast(%{i - 1}) {{dtype={d}}} : {d}[4]" for i, d in enumerate(dtypes, 1))


rule("cast_chain: f16 to f32 and back", '%0 "x" : f16[4]', casts("f32", "f16"), "")
rule("cast_chain: i8 to i16 to i64", '%0 "x" : i8[4]', casts("i16", "i64"), casts("i64"))
rule("cast_chain: bf16 to f32 to f64", '%0 "x" : bf16[4]', casts("f32", "f64"), casts("f64"))
rule("cast_chain: u16 to f32 to u32", '%0 "x" : u16[4]', casts("f32", "u32"), casts("u32"))
def bitcasts(*dtypes: str) -> str:
    return casts(*dtypes).replace("= cast", "= bitcast")


rule("bitcast_chain: there and back", '%0 "x" : f16[4]', bitcasts("i16", "f16"), "")
rule("bitcast_chain: of integers by way of a float", I, bitcasts("f32", "u32").replace("%1", "%2", 1).replace(
    "%2 = bitcast(%1)", "%3 = bitcast(%2)"), "%2 = cast(%0) {dtype=u32} : u32[4]")
rule("bitcast_constant: -0", I, "%2 = constant() {bits=0x80000000} : f32[]\n%3 = bitcast(%2) {dtype=i32} : i32[]\n"
     "%4 = broadcast(%3) {shape=[4], axes=[]} : i32[4]\n%5 = bit_xor(%0, %4) : i32[4]",
     "%2 = constant() {bits=0x80000000} : i32[]\n%3 = broadcast(%2) {shape=[4], axes=[]} : i32[4]\n"
     "%4 = bit_xor(%0, %3) : i32[4]")
stays("f16 to bf16 by way of integers", '%0 "x" : f16[4]', bitcasts("u16", "bf16"))
stays("f32 to f16 and back (a rounding)", X, casts("f16", "f32"))
stays("f16 to bf16 and back (fewer digits)", '%0 "x" : f16[4]', casts("bf16", "f16"))
stays("i8 to u16 to i32 (the sign)", '%0 "x" : i8[4]', casts("u16", "i32"))
stays("u32 to f64 to i32 (saturates, where one cast wraps)", '%0 "x" : u32[4]', casts("f64", "i32"))
for bits, same in (("0x3e00", "0x3fc00000"), ("0x0001", "0x33800000"), ("0x8000", "0x80000000"),
                   ("0xfc00", "0xff800000")):
    rule(f"cast_constant: f16 {bits}", X,
         f"%1 = constant() {{bits={bits}}} : f16[]\n%2 = cast(%1) {{dtype=f32}} : f32[]\n"
         "%3 = broadcast(%2) {shape=[4], axes=[]} : f32[4]\n%4 = mul(%0, %3) : f32[4]", binary("mul", same))
for dtype, bits, to, same in (("i8", "0x80", "f32", "0xc3000000"), ("i32", "0x00000000", "f32", "0x00000000"),
                              ("u8", "0xff", "f16", "0x5bf8"), ("i32", "0x01000001", "f64", "0x4170000010000000"),
                              ("i32", "0xfffffffd", "bf16", "0xc040"), ("i32", "0x00ffffff", "f32", "0x4b7fffff")):
    rule(f"cast_constant: {dtype} {bits} to {to}", f'%0 "x" : {to}[4]',
         f"%1 = constant() {{bits={bits}}} : {dtype}[]\n%2 = cast(%1) {{dtype={to}}} : {to}[]\n"
         f"%3 = broadcast(%2) {{shape=[4], axes=[]}} : {to}[4]\n%4 = mul(%0, %3) : {to}[4]",
         f"%1 = constant() {{bits={same}}} : {to}[]\n%2 = broadcast(%1) {{shape=[4], axes=[]}} : {to}[4]\n"
         f"%3 = mul(%0, %2) : {to}[4]")
stays("cast_constant: of more digits than f32 has", X,
      "%1 = constant() {bits=0x01000001} : i32[]\n%2 = cast(%1) {dtype=f32} : f32[]\n"
      "%3 = broadcast(%2) {shape=[4], axes=[]} : f32[4]\n%4 = mul(%0, %3) : f32[4]")
rule("double_negation", X, "%1 = neg(%0) : f32[4]\n%2 = neg(%1) : f32[4]", "")
rule("double_negation: not", BOOL, "%2 = logical_not(%0) : bool[4]\n%3 = logical_not(%2) : bool[4]", "")
rule("absolute_twice", X, "%1 = abs(%0) : f32[4]\n%2 = abs(%1) : f32[4]", "%1 = abs(%0) : f32[4]")
rule("absolute_twice: negated", X, "%1 = neg(%0) : f32[4]\n%2 = abs(%1) : f32[4]", "%1 = abs(%0) : f32[4]")
rule("idempotent: max", X, "%1 = maximum(%0, %0) : f32[4]", "")
rule("idempotent: and", BOOL, "%2 = logical_and(%0, %0) : bool[4]", "")
rule("absorbed_extreme", XY, "%2 = minimum(%0, %1) : f32[4]\n%3 = minimum(%1, %2) : f32[4]",
     "%2 = minimum(%0, %1) : f32[4]")
rule("absorbed_extreme: relu of relu", X, constant("0x00000000", 2)
     + "%3 = maximum(%0, %2) : f32[4]\n%4 = constant() {bits=0x00000000} : f32[]\n"
       "%5 = broadcast(%4) {shape=[4], axes=[]} : f32[4]\n%6 = maximum(%3, %5) : f32[4]",
     constant("0x00000000", 2) + "%3 = maximum(%0, %2) : f32[4]")
stays("max(min(x, y), y)", XY, "%2 = minimum(%0, %1) : f32[4]\n%3 = maximum(%2, %1) : f32[4]")
P = '%0 "p" : bool[4]'
rule("logical_constant: and true", P, binary("logical_and", "0x01", dtype="bool"), "")
rule("logical_constant: and false", P, binary("logical_and", "0x00", dtype="bool"), constant("0x00", 2, "bool"))
rule("logical_constant: or false", P, binary("logical_or", "0x00", dtype="bool"), "")
rule("logical_constant: or true", P, binary("logical_or", "0x01", left=True, dtype="bool"), constant("0x01", 2, "bool"))
rule("logical_constant: xor true", P, binary("logical_xor", "0x01", dtype="bool"), "%1 = logical_not(%0) : bool[4]")
rule("compare_with_itself", I, "%2 = le(%0, %0) : bool[4]", constant("0x01", 3, "bool").replace("%3", "%3"))
NUMBERS = """%1 = iota() {axis=0} : i64[5]
%2 = broadcast(%0) {shape=[4, 5], axes=[0]} : i64[4,5]
%3 = broadcast(%1) {shape=[4, 5], axes=[1]} : i64[4,5]
"""
WORDS = """%1 = constant() {bits=0xffffffffffffffff} : i64[]
%2 = broadcast(%1) {shape=[4], axes=[]} : i64[4]
%3 = constant() {bits=0x000000007fffffff} : i64[]
%4 = broadcast(%3) {shape=[4], axes=[]} : i64[4]
%5 = maximum(%0, %2) : i64[4]
%6 = minimum(%5, %4) : i64[4]
%7 = cast(%6) {dtype=i32} : i32[4]
%8 = iota() {axis=0} : i32[5]
%9 = broadcast(%8) {shape=[4, 5], axes=[1]} : i32[4,5]
%10 = broadcast(%7) {shape=[4, 5], axes=[0]} : i32[4,5]
"""
rule("compare_in_words", '%0 "i" : i64[4]', NUMBERS + "%4 = lt(%3, %2) : bool[4,5]",
     WORDS + "%11 = lt(%9, %10) : bool[4,5]")
for op in ("eq", "ne", "lt", "le", "gt", "ge"):
    rule(f"compare_in_words: {op}, numbers second", '%0 "i" : i64[4]', NUMBERS + f"%4 = {op}(%2, %3) : bool[4,5]",
         WORDS + f"%11 = {op}(%10, %9) : bool[4,5]")
SORTED = "%1 = sort(%0) {axis=0, count=[4], descending=0} : (f32[4], i64[4])\n"


def behind_sort(lines: str) -> str:
    """Lines whose %0 is the second result of SORTED, which is %1."""
    return re.sub(r"%(\d+)", lambda found: f"%{int(found[1]) + 1}" if int(found[1]) else "%1.1", lines)


rule("compare_in_words: with the second result of a node", X,
     SORTED + behind_sort(NUMBERS + "%4 = lt(%3, %2) : bool[4,5]"),
     SORTED + behind_sort(WORDS + "%11 = lt(%9, %10) : bool[4,5]"))
stays("numbers of rows compared with integers along them", '%0 "i" : i64[5]', """%1 = iota() {axis=0} : i64[4]
%2 = broadcast(%0) {shape=[4, 5], axes=[1]} : i64[4,5]
%3 = broadcast(%1) {shape=[4, 5], axes=[0]} : i64[4,5]
%4 = eq(%2, %3) : bool[4,5]""")
stays("numbers compared with numbers of another axis", "", """%0 = iota() {axis=0} : i64[4]
%1 = iota() {axis=0} : i64[5]
%2 = broadcast(%0) {shape=[4, 5], axes=[0]} : i64[4,5]
%3 = broadcast(%1) {shape=[4, 5], axes=[1]} : i64[4,5]
%4 = ge(%2, %3) : bool[4,5]""")
rule("compare_with_itself: lt", I, "%2 = lt(%0, %0) : bool[4]", constant("0x00", 3, "bool"))
stays("x == x of floats (NaN)", X, "%1 = eq(%0, %0) : bool[4]")
rule("bitcast_chain: f32 to i32 and back", X, "%1 = bitcast(%0) {dtype=i32} : i32[4]\n"
     "%2 = bitcast(%1) {dtype=f32} : f32[4]", "")
rule("bitcast_chain: i32 to f32 to u32", '%0 "x" : i32[4]', "%1 = bitcast(%0) {dtype=f32} : f32[4]\n"
     "%2 = bitcast(%1) {dtype=u32} : u32[4]", "%1 = cast(%0) {dtype=u32} : u32[4]")
rule("bitcast_constant", X, "%1 = constant() {bits=0x3f800000} : f32[]\n%2 = bitcast(%1) {dtype=i32} : i32[]",
     "%1 = constant() {bits=0x3f800000} : i32[]")
rule("cast_chain: to itself", X, "%1 = cast(%0) {dtype=f32} : f32[4]", "")
rule("cast_chain: there and back", I, "%2 = cast(%0) {dtype=i64} : i64[4]\n%3 = cast(%2) {dtype=i32} : i32[4]", "")
rule("cast_chain: two exact", BOOL, "%2 = cast(%0) {dtype=i32} : i32[4]\n%3 = cast(%2) {dtype=f32} : f32[4]",
     "%2 = cast(%0) {dtype=f32} : f32[4]")
stays("cast to f32 and back", I, "%2 = cast(%0) {dtype=f32} : f32[4]\n%3 = cast(%2) {dtype=i32} : i32[4]")
rule("select_constant: true", B, constant("0x01", 4, "bool") + "%5 = select(%4, %1, %2) : f32[4]", 'return "out" %1')
rule("select_constant: alike", B, "%3 = select(%0, %2, %2) : f32[4]", 'return "out" %2')
rule("select_negated", B, "%3 = logical_not(%0) : bool[4]\n%4 = select(%3, %1, %2) : f32[4]",
     "%3 = select(%0, %2, %1) : f32[4]")
TRUTH = constant("0x01", 3, "bool").replace("%3", "%9").replace("%2", "%8") + constant("0x00", 11, "bool")
rule("select_of_truth", P, TRUTH + "%12 = select(%0, %9, %11) : bool[4]", "")
rule("select_of_truth: reversed", P, TRUTH + "%12 = select(%0, %11, %9) : bool[4]", "%1 = logical_not(%0) : bool[4]")
rule("elementwise_of_broadcasts", XY, "%2 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
     "%3 = broadcast(%1) {shape=[n, 4], axes=[1]} : f32[n,4]\n%4 = mul(%2, %3) : f32[n,4]",
     "%2 = mul(%0, %1) : f32[4]\n%3 = broadcast(%2) {shape=[n, 4], axes=[1]} : f32[n,4]")
rule("elementwise_of_broadcasts: with a scalar", X, "%1 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
     "%2 = constant() {bits=0x40490fdb} : f32[]\n%3 = broadcast(%2) {shape=[n, 4], axes=[]} : f32[n,4]\n"
     "%4 = add(%1, %3) : f32[n,4]",
     "%1 = constant() {bits=0x40490fdb} : f32[]\n%2 = broadcast(%1) {shape=[4], axes=[]} : f32[4]\n"
     "%3 = add(%0, %2) : f32[4]\n%4 = broadcast(%3) {shape=[n, 4], axes=[1]} : f32[n,4]")
stays("broadcasts along different axes", '%0 "x" : f32[4], %1 "y" : f32[n]',
      "%2 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
      "%3 = broadcast(%1) {shape=[n, 4], axes=[0]} : f32[n,4]\n%4 = mul(%2, %3) : f32[n,4]")
rule("known_dim", X, "%1 = dim_value() {value=[-7]} : i32[]", "%1 = constant() {bits=0xfffffff9} : i32[]")
stays("dim_value of a dim", X, "%1 = dim_value() {value=[n - 7]} : i32[]")
rule("iota_of_one", X, "%1 = iota() {axis=0} : i32[1,4]",
     "%1 = constant() {bits=0x00000000} : i32[]\n%2 = broadcast(%1) {shape=[1, 4], axes=[]} : i32[1,4]")

# -- views
M = '%0 "x" : f32[n,6,4]'
rule("reshape_nothing", M, "%1 = reshape(%0) {shape=[n, 6, 4]} : f32[n,6,4]", "")
rule("reshape_of_reshape", M, "%1 = reshape(%0) {shape=[6*n, 4]} : f32[6*n,4]\n"
     "%2 = reshape(%1) {shape=[n, 24]} : f32[n,24]", "%1 = reshape(%0) {shape=[n, 24]} : f32[n,24]")
rule("reshape_of_reshape: and back", M, "%1 = reshape(%0) {shape=[6*n, 4]} : f32[6*n,4]\n"
     "%2 = reshape(%1) {shape=[n, 6, 4]} : f32[n,6,4]", "")
rule("reshape_of_scalar", '%0 "x" : f32[]', "%1 = reshape(%0) {shape=[1, 1]} : f32[1,1]",
     "%1 = broadcast(%0) {shape=[1, 1], axes=[]} : f32[1,1]")
rule("reshape_of_scalar: repeated", '%0 "x" : f32[]', "%1 = broadcast(%0) {shape=[n, 4], axes=[]} : f32[n,4]\n"
     "%2 = reshape(%1) {shape=[4*n]} : f32[4*n]", "%1 = broadcast(%0) {shape=[4*n], axes=[]} : f32[4*n]")
rule("reshape_of_broadcast", X, "%1 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
     "%2 = reshape(%1) {shape=[n, 1, 4, 1]} : f32[n,1,4,1]",
     "%1 = broadcast(%0) {shape=[n, 1, 4, 1], axes=[2]} : f32[n,1,4,1]")
stays("reshape of a broadcast that merges dims", X, "%1 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
      "%2 = reshape(%1) {shape=[4*n]} : f32[4*n]")
rule("broadcast_nothing", M, "%1 = broadcast(%0) {shape=[n, 6, 4], axes=[0, 1, 2]} : f32[n,6,4]", "")
rule("broadcast_nothing: new dims of size 1", X, "%1 = broadcast(%0) {shape=[1, 4], axes=[1]} : f32[1,4]",
     "%1 = reshape(%0) {shape=[1, 4]} : f32[1,4]")
rule("broadcast_of_broadcast", X, "%1 = broadcast(%0) {shape=[6, 4], axes=[1]} : f32[6,4]\n"
     "%2 = broadcast(%1) {shape=[6, n, 4], axes=[0, 2]} : f32[6,n,4]",
     "%1 = broadcast(%0) {shape=[6, n, 4], axes=[2]} : f32[6,n,4]")
rule("broadcast_of_ones", X, "%1 = reshape(%0) {shape=[1, 4, 1]} : f32[1,4,1]\n"
     "%2 = broadcast(%1) {shape=[n, 4, 6], axes=[0, 1, 2]} : f32[n,4,6]",
     "%1 = broadcast(%0) {shape=[n, 4, 6], axes=[1]} : f32[n,4,6]")
rule("transpose_nothing", M, "%1 = transpose(%0) {perm=[0, 1, 2]} : f32[n,6,4]", "")
rule("transpose_nothing: dims of size 1", '%0 "x" : f32[n,1,4]', "%1 = transpose(%0) {perm=[1, 0, 2]} : f32[1,n,4]",
     "%1 = reshape(%0) {shape=[1, n, 4]} : f32[1,n,4]")
rule("transpose_of_transpose", M, "%1 = transpose(%0) {perm=[1, 2, 0]} : f32[6,4,n]\n"
     "%2 = transpose(%1) {perm=[0, 2, 1]} : f32[6,n,4]", "%1 = transpose(%0) {perm=[1, 0, 2]} : f32[6,n,4]")
rule("transpose_of_transpose: three turns", M, "%1 = transpose(%0) {perm=[1, 2, 0]} : f32[6,4,n]\n"
     "%2 = transpose(%1) {perm=[1, 2, 0]} : f32[4,n,6]\n%3 = transpose(%2) {perm=[1, 2, 0]} : f32[n,6,4]", "")
rule("transpose_of_broadcast", X, "%1 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
     "%2 = transpose(%1) {perm=[1, 0]} : f32[4,n]", "%1 = broadcast(%0) {shape=[4, n], axes=[0]} : f32[4,n]")
rule("transpose_of_broadcast: of two dims", '%0 "x" : f32[n,4]',
     "%1 = broadcast(%0) {shape=[n, 6, 4], axes=[0, 2]} : f32[n,6,4]\n"
     "%2 = transpose(%1) {perm=[2, 1, 0]} : f32[4,6,n]",
     "%1 = transpose(%0) {perm=[1, 0]} : f32[4,n]\n%2 = broadcast(%1) {shape=[4, 6, n], axes=[0, 2]} : f32[4,6,n]")
rule("slice_nothing", M, "%1 = slice(%0) {start=[0, 0, 0], size=[n, 6, 4], stride=[1, 1, 1]} : f32[n,6,4]", "")
rule("slice_of_slice", '%0 "x" : f32[20]', "%1 = slice(%0) {start=[1], size=[9], stride=[2]} : f32[9]\n"
     "%2 = slice(%1) {start=[2], size=[3], stride=[3]} : f32[3]",
     "%1 = slice(%0) {start=[5], size=[3], stride=[6]} : f32[3]")
CAT = '%0 "x" : f32[n,4], %1 "y" : f32[m,4], %2 "z" : f32[6,4]'
rule("slice_of_concat: one operand", CAT, "%3 = concat(%0, %1, %2) {axis=0} : f32[m + n + 6,4]\n"
     "%4 = slice(%3) {start=[n, 0], size=[m, 4], stride=[1, 1]} : f32[m,4]", 'return "out" %1')
rule("slice_of_concat: several", CAT, "%3 = concat(%0, %1, %2) {axis=0} : f32[m + n + 6,4]\n"
     "%4 = slice(%3) {start=[n, 0], size=[m + 6, 4], stride=[1, 1]} : f32[m + 6,4]",
     "%3 = concat(%1, %2) {axis=0} : f32[m + 6,4]")
rule("slice_of_concat: a part", CAT, "%3 = concat(%0, %1, %2) {axis=0} : f32[m + n + 6,4]\n"
     "%4 = slice(%3) {start=[m + n + 1, 2], size=[2, 2], stride=[3, 1]} : f32[2,2]",
     "%3 = slice(%2) {start=[1, 2], size=[2, 2], stride=[3, 1]} : f32[2,2]")
stays("a slice across operands", '%0 "x" : f32[4], %1 "y" : f32[4]', "%2 = concat(%0, %1) {axis=0} : f32[8]\n"
      "%3 = slice(%2) {start=[2], size=[4], stride=[1]} : f32[4]")
PAD = ("%1 = constant() {bits=0x3f800000} : f32[]\n"
       "%2 = pad(%0, %1) {low=[2], high=[1]} : f32[7]\n")
rule("slice_of_pad", X, PAD + "%3 = slice(%2) {start=[3], size=[2], stride=[1]} : f32[2]",
     "%1 = slice(%0) {start=[1], size=[2], stride=[1]} : f32[2]")
stays("a slice of padding", X, PAD + "%3 = slice(%2) {start=[1], size=[3], stride=[1]} : f32[3]")
rule("slice_of_broadcast", X, "%1 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]\n"
     "%2 = slice(%1) {start=[0, 1], size=[1, 2], stride=[1, 2]} : f32[1,2]",
     "%1 = slice(%0) {start=[1], size=[2], stride=[2]} : f32[2]\n%2 = reshape(%1) {shape=[1, 2]} : f32[1,2]")
rule("pad_nothing", X, "%1 = constant() {bits=0x3f800000} : f32[]\n%2 = pad(%0, %1) {low=[0], high=[0]} : f32[4]", "")
rule("pad_of_pad", X, PAD + "%3 = pad(%2, %1) {low=[1], high=[0]} : f32[8]",
     "%1 = constant() {bits=0x3f800000} : f32[]\n%2 = pad(%0, %1) {low=[3], high=[1]} : f32[8]")
stays("pads of different values", X, PAD + "%3 = constant() {bits=0x00000000} : f32[]\n"
      "%4 = pad(%2, %3) {low=[1], high=[0]} : f32[8]")
rule("concat_of_one", X, "%1 = concat(%0) {axis=0} : f32[4]", "")
rule("concat_of_one: no elements", '%0 "x" : f32[4], %1 "y" : f32[0]', "%2 = concat(%1, %0) {axis=0} : f32[4]",
     'return "out" %0')
rule("concat_of_concat", CAT, "%3 = concat(%0, %1) {axis=0} : f32[m + n,4]\n"
     "%4 = concat(%3, %2) {axis=0} : f32[m + n + 6,4]", "%3 = concat(%0, %1, %2) {axis=0} : f32[m + n + 6,4]")
rule("concat_of_slices", M, "%1 = slice(%0) {start=[0, 0, 0], size=[n, 2, 4], stride=[1, 1, 1]} : f32[n,2,4]\n"
     "%2 = slice(%0) {start=[0, 2, 0], size=[n, 3, 4], stride=[1, 1, 1]} : f32[n,3,4]\n"
     "%3 = slice(%0) {start=[0, 5, 0], size=[n, 1, 4], stride=[1, 1, 1]} : f32[n,1,4]\n"
     "%4 = concat(%1, %2, %3) {axis=1} : f32[n,6,4]", "")
stays("concat of slices in another order", '%0 "x" : f32[4]',
      "%1 = slice(%0) {start=[2], size=[2], stride=[1]} : f32[2]\n"
      "%2 = slice(%0) {start=[0], size=[2], stride=[1]} : f32[2]\n%3 = concat(%1, %2) {axis=0} : f32[4]")
rule("update_whole", XY, "%2 = update_slice(%0, %1) {start=[0]} : f32[4]", 'return "out" %1')
rule("update_whole: nothing", '%0 "x" : f32[4], %1 "y" : f32[0]', "%2 = update_slice(%0, %1) {start=[1]} : f32[4]",
     'return "out" %0')
rule("reduce_one", '%0 "x" : f32[n,1,4]', "%1 = reduce(%0) {op=sum, axes=[1], order=lanes} : f32[n,4]",
     "%1 = reshape(%0) {shape=[n, 4]} : f32[n,4]")
stays("a sum over a dim that may be 1", '%0 "x" : f32[n,4]', "%1 = reduce(%0) {op=sum, axes=[0], order=lanes} : f32[4]")
WINDOW = "size=[1], stride=[1], low=[0], high=[0], dilation=[1]"
rule("window_of_one", X, f"%1 = window_reduce(%0) {{op=max, {WINDOW}}} : f32[4]", "")
stays("a window sum of one (-0 + +0)", X, f"%1 = window_reduce(%0) {{op=sum, {WINDOW}}} : f32[4]")

# -- guards
source = module(function('%0 "x" : f32[k,4], %1 "y" : f32[n,2,4]', 'guard "k = 2*n" k == 2*n\n'
                         "%2 = reshape(%1) {shape=[2*n, 4]} : f32[2*n,4]\n%3 = add(%0, %2) : f32[k,4]")).functions["f"]
equal(print_function(simplify(source)), 'function f(%0 "x" : f32[2*n,4], %1 "y" : f32[n,2,4]) entry {\n'
      '  guard "k = 2*n" k == 2*n\n  %2 = reshape(%1) {shape=[2*n, 4]} : f32[2*n,4]\n'
      '  %3 = add(%0, %2) : f32[2*n,4]\n  return "out" %3\n}\n', "a guard's equality replaces the dim that it fixes")
everything = {name for rules in RULES.values() for name, _ in rules}
equal(sorted(everything - tested), [], "every rule has a case")
ok(tested <= everything, "every case names a rule")
done()
