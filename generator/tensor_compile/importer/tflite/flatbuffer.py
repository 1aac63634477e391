# SPDX-License-Identifier: Apache-2.0
"""Flatbuffers: tables, vectors and strings within a file. Every offset is checked, and what is read in total is bounded
by the file's size, however often parts of it are named."""
from __future__ import annotations

import struct
from typing import Iterator

from ..problems import Malformed

# Bytes of a number and struct's letter.
KINDS = {"bool": (1, "B"), "i8": (1, "b"), "u8": (1, "B"), "i32": (4, "i"), "u32": (4, "I"), "f32": (4, "f"),
         "i64": (8, "q"),
         "u64": (8, "Q")}


class Buffer:
    """The file. left: bytes that may still be read."""

    def __init__(self, data: memoryview, identifier: bytes):
        self.data = data
        self.left = 64 * len(data) + (1 << 16)
        if len(data) < 8 or bytes(data[4:8]) != identifier:
            raise Malformed("it does not begin as the format says")

    def part(self, at: int, size: int) -> memoryview:
        if at < 0 or size < 0 or at + size > len(self.data):
            raise Malformed("an offset leads out of the file")
        self.left -= size + 1
        if self.left < 0:
            raise Malformed("its parts overlap so often that they are larger than the file")
        return self.data[at:at + size]

    def number(self, at: int, kind: str) -> int | float:
        size, letter = KINDS[kind]
        found: int | float = struct.unpack("<" + letter, self.part(at, size))[0]
        return found

    def offset(self, at: int) -> int:
        """Where a reference leads."""
        return at + int(self.number(at, "u32"))

    @property
    def root(self) -> Table:
        return Table(self, self.offset(0))


class Table:
    """Fields by number. asked: those that were read."""

    def __init__(self, buffer: Buffer, at: int):
        self.buffer, self.at = buffer, at
        vtable = at - int(buffer.number(at, "i32"))
        size = int.from_bytes(buffer.part(vtable, 2), "little")
        if size < 4 or size % 2:
            raise Malformed("a table's list of fields is damaged")
        words = buffer.part(vtable, size)
        self._fields = struct.unpack(f"<{size // 2 - 2}H", words[4:])
        self.asked: set[int] = set()

    def _place(self, field: int) -> int:
        """Where a field lies; 0: it is left out."""
        self.asked.add(field)
        relative = self._fields[field] if field < len(self._fields) else 0
        return self.at + relative if relative else 0

    def unread(self) -> list[int]:
        """Fields that are there and that nobody asked for."""
        return [i for i, place in enumerate(self._fields) if place and i not in self.asked]

    def number(self, field: int, kind: str, default: int | float = 0) -> int | float:
        at = self._place(field)
        return self.buffer.number(at, kind) if at else default

    def integer(self, field: int, kind: str = "i32", default: int = 0) -> int:
        return int(self.number(field, kind, default))

    def table(self, field: int) -> Table | None:
        at = self._place(field)
        return Table(self.buffer, self.buffer.offset(at)) if at else None

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        """Where the elements begin, and how many there are."""
        at = self._place(field)
        if not at:
            return 0, 0
        begin = self.buffer.offset(at)
        count = int(self.buffer.number(begin, "u32"))
        if begin + 4 + count * size > len(self.buffer.data):
            raise Malformed("a list leads out of the file")
        return begin + 4, count

    def numbers(self, field: int, kind: str) -> tuple[int | float, ...]:
        size, letter = KINDS[kind]
        at, count = self._vector(field, size)
        return struct.unpack(f"<{count}{letter}", self.buffer.part(at, count * size)) if count else ()

    def integers(self, field: int, kind: str = "i32") -> tuple[int, ...]:
        return tuple(int(v) for v in self.numbers(field, kind))

    def bytes(self, field: int) -> memoryview:
        """The bytes of a vector, in place."""
        at, count = self._vector(field, 1)
        return self.buffer.data[at:at + count]

    def text(self, field: int) -> str:
        at, count = self._vector(field, 1)
        return bytes(self.buffer.part(at, count)).decode("utf-8", "replace") if count else ""

    def tables(self, field: int) -> Iterator[Table]:
        at, count = self._vector(field, 4)
        for i in range(count):
            yield Table(self.buffer, self.buffer.offset(at + 4 * i))
