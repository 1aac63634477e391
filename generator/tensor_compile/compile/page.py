# SPDX-License-Identifier: Apache-2.0
"""`explain --html`: one page that needs nothing else: graph, kernels with the user's lines beside the generated C,
fusion, memory over time, guards, schedules, how nests run, convolutions of fewer products, roofline. It is read with a
keyboard, on a phone and on paper."""

from __future__ import annotations

from html import escape
from math import log10
from pathlib import Path
from typing import Mapping

from ..emit.memory import memory, round64
from ..graph.dtypes import DTYPES
from ..loops.loop_ir import ContractionKernel, GroupedContractionKernel, Kernel
from ..loops.program_ir import FunctionPlan, Step, Variant, leaves
from . import budget, costs, fusion_lines, nest_lines, winograd_lines
from .assemble import Made, entry_symbols
from .costs import Ceilings, Cost
from .numbers import range_of
from .summary import amount, refusals, shares, stored

AROUND = 3  # lines of the model before and behind a kernel's
MOST_TEXT = 40_000  # characters of a kernel's source

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


def text(made: Made, shown: str, model: Path, at: Mapping[str, int]) -> str:
    """at: sizes of dims, which decide what variants are shown (costs.chosen)."""
    plan = made.compiled.plan
    lines = Lines(model.parent)
    sections = [(f, variant, sizes) for f in plan.functions for variant, sizes in costs.chosen(f, at)]
    parts = [_head(made, shown, [(f, v) for f, v, _ in sections])]
    parts.append(_winograd(made))
    for number, (function, variant, sizes) in enumerate(sections):
        parts.append(_function(made, function, variant, sizes, f"f{number}", lines))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        f' content="width=device-width, initial-scale=1"><title>{escape(plan.model)}: tensor-compile'
        f' explain</title><style>{STYLE}</style></head><body><a class="skip" href="#main">Skip to the'
        f' functions</a>{"".join(parts)}</main><script>{SCRIPT}</script></body></html>\n'
    )


class Lines:
    """The user's sources, read once; what cannot be read has no lines."""

    def __init__(self, folder: Path):
        self.folder, self.files = folder, dict[str, list[str]]()

    def around(self, place: str) -> str:
        name, _, number = place.rpartition(":")
        if name not in self.files:
            path = self.folder / name
            self.files[name] = (
                path.read_text(encoding="utf-8", errors="replace").splitlines()
                if path.is_file() and path.suffix in (".c", ".h", ".py")
                else []
            )
        lines, at = self.files[name], int(number) if number.isdigit() else 0
        if not 0 < at <= len(lines):
            return f'<p class="soft">{escape(place) or "no place in the model is known"}</p>'
        rows = [f"{n:4}  {escape(lines[n - 1])}" for n in range(max(1, at - AROUND), min(len(lines), at + AROUND) + 1)]
        rows[at - max(1, at - AROUND)] = f"<mark>{rows[at - max(1, at - AROUND)]}</mark>"
        return (
            f'<pre tabindex="0" aria-label="{escape(place)}">'
            + "\n".join(rows).replace("</mark>\n", "</mark>")
            + "</pre>"
        )


def _head(made: Made, shown: str, sections: list[tuple[FunctionPlan, Variant]]) -> str:
    """sections: what each shows."""
    plan, bill = made.compiled.plan, budget.bill(made)
    facts = [
        ("code", amount(bill.code)),
        ("weights", amount(bill.weights)),
        ("arena, at most", amount(bill.arena)),
        ("stack", amount(bill.stack) if bill.stack is not None else "not told"),
        ("state", amount(plan.state_bytes)),
    ]
    symbols = entry_symbols(plan)
    nav = "".join(f'<a href="#f{i}">{escape(symbols[f.name] + (f" {v.name}" if v.when else ""))}</a>'
                  for i, (f, v) in enumerate(sections))
    return (
        f"<header><h1>{escape(plan.model)}</h1><p class=soft>{escape(shown)} for {escape(made.target.name)} "
        f"({', '.join(made.target.isas)}), {escape(made.compiler.banner)}</p>"
        f'<nav aria-label="Functions">{nav}</nav><ul class="facts">'
        + "".join(f"<li><b>{value}</b>{name}</li>" for name, value in facts)
        + '</ul></header><main id="main">'
    )


