# SPDX-License-Identifier: Apache-2.0
"""Every primitive through lowering, fusion, schedule and plan, against the direct evaluation, bit for bit."""
import re

from harness import compare, module_of
from tap import done, equal

CASES: list[tuple] = []


def case(name: str, body: str, sizes: dict | None = None, **more) -> None:
    CASES.append((name, body, sizes or {"batch": 3, "seq": 5}, more))


F = 'function f({}) entry {{\n{}\n  return "y" {} loc("m.c":1)\n}}\n'


def function(parameters: list[str], lines: list[str], result: str) -> str:
    head = ", ".join(f'%{i} "{n}" : {t} loc("m.c":1)' for i, (n, t) in enumerate(p.split(":") for p in parameters))
    return F.format(head, "\n".join(f"  {line} loc(\"m.c\":1)" for line in lines), result)


X = "x:f32[batch,seq,6]"
case("chain", function([X, "z:f32[batch,seq,6]"], [
    "%2 = add(%0, %1) : f32[batch,seq,6]", "%3 = exp(%2) : f32[batch,seq,6]", "%4 = mul(%3, %0) : f32[batch,seq,6]"],
    "%4"))
case("transposed result", function([X], [
    "%1 = neg(%0) : f32[batch,seq,6]", "%2 = transpose(%1) {perm=[2, 0, 1]} : f32[6,batch,seq]"], "%2"))
case("reshaped result", function([X], [
    "%1 = neg(%0) : f32[batch,seq,6]", "%2 = reshape(%1) {shape=[batch*seq, 6]} : f32[batch*seq,6]"], "%2"))
case("result that is an input", function([X], ["%1 = transpose(%0) {perm=[1, 0, 2]} : f32[seq,batch,6]"], "%1"))
case("slice", function([X], [
    "%1 = slice(%0) {start=[0, 1, 1], size=[batch, 3, 3], stride=[1, 1, 2]} : f32[batch,3,3]",
    "%2 = abs(%1) : f32[batch,3,3]"], "%2"), {"batch": 2, "seq": 5}, dims=("batch 1:8", "seq 4:64"))
case("pad", function([X], [
    "%1 = constant() {bits=0x3f800000} : f32[]",
    "%2 = pad(%0, %1) {low=[0, 2, 1], high=[1, 0, 2]} : f32[batch + 1,seq + 2,9]",
    "%3 = floor(%2) : f32[batch + 1,seq + 2,9]"], "%3"))
case("pad of a computed value", function([X], [
    "%1 = constant() {bits=0x3f800000} : f32[]", "%2 = exp(%0) : f32[batch,seq,6]",
    "%3 = pad(%2, %1) {low=[0, 2, 1], high=[1, 0, 2]} : f32[batch + 1,seq + 2,9]",
    "%4 = neg(%3) : f32[batch + 1,seq + 2,9]"], "%4"))
case("concat", function([X, "z:f32[batch,2,6]"], [
    "%2 = neg(%0) : f32[batch,seq,6]", "%3 = concat(%2, %1, %2) {axis=1} : f32[batch,2*seq + 2,6]",
    "%4 = abs(%3) : f32[batch,2*seq + 2,6]"], "%4"))
case("concat into the result", function([X, "z:f32[batch,seq,2]"], [
    "%2 = neg(%0) : f32[batch,seq,6]", "%3 = exp(%1) : f32[batch,seq,2]",
    "%4 = concat(%2, %3) {axis=2} : f32[batch,seq,8]"], "%4"))
case("concat of a concat", function([X], [
    "%1 = neg(%0) : f32[batch,seq,6]", "%2 = exp(%0) : f32[batch,seq,6]",
    "%3 = concat(%1, %2) {axis=0} : f32[2*batch,seq,6]", "%4 = concat(%3, %0) {axis=0} : f32[3*batch,seq,6]"], "%4"))
case("parts of parts", function([X], [
    "%1 = neg(%0) : f32[batch,seq,6]", "%2 = exp(%0) : f32[batch,seq,6]",
    "%3 = concat(%1, %2) {axis=2} : f32[batch,seq,12]",
    "%4 = tanh(%2) : f32[batch,seq,6]", "%5 = reshape(%3) {shape=[1, batch, seq, 12]} : f32[1,batch,seq,12]",
    "%6 = concat(%4, %2) {axis=2} : f32[batch,seq,12]",
    "%7 = reshape(%6) {shape=[1, batch, seq, 12]} : f32[1,batch,seq,12]",
    "%8 = concat(%5, %7) {axis=0} : f32[2,batch,seq,12]"], "%8"))
