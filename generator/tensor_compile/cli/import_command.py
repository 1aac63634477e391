# SPDX-License-Identifier: Apache-2.0
"""tensor-compile import: a model of another format -> model.c and weights."""
from __future__ import annotations

import argparse
from pathlib import Path

from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "import", help="write a model of another format as model.c and weights", allow_abbrev=False,
        description="Reads an ONNX model, a program of torch.export or a TensorFlow Lite model and writes model.c, "
                    "which is "
                    "yours from then on, and model.safetensors with the weights beside it. The same model gives the "
                    "same "
                    "bytes; a model.c that was changed since it was imported is left alone. `build`, `check`, "
                    "`explain` and "
                    "`tune` take the .onnx, .pt2 or .tflite itself, too: they import it in the cache. docs/import.md "
                    "says what "
                    "can be imported.",
        epilog="Example: tensor-compile import detector.onnx -o detector --dim batch=1:8 --dim height=32:1024:32")
    parser.add_argument("model", metavar="MODEL", help="MODEL.onnx, MODEL.pt2 or MODEL.tflite")
    parser.add_argument("-o", "--out", default=".", metavar="DIR", help="folder for model.c and model.safetensors "
                        "(default: .)")
    parser.add_argument("--name", default="", metavar="NAME", help="the model's C name (default: by the file's name)")
    arguments.add_import(parser)
    parser.add_argument("--force", action="store_true", help="overwrite a model.c that was changed")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import imported

    asked = imported.Asked(tuple(args.dim), tuple(args.set), args.qdq)
    imported.write(Path(args.model), args.model, Path(args.out), args.name, asked, args.force)
    return 0
