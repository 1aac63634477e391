# SPDX-License-Identifier: Apache-2.0
"""The tuning lock (docs/tuning.md): which candidate won where, as sorted text committed beside the model.

    # tensor-compile tuning lock 2
    contraction f32 … target=x86_64/avx512 -> tc_contraction_f32_8x48__avx512 218.500 us, gcc 12.2.0, templates 4c1f90ab
    block points=12x128x128 … target=x86_64 -> rows16 97.600 us, gcc 12.2.0, templates 4c1f90ab
    fuse points=128x384 … target=x86_64 -> stored 71.400 us, gcc 12.2.0, templates 4c1f90ab
    order f32 1x64x56x56 … target=x86_64 -> 0231 93.100 us, gcc 12.2.0, templates 4c1f90ab
    split f32 rows=128 … target=x86_64 -> bands4 61.200 us, gcc 12.2.0, templates 4c1f90ab
    variant mlp/batch1 graph=0f3b2c11 target=x86_64 -> regions_t2 17.800 us, gcc 12.2.0, templates 4c1f90ab

An entry of a contraction names its schedule, one of a split how a team shares its results, one of values in which order
they lie, one of a fusion whether it is made, one of a tile region the rows of a block (decisions.py), one of a variant
its form (loops/variant_form.py). Where no clock is, what was counted stands there instead: `4711 instructions
emulated`, `4711 cycles`.

A line is an entry: its key (emit/contraction/key.py), the candidate, then provenance. By that `tune` knows what to
measure again; a build compares it only where several lines have one key. Only `tune` writes the file. What a merge of
two branches makes of it by taking the lines of both is read, too: entries in any order, several of one key.
In version 1 the candidate stood on a line of its own, behind two blanks.
"""
from __future__ import annotations

import functools
import os
import re
from dataclasses import field, replace
from pathlib import Path
from typing import Callable, Mapping, Sequence

from ..emit.contraction import candidates as table
from ..emit.contraction.key import BLOCK, block_key, FUSE, fuse_key, kernel_key, ORDER, order_key, SPLIT, split_key, \
    variant_key
from ..emit.contraction.team_bands import team_bands
from ..errors import UserError
from ..loops.contraction_schedule import Schedule, parse as parse_schedule
from ..graph.ir import Function
from ..loops import variant_form
from ..loops.loop_ir import Computation, Contraction, ContractionKernel, LoopNestKernel
from ..loops.program_ir import Element, ModelPlan
from ..loops.orders import Choice, choice_name, Group, Offer
from ..loops.scalar_ir import Buffer
from ..loops.variant_form import VariantForm
from ..records import dataclass
from . import cuda_image, decisions, files
from .decisions import Decision
from .host_programs import TEMPLATES
from ..target import Target

