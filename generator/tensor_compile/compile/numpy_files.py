# SPDX-License-Identifier: Apache-2.0
"""NumPy's files as tensors: .npy, one array; .npz, a zip archive of them by name. What is read are headers, as of
safetensors (tensor_files.py); elements are copied as they lie, so that they have to lie as the model's do: in C order,
little-endian, in an archive that is not compressed."""
from __future__ import annotations

import ast
import os
import re
import struct
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import BinaryIO, Iterable, Iterator, Mapping

from ..errors import UserError
from ..graph.dtypes import DTYPES
from ..loops.scalar_ir import Buffer
from . import files
from .tensor_files import BLOCK, opened, read, Tensor

ARRAY, ARCHIVE = b"\x93NUMPY", b"PK"   # how the files begin
ARCHIVED = ".npz"       # how the names of files of several arrays end
NAMES = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
         "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "bool": "|b1"}   # a dtype that is not here has no name
DTYPE_OF = {name: dtype for dtype, name in NAMES.items()}
LONGEST_HEADER = 1 << 16
ALIGNED = 64            # what headers are filled up to
LOCAL = 30              # bytes of a zip member's own header, without its name and the extra field
MEMBER = b"PK\x03\x04"  # how it begins
ENCRYPTED = 1


def read_array(path: Path, shown: str) -> Tensor:
    """The array of a .npy."""
    with opened(path, shown) as f:
        return _array(f, os.fstat(f.fileno()).st_size, shown)


class Archive(Mapping[str, Tensor]):
    """The arrays of a .npz, by name. What is wrong with one is an error where it is asked for, and no earlier: others
    may be of any kind."""

    def __init__(self, path: Path, shown: str):
        self.path, self.shown = path, shown
        self.known: dict[str, Tensor] = {}
        with opened(path, shown) as f:
            try:
                members = zipfile.ZipFile(f).infolist()
            except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
                raise UserError(f"not a .npz file: {error}", shown) from None
        self.members = {m.filename.removesuffix(".npy"): m for m in members if m.filename.endswith(".npy")}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.known:
            member = self.members[name]
            with opened(self.path, self.shown) as f:
                self.known[name] = _member(f, member, os.fstat(f.fileno()).st_size, f"{self.shown}: {name}")
        return self.known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.members

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


def _member(f: BinaryIO, member: zipfile.ZipInfo, size: int, shown: str) -> Tensor:
    """An array as it lies in the archive, a file of `size` bytes, with the check sum that its directory has."""
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & ENCRYPTED:
        raise UserError("the array is compressed or encrypted", shown, "np.savez writes arrays as they are")
    head = b""
    if 0 <= member.header_offset < size:
        f.seek(member.header_offset)
        head = f.read(LOCAL)
    if len(head) < LOCAL or not head.startswith(MEMBER):
        raise UserError("not a .npz file: no array begins where its directory has one", shown)
    name, extra = struct.unpack_from("<2H", head, LOCAL - 4)
    begin = member.header_offset + LOCAL + name + extra
    f.seek(begin)
    found = _array(f, min(begin + member.file_size, size), shown)
    f.seek(begin)
    left, crc = member.file_size, 0
    while left > 0 and (block := f.read(min(left, BLOCK))):
        left, crc = left - len(block), zlib.crc32(block, crc)
    if left or crc != member.CRC:
        raise UserError("the array is damaged: its check sum (CRC-32) is another one", shown)
    return found


