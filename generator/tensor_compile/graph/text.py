# SPDX-License-Identifier: Apache-2.0
"""The text form of the graph IR (docs/graph.md): parser and canonical printer; print(parse(text)) == text.

The parser takes one item a line, checks what the text alone can show (known primitives, their attributes, values
defined above their use) and stops at the first mistake; what types and functions have to satisfy is verify.py's.
"""
from __future__ import annotations

from typing import Any

from ..tokens import Line, quote
from ..symbolic import Sym
from .errors import ParseError
from .dtypes import DTYPES
from .ir import DimDecl, Function, Guard, Loc, Module, Node, StateDecl, TensorType, Value, WeightDecl
from .table import PRIMITIVES

VERSION = 1


# -- printing -------------------------------------------------------------------------------------------------------
def _loc(loc: Loc | None) -> str:
    return f" loc({quote(loc.file)}:{loc.line})" if loc else ""


def _attribute(kind: str, value: Any, node: Node) -> str:
    if kind in ("dims", "ints"):
        return f"[{', '.join(map(str, value))}]"
    if kind == "name":
        return quote(value)
    if kind == "graph":
        return f"@{value}"
    if kind == "bits":
        return f"0x{value:0{2 * DTYPES[node.types[0].dtype].bytes}x}"
    return str(value)


def _nowhere(loc: Loc | None) -> str:
    return ""


def print_function(function: Function, places: bool = True) -> str:
    """One function as text, ending in a newline. Values are numbered from 0 in order."""
    place = _loc if places else _nowhere
    number: dict[Node, int] = {node: i for i, node in enumerate(function.parameters)}
    names: dict[TensorType, str] = {}

    def type_text(tensor: TensorType) -> str:
        found = names.get(tensor)
        if found is None:
            found = names[tensor] = str(tensor)
        return found

    def ref(value: Value) -> str:
        if len(value.node.types) == 1:
            return f"%{number[value.node]}"
        return f"%{number[value.node]}.{value.index}"

    def typed(node: Node) -> str:
        if len(node.types) == 1:
            return type_text(node.types[0])
        return f"({', '.join(map(type_text, node.types))})"

    parameters = ", ".join(f"%{number[p]} {quote(p.attrs['name'])} : {type_text(p.types[0])}{place(p.loc)}"
                           for p in function.parameters)
    lines = [f"function {function.name}({parameters}){' entry' if function.entry else ''} {{"]
    for g in function.guards:
        lines.append(f"  guard {quote(g.name)} {g.lhs} {g.relation} {g.rhs}{place(g.loc)}")
    for node in function.nodes:
        n = number[node] = len(number)
        attributes = ", ".join(f"{name}={_attribute(kind, node.attrs[name], node)}"
                               for name, kind in PRIMITIVES[node.op].attributes)
        braces = f" {{{attributes}}}" if attributes else ""
        scope = f" scope({quote(node.scope)})" if node.scope and places else ""
        lines.append(f"  %{n} = {node.op}({', '.join(map(ref, node.operands))}){braces} : {typed(node)}"
                     f"{place(node.loc)}{scope}")
    lines += [f"  assign {quote(name)} {ref(value)}{place(loc)}" for name, value, loc in function.assigns]
    lines += [f"  return {quote(name)} {ref(value)}{place(loc)}" for name, value, loc in function.results]
    return "\n".join(lines) + "\n}\n"


def print_module(module: Module, places: bool = True) -> str:
    """The module as canonical text; places: with what tells where in the model things stand, `loc` and `scope`."""
    place = _loc if places else _nowhere
    lines = [f"tensor_compile.graph {VERSION}", f"model {quote(module.model)}"]
    for name, dim in module.dims.items():
        sizes = ", ".join(map(str, dim.specialize))
        lines.append(f"dim {name} range={dim.sym.lo}:{dim.sym.hi} divisor={dim.sym.divisor} specialize=[{sizes}]"
                     f"{place(dim.loc)}")
    lines += [f"file {i} {quote(path)}" for i, path in enumerate(module.files)]
    lines += [f"weight {quote(w.name)} : {w.type} file={w.file}{place(w.loc)}" for w in module.weights.values()]
    lines += [f"state {quote(s.name)} : {s.type}{place(s.loc)}" for s in module.states.values()]
    head = "\n".join(lines) + "\n"
    return head + "".join("\n" + print_function(f, places) for f in module.functions.values())