HEADER = "# tensor-compile tuning lock 2"
EARLIER = "# tensor-compile tuning lock 1"
MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")   # of git, where a merge left both sides
VARIANT = "variant "
UNITS = ("cycles", "instructions", "us")    # what tells more comes first: a count is the same in every run
_KEY = re.compile(r"\S(?:(?! -> ).)* target=\S+")
_ENTRY = re.compile(rf"(?P<key>{_KEY.pattern}) -> (?P<name>\S+) "
                    r"(?P<time>\d+(?:\.\d+)?) (?P<unit>us|instructions|cycles)(?P<emulated> emulated)?, "
                    r"(?P<compiler>[^,]+), templates (?P<templates>[0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """time: of a call, in `unit` (microseconds, or what was counted); emulated: taken under an emulator, which orders
    candidates but times nothing; others: lines of the same key in whose place this one is used."""

    key: str
    candidate: str
    time: float
    emulated: bool
    compiler: str
    templates: str
    unit: str = "us"
    others: tuple["Entry", ...] = ()

    @property
    def beside(self) -> list[str]:
        """Other candidates that lines of the key name."""
        return sorted({other.candidate for other in self.others} - {self.candidate})

    def text(self) -> str:
        time = f"{self.time:.3f}" if self.unit == "us" else f"{self.time:.0f}"
        return (f"{self.key} -> {self.candidate} {time} {self.unit}{' emulated' if self.emulated else ''}, "
                f"{self.compiler}, templates {self.templates}\n")


def parse(text: str, where: str) -> dict[str, Entry]:
    """The entries by key; `where` names the file in errors."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith(MARKERS):
            raise UserError("a merge conflict that is not resolved", f"{where}:{number}",
                            "keep the lines of both sides and delete the lines of marks; with the line "
                            "`*.tuning.lock merge=union` in .gitattributes git does so by itself")
    if not lines or lines[0] not in (HEADER, EARLIER):
        raise UserError("not a tuning lock of this version", f"{where}:1",
                        f"the first line must be {HEADER!r}; else delete the file: tensor-compile tune measures again")
    found: dict[str, list[Entry]] = {}
    key = ""    # of version 1, whose candidate follows
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not key and _KEY.fullmatch(line):
            key = line
            continue
        match = _ENTRY.fullmatch(f"{key} -> {line[2:]}" if key else line)
        if not match or key and not line.startswith("  "):
            raise _broken(f"{where}:{number}")
        key = ""
        entry = Entry(match["key"], match["name"], float(match["time"]), bool(match["emulated"]), match["compiler"],
                      match["templates"], match["unit"])
        found.setdefault(entry.key, []).append(entry)
    if key:
        raise _broken(f"{where}:{len(lines)}")
    return {key: _one(entries) for key, entries in found.items()}


def _broken(place: str) -> UserError:
    return UserError("expected an entry, KEY -> CANDIDATE and its provenance", place,
                     "delete the line, or the file: tensor-compile tune measures what is missing then; an entry ends, "
                     "for example: target=x86_64/avx2 -> tc_contraction_f32_6x16__avx2 12.3 us, gcc 12.2.0, "
                     "templates 01234567")


def _one(entries: Sequence[Entry], applies: Callable[[Entry], bool] = lambda entry: True) -> Entry:
    """Of the lines of a key the one that is used, whatever their order: of those that apply, as long as there are some,
    those that were not emulated, of them those of this version's templates, of them those of the unit that tells most,
    and of them the one of the least time."""
    if len(entries) == 1:
        return entries[0]
    best, *others = sorted(entries, key=lambda entry: (not applies(entry), _rank(entry)))
    return replace(best, others=tuple(others))


def _rank(entry: Entry) -> tuple[bool, bool, int, float, str]:
    return entry.emulated, entry.templates not in _digests(), UNITS.index(entry.unit), entry.time, entry.text()


def preferred(entry: Entry, applies: Callable[[Entry], bool]) -> Entry:
    """Of the lines of the entry's key the one that is used, where others do not apply."""
    return _one([replace(entry, others=()), *entry.others], applies) if entry.others else entry


@functools.cache
def _digests() -> frozenset[str]:
    """Of this version's templates."""
    return frozenset((templates_digest(), gpu_templates_digest()))


def read(path: Path) -> dict[str, Entry]:
    """The entries of a lock; none where the file does not exist."""
    if not os.path.lexists(path):  # nor can, where its name is too long
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the tuning lock: {error.strerror}", str(path)) from None
    except UnicodeDecodeError:
        raise UserError("cannot read the tuning lock: it is no text", str(path),
                        "delete the file: tensor-compile tune measures again") from None
    return parse(text, str(path))


def print_entries(entries: dict[str, Entry]) -> str:
    return HEADER + "\n" + "".join(entries[key].text() for key in sorted(entries))


def write(path: Path, entries: dict[str, Entry]) -> bool:
    """Writes where the text differs; returns whether it did."""
    return files.write_if_changed(path, print_entries(entries))


def renew(path: Path) -> None:
    """Where the text is not as `tune` writes it, merged or of an earlier version, it is then."""
    if os.path.lexists(path):
        write(path, read(path))


def require_writable(path: Path) -> None:
    """Before anything is measured for it."""
    files.require_writable(path)


def templates_digest() -> str:
    """Of everything that the text and the code of a contraction come from but the compiler."""
    return files.tree_digest([TEMPLATES / "contraction", TEMPLATES / "include", TEMPLATES / "candidates.def"])[:8]


def gpu_templates_digest() -> str:
    """The same for GPUs."""
    return cuda_image.headers_digest()[:8]


@dataclass(frozen=True, slots=True)
class Finding:
    """kind: missing (no entry), stale (its candidate does not exist any more), illegal (it cannot be this kernel's)."""

    kind: str
    key: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.key}: {self.detail}"