case("pad of a computed value as a part", function([X], [
    "%1 = constant() {bits=0x3f800000} : f32[]", "%2 = exp(%0) : f32[batch,seq,6]",
    "%3 = pad(%2, %1) {low=[0, 0, 1], high=[0, 1, 2]} : f32[batch,seq + 1,9]", "%4 = tanh(%3) : f32[batch,seq + 1,9]",
    "%5 = reduce(%2) {op=max, axes=[2], order=free} : f32[batch,seq]",
    "%6 = broadcast(%5) {shape=[batch, seq, 9], axes=[0, 1]} : f32[batch,seq,9]",
    "%7 = concat(%3, %6, %4) {axis=1} : f32[batch,3*seq + 2,9]"], "%7"))
case("pad of a computed value as a result", function([X], [
    "%1 = constant() {bits=0x3f800000} : f32[]", "%2 = exp(%0) : f32[batch,seq,6]",
    "%3 = pad(%2, %1) {low=[1, 0, 1], high=[2, 0, 2]} : f32[batch + 3,seq,9]"], "%3"))
case("split and joined", function([X], [
    "%1 = exp(%0) : f32[batch,seq,6]",
    "%2 = slice(%1) {start=[0, 0, 0], size=[batch, seq, 3], stride=[1, 1, 1]} : f32[batch,seq,3]",
    "%3 = slice(%1) {start=[0, 0, 3], size=[batch, seq, 3], stride=[1, 1, 1]} : f32[batch,seq,3]",
    "%4 = neg(%3) : f32[batch,seq,3]", "%5 = concat(%4, %2) {axis=2} : f32[batch,seq,6]"], "%5"))
case("sums and squares of rows and columns", function([X], [
    "%1 = mul(%0, %0) : f32[batch,seq,6]", "%2 = reduce(%0) {op=sum, axes=[0], order=lanes} : f32[seq,6]",
    "%3 = reduce(%1) {op=sum, axes=[0], order=lanes} : f32[seq,6]", "%4 = add(%2, %3) : f32[seq,6]",
    "%5 = reduce(%0) {op=max, axes=[2], order=free} : f32[batch,seq]",
    "%6 = reduce(%1) {op=sum, axes=[2], order=lanes} : f32[batch,seq]",
    "%7 = broadcast(%4) {shape=[batch, seq, 6], axes=[1, 2]} : f32[batch,seq,6]",
    "%8 = broadcast(%5) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%9 = broadcast(%6) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%10 = concat(%7, %8, %9) {axis=2} : f32[batch,seq,18]"], "%10"))
case("gather", function(["t:f32[7,6]", "i:i64[batch,seq]"], [
    "%2 = gather(%0, %1) {axis=0} : f32[batch,seq,6]", "%3 = neg(%2) : f32[batch,seq,6]"], "%3"))
case("gather inside", function(["t:f32[batch,7,3]", "i:i32[seq]"], [
    "%2 = gather(%0, %1) {axis=1} : f32[batch,seq,3]"], "%2"))
case("gather by computed indices", function(["t:f32[9,6]", "i:i32[batch,seq]"], [
    "%2 = add(%1, %1) : i32[batch,seq]", "%3 = gather(%0, %2) {axis=0} : f32[batch,seq,6]"], "%3"))
case("gather of positions", function(["t:f32[64,6]"], [
    "%1 = iota() {axis=0} : i64[seq]", "%2 = gather(%0, %1) {axis=0} : f32[seq,6]"], "%2"))
case("reverse", function([X], ["%1 = reverse(%0) {axes=[0, 2]} : f32[batch,seq,6]"], "%1"))
case("reversed sums", function([X], [
    "%1 = exp(%0) : f32[batch,seq,6]", "%2 = reverse(%1) {axes=[2]} : f32[batch,seq,6]",
    "%3 = reduce(%2) {op=sum, axes=[2], order=lanes} : f32[batch,seq]"], "%3"))
