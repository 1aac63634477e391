# SPDX-License-Identifier: Apache-2.0
"""A reader of ELF objects (32 and 64 bit, little-endian): section sizes and symbols, for the bill and the tests."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

SHT_SYMTAB, SHT_NOBITS = 2, 8
SHF_WRITE, SHF_ALLOC, SHF_EXEC = 1, 2, 4


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


def read(path: Path) -> Elf:
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or data[5] != 1:
        raise ValueError(f"{path.name}: not a little-endian ELF file")
    wide = data[4] == 2
    at = struct.unpack_from("<Q", data, 40)[0] if wide else struct.unpack_from("<I", data, 32)[0]
    entry, count, names = struct.unpack_from("<HHH", data, 58 if wide else 46)

    def header(i: int) -> tuple[int, ...]:
        # name, type, flags, offset, size, link
        if wide:
            name, kind, flags, _, offset, size, link = struct.unpack_from("<IIQQQQI", data, at + i * entry)
        else:
            name, kind, flags, _, offset, size, link = struct.unpack_from("<IIIIIII", data, at + i * entry)
        return name, kind, flags, offset, size, link

    if count == 0:  # more than 65279 sections: the count is in the first header's size
        count = header(0)[4]
    if names == 0xFFFF:
        names = header(0)[5]

    def text(table: int, offset: int) -> str:
        start = header(table)[3] + offset
        return data[start:data.index(b"\0", start)].decode(errors="replace")

    sections, symbols = [], []
    for i in range(count):
        name, kind, flags, offset, size, link = header(i)
        sections.append(Section(text(names, name), kind, flags, size))
        if kind != SHT_SYMTAB:
            continue
        step = 24 if wide else 16
        for j in range(offset + step, offset + size, step):
            if wide:
                sname, info, other, index, _, ssize = struct.unpack_from("<IBBHQQ", data, j)
            else:
                sname, _, ssize, info, other, index = struct.unpack_from("<IIIBBH", data, j)
            symbols.append(Symbol(text(link, sname), info >> 4, info & 15, other & 3, index, ssize))
    return Elf(tuple(sections), tuple(symbols))
