# SPDX-License-Identifier: Apache-2.0
"""The loop text: what is read prints as it was, passes make the same of what was read, mistakes name their line."""
import os
import subprocess
import sys

from harness import TARGET, sample
from tap import done, equal, ok, raises
from tensor_compile import passes, pipeline
from tensor_compile.graph.errors import ParseError
from tensor_compile.graph.inline import inline
from tensor_compile.graph.text import parse_module
from tensor_compile.loops import fuse, layout, lower, plan, schedule
from tensor_compile.loops.parse import parse_unit, parse_units
from tensor_compile.loops.printer import print_unit


def through(name: str, module, function: str) -> None:
    unit = lower.lower(layout.apply(inline(module).functions[function], TARGET), module, TARGET)
    for passed in (fuse.fuse, lambda u: schedule.schedule(u, TARGET), lambda u: plan.plan(u, TARGET), None):
        text = print_unit(unit)
        again = parse_unit(text, name)
        title = f"{name}: {text.split(maxsplit=3)[2]}"
        equal(print_unit(again), text, f"{title}, printed as it was read")
        if passed is not None:
            unit = passed(unit)
            equal(print_unit(passed(again)), print_unit(unit), f"{title}, the next pass makes the same of it")


for name in ("digits", "mlp", "encoder", "decoder"):
    module = parse_module(sample(name), name)
    for function in module.entries:
        through(f"{name} {function.name}", module, function.name)

PASSES = os.path.join(os.environ["TC_SOURCE_ROOT"], "tests", "passes")
for seed in range(6):
    made = subprocess.run([sys.executable, os.path.join(PASSES, "random_graph.py"), "60", str(seed)], check=True,
                          capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(
                              [PASSES, os.environ["PYTHONPATH"]])})
    through(f"seed {seed}", parse_module(made.stdout, f"seed {seed}"), "random")

# -- an operation that is used twice is written once: forty squarings stay forty
squares = "\n".join(f'  %{i + 1} = mul(%{i}, %{i}) : f32[8] loc("m.c":1)' for i in range(40))
module = parse_module(f'tensor_compile.graph 1\nmodel "m"\n\nfunction f(%0 "x" : f32[8] loc("m.c":1)) entry '
                      f'{{\n{squares}\n'
                      '  return "y" %40 loc("m.c":1)\n}\n', "squares")
through("forty squarings", module, "f")

# -- dumps
dumped: dict[str, str] = {}
pipeline.run(sample("digits"), "digits.tcg", TARGET, {"batch": (1, 32)}, dump=dumped.__setitem__, relaxed=True,
             evaluate=lambda module: {})   # no weights: sums of floats keep all channels
ok(set(dumped) == set(passes.NAMES), "a dump for every pass")
for name in passes.NAMES[passes.NAMES.index("lower"):]:
    units = parse_units(dumped[name], name)
    equal(len(units), 3, f"--dump-after {name} holds every variant")
    without = "".join(line for line in dumped[name].splitlines(keepends=True) if line[:1] not in "#\n")
    equal("".join(map(print_unit, units)), without, "and can be read back")

