# SPDX-License-Identifier: Apache-2.0
"""What `explain` prints, from the emitted program: kernels, bytes, fusion, memory, guards, sizes."""
from __future__ import annotations

from typing import Mapping

from ..emit.memory import memory
from ..errors import OptionError, closest
from ..loops import plan as planning, schedule_cuda
from ..loops.library_products import LibraryAlgorithm, shown
from ..loops.loop_ir import ContractionKernel, Kernel
from ..loops.program_ir import Branch, FunctionPlan, Program, Region, Step, Tiles, Variant
from ..loops.scalars import extent
from ..symbolic import Expr, Sym
from ..target import Target
from . import budget, fusion_lines, given, nest_lines, split_lines, winograd_lines
from .costs import headed, moved, walk_steps
from .assemble import Made, entry_symbols
from .numbers import number_of, range_of


def text(made: Made, shown: str, at: Mapping[str, int] | None = None) -> str:
    """at: sizes of dims for the generic variants (default: the lower ends)."""
    plan, target = made.compiled.plan, made.target
    check_sizes(made, shown, at or {})
    lines = [f"model {plan.model}: target {target.name} ({', '.join(target.isas)}), {made.compiler.banner}"]
    for function in plan.functions:
        lines += _function(made, function, at or {})
    lines += [*_baked(made), *_winograd(made), "", *_sizes(made)]
    return "\n".join(lines) + "\n"


def _baked(made: Made) -> list[str]:
    """What --bake-values left out."""
    products = made.compiled.baked.products
    if not products:
        return []
    before, after = sum(p.before for p in products), sum(p.after for p in products)
    dims = " where every dim is 1" if any(f.dims for f in made.compiled.plan.functions) else ""
    lines = ["", f"baked: {after} of {before} multiply-adds a call{dims} stay of products that have fewer channels"]
    return lines + [f"  {p.loc or '?'}: {p.left} of {p.channels} channels, {p.after} of {p.before} multiply-adds"
                    for p in products]


def _winograd(made: Made) -> list[str]:
    """Which convolutions have fewer products."""
    found = made.compiled.winograd
    return ["", winograd_lines.head(found), *(f"  {line}" for line in winograd_lines.lines(found))] if found else []


def check_sizes(made: Made, shown: str, at: Mapping[str, int]) -> None:
    """Raises where the model has no such dim, or one that cannot be so large."""
    dims = {d.sym.name: d for f in made.compiled.plan.functions for d in f.dims}
    for name, size in at.items():
        if name not in dims:
            raise OptionError(f"the model has no dim {name!r}", shown, closest(name, sorted(dims)) +
                              f"its dims: {', '.join(sorted(dims)) or 'none'}")
        if not dims[name].sym.takes(size):
            declared = given.declared(dims[name], made.captured)
            raise OptionError(f"--at: {name} cannot be {size}", shown,
                              f"its range is {range_of(dims[name].sym)}{f'; {declared}' if declared else ''}")


def _function(made: Made, function: FunctionPlan, at: Mapping[str, int]) -> list[str]:
    lines = ["", f"function {entry_symbols(made.compiled.plan)[function.name]}"]
    for kind, buffers in (("input", function.inputs), ("output", function.outputs), ("state", function.states)):
        lines += [f"  {kind} {b.name}: {b.dtype}[{','.join(map(str, b.shape))}]" for b in buffers]
    for dim in function.dims:
        lines.append(f"  dim {dim.sym.name}: {range_of(dim.sym)}")
    lines += [f"  guard {g.name}: {g.lhs} {g.relation} {g.rhs}" + (f"  ({g.loc})" if g.loc else "")
              for g in function.guards]
    for variant in function.built:
        lines += _variant(made, function, variant, at)
    return lines


def _variant(made: Made, function: FunctionPlan, variant: Variant, at: Mapping[str, int]) -> list[str]:
    program = variant.program
    sizes: dict[Sym, int] = {d.sym: at.get(d.sym.name, d.sym.lo) for d in function.dims if d.sym.name not in
                             variant.when}
    rows, total = [], 0
    number = 0
    device = made.target.apart
    for depth, runs, item in walk_steps(program.steps, sizes):
        if not isinstance(item, Step):
            rows.append((f" {'|' if item.barrier else ' '}", "  " * depth + _region(item, sizes),
                         *[""] * (5 if device else 4)))
            continue
        i, number = number, number + 1
        step = item
        bytes_of = moved(step.kernel, runs, sizes)
        total += bytes_of.read + bytes_of.written
        symbols = [made.sources.symbol(step.kernel, isa, function.is_plain(variant)) for isa in made.target.isas]
        code = "/".join(str(made.code(symbol)) for symbol in (dict.fromkeys(symbols) if device else symbols))
        grid = [_grid(step.kernel, function.is_plain(variant), {**sizes, **runs[0].at}, made.target)] if device else []
        rows.append((f"{i}{'|' if step.barrier and i else ' '}", "  " * depth + step.kernel.label, str(bytes_of.read),
                     str(bytes_of.written), code, *grid, str(step.kernel.loc or "")))
    head = [f"  variant {headed(function, variant)}: {number_of(len(program.kernel_steps), 'kernel')}, "
            f"{total} bytes moved" + (f" at {_at(sizes)}" if sizes else "")]
    return ["", *head, *_table(("", "kernel", "read", "written", f"code {'/'.join(made.target.isas)}",
                                 *(["blocks x threads"] if device else []), "from"), rows),
            *(f"    fused: {line}" for line in fusion_lines.fused(program)),
            *(f"    not fused: {what}: {why}{fusion_lines.times(n)}"
              for (what, why), n in fusion_lines.apart(program).items()), *_orders(made, function, variant),
            *(f"    nest: {line}" for line in ([] if function.is_plain(variant) else
                                               nest_lines.nests(made, program))),
            *(f"    split: {line}" for line in split_lines.splits(program)),
            *_memory(made, program, sizes)]


