# SPDX-License-Identifier: Apache-2.0
"""The verifier: each kind of illegal module, every finding of one at once; and the type rule of every primitive."""
from __future__ import annotations

from dataclasses import replace

from passes import HEAD, function
from tap import done, equal, raises
from tensor_compile.graph.errors import IrError
from tensor_compile.graph.infer import infer
from tensor_compile.graph.ir import Function, Guard, Node, TensorType, Value
from tensor_compile.graph.table import PRIMITIVES
from tensor_compile.graph.text import parse_module
from tensor_compile.graph.verify import verify
from tensor_compile.symbolic import Sym, sym

PARAMETERS = '%0 "x" : f32[n,4], %1 "i" : i32[3], %2 "p" : bool[n,4], %3 "c" : f32[n,2,8,8], %4 "b" : bool[]'
CONV = "{stride=[1, 1], low=[0, 0], high=[0, 0], dilation=[1, 1], groups=1} : f32[n,3,8,8]"
wrong: set[str] = set()


def findings(text: str) -> tuple[str, ...]:
    try:
        verify(parse_module(HEAD + text, "v.tcg"))
    except IrError as error:
        return error.findings
    return ()


def bad(line: str, message: str) -> None:
    """A node %9 that has one finding, message."""
    wrong.add(line.partition("(")[0])
    body = (f"%5 = constant() {{bits=0x00000000}} : f32[]\n"
            f"%6 = broadcast(%5) {{shape=[3, 1, 1, 1], axes=[]}} : f32[3,1,1,1]\n%9 = {line}\nreturn \"out\" %0")
    equal(findings(function(PARAMETERS, body)), (f"in f: {message}",), message)


bad("iota() {axis=1} : i32[3]", "iota: axis [1] are not axes of rank 1")
bad("iota() {axis=0} : f32[3]", "iota: result is f32[3]; it is i32 or i64")
bad("constant() {bits=0x02} : bool[]", "constant: a bool is 0x00 or 0x01")
bad("constant() {bits=0x00} : f32[1]", "constant: the result has rank 0")
bad("dim_value() {value=[n, 1]} : i32[]", "dim_value: value holds one expression")
bad("dim_value() {value=[n]} : f32[]", "dim_value: result is f32[]; it is i32 or i64")
for op in ("neg", "abs"):
    bad(f"{op}(%2) : bool[n,4]", f"{op}: operand is bool[n,4]; it takes numbers")
for op in ("exp", "log", "sqrt", "floor", "tanh", "erf", "round", "sin", "cos", "expm1", "log1p", "erfc", "lgamma"):
    bad(f"{op}(%1) : i32[3]", f"{op}: operand is i32[3]; it takes floats")
bad("logical_not(%0) : f32[n,4]", "logical_not: operand is f32[n,4]; it takes bool")
bad("cast(%0) {dtype=f8} : f32[n,4]", "cast: unknown dtype f8")
bad("cast(%0) {dtype=i32} : i64[n,4]", "cast: the type is i32[n,4], not i64[n,4]")
bad("bitcast(%0) {dtype=f8} : f32[n,4]", "bitcast: unknown dtype f8")
for dtype in ("i64", "f32", "bool"):
    bad(f"bitcast(%0) {{dtype={dtype}}} : {dtype}[n,4]",
        f"bitcast: f32[n,4] as {dtype}: one is a float, the other an integer of its width")
for op in ("add", "sub", "mul", "div", "rem", "pow", "maximum", "minimum"):
    bad(f"{op}(%0, %1) : f32[n,4]", f"{op}: operands differ: f32[n,4], i32[3]")
bad("pow(%1, %1) : i32[3]", "pow: operand is i32[3]; it takes floats")
bad("bit_not(%0) : f32[n,4]", "bit_not: operand is f32[n,4]; it takes integers")
for op in ("bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"):
    bad(f"{op}(%2, %2) : bool[n,4]", f"{op}: operand is bool[n,4]; it takes integers")
for op in ("logical_and", "logical_or", "logical_xor"):
    bad(f"{op}(%2, %0) : bool[n,4]", f"{op}: operands differ: bool[n,4], f32[n,4]")
for op in ("eq", "ne", "lt", "le", "gt", "ge"):
    bad(f"{op}(%0, %0) : f32[n,4]", f"{op}: the type is bool[n,4], not f32[n,4]")
