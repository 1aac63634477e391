# SPDX-License-Identifier: Apache-2.0
"""Kernels that differ in constants alone are one function with arguments, and what differs otherwise stays apart."""
from __future__ import annotations

import re

from tap import done, equal, ok
from tensor_compile import pipeline
from tensor_compile import target as targets
from tensor_compile.compile.cpu_target import kernel_sources
from tensor_compile.emit.contraction import candidates
from tensor_compile.emit.driver import emit_driver
from tensor_compile.emit.identity import identity
from tensor_compile.emit.shared import Shared, shared
from tensor_compile.loops.contraction_schedule import Schedule
from tensor_compile.loops.loop_ir import ContractionKernel, Kernel
from tensor_compile.loops.program_ir import ModelPlan
from tensor_compile.loops.parse import parse_unit

TARGET = targets.load(targets.find("x86_64")).with_isas(("avx2",))

# -- a network of dilated convolutions
DILATIONS = (1, 2, 4, 8, 16, 32)


def layer(i: int, dilation: int) -> str:
    """x + convolution of x, padded in front."""
    n = 6 * i
    return f"""\
  %{n + 1} = weight() {{name="w{i}"}} : f32[8,8,3] loc("m.c":3)
  %{n + 2} = constant() {{bits=0x00000000}} : f32[] loc("m.c":3)
  %{n + 3} = pad(%{n}, %{n + 2}) {{low=[0, 0, {2 * dilation}], high=[0, 0, 0]}} : f32[1,8,n+{2 * dilation}] loc("m.c":3)
  %{n + 4} = convolution(%{n + 3}, %{n + 1}) {{stride=[1], low=[0], high=[0], dilation=[{dilation}], groups=1}} : \
f32[1,8,n] loc("m.c":3)
  %{n + 5} = abs(%{n + 4}) : f32[1,8,n] loc("m.c":3)
  %{n + 6} = add(%{n}, %{n + 5}) : f32[1,8,n] loc("m.c":3)
"""


def network(dilations: tuple[int, ...]) -> str:
    weights = "".join(f'weight "w{i}" : f32[8,8,3] file=0 loc("m.c":3)\n' for i in range(len(dilations)))
    return f"""tensor_compile.graph 1
model "m"
dim n range=1:64 divisor=1 specialize=[]
file 0 "m.safetensors"
{weights}
function m(%0 "x" : f32[1,8,n] loc("m.c":2)) entry {{
{"".join(layer(i, dilation) for i, dilation in enumerate(dilations))}  return "y" %{6 * len(dilations)} loc("m.c":6)
}}
"""


plan = pipeline.run(network(DILATIONS), "m.tcg", TARGET, {}).plan
for optimize in ("size", "balanced", "speed"):
    sources = kernel_sources(plan, TARGET, optimize)
    kernels = [s.kernel for s in plan.functions[0].variants[0].program.steps]
    equal(len({identity(k) for k in kernels}), len(DILATIONS), "the kernels differ")
    symbols = [sources.symbol(k, "avx2") for k in kernels]
    # the first one reads the input's order, the last one writes the output's
    equal((len(set(symbols)), len(set(symbols[1:-1]))), (3, 1), f"{optimize}: those between others are one function")
    driver = emit_driver(plan, TARGET, sources.of_kernel)
    equal([int(n) for n in re.findall(r"tc_index e\[\] = \{d\[0\], (\d+)\};", driver)], list(DILATIONS[1:-1]),
          f"{optimize}: a call gives the dilation, from which the padding follows")
alone = pipeline.run(network((4,)), "m.tcg", TARGET, {}).plan
(text,) = [source.text for source in kernel_sources(alone, TARGET, "size").by_symbol.values()]
ok(not re.search(r"\bd\[1\]", text), "a kernel that is alone keeps its constants")

# -- windows of several sizes, of which code has tables: one function each
WINDOWS = (3, 5, 3, 5)
layers = "".join(f"""\
  %{3 * i + 1} = weight() {{name="w{i}"}} : f32[8,8,{k},{k}] loc("m.c":3)
  %{3 * i + 2} = convolution(%{3 * i}, %{3 * i + 1}) {{stride=[1, 1], low=[{k // 2}, {k // 2}], high=[{k // 2}, {k // 2}], \
dilation=[1, 1], groups=1}} : f32[1,8,9,9] loc("m.c":3)
  %{3 * i + 3} = abs(%{3 * i + 2}) : f32[1,8,9,9] loc("m.c":3)
""" for i, k in enumerate(WINDOWS))
IMAGES = f"""tensor_compile.graph 1
model "m"
file 0 "m.safetensors"
{"".join(f'weight "w{i}" : f32[8,8,{k},{k}] file=0 loc("m.c":3)' + chr(10) for i, k in enumerate(WINDOWS))}
function m(%0 "x" : f32[1,8,9,9] loc("m.c":2)) entry {{
{layers}  return "y" %{3 * len(WINDOWS)} loc("m.c":6)
}}
"""
plan = pipeline.run(IMAGES, "m.tcg", TARGET, {}).plan
convolutions = [s.kernel for s in plan.functions[0].variants[0].program.steps if isinstance(s.kernel, ContractionKernel)]
sources = kernel_sources(plan, TARGET, "size")
symbols = [sources.symbol(k, "avx2") for k in convolutions]
equal((len(symbols), len(set(symbols[1:3]))), (4, 2), "convolutions of other windows are other functions")

