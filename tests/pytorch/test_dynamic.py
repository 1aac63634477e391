# SPDX-License-Identifier: Apache-2.0
"""Models whose sizes differ from call to call: imported, built with variants for some sizes and without any, called at
sizes at and beside every boundary. Compared with PyTorch's results; both builds have the same bits. test_dynamic.py
[MODEL]; make_cases.py makes cases/dynamic.zip of dynamic.py."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

import conformance
import tap
from joined import compile_as
from processor import lacks
from tensor_compile.compile import assemble, model_program
from tensor_compile.compile.progress import Progress
from tensor_compile.importer import output
from tensor_compile.importer.dims import Range
from tensor_compile.importer.program import Program
from tensor_compile.importer.pytorch import reader
from tensor_compile.importer.values import Value
from tensor_compile.importer.weights import Weights
from test_cases import CASES, TOLERANCE, tensors

Sizes = dict[str, int]


class Built:
    """A program that calls the model. specialize: the sizes of its variants."""

    def __init__(self, program: Program, specialize: dict[str, list[int]], folder: Path, cache: Path):
        folder.mkdir()
        self.folder, self.program = folder, program
        written = output.write([program], "model.safetensors", ["test"], model="model")
        (folder / "model.c").write_text(written.text, encoding="utf-8")
        with open(folder / "model.safetensors", "wb") as f:
            f.writelines(written.blocks())
        options = replace(conformance.options(folder, cache, 2),
                          specialize=tuple((k, tuple(v)) for k, v in specialize.items()))
        compile_as(options.optimize, conformance.OPTIMISE)
        with Progress() as progress:
            made = assemble.run(options, progress)
        self.has_state = False
        self.symbol = assemble.entry_symbols(made.compiled.plan)[program.name]
        self.variants = len(next(f for f in made.compiled.plan.functions if f.name == program.name).variants)
        self.called = model_program.build(made, options, options.open_cache(), folder, [], ())

    def initial(self, job: conformance.Job) -> None:
        """The state is what it is before the first call: zeros."""
        states = conformance.states_of([job])
        self.has_state = len(states) > 0
        with open(self.folder / "state", "wb") as f:
            f.writelines(states.blocks())

    def call(self, inputs: dict[str, Value], sizes: Sizes) -> subprocess.CompletedProcess[str]:
        """The next call behind `initial`; its outputs are in `out`."""
        given = Weights()
        for name, value in inputs.items():
            given.add(name, value)
        with open(self.folder / "in", "wb") as f:
            f.writelines(given.blocks())
        state, after = self.folder / "state", self.folder / "state-after"
        done = self.called.call(self.symbol, self.folder / "in", self.folder / "out", conformance.ISA, 2, sizes,
                                (str(state), str(after)) if self.has_state else ("-", "-"))
        if self.has_state and done.returncode == 0:
            after.replace(state)
        return done

    @property
    def bits(self) -> list[bytes]:
        """Of the outputs and the state."""
        return [path.read_bytes() for path in (self.folder / "out", self.folder / "state") if path.exists()]


def zeros(program: Program, sizes: Sizes) -> dict[str, Value]:
    values = {s: sizes[name] for name, s in program.dims.declared.items()}
    return {name: Value(v.dtype, shape, splat=False if v.dtype == "bool" else 0)
            for name, v in program.inputs for shape in [tuple(s.substitute(values) for s in v.shape)]}


def test(model: str, archive: zipfile.ZipFile, folder: Path, cache: Path) -> None:
    path = folder / f"{model}.pt2"
    path.write_bytes(archive.read(f"{model}/program.pt2"))
    about = json.loads(archive.read(f"{model}/sizes.json"))
    asked = {dim: found for dim, text in about["ranges"].items() if (found := Range.parse(text)) is not None}
    program = reader.import_program(path, path.name, model, asked)
    generic = Built(program, {}, folder / f"{model}-generic", cache)
    variants = Built(program, about["specialize"], folder / f"{model}-variants", cache)
    tap.ok(generic.variants == 1 and variants.variants > 2, f"{model}: it has {variants.variants} variants")
    sizes: Sizes = {}
    for r, run in enumerate(about["runs"]):
        for c, sizes in enumerate(run):
            inputs = tensors(archive.read(f"{model}/{r}/{c}/inputs.safetensors"))
            outputs = tensors(archive.read(f"{model}/{r}/{c}/outputs.safetensors"))
            job = conformance.Job(model, model, program, inputs, outputs, {}, TOLERANCE, [], sizes)
            shown = f"{model}: call {c} of run {r}, " + ", ".join(f"{k} = {v}" for k, v in sizes.items())
            for built in (generic, variants):
                if c == 0:
                    built.initial(job)
                (built.folder / "out").unlink(missing_ok=True)
                done = built.call(inputs, sizes)
                wrong = done.stderr if done.returncode else conformance.compare(job, built.folder / "out")
                if not tap.ok(not done.returncode and not wrong, f"{shown} ({built.variants} variants)"):
                    tap.note(wrong)
            tap.ok(generic.bits == variants.bits and len(generic.bits) == 2, f"{shown}: the same bits")
    for changed in about["outside"]:
        wrong_sizes = sizes | changed
        (name, size), = changed.items()
        done = variants.call(zeros(program, wrong_sizes), wrong_sizes)
        if not tap.ok(done.returncode == 1 and name in done.stderr and str(size) in done.stderr
                      and len(done.stderr.splitlines()) == 1, f"{model}: {name} = {size} is refused"):
            tap.note(f"exit code {done.returncode}: {done.stderr}")


def main(wanted: list[str]) -> None:
    if lacks(conformance.ISA):
        tap.skip("dynamic", f"this processor has no {conformance.ISA}")
        tap.done()
    conformance.OPTIMISE = "-O1" if wanted else "-O3"
    cache = Path(os.environ["TC_TESTS_CACHE"]) / "pytorch"
    cache.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(CASES / "dynamic.zip") as archive, tempfile.TemporaryDirectory() as temporary:
        for model in wanted or sorted({name.partition("/")[0] for name in archive.namelist()}):
            test(model, archive, Path(temporary), cache)
    tap.done()


main(sys.argv[1:])
