# SPDX-License-Identifier: Apache-2.0
"""inline, cse, dce, specialize, absorb and fold: text in, text out, and the outputs of both."""
from __future__ import annotations

from oracle.graph import Run, same
from functools import partial

from passes import HEAD, case, data, evaluated, function, module, sizes_of, stays
from tap import done, equal, ok, raises
from tensor_compile.graph import passes
from tensor_compile.graph.absorb import absorb
from tensor_compile.graph.cse import cse
from tensor_compile.graph.dce import dce
from tensor_compile.graph.constant_places import constant_places
from tensor_compile.graph.divide import divide, of_several_rows
from tensor_compile.graph.errors import IrError
from tensor_compile.graph.fold import MOST_STEPS, fold
from tensor_compile.graph.inline import inline
from tensor_compile.graph.ir import DimDecl
from tensor_compile.graph.specialize import specialize
from tensor_compile.graph.text import parse_module, print_function, print_module
from tensor_compile.graph.verify import verify

X = '%0 "x" : f32[4]'

# -- cse, dce
case(cse, "cse: equal nodes are one, at the first one's place", X, """
%1 = neg(%0) : f32[4] loc("a.c":1)
%2 = neg(%0) : f32[4] loc("a.c":2) scope("s#1")
%3 = add(%1, %2) : f32[4]
%4 = add(%2, %1) : f32[4]
%5 = mul(%3, %4) : f32[4]""", """
%1 = neg(%0) : f32[4] loc("a.c":1)
%3 = add(%1, %1) : f32[4]
%5 = mul(%3, %3) : f32[4]""")
case(cse, "cse: other attributes are other nodes", '%0 "x" : f32[4,4]', """
%1 = transpose(%0) {perm=[1, 0]} : f32[4,4]
%2 = transpose(%0) {perm=[0, 1]} : f32[4,4]
%3 = add(%1, %2) : f32[4,4]""", """
%1 = transpose(%0) {perm=[1, 0]} : f32[4,4]
%2 = transpose(%0) {perm=[0, 1]} : f32[4,4]
%3 = add(%1, %2) : f32[4,4]""")
case(dce, "dce: keeps what results and assigns need", X, """
%1 = neg(%0) : f32[4]
%2 = exp(%1) : f32[4]
%3 = abs(%0) : f32[4]
%4 = exp(%3) : f32[4]
%5 = neg(%3) : f32[4]
assign "s" %5
return "out" %2""", """
%1 = neg(%0) : f32[4]
%2 = exp(%1) : f32[4]
%3 = abs(%0) : f32[4]
%4 = neg(%3) : f32[4]
assign "s" %4
return "out" %2""")

