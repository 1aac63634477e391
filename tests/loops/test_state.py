# SPDX-License-Identifier: Apache-2.0
"""State: updated in place where nothing reads what was there, ordered behind its readers otherwise; index faults."""
from oracle.programs import Fault
from harness import compare, module_of, program_of
from tap import done, equal, ok, raises
from tensor_compile import pipeline
from tensor_compile.errors import UserError
from tensor_compile.graph.text import print_module
from tensor_compile.loops.accesses import written
from tensor_compile.loops.loop_ir import CheckKernel
from tensor_compile.target import find, load

LOC = 'loc("m.c":1)'


def function(parameters: str, lines: list[str]) -> str:
    return f"function f({parameters}) entry {{\n" + "\n".join(f"  {line} {LOC}" for line in lines) + "\n}\n"


CACHE = {"dims": ("past 0:5", "seq 1:3"), "states": (("k", "f32[2,8,3]"),)}
cache = module_of(function(f'%0 "x" : f32[2,seq,3] {LOC}', [
    "%1 = exp(%0) : f32[2,seq,3]", '%2 = state() {name="k"} : f32[2,8,3]',
    "%3 = update_slice(%2, %1) {start=[0, past, 0]} : f32[2,8,3]",
    "%4 = slice(%3) {start=[0, 0, 0], size=[2, past + seq, 3], stride=[1, 1, 1]} : f32[2,past + seq,3]",
    "%5 = reduce(%4) {op=sum, axes=[1], order=lanes} : f32[2,3]", 'assign "k" %3', 'return "y" %5']), **CACHE)
for past, seq in ((0, 3), (5, 3), (2, 1)):
    difference, program, counts = compare(cache, "f", {"past": past, "seq": seq})
    equal(difference, "", f"a cache of {past} grows by {seq}")
equal(len(program.steps), 2, "in two kernels: write into the state, read from it")
equal(counts[0], (2 * 1 * 3 * 4, 2 * 1 * 3 * 4), "and only the new part is written")

old = module_of(function(f'%0 "x" : f32[2,seq,3] {LOC}', [
    '%1 = state() {name="k"} : f32[2,8,3]', "%2 = update_slice(%1, %0) {start=[0, past, 0]} : f32[2,8,3]",
    "%3 = reduce(%1) {op=max, axes=[0], order=free} : f32[8,3]",
    "%4 = reduce(%2) {op=max, axes=[0], order=free} : f32[8,3]", "%5 = sub(%3, %4) : f32[8,3]",
    'assign "k" %2', 'return "y" %5']), **CACHE)
for fused in (True, False):
    difference, _, _ = compare(old, "f", {"past": 2, "seq": 3}, fused=fused)
    equal(difference, "", f"the old state is read too{'' if fused else ', not fused'}")

wider = module_of(function(f'%0 "x" : i8[4] {LOC}', [
    '%1 = state() {name="k"} : i8[4]', "%2 = cast(%1) {dtype=i32} : i32[4]", 'assign "k" %0', 'assign "wide" %2',
    'return "y" %0']), dims=(), states=(("k", "i8[4]"), ("wide", "i32[4]")))
for fused in (True, False):
    difference, _, _ = compare(wider, "f", {}, fused=fused)
    equal(difference, "", f"another state keeps what the old one was{'' if fused else ', not fused'}")

overlapping = module_of(function(f'%0 "x" : f32[2,8,3] {LOC}', [
    "%1 = exp(%0) : f32[2,8,3]", "%2 = tanh(%0) : f32[2,8,3]", '%3 = state() {name="k"} : f32[2,8,3]',
    "%4 = update_slice(%3, %2) {start=[0, 0, 0]} : f32[2,8,3]",
    "%5 = slice(%1) {start=[0, 0, 0], size=[1, 4, 3], stride=[1, 1, 1]} : f32[1,4,3]", "%6 = neg(%5) : f32[1,4,3]",
    "%7 = update_slice(%4, %6) {start=[1, 2, 0]} : f32[2,8,3]", 'assign "k" %7', 'return "y" %1']), **CACHE)
early = module_of(function(f'%0 "x" : f32[2,4,3] {LOC}', [
    "%1 = exp(%0) : f32[2,4,3]", '%2 = state() {name="k"} : f32[2,8,3]',
    "%3 = constant() {bits=0x40000000} : f32[]", "%4 = broadcast(%3) {shape=[2, 8, 3], axes=[]} : f32[2,8,3]",
    "%5 = neg(%4) : f32[2,8,3]", "%6 = update_slice(%2, %5) {start=[0, 0, 0]} : f32[2,8,3]",
    "%7 = update_slice(%6, %1) {start=[0, 3, 0]} : f32[2,8,3]", 'assign "k" %7', 'return "y" %0']), **CACHE)
shared = module_of(function(f'%0 "x" : f32[4] {LOC}', [
    "%1 = exp(%0) : f32[4]", '%2 = state() {name="k"} : f32[8]', "%3 = neg(%1) : f32[4]",
    "%4 = update_slice(%2, %1) {start=[0]} : f32[8]", "%5 = update_slice(%4, %3) {start=[2]} : f32[8]",
    'assign "k" %5', 'return "y" %1']), dims=(), states=(("k", "f32[8]"),))
merged = module_of(function(f'%0 "x" : f32[4] {LOC}, %1 "z" : f32[4] {LOC}', [
    "%2 = exp(%0) : f32[4]", '%3 = state() {name="k"} : f32[8]', "%4 = tanh(%1) : f32[4]",
    "%5 = update_slice(%3, %2) {start=[0]} : f32[8]", "%6 = update_slice(%5, %4) {start=[2]} : f32[8]",
    "%7 = add(%2, %4) : f32[4]", 'assign "k" %6', 'return "y" %7']), dims=(), states=(("k", "f32[8]"),))
