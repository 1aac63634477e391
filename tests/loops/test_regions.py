# SPDX-License-Identifier: Apache-2.0
"""cond, while and scan lowered where they stand: results, where carries live, what leaves a loop."""
import re

from harness import compare, module_of
from tap import done, equal, ok
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.loops.program_ir import Branch, Loop, leaves, regions
from tensor_compile.loops.traffic import traffic

LOC = 'loc("m.c":1)'


def function(name: str, parameters: str, lines: list[str], entry: bool = False) -> str:
    parameters = re.sub(r"%(\d+) :([^%]*?)(?=, %|$)", rf'%\1 "x\1" :\2 {LOC}', parameters)
    lines = [line.replace("return %", f'return "r{i}" %') for i, line in enumerate(lines)]
    body = "\n".join(f"  {line} {LOC}" for line in lines)
    return f"function {name}({parameters}){' entry' if entry else ''} {{\n{body}\n}}\n"


def check(name: str, module, sizes: dict[str, int], **options):
    """The fused program, once it gave the right results in every way."""
    program = None
    for fused in (False, True):
        for backwards in (False, True):
            difference, program, _ = compare(module, "f", sizes, fused=fused, backwards=backwards, **options)
            how = f"{'' if fused else ', not fused'}{', backwards' if backwards else ''}"
            equal(difference, "", f"{name}, {sizes}{how}")
    return program


def loops(program) -> list[Loop]:
    return [r for r in regions(program.steps) if isinstance(r, Loop)]


DIMS = ("n 0:5", "m 1:4")

# A recurrent network: the carry is read at all points, so two buffers change places and nothing is copied.
rnn = module_of("\n".join([
    function("step", "%0 : f32[m,3], %1 : f32[m,3]", [
        '%2 = weight() {name="w"} : f32[3,3]',
        "%3 = dot(%0, %2) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq} : f32[m,3]",
        "%4 = add(%3, %1) : f32[m,3]", "%5 = tanh(%4) : f32[m,3]", "return %5", "return %5"]),
    function("f", f'%0 "h" : f32[m,3] {LOC}, %1 "x" : f32[n,m,3] {LOC}', [
        "%2 = scan(%0, %1) {body=@step, length=[n], carries=1} : (f32[m,3], f32[n,m,3])", 'return "last" %2.0',
        'return "y" %2.1'], entry=True)]), dims=DIMS, weights=(("w", "f32[3,3]"),))
for n in (0, 1, 2, 5):
    program = check("rnn", rnn, {"n": n, "m": 2})
(loop,) = loops(program)
equal(len(loop.body), 1, "an iteration is one kernel")
ok(isinstance(loop.body[0].kernel, ContractionKernel), "a contraction")
equal(len(loop.swaps), 1, "and the carry's buffers change places behind it")

# Carries that change places with each other, of which nothing but one is read in the end.
turning = module_of("\n".join([
    function("step", "%0 : f32[m,4], %1 : f32[m,4], %2 : f32[m,4]", ["return %1", "return %0", "return %2"]),
    function("f", f'%0 "h" : f32[m,4] {LOC}, %1 "x" : f32[n,m,4] {LOC}', [
        "%2 = exp(%0) : f32[m,4]",
        "%3 = scan(%0, %2, %1) {body=@step, length=[n], carries=2} : (f32[m,4], f32[m,4], f32[n,m,4])",
        'return "y" %3.1'], entry=True)]), dims=DIMS)
for n in (0, 1, 2, 3):
    check("carries change places", turning, {"n": n, "m": 2})

# Pointwise carries are overwritten in place; what does not change leaves the loop.
running = module_of("\n".join([
    function("step", "%0 : f32[3], %1 : f32[3], %2 : f32[3]", [
        "%3 = exp(%1) : f32[3]", "%4 = mul(%0, %3) : f32[3]", "%5 = add(%4, %2) : f32[3]", "return %5", "return %1",
        "return %4"]),
    function("f", f'%0 "c" : f32[3] {LOC}, %1 "k" : f32[3] {LOC}, %2 "x" : f32[n,3] {LOC}', [
        "%3 = scan(%0, %1, %2) {body=@step, length=[n], carries=2} : (f32[3], f32[3], f32[n,3])", 'return "c_n" %3.0',
        'return "k_n" %3.1', 'return "y" %3.2'], entry=True)]), dims=DIMS)
