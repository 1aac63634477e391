# SPDX-License-Identifier: Apache-2.0
"""tensor-compile check: is the compiled model right? Against the interpreter, and against the user's golden data."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import UsageError
from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "check", help="compare the compiled model with the interpreter and with expected outputs", allow_abbrev=False,
        description="Builds MODEL.c, runs it and compares, output by output: its bits with the interpreter's on the "
                    "simplified graph (they must be equal), and its values with the recorded graph in double "
                    "precision (within what rounding explains). With --expect also with the user's own outputs. Fails "
                    "(exit code 1) where one differs, or where this machine runs none of the instruction sets. Every "
                    "variant and every instruction set that it runs is checked; the last line is the verdict.",
        epilog="Examples: tensor-compile check model.c --inputs x.safetensors --expect y.safetensors --rtol 1e-4; "
               "tensor-compile check model.c --dims batch=2 --tap '*' --save layers.safetensors")
    group = parser.add_argument_group("check")
    group.add_argument("--inputs", action="append", default=[], metavar="FILE",
                       help="the inputs by name, safetensors or a .npz of NumPy; sizes of dims are those of their "
                            "shapes; may be given several times (default: random; integers within the tensors "
                            "that they index)")
    arguments.add_input(group)
    group.add_argument("--expect", action="append", type=arguments.expected, default=[], metavar="FILE|NAME=FILE.npy",
                       help="expected outputs by name, safetensors or a .npz: the first goes with the first "
                            "--inputs, …; or one of them, a .npy of NumPy")
    group.add_argument("--state", default="", metavar="FILE",
                       help="the state before each call, by name: safetensors or a .npz (default: random floats, "
                            "integers are zero)")
    group.add_argument("--tap", action="append", default=[], metavar="NAME",
                       help="also compare what this part of the model computes, under its name: a scope "
                            "(layer.0.query), or an operation in one (layer.0.query.linear#4); `*` stands for any "
                            "characters of one level, so '*' is every outermost part; may be given several times. The "
                            "first part that differs is named. --expect may hold such tensors, too")
    group.add_argument("--save", default="", metavar="FILE",
                       help="write the outputs that were computed, taps among them, to this file: safetensors, or "
                            "where its name ends in .npz one of NumPy")
    group.add_argument("--rtol", type=arguments.bound, metavar="R",
                       help="a bound of yours: |got - want| <= atol + rtol * |want| (1e-4 where only --atol is given); "
                            "without both each element's bound is what rounding explains, docs/checking.md says how")
    group.add_argument("--atol", type=arguments.bound, metavar="A", help="(1e-5 where only --rtol is given)")
    group.add_argument("--float", default="", metavar="FLOAT.c",
                       help="MODEL.c was made of this model by `quantize`: print how far each of its layers and "
                            "outputs is from the float one's over the samples of --inputs, and compare nothing else; "
                            "without --least nothing is judged")
    group.add_argument("--interpret", action="store_true",
                       help="with --float: run both in the interpreter; nothing is compiled")
    group.add_argument("--least", type=arguments.bound, metavar="DB",
                       help="with --float: fail where the signal of a layer or an output is less than so many decibels "
                            "above its error")
    group.add_argument("--seed", type=int, default=None, metavar="N",
                       help="of random inputs (default: 1); where there are files of inputs, of those that they lack")
    arguments.add_call(parser)
    arguments.add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import check_model, check_runs
    from ..compile.given import Case

    if args.inputs and len(args.dims) > 1:
        raise UsageError("--inputs goes with one --dims")
    arguments.refuse_array("--save", args.save, "write a .npz")
    arrays = arguments.by_name("--input", args.input)
    expected = arguments.by_name("--expect", [one for one in args.expect if isinstance(one, tuple)])
    expect = [one for one in args.expect if isinstance(one, str)]
    if expect and len(expect) != max(len(args.inputs), bool(arrays)):
        raise UsageError("every --expect needs --inputs of its own")
    if expected and not args.inputs and not arrays:
        raise UsageError("--expect needs --inputs or --input")
    if (arrays or expected) and (len(args.inputs) > 1 or len(args.dims) > 1):
        raise UsageError("--input NAME=FILE and --expect NAME=FILE go with one --inputs and one --dims")
    if args.float:
        return _beside_float(args)
    if args.least is not None or args.interpret:
        raise UsageError(f"--{'interpret' if args.interpret else 'least'} goes with --float")
    cases = [Case(inputs, expect[i] if expect else "", arrays, expected)
             for i, inputs in enumerate(args.inputs or ([""] if arrays else []))]
    request = check_runs.Request(args.function, tuple(args.dims), tuple(cases), args.rtol, args.atol, args.seed,
                                 args.threads, args.exe_wrapper, os.path.abspath(args.save) if args.save else "",
                                 tuple(args.extern_source), arguments.by_name("--map", args.map), args.state)
    return check_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "check"), request)


def _beside_float(args: argparse.Namespace) -> int:
    from ..compile import quantize_model

    if args.expect or args.tap or args.save or args.input or args.state or not args.inputs:
        raise UsageError("--float goes with --inputs, and without --input, --state, --expect, --tap and --save")
    request = quantize_model.Request(tuple(args.inputs), "", function=args.function, threads=args.threads,
                                     dims=args.dims[0] if args.dims else {}, names=arguments.by_name("--map", args.map),
                                     interpret=args.interpret)
    options = arguments.options(args, Path(arguments.default_cache(args)) / "check")
    return quantize_model.check(options, request, args.float, args.least)