# -- few micro-kernels where little code is asked for
def micros(plan: ModelPlan) -> set[str]:
    texts = [source.text for source in kernel_sources(plan, TARGET, "size").by_symbol.values()]
    return {name for text in texts for name in re.findall(r"\btck_micro_f32_(\w+?)(?:_steps)?__avx2\b", text)}


WIDTHS = (64, 48, 160, 40)
DOT = "{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq}"


def products(widths: tuple[int, ...]) -> str:
    """A product of n rows for each width, by a matrix of so many columns."""
    sizes = list(enumerate(zip((20, *widths), widths)))
    layers = "".join(f"""\
  %{3 * i + 1} = weight() {{name="w{i}"}} : f32[{k},{n}] loc("m.c":3)
  %{3 * i + 2} = dot(%{3 * i}, %{3 * i + 1}) {DOT} : f32[n,{n}] loc("m.c":3)
  %{3 * i + 3} = abs(%{3 * i + 2}) : f32[n,{n}] loc("m.c":3)
""" for i, (k, n) in sizes)
    return f"""tensor_compile.graph 1
model "m"
dim n range=1:64 divisor=1 specialize=[]
file 0 "m.safetensors"
{"".join(f'weight "w{i}" : f32[{k},{n}] file=0 loc("m.c":3)' + chr(10) for i, (k, n) in sizes)}
function m(%0 "x" : f32[n,20] loc("m.c":2)) entry {{
{layers}  return "y" %{3 * len(widths)} loc("m.c":6)
}}
"""


found = {chosen: micros(pipeline.run(products(WIDTHS), "m.tcg", TARGET, {}, choose=choose).plan) for chosen, choose in (
    ("size", lambda kernel, isa, parts: candidates.smallest(kernel, isa, TARGET, parts)), ("speed", None))}
equal(found["size"], {"6x16", "1x16"}, "size: products have tiles of many rows and of one, at one width")
ok(len(found["speed"]) > 4, "else what is left of rows and columns has tiles of its own")

ALIKE = (41, 44, 46)   # a row's copy takes as much memory
copied = pipeline.run(products(ALIKE), "m.tcg", TARGET, {}, choose=lambda kernel, isa, parts: Schedule(
    isa, "f32", 6, 16, mc=6, packed_a=True)).plan
sources = kernel_sources(copied, TARGET, "size")
symbols = [sources.symbol(s.kernel, "avx2") for s in copied.functions[0].variants[0].program.steps]
equal(len(set(symbols)), len(ALIKE), "where rows are copied their number of terms is known")

# -- loop nests
NEST = '''tensor_compile.loops 1 program
dim n range=0:64 divisor=1
buffer input "x" : f32[n,24]
buffer output "y" : f32[n,48]
loop_nest "copy" rows (i0:n) grain 1 {
  params ("x", "y") dims (n)
  phase (i1:8) {
    "y"[i0,i1+8] = neg f32 (load f32 ("x"[i0,2*i1+4] if (-2*i1+12) else f32 0x0))
  }
}
arena size=0
'''


def nests(*variants: tuple[tuple[str, str], ...]) -> list[Kernel]:
    """The nest with replacements, a kernel each."""
    made = []
    for changes in variants:
        text = NEST
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (step,) = parse_unit(text, "nest").steps
        made.append(step.kernel)
    return made


def given(found: list[Shared]) -> list[tuple[int, ...]]:
    return [s.arguments for s in found]


OFFSET = (("i1+8", "i1+20"),)
STEP = (("2*i1+4", "3*i1+4"),)
pair = shared(nests((), OFFSET), fast=False)
equal(given(pair), [(8,), (20,)], "another part of a row")
ok(pair[0].kernel == pair[1].kernel, "one kernel for both")
argument = pair[0].kernel.dims[-1]
equal((argument.lo, argument.hi, argument.divisor), (8, 20, 4), 
      "an argument's range and divisor are those of its values")
equal(given(shared(nests((), OFFSET), fast=True)), [(), ()], "not where speed counts")
equal(given(shared(nests((), STEP), fast=False)), [(2,), (3,)], "another step")
equal(given(shared(nests((), STEP, OFFSET), fast=False)), [(2, 8), (3, 8), (2, 20)], "three, that differ in two")
equal(given(shared(nests((), (("f32[n,24]", "f32[n,40]"), ("i1:8", "i1:16"))), fast=False)), [(8,), (16,)],
      "sizes of axes")
equal(given(shared(nests((), (("i1+8", "i1+16"), ("2*i1+4", "2*i1+8"), ("-2*i1+12", "-2*i1+16"))), fast=False)),
      [(4,), (8,)], "constants that go together are one argument")
for changes, what in (((("2*i1+4", "i1+4"),), "a step of 1"),
                      ((("i1:8", "i1:1"),), "an axis of one element"),
                      ((("neg f32", "abs f32"),), "another operation"),
                      ((("f32 0x0", "f32 0x3f800000"),), "another value of the border"),
                      ((("2*i1+4", "floordiv(i1,2)+4"),), "a division")):
    equal(given(shared(nests((), changes), fast=False)), [(), ()], f"{what} stays apart")
divided = [((("i1+8", f"floordiv(i1,{by})+8"),)) for by in (2, 4)]
equal(given(shared(nests(*divided), fast=False)), [(), ()], "divisions by different constants stay apart")
many = nests((), *[((("i1+8", f"i1+{8 + i}"),)) for i in range(1, 5)])
equal(given(shared(many, fast=False)), [(8 + i,) for i in range(5)], "five")
done()
