# SPDX-License-Identifier: Apache-2.0
"""report.py FILE.json… [--summary] [--svg FILE.svg]: the table and the chart of what run.py measured.

The table has medians of the rounds in microseconds. A ratio is the best peer's time over ours: above 1 we are faster.
The best peer is the one with the least median; the ratio is the median of the ratios within a round. The geometric
mean stands below. --summary has the ratios alone, a column a number of threads. The chart has them as bars.
The contender multiply-adds is no peer: where it was measured, the table has its time over ours, the share of the
multiply-add peak, as the median of the shares within a round.
"""
from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence
from xml.sax.saxutils import escape

OURS = "tensor-compile"
PEAK = "multiply-adds"
COLUMNS = {OURS: "tensor-compile", "eager": "torch eager", "compile": "torch.compile",
           "frozen": "torch.compile, default mode", "ahead": "torch.compile ahead of time",
           "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
NAMED = {"eager": "eager", "compile": "compile", "frozen": "compile", "ahead": "compile", "onnxruntime": "ORT",
         "openvino": "OpenVINO"}
BAR, GAP, LEFT, WIDTH, TOP = 12, 8, 250, 760, 46   # of the chart
COLOURS = ("#2b6cb0", "#dd8452", "#55a868", "#8172b3")


@dataclass(frozen=True)
class Line:
    """A row at a number of threads. medians: seconds by contender; ratio: the best peer's time over ours; share: of
    the multiply-add peak, None where that was not measured."""

    title: str
    threads: int
    medians: dict[str, float]
    best: str
    ratio: float
    share: float | None = None


def lines(records: Sequence[dict[str, Any]]) -> list[Line]:
    """Rows that were measured with us and at least one peer."""
    found = []
    for record in records:
        for row in record["rows"]:
            times = {name: c["seconds"] for name, c in row["contenders"].items() if c.get("seconds")}
            peers = {name: statistics.median(t) for name, t in times.items() if name not in (OURS, PEAK)}
            if OURS not in times or not peers:
                continue
            best = min(peers, key=lambda name: peers[name])
            ratio = over(times[best], times[OURS])
            share = over(times[PEAK], times[OURS]) if PEAK in times else None
            medians = {OURS: statistics.median(times[OURS])} | peers
            found.append(Line(row["title"], row["threads"], medians, best, ratio, share))
    return found


def over(one: Sequence[float], other: Sequence[float]) -> float:
    """The median of the ratios within a round."""
    return statistics.median(a / b for a, b in zip(one, other))


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.0f}" if seconds > 1e-4 else f"{seconds * 1e6:.1f}"


def table(found: Sequence[Line]) -> str:
    """Markdown, a part a number of threads."""
    out = []
    for threads in sorted({line.threads for line in found}):
        part = [line for line in found if line.threads == threads]
        columns = [name for name in COLUMNS if any(name in line.medians for line in part)]
        peak = any(line.share is not None for line in part)
        out += [f"| {threads} thread{'s' if threads > 1 else ''}, us | {' | '.join(COLUMNS[n] for n in columns)} | "
                "best peer / ours |" + " share of the multiply-add peak |" * peak,
                "| --- |" + " ---: |" * (len(columns) + 1 + peak)]
        for line in part:
            cells = [microseconds(line.medians[n]) if n in line.medians else "" for n in columns]
            share = f" {line.share:.2f} |" if line.share is not None else " |" * peak
            out.append(f"| {line.title} | {' | '.join(cells)} | {line.ratio:.2f} ({NAMED[line.best]}) |{share}")
        mean = statistics.geometric_mean(line.ratio for line in part)
        out += [f"| geometric mean |{' |' * len(columns)} {mean:.2f} |" + " |" * peak, ""]
    return "\n".join(out)


