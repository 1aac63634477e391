# SPDX-License-Identifier: Apache-2.0
"""tensor-compile bench: every kernel of a model beside what the machine can do."""
from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import UsageError
from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "bench", help="time every kernel beside this machine's ceilings", allow_abbrev=False,
        description="Builds MODEL.c for this processor, measures what the machine can do (multiply-adds, reads of each "
                    "level of cache) and then calls the model many times. Prints for every kernel, the slowest first: "
                    "time of a call (median, and the least), share of the whole, operations and bytes in a second, and "
                    "percent of the ceiling that bounds it, by the least time: other work makes that no worse. "
                    "`profile` compares with the target file and sums by scope and line.",
        epilog="Example: tensor-compile bench model.c --dims batch=8 --threads 4 --chart kernels.svg")
    group = parser.add_argument_group("bench")
    arguments.add_inputs(group, " (default: random)")
    group.add_argument("--calls", type=arguments.positive, default=200, metavar="N",
                       help="the most calls that are measured; fewer where they take over a second (default: 200)")
    group.add_argument("--chart", default="", metavar="FILE.svg", help="write the table as a chart, too")
    arguments.add_call(parser)
    arguments.add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import bench_model, profile_model

    if args.backend == "cuda":
        raise UsageError("--target cuda does not go with bench, which times kernels of this processor")
    request = profile_model.Request(arguments.one_call(args, "bench"), args.calls)
    return bench_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "bench"), request, args.chart)
