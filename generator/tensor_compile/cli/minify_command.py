# SPDX-License-Identifier: Apache-2.0
"""tensor-compile minify: the smallest source that fails as a model does."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import Parser


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "minify", help="make a failing model as small as it can be", allow_abbrev=False,
        description="Takes parts out of MODEL.c as long as it fails in the same way: wrong results of check, an error "
                    "message, an internal error, a crash. The result is a model.c for a report. It stands in the file "
                    "of -o from the first success on; Ctrl-C ends the search and keeps it.",
        epilog="Examples: tensor-compile minify model.c -o small.c -- --dims batch=3 --isa avx2; "
               "tensor-compile minify model.c --command build -- --max-code 32K")
    parser.add_argument("model", metavar="MODEL.c", help="the model's source")
    parser.add_argument("-o", "--out", default="", metavar="FILE",
                        help="the result (default: MODEL.min.c beside MODEL.c, whose headers and weights it names)")
    parser.add_argument("--command", choices=("check", "build", "run"), default="check",
                        help="the sub-command that fails (default: check)")
    parser.usage = "tensor-compile minify [-h] [-o FILE] [--command {check,build,run}] MODEL.c [-- OPTIONS OF IT]"
    parser.set_defaults(run=run)


def parted(argv: list[str]) -> tuple[list[str], list[str]]:
    """The words of minify, and those behind `--`, which the failing sub-command gets as they are."""
    if argv[:1] != ["minify"] or "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1:]


def run(args: argparse.Namespace) -> int:
    from ..compile import minify_model

    model = Path(os.path.abspath(args.model))
    out = Path(args.out) if args.out else model.with_suffix(".min.c")
    return minify_model.run(model, args.model, out, [args.command, *args.passed_on])
