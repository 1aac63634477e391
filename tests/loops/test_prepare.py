# SPDX-License-Identifier: Apache-2.0
"""Nests that run in the kernel of a product of few rows (loops/prepare.py): which do, and their text."""
from __future__ import annotations

from dataclasses import replace

from tap import done, equal, ok, raises
from tensor_compile import pipeline, target as targets
from tensor_compile.graph.errors import ParseError
from tensor_compile.loops.loop_ir import PreparedKernel
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit

TARGET = replace(targets.load(targets.find("cuda-sm90")), precision="bf16")
LOC = 'loc("m.c":1)'
DOT = "{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=seq}"


def norm(rows: int, x: str, at: int) -> list[str]:
    """Rows divided by their largest element, as values from number `at` on; the last one is the result."""
    return [f"%{at} = reduce({x}) {{op=max, axes=[1], order=free}} : f32[{rows}]",
            f"%{at + 1} = broadcast(%{at}) {{shape=[{rows}, 128], axes=[0]}} : f32[{rows},128]",
            f"%{at + 2} = div({x}, %{at + 1}) : f32[{rows},128]"]


def planned(rows: int, more: list[str], result: str, **changes: str) -> tuple[list, dict[str, str]]:
    """A product, its rows divided, and what `more` says; the kernels of the program and its text behind each pass."""
    target = replace(TARGET, **changes)
    lines = ['%1 = weight() {name="u"} : f32[128,128]', '%2 = weight() {name="v"} : f32[128,128]',
             f"%3 = dot(%0, %1) {DOT} : f32[{rows},128]", *norm(rows, "%3", 4), *more]
    text = "\n".join(['tensor_compile.graph 1', 'model "m"', 'file 0 "w.safetensors"',
                      *(f'weight "{name}" : f32[128,128] file=0 {LOC}' for name in "uv"), "",
                      f'function f(%0 "x" : f32[{rows},128] {LOC}) entry {{', *(f"  {line} {LOC}" for line in lines),
                      f'  return "y" {result} {LOC}', "}", ""])
    shown: dict[str, str] = {}
    made = pipeline.run(text, "m.tcg", target, {}, verify=True, dump=shown.__setitem__)
    return [step.kernel for step in made.plan.functions[0].variants[0].program.kernel_steps], shown


def joined(rows: int, more: list[str], result: str, **changes: str) -> int:
    return sum(isinstance(k, PreparedKernel) for k in planned(rows, more, result, **changes)[0])


ONE, TWO, FOUR = ([f"%7 = dot(%6, %2) {DOT} : f32[{rows},128]"] for rows in (1, 2, 4))
equal(joined(1, ONE, "%7"), 1, "a nest runs in the kernel of the product that reads its row")
equal(joined(4, FOUR, "%7"), 1, "four rows")
equal(joined(1, ONE, "%7", precision="f32"), 0, "not with exact products")
equal(joined(64, [f"%7 = dot(%6, %2) {DOT} : f32[64,128]"], "%7"), 0, "not of many rows")
equal(joined(2, [*TWO, "%8 = add(%7, %6) : f32[2,128]"], "%8"), 0, "nor where something else needs the rows")
equal(joined(2, [*TWO, f"%8 = dot(%3, %2) {DOT} : f32[2,128]", "%9 = add(%7, %8) : f32[2,128]"], "%9"), 1,
      "what the nest reads may be read again")
both = [f"%7 = dot(%6, %1) {DOT} : f32[2,128]", f"%8 = dot(%6, %2) {DOT} : f32[2,128]", "%9 = exp(%7) : f32[2,128]",
        "%10 = concat(%9, %8) {axis=0} : f32[4,128]"]
kernels, shown = planned(2, both, "%10")
equal([len(k.contraction.contractions) for k in kernels if isinstance(k, PreparedKernel)], [2], "products side by side")
for title, text in (("one product", planned(1, ONE, "%7")[1]["prepare"]), ("side by side", shown["prepare"]),
                    ("planned", shown["plan"])):
    head, unit = text.split("\n", 1)
    ok("\nprepared " in unit and "  loop_nest " in unit, f"{title}: the text has it")
    equal(print_unit(parse_unit(unit, "m.tcl")), unit, f"{title}: printed as it was read")
    for old, new, message in (("  loop_nest ", "  nest ", "expected 'loop_nest'"),):
        broken = unit[:unit.index("\nprepared ")] + unit[unit.index("\nprepared "):].replace(old, new, 1)
        raises(ParseError, lambda: parse_unit(broken, "m.tcl"), message, f"{title}: {message}")
done()
