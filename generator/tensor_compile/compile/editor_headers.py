# SPDX-License-Identifier: Apache-2.0
"""The language's headers for editors: the same operations, with their documentation where clangd shows it.

clangd shows no comment that stands above a macro. It shows the macro's definition as it was written, with the comments
in it. So the comment above some macros is repeated in the definition of each, where clang-format, which clangd calls,
leaves the lines as they are. Fields that only macros set (the call's place) are left out: an editor lists the options
of an operation, and those that it lists are the user's.
"""
from __future__ import annotations

import re
from pathlib import Path

from . import files
from .cache import Cache
from .capture_run import HEADERS

COMMENT = re.compile(r"^/\*(.*?)\*/", re.M | re.S)
# The macros that users write. Those of detail.h, in capitals or with `_` at the end, are not among them.
MACRO = re.compile(r"^#define ((?:tc|TC)_\w*[a-z0-9]|TC_(?:SCAN|WHILE|IF|ELSE|MODEL|FUNCTION|GRAPH|SCOPE))\([^)]*\)",
                   re.M)
_SITE_SET = re.compile(r",[\s\\]*\.at = TC_HERE\b")
_SITE_FIELD = re.compile(r"^    tc_site at;.*\n", re.M)


def documented(text: str) -> str:
    """A header with each comment repeated in the macros below it, up to the next comment."""
    text = _SITE_FIELD.sub("", _SITE_SET.sub("", text))
    comments = list(COMMENT.finditer(text))
    ends = [comment.start() for comment in comments[1:]] + [len(text)]
    parts = [text[:comments[0].start()]] if comments else [text]
    for comment, end in zip(comments, ends):
        inside = f" /* clang-format off */ \\\n/*\n{plain(comment[1])}\n*/ /* clang-format on */"
        below = text[comment.end():end]
        parts += [comment[0], MACRO.sub(lambda macro: macro[0] + inside, below)]
    return "".join(parts)


def plain(comment: str) -> str:
    """The text of a comment without the stars before its lines."""
    return "\n".join(re.sub(r"^ \* ?", "", line).rstrip() for line in comment.strip("\n").split("\n")).strip()


def folder(cache: Path) -> Path:
    """The include folder with these headers, made in the cache where it has none."""
    def make(work: Path) -> None:
        for path in files.tree_files(HEADERS):
            copy = work / path.relative_to(HEADERS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(documented(path.read_text(encoding="utf-8")), encoding="utf-8")

    return Cache(cache).entry("editor", files.tree_digest([HEADERS, Path(__file__)]), make)
