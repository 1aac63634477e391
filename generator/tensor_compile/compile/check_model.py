# SPDX-License-Identifier: Apache-2.0
"""`check`: the compiled model against the interpreter and the user's own outputs. All arithmetic is in C: the
interpreter, the compiled model in a small program (generator/check/run_model.c), and tc-data, which makes random inputs
and compares.
"""
from __future__ import annotations

import functools
import subprocess
from dataclasses import field, replace
from itertools import islice, product
from pathlib import Path
from typing import Callable, Collection, Iterable, Mapping, Sequence

from ..errors import OptionError, UserError, closest
from ..graph.dce import dce
from ..graph.ir import Function, Loc, Module, Node, Value
from ..graph.table import PRIMITIVES, is_elementwise
from ..graph.text import print_module
from ..graph.verify import callees_of
from ..loops.program_ir import FunctionPlan, Variant
from ..loops.scalar_ir import Buffer
from ..pipeline import Compiled
from ..records import dataclass
from ..symbolic import Expr, Sym, const
from . import assemble, files, given, host_programs, memory, model_program, numpy_files, roundings, tensor_files
from .assemble import Made, Planned
from .capture_run import Captured
from .given import Case, Given
from .jobs import run_all
from .model_program import Program
from .numbers import number_of
from .options import Options
from .progress import Progress
from .roundings import Followed
from .spread import MOST, Spread, counts, decided, likely

MOST_TRIED = 100    # sizes of a dim that are tried against guards
NEAR = "1e-4,1e-5"      # rtol, atol of floats that become integers
# rtol, atol of products of fewer digits, and units in the last place of 1 for results of 16 bits
BOUNDS = {"tf32": "5e-3,1e-2,16", "f16": "5e-3,1e-2,16", "bf16": "2e-2,5e-2,16"}
EXPECTED = 1e-4         # of the user's own outputs, which other programs computed in their ways
ANY_INTEGER = 1000  # bound of random integers that index nothing


@dataclass(frozen=True, slots=True)
class Request:
    """dims: the sizes to check at, each a mapping by dim name; () for every specialized combination and a generic one,
    or those of the shapes of the inputs. cases: the user's own inputs and outputs; () for random inputs. seed: of
    these, and of inputs that a case lacks; None: it must have all. state: the user's file of it, "" for a random one.
    names: the model's name of a tensor -> the files', where they differ. externs: C sources of the functions that the
    model calls with tc_extern. wrapper: the words that start a program of the target here. save: where the outputs are
    written, "" nowhere."""

    function: str
    dims: tuple[dict[str, int], ...]
    cases: tuple[Case, ...]
    rtol: float | None
    atol: float | None
    seed: int | None
    threads: int
    wrapper: tuple[str, ...]
    save: str = ""
    externs: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    state: str = ""

    def bound(self, otherwise: str) -> str:
        """RTOL,ATOL as the user has them, the one that is not named is the usual one; else `otherwise`."""
        if self.rtol is None and self.atol is None:
            return otherwise
        rtol, atol = NEAR.split(",")
        return f"{rtol if self.rtol is None else self.rtol},{atol if self.atol is None else self.atol}"


@dataclass(frozen=True, slots=True)
class Run:
    """One function at some sizes. inputs, expect, state: the user's files, None for no outputs and for a state that is
    made up. made_up: inputs that no file has."""

    function: FunctionPlan
    sizes: dict[str, int]
    inputs: Given
    made_up: Sequence[str]
    expect: Given | None = None
    state: Given | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """The files of a case."""

    case: Case
    inputs: Given
    expect: Given | None


@dataclass(slots=True)
class Verdict:
    """What was found, for the lines at the end: the comparisons, the first that failed, how many runs were left out, by
    the instruction set that is not there. notes: each once."""

    compared: int = 0
    failed: int = 0
    first: str = ""
    skipped: dict[str, int] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def fail(self, line: str) -> None:
        self.failed += 1
        self.first = self.first or line.removesuffix("FAILED").rstrip()

    def text(self, shown: str, runs: int) -> str:
        skipped = f", {number_of(sum(self.skipped.values()), 'run')} skipped" if self.skipped else ""
        if self.failed:
            return f"{shown}: WRONG: {self.failed} of {number_of(self.compared, 'comparison')} failed{skipped}; " \
                   f"the first: {self.first}"
        if not self.compared:
            return f"{shown}: NOTHING WAS COMPARED{skipped}: this processor does not have {' and '.join(self.skipped)}"
        return f"{shown}: right: {number_of(self.compared, 'comparison')} in {number_of(runs, 'run')}{skipped}"


