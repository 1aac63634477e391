# SPDX-License-Identifier: Apache-2.0
"""Nests that join two columns of a product of few rows and run in its kernel (loops/paired.py): which do, and what is
stored then."""
from __future__ import annotations

from dataclasses import replace

from tap import done, equal, ok
from tensor_compile import pipeline, target as targets
from tensor_compile.compile.lock_cuda import key_of
from tensor_compile.emit.cuda.shapes import Shapes, Tuned
from tensor_compile.emit.work import kernel_work
from tensor_compile.loops import schedule_cuda
from tensor_compile.loops.column_pairs import half_of, Halves
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit
from tensor_compile.loops.scalar_ir import Acc, Apply, Const, IndexValue, Load, Scalar
from tensor_compile.loops.schedule_cuda import Shape
from tensor_compile.symbolic import Sym, sym

TARGET = replace(targets.load(targets.find("cuda-sm90")), precision="bf16")
LOC = 'loc("m.c":1)'
DOT = "{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=seq}"


def heads(rows: int = 1, axis: int = 2, half: int = 16, more: tuple[str, ...] = ()) -> list[str]:
    """A product of 64 columns as heads of two halves, which are exchanged (along `axis`): each half by its cosines, and
    the other one by its sines. The last one, %11, is the result."""
    shape = f"{rows},{64 // (2 * half)},2,{half}"
    return [f"%4 = dot(%0, %1) {DOT} : f32[{rows},64]",
            f"%5 = reshape(%4) {{shape=[{shape.replace(',', ', ')}]}} : f32[{shape}]",
            f"%6 = reverse(%5) {{axes=[{axis}]}} : f32[{shape}]",
            f"%7 = broadcast(%2) {{shape=[{shape.replace(',', ', ')}], axes=[2, 3]}} : f32[{shape}]",
            f"%8 = broadcast(%3) {{shape=[{shape.replace(',', ', ')}], axes=[2, 3]}} : f32[{shape}]",
            f"%9 = mul(%5, %7) : f32[{shape}]", f"%10 = mul(%6, %8) : f32[{shape}]",
            f"%11 = add(%9, %10) : f32[{shape}]", *more]


def halves(first: str = "%8", second: str = "%7", low: int = 16, high: int = 0) -> list[str]:
    """The same heads of two times 16 columns as models from elsewhere write them, with a concat of slices of %5: %6 begins
    at `low`, %7 at `high`, %8 and %9 are these negated. The last one, %17, is the result."""
    def part(at: int) -> str:
        return f"slice(%5) {{start=[0, 0, {at}], size=[1, 2, 16], stride=[1, 1, 1]}} : f32[1,2,16]"

    wide = "f32[1,2,32]"
    repeated = f"{{shape=[1, 2, 32], axes=[2]}} : {wide}"
    return [f"%4 = dot(%0, %1) {DOT} : f32[1,64]", f"%5 = reshape(%4) {{shape=[1, 2, 32]}} : {wide}",
            f"%6 = {part(low)}", f"%7 = {part(high)}", "%8 = neg(%6) : f32[1,2,16]", "%9 = neg(%7) : f32[1,2,16]",
            f"%10 = concat({first}, {second}) {{axis=2}} : {wide}",
            "%11 = reshape(%2) {shape=[32]} : f32[32]", f"%12 = broadcast(%11) {repeated}",
            "%13 = reshape(%3) {shape=[32]} : f32[32]", f"%14 = broadcast(%13) {repeated}",
            f"%15 = mul(%5, %12) : {wide}", f"%16 = mul(%10, %14) : {wide}", f"%17 = add(%15, %16) : {wide}"]


def planned(lines: list[str], rows: int = 1, half: int = 16, result: str = "%11", shapes: Shapes | None = None,
            **changes: str) -> tuple[list, str]:
    """The kernels of the program, and its text behind the pass. shapes: those of a tuning lock."""
    text = "\n".join(['tensor_compile.graph 1', 'model "m"', 'file 0 "w.safetensors"',
                      f'weight "w" : f32[64,128] file=0 {LOC}',
                      *(f'weight "{name}" : f32[2,{half}] file=0 {LOC}' for name in ("cosines", "sines")), "",
                      f'function f(%0 "x" : f32[{rows},128] {LOC}) entry {{',
                      f'  %1 = weight() {{name="w"}} : f32[64,128] {LOC}',
                      f'  %2 = weight() {{name="cosines"}} : f32[2,{half}] {LOC}',
                      f'  %3 = weight() {{name="sines"}} : f32[2,{half}] {LOC}',
                      *(f"  {line} {LOC}" for line in lines), f'  return "y" {result} {LOC}', "}", ""])
    shown: dict[str, str] = {}
    made = pipeline.run(text, "m.tcg", replace(TARGET, **changes), {}, verify=True, dump=shown.__setitem__,
                        shapes=shapes)
    return [step.kernel for step in made.plan.functions[0].variants[0].program.kernel_steps], shown["prepare"]


