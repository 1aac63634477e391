# SPDX-License-Identifier: Apache-2.0
"""Models of other formats: model.c and weights, in a folder of the user's or in the cache. The importers are loaded
where there is such a model: every command asks whether there is."""
from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OptionError, UserError
from ..records import dataclass
from . import files
from .cache import Cache
from .options import Recording
from .record import Inputs

if TYPE_CHECKING:
    from ..importer.dims import Range
    from ..importer.output import Written

SUFFIXES = (".onnx", ".pt2", ".tflite")


@dataclass(frozen=True, slots=True)
class Asked:
    """dims: NAME=RANGE words; fixed: NAME=VALUES words: inputs that are constants; qdq: how operations between
    DequantizeLinear and QuantizeLinear are computed, floats or integers."""

    dims: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    qdq: str = "floats"


def is_foreign(model: str) -> bool:
    """Whether a model is of a format that is imported."""
    return model.endswith(SUFFIXES)


def ranges(words: tuple[str, ...]) -> dict[str, Range]:
    from ..importer.dims import Range

    found: dict[str, Range] = {}
    for word in words:
        name, _, text = word.partition("=")
        r = Range.parse(text)
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or r is None:
            raise OptionError(f"--dim: not DIM=SIZE, DIM=LOW:HIGH or DIM=LOW:HIGH:DIVISOR: {word!r}")
        if name in found:
            raise OptionError(f"--dim names {name} more than once")
        found[name] = r
    return found


def what() -> str:
    """Which files are imported."""
    return f"a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} is imported"


def how_exported(name: str) -> str:
    """How a model that is a file of PyTorch's becomes one that is imported; "" of others."""
    return "; torch.export.save writes a .pt2 of a PyTorch module" if name.endswith((".py", ".pt", ".pth")) else ""


def read(model: Path, shown: str, name: str, asked: Asked) -> Written:
    if not is_foreign(model.name):
        raise UserError(f"only {', '.join(SUFFIXES[:-1])} and {SUFFIXES[-1]} files are imported", shown,
                        "a .c is a model: tensor-compile build compiles it" if model.suffix == ".c" else
                        how_exported(model.name).removeprefix("; "))
    if asked.qdq != "floats" and not model.name.endswith(".onnx"):
        raise OptionError("--qdq: only ONNX models have such operations", shown)
    if model.name.endswith(".pt2"):
        from ..importer.pytorch import reader as pytorch

        return pytorch.import_file(model, shown, name, ranges(asked.dims), asked.fixed)
    if model.name.endswith(".tflite"):
        from ..importer.tflite import reader as tflite

        return tflite.import_file(model, shown, name, ranges(asked.dims), asked.fixed)
    from ..importer.onnx import reader

    return reader.import_file(model, shown, name, ranges(asked.dims), asked.fixed, asked.qdq == "integers")


@dataclass(frozen=True, slots=True)
class Found:
    """model: the model.c in the cache; sources: what the model consists of besides its file."""

    model: Path
    sources: tuple[Path, ...]


def in_cache(recording: Recording, cache: Cache, inputs: Inputs) -> Found:
    """The model of a build as model.c and weights in the cache, made where they are not there yet. inputs: its files
    are noted there before they are read."""
    from ..importer import onnx
    from ..importer.onnx import reader

    model = Path(recording.model)
    sources = reader.external_files(model, recording.shown)
    key = files.digest(files.tree_digest([Path(onnx.__file__).resolve().parents[1]]), model.name, *recording.dims, "",
                       *recording.fixed, "", recording.qdq, *map(inputs.digest, (model, *sources)))
    inputs.hashes.save()

    def make(folder: Path) -> None:
        made = read(model, recording.shown, "", Asked(recording.dims, recording.fixed, recording.qdq))
        (folder / "model.c").write_text(made.text, encoding="utf-8")
        files.write(folder / "model.safetensors", made.blocks())
        inputs.check_unchanged((model, *sources))

    return Found(cache.entry("imports", key, make) / "model.c", sources)


def write(model: Path, shown: str, folder: Path, name: str, asked: Asked, force: bool) -> None:
    """model.c and model.safetensors in a folder: both or none."""
    from ..importer.output import check_untouched

    made = read(model, shown, name, asked)
    source = folder / "model.c"
    if not force:
        check_untouched(source, str(source))
    with files.Outputs() as outputs:
        outputs.write(source, made.text)
        if len(made.weights):
            outputs.write(folder / "model.safetensors", made.blocks())
