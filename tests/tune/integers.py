# SPDX-License-Identifier: Apache-2.0
"""`tune` of products of short integers: the instruction sets that are there for them alone are measured, too, so that
`--tune frozen` can pass."""
from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import small_model
from tap import done, equal, note, ok, skip
from tensor_compile.compile import assemble, harness, lock as locks, processor, record, recording, tune, tune_lines, \
    tune_model, tune_pace
from tensor_compile.compile.options import Options
from tensor_compile.target import Target

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_tensor x = tc_input(g, "x", TC_I8, 32, 64), few = tc_input(g, "few", TC_I8, 2, 64);
    tc_tensor w = tc_cast(tc_reshape(tc_arange(g, TC_I32, 64 * 48), 64, 48), TC_I8);
    tc_output(g, "y", tc_matmul_integer(x, w));
    tc_output(g, "z", tc_matmul_integer(few, w));
    tc_tensor f = tc_input(g, "f", TC_F32, 32, 64);
    tc_output(g, "v", tc_relu(tc_matmul(f, tc_cast(w, TC_F32))));
}
"""
# Its words of weights are sorted for AVX2 (loops/sorted_words.py), so that they lie so for all.
ORDERED = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_tensor w = tc_cast(tc_reshape(tc_arange(g, TC_I32, 256 * 64), 256, 64), TC_I8);
    tc_output(g, "y", tc_relu(tc_matmul_integer(tc_input(g, "x", TC_I8, 2, 32, 256), w)));
}
"""


def main(folder: Path) -> None:
    small_model.prepare(folder, MODEL)
    result = small_model.run(folder, "build", "model.c", "-o", "out", "--isa", "x86_64")
    if not ok(result.returncode == 0, "the model is built"):
        note(result.stderr)
        return
    (options,) = record.builds(folder / "out")
    options = replace(options, isas=(), lock=str(folder / "model.tuning.lock"))
    of = tune_model.planned(options)
    plan, compiler, host, target = of.plan, of.compiler, of.host, of.target
    equal([isa for isa in target.isas if isa in target.integer_isas], ["avx_vnni", "avx512_vnni", "avx512_amx"],
          "the sets for integers are among those that are tuned")
    tools = harness.Toolset(compiler, target, (), options.open_cache())
    kernels = tune.contractions(plan)
    cases = tune.cases(kernels, tools, {}, False)
    text = recording.capture(options, host, options.open_cache()).text

    def findings(lock: Path) -> list[str]:
        tuning = locks.Tuning.load("frozen", lock, target)
        assemble.compile_graph(options, text, target, tuning)
        return sorted(tuning.findings)

    equal(findings(folder / "none"), sorted(case.name for case in cases),
          "what is measured is what a frozen build asks for")
    equal(len(cases), 6 + 5 + 3, "tiles are not tried where none is full, and integers' sets not for floats")
    locks.write(options.lock_path, {case.name: locks.Entry(case.name, case.candidates[-1].name, 1.0, False, "c", "0")
                                    for case in cases})
    equal(findings(options.lock_path), [], "with these entries it passes")
    equal(tune.unused([(kernels, target)], options.lock_path), [], "and none of them is unused")
    measured(folder / "measured.lock", kernels, tools, target)
    equal(lines(replace(options, lock=str(folder / "lines.lock"))),
          {"fuse", "split"} if tune_lines.team(target) > 1 else {"fuse"},
          "fusions and splits of floats beside integers are measured")
    (folder / "ordered.c").write_text(ORDERED, encoding="utf-8")
    equal(lines(replace(options, model=str(folder / "ordered.c"), lock=str(folder / "ordered.lock"))), {"fuse"},
          "fusions behind sorted words are measured, whatever the best instruction set is")


def lines(options: Options) -> set[str]:
    """The kinds of lines that were measured."""
    tune_lines.TURNS = tune_lines.CALLS = 2    # who wins does not matter here
    of = tune_model.planned(options)
    search = tune_model._Search(options, tune_model.Request(False, True, 1, "time", (), (), None),
                                tune_model.Clock(None), note)
    search.lines(of)
    search.splits()
    entries = locks.read(options.lock_path)
    return {key.partition(" ")[0] for key, entry in entries.items() if entry.time}


def measured(lock: Path, kernels: list, tools: harness.Toolset, target: Target) -> None:
    here = tuple(isa for isa in target.integer_isas if processor.runs(isa))
    if not here:
        skip("measuring", "this processor has no instructions for integers")
        return
    most = tune_pace.MOST
    try:
        tune_pace.MOST = 1
        result = tune.tune([k for k in kernels if k.product.integer],
                           replace(tools, target=replace(target, isas=here)), lock, rounds=2)
    finally:
        tune_pace.MOST = most
    equal({winner.isa for _, winner, _ in result.timed}, set(here), "those that this processor has are measured")
    equal((result.wrong, result.skipped), ([], set()), "and right")


if os.uname().machine != "x86_64":
    skip("integers", "instruction sets for integers alone are those of x86-64")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
done()