bad("lt(%2, %2) : bool[n,4]", "lt: operand is bool[n,4]; it takes numbers")
bad("select(%0, %0, %0) : f32[n,4]", "select: the condition is f32[n,4]; it is bool")
bad("select(%2, %0, %1) : f32[n,4]", "select: operands differ: bool[n,4], f32[n,4], i32[3]")
bad("neg(%0, %0) : f32[n,4]", "neg: 2 operands instead of 1")
bad("neg(%0) : f32[4,n]", "neg: the type is f32[n,4], not f32[4,n]")
bad("broadcast(%0) {shape=[n, 4, 4], axes=[1, 0]} : f32[n,4,4]", "broadcast: axes [1, 0] are not ascending")
bad("broadcast(%0) {shape=[n, 4], axes=[0, 2]} : f32[n,4]", "broadcast: axes [0, 2] are not axes of rank 2")
bad("broadcast(%0) {shape=[n, 6], axes=[0, 1]} : f32[n,6]", "broadcast: dim 1 of f32[n,4] is neither 1 nor 6")
bad("broadcast(%5) {shape=[n - 2], axes=[]} : f32[n-2]", "broadcast: the size n - 2 may be negative")
bad("reshape(%0) {shape=[n, 5]} : f32[n,5]", "reshape: f32[n,4] and f32[n,5] differ in elements")
bad("transpose(%0) {perm=[0, 0]} : f32[n,n]", "transpose: perm [0, 0] is not a permutation of the axes of f32[n,4]")
bad("slice(%0) {start=[1, 0], size=[n, 4], stride=[1, 1]} : f32[n,4]",
    "slice: axis 0: start 1, size n, stride 1 may reach beyond f32[n,4]")
bad("slice(%0) {start=[0, 0], size=[n, 4], stride=[1, 0]} : f32[n,4]", "slice: stride 0 is not positive")
bad("slice(%0) {start=[0, m - 1], size=[n, 1], stride=[1, 1]} : f32[n,1]", "slice: start m - 1 may be negative")
bad("pad(%0, %4) {low=[0, 0], high=[0, 0]} : f32[n,4]", "pad: the value is bool[]; it is f32[]")
bad("pad(%0, %5) {low=[0, 0], high=[0, -1]} : f32[n,3]", "pad: the padding -1 may be negative")
bad("concat() {axis=0} : f32[4]", "concat: at least one operand is needed")
bad("concat(%0, %2) {axis=0} : f32[2*n,4]", "concat: operands differ beyond axis 0: f32[n,4], bool[n,4]")
bad("gather(%0, %2) {axis=0} : f32[n,4,4]", "gather: the index is bool[n,4]; it is i32 or i64")
bad("update_slice(%0, %0) {start=[0, 1]} : f32[n,4]", "update_slice: axis 1: f32[n,4] at 1 may reach beyond f32[n,4]")
bad("reverse(%0) {axes=[1, 0]} : f32[n,4]", "reverse: axes [1, 0] are not ascending")
bad("scatter(%0, %1, %0) {op=add, axis=1} : f32[n,4]",
    "scatter: the values are f32[n,4]; at i32[3] into axis 1 of f32[n,4] they are f32[n,3]")
bad("scatter(%0, %1, %0) {op=sub, axis=1} : f32[n,4]", "scatter: op sub is none of set, add, mul, max, min")
bad("scatter(%0, %0, %0) {op=set, axis=1} : f32[n,4]", "scatter: the index is f32[n,4]; it is i32 or i64")
bad("sort(%0) {axis=1, count=[5], descending=0} : (f32[n,5], i64[n,5])", "sort: count 5 is not within 0..4")
bad("cumulative(%2) {op=sum, axis=1, reverse=0} : bool[n,4]", "cumulative: it does not take bool[n,4]")
bad("cumulative(%0) {op=any, axis=1, reverse=0} : f32[n,4]", "cumulative: op any is none of sum, prod, max, min")
bad("reduce(%0) {op=mean, axes=[0], order=free} : f32[4]", "reduce: op mean is none of sum, prod, max, min, any, all")
bad("reduce(%0) {op=sum, axes=[0], order=free} : f32[4]", "reduce: the order of sum over f32 is lanes, not free")
bad("reduce(%0) {op=any, axes=[0], order=free} : f32[4]", "reduce: op any does not take f32[n,4]")
bad("reduce_where(%0, %0) {op=sum, axes=[0], order=lanes} : f32[4]",
    "reduce_where: the predicate is f32[n,4]; of f32[n,4] it is bool[n,4]")