def _array(f: BinaryIO, end: int, shown: str) -> Tensor:
    """The array that begins where f stands and ends before `end` of the file."""
    head = f.read(10)
    if len(head) < 10 or not head.startswith(ARRAY):
        raise UserError("not a .npy file", shown, "np.save writes one")
    if head[6] not in (1, 2, 3):
        raise UserError(f"version {head[6]}.{head[7]} of the .npy format is not known", shown)
    length = int.from_bytes(head[8:] + (f.read(2) if head[6] > 1 else b""), "little")
    if length > LONGEST_HEADER:
        raise UserError("not a .npy file: its header is too long", shown)
    try:
        fields = ast.literal_eval(f.read(length).decode("utf-8").strip())
        descr, fortran, shape = fields["descr"], fields["fortran_order"], tuple(fields["shape"])
        if not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise UserError("not a .npy file: its header makes no sense", shown) from None
    dtype = _dtype(descr, shown)
    if fortran:
        raise UserError("the array lies in Fortran order", shown, "tensors lie in C order: np.ascontiguousarray(x)")
    at, size = f.tell(), prod(shape) * DTYPES[dtype].bytes
    if at + size > end:
        raise UserError(f"truncated: {dtype}{list(shape)} has {size} bytes, {max(0, end - at)} are there", shown)
    return Tensor(dtype, shape, at, size)


def _dtype(descr: object, shown: str) -> str:
    if isinstance(descr, str) and descr in DTYPE_OF:
        return DTYPE_OF[descr]
    if isinstance(descr, str) and re.fullmatch(r">[fiu][248]", descr):
        raise UserError(f"the elements are big-endian ({descr})", shown,
                        f'those of tensors are little-endian: x.astype("<{descr[1:]}")')
    if isinstance(descr, str) and descr.endswith("O"):
        raise UserError("the elements are Python objects", shown,
                        'x.astype("float32") makes numbers of them, where all rows have one length')
    raise UserError(f"no tensor has elements of dtype {descr!r}", shown,
                    f"tensors have {', '.join(map(_name, NAMES))}")


def _name(dtype: str) -> str:
    """As NumPy calls it."""
    return {"f": "float", "i": "int", "u": "uint"}.get(dtype[0], dtype[0]) + dtype[1:]


def cast(wanted: str, got: str) -> str:
    """A hint, where an array has another dtype than a tensor."""
    return f'x.astype("{_name(wanted)}")' if wanted != got and wanted in NAMES else ""


# -- writing --------------------------------------------------------------------------------------------------------
def require_archivable(file: str, buffers: Iterable[Buffer]) -> None:
    """Raises where the file is to be a .npz and NumPy has not the dtype of a tensor of it."""
    for b in buffers if file.endswith(ARCHIVED) else ():
        require_writable(b.name, b.dtype, file)


def write_tensors(path: str, source: Path, scratch: Path) -> None:
    """A file of tensors where the user wants it, in the format that its name asks for; "": nowhere. It is made at
    `scratch`, where it is an archive."""
    if path.endswith(ARCHIVED):
        write_archive(Path(path), scratch, source, read(source, str(source)))
    elif path:
        files.write(Path(path), files.blocks(source))


def require_writable(name: str, dtype: str, shown: str) -> None:
    """Raises where NumPy has no such dtype."""
    if dtype not in NAMES:
        raise UserError(f"{name} is {dtype}, which NumPy does not have", shown, "a safetensors file can hold it")


def array(source: Path, tensor: Tensor) -> Iterator[bytes]:
    """A .npy of a tensor of another file."""
    yield _header(tensor)
    with source.open("rb") as f:
        f.seek(tensor.at)
        left = tensor.bytes
        while left > 0 and (block := f.read(min(left, BLOCK))):
            left -= len(block)
            yield block


def write_archive(path: Path, scratch: Path, source: Path, tensors: Mapping[str, Tensor]) -> None:
    """A .npz, as np.savez makes it; it is made at `scratch`."""
    with zipfile.ZipFile(scratch, "w", zipfile.ZIP_STORED) as archive:
        for name, tensor in tensors.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as f:
                for block in array(source, tensor):
                    f.write(block)
    files.write(path, files.blocks(scratch))


def _header(tensor: Tensor) -> bytes:
    text = str({"descr": NAMES[tensor.dtype], "fortran_order": False, "shape": tensor.shape}).encode()
    begin = ARRAY + b"\x01\x00"   # the version
    text += b" " * (-(len(begin) + 2 + len(text) + 1) % ALIGNED) + b"\n"
    return begin + struct.pack("<H", len(text)) + text
