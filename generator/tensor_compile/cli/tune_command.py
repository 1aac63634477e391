# SPDX-License-Identifier: Apache-2.0
"""tensor-compile tune: measure the kernels of a build's models and write their tuning locks."""
from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from . import Parser, arguments

if TYPE_CHECKING:
    from ..compile.options import Options
    from ..compile.progress import Progress
    from ..compile.tune import Result
    from ..loops.program_ir import ModelPlan
    from ..target import Target


DEFAULT_BUDGET = 180.0   # seconds
FEWEST = 10.0            # of a model, where that leaves others none: planning a build and a kernel of each function
LEFT = 2.0               # seconds, for which no model is begun


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "tune", help="measure kernels and write the tuning lock", allow_abbrev=False,
        description="Measures, for every model that was built in a folder, the candidates of each matrix product and "
                    "convolution on this machine (its GPU for --target cuda), and writes MODEL.tuning.lock beside the "
                    "model: commit it. Builds "
                    "only read it; it changes their speed, the arena and the code by some percent, and never a bit of "
                    "a result. Entries that still hold are "
                    "kept, and so is what was measured when you interrupt it: the next run goes on from there.",
        epilog="Examples: tensor-compile tune -C build; tensor-compile tune -C build --budget 120s; "
               "tensor-compile tune -C build --diff")
    parser.add_argument("-C", dest="folder", default=".", metavar="DIR",
                        help="folder of the build: a Meson build directory, or where `build` wrote its outputs "
                             "(its --cache, where that was given; default: .)")
    parser.add_argument("--all", dest="again", action="store_true", help="measure again what has a good entry")
    parser.add_argument("--budget", type=arguments.budget, default=DEFAULT_BUDGET, metavar="TIME",
                        help="use at most about this much time, e.g. 120s or 2m (a number alone: seconds), "
                             "compiling included, waiting for others that measure not (below a minute little is "
                             "measured; default: 3m; none: no limit, 24 candidates of every kernel): the best "
                             "instruction set of this machine comes first, of it one kernel of each function, then "
                             "those with the most operations; the next run goes on")
    parser.add_argument("--diff", action="store_true",
                        help="measure everything again and print what would change and gain; write nothing")
    parser.add_argument("--prune", action="store_true",
                        help="measure nothing; take out the entries of this target that no build in DIR uses")
    parser.add_argument("--rounds", type=arguments.positive, default=20, metavar="N",
                        help="how often each candidate is timed, in turn with the others (default: 20), before the "
                             "best are compared with what is used")
    parser.add_argument("--count", choices=("time", "instructions", "cycles"), default="time",
                        help="what of a call is counted: time (the default), instructions that an emulator runs "
                             "(--exe-wrapper: qemu), cycles of a Cortex-M board (docs/tuning.md)")
    parser.add_argument("--exe-wrapper", type=arguments.words, default=None, metavar="COMMAND",
                        help="runs the target's programs here (default: in a Meson build directory the exe_wrapper of "
                             "its cross files, '' is none); what is counted under qemu is marked `emulated`")
    parser.add_argument("--link-args", type=arguments.words, default=(), metavar="FLAGS",
                        help="flags for linking the harness for the target, e.g. -static")
    parser.add_argument("-j", "--jobs", type=arguments.positive, default=None, metavar="N", help="compilers at once")
    parser.instead = "models are not named: -C DIR tunes those that were built in DIR, the -o of `tensor-compile " \
        "build`; "
    parser.set_defaults(run=run)


def _tell(progress: Progress, model: str, line: str) -> None:
    progress.say(f"{model}: {line}")


def _count(number: float, result: Result, digits: int = 1) -> str:
    return f"{number:.{digits if result.unit == 'us' else 0}f} {result.unit}"