# -- divide
case(divide, "divide: a product that is split is a product a part, through a bias and views", '%0 "x" : f32[n,4]', """
%1 = weight() {name="w3"} : f32[4,576]
%2 = dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,576]
%3 = weight() {name="b3"} : f32[576]
%4 = broadcast(%3) {shape=[n, 576], axes=[1]} : f32[n,576]
%5 = add(%2, %4) : f32[n,576]
%6 = reshape(%5) {shape=[n, 3, 192]} : f32[n,3,192]
%7 = transpose(%6) {perm=[1, 0, 2]} : f32[3,n,192]
%8 = slice(%7) {start=[0, 0, 0], size=[2, n, 192], stride=[1, 1, 1]} : f32[2,n,192]
%9 = slice(%7) {start=[2, 0, 4], size=[1, n, 8], stride=[1, 1, 1]} : f32[1,n,8]
return "two" %8
return "third" %9""", """
%1 = weight() {name="w3"} : f32[4,576]
%2 = slice(%1) {start=[0, 0], size=[4, 384], stride=[1, 1]} : f32[4,384]
%3 = dot(%0, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,384]
%4 = slice(%1) {start=[0, 384], size=[4, 192], stride=[1, 1]} : f32[4,192]
%5 = dot(%0, %4) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,192]
%6 = weight() {name="b3"} : f32[576]
%7 = broadcast(%6) {shape=[n, 576], axes=[1]} : f32[n,576]
%8 = slice(%7) {start=[0, 0], size=[n, 384], stride=[1, 1]} : f32[n,384]
%9 = add(%3, %8) : f32[n,384]
%10 = reshape(%9) {shape=[n, 2, 192]} : f32[n,2,192]
%11 = transpose(%10) {perm=[1, 0, 2]} : f32[2,n,192]
%12 = slice(%11) {start=[0, 0, 0], size=[2, n, 192], stride=[1, 1, 1]} : f32[2,n,192]
%13 = slice(%7) {start=[0, 384], size=[n, 192], stride=[1, 1]} : f32[n,192]
%14 = add(%5, %13) : f32[n,192]
%15 = reshape(%14) {shape=[n, 1, 192]} : f32[n,1,192]
%16 = transpose(%15) {perm=[1, 0, 2]} : f32[1,n,192]
%17 = slice(%16) {start=[0, 0, 4], size=[1, n, 8], stride=[1, 1, 1]} : f32[1,n,8]
return "two" %12
return "third" %17""")
STAYS = """
%1 = weight() {name="w3"} : f32[4,576]
%2 = dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n,576]
"""
PARTS = """
%3 = slice(%2) {start=[0, 0], size=[n, 192], stride=[1, 1]} : f32[n,192]
%4 = slice(%2) {start=[0, 192], size=[n, 384], stride=[1, 1]} : f32[n,384]
"""
for why, text in (("something reads all of it", PARTS + "%5 = exp(%2) : f32[n,576]\nreturn \"all\" %5"),
                  ("it is a result", PARTS + 'return "all" %2\nreturn "part" %4'),
                  ("parts overlap", PARTS.replace("[0, 192]", "[0, 191]") + 'return "a" %3\nreturn "b" %4'),
                  ("parts step", PARTS.replace("stride=[1, 1]", "stride=[1, 2]").replace(
                      "[0, 192], size=[n, 384]", "[0, 1], size=[n, 192]").replace("f32[n,384]", "f32[n,192]")
                   + 'return "a" %3\nreturn "b" %4'),
                  ("there is one part, of all columns",
                   '%3 = slice(%2) {start=[0, 0], size=[n, 576], stride=[1, 1]} : f32[n,576]\nreturn "a" %3'),
                  ("a part is narrow", PARTS.replace("size=[n, 192]", "size=[n, 48]").replace("f32[n,192]", "f32[n,48]")
                   + 'return "a" %3\nreturn "b" %4'),
                  ("parts take more panels", PARTS.replace("192]", "193]").replace("384]", "383]")
                   + 'return "a" %3\nreturn "b" %4')):
    stays(divide, f"divide: not where {why}", '%0 "x" : f32[n,4]', STAYS + text)
ROW = """
%1 = weight() {name="w3"} : f32[4,576]
%2 = dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[1,576]
%3 = slice(%2) {start=[0, 0], size=[1, 64], stride=[1, 1]} : f32[1,64]
%4 = slice(%2) {start=[0, 64], size=[1, 512], stride=[1, 1]} : f32[1,512]
return "a" %3
return "b" %4"""
of_a_row = partial(divide, of_a_row=64)
DIVIDED = """
%1 = weight() {name="w3"} : f32[4,576]
%2 = slice(%1) {start=[0, 0], size=[4, 64], stride=[1, 1]} : f32[4,64]
%3 = dot(%0, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[1,64]
%4 = slice(%1) {start=[0, 64], size=[4, 512], stride=[1, 1]} : f32[4,512]
%5 = dot(%0, %4) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[1,512]
%6 = slice(%3) {start=[0, 0], size=[1, 64], stride=[1, 1]} : f32[1,64]
%7 = slice(%5) {start=[0, 0], size=[1, 512], stride=[1, 1]} : f32[1,512]
return "a" %6
return "b" %7"""
case(of_a_row, "divide: of one row narrower parts, too", '%0 "x" : f32[1,4]', ROW, DIVIDED)
stays(of_a_row, "divide: not of more rows", '%0 "x" : f32[2,4]',
      ROW.replace("f32[1,", "f32[2,").replace("size=[1,", "size=[2,"))
