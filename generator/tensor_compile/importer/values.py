# SPDX-License-Identifier: Apache-2.0
"""What is known of a result: its type, its elements where they are few and known, the bytes of a constant.

A value that only sizes are made of (Shape, Gather, Concat, arithmetic) is its elements and never a statement, unless a
tensor is asked for. A constant is bytes somewhere; small ones have elements, too.
"""
from __future__ import annotations

import itertools
import math
import struct
from dataclasses import field
from typing import Callable, Iterator, Protocol, Sequence, Union

from ..records import dataclass
from ..symbolic import Expr, wrap
from .dims import Shape, constants

Element = Union[int, float, bool, Expr]

MOST_ELEMENTS = 4096   # of a constant, which are looked at
MOST_FOLDED = 256      # of a constant that sizes may be computed from

# Bytes of an element and struct's letter; "" where struct has none.
DTYPES = {"f32": (4, "f"), "f64": (8, "d"), "f16": (2, "e"), "bf16": (2, ""), "i8": (1, "b"), "i16": (2, "h"),
          "i32": (4, "i"), "i64": (8, "q"), "u8": (1, "B"), "u16": (2, "H"), "u32": (4, "I"), "u64": (8, "Q"),
          "bool": (1, "?")}
FLOATS = ("f32", "f64", "f16", "bf16")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FOLDED = INTEGERS + ("bool",)

COMPLEX = "complex"    # the kind of a value whose last axis has the two parts of numbers

# A value within the text of a statement: MARK number MARK.
MARK = "\x02"
_numbers = itertools.count()


class Data(Protocol):
    """The bytes of a constant, little-endian, row-major."""

    @property
    def length(self) -> int: ...

    def blocks(self) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Bytes:
    content: bytes

    @property
    def length(self) -> int:
        return len(self.content)

    def blocks(self) -> Iterator[bytes]:
        yield self.content


@dataclass(eq=False, slots=True)
class Value:
    """elements: row-major, where they are known; splat: the one number that all elements are; data: of a constant;
    hint: what its C variable may be called; weight: the name of a constant in the weights file, given when it is first
    used; kind: of integers of 4 and 2 bits, one an element of i8 or u8 ("i4"), and of small floats, bit patterns of u8
    ("e4m3fn"), which, and COMPLEX;
    counted: where the size of an axis is data, how many places of it there are, and the axis;
    zeros are behind them, unless the value is rough."""

    dtype: str
    shape: Shape
    elements: tuple[Element, ...] | None = None
    splat: Element | None = None
    data: Data | None = None
    hint: str = ""
    weight: str = ""
    kind: str = ""
    counted: tuple["Value", int] | None = None
    rough: bool = False
    number: int = field(default_factory=lambda: next(_numbers))

    def __format__(self, spec: str) -> str:
        return f"{MARK}{self.number}{MARK}"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_constant(self) -> bool:
        """No statement computes it: it is bytes, elements or one number."""
        return self.data is not None or self.elements is not None or self.splat is not None

    @property
    def known(self) -> tuple[Element, ...] | None:
        """The elements, where there are few enough to look at."""
        if self.elements is None and (sizes := constants(self.shape)) is not None:
            count = math.prod(sizes)
            if count <= MOST_ELEMENTS and self.splat is not None:
                self.elements = (self.splat,) * count
            elif count <= MOST_ELEMENTS and self.data is not None:
                self.elements = decode(b"".join(self.data.blocks()), self.dtype, count)
        return self.elements

    @property
    def folded(self) -> tuple[Element, ...] | None:
        """The elements of what shapes are computed from: those that are no stored constant, and small integers."""
        if self.elements is not None and self.data is None:
            return self.elements
        small = constants(self.shape)
        if self.dtype in FOLDED and small is not None and math.prod(small) <= MOST_FOLDED:
            return self.known
        return None

    @property
    def single(self) -> Element | None:
        """The element of a value that has one."""
        found = self.known
        return found[0] if found is not None and len(found) == 1 else None

    @property
    def integers(self) -> tuple[int, ...] | None:
        """The elements, where all are whole numbers that are known now."""
        found = self.known
        if found is None:
            return None
        out = []
        for e in found:
            if isinstance(e, Expr):
                if not e.is_const:
                    return None
                e = e.value
            if isinstance(e, float):
                return None
            out.append(int(e))
        return tuple(out)


