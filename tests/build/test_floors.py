# SPDX-License-Identifier: Apache-2.0
"""A file of the generator imports from its own floor and those above it (docs/architecture.md), never from below."""
import ast
import os
from pathlib import Path

from tap import done, equal

ROOT = Path(os.environ["TC_SOURCE_ROOT"]) / "generator" / "tensor_compile"
# "": files of no folder
FLOORS = ("", "symbolic", "importer", "graph", "quantize", "loops", "emit", "passes", "pipeline", "compile", "cli")


def floor(module: tuple[str, ...]) -> int:
    """That of a module, named from the package on."""
    first = "graph" if module[:1] == ("tokens",) else module[0] if module else ""   # tokens.py reads the graph's types
    return FLOORS.index(first) if first in FLOORS else 0


def imported(path: Path, package: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The modules of the generator that a file imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*package[:len(package) - node.level + 1], *(node.module.split(".") if node.module else ()))
            found += [(*base, name.name) for name in node.names]
    return found


for path in sorted(ROOT.rglob("*.py")):
    where = path.relative_to(ROOT).with_suffix("").parts
    below = [".".join(m) for m in imported(path, where[:-1]) if floor(m) > floor(where)]
    equal(below, [], f"{'/'.join(where)}: nothing from below")
done()
