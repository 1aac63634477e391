# SPDX-License-Identifier: Apache-2.0
"""tensor-compile pack: new weights for a model that was built with --weights external."""
from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from . import Parser, arguments

if TYPE_CHECKING:
    from ..pipeline import Compiled


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "pack", help="write a new external weights file", allow_abbrev=False,
        description="Packs weights for an object that was built from MODEL.c with --weights external and the same "
                    "options: same names, dtypes and shapes, other values. The object stays as it is; a program that "
                    "maps another model's file gets TC_STATUS_BAD_WEIGHTS.",
        epilog="Example: tensor-compile pack model.c --from fine-tuned.safetensors --out model.weights")
    arguments.add_model(parser)
    group = parser.add_argument_group("weights")
    group.add_argument("--from", dest="sources", action="append", default=[], metavar="FILE",
                       help="safetensors in place of the model's own, once for each file that it names, in their order "
                            "(default: the model's own)")
    group.add_argument("-o", "--out", dest="output", required=True, metavar="FILE", help="where the packed weights go")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..compile import assemble, files, pack, recording
    from ..compile.progress import Progress
    from ..compile.record import Inputs
    from ..errors import UserError

    output = Path(os.path.abspath(args.output))
    options = arguments.options(args, output.parent)
    with Progress() as progress:
        progress.say(f"{options.shown}: packing weights")
        _, host, target, _ = assemble.toolchains(options)
        cache = options.open_cache()
        captured = recording.capture(options, host, cache)
        inputs, given = Inputs(cache.root), [Path(os.path.abspath(p)) for p in args.sources]

        def compiled_with(replacements: list[Path]) -> Compiled:
            evaluate = pack.evaluator(captured, host, cache, inputs, options.jobs, replacements)
            with captured.errors():
                return assemble.compile_graph(options, captured.text, target, evaluate=evaluate)
        compiled = compiled_with(given)
        if options.bake_values and given and compiled.baked.digest != compiled_with([]).baked.digest:
            raise UserError("other channels are constant or unused than in the model's own weights: no code of "
                            "--bake-values fits", ", ".join(args.sources),
                            "build the model with these weights, or without --bake-values")
        sources = pack.weight_files(compiled.constants, captured.model, given)
        payload = pack.pack(compiled, sources, captured, host, cache, inputs, options.jobs)
        inputs.hashes.save()
        files.write(output, assemble.external_weights(compiled.plan, payload))
    return 0
