# SPDX-License-Identifier: Apache-2.0
"""Runs folders of ONNX cases (model.onnx and test_data_set_*): imported, compiled many to a model.c, called, compared.

    conformance.py FOLDER... [--cases GLOB,…] [--results FILE] [--batch N] [--workers N]

A case passes where every output has the stored dtype, shape and values: floats within rtol 1e-3 and atol 1e-7 (bf16:
1/64, as ONNX's own runner has it; a data.json of the case may say otherwise), everything else exactly. Inputs that
sizes follow from are fixed at import to what the data set says; results count how many cases need that. `page.py`
writes docs/conformance.md of the results.
"""
from __future__ import annotations

import argparse
import fnmatch
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Sequence

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from joined import compile_as
from tensor_compile.compile import assemble, model_program
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.errors import Reported, UserError
from tensor_compile.importer import output
from tensor_compile.importer.dims import Dims, constants
from tensor_compile.importer.onnx import graph as onnx_graph
from tensor_compile.importer.onnx.data import TYPES, Source
from tensor_compile.importer.onnx.model import Model, Tensor, ValueInfo, read
from tensor_compile.importer.problems import Malformed, Unsupported
from tensor_compile.importer.program import Program
from tensor_compile.importer.values import FLOATS, Value, decode
from tensor_compile.importer.weights import Weights
from tensor_compile.symbolic import wrap
from tensor_compile.symbolic import equal

ISA = "avx2"
OPTIMISE = "-O1"   # of kernels in the short suite (tests/ops/runner.py says why)


@dataclass(slots=True)
class Result:
    """status: passed, failed, unsupported (the import says so) or broken (ours: it was imported and did not build)."""

    case: str
    status: str
    reason: str = ""
    fixed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Job:
    """One data set of a case, as one function. inputs, outputs: what the stored ones are, by C name. counts: of
    outputs whose size is data, the output that says how large they are, and along which axis."""

    case: str
    function: str
    program: Program
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    counts: dict[str, tuple[str, int]]
    tolerance: tuple[float, float]
    fixed: list[str]
    dims: dict[str, int] = field(default_factory=dict)


def cases_of(folder: Path, globs: Sequence[str]) -> list[Path]:
    return [p for p in sorted(folder.iterdir()) if (p / "model.onnx").is_file()
            and (not globs or any(fnmatch.fnmatch(p.name, g) for g in globs))]


def stored(path: Path) -> Value:
    """A tensor of a .pb file."""
    return Source(path.parent).value(read(Tensor, memoryview(path.read_bytes())))


def tolerance(case: Path) -> tuple[float, float]:
    try:
        about = json.loads((case / "data.json").read_text())
    except OSError:
        about = {}
    return float(about.get("rtol", 1e-3)), float(about.get("atol", 1e-7))


