# SPDX-License-Identifier: Apache-2.0
"""`profile`: the time of every kernel, measured here or read from a deployed program's record, beside its operations
and bytes and what the target file says the processor can do."""
from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from dataclasses import field, replace
from pathlib import Path
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from ..errors import OptionError, UsageError, UserError
from ..loops.program_ir import FunctionPlan, Variant
from ..records import dataclass
from ..target import Target
from . import assemble, chosen, costs, disturbance, files, machine_lock, model_program, processor, random_inputs, \
    run_model, winograd_lines
from .assemble import Made
from .cache import Cache
from .costs import Ceilings, Cost
from .jobs import default_jobs
from .numbers import number_of
from .options import Options
from .progress import Progress


@dataclass(frozen=True, slots=True)
class Request:
    """calls: the most that are measured; trace: where the record is written, "" nowhere; record: one that a program
    wrote, read instead of measuring. run: how the model is called; inputs are random where it names none."""

    run: run_model.Request
    calls: int = 100
    trace: str = ""
    record: str = ""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Event:
    """A kernel on one thread, microseconds."""

    function: str
    variant: str
    step: int
    thread: int
    duration: float


def team(request: Request, target: Target) -> int:
    """How many threads calls may have."""
    return min(request.run.threads, target.threads)


def refuse_turns(request: Request, target: Target) -> None:
    """Times of a team of more threads than this process has processors mean nothing. How many another machine has is
    not known."""
    threads, here = team(request, target), default_jobs()
    if not request.run.wrapper and not request.record and threads > here:
        raise UsageError(f"--threads {request.run.threads}: calls have {number_of(threads, 'thread')}, this process "
                         f"has {number_of(here, 'processor')}; threads that take turns do not compute at the same "
                         f"time, and a kernel's time is a thread's\n  hint: --threads {here} is the most here")


@dataclass(slots=True)
class Measured:
    """Microseconds of a call by step, medians and the least; calls: how many were recorded."""

    steps: dict[int, float] = field(default_factory=dict)
    least: dict[int, float] = field(default_factory=dict)
    calls: int = 0
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """The calls of a function. calls: how many, 0 where the record does not tell; isa: of its kernels; name: of the
    events; others: processors that other work had meanwhile, as far as that is known."""

    made: Made
    function: FunctionPlan
    sizes: Mapping[str, int]
    isa: str
    events: list[Event]
    name: str
    calls: int
    others: float = 0.0

    @property
    def variant(self) -> Variant:
        return costs.serving(self.function, self.sizes)

    @property
    def own(self) -> list[Event]:
        """The events of the variant that serves these sizes."""
        return [e for e in self.events if (e.function, e.variant) == (self.name, self.variant.name)]

    @property
    def title(self) -> str:
        at = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        return f"{self.name}{f' at {at}' if at else ''}"


def run(options: Options, request: Request) -> int:
    for found in recorded(options, request):
        print(table(found), end="")
        warn(found, options.shown)
    return 0


def warn(of: Recorded, shown: str) -> None:
    """Of what was measured here."""
    found = measured(of.own, of.calls)
    said = disturbance.warning(of.others, found.threads, default_jobs(), sum(found.steps.values()),
                               sum(found.least.values())) if of.calls else ""
    if said:
        print(f"{shown}: warning: {said}", file=sys.stderr)


