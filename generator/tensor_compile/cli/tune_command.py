# SPDX-License-Identifier: Apache-2.0
"""tensor-compile tune: measure the kernels of a build's models and write their tuning locks."""
from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import Parser, arguments

if TYPE_CHECKING:
    from ..compile.progress import Progress
    from ..compile.tune import Result


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "tune", help="measure kernels and write the tuning lock", allow_abbrev=False,
        description="Measures, for every model that was built in a folder, the candidates of each matrix product and "
                    "convolution on this machine, and writes MODEL.tuning.lock beside the model: commit it. Builds "
                    "only "
                    "read it; it changes their speed and never a bit of a result. Entries that still hold are kept.",
        epilog="Example: tensor-compile tune -C build")
    parser.add_argument("-C", dest="folder", default=".", metavar="DIR",
                        help="folder of the build: a Meson build directory, or where `build` wrote its outputs "
                             "(default: .)")
    parser.add_argument("--all", dest="again", action="store_true", help="measure again what has a good entry")
    parser.add_argument("--rounds", type=arguments.positive, default=20, metavar="N",
                        help="how often each candidate is timed, in turn with the others (default: 20)")
    parser.add_argument("--exe-wrapper", type=arguments.words, default=(), metavar="COMMAND",
                        help="runs the target's programs here, as Meson's exe_wrapper; times under qemu are marked "
                             "`emulated`")
    parser.add_argument("--link-args", type=arguments.words, default=(), metavar="FLAGS",
                        help="flags for linking the harness for the target, e.g. -static")
    parser.add_argument("-j", "--jobs", type=arguments.positive, default=None, metavar="N", help="compilers at once")
    parser.set_defaults(run=run)


def _tell(progress: Progress, model: str, line: str) -> None:
    progress.say(f"{model}: {line}")


def _summary(result: Result, lock: str) -> str:
    if not result.timed:
        return f"nothing to measure: {lock} is up to date"
    after = sum(time for _, _, time in result.timed)
    before = sum(result.before.get(key, time) for key, _, time in result.timed)
    kernels = f"{len(result.timed)} kernel" + ("" if len(result.timed) == 1 else "s")
    return f"{kernels} measured, one call of each: {before:.1f} us before, {after:.1f} us now; {lock} written"


def run(args: argparse.Namespace) -> int:
    from ..compile import assemble, record, tune
    from ..compile.harness import Toolset
    from ..compile.progress import Progress
    from ..compile.tools import ToolBroken
    from ..errors import UserError

    folder = Path(args.folder)
    builds = [options for options in record.builds(folder) if options.backend == "c"]
    if not builds:
        raise UserError("no model was built here", str(folder), "build first, then tune: tensor-compile tune -C DIR")
    wrong: list[str] = []
    for options in builds:
        compiler, host, target, _ = assemble.toolchains(options)
        cache = options.open_cache()
        captured = assemble.capture(options, host, cache)
        plan = assemble.compile_graph(options, captured.text, target).plan
        tools = Toolset(compiler, target, options.cflags, cache, args.exe_wrapper, args.link_args, args.jobs)
        with Progress() as progress:
            result = tune.tune(tune.contractions(plan), tools, options.lock_path, args.rounds, args.again,
                               partial(_tell, progress, options.shown))
        for key, winner, time in result.timed:
            was = f"  (was {result.before[key]:.3f} us)" if result.before.get(key, time) != time else ""
            print(f"{options.shown}: {time:11.3f} us  {winner.name}  {key}{was}")
        print(f"{options.shown}: {_summary(result, os.path.relpath(options.lock_path))}")
        for isa in sorted(result.skipped):
            print(f"{options.shown}: warning: this processor does not run {isa}: its kernels were not measured",
                  file=sys.stderr)
        wrong += result.wrong
    if wrong:
        raise ToolBroken("a candidate differs from the reference (it was not timed)", "\n".join(wrong))
    return 0
