# SPDX-License-Identifier: Apache-2.0
"""Random graphs through every pass: each stage verifies, and every variant gives the bits of the captured graph."""
from __future__ import annotations

import random
import sys

from oracle.graph import Run, same
from random_graph import random_module, tensor
from tap import done, note, ok
from tensor_compile.graph import passes
from tensor_compile.graph.text import parse_module, print_module


def check(seed: int, nodes: int) -> bool:
    module = random_module(seed, nodes, nodes // 2)
    text = print_module(module)
    module = parse_module(text, "random.tcg")
    if print_module(module) != text:
        note(f"seed {seed}: the text changes when it is read and printed")
        return False
    stages: list[str] = []
    # No dot of these graphs is followed by a product of channel constants alone, so no pass may change a bit.
    compiled = passes.run(module, dump=lambda name, _: stages.append(name), verify_each=True)
    rng = random.Random(seed)
    weights = {w.name: tensor(rng, "f32", tuple(d.value for d in w.type.shape)) for w in module.weights.values()}
    constants = compiled.constants.functions["constants"]
    packed = dict(zip((name for name, _, _ in constants.results),
                      Run(compiled.constants, {}, weights).function(constants, [])))
    n, m = (d.sym for d in module.dims.values())
    for variant in compiled.variants["random"]:
        sizes = {"n": rng.randrange(1, 7), "m": rng.randrange(1, 6), **variant.when}
        dims = {n: sizes["n"], m: sizes["m"]}
        source = module.functions["random"]
        inputs = [tensor(rng, p.types[0].dtype, Run(module, dims).sizes(p.types[0].shape)) for p in source.parameters]
        want = Run(module, dims, weights).function(source, inputs)
        got = Run(compiled.module, dims, packed=packed).function(compiled.module.functions[variant.name], inputs)
        reference = Run(compiled.reference, dims, weights).function(compiled.reference.functions["random"], inputs)
        for i, (a, b, c) in enumerate(zip(got, want, reference, strict=True)):
            if not same(a, b) or not same(c, b):
                note(f"seed {seed}, {variant.name}, {sizes}: result {i} differs")
                return False
    return all(name in stages for name in passes.ORDER)


seeds = range(int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else range(60)
for seed in seeds:
    ok(check(seed, 20 + seed % 5 * 15), f"random graph {seed}")
done()