def recorded(options: Options, request: Request, before: Callable[[Made, Cache], None] = lambda made, cache: None
             ) -> Iterator[Recorded]:
    """Every function that was asked for, measured here or read from a record. before: called once everything is
    compiled."""
    if request.trace:
        files.require_folder(Path(request.trace))
    cache = options.open_cache()
    _, _, target, _ = assemble.toolchains(options)
    if not request.record:
        model_program.warn_fewer(options, request.run.threads, target)
    refuse_turns(request, target)
    threads = team(request, target)
    with Progress() as progress, cache.scratch() as scratch:
        made = assemble.run(processor.best_only(options, target), progress)
        chosen.known_dims(made.compiled.plan.functions, (request.run.dims,), options.shown)
        folder = Path(scratch)
        symbols = assemble.entry_symbols(made.compiled.plan)
        if request.record:
            events, isa = read_record(Path(request.record), request.record), made.target.isas[-1]
            for function in chosen.functions(made, options.shown, request.run.function):
                sizes = _sizes_of_record(function, request, options.shown)
                if any(e.function == symbols[function.name] for e in events):
                    yield Recorded(made, function, sizes, isa, events, symbols[function.name], 0)
            return
        one = request.run.inputs or request.run.arrays or request.run.function
        functions = [run_model.function_of(made, options.shown, request.run)] if one else made.compiled.plan.functions
        _, externs = model_program.extern_sources(made, options.shown, request.run.externs)
        program = model_program.build(made, options, cache, folder, externs, request.run.wrapper)
        data = model_program.data_tool(made, cache)
        progress.say("")
        with machine_lock.alone(progress.notes(options.shown)):
            before(made, cache)
        for function in functions:
            sizes = _sizes(made, function, request, options, folder, data)
            record = folder / "record"
            states = run_model.states(made, request.run, folder)
            with machine_lock.alone(progress.notes(options.shown)):
                begun = disturbance.Moment.now()
                result = program.call(symbols[function.name], folder / "call-inputs", folder / "out", "best", threads,
                                      sizes, states, options.shown, (str(request.calls), str(record)))
                others = disturbance.others(begun, disturbance.Moment.now())
            progress.say("")
            if result.returncode or not result.stdout.strip().isdigit() or result.stdout.strip() == "0":
                raise UserError(f"{symbols[function.name]}: {result.stderr.strip() or 'the calls cannot be recorded'}",
                                options.shown)
            if request.trace:
                files.write(Path(request.trace), files.blocks(record))
            yield Recorded(made, function, sizes, made.target.isas[-1], read_record(record, "the record"),
                           symbols[function.name], int(result.stdout), others)


def _sizes(made: Made, function: FunctionPlan, request: Request, options: Options, folder: Path,
           data: Path) -> dict[str, int]:
    """The sizes of the call; its inputs are at call-inputs then."""
    path = folder / "call-inputs"
    if request.run.inputs or request.run.arrays or not function.inputs:
        asked = request.run if request.run.inputs else replace(request.run, seed=request.seed)
        source, sizes = run_model.inputs_of(function, asked, made, folder, data)
        if source != path:
            path.unlink(missing_ok=True)
            path.symlink_to(source.resolve())
        return sizes
    sizes = chosen.sizes_for(function, (request.run.dims,) if request.run.dims else (), made.captured)[0]
    model_program.run([str(data), "random", str(request.seed), str(path),
                       *random_inputs.specs(made.compiled, function, sizes)])
    return sizes


def _sizes_of_record(function: FunctionPlan, request: Request, shown: str) -> dict[str, int]:
    named = {d.sym.name: request.run.dims[d.sym.name] for d in function.dims if d.sym.name in request.run.dims}
    missing = [d.sym.name for d in function.dims if d.sym.name not in named]
    if missing:
        raise OptionError(f"--from: a record does not tell the sizes of {function.name}", shown,
                          f"name them: --dims {','.join(f'{n}=SIZE' for n in missing)}")
    return named


