# SPDX-License-Identifier: Apache-2.0
"""Random graphs (tests/passes/random_graph.py) from graph text to real kernels, against the interpreter bit for bit: as
the functions of one model, whose declared sizes have variants of their own.

  test_random_primitives.py [--all | FIRST LAST]    (seeds)
"""
from __future__ import annotations

import os
import random
import struct
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
sys.path[1:1] = [str(ROOT / "tests" / folder) for folder in ("passes", "interpreter")]

import st
from random_graph import random_module, tensor
from runner import NATIVE, all_isas, build, native_isas, run, words
from tap import done
from tensor_compile.compile.cache import Cache
from tensor_compile.graph.ir import Module
from tensor_compile.graph.text import print_module

SIZES = [{"n": 1, "m": 1}, {"n": 3, "m": 2}, {"n": 6, "m": 5}, {"n": 2, "m": 4}]


def merged(seeds: range) -> Module:
    """One model with a function a seed. Weights of one name have one shape, which is part of it."""
    model = Module("random_graphs")
    for seed in seeds:
        made = random_module(seed, 20 + seed % 5 * 15, 6 + seed % 20)
        model.dims, model.files = made.dims, made.files
        model.weights |= made.weights
        model.functions[f"random{seed}"] = replace(made.functions["random"], name=f"random{seed}")
    return model


def write_weights(model: Module, folder: Path) -> None:
    rng = random.Random(1)
    tensors = {}
    for weight in model.weights.values():
        shape = [d.value for d in weight.type.shape]
        values = tensor(rng, "f32", tuple(shape)).data
        tensors[weight.name] = ("F32", shape, [struct.unpack("<f", struct.pack("<f", x))[0] for x in values])
    st.write(folder / model.files[0], tensors)


everything = sys.argv[1:] == ["--all"]
seeds = range(100) if everything else range(*map(int, sys.argv[1:])) if sys.argv[1:] else range(3)
machine = replace(NATIVE, isas=all_isas(), optimise="-O3") if everything else replace(NATIVE, isas=native_isas(2, 1))
with tempfile.TemporaryDirectory() as folder:
    cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", folder)))
    model = merged(seeds)
    write_weights(model, Path(folder))
    made = build(Path(folder) / "random_graphs.c", machine, cache, {}, print_module(model))
    cases = []
    for f in made.compiled.plan.functions:
        names = [d.sym.name for d in f.dims]
        for sizes in SIZES if names else [{}]:
            cases.append(f"bits {f.name} {words(made, f.name, {k: v for k, v in sizes.items() if k in names})}")
    run(made, machine, cache, cases)
done()
