# SPDX-License-Identifier: Apache-2.0
"""Graph text in, kernels as text out: what each pass makes, exactly."""
from dataclasses import replace

from harness import module_of, program_of
from tap import done, equal
from tensor_compile.graph.widen import widen
from tensor_compile.loops.loop_ir import ContractionKernel
from tensor_compile.loops.program_ir import Apart
from tensor_compile.loops.printer import print_kernel

LOC = 'loc("m.c":1)'


def kernels(parameters: str, lines: list[str], result: str, **more) -> tuple[str, object]:
    body = "\n".join(f"  {line} {LOC}" for line in lines)
    module = module_of(f"function f({parameters}) entry {{\n{body}\n  return \"y\" {result} {LOC}\n}}\n", **more)
    _, program = program_of(module, "f")
    return "".join(print_kernel(s.kernel) for s in program.steps).replace(f" {LOC}", ""), program


text, program = kernels(f'%0 "x" : f32[batch,seq,6] {LOC}', [
    "%1 = reduce(%0) {op=max, axes=[2], order=free} : f32[batch,seq]",
    "%2 = broadcast(%1) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%3 = sub(%0, %2) : f32[batch,seq,6]", "%4 = exp(%3) : f32[batch,seq,6]",
    "%5 = reduce(%4) {op=sum, axes=[2], order=lanes} : f32[batch,seq]",
    "%6 = broadcast(%5) {shape=[batch, seq, 6], axes=[0, 1]} : f32[batch,seq,6]",
    "%7 = div(%4, %6) : f32[batch,seq,6]"], "%7")
AT = "floordiv(i0,seq),-floordiv(i0,seq)*seq+i0,i2"
equal(text, f'''loop_nest "reduce_max_sub_exp_div" rows (i0:batch*seq) grain 37 {{
  params ("x", "y") dims (batch, seq)
  phase (i2:6) {{
    r0 = max.free f32 (load f32 ("x"[{AT}]))
  }}
  phase (i2:6) {{
    r1 = sum.lanes f32 (%0 = exp f32 (sub f32 (load f32 ("x"[{AT}]), local f32 r0)))
    "y"[{AT}] = %0
  }}
  phase (i2:6) {{
    "y"[{AT}] = div f32 (load f32 ("y"[{AT}]), local f32 r1)
  }}
}}
''', "a softmax is one nest of three phases; the exponentials wait in the result's own row")

text, program = kernels(f'%0 "x" : f32[batch,8] {LOC}, %1 "w" : f32[40,8] {LOC}, %2 "r" : f32[batch,40] {LOC}', [
    "%3 = dot(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=seq} : f32[batch,40]",
    "%4 = add(%3, %2) : f32[batch,40]", "%5 = tanh(%4) : f32[batch,40]"], "%5")
equal(text, '''loop_nest "pack" rows (i0:3, i1:8) grain 256 {
  params ("w", "%1") dims ()
  phase (i2:16) {
    "%1"[i0,i1,i2] = load f32 ("w"[16*i0+i2,i1] if (-16*i0-i2+39) else f32 0x0)
  }
}
contraction "dot_add_tanh" batch () m (i0:batch) n (i1:40) k (k0:8) panel 16 {
  params ("x", "%1", "r", "y") dims (batch)
  a = load f32 ("x"[i0,k0])
  b = load f32 ("%1"[floordiv(i1,16),k0,-16*floordiv(i1,16)+i1])
  "y"[i0,i1] = tanh f32 (add f32 (acc f32, load f32 ("r"[i0,i1])))
}
''', "a dynamic second operand is packed, with zeros behind its columns; pointwise consumers are the epilogue")
equal([s.barrier for s in program.steps], [False, True], "with a barrier between")

AXES = "{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq}"
for dtype in ("f16", "bf16"):
    head = f'%0 "x" : {dtype}[9,12] {LOC}, %1 "w" : {dtype}[12,40] {LOC}, %2 "p" : bool[9,12] {LOC}'
    widened = module_of(f"function f({head}) entry {{\n  %3 = dot_where(%0, %1, %2) {AXES} : {dtype}[9,40] {LOC}\n"
                        f'  return "y" %3 {LOC}\n}}\n')
    _, program = program_of(replace(widened, functions={n: widen(f) for n, f in widened.functions.items()}), "f")
    products = [s.kernel for s in program.steps if isinstance(s.kernel, ContractionKernel)]
    equal([k.where is not None for k in products], [True], f"a product of {dtype} with a predicate runs in tiles")

text, program = kernels(f'%0 "x" : f32[batch,4,6,6] {LOC}, %1 "w" : f32[16,4,3,3] {LOC}', [
    "%2 = convolution(%0, %1) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], groups=1} : f32[batch,16,6,6]",
    "%3 = abs(%2) : f32[batch,16,6,6]",
    "%4 = window_reduce(%3) {op=max, size=[2, 2], stride=[2, 2], low=[0, 0], high=[0, 0], dilation=[1, 1]} : "
    "f32[batch,16,3,3]"], "%4")
equal(text.split("contraction")[1], ''' "convolution_abs" batch () m (i0:batch, i2:6, i3:6) n (i1:16) k (k0:3, k1:3, k2:4) panel 16 {
  params ("x", "%1", "%3") dims (batch)
  a = load f32 ("x"[i0,k2,i2+k0-1,i3+k1-1] if (i2+k0-1,-i2-k0+6,i3+k1-1,-i3-k1+6) else f32 0x0)
  b = load f32 ("%1"[0,0,12*k0+4*k1+k2,i1])
  "%3"[i0,i1,i2,i3] = abs f32 (acc f32)
}
loop_nest "window_max" rows (i0:batch, i2:3, i3:3) grain 51 {
  params ("%3", "y") dims (batch)
  phase (i1:16) {
    "y"[i0,i1,i2,i3] = max.free f32 over (r0:2, r1:2) (load f32 ("%3"[i0,i1,2*i2+r0,2*i3+r1]))
  }
}
''', "a convolution has m = (n, h, w) and k = (kh, kw, c); a pool runs along its channels")
equal(program.buffers["%3"].order, (0, 2, 3, 1), "which lie innermost")

text, program = kernels(f'%0 "x" : f32[8,64] {LOC}', [
    "%1 = exp(%0) : f32[8,64]", "%2 = reduce(%1) {op=sum, axes=[0], order=lanes} : f32[64]",
    "%3 = sqrt(%2) : f32[64]"], "%3")
equal(text, '''loop_nest "exp" rows (i0:8) grain 9 {
  params ("x", "%1") dims ()
  phase (i1:64) {
    "%1"[i0,i1] = exp f32 (load f32 ("x"[i0,i1]))
  }
}
loop_nest "reduce_sum_sqrt" rows () grain 7 {
  params ("%1", "y") dims ()
  phase (i0:64) {
    "y"[i0] = sqrt f32 (sum.lanes f32 over (r0:8) (load f32 ("%1"[r0,i0])))
  }
}
''', "a reduction of columns runs along the kept dim, its consumer with it")
equal(program.apart, [Apart("reduce_sum_sqrt into exp", "it reads other points than the kernel computes", ("y", "%1"))],
      "and says why not more")
equal((program.arena.size, program.arena.lower_bound), (2048, 2048), "the arena is no larger than what lives")
done()
