# SPDX-License-Identifier: Apache-2.0
"""Helpers of the pass tests: functions as text in, functions as text out, and both evaluated on the same data."""
from __future__ import annotations

import random
from collections.abc import Callable

from oracle.graph import Run, same
from random_graph import tensor
from tap import equal, note, ok
from tensor_compile.graph.ir import Function, Module
from tensor_compile.graph.text import parse_module, print_function
from tensor_compile.graph.verify import verify

HEAD = """tensor_compile.graph 1
model "test"
dim n range=1:64 divisor=1 specialize=[]
dim m range=0:64 divisor=1 specialize=[]
dim k range=4:64 divisor=4 specialize=[]
file 0 "test.safetensors"
weight "w" : f32[4,4] file=0
weight "v" : f32[4] file=0
weight "v2" : f32[4] file=0
weight "conv" : f32[4,2,3,3] file=0
weight "one" : f32[1] file=0
weight "a.w" : f32[4] file=0
weight "b.w" : f32[4] file=0
weight "w3" : f32[4,576] file=0
weight "b3" : f32[576] file=0
state "s" : f32[4]
state "a.s" : f32[4]
"""


def module(functions: str) -> Module:
    """A verified module over the declarations of HEAD."""
    made = parse_module(HEAD + functions, "test.tcg")
    verify(made)
    return made


def function(parameters: str, body: str) -> str:
    """The text of `function f`: the body's lines without indentation; its last node is the result."""
    lines = [line.strip() for line in body.strip().splitlines()]
    if not any(line.startswith("return") for line in lines):
        last = next((line.split(" ")[0] for line in reversed(lines) if line.startswith("%")), "%0")
        lines.append(f'return "out" {last}')
    return "\n".join([f"function f({parameters}) entry {{", *("  " + line for line in lines), "}"]) + "\n"


def sizes_of(made: Module) -> dict:
    """One size for each dim of HEAD."""
    return {d.sym: size for d, size in zip(made.dims.values(), (3, 2, 8))}


def data(made: Module, f: Function, seed: int, extreme: float) -> tuple[list, dict, dict]:
    """Random inputs, weights and states; the same for every function of the same parameters."""
    rng, run = random.Random(seed), Run(made, sizes_of(made))
    draw = lambda t: tensor(rng, t.dtype, run.sizes(t.shape), extreme)
    weights = {w.name: draw(w.type) for w in made.weights.values()}
    states = {s.name: draw(s.type) for s in made.states.values()}
    return [draw(p.types[0]) for p in f.parameters], weights, states


def evaluated(made: Module, f: Function, seed: int, extreme: float = 0.5) -> list:
    """The function's outputs on random data."""
    inputs, weights, states = data(made, f, seed, extreme)
    return Run(made, sizes_of(made), weights, states).function(f, inputs)


def case(run: Callable[[Function], Function], name: str, parameters: str, body: str, want: str) -> None:
    """Two points: `run` turns the text into the wanted one, and the bits of the outputs stay."""
    made = module(function(parameters, body))
    source = made.functions["f"]
    out = run(source)
    equal(print_function(out), print_function(module(function(parameters, want)).functions["f"]), name)
    made.functions["f"] = out
    verify(made)
    good = all(same(a, b) for seed in range(8)
               for a, b in zip(evaluated(made, out, seed), evaluated(made, source, seed), strict=True))
    if not ok(good, f"{name}: the same bits"):
        note(print_function(out))


def stays(run: Callable[[Function], Function], name: str, parameters: str, body: str) -> None:
    case(run, name, parameters, body, body)
