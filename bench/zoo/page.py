# SPDX-License-Identifier: Apache-2.0
"""docs/zoo.md from the results of zoo.py: page.py RESULTS.jsonl "MACHINE AND VERSIONS" > docs/zoo.md

A row with "loaded": true has times of another machine, with other work on it."""
from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

STAGES = ("exported", "imported", "built", "right")


DETECTION = """
The detection models of torchvision keep the boxes whose scores are high enough, so how many there are is data, at a
fixed image size (`min_size`, `max_size`) as well: torch.export 2.11 stops there, with `strict=True` (`UserError`) and
without (`GuardOnDataDependentSymNode`). What can be exported is the network: `NAME+heads` are the same models from an
image to the scores and coordinates of all boxes, which a program of your own sorts out."""


def reason(row: dict[str, Any]) -> str:
    """Why it got no farther, in one line without what differs from run to run."""
    lines = [line.strip() for line in str(row.get("why", "")).splitlines() if line.strip()]
    text = "; ".join(lines[1:2] if len(lines) > 1 and "cannot be imported" in lines[0] else lines[:1])
    return re.sub(r"\S*/tmp\S*|\S*\.pt2: ?", "", text).replace("|", "/").strip()[:160]


def shown(row: dict[str, Any], key: str, unit: float, form: str) -> str:
    """A number of a row, in a unit; - where it has none."""
    return format(row[key] / unit, form) if key in row else "-"


def mean(rows: list[dict[str, Any]]) -> float:
    """The geometric mean of eager / ours."""
    return statistics.geometric_mean(r["eager_ms"] / r["ours_ms"] for r in rows) if rows else float("nan")


def main(results: Path, machine: str) -> None:
    rows = sorted((json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()),
                  key=lambda r: r["name"])
    reached = {stage: sum(stage in STAGES[:STAGES.index(r["reached"]) + 1] for r in rows if r["reached"] in STAGES)
               for stage in STAGES}
    timed = [r for r in rows if "ours_ms" in r and r["reached"] == "right"]
    quiet, loaded = ([r for r in timed if r.get("loaded", False) == busy] for busy in (False, True))
    print("<!-- SPDX-License-Identifier: Apache-2.0 -->\n# The zoo\n")
    print("Architectures of torchvision, timm and transformers with seeded weights and small inputs, through "
          "torch.export,\n"
          "`tensor-compile import`, `build` and a call, compared with PyTorch eager in f32 (`bench/zoo`, written by "
          "`page.py`).\n"
          "*Right*: no output differs by more than 1e-3 of its largest value. Times are medians on one thread, of "
          "both in turn;\n"
          "*compile* is torch.compile in its default mode, where it was measured (-: not measured).\n")
    print(f"{machine}\n")
    print(f"{len(rows)} architectures: torch.export exports {reached['exported']}, imported {reached['imported']}, "
          f"built "
          f"{reached['built']}, right {reached['right']}.\nGeometric mean of eager / ours over {len(quiet)}: "
          f"{mean(quiet):.2f}{f'; over {len(loaded)} marked *loaded*: {mean(loaded):.2f}' if loaded else ''}.\n")
    print("| architecture | right | error | eager ms | compile ms | ours ms | eager / ours | build s | arena KiB | "
          "code and weights MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for r in rows:
        if r["reached"] != "right":
            continue
        if "ours_ms" not in r:
            print(f"| {r['name']} | yes, without times | {shown(r, 'error', 1, '.1e')} | - | - | - | - | - | "
                  f"{shown(r, 'arena', 1024, '.0f')} | {shown(r, 'code', 2 ** 20, '.1f')} |")
            continue
        print(f"| {r['name']} | yes{', loaded' * r.get('loaded', False)} | {r['error']:.1e} | {r['eager_ms']:.3g} | "
              f"{shown(r, 'compile_ms', 1, '.3g')} | {r['ours_ms']:.3g} | {r['eager_ms'] / r['ours_ms']:.2f} | "
              f"{r['build_s']:.0f} | {r.get('arena', 0) / 1024:.0f} | {r['code'] / 2 ** 20:.1f} |")
    print("\n## What got no farther\n\n| architecture | reached | why |\n| --- | --- | --- |")
    for r in rows:
        if r["reached"] != "right":
            print(f"| {r['name']} | {r['reached']} | {reason(r)} |")
    if any("DataDependent" in reason(r) and r["name"].startswith("torchvision/") for r in rows):
        print(DETECTION)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
