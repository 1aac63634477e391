# SPDX-License-Identifier: Apache-2.0
"""Tuning a GPU's contractions, attention and rows over the driver library of the tests, whose clock counts threads:
what is measured, what the lock has then, and what builds take from it."""
from __future__ import annotations

import os
import sys
import tempfile
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import emulation
import wide_nests
from emulation import ROOT

sys.path.insert(0, str(ROOT / "tests" / "kernels"))

import cases as forms
from attending import attend
from tap import done, equal, note, ok, raises, skip
from tensor_compile import target as targets
from tensor_compile.compile import cuda_image, lock as locks, toolchain, tune_cuda, tune_model
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.lock_cuda import ShapeTuning, key_of
from tensor_compile.compile.tune import Result, Telling
from tensor_compile.emit.cuda.kernels import emit_kernel, emit_plain
from tensor_compile.emit.cuda.shapes import is_tuned
from tensor_compile.errors import UsageError, UserError
from tensor_compile.loops import schedule_cuda
from tensor_compile.loops.grouped_contractions import MOST_GROUPED
from tensor_compile.loops.loop_ir import AttentionKernel
from tensor_compile.loops.narrow import Change, rounded as rounded_to
from tensor_compile.loops.schedule_cuda import shape_name
from tensor_compile.symbolic import sym

tune_cuda.MOST = 2
raises(UsageError, lambda: tune_model.search(Namespace(backend="cuda"), Namespace(count="cycles"),
                                             tune_model.Clock(None), note),
       "kernels of a GPU are timed by it: --count and --exe-wrapper do not go with them", "cycles of a GPU")
TOOLKIT = "nvcc 13.0"
cxx = emulation.compiler()
if cxx is None:
    skip("tuning", "no C++ compiler")
    done()
m = forms.dim("m", 6)


def with_maps(parts: int, target: targets.Target) -> tune_cuda.Case:
    """Contractions side by side whose operands tensor maps describe."""
    kernel = forms.siblings(33, 72, (24,) * parts, 1)
    buffers = {b.name: replace(b, dtype="bf16") for b in kernel.params}
    made = Change(buffers, dict.fromkeys(buffers, rounded_to("bf16"))).kernel(kernel)
    made = replace(made, params=tuple(replace(b, kind="temp") if b.name == "a" else b for b in made.params))
    units = schedule_cuda.units(target)
    shape = next(s for s in schedule_cuda.shapes(made, units) if shape_name(s) == "wgmma_64x64_16x64")
    equal(len(schedule_cuda.tensor_maps(replace(made, shape=shape), units)), parts + 1, "each operand has a map")
    return tune_cuda.Case("side by side", made, {}, (shape,), shape)


