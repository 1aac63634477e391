# SPDX-License-Identifier: Apache-2.0
"""Branches beside each other: which steps of a program are, what memory is kept for them, and that results are the
processor's in whatever order a driver runs what does not wait for each other."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Callable

import emulation
from emulation import HERE, ROOT
from tap import done, equal, note, ok, raises, skip
from tensor_compile.loops.program_ir import Aside, Program, Step
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit
from tensor_compile.loops.verify_loops import LoopError, verify

TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
MODEL = HERE / "branches.c"


def planned(text: str) -> Program:
    """What `--dump-after plan` printed of a model of one variant."""
    program = parse_unit(text[text.index("tensor_compile.loops"):], "plan")
    assert isinstance(program, Program)
    return program


def kernels(program: Program, steps: tuple[int, ...]) -> list[str]:
    return [step.kernel.label for i, step in enumerate(program.steps) if isinstance(step, Step) and i in steps]


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    device = ["--target", "cuda", "--target-file", "cuda-sm90", "--nvcc", str(emulation.stub(folder)),
              "--build-cache", str(folder / "cache"), "-j", "2"]
    dumped = emulation.run([*TOOL, "build", MODEL, "-o", folder / "out", "--keep", folder / "keep", *device,
                            "--dump-after", "plan"]).stdout
    program = planned(dumped)
    equal([(a.first, a.end, kernels(program, a.steps)) for a in program.asides],
          [(1, 4, ["conv2d"]), (5, 11, ["conv2d+conv2d_relu", "conv2d"]), (5, 11, ["max_pool2d", "conv2d"])],
          "a shortcut, which comes first, and two of three branches that are joined")
    equal(print_unit(planned(print_unit(program))), print_unit(program), "stretches are part of a program's text")
    raises(LoopError, lambda: verify(replace(program, asides=(Aside(0, (0,), 12),))), "at the same time",
           "the verifier looks at what stretches keep")
    driver_text = next((folder / "keep").glob("tcd_*.c")).read_text(encoding="utf-8")
    places = re.findall(r"tc_device_branch\(f, (\w+)\)|tc_device_step\(f, (\d+)", driver_text)
    equal(" ".join(where or f"[{step}]" for where, step in places),
          "[0] TC_DEVICE_FORK 1 [1] 0 [2] [3] TC_DEVICE_JOIN [4] TC_DEVICE_FORK 1 [5] [6] 0 [7] [8] 2 [9] [10] "
          "TC_DEVICE_JOIN [11]", "launches in their places")

    cxx = emulation.compiler()
    if cxx is None:
        skip("calls", "no C++ compiler")
        done()
    driver = emulation.driver(cxx, folder)
    compare = emulation.comparison(folder / "compare")
    isa = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []

    def prepared(model: Path, out: Path, kept: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
        """What compares a call with the processor's; the model's object for a device is there, with what was kept."""
        cuda, cpu = out / "cuda.so", out / "cpu.so"
        emulation.run(["cc", "-shared", (out / model.name).with_suffix(".o"), "-o", cuda])
        emulation.run([*TOOL, "build", model, "-o", out / "cpu", "--build-cache", folder / "cache", "-j", "2", *isa])
        emulation.run(["cc", "-shared", (out / "cpu" / model.name).with_suffix(".o"), "-o", cpu])
        env = {**os.environ, **emulation.prepared(sorted(kept.glob("*.cu")), out, driver, cxx)}

        def called(**settings: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([compare, cpu, cuda, model.stem, "--repeat", "1", model.stem],
                                  env={**env, **settings}, capture_output=True, text=True, check=False)

        return called

    call = prepared(MODEL, folder / "out", folder / "keep")
    for order in ("forward", "reverse"):
        for version in ("12020", "12080"):
            found = call(FAKE_CUDA_ORDER=order, FAKE_CUDA_VERSION=version)
            if not ok(found.returncode == 0 and not found.stderr and ", 0 of " in found.stdout,
                      f"launches {order}, a driver of {version}: the processor's bits"):
                note(found.stdout + found.stderr)
    # The first launch of the row behind a join is not the first one of the next stretch.
    again = folder / "again"
    emulation.run([*TOOL, "build", HERE / "branches_twice.c", "-o", again, "--keep", again / "keep", *device])
    text = next((again / "keep").glob("tcd_*.c")).read_text(encoding="utf-8")
    ok(re.search(r"TC_DEVICE_JOIN\);\s*tc_device_branch\(f, TC_DEVICE_FORK\);\s*tc_device_branch\(f, 1\);", text),
       "a join, and behind it a part beside the row")
    found = prepared(HERE / "branches_twice.c", again, again / "keep")(FAKE_CUDA_VERSION="12080")
    if not ok(found.returncode == 0 and ", 0 of " in found.stdout, "the row waits for what was joined"):
        note(found.stdout + found.stderr)
    for function, times in (("cuStreamCreate", (2, 3)), ("cuEventCreate", (1, 2)), ("cuEventRecord", (1, 2)),
                            ("cuStreamWaitEvent", (1, 2, 3))):
        for n in times:
            found = call(FAKE_CUDA_FAIL=f"{function}:{n}")
            said = found.stdout + found.stderr
            if not ok(found.returncode and f"{function}: CUDA_ERROR_LAUNCH_FAILED" in said and "left" not in said,
                      f"{function} fails at {n}: a status, nothing is left"):
                note(said)

    kept = folder / "kept"
    program = planned(emulation.run([*TOOL, "build", HERE / "branches_kept.c", "-o", kept, "--keep", kept / "keep",
                                     *device, "--dump-after", "plan"]).stdout)
    equal(program.asides, (Aside(1, (1, 2, 3), 10),), "a stretch of a long branch and a short one")
    pool, last = program.steps[1].kernel, program.steps[9].kernel
    read, made = pool.params[0].name, last.stores[0].buffer
    ok(read in {b.name for b in last.params} and program.arena.offset[read] != program.arena.offset[made],
       "the last step of the row does not overwrite what a branch reads")
    moved = replace(program.arena, offset={**program.arena.offset, made: program.arena.offset[read]})
    raises(LoopError, lambda: verify(replace(program, arena=moved)), "at the same time", "and the verifier says so")
    found = prepared(HERE / "branches_kept.c", kept, kept / "keep")(FAKE_CUDA_ORDER="reverse")
    if not ok(found.returncode == 0 and ", 0 of " in found.stdout, "so bits are the processor's in any order"):
        note(found.stdout + found.stderr)
done()
