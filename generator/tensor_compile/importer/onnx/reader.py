# SPDX-License-Identifier: Apache-2.0
"""A .onnx file to model.c and weights."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from ...errors import OptionError, UserError, closest
from ...symbolic import wrap
from ..dims import Dims, Range
from ..mapped import load
from ..output import Written, write
from ..problems import Malformed, Unsupported, report
from ..program import Program
from ..source import identifier
from ..values import FLOATS, Value
from .data import TYPES, Source
from .graph import Importer
from .model import Model, Tensor, read

HINT = "is it whole, and an ONNX model?"


def external_files(path: Path, shown: str) -> tuple[Path, ...]:
    """The files that a model has data in besides its own."""
    source = Source(path.parent)
    try:
        model: Model = read(Model, load(path, shown))
        for tensor in _tensors(model):
            if tensor.data_location == 1:
                source.value(tensor)
    except (Malformed, Unsupported):
        pass   # the import says what is wrong
    return tuple(source.external.values())


def _tensors(model: Model) -> Iterator[Tensor]:
    graphs = [model.graph] if model.graph else []
    nodes = [n for f in model.functions for n in f.node]
    while graphs or nodes:
        if graphs:
            g = graphs.pop()
            yield from g.initializer
            nodes += g.node
            continue
        for a in nodes.pop().attribute:
            yield from (*((a.t,) if a.t else ()), *a.tensors)
            graphs += [*((a.g,) if a.g else ()), *a.graphs]


def fixed_inputs(model: Model, words: Sequence[str], shown: str) -> dict[str, Value]:
    """Inputs that the command line fixes: NAME=NUMBER,… in row-major order, of the type that the model declares."""
    declared = {info.name: info for info in model.graph.input} if model.graph else {}
    found: dict[str, Value] = {}
    for word in words:
        name, _, text = word.partition("=")
        if name not in declared:
            raise OptionError(f"--set: the model has no input {name!r}", shown,
                              closest(name, declared) + f"its inputs: {', '.join(declared)}")
        kind = declared[name].type
        tensor = kind.tensor if kind else None
        dtype = TYPES.get(tensor.elem_type) if tensor else None
        if tensor is None or dtype is None:
            raise OptionError(f"--set: the input {name!r} is no tensor of numbers", shown)
        try:
            numbers = tuple((float if dtype in FLOATS else int)(t) for t in text.split(",") if t.strip())
        except ValueError:
            raise OptionError(f"--set: not numbers of {dtype}: {text!r}", shown) from None
        rank = len(tensor.shape.dims) if tensor.shape else 1
        sizes = [d.value for d in tensor.shape.dims] if tensor.shape else []
        if rank > 1 and (None in sizes or math.prod(s or 0 for s in sizes) != len(numbers)):
            raise OptionError(f"--set: {name} has {rank} axes whose sizes {len(numbers)} numbers do not give", shown)
        shape = tuple(wrap(s or 0) for s in sizes) if rank > 1 else (wrap(len(numbers)),) if rank else ()
        if rank == 0 and len(numbers) != 1:
            raise OptionError(f"--set: {name} is one number", shown)
        found[name] = Value(dtype, shape, numbers, hint=name)
    return found


def import_program(path: Path, shown: str, name: str, ranges: Mapping[str, Range] | None = None,
                   fixed: Mapping[str, Value] | Sequence[str] = (), in_integers: bool = False) -> tuple[Program, Model,
                                                                                                        Source]:
    """The program of a model file. name: a C identifier; fixed: inputs that are constants, as words or values;
    in_integers: see qdq.py."""
    program = Program(name, Dims(ranges))
    source = Source(path.parent)
    try:
        model: Model = read(Model, load(path, shown))
        values = dict(fixed) if isinstance(fixed, Mapping) else fixed_inputs(model, fixed, shown)
        importer = Importer(model, source, program, values, in_integers)
        importer.run()
    except Malformed as error:
        raise UserError(str(error), shown, HINT) from None
    if importer.problems:
        raise report(importer.problems, shown)
    program.dims.refuse_unknown(shown)
    return program, model, source


def import_file(path: Path, shown: str, name: str = "", ranges: Mapping[str, Range] | None = None,
                fixed: Mapping[str, Value] | Sequence[str] = (), in_integers: bool = False) -> Written:
    """name: of the model, "": by the file's; weights lie in NAME.safetensors beside model.c."""
    name = name or identifier(path.stem, "model")
    program, model, source = import_program(path, shown, name, ranges, fixed, in_integers)
    opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    producer = f"{model.producer_name} {model.producer_version}".strip()
    comment = [f"{path.name}, imported by tensor-compile.", "",
               f"Opset {opsets}{f'; made by {producer}' if producer else ''}."]
    return write([program], "model.safetensors", comment, sources=tuple(source.external.values()))