for n in (0, 3):
    program = check("running", running, {"n": n})
(loop,) = loops(program)
equal((len(loop.body), loop.swaps, len(loop.carried)), (1, (), 1), "one kernel, in place; the constant carry is none")
ok(not any("exp" in s.kernel.label for s in leaves(loop.body)), "exp of the constant carry is computed before the loop")

# Two carries that change places, and a while over them.
fibonacci = module_of("\n".join([
    function("below", "%0 : i64[], %1 : i64[], %2 : i64[]", ["%3 = lt(%1, %2) : bool[]", "return %3"]),
    function("step", "%0 : i64[], %1 : i64[], %2 : i64[]", ["%3 = add(%0, %1) : i64[]", "return %1", "return %3",
                                                            "return %2"]),
    function("f", f'%0 "limit" : i64[] {LOC}', [
        "%1 = constant() {bits=0x0000000000000000} : i64[]", "%2 = constant() {bits=0x0000000000000001} : i64[]",
        "%3 = while(%1, %2, %0) {test=@below, body=@step} : (i64[], i64[], i64[])", 'return "a" %3.0',
        'return "b" %3.1',
        'return "same" %3.2'], entry=True)]))
for below in (1, 2, 100):
    program = check("fibonacci", fibonacci, {}, below=below, seed=below)
ok(loops(program)[0].barrier, "threads meet before they read the condition")

# A branch with views and copies as results, another branch and a loop within.
nested = module_of("\n".join([
    function("twice", "%0 : f32[2,3]", ["%1 = add(%0, %0) : f32[2,3]", "return %1"]),
    function("same", "%0 : f32[2,3]", ["return %0"]),
    function("step", "%0 : f32[2,3], %1 : bool[]", [
        "%2 = cond(%1, %0) {then=@twice, else=@same} : f32[2,3]", "%3 = slice(%2) {start=[0, 0], size=[1, 3], "
        "stride=[1, 1]} : f32[1,3]", "%4 = reshape(%3) {shape=[3]} : f32[3]", "return %2", "return %4"]),
    function("then", "%0 : f32[3,2], %1 : bool[n]", [
        "%2 = transpose(%0) {perm=[1, 0]} : f32[2,3]",
        "%3 = scan(%2, %1) {body=@step, length=[n], carries=1} : (f32[2,3], f32[n,3])", "return %3.0", "return %3.1"]),
    function("else", "%0 : f32[3,2], %1 : bool[n]", [
        "%2 = transpose(%0) {perm=[1, 0]} : f32[2,3]", "%3 = constant() {bits=0x3f800000} : f32[]",
        "%4 = broadcast(%3) {shape=[n, 3], axes=[]} : f32[n,3]", "return %2", "return %4"]),
    function("f", f'%0 "p" : bool[] {LOC}, %1 "x" : f32[3,2] {LOC}, %2 "q" : bool[n] {LOC}', [
        "%3 = exp(%1) : f32[3,2]", "%4 = cond(%0, %3, %2) {then=@then, else=@else} : (f32[2,3], f32[n,3])",
        "%5 = neg(%4.0) : f32[2,3]", 'return "y" %5', 'return "z" %4.1'], entry=True)]), dims=DIMS)
for seed in range(4):
    program = check("nested", nested, {"n": 4}, seed=seed)
equal([type(r) for r in regions(program.steps)], [Branch, Loop, Branch], "regions within regions")

