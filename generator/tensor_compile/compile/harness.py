# SPDX-License-Identifier: Apache-2.0
"""The measuring harness (autotune/, C) linked with the candidates of contraction kernels and a clock: one program for
one instruction set's processors, to be run here, on a board or under an emulator."""
from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from ..emit.contraction.access import Access
from ..emit.contraction import micro
from ..emit.contraction.source import emit_contraction, emit_reference
from ..emit.contraction.schedules import with_scratch
from ..errors import UserError
from ..graph.dtypes import DTYPES
from ..loops.contraction_schedule import Schedule
from ..loops.loop_ir import ContractionKernel
from ..records import dataclass
from ..symbolic import Sym
from . import counting
from .cache import Cache
from .host_programs import ROOT
from .objects import Unit, compile_units
from ..target import Target
from .toolchain import Compiler, host_flags, kernel_flags
from .tools import run_tool, ToolBroken

SOURCES = ROOT / "autotune"
DETECTION = ROOT / "runtime" / "core" / "cpu.c"


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one size. sizes: a value for each of kernel.dims. candidates: those that the cost model prefers
    first. incumbent: the one to be beaten; worth: of its time, what another one's must be below; functions: those of
    the model that have the kernel; between: bytes of constants that the model reads from one call of it to the next, 0:
    as many as stay near."""

    name: str
    kernel: ContractionKernel
    sizes: Mapping[Sym, int]
    candidates: tuple[Schedule, ...]
    incumbent: Schedule
    worth: float = 0.98
    functions: frozenset[str] = frozenset()
    between: int = 0

    @property
    def operations(self) -> int:
        """Floating-point operations of a call."""
        return operations(self.kernel, self.sizes)


def operations(kernel: ContractionKernel, sizes: Mapping[Sym, int]) -> int:
    access = Access.of(kernel)
    return 2 * (access.rows * access.columns * access.terms * access.batches * access.sums).evaluate(sizes)


@dataclass(frozen=True, slots=True)
class Toolset:
    """What compiles for the target, and what starts its programs here ((): they run as they are). count: what is
    counted (counting.py); host: the build machine's compiler."""

    compiler: Compiler
    target: Target
    cflags: tuple[str, ...]
    cache: Cache
    wrapper: tuple[str, ...] = ()
    link_args: tuple[str, ...] = ()
    jobs: int | None = None
    count: str = "time"
    host: tuple[str, ...] = ("cc",)


def program(cases: Sequence[Case], tools: Toolset, out: Path, rounds: int = 0) -> Path:
    """Compiles every candidate and reference of the cases and links them with the harness to `out`. rounds: of a
    program that has no arguments."""
    kernels = list(dict.fromkeys(case.kernel for case in cases))
    number = {kernel: i for i, kernel in enumerate(kernels)}
    units: list[Unit] = []
    plain_isa = tools.target.as_reference().isas[0]
    micros: dict[str, set[micro.Micro]] = {}
    roomy = [with_scratch(k, [s for case in cases if case.kernel == k for s in case.candidates]) for k in kernels]
    for i, kernel in enumerate(kernels):
        wanted: dict[str, Schedule] = {}
        for case in cases:
            if case.kernel == kernel:
                wanted |= {c.name: c for c in case.candidates}
        for candidate in wanted.values():
            symbol = _symbol(candidate, i)
            made = emit_contraction(roomy[i], [candidate], symbol)
            micros.setdefault(candidate.isa, set()).update(made.micros)
            units.append(Unit(symbol, made.text, _flags(tools, candidate.isa), kernel=True))
        units.append(Unit(f"reference_{i}", emit_reference(kernel, f"reference_{i}"), _flags(tools, plain_isa)))
    units += [Unit(f"micro_{isa}", micro.library(found, isa), _flags(tools, isa), kernel=True)
              for isa, found in micros.items() if found]
    host = tuple(tools.target.flags) + host_flags(tools.cflags, tools.target.arch)
    plain = ("-O2", "-std=c11", "-ffp-contract=off", "-fwrapv", *host, f"-I{SOURCES}")
    units += [Unit(path.stem, path.read_text(encoding="utf-8"), plain)
              for path in (*sorted(SOURCES.glob("*.c")), counting.clock(tools.count, tools.target), DETECTION)]
    units.append(Unit("cases", _table(cases, number, roomy, rounds), plain))
    objects = compile_units(units, tools.compiler, tools.cache, tools.jobs)
    command = [*tools.compiler.command, *host, *tools.link_args, "-o", str(out), *(str(o.path) for o in objects)]
    _link(command, tools)
    return out


