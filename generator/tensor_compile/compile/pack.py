# SPDX-License-Identifier: Apache-2.0
"""The packed weights: the constant graph, run by the interpreter on the build machine; Python never sees an element."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import Reported, UserError
from ..graph.bake import Evaluate
from ..graph.dtypes import DTYPES
from ..graph.constant_places import offsets
from ..graph.finite import leaves, padded_weights
from ..graph.fold import CONSTANTS
from ..graph.ir import Module
from ..graph.text import print_module
from ..pipeline import Compiled
from . import files, host_programs
from .cache import Cache
from .capture_run import Captured
from .record import Inputs
from .toolchain import Compiler
from .tools import ToolBroken


def weight_files(module: Module, model: Path, replacements: Sequence[Path] = ()) -> list[Path]:
    """The module's weight files, in its order; relative ones lie beside model.c. replacements: taken instead."""
    if replacements and len(replacements) != len(module.files):
        raise UserError(f"the model reads {len(module.files)} weight files, {len(replacements)} were given")
    return list(replacements) or [model.parent / name for name in module.files]


def sources_of(constants: Module, packed: str) -> tuple[str, ...]:
    """The weights that a packed constant is made of."""
    return leaves("weight", [value.node for name, value, _ in constants.functions[CONSTANTS].results if name == packed])


def pack(compiled: Compiled, weights: Sequence[Path], captured: Captured, compiler: Compiler, cache: Cache,
         inputs: Inputs, jobs: int | None = None) -> Path:
    """The file of packed weights in the cache, made where it is not there yet. Its key is the constant graph and the
    content of the files, which are read only when their size or time is new."""
    constants = compiled.constants
    # The weights first: theirs is the better message. What they are folded to may overflow all the same.
    named = leaves("weight", padded_weights(compiled.reference.functions.values()))
    finite = [name for name in named if name in constants.weights] + list(compiled.finite)
    return _computed(constants, finite, weights, captured, compiler, cache, inputs, jobs)


def evaluator(captured: Captured, compiler: Compiler, cache: Cache, inputs: Inputs, jobs: int | None = None,
              replacements: Sequence[Path] = ()) -> Evaluate:
    """What computes the results of a graph of constants, each as bytes, from the weights of the model."""
    def evaluate(module: Module) -> Mapping[str, bytes]:
        (function,) = module.entries
        path = _computed(module, [], weight_files(module, captured.model, replacements), captured, compiler, cache,
                         inputs, jobs)
        data, found = path.read_bytes(), {}
        places, _ = offsets((name, value.type) for name, value, _ in function.results)
        for name, value, _ in function.results:
            size = value.type.elements.value * DTYPES[value.dtype].bytes
            found[name] = data[places[name]:places[name] + size]
        return found
    return evaluate


def _computed(constants: Module, finite: Sequence[str], weights: Sequence[Path], captured: Captured, compiler: Compiler,
              cache: Cache, inputs: Inputs, jobs: int | None) -> Path:
    """The results of the constants' function, in a file."""
    for path in weights:
        if not path.is_file():
            raise UserError("no such weights file", str(path), f"it is named in {captured.shown}")
    program = host_programs.interpreter(compiler, cache, jobs)
    # The files by absolute path: where they lie is no part of the key.
    placed = Module(constants.model, constants.dims, [str(p) for p in weights], constants.weights, constants.states,
                    constants.functions)
    key = files.digest(program.parent.name, print_module(constants, places=False), *finite,
                       *map(inputs.digest, weights))

    def make(folder: Path) -> None:
        graph, out = folder / "constants.tcg", folder / "weights.bin"
        graph.write_bytes(files.encoded(print_module(placed)))
        entry = placed.entries
        if not entry or not entry[0].results:
            out.write_bytes(b"")
            return
        checks = [word for name in finite for word in ("--check-finite", name)]
        result = subprocess.run([str(program), str(graph), "--function", entry[0].name, "--weights-dir", "/",
                                 "--pack", str(out), *checks], capture_output=True, text=True, errors="replace",
                                check=False)
        inputs.check_unchanged(weights)
        if result.returncode == 1 and result.stderr:
            sys.stderr.write(re.sub(r'result "(c\d+)"', lambda m: "what is computed from " + ", ".join(
                f'"{name}"' for name in sources_of(constants, m[1])), captured.as_given(result.stderr)))
            raise Reported
        if result.returncode:
            raise ToolBroken(f"the interpreter failed while it packed the weights of {captured.shown}",
                             f"exit code {result.returncode}\n{result.stderr}")
        graph.unlink()

    return cache.entry("weights", key, make) / "weights.bin"
