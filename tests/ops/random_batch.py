# SPDX-License-Identifier: Apache-2.0
"""One model.c of many random graphs (random_ops.py): built, run, compared.

Every function at several sizes: all variants and teams against the interpreter bit for bit, between guard pages,
outputs filled with a pattern before (run_cases.c); and the interpreter against PyTorch's values in double. What
PyTorch's values may differ by follows from themselves: how far an error of a unit in the last place of each step gets.
"""
from __future__ import annotations

import io
import math
import os
import platform
import random
import re
import struct
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
sys.path[1:1] = [str(ROOT / "tests" / "interpreter")]

import random_layers
import random_ops
import st
from random_graph_c import MOST, Graph, Value, more_zeros, no_zeros
from joined import compile_as
from runner import CALLER, EMULATED, NATIVE, Machine, words
from tensor_compile.compile import assemble, model_program
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.given import failed_guard
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.emit.nests import far
from tensor_compile.graph.text import print_module
from tensor_compile.loops import stripe_gains
from tensor_compile.loops.program_ir import regions, Tiles

TRIED = (0, 1, 2, 3, 5, 8, 16, 17, 33)    # sizes of dynamic dims
CASES = 3                                 # sizes of a graph, at most
FAMILIES = {"values": random_ops.graph, "layers": random_layers.graph}
FORMAT = {"float32": ("F32", "f"), "float64": ("F64", "d")}
UNIT = {"f32": 2.0**-23, "f64": 2.0**-52}


@dataclass(frozen=True)
class Way:
    """How a model is built and run. memory, numerics: the tool's options; caches: bytes of the second and the third
    cache (0: the target's own), of a team of up to five; stripes: all chains run so whose rows stay in the second
    cache; arch: "" for this machine's, else one that is emulated; sanitize: what GCC's -fsanitize looks for."""

    memory: str = "fast"
    numerics: str = "exact"
    caches: tuple[int, int] = (0, 0)
    stripes: bool = False
    arch: str = ""
    sanitize: str = ""

    @property
    def cflags(self) -> tuple[str, ...]:
        return (f"-fsanitize={self.sanitize}", "-fno-sanitize-recover=all", "-g") if self.sanitize else ()

    @property
    def words(self) -> str:
        """The options of the command line."""
        return " ".join((f"--memory {self.memory}", f"--numerics {self.numerics}",
                         "--caches {},{}".format(*self.caches), *(["--stripes"] if self.stripes else []),
                         *([f"--arch {self.arch}"] if self.arch else []),
                         *([f"--sanitize {self.sanitize}"] if self.sanitize else [])))


@dataclass
class Job:
    """What a worker is asked for. optimise: the kernels' -O; torch: whether PyTorch's values are wanted; optimize: the
    tool's option, which says what kernels may be one; family: of FAMILIES."""

    seeds: list[int]
    isas: tuple[str, ...]
    cache: str
    optimise: str
    torch: bool
    optimize: str = "speed"
    family: str = "values"
    way: Way = Way()


