# SPDX-License-Identifier: Apache-2.0
"""A .tflite file to model.c and weights."""
from __future__ import annotations

import mmap
from pathlib import Path
from typing import Mapping, Sequence

from ...errors import OptionError, UserError, closest
from ..dims import Dims, Range
from ..output import Written, write
from ..problems import Malformed, Problem, Unsupported, report
from ..program import Program
from ..source import identifier
from .graph import Importer
from .model import read

HINT = "is it whole, and a TensorFlow Lite model?"


def load(path: Path, shown: str) -> memoryview:
    """The file's memory, read as it is needed."""
    try:
        with open(path, "rb") as f:
            if not path.stat().st_size:
                raise UserError("the file is empty", shown)
            return memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
    except IsADirectoryError:
        raise UserError("a folder, not a model", shown) from None
    except FileNotFoundError:
        raise UserError("no such file", shown) from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", shown) from None


def import_program(path: Path, shown: str, name: str, ranges: Mapping[str, Range] | None = None) -> tuple[Program, str]:
    """The program of a model file, and what the file says of itself. name: a C identifier."""
    program = Program(name, Dims(ranges))
    problems: list[Problem] = []
    try:
        model = read(load(path, shown))
        importer = Importer(model.graph, model.graphs, program)
        problems = importer.problems
        importer.run()
    except Malformed as error:
        raise UserError(str(error), shown, HINT) from None
    except Unsupported as error:
        problems.append(Problem("model", error.message, "", error.hint))
    if problems:
        raise report(problems, shown)
    for dim in program.dims.unknown():
        raise UserError(f"--dim: the model has no dim {dim!r}", shown, closest(dim, program.dims.declared) +
                        f"its dims: {', '.join(program.dims.declared) or 'none'}")
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
