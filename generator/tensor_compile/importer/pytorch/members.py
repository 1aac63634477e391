# SPDX-License-Identifier: Apache-2.0
"""Members of an archive, and of an archive that is a member of one: older .pt2 files hold their weights so."""
from __future__ import annotations

import io
import struct
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Iterator

from ...errors import UserError
from ...records import dataclass
from ..mapped import BLOCK

HINT = "is it whole, and written by torch.export.save?"
# What zipfile raises of damaged, encrypted or unknown members.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError, KeyError,
           struct.error)


class _Window(io.RawIOBase):
    """Bytes of a file as a file of their own."""

    def __init__(self, file: BinaryIO, begin: int, size: int):
        self._file, self._begin, self._size, self._at = file, begin, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if origin + offset < 0:
            raise ValueError("a place before the member")
        self._at = origin + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:   # type: ignore[override]
        count = max(0, min(len(buffer), self._size - self._at))
        self._file.seek(self._begin + self._at)
        found = self._file.read(count)
        buffer[:len(found)] = found
        self._at += len(found)
        return len(found)


@contextmanager
def opened(path: Path, inside: str = "") -> Iterator[zipfile.ZipFile]:
    """The archive, or the one that is its member `inside`."""
    with zipfile.ZipFile(path) as archive:
        if not inside:
            yield archive
            return
        info = archive.getinfo(inside)
        plain = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size \
            and not info.flag_bits & 1
        with open(path, "rb") as raw, (_stored(raw, info) if plain else archive.open(info)) as member, \
                zipfile.ZipFile(member) as inner:
            yield inner


def _stored(raw: BinaryIO, info: zipfile.ZipInfo) -> IO[bytes]:
    """A member that is not compressed, where it lies: zipfile would read all before a place to come there."""
    raw.seek(info.header_offset)
    signature, name, extra = struct.unpack("<4s22xHH", raw.read(30))
    if signature != b"PK\3\4":
        raise zipfile.BadZipFile(f"the member {info.filename} has no header")
    window = _Window(raw, info.header_offset + 30 + int(name) + int(extra), info.file_size)
    return io.BufferedReader(window)


@dataclass(frozen=True, slots=True)
class Place:
    """A member. inside: the member that is its archive, ""; size: its bytes."""

    name: str
    size: int
    inside: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """Bytes `offset` to `offset + length` of a member of the archive."""

    archive: Path
    place: Place
    offset: int
    length: int

    def blocks(self) -> Iterator[bytes]:
        try:
            with opened(self.archive, self.place.inside) as z, z.open(self.place.name) as f:
                f.seek(self.offset)
                left = self.length
                while left:
                    block = f.read(min(left, BLOCK))
                    if not block:
                        raise EOFError("it is shorter than it says")
                    left -= len(block)
                    yield block
        except DAMAGED as error:
            raise UserError(f"the member {self.place.name} cannot be read ({error})", str(self.archive),
                            HINT) from None