def summary(found: Sequence[Line]) -> str:
    """Markdown: the ratios alone."""
    threads = sorted({line.threads for line in found})
    heads = [f"{n} thread{'s' if n > 1 else ''}" for n in threads]
    out = [f"| best peer / ours | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(threads)]
    by = {(line.title, line.threads): line for line in found}
    for title in dict.fromkeys(line.title for line in found):
        cells = [f"{by[title, n].ratio:.2f} ({NAMED[by[title, n].best]})" if (title, n) in by else "" for n in threads]
        out.append(f"| {title} | {' | '.join(cells)} |")
    means = [statistics.geometric_mean(line.ratio for line in found if line.threads == n) for n in threads]
    return "\n".join([*out, f"| geometric mean | {' | '.join(f'{mean:.2f}' for mean in means)} |", ""])


def settings(records: Sequence[dict[str, Any]]) -> list[str]:
    """Versions and settings of the peers; with its rows, a setting that its contender had in some rows only."""
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for record in records:
        for row in record["rows"]:
            for name, c in row["contenders"].items():
                if name not in (OURS, PEAK) and "about" in c:
                    rows.setdefault((name, c["about"]), {})[row["title"]] = None
    names = [name for name, _ in rows]
    return [about + (f" ({', '.join(titles)})" if names.count(name) > 1 else "")
            for (name, about), titles in rows.items()]


def about(records: Sequence[dict[str, Any]]) -> str:
    """Where and with what it was measured, and who was left out."""
    failed = [f"{row['title']}, {row['threads']} threads, {COLUMNS.get(name, name)}: {c['failed']}"
              for record in records for row in record["rows"] for name, c in row["contenders"].items()
              if "failed" in c]
    tuned = "tuned" if any(record["lock"] for record in records) else "untuned"
    return "\n".join([*(record["conditions"] for record in records), f"{tuned}; " + "; ".join(settings(records)),
                      *(f"left out: {words}" for words in failed)])


def chart(found: Sequence[Line]) -> str:
    """SVG: a group of bars a row, a bar a number of threads; the line at 1 is the best peer."""
    threads = sorted({line.threads for line in found})
    titles = list(dict.fromkeys(line.title for line in found))
    most = max(2.0, max(line.ratio for line in found))
    scale = (WIDTH - LEFT - 60) / most
    parts, y = [], TOP
    for title in titles:
        begun = y
        for line in sorted((at for at in found if at.title == title), key=lambda at: at.threads):
            colour = COLOURS[threads.index(line.threads) % len(COLOURS)]
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{line.ratio * scale:.1f}" height="{BAR - 2}" '
                         f'fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + line.ratio * scale + 5:.1f}" y="{y + BAR - 3}">{line.ratio:.2f}</text>')
            y += BAR
        parts.append(f'<text x="{LEFT - 8}" y="{(begun + y) / 2 + 4:.0f}" text-anchor="end">{escape(title)}</text>')
        y += GAP
    one = LEFT + scale
    parts.append(f'<line x1="{one:.1f}" y1="{TOP - 6}" x2="{one:.1f}" y2="{y}" stroke="#444" stroke-dasharray="3 3"/>')
    legend = "".join(f'<rect x="{LEFT + 110 * i}" y="24" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
                     f'<text x="{LEFT + 110 * i + 15}" y="33">{n} thread{"s" if n > 1 else ""}</text>'
                     for i, n in enumerate(threads))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 10}" font-family="sans-serif" '
            f'font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
            f'<text x="{LEFT}" y="15" font-size="13">time of the best peer / time of tensor-compile '
            f'(above 1: faster)</text>\n{legend}\n' + "\n".join(parts) + "\n</svg>\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--svg", type=Path)
    args = parser.parse_args()
    records = [json.loads(path.read_text()) for path in args.files]
    found = lines(records)
    if not found:
        raise SystemExit("no row was measured with us and a peer")
    print(summary(found) if args.summary else table(found))
    print(about(records))
    if args.svg:
        args.svg.write_text(chart(found))


if __name__ == "__main__":
    main()
