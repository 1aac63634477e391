# SPDX-License-Identifier: Apache-2.0
"""Weights of bytes whose words are sorted: packed once for all functions, sorted by those of enough rows alone."""
from harness import TARGET, module_of
from tap import done, equal
from tensor_compile import target as targets
from tensor_compile.graph.fold import fold
from tensor_compile.loops import layout, sorted_words

LOC = 'loc("m.c":1)'
AXES = "lhs_batch=[], rhs_batch=[], lhs_contract=[2], rhs_contract=[0]"


def text(name: str, rows: int, weight: str = "w") -> str:
    return f"""function {name}(%0 "x{name}" : i8[2,{rows},256] {LOC}) entry {{
  %1 = cast(%0) {{dtype=i32}} : i32[2,{rows},256] {LOC}
  %2 = weight() {{name="{weight}"}} : i8[256,80] {LOC}
  %3 = cast(%2) {{dtype=i32}} : i32[256,80] {LOC}
  %4 = dot(%1, %3) {{{AXES}, order=seq}} : i32[2,{rows},80] {LOC}
  return "y{name}" %4 {LOC}
}}
"""


def packed(*functions: str) -> tuple[list[int], int]:
    """Of each function whether its product takes words by their kinds; how many weights are stored."""
    module = layout.on_all(module_of("\n".join(functions), weights=(("w", "i8[256,80]"), ("v", "i8[256,80]"),
                                                                    ("heads", "i8[2,12,256,80]"))), TARGET)
    nodes = [n for f in module.functions.values() for n in f.nodes if n.op == "packed_dot"]
    constants, _ = fold(module, list(module.functions.values()))
    return [n.attrs["ordered"] for n in nodes], len(constants.functions["constants"].results)


equal(packed(text("few", 4)), ([0], 1), "few rows")
equal(packed(text("many", 12)), ([1], 1), "many rows")
equal(packed(text("few", 4), text("many", 12)), ([0, 1], 1), "few rows before many, of the same weights")
equal(packed(text("many", 12), text("few", 4)), ([1, 0], 1), "and behind them")
equal(packed(text("many", 12), text("few", 4, "v")), ([1, 0], 2), "of other weights")
HEADS = "lhs_batch=[0, 1], rhs_batch=[0, 1], lhs_contract=[3], rhs_contract=[2]"
heads = f"""function heads(%0 "x" : i8[2,12,1,256] {LOC}) entry {{
  %1 = cast(%0) {{dtype=i32}} : i32[2,12,1,256] {LOC}
  %2 = weight() {{name="heads"}} : i8[2,12,256,80] {LOC}
  %3 = cast(%2) {{dtype=i32}} : i32[2,12,256,80] {LOC}
  %4 = dot(%1, %3) {{{HEADS}, order=seq}} : i32[2,12,1,80] {LOC}
  return "y" %4 {LOC}
}}
"""
equal(packed(heads), ([0], 1), "one row each of many products")
for name in targets.names():
    equal(sorted_words.alone(targets.load(targets.find(name))), False, f"{name}: is not for sorted words alone")
equal(sorted_words.alone(targets.load(targets.find("x86_64")).with_isas(("avx2",))), True, "AVX2 alone is")
done()
