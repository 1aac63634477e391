# SPDX-License-Identifier: Apache-2.0
"""The verifier of the graph IR: says what is legal, reports every finding, changes nothing.

Legal is: every operand is defined above its use, in the same function; every attribute is of its kind; every type is
what inference gives (under the guards); dims are declared; weights and states exist with the type used, whatever
prefixes the calls give; assigned values have their state's type; functions called by nodes exist and never recurse.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..symbolic import Expr, Sym
from .errors import IrError
from .facts import Facts
from .infer import Context, infer
from .dtypes import DTYPES
from .ir import Function, Guard, Loc, Module, Node, StateDecl, TensorType, Value, WeightDecl
from .table import PRIMITIVES


def verify(module: Module) -> None:
    """Raises IrError with every finding in the module."""
    problems: list[str] = []
    known = {dim.sym for dim in module.dims.values()}
    for name, dim in module.dims.items():
        if dim.sym.name != name or not dim.sym.is_dim:
            problems.append(f"dim {name} is declared with the symbol of {dim.sym.name}")
    declared: list[WeightDecl | StateDecl] = [*module.weights.values(), *module.states.values()]
    for decl in declared:
        problems += [f"{decl.name}: {finding}" for finding in _check_type(decl.type, known)]
    for name, weight in module.weights.items():
        if weight.name != name:
            problems.append(f"weight {weight.name} is declared under the name {name}")
        if not 0 <= weight.file < len(module.files):
            problems.append(f"weight {name}: file {weight.file} is not declared")
    cyclic = _cycle(module)
    if cyclic:
        problems.append(f"functions call one another without end: {' -> '.join(cyclic)}")
    for name, function in module.functions.items():
        if function.name != name:
            problems.append(f"function {function.name} is declared under the name {name}")
        problems += _check_function(module, function, known)
    if not cyclic:
        problems += _check_names(module)
    if problems:
        raise IrError(problems)


def _place(function: Function, loc: Loc | None) -> str:
    return f"{loc}: error: in {function.name}: " if loc else f"in {function.name}: "


# Findings come without the place where they were made, whose text takes longer than most checks.
def _check_type(tensor: TensorType, known: set[Sym]) -> list[str]:
    problems = []
    if tensor.dtype not in DTYPES:
        problems.append(f"unknown dtype {tensor.dtype}")
    for d in tensor.shape:
        if not isinstance(d, Expr):
            problems.append(f"a size is {d!r}, not an expression")
        elif not d.symbols() <= known:
            problems += _undeclared(d, known)
    return problems


def _undeclared(e: Expr, known: set[Sym]) -> list[str]:
    return [f"{s.name} is not a dim of the module" for s in sorted(e.symbols() - known, key=str)]


_KIND_TYPES = {"int": int, "bits": int, "word": str, "name": str, "graph": str}


def _is_of_kind(value: object, kind: str) -> bool:
    if kind in ("dims", "ints"):
        return isinstance(value, tuple) and all(isinstance(v, Expr if kind == "dims" else int) for v in value)
    return isinstance(value, _KIND_TYPES[kind])


def _check_attributes(node: Node, known: set[Sym]) -> list[str]:
    kinds = dict(PRIMITIVES[node.op].attributes)
    problems = [f"{node.op}: the attribute {name} is unknown" for name in node.attrs if name not in kinds]
    for name, kind in kinds.items():
        if name not in node.attrs:
            problems.append(f"{node.op}: the attribute {name} is missing")
        elif not _is_of_kind(node.attrs[name], kind):
            problems.append(f"{node.op}: the attribute {name} is not of kind {kind}")
        elif kind == "dims":
            problems += [f"{node.op}: {finding}" for e in node.attrs[name] if not e.symbols() <= known
                         for finding in _undeclared(e, known)]
    return problems


def _check_guard(guard: Guard, known: set[Sym]) -> list[str]:
    problems = [f"guard: {s.name} is not a dim of the module"
                for s in sorted((guard.lhs.symbols() | guard.rhs.symbols()) - known, key=str)]
    if guard.relation not in ("==", ">="):
        problems.append(f"guard: the relation {guard.relation} is neither == nor >=")
    return problems


def _check_function(module: Module, function: Function, known: set[Sym]) -> list[str]:
    problems: list[str] = []

    def found(loc: Loc | None, *findings: str) -> None:
        problems.extend(_place(function, loc) + finding for finding in findings)

    for guard in function.guards:
        found(guard.loc, *_check_guard(guard, known))
    if problems:
        return problems
    context = Context(module.functions, Facts(function.guards))
    defined: set[Node] = set()
    names: set[str] = set()
    for p in function.parameters:
        if p.op != "parameter" or len(p.types) != 1 or not isinstance(p.attrs.get("name"), str) or p.operands:
            found(p.loc, "a parameter has a name, one type and no operands")
            continue
        if p.attrs["name"] in names:
            found(p.loc, f"two parameters are named {p.attrs['name']}")
        names.add(p.attrs["name"])
        defined.add(p)
        found(p.loc, *_check_type(p.types[0], known))
    for node in function.nodes:
        if node.op not in PRIMITIVES:
            found(node.loc, f"unknown primitive {node.op}")
        else:
            findings = _check_attributes(node, known)
            for tensor in node.types:
                findings += _check_type(tensor, known)
            for i, operand in enumerate(node.operands):
                if wrong := _check_use(operand, defined):
                    findings.append(f"operand {i} of {node.op} {wrong}")
            found(node.loc, *(findings or _check_types(node, context)))
        if node in defined:
            found(node.loc, f"{node.op} stands twice in the function")
        defined.add(node)
    for name, value, loc in function.assigns:
        if wrong := _check_use(value, defined):
            found(loc, f"the value assigned to {name} {wrong}")
    seen: set[str] = set()
    for name, value, loc in function.results:
        if wrong := _check_use(value, defined):
            found(loc, f"the result {name} {wrong}")
        if function.entry and name in seen:
            found(loc, f"two results are named {name}")
        seen.add(name)
    return problems


def _check_use(value: Value, defined: set[Node]) -> str:
    if value.node not in defined:
        return "is not defined above"
    if not 0 <= value.index < len(value.node.types):
        return f"is result {value.index} of {len(value.node.types)}"
    return ""


def _check_types(node: Node, context: Context) -> list[str]:
    try:
        types = infer(node.op, tuple([v.node.types[v.index] for v in node.operands]), node.attrs, node.types, context)
    except IrError as error:
        return list(error.findings)
    if types is node.types:
        return []
    if len(types) != len(node.types) or not all(map(context.facts.same_type, types, node.types)):
        inferred, written = (", ".join(map(str, t)) for t in (types, node.types))
        return [f"{node.op}: the type is {inferred}, not {written}"]
    return []


# -- functions that hold functions ----------------------------------------------------------------------------------
def callees_of(node: Node) -> Iterator[str]:
    """The functions a node holds, in the order of its attributes."""
    primitive = PRIMITIVES.get(node.op)
    for name in primitive.graphs if primitive else ():
        if isinstance(node.attrs.get(name), str):
            yield node.attrs[name]


def held(functions: Mapping[str, Function], *roots: Function) -> Iterator[Function]:
    """The roots, then the functions that they hold, and those that these hold, each once. functions: by name."""
    known = {f.name for f in roots}
    pending = [*roots]
    for function in pending:
        yield function
        for name in (h for node in function.nodes for h in callees_of(node)):
            if name not in known:
                known.add(name)
                pending.append(functions[name])


def _cycle(module: Module) -> list[str]:
    """Names of functions that hold one another in a circle, the first also last; empty where there is none."""
    done: set[str] = set()
    for root in module.functions:
        path: list[str] = []
        stack: list[tuple[str, Iterator[str]]] = []

        def push(name: str) -> None:
            path.append(name)
            callees = dict.fromkeys(h for n in module.functions[name].nodes for h in callees_of(n))
            stack.append((name, iter(callees)))

        if root not in done:
            push(root)
        while stack:
            name, rest = stack[-1]
            callee = next(rest, None)
            if callee is None:
                stack.pop()
                path.pop()
                done.add(name)
            elif callee in path:
                return path[path.index(callee):] + [callee]
            elif callee not in done and callee in module.functions:
                push(callee)
    return []


def _check_names(module: Module) -> list[str]:
    """Weights and states by their absolute names, in every way in which calls reach them from an entry."""
    problems: list[str] = []
    reached: set[tuple[str, str]] = set()
    pending = [(f, "") for f in module.entries]
    while pending:
        function, prefix = pending.pop()
        if (function.name, prefix) in reached:
            continue
        reached.add((function.name, prefix))
        for node in function.nodes:
            if node.op in ("weight", "state") and isinstance(node.attrs.get("name"), str):
                name = prefix + node.attrs["name"]
                decl = (module.weights if node.op == "weight" else module.states).get(name)
                place = _place(function, node.loc)
                if decl is None:
                    problems.append(f"{place}{node.op} {name} is not declared")
                elif node.types != (decl.type,):
                    problems.append(f"{place}{node.op} {name} is {decl.type}, not {', '.join(map(str, node.types))}")
            inner = prefix + node.attrs.get("prefix", "") if node.op == "call" else prefix
            pending += [(module.functions[h], inner) for h in callees_of(node) if h in module.functions]
        seen: set[str] = set()
        for name, value, loc in function.assigns:
            name = prefix + name
            place = _place(function, loc)
            if name not in module.states:
                problems.append(f"{place}state {name} is not declared")
            elif value.index < len(value.node.types) and value.type != module.states[name].type:
                problems.append(f"{place}state {name} is {module.states[name].type}, not {value.type}")
            if name in seen:
                problems.append(f"{place}state {name} is assigned twice")
            seen.add(name)
    return list(dict.fromkeys(problems))