shared = partial(of_a_row, shared=frozenset(("w3",)))
case(shared, "divide: so of weights that others multiply more rows by, where parts are whole panels",
     '%0 "x" : f32[1,4]', ROW, DIVIDED)
SOME = ROW.replace("64], size=[1, 512]", "80], size=[1, 80]").replace("size=[1, 64]", "size=[1, 72]") \
    .replace("f32[1,64]", "f32[1,72]").replace("f32[1,512]", "f32[1,80]")
stays(shared, "divide: else not", '%0 "x" : f32[1,4]', SOME)
equal(sum(node.op == "dot" for node in of_a_row(module(function('%0 "x" : f32[1,4]', SOME)).functions["f"]).nodes), 2,
      "divide: but of weights that nobody else multiplies")
for rows, names in ((1, ()), ("n", ("w3",))):
    text = ROW.replace("f32[1,", f"f32[{rows},").replace("size=[1,", f"size=[{rows},")
    made = module(function(f'%0 "x" : f32[{rows},4]', text))
    equal(of_several_rows([made.functions["f"]]), frozenset(names), f"divide: weights of several rows, with {rows}")
stays(divide, "divide: not without constants", '%0 "x" : f32[n,4], %1 "y" : f32[4,576]',
      STAYS.split("\n", 2)[2] + PARTS + 'return "a" %3\nreturn "b" %4')
stays(divide, "divide: not in the order lanes", '%0 "x" : f32[n,4]',
      (STAYS + PARTS + 'return "a" %3\nreturn "b" %4').replace("order=seq", "order=lanes"))

# -- where constants lie
CONSTANTS = """
function constants() entry {
  %0 = weight() {name="w3"} : f32[4,576]
  %1 = transpose(%0) {perm=[1, 0]} : f32[576,4]
  %2 = slice(%1) {start=[64, 0], size=[512, 4], stride=[1, 1]} : f32[512,4]
  %3 = slice(%1) {start=[0, 1], size=[576, 2], stride=[1, 1]} : f32[576,2]
  %4 = slice(%1) {start=[2, 0], size=[32, 4], stride=[1, 1]} : f32[32,4]
  %5 = slice(%2) {start=[16, 0], size=[16, 4], stride=[1, 1]} : f32[16,4]
  return "part" %2
  return "whole" %1
  return "columns" %3
  return "between lines" %4
  return "part of a part" %5
}
"""
places = constant_places(module(CONSTANTS).functions["constants"], ())
size, columns = 576 * 4 * 4, 576 * 2 * 4
equal((places.offset, places.bytes),
      ({"whole": 0, "columns": size, "between lines": size + columns, "part": 64 * 16, "part of a part": 80 * 16},
       size + columns + 512), "constants: pieces of one that is stored lie in it, from multiples of 64 bytes on")
equal([name for name, _, _ in places.computed.results], ["whole", "columns", "between lines"],
      "constants: and are not computed")
equal(constant_places(module(CONSTANTS).functions["constants"], ("part",)).offset["part"], 0,
      "constants: but for those that are asked for by themselves")

SORTED = """
function constants() entry {
  %0 = weight() {name="w3"} : f32[4,576]
  %1 = sort(%0) {axis=0, count=[4], descending=0} : (f32[4,576], i64[4,576])
  %2 = slice(%1.0) {start=[2, 0], size=[2, 576], stride=[1, 1]} : f32[2,576]
  return "positions" %1.1
  return "part" %2
}
"""
equal(constant_places(module(SORTED).functions["constants"], ()).offset, {"positions": 0, "part": 4 * 576 * 8},
      "constants: no piece lies in another result of the node that makes the whole")

