# SPDX-License-Identifier: Apache-2.0
"""The text form of the graph IR (docs/graph.md): parser and canonical printer; print(parse(text)) == text.

The parser takes one item a line, checks what the text alone can show (known primitives, their attributes, values
defined above their use) and stops at the first mistake; what types and functions have to satisfy is verify.py's.
"""
from __future__ import annotations

import re

from ..symbolic import Expr, Sym, const, floordiv, is_nonnegative, sym
from .errors import ParseError
from .ir import DTYPES, DimDecl, Function, Guard, Loc, Module, Node, StateDecl, TensorType, Value, WeightDecl
from .table import PRIMITIVES

_TOKEN = re.compile(r'\s*(?:(%\d+(?:\.\d+)?)|([A-Za-z_][A-Za-z_0-9.]*)|(0x[0-9a-fA-F]+|\d+)|("(?:[^"\\]|\\.)*")'
                    r'|(@[A-Za-z_][A-Za-z_0-9.]*)|(==|>=|[-+*()\[\]{},:=]))', re.ASCII)
_ESCAPES = {"n": "\n", '"': '"', "\\": "\\"}
_MAX_DIGITS = 18     # every integer of the text fits an int64
_MAX_DEPTH = 64      # nesting of a dim expression
_MAX_TERMS = 256     # terms of a dim expression
VERSION = 1


# -- printing -------------------------------------------------------------------------------------------------------
def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _loc(loc: Loc | None) -> str:
    return f" loc({quote(loc.file)}:{loc.line})" if loc else ""


def _attribute(kind: str, value, node: Node) -> str:
    if kind in ("dims", "ints"):
        return f"[{', '.join(map(str, value))}]"
    if kind == "name":
        return quote(value)
    if kind == "graph":
        return f"@{value}"
    if kind == "bits":
        return f"0x{value:0{2 * DTYPES[node.types[0].dtype]}x}"
    return str(value)


def print_function(function: Function) -> str:
    """One function as text, ending in a newline. Values are numbered from 0 in order."""
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

    parameters = ", ".join(f"%{number[p]} {quote(p.attrs['name'])} : {type_text(p.types[0])}{_loc(p.loc)}"
                           for p in function.parameters)
    lines = [f"function {function.name}({parameters}){' entry' if function.entry else ''} {{"]
    for g in function.guards:
        lines.append(f"  guard {quote(g.name)} {g.lhs} {g.relation} {g.rhs}{_loc(g.loc)}")
    for node in function.nodes:
        n = number[node] = len(number)
        attributes = ", ".join(f"{name}={_attribute(kind, node.attrs[name], node)}"
                               for name, kind in PRIMITIVES[node.op].attributes)
        braces = f" {{{attributes}}}" if attributes else ""
        scope = f" scope({quote(node.scope)})" if node.scope else ""
        lines.append(f"  %{n} = {node.op}({', '.join(map(ref, node.operands))}){braces} : {typed(node)}"
                     f"{_loc(node.loc)}{scope}")
    lines += [f"  assign {quote(name)} {ref(value)}{_loc(loc)}" for name, value, loc in function.assigns]
    lines += [f"  return {quote(name)} {ref(value)}{_loc(loc)}" for name, value, loc in function.results]
    return "\n".join(lines) + "\n}\n"


def print_module(module: Module) -> str:
    """The module as canonical text."""
    lines = [f"tensor_compile.graph {VERSION}", f"model {quote(module.model)}"]
    for name, dim in module.dims.items():
        sizes = ", ".join(map(str, dim.specialize))
        lines.append(f"dim {name} range={dim.sym.lo}:{dim.sym.hi} divisor={dim.sym.divisor} specialize=[{sizes}]")
    lines += [f"file {i} {quote(path)}" for i, path in enumerate(module.files)]
    lines += [f"weight {quote(w.name)} : {w.type} file={w.file}{_loc(w.loc)}" for w in module.weights.values()]
    lines += [f"state {quote(s.name)} : {s.type}{_loc(s.loc)}" for s in module.states.values()]
    head = "\n".join(lines) + "\n"
    return head + "".join("\n" + print_function(f) for f in module.functions.values())