def value(node: Scalar, column: int, n: Sym, half: int) -> str:
    """At a column, in words: sums and loads by their places, no matter how they are rounded."""
    if isinstance(node, Acc):
        return f"s{column if node.number == 0 else Halves(n, half).other(sym(n)).evaluate({n: column})}"
    if isinstance(node, Load):
        index = [e.evaluate({n: column}) for e in node.index]
        return f"{node.buffer}{index[-2:]}"
    assert isinstance(node, Apply), node
    if node.op == "select":
        (number, zero), *both = node.args[0].args, *node.args[1:]
        assert isinstance(number, IndexValue) and isinstance(zero, Const) and zero.bits == 0
        return value(both[number.expr.evaluate({n: column}) != 0], column, n, half)
    words = [value(x, column, n, half) for x in node.args]
    return words[0] if node.op == "cast" else f"{node.op}({' '.join(sorted(words))})"


for half in (4, 8, 16, 32):
    kernels, text = planned(heads(half=half), half=half)
    equal(len(kernels), 1, f"halves of {half} are joined in the product's kernel")
    (kernel,) = kernels
    assert isinstance(kernel, ContractionKernel)
    buffers = {b.name: b for b in kernel.params}
    equal(half_of(buffers, kernel), half, f"{half}: that is the distance of its two columns")
    (n,), (store,) = kernel.n, kernel.stores
    tables = [b.name for b in kernel.params if b.kind == "packed" and b.shape[-1] == half]
    found = {value(store.value, column, n, half) for column in range(64)}
    wanted = set()
    for column in range(64):
        other, place = column ^ half, [column // half % 2, column % half]
        factors = f"mul({tables[0]}{place} s{column})", f"mul({tables[1]}{place} s{other})"
        wanted.add("add({} {})".format(*sorted(factors)))
    equal(found, wanted, f"{half}: each column by its own cosine, the other one by the sine of this")
    equal([buffers["y" if "y" in buffers else store.buffer].address(store.index).evaluate({n: c}) for c in range(64)],
          list(range(64)), f"{half}: it is stored where the nest stored it")
    unit = text.split("\n", 1)[1]
    equal(print_unit(parse_unit(unit, "m.tcl")), unit, f"{half}: printed as it was read")

    (first, *_), _ = planned(heads(half=half), half=half, result="%4")
    points = 64 * 2 * 128
    equal((kernel_work(first).value // points, kernel_work(kernel).value // points), (1, 1),
          f"{half}: each column is multiplied once")

for name, first, second, signs in (("-x2, x1", "%8", "%7", "-+"), ("x2, -x1", "%6", "%9", "+-")):
    kernels, _ = planned(halves(first, second), result="%17")
    equal(len(kernels), 1, f"concat({name}) is joined in the product's kernel")
    (kernel,) = kernels
    (n,), (store,) = kernel.n, kernel.stores
    found = {value(store.value, column, n, 16) for column in range(64)}
    wanted = set()
    for column in range(64):
        other = f"neg(s{column ^ 16})" if signs[column // 16 % 2] == "-" else f"s{column ^ 16}"
        cosine, sine = (f"{b.name}[{column % 32}]" for b in kernel.params if b.kind == "packed" and b.shape[-1] == 32)
        factors = "mul({} {})".format(*sorted((cosine, f"s{column}"))), "mul({} {})".format(*sorted((sine, other)))
        wanted.add("add({} {})".format(*sorted(factors)))
    equal(found, wanted, f"concat({name}): its signs")
for name, first, second in (("x2, x1", "%6", "%7"), ("-x2, -x1", "%8", "%9")):
    equal(len(planned(halves(first, second), result="%17")[0]), 2, f"concat({name}) is no kernel of its own, at least")
ok(len(planned(halves(low=0, high=16), result="%17")[0]) > 1, "not where the halves are as they were, but for a sign")
ok(len(planned(halves(low=16, high=8), result="%17")[0]) > 1, "not where they overlap")

asked: list[Tuned] = []


def last(kernel: Tuned) -> Shape:
    """As a lock, whose key is the kernel's: not what the cost model prefers."""
    asked.append(kernel)
    return schedule_cuda.shapes(kernel, schedule_cuda.units(TARGET))[-1]


(kernel,), _ = planned(heads(), shapes=last)
equal([key_of(k, TARGET) for k in asked], [key_of(kernel, TARGET)], "a lock is asked for the kernel that is measured")
ok(kernel.shape == last(kernel) != schedule_cuda.tile(replace(kernel, shape=None), schedule_cuda.units(TARGET)),
   "which gets the shape that it names")

ok(len(planned(heads(), precision="f32")[0]) > 1, "not with exact products")
ok(len(planned(heads(3), 3)[0]) > 1, "not of several rows")
ok(len(planned(heads(axis=3))[0]) > 1, "not where elements of a half are exchanged")
ok(len(planned(heads(half=2), half=2)[0]) > 1, "not of halves that have fewer columns than warps")
parts = [*heads()[:1], "%5 = neg(%4) : f32[1,64]", "%6 = concat(%4, %5) {axis=0} : f32[2,64]",
         "%7 = reduce(%6) {op=sum, axes=[0], order=lanes} : f32[64]"]
ok(len(planned(parts, result="%7")[0]) > 1, "not where the product stores a temp in two parts")
both = ("%12 = concat(%10, %11) {axis=0} : f32[2,2,2,16]",)
ok(len(planned(heads(more=both), result="%12")[0]) > 1, "not where something else needs a factor")
done()