def read_record(path: Path, shown: str) -> list[Event]:
    """What tc_recorder_write wrote."""
    if not path.is_file():
        raise UserError("no such file", shown)
    try:
        read = json.loads(b"".join(files.blocks(path)))
        return [Event(e["cat"], e["args"]["variant"], int(e["args"]["step"]), int(e["tid"]), float(e["dur"]))
                for e in read["traceEvents"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError("not a record of tc_recorder_write", shown) from None


def medians(events: Iterable[Event], calls: int) -> dict[int, float]:
    """Microseconds of a call by step: a thread's median over the calls, of the slowest thread. What runs often in a
    call is summed. The mean where a thread did not run a step equally often in every call."""
    times: dict[tuple[int, int], list[float]] = defaultdict(list)
    for e in events:
        times[e.step, e.thread].append(e.duration)
    found: dict[int, float] = {}
    for (step, _), durations in times.items():
        runs, rest = divmod(len(durations), calls)
        us = sum(durations) / calls if rest or not runs else statistics.median(_calls(durations, calls))
        found[step] = max(found.get(step, 0.0), us)
    return found


def _calls(durations: Sequence[float], calls: int) -> list[float]:
    """What a thread ran in each of the calls, equally often."""
    runs = len(durations) // calls
    return [sum(durations[i:i + runs]) for i in range(0, len(durations), runs)]


def least(events: Iterable[Event], calls: int) -> dict[int, float]:
    """Microseconds of the call in which a step took least, of its slowest thread there: threads may share a step
    otherwise in each call. Where some thread did not run it equally often in every call, the least of each of the
    others, and the mean of that one, as medians() has it."""
    times: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for e in events:
        times[e.step][e.thread].append(e.duration)
    found: dict[int, float] = {}
    for step, threads in times.items():
        if any(len(durations) % calls for durations in threads.values()):
            found[step] = max(sum(durations) / calls if len(durations) % calls else min(_calls(durations, calls))
                              for durations in threads.values())
            continue
        runs = {thread: len(durations) // calls for thread, durations in threads.items()}
        found[step] = min(max(sum(durations[i * runs[thread]:(i + 1) * runs[thread]])
                              for thread, durations in threads.items()) for i in range(calls))
    return found


def measured(events: Sequence[Event], calls: int) -> Measured:
    """calls: 0 where it is told by how often the rarest step ran."""
    count: dict[int, int] = defaultdict(int)
    for e in events:
        count[e.step] += e.thread == 0
    calls = calls or min((n for n in count.values() if n), default=1)
    return Measured(medians(events, calls), least(events, calls), calls, max((e.thread + 1 for e in events), default=1))


def as_run(rows: Sequence[Cost], events: Sequence[Event], calls: int) -> list[Cost]:
    """The kernels as often as calls ran them, where data decides that. Tiles are shared by threads; elsewhere each
    runs every kernel."""
    count: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for e in events:
        count[e.step][e.thread] += 1
    return [costs.as_run(c, (sum if c.in_tile else max)((0, *count[c.step].values())) / max(calls, 1)) for c in rows]


def table(of: Recorded) -> str:
    made, isa, variant = of.made, of.isa, of.variant
    found = measured(of.own, of.calls)
    rows = as_run(costs.of_variant(made, of.function, variant, of.sizes), of.own, found.calls)
    limits = costs.ceilings(made.target, isa, found.threads)
    total = sum(found.steps.values()) or 1e-9
    threads = f", {found.threads} threads" if found.threads > 1 else ""
    lines = [f"{of.title}: {total:.1f} us in kernels of a call, median of {found.calls}, least "
             f"{sum(found.least.values()):.1f} ({variant.name}, {isa}{threads})", ""]
    body = [(f"{found.steps.get(c.step, 0.0):.2f}", f"{found.least.get(c.step, 0.0):.2f}",
             f"{100 * found.steps.get(c.step, 0.0) / total:.1f}", *_rates(c, found.least.get(c.step, 0.0), limits),
             str(c.runs), c.name, c.place) for c in rows]
    body.sort(key=lambda row: -float(row[0]))
    lines += columns(("us", "least", "%", "GFLOP/s", "% of peak", "GB/s", "% of peak", "runs", "kernel", "line"), body)
    lines += ["", *_by(rows, found, total, "scope", lambda c: c.scope.split(".")[0] if c.scope else "(no scope)"), "",
              *_by(rows, found, total, "line", lambda c: c.place or "(no line)")]
    lines += ["", BY_LEAST, *winograd_lines.of_kernels(rows)]
    if limits.operations or limits.bytes:
        cached = any(float(row[6] or 0) > 100 for row in body)
        lines += [f"peak of target {made.target.name}: {limits.operations / 1e9:.0f} GFLOP/s, "
                  f"{limits.bytes / 1e9:.0f} GB/s from memory (its file's clock and bandwidth)"
                  + ("; over 100 %: the bytes came from a cache, not from memory" if cached else "")
                  + ("; -: integers, whose peak is not known" if any(c.integers for c in rows) else "")]
    return "\n".join(lines) + "\n\n"


BY_LEAST = "us: medians; what is said of a second, of peaks and of ceilings: by the least times"


def _rates(cost: Cost, us: float, limits: Ceilings) -> tuple[str, str, str, str]:
    if us <= 0:
        return "", "", "", ""
    operations, moved = cost.operations / us * 1e6, cost.bytes / us * 1e6
    peak = "" if not limits.operations else "-" if cost.integers else f"{100 * operations / limits.operations:.0f}"
    return (f"{operations / 1e9:.2f}", peak,
            f"{moved / 1e9:.2f}", f"{100 * moved / limits.bytes:.0f}" if limits.bytes else "")


def _by(rows: list[Cost], found: Measured, total: float, head: str, key: Callable[[Cost], str]) -> list[str]:
    times: dict[str, float] = defaultdict(float)
    for c in rows:
        times[key(c)] += found.steps.get(c.step, 0.0)
    order = sorted(times.items(), key=lambda item: -item[1])
    return columns(("us", "%", head), [(f"{us:.2f}", f"{100 * us / total:.1f}", name) for name, us in order])


def columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Numbers to the right, the words at the end of a line to the left."""
    words = {"kernel", "line", "scope"}
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return ["  " + "  ".join(cell.ljust(w) if name in words else cell.rjust(w)
                             for cell, w, name in zip(row, widths, head)).rstrip() for row in [head, *rows]]