for fused in (True, False):
    for module in (overlapping, early, shared, merged):
        difference, _, _ = compare(module, "f", {}, fused=fused)
        equal(difference, "", f"parts that overlap are written in turn{'' if fused else ', not fused'}")

RUNNING = {"dims": ("batch 1:8",), "states": (("mean", "f32[4]"), ("other", "f32[4]"))}
running = module_of(function(f'%0 "x" : f32[batch,4] {LOC}', [
    '%1 = state() {name="mean"} : f32[4]', "%2 = reduce(%0) {op=sum, axes=[0], order=lanes} : f32[4]",
    "%3 = sub(%2, %1) : f32[4]", "%4 = tanh(%3) : f32[4]", "%5 = add(%1, %4) : f32[4]", 'assign "mean" %5',
    'return "y" %3']), **RUNNING)
difference, program, _ = compare(running, "f", {"batch": 3})
equal(difference, "", "running statistics")
equal(len(program.steps), 1, "are one kernel that updates them in place")

swap = module_of(function(f'%0 "x" : f32[batch,4] {LOC}', [
    '%1 = state() {name="mean"} : f32[4]', '%2 = state() {name="other"} : f32[4]', 'assign "mean" %2',
    'assign "other" %1', 'return "y" %0']), **RUNNING)
for fused in (True, False):
    difference, _, _ = compare(swap, "f", {"batch": 2}, fused=fused)
    equal(difference, "", f"two states change places{'' if fused else ', not fused'}")

cached = module_of(function(f'%0 "x" : f32[1,2,6] {LOC}', [
    '%1 = state() {name="k"} : f32[1,8,12]', "%2 = exp(%0) : f32[1,2,6]", "%3 = tanh(%0) : f32[1,2,6]",
    "%4 = concat(%2, %3) {axis=2} : f32[1,2,12]", "%5 = update_slice(%1, %4) {start=[0, 3, 0]} : f32[1,8,12]",
    "%6 = neg(%5) : f32[1,8,12]", 'assign "k" %5', 'return "y" %6']), dims=(), states=(("k", "f32[1,8,12]"),))
for fused in (True, False):
    difference, program, _ = compare(cached, "f", {}, fused=fused)
    equal(difference, "", f"parts of a part of a state{'' if fused else ', not fused'}")
    equal([b.name for b in program.buffers.values() if b.kind == "temp"], [], "are computed where it keeps them")

turned = module_of(function(f'%0 "x" : f32[batch,4] {LOC}', [
    '%1 = state() {name="m"} : f32[4,4]', "%2 = transpose(%1) {perm=[1, 0]} : f32[4,4]", 'assign "m" %2',
    'return "y" %0']), dims=("batch 1:8",), states=(("m", "f32[4,4]"),))
for backwards in (True, False):
    difference, _, _ = compare(turned, "f", {"batch": 2}, backwards=backwards)
    equal(difference, "", "a state is transposed")

twice = module_of(function(f'%0 "x" : f32[batch,4] {LOC}', [
    "%1 = exp(%0) : f32[batch,4]", 'return "y" %1', 'return "z" %1', 'return "w" %0']), dims=("batch 1:8",))
difference, program, _ = compare(twice, "f", {"batch": 2})
equal(difference, "", "one value under two names, and an input as a result")

gathered = module_of(function(f'%0 "t" : f32[4,2] {LOC}, %1 "i" : i64[batch] {LOC}', [
    "%2 = exp(%0) : f32[4,2]", "%3 = gather(%2, %1) {axis=0} : f32[batch,2]", 'return "y" %3']), dims=("batch 1:8",))
raises(Fault, lambda: compare(gathered, "f", {"batch": 8}, below=50), "gather", "an index out of range is a fault")
_, program = program_of(gathered, "f")
ok(isinstance(program.steps[0].kernel, CheckKernel), "found before anything is written")

# Indices that are computed from what is a result, and from a state, beside what else reads the same.
late = module_of(function(f'%0 "t" : f32[4,2] {LOC}, %1 "i" : i64[batch] {LOC}', [
    '%2 = state() {name="n"} : i64[batch]', "%3 = add(%1, %2) : i64[batch]", "%4 = mul(%1, %3) : i64[batch]",
    "%5 = update_slice(%2, %3) {start=[0]} : i64[batch]", "%6 = gather(%0, %5) {axis=0} : f32[batch,2]",
    'assign "n" %5', 'return "i2" %3', 'return "product" %4', 'return "y" %6']),
    dims=("batch 1:8",), states=(("n", "i64[batch]"),))
for fused in (True, False):
    difference, program, _ = compare(late, "f", {"batch": 3}, fused=fused, below=2)
    equal(difference, "", f"computed indices{'' if fused else ', not fused'}")
    checks = [i for i, s in enumerate(program.steps) if isinstance(s.kernel, CheckKernel)]
    early = [b for s in program.steps[:checks[-1]] for b in written(s.kernel)]
    equal({program.buffers[b].kind for b in early}, {"temp"}, "nothing but temps is stored before they are looked at")

large = print_module(module_of(function(f'%0 "x" : f32[2] {LOC}', ['return "y" %0']),
                               states=(("k", "u8[2147483647]"),)))
raises(UserError, lambda: pipeline.run(large, "m.c", load(find("cortex-m4f")), {}),
       "m.c: error: 2147483648 bytes of state: more than 32 bits address", "a state that 32 bits do not address")
done()
