# SPDX-License-Identifier: Apache-2.0
"""A .pt2 file to model.c and weights."""
from __future__ import annotations

import json
import math
import re
import zipfile
from pathlib import Path
from typing import Mapping, Sequence

from ...errors import OptionError, UserError
from ..dims import Dims, Range
from ..output import Written, write
from ..problems import Malformed, Problem, Unsupported, report
from ..program import Program
from ..source import Names, identifier
from .archive import Archive, Json, items, member, text
from .graph import Importer
from .members import DAMAGED, HINT
from .outputs import member_names

# Beside the program, by tensor-compile-export.py: what the user called the sizes.
NAMES_MEMBER = "/tensor_compile_dims.json"


def dim_names(archive: Archive) -> dict[str, str]:
    """C identifiers for PyTorch's symbols: the user's names where the archive has them, else INPUT_AXIS of the first
    input of that size."""
    found: dict[str, str] = {}
    module = member(archive.program, "graph_module")
    signature = member(module, "signature")
    # Inputs, outputs and dims are members of one struct.
    names = Names([*_tensors(signature), *member_names(module, _outputs(signature))])
    for symbol, name in _kept(archive).items():
        found[symbol] = names.take(identifier(name, "dim"))
    graph = member(module, "graph")
    numbers = member(graph, "sym_int_values") if "sym_int_values" in graph else {}
    for spec in items(signature, "input_specs"):
        for symbol in _symbols(numbers.get(name := _number(spec))):
            if symbol not in found:
                found[symbol] = names.take(identifier(name, "dim"))
    types = member(graph, "tensor_values")
    for name in _tensors(signature):
        meta = types.get(name)
        for axis, size in enumerate(items(meta, "sizes") if isinstance(meta, dict) else ()):
            for symbol in _symbols(size):
                if symbol not in found:
                    found[symbol] = names.take(identifier(f"{name}_{axis}", "dim"))
    return found


def multiples(archive: Archive) -> dict[str, int]:
    """Symbols of which the inputs have sizes that are multiples alone (a Dim times a number), and of what."""
    module = member(archive.program, "graph_module")
    types = member(member(module, "graph"), "tensor_values")
    found: dict[str, int] = {}
    for name in _tensors(member(module, "signature")):
        meta = types.get(name)
        for size in items(meta, "sizes") if isinstance(meta, dict) else ():
            for symbol in _symbols(size):
                found[symbol] = math.gcd(found.get(symbol, 0), _factor(size))
    return {symbol: factor for symbol, factor in found.items() if factor > 1}


def _factor(size: Json) -> int:
    """Of a number times a symbol the number."""
    written = text(member(size, "as_expr"), "expr_str")
    match = re.fullmatch(r"Mul\(Integer\((\d{1,9})\), Symbol\('s\d+'[^()]*\)\)|(\d{1,9})\*s\d+", written)
    return int(match[1] or match[2]) if match else 1


def _given(spec: object, kind: str) -> object:
    """What a call is given, where it is of this kind; else None."""
    found: object = spec
    for key in ("user_input", "arg", kind):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _number(spec: object) -> str:
    """The name of a size that a call is given beside its tensors; "" where it is something else."""
    found = _given(spec, "as_sym_int")
    name = found.get("as_name") if isinstance(found, dict) else None
    return name if isinstance(name, str) else ""


def _tensors(signature: object) -> list[str]:
    """The tensors that a call is given."""
    found = (_given(spec, "as_tensor") for spec in items(signature, "input_specs"))
    return [text(tensor, "name") for tensor in found if isinstance(tensor, dict)]


def _outputs(signature: object) -> int:
    return sum(isinstance(spec, dict) and "user_output" in spec for spec in items(signature, "output_specs"))


def _symbols(size: object) -> list[str]:
    found = size.get("as_expr") if isinstance(size, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("expr_str"), str):
        return []
    return list(dict.fromkeys(re.findall(r"\bs\d+\b", found["expr_str"])))


def _kept(archive: Archive) -> Mapping[str, str]:
    try:
        with zipfile.ZipFile(archive.path) as z:
            name = next((n for n in z.namelist() if n.endswith(NAMES_MEMBER)), "")
            found = json.loads(z.read(name)) if name and z.getinfo(name).file_size < 1 << 20 else {}
    except DAMAGED:
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def import_program(path: Path, shown: str, name: str, ranges: Mapping[str, Range] | None = None) -> Program:
    """name: a C identifier."""
    program = Program(name, Dims(ranges))
    problems: list[Problem] = []
    try:
        archive = Archive(path, shown)
        importer = Importer(archive, program, dim_names(archive), multiples(archive))
        problems = importer.problems
        importer.run()
    except Malformed as error:
        raise UserError(str(error), shown, HINT) from None
    except Unsupported as error:
        problems.append(Problem("program", error.message, "", error.hint))
    if problems:
        raise report(problems, shown)
    program.dims.refuse_unknown(shown)
    return program


def import_file(path: Path, shown: str, name: str = "", ranges: Mapping[str, Range] | None = None,
                fixed: Sequence[str] = ()) -> Written:
    """name: of the model, "": by the file's; weights lie in NAME.safetensors beside model.c."""
    if fixed:
        raise OptionError("--set: a PyTorch program has constants where the export made them", shown,
                          "give the value when the module is exported")
    name = name or identifier(path.stem, "model")
    program = import_program(path, shown, name, ranges)
    comment = [f"{path.name}, a PyTorch program, imported by tensor-compile."]
    return write([program], "model.safetensors", comment)
