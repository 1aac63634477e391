# SPDX-License-Identifier: Apache-2.0
"""Large graphs: all passes on 5,000 random nodes and on chains as deep, the time told; the bytes never change."""
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

from random_graph import random_module
from tap import done, equal, note, ok
from tensor_compile.emit.nests.reduction import siblings
from tensor_compile.graph import passes
from tensor_compile.graph.divide import divide
from tensor_compile.graph.ir import Function, Module, Node, TensorType, Value
from tensor_compile.graph.text import parse_module, print_module
from tensor_compile.graph.verify import verify
from tensor_compile.loops.loop_ir import Store
from tensor_compile.loops.scalar_ir import Apply, Load
from tensor_compile.symbolic import Sym, const, sym


def digest(text: str) -> str:
    """What the passes make of the text, as one hash."""
    compiled = passes.run(parse_module(text, "scale.tcg"))
    made = print_module(compiled.module) + print_module(compiled.constants) + print_module(compiled.reference)
    return hashlib.sha256(made.encode()).hexdigest()


if sys.argv[1:] == ["--digest"]:
    print(digest(print_module(random_module(3, 1500, 80))))
    sys.exit(0)

text = print_module(random_module(1, 5000, 250))
start = time.perf_counter()
module = parse_module(text, "scale.tcg")
parsed = time.perf_counter()
verify(module)
verified = time.perf_counter()
compiled = passes.run(module)
end = time.perf_counter()
nodes = len(module.functions["random"].nodes)
note(f"{nodes} nodes, {len(compiled.variants['random'])} variants: parse {parsed - start:.2f} s, "
     f"verify {verified - parsed:.2f} s, all passes {end - verified:.2f} s")
ok(nodes >= 5000, "5,000 random nodes")

four = TensorType("f32", (const(4),))
chain = Function("deep", True, [Node("parameter", (), {"name": "x"}, (four,))])
value = Value(chain.parameters[0])
weight = Node("weight", (), {"name": "w"}, (four,))
chain.nodes.append(weight)
deep = Value(weight)
for i in range(5000):
    chain.nodes.append(Node(("exp", "neg", "abs", "tanh")[i % 4], (value,), {}, (four,)))
    value = Value(chain.nodes[-1])
    chain.nodes.append(Node(("exp", "tanh")[i % 2], (deep,), {}, (four,)))
    deep = Value(chain.nodes[-1])
chain.results = [("y", value, None), ("z", deep, None)]
made = Module("deep", files=["w"], functions={"deep": chain})
text = print_module(made).replace('file 0 "w"\n', 'file 0 "w"\nweight "w" : f32[4] file=0\n')
start = time.perf_counter()
compiled = passes.run(parse_module(text, "deep.tcg"), verify_each=True)
note(f"a chain of 5,000 nodes twice: {time.perf_counter() - start:.2f} s with the verifier after each pass")
equal(len(compiled.constants.functions["constants"].nodes), 5001, "a deep chain of constants is folded whole")

steps = "\n".join(f'  %{i + 1} = tanh(%{i}) : f32[4,384] loc("m.c":2)' for i in range(2, 2002))
split = f"""tensor_compile.graph 1
model "split"
file 0 "w"
weight "w" : f32[4,384] file=0 loc("m.c":1)

function split(%0 "x" : f32[4,4] loc("m.c":1)) entry {{
  %1 = weight() {{name="w"}} : f32[4,384] loc("m.c":1)
  %2 = dot(%0, %1) {{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=seq}} : f32[4,384] loc("m.c":1)
{steps}
  %2003 = slice(%2002) {{start=[0, 0], size=[4, 192], stride=[1, 1]}} : f32[4,192] loc("m.c":3)
  %2004 = slice(%2002) {{start=[0, 192], size=[4, 192], stride=[1, 1]}} : f32[4,192] loc("m.c":3)
  return "y" %2003 loc("m.c":4)
  return "z" %2004 loc("m.c":4)
}}
"""
divided = divide(parse_module(split, "split.tcg").functions["split"])
equal(sum(node.op == "tanh" for node in divided.nodes), 4000, "a deep chain behind a product is divided whole")

i = Sym("i", 0, 3)
squares = Load("x", "f32", (sym(i),))
for _ in range(48):
    squares = Apply("mul", "f32", (squares, squares))
equal(siblings([Store("y", (sym(i),), squares)]), {}, "reductions are looked for in a value of 2^48 paths")

outputs = []
for seed in ("0", "1", "4242"):
    outputs.append(subprocess.run([sys.executable, __file__, "--digest"], check=True, capture_output=True, text=True,
                                  env={**os.environ, "PYTHONHASHSEED": seed}).stdout)
equal(outputs[1:], outputs[:1] * 2, "the same bytes under every PYTHONHASHSEED")
done()
