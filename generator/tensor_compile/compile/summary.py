# SPDX-License-Identifier: Apache-2.0
"""`explain --summary`: a screen: where time and memory go, what was not fused, code and weights by scope. Times are
what the target file's ceilings allow; `profile` measures."""

from __future__ import annotations

from collections import defaultdict
from typing import Collection, Iterable, Iterator, Mapping

from ..emit.memory import memory
from ..graph.dtypes import DTYPES
from ..loops.loop_ir import ExternKernel, Kernel
from ..loops.program_ir import FunctionPlan, Variant
from ..symbolic import Sym
from . import budget, costs, fusion_lines, panel_lines, split_lines, stripe_lines, winograd_lines
from .assemble import Made, entry_symbols
from .costs import Ceilings, Cost
from .numbers import number_of, range_of
from .options import Options

SHOWN = 6  # lines of a list


SMALL = {"speed": "30 to 60 %", "balanced": "30 to 75 %"}   # what --optimize size typically takes of it (README)


def text(made: Made, options: Options, at: Mapping[str, int]) -> str:
    """at: sizes of dims, which decide what variants are shown (costs.chosen)."""
    plan, target = made.compiled.plan, made.target
    bill = budget.bill(made)
    state = f", state {amount(plan.state_bytes)}" if plan.state_bytes else ""
    lines = [
        f"{options.shown}: {plan.model} for {target.name} ({', '.join(target.isas)})",
        f"  code {amount(bill.code)}, weights {amount(bill.weights)}, arena at most {amount(bill.arena)}{state}",
        *_code(made, bill, options.optimize),
        *_winograd(made),
    ]
    for function in plan.functions:
        shown = costs.chosen(function, at)
        for variant, sizes in shown:
            lines += ["", *_function(made, function, variant, sizes)]
        others = [costs.headed(function, v) for v in function.variants if all(v is not s for s, _ in shown)]
        if others:
            lines.append(f"  not shown: {', '.join(others)}; --at DIM=SIZE,… chooses")
    lines += ["", "by scope:        code     weights", *_scopes(made, bill)]
    return "\n".join(lines) + "\n"


def _code(made: Made, bill: budget.Bill, level: str) -> list[str]:
    """Code by instruction set, of which a call runs one, and what would make it less."""
    if made.target.apart:
        return []
    kernels = {isa: sum(line.bytes for line in bill.code_lines if line.what.endswith(f"__{isa}"))
               for isa in made.target.isas}
    parts = ", ".join(f"{isa} {amount(size)}" for isa, size in kernels.items())
    less = [f"--optimize size (typically {SMALL[level]} of this)"] if level in SMALL else []
    less += ["fewer sets (--isa)"] if len(kernels) > 1 else []
    return [f"  code for {level}, by instruction set: {parts}", *([f"  less code: {', '.join(less)}"] if less else [])]


def _winograd(made: Made) -> list[str]:
    """Which convolutions have fewer products, and why others have not."""
    found = made.compiled.winograd
    why = winograd_lines.reasons(found)[:SHOWN]
    return [f"  {winograd_lines.head(found)}{':' if why else ''}",
            *(f"    not so: {reason}" for reason in why)] if found else []