def _link(command: list[str], tools: Toolset) -> None:
    """In the user's folder, whose files --link-args may name."""
    try:
        run_tool(command, "the measuring harness does not link", Path.cwd())
    except ToolBroken as broken:
        if not tools.link_args and not counting.bare(tools.target):
            raise
        said = "\n".join(f"  {line}" for line in broken.detail.splitlines()[1:] if ": " in line)
        raise UserError(f"the measuring harness does not link:\n{said}",
                        hint="--link-args name linker script and startup code: docs/tuning.md") from None


def _symbol(candidate: Schedule, kernel: int) -> str:
    return f"{candidate.name}__k{kernel}"


def _flags(tools: Toolset, isa: str) -> tuple[str, ...]:
    """Where time is measured, loops lie in lines of the cache alike whatever else is in the program."""
    aligned = () if counting.bare(tools.target) else ("-falign-functions=64",)
    return (*kernel_flags(tools.compiler, isa, tools.target.flags, tools.cflags, tools.target.arch), *aligned)


def _table(cases: Sequence[Case], number: Mapping[ContractionKernel, int], roomy: Sequence[ContractionKernel],
           rounds: int) -> str:
    """The table of autotune/case.h."""
    lines = ['/* SPDX-License-Identifier: Apache-2.0 */', '#include "case.h"', ""]
    declared: set[str] = set()
    entries: list[str] = []
    for position, case in enumerate(cases):
        kernel, i = case.kernel, number[case.kernel]
        access = Access.of(kernel)
        symbols = [_symbol(c, i) for c in case.candidates] + [f"reference_{i}"]
        lines += [f"tc_kernel {s};" for s in symbols if s not in declared]
        declared.update(symbols)
        lines.append(f"static const tc_param params{position}[] = {{")
        stored, second = {s.buffer for s in kernel.stores}, {b.buffer for b in kernel.b}
        for p in roomy[i].params:
            finite = bool(access.bounds) and p.name in second
            aligned = p.kind in ("packed", "temp", "scratch", "tile")
            words = access.terms.evaluate(case.sizes) if kernel.product.ordered and p.name in second else 0
            lines.append(f'    {{"{p.name}", TC_DATA_{DTYPES[p.dtype].upper}, {p.elements.evaluate(case.sizes)}, '
                         f'{int(finite)}, {int(aligned)}, {int(p.name in stored)}, {int(p.kind == "scratch")}, 0, '
                         f'{words}, {int(p.kind == "packed")}}},')
        sizes = ", ".join(str(case.sizes[s]) for s in kernel.dims) or "0"
        lines += ["};", f"static const tc_index dims{position}[] = {{{sizes}}};",
                  f"static const tc_candidate candidates{position}[] = {{"]
        lines += [f'    {{"{c.name}", "{c.isa}", {_symbol(c, i)}}},' for c in case.candidates]
        lines.append("};")
        entries.append(f'    {{"{case.name}", params{position}, {len(roomy[i].params)}, dims{position}, reference_{i}, '
                       f'candidates{position}, {len(case.candidates)}, {case.candidates.index(case.incumbent)}, '
                       f'{case.worth}, {float(case.operations)}, {case.between}}},')
    lines += ["", "const tc_case tc_cases[] = {", *entries, "};", f"const int tc_case_count = {len(cases)};",
              f"const int tc_rounds = {rounds};", ""]
    return "\n".join(lines)