for how in ("set", "add", "mul", "max", "min"):
    case(f"scatter {how}", function([X, "i:i64[7,2]", "u:f32[batch,7,2,6]"], [
        f"%3 = scatter(%0, %1, %2) {{op={how}, axis=1}} : f32[batch,seq,6]"], "%3"))
case("scatter into what is computed", function(["i:i32[batch]", "u:f32[batch]"], [
    "%2 = constant() {bits=0x00000000} : f32[]", "%3 = broadcast(%2) {shape=[seq], axes=[]} : f32[seq]",
    "%4 = exp(%1) : f32[batch]", "%5 = scatter(%3, %0, %4) {op=add, axis=0} : f32[seq]",
    "%6 = neg(%5) : f32[seq]"], "%6"))
case("scatter by computed indices", function([X, "i:i32[batch]", "u:f32[batch,seq]"], [
    "%3 = constant() {bits=0x00000001} : i32[]", "%4 = broadcast(%3) {shape=[batch], axes=[]} : i32[batch]",
    "%5 = add(%1, %4) : i32[batch]", "%6 = neg(%0) : f32[batch,seq,6]",
    "%7 = broadcast(%2) {shape=[batch, seq, batch], axes=[0, 1]} : f32[batch,seq,batch]",
    "%8 = scatter(%6, %5, %7) {op=max, axis=2} : f32[batch,seq,6]"], "%8"))
case("scatter at constant places", function([X, "u:f32[3,seq,6]"], [
    "%2 = iota() {axis=0} : i64[3]", "%3 = scatter(%0, %2, %1) {op=set, axis=0} : f32[batch,seq,6]"], "%3"))
case("a scatter into a scatter", function([X, "i:i32[4]", "u:f32[batch,4,6]"], [
    "%3 = scatter(%0, %1, %2) {op=add, axis=1} : f32[batch,seq,6]",
    "%4 = scatter(%3, %1, %2) {op=min, axis=1} : f32[batch,seq,6]"], "%4"))
for descending in (0, 1):
    case(f"sort descending={descending}", function([X], [
        f"%1 = sort(%0) {{axis=1, count=[seq], descending={descending}}} : (f32[batch,seq,6], i64[batch,seq,6])",
        "%2 = neg(%1.0) : f32[batch,seq,6]", "%3 = cast(%1.1) {dtype=f32} : f32[batch,seq,6]",
        "%4 = add(%2, %3) : f32[batch,seq,6]"], "%4"), extreme=True)
case("the first three", function(["x:i64[batch,9]"], [
    "%1 = sort(%0) {axis=1, count=[3], descending=1} : (i64[batch,3], i64[batch,3])"],
    "%1.0"))
case("argsort of what is computed", function([X], [
    "%1 = exp(%0) : f32[batch,seq,6]",
    "%2 = sort(%1) {axis=2, count=[1], descending=0} : (f32[batch,seq,1], i64[batch,seq,1])"], "%2.1"))
for how, axis, back in (("sum", 2, 0), ("prod", 1, 1), ("max", 0, 0), ("min", 2, 1)):
    case(f"cumulative {how}", function([X], [
        f"%1 = cumulative(%0) {{op={how}, axis={axis}, reverse={back}}} : f32[batch,seq,6]"], "%1"),
        extreme=how[0] == "m")
case("cumulative sums of a row, normalized", function([X], [
    "%1 = exp(%0) : f32[batch,seq,6]", "%2 = cumulative(%1) {op=sum, axis=2, reverse=0} : f32[batch,seq,6]",
    "%3 = reduce(%1) {op=sum, axes=[2], order=lanes} : f32[batch,seq]",
    "%4 = broadcast(%3) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%5 = div(%2, %4) : f32[batch,seq,6]"], "%5"))
case("sums of cumulative sums", function([X], [
    "%1 = cumulative(%0) {op=sum, axis=2, reverse=0} : f32[batch,seq,6]",
    "%2 = cumulative(%1) {op=max, axis=2, reverse=0} : f32[batch,seq,6]",
    "%3 = reduce(%2) {op=sum, axes=[2], order=lanes} : f32[batch,seq]",
    "%4 = broadcast(%3) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%5 = sub(%2, %4) : f32[batch,seq,6]"], "%5"))