# -- inline
CALLS = """
function inner(%0 "x" : f32[4] loc("m.c":1)) {
  guard "n <= m" m >= n
  %1 = weight() {name="w"} : f32[4]
  %2 = add(%0, %1) : f32[4] scope("add#1")
  assign "s" %2
  return "y" %2
  return "x" %0
}

function outer(%0 "x" : f32[4]) {
  guard "n <= m" m >= n
  %1 = neg(%0) : f32[4]
  %2 = call(%1) {callee=@inner, prefix="a."} : (f32[4], f32[4]) scope("block#2")
  %3 = mul(%2.0, %2.1) : f32[4]
  return "y" %3
}

function f(%0 "x" : f32[4]) entry {
  %1 = call(%0) {callee=@outer, prefix=""} : f32[4] scope("top#3")
  %2 = weight() {name="b.w"} : f32[4]
  %3 = sub(%1, %2) : f32[4]
  return "out" %3
}
"""
made = module(CALLS)
flat = inline(made)
verify(flat)
equal(print_module(flat)[len(HEAD):].strip(), """
function f(%0 "x" : f32[4]) entry {
  guard "n <= m" m >= n
  %1 = neg(%0) : f32[4] scope("top#3")
  %2 = weight() {name="a.w"} : f32[4] scope("top#3/block#2")
  %3 = add(%1, %2) : f32[4] scope("top#3/block#2/add#1")
  %4 = mul(%3, %1) : f32[4] scope("top#3")
  %5 = weight() {name="b.w"} : f32[4]
  %6 = sub(%4, %5) : f32[4]
  assign "a.s" %3
  return "out" %6
}""".strip(), "inline: prefixes, scopes, guards and assigns of calls within calls")
ok(all(same(a, b) for seed in range(4) for a, b in
       zip(evaluated(flat, flat.functions["f"], seed), evaluated(made, made.functions["f"], seed))),
   "inline: the same outputs")
HELD = """
function named(%0 "x" : f32[4]) {
  %1 = weight() {name="w"} : f32[4]
  %2 = add(%0, %1) : f32[4]
  return "y" %2
}

function plain(%0 "x" : f32[4]) {
  %1 = neg(%0) : f32[4]
  return "y" %1
}

function choose(%0 "p" : bool[], %1 "x" : f32[4]) {
  %2 = cond(%0, %1) {then=@named, else=@plain} : f32[4]
  return "y" %2
}

function f(%0 "p" : bool[], %1 "x" : f32[4]) entry {
  %2 = call(%0, %1) {callee=@choose, prefix="a."} : f32[4]
  %3 = call(%0, %2) {callee=@choose, prefix="b."} : f32[4]
  return "out" %3
}
"""
flat = inline(module(HELD))
verify(flat)
equal(print_module(flat)[len(HEAD):].strip(), """
function f(%0 "p" : bool[], %1 "x" : f32[4]) entry {
  %2 = cond(%0, %1) {then=@named, else=@plain} : f32[4]
  %3 = cond(%0, %2) {then=@named_2, else=@plain} : f32[4]
  return "out" %3
}

function named(%0 "x" : f32[4]) {
  %1 = weight() {name="a.w"} : f32[4]
  %2 = add(%0, %1) : f32[4]
  return "y" %2
}

function plain(%0 "x" : f32[4]) {
  %1 = neg(%0) : f32[4]
  return "y" %1
}

function named_2(%0 "x" : f32[4]) {
  %1 = weight() {name="b.w"} : f32[4]
  %2 = add(%0, %1) : f32[4]
  return "y" %2
}""".strip(), "inline: called functions stay, copied for every prefix that matters")
raises(IrError, lambda: inline(module(CALLS.replace("%2 = weight", """%8 = neg(%1) : f32[4]
  %9 = call(%8) {callee=@inner, prefix="a."} : (f32[4], f32[4])
  %10 = weight""").replace("sub(%1, %2)", "sub(%1, %10)").replace("%3 = sub", "%11 = sub").replace(
      'return "out" %3', 'return "out" %11'))), ": error: state a.s is assigned twice in f",
      "inline: a state assigned by two calls")
raises(IrError, lambda: inline(parse_module(HEAD + "".join(f"""
function {a}(%0 "x" : f32[4]) {{
  %1 = call(%0) {{callee=@{b}, prefix=""}} : f32[4]
  return "y" %1
}}
""" for a, b in (("one", "other"), ("other", "one"))), "test.tcg")), "function one calls itself", "inline: recursion")

