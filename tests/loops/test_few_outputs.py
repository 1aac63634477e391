# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few output channels (loops/few_outputs.py, chosen in orders.py): which of them lanes of positions
compute, in how many kernels, and equal bits of the program and the direct evaluation."""
from __future__ import annotations

import random
from dataclasses import replace

from harness import TARGET, _difference, module_of, random_tensor
from oracle import programs
from oracle.graph import Run
from tap import done, equal
from tensor_compile.emit.contraction.order_price import price_of
from tensor_compile.emit.nests import few_outputs
from tensor_compile.graph.verify import verify
from tensor_compile.instruction_sets import instruction_set
from tensor_compile.loops import fuse, layout, lower, orders, plan, schedule, verify_loops
from tensor_compile.loops.loop_ir import LoopNestKernel
from tensor_compile.loops.order_costs import Costs
from tensor_compile.loops.program_ir import leaves

COSTS = Costs(TARGET, price_of(TARGET))

LOC = 'loc("m.c":1)'


def convolution(x: str, w: str, window: tuple[int, int], pad: int, out: str, stride: int = 1, groups: int = 1) -> str:
    sides = ", ".join(str(pad) if n > 1 else "0" for n in window)
    return f"convolution({x}, {w}) {{stride=[{stride}, {stride}], low=[{sides}], high=[{sides}], dilation=[1, 1], " \
           f"groups={groups}}} : f32[{out}]"


def module(lines: list[str], x: str, weights: tuple, dims: tuple = ("n 1:9",), more: str = ""):
    """more: parameters beside x."""
    body = "\n".join(f"  {line} {LOC}" for line in lines)
    return module_of(f'function f(%0 "x" : f32[{x}] {LOC}{more}) entry {{\n{body}\n}}\n', dims=dims, weights=weights)


def check(name: str, given, few: int, kernels: int | None = None, **sizes: int) -> None:
    """few: how many kernels lanes of positions compute."""
    function = given.functions["f"]
    made, _ = orders.apply(layout.apply(function, TARGET), COSTS)
    laid = replace(given, functions={"f": made})
    verify(laid)
    lowered = lower.lower(made, laid, TARGET)
    joined = fuse.fuse(lowered)
    for stage in (lowered, joined):
        verify_loops.verify(stage)
    program = plan.plan(schedule.schedule(joined, TARGET), TARGET)
    verify_loops.verify(program)
    steps = [s.kernel for s in leaves(program.steps) if s.kernel.label != "pack"]
    isa = instruction_set("avx512")
    equal(sum(isinstance(k, LoopNestKernel) and few_outputs.find(k, isa) is not None for k in steps), few,
          f"{name}: kernels of lines")
    if kernels is not None:
        equal(len([k for k in steps if k.label != "reshape"]), kernels, f"{name}: kernels")
    rng, dims = random.Random(1), {d.sym: sizes[n] for n, d in given.dims.items() if n in sizes}
    inputs = [random_tensor(rng, "f32", tuple(d.evaluate(dims) for d in p.types[0].shape), False)
              for p in function.parameters]
    weights = {n: random_tensor(rng, "f32", tuple(d.evaluate({}) for d in w.type.shape), False)
               for n, w in given.weights.items()}
    got = {n: list(t.data) for n, t in weights.items()} \
        | {p.attrs["name"]: list(t.data) for p, t in zip(function.parameters, inputs, strict=True)}
    programs.run(program, dims, got, False)
    (wanted,) = Run(given, dims, weights, {}).results(function, inputs, "")
    equal(_difference("y", wanted, got["y"]), "", f"{name}: the same bits")


V, W = ("v", "f32[10,2,1,1]"), ("w", "f32[3,10,3,3]")
two = ["%1 = weight() {name=\"v\"} : f32[10,2,1,1]", f"%2 = {convolution('%0', '%1', (1, 1), 0, 'n,10,6,19')}",
       "%3 = weight() {name=\"w\"} : f32[3,10,3,3]", f"%4 = {convolution('%2', '%3', (3, 3), 1, 'n,3,6,19')}"]
check("an output, behind a convolution", module([*two, 'return "y" %4'], "n,2,6,19", (V, W)), 1, n=2)
check("with what follows", module([*two, "%5 = tanh(%4) : f32[n,3,6,19]", 'return "y" %5'], "n,2,6,19",
                                  (V, W)), 1, n=1)
ONE, U = ['%1 = weight() {name="w"} : f32[3,5,3,3]'], "f32[3,5,3,3]"
check("an input", module([*ONE, f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,3,5,17')}", 'return "y" %2'],
                         "1,5,5,17", (("w", U),)), 1, 1)
check("one of few channels", module(['%1 = weight() {name="w"} : f32[8,2,3,3]',
                                            f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,8,5,17')}", 'return "y" %2'],
                                           "1,2,5,17", (("w", "f32[8,2,3,3]"),)), 1, 1)
for ins, outs, line in ((1, 16, 17), (3, 24, 90), (3, 64, 90)):
    check(f"{outs} of few terms", module([f'%1 = weight() {{name="w"}} : f32[{outs},{ins},3,3]',
                                          f"%2 = {convolution('%0', '%1', (3, 3), 1, f'1,{outs},2,{line}')}",
                                          'return "y" %2'], f"1,{ins},2,{line}", (("w", f"f32[{outs},{ins},3,3]"),)), 1, 1)
check("also with weights that each call gives", module(
    [f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,24,2,90')}", 'return "y" %2'], "1,2,2,90", (),
    more=f', %1 "w" : f32[24,2,3,3] {LOC}'), 1, 1)
check("not where a convolution wants the channels of the result side by side", module(
    ['%1 = weight() {name="w"} : f32[32,3,3,3]', f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,32,4,17')}",
     '%3 = weight() {name="u"} : f32[16,32,3,3]', f"%4 = {convolution('%2', '%3', (3, 3), 1, '1,16,4,17')}",
     "%5 = reduce(%4) {op=max, axes=[2, 3], order=free} : f32[1,16]", 'return "y" %5'], "1,3,4,17",
    (("w", "f32[32,3,3,3]"), ("u", "f32[16,32,3,3]"))), 0)
for why, lines, x, weight in (
        ("lines are short", [*ONE, f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,3,5,15')}"], "1,5,5,15", U),
        ("positions are left out", [*ONE, f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,3,3,17', 2)}"], "1,5,5,33", U),
        ("there are 16 channels of 36 terms", ['%1 = weight() {name="w"} : f32[16,4,3,3]',
                                               f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,16,2,17')}"], "1,4,2,17",
         "f32[16,4,3,3]"),
        ("there are nine channels", ['%1 = weight() {name="w"} : f32[9,5,3,1]',
                                     f"%2 = {convolution('%0', '%1', (3, 1), 1, '1,9,2,17')}"], "1,5,2,17",
         "f32[9,5,3,1]"),
        ("a width is not known", [*ONE, f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,3,3,n')}"], "1,5,3,n", U)):
    check(f"not where {why}", module([*lines, 'return "y" %2'], x, (("w", weight),)), 0, n=9)
check("one position a pixel, one channel", module(['%1 = weight() {name="w"} : f32[1,5,1,1]',
                                                   f"%2 = {convolution('%0', '%1', (1, 1), 0, '1,1,4,18')}",
                                                   'return "y" %2'], "1,5,4,18", (("w", "f32[1,5,1,1]"),)), 1)
check("weights that each call gives", module([f"%2 = {convolution('%0', '%1', (3, 3), 1, '1,3,5,17')}", 'return "y" %2'],
                                            "1,5,5,17", (), more=f', %1 "w" : {U} {LOC}'), 1, 1)
check("what is padded with another number is copied", module(
    [*ONE, "%2 = constant() {bits=0x3f800000} : f32[]",
     "%3 = pad(%0, %2) {low=[0, 0, 1, 1], high=[0, 0, 1, 1]} : f32[1,5,7,19]",
     f"%4 = {convolution('%3', '%1', (3, 3), 0, '1,3,5,17')}", 'return "y" %4'], "1,5,5,17", (("w", U),)), 1, 2)
for outs in (1, 3, 6):
    own = f"f32[{outs},5,3,3]"
    front = [f'%1 = weight() {{name="w"}} : {own}', "%2 = add(%0, %0) : f32[1,5,6,20]",
             f"%3 = {convolution('%2', '%1', (3, 3), 1, f'1,{outs},6,20')}"]
    check(f"{outs} outputs of what a cheap operation makes",
          module([*front, 'return "y" %3'], "1,5,6,20", (("w", own),)), 1, 2)
    larger = [f'%1 = weight() {{name="w"}} : {own}', "%2 = broadcast(%0) {shape=[1, 5, 6, 20, 2], axes=[0, 1, 2, 3]} "
              ": f32[1,5,6,20,2]", "%3 = reshape(%2) {shape=[1, 5, 6, 40]} : f32[1,5,6,40]",
              f"%4 = {convolution('%3', '%1', (3, 3), 1, f'1,{outs},6,40')}"]
    check(f"{outs} outputs of an enlarged image", module([*larger, 'return "y" %4'], "1,5,6,20", (("w", own),)), 1, 2)
check("two of one operand, whose results are added", module(
    [*two, '%5 = weight() {name="u"} : f32[3,10,1,3]', f"%6 = {convolution('%2', '%5', (1, 3), 1, 'n,3,6,19')}",
     "%7 = add(%4, %6) : f32[n,3,6,19]", 'return "y" %7'], "n,2,6,19",
    (V, W, ("u", "f32[3,10,1,3]"))), 1, n=2)
sizes = (3, 6)
heads = ['%1 = weight() {name="v"} : f32[12,2,1,1]', f"%2 = {convolution('%0', '%1', (1, 1), 0, '1,12,8,40')}"]
for at, outs in zip((3, 5), sizes):
    heads += [f'%{at} = weight() {{name="w{outs}"}} : f32[{outs},12,3,3]',
              f"%{at + 1} = {convolution('%2', f'%{at}', (3, 3), 1, f'1,{outs},8,40')}"]
check("two heads of one map, of three and of six outputs, which is stored once", module(
    [*heads, "%7 = concat(%4, %6) {axis=1} : f32[1,9,8,40]", 'return "y" %7'], "1,2,8,40",
    (("v", "f32[12,2,1,1]"), *((f"w{outs}", f"f32[{outs},12,3,3]") for outs in sizes))), 2, 3)
six = ['%3 = weight() {name="w"} : f32[6,10,3,3]', f"%4 = {convolution('%2', '%3', (3, 3), 1, 'n,6,6,19')}",
       '%5 = weight() {name="u"} : f32[20,6,1,1]', f"%6 = {convolution('%4', '%5', (1, 1), 0, 'n,20,6,19')}"]
check("where a convolution with panels reads the result", module([*two[:2], *six, 'return "y" %6'], "n,2,6,19", (
    V, ("w", "f32[6,10,3,3]"), ("u", "f32[20,6,1,1]"))), 1, n=1)
done()