@dataclass(slots=True)
class Tuning:
    """What one build takes from its lock. mode: lock (use what applies, else the cost model), frozen (every kernel
    needs a good entry), off (never read). small: where the lock does not decide, little code does. lines: orders,
    fusions and blocks need entries, too, where the lock has some; orders, fusions, blocks: what may be decided, where
    that is wanted; applied: keys of orders that the lock decides, whether the cost model would offer them or not;
    stored: keys of fusions by entry, variant and buffer that is stored where they are not made; handed: those of blocks
    by entry, variant and buffer that a tile hands on."""

    mode: str
    path: Path
    target: Target
    entries: dict[str, Entry] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    small: bool = False
    lines: bool = True
    wanted: bool = False
    orders: dict[str, Decision] = field(default_factory=dict)
    applied: set[str] = field(default_factory=set)
    fusions: dict[str, Decision] = field(default_factory=dict)
    stored: dict[tuple[str, str, str], str] = field(default_factory=dict)
    blocks: dict[str, Decision] = field(default_factory=dict)
    handed: dict[tuple[str, str, str], str] = field(default_factory=dict)

    @staticmethod
    def load(mode: str, path: Path, target: Target, small: bool = False, wanted: bool = False, lines: bool = True
             ) -> "Tuning":
        """wanted: what may be decided is noted."""
        tuning = Tuning(mode, path, target, {} if mode == "off" else read(path), small=small, lines=lines)
        tuning.wanted = wanted or mode == "frozen" and lines and tuning.has(ORDER)
        return tuning

    def has(self, kind: str) -> bool:
        """Whether the lock has lines of that kind for the target."""
        return any(key.startswith(kind) and key.endswith(f" target={self.target.name}") for key in self.entries)

    def schedule(self, kernel: ContractionKernel, isa: str, parts: int = 1) -> Schedule:
        """The kernel's schedule, with the bands of its split. parts: of the kernel that it is a part of."""
        return self._split(kernel, self._scheduled(kernel, isa, parts))

    def _split(self, kernel: ContractionKernel, schedule: Schedule) -> Schedule:
        """Schedules that copy columns or cut terms stay as they are."""
        usual = team_bands(kernel, schedule, self.target)
        if not self.has(SPLIT):
            return usual    # a key takes time
        entry = self.entries.get(key := split_key(kernel, self.target.name))
        bands = decisions.count_of("bands", entry.candidate) if entry else 0
        if entry is not None and bands is None:
            self.findings[key] = Finding("stale", key, f"there is no split {entry.candidate}")
        cut = replace(schedule, bands=bands) if bands else usual
        return usual if table.refusal(kernel, cut) else cut

    def apart(self, entry: str, variant: str, first: Element, item: Computation, made: tuple[str, ...],
              buffers: Mapping[str, Buffer]) -> bool:
        """Whether an item stays out of a kernel that it could join, of which it reads what is `made` there. Sizes are
        known where that is decided."""
        known = all(buffers[name].elements.is_const for name in (*made, item.out))
        if not known or not isinstance(first, (Computation, Contraction)) or not (self.wanted or self.has(FUSE)):
            return False
        key = fuse_key(first, item, buffers, self.target.name)
        named = self.entries.get(key)
        if named is not None and named.candidate not in decisions.FUSIONS:
            self.findings[key] = Finding("stale", key, f"what is {' or '.join(decisions.FUSIONS)} is not "
                                                       f"{named.candidate}")
        self.fusions[key] = Decision(key, decisions.FUSIONS[0], decisions.FUSIONS[1:])
        self.stored.update(dict.fromkeys(((entry, variant, name) for name in made), key))
        return named is not None and named.candidate == decisions.FUSIONS[1]

    def rows(self, entry: str, variant: str, kernels: Sequence[ContractionKernel | LoopNestKernel],
             handed: Sequence[str], usual: int, most: int) -> int:
        """Of a block of the tile region that these kernels become. Sizes are known where that is decided."""
        if not (self.wanted or self.has(BLOCK)):
            return usual    # a key takes time
        key = block_key(kernels, self.target.name)
        named = self.entries.get(key)
        found = decisions.count_of("rows", named.candidate) if named else 0
        if named is not None and found is None:
            self.findings[key] = Finding("stale", key, f"there is no block {named.candidate}")
        self.blocks[key] = decisions.block(key, usual, most)
        self.handed.update(dict.fromkeys(((entry, variant, name) for name in handed), key))
        return found or usual

    def order(self, group: Group) -> Choice | None:
        """The order of a set of values; None where it is free."""
        if not self.has(ORDER) or group.constant or not all(d.is_const for d in group.members[0].shape):
            return None
        named = self.entries.get(key := order_key(group, self.target.name))
        found = next((c for c in group.choices if named and choice_name(c) == named.candidate), None)
        if named is not None and found is None:
            self.findings[key] = Finding("stale", key, f"there is no order {named.candidate}")
        if found is not None:
            self.applied.add(key)
        return found

    def offer(self, offers: list[Offer]) -> None:
        for key, decision in decisions.orders(offers, self.target.name).items():
            known = self.orders.setdefault(key, decision)
            more = tuple(name for name in decision.others if name not in (known.usual, *known.others))
            self.orders[key] = replace(known, others=(*known.others, *more))

    def cover(self, plan: ModelPlan) -> None:
        """Notes what the lock does not decide of the plan, of the kinds of which it has lines."""
        splits = (key for key, _ in decisions.split_keys(plan, self.target.name))
        for kind, keys in ((SPLIT, splits), (FUSE, self.fusions), (ORDER, self.orders), (BLOCK, self.blocks)):
            if self.has(kind) and (self.lines or kind == SPLIT):
                for key in keys:
                    if key not in self.entries:
                        self.findings[key] = Finding("missing", key, "no entry")

    def _scheduled(self, kernel: ContractionKernel, isa: str, parts: int) -> Schedule:
        """Where the lock does not decide, the cost model does, and a finding is kept."""
        key = kernel_key(kernel, isa, self.target.name)
        entry = self.entries.get(key)
        found = parse_schedule(entry.candidate) if entry else None
        reason = table.refusal(kernel, found) if found and found.isa == isa else None
        if entry is None:
            finding = Finding("missing", key, "no entry")
        elif found is None or not table.known(found):
            finding = Finding("stale", key, f"{entry.candidate} is not in the candidate table")
        elif found.isa != isa:
            finding = Finding("illegal", key, f"{found.name} is of another instruction set")
        elif reason:
            finding = Finding("illegal", key, f"{found.name}: {reason}")
        else:
            return found
        if self.mode != "off":
            self.findings[key] = finding
        return (table.smallest if self.small else table.choose)(kernel, isa, self.target, parts)

    def form(self, entry: str, variant: str, graph: Function) -> VariantForm:
        """The variant's form; the usual one where the lock has none."""
        if not any(key.startswith(VARIANT) for key in self.entries):
            return VariantForm()   # a digest of the graph takes time
        key = variant_key(entry, variant, graph, self.target.name)
        named = self.entries.get(key)
        found = variant_form.parse(named.candidate) if named else None
        if named and found is None:
            self.findings[key] = Finding("stale", key, f"there is no form {named.candidate}")
        return found or VariantForm()

    def finish(self) -> list[str]:
        """After the last kernel: what the user should know."""
        return told(self.mode, self.path, self.findings, self.entries, self.target)