# -- mistakes
GOOD = '''tensor_compile.loops 1 program
dim n range=1:9 divisor=1
buffer input "x" : f32[n,4]
buffer output "y" : f32[n,4] order=[1, 0]
loop_nest "exp" rows (i0:n) grain 1 {
  params ("x", "y") dims (n)
  phase (i1:4) {
    r0 = sum.lanes f32 (load f32 ("x"[i0,i1]))
    "y"[i0,i1] = %0 = exp f32 (load f32 ("x"[i0,i1]))
  }
}
arena size=0
slot 4*n
place "y" slot=0
apart "a" "b" of "x" "y"
refusal "a" "b"
'''
parse_unit(GOOD, "good")
for old, new, line, message in (
        ("loops 1", "loops 2", 1, "version 2 of the loop text is not known; this tool reads version 1"),
        ("tensor_compile.loops 1 program\n", "", 1, "expected 'tensor_compile.loops 1' first"),
        ("1 program", "1 plan", 1, "expected lowered, fused or program, not plan"),
        ("1 program", '1 lowered "f"', 5, "unknown declaration loop_nest in a lowered"),
        ("1 program", '1 fused "f"', 12, "unknown declaration arena in a fused"),
        ("range=1:9", "range=9:1", 2, "the range 9:1 of dim n is not an interval"),
        ("divisor=1", "divisor=0", 2, "the divisor of dim n is not positive"),
        ("dim n", "dim n range=1:2 divisor=1\ndim n", 3, "dim n is declared twice"),
        ("buffer input", "buffer weight", 3, "unknown kind of buffer weight"),
        ('input "x" : f32[n,4]', 'input "x" : f99[n,4]', 3, "unknown dtype f99"),
        ('input "x" : f32[n,4]', 'input "x" : f32[m,4]', 3, "unknown dim or loop variable m"),
        ("order=[1, 0]", "order=[1, 1]", 4, 'the order of "y" is no order of its 2 dims'),
        ('output "y"', 'output "x"', 4, 'buffer "x" is declared twice'),
        ("grain 1", "grain x", 5, "expected an integer, not x"),
        ("rows (i0:n)", "rows (i0:n, i0:n)", 5, "one variable is named twice"),
        ("rows (i0:n)", "rows (n:4)", 5, "n is a dim"),
        ('  params ("x", "y") dims (n)\n', "", 6, "expected 'params', not phase"),
        (GOOD[GOOD.index("loop_nest"):], 'check "last" "x" below 4\n', 5, "a kernel without params"),
        ('("x", "y") dims', '("x", "z") dims', 6, 'unknown buffer "z"'),
        ("dims (n)", "dims (m)", 6, "unknown dim m"),
        ("phase (i1:4)", "phase (i0:4)", 7, "i0 has another extent above"),
        ("phase (i1:4)", "phase (i1:i0)", 7, "the extent of i1 depends on a loop variable"),
        ("sum.lanes", "sum.tree", 8, "unknown reduction sum.tree"),
        ('sum.lanes f32 (load f32 ("x"[i0,i1]))', 'sum.lanes f32 ()', 8, "expected 1 in parentheses, not 0"),
        ('"y"[i0,i1]', '"y"[i0]', 9, '"y" has rank 2, not 1'),
        ('"y"[i0,i1]', '"y"[i0,i9]', 9, "unknown dim or loop variable i9"),
        ("%0 = exp", "%0", 9, "%0 stands for nothing yet"),
        ("exp f32", "exp f3", 9, "unknown dtype f3"),
        ('exp f32 (load f32 ("x"[i0,i1]))', "f32 0x123456789", 9, "0x123456789 does not fit f32"),
        ('"y"[i0,i1] = %0', '"y"[i0,i1] = $', 9, "unexpected character '$'"),
        ("  }\n}\n", "  }\n", 11, "expected 'phase', not arena"),
        (GOOD[GOOD.index("  }\n}\narena"):], "", 9, "a phase is not closed"),
        ("slot 4*n", "slot 4*n above [3]", 13, "a slot lies above earlier ones only"),
        ('"b" of "x"', '"b" "x"', 15, "expected 'of'"),
        ("slot=0", "slot=1", 16, '"y" is in slot 1, which is not declared'),
        ("arena size=0", "barrier\nbarrier", 13, "two barriers with no kernel between"),
        ("arena size=0", "barrier", 12, "a barrier without a kernel behind it")):
    assert old in GOOD, old
    raises(ParseError, lambda: parse_unit(GOOD.replace(old, new, 1), "m.tcl"), f"m.tcl:{line}: error: {message}",
           f"{message}")
raises(ParseError, lambda: parse_unit("", "m.tcl"), "m.tcl:1: error: expected 'tensor_compile.loops 1'",
       "an empty text")