# A carry that is needed after its new value is known; a scan of scans; a stacked result that a carry is made from.
later = module_of("\n".join([
    function("inner", "%0 : f32[3], %1 : f32[]", [
        "%2 = broadcast(%1) {shape=[3], axes=[]} : f32[3]", "%3 = add(%0, %2) : f32[3]",
        "%4 = reduce(%3) {op=sum, axes=[0], order=lanes} : f32[]", "return %3", "return %4"]),
    function("outer", "%0 : f32[3], %1 : f32[3]", [
        "%2 = scan(%0, %1) {body=@inner, length=[3], carries=1} : (f32[3], f32[3])",
        "%3 = reduce(%0) {op=max, axes=[0], order=free} : f32[]", "%4 = broadcast(%3) {shape=[3], axes=[]} : f32[3]",
        "%5 = sub(%2.1, %4) : f32[3]", "%6 = tanh(%5) : f32[3]", "return %6", "return %2.0"]),
    function("f", f'%0 "c" : f32[3] {LOC}, %1 "x" : f32[n,3] {LOC}', [
        "%2 = scan(%0, %1) {body=@outer, length=[n], carries=1} : (f32[3], f32[n,3])", 'return "c_n" %2.0',
        'return "y" %2.1'], entry=True)]), dims=DIMS)
for n in (0, 1, 4):
    program = check("scan of scans", later, {"n": n})
# A state is where a loop starts from, and what it leaves is the state's next value; the output is made token by token.
greedy = module_of("\n".join([
    function("room", "%0 : i64[4], %1 : i64[], %2 : f32[3]", [
        "%3 = constant() {bits=0x0000000000000004} : i64[]", "%4 = lt(%1, %3) : bool[]", "return %4"]),
    function("step", "%0 : i64[4], %1 : i64[], %2 : f32[3]", [
        '%3 = weight() {name="w"} : f32[3,3]',
        "%4 = dot(%2, %3) {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[0], order=seq} : f32[3]",
        "%5 = tanh(%4) : f32[3]", "%6 = arg_reduce(%5) {op=max, axis=0} : i64[]", "%7 = iota() {axis=0} : i64[4]",
        "%8 = broadcast(%1) {shape=[4], axes=[]} : i64[4]", "%9 = eq(%7, %8) : bool[4]",
        "%10 = broadcast(%6) {shape=[4], axes=[]} : i64[4]", "%11 = select(%9, %10, %0) : i64[4]",
        "%12 = constant() {bits=0x0000000000000001} : i64[]", "%13 = add(%1, %12) : i64[]", "return %11", "return %13",
        "return %5"]),
    function("f", f'%0 "start" : i64[4] {LOC}', [
        '%1 = state() {name="h"} : f32[3]', "%2 = constant() {bits=0x0000000000000000} : i64[]",
        "%3 = while(%0, %2, %1) {test=@room, body=@step} : (i64[4], i64[], f32[3])", 'assign "h" %3.2',
        'return "tokens" %3.0'], entry=True)]), weights=(("w", "f32[3,3]"),), states=(("h", "f32[3]"),))
for seed in range(3):
    check("greedy", greedy, {}, seed=seed)
# A cache that grows by a row an iteration, at an index that is data: only the row is written.
cache = module_of("\n".join([
    function("step", "%0 : f32[6,2], %1 : i64[], %2 : f32[2]", [
        "%3 = reshape(%1) {shape=[1]} : i64[1]", "%4 = exp(%2) : f32[2]", "%5 = reshape(%4) {shape=[1, 2]} : f32[1,2]",
        "%6 = scatter(%0, %3, %5) {axis=0, op=set} : f32[6,2]",
        "%7 = reduce(%6) {op=max, axes=[0], order=free} : f32[2]",
        "%8 = constant() {bits=0x0000000000000001} : i64[]", "%9 = add(%1, %8) : i64[]", "return %6", "return %9",
        "return %7"]),
    function("f", f'%0 "cache" : f32[6,2] {LOC}, %1 "x" : f32[n,2] {LOC}', [
        "%2 = constant() {bits=0x0000000000000000} : i64[]",
        "%3 = scan(%0, %2, %1) {body=@step, length=[n], carries=2} : (f32[6,2], i64[], f32[n,2])",
        'return "cache_n" %3.0', 'return "y" %3.2'], entry=True)]), dims=DIMS)
for n in (0, 1, 5):
    program = check("cache", cache, {"n": n})
(loop,) = loops(program)
equal(loop.swaps, (), "the cache stays where it is")
written = [traffic(s.kernel, {d: 5 for d in s.kernel.dims}).written for s in leaves(loop.body)]
ok(max(written) <= 16, f"and an iteration writes a row of it: {written}")
done()
