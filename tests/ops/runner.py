# SPDX-License-Identifier: Apache-2.0
"""Compiles a model and runs run_cases.c on it: what test_ops.py and test_random_graphs.py share."""
from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from joined import compile_as
from processor import lacks, own_sets
from tap import note, ok
from tensor_compile.compile import assemble, capture_run, host_programs, model_program, random_inputs
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.graph.text import print_module

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
CALLER = model_program.Caller(
    (ROOT / "tests" / "ops" / "run_cases.c", ROOT / "autotune" / "data.c", ROOT / "autotune" / "guard.c"),
    (ROOT / "autotune", ROOT / "interpreter", ROOT / "runtime" / "include", ROOT / "templates" / "include",
     ROOT / "tests" / "tap.h", *host_programs.TABLES))


@dataclass(frozen=True)
class Machine:
    """What cases are compiled for, and what starts them here. isas: () all of the target's. device: a GPU's target file
    and nvcc, empty for the processor; precision: of its products. little_cache: the architecture's own target, but for
    its cache, which holds next to nothing, and its team of at most four. optimise: how kernels are compiled; -O1 takes
    two thirds of the time of users' -O3, which has the same bits: the suites networks, decoder and e2e are compiled
    with it, and in the long suite all of this and the candidates of tests/kernels, the suite nests there with -O2.
    With -O1 many kernels are compiled in a file."""

    cc: tuple[str, ...] = ("cc",)
    wrapper: tuple[str, ...] = ()
    isas: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    precision: str = "f32"
    little_cache: bool = False
    optimise: str = "-O1"

    @property
    def missing(self) -> str:
        """The program that is not installed; empty where all are."""
        return next((word for word in (self.cc[0], *self.wrapper[:1]) if not shutil.which(word)), "")


NATIVE = Machine()
EMULATED = {
    "aarch64": Machine(("aarch64-linux-gnu-gcc",), ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
    "riscv64": Machine(("riscv64-linux-gnu-gcc",), ("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu")),
}


def native_isas(count: int, turn: int) -> tuple[str, ...]:
    """`count` of the optimised instruction sets that this processor has, beginning with number `turn`."""
    isas = [isa for isa in own_sets(platform.machine()) if isa != "scalar" and not lacks(isa)]
    return tuple(isas[(turn + i) % len(isas)] for i in range(min(count, len(isas))))


def all_isas() -> tuple[str, ...]:
    """Those of this machine's architecture that have kernels of their own, the plain one among them."""
    return tuple(own_sets(platform.machine()))


def build(model: Path, machine: Machine, cache: Cache, specialize: dict[str, tuple[int, ...]],
          graph: str = "", defines: tuple[str, ...] = ()) -> assemble.Made:
    """With the verifiers on. graph: the recorded graph's text where there is no model to record; defines: -D words of
    the model."""
    options = Options(model=str(model), shown=model.name, object="model.o", header="model.h", cache=str(cache.root),
                      isas=machine.isas, specialize=tuple(sorted(specialize.items())), tune="off", verify=True,
                      cc=machine.cc, preprocessor=defines)
    if machine.device:
        options = replace(options, backend="cuda", target_file=machine.device[0], nvcc=machine.device[1:],
                          precision=machine.precision)
    if machine.little_cache:
        options = replace(options, target_file=little_cache(cache.root))
    compile_as(options.optimize, machine.optimise)
    begin = time.monotonic()
    recorded = capture_run.Captured(graph, (), model, model.name) if graph else None
    with Progress() as progress:
        made = assemble.run(options, progress, recorded)
    note(f"{model.name} for {' '.join(made.target.isas)}: {len(made.objects)} kernels built in "
         f"{time.monotonic() - begin:.1f} s")
    return made


def little_cache(folder: Path) -> str:
    """The path of this architecture's target file with other sizes."""
    text = (ROOT / "targets" / f"{platform.machine()}.toml").read_text(encoding="utf-8")
    made = folder / f"little-cache-{platform.machine()}.toml"
    folder.mkdir(parents=True, exist_ok=True)
    made.write_text(re.sub(r"(?m)^threads = \d+", "threads = 4", re.sub(r"(?m)^l2 = \d+", "l2 = 64", text)),
                    encoding="utf-8")
    return str(made)


def words_of(made: assemble.Made, function: str) -> Callable[[dict[str, int]], str]:
    """What makes of sizes the words of a case: sizes, bounds of index inputs, inputs that must be finite."""
    module = made.compiled.reference
    plan = next(f for f in made.compiled.plan.functions if f.name == function)
    inputs = [(buffer, random_inputs.index_extents(module, function, buffer.name),
               random_inputs.is_convolution_weight(module, function, buffer.name)) for buffer in plan.inputs]

    def words(sizes: dict[str, int]) -> str:
        values = {d.sym: sizes[d.sym.name] for d in plan.dims}
        found = [f"{name}={size}" for name, size in sizes.items()]
        for buffer, extents, finite in inputs:
            some = buffer.elements.evaluate(values) > 0 and buffer.dtype[0] == "i"   # integers alone can be outside
            found += [f"{buffer.name}<{min(e.evaluate(values) for e in extents)}"] if extents and some else []
            found += [f"{buffer.name}!"] if finite else []
        return " ".join(found)
    return words


def words(made: assemble.Made, function: str, sizes: dict[str, int]) -> str:
    """The words of one case."""
    return words_of(made, function)(sizes)


def run(made: assemble.Made, machine: Machine, cache: Cache, cases: list[str], given: Path | None = None) -> None:
    """One TAP point a case. given: a file of inputs, for run_cases."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        program = model_program.model_program(made, (), cache, None, CALLER, [], folder / "run-cases")
        (folder / "graph.tcg").write_text(print_module(assemble.placed(made.compiled.reference, made)),
                                          encoding="utf-8")
        (folder / "cases").write_text("".join(f"{case}\n" for case in cases), encoding="utf-8")
        begin = time.monotonic()
        result = subprocess.run([*machine.wrapper, str(program), str(folder / "graph.tcg"), str(folder / "cases"),
                                 *([str(given)] if given else [])], capture_output=True, text=True, check=False)
    seen = 0
    for line in result.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            seen += 1
            ok(line.startswith("ok "), line.split(" - ", 1)[1])
        elif line.startswith("#"):
            note(line[2:])
    if seen != len(cases) or result.returncode not in (0, 1):
        ok(False, f"all cases run: {seen} of {len(cases)}, exit code {result.returncode}")
        note(cases[seen] if seen < len(cases) else "")
        note(result.stderr)
    note(f"{len(cases)} cases in {time.monotonic() - begin:.1f} s")
