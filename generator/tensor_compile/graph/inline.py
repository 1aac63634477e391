# SPDX-License-Identifier: Apache-2.0
"""Inlining: every `call` becomes the callee's nodes, so that later passes see one graph an entry.

Names of weights and states become absolute (the call's prefix in front), scopes nest under the call's, guards of the
callee become guards of the caller, and states that the callee assigns are assigned by the caller. Functions called by
cond, while and scan stay functions, with the calls inside them inlined; one that names weights or states under a
call's prefix is copied for that prefix. Calls of one function at several places are still emitted once: kernels are
shared by their content.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any

from ..records import dataclass
from .errors import IrError
from .ir import Function, Guard, Loc, Module, Node, Value
from .rewrite import Values
from .table import PRIMITIVES
from .verify import callees_of


def inline(module: Module) -> Module:
    """A module of entries without calls, and of the functions that their cond, while and scan nodes hold."""
    state = _State(module, _order(module))
    for entry in module.entries:
        state.place(entry.name, "")
    functions = {f.name: f for f in state.done.values()}
    entries = {f.name: functions[f.name] for f in module.entries}
    return Module(module.model, dict(module.dims), list(module.files), dict(module.weights), dict(module.states),
                  {**entries, **{name: f for name, f in functions.items() if name not in entries}})


def _order(module: Module) -> dict[str, int]:
    """Height of each function: one more than the highest of those it holds. Raises IrError on recursion."""
    height: dict[str, int] = {}
    for root in module.functions:
        stack = [root]
        open_: set[str] = set()
        while stack:
            name = stack[-1]
            if name in height:
                stack.pop()
                continue
            if name not in module.functions:
                raise IrError([f"there is no function @{name}"])
            callees = dict.fromkeys(h for n in module.functions[name].nodes for h in callees_of(n))
            missing = [c for c in callees if c not in height]
            if not missing:
                height[name] = 1 + max((height[c] for c in callees), default=0)
                open_.discard(name)
                stack.pop()
            elif name in open_:
                raise IrError([f"function {name} calls itself"])
            else:
                open_.add(name)
                stack += reversed(missing)
    return height


@dataclass(slots=True)
class _State:
    module: Module
    height: dict[str, int]
    done: dict[tuple[str, str], Function] = field(default_factory=dict)   # (function, prefix) -> placed function
    names: set[str] = field(default_factory=set)
    _uses_names: dict[str, bool] = field(default_factory=dict)

    def uses_names(self, name: str) -> bool:
        """Whether the function, or one below it, names weights or states."""
        for f in sorted(self.height, key=self.height.__getitem__) if not self._uses_names else ():
            function = self.module.functions[f]
            self._uses_names[f] = bool(function.assigns) or any(
                n.op in ("weight", "state") or any(self._uses_names[h] for h in callees_of(n)) for n in function.nodes)
        return self._uses_names[name]

    def place(self, name: str, prefix: str) -> str:
        """The name of the function, inlined, for use under `prefix`."""
        if not self.uses_names(name):
            prefix = ""
        found = self.done.get((name, prefix))
        if found is None:
            new = name
            copies = 1
            while new in self.names or (new != name and new in self.module.functions):
                copies += 1
                new = f"{name}_{copies}"
            self.names.add(new)
            found = self.done[(name, prefix)] = self.flatten(self.module.functions[name], prefix, new)
        return found.name

    def flatten(self, function: Function, prefix: str, name: str) -> Function:
        out = Function(name, function.entry, list(function.parameters), [], [], [], [])
        guards: dict[tuple[Any, ...], Guard] = {}
        values = Values()
        # Work to do, innermost last: (function, its prefix, its scope, position, values, call node or None).
        stack: list[tuple[Any, ...]] = [(function, prefix, "", iter(function.nodes), values, None)]
        self._guards(function, guards)
        while stack:
            source, under, scope, nodes, values, call = stack[-1]
            entered = False
            for node in nodes:
                inner = f"{scope}/{node.scope}" if scope and node.scope else scope or node.scope
                if node.op == "call":
                    callee = self.module.functions[node.attrs["callee"]]
                    arguments = Values()
                    for p, v in zip(callee.parameters, node.operands, strict=True):
                        arguments[Value(p)] = values[v]
                    self._guards(callee, guards)
                    stack.append((callee, under + node.attrs["prefix"], inner, iter(callee.nodes), arguments, node))
                    entered = True
                    break
                made = Node(node.op, values.all(node.operands), self._attrs(node, under), node.types, node.loc, inner)
                out.nodes.append(made)
                values.bind(node, made)
            if entered:
                continue
            stack.pop()
            out.assigns += [(under + state, values[value], loc) for state, value, loc in source.assigns]
            if call is not None:
                caller = stack[-1][4]
                for i, (_, value, _) in enumerate(source.results):
                    caller[Value(call, i)] = values[value]
            else:
                out.results = [(result, values[value], loc) for result, value, loc in source.results]
        out.guards = list(guards.values())
        assigned: dict[str, Loc | None] = {}
        for state, _, loc in out.assigns:
            if state in assigned:
                raise IrError([f"{loc or function.name}: error: state {state} is assigned twice in {function.name}"])
            assigned[state] = loc
        return out

    def _guards(self, function: Function, guards: dict[tuple[Any, ...], Guard]) -> None:
        for g in function.guards:
            guards.setdefault((g.lhs, g.relation, g.rhs), g)

    def _attrs(self, node: Node, prefix: str) -> dict[str, Any]:
        if node.op in ("weight", "state"):
            return {"name": prefix + node.attrs["name"]}
        graphs = PRIMITIVES[node.op].graphs
        if not graphs:
            return node.attrs
        return {**node.attrs, **{a: self.place(node.attrs[a], prefix) for a in graphs}}
