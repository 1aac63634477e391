# SPDX-License-Identifier: Apache-2.0
"""What the user means of a model: functions by their names, sizes by the names of dims."""
from __future__ import annotations

from itertools import islice, product
from typing import Iterable, Mapping, Sequence

from ..errors import OptionError, UserError, closest
from ..loops.program_ir import FunctionPlan, Loop, regions, Variant
from ..loops.scalars import extent
from ..symbolic import Sym
from . import assemble, given
from .assemble import Planned
from .capture_run import Captured

MOST_TRIED = 100    # sizes of a dim that are tried against guards
MOST_STEPS = 256    # of a loop, where it may run any number


def functions(made: Planned, shown: str, function: str) -> list[FunctionPlan]:
    """The functions of that name, the C one or the model's; all where there is none."""
    symbols = assemble.entry_symbols(made.compiled.plan)
    if function and function not in (*symbols, *symbols.values()):
        raise OptionError(f"the model has no function {function!r}", shown,
                          closest(function, symbols.values()) + f"its functions: {', '.join(symbols.values())}")
    return [f for f in made.compiled.plan.functions if function in ("", f.name, symbols[f.name])]


def known_dims(functions: Iterable[FunctionPlan], dims: Sequence[Mapping[str, int]], shown: str) -> None:
    """Raises where a name is that of no dim. One that only another function has is none to complain of: one line of
    sizes serves the whole model."""
    names = {d.sym.name for f in functions for d in f.dims}
    for sizes in dims:
        for name in sizes:
            if name not in names:
                raise OptionError(f"--dims: the model has no dim {name!r}", shown,
                                  closest(name, sorted(names)) + f"its dims: {', '.join(sorted(names)) or 'none'}")


def sizes_for(function: FunctionPlan, wanted: Sequence[Mapping[str, int]], captured: Captured) -> list[dict[str, int]]:
    """Those that are wanted, as far as they are of this function; else sizes for every variant."""
    dims = {d.sym.name: d.sym for d in function.dims}
    asked: list[dict[str, int]] = []
    for all_named in wanted:
        named = {name: size for name, size in all_named.items() if name in dims}
        for name in dims:
            if name not in named:
                hint = f"its dims: {', '.join(dims)}" if all_named.keys() - dims.keys() else ""
                raise OptionError(f"--dims: {function.name} needs {name} too", hint=hint)
        given.refuse_named(function, named, captured)
        given.refuse_guards(function, named, captured, captured.shown)
        if named not in asked:
            asked.append(named)
    if wanted or not dims:
        return asked or [{}]
    return _covering(function, dims)


def _covering(function: FunctionPlan, dims: dict[str, Sym]) -> list[dict[str, int]]:
    """Sizes for every variant, and both ends and the middle of dims that say how often its loops run."""
    found: list[dict[str, int]] = []
    for variant in function.variants:
        steps = _steps(variant)
        for part in (None, *((0, 1, 2) if steps else ())):
            near = {} if part is None else {name: _part(dims[name], part) for name in steps}
            sizes = _sizes_of(function, variant, dims, near)
            if sizes not in found:
                found.append(sizes)
    return found


def _steps(variant: Variant) -> list[str]:
    """The dims that say how often its loops run."""
    found = {s.name for region in regions(variant.program.steps) if isinstance(region, Loop) and region.iteration
             for s in extent(region.iteration).symbols()}
    return sorted(found & {s.name for s in variant.program.dims})


def _part(s: Sym, part: int) -> int:
    """The size at the lower end, in the middle (1) or at the upper end (2) of the dim, or of its first MOST_STEPS."""
    most = max(MOST_STEPS, s.lo)
    last = min(s.hi, most) if isinstance(s.hi, int) else most
    return s.lo + (last - s.lo) * part // 2


def _sizes_of(function: FunctionPlan, variant: Variant, dims: dict[str, Sym], near: Mapping[str, int]
              ) -> dict[str, int]:
    """Sizes that the variant serves and that hold the guards; those that have a variant are left to it. near: sizes of
    some dims, to which theirs are as near as may be."""
    def choices(name: str) -> list[int]:
        if name in variant.when:
            return [variant.when[name]]
        if name in near:
            return sorted((n for n in range(dims[name].lo, near[name] + MOST_TRIED) if dims[name].takes(n)),
                          key=lambda n: abs(n - near[name]))[:MOST_TRIED]
        first = _unlisted(dims[name], [v.when.get(name) for v in function.variants])
        return [first] + [n for n in range(dims[name].lo, MOST_TRIED + 1) if n != first and dims[name].takes(n)]

    for sizes in islice(product(*map(choices, dims)), MOST_TRIED ** 2):
        found = dict(zip(dims, sizes))
        if given.failed_guard(function, found) is None:
            return found
    raise UserError(f"no small sizes hold the guards of {function.name}", hint="name some with --dims")


def _unlisted(s: Sym, taken: list[int | None]) -> int:
    """A size of the dim that has no variant: the second smallest one, so that tails are exercised."""
    size = -(-max(s.lo, 1) // s.divisor) * s.divisor
    for _ in range(len(taken) + 2):
        following = size + s.divisor
        if size not in taken and size > 1 or not s.takes(following):
            break
        size = following
    return size