def _function(
    made: Made, function: FunctionPlan, variant: Variant, sizes: Mapping[str, int], key: str, lines: Lines
) -> str:
    rows = costs.of_variant(made, function, variant, sizes)
    limits = costs.ceilings(made.target, made.target.isas[-1], 1)
    part = shares(rows, limits)
    kernels = [step.kernel for step in leaves(variant.program.steps) if isinstance(step, Step)]
    at = ", ".join(f"{k}={v}" for k, v in sizes.items())
    others = ", ".join(costs.headed(function, v) for v in function.variants if v is not variant)
    return "".join(
        [
            f'<section id="{key}"><h2>{escape(entry_symbols(made.compiled.plan)[function.name])}</h2>',
            f"<p>Variant <b>{escape(variant.name)}</b>{f' at {escape(at)}' if at else ''}; {len(rows)} kernels"
            + (f'; other variants: {escape(others)}' if others else "")
            + ".</p>",
            _interface(function),
            _guards(function),
            (
                "<h3>Graph</h3><p class=soft>Kernels from top to bottom; a line is a tensor from where it is made to"
                " where it is read. Follow a name to its code.</p>"
            ),
            _graph(rows, kernels, part, key),
            (
                "<h3>Kernels</h3><p class=soft>The share is of the time that clock and bandwidth of the target file"
                " allow; <code>tensor-compile profile</code> measures.</p>"
            ),
            *(_kernel(made, c, k, s, key, lines) for c, k, s in zip(rows, kernels, part)),
            _roofline(rows, limits),
            _memory(made, variant, sizes, rows),
            _fusion(variant, rows),
            _schedules(kernels, rows),
            _nests(made, function, variant),
            "</section>",
        ]
    )


def _table(caption: str, head: list[str], rows: list[list[str]], numbers: frozenset[int] = frozenset()) -> str:
    """Cells are HTML already."""

    def cells(row: list[str], tag: str) -> str:
        return "".join(
            f'<{tag}{" class=n" if i in numbers else ""}{" scope=col" if tag == "th" else ""}>{c}</{tag}>'
            for i, c in enumerate(row)
        )

    body = "".join(f"<tr>{cells(r, 'td')}</tr>" for r in rows)
    return (
        '<div class="scroll" tabindex="0" role="region"'
        f' aria-label="{escape(caption)}"><table><caption>{escape(caption)}</caption><thead><tr>'
        f'{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _interface(function: FunctionPlan) -> str:
    rows = [
        [kind, escape(b.name), escape(f"{b.dtype}[{', '.join(map(str, b.shape))}]")]
        for kind, buffers in (("input", function.inputs), ("output", function.outputs), ("state", function.states))
        for b in buffers
    ]
    rows += [
        [
            "dim",
            escape(d.sym.name),
            range_of(d.sym),
        ]
        for d in function.dims
    ]
    return _table("Arguments", ["", "name", "type"], rows)


def _guards(function: FunctionPlan) -> str:
    if not function.guards:
        return ""
    return _table(
        "Guards: what a call's sizes must hold",
        ["guard", "condition", "from"],
        [[escape(g.name), escape(f"{g.lhs} {g.relation} {g.rhs}"), escape(str(g.loc or ""))] for g in function.guards],
    )


def _graph(rows: list[Cost], kernels: list[Kernel], part: list[float], key: str) -> str:
    """An arc diagram: it stays readable however many kernels there are."""
    step, left = 26, 150
    last: dict[str, int] = {}
    arcs = []
    for i, kernel in enumerate(kernels):
        for name in dict.fromkeys(p.name for p in kernel.params if p.kind in ("temp", "tile", "state", "output")):
            if name in last and last[name] != i:
                arcs.append((last[name], i, name))
        last.update({name: i for name in stored(kernel)})
    height = step * len(rows) + 10
    body = [
        f'<path d="M{left} {a * step + 16} C{left - r} {a * step + 16} {left - r} {b * step + 16} {left}'
        f' {b * step + 16}" fill="none" stroke="currentColor" stroke-opacity=".45"><title>{escape(name)}</title></path>'
        for a, b, name in arcs
        for r in [min(left * 1.2, 18 + 14 * (b - a))]
    ]
    for i, (c, share) in enumerate(zip(rows, part)):
        y = i * step + 16
        body.append(
            f'<circle cx="{left}" cy="{y}" r="{3 + 6 * share ** .5:.1f}" fill="var(--fill)"/><a href="#{key}k{i}"><text'
            f' x="{left + 16}" y="{y + 4}">{escape(c.name)}</text></a><text x="610" y="{y + 4}"'
            f' text-anchor="end">{escape(c.place)}</text><text x="690" y="{y + 4}" text-anchor="end">{100 * share:.1f}'
            ' %</text>'
        )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Graph"><svg class="wide" viewBox="0 0 700'
        f' {height}" role="img" aria-label="Kernels and the tensors between them">{"".join(body)}</svg></div>'
    )


