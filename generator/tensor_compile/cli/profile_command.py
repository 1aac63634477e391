# SPDX-License-Identifier: Apache-2.0
"""tensor-compile profile: where the time of a call goes."""
from __future__ import annotations

import argparse
from pathlib import Path

from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "profile", help="measure every kernel of a model", allow_abbrev=False,
        description="Builds MODEL.c for this processor, calls it many times with random inputs or those of "
                    "--inputs, and prints for every kernel: time of a call (median, and the least, by which "
                    "rates are), operations and bytes in a second beside what the target file's clock and "
                    "bandwidth allow, the scope and the line of the model; then time by scope and by line. "
                    "--from reads what a deployed program recorded (docs/runtime.md) instead.",
        epilog="Examples: tensor-compile profile model.c --dims batch=8 --trace trace.json; "
               "tensor-compile profile model.c --dims batch=8 --from recorded.json")
    group = parser.add_argument_group("profile")
    arguments.add_inputs(group, " (default: random)")
    group.add_argument("--calls", type=arguments.positive, default=100, metavar="N",
                       help="the most calls that are measured; fewer where they take over a second (default: 100)")
    group.add_argument("--trace", default="", metavar="FILE",
                       help="write when every thread ran every kernel, as JSON that ui.perfetto.dev shows")
    group.add_argument("--from", dest="record", default="", metavar="FILE",
                       help="the record of a program (tc_recorder_write), which is not measured again")
    arguments.add_call(parser)
    arguments.add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import profile_model

    request = profile_model.Request(arguments.one_call(args, "profile"), args.calls, args.trace, args.record)
    return profile_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "profile"), request)