def jobs_of(case: Path, taken: set[str]) -> list[Job] | Result:
    """The case's functions, or why there are none."""
    name = case.name
    try:
        model: Model = read(Model, memoryview((case / "model.onnx").read_bytes()))
        found = []
        for data in sorted(case.glob("test_data_set_*")):
            found.append(_job(case, data, model, taken))
        return found or Result(name, "failed", "it has no data")
    except onnx_graph.NeedsValue as error:
        return Result(name, "unsupported", error.message)
    except Unsupported as error:
        return Result(name, "unsupported", error.message)
    except Malformed as error:
        return Result(name, "failed", f"read as malformed: {error}")
    except UserError as error:
        return Result(name, "unsupported", error.message)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Result(name, "broken", f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


def _job(case: Path, data: Path, model: Model, taken: set[str]) -> Job:
    assert model.graph is not None
    initial = {t.name for t in model.graph.initializer}
    declared = [i.name for i in model.graph.input if i.name not in initial] or [i.name for i in model.graph.input]
    given: dict[str, Value] = {}
    for i, input_name in enumerate(declared):
        path = data / f"input_{i}.pb"
        if path.exists() and path.stat().st_size:
            info = next(v for v in model.graph.input if v.name == input_name)
            if info.type is None or info.type.tensor is None:
                raise Unsupported("an input that is no tensor")
            given[input_name] = _as_declared(stored(path), TYPES.get(info.type.tensor.elem_type))
    for info in model.graph.output:
        if info.type is None or info.type.tensor is None:
            raise Unsupported("an output that is no tensor")
    base = re.sub(r"\W", "_", case.name) + ("" if data.name.endswith("_0") else "_" + data.name.rpartition("_")[2])
    function, count = base, 2
    while function in taken:
        function, count = f"{base}_{count}", count + 1
    taken.add(function)
    # Where the data has another shape than the model says (suite 1.12 has such), nothing but a constant fits both.
    fixed = {v.name: given[v.name] for v in model.graph.input if v.name in given and _misdeclared(v, given[v.name])}
    while True:
        program = Program(function, Dims())
        program.prefix = f"{function}."
        importer = onnx_graph.Importer(model, Source(case), program, fixed)
        importer.run()
        more = [n for p in importer.problems for n in p.inputs if n in given and n not in fixed]
        if not more:
            break
        fixed[more[0]] = given[more[0]]
    if importer.problems:
        first = importer.problems[0]
        raise Unsupported("; ".join(dict.fromkeys(f"{p.what}: {p.why}" for p in importer.problems)) or first.why)
    names = {value.number: c_name for c_name, value in program.inputs}
    inputs, dims = {}, {}
    for info in model.graph.input:
        number = next((n for n, shown in importer._inputs.items() if shown == info.name), None)
        if number is None:
            continue
        if info.name not in given:
            raise Unsupported(f"no data for the input {info.name}")
        inputs[names[number]] = given[info.name]
        for size, actual in zip(program.values[number].shape, constants(given[info.name].shape) or ()):
            for s in size.symbols():
                if str(size) == s.name:
                    dims[s.name] = actual
    outputs, counts = {}, {}
    sized = [value.counted for _, value in program.outputs]
    for at, counted in enumerate(sized):
        if counted is not None:
            counts[program.outputs[at][0]] = (program.outputs[at + 1][0], counted[1])
    of_counts = {name for name, _ in counts.values()}
    for i, c_name in enumerate(name for name, _ in program.outputs if name not in of_counts):
        declared_type = model.graph.output[i].type
        assert declared_type is not None and declared_type.tensor is not None
        outputs[c_name] = _as_declared(stored(data / f"output_{i}.pb"), TYPES.get(declared_type.tensor.elem_type))
    return Job(case.name, function, program, inputs, outputs, counts, tolerance(case), sorted(fixed), dims)


def _as_declared(value: Value, dtype: str | None) -> Value:
    """Suite 1.12 stores bf16 as the bits of u16."""
    if value.dtype == "u16" and dtype == "bf16":
        return Value("bf16", value.shape, data=value.data)
    return value


def _misdeclared(info: ValueInfo, value: Value) -> bool:
    declared = info.type.tensor.shape if info.type and info.type.tensor else None
    return declared is not None and (len(declared.dims) != value.rank or any(
        d.value is not None and not equal(d.value, s) for d, s in zip(declared.dims, value.shape)))


# -- building ----------------------------------------------------------------------------------------------------------

def options(folder: Path, cache: Path, jobs: int) -> Options:
    return Options(model=str(folder / "model.c"), shown="model.c", object=str(folder / "model.o"),
                   header=str(folder / "model.h"), cache=str(cache), programs=os.environ.get("TC_TESTS_CACHE", ""),
                   isas=(ISA,), tune="off", jobs=jobs, capture_timeout=300)


def run_batch(batch: list[Job], cache: Path, jobs: int) -> list[Result]:
    """Results of jobs that are built together; what keeps the others from building is found and left out."""
    results: list[Result] = []
    left = list(batch)
    while left:
        with tempfile.TemporaryDirectory(dir=cache) as work:
            folder = Path(work)
            outcome = _build(left, folder, cache, jobs)
            if isinstance(outcome, tuple):
                made, given = outcome
                results += _run(left, made, given, folder, jobs)
                return results
            if isinstance(outcome, dict):    # mistakes that capture found
                results += [Result(j.case, "broken", outcome[j.function], j.fixed) for j in left
                            if j.function in outcome]
                left = [j for j in left if j.function not in outcome]
                continue
        if len(left) == 1:
            results.append(Result(left[0].case, "broken", outcome, left[0].fixed))
            return results
        half = len(left) // 2
        return results + run_batch(left[:half], cache, jobs) + run_batch(left[half:], cache, jobs)
    return results


def _build(batch: list[Job], folder: Path, cache: Path, jobs: int) -> tuple | dict[str, str] | str:
    for job in batch:
        job.program.statements = list(job.program.statements)
    written = output.write([j.program for j in batch], "model.safetensors", ["conformance"], model="suite")
    (folder / "model.c").write_text(written.text, encoding="utf-8")
    with open(folder / "model.safetensors", "wb") as f:
        f.writelines(written.blocks())
    given = options(folder, cache, jobs)
    kept, sys.stderr = sys.stderr, io.StringIO()
    compile_as(given.optimize, OPTIMISE)
    try:
        with Progress() as progress:
            return assemble.run(given, progress), given
    except Reported:
        return _mistakes(written.text, sys.stderr.getvalue()) or "capture: " + sys.stderr.getvalue()[:300]
    except UserError as error:
        said = sys.stderr.getvalue()
        return _mistakes(written.text, said) or f"{error.message} {said[:300]}".strip()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = str(getattr(error, "detail", ""))
        first = next((line for line in detail.splitlines() if "error" in line), "")
        return f"{type(error).__name__}: {error} {first} ({Path(where.filename).name}:{where.lineno})"
    finally:
        sys.stderr = kept


def _mistakes(text: str, messages: str) -> dict[str, str]:
    """The first message of each function that has one, by the lines of the file."""
    starts = [(i, m[1]) for i, line in enumerate(text.splitlines(), 1)
              if (m := re.match(r"TC_FUNCTION\((\w+)\)", line))]
    found: dict[str, str] = {}
    for m in re.finditer(r"^model\.c:(\d+)(?::\d+)?: error: (.*)", messages, re.M):
        owner = [name for at, name in starts if at <= int(m[1])]
        if owner:
            found.setdefault(owner[-1], m[2])
    return found


# -- running -----------------------------------------------------------------------------------------------------------

def states_of(batch: Sequence[Job]) -> Weights:
    """The states of the programs, all zero: what they are before the first call."""
    found = Weights()
    for job in batch:
        for statement in job.program.statements:
            m = re.fullmatch(r'tc_state\(g, "([^"]+)", TC_(\w+)((?:, \d+)*)\)', statement.text)
            if m and m[1] not in found:
                shape = tuple(wrap(int(s)) for s in m[3].split(",")[1:])
                found.add(m[1], Value(m[2].lower(), shape, splat=False if m[2] == "BOOL" else 0))
    return found


def _run(batch: list[Job], made: assemble.Made, given: Options, folder: Path, jobs: int) -> list[Result]:
    runner = model_program.model_program(made, given.cflags, given.open_cache(), jobs, model_program.RUN_MODEL,
                                         [], folder / "run-model")
    symbols = assemble.entry_symbols(made.compiled.plan)
    results = []
    states = states_of(batch)
    with open(folder / "state", "wb") as f:
        f.writelines(states.blocks())
    state = (str(folder / "state"), str(folder / "state-out")) if len(states) else ("-", "-")
    for job in batch:
        inputs = Weights()
        for name, value in job.inputs.items():
            inputs.add(name, value)
        with open(folder / "in", "wb") as f:
            f.writelines(inputs.blocks())
        done = subprocess.run([str(runner), symbols[job.function], str(folder / "in"), str(folder / "out"), ISA, "1",
                               "-",
                               *state, *(f"{k}={v}" for k, v in job.dims.items())], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            reason = done.stderr.strip() or f"exit code {done.returncode}"
            results.append(Result(job.case, "failed", reason, job.fixed))
            continue
        wrong = compare(job, folder / "out")
        results.append(Result(job.case, "failed" if wrong else "passed", wrong, job.fixed))
    return results


def compare(job: Job, path: Path) -> str:
    """What differs first, "" where nothing does."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    types = {"F32": "f32", "F64": "f64", "F16": "f16", "BF16": "bf16", "BOOL": "bool"}
    for name, want in job.outputs.items():
        about = header[name]
        dtype = types.get(about["dtype"], about["dtype"].lower())
        shape = constants(want.shape)
        begin, end = about["data_offsets"]
        found = content[8 + size + begin:8 + size + end]
        if name in job.counts:
            number, axis = job.counts[name]
            at = 8 + size + header[number]["data_offsets"][0]
            about["shape"], found = counted_part(found, about["shape"], axis,
                                                 int.from_bytes(content[at:at + 8], "little"))
        if dtype != want.dtype:
            return f"{name}: {dtype} instead of {want.dtype}"
        if about["shape"] != shape:
            return f"{name}: shape {about['shape']} instead of {shape}"
        count = math.prod(shape or [])
        got = decode(found, dtype, count) or ()
        expected = decode(b"".join(want.data.blocks()) if want.data else b"", dtype, count) or ()
        wrong = differs(got, expected, dtype, job.tolerance)
        if wrong:
            return f"{name}: {wrong}"
    return ""


def counted_part(content: bytes, shape: list[int], axis: int, count: int) -> tuple[list[int], bytes]:
    """The first places of an axis. What is behind them has to be zeros: it stays where it is not, and so differs."""
    inner = len(content) // max(1, math.prod(shape[:axis + 1]))
    rows = [content[i * shape[axis] * inner:(i + 1) * shape[axis] * inner] for i in range(math.prod(shape[:axis]))]
    if count > shape[axis] or any(any(row[count * inner:]) for row in rows):
        return shape, content
    return [*shape[:axis], count, *shape[axis + 1:]], b"".join(row[:count * inner] for row in rows)


def differs(got: Sequence, want: Sequence, dtype: str, bounds: tuple[float, float]) -> str:
    if dtype not in FLOATS:
        wrong = [i for i, (g, w) in enumerate(zip(got, want)) if g != w]
        return f"{len(wrong)} of {len(want)} differ, " \
            f"[{wrong[0]}] is {got[wrong[0]]} instead of {want[wrong[0]]}" if wrong \
            else ""
    rtol, atol = (1 / 64, bounds[1]) if dtype == "bf16" else bounds
    worst, where = 0.0, -1
    for i, (g, w) in enumerate(zip(got, want)):
        if g == w or g != g and w != w:
            continue
        off = abs(g - w) - (atol + rtol * abs(w))
        if not off <= 0:
            if where < 0 or off > worst or off != off:
                worst, where = off, i
    return f"[{where}] is {got[where]:.9g} instead of {want[where]:.9g}" if where >= 0 else ""


def merged(results: Sequence[Result]) -> list[Result]:
    """One result a case: the worst of its data sets."""
    order = ("broken", "failed", "unsupported", "passed")
    by_case: dict[str, Result] = {}
    for r in results:
        known = by_case.get(r.case)
        if known is None or order.index(r.status) < order.index(known.status):
            by_case[r.case] = r
    return [by_case[name] for name in sorted(by_case)]


def _worker(paths: list[Path], cache: Path, jobs: int) -> list[Result]:
    results: list[Result] = []
    batch: list[Job] = []
    taken: set[str] = {"suite"}
    for path in paths:
        found = jobs_of(path, taken)
        if isinstance(found, Result):
            results.append(found)
        else:
            batch += found
    return results + run_batch(batch, cache, jobs)


def run(paths: Sequence[Path], cache: Path, size: int = 40, workers: int = 1) -> list[Result]:
    """The results of cases, in their order. Each batch is a process of its own: what one leaves does not slow the
    next."""
    cache.mkdir(parents=True, exist_ok=True)
    batches = [list(paths[i:i + size]) for i in range(0, len(paths), size)]
    results: list[Result] = []
    if len(batches) == 1:
        return merged(_worker(batches[0], cache, 2))
    with ProcessPoolExecutor(workers, max_tasks_per_child=1) as pool:
        for done in pool.map(_worker, batches, [cache] * len(batches), [max(1, 2 // workers)] * len(batches)):
            results += done
            if sys.stderr.isatty() or os.environ.get("TC_PROGRESS"):
                passed = sum(r.status == "passed" for r in results)
                print(f"{passed} of {len(results)} passed", file=sys.stderr, flush=True)
    return merged(results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cases", default="")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    global OPTIMISE
    OPTIMISE = "-O3"
    globs = [g for g in args.cases.split(",") if g]
    paths = [p for folder in args.folders for p in cases_of(folder, globs)]
    results = run(paths, Path(os.environ["TC_TESTS_CACHE"]) / "conformance", args.batch, args.workers)
    if args.results:
        args.results.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    for r in results:
        if r.status != "passed" and not args.quiet:
            print(f"{r.case}: {r.status}: {r.reason}")
    counts = {s: sum(r.status == s for r in results) for s in ("passed", "failed", "broken", "unsupported")}
    print(f"{len(results)} cases: " + ", ".join(f"{n} {s}" for s, n in counts.items()) +
          f"; {sum(bool(r.fixed) for r in results if r.status == 'passed')} of those that pass have fixed inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
