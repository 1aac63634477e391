# SPDX-License-Identifier: Apache-2.0
"""Concatenations one within the other: graphs before and after, what is stored how often, and random ones."""
from __future__ import annotations

import random

from oracle.graph import same
from passes import case, evaluated, function, module, stays
from tap import done, equal, note, ok
from tensor_compile import target
from tensor_compile.graph.concats import concats
from tensor_compile.loops.lower import lower

X = '%0 "x" : f32[4,16], %1 "y" : f32[4,m], %2 "z" : f32[4,3]'

case(concats, "concats: the smaller one is an operand of the larger one", X,
     """%3 = concat(%0, %1) {axis=1} : f32[4,m + 16]
%4 = concat(%0, %1, %2) {axis=1} : f32[4,m + 19]
return "a" %3
return "b" %4""", """%3 = concat(%0, %1) {axis=1} : f32[4,m + 16]
%4 = concat(%3, %2) {axis=1} : f32[4,m + 19]
return "a" %3
return "b" %4""")
case(concats, "concats: a smaller one that comes later is made before", X,
     """%3 = concat(%2, %0, %1) {axis=1} : f32[4,m + 19]
%4 = concat(%0, %1) {axis=1} : f32[4,m + 16]
return "a" %3
return "b" %4""", """%3 = concat(%0, %1) {axis=1} : f32[4,m + 16]
%4 = concat(%2, %3) {axis=1} : f32[4,m + 19]
return "a" %4
return "b" %3""")
case(concats, "concats: the longest of them, and what is beside it", X, """%3 = concat(%0, %1) {axis=1} : f32[4,m + 16]
%4 = concat(%0, %1, %2) {axis=1} : f32[4,m + 19]
%5 = concat(%0, %1, %2, %1, %0, %1) {axis=1} : f32[4,3*m + 35]
return "a" %3
return "b" %4
return "c" %5""", """%3 = concat(%0, %1) {axis=1} : f32[4,m + 16]
%4 = concat(%3, %2) {axis=1} : f32[4,m + 19]
%5 = concat(%4, %1, %3) {axis=1} : f32[4,3*m + 35]
return "a" %3
return "b" %4
return "c" %5""")
for why, body in (
        ("along another axis", """%3 = concat(%0, %0) {axis=0} : f32[8,16]
%4 = concat(%0, %0, %1) {axis=1} : f32[4,m + 32]"""),
        ("of operands that stand in another order", """%3 = concat(%1, %0) {axis=1} : f32[4,m + 16]
%4 = concat(%0, %1, %2) {axis=1} : f32[4,m + 19]"""),
        ("that is narrow", """%3 = concat(%2, %2) {axis=1} : f32[4,6]
%4 = concat(%2, %2, %0) {axis=1} : f32[4,22]""")):
    stays(concats, f"concats: not one {why}", X, f'{body}\nreturn "a" %3\nreturn "b" %4')

# -- each of the results is stored once, whatever reads it
layers = """%1 = exp(%0) : f32[4,16]
%2 = concat(%0, %1) {axis=1} : f32[4,32]
%3 = slice(%2) {start=[0, 16], size=[4, 16], stride=[1, 1]} : f32[4,16]
%4 = tanh(%3) : f32[4,16]
%5 = concat(%0, %1, %4) {axis=1} : f32[4,48]
%6 = reduce(%2) {op=sum, axes=[0], order=lanes} : f32[32]
%7 = reduce(%5) {op=sum, axes=[0], order=lanes} : f32[48]
return "a" %6
return "b" %7"""
made = module(function('%0 "x" : f32[4,16]', layers))
for run, temps in ((lambda f: f, [128, 192]), (concats, [192])):
    lowered = lower(run(made.functions["f"]), made, target.load(target.find("x86_64")))
    found = sorted(b.shape[0].value * b.shape[1].value for b in lowered.buffers.values()
                   if b.kind == "temp")
    equal(found, temps, f"concats: temps of {' and '.join(map(str, temps))} elements")

# -- random ones
rng, wrong, fewer = random.Random(1), [], 0
for number in range(300):
    names, lines, results = [f"%{i}" for i in range(4)], [], []
    widths = {"%0": 16, "%1": 2, "%2": 5, "%3": 16}
    for i in range(rng.randint(2, 6)):
        taken, name = rng.choices(names, k=rng.randint(2, 5)), f"%{4 + i}"
        widths[name] = sum(widths[x] for x in taken)
        lines.append(f"{name} = concat({', '.join(taken)}) {{axis=0}} : f32[{widths[name]}]")
        results.append(f'return "o{i}" {name}')
        names = rng.choice((names, [*names, name]))
    parameters = ", ".join(f'%{i} "p{i}" : f32[{widths[f"%{i}"]}]' for i in range(4))
    given = module(function(parameters, "\n".join(lines + results)))
    got = concats(given.functions["f"])
    before, after = (sum(len(n.operands) for n in f.nodes) for f in (given.functions["f"], got))
    fewer += after < before
    outputs = zip(evaluated(given, given.functions["f"], number), evaluated(given, got, number), strict=True)
    if not all(same(a, b) for a, b in outputs) or after > before:
        wrong.append("\n".join(lines))
if not ok(not wrong and fewer > 20, "concats: random ones"):
    note(f"{fewer} have fewer operands; {wrong[:1]}")
done()
