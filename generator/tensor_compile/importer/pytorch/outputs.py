# SPDX-License-Identifier: Apache-2.0
"""Names of a program's outputs: where they lie in what forward returns."""
from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

from .archive import Json


def member_names(module: Json, count: int) -> list[str]:
    """Names of the outputs: their paths in what forward returns."""
    calls = module.get("module_call_graph")
    spec: object = None
    if isinstance(calls, list) and calls and isinstance(calls[0], dict) and isinstance(calls[0].get("signature"), dict):
        spec = calls[0]["signature"].get("out_spec")
    names = outputs_of(spec) if isinstance(spec, str) else []
    if len(names) != count:
        return ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    return names


def outputs_of(spec: str) -> list[str]:
    """The leaves of PyTorch's description of a nested value."""
    try:
        tree = json.loads(spec)[1]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    found: list[str] = []

    def walk(node: Mapping[str, Any], path: tuple[str, ...]) -> None:
        kind, children = node.get("type"), node.get("children_spec") or []
        if kind is None:
            name = "_".join(path)
            found.append(name if name and not name[0].isdigit() else f"output_{name}" if name else "output")
            return
        keys: Sequence[Any] = range(len(children))
        context = node.get("context")
        if isinstance(context, str) and context[:1] == "[":
            try:
                loaded = json.loads(context)
                loaded = loaded[0] if loaded and isinstance(loaded[0], list) else loaded
                if isinstance(loaded, list) and len(loaded) == len(children):
                    keys = loaded
            except ValueError:
                pass
        for key, child in zip(keys, children):
            walk(child, (*path, str(key)))

    try:
        walk(tree, ())
    except (AttributeError, RecursionError):
        return []
    return found