def is_zero(value: Value) -> bool:
    """Whether all bytes of a constant are 0."""
    return value.data is not None and not any(any(block) for block in value.data.blocks())


def decode(content: bytes, dtype: str, count: int) -> tuple[Element, ...] | None:
    """The elements of little-endian bytes."""
    size, letter = DTYPES[dtype]
    if len(content) != size * count:
        return None
    if dtype == "bool":
        return tuple(b != 0 for b in content)
    if dtype == "bf16":
        wide = b"".join(b"\0\0" + content[i:i + 2] for i in range(0, len(content), 2))
        return struct.unpack(f"<{count}f", wide)
    return struct.unpack(f"<{count}{letter}", content)


def encode(elements: tuple[Element, ...], dtype: str) -> bytes | None:
    """The bytes of elements; None where one is no number of the dtype."""
    numbers = []
    for e in elements:
        if isinstance(e, Expr):
            if not e.is_const:
                return None
            e = e.value
        numbers.append(e)
    size, letter = DTYPES[dtype]
    try:
        if dtype == "bf16":
            # The elements came from bf16 or are small: their upper halves are exact, anything else is refused.
            wide = struct.pack(f"<{len(numbers)}f", *numbers)
            if any(wide[i] or wide[i + 1] for i in range(0, len(wide), 4)):
                return None
            return b"".join(wide[i + 2:i + 4] for i in range(0, len(wide), 4))
        if dtype in FLOATS:
            return struct.pack(f"<{len(numbers)}{letter}", *map(float, numbers))
        if dtype == "bool":
            return bytes(1 if e else 0 for e in numbers)
        return struct.pack(f"<{len(numbers)}{letter}", *numbers)
    except (struct.error, OverflowError):
        return None


def round_to(value: float, dtype: str) -> float | None:
    """The nearest number of a float dtype that struct knows."""
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000
        return float(struct.unpack("<f", struct.pack("<I", bits & 0xffffffff))[0])
    try:
        return float(struct.unpack(f"<{DTYPES[dtype][1]}", struct.pack(f"<{DTYPES[dtype][1]}", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def number(value: Element, dtype: str) -> str | None:
    """A C number that a tensor of the dtype beside it takes exactly; None where there is none."""
    if isinstance(value, Expr):
        if not value.is_const:
            return None
        value = value.value
    if dtype in FLOATS:
        value = float(value)
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        return _shortest(value, dtype)
    if dtype == "bool":
        return "1" if value else "0"
    if not -(1 << 63) < int(value) < 1 << 63:
        return None
    return str(int(value)) if abs(int(value)) < 1 << 31 else f"{int(value)}LL"


def braces(numbers: Sequence[object]) -> str:
    """A C list of an option."""
    return "{" + ", ".join(map(str, numbers)) + "}"


def per_axis(numbers: Sequence[object]) -> str:
    """An option with a number for each axis of a window: of one axis it is a number, no list."""
    return str(numbers[0]) if len(numbers) == 1 else braces(numbers)


def _shortest(value: float, dtype: str) -> str:
    """The fewest digits that give this number again in its dtype."""
    text = repr(value)
    if dtype in ("f32", "f16"):
        for digits in range(1, 17):
            tried = f"{value:.{digits}g}"
            if round_to(float(tried), dtype) == value:
                text = repr(float(tried))
                break
    return text


def taken(value: Value, shape: tuple[int, ...],
          place: Callable[[tuple[int, ...]], Sequence[int]]) -> tuple[Element, ...]:
    """The elements of a folded value at place(index) for every index of a shape."""
    sizes = constants(value.shape)
    assert value.folded is not None and sizes is not None
    strides = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
    return tuple(value.folded[sum(i * s for i, s in zip(place(index), strides, strict=True))]
                 for index in itertools.product(*map(range, shape)))


def known(elements: tuple[Element, ...], dtype: str = "i64", *sizes: int) -> Value:
    """A value of known elements: a vector, or of the sizes."""
    return Value(dtype, tuple(wrap(s) for s in sizes or (len(elements),)), elements)


def scalar(element: Element, dtype: str = "i64") -> Value:
    return Value(dtype, (), (element,))
