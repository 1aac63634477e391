# SPDX-License-Identifier: Apache-2.0
"""tensor-compile check: is the compiled model right? Against the interpreter, and against the user's golden data."""
from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from ..errors import UsageError
from . import arguments


def bindings(text: str) -> dict[str, int]:
    found = {}
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([A-Za-z_]\w*)=(\d+)", part.strip())
        if not match:
            raise argparse.ArgumentTypeError(f"not DIM=SIZE,…: {text!r}")
        found[match[1]] = int(match[2])
    return found


def add(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "check", help="compare the compiled model with the interpreter and with expected outputs", allow_abbrev=False,
        description="Builds MODEL.c, runs it and compares, output by output: its bits with the interpreter's on the "
                    "simplified graph (they must be equal), and its values with the recorded graph in double precision "
                    "(within the bound). With --expect also with the user's own outputs. Fails (exit code 1) where one "
                    "differs. Every variant and every instruction set that this machine runs is checked.",
        epilog="Examples: tensor-compile check model.c --inputs x.safetensors --expect y.safetensors --rtol 1e-4; "
               "tensor-compile check model.c --dims batch=2 --tap '*' --save layers.safetensors")
    arguments.add_model(parser)
    group = parser.add_argument_group("check")
    group.add_argument("--function", default="", metavar="NAME",
                       help="only this function: its C name, or the one in the model's source (default: all)")
    group.add_argument("--dims", action="append", type=bindings, default=[], metavar="DIM=SIZE,…",
                       help="sizes of dynamic dims; may be given several times (default: every specialized combination, "
                            "and one for the generic variant)")
    group.add_argument("--inputs", default="", metavar="FILE",
                       help="safetensors with the inputs by name (default: random; integers within the tensors that "
                            "they index)")
    group.add_argument("--expect", default="", metavar="FILE", help="safetensors with expected outputs by name")
    group.add_argument("--tap", action="append", default=[], metavar="NAME",
                       help="also compare what this part of the model computes, under its name: a scope "
                            "(layer.0.query), or an operation in one (layer.0.query.linear#4); `*` stands for any "
                            "characters of one level, so '*' is every outermost part; may be given several times. The "
                            "first part that differs is named. --expect may hold such tensors, too")
    group.add_argument("--save", default="", metavar="FILE",
                       help="write the outputs that were computed, taps among them, to this safetensors file")
    group.add_argument("--rtol", type=arguments.bound, default=1e-4, metavar="R",
                       help="bound: |got - want| <= atol + rtol * |want| (default: 1e-4)")
    group.add_argument("--atol", type=arguments.bound, default=1e-5, metavar="A", help="(default: 1e-5)")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of random inputs (default: 1)")
    group.add_argument("--threads", type=arguments.positive, default=1, metavar="N", help="the team (default: 1)")
    group.add_argument("--extern-source", action="append", default=[], metavar="FILE",
                       help="C source of functions that the model calls with tc_extern; may be given several times")
    group.add_argument("--exe-wrapper", type=arguments.words, default=(), metavar="COMMAND",
                       help="starts the target's programs here, e.g. 'qemu-aarch64 -L /usr/aarch64-linux-gnu'")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import check_model

    if args.inputs and len(args.dims) > 1:
        raise UsageError("--inputs goes with one --dims")
    if args.expect and not args.inputs:
        raise UsageError("--expect needs --inputs")
    request = check_model.Request(args.function, tuple(args.dims), args.inputs, args.expect, args.rtol, args.atol, args.seed,
                            args.threads, args.exe_wrapper, os.path.abspath(args.save) if args.save else "",
                            tuple(args.extern_source))
    return check_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "check"), request)
