# SPDX-License-Identifier: Apache-2.0
"""The instruction sets of processors: reads instruction_sets.def, whose first comment explains the columns."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

from .records import dataclass

WIDE = 16             # lanes of a vector operation, whatever the registers of the instruction set
CACHE_LINE = 64       # bytes of a line of the caches, on every target whose kernels have vectors
IN_TURN = (2, 3, 4, 8)    # elements that lie in turn and are brought to their places in registers (tc_in_turn.h)
TABLE = Path(__file__).resolve().parents[2] / "runtime" / "include" / "tensor_compile" / "instruction_sets.def"
TRAITS = ("BASELINE", "PLAIN_SCHEDULE", "BYTE_VECTORS", "BYTE_PAIRS", "TILES")


@dataclass(frozen=True, slots=True)
class Feature:
    """A TC_CPU_FEATURE entry. option: "" where the compile command has what the processor has."""

    name: str
    option: str
    macro: str
    linux: str


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A TC_INSTRUCTION_SET entry. base: None for the first; needs: all features that it needs, its base's first."""

    name: str
    upper: str
    number: int
    base: InstructionSet | None
    archs: tuple[str, ...]
    vectors: str
    lanes: int
    registers: int
    pointers: int
    fmas: int
    loads: int
    latency: int
    needs: tuple[Feature, ...]
    flags: tuple[str, ...]
    traits: frozenset[str]

    @property
    def features(self) -> tuple[Feature, ...]:
        """Those that a flag asks the compiler for."""
        return tuple(f for f in self.needs if f.option)

    @property
    def has_vectors(self) -> bool:
        """Its kernels work on vectors; else on one element after the other."""
        return self.lanes > 1

    @property
    def baseline(self) -> bool:
        return "BASELINE" in self.traits

    @property
    def plain_schedule(self) -> bool:
        return "PLAIN_SCHEDULE" in self.traits

    @property
    def byte_vectors(self) -> bool:
        return "BYTE_VECTORS" in self.traits

    @property
    def byte_pairs(self) -> bool:
        return "BYTE_PAIRS" in self.traits

    @property
    def tiles(self) -> bool:
        """Short integers are multiplied by tiles."""
        return "TILES" in self.traits

    @property
    def room(self) -> int:
        """Vectors of WIDE lanes that its registers hold."""
        return self.lanes * self.registers // WIDE

    @property
    def bases(self) -> Iterator[InstructionSet]:
        """Itself, its base, and so on."""
        at: InstructionSet | None = self
        while at is not None:
            yield at
            at = at.base

    @property
    def compile_flags(self) -> tuple[str, ...]:
        """Of the compiler, for its kernels."""
        return (*self.flags, *(f"-m{f.option}" for f in self.features), f"-DTC_ISA_{self.vectors}")


_ENTRY = re.compile(r"^(TC_\w+)\(([^()]*)\)$", re.MULTILINE)


def _words(text: str) -> tuple[str, ...]:
    """Of `A | B`; none of 0."""
    return tuple(word.strip() for word in text.split("|") if word.strip() != "0")


def read_instruction_sets(text: str) -> dict[str, InstructionSet]:
    """Every instruction set by name, in the order of the table; raises ValueError where an entry is none."""
    features: dict[str, Feature] = {}
    sets: dict[str, InstructionSet] = {}
    by_upper: dict[str, InstructionSet] = {}
    for kind, inside in _ENTRY.findall(text):
        try:
            fields = [field.strip().strip('"') for field in inside.split(",")]
            if kind == "TC_CPU_FEATURE":
                name, _leaf, _register, _bit, _saved, option, macro, linux = fields
                features[name] = Feature(name, option, macro, linux)
                continue
            if kind != "TC_INSTRUCTION_SET":
                raise ValueError("an unknown macro")
            name, upper, number, base, archs, vectors, *numbers, needs, flags, traits = fields
            lanes, registers, pointers, fmas, loads, latency = map(int, numbers)
            extended = None if base == upper else by_upper[base]
            if not set(_words(traits)) <= set(TRAITS):
                raise ValueError(f"traits are {', '.join(TRAITS)}")
            sets[name] = by_upper[upper] = InstructionSet(
                name, upper, int(number), extended, tuple(a.lower() for a in _words(archs)), vectors, lanes, registers,
                pointers, fmas, loads, latency,
                (*(extended.needs if extended else ()), *map(features.__getitem__, _words(needs))),
                tuple(flags.split()), frozenset(_words(traits)))
        except (ValueError, KeyError) as error:
            raise ValueError(f"not an entry of instruction_sets.def: {kind}({inside}): {error!r}") from None
    if sorted(s.number for s in sets.values()) != list(range(len(sets))):
        raise ValueError("the numbers of instruction_sets.def are not 0, 1, 2, ...")
    return sets


INSTRUCTION_SETS = read_instruction_sets(TABLE.read_text(encoding="utf-8"))


def instruction_set(name: str) -> InstructionSet:
    return INSTRUCTION_SETS[name]


def by_architecture() -> dict[str, tuple[str, ...]]:
    """Names by architecture, in ascending order of preference; the first one has no vectors."""
    names: dict[str, tuple[str, ...]] = {}
    for isa in INSTRUCTION_SETS.values():
        for arch in isa.archs:
            names[arch] = (*names.get(arch, ()), isa.name)
    return names


def baseline(arch: str) -> InstructionSet:
    """What every processor of an architecture runs."""
    return next(isa for isa in INSTRUCTION_SETS.values() if arch in isa.archs and isa.baseline)