bad("dot_where(%0, %0, %4) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=seq} : f32[n,n]",
    "dot_where: the predicate is bool[]; of f32[n,4] it is bool[n,4]")
bad("dot_where(%0, %0, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=lanes} : f32[n,n]",
    "dot_where: the order of a sum with a predicate is seq, not lanes")
bad("arg_reduce(%2) {op=max, axis=0} : i64[4]", "arg_reduce: it does not take bool[n,4]")
WINDOW = "stride=[1, 1], low=[0, 0], high=[0, 0], dilation=[1, 1]"
bad(f"window_reduce(%3) {{op=max, size=[9, 8], {WINDOW}}} : f32[n,2,0,1]",
    "window_reduce: a window of 9 does not fit a size of 8")
bad(f"window_reduce(%3) {{op=max, size=[2], {WINDOW}}} : f32[n,2,8,7]",
    "window_reduce: stride, low, high and dilation have 1 entries")
bad("dot(%0, %0) {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[1], order=seq} : f32[4,n]",
    "dot: dim 0 of f32[n,4] differs from dim 1 of f32[n,4]")
bad("dot(%0, %0) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=free} : f32[n,n]",
    "dot: order free is neither seq nor lanes")
bad("dot(%0, %0) {lhs_batch=[1], rhs_batch=[1], lhs_contract=[1], rhs_contract=[1], order=seq} : f32[4,n,n]",
    "dot: lhs axes [1, 1] name an axis twice")
bad(f"convolution(%3, %3) {{{WINDOW}, groups=2}} : f32[n,2,1,1]",
    "convolution: f32[n,2,8,8] has not the 2 x 2 channels of f32[n,2,8,8]")
bad('extern_call(%0, %1) {function="f", takes="f32"} : f32[2]', "extern_call: it takes f32, not f32[n,4], i32[3]")
for line, message in (
        ("iota() {axis=0} : (i32[3], i32[3])", "one declared type is needed"),
        ("broadcast(%0) {shape=[n, 4], axes=[0]} : f32[n,4]", "1 axes for an operand of rank 2"),
        ("slice(%0) {start=[0], size=[n, 4], stride=[1, 1]} : f32[n,4]",
         "start, size and stride have one entry an axis of f32[n,4]"),
        ("pad(%0, %5) {low=[0], high=[0, 0]} : f32[n,4]", "low and high have one entry an axis of f32[n,4]"),
        ("update_slice(%0, %1) {start=[0, 0]} : f32[n,4]", "operands differ in dtype or rank: f32[n,4], i32[3]"),
        ("update_slice(%0, %0) {start=[0]} : f32[n,4]", "start has one entry an axis of f32[n,4]"),
        ("sort(%0) {axis=0, count=[n, 1], descending=0} : (f32[n,4], i64[n,4])", "count holds one expression"),
        ("sort(%0) {axis=0, count=[n], descending=2} : (f32[n,4], i64[n,4])", "descending 2 is neither 0 nor 1"),
        ("cumulative(%0) {op=sum, axis=0, reverse=2} : f32[n,4]", "reverse 2 is neither 0 nor 1"),
        ("arg_reduce(%0) {op=sum, axis=0} : i64[4]", "op sum is neither max nor min"),
        ("window_reduce(%0) {op=all, size=[2], stride=[1], low=[0], high=[0], dilation=[1]} : f32[n,3]",
         "op all is none of max, min, sum"),
        ("window_reduce(%0) {op=max, size=[], stride=[], low=[], high=[], dilation=[]} : f32[n,4]",
         "a window of rank 0 on f32[n,4]"),
        ("window_reduce(%0) {op=max, size=[0], stride=[1], low=[0], high=[0], dilation=[1]} : f32[n,4]",
         "the window size 0 is not positive"),
        ("window_reduce(%0) {op=max, size=[2], stride=[0], low=[0], high=[0], dilation=[1]} : f32[n,3]",
         "strides and dilations are >= 1, paddings >= 0"),
        ("dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[n]",
         "operands are f32[n,4], i32[3]; both are numbers of one dtype"),
        ("dot(%0, %0) {lhs_batch=[], rhs_batch=[0], lhs_contract=[1], rhs_contract=[1], order=seq} : f32[n]",
         "lhs_batch and rhs_batch differ in length"),
        (f"convolution(%3, %0) {CONV}", "operands are f32[n,2,8,8], f32[n,4]; ranks are equal and at least 3"),
        (f"convolution(%3, %1) {CONV}", "operands are f32[n,2,8,8], i32[3]; both are numbers of one dtype"),
        (f"convolution(%3, %6) {CONV.replace('groups=1', 'groups=2')}", "the 3 outputs are not 2 equal groups"),
        (f"convolution(%3, %6) {CONV.replace('groups=1', 'groups=0')}", "groups 0 is not positive")):
    bad(line, f"{line.partition('(')[0]}: {message}")