# -- specialize
made = module(function('%0 "x" : f32[k,n]', """
guard "n <= k" k >= n
guard "k = 4*m" k == 4*m
%1 = reshape(%0) {shape=[k*n]} : f32[k*n]
%2 = slice(%1) {start=[n - 1], size=[floordiv(k*n - n, 3) + 1], stride=[1]} : f32[floordiv(k*n - n, 3) + 1]"""))
source, dims = made.functions["f"], {name: d.sym for name, d in made.dims.items()}
equal(print_function(specialize(source, {dims["k"]: 8})), """function f(%0 "x" : f32[8,n]) entry {
  guard "n <= k" 8 >= n
  guard "k = 4*m" 8 == 4*m
  %1 = reshape(%0) {shape=[8*n]} : f32[8*n]
  %2 = slice(%1) {start=[n - 1], size=[floordiv(7*n, 3) + 1], stride=[1]} : f32[floordiv(7*n,3)+1]
  return "out" %2
}
""", "specialize: one of several dims")
equal(print_function(specialize(source, {dims["k"]: 8, dims["n"]: 4, dims["m"]: 2})),
      """function f(%0 "x" : f32[8,4]) entry {
  %1 = reshape(%0) {shape=[32]} : f32[32]
  %2 = slice(%1) {start=[3], size=[10], stride=[1]} : f32[10]
  return "out" %2
}
""", "specialize: every dim; guards that became true are gone")
for sizes, message in (({"k": 6}, "dim k cannot be 6: its range is 4:64 and its divisor 4"),
                       ({"n": 65}, "dim n cannot be 65"),
                       ({"k": 4, "n": 5}, "f: error: guard n <= k cannot hold for k = 4, n = 5")):
    raises(IrError, lambda: specialize(source, {dims[n]: v for n, v in sizes.items()}), message,
           f"specialize: {message}")

unverified = parse_module(HEAD + function('%0 "x" : f32[k,n]', "%1 = neg(%0) : f32[n,k]"), "test.tcg")
raises(IrError, lambda: specialize(unverified.functions["f"], {unverified.dims["k"].sym: 8}),
       "f: error: neg: the type is f32[8,n], not f32[n,8], once k_8",
       "specialize: a type that its operands do not give")

# -- absorb
CONV = '%0 "x" : f32[n,2,5,5]'
HEADS = """
%1 = weight() {name="conv"} : f32[4,2,3,3]
%2 = convolution(%0, %1) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], groups=1} : f32[n,4,5,5]
%3 = weight() {name="v"} : f32[4]
%4 = weight() {name="v2"} : f32[4]
%5 = broadcast(%3) {shape=[n, 4, 5, 5], axes=[1]} : f32[n,4,5,5]
%6 = broadcast(%4) {shape=[n, 4, 5, 5], axes=[1]} : f32[n,4,5,5]
"""


def absorbed(name: str, parameters: str, body: str, want: str | None) -> None:
    """Two points: the text, and outputs close to the source's. want None: nothing changes."""
    made = module(function(parameters, body))
    source = made.functions["f"]
    out = dce(absorb(source))
    wanted = dce(source) if want is None else module(function(parameters, want)).functions["f"]
    equal(print_function(out), print_function(wanted), f"absorb: {name}")
    made.functions["f"] = out
    verify(made)
    close = all(abs(p - q) <= 1e-4 * max(1, abs(p), abs(q)) for seed in range(3) for a, b in
                zip(evaluated(made, out, seed, 0), evaluated(made, source, seed, 0)) for p, q in zip(a.data, b.data))
    ok(close, f"absorb: {name}: outputs agree")


