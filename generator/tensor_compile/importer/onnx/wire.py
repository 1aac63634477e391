# SPDX-License-Identifier: Apache-2.0
"""The wire format of protocol buffers: a message as a stream of (field, wire type, content).

Nothing is copied: content that has a length is a part of the file's memory. Every message lies within its parent, so
work and memory are bounded by the file's size; nesting is bounded by DEPTH.
"""
from __future__ import annotations

import struct
from typing import Iterator

from ..problems import Malformed

DEPTH = 64

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


def varint(view: memoryview, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it."""
    value = shift = 0
    end = len(view)
    while True:
        if at >= end:
            raise Malformed("it ends within a number")
        byte = view[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & 0xffff_ffff_ffff_ffff, at
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 64 bits")


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def fields(view: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """The fields of a message in the order of the file: numbers as unsigned ints, everything else as memory."""
    at, end = 0, len(view)
    while at < end:
        key, at = varint(view, at)
        number, kind = key >> 3, key & 7
        if not number:
            raise Malformed("a field has the number 0")
        if kind == VARINT:
            value, at = varint(view, at)
            yield number, kind, value
            continue
        if kind == LENGTH:
            size, at = varint(view, at)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
        else:
            raise Malformed(f"a field has the wire type {kind}")
        if size > end - at:
            raise Malformed(f"a field of {size} bytes is cut off behind {end - at}")
        yield number, kind, view[at:at + size]
        at += size


def varints(view: memoryview) -> Iterator[int]:
    """The numbers of a packed field."""
    at = 0
    while at < len(view):
        value, at = varint(view, at)
        yield value


def floats(view: memoryview, letter: str, size: int) -> list[float]:
    if len(view) % size:
        raise Malformed("a list of floats is cut off")
    return list(struct.unpack(f"<{len(view) // size}{letter}", view))