def _kernel(made: Made, c: Cost, kernel: Kernel, share: float, key: str, lines: Lines) -> str:
    isa = made.target.isas[-1]
    text = made.sources.text(c.symbols[-1])
    code = text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "\n… cut here; --keep DIR has all of it"
    sizes = ", ".join(f"{size} {i}" for size, i in zip(c.code, made.target.isas))
    params = ", ".join(f"{p.name} {p.dtype}[{','.join(map(str, p.shape))}] ({p.kind})" for p in kernel.params)
    return (
        f'<details id="{key}k{c.step}"><summary><span class="bar" style="width:{max(2, 90 * share):.0f}px"></span>'
        f"{c.step}. <b>{escape(c.name)}</b> <span class=soft>{escape(c.place)}; {100 * share:.1f} %,"
        f" {_si(c.operations)} operations, "
        f"{amount(c.read)} read, {amount(c.written)}"
        f" written{f', {c.runs} times' if c.runs > 1 else ''}{', behind a barrier' if c.barrier else ''}"
        f"</span></summary><div class=sides><div><p>In the model</p>{lines.around(c.place)}<p class=soft>Tensors:"
        f" {escape(params)}. Code, bytes: {sizes}.</p></div>"
        f'<div><p>Generated for {escape(isa)}</p><pre tabindex="0" aria-label="generated C of'
        f' {escape(c.name)}">{escape(code)}</pre></div></div></details>'
    )


def _si(n: float) -> str:
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if n >= unit:
            return f"{n / unit:.3g}{name}"
    return f"{n:.3g}"


def _roofline(rows: list[Cost], limits: Ceilings) -> str:
    """Operations a byte against operations a second that the ceilings allow, both logarithmic."""
    points = [(c, c.operations / c.bytes) for c in rows if c.operations and c.bytes]
    if not points or not (limits.operations and limits.bytes):
        return ""
    ridge = limits.operations / limits.bytes
    low, high = log10(min(min(x for _, x in points), ridge) / 2), log10(max(max(x for _, x in points), ridge) * 2)
    top, bottom = log10(limits.operations * 2), log10(10**low * limits.bytes / 2)

    def spot(intensity: float, rate: float) -> tuple[float, float]:
        return 70 + 600 * (log10(intensity) - low) / (high - low), 250 - 220 * (log10(rate) - bottom) / (top - bottom)

    a, b, c = spot(10**low, 10**low * limits.bytes), spot(ridge, limits.operations), spot(10**high, limits.operations)
    dots = []
    for cost, x in points:
        px, py = spot(x, min(limits.operations, x * limits.bytes))
        dots.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="5" fill="var(--fill)"'
            f' fill-opacity=".7"><title>{escape(cost.name)}: {x:.3g} operations a byte</title></circle>'
        )
    return (
        "<h3>Roofline</h3><p class=soft>Left of the bend memory is the limit, right of it arithmetic. A dot is a kernel"
        " at what it can reach.</p>"
        f'<svg viewBox="0 0 700 290" role="img" aria-label="Roofline: {len(points)} kernels,'
        f' {sum(x < ridge for _, x in points)} limited by memory">'
        f'<polyline points="{a[0]:.1f},{a[1]:.1f} {b[0]:.1f},{b[1]:.1f} {c[0]:.1f},{c[1]:.1f}" fill="none"'
        ' stroke="currentColor" stroke-width="2"/>'
        f'<text x="{b[0] + 8:.1f}" y="{b[1] - 8:.1f}">{limits.operations / 1e9:.0f} GFLOP/s, bend at {ridge:.3g}'
        ' operations a byte</text>'
        f'<text x="70" y="280">{10 ** low:.2g}</text><text x="670" y="280" text-anchor="end">{10 ** high:.2g}'
        f' operations a byte</text>{"".join(dots)}</svg>'
    )