absorbed("scale and shift", CONV, HEADS + """
%7 = sub(%2, %6) : f32[n,4,5,5]
%8 = mul(%7, %5) : f32[n,4,5,5]
%9 = add(%6, %8) : f32[n,4,5,5]""", """
%1 = weight() {name="conv"} : f32[4,2,3,3]
%3 = weight() {name="v"} : f32[4]
%4 = weight() {name="v2"} : f32[4]
%5 = neg(%4) : f32[4]
%6 = mul(%5, %3) : f32[4]
%7 = add(%6, %4) : f32[4]
%8 = broadcast(%3) {shape=[4, 2, 3, 3], axes=[0]} : f32[4,2,3,3]
%9 = mul(%1, %8) : f32[4,2,3,3]
%10 = convolution(%0, %9) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], groups=1} : f32[n,4,5,5]
%11 = broadcast(%7) {shape=[n, 4, 5, 5], axes=[1]} : f32[n,4,5,5]
%12 = add(%10, %11) : f32[n,4,5,5]""")
absorbed("k - x, then a quotient", CONV, HEADS + """
%7 = sub(%5, %2) : f32[n,4,5,5]
%8 = div(%7, %6) : f32[n,4,5,5]""", """
%1 = weight() {name="conv"} : f32[4,2,3,3]
%3 = weight() {name="v"} : f32[4]
%4 = weight() {name="v2"} : f32[4]
%5 = constant() {bits=0xbf800000} : f32[]
%6 = broadcast(%5) {shape=[4], axes=[]} : f32[4]
%7 = div(%6, %4) : f32[4]
%8 = div(%3, %4) : f32[4]
%9 = broadcast(%7) {shape=[4, 2, 3, 3], axes=[0]} : f32[4,2,3,3]
%10 = mul(%1, %9) : f32[4,2,3,3]
%11 = convolution(%0, %10) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], groups=1} : f32[n,4,5,5]
%12 = broadcast(%8) {shape=[n, 4, 5, 5], axes=[1]} : f32[n,4,5,5]
%13 = add(%11, %12) : f32[n,4,5,5]""")
absorbed("a bias alone stays", CONV, HEADS + "%7 = add(%2, %6) : f32[n,4,5,5]", None)
absorbed("another user of the convolution", CONV, HEADS + """
%7 = mul(%2, %5) : f32[n,4,5,5]
%8 = add(%7, %2) : f32[n,4,5,5]""", None)
absorbed("a scale of another axis", '%0 "x" : f32[n,2,4,4]', """
%1 = weight() {name="conv"} : f32[4,2,3,3]
%2 = convolution(%0, %1) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], groups=1} : f32[n,4,4,4]
%3 = weight() {name="v"} : f32[4]
%4 = broadcast(%3) {shape=[n, 4, 4, 4], axes=[2]} : f32[n,4,4,4]
%5 = mul(%2, %4) : f32[n,4,4,4]""", None)
absorbed("a scale that is an input", CONV + ', %1 "g" : f32[4]', """
%2 = weight() {name="conv"} : f32[4,2,3,3]
%3 = convolution(%0, %2) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], groups=1} : f32[n,4,5,5]
%4 = broadcast(%1) {shape=[n, 4, 5, 5], axes=[1]} : f32[n,4,5,5]
%5 = mul(%3, %4) : f32[n,4,5,5]""", None)
absorbed("linear", '%0 "x" : f32[n,4]', """
%1 = weight() {name="w"} : f32[4,4]
%2 = dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=lanes} : f32[n,4]
%3 = weight() {name="v"} : f32[4]
%4 = broadcast(%3) {shape=[n, 4], axes=[1]} : f32[n,4]
%5 = mul(%2, %4) : f32[n,4]""", """
%1 = weight() {name="w"} : f32[4,4]
%2 = weight() {name="v"} : f32[4]
%3 = broadcast(%2) {shape=[4, 4], axes=[0]} : f32[4,4]
%4 = mul(%1, %3) : f32[4,4]
%5 = dot(%0, %4) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=lanes} : f32[n,4]""")

# -- fold
def folded(name: str, parameters: str, body: str, want: str, constants: str) -> None:
    """Three points: the function, the constants (from their first line on) and the outputs."""
    made = module(function(parameters, body))
    source = made.functions["f"]
    split, (out,) = fold(made, [source])
    equal(print_function(out), print_function(module(function(parameters, want)).functions["f"]), f"fold: {name}")
    verify(split)
    equal(print_module(split).partition("function constants() entry {\n")[2],
          "\n".join("  " + line.strip() for line in constants.strip().splitlines()) + "\n}\n",
          f"fold: {name}: constants")
    dims = sizes_of(made)
    good = True
    for seed in range(4):
        inputs, weights, states = data(made, source, seed, 0.5)
        constant = split.functions["constants"]
        packed = dict(zip((n for n, _, _ in constant.results), Run(split, {}, weights).function(constant, [])))
        good &= all(same(a, b) for a, b in zip(Run(made, dims, {}, states, packed).function(out, inputs),
                                               evaluated(made, source, seed), strict=True))
    ok(good, f"fold: {name}: the same outputs")


