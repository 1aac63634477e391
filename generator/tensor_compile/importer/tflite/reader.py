# SPDX-License-Identifier: Apache-2.0
"""A .tflite file to model.c and weights."""
from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from ...errors import OptionError, UserError
from ..dims import Dims, Range
from ..mapped import load
from ..output import Written, write
from ..problems import Malformed, Problem, Unsupported, report
from ..program import Program
from ..source import identifier
from .graph import Importer
from .model import read

HINT = "is it whole, and a TensorFlow Lite model?"


def import_program(path: Path, shown: str, name: str, ranges: Mapping[str, Range] | None = None) -> tuple[Program, str]:
    """The program of a model file, and what the file says of itself. name: a C identifier."""
    program = Program(name, Dims(ranges))
    problems: list[Problem] = []
    try:
        model = read(load(path, shown))
        importer = Importer(model.graphs, program)
        problems = importer.problems
        importer.run()
    except Malformed as error:
        raise UserError(str(error), shown, HINT) from None
    except Unsupported as error:
        problems.append(Problem("model", error.message, "", error.hint))
    if problems:
        raise report(problems, shown)
    program.dims.refuse_unknown(shown)
    return program, model.description


def import_file(path: Path, shown: str, name: str = "", ranges: Mapping[str, Range] | None = None,
                fixed: Sequence[str] = ()) -> Written:
    """name: of the model, "": by the file's; weights lie in NAME.safetensors beside model.c."""
    if fixed:
        raise OptionError("--set: a TensorFlow Lite model has constants where they were converted", shown,
                          "give the value when the model is converted")
    name = name or identifier(path.stem, "model")
    program, description = import_program(path, shown, name, ranges)
    comment = [f"{path.name}, a TensorFlow Lite model, imported by tensor-compile."]
    if description:
        comment += ["", f"It says: {description[:80]}"]
    return write([program], "model.safetensors", comment)
