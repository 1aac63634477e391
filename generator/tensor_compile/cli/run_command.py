# SPDX-License-Identifier: Apache-2.0
"""tensor-compile run: one call of a model with the user's tensors."""
from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "run", help="build a model and call it once", allow_abbrev=False,
        description="Builds MODEL.c for this processor, calls it with the tensors of a file, and shows every output: "
                    "dtype, shape, range, mean, the first elements. Files are safetensors, or NumPy's: a .npz with "
                    "arrays by name, as np.savez writes it, or a .npy for each tensor. Sizes of dynamic dims are "
                    "those of the inputs' shapes. A state is zero before the call unless --state says otherwise.",
        epilog="Examples: tensor-compile run model.c --inputs x.safetensors -o y.safetensors; "
               "tensor-compile run model.c --input x=x.npy --output y=y.npy; "
               "tensor-compile run model.c --seed 1 --dims batch=2")
    group = parser.add_argument_group("run")
    arguments.add_inputs(group, "")
    group.add_argument("--seed", type=int, default=None, metavar="N",
                       help="make up the inputs that are not given, as `check` does: random, integers within the "
                            "tensors that they index; the same N gives the same ones")
    group.add_argument("-o", "--outputs", default="", metavar="FILE",
                       help="write the outputs to this file: safetensors, or where its name ends in .npz one of NumPy")
    group.add_argument("--output", action="append", type=arguments.array, default=[], metavar="NAME=FILE.npy",
                       help="write this output to a .npy of NumPy; may be given several times")
    group.add_argument("--state", default="", metavar="FILE",
                       help="the state before the call, by name: safetensors or a .npz")
    group.add_argument("--state-out", default="", metavar="FILE",
                       help="write the state behind the call to this file, as --outputs")
    arguments.add_call(parser)
    arguments.add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import run_model

    for option, file in (("--outputs", args.outputs), ("--state-out", args.state_out)):
        arguments.refuse_array(option, file, "write a .npz, or each output by --output NAME=FILE.npy")
    written = [os.path.abspath(file) for file in (args.outputs, args.state_out, *(f for _, f in args.output)) if file]
    for file in written:
        if written.count(file) > 1:
            raise UsageError(f"{os.path.relpath(file)} is to be written twice: every --output, --outputs and "
                             "--state-out has a file of its own")
    request = replace(arguments.one_call(args, "run"), out=args.outputs, state=args.state, state_out=args.state_out,
                      arrays_out=arguments.by_name("--output", args.output), seed=args.seed)
    return run_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "run"), request)