# -- parsing --------------------------------------------------------------------------------------------------------
class _Line(Line):
    """A line of graph text."""

    __slots__ = ()

    def attribute(self, kind: str) -> Any:
        if kind == "dims":
            return self.listed(self.dim)
        if kind == "ints":
            return self.listed(self.integer)
        if kind == "int":
            return self.integer()
        if kind == "word":
            return self.word("a word")
        if kind == "name":
            return self.string()
        if kind == "bits":
            return self.bits()
        return self.take(5, "a function such as @layer")[1:]


class _Parser:
    def __init__(self, text: str, file: str, names: dict[str, Sym] | None = None):
        self.file = file
        self.names: dict[str, Sym] = dict(names or {})
        self.lines = [(i, line) for i, line in enumerate(text.split("\n"), 1)
                      if line.strip() and not line.lstrip().startswith("#")]
        self.at = 0
        self.last = text.rstrip("\n").count("\n") + 1

    def next(self) -> _Line | None:
        if self.at == len(self.lines):
            return None
        number, text = self.lines[self.at]
        self.at += 1
        return _Line(self.file, number, text, self.names)

    def module(self) -> Module:
        line = self.next()
        if line is None or not line.accept("tensor_compile.graph"):
            raise ParseError(self.file, line.number if line else 1, f"expected 'tensor_compile.graph {VERSION}'")
        version = line.integer()
        if version != VERSION:
            raise line.error(f"version {version} of the graph text is not known; this tool reads version {VERSION}")
        line.end()
        line = self.next()
        if line is None or not line.accept("model"):
            raise ParseError(self.file, line.number if line else self.last, "expected 'model \"NAME\"'")
        module = Module(line.string())
        line.end()
        declarations = {"dim": self.declare_dim, "file": self.declare_file, "weight": self.declare_weight,
                        "state": self.declare_state, "function": self.declare_function}
        while (line := self.next()) is not None:
            word = line.word("a declaration")
            if word not in declarations:
                raise line.error(f"unknown declaration {word}; there are {', '.join(declarations)}")
            declarations[word](line, module)
        return module

    def keyword(self, line: _Line, name: str) -> None:
        line.expect(name)
        line.expect("=")

    def declare_dim(self, line: _Line, module: Module) -> None:
        name = line.word("the dim's name")
        if name in DTYPES or name in ("floordiv", "max", "min") or "." in name:
            raise line.error(f"a dim cannot be named {name}")
        if name in self.names:
            raise line.error(f"dim {name} is declared twice")
        self.keyword(line, "range")
        low = line.integer()
        line.expect(":")
        high = line.integer()
        self.keyword(line, "divisor")
        divisor = line.integer()
        self.keyword(line, "specialize")
        sizes = line.listed(line.integer)
        loc = line.loc()
        line.end()
        if not 0 <= low <= high:
            raise line.error(f"the range {low}:{high} of dim {name} is not an interval of sizes")
        if divisor < 1:
            raise line.error(f"the divisor of dim {name} is not positive")
        for size in sizes:
            if not low <= size <= high or size % divisor:
                raise line.error(f"dim {name} cannot be {size}: its range is {low}:{high} and its divisor {divisor}")
        if len(set(sizes)) < len(sizes):
            raise line.error(f"dim {name} is specialized to one size twice")
        self.names[name] = Sym(name, low, high, divisor, is_dim=True)
        module.dims[name] = DimDecl(self.names[name], sizes, loc)

    def declare_file(self, line: _Line, module: Module) -> None:
        number = line.integer()
        if number != len(module.files):
            raise line.error(f"expected file {len(module.files)}, not {number}")
        module.files.append(line.string())
        line.end()

    def declare_weight(self, line: _Line, module: Module) -> None:
        name = line.string()
        line.expect(":")
        tensor = line.type()
        self.keyword(line, "file")
        file = line.integer()
        loc = line.loc()
        line.end()
        if name in module.weights:
            raise line.error(f"weight {quote(name)} is declared twice")
        if not 0 <= file < len(module.files):
            raise line.error(f"weight {quote(name)} is in file {file}, which is not declared")
        module.weights[name] = WeightDecl(name, tensor, file, loc)

    def declare_state(self, line: _Line, module: Module) -> None:
        name = line.string()
        line.expect(":")
        tensor = line.type()
        loc = line.loc()
        line.end()
        if name in module.states:
            raise line.error(f"state {quote(name)} is declared twice")
        module.states[name] = StateDecl(name, tensor, loc)

    def declare_function(self, line: _Line, module: Module) -> None:
        function = self.function(line)
        if function.name in module.functions:
            raise line.error(f"function {function.name} is declared twice")
        module.functions[function.name] = function

    def function(self, line: _Line) -> Function:
        function = Function(line.word("the function's name"), entry=False)
        values: dict[int, Node] = {}

        def number(line: _Line) -> int:
            token = line.take(1, "a value such as %0")[1:]
            if not token.isdigit() or len(token) > 9:
                raise line.error(f"%{token} cannot name a node")
            if values and int(token) <= next(reversed(values)):
                raise line.error(f"%{token} does not come after %{next(reversed(values))}")
            return int(token)

        def parameter() -> None:
            n = number(line)
            name = line.string()
            line.expect(":")
            values[n] = Node("parameter", (), {"name": name}, (line.type(),), line.loc())
            function.parameters.append(values[n])

        line.expect("(")
        line.items(")", parameter)
        function.entry = line.accept("entry")
        line.expect("{")
        line.end()
        while True:
            following = self.next()
            if following is None:
                raise ParseError(self.file, self.last, f"function {function.name} is not closed by '}}'")
            line = following
            if line.accept("}"):
                line.end()
                return function
            if line.peek().startswith("%"):
                n = number(line)
                values[n] = self.node(line, values)
                function.nodes.append(values[n])
                continue
            word = line.word("a node, guard, assign, return or '}'")
            if word == "guard":
                function.guards.append(self.guard(line))
            elif word in ("assign", "return"):
                item = (line.string(), self.value(line, values), line.loc())
                (function.assigns if word == "assign" else function.results).append(item)
            else:
                raise line.error(f"expected a node, guard, assign, return or '}}', not {word}")
            line.end()

    def guard(self, line: _Line) -> Guard:
        name, left = line.string(), line.dim()
        relation = line.peek()
        if relation not in ("==", ">="):
            raise line.error(f"expected == or >=, not {relation or 'the end of the line'}")
        line.expect(relation)
        right = line.dim()
        return Guard(name, left, relation, right, line.loc())

    def value(self, line: _Line, values: dict[int, Node]) -> Value:
        token = line.take(1, "a value such as %0")
        head, dot, index = token[1:].partition(".")
        node = values.get(int(head)) if len(head) < 10 else None
        if node is None:
            raise line.error(f"value {token} is not defined above")
        if len(node.types) == 1:
            if dot:
                raise line.error(f"{token}: the node has one result, write %{head}")
            return Value(node)
        if not dot or len(index) > 9 or int(index) >= len(node.types):
            raise line.error(f"{token}: the node has {len(node.types)} results, write %{head}.R")
        return Value(node, int(index))

    def node(self, line: _Line, values: dict[int, Node]) -> Node:
        line.expect("=")
        op = line.word("a primitive")
        primitive = PRIMITIVES.get(op)
        if primitive is None:
            raise line.error(f"unknown primitive {op}")
        line.expect("(")
        operands = line.items(")", lambda: self.value(line, values))
        attrs: dict[str, Any] = {}
        kinds = dict(primitive.attributes)

        def attribute() -> None:
            name = line.word("an attribute")
            if name not in kinds:
                raise line.error(f"{op} has no attribute {name}")
            if name in attrs:
                raise line.error(f"attribute {name} is given twice")
            line.expect("=")
            attrs[name] = line.attribute(kinds[name])

        if line.accept("{"):
            line.items("}", attribute)
        for name in kinds:
            if name not in attrs:
                raise line.error(f"{op} needs the attribute {name}")
        line.expect(":")
        types = line.types()
        loc = line.loc()
        scope = ""
        if line.accept("scope"):
            line.expect("(")
            scope = line.string()
            line.expect(")")
        line.end()
        if "bits" in attrs and attrs["bits"] >> (DTYPES[types[0].dtype].bits if types else 0):
            raise line.error(f"the bits do not fit {types[0] if types else '()'}")
        return Node(op, operands, {name: attrs[name] for name in kinds}, types, loc, scope)


def parse_module(text: str, name: str) -> Module:
    """Reads a module; `name` is the file's name in messages. Raises ParseError at the first mistake."""
    return _Parser(text, name).module()


def parse_function(text: str, name: str, names: dict[str, Sym] | None = None) -> Function:
    """Reads one function on its own, over the dims `names`."""
    parser = _Parser(text, name, names)
    line = parser.next()
    if line is None or not line.accept("function"):
        raise ParseError(name, line.number if line else 1, "expected a function")
    function = parser.function(line)
    if parser.at < len(parser.lines):
        raise ParseError(name, parser.lines[parser.at][0], "unexpected text after the function")
    return function