folded("arithmetic on weights is stored, broadcasts are not", X, """
%1 = weight() {name="v"} : f32[4]
%2 = constant() {bits=0x3f800000} : f32[]
%3 = broadcast(%2) {shape=[4], axes=[]} : f32[4]
%4 = add(%1, %3) : f32[4]
%5 = broadcast(%4) {shape=[n, 4], axes=[1]} : f32[n,4]
%6 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]
%7 = add(%6, %5) : f32[n,4]
%8 = broadcast(%2) {shape=[n, 4], axes=[]} : f32[n,4]
%9 = maximum(%7, %8) : f32[n,4]""", """
%1 = constant() {bits=0x3f800000} : f32[]
%2 = packed() {name="c0"} : f32[4]
%3 = broadcast(%2) {shape=[n, 4], axes=[1]} : f32[n,4]
%4 = broadcast(%0) {shape=[n, 4], axes=[1]} : f32[n,4]
%5 = add(%4, %3) : f32[n,4]
%6 = broadcast(%1) {shape=[n, 4], axes=[]} : f32[n,4]
%7 = maximum(%5, %6) : f32[n,4]""", """
%0 = weight() {name="v"} : f32[4]
%1 = constant() {bits=0x3f800000} : f32[]
%2 = broadcast(%1) {shape=[4], axes=[]} : f32[4]
%3 = add(%0, %2) : f32[4]
return "c0" %3""")
folded("a weight as it is, and a scalar", X, """
%1 = weight() {name="v"} : f32[4]
%2 = mul(%0, %1) : f32[4]
%3 = constant() {bits=0x40400000} : f32[]
%4 = sqrt(%3) : f32[]
%5 = broadcast(%4) {shape=[4], axes=[]} : f32[4]
%6 = mul(%2, %5) : f32[4]""", """
%1 = packed() {name="c0"} : f32[4]
%2 = mul(%0, %1) : f32[4]
%3 = packed() {name="c1"} : f32[]
%4 = broadcast(%3) {shape=[4], axes=[]} : f32[4]
%5 = mul(%2, %4) : f32[4]""", """
%0 = weight() {name="v"} : f32[4]
%1 = constant() {bits=0x40400000} : f32[]
%2 = sqrt(%1) : f32[]
return "c0" %0
return "c1" %2""")
MASK = """
%1 = iota() {axis=0} : i32[4,4]
%2 = iota() {axis=1} : i32[4,4]
%3 = ge(%1, %2) : bool[4,4]
%4 = constant() {bits=0x00000000} : f32[]
%5 = broadcast(%4) {shape=[4, 4], axes=[]} : f32[4,4]
%6 = select(%3, %0, %5) : f32[4,4]"""
made = module(function('%0 "x" : f32[4,4]', MASK))
equal(print_function(fold(made, [made.functions["f"]])[1][0]), print_function(made.functions["f"]),
      "fold: comparisons of indices stay")
folded("a cast to wider integers", '%0 "x" : i32[4]', """
%1 = weight() {name="v"} : f32[4]
%2 = cast(%1) {dtype=i8} : i8[4]
%3 = cast(%2) {dtype=i32} : i32[4]
%4 = add(%0, %3) : i32[4]""", """
%1 = packed() {name="c0"} : i8[4]
%2 = cast(%1) {dtype=i32} : i32[4]
%3 = add(%0, %2) : i32[4]""", """
%0 = weight() {name="v"} : f32[4]
%1 = cast(%0) {dtype=i8} : i8[4]
return "c0" %1""")
CHAIN = "%1 = iota() {axis=0} : i32[4]\n" + "\n".join(f"%{i} = neg(%{i - 1}) : i32[4]"
                                                      for i in range(2, MOST_STEPS + 2))
