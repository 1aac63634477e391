# SPDX-License-Identifier: Apache-2.0
"""How the kernels of an instruction set multiply by a product's dtypes: what templates/include/tc_tile.h has for it.

Terms of integers are multiplied in words of 32 bits, one group of terms each. x86-64 without VNNI multiplies pairs of
16 bits: a word of four bytes is taken in two halves, bytes 0 and 2 and bytes 1 and 3, and the rows are arranged so
when they are copied. Tiles of AMX multiply at a time a number of words that divides the words of a row
(schedule_blocks.tile_depth). Where that would be too few, they take TILE words: what is left of a row stands behind as
many zeros as make it TILE words, and is multiplied by the last TILE words of the columns: those that were multiplied
before meet zeros.

Where panels have their order (loops/sorted_words.py), AVX2 takes words by their kinds: a copied row has its unsigned
bytes, then the words that kind 1 multiplies, then 16 bits each of bytes 0 and 2, and of bytes 1 and 3.
"""
from __future__ import annotations

from functools import lru_cache

from ...graph.dtypes import DTYPES
from ...instruction_sets import InstructionSet, instruction_set
from ...loops.products import Product, by_name
from ...loops.sorted_words import multiplied_by
from ...records import dataclass

X86_VECTORS = ("X86_64", "AVX2", "AVX512")
TALL = 6              # rows of a tile whose sums fit the registers with two of columns
SORTED_PACE = 1.8     # of words of the three kinds, about
TILES_SPEED = 16.0    # of products of tiles and what rounds their sums, about
DOT_PRODUCTS = ("AVX_VNNI", "AVX512_VNNI", "DOTPROD")    # features that multiply four bytes and add


@dataclass(frozen=True, slots=True)
class Form:
    """halves: parts that a word is multiplied in, and words of a copied row for each group; row_c, b_c, sum_c: C types
    of what micro-kernels read and write; extra: registers beside accumulators and operands; sorts: words are taken by
    their kinds."""

    product: Product
    isa: InstructionSet
    halves: int
    extra: int
    sorts: bool = False

    @property
    def row_c(self) -> str:
        return "tc_word" if self.product.integer else "float"

    @property
    def row_terms(self) -> str:
        """Elements of a row over `terms` terms."""
        return "terms" if self.halves == 1 else f"{self.halves} * terms"

    @property
    def tiles(self) -> bool:
        """Sums are those of tiles."""
        return self.isa.tiles and self.product.integer

    @property
    def b_c(self) -> str:
        return "tc_word" if self.product.group > 1 else DTYPES[self.product.b].c_type

    @property
    def sum_c(self) -> str:
        return DTYPES[self.product.sum].c_type

    @property
    def b_bytes(self) -> int:
        """Of what is multiplied in one step: an element, or a word."""
        return DTYPES[self.product.b].bytes * self.product.group

    @property
    def arranged(self) -> str:
        """The function that arranges a copied row; "" where it stays."""
        if self.sorts:
            return f"tct_arrange_sorted_{self.product.a}"
        return "tct_arrange_tiles" if self.tiles else f"tct_arrange_{self.names}" if self.halves > 1 else ""

    @property
    def taken(self) -> str:
        """The function that sorts the words of a row where it lies to its copy."""
        return f"tct_take_sorted_{self.product.a}"

    @property
    def starts(self) -> bool:
        """Sums start from a number that stands behind the row: less `zero` times the sum of the row. Halves of words
        and sorted ones are b's own numbers: what panels have more is taken off when they are loaded."""
        return self.product.zero != 0 and self.halves == 1

    def tall(self, rows: int) -> bool:
        """Tiles of that many rows of words in halves are computed by one register of columns after the other."""
        return self.isa.vectors == "AVX2" and self.halves == 2 and rows > TALL

    @property
    def quads(self) -> bool:
        """Its multiply-add takes a lane of a register, so one load brings four neighbouring terms of a row."""
        return self.isa.vectors == "NEON" and (not self.product.integer or self.product.group == 4 and self.extra == 0)

    @property
    def pairs(self) -> bool:
        """Words are pairs of 16 bits, in registers of AVX2."""
        return self.isa.vectors == "AVX2" and self.product.integer and self.product.group == 2

    @property
    def library(self) -> str:
        """The product of its micro-kernels."""
        return self.product.name if self.sorts else self.product.name.removesuffix("o")

    @property
    def names(self) -> str:
        """What the names of the product's functions in tc_tile.h end with."""
        return self.product.name.removesuffix("o").removesuffix("z")

    @property
    def loaded(self) -> str:
        """What the names of the functions that load columns end with: halves of words are loaded less `zero`."""
        return self.product.name.removesuffix("o") if self.halves == 2 else self.names

    @property
    def pace(self) -> float:
        """Cycles of a step for each cycle of one of f32."""
        if not self.product.integer or self.tiles:
            return 1.0
        if self.sorts:
            return SORTED_PACE
        return self.halves * (1.0 if self.extra == 0 else 1.2) if self.isa.has_vectors else 2.0 * self.product.group

    @property
    def speed(self) -> float:
        """Terms that are multiplied in the time of one of f32 with registers of eight."""
        return TILES_SPEED if self.tiles else self.product.group / self.pace * self.isa.lanes / 8


@lru_cache(maxsize=None)
def form(name: str, isa: str) -> Form:
    """Of the product of that name (Product.name)."""
    product, found = by_name(name), instruction_set(isa)
    assert product is not None, name
    if not product.integer:
        return Form(product, found, 1, 0)
    dots = any(f.name in DOT_PRODUCTS for f in found.features)
    if found.vectors not in X86_VECTORS:
        return Form(product, found, 1, 1 if found.has_vectors and not dots else 0)
    if product.ordered and multiplied_by(found):
        return Form(product, found, 4, 1, True)
    return Form(product, found, 2 if product.group == 4 and not dots else 1, 0 if dots else 1)
