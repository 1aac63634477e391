# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ops.md and docs/ops/*.md from the comments of generator/capture/include/tensor_compile/ops/*.h.

  python3 docs/make_ops.py [--check]      --check: writes nothing; exit code 1 where a page is stale or a
                                          comment lacks a line that every operation has

docs/ops.md is the index by topic, docs/ops/TOPIC.md has a header's operations, docs/ops/pytorch.md and docs/ops/onnx.md
are indices by foreign names. The pages are read as text, too: no table, and lines of the width of the sources.

A comment documents the macros below it, up to the next comment that does. Its first paragraph are the call forms and
what they compute; then the sentences that begin with one of LABELS. "ATen:" and "ONNX:" list names, separated by
commas; a name is the first word, what follows it says when. They are what the page's indices by PyTorch's and ONNX's
names are made of.
"""
from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "generator"))

from tensor_compile.compile.editor_headers import COMMENT, MACRO, plain

OPS = ROOT / "generator" / "capture" / "include" / "tensor_compile" / "ops"
DOCS = ROOT / "docs"
WIDTH = 118
FOREIGN = {"ATen": ("pytorch", "PyTorch"), "ONNX": ("onnx", "ONNX")}   # label: page, whose names
LABELS = ("Dtypes", "Shape", "Numerics", "Errors", "ATen", "ONNX")
NEEDED = ("Dtypes", "Shape", "ATen")

# What holds for every operation: what of, what, and the tests that show it.
_ALWAYS = (
    ("dtypes",
     "A result has the operands' dtype; positions and counts are i64, truth values bool. Nothing is converted that "
     "the model does not convert (tc_cast): i64 is computed and stored in 64 bits, sums of i8 are i8.",
     "`tests/capture/test_dtypes.py`, `tests/ops/dtypes.c`"),
    ("overflow",
     "Integers wrap, floats become infinite; casts of floats to integers stop at the dtype's ends, NaN becomes 0.",
     "`tests/ops/dtypes.c`, `tests/numerics/test_casts.c`"),
    ("division by zero",
     "An integer divided by 0 is 0, and so is its remainder; floats give infinities and NaN. The smallest integer "
     "divided by -1 is itself.",
     "`tests/ops/integers.c`, `tests/ops/dtypes.c`, `tests/numerics/test_scalar.c`"),
    ("indices out of range",
     "A status of the call; outputs and states are then as they were, unless the index is in a loop or a branch. "
     "Bounds that are C numbers are errors of the build, those that are dims are checked before the call computes.",
     "`tests/ops/indexing.c`, `tests/loops/test_state.py`, `tests/capture/errors_indexing.c`"),
    ("empty tensors",
     "Dims may be 0. A sum of nothing is 0, a product 1, any false, all true; an axis of size 0 has no maximum and "
     "no argmax: that is an error of the build, or of the call where the size is a dim.",
     "sizes with 0 in `tests/ops/families`, `tests/interpreter/make_ops.py`, `tests/capture/errors.c`"),
    ("NaN",
     "Maxima and minima of two numbers, of axes and of windows are NaN where one is; comparisons with NaN are "
     "false, ne is true; sorting puts it last, above infinity (first where it descends), argmax and argmin find "
     "it. Which of several NaNs is not told apart.",
     "`tests/ops/ordering.c`, `tests/nests/cases.py`, `tests/interpreter/make_ops.py`"),
    ("zeros",
     "-0 is less than +0 in maxima and minima, and equal to it in comparisons, sorting and argmax.",
     "`tests/numerics/test_scalar.c`, `tests/vector/check_vector.c`"),
)
_LABEL = re.compile(r"^(%s): " % "|".join(LABELS), re.M)
_FORM = re.compile(r"(?:(?:,|;|and|or)?\s*)*((?:tc|TC)_\w*)")
_OPENED = re.compile(r"(?=\()|\s*(?=\{)")
_BEHIND_FORMS = re.compile(r"(?:,?\s*(?:and so on|and the same with \w+|\.\.\.))?\s*[:;]?\s*")
_SHARED = re.compile(r"\s*What\s+all\s+(?:of\s+them|operations)\s+share\s+is\s+said\s+in\s+\.\./ops\.h\.")
_NO_NAME = frozenset(("none", "with", "for", "which", "their", "whose", "as", "a", "an", "the", "of"))
_SUMMARY = 110  # characters of a summary


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
    comments = list(COMMENT.finditer(text))
    title = plain(comments[0][1]).split("\n", 1)[1].strip()
    found = []
    for i, comment in enumerate(comments[1:], 1):
        end = comments[i + 1].start() if i + 1 < len(comments) else len(text)
        names = tuple(dict.fromkeys(m[1] for m in MACRO.finditer(text, comment.end(), end)))
        if names:
            found.append(_group(header, names, plain(comment[1])))
    return title, found


def _group(header: str, names: tuple[str, ...], text: str) -> Group:
    parts = _LABEL.split(text)
    facts = {label: " ".join(value.split()) for label, value in zip(parts[1::2], parts[2::2])}
    return Group(header, names, parts[0].strip(), facts)


def complaints(all_groups: list[Group]) -> list[str]:
    return [f"{g.header}.h: {', '.join(g.names)}: no line '{label}:'"
            for g in all_groups for label in NEEDED if label not in g.facts]


def _title(group: Group) -> str:
    """The operations' names, as many as stand in a line."""
    whole = ", ".join(group.names)
    return whole if len(whole) < WIDTH else whole[:whole.rindex(", ", 0, WIDTH - 8)] + ", …"


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if not depth:
            return i + 1
    return len(text)