def amount(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def shares(rows: list[Cost], limits: Ceilings) -> list[float]:
    """Of the time that the ceilings allow; of bytes where the target file has none."""
    seconds = [limits.seconds(c) or float(c.bytes) for c in rows]
    total = sum(seconds) or 1.0
    return [s / total for s in seconds]


def temps(variant: Variant, sizes: Mapping[str, int], rows: list[Cost]) -> Iterator[tuple[str, str, int]]:
    """Name, type and bytes of every tensor that waits in the arena, the largest first; made by the kernels of
    `rows`. Bytes are those at `sizes`, types name the dims."""
    values = _values(variant, sizes)
    used = {p.name: p for step in variant.program.kernel_steps for p in step.kernel.params if p.kind == "temp"}
    makers = {name: c.name for c, step in zip(rows, variant.program.kernel_steps) for name in stored(step.kernel)}
    found = [
        (
            makers.get(b.name, b.name),
            f"{b.dtype}[{','.join(map(str, b.shape))}]",
            b.elements.evaluate(values) * DTYPES[b.dtype].bytes,
        )
        for b in used.values()
    ]
    yield from sorted(found, key=lambda t: (-t[2], t[0]))


def stored(kernel: Kernel) -> set[str]:
    """The buffers that a kernel writes."""
    whole = {b.name for b in kernel.writes} if isinstance(kernel, ExternKernel) else set()
    return whole | {s.buffer for s in kernel.stores}


def _values(variant: Variant, sizes: Mapping[str, int]) -> dict[Sym, int]:
    return {s: sizes[s.name] for s in variant.program.dims}


def refusals(variant: Variant, rows: list[Cost]) -> list[tuple[int, str, str]]:
    """Bytes of the kernels that stayed apart, what, why with how often; the most first."""
    found = []
    for (what, why), n in fusion_lines.apart(variant.program).items():
        names = what.replace(" into ", " with ").replace(" beside ", " with ").split(" with ")
        apart = [c for c in rows if any(n.split()[0] in c.label for n in names if n)]
        found.append((max((c.bytes for c in apart), default=0), what, why + fusion_lines.times(n)))
    return sorted(found, key=lambda f: (-f[0], f[1]))


def _function(made: Made, function: FunctionPlan, variant: Variant, sizes: Mapping[str, int]) -> list[str]:
    rows = costs.of_variant(made, function, variant, sizes)
    limits = costs.ceilings(made.target, made.target.isas[-1], 1)
    at = _at(function, variant, sizes)
    name = entry_symbols(made.compiled.plan)[function.name]
    arena = memory(variant.program, made.target.apart).bound(made.target.threads, f"the arena of {name}")
    lines = [
        f"{name}{f' at {at}' if at else ''}: {len(rows)}"
        f" kernels, {sum(c.operations for c in rows) / 1e6:.3g} M operations, {amount(sum(c.bytes for c in rows))}"
        " moved"
    ]
    if limits.operations and limits.bytes and not any(c.integers for c in rows):    # ceilings are those of floats
        arithmetic = sum(c.operations for c in rows) / limits.operations
        lines[0] += f", on one core at least {duration(arithmetic)} of arithmetic, " \
                    f"{duration(sum(limits.seconds(c) for c in rows))} if all bytes came from memory"
    lines[0] += f", arena {'at most ' if variant.program.dims else ''}{amount(arena)}"
    lines += _kernels(rows, shares(rows, limits))
    largest = _tensors(temps(variant, sizes, rows))
    if largest:
        lines += ["  largest tensors in the arena:", *(f"    {line}" for line in largest[:SHOWN])]
    apart = [r for r in refusals(variant, rows) if not panel_lines.is_one(r[1])]
    if apart:
        lines += ["  not fused, what moves most first:"] + [f"    {what}: {why}" for _, what, why in apart[:SHOWN]]
        if len(apart) > SHOWN:
            lines.append(f"    and {len(apart) - SHOWN} more (explain)")
    if splits := split_lines.splits(variant.program):
        lines.append(f"  shared by teams in bands of rows: {len(splits)} of "
                     f"{number_of(split_lines.count(variant.program), 'contraction')} (explain: split)")
    return lines + [f"  {line}" for line in (*stripe_lines.stripes(variant.program),
                                             *panel_lines.panels(variant.program, made.target, SHOWN))]


def _at(function: FunctionPlan, variant: Variant, sizes: Mapping[str, int]) -> str:
    """The sizes that are shown, of dims that have others in this variant with their range, and the variant; "" of a
    function without dims."""
    dims = [f"{d.sym.name}={sizes[d.sym.name]}" + ("" if d.sym.name in variant.when else f" of {range_of(d.sym)}")
            for d in function.dims]
    more = "; --at DIM=SIZE,… shows others" if variant.program.dims else ""
    return f"{', '.join(dims)} (variant {variant.name}{more})" if dims else ""


def _kernels(rows: list[Cost], of: list[float]) -> list[str]:
    """The kernels that take most of the time; those of one name and place are one line. of: their shares."""
    alike: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for c, share in zip(rows, of, strict=True):
        place = f"  ({c.place})" if c.place else ""
        alike[_numberless(c.name) + place].append((c.name + place, share))
    order = sorted(alike.items(), key=lambda item: -sum(share for _, share in item[1]))
    lines = [f"  {100 * sum(share for _, share in found):5.1f} %  {_one_name(name, [n for n, _ in found])}"
             + (f", {len(found)} kernels" if len(found) > 1 else "") for name, found in order[:SHOWN]]
    others = [share for _, found in order[SHOWN:] for _, share in found]
    return lines + ([f"  {100 * sum(others):5.1f} %  {number_of(len(others), 'other')}"] if others else [])


def _tensors(found: Iterable[tuple[str, str, int]]) -> list[str]:
    """A line for those of one size, type and name."""
    alike: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    for name, kind, size in found:
        alike[size, kind, _numberless(name)].append(name)
    return [f"{amount(size):>10}  {kind} of {_one_name(name, names)}{fusion_lines.times(len(names))}"
            for (size, kind, name), names in alike.items()]


def _numberless(name: str) -> str:
    """The name of a kernel with `*` for each number that is a part of its scope: those of layers."""
    scope, colon, label = name.rpartition(": ")
    return ".".join("*" if part.isdigit() else part for part in scope.split(".")) + colon + label


def _one_name(numberless: str, names: Collection[str]) -> str:
    """For all of them, with the numbers where they are one."""
    return numberless if len(set(names)) > 1 else next(iter(names))


def _scopes(made: Made, bill: budget.Bill) -> list[str]:
    code: dict[str, int] = defaultdict(int)
    weights: dict[str, int] = defaultdict(int)
    seen: set[str] = set()
    for function in made.compiled.plan.functions:
        for variant in function.built:
            sizes = {**costs.sizes_at(function, {}), **variant.when}
            for c in costs.of_variant(made, function, variant, sizes):
                for symbol, size in zip(c.symbols, c.code):
                    if symbol not in seen:  # equal kernels of several places are one
                        seen.add(symbol)
                        code[c.scope.split(".")[0] or "(no scope)"] += size
    code["(driver and shared)"] = bill.code - sum(code.values())
    for line in bill.weights_lines:
        weights[line.what.split()[0].split(".")[0]] += line.bytes
    names = sorted({*code, *weights}, key=lambda n: (-code[n] - weights[n], n))
    return [
        f"  {amount(code[n]) if code[n] else '-':>12}{amount(weights[n]) if weights[n] else '-':>12}  {n}"
        for n in names
    ]
