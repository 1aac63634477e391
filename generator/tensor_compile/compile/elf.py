# SPDX-License-Identifier: Apache-2.0
"""ELF objects (32 and 64 bit, little-endian): section sizes and symbols, for the bill and the tests; and a file as the
content of a section, for packed weights."""
from __future__ import annotations

import errno
import os
import shutil
import struct
from pathlib import Path

from ..errors import UserError
from ..records import dataclass

SHT_SYMTAB, SHT_NOBITS = 2, 8
SHF_WRITE, SHF_ALLOC, SHF_EXEC = 1, 2, 4
PLACE = 64  # where content is put is a multiple of it


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    kind: int
    flags: int
    size: int

    @property
    def role(self) -> str:
        """code, rodata, data, bss, or `` for what is not loaded."""
        if not self.flags & SHF_ALLOC:
            return ""
        if self.flags & SHF_EXEC:
            return "code"
        if self.kind == SHT_NOBITS:
            return "bss"
        return "data" if self.flags & SHF_WRITE else "rodata"


@dataclass(frozen=True, slots=True)
class Symbol:
    """bind: 0 local, 1 global, 2 weak; section 0: undefined."""

    name: str
    bind: int
    kind: int
    visibility: int
    section: int
    size: int


@dataclass(frozen=True, slots=True)
class Elf:
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]

    def size(self, role: str) -> int:
        return sum(s.size for s in self.sections if s.role == role)

    @property
    def undefined(self) -> list[str]:
        return sorted(s.name for s in self.symbols if s.section == 0 and s.bind and s.name)

    @property
    def exported(self) -> list[str]:
        return sorted(s.name for s in self.symbols if s.section and s.bind)


@dataclass(frozen=True, slots=True)
class _Header:
    """at: where the header of a section stands; link: the section that it names."""

    at: int
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def _wide(data: bytes, name: str) -> bool:
    """Whether the object has 64 bits."""
    if data[:4] != b"\x7fELF" or data[5] != 1:
        raise ValueError(f"{name}: not a little-endian ELF file")
    return data[4] == 2


def _text(data: bytes, start: int) -> str:
    return data[start:data.index(b"\0", start)].decode(errors="replace")


def _headers(data: bytes, wide: bool) -> list[_Header]:
    """The headers of the sections, in their order."""
    table = struct.unpack_from("<Q", data, 40)[0] if wide else struct.unpack_from("<I", data, 32)[0]
    entry, count, names = struct.unpack_from("<HHH", data, 58 if wide else 46)

    def fields(i: int) -> tuple[int, ...]:
        """name, type, flags, address, offset, size, link"""
        return struct.unpack_from("<IIQQQQI" if wide else "<IIIIIII", data, table + i * entry)

    if count == 0:  # more than 65279 sections: the count is in the first header's size
        count = fields(0)[5]
    if names == 0xFFFF:
        names = fields(0)[6]
    found = []
    for i in range(count):
        name, kind, flags, _, offset, size, link = fields(i)
        found.append(_Header(table + i * entry, _text(data, fields(names)[4] + name), kind, flags, offset, size, link))
    return found


def read(path: Path) -> Elf:
    data = path.read_bytes()
    wide = _wide(data, path.name)
    headers = _headers(data, wide)
    symbols = []
    for h in headers:
        if h.kind != SHT_SYMTAB:
            continue
        step = 24 if wide else 16
        for j in range(h.offset + step, h.offset + h.size, step):
            if wide:
                sname, info, other, index, _, ssize = struct.unpack_from("<IBBHQQ", data, j)
            else:
                sname, _, ssize, info, other, index = struct.unpack_from("<IIIBBH", data, j)
            symbols.append(Symbol(_text(data, headers[h.link].offset + sname), info >> 4, info & 15, other & 3, index,
                                  ssize))
    return Elf(tuple(Section(h.name, h.kind, h.flags, h.size) for h in headers), tuple(symbols))


def put(path: Path, name: str, content: Path) -> None:
    """The file `content` becomes what the section `name` of the object holds. It is written behind all that is there,
    once, by the system: what a section held before may be smaller than a hundred megabytes that take its place."""
    data = path.read_bytes()
    wide = _wide(data, path.name)
    (header,) = [h for h in _headers(data, wide) if h.name == name]
    start, size = -(-len(data) // PLACE) * PLACE, os.path.getsize(content)
    if not wide and start + size >= 1 << 32:
        raise UserError("the weights do not fit an object of 32 bits", hint="--weights external")
    with open(path, "r+b", buffering=0) as out, open(content, "rb") as source:
        out.seek(header.at + (24 if wide else 16))
        out.write(struct.pack("<QQ" if wide else "<II", start, size))
        out.seek(start)
        out.truncate()
        try:
            while os.sendfile(out.fileno(), source.fileno(), None, size):
                pass
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS):
                raise
            with open(path, "ab") as end:  # not every file system can; a buffered file takes all of it or fails
                shutil.copyfileobj(source, end, 1 << 20)
