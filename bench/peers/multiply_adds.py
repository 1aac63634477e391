# SPDX-License-Identifier: Apache-2.0
"""The multiply-add peak as a contender: a process whose call is as many floating-point operations as a row's products
and convolutions need, in registers alone. The generator counts them; the loop is that of `tensor-compile ceilings`."""
from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Sequence

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH.parent / "generator")]
import builds
from rows import Row
from tensor_compile.cli import Parser, arguments, build_command
from tensor_compile.compile import assemble, costs, machine, recording
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.target import Target


def options_of(source: Path, cache: Path, words: Sequence[str]) -> Options:
    """words: options of build."""
    parser = Parser()
    build_command.add(parser.add_subparsers())
    return arguments.options(parser.parse_args(
        ["build", str(source), "--cache", str(cache), "--cc", shlex.join(builds.CC), *words]))


def counted(row: Row, options: Options) -> int:
    """Operations of a row's products and convolutions, two a multiply-add: those that the program runs, so what a mask
    leaves out of attention is not counted. 0: the row has none."""
    with Progress() as progress:
        captured = recording.record(options, progress)
    plan = assemble.compile_graph(options, captured.text, target_of(options)).plan
    symbols = assemble.entry_symbols(plan)
    function = next(f for f in plan.functions if symbols[f.name] == row.function)
    sizes = costs.sizes_at(function, dict(row.dims))
    return costs.of_products(function, costs.serving(function, sizes), sizes)


def target_of(options: Options) -> Target:
    return assemble.toolchains(options)[2]


def program(folder: Path, options: Options) -> Path:
    """Its program, for the best instruction set of the options."""
    folder.mkdir(parents=True, exist_ok=True)
    target, made, include = target_of(options), folder / "multiply_adds", builds.ROOT / "runtime" / "include"
    subprocess.run([*builds.CC, *machine.flags_of(target, options.cflags, target.isas[-1]), "-Wall", "-Wextra",
                    "-Werror", f"-I{machine.FOLDER}", f"-I{include}", f"-I{BENCH}",
                    str(BENCH / "peers" / "multiply_adds.c"),
                    *map(str, builds.POOL), *map(str, builds.core(folder.parent / "core")), "-pthread",
                    "-Wl,--gc-sections", "-o", str(made)], check=True)
    return made