@dataclass
class Outcome:
    """failures: (seed, what is wrong). cases: sizes run; values: outputs compared with PyTorch's; refused: those that
    PyTorch has no values for; kernels: compiled. forms: how many kernels and regions are in each."""

    failures: list[tuple[int, str]] = field(default_factory=list)
    forms: Counter[str] = field(default_factory=Counter)
    graphs: int = 0
    cases: int = 0
    values: int = 0
    refused: int = 0
    kernels: int = 0

    def add(self, other: "Outcome") -> None:
        self.failures += other.failures
        self.forms += other.forms
        for name in ("graphs", "cases", "values", "refused", "kernels"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def run(job: Job) -> Outcome:
    """The graphs together; in halves where the model does not get as far as to run."""
    try:
        return _run(job)
    except BaseException as error:   # an error of the tool may end the process: exit codes, too
        if isinstance(error, KeyboardInterrupt):
            raise
        if len(job.seeds) == 1:
            return Outcome([(job.seeds[0], f"{type(error).__name__}: {error}")], graphs=1)
    whole = Outcome()
    middle = len(job.seeds) // 2
    for part in (job.seeds[:middle], job.seeds[middle:]):
        whole.add(run(replace(job, seeds=part)))
    if not whole.failures:
        whole.failures.append((job.seeds[0], f"graphs {job.seeds[0]} to {job.seeds[-1]} do not build together"))
    return whole


def _run(job: Job) -> Outcome:
    graphs = [FAMILIES[job.family](seed) for seed in job.seeds]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tensors = {f"{g.name}.{v.name}": tensor(g, v, {}) for g in graphs for v in g.weights}
        st.write(folder / "weights.safetensors", tensors)
        (folder / "graphs.c").write_text("\n".join([
            "#include <tensor_compile/model.h>", "", "#include <math.h>", "", "TC_MODEL(graphs)", "{",
            *(['    tc_weights(g, "weights.safetensors");'] if tensors else []), "}", "", *(g.text for g in graphs)]),
            encoding="utf-8")
        cache = Cache(Path(job.cache))
        made = build(folder, job, cache)
        found = Outcome(graphs=len(graphs), kernels=len(made.sources.by_symbol), forms=forms(made))
        cases: list[tuple[Graph, dict[str, int], str]] = []
        lines, given = [], {}
        for g in graphs:
            for number, dims in enumerate(sizes_of(g, made)):
                key = f"{g.name}.{number}"
                cases.append((g, dims, key))
                text = words(made, g.name, dims)
                given |= {f"{key}.in.{v.name}": tensor(g, v, dims, number) for v in g.inputs}
                lines.append(f"given {g.name} @{key} {text}")
                if number == 0:
                    lines.append(f"bits {g.name} {text}")
        st.write(folder / "given.safetensors", given)
        (folder / "cases").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (folder / "graph.tcg").write_text(print_module(assemble.placed(made.compiled.reference, made)),
                                          encoding="utf-8")
        found.failures += execute(folder, made, cache, lines, job.way)
        found.cases = len(cases)
        if job.torch and job.way.numerics == "exact":
            outputs = results(folder / "results")
            for g, dims, key in cases:
                if g.dtype not in UNIT:
                    continue
                compare(found, g, dims, key, given, tensors, outputs)
    return found


def build(folder: Path, job: Job, cache: Cache) -> assemble.Made:
    """With the verifiers on, in this process alone."""
    way = job.way
    options = Options(model=str(folder / "graphs.c"), shown="graphs.c", object="model.o", header="model.h",
                      cache=job.cache, isas=job.isas, tune="off", verify=True, jobs=1, optimize=job.optimize,
                      memory=way.memory, numerics=way.numerics, cc=machine(way).cc, cflags=way.cflags)
    compile_as(options.optimize, job.optimise)
    gains = stripe_gains._Gains
    usual = far.FAR, far.NEAR, stripe_gains.FEWEST, gains.gain
    if any(way.caches):
        options = replace(options, target_file=caches(folder, way))
        far.FAR, far.NEAR = way.caches
    if way.stripes:
        stripe_gains.FEWEST = 1
        gains.gain = lambda self, part, costs, block: float(sum(costs.values))
    said = io.StringIO()
    try:
        with Progress() as progress, redirect_stdout(said):
            return assemble.run(options, progress)
    finally:
        far.FAR, far.NEAR, stripe_gains.FEWEST, gains.gain = usual


def machine(way: Way) -> Machine:
    return EMULATED[way.arch] if way.arch else NATIVE


def caches(folder: Path, way: Way) -> str:
    """The path of the architecture's target file with these caches, and a team of five."""
    arch = way.arch or platform.machine()
    text = (ROOT / "targets" / f"{arch}.toml").read_text(encoding="utf-8")
    for word, value in (("threads", 5), ("l2", way.caches[0]), ("l3", way.caches[1])):
        text = re.sub(rf"(?m)^{word} = \d+", f"{word} = {value}", text)
    (folder / "caches.toml").write_text(text, encoding="utf-8")
    return str(folder / "caches.toml")


MARKS = {"taken in turn": "tcv_take_", "put in turn": "tcv_put_", "past the caches": "tcv_stream_",
         "even": "tcv_evens_", "joined vectors": "tcv_shifted_"}


def forms(made: assemble.Made) -> Counter[str]:
    """Kernels and regions of several kinds."""
    found = Counter[str]()
    for source in made.sources.by_symbol.values():
        found.update(name for name, mark in MARKS.items() if mark in source.text)
    for f in made.compiled.plan.functions:
        for v in f.variants:
            found.update("stripes" if r.windows else "tiles" for r in regions(v.program.steps) if isinstance(r, Tiles))
            found["variants"] += len(f.variants) > 1
    return found


def sizes_of(g: Graph, made: assemble.Made) -> list[dict[str, int]]:
    """A few that the function's guards allow: at the low end, specialized, others."""
    plan = next(f for f in made.compiled.plan.functions if f.name == g.name)
    rng = random.Random(g.seed)
    used = {d.sym.name for d in plan.dims}
    dims = [d for d in g.dims if d.name in used]
    found: list[dict[str, int]] = []
    for turn in range(12):
        sizes = {}
        for d in dims:
            others = [s for s in TRIED if d.low <= s <= MOST]
            listed = d.special if turn % 2 and d.special else others
            sizes[d.name] = d.low if turn == 0 else rng.choice(listed)
        if sizes not in found and failed_guard(plan, sizes) is None and not _no_index(g, sizes):
            found.append(sizes)
        if len(found) == CASES or not dims:
            break
    return found


def _no_index(g: Graph, sizes: dict[str, int]) -> bool:
    """An input has elements, and there is nothing that they may be the index of."""
    full = {d.name: d.low for d in g.dims} | sizes
    return any(v.below is not None and v.below.at(full) == 0 and all(s.at(full) for s in v.shape) for v in g.inputs)


def tensor(g: Graph, v: Value, dims: dict[str, int], turn: int = 0) -> tuple[str, list[int], list]:
    """The elements of an input or weight: small multiples of 1/8, of which many are equal."""
    full = {d.name: d.low for d in g.dims} | dims
    rng = random.Random(f"{g.seed} {v.name} {turn}")
    shape = [s.at(full) for s in v.shape]
    count = math.prod(shape)
    if v.kind == "i64":
        below = max(1, v.below.at(full))
        return "I64", shape, [rng.randrange(below) for _ in range(count)]
    span = rng.choice((3, 24))
    return g.dtype.upper(), shape, [rng.randrange(-span, span + 1) / 8 for _ in range(count)]


def execute(folder: Path, made: assemble.Made, cache: Cache, lines: list[str], way: Way = Way()
            ) -> list[tuple[int, str]]:
    """Runs the cases; what is not as it should be, by seed."""
    program = model_program.model_program(made, way.cflags, cache, 1, CALLER, [], folder / "run-cases")
    result = subprocess.run([*machine(way).wrapper, str(program), "graph.tcg", "cases", "given.safetensors",
                             "results"], cwd=folder, capture_output=True, text=True, check=False)
    failed: list[tuple[int, str]] = []
    seen = 0
    for line in result.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            seen += 1
            if line.startswith("not"):
                failed.append((_seed(lines[seen - 1]), lines[seen - 1]))
        elif line.startswith("#") and failed and failed[-1][1] == lines[seen - 1]:
            failed[-1] = (failed[-1][0], f"{failed[-1][1]}: {line[2:]}")
    if seen != len(lines) or result.returncode not in (0, 1):
        at = lines[min(seen, len(lines) - 1)]
        raise RuntimeError(f"{at}: exit code {result.returncode}: {result.stderr.strip()}")
    return failed


def _seed(line: str) -> int:
    return int(line.split()[1].removeprefix("graph"))


def results(path: Path) -> dict[str, bytes]:
    """The interpreter's outputs: lines of a key and a number of bytes, each before so many bytes."""
    raw, at, found = path.read_bytes(), 0, {}
    while at < len(raw):
        end = raw.index(b"\n", at)
        key, size = raw[at:end].decode().split(" ")
        at = end + 1 + int(size)
        found[key] = raw[end + 1:at]
    return found


def compare(found: Outcome, g: Graph, dims: dict[str, int], key: str, given: dict, weights: dict,
            outputs: dict[str, bytes]) -> None:
    """The outputs of one case with PyTorch's."""
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="random_ops", category=UserWarning)   # variances of no elements
    full = {d.name: d.low for d in g.dims} | dims
    inputs = {v.name: _torch(torch, given[f"{key}.in.{v.name}"]) for v in g.inputs}
    inputs |= {v.name: _torch(torch, weights[f"{g.name}.{v.name}"]) for v in g.weights}
    unit = 8 * UNIT[g.dtype]
    want, near, *others = (g.evaluate(torch, inputs, full, *error) for error in (
        (0.0,), (unit,), (unit, no_zeros), (unit, more_zeros)))
    for name, v in g.outputs:
        if want[name] is None or f"{key}.out.{name}" not in outputs:
            found.refused += 1
            continue
        found.values += 1
        wrong = difference(torch, g, v, outputs[f"{key}.out.{name}"], want[name], near[name],
                           [of[name] for of in others])
        if wrong:
            found.failures.append((g.seed, f"{name} at {dims or 'its sizes'}: {wrong}"))


