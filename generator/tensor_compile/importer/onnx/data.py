# SPDX-License-Identifier: Apache-2.0
"""The bytes of ONNX's tensors: in the message, in one of its lists of numbers, or in a file beside the model."""
from __future__ import annotations

import math
from pathlib import Path, PurePosixPath
from typing import Iterator

from ...errors import UserError
from ...records import dataclass
from ...symbolic import wrap
from ..mapped import BLOCK, Mapped
from ..problems import Malformed, Unsupported
from ..values import DTYPES, Bytes, Data, Value
from . import wire
from .model import Tensor

# ONNX's numbers of element types. Those without a dtype here have a word for messages.
TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32",
         13: "u64", 16: "bf16"}
OTHERS = {8: "string", 14: "complex64", 15: "complex128", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2",
          20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2"}
# Of these, those that are stored as another dtype (values.Value.kind), and the bits of one element in a file.
SMALL = {17: ("u8", "e4m3fn", 8), 18: ("u8", "e4m3fnuz", 8), 19: ("u8", "e5m2", 8), 20: ("u8", "e5m2fnuz", 8),
         21: ("u8", "u4", 4), 22: ("i8", "i4", 4), 23: ("u8", "e2m1", 4), 24: ("u8", "e8m0", 8), 25: ("u8", "u2", 2),
         26: ("i8", "i2", 2)}
NUMBER_OF = {name: number for number, name in (TYPES | OTHERS).items()}

_GOES_ON = bytes(range(128, 256))
MOST = 1 << 40   # bytes of a tensor: what is larger is no tensor


def dtype_name(number: int) -> str:
    return TYPES.get(number) or OTHERS.get(number) or f"element type {number}"


def dtype_of(number: int) -> str:
    if number not in TYPES:
        raise Unsupported(f"tensors of {dtype_name(number)}")
    return TYPES[number]


def type_of(number: int) -> tuple[str, str]:
    """The dtype of a tensor, and what its elements stand for where that is another type ("" where not)."""
    return SMALL[number][:2] if number in SMALL else (dtype_of(number), "")


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Elements of 4 or 2 bits, each a byte: the lowest bits of a byte are the first."""

    packed: Data
    bits: int
    signed: bool
    length: int

    def blocks(self) -> Iterator[bytes]:
        count, mask, half = 8 // self.bits, (1 << self.bits) - 1, 1 << self.bits - 1
        table = [bytes((((b >> i * self.bits & mask) ^ half) - half) & 0xff if self.signed
                       else b >> i * self.bits & mask
                       for i in range(count)) for b in range(256)]
        left = self.length
        for block in self.packed.blocks():
            elements = b"".join(table[b] for b in block)[:left]
            left -= len(elements)
            yield elements


@dataclass(frozen=True, slots=True)
class Parts:
    """Several parts one behind the other (a list of floats that is not packed)."""

    parts: tuple[memoryview, ...]

    @property
    def length(self) -> int:
        return sum(map(len, self.parts))

    def blocks(self) -> Iterator[bytes]:
        for part in self.parts:
            yield from Mapped(part).blocks()


@dataclass(frozen=True, slots=True)
class Varints:
    """Numbers of one to ten bytes each, of which the lower `size` bytes are the elements."""

    parts: tuple[memoryview | int, ...]
    size: int

    @property
    def length(self) -> int:
        """By the last bytes of the numbers, which are below 128."""
        return self.size * sum(1 if isinstance(part, int) else len(bytes(part).translate(None, _GOES_ON))
                               for part in self.parts)

    def blocks(self) -> Iterator[bytes]:
        mask = (1 << 8 * self.size) - 1
        block = bytearray()
        for part in self.parts:
            for value in (part,) if isinstance(part, int) else wire.varints(part):
                block += (value & mask).to_bytes(self.size, "little")
                if len(block) >= BLOCK:
                    yield bytes(block)
                    block.clear()
        yield bytes(block)


@dataclass(frozen=True, slots=True)
class External:
    """A part of another file, read when it is written."""

    path: Path
    offset: int
    length: int

    def blocks(self) -> Iterator[bytes]:
        with open(self.path, "rb") as f:
            f.seek(self.offset)
            left = self.length
            while left:
                block = f.read(min(left, BLOCK))
                if not block:
                    raise UserError("the file of external data has become shorter", str(self.path))
                left -= len(block)
                yield block


class Source:
    """Makes values of tensor messages. folder: that of the model; external: the files that were named, for depfiles."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.external: dict[str, Path] = {}

    def value(self, tensor: Tensor, name: str = "") -> Value:
        named = f"the tensor {name or tensor.name!r}"
        dtype, kind = type_of(tensor.data_type)
        if any(d < 0 for d in tensor.dims):
            raise Malformed(f"{named} has a negative size")
        count = math.prod(tensor.dims)
        size = DTYPES[dtype][0]
        if count * size > MOST:
            raise Malformed(f"{named} would have {count} elements")
        value = Value(dtype, tuple(wrap(d) for d in tensor.dims), hint=name or tensor.name)
        data: Data = self._data(tensor, dtype)
        value.kind = kind
        bits = SMALL[tensor.data_type][2] if kind else 8
        if bits < 8 and data.length == (count * bits + 7) // 8:
            data = Unpacked(data, bits, dtype == "i8", count)
        value.data = data
        if data.length != count * size:
            raise Malformed(f"{named} has {data.length} bytes, its shape needs {count * size}")
        return value

    def _data(self, t: Tensor, dtype: str) -> Mapped | Parts | Varints | External | Bytes:
        if t.data_location == 1:
            return self._external(t)
        if t.raw_data is not None:
            return Mapped(t.raw_data)
        if dtype in ("f32", "f64"):
            parts = t.float_data if dtype == "f32" else t.double_data
            if any(isinstance(p, int) for p in parts):
                raise Malformed(f"the tensor {t.name!r} has floats that are integers")
            return Parts(parts) if len(parts) != 1 else Mapped(parts[0])
        integers = t.int64_data if dtype == "i64" else t.uint64_data if dtype in ("u32", "u64") else t.int32_data
        if not integers:
            return Bytes(b"")
        return Varints(integers, DTYPES[dtype][0])

    def _external(self, t: Tensor) -> External:
        about = {entry.key: entry.value for entry in t.external_data}
        location = about.get("location", "")
        # The file may only lie in the model's folder or below: a model must not read what it was not shipped with.
        if not location or "\0" in location or "\\" in location or PurePosixPath(location).is_absolute() \
                or ".." in PurePosixPath(location).parts:
            raise Malformed(f"the tensor {t.name!r} names the external file {location!r}, which is not beside the "
                            "model")
        path = self.folder / location
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise Malformed(f"the tensor {t.name!r} names the external file {location!r}, which leads out of the "
                            "model's folder")
        numbers = {}
        for key in ("offset", "length"):
            text = about.get(key, "")
            if text and not (text.isdecimal() and len(text) < 19):
                raise Malformed(f"the tensor {t.name!r} has external data with the {key} {text!r}")
            numbers[key] = int(text) if text else None
        try:
            available = path.stat().st_size
        except OSError:
            raise UserError("no such file", str(path), f"the model has external data in it ({t.name})") from None
        offset = numbers["offset"] or 0
        length = available - offset if numbers["length"] is None else numbers["length"]
        if length < 0 or offset + length > available:
            raise Malformed(f"the tensor {t.name!r} has external data beyond the end of {location!r}")
        self.external[location] = path
        return External(path, offset, length)