def _summary(result: Result, lock: str, exists: bool, budget: float | None = None) -> str:
    """exists: whether there is a lock; budget: the seconds that the user gave."""
    if not result.timed and result.left:
        given = budget or 0
        state = f"{lock} is as it was" if exists else f"there is no {lock} yet"
        taken = f"{given:.0f} s were over before it was known what there is to measure" if not result.planned else \
            f"no kernel was measured to its end in {given:.0f} s" if result.begun else \
            f"nothing was measured in {given:.0f} s: compiling took all of it"
        fewer = f", or build for fewer instruction sets (--isa {result.sets[0]})" if len(result.sets) > 1 else ""
        return f"{taken}. Give more (--budget {max(120, 4 * int(given))}s){fewer}; {state}"
    if not result.timed and result.rest:
        return f"no kernel is to be measured; left for the next run: {result.rest}"
    if not result.timed:
        return f"nothing to measure: {lock} is up to date" if exists else \
            "nothing to measure: the model has no matrix product and no convolution"
    kernels = f"{len(result.timed)} kernel" + ("" if len(result.timed) == 1 else "s")
    left = f" (left for the next run: {result.rest})" if result.rest else ""
    return f"{kernels} measured{left}, one call of each{_by(result)}: {'; '.join(_totals(result))}; {lock} written"


def _by(result: Result) -> str:
    """By whom these calls are; lines above them may be of a team's. A GPU has no such number of threads."""
    return "" if result.by else " by one thread"


def _totals(result: Result) -> list[str]:
    """Of each instruction set: a processor runs the kernels of one."""
    sets = dict.fromkeys(winner.isa for _, winner, _ in result.timed)
    told = []
    for isa in sets:
        timed = [(key, count) for key, winner, count in result.timed if winner.isa == isa]
        before, after = sum(result.before.get(key, count) for key, count in timed), sum(count for _, count in timed)
        model = sum(result.model.get(key, count) for key, count in timed)
        told.append(f"{f'{isa} ' if len(sets) > 1 else ''}{_count(before, result)} before, {_count(after, result)} now "
                    f"({model / after if after else 1:.2f}x the cost model)")
    return told


def _difference(result: Result) -> list[str]:
    """What a search would change, the largest gain first, and what that gains."""
    changed = sorted((result.before.get(key, now) - now, key, winner.name, now) for key, winner, now in result.timed
                     if winner.name != result.used[key])
    lines = [f"{result.used[key]} {_count(now + gain, result, 3)} -> {name} {_count(now, result, 3)}  {key}"
             for gain, key, name, now in reversed(changed)]
    total = sum(result.before.get(key, now) for key, _, now in result.timed)
    gained = sum(gain for gain, *_ in changed)
    left = f"; not measured in that time: {result.rest}" if result.rest else ""
    return [*lines, f"{len(changed)} of {len(result.timed)} kernels would change, one call of each{_by(result)}: "
                    f"{_count(total, result)} before, {_count(total - gained, result)} then{left}; nothing written"]


def run(args: argparse.Namespace) -> int:
    from ..compile import record
    from ..errors import UserError

    if args.prune and (args.diff or args.again or args.budget != DEFAULT_BUDGET):
        raise UsageError("--prune measures nothing: it goes without --diff, --all and --budget")
    folder = Path(args.folder)
    if not folder.is_dir():
        raise UserError("a file, not the folder of a build" if folder.exists() else "no such folder", str(folder),
                        "-C DIR is the folder that the models were built in")
    builds = [options for options in record.builds(folder) if options.backend in ("c", "cuda")]
    if not builds:
        raise UserError("no model was built here", str(folder),
                        "build first, then tune: tensor-compile tune -C DIR; what was built with --cache DIR is found "
                        "in that DIR")
    return _prune(builds) if args.prune else _tune(builds, args)