case("cumulative of one", function(["x:f32[batch,1]"], [
    "%1 = cumulative(%0) {op=sum, axis=1, reverse=0} : f32[batch,1]"], "%1"))
case("products", function([X], ["%1 = reduce(%0) {op=prod, axes=[2], order=lanes} : f32[batch,seq]"], "%1"))
case("products of columns", function([X], ["%1 = reduce(%0) {op=prod, axes=[0, 1], order=lanes} : f32[6]"], "%1"))
case("update_slice", function([X, "z:f32[batch,2,3]"], [
    "%2 = exp(%1) : f32[batch,2,3]", "%3 = update_slice(%0, %2) {start=[0, 1, 2]} : f32[batch,seq,6]"], "%3"),
    dims=("batch 1:8", "seq 4:64"))
case("causal mask", function(["x:f32[seq,seq]"], [
    "%1 = iota() {axis=0} : i32[seq,seq]", "%2 = iota() {axis=1} : i32[seq,seq]", "%3 = le(%2, %1) : bool[seq,seq]",
    "%4 = constant() {bits=0xff800000} : f32[]", "%5 = broadcast(%4) {shape=[seq, seq], axes=[]} : f32[seq,seq]",
    "%6 = select(%3, %0, %5) : f32[seq,seq]"], "%6"))

for op in ("sum", "max", "min"):
    for axes, shape in (("[2]", "batch,seq"), ("[1]", "batch,6"), ("[0]", "seq,6"), ("[1, 2]", "batch"),
                        ("[0, 1]", "6"), ("[0, 2]", "seq"), ("[0, 1, 2]", "")):
        order = "lanes" if op == "sum" else "free"
        case(f"{op} over {axes}", function([X], [
            "%1 = exp(%0) : f32[batch,seq,6]",
            f"%2 = reduce(%1) {{op={op}, axes={axes}, order={order}}} : f32[{shape}]",
            f"%3 = neg(%2) : f32[{shape}]"], "%3"), extreme=op != "sum")
case("any", function(["p:bool[batch,seq]"], ["%1 = reduce(%0) {op=any, axes=[1], order=free} : bool[batch]"], "%1"))
case("all", function(["p:bool[batch,seq]"], ["%1 = reduce(%0) {op=all, axes=[0], order=free} : bool[seq]"], "%1"))
X2 = ["x:f32[batch,seq,6]", "p:bool[batch,seq,6]"]
for op in ("sum", "prod", "max", "min"):
    for axes, shape in (("[2]", "batch,seq"), ("[1]", "batch,6"), ("[0, 2]", "seq"), ("[0, 1, 2]", "")):
        order = "lanes" if op in ("sum", "prod") else "free"
        case(f"{op} with a predicate over {axes}", function(X2, [
            f"%2 = reduce_where(%0, %1) {{op={op}, axes={axes}, order={order}}} : f32[{shape}]",
            f"%3 = neg(%2) : f32[{shape}]"], "%3"))
case("sum of no axis with a predicate", function(X2, [
    "%2 = reduce_where(%0, %1) {op=sum, axes=[], order=lanes} : f32[batch,seq,6]"], "%2"))
case("any with a predicate", function(["x:bool[batch,seq]", "p:bool[batch,seq]"], [
    "%2 = reduce_where(%0, %1) {op=any, axes=[1], order=free} : bool[batch]",
    "%3 = reshape(%2) {shape=[batch, 1]} : bool[batch,1]",
    "%4 = broadcast(%3) {shape=[batch, seq], axes=[0, 1]} : bool[batch,seq]",
    "%5 = reduce_where(%4, %1) {op=all, axes=[0], order=free} : bool[seq]"], "%5"))
case("sum of integers with a predicate", function(["x:i64[batch,seq]", "p:bool[batch,seq]"], [
    "%2 = reduce_where(%0, %1) {op=sum, axes=[1], order=free} : i64[batch]"], "%2"))
case("product with a predicate", function(["a:f32[seq,6]", "b:f32[6,20]", "p:bool[seq,6]"], [
    "%3 = dot_where(%0, %1, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq}"
    " : f32[seq,20]", "%4 = neg(%3) : f32[seq,20]"], "%4"), extreme=True)
