# SPDX-License-Identifier: Apache-2.0
"""tensor-compile quantize: a float model -> model.c and weights of 8-bit integers."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import UsageError
from . import Parser, arguments

PERCENTILE = 99.99   # of --observer percentile, unless it is said


def percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 50 < value <= 100:
        raise argparse.ArgumentTypeError(f"not a percentage above 50: {text!r}")
    return value


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "quantize", help="make a float model one of 8-bit integers", allow_abbrev=False,
        description="Runs MODEL over samples of its inputs to learn the range of every value, and writes model.c and "
                    "model.safetensors of a model with the same inputs and outputs that computes convolutions, "
                    "products by "
                    "weights and what lies between them in integers of 8 bits. Then runs both over the samples and "
                    "prints, layer "
                    "by layer, how far the integers are from the floats; operations that stay floats are named. "
                    "docs/quantize.md has the details.",
        epilog="Examples: tensor-compile quantize model.c --data samples.safetensors -o int8; "
               "tensor-compile quantize net.onnx --data x.safetensors --observer percentile --float head.fc -o int8")
    group = parser.add_argument_group("quantize")
    group.add_argument("--data", action="append", default=[], metavar="FILE",
                       help="samples of the inputs by name, safetensors or a .npz of NumPy, one behind the other "
                            "along the first axis; may be given several times")
    group.add_argument("-o", "--out", dest="folder", default="", metavar="DIR",
                       help="folder for model.c and model.safetensors")
    group.add_argument("--observer", choices=("minmax", "percentile"), default="minmax",
                       help="the range of a value: from its smallest to its largest element, or without the outermost "
                            "ones "
                            "(default: minmax)")
    group.add_argument("--percentile", type=percent, default=None, metavar="P",
                       help="so many percent of the elements lie within the range of --observer percentile (default: "
                            "99.99)")
    group.add_argument("--per-tensor", action="store_true",
                       help="one scale for all weights of a layer (default: one an output channel)")
    group.add_argument("--activations", choices=("i8", "u8"), default="i8",
                       help="the dtype of values: i8, or u8, which x86-64 multiplies by weights without a sum of each "
                            "row (default: i8)")
    group.add_argument("--rescale", choices=("floats", "integers"), default="floats",
                       help="how sums are brought to the scale of a result: by a multiplication in f32, rounded to "
                            "even as ONNX "
                            "has it, or in integers as TensorFlow Lite has it, for processors without floats (default: "
                            "floats)")
    group.add_argument("--float", action="append", default=[], metavar="LAYER",
                       help="this layer of the report stays in floats; `*` stands for any characters; may be given "
                            "several times")
    group.add_argument("--samples", type=arguments.positive, default=0, metavar="N",
                       help="look at the first N samples alone (default: all)")
    group.add_argument("--report", default="", metavar="FILE", help="also write what is printed to FILE")
    group.add_argument("--no-compare", action="store_true",
                       help="only write the model: do not build both and compare them over the samples")
    group.add_argument("--interpret", action="store_true",
                       help="run the models in the interpreter: nothing is compiled, and large models are slow")
    group.add_argument("--force", action="store_true", help="overwrite a model.c that was changed")
    group = parser.add_argument_group("call")
    group.add_argument("--function", default="", metavar="NAME", help="this function of a model that has several")
    group.add_argument("--dims", type=arguments.bindings, default={}, metavar="DIM=SIZE,…",
                       help="sizes of dynamic dims that the inputs' shapes do not tell")
    group.add_argument("--map", action="append", type=arguments.renaming, default=[], metavar="NAME=NAME_IN_FILE",
                       help="the file has this input under another name; may be given several times")
    group.add_argument("--threads", type=arguments.positive, default=1, metavar="N", help="the team (default: 1)")
    arguments.add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import quantize_model

    if not args.folder:
        raise UsageError("-o is missing: the folder for the quantized model\n"
                         "  hint: tensor-compile quantize MODEL.c --data FILE.safetensors -o DIR")
    if args.percentile is not None and args.observer != "percentile":
        raise UsageError("--percentile goes with --observer percentile")
    if args.backend != "c":
        raise UsageError("--target does not go with quantize, which runs the model on this processor")
    request = quantize_model.Request(
        tuple(args.data), args.folder, args.observer,
        PERCENTILE if args.percentile is None else args.percentile, not args.per_tensor,
        args.rescale == "floats", args.activations, tuple(args.float),
        args.function, args.force, os.path.abspath(args.report) if args.report else "", args.dims,
        arguments.by_name("--map", args.map), args.samples, args.threads, not args.no_compare,
        args.interpret)
    return quantize_model.run(arguments.options(args, Path(arguments.default_cache(args)) / "quantize"), request)