# -- parsing --------------------------------------------------------------------------------------------------------
class _Line:
    """The tokens of one line: (group of _TOKEN, text); position and what may be taken next."""

    __slots__ = ("file", "number", "tokens", "pos", "names")

    def __init__(self, file: str, number: int, text: str, names: dict[str, Sym]):
        self.file, self.number, self.pos, self.names = file, number, 0, names
        self.tokens: list[tuple[int, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.error(f"unexpected character {text[at:].lstrip()[:1]!r}")
            self.tokens.append((match.lastindex, match[match.lastindex]))
            at = match.end()

    def error(self, message: str) -> ParseError:
        return ParseError(self.file, self.number, message)

    def peek(self) -> str:
        return self.tokens[self.pos][1] if self.pos < len(self.tokens) else ""

    def take(self, group: int, what: str) -> str:
        if self.pos < len(self.tokens) and self.tokens[self.pos][0] == group:
            self.pos += 1
            return self.tokens[self.pos - 1][1]
        raise self.error(f"expected {what}, not {self.peek() or 'the end of the line'}")

    def expect(self, text: str) -> None:
        if self.peek() != text:
            raise self.error(f"expected '{text}', not {self.peek() or 'the end of the line'}")
        self.pos += 1

    def accept(self, text: str) -> bool:
        if self.peek() == text:
            self.pos += 1
            return True
        return False

    def end(self) -> None:
        if self.pos < len(self.tokens):
            raise self.error(f"unexpected {self.peek()} at the end of the line")

    # -- atoms of the text
    def integer(self) -> int:
        negative = self.accept("-")
        text = self.take(3, "an integer")
        if not text.isdigit():
            raise self.error(f"expected an integer, not {text}")
        if len(text) > _MAX_DIGITS:
            raise self.error("an integer does not fit 64 bits")
        return -int(text) if negative else int(text)

    def bits(self) -> int:
        text = self.take(3, "a bit pattern such as 0x3f800000")
        if not text.startswith("0x") or len(text) > 18:
            raise self.error(f"expected a bit pattern such as 0x3f800000, not {text}")
        return int(text, 16)

    def string(self) -> str:
        text = self.take(4, "a quoted string")
        if "\\" not in text:
            return text[1:-1]
        bad = next((m[1] for m in re.finditer(r"\\(.)", text) if m[1] not in _ESCAPES), None)
        if bad is not None:
            raise self.error(f"unknown escape \\{bad} in {text}")
        return re.sub(r"\\(.)", lambda m: _ESCAPES[m[1]], text[1:-1])

    def word(self, what: str = "a name") -> str:
        return self.take(2, what)

    def items(self, close: str, read) -> tuple:
        """Comma-separated items up to and including `close`; the opening bracket is already taken."""
        out: list = []
        if self.accept(close):
            return ()
        while True:
            out.append(read())
            if self.accept(close):
                return tuple(out)
            self.expect(",")

    def listed(self, read) -> tuple:
        self.expect("[")
        return self.items("]", read)

    def loc(self) -> Loc | None:
        if not self.accept("loc"):
            return None
        self.expect("(")
        file = self.string()
        self.expect(":")
        line = self.integer()
        self.expect(")")
        return Loc(file, line)

    # -- dims
    def dim(self, depth: int = 0) -> Expr:
        if depth > _MAX_DEPTH:
            raise self.error("an expression is nested too deeply")
        negative = self.accept("-")
        out = self._term(depth)
        out = -out if negative else out
        while self.peek() in ("+", "-"):
            out = out + self._term(depth) if self._operator() == "+" else out - self._term(depth)
        if len(out.terms) > _MAX_TERMS:
            raise self.error("an expression has too many terms")
        return out

    def _operator(self) -> str:
        self.pos += 1
        return self.tokens[self.pos - 1][1]

    def _term(self, depth: int) -> Expr:
        out = self._factor(depth)
        while self.accept("*"):
            factor = self._factor(depth)
            if len(out.terms) * len(factor.terms) > _MAX_TERMS or (out.terms and len(out.terms[0][0]) > 16):
                raise self.error("an expression has too many terms")
            out = out * factor
        return out

    def _factor(self, depth: int) -> Expr:
        if self.pos < len(self.tokens):
            group, text = self.tokens[self.pos]
            if group == 3:
                return const(self.integer())
            if text == "floordiv":
                self.pos += 1
                self.expect("(")
                num = self.dim(depth + 1)
                self.expect(",")
                den = self.dim(depth + 1)
                self.expect(")")
                if not is_nonnegative(den - 1):
                    raise self.error(f"the divisor {den} is not positive for all values of the dims")
                return floordiv(num, den)
            if group == 2:
                self.pos += 1
                found = self.names.get(text)
                if found is None:
                    raise self.error(f"unknown dim {text}")
                return sym(found)
            if text == "(":
                self.pos += 1
                inner = self.dim(depth + 1)
                self.expect(")")
                return inner
            if text == "-":
                self.pos += 1
                if depth > _MAX_DEPTH:
                    raise self.error("an expression is nested too deeply")
                return -self._factor(depth + 1)
        raise self.error(f"expected a dim, not {self.peek() or 'the end of the line'}")

    def type(self) -> TensorType:
        dtype = self.word("a dtype")
        if dtype not in DTYPES:
            raise self.error(f"unknown dtype {dtype}; there are {', '.join(DTYPES)}")
        return TensorType(dtype, self.listed(self.dim))

    def types(self) -> tuple[TensorType, ...]:
        if self.accept("("):
            found = self.items(")", self.type)
            if len(found) == 1:
                raise self.error("a node with one result has a plain type")
            return found
        return (self.type(),)

    def attribute(self, kind: str):
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
        if name in DTYPES or name == "floordiv" or "." in name:
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
        module.dims[name] = DimDecl(self.names[name], sizes)

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
            line = self.next()
            if line is None:
                raise ParseError(self.file, self.last, f"function {function.name} is not closed by '}}'")
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
        attrs: dict = {}
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
        if "bits" in attrs and attrs["bits"] >> (8 * DTYPES[types[0].dtype] if types else 0):
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
