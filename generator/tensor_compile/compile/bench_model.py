# SPDX-License-Identifier: Apache-2.0
"""`bench`: the time of every kernel beside what this machine reached in the same run: multiply-adds, and reads at the
levels of cache that hold a run's bytes."""
from __future__ import annotations

from pathlib import Path
from typing import Sequence
from xml.sax.saxutils import escape

from ..records import dataclass
from . import costs, files, machine, profile_model, winograd_lines
from .assemble import Made
from .cache import Cache
from .costs import Cost
from .machine import Machine
from .options import Options
from .profile_model import Recorded, Request, columns

BAR, LEFT, WIDTH, MOST = 16, 330, 900, 60   # of the chart: pixels; kernels that it shows
BLUE, PALE = "#2b6cb0", "#a9c6e5"


@dataclass(frozen=True, slots=True)
class Row:
    """us: of a call, the median; floor: the least that the machine's ceilings allow; bound: which of them. They are 0
    and "-" of kernels that compute integers, for which no ceiling is measured. least: that of a call; 0: us."""

    cost: Cost
    us: float
    floor: float
    bound: str
    least: float = 0.0

    @property
    def at_best(self) -> float:
        return self.least or self.us

    @property
    def of_ceiling(self) -> float:
        """In percent, of the least time: what else the machine does makes it no worse."""
        return 100 * self.floor / self.at_best if self.at_best else 0.0


def run(options: Options, request: Request, chart: str = "") -> int:
    """Prints a table a function. chart: a file for it as SVG; with several functions their names are in the file's."""
    if chart:
        files.require_folder(Path(chart))
    ceilings: list[Machine] = []

    def measure(made: Made, cache: Cache) -> None:
        ceilings.append(machine.measure(made.compiler, made.target, options.cflags, made.target.isas[-1],
                                        profile_model.team(request, made.target), cache, request.run.wrapper))
    for i, found in enumerate(profile_model.recorded(options, request, measure)):
        rows = rows_of(found, ceilings[0])
        print(text(found, rows, ceilings[0]), end="")
        profile_model.warn(found, options.shown)
        if chart:
            path = Path(chart) if not i else Path(chart).with_stem(f"{Path(chart).stem}-{found.name}")
            files.write(path, [drawing(found, rows).encode()])
    return 0


def rows_of(found: Recorded, ceilings: Machine) -> list[Row]:
    """The slowest first."""
    times, least = (of(found.own, found.calls) for of in (profile_model.medians, profile_model.least))
    rows = []
    for cost in profile_model.as_run(costs.of_variant(found.made, found.function, found.variant, found.sizes),
                                     found.own, found.calls):
        if cost.integers:
            rows.append(Row(cost, times.get(cost.step, 0.0), 0.0, "-", least.get(cost.step, 0.0)))
            continue
        compute = cost.operations / ceilings.operations * 1e6
        memory = ceilings.seconds(cost) * 1e6
        rows.append(Row(cost, times.get(cost.step, 0.0), max(compute, memory),
                        "flops" if compute > memory else "bytes", least.get(cost.step, 0.0)))
    return sorted(rows, key=lambda row: -row.us)


def text(found: Recorded, rows: Sequence[Row], ceilings: Machine) -> str:
    total = sum(row.us for row in rows) or 1e-9
    held = [row for row in rows if not row.cost.integers]
    timed = sum(row.us for row in held)
    least = sum(row.at_best for row in held) or 1e-9
    reached = f"{100 * sum(row.floor for row in held) / least:.0f}% of the ceilings"
    share = "no ceiling of integers is measured" if not held else reached if len(held) == len(rows) else \
        f"kernels without integers, {100 * timed / total:.0f}% of the time, reach {reached}"
    threads = f", {ceilings.threads} threads" if ceilings.threads > 1 else ""
    head = f"{found.title}: {total:.1f} us in kernels of a call, median of {found.calls}, least " \
           f"{sum(row.at_best for row in rows):.1f} ({found.variant.name}, {found.isa}{threads}); {share}"
    body = [(f"{r.us:.2f}", f"{r.at_best:.2f}", f"{100 * r.us / total:.1f}",
             f"{_rate(r.cost.operations, r.at_best):.1f}", f"{_rate(r.cost.bytes, r.at_best):.1f}",
             "-" if r.cost.integers else f"{r.of_ceiling:.0f}", r.bound, r.cost.name, r.cost.place) for r in rows]
    reads = ", ".join(f"{rate / 1e9:.0f} at {size >> 10} KiB" for size, rate in sorted(ceilings.reads.items()))
    over = ["over 100 %: the machine was faster than while its ceilings were measured"] \
        if any(round(r.of_ceiling) > 100 for r in rows) else []
    own = winograd_lines.of_kernels(row.cost for row in rows)
    if own and held:
        head += ", of Winograd's own operations where kernels are named so"
    over += own
    over += ["-: integers, for which no ceiling is measured"] if len(held) < len(rows) else []
    names = ("us", "least", "%", "GFLOP/s", "GB/s", "% of ceiling", "bound", "kernel", "line")
    return "\n".join([head, "", *columns(names, body), "", profile_model.BY_LEAST,
                      f"ceilings, measured in this run: {ceilings.operations / 1e9:.1f} GFLOP/s of f32; GB/s of reads "
                      f"by the bytes of a thread: {reads}", *over, "", ""])


def _rate(amount: float, us: float) -> float:
    """In a second, times 1e9."""
    return amount / us / 1e3 if us else 0.0


def drawing(found: Recorded, rows: Sequence[Row]) -> str:
    """SVG: a bar a kernel, as long as its time; the dark part is what the ceilings allow."""
    shown = [row for row in rows if row.us][:MOST]
    most = max((row.us for row in shown), default=1.0)
    scale = (WIDTH - LEFT - 150) / most
    total = sum(row.us for row in rows) or 1e-9
    parts, y = [], 44
    for row in shown:
        name = f"{row.cost.name} {row.cost.place}".strip()
        parts.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(name[-52:])}</text>'
                     f'<rect x="{LEFT}" y="{y}" width="{row.us * scale:.1f}" height="{BAR - 3}" fill="{PALE}"/>'
                     f'<rect x="{LEFT}" y="{y}" width="{min(row.floor, row.us) * scale:.1f}" height="{BAR - 3}" '
                     f'fill="{BLUE}"/>'
                     f'<text x="{LEFT + row.us * scale + 6:.1f}" y="{y + 12}">{row.us:.1f} us, '
                     f'{100 * row.us / total:.1f} %'
                     f'{"" if row.cost.integers else f", {row.of_ceiling:.0f} % of ceiling"}</text>')
        y += BAR
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 12}" font-family="sans-serif" '
            f'font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
            f'<text x="12" y="18" font-size="13">{escape(found.title)}: {total:.1f} us in kernels of a call '
            f'({escape(found.variant.name)}, {found.isa}); dark: the least that the ceilings allow; '
            f'percent by the least times</text>\n'
            + "\n".join(parts) + "\n</svg>\n")
