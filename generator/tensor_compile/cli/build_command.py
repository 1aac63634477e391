# SPDX-License-Identifier: Apache-2.0
"""tensor-compile build: model.c -> object and header."""
from __future__ import annotations

import argparse

from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "build", help="compile a model to an object and a header", allow_abbrev=False,
        description="Compiles MODEL.c to MODEL.o and MODEL.h. Link the object with the program that includes the "
                    "header; `pkg-config --libs tensor-compile` names the runtime. The same inputs give the same bytes "
                    "in any folder on any machine; a model that has not changed is left as it is.",
        epilog="Examples: tensor-compile build model.c -o build --cc aarch64-linux-gnu-gcc --specialize batch=1,32; "
               "tensor-compile build model.c -o sources --emit c --target-file cortex-m4f")
    arguments.add_model(parser)
    arguments.add_outputs(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import build

    build.build(arguments.options(args))
    return 0