bad("call(%0) {callee=@g, prefix=\"\"} : f32[n,4]", "call: there is no function @g")
bad("cond(%0) {then=@g, else=@g} : f32[n,4]", "cond: the first operand is bool[]")
bad("while(%0) {test=@g, body=@g} : f32[n,4]", "while: there is no function @g")
bad("scan(%0) {body=@g, length=[n + 1], carries=0} : f32[n,4]", "scan: axis 0 of f32[n,4] is not n + 1")
bad("scan(%0) {body=@g, length=[n], carries=2} : f32[n,4]", "scan: carries 2 is not a number of operands")
bad('weight() {name="nope"} : f32[4]', "weight nope is not declared")
bad('weight() {name="w"} : f32[4]', "weight w is f32[4,4], not f32[4]")
bad('state() {name="w"} : f32[4]', "state w is not declared")
equal(sorted(set(PRIMITIVES) - wrong), ["ordered", "packed", "packed_convolution", "packed_dot", "reorder"],
      "every primitive that capture writes has a wrong use")

# -- functions, guards, states
equal(findings(function('%0 "x" : f32[4], %1 "x" : f32[n]', """
guard "n <= m" m >= n
%2 = slice(%1) {start=[0], size=[m], stride=[1]} : f32[m]
assign "s" %1
assign "w" %0
return "a" %0
return "a" %0""")), (
    "in f: two parameters are named x",
    "in f: slice: axis 0: start 0, size m, stride 1 may reach beyond f32[n]",
    "in f: two results are named a",
    "in f: state s is f32[4], not f32[n]",
    "in f: state w is not declared"), "every finding is reported")
equal(findings(function('%0 "x" : f32[n]', """
guard "m <= n" n >= m loc("m.c":4)
%1 = slice(%0) {start=[0], size=[m], stride=[1]} : f32[m] loc("m.c":5)""")), (), "a guard makes a slice legal")
equal(findings(function('%0 "x" : f32[k,m], %1 "y" : f32[2*n,m]', 'guard "g" k == 2*n\n%2 = add(%0, %1) : f32[k,m]')),
      (), "a guard makes dims equal")
equal(findings(function('%0 "x" : f32[2*k], %1 "y" : f32[3*n]', 'guard "g" 2*k == 3*n\n%2 = add(%0, %1) : f32[2*k]')),
      (), "a guard that fixes no dim by itself makes sizes equal")
PREFIXED = """
function g() {
  %0 = weight() {name="w"} : f32[4] loc("m.c":3)
  return "w" %0
}

function f() entry {
  %0 = call() {callee=@g, prefix="a."} : f32[4]
  %1 = call() {callee=@g, prefix="c."} : f32[4]
  %2 = call() {callee=@g, prefix=""} : f32[4]
  return "w" %0
}
"""
equal(findings(PREFIXED), ("m.c:3: error: in g: weight w is f32[4,4], not f32[4]",
                           "m.c:3: error: in g: weight c.w is not declared"), "weights under every prefix of a call")
CYCLE = "\n".join(f"function {a}(%0 \"x\" : f32[4]) {{\n  %1 = call(%0) {{callee=@{b}, prefix=\"\"}} : f32[4]\n"
                  f"  return \"y\" %1\n}}\n" for a, b in (("a", "b"), ("b", "c"), ("c", "a")))
equal(findings(CYCLE), ("functions call one another without end: a -> b -> c -> a",), "recursion")
equal(findings("""
function test(%0 "x" : f32[4]) {
  return "x" %0
}

function f(%0 "x" : f32[4], %1 "p" : bool[]) entry {
  %2 = while(%0) {test=@test, body=@test} : f32[4]
  %3 = cond(%1, %1) {then=@test, else=@test} : f32[4]
  %4 = scan(%0) {body=@test, length=[4], carries=0} : f32[4]
  return "y" %2
}
"""), ("in f: while: @test gives f32[4], not bool[]", "in f: cond: @test takes f32[4], not bool[]",
       "in f: scan: @test takes f32[4], not f32[]"), "functions called by nodes have to fit")