@dataclass(frozen=True, slots=True)
class Tools:
    data: Path
    interpreter: Path
    program: Program
    folder: Path


def run(options: Options, request: Request) -> int:
    # what is wrong with a file is said before the model is built
    cases = [_opened(case, request.names, options.shown) for case in request.cases]
    state = Given.read(request.state, {}) if request.state else None
    with Progress() as progress:
        made = assemble.run(options, progress)
        progress.say("")
        model_program.warn_fewer(options, request.threads, made.target)
        cache = options.open_cache()
        checked = chosen(made, options.shown, request.function)
        if state is not None and not made.compiled.plan.states:
            raise OptionError("--state: the model has no state", state.shown)
        known_dims(made.compiled.plan.functions, request.dims, options.shown)
        runs = [replace(r, state=state) for function in checked
                for r in _runs(function, request, cases, made.captured, len(checked) > 1)]
        others = {b.name for f in made.compiled.plan.functions for b in f.outputs}
        unknown = [_unknown(r, made.compiled.taps.get(r.function.name, {}), others) for r in runs]
        if request.cases:
            known = [b.name for f in made.compiled.plan.functions for b in (*f.inputs, *f.outputs)]
            tapped = [name for taps in made.compiled.taps.values() for name in taps]
            given.refuse_names(request.names, [*known, *tapped],
                               [f for r in runs for f in (r.inputs, r.expect) if f is not None])
        if not runs:
            cases[0].inputs.require(checked[0].inputs[0], "input")
        if request.save and len(runs) > 1:
            raise OptionError(f"--save: one file cannot hold the outputs of {len(runs)} runs", options.shown,
                              "choose one with --function and --dims")
        numpy_files.require_archivable(request.save, runs[0].function.outputs if runs else ())
        with cache.scratch() as scratch:
            folder = Path(scratch)
            names, externs = model_program.extern_sources(made, options.shown, request.externs)
            interpreter = host_programs.interpreter_with(made.host, cache, folder, externs, names, options.jobs) \
                if names else host_programs.interpreter(made.host, cache, options.jobs)
            tools = Tools(model_program.data_tool(made, cache), interpreter,
                          model_program.build(made, options, cache, folder, externs, request.wrapper), folder)
            for name, module in (("captured", _live(made.compiled.captured)), ("reference", made.compiled.reference)):
                (folder / f"{name}.tcg").write_bytes(files.encoded(print_module(placed(module, made))))
            verdict = Verdict()
            for wanted, ignored in zip(runs, unknown, strict=True):
                progress.say("")
                _check(made, options, wanted, request, tools, verdict, ignored, progress)
    for note in verdict.notes:
        print(note)
    print(verdict.text(options.shown, len(runs)))
    return 0 if verdict.compared and not verdict.failed else 1


def chosen(made: Planned, shown: str, function: str) -> list[FunctionPlan]:
    """The functions of that name, the C one or the model's; all where there is none."""
    symbols = assemble.entry_symbols(made.compiled.plan)
    if function and function not in (*symbols, *symbols.values()):
        raise OptionError(f"the model has no function {function!r}", shown,
                          closest(function, symbols.values()) + f"its functions: {', '.join(symbols.values())}")
    return [f for f in made.compiled.plan.functions if function in ("", f.name, symbols[f.name])]


def _runs(function: FunctionPlan, request: Request, cases: Sequence[Opened], captured: Captured, several: bool
          ) -> list[Run]:
    """Of the user's cases those that have the function's inputs, where there are other functions (several)."""
    wanted = [b.name for b in function.inputs]
    if not request.cases:
        nothing = Given(captured.shown, {}, request.names)
        return [Run(function, sizes, nothing, wanted) for sizes in sizes_for(function, request.dims, captured)]
    found = []
    named = {k: v for given in request.dims for k, v in given.items()}
    for opened in cases:
        case, inputs = opened.case, opened.inputs
        if several and not inputs.has(function.inputs):
            continue
        given.refuse_arrays("--input", case.arrays, function, function.inputs, captured.shown)
        given.refuse_arrays("--expect", case.arrays_expected, function, function.outputs, captured.shown)
        left = inputs.missing(function.inputs)
        if request.seed is None and not case.inputs:
            given.refuse_missing(left, function, case.arrays, captured.shown)
        made_up = [] if request.seed is None else left
        found.append(Run(function, given.sizes(function, inputs, named, captured, made_up), inputs, made_up,
                         opened.expect))
    return found


