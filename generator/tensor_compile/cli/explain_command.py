# SPDX-License-Identifier: Apache-2.0
"""tensor-compile explain: what was built, read from the emitted program."""
from __future__ import annotations

import argparse
from pathlib import Path

from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "explain", help="describe what is built from a model", allow_abbrev=False,
        description="Prints, for every function and variant: the kernels in order with the bytes that each reads and "
                    "writes in a call (every element once a kernel, in tiles once a tile; `|`: the threads wait for "
                    "each other before it), what was fused and what was not, and why; where tensors lie in the arena; "
                    "guards; and the sizes of code, weights, arena and stack. Everything is read from the emitted "
                    "program.",
        epilog="Example: tensor-compile explain model.c --isa avx2 --at batch=8")
    arguments.add_model(parser)
    parser.add_argument("--at", "--dims", type=arguments.bindings, default={}, metavar="DIM=SIZE,…",
                        help="sizes at which the generic variant's bytes are counted (default: the lower ends); "
                             "--summary and --html show the variants that serve them (default: those of --specialize)")
    parser.add_argument("--summary", action="store_true",
                        help="a screen: shares of time, memory, largest tensors, what was not fused, code and weights "
                             "by scope")
    parser.add_argument("--html", default="", metavar="FILE",
                        help="write one page: graph, kernels with the model's lines beside the generated C, memory "
                             "over time, "
                             "fusion, guards, schedules, roofline")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import assemble, files, page, report, summary
    from ..compile.progress import Progress

    options = arguments.options(args, Path(arguments.default_cache(args)) / "explain")
    with Progress() as progress:
        made = assemble.run(options, progress)
    report.check_sizes(made, options.shown, args.at)
    if args.html:
        files.write(Path(args.html), page.text(made, options.shown, Path(options.model), args.at))
    if args.summary:
        print(summary.text(made, options, args.at), end="")
    elif not args.html:
        print(report.text(made, options.shown, args.at), end="")
    return 0
