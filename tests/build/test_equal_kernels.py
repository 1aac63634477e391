# SPDX-License-Identifier: Apache-2.0
"""Equal layers of a model are one kernel each, wherever in the user's scopes they stand."""
import os
from pathlib import Path

from tap import done, equal, ok
from tensor_compile import pipeline
from tensor_compile import target as targets
from tensor_compile.compile import cpu_target
from tensor_compile.emit.identity import identity
from tensor_compile.emit.kernels import emit_kernel
from tensor_compile.loops.program_ir import leaves

LAYERS = 3
WEIGHTS = "".join(f'weight "layer.{i}.w" : f32[32,32] file=0 loc("m.c":3)\n' for i in range(LAYERS))
DOT = "lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1], order=seq"


def layer(i: int) -> str:
    """x + relu(x w), the sum made in the scope of the layer itself."""
    n, scope = 7 * i, f"layer.{i}"
    return f"""\
  %{n + 1} = weight() {{name="{scope}.w"}} : f32[32,32] loc("m.c":3) scope("{scope}")
  %{n + 2} = dot(%{n}, %{n + 1}) {{{DOT}}} : f32[n,32] loc("m.c":4) scope("{scope}/linear#{2 * i + 1}")
  %{n + 3} = constant() {{bits=0x00000000}} : f32[] loc("m.c":4) scope("{scope}/relu#{2 * i + 2}")
  %{n + 4} = broadcast(%{n + 3}) {{shape=[n, 32], axes=[]}} : f32[n,32] loc("m.c":4) scope("{scope}/relu#{2 * i + 2}")
  %{n + 5} = maximum(%{n + 2}, %{n + 4}) : f32[n,32] loc("m.c":4) scope("{scope}/relu#{2 * i + 2}")
  %{n + 6} = add(%{n}, %{n + 5}) : f32[n,32] loc("m.c":5) scope("{scope}")
  %{n + 7} = abs(%{n + 6}) : f32[n,32] loc("m.c":5) scope("{scope}")
"""


TEXT = f"""tensor_compile.graph 1
model "m"
dim n range=1:64 divisor=1 specialize=[]
file 0 "m.safetensors"
{WEIGHTS}

function m(%0 "x" : f32[n,32] loc("m.c":2)) entry {{
{"".join(layer(i) for i in range(LAYERS))}  return "y" %{7 * LAYERS} loc("m.c":6)
}}
"""

target = targets.load(targets.find("x86_64")).with_isas(("avx512", "avx2"))
plan = pipeline.run(TEXT, "m.tcg", target, {}).plan
sources = cpu_target.kernel_sources(plan, target)
small = cpu_target.kernel_sources(plan, target, "size")
steps = plan.functions[0].variants[0].program.steps
for isa in target.isas:
    symbols = [sources.symbol(step.kernel, isa) for step in steps]
    ok(len(symbols) >= LAYERS, f"{isa}: at least a kernel a layer ({len(symbols)})")
    equal(len(set(symbols[:-1])), 1, f"{isa}: the kernel of one layer is that of all whose result a layer reads")
    equal(len({small.symbol(step.kernel, isa) for step in steps}), 1, f"{isa}: where size counts it is that of all")
    equal(symbols, [emit_kernel(step.kernel, isa).symbol for step in steps],
          f"{isa}: each is what it would have been given by itself")
ok(all("layer" not in source.text for source in sources.by_symbol.values()), "no source names a scope of the user")

# A source is emitted once for kernels of one identity: it must be what each of them would have been given.
SAMPLES = Path(os.environ["TC_SOURCE_ROOT"]) / "tests" / "graphs"
for path in sorted(SAMPLES.glob("*.tcg")):
    plan = pipeline.run(path.read_text(encoding="utf-8"), path.name, target, {}).plan
    sources = cpu_target.kernel_sources(plan, target)
    kernels = [s.kernel for f in plan.functions for v in f.variants for s in leaves(v.program.steps)]
    equal([sources.symbol(k, "avx2") for k in kernels], [emit_kernel(k, "avx2").symbol for k in kernels],
          f"{path.stem}: {len({identity(k) for k in kernels})} sources of {len(kernels)} kernels")
done()