def _opened(case: Case, names: Mapping[str, str], shown: str) -> Opened:
    """shown: the model, which is named where a tensor is in no file."""
    expect = None
    if case.expect or case.arrays_expected:
        expect = Given.of(case.expect, case.arrays_expected, names, ", ".join(case.arrays_expected.values()))
    return Opened(case, Given.of(case.inputs, case.arrays, names, shown), expect)


def _unknown(wanted: Run, taps: Mapping[str, Loc | None], others: set[str]) -> list[str]:
    """Tensors of the expected outputs that nothing is compared with: other functions' outputs, and where the model is
    tapped, parts that are not. Raises where they can only be mistaken names."""
    if not wanted.expect:
        return []
    own = [b.name for b in wanted.function.outputs]
    left = wanted.expect.besides([*own, *taps])
    strange = [name for name in left if name not in others]
    missing = [name for name in own if wanted.expect.find(name) is None]
    if strange and (not taps or len(missing) == len(own)):
        one = missing[0] if len(missing) == 1 else "OUTPUT"
        parts = "" if taps or len(strange) <= len(missing) else "; a part of the model needs --tap NAME"
        raise UserError(f"no output is named {', '.join(strange)}", wanted.expect.shown,
                        f"the outputs are {', '.join(own)}; --map {one}={strange[0]} compares them{parts}")
    return left


def placed(module: Module, made: Planned) -> Module:
    """The module with absolute paths of its weight files."""
    return Module(module.model, module.dims, [str(p) for p in made.weight_files], module.weights, module.states,
                  module.functions)


def _live(module: Module) -> Module:
    """The module without what no result needs: an index of what is not read cannot be out of range."""
    return replace(module, functions={name: dce(f) for name, f in module.functions.items()})


def known_dims(functions: Iterable[FunctionPlan], dims: Sequence[Mapping[str, int]], shown: str) -> None:
    """Raises where a name is that of no dim. One that only another function has is none to complain of: one line of
    sizes serves the whole model."""
    names = {d.sym.name for f in functions for d in f.dims}
    for sizes in dims:
        for name in sizes:
            if name not in names:
                raise OptionError(f"--dims: the model has no dim {name!r}", shown,
                                  closest(name, sorted(names)) + f"its dims: {', '.join(sorted(names)) or 'none'}")


def sizes_for(function: FunctionPlan, wanted: Sequence[Mapping[str, int]], captured: Captured) -> list[dict[str, int]]:
    """Those that are wanted, as far as they are of this function; else sizes for every variant."""
    dims = {d.sym.name: d.sym for d in function.dims}
    asked: list[dict[str, int]] = []
    for all_named in wanted:
        named = {name: size for name, size in all_named.items() if name in dims}
        for name in dims:
            if name not in named:
                hint = f"its dims: {', '.join(dims)}" if all_named.keys() - dims.keys() else ""
                raise OptionError(f"--dims: {function.name} needs {name} too", hint=hint)
        given.refuse_named(function, named, captured)
        given.refuse_guards(function, named, captured, captured.shown)
        if named not in asked:
            asked.append(named)
    if wanted or not dims:
        return asked or [{}]
    return [_sizes_of(function, variant, dims) for variant in function.variants]


def _sizes_of(function: FunctionPlan, variant: Variant, dims: dict[str, Sym]) -> dict[str, int]:
    """Sizes that the variant serves and that hold the guards; those that have a variant are left to it."""
    def choices(name: str) -> list[int]:
        if name in variant.when:
            return [variant.when[name]]
        first = _unlisted(dims[name], [v.when.get(name) for v in function.variants])
        return [first] + [n for n in range(dims[name].lo, MOST_TRIED + 1) if n != first and dims[name].takes(n)]

    for sizes in islice(product(*map(choices, dims)), MOST_TRIED ** 2):
        found = dict(zip(dims, sizes))
        if given.failed_guard(function, found) is None:
            return found
    raise UserError(f"no small sizes hold the guards of {function.name}", hint="name some with --dims")


