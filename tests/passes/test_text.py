# SPDX-License-Identifier: Apache-2.0
"""The text form: what is printed reads back as it was, every mistake is named with its line, nothing else escapes."""
from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from passes import HEAD
from tap import done, equal, note, ok, raises
from tensor_compile.graph import passes
from tensor_compile.graph.errors import IrError, ParseError
from tensor_compile.graph.text import parse_function, parse_module, print_function, print_module
from tensor_compile.graph.verify import verify

graphs = Path(__file__).resolve().parents[1] / "graphs"
for path in sorted(graphs.glob("*.tcg")):
    text = path.read_text()
    equal(print_module(parse_module(text, path.name)), text, f"{path.name} reads and prints the same")

EVERYTHING = HEAD + """
function layer(%0 "x" : f32[n,4] loc("dir/m.c":7), %1 "i" : i64[]) {
  guard "quote \\" backslash \\\\ line \\n" floordiv(n + 1, 2) >= m loc("m.c":3)
  guard "k" k == n*n - 2*m + 1
  %2 = state() {name="s"} : f32[4]
  %3 = constant() {bits=0x7fc00000} : f32[]
  %4 = constant() {bits=0x01} : bool[]
  %5 = constant() {bits=0xffffffffffffffff} : i64[]
  %6 = slice(%0) {start=[0, 0], size=[floordiv(n + 1, 2), 4], stride=[2, 1]} : f32[floordiv(n+1,2),4] scope("a/b#3")
  assign "s" %2 loc("m.c":9)
  return "y" %0
  return "i" %1 loc("m.c":10)
}

function done(%0 "x" : f32[n,4], %1 "i" : i64[]) {
  %2 = constant() {bits=0x0000000000000003} : i64[]
  %3 = lt(%1, %2) : bool[]
  return "more" %3
}

function step(%0 "c" : i64[], %1 "x" : f32[4]) {
  %2 = add(%0, %0) : i64[]
  %3 = neg(%1) : f32[4]
  return "c" %2
  return "y" %3
}

function f(%0 "x" : f32[n,4], %1 "i" : i64[], %2 "p" : bool[]) entry {
  %3 = call(%0, %1) {callee=@layer, prefix=""} : (f32[n,4], i64[])
  %4 = cond(%2, %3.0, %3.1) {then=@layer, else=@layer} : (f32[n,4], i64[])
  %5 = while(%4.0, %4.1) {test=@done, body=@layer} : (f32[n,4], i64[])
  %6 = scan(%5.1, %5.0) {body=@step, length=[n], carries=1} : (i64[], f32[n,4])
  %7 = dim_value() {value=[m*n - 1]} : i32[]
  return "y" %6.1
}
"""
equal(print_module(parse_module(EVERYTHING, "e.tcg")), EVERYTHING, "every construct reads and prints the same")
verify(parse_module(EVERYTHING, "e.tcg"))
one = EVERYTHING[EVERYTHING.index("function step"):EVERYTHING.index("function f(")].strip() + "\n"
equal(print_function(parse_function(one, "f.tcg")), one, "a function on its own")
raises(ParseError, lambda: parse_function(one + one, "f.tcg"), "unexpected text after the function",
       "and nothing behind it")
loose = EVERYTHING.replace(", ", " ,  ").replace(" = ", "=").replace("\n", "  \n# comment\n\n")
equal(print_module(parse_module(loose, "e.tcg")), EVERYTHING, "spaces, blank lines and comments do not matter")


def error(text: str, message: str) -> None:
    try:
        parse_module(text, "bad.tcg")
    except ParseError as found:
        equal(str(found), message, message)
    else:
        ok(False, message)


def body(line: str, message: str, parameters: str = '%0 "x" : f32[4]') -> None:
    """A mistake in the only line of a function."""
    text = HEAD + f"function f({parameters}) entry {{\n  {line}\n}}\n"
    error(text, f"bad.tcg:{HEAD.count(chr(10)) + 2}: error: {message}")


def head(line: str, message: str) -> None:
    """A mistake in a declaration after HEAD."""
    error(HEAD + line + "\n", f"bad.tcg:{HEAD.count(chr(10)) + 1}: error: {message}")


error("", "bad.tcg:1: error: expected 'tensor_compile.graph 1'")
error("tensor_compile.graph 2\n",
      "bad.tcg:1: error: version 2 of the graph text is not known; this tool reads version 1")
error("tensor_compile.graph 1\n", "bad.tcg:1: error: expected 'model \"NAME\"'")
error("tensor_compile.graph 1\nmodel digits\n", "bad.tcg:2: error: expected a quoted string, not digits")
head("wight", "unknown declaration wight; there are dim, file, weight, state, function")
head("dim n range=1:2 divisor=1 specialize=[]", "dim n is declared twice")
head("dim f32 range=1:2 divisor=1 specialize=[]", "a dim cannot be named f32")
head("dim q range=3:2 divisor=1 specialize=[]", "the range 3:2 of dim q is not an interval of sizes")
head("dim q range=1:2 divisor=0 specialize=[]", "the divisor of dim q is not positive")
head("dim q range=1:8 divisor=2 specialize=[3]", "dim q cannot be 3: its range is 1:8 and its divisor 2")
head("dim q range=1:8 divisor=2 specialize=[2, 2]", "dim q is specialized to one size twice")
head("dim q range=1:99999999999999999999 divisor=1 specialize=[]", "an integer does not fit 64 bits")
head('file 2 "x"', "expected file 1, not 2")
head('weight "w" : f32[4] file=0', 'weight "w" is declared twice')
head('weight "u" : f32[4] file=1', 'weight "u" is in file 1, which is not declared')
head('weight "u" : f8[4] file=0',
     "unknown dtype f8; there are f32, i32, i64, bool, f64, f16, bf16, i8, u8, i16, u16, u32, u64")