def threads(case: tune_cuda.Case, shape: schedule_cuda.Shape, target: targets.Target) -> int:
    """Of a launch: what the driver's clock counts."""
    launch = schedule_cuda.launch(replace(case.kernel, shape=shape), units=schedule_cuda.units(target))
    return launch.blocks(case.sizes, target.threads) * launch.threads


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    exact = targets.load(targets.find("cuda-sm90"))
    rounded = replace(exact, precision="bf16")
    row = wide_nests.handed_on()[0].kernel
    first, *others = row.phases
    row = replace(row, phases=(replace(first, reduces=(replace(first.reduces[0], order="lanes"),)), *others))
    kernels = {exact: [forms.matmul(5, 33, 12), forms.siblings(sym(m), 9, (24, 5)), forms.matmul(5, 33, 12), row],
               rounded: [forms.matmul(20, 24, 72, panel=1), attend(), row]}
    for target, found in kernels.items():
        ok(all(is_tuned(kernel, schedule_cuda.units(target)) for kernel in found), f"{target.precision}: all are tuned")
    ok(not is_tuned(wide_nests.looked_up()[0].kernel, schedule_cuda.units(exact)), "rows by indices are not")
    most = with_maps(MOST_GROUPED, rounded)
    host = toolchain.detect(("cc",), folder / "cache", "the compiler")
    tools = {target: tune_cuda.Toolset(cuda_image.detect((str(emulation.stub(folder)),)), host, target,
                                       Cache(Path(os.environ.get("TC_TESTS_CACHE", folder / "cache"))), 2)
             for target in kernels}
    nobody = tune_cuda.Measurer("", "")
    todo = {target: tune_cuda.cases(found, target, {}, nobody, True) for target, found in kernels.items()}
    equal([len(cases) for cases in todo.values()], [3, 3], "equal kernels are one case")
    sources = folder / "sources"
    sources.mkdir()
    for target, cases in todo.items():
        for case in [*cases, *([most] if target is rounded else [])]:
            plain = () if isinstance(case.kernel, AttentionKernel) else (emit_plain(case.kernel),)
            for made in (*plain, *(emit_kernel(replace(case.kernel, shape=shape),
                                                                schedule_cuda.units(target)) for shape in case.shapes)):
                (sources / f"{made.symbol}.cu").write_text(made.text, encoding="utf-8")
    os.environ |= emulation.prepared(sorted(sources.glob("*.cu")), folder, emulation.driver(cxx, folder), cxx)
    path = folder / "model.tuning.lock"

    os.environ["FAKE_CUDA_DEVICES"] = "0"
    raises(UserError, lambda: tune_cuda.tune(kernels[exact], tools[exact], path),
           "no GPU to measure on: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE: the driver's own words", "no GPU")
    ok(not path.exists(), "no lock without a GPU")
    del os.environ["FAKE_CUDA_DEVICES"]
    os.environ["FAKE_CUDA_FAIL"] = "cuGraphLaunch:2"
    raises(UserError, lambda: tune_cuda.tune(kernels[exact], tools[exact], path, rounds=6),
           "cuGraphLaunch: CUDA_ERROR_LAUNCH_FAILED", "a GPU that refuses")
    del os.environ["FAKE_CUDA_FAIL"]

    told: list[str] = []
    for target, found in kernels.items():
        result = tune_cuda.tune(found, tools[target], path, rounds=6, note=told.append)
        equal(result.wrong, [], f"{target.precision}: every shape has the plain kernel's results")
        for key, winner, count in result.timed:
            case = next(case for case in todo[target] if case.name == key)
            least = min(case.shapes, key=lambda shape: threads(case, shape, target))
            wanted = least if threads(case, least, target) < 0.99 * threads(case, case.incumbent, target) \
                else case.incumbent
            equal((winner.name, count), (shape_name(wanted), float(threads(case, wanted, target))),
                  f"{target.precision}: the shape with the fewest threads wins")
        equal(len(result.timed), len(todo[target]), f"{target.precision}: every case is measured")
    result = Result()
    tune_cuda._measure([most], tools[rounded], tune_cuda._harness(tools[rounded]), 6, result,
                       Telling(lambda line: None, 1, None), lambda line: None)
    equal(([winner.name for _, winner, _ in result.timed], result.wrong), (["wgmma_64x64_16x64"], []),
          "a kernel of as many parts as there may be")
    ok(told[0].startswith("Fake GPU, of 2 processors") and "second cache" in told[0], "what was measured on is told")
    entries = locks.read(path)
    equal({entry.compiler for entry in entries.values()}, {f"{TOOLKIT} on Fake GPU"}, "toolkit and GPU are in the lock")
    note(path.read_text(encoding="utf-8"))
    equal(tune_cuda.tune(kernels[exact], tools[exact], path).timed, [], "a second run measures nothing")
    equal(tune_cuda.unused([(kernels[exact], exact), (kernels[rounded], rounded)], path), [], "all entries are used")
    equal(len(tune_cuda.unused([(kernels[exact], exact)], path)), 3, "three are not by the builds of f32 alone")

    first, key = kernels[exact][0], key_of(kernels[exact][0], exact)
    frozen = ShapeTuning.load("frozen", path, exact, lambda: TOOLKIT)
    equal([shape_name(frozen.shape(kernel)) for kernel in kernels[exact]],
          [entries[key_of(kernel, exact)].candidate for kernel in kernels[exact]], "a build takes what won")
    equal(frozen.finish(), [], "and a frozen one is content")
    equal(ShapeTuning.load("off", path, exact, lambda: TOOLKIT).shape(first), None, "off: the lock is not read")
    for name, mode, toolkit, change, wanted in (
            ("another toolkit", "frozen", "nvcc 12.4", {}, f"stale: {key}: measured with nvcc 13.0, this is nvcc 12.4"),
            ("no such shape", "lock", TOOLKIT, {key: replace(entries[key], candidate="tile_1x1_1x1_k1")},
             f"illegal: {key}: tile_1x1_1x1_k1 is no shape of this kernel"),
            ("no entry", "frozen", TOOLKIT, {key: None}, f"missing: {key}: no entry")):
        changed = {k: e for k, e in (entries | change).items() if e}
        tuning = ShapeTuning(mode, path, exact, lambda: toolkit, changed)
        equal(tuning.shape(first), None, f"{name}: the cost model decides")
        if mode == "frozen":
            raises(UserError, tuning.finish, wanted, f"{name}: a frozen build fails")
        else:
            equal(tuning.finish(), [f"{path}: warning: {wanted}"], f"{name}: a warning")
done()