def _unlisted(s: Sym, taken: list[int | None]) -> int:
    """A size of the dim that has no variant: the second smallest one, so that tails are exercised."""
    size = -(-max(s.lo, 1) // s.divisor) * s.divisor
    for _ in range(len(taken) + 2):
        following = size + s.divisor
        if size not in taken and size > 1 or not s.takes(following):
            break
        size = following
    return size


def _check(made: Made, options: Options, wanted: Run, request: Request, tools: Tools, verdict: Verdict,
           ignored: Sequence[str], progress: Progress) -> None:
    """ignored: tensors of the expected outputs that are not compared."""
    function, sizes = wanted.function, wanted.sizes
    at = ", ".join(f"{k}={v}" for k, v in sizes.items())
    inputs, expect = tools.folder / "inputs", tools.folder / "expect"
    seed = 1 if request.seed is None else request.seed
    inputs = inputs_file(made.compiled, function, sizes, wanted.inputs, wanted.made_up, seed, tools.data, inputs)
    taps = {name: made.captured.as_given(str(loc or "no place known"))
            for name, loc in made.compiled.taps.get(function.name, {}).items()}
    if wanted.expect:
        expect = wanted.expect.renamed([*(b.name for b in function.outputs), *taps], expect)
    common = ["--function", function.name, "--inputs", str(inputs), "--weights-dir", "/"]
    if sizes:
        common += ["--dims", ",".join(f"{k}={v}" for k, v in sizes.items())]
    states = made.compiled.plan.states
    before = tools.folder / "state"
    if states and wanted.state is not None:
        given.write_state(wanted.state, states, before)
    elif states:
        # counters and positions of a state start as zero: what they may be is the model's secret
        model_program.run([str(tools.data), "random", str(seed + 1), str(before),
                           *(f"{b.name}:{b.dtype}:1:{'x'.join(map(str, b.shape))}" for b in states)])
    if states:
        common += ["--state", str(before)]
    exact, wide = tools.folder / "exact", tools.folder / "wide"

    def interpret(*more: str, out: Path, graph: str = "captured") -> str:
        """What it prints. The states behind the call lie beside the results."""
        after = ("--state-out", f"{out}-state") if states else ()
        with made.captured.errors():
            return model_program.run([str(tools.interpreter), str(tools.folder / f"{graph}.tcg"), *common, *more,
                                      *after, "--out", str(out)])

    symbol = assemble.entry_symbols(made.compiled.plan)[function.name]

    called: dict[str, subprocess.CompletedProcess[str]] = {}

    def call(cpu: str) -> None:
        out = tools.folder / f"out-{cpu}"
        called[cpu] = tools.program.call(symbol, inputs, out, cpu, request.threads, sizes,
                                         (str(before), f"{out}-state") if states else ("-", "-"), options.shown)
    fixed = request.bound(BOUNDS.get(options.precision, ""))
    judge = Judge(tools, fixed)
    steps = roundings.steps(made.compiled.captured, function.name)
    same_numbers = options.precision == "f32"   # others have an order of sums, and numbers, of their own
    rounds = same_numbers and roundings.place(made.compiled.captured, function.name) is not None
    graph, center = "captured", wide
    if options.numerics == "relaxed":   # its sums have other terms
        graph, center = "reference", tools.folder / "wide-reference"
    # a device takes what suits it of its images: one run
    cpus = (*((made.target.arch,) if made.target.apart else made.target.isas),
            *(("reference",) if options.with_reference else ()))
    references = [functools.partial(interpret, out=exact, graph="reference"),
                  functools.partial(interpret, "--f64", out=wide)]
    if center != wide:
        references.append(functools.partial(interpret, "--f64", out=center, graph=graph))
    calls = [functools.partial(call, cpu) for cpu in cpus]
    if request.threads == 1:
        _side_by_side([*references, *calls], made, options.jobs)
    else:   # a team has the processors to itself
        _side_by_side(references, made, options.jobs)
        _side_by_side(calls, made, 1)
    plain = Spread(center, lambda n, out: interpret("--f64", "--noise", str(n), out=out, graph=graph),
                   tools.folder / "noise", options.jobs, progress.say)
    followed = functools.cache(lambda: roundings.follow(interpret, fixed or NEAR, tools.folder, made.captured.as_given,
                                                        options.jobs, progress.say))
    for cpu in cpus:
        out, result = tools.folder / f"out-{cpu}", called[cpu]
        title = " ".join(word for word in (symbol, at, cpu) if word)
        if result.returncode == model_program.NO_SUCH_CPU:
            print(f"{title}: skipped, this processor does not have it")
            verdict.skipped[cpu] = verdict.skipped.get(cpu, 0) + 1
            continue
        if result.returncode == model_program.NO_DEVICE:
            raise UserError(f"the model cannot run here: {result.stderr.strip()}", options.shown,
                            f"check --target {options.backend} needs the device; building does not")
        if result.returncode:
            line = f"{title}: FAILED: {result.stderr.strip() or f'exit code {result.returncode}'}"
            print(line)
            verdict.compared += 1
            verdict.fail(line)
            continue
        for suffix in ("", "-state") if states else ("",):
            got, named = Path(f"{out}{suffix}"), title + (": state" if suffix else "")
            right = True
            if same_numbers:
                lines = _compared(tools, "bits", got, Path(f"{exact}{suffix}"))
                right = _say(named, "bits of the interpreter", lines, taps, verdict)
            double = Path(f"{wide}{suffix}")
            lines = judge.lines(got, double, plain, suffix, most=0 if rounds and right else MOST)
            if rounds and right and _wrong(lines):
                _say_followed(judge, named, got, double, lines, followed(), suffix, steps, taps, verdict)
            else:
                _say(named, "double precision", lines, taps, verdict, steps)
                if same_numbers and right and _wrong(lines):
                    verdict.notes[_rounded_or_wrong(named, judge.bound)] = None
        if wanted.expect:
            lines = judge.lines(out, expect, plain, rtol=EXPECTED, ignored=ignored, most=0 if rounds else MOST)
            if rounds and not judge.bound and _wrong(lines):
                lines = judge.lines(out, expect, followed().spread, rtol=EXPECTED, ignored=ignored)
            right = _say(title, wanted.expect.shown, lines, taps, verdict, steps)
            verdict.notes |= dict.fromkeys(roundings.hints(lines, steps))
            if not right and taps and not any(wanted.expect.find(name) for name in taps):
                verdict.notes[f"{wanted.expect.shown} has none of the parts that --tap names, so it does not say where "
                              "the difference begins; docs/porting.md shows how to save them"] = None
            if taps and ignored:
                verdict.notes[f"{wanted.expect.shown}: not compared: {', '.join(ignored)} (no parts that --tap names)"
                              ] = None
        if request.save:
            numpy_files.write_tensors(request.save, out, tools.folder / "archive")


def _side_by_side(work: Sequence[Callable[[], object]], made: Made, jobs: int | None) -> None:
    """Runs of the interpreter and of the model's program."""
    # the interpreter in double precision holds weights in twice their size
    each = max(2 * sum(path.stat().st_size for path in made.weight_files), memory.largest_child())
    run_all(lambda one: one(), list(work), jobs, most=memory.fitting(each))


@dataclass(frozen=True, slots=True)
class Judge:
    """How results are compared with those that they should be nearly equal to. bound: the user's RTOL,ATOL, "" for one
    that the spread of each element gives."""

    tools: Tools
    bound: str

    def lines(self, got: Path, want: Path, spread: Spread, suffix: str = "", rtol: float = 0, most: int = MOST,
              ignored: Sequence[str] = ()) -> list[str]:
        """A line a tensor; what differs too much ends in FAILED. rtol: what is right besides. most: samples."""
        if self.bound:
            return _compared(self.tools, self.bound, got, want, ignored)
        lines: list[str] = []
        for count in (n for n in counts() if n <= most):
            lines = self.measured(got, want, spread, suffix, rtol, count, ignored, expected=likely(lines))
            if all(decided(line, count) for line in lines):
                break
        return lines

    def measured(self, got: Path, want: Path, spread: Spread, suffix: str, rtol: float, count: int,
                 ignored: Sequence[str] = (), others: str = "any", expected: int = 0) -> list[str]:
        """With that many samples. others: whether an integer may be a sample's (any), or not (own). expected: how many
        samples it will take."""
        samples = [f"{path}{suffix}" for path in spread.samples(count, expected)]
        return _data_lines(self.tools, want, "spread", str(rtol), others, str(got), str(want),
                           f"{spread.center}{suffix}", str(len(samples)), *samples, *ignored)


def _compared(tools: Tools, how: str, got: Path, want: Path, ignored: Sequence[str] = ()) -> list[str]:
    """A line a tensor; what differs ends in FAILED. how: bits, or RTOL,ATOL."""
    return _data_lines(tools, want, "compare", how, str(got), str(want), *ignored)


def _data_lines(tools: Tools, want: Path, *words: str) -> list[str]:
    result = subprocess.run([str(tools.data), *words], capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        raise UserError(result.stderr.strip(), str(want))
    return result.stdout.splitlines()


def _rounded_or_wrong(title: str, bound: str) -> str:
    """What a difference from double precision may be, where the bits are right. bound: rtol,atol, "" for none."""
    rtol, _, atol = bound.partition(",")    # of f32, of which there are no units
    what = f"by more than {atol} + {rtol} * |want|" if bound else f"otherwise than in {MOST} runs that round at random"
    return f"the bits of {title} are the interpreter's, so either f32 rounds {what}, or the graph was simplified " \
           "wrongly; docs/checking.md says how to tell"


def _wrong(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.endswith("FAILED")]


def _say(title: str, with_what: str, lines: list[str], taps: Mapping[str, str], verdict: Verdict,
         steps: Mapping[str, float] = {}) -> bool:
    """Prints the lines, and which of the taps is the first to differ, with its place. Whether all is right."""
    verdict.compared += len(lines)
    for line in lines:
        said = f"{title}: {with_what}: {roundings.in_steps(line, steps)}"
        print(said)
        if line.endswith("FAILED"):
            verdict.fail(said)
    wrong = [name for name in taps if any(line.startswith(f"{name}: ") for line in _wrong(lines))]
    if wrong:
        print(f"{title}: {with_what}: the first to differ is {wrong[0]} ({taps[wrong[0]]})")
    return not _wrong(lines)


def _say_followed(judge: Judge, title: str, got: Path, double: Path, lines: list[str], found: Followed, suffix: str,
                  steps: Mapping[str, float], taps: Mapping[str, str], verdict: Verdict) -> None:
    """Of what differs in double precision, where floats become integers. With the integers of the model's own
    arithmetic it has to be right. lines: of what differs without any sample."""
    again = judge.lines(got, double if not found.taken else Path(f"{found.results}{suffix}"), found.spread, suffix)
    if not found.taken:
        _say(title, "double precision", again, taps, verdict, steps)
        verdict.notes |= dict.fromkeys(found.notes())
        return
    if not judge.bound:
        lines = judge.measured(got, double, found.spread, suffix, 0, found.spread.asked, others="own")
    others = {line.partition(": ")[0] for line in _wrong(lines)}
    _say(title, "double precision", [line for line in lines if not line.endswith("FAILED")], taps, verdict, steps)
    for line in _wrong(lines):
        print(f"{title}: double precision: {roundings.in_steps(line, steps).removesuffix('FAILED').rstrip()}: "
              "by other integers")
    again = [line for line in again if line.partition(": ")[0] in others]
    _say(title, "double precision with the interpreter's integers", again, taps, verdict, steps)
    if others:
        verdict.notes |= dict.fromkeys(found.notes())


def inputs_file(compiled: Compiled, function: FunctionPlan, sizes: dict[str, int], inputs: Given,
                made_up: Sequence[str], seed: int, data: Path, path: Path) -> Path:
    """A file of the function's inputs under the model's names: those of the user's files, and those that are made up.
    data: tc-data. path: where it may be written."""
    wanted = [b.name for b in function.inputs]
    if wanted and not made_up:
        return inputs.renamed(wanted, path)
    random = path.with_name(f"{path.name}-made-up")
    model_program.run([str(data), "random", str(seed), str(random), *specs(compiled, function, sizes, made_up)])
    parts = [(random, tensor_files.read(random, str(random)))]
    if len(made_up) < len(wanted):
        there = inputs.renamed(wanted, path.with_name(f"{path.name}-given"))
        parts.append((there, {n: t for n, t in tensor_files.read(there, str(there)).items() if n in wanted}))
    tensor_files.write(path, *parts)
    return path


def specs(compiled: Compiled, function: FunctionPlan, sizes: dict[str, int], names: Collection[str] | None = None
          ) -> list[str]:
    """What tc-data makes the function's inputs of; of those names, where there are any."""
    return [_spec(compiled, function, buffer, sizes) for buffer in function.inputs
            if names is None or buffer.name in names]


def _spec(compiled: Compiled, function: FunctionPlan, buffer: Buffer, sizes: dict[str, int]) -> str:
    """What tc-data makes for an input: NAME:DTYPE:BOUND:SIZES. The bound suits the graph as recorded, too: results of
    a called function that nobody uses are computed there."""
    values = {d.sym: sizes[d.sym.name] for d in function.dims}
    shape = "x".join(str(d.evaluate(values)) for d in buffer.shape)
    bounds = [index_bound(module, function.name, buffer.name, values)
              for module in (compiled.captured, compiled.reference)]
    bound = min((b for b in bounds if b is not None), default=None)
    return f"{buffer.name}:{buffer.dtype}:{ANY_INTEGER if bound is None else max(bound, 1)}:{shape}"


def _moved_by(node: Node) -> tuple[Value, ...]:
    """The operands whose elements are the node's, at places that are not data; none of a parameter."""
    about = PRIMITIVES.get(node.op)
    return node.operands if about and about.moves and node.op != "gather" else ()


def _moved(module: Module, function: str, name: str) -> tuple[set[Value], list[Node]]:
    """The values that hold elements of an input moved about, and the nodes of the function and of those it holds."""
    root = module.functions[function]
    carries = {Value(p) for p in root.parameters if p.attrs["name"] == name}
    nodes: list[Node] = []

    def follow(body: Function) -> None:
        for node in body.nodes:
            nodes.append(node)
            if any(v in carries for v in (node.operands[:1] if node.op == "gather" else _moved_by(node))):
                carries.add(Value(node))
            for inner in (module.functions[h] for h in callees_of(node)):
                given = node.operands[len(node.operands) - len(inner.parameters):]
                carries.update(Value(p) for p, v in zip(inner.parameters, given, strict=True) if v in carries)
                follow(inner)

    follow(root)
    return carries, nodes


def index_bound(module: Module, function: str, name: str, values: dict[Sym, int]) -> int | None:
    """Below which integers of an input are: the least of index_extents; None where there is none."""
    return min((size.evaluate(values) for size in index_extents(module, function, name)), default=None)


def index_extents(module: Module, function: str, name: str) -> list[Expr]:
    """The extents of what is read or written at integers of an input, and what these are compared with on the way to
    such an index."""
    carries, nodes = _moved(module, function, name)
    found: list[Expr | None] = []
    for node in (n for n in nodes if n.op in ("gather", "scatter")):
        if node.operands[1] in carries:
            found.append(node.operands[0].shape[node.attrs["axis"]])
        todo, seen = [node.operands[1].node], set()
        while todo:
            made = todo.pop()
            if made in seen:
                continue
            seen.add(made)
            todo += [v.node for v in (made.operands if is_elementwise(made.op) else _moved_by(made))]
            if made.op == "lt" and made.operands[0] in carries:
                found.append(_repeated(made.operands[1]))
    return [size for size in found if size is not None]


def _repeated(value: Value) -> Expr | None:
    """The number that every element is: a constant or a size."""
    node = value.through(("broadcast", "reshape", "cast")).node
    return const(node.attrs["bits"]) if node.op == "constant" else \
        node.attrs["value"][0] if node.op == "dim_value" else None


def is_convolution_weight(module: Module, function: str, name: str) -> bool:
    """Whether an input is the second operand of a convolution: its values must be finite (docs/numerics.md)."""
    carries, nodes = _moved(module, function, name)
    return any(node.op == "convolution" and node.operands[1] in carries for node in nodes)
