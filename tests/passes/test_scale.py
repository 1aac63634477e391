# SPDX-License-Identifier: Apache-2.0
"""Large graphs: all passes on 5,000 random nodes and on a chain as deep, the time told; the bytes never change."""
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

from random_graph import random_module
from tap import done, equal, note, ok
from tensor_compile.graph import pipeline
from tensor_compile.graph.ir import Function, Module, Node, TensorType, Value
from tensor_compile.graph.text import parse_module, print_module
from tensor_compile.graph.verify import verify
from tensor_compile.symbolic import const


def digest(text: str) -> str:
    """What the passes make of the text, as one hash."""
    compiled = pipeline.run(parse_module(text, "scale.tcg"))
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
compiled = pipeline.run(module)
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
compiled = pipeline.run(parse_module(text, "deep.tcg"), verify_each=True)
note(f"a chain of 5,000 nodes twice: {time.perf_counter() - start:.2f} s with the verifier after each pass")
equal(len(compiled.constants.functions["constants"].nodes), 5001, "a deep chain of constants is folded whole")

outputs = []
for seed in ("0", "1", "4242"):
    outputs.append(subprocess.run([sys.executable, __file__, "--digest"], check=True, capture_output=True, text=True,
                                  env={**os.environ, "PYTHONHASHSEED": seed}).stdout)
equal(outputs[1:], outputs[:1] * 2, "the same bytes under every PYTHONHASHSEED")
done()