head('weight "u" : f32[4 file=0', "expected ',', not file")
head('weight "u" : f32[q] file=0', "unknown dim q")
head('state "s" : f32[4]', 'state "s" is declared twice')
head('state "t\\x" : f32[4]', 'unknown escape \\x in "t\\x"')
head('state "t" : f32[4] loc("m.c":x)', "expected an integer, not x")
head("function f() {", "function f is not closed by '}'")
body("%1 = foo(%0) : f32[4]", "unknown primitive foo")
body("%1 = neg(%2) : f32[4]", "value %2 is not defined above")
body("%1 = neg(%1) : f32[4]", "value %1 is not defined above")
body("%0 = neg(%0) : f32[4]", "%0 does not come after %0")
body("%1.0 = neg(%0) : f32[4]", "%1.0 cannot name a node")
error(HEAD + "function f(%0 \"x\" : f32[4]) {\n%1 = call(%0) {callee=@g, prefix=\"\"} : (f32[4], f32[4])\n%2 = "
             "neg(%1) : f32[4]\n}\n",
      f"bad.tcg:{HEAD.count(chr(10)) + 3}: error: %1: the node has 2 results, write %1.R")
body("%1 = neg(%0.0) : f32[4]", "%0.0: the node has one result, write %0")
body("%1 = neg(%0) f32[4]", "expected ':', not f32")
body("%1 = neg(%0) : f32[4] scope", "expected '(', not the end of the line")
body("%1 = neg(%0) : f32[4] ;", "unexpected character ';'")
body("%1 = neg(%0) : f32[4] x", "unexpected x at the end of the line")
body("%1 = transpose(%0) {perm=[0], perm=[0]} : f32[4]", "attribute perm is given twice")
body("%1 = transpose(%0) {axes=[0]} : f32[4]", "transpose has no attribute axes")
body("%1 = transpose(%0) : f32[4]", "transpose needs the attribute perm")
body("%1 = transpose(%0) {perm=[n]} : f32[4]", "expected an integer, not n")
body("%1 = reshape(%0) {shape=[4)]} : f32[4]", "expected ',', not )")
body("%1 = reshape(%0) {shape=[floordiv(4, n - 1)]} : f32[4]",
     "the divisor n - 1 is not positive for all values of the dims")
body("%1 = reshape(%0) {shape=[" + "(" * 70 + "4" + ")" * 70 + "]} : f32[4]", "an expression is nested too deeply")
body("%1 = reshape(%0) {shape=[" + "*".join(["(n + m + k)"] * 40) + "]} : f32[4]", "an expression has too many terms")
body("%1 = constant() {bits=1} : f32[]", "expected a bit pattern such as 0x3f800000, not 1")
body("%1 = constant() {bits=0x100} : bool[]", "the bits do not fit bool[]")
body("%1 = neg(%0) : (f32[4])", "a node with one result has a plain type")
body("%1 = call(%0) {callee=f, prefix=\"\"} : f32[4]", "expected a function such as @layer, not f")
body("%1 = call(%0) {callee=@f, prefix=f} : f32[4]", "expected a quoted string, not f")
body('guard "g" n < m', "unexpected character '<'")
body('guard "g" n = m', "expected == or >=, not =")
body("returns \"y\" %0", "expected a node, guard, assign, return or '}', not returns")
body('return "y" %7', "value %7 is not defined above")
body('return "y', "unexpected character '\"'")

# Mutated text: every outcome is a module that verifies, an IrError, or a ParseError.
rng = random.Random(20)
PIECES = ["%0", "%99", "%3.7", "n", "k", "-", "(", ")", "[", "]", "{", "}", ",", ":", "=", "0", "1", "-1",
          "999999999999",
          "f32", "bool", "i64", "f32[4]", "f32[n,4]", "@layer", "@f", "@none", '"s"', '"w"', '"', "floordiv(n, 2)",
          "floordiv(4, m)", "entry", "neg", "call", "scan", "while", "dot", "convolution", "weight", "loc", "scope",
          "\n",
          "0x01", "0xffffffffff", "\\", "é", "\x00", "  "]


def mutated(text: str) -> str:
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(text))
        end = at + rng.choice((0, 1, 3, 8, 40))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + rng.choice(PIECES) + text[end:]
        elif kind == 1:
            text = text[:at] + text[end:]
        elif kind == 2:
            other = rng.randrange(len(text))
            text = text[:at] + text[other:other + rng.choice((2, 10, 60))] + text[end:]
        else:
            lines = text.split("\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
    return text


sources = [EVERYTHING] + [p.read_text() for p in sorted(graphs.glob("*.tcg")) if p.stat().st_size < 8000]
escaped = legal = 0
for _i in range(int(os.environ.get("TC_FUZZ", "1500"))):
    text = mutated(rng.choice(sources))
    try:
        module = parse_module(text, "fuzz.tcg")
        verify(module)
        legal += 1
        if print_module(parse_module(print_module(module), "fuzz.tcg")) != print_module(module):
            raise AssertionError("printed text does not read back")
        passes.run(module, verify_each=True)
    except IrError:
        pass
    except Exception as found:   # anything else is a bug of ours
        escaped += 1
        note(f"{type(found).__name__}: {found}")
        if escaped == 1:
            print(text, file=sys.stderr)
ok(escaped == 0, "mutated text raises IrError or nothing")
ok(legal > 20, "some mutated text stays legal")
done()