def _orders(made: Made, function: FunctionPlan, variant: Variant) -> list[str]:
    """What the choice of physical orders promises, where they cost something."""
    chosen = made.compiled.orders.get((function.name, variant.name))
    if chosen is None or not chosen.before:
        return []
    did = f"{number_of(chosen.ordered, 'value')} turned, {number_of(chosen.copied, 'value')} copied" \
        if chosen.ordered or chosen.copied else "nothing better was found"
    kept = f", {number_of(chosen.kept, 'value')} left to the rules" if chosen.kept else ""
    locked = f", {number_of(chosen.fixed, 'value')} as the tuning lock has it" if chosen.fixed else ""
    return [f"    orders: {chosen.before:.0f} modelled cycles across the order of memory by the rules, "
            f"{chosen.after:.0f} as chosen: {did}{kept}{locked}"]


def _at(sizes: Mapping[Sym, int]) -> str:
    return ", ".join(f"{s.name}={n}" for s, n in sizes.items())


def _grid(kernel: Kernel, plain: bool, sizes: Mapping[Sym, int], target: Target) -> str:
    if not plain and isinstance(kernel, ContractionKernel) and isinstance(kernel.shape, LibraryAlgorithm):
        return f"cuBLASLt {shown(kernel.shape.version)}"
    launch = schedule_cuda.launch(kernel, plain, schedule_cuda.units(target))
    return f"{launch.blocks(sizes, target.threads)} x {launch.threads}"


def _region(region: Region, sizes: Mapping[Sym, int]) -> str:
    if isinstance(region, Tiles):
        count = 1
        for axis in region.axes:
            count *= axis.blocks.evaluate(sizes)
        return f"{region.label}: {number_of(count, 'tile')} of"
    if isinstance(region, Branch):
        return f"{region.label}: one side of"
    return f"{region.label}: while" if region.iteration is None else \
        f"{region.label}: {number_of(extent(region.iteration).evaluate(sizes), 'iteration')} of"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    left = (0, 1, len(head) - 1)
    return ["    " + "  ".join(cell.ljust(w) if i in left else cell.rjust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in [head, *rows]]


def _memory(made: Made, program: Program, sizes: Mapping[Sym, int]) -> list[str]:
    where = memory(program, made.target.apart)
    bound = where.bound(made.target.threads, "the arena")
    if where.temps is not None:
        least = f" (at most {program.arena.lower_bound} live at once)" if program.arena.lower_bound is not None else ""
        lines = [f"    arena: {bound} bytes, {where.temps} of them tensors{least}"]
    else:
        upper = {s: s.hi for s in program.dims if isinstance(s.hi, int)}
        lines = [f"    arena: {bound} bytes at the dims' upper ends, {planning.arena_bytes(program, upper)} of them "
                 f"tensors "
                 f"(at most {planning.live_bytes(program, upper)} live at once)",
                 f"      at {_at(sizes)}: {planning.arena_bytes(program, sizes)} bytes of tensors (at most "
                 f"{planning.live_bytes(program, sizes)} live at once)"]
    used = {p.name for step in program.kernel_steps for p in step.kernel.params}
    for name, (kind, place) in sorted(where.temp.items(), key=lambda item: (item[1][1], item[0])):
        if name not in used:
            continue
        buffer = program.buffers[name]
        size: Expr | int = buffer.elements
        at = f"at {place}" if kind == "offset" else f"in slot {place}"
        lines.append(f"      {name}: {buffer.dtype}[{','.join(map(str, buffer.shape))}] {at}, {size} elements, order "
                     f"{list(buffer.order)}")
    for group in where.scratch:
        whose = "block" if made.target.apart else "thread"
        lines += [f"      scratch of step {step}: {size} bytes a {whose}" for step, _, size in group]
    return lines


def _sizes(made: Made) -> list[str]:
    found = budget.bill(made)
    stack = f"{found.stack} bytes" if found.stack is not None else "not told by the compiler"
    if found.stack is not None and made.runtime is not None:
        stack += f" ({made.runtime} of them the runtime's)"
    lines = [f"sizes: code {found.code} bytes, weights {found.weights} bytes, arena {found.arena} bytes, stack {stack}"]
    lines += [f"  weights {line.what}: {line.bytes} bytes" for line in found.weights_lines]
    state = made.compiled.plan.state_bytes
    return lines + ([f"  state: {state} bytes"] if state else [])
