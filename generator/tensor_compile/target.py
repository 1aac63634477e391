# SPDX-License-Identifier: Apache-2.0
"""Target descriptions (targets/*.toml): a named file and an input of every build; nothing is detected."""
from __future__ import annotations

import tomllib
from typing import Any
from dataclasses import fields, replace
from math import inf
from pathlib import Path

from .errors import OptionError, UserError, closest
from .instruction_sets import by_architecture, instruction_set, InstructionSet
from .records import dataclass

TARGETS = Path(__file__).resolve().parents[2] / "targets"
ARCHITECTURES = {**by_architecture(),
                 "cuda": ("sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_110",
                          "sm_120", "sm_121")}

READS = ("l1d_read", "l2_read", "l3_read", "memory_read")
OPTIONAL = frozenset(("flags", "clock", "bandwidth", "integer_isas", "fma", *READS))
DEVICES = frozenset(("cuda",))   # of them, those that are no processors


L1D_READ, L2_READ, BEYOND_READ = 64.0, 32.0, 10.0   # bytes a cycle where a target file does not say


@dataclass(frozen=True, slots=True)
class Reads:
    """Bytes that a core reads in a cycle from its caches, and from memory."""

    l1d: float
    l2: float
    l3: float
    memory: float

    def of(self, size: int, target: Target) -> float:
        """Of so many bytes that are not in the second cache: from the third one as far as they fit it."""
        return self.memory if size > target.l3 * 3 // 4 else self.l3


@dataclass(frozen=True, slots=True)
class Target:
    """isas: in ascending order of preference, all compiled into the object; integer_isas: beside them where a model
    multiplies short integers, for those kernels alone (the others are those of their base); panel: columns of a
    packed panel of a contraction's second operand; index_bits: of tc_index; threads: the largest team, on a device
    the most blocks that have scratch; caches and line in bytes (0: none); clock: MHz of a core that multiplies
    vectors, bandwidth: MB/s that a core reads from memory, what profiles are compared with (0: unknown); fma: f32
    multiply-adds of a core in a cycle (0: as many as the instruction set's record says); l1d_read, l2_read, l3_read,
    memory_read: bytes that a core reads in a cycle from there (0: `reads` says what is assumed); flags: compiler flags
    that choose this target where the host's flags do not; precision: what contractions round their operands to, asked
    for by a build."""

    name: str
    arch: str
    isas: tuple[str, ...]
    panel: int
    index_bits: int
    threads: int
    l1d: int
    l2: int
    l3: int
    line: int
    flags: tuple[str, ...] = ()
    precision: str = "f32"
    clock: int = 0
    bandwidth: int = 0
    integer_isas: tuple[str, ...] = ()
    fma: float = 0.0
    l1d_read: float = 0.0
    l2_read: float = 0.0
    l3_read: float = 0.0
    memory_read: float = 0.0

    @property
    def reads(self) -> Reads:
        """Bytes that a core reads in a cycle, by where from, as the cost model has them."""
        third = self.l3_read or self.memory_read or BEYOND_READ
        return Reads(self.l1d_read or L1D_READ, self.l2_read or L2_READ, third, self.memory_read or third)

    def fmas(self, isa: InstructionSet) -> float:
        """Vector multiply-adds of a core in a cycle."""
        return min(isa.fmas, self.fma / isa.lanes) if self.fma else float(isa.fmas)

    @property
    def apart(self) -> bool:
        """Kernels run in a memory of their own, which inputs, outputs and state are copied to and from."""
        return self.arch in DEVICES

    @property
    def tiles(self) -> bool:
        """Kernels may stand in tile regions; elsewhere each is a step of its own."""
        return not self.apart

    @property
    def multiplies_bytes(self) -> bool:
        """Products of bytes are loop nests that take four terms at a time (loops/byte_products.py)."""
        return self.arch in ("arm", "riscv32")

    @property
    def narrow(self) -> str:
        """The 16-bit dtype that products and convolutions have their operands in; "": that of the model."""
        return self.precision if self.precision in ("bf16", "f16") else ""

    def with_isas(self, isas: tuple[str, ...]) -> "Target":
        """Only these instruction sets, in the target's order of preference."""
        known = ARCHITECTURES[self.arch]
        for isa in isas:
            if isa not in known:
                raise OptionError(f"unknown instruction set {isa!r} for {self.arch}", hint=closest(isa, known) +
                                  f"known: {', '.join(known)}")
        return replace(self, isas=tuple(i for i in known if i in isas), integer_isas=())

    def for_integers(self) -> "Target":
        """With the instruction sets that multiply short integers better than their bases, which are among `isas`."""
        more = tuple(i for i in self.integer_isas if any(base.name in self.isas for base in instruction_set(i).bases))
        return replace(self.with_isas((*self.isas, *more)), integer_isas=more)

    def as_reference(self) -> "Target":
        """The plain instruction set alone."""
        return replace(self, isas=(ARCHITECTURES[self.arch][0],), integer_isas=())


def names() -> list[str]:
    return sorted(path.stem for path in TARGETS.glob("*.toml"))


def find(name_or_path: str) -> Path:
    """The file of a target named as `x86_64` or by a path to the user's own file."""
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        path = Path(name_or_path)
        if not path.is_file():
            raise UserError("no such target file", str(path))
        return path
    path = TARGETS / f"{name_or_path}.toml"
    if not path.is_file():
        raise OptionError(f"unknown target {name_or_path!r}", hint=closest(name_or_path, names()) +
                          f"known: {', '.join(names())}; or give a .toml file")
    return path


def load(path: Path) -> Target:
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"not a target file: {error}", str(path)) from None
    kinds = {f.name: f.type for f in fields(Target) if f.name != "precision"}
    for key in values:
        if key not in kinds:
            raise UserError(f"unknown key {key!r}", str(path), f"keys: {', '.join(kinds)}")
    for key, kind in kinds.items():
        if key not in values:
            if key in OPTIONAL:
                continue
            raise UserError(f"key {key!r} is missing", str(path), "targets/x86_64.toml shows all of them")
        value: Any = values[key]
        want: type = {"str": str, "int": int, "float": float}.get(str(kind), list)
        given = type(value)
        if want is float and given is int:
            given, values[key] = float, float(value)
        if given is not want or (want is list and not all(isinstance(v, str) for v in value)):
            shown = {str: "a string", int: "an integer", float: "a number", list: "a list of strings"}[want]
            raise UserError(f"{key!r} must be {shown}", str(path))
        if want in (int, float) and not 0 <= value < inf:
            raise UserError(f"{key!r} must not be negative" if value < 0 else f"{key!r} must be finite", str(path))
        if want is list:
            values[key] = tuple(value)
    target = Target(**values)
    if target.arch not in ARCHITECTURES:
        raise UserError(f"unknown arch {target.arch!r}", str(path), f"known: {', '.join(ARCHITECTURES)}")
    if target.panel not in (4, 16):
        raise UserError("'panel' must be 4 or 16", str(path))
    if target.index_bits not in (32, 64):
        raise UserError("'index_bits' must be 32 or 64", str(path))
    if not target.isas or target.threads < 1:
        raise UserError("'isas' must name at least one instruction set and 'threads' be at least 1", str(path))
    try:
        target.with_isas((*target.isas, *target.integer_isas))
        return replace(target.with_isas(target.isas), integer_isas=target.integer_isas)
    except UserError as error:
        raise UserError(error.message, str(path), error.hint) from None