case("batched product with a causal predicate", function(["a:f32[2,seq,seq]", "b:f32[2,seq,3]"], [
    "%2 = iota() {axis=2} : i32[2,seq,seq]", "%3 = iota() {axis=1} : i32[2,seq,seq]", "%4 = le(%2, %3) : bool[2,seq,seq]",
    "%5 = dot_where(%0, %1, %4) {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1], order=seq}"
    " : f32[2,seq,3]"], "%5"), extreme=True)


def weights(mask: int, first: int) -> list[str]:
    """The softmax of %0 where a mask is true, values from %first on."""
    lines = ["constant() {bits=0xff800000} : f32[]", "broadcast(%0+) {shape=[2, seq, 6], axes=[]} : f32[2,seq,6]",
             f"select(%{mask}, %0, %1+) : f32[2,seq,6]", "reduce(%2+) {op=max, axes=[2], order=free} : f32[2,seq]",
             "broadcast(%3+) {shape=[2, seq, 6], axes=[0, 1]} : f32[2,seq,6]", "sub(%2+, %4+) : f32[2,seq,6]",
             "exp(%5+) : f32[2,seq,6]", "reduce(%6+) {op=sum, axes=[2], order=lanes} : f32[2,seq]",
             "broadcast(%7+) {shape=[2, seq, 6], axes=[0, 1]} : f32[2,seq,6]", "div(%6+, %8+) : f32[2,seq,6]"]
    return [f"%{first + i} = " + re.sub(r"%(\d)\+", lambda m: f"%{first + int(m[1])}", x) for i, x in enumerate(lines)]


OF_TERMS = "{lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1], order=seq} : f32[2,seq,20]"
MASKED = ["x:f32[2,seq,6]", "v:f32[2,6,20]", "p:bool[2,seq,6]", "q:bool[2,seq,6]"]
case("weights of a masked softmax are zeros where the predicate is false", function(MASKED, [
    *weights(2, 4), f"%14 = dot_where(%13, %1, %2) {OF_TERMS}"], "%14"), extreme=True, kernels=2)
case("those of one mask, where another one or both are true", function(MASKED, [
    *weights(2, 4), f"%14 = dot_where(%13, %1, %3) {OF_TERMS}", "%15 = logical_and(%2, %3) : bool[2,seq,6]",
    f"%16 = dot_where(%13, %1, %15) {OF_TERMS}", "%17 = add(%14, %16) : f32[2,seq,20]"], "%17"), extreme=True)
case("argmax", function([X], ["%1 = arg_reduce(%0) {op=max, axis=2} : i64[batch,seq]"], "%1"), extreme=True)
case("argmin of a column", function([X], ["%1 = arg_reduce(%0) {op=min, axis=0} : i64[seq,6]"], "%1"), extreme=True)
case("sums and maxima of one input", function([X], [
    "%1 = reduce(%0) {op=sum, axes=[2], order=lanes} : f32[batch,seq]",
    "%2 = reduce(%0) {op=max, axes=[2], order=free} : f32[batch,seq]", "%3 = mul(%1, %2) : f32[batch,seq]"], "%3"),
    kernels=1)

NORM = ["%1 = reduce(%0) {op=max, axes=[2], order=free} : f32[batch,seq]",
        "%2 = broadcast(%1) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
        "%3 = sub(%0, %2) : f32[batch,seq,6]", "%4 = exp(%3) : f32[batch,seq,6]",
        "%5 = reduce(%4) {op=sum, axes=[2], order=lanes} : f32[batch,seq]"]
case("softmax", function([X], NORM + [
    "%6 = broadcast(%5) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%7 = div(%4, %6) : f32[batch,seq,6]"], "%7"), kernels=1)
case("log_softmax", function([X], NORM + [
    "%6 = log(%5) : f32[batch,seq]", "%7 = broadcast(%6) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%8 = sub(%3, %7) : f32[batch,seq,6]"], "%8"), kernels=1)
