# SPDX-License-Identifier: Apache-2.0
"""control: text in, text out, and the same outputs."""
from __future__ import annotations

from oracle.graph import same
from passes import HEAD, evaluated, module
from tap import equal, done, ok
from tensor_compile.graph.control import control
from tensor_compile.graph.ir import Module
from tensor_compile.graph.text import print_module
from tensor_compile.graph.verify import verify


def case(name: str, text: str, want: str) -> Module:
    given = module(text.lstrip("\n"))
    made = control(given)
    verify(made)
    equal(print_module(made)[len(HEAD):].strip(), want.strip(), name)
    ok(all(same(a, b) for seed in range(4) for a, b in
           zip(evaluated(made, made.functions["f"], seed), evaluated(given, given.functions["f"], seed), strict=True)),
       f"{name}: the same bits")
    return made


SIDES = """
function twice(%0 "x" : f32[4]) {
  %1 = add(%0, %0) : f32[4] scope("add#2")
  return "y" %1
}

function none(%0 "x" : f32[4]) {
  return "y" %0
}
"""

for bit, gives in (("0x01", "  %1 = add(%0, %0) : f32[4] scope(\"cond#1/add#2\")\n  return \"out\" %1"),
                   ("0x00", "  return \"out\" %0")):
    case(f"a condition of {bit}: the side that runs", SIDES + f"""
function f(%0 "x" : f32[4]) entry {{
  %1 = constant() {{bits={bit}}} : bool[]
  %2 = cond(%1, %0) {{then=@twice, else=@none}} : f32[4] scope("cond#1")
  return "out" %2
}}
""", f"""
function f(%0 "x" : f32[4]) entry {{
{'  %1 = constant() {bits=0x01} : bool[]' if bit == '0x01' else '  %1 = constant() {bits=0x00} : bool[]'}
{gives.replace('%1', '%2') if bit == '0x01' else gives}
}}
""")

case("a scan of one turn is its body", """
function step(%0 "c" : f32[4], %1 "x" : f32[4]) {
  %2 = sub(%0, %1) : f32[4]
  return "c" %2
  return "y" %1
}

function f(%0 "x" : f32[4], %1 "y" : f32[1,4]) entry {
  %2 = scan(%0, %1) {body=@step, length=[1], carries=1} : (f32[4], f32[1,4])
  return "c" %2.0
  return "y" %2.1
}
""", """
function f(%0 "x" : f32[4], %1 "y" : f32[1,4]) entry {
  %2 = reshape(%1) {shape=[4]} : f32[4]
  %3 = sub(%0, %2) : f32[4]
  %4 = reshape(%2) {shape=[1, 4]} : f32[1,4]
  return "c" %3
  return "y" %4
}
""")

case("a while that never runs", """
function never(%0 "c" : f32[4]) {
  %1 = constant() {bits=0x00} : bool[]
  return "p" %1
}

function step(%0 "c" : f32[4]) {
  %1 = neg(%0) : f32[4]
  return "c" %1
}

function f(%0 "x" : f32[4]) entry {
  %1 = while(%0) {test=@never, body=@step} : f32[4]
  return "c" %1
}
""", """
function f(%0 "x" : f32[4]) entry {
  return "c" %0
}
""")

case("constants are computed where they are used, also two functions down; constant carries are their operands", """
function inner(%0 "c" : f32[4], %1 "k" : f32[4]) {
  %2 = mul(%0, %1) : f32[4]
  return "c" %2
  return "k" %1
}

function step(%0 "c" : f32[4], %1 "k" : f32[4], %2 "b" : f32[4], %3 "x" : f32[4]) {
  %4 = scan(%0, %1) {body=@inner, length=[3], carries=2} : (f32[4], f32[4])
  %5 = add(%4.0, %2) : f32[4]
  %6 = add(%5, %3) : f32[4]
  return "c" %6
  return "k" %1
  return "b" %2
  return "y" %4.1
}

function f(%0 "x" : f32[4], %1 "y" : f32[n,4], %2 "b" : f32[4]) entry {
  %3 = weight() {name="v"} : f32[4]
  %4 = neg(%3) : f32[4]
  %5 = scan(%0, %4, %2, %1) {body=@step, length=[n], carries=3} : (f32[4], f32[4], f32[4], f32[n,4])
  return "c" %5.0
  return "k" %5.1
  return "b" %5.2
  return "y" %5.3
}
""", """
function f(%0 "x" : f32[4], %1 "y" : f32[n,4], %2 "b" : f32[4]) entry {
  %3 = weight() {name="v"} : f32[4]
  %4 = neg(%3) : f32[4]
  %5 = scan(%0, %2, %1) {body=@step_2, length=[n], carries=2} : (f32[4], f32[4], f32[n,4])
  return "c" %5.0
  return "k" %4
  return "b" %2
  return "y" %5.2
}

function step_2(%0 "c" : f32[4], %1 "b" : f32[4], %2 "x" : f32[4]) {
  %3 = weight() {name="v"} : f32[4]
  %4 = neg(%3) : f32[4]
  %5 = scan(%0) {body=@inner_2, length=[3], carries=1} : f32[4]
  %6 = add(%5, %1) : f32[4]
  %7 = add(%6, %2) : f32[4]
  return "c" %7
  return "b" %1
  return "y" %4
}

function inner_2(%0 "c" : f32[4]) {
  %1 = weight() {name="v"} : f32[4]
  %2 = neg(%1) : f32[4]
  %3 = mul(%0, %2) : f32[4]
  return "c" %3
}
""")
done()
