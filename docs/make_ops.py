# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ops.md from the comments of generator/capture/include/tensor_compile/ops/*.h.

  python3 docs/make_ops.py [--check]      --check: writes nothing; exit code 1 where the page is stale or a comment lacks
                                          a line that every operation has

A comment documents the macros below it, up to the next comment that does. Its first paragraph are the call forms and what
they compute; then the sentences that begin with one of LABELS.
"""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPS = ROOT / "generator" / "capture" / "include" / "tensor_compile" / "ops"
PAGE = ROOT / "docs" / "ops.md"
LABELS = ("Dtypes", "Shape", "Numerics", "Errors", "ATen", "ONNX")
NEEDED = ("Dtypes", "Shape", "ATen")

_COMMENT = re.compile(r"^/\*(.*?)\*/", re.M | re.S)
_LABEL = re.compile(r"^(%s): " % "|".join(LABELS), re.M)
_MACRO = re.compile(r"^#define ((?:tc|TC)_\w*[a-z0-9]|TC_(?:SCAN|WHILE|IF|ELSE))\(", re.M)


@dataclass(frozen=True)
class Group:
    """The operations of one comment: where it stands, its prose, its labelled sentences."""

    header: str
    names: tuple[str, ...]
    prose: str
    facts: dict[str, str]


def header_order() -> list[str]:
    return re.findall(r'^#include "ops/(\w+)\.h"', (OPS.parent / "ops.h").read_text(encoding="utf-8"), re.M)


def groups(header: str) -> tuple[str, list[Group]]:
    """What the header says of itself, and its groups in order."""
    text = (OPS / f"{header}.h").read_text(encoding="utf-8")
    comments = list(_COMMENT.finditer(text))
    title = _plain(comments[0][1]).split("\n", 1)[1].strip()
    found = []
    for i, comment in enumerate(comments[1:], 1):
        end = comments[i + 1].start() if i + 1 < len(comments) else len(text)
        names = tuple(dict.fromkeys(m[1] for m in _MACRO.finditer(text, comment.end(), end)))
        if names:
            found.append(_group(header, names, _plain(comment[1])))
    return title, found


def _plain(comment: str) -> str:
    return "\n".join(re.sub(r"^ \* ?", "", line).rstrip() for line in comment.strip("\n").split("\n")).strip()


def _group(header: str, names: tuple[str, ...], text: str) -> Group:
    parts = _LABEL.split(text)
    facts = {label: " ".join(value.split()) for label, value in zip(parts[1::2], parts[2::2])}
    return Group(header, names, parts[0].strip(), facts)


def complaints(all_groups: list[Group]) -> list[str]:
    return [f"{g.header}.h: {', '.join(g.names)}: no line '{label}:'"
            for g in all_groups for label in NEEDED if label not in g.facts]


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _title(group: Group) -> str:
    return ", ".join(group.names)


def page(sections: list[tuple[str, str, list[Group]]]) -> str:
    """The page's text; sections are (header, what it says of itself, groups)."""
    index = {name: _title(g) for _, _, found in sections for g in found for name in g.names}
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "# Operations", "",
             "Made by `docs/make_ops.py` from the comments of `generator/capture/include/tensor_compile/ops/`; change those.",
             "Operands, numbers and broadcasting: `tensor_compile/ops.h`; arithmetic to the bit: "
             "[numerics.md](numerics.md).", ""]
    lines.append(" · ".join(f"[{name.removeprefix('tc_')}](#{_anchor(title)})" for name, title in sorted(index.items())))
    for header, title, found in sections:
        lines += ["", f"## {header}", "", title]
        for group in found:
            lines += ["", f"### {_title(group)}", "", "```", group.prose, "```", ""]
            lines += [f"- {label}: {group.facts[label]}" for label in LABELS if label in group.facts]
    return "\n".join(lines) + "\n"


def main() -> int:
    sections = [(header, *groups(header)) for header in header_order()]
    wrong = complaints([g for _, _, found in sections for g in found])
    text = page(sections)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        wrong.append("docs/ops.md is stale: run docs/make_ops.py")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
