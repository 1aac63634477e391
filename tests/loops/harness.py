# SPDX-License-Identifier: Apache-2.0
"""Graph text in, results of the planned program and of the direct evaluation out."""
from __future__ import annotations

import math
import os
import random
import re
import struct
from dataclasses import replace

from oracle import programs
from oracle.graph import Run, Tensor, indices
from oracle.scalars import rounded
from tensor_compile import target as targets
from tensor_compile.compile import costs
from tensor_compile.graph.inline import inline
from tensor_compile.graph.text import parse_module
from tensor_compile.loops import fuse, layout, lower, plan, schedule, tile_regions, verify_loops
from tensor_compile.loops.program_ir import Step

TARGET = targets.load(targets.find("x86_64"))
TINY = replace(TARGET, l2=64, threads=1)    # nothing fits its cache: what can be is a region of tiles
PLAIN = replace(TINY, isas=("scalar",))     # and kernels work on one element after the other
GRAPHS = os.path.join(os.environ["TC_SOURCE_ROOT"], "tests", "graphs")


def sample(name: str) -> str:
    with open(os.path.join(GRAPHS, name + ".tcg"), encoding="utf-8") as f:
        return f.read()


def tiny_encoder() -> str:
    """The sample encoder with 8 channels, 2 heads of 4, 16 hidden channels and 10 words."""
    text = sample("encoder")
    for old, new in (("1000", "10"), ("1536", "16"), ("384", "8"), ("12", "2"), ("32", "4")):
        text = re.sub(rf'(?<![%\w:@#."]){old}(?![\w.])', new, text)
    return text


def module_of(body: str, result: str = "", dims: tuple = ("batch 1:64", "seq 1:64"), weights: tuple = (),
              states: tuple = ()):
    """A module of one entry function `f`. `body` holds the lines between the braces."""
    head = ["tensor_compile.graph 1", 'model "m"']
    for d in dims:
        name, span = d.split()
        head.append(f"dim {name} range={span} divisor=1 specialize=[]")
    if weights:
        head.append('file 0 "w.safetensors"')
    head += [f'weight "{n}" : {t} file=0 loc("m.c":1)' for n, t in weights]
    head += [f'state "{n}" : {t} loc("m.c":1)' for n, t in states]
    return parse_module("\n".join(head) + "\n\n" + body, "m.tcg")


def program_of(module, name: str, fused: bool = True, check: bool = True, target: targets.Target = TARGET,
               form=lambda joined: joined, stages: bool = True):
    """(function before layout, program). form: what is done to the kernels that fusion made. stages: branches stand
    side by side."""
    module = inline(module)
    function = module.functions[name]
    laid_out = replace(module, functions={n: layout.apply(f, TARGET) for n, f in module.functions.items()})
    lowered = lower.lower(laid_out.functions[name], laid_out, TARGET)
    joined = form(fuse.fuse(lowered, separate=not fused))
    tiled = tile_regions.form(joined, target) if fused else joined
    if check:
        verify_loops.verify(lowered)
        verify_loops.verify(joined)
        verify_loops.verify(tiled)
    made = plan.plan(schedule.schedule(tiled, TARGET), TARGET, stages)
    if check:
        verify_loops.verify(made)
    return function, made


def random_tensor(rng: random.Random, dtype: str, shape: tuple, extreme: bool, below: int = 5) -> Tensor:
    size = math.prod(shape)
    if dtype == "bool":
        return Tensor(dtype, shape, [int(rng.random() < 0.6) for _ in range(size)])
    if dtype != "f32":
        return Tensor(dtype, shape, [rng.randrange(below) for _ in range(size)])
    special = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-40, 3e38]
    return Tensor(dtype, shape, [rng.choice(special) if extreme and rng.random() < 0.1
                                 else rounded("f32", rng.uniform(-2, 2)) for _ in range(size)])


def bits(x) -> object:
    if isinstance(x, float):
        return "nan" if math.isnan(x) else struct.pack("<f", x)
    return int(x)


def physical(buffer, dims: dict, t: Tensor) -> list:
    """The elements in the buffer's own order."""
    out = [None] * len(t.data)
    strides = [s.evaluate(dims) for s in buffer.strides]
    for i in indices(t.shape):
        out[sum(a * s for a, s in zip(i, strides))] = t[i]
    return out


def compare(module, name: str, sizes: dict[str, int], seed: int = 0, extreme: bool = False, fused: bool = True,
            backwards: bool = False, below: int = 5, target: targets.Target = TARGET, form=lambda joined: joined):
    """(difference or "", program, bytes that each kernel moved)."""
    (difference,), program, counts = compare_ways((backwards,), module, name, sizes, seed, extreme, fused, below, target,
                                                  form)
    return difference, program, counts


def compare_ways(ways: tuple[bool, ...], module, name: str, sizes: dict[str, int], seed: int = 0, extreme: bool = False,
                 fused: bool = True, below: int = 5, target: targets.Target = TARGET, form=lambda joined: joined):
    """(difference or "" of each way, program, bytes that each kernel moved the first way). ways: whether threads run
    backwards."""
    rng = random.Random(seed)
    function, program = program_of(module, name, fused, target=target, form=form)
    dims = {d.sym: sizes[n] for n, d in module.dims.items() if n in sizes}
    concrete = lambda t: tuple(d.evaluate(dims) for d in t.shape)
    inputs = {p.attrs["name"]: random_tensor(rng, p.types[0].dtype, concrete(p.types[0]), extreme, below)
              for p in function.parameters}
    weights = {n: random_tensor(rng, w.type.dtype, concrete(w.type), False, below) for n, w in module.weights.items()}
    states = {n: random_tensor(rng, s.type.dtype, concrete(s.type), extreme, below) for n, s in module.states.items()}
    got = [{n: list(t.data) for n, t in (inputs | weights | states).items()} for _ in ways]
    # before the evaluation: it has no checks of indices
    counts, *_ = [programs.run(program, dims, values, backwards) for values, backwards in zip(got, ways, strict=True)]
    run = Run(inline(module), dims, weights, states)
    wanted = run.results(function, list(inputs.values()), "")
    after = states | run.assigned
    differences = []
    for values in got:
        found = [_difference(n, t, values[n]) for (n, _, _), t in zip(function.results, wanted, strict=True)]
        found += [_difference(n, t, values[n]) for n, t in after.items()]
        differences.append(next(filter(None, found), ""))
    return differences, program, counts


def _difference(name: str, want: Tensor, got: list) -> str:
    for i, (a, b) in enumerate(zip(want.data, got, strict=True)):
        if b is None or bits(a) != bits(b):
            return f"{name}[{i}] of {want.shape}: want {a}, got {b}"
    return ""


def moved_in_calls(module, program, sizes: dict[str, int]) -> list[tuple[int, int]]:
    """Bytes that each kernel reads and writes in a call, as `explain` has them."""
    dims = {d.sym: sizes[n] for n, d in module.dims.items() if n in sizes}
    steps = [(item.kernel, runs) for _, runs, item in costs.walk_steps(program.steps, dims) if isinstance(item, Step)]
    return [(t.read, t.written) for t in (costs.moved(kernel, runs, dims) for kernel, runs in steps)]