equal(findings("""
function a(%0 "x" : f32[4]) {
  return "x" %0
}

function b(%0 "x" : f32[4]) {
  %1 = reshape(%0) {shape=[2, 2]} : f32[2,2]
  return "x" %1
}

function f(%0 "x" : f32[4], %1 "p" : bool[]) entry {
  %2 = cond(%1, %0) {then=@a, else=@b} : f32[4]
  %3 = scan(%0) {body=@a, length=[4, 4], carries=1} : f32[4]
  %4 = scan(%0) {body=@b, length=[4], carries=1} : f32[4]
  return "y" %2
}
"""), ("in f: cond: the branches' results differ: f32[4] and f32[2,2]", "in f: scan: length holds one expression",
       "in f: scan: @b gives f32[2,2], not first f32[4]"), "and give what is carried")

# -- what text cannot say
module = parse_module(HEAD + function('%0 "x" : f32[n]', "%1 = neg(%0) : f32[n]\n%2 = abs(%1) : f32[n]"), "v.tcg")
good = module.functions["f"]
x, (neg, absolute) = good.parameters[0], good.nodes


def broken(message: str, nodes: list[Node], results: list | None = None) -> None:
    module.functions["f"] = Function("f", True, good.parameters, [], nodes, [],
                                     good.results if results is None else results)
    raises(IrError, lambda: verify(module), message, message)


broken("in f: operand 0 of abs is not defined above", [absolute, neg])
broken("in f: neg stands twice in the function", [neg, neg, absolute])
broken("in f: the result out is not defined above", [neg])
broken("in f: operand 0 of neg is result 1 of 1", [Node("neg", (Value(x, 1),), {}, x.types), neg, absolute])
broken("in f: unknown primitive foo", [Node("foo", (), {}, ()), neg, absolute])
broken("in f: neg: the attribute axis is unknown", [Node("neg", (Value(x),), {"axis": 1}, x.types), neg, absolute])
broken("in f: transpose: the attribute perm is missing", [Node("transpose", (Value(x),), {}, x.types), neg, absolute])
broken("in f: transpose: the attribute perm is not of kind ints",
       [Node("transpose", (Value(x),), {"perm": [0]}, x.types), neg, absolute])
broken("in f: extern_call: its results are written down",
       [Node("extern_call", (Value(x),), {"function": "f", "takes": "f32"}, ()), neg, absolute])
stranger = Sym("n", 1, 2, is_dim=True)
broken("in f: n is not a dim of the module",
       [Node("packed", (), {"name": "c"}, (TensorType("f32", (sym(stranger),)),)), neg, absolute])
module.functions["f"] = good
for change, message in (
        (lambda m: m.dims.update(n=replace(m.dims["n"], sym=m.dims["m"].sym)),
         "dim n is declared with the symbol of m"),
        (lambda m: m.functions.update(g=m.functions["f"]), "function f is declared under the name g"),
        (lambda m: m.weights.update(v=m.weights["w"]), "weight w is declared under the name v"),
        (lambda m: m.weights.update(w=replace(m.weights["w"], file=len(m.files))), "weight w: file 1 is not declared"),
        (lambda m: m.functions["f"].guards.append(Guard("g", sym(m.dims["n"].sym), "<", sym(m.dims["n"].sym))),
         "in f: guard: the relation < is neither == nor >="),
        (lambda m: m.functions["f"].parameters.append(Node("parameter", (Value(m.functions["f"].parameters[0]),),
                                                           {"name": "z"}, x.types)),
         "in f: a parameter has a name, one type and no operands"),
        (lambda m: m.functions["f"].nodes.append(Node("packed", (), {"name": "c"}, (TensorType("f32", (4,)),))),
         "a size is 4, not an expression")):
    changed = parse_module(HEAD + function('%0 "x" : f32[n]', "%1 = neg(%0) : f32[n]"), "v.tcg")
    change(changed)
    raises(IrError, lambda: verify(changed), message, message)
raises(IrError, lambda: infer("neg", (), {}), "neg: 0 operands instead of 1", "infer stands on its own")
done()
