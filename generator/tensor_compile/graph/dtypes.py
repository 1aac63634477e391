# SPDX-License-Identifier: Apache-2.0
"""The element types as Python sees them: reads generator/dtypes.def, whose first comment explains the columns.

Values are bit patterns everywhere in Python; those that rules and emission need of a dtype follow from its columns.
"""
from __future__ import annotations

import re
from pathlib import Path

from ..records import dataclass

KINDS = ("float", "signed", "unsigned", "bool")


@dataclass(frozen=True, slots=True)
class Dtype:
    name: str
    upper: str
    c_type: str
    bytes: int
    kind: str
    digits: int
    file: str

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def bits(self) -> int:
        return 8 * self.bytes

    @property
    def mask(self) -> int:
        """All bits of an element."""
        return (1 << self.bits) - 1

    def number(self, bits: int) -> int:
        """The integer of a pattern."""
        return bits - (1 << self.bits) if self.kind == "signed" and bits & self.sign else bits

    # -- floats: the fields of a pattern
    @property
    def fraction(self) -> int:
        """The mask of the stored bits of the significand."""
        return (1 << self.digits - 1) - 1

    @property
    def bias(self) -> int:
        return (1 << self.bits - self.digits - 1) - 1

    # -- patterns
    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        return self.mask >> 1 & ~self.fraction

    @property
    def one(self) -> int:
        return self.bias << self.digits - 1 if self.is_float else 1

    @property
    def minus_one(self) -> int:
        return self.sign | self.one if self.is_float else self.mask

    @property
    def minus_zero(self) -> int:
        """What added to any x gives x."""
        return self.sign if self.is_float else 0

    @property
    def lowest(self) -> int:
        """-inf, or the smallest integer."""
        return self.sign | self.infinity if self.is_float else self.sign if self.kind == "signed" else 0

    @property
    def highest(self) -> int:
        """+inf, or the largest integer."""
        return self.infinity if self.is_float else self.mask >> (self.kind == "signed")


_LINE = re.compile(r'TC_DTYPE\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*(\d+)\s*,\s*(\w+)\s*,\s*(\d+)\s*,\s*"(\w+)"\s*\)')


def read_dtypes(path: Path) -> dict[str, Dtype]:
    """Every entry of a dtypes.def in file order; raises ValueError naming the line that is not an entry."""
    table: dict[str, Dtype] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("TC_DTYPE("):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None or match[5].lower() not in KINDS or match[1] in table:
            raise ValueError(f"{path}:{number}: not an entry of the table of dtypes")
        table[match[1]] = Dtype(match[1], match[2], match[3], int(match[4]), match[5].lower(), int(match[6]), match[7])
    return table


DTYPES = read_dtypes(Path(__file__).resolve().parents[2] / "dtypes.def")
FLOATS = tuple(d.name for d in DTYPES.values() if d.is_float)
INTEGERS = tuple(d.name for d in DTYPES.values() if d.is_integer)
NUMBERS = tuple(d.name for d in DTYPES.values() if d.kind != "bool")
NARROW_FLOATS = tuple(name for name in FLOATS if DTYPES[name].bytes == 2)     # computed in f32 (graph/widen.py)
INDICES = ("i32", "i64")      # of what may index: iota, dim_value, gather


def of_integer(number: int, target: str) -> int | None:
    """The pattern of an integer in a float dtype; None where it needs more digits than that has."""
    dtype, size = DTYPES[target], abs(number)
    place = size.bit_length() - 1
    if size == 0:
        return 0
    if place >= dtype.digits:
        return None
    return (dtype.sign if number < 0 else 0) | dtype.bias + place << dtype.digits - 1 \
        | size << dtype.digits - 1 - place & dtype.fraction


def widened(bits: int, source: str, target: str) -> int:
    """The pattern in a float dtype that keeps all values of the other."""
    a, b = DTYPES[source], DTYPES[target]
    fraction, exponent = bits & a.fraction, (bits & a.infinity) >> a.digits - 1
    sign = b.sign if bits & a.sign else 0
    if bits & a.infinity == a.infinity:
        return sign | b.infinity | fraction << b.digits - a.digits
    if exponent == 0 and a.bias != b.bias:
        if fraction == 0:
            return sign
        shift = a.digits - fraction.bit_length()     # denormal: its first digit becomes the hidden one
        fraction, exponent = fraction << shift & a.fraction, 1 - shift
    return sign | exponent + (b.bias - a.bias if a.bias != b.bias
                              else 0) << b.digits - 1 | fraction << b.digits - a.digits


def keeps_values(source: str, target: str) -> bool:
    """Whether a cast changes no value: every one of `source` is one of `target`."""
    a, b = DTYPES[source], DTYPES[target]
    if a is b or a.kind == "bool":
        return True
    if a.is_float:
        return b.is_float and a.digits <= b.digits and a.bias <= b.bias
    # the magnitude of the smallest integer is a power of two
    return b.kind not in ("bool", "unsigned" if a.kind == "signed" else "") and a.digits <= b.digits


def widens(have: str, want: str) -> bool:
    """Whether a cast is of integers to wider ones: every value stays what it is or keeps its low bits."""
    return DTYPES[have].is_integer and DTYPES[want].is_integer and DTYPES[have].bytes < DTYPES[want].bytes