def _memory(made: Made, variant: Variant, sizes: Mapping[str, int], rows: list[Cost]) -> str:
    """Tensors of the arena: from the step that makes one to the last that reads it, at their places."""
    program = variant.program
    where = memory(program, made.target.apart)
    values = {s: sizes[s.name] for s in program.dims}
    starts: list[int] = []
    ends: list[int] = []
    for slot in where.slots:
        starts.append(max((ends[i] for i in slot.above), default=0))
        ends.append(starts[-1] + round64(slot.size.evaluate(values)))
    live: dict[str, list[int]] = {}
    steps = [s for s in leaves(program.steps) if isinstance(s, Step)]
    for i, s in enumerate(steps):
        for p in s.kernel.params:
            if p.name in where.temp:
                live.setdefault(p.name, [i, i])[1] = i
    if not live:
        return "<h3>Memory</h3><p>No tensor waits in the arena.</p>"
    makers = {name: c.name for c, s in zip(rows, steps) for name in stored(s.kernel)}

    def maker(name: str) -> str:
        return makers.get(name, name)

    boxes = []
    for name, (first, last) in live.items():
        buffer = program.buffers[name]
        kind, place = where.temp[name]
        size = buffer.elements.evaluate(values) * DTYPES[buffer.dtype].bytes
        boxes.append((name, first, last, place if kind == "offset" else starts[place], size))
    total = max(start + size for *_, start, size in boxes) or 1
    width, height = 600 / len(steps), 300
    drawn = [
        f'<rect x="{80 + first * width:.1f}" y="{height - height * (start + size) / total:.1f}"'
        f' width="{(last - first + 1) * width:.1f}" height="{max(1.0, height * size / total):.1f}" fill="var(--fill)"'
        f' fill-opacity="{.35 + .4 * (n % 3) / 2:.2f}" stroke="var(--bg)"><title>{escape(maker(name))}: {amount(size)}'
        f' at {start}, steps {first} to {last}</title></rect>'
        for n, (name, first, last, start, size) in enumerate(boxes)
    ]
    listed = _table(
        "Tensors of the arena, the largest first",
        ["made by", "bytes", "at", "steps"],
        [
            [escape(maker(n)), str(size), str(start), f"{a} to {b}"]
            for n, a, b, start, size in sorted(boxes, key=lambda x: -x[4])
        ],
        frozenset((1, 2)),
    )
    return (
        f"<h3>Memory</h3><p class=soft>Steps from left to right, {amount(total)} of tensors from bottom to top.</p>"
        f'<svg viewBox="0 0 700 330" role="img" aria-label="Places of {len(boxes)} tensors over {len(steps)}'
        f' steps">{"".join(drawn)}'
        f'<text x="75" y="12" text-anchor="end">{amount(total)}</text><text x="75" y="{height}"'
        ' text-anchor="end">0</text>'
        '<text x="80" y="320">step 0</text><text x="680" y="320"'
        f' text-anchor="end">{len(steps) - 1}</text></svg>{listed}'
    )


def _fusion(variant: Variant, rows: list[Cost]) -> str:
    joined = _items(fusion_lines.fused(variant.program))
    apart = _table(
        "Kept apart, what moves most first",
        ["what", "why"],
        [[escape(what), escape(why)] for _, what, why in refusals(variant, rows)],
    )
    return (
        "<h3>Fusion</h3><p class=soft>Operations that run in one kernel hand values on in registers; those that stay"
        f" apart write them to memory.</p><details><summary>{len(variant.program.fusions)} operations were"
        f" joined</summary><ul>{joined}</ul></details>{apart}"
    )


def _schedules(kernels: list[Kernel], rows: list[Cost]) -> str:
    found = [
        [escape(c.name), escape(s.isa), f"{s.mr} x {s.nr}", str(s.kc or "all"), escape(s.name)]
        for k, c in zip(kernels, rows)
        for p in (k.contractions if isinstance(k, (ContractionKernel, GroupedContractionKernel)) else ())
        for s in p.schedules
    ]
    if not found:
        return ""
    return (
        "<h3>Schedules</h3><p class=soft>Of products and convolutions; <code>tensor-compile tune</code> measures"
        " others.</p>"
        + _table("Chosen", ["kernel", "set", "tile", "terms at once", "name in the lock"], found, frozenset((3,)))
    )


def _nests(made: Made, function: FunctionPlan, variant: Variant) -> str:
    found = [] if function.is_plain(variant) else nest_lines.nests(made, variant.program)
    if not found:
        return ""
    return (
        "<h3>Nests</h3><p class=soft>How loop nests run that are more than loops over one row after the other; numbers"
        f" are the kernels'.</p><ul>{_items(found)}</ul>"
    )


def _winograd(made: Made) -> str:
    """Of all functions."""
    found = made.compiled.winograd
    if not found:
        return ""
    return (
        f"<section><h2>Convolutions of fewer products</h2><details open><summary>{escape(winograd_lines.head(found))}"
        f"</summary><ul>{_items(winograd_lines.lines(found))}</ul></details></section>"
    )


def _items(lines: list[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)