def told(mode: str, path: Path, findings: Mapping[str, Finding], entries: Mapping[str, Entry], target: Target
         ) -> list[str]:
    """In mode frozen any finding is an error, which lists them all; else these are warnings: entries that could not be
    used. Keys of several choices of the build's target are warnings in any mode: which one is used is certain."""
    found = [findings[key] for key in sorted(findings)]
    if mode == "frozen" and found:
        shown = "\n".join(f"  {f}" for f in found)
        raise UserError(f"the tuning lock does not cover this build (--tune frozen):\n{shown}", str(path),
                        "build with --tune lock, which uses the cost model for what is missing; tensor-compile tune "
                        "then measures that, in several runs where its budget is short")
    several = [f"{key}: {entry.candidate} is used{_why(entry)}, not {' or '.join(entry.beside)}"
               for key, entry in sorted(entries.items()) if entry.beside and is_of(key, target)]
    return [f"{path}: warning: {f}" for f in found if f.kind != "missing"] + \
        [f"{path}: warning: two choices of one key: {line}; tensor-compile tune keeps that line alone"
         for line in several]


def is_of(key: str, target: Target) -> bool:
    """Whether an entry is the target's; its instruction sets stand behind the name, where it has some."""
    return key.rpartition(" target=")[2].partition("/")[0] == target.name


def _why(entry: Entry) -> str:
    """What it has before the first of the lines that name another candidate, as a clause."""
    own, first = _rank(entry), min(_rank(other) for other in entry.others if other.candidate != entry.candidate)
    if own > first:    # which does not apply
        return f", which was measured with {entry.compiler}"
    differ = next(i for i, (one, other) in enumerate(zip(own, first, strict=True)) if one != other)
    return (", which was not emulated", ", which was measured with this version's templates",
            f", of which {entry.unit} are known", ", whose time is less", ", whose name comes first")[differ]