def _prune(builds: list[Options]) -> int:
    """Builds may share a lock: an entry stays where any of them uses it."""
    from ..compile import tune, tune_cuda, tune_model
    from ..loops import schedule_cuda

    plans: dict[Path, list[tuple[ModelPlan, Target]]] = {}
    others: set[str] = set()
    for options in builds:
        of = tune_model.planned(options)
        plans.setdefault(options.lock_path, []).append((of.plan, of.target))
        others.update(tune_model.used(of))
    for lock, found in plans.items():
        gone = tune.unused([(tune.contractions(plan), target) for plan, target in found if not target.apart], lock,
                           others)
        gone += tune_cuda.unused([(tune_cuda.kernels(plan, schedule_cuda.units(target)), target)
                                  for plan, target in found if target.apart], lock)
        for entry in gone:
            print(f"{os.path.relpath(lock)}: {entry.candidate}  {entry.key}")
        tune.prune(gone, lock)
        print(f"{os.path.relpath(lock)}: {len(gone)} entr{'y' if len(gone) == 1 else 'ies'} taken out")
    return 0


def _tune(builds: list[Options], args: argparse.Namespace) -> int:
    from ..compile import machine_lock, tune, tune_model
    from ..compile.tools import ToolBroken

    request = tune_model.Request(args.again or args.diff, not args.diff, args.rounds, args.count,
                                 _wrapper(args, builds), args.link_args, args.jobs)
    begun, wrong = machine_lock.now() - _ran(), []
    if args.budget is not None and args.budget < FEWEST * len(builds):
        builds = sorted(builds, key=_measured)
    for number, options in enumerate(builds):
        clock = tune_model.Clock(None)
        if args.budget is not None:
            left = args.budget - (machine_lock.now() - begun)
            if left < LEFT and number:
                later = "" if args.diff else "the next run begins with it, and "
                _line(options, f"no time was left for it: {later}--budget {FEWEST * len(builds):.0f}s has some for all")
                continue
            share = left / (len(builds) - number)
            clock = tune_model.Clock(share, most=min(left, FEWEST) if share < FEWEST else 0)
        try:
            result = tune_model.search(options, request, clock, partial(_line, options))
        except tune.Stopped as end:
            if end.result.timed:
                _list(options, end.result, args.diff)
            raise
        _print(options, result, args.diff, None if clock.budget is None else max(clock.budget, clock.most))
        wrong += result.wrong
    if wrong:
        raise ToolBroken("a candidate differs from the reference (it was not timed)", "\n".join(wrong))
    return 0


def _wrapper(args: argparse.Namespace, builds: list[Options]) -> tuple[str, ...]:
    """What starts programs: as the user says, else as Meson does; a line names that."""
    from ..compile import meson_build

    if args.exe_wrapper is not None:
        return tuple(args.exe_wrapper)
    found = meson_build.exe_wrapper(Path(args.folder)) if all(o.backend == "c" for o in builds) else None
    if found is None:
        return ()
    print(f"{args.folder}: kernels are run by the exe_wrapper of {', '.join(map(os.path.relpath, found.files))}: "
          f"{' '.join(found.command)}", flush=True)
    return found.command


def _measured(options: Options) -> float:
    """When something was measured for the model last; 0: never."""
    try:
        return options.lock_path.stat().st_mtime
    except OSError:
        return 0


def _ran() -> float:
    """Seconds since this program began, where the system tells (Linux does)."""
    try:
        began = float(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


def _line(options: Options, line: str) -> None:
    print(f"{options.shown}: {line}", flush=True)


def _list(options: Options, result: Result, diff: bool) -> None:
    """What was measured."""
    if diff:
        for line in _difference(result):
            print(f"{options.shown}: {line}")
        return
    for key, winner, now in result.timed:
        was = f"  (was {_count(result.before[key], result, 3)})" if result.before.get(key, now) != now else ""
        print(f"{options.shown}: {_count(now, result, 3):>14}  {winner.name}  {key}{was}")


def _print(options: Options, result: Result, diff: bool, budget: float | None) -> None:
    _list(options, result, diff)
    if not diff:
        summary = _summary(result, os.path.relpath(options.lock_path), options.lock_path.exists(), budget)
        print(f"{options.shown}: {summary}")
    for isa in sorted(result.skipped):
        print(f"{options.shown}: warning: this processor does not run {isa}: its kernels were not measured",
              file=sys.stderr)
    for key in sorted(result.beyond):
        print(f"{options.shown}: warning: a call is longer than the board's counter counts: {key}", file=sys.stderr)