raises(ParseError, lambda: parse_unit(GOOD + GOOD, "m.tcl"), "expected one unit, not 2", "two units")
for old, new, message in (
        ('load f32 ("x"[i0,i1])', 'load f32 ("x"[i0,i1] if (i0) else neg f32 (f32 0x0))',
         "what stands for an element that is not there is a constant"),
        ('    "y"[i0,i1] = %0', '    "y"[i0,i1] = f32 0x0\n    r1 = max.free f32 (f32 0x0)\n    "y"[i0,i1] = %0',
         "the reductions of a phase stand before its stores")):
    raises(ParseError, lambda: parse_unit(GOOD.replace(old, new, 1), "m.tcl"), message, message)
CONTRACTION = '''tensor_compile.loops 1 lowered "f"
buffer input "x" : f32[4,8]
buffer output "y" : f32[4,4]
contraction "dot" batch () m (i0:4) n (i1:4) k (k0:8) panel 0 loc("m.c":1) {
  a = load f32 ("x"[i0,k0])
  b = load f32 ("x"[i1,k0])
  "y"[i0,i1] = acc f32
}
'''
parse_unit(CONTRACTION, "good")
for old, new, message in (
        ('a = load f32 ("x"[i0,k0])', "a = f32 0x0", "a is a load"),
        ("= acc f32", "= neg f32 (acc f32)", "a lowered contraction stores its accumulator and nothing else"),
        ('  "y"[i0,i1] = acc f32\n', "", "a contraction that stores nothing")):
    raises(ParseError, lambda: parse_unit(CONTRACTION.replace(old, new, 1), "m.tcl"), message, message)
TYPED = CONTRACTION.replace("panel 0", "panel 0 of i8 u8 group 4 zero 128 in i32").replace("acc f32", "acc i32")
equal(print_unit(parse_unit(TYPED, "m.tcl")), TYPED, "the dtypes of a product")
for old, new in (("group 4", "group 2"), ("in i32", "in i64")):
    raises(ParseError, lambda: parse_unit(TYPED.replace(old, new), "m.tcl"), "no product of these dtypes is known",
           f"no product: {new}")
KERNEL = CONTRACTION.replace('lowered "f"', "fused").replace(' loc("m.c":1)', "") \
    .replace("  a =",
             '  params ("x", "y") dims ()\n  schedule "tc_contraction_f32_6x16_k64_m96_a_p__avx2"\n  a =') + "arena size=0\n"
KERNEL = KERNEL.replace("fused", "program")
equal(print_unit(parse_unit(KERNEL, "m.tcl")).splitlines()[4:7], KERNEL.splitlines()[4:7],
      "a contraction with its schedule")
raises(ParseError, lambda: parse_unit(KERNEL.replace("_k64", "_q64"), "m.tcl"),
       "'tc_contraction_f32_6x16_q64_m96_a_p__avx2' is no schedule", "a schedule that is none")
LOOP = '''tensor_compile.loops 1 program
dim n range=0:64 divisor=1
buffer temp "a" : f32[]
buffer temp "b" : f32[]
loop "scan" iteration t0:n carried ("a") swap ("a", "b") {
}
arena size=0
'''
parse_unit(LOOP, "good")
for old, new, message in (
        ("t0:n", "n:n", "n is the name of a dim or of a loop around this one"),
        ('swap ("a", "b")', 'swap ("a")', "two buffers change places"),
        ("loop \"scan", "barrier\nloop \"scan", "a barrier stands before a kernel")):
    raises(ParseError, lambda: parse_unit(LOOP.replace(old, new, 1), "m.tcl"), message, message)
nested = "neg f32 (" * 300 + "f32 0x0" + ")" * 300
raises(ParseError, lambda: parse_unit(GOOD.replace("%0 = exp", nested + " exp"), "m.tcl"), "nested too deeply",
       "nesting")
done()