case("an invented normalization with a residual and a consumer of two phases", function([X, "z:f32[batch,seq,6]"], [
    "%2 = add(%0, %1) : f32[batch,seq,6]", "%3 = tanh(%2) : f32[batch,seq,6]",
    "%4 = reduce(%3) {op=min, axes=[2], order=free} : f32[batch,seq]",
    "%5 = broadcast(%4) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%6 = sub(%3, %5) : f32[batch,seq,6]", "%7 = erf(%6) : f32[batch,seq,6]",
    "%8 = reduce(%7) {op=sum, axes=[2], order=lanes} : f32[batch,seq]",
    "%9 = broadcast(%8) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%10 = div(%7, %9) : f32[batch,seq,6]", "%11 = mul(%10, %3) : f32[batch,seq,6]",
    "%12 = neg(%11) : f32[batch,seq,6]"], "%12"), kernels=1)
case("group normalization", function(["x:f32[batch,6,2,2]"], [
    "%1 = reshape(%0) {shape=[batch, 2, 12]} : f32[batch,2,12]",
    "%2 = reduce(%1) {op=sum, axes=[2], order=lanes} : f32[batch,2]",
    "%3 = broadcast(%2) {shape=[batch, 2, 12], axes=[0, 1]} : f32[batch,2,12]", "%4 = sub(%1, %3) : f32[batch,2,12]",
    "%5 = reshape(%4) {shape=[batch, 6, 2, 2]} : f32[batch,6,2,2]", "%6 = neg(%5) : f32[batch,6,2,2]"], "%6"),
    kernels=1)

DOT = "{{lhs_batch={}, rhs_batch={}, lhs_contract={}, rhs_contract={}, order={}}}"
case("linear with an epilogue", function(["x:f32[batch,seq,5]", "w:f32[20,5]", "r:f32[batch,seq,20]"], [
    "%3 = dot(%0, %1) " + DOT.format("[]", "[]", "[2]", "[1]", "seq") + " : f32[batch,seq,20]",
    "%4 = add(%3, %2) : f32[batch,seq,20]", "%5 = tanh(%4) : f32[batch,seq,20]",
    "%6 = mul(%5, %3) : f32[batch,seq,20]"],
    "%6"), kernels=2)
case("linear of few outputs", function(["x:f32[batch,33]", "w:f32[4,33]"], [
    "%2 = dot(%0, %1) " + DOT.format("[]", "[]", "[1]", "[1]", "lanes") + " : f32[batch,4]"], "%2"))
case("lanes from a turned operand", function(["x:f32[batch,33]", "w:f32[33,4]"], [
    "%2 = dot(%0, %1) " + DOT.format("[]", "[]", "[1]", "[0]", "lanes") + " : f32[batch,4]"], "%2"))
case("matmul in place", function(["x:f32[batch,seq,5]", "w:f32[batch,5,18]"], [
    "%2 = dot(%0, %1) " + DOT.format("[0]", "[0]", "[2]", "[1]", "seq") + " : f32[batch,seq,18]"], "%2"), kernels=1)
case("two contracted and two free dims", function(["x:f32[batch,3,4]", "w:f32[4,5,3,7]"], [
    "%2 = dot(%0, %1) " + DOT.format("[]", "[]", "[1, 2]", "[2, 0]", "seq") + " : f32[batch,5,7]",
    "%3 = neg(%2) : f32[batch,5,7]"], "%3"), kernels=2)
case("dot of integers", function(["x:i32[batch,5]", "w:i32[20,5]"], [
    "%2 = dot(%0, %1) " + DOT.format("[]", "[]", "[1]", "[1]", "seq") + " : i32[batch,20]"], "%2"))
case("dot of one row and one column", function(["x:f32[1,seq]", "w:f32[seq,1]"], [
    "%2 = dot(%0, %1) " + DOT.format("[]", "[]", "[1]", "[0]", "seq") + " : f32[1,1]",
    "%3 = neg(%2) : f32[1,1]"], "%3"))
case("grouped heads", function(["q:f32[batch,4,seq,3]", "k:f32[batch,2,seq,3]"], [
    "%2 = reshape(%1) {shape=[batch, 2, 1, seq, 3]} : f32[batch,2,1,seq,3]",
    "%3 = broadcast(%2) {shape=[batch, 2, 2, seq, 3], axes=[0, 1, 2, 3, 4]} : f32[batch,2,2,seq,3]",
    "%4 = reshape(%3) {shape=[batch, 4, seq, 3]} : f32[batch,4,seq,3]",
    "%5 = dot(%0, %4) " + DOT.format("[0, 1]", "[0, 1]", "[3]", "[3]", "seq") + " : f32[batch,4,seq,seq]",
    "%6 = dot(%5, %4) " + DOT.format("[0, 1]", "[0, 1]", "[3]", "[2]", "seq") + " : f32[batch,4,seq,3]"], "%6"))