def summary(prose: str) -> str:
    """The first sentence behind the call forms, cut where it is long."""
    at = 0
    while form := _FORM.match(prose, at):
        at = form.end()
        while opened := _OPENED.match(prose, at):
            at = _closing(prose, opened.end())
    text = " ".join(prose[_BEHIND_FORMS.match(prose, at).end():].split())
    sentence = re.split(r"(?<=\w\w[.)])\s+(?=[A-Z])|\.$", text, maxsplit=1)[0].rstrip(".")
    if len(sentence) <= _SUMMARY:
        return sentence
    cuts = [m.start() for m in re.finditer(r"[:;,]? ", sentence[:_SUMMARY])]
    whole = [c for c in cuts if (sentence[c] in ":;" or sentence[c - 1] == ".") and c > _SUMMARY // 3]
    return sentence[:whole[-1]].rstrip(".") if whole else sentence[:cuts[-1]] + " …"


def _split(sentence: str) -> list[str]:
    """The items of a list, at the commas and semicolons outside brackets."""
    items, start, depth = [], 0, 0
    for i, c in enumerate(sentence):
        depth += (c in "([{") - (c in ")]}")
        if c in ",;" and not depth:
            items.append(sentence[start:i])
            start = i + 1
    return [item.strip().rstrip(".") for item in (*items, sentence[start:])]


def _namesakes(group: Group, name: str) -> tuple[str, ...]:
    """The operation of that name, else those whose names begin so: MaxPool is max_pool1d, max_pool2d, …"""
    plain = {n: n.split("_", 1)[1].replace("_", "").lower() for n in group.names}
    wanted = name.replace("_", "").lower()
    return tuple(n for n, p in plain.items() if p == wanted) or tuple(n for n, p in plain.items()
                                                                      if p.startswith(wanted))


def foreign(group: Group, label: str) -> list[tuple[str, tuple[str, ...]]]:
    """What the sentence lists, an item with its qualification, and the operations of the group that it is. A name of
    several operations in a row ("Log of Add") is a composition there, and no entry. Lists as long as that of the
    operations, _keepdims apart, are in the same order."""
    items = _split(group.facts.get(label, ""))
    out = []
    plain = [name for name in group.names if not name.endswith("_keepdims")]
    first_words = [re.match(r"\w*", item)[0] for item in items]
    for i, (item, name) in enumerate(zip(items, first_words)):
        if not name or name in _NO_NAME or re.match(r"\w+ of \w+$", item):
            continue
        own = _namesakes(group, name) if first_words.count(name) == 1 else ()
        if not own:
            in_order = next((names for names in (group.names, plain) if len(names) == len(items)), None)
            own = (in_order[i],) if in_order else group.names
        out += [(part, own) for part in re.split(r" and (?=\w+$|\w+ to )", item)]
    return out


Section = tuple[str, str, list[Group]]   # header, what it says of itself, groups


def _lines(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def _shared() -> list[str]:
    """What ops.h says of all operations, a paragraph a line of the list; the first is of the header itself."""
    text = plain(next(COMMENT.finditer((OPS.parent / "ops.h").read_text(encoding="utf-8")))[1])
    return [" ".join(part.split()) for part in text.split("\n\n")[2:]]


def _start(title: str) -> list[str]:
    return ["<!-- SPDX-License-Identifier: Apache-2.0 -->", f"# {title}", ""]


def index(sections: list[Section]) -> str:
    lines = [*_start("Operations"),
             *_lines("Every operation by topic, a page a topic. By another name: [PyTorch's](ops/pytorch.md), "
                     "[ONNX's](ops/onnx.md). What is called here as in torch.nn.functional (cross_entropy) may stand "
                     "in the list by topic alone. Operations together with their weights (tc_layer_linear) are in "
                     "[porting.md](porting.md). Arithmetic to the bit: [numerics.md](numerics.md)."), "",
             *_lines("Made by `docs/make_ops.py` from the comments in "
                     "`generator/capture/include/tensor_compile/ops/`; change those."), "",
             "## What all operations share", ""]
    for paragraph in _shared():
        lines += [*_lines(_escaped(paragraph)), ""]
    for about, what, tests in _ALWAYS:
        lines += _lines(f"**{about}**: {what} Tests: {tests}.", "- ", "  ")
    lines += ["", "## By topic"]
    for header, title, found in sections:
        lines += ["", f"### [{header}](ops/{header}.md)", "", *_said(title.split("\n\n")[0], "")]
        for group in found:
            names = ", ".join(f"`{name}`" for name in group.names)
            lines += _lines(f"{names}: {_escaped(summary(group.prose))}", "- ", "  ")
    return "\n".join(lines) + "\n"


def topic(header: str, title: str, found: list[Group]) -> str:
    lines = [*_start(header[0].upper() + header[1:].replace("_", " ")), *_said(title),
             "What all operations share, and the other topics: [ops.md](../ops.md)."]
    for group in found:
        title = _title(group)
        lines += ["", f"## {title}", ""]
        if title.endswith("…"):
            lines += [*_lines(", ".join(group.names)), ""]
        lines += ["```", group.prose, "```", ""]
        for label in LABELS:
            if label in group.facts:
                lines += _lines(f"**{label}**: {_escaped(group.facts[label])}", "- ", "  ")
    return "\n".join(lines) + "\n"


def _said(title: str, up: str = "../") -> list[str]:
    """A header's words of itself; what is indented stays as it is. up: where docs/ops.md is."""
    lines: list[str] = []
    for part in _SHARED.sub("", title).split("\n\n"):
        text = part.replace("../ops.h", f"[ops.md]({up}ops.md)")
        lines += text.split("\n") if part.startswith("    ") else _lines(_escaped(" ".join(text.split())))
        lines.append("")
    return lines


def _escaped(text: str) -> str:
    return text.replace("*", "\\*")


def by_name(label: str, sections: list[Section]) -> str:
    """The operations of another system, each with those that are the same here and their topic, in columns."""
    page, whose = FOREIGN[label]
    rows: dict[str, list[tuple[str, str]]] = {}
    for header, _, found in sections:
        for group in found:
            for item, names in foreign(group, label):
                rows.setdefault(item, []).append((", ".join(names), header))
    ordered = sorted(rows.items(), key=lambda row: (row[0].lower(), row[0]))
    lines = [*_start(f"Operations by their names in {whose}"),
             *_lines(f"{whose}'s name; the operations here; the topic, which has a page: [ops.md](../ops.md)."), "",
             "```"]
    for item, found_here in ordered:
        for i, (names, header) in enumerate(dict.fromkeys(found_here)):
            left = item if not i else ""
            lines += _row(left, names, header)
    return "\n".join([*lines, "```"]) + "\n"


def _row(item: str, names: str, header: str) -> list[str]:
    """Three columns; what is too long for the first two has a line of its own before the rest."""
    first, second = 34, 56
    lines = []
    if len(item) > first - 2:
        lines, item = [item], ""
    parts = textwrap.wrap(names, second - 2, break_long_words=False, break_on_hyphens=False)
    lines += [f"{item if not i else '':{first}}{part:{second}}{header if not i else ''}".rstrip()
              for i, part in enumerate(parts)]
    return lines


def pages(sections: list[Section]) -> dict[Path, str]:
    """Every page's text by its file."""
    return {DOCS / "ops.md": index(sections),
            **{DOCS / "ops" / f"{section[0]}.md": topic(*section) for section in sections},
            **{DOCS / "ops" / f"{FOREIGN[label][0]}.md": by_name(label, sections) for label in FOREIGN}}


def stale(wanted: dict[Path, str]) -> list[str]:
    """Pages that are not as they should be, those that should not be among them."""
    there = {DOCS / "ops.md", *(DOCS / "ops").glob("*.md")} | set(wanted)
    return [str(path.relative_to(ROOT)) for path in sorted(there)
            if not path.exists() or path.read_text(encoding="utf-8") != wanted.get(path)]


def main() -> int:
    sections = [(header, *groups(header)) for header in header_order()]
    wrong = complaints([g for _, _, found in sections for g in found])
    wanted = pages(sections)
    if "--check" not in sys.argv[1:]:
        (DOCS / "ops").mkdir(exist_ok=True)
        for path in set((DOCS / "ops").glob("*.md")) - set(wanted):
            path.unlink()
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
    wrong += [f"{name} is stale: run docs/make_ops.py" for name in stale(wanted)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
