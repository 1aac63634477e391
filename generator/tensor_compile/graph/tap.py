# SPDX-License-Identifier: Apache-2.0
"""Taps: what a region of the model hands on becomes an output of its own, for `check --tap`.

A region is what TC_SCOPE, an operation or a call opens: `layer.0/query/linear#4` is called `layer.0.query.linear#4`,
which for scopes is what weights and PyTorch's modules are called. What it hands on are the values made in it that nodes
outside of it use, or that are outputs or new states. One output has the region's name, several have `NAME:1`,
`NAME:2`, in the order in which they are made.
"""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Sequence

from ..errors import OptionError, closest
from .inline import inline
from .ir import Function, Module, Value

SOURCES = frozenset(("weight", "constant", "state", "iota", "dim_value"))
SHOWN = 12  # regions that a message names


def tap(module: Module, patterns: Sequence[str], shown: str) -> Module:
    """The module without calls, whose entries also return what the matching regions hand on, behind their own results.

    patterns: names of regions; `*` stands for any characters of one level. shown: the model, for messages. Raises
    OptionError for a pattern that no entry has a region for, or that is the name of an input or an output.
    """
    module = inline(module)
    entries = {f.name: _handed_on(f) for f in module.entries}
    outer = dict.fromkeys(path for regions in entries.values() for path in regions)
    matched = {p: [path for path in outer if _expression(p).fullmatch(path)] for p in patterns}
    for pattern, paths in matched.items():
        if not paths:
            raise _unknown(module, pattern, list(outer), shown)
    wanted = {path for paths in matched.values() for path in paths}
    return replace(module, functions={
        name: _tapped(f, entries[name], wanted, shown) if name in entries else f
        for name, f in module.functions.items()})


def _expression(pattern: str) -> re.Pattern[str]:
    """Levels may be separated by dots or slashes."""
    return re.compile("".join({"*": "[^/]*", ".": "[./]", "/": "[./]"}.get(c, re.escape(c)) for c in pattern))


def _paths(scope: str) -> list[str]:
    """The regions that a scope lies in, outermost first."""
    parts = scope.split("/") if scope else []
    return ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]


def _handed_on(function: Function) -> dict[str, list[Value]]:
    """The values that each region hands on, regions and values in the order of the nodes."""
    users: dict[Value, list[str]] = {}
    for node in function.nodes:
        for value in node.operands:
            users.setdefault(value, []).append(node.scope)
    for _, value, _ in (*function.results, *function.assigns):
        users.setdefault(value, []).append("")
    out: dict[str, list[Value]] = {}
    for node in function.nodes:
        if node.op in SOURCES:
            continue
        for value in (Value(node, i) for i in range(len(node.types))):
            for path in _paths(node.scope):
                if any(path not in _paths(scope) for scope in users.get(value, ())):
                    out.setdefault(path, []).append(value)
    return out


def _tapped(function: Function, regions: dict[str, list[Value]], wanted: set[str], shown: str) -> Function:
    position = {node: i for i, node in enumerate(function.nodes)}
    taken = {n for n, _, _ in function.results} | {p.attrs["name"] for p in function.parameters}
    taps = []
    for path in wanted & regions.keys():
        name, values = path.replace("/", "."), regions[path]
        if name in taken:
            raise OptionError(f"--tap: {name!r} is an input or an output of {function.name} already", shown)
        taps += [(f"{name}:{i}" if len(values) > 1 else name, v) for i, v in enumerate(values, 1)]
    taps.sort(key=lambda t: (position[t[1].node], t[1].index, t[0]))
    return replace(function, results=[*function.results, *((name, v, v.node.loc) for name, v in taps)])


def _unknown(module: Module, pattern: str, regions: list[str], shown: str) -> OptionError:
    held = [path for f in module.functions.values() if not f.entry for n in f.nodes for path in _paths(n.scope)]
    if any(_expression(pattern).fullmatch(path) for path in held):
        return OptionError(f"--tap: {pattern!r} lies in a loop or a branch, whose values cannot be seen from outside",
                           shown, "name a region around the loop, or what it leaves")
    names = [path.replace("/", ".") for path in sorted(regions, key=lambda path: path.count("/"))]
    listed = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "") or "none"
    return OptionError(f"--tap: the model has no region {pattern!r}", shown,
                       closest(pattern, names) + f"its regions: {listed}")
