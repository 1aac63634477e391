# SPDX-License-Identifier: Apache-2.0
"""Attention as one kernel (loops/attention.py): which products and softmaxes become one, and its text."""
from __future__ import annotations

from dataclasses import replace

from harness import module_of
from tap import done, equal, ok, raises
from tensor_compile import target as targets
from tensor_compile.graph.errors import ParseError
from tensor_compile.graph.inline import inline
from tensor_compile.loops import attention, fuse, layout, lower, verify_loops
from tensor_compile.loops.loop_ir import AttentionKernel
from tensor_compile.loops.program_ir import leaves
from tensor_compile.loops.narrow import narrow
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit

TARGET = replace(targets.load(targets.find("cuda-sm90")), precision="bf16")
LOC = 'loc("m.c":1)'
SOFTMAX = [
    "%4 = dot(%1, %2) {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[2], order=seq} : f32[2,64,64]",
    "%5 = reduce(%4) {op=max, axes=[2], order=free} : f32[2,64]",
    "%6 = broadcast(%5) {shape=[2, 64, 64], axes=[0, 1]} : f32[2,64,64]",
    "%7 = sub(%4, %6) : f32[2,64,64]", "%8 = exp(%7) : f32[2,64,64]",
    "%9 = reduce(%8) {op=sum, axes=[2], order=lanes} : f32[2,64]",
    "%10 = broadcast(%9) {shape=[2, 64, 64], axes=[0, 1]} : f32[2,64,64]",
    "%11 = div(%8, %10) : f32[2,64,64]"]
VALUES = "{lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1], order=seq} : f32[2,64,64]"

# Two branches: one squares the first argument, the other one has the second.
BRANCHES = "".join(f'function {name}(%0 "t" : f32[2,64,64] {LOC}, %1 "u" : f32[2,64,64] {LOC}) {{\n{line}'
                   f'  return "r" {result} {LOC}\n}}\n\n'
                   for name, line, result in (("then", f"  %2 = mul(%0, %0) : f32[2,64,64] {LOC}\n", "%2"),
                                              ("else", "", "%1")))


def formed(lines: list[str], result: str, narrowed: bool = False) -> fuse.Fused:
    body = "\n".join(f"  {line} {LOC}" for line in [*SOFTMAX, *lines])
    module = inline(module_of(f'{BRANCHES}function f(%0 "go" : bool[] {LOC}, %1 "q" : f32[2,64,64] {LOC}, '
                              f'%2 "k" : f32[2,64,64] {LOC}, %3 "v" : f32[2,64,64] {LOC}) entry {{\n{body}\n'
                              f'  return "y" {result} {LOC}\n}}\n'))
    made = attention.form(fuse.fuse(lower.lower(layout.apply(module.functions["f"], TARGET), module, TARGET)))
    made = narrow(made, "bf16") if narrowed else made
    verify_loops.verify(made)
    return made


def joined(unit: fuse.Fused) -> int:
    return sum(isinstance(k, AttentionKernel) for k in leaves(unit.kernels))


PLAIN = [f"%12 = dot(%11, %3) {VALUES}", "%13 = add(%12, %3) : f32[2,64,64]", "%14 = mul(%13, %13) : f32[2,64,64]"]
equal(joined(formed(PLAIN, "%14")), 1, "two products and a softmax are one kernel, with what follows")
equal(joined(formed([f"%12 = dot(%11, %11) {VALUES}"], "%12")), 0,
      "not where the weights are the second operand, too: they have to be in memory")
equal(joined(formed([f"%12 = dot(%11, %3) {VALUES}", "%13 = add(%12, %11) : f32[2,64,64]"], "%13")), 0,
      "nor where what follows needs the weights")
equal(joined(formed([f"%12 = dot(%11, %3) {VALUES}", "%13 = add(%12, %4) : f32[2,64,64]"], "%13")), 0,
      "nor the scores")
equal(joined(formed([f"%12 = dot(%11, %3) {VALUES}", f"%13 = dot(%11, %2) {VALUES}",
                     "%14 = sub(%12, %13) : f32[2,64,64]"], "%14")), 0, "nor where a second product reads the weights")
equal(joined(formed([f"%12 = dot(%11, %3) {VALUES}",
                     "%13 = cond(%0, %11, %12) {then=@then, else=@else} : f32[2,64,64]"], "%13")), 0,
      "nor where a branch does")

for title, unit in (("f32", formed(PLAIN, "%14")), ("bf16", formed(PLAIN, "%14", True))):
    text = print_unit(unit)
    ok("\nattention " in text and "\n  second = " in text, f"{title}: the text has it")
    equal(print_unit(parse_unit(text, "m.tcl")), text, f"{title}: printed as it was read")
limited = print_unit(formed(PLAIN, "%14")).replace("  a = ", "  limit i1+1\n  a = ")
equal(print_unit(parse_unit(limited, "m.tcl")), limited, "with a limit")
for old, new, message in (("(key:64, k0:64)", "(k0:64)", "k of attention is the key and the term of a score"),
                          ("  score = ", "  scores = ", "expected 'score'")):
    assert old in limited, old
    raises(ParseError, lambda: parse_unit(limited.replace(old, new), "m.tcl"), message, message)
done()
