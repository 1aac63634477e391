# SPDX-License-Identifier: Apache-2.0
"""The dtypes of a contraction: what it multiplies, what it sums in, and how terms lie in the panels."""
from __future__ import annotations


from ..graph.dtypes import DTYPES, NARROW_FLOATS
from ..records import dataclass

SHORT = ("i8", "u8", "i16")     # operands of products that are summed in i32


@dataclass(frozen=True, slots=True)
class Product:
    """sum += a * (b - zero) for every term, in dtype `sum`.

    a, b: dtypes of the operands in memory; both are widened to `sum` first, which changes no value. group: that many
    terms of a column lie side by side in a panel, one behind the other; integers wrap, so any order of their terms
    gives the same sum. zero: what the panels have more than b. ordered: behind their words panels have the order in
    which processors without dot products take them (sorted_words.py).
    """

    a: str = "f32"
    b: str = "f32"
    sum: str = "f32"
    group: int = 1
    zero: int = 0
    ordered: bool = False

    @property
    def integer(self) -> bool:
        return DTYPES[self.sum].is_integer

    @property
    def rows(self) -> str:
        """The dtype of rows that a kernel copies: integers of both operands have one width."""
        return "i16" if self.integer and self.group == 2 else self.a

    @property
    def name(self) -> str:
        """Of schedules and micro-kernels: f32, f32xbf16, i8xu8z, i8xu8zo."""
        return self.a if self == Product() else \
            f"{self.rows}x{self.b}{'z' if self.zero else ''}{'o' if self.ordered else ''}"

    @property
    def tiles(self) -> str:
        """The dtype of its lines in templates/candidates.def."""
        return self.sum

    @property
    def legal(self) -> bool:
        if not self.integer:
            return self.a == self.sum == "f32" and self.b in ("f32", *NARROW_FLOATS) \
                and (self.group, self.zero, self.ordered) == (1, 0, False)
        return self.sum == "i32" and self.a in SHORT and self.b in SHORT \
            and self.group == (2 if self.b == "i16" else 4) and (self.group == 2 or self.a != "i16") \
            and (self.sortable or not self.ordered)

    @property
    def sortable(self) -> bool:
        """Rows can be made unsigned bytes, and columns are signed ones."""
        return self.group == 4 and (self.a, self.b, self.zero) in (("i8", "u8", 128), ("u8", "i8", 0))


F32 = Product()


def by_name(name: str) -> Product | None:
    """The product of a schedule's name, but for the dtype of rows that are copied and for the value of its zero."""
    a, _, b = name.partition("x")
    ordered = b.endswith("o")
    b = b.removesuffix("o")
    zero = b.endswith("z")
    b = b.removesuffix("z") or a
    if a not in DTYPES or b not in DTYPES:
        return None
    if a == "f32":
        found = Product("f32", b)
    else:
        found = Product(a, b, "i32", 2 if b == "i16" else 4, (128 if b == "u8" else -128) if zero else 0,
                        ordered)
    return found if found.legal and found.name == name else None


def integers(a: str, b: str, arch: str) -> tuple[Product, bool]:
    """The product of two short dtypes on an architecture, and whether the panels hold b with its highest bit turned
    (which is `zero` more, in the other of i8 and u8).

    x86-64 multiplies unsigned by signed bytes, four at a time: where both are of one kind, b is made the other one.
    AArch64 multiplies bytes of one kind: b is made a's.
    """
    if "i16" in (a, b):
        return Product(a, "i16", "i32", 2), False
    if (arch == "x86_64" and a == b) or (arch == "aarch64" and a != b):
        return Product(a, "u8" if b == "i8" else "i8", "i32", 4, 128 if b == "i8" else -128), True
    return Product(a, b, "i32", 4), False