CONV = "{{stride={}, low={}, high={}, dilation={}, groups={}}}"
case("convolution", function(["x:f32[batch,3,6,5]", "w:f32[20,3,3,3]"], [
    "%2 = convolution(%0, %1) " + CONV.format("[2, 1]", "[1, 0]", "[1, 2]", "[1, 2]", 1) + " : f32[batch,20,3,3]",
    "%3 = neg(%2) : f32[batch,20,3,3]"], "%3"))
case("grouped convolution", function(["x:f32[batch,4,4,4]", "w:f32[40,2,3,3]"], [
    "%2 = convolution(%0, %1) " + CONV.format("[1, 1]", "[1, 1]", "[1, 1]", "[1, 1]", 2) + " : f32[batch,40,4,4]",
    "%3 = exp(%2) : f32[batch,40,4,4]"], "%3"))
case("depthwise convolution", function(["x:f32[batch,4,4,4]", "w:f32[8,1,3,3]"], [
    "%2 = convolution(%0, %1) " + CONV.format("[1, 1]", "[1, 1]", "[1, 1]", "[1, 1]", 4) + " : f32[batch,8,4,4]",
    "%3 = tanh(%2) : f32[batch,8,4,4]"], "%3"))
case("convolution of a dynamic size", function(["x:f32[batch,2,seq,seq]", "w:f32[17,2,3,3]"], [
    "%2 = convolution(%0, %1) " + CONV.format("[2, 2]", "[1, 1]", "[1, 1]", "[1, 1]", 1)
    + " : f32[batch,17,floordiv(seq - 1, 2) + 1,floordiv(seq - 1, 2) + 1]"], "%2"))
case("convolutions and pools in a row", function(["x:f32[batch,2,8,8]", "w:f32[4,2,1,1]", "v:f32[20,4,3,3]"], [
    "%3 = convolution(%0, %1) " + CONV.format("[1, 1]", "[0, 0]", "[0, 0]", "[1, 1]", 1) + " : f32[batch,4,8,8]",
    "%4 = tanh(%3) : f32[batch,4,8,8]",
    "%5 = window_reduce(%4) {op=sum, size=[3, 3], stride=[2, 2], low=[1, 1], high=[1, 1], dilation=[1, 1]} : "
    "f32[batch,4,4,4]",
    "%6 = convolution(%5, %2) " + CONV.format("[1, 1]", "[1, 1]", "[1, 1]", "[1, 1]", 1) + " : f32[batch,20,4,4]",
    "%7 = reduce(%6) {op=sum, axes=[2, 3], order=lanes} : f32[batch,20]"], "%7"))
for op in ("max", "min", "sum"):
    case(f"{op} pool", function(["x:f32[batch,3,6,6]"], [
        f"%1 = window_reduce(%0) {{op={op}, size=[3, 2], stride=[2, 2], low=[1, 0], high=[1, 0], dilation=[1, 1]}} : "
        "f32[batch,3,3,3]", "%2 = neg(%1) : f32[batch,3,3,3]"], "%2"), extreme=op != "sum", kernels=1)
case("no elements", function(["x:f32[0,3]"], [
    "%1 = reduce(%0) {op=sum, axes=[0], order=lanes} : f32[3]", "%2 = neg(%1) : f32[3]"], "%2"))
case("a scalar", function(["x:f32[]"], ["%1 = exp(%0) : f32[]"], "%1"))

for name, body, sizes, more in CASES:
    kernels = more.pop("kernels", None)
    module = module_of(body, **({"dims": more.pop("dims")} if "dims" in more else {}))
    for fused in (True, False):
        try:
            difference, program, _ = compare(module, "f", sizes, seed=1, fused=fused, backwards=fused, **more)
        except Exception as error:
            difference, program = f"{type(error).__name__}: {error}", None
        equal(difference, "", f"{name}{'' if fused else ', not fused'}")
        if fused and kernels is not None and program is not None:
            equal(len(program.steps), kernels, f"{name}: kernels")
done()