def _torch(torch: Any, given: tuple[str, list[int], list]) -> Any:
    dtype, shape, values = given
    return torch.tensor(values, dtype=torch.int64 if dtype == "I64" else torch.float64).reshape(shape)


def difference(torch: Any, g: Graph, v: Value, raw: bytes, want: Any, near: Any, others: list[Any]) -> str:
    """Where an output is too far from PyTorch's, or "". others: where one of them is not the infinity or NaN that
    `want` is, an error decides which it is: 0 times infinity is NaN, and the least number's product is infinity."""
    code = {"i64": "q", "bool": "?"}.get(v.kind, "f" if g.dtype == "f32" else "d")
    got = torch.tensor([x for (x,) in struct.iter_unpack(f"<{code}", raw)],
                       dtype={"i64": torch.int64, "bool": torch.bool}.get(v.kind, torch.float64))
    if got.numel() != want.numel():
        return f"{got.numel()} elements, PyTorch has {list(want.shape)}"
    want, near = want.reshape(-1), near.reshape(-1)
    if v.kind != "float" or v.exact:
        bad = (got != want) & ~((got != got) & (want != want))
        bound = torch.zeros(())
    else:
        finite = want.isfinite() & near.isfinite()
        scale = want[finite].abs().max().item() if finite.any() else 0.0
        far = (near - want)[finite].abs().max().item() if finite.any() else 0.0
        bound = torch.tensor(32 * UNIT[g.dtype] * (scale + 1) + 16 * far)
        same = (got == want) | ((got != got) & (want != want)) | (near.isfinite() != want.isfinite())
        for other in others:
            other = other.reshape(-1)
            same |= ~want.isfinite() & (other != want) & ~((other != other) & (want != want))
        bad = ~same & ~((got - want).abs() <= bound)
    if not bad.any():
        return ""
    at = int(bad.nonzero()[0])
    return f"[{at}] of {got.numel()}: got {got[at].item()!r}, PyTorch {want[at].item()!r}, within {bound.item():.3g}"
