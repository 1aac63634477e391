# SPDX-License-Identifier: Apache-2.0
"""Headers of safetensors files, and files that are made of the tensors of others. No element is looked at."""
from __future__ import annotations

import json
import os
from math import prod
from pathlib import Path
from typing import BinaryIO, Iterator, Mapping, Sequence

from ..errors import UserError
from ..graph.dtypes import DTYPES
from ..records import dataclass
from . import files

NAMES = {d.file: d.name for d in DTYPES.values()}   # of dtypes, by those of files
LONGEST_HEADER = 100 << 20
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Tensor:
    """dtype: the graph's name of it, or the file's where no model has one such; at: its first byte in the file."""

    dtype: str
    shape: tuple[int, ...]
    at: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def opened(path: Path, shown: str) -> BinaryIO:
    """A file of the user's, to be read."""
    try:
        if not path.is_file():
            raise UserError("not a regular file" if path.exists() else "no such file", shown)
        return path.open("rb")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", shown) from None


def read(path: Path, shown: str) -> dict[str, Tensor]:
    """The tensors of a file, by name; all of their bytes are there. What reads the elements checks the rest of the
    file."""
    try:
        with opened(path, shown) as f:
            length, size = int.from_bytes(f.read(8), "little"), os.fstat(f.fileno()).st_size
            if length > min(size - 8, LONGEST_HEADER):
                raise ValueError
            header = json.loads(f.read(length))
        header.pop("__metadata__", None)
        found = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            found[name] = Tensor(NAMES.get(entry["dtype"], entry["dtype"]), tuple(int(n) for n in entry["shape"]),
                                 8 + length + int(begin), int(end) - int(begin))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError("not a safetensors file", shown,
                        "tensors are read from a .safetensors, or from a .npz of NumPy") from None
    for name, tensor in found.items():
        if tensor.at + tensor.bytes > size:
            raise UserError(f'truncated: "{name}" ends at byte {tensor.at + tensor.bytes - 8 - length} of the data, '
                            f"the file has {size - 8 - length}", shown)
    return found


def write(path: Path, *parts: tuple[Path, Mapping[str, Tensor]]) -> None:
    """A file of tensors of others, under the names of the mappings."""
    files.write(path, _blocks(parts))


def _blocks(parts: Sequence[tuple[Path, Mapping[str, Tensor]]]) -> Iterator[bytes]:
    yield _header({name: (t.dtype, t.shape, t.bytes) for _, tensors in parts for name, t in tensors.items()})
    for source, tensors in parts:
        with source.open("rb") as f:
            for tensor in tensors.values():
                f.seek(tensor.at)
                left = tensor.bytes
                while left > 0 and (block := f.read(min(left, BLOCK))):
                    left -= len(block)
                    yield block


def write_zeros(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """A file of zeros: dtype and shape by name."""
    sized = {name: (dtype, shape, prod(shape) * DTYPES[dtype].bytes) for name, (dtype, shape) in tensors.items()}
    with path.open("wb") as f:
        f.write(_header(sized))
        f.truncate(f.tell() + sum(size for _, _, size in sized.values()))


def _header(tensors: Mapping[str, tuple[str, tuple[int, ...], int]]) -> bytes:
    at, entries = 0, {}
    for name, (dtype, shape, size) in tensors.items():
        entries[name] = {"dtype": DTYPES[dtype].file if dtype in DTYPES else dtype, "shape": list(shape),
                         "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
