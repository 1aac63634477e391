# SPDX-License-Identifier: Apache-2.0
"""Names that C and C++ take behind any of their headers: reads generator/c_names.def, whose comment says what is in
it."""
from __future__ import annotations

import re
from pathlib import Path


def _read(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind, name in re.findall(r"^TC_([A-Z]+)\((\w+)\)$", path.read_text(encoding="utf-8"), re.M):
        found.setdefault(kind, []).append(name)
    return found


_TABLE = _read(Path(__file__).resolve().parents[1] / "c_names.def")
KEYWORDS = frozenset(_TABLE["KEYWORD"])
_INTEGERS = r"U?INT(?:MAX|PTR|(?:_LEAST|_FAST)?\d+)"
_MACRO = re.compile("|".join((*_TABLE["MACRO"],
                              rf"(?:{'|'.join(_TABLE['LIMITED'])}|{_INTEGERS})(?:{'|'.join(_TABLE['LIMIT'])})",
                              rf"{_INTEGERS}_C",
                              rf"(?:{'|'.join(_TABLE['FAMILY'])})[A-Z0-9_]*",
                              rf"(?:{'|'.join(_TABLE['FORMAT'])})[diouxX][A-Z0-9_]+")))


def is_macro(name: str) -> bool:
    """Whether a header or a compiler defines it."""
    return _MACRO.fullmatch(name) is not None