for more in (0, 1):
    last = MOST_STEPS + 1 + more
    made = module(function('%0 "x" : i32[4]', CHAIN + f"\n%{last} = neg(%{last - 1}) : i32[4]" * more
                           + f"\n%{last + 1} = add(%0, %{last}) : i32[4]"))
    stored = fold(made, [made.functions["f"]])[0].functions["constants"].results
    equal(len(stored), more, f"fold: {MOST_STEPS + more} steps of arithmetic on constants")
folded("a view of a weight that is stored anyway", '%0 "x" : f32[4,4], %1 "y" : f32[2,4]', """
%2 = weight() {name="w"} : f32[4,4]
%3 = add(%0, %2) : f32[4,4]
%4 = slice(%2) {start=[1, 0], size=[2, 4], stride=[1, 1]} : f32[2,4]
%5 = mul(%1, %4) : f32[2,4]
return "a" %3
return "b" %5""", """
%2 = packed() {name="c0"} : f32[4,4]
%3 = add(%0, %2) : f32[4,4]
%4 = slice(%2) {start=[1, 0], size=[2, 4], stride=[1, 1]} : f32[2,4]
%5 = mul(%1, %4) : f32[2,4]
return "a" %3
return "b" %5""", """
%0 = weight() {name="w"} : f32[4,4]
return "c0" %0""")
folded("a slice of a weight that nobody else reads", '%0 "y" : f32[2,4]', """
%1 = weight() {name="w"} : f32[4,4]
%2 = slice(%1) {start=[1, 0], size=[2, 4], stride=[1, 1]} : f32[2,4]
%3 = mul(%0, %2) : f32[2,4]""", """
%1 = packed() {name="c0"} : f32[2,4]
%2 = mul(%0, %1) : f32[2,4]""", """
%0 = weight() {name="w"} : f32[4,4]
%1 = slice(%0) {start=[1, 0], size=[2, 4], stride=[1, 1]} : f32[2,4]
return "c0" %1""")
first, second = (module(function(X, '%1 = weight() {name="v"} : f32[4]\n%2 = exp(%1) : f32[4]\n' + end))
                 for end in ("%3 = add(%0, %2) : f32[4]", "%3 = mul(%0, %2) : f32[4]\n%4 = neg(%3) : f32[4]"))
split, both = fold(first, [first.functions["f"], second.functions["f"]])
equal(([n for n, _, _ in split.functions["constants"].results], [f.nodes[0].attrs for f in both]),
      (["c0"], [{"name": "c0"}, {"name": "c0"}]), "fold: functions share equal constants")

# -- pipeline
made = module(HELD)
made.dims["n"] = DimDecl(made.dims["n"].sym, (1, 2))
compiled = passes.run(made, verify_each=True)
equal([(v.name, dict(v.when)) for v in compiled.variants["f"]], [("f", {})],
      "pipeline: a dim that a function does not use makes no variants of it")
made = module(function('%0 "x" : f32[k,4], %1 "y" : f32[m,4]', """
guard "k = 2*m" k == 2*m
%2 = concat(%1, %1) {axis=0} : f32[2*m,4]
%3 = add(%0, %2) : f32[k,4]"""))
for name, sizes in (("k", (4, 8)), ("m", (2, 3))):
    made.dims[name] = DimDecl(made.dims[name].sym, sizes)
compiled = passes.run(made, verify_each=True)
first = {v.name: compiled.module.functions[v.name].parameters[0] for v in compiled.variants["f"]}
equal([(v.name, dict(v.when), str(first[v.name].types[0])) for v in compiled.variants["f"]],
      [("f__k_4__m_2", {"k": 4, "m": 2}, "f32[4,4]"), ("f", {}, "f32[2*m,4]")],
      "pipeline: combinations that a guard forbids are left out")
equal(print_function(compiled.module.functions[compiled.variants["f"][0].name]).splitlines()[1],
      "  %2 = concat(%1, %1) {axis=0} : f32[4,4]", "pipeline: a variant of constant sizes has no guards")
done()
