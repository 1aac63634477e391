# SPDX-License-Identifier: Apache-2.0
"""tensor-compile run: one call of a model with the user's tensors."""
from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "run", help="build a model and call it once", allow_abbrev=False,
        description="Builds MODEL.c for this processor, calls it with the tensors of a safetensors file, and shows "
                    "every "
                    "output: dtype, shape, range, mean, the first elements. Sizes of dynamic dims are those of the "
                    "inputs' shapes. A state is zero before the call unless --state says otherwise.",
        epilog="Example: tensor-compile run model.c --inputs x.safetensors -o y.safetensors")
    group = parser.add_argument_group("run")
    group.add_argument("--inputs", default="", metavar="FILE", help="safetensors with the inputs by name")
    group.add_argument("-o", "--outputs", default="", metavar="FILE", help="write the outputs to this safetensors file")
    group.add_argument("--state", default="", metavar="FILE",
                       help="safetensors with the state before the call, by name")
    group.add_argument("--state-out", default="", metavar="FILE", help="write the state behind the call to this file")
    arguments.add_call(parser)
    arguments.add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import run_model

    request = replace(arguments.one_call(args, "run"), out=args.outputs, state=args.state, state_out=args.state_out)
    return run_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "run"), request)
