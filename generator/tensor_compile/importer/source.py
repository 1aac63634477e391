# SPDX-License-Identifier: Apache-2.0
"""Statements to C: variables, constants, line breaks."""
from __future__ import annotations

import re
from typing import Container, Iterable, Sequence

from ..c_names import KEYWORDS, is_macro
from ..symbolic import wrap
from . import dims as sizes
from .dims import Dims
from .program import LAYERS, Program, Statement, substitute, values_of
from .scopes import Function, dotted, shown
from .values import Value, number
from .weights import Weights, is_weight, single

COLUMNS = 120

_OWN = ("g", "i", "main", "near", "far")   # the graph, the variable of loops; what old compilers take
# Names that headers or the compiler know as functions: not for functions of ours.
_LIBRARY = """abs labs div exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot sin cos tan asin acos atan atan2 sinh
cosh tanh asinh acosh atanh erf erfc lgamma tgamma gamma ceil floor trunc round rint fmod remainder fmin fmax fdim fma
ldexp frexp modf scalb logb copysign nan j0 j1 jn y0 y1 yn index rindex select read write open close exit abort malloc
free printf puts memcpy memset memmove strlen time clock signal sigmoid""".split()


def identifier(text: str, fallback: str = "x") -> str:
    """A C identifier that reads as the text does."""
    word = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    word = re.sub(r"__+", "_", word)    # two are reserved
    if not word:
        word = fallback
    if word[0].isdigit():
        word = f"{fallback}{word}"
    return word[:60] if not re.match(r"(?i)tc_", word) else f"{fallback}_{word[:56]}"


def unused(wanted: str, taken: Container[str]) -> str:
    """The name, with a number behind it where it is taken."""
    name, count = wanted, 2
    while name in taken:
        name, count = f"{wanted}_{count}", count + 1
    return name


class Names:
    """Identifiers that are taken, in one function."""

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = {*KEYWORDS, *_OWN, *taken}

    def take(self, wanted: str) -> str:
        name = unused(f"{wanted}_" if is_macro(wanted) else wanted, self.taken)
        self.taken.add(name)
        return name


def quoted(text: str) -> str:
    """A C string literal."""
    return '"' + "".join(c if c >= " " and c not in '"\\' and c != "\x7f" else f"\\{ord(c):03o}" if c not in '"\\'
                         else "\\" + c for c in text) + '"'


def comment_text(text: str) -> str:
    """What may stand in a comment."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", text).replace("*/", "* /").replace("/*", "/ *")


# -- lines -------------------------------------------------------------------------------------------------------------

OWN = "model.c"     # what #line calls the file itself
_NUMBER = "\x05"    # in the place of a line's number


def numbered(lines: Sequence[str], before: int) -> list[str]:
    """The lines of a file behind `before` others, with the numbers in #line that are those of the file."""
    return [line.replace(_NUMBER, str(before + i + 2), 1) if line.startswith("#line") else line
            for i, line in enumerate(lines)]


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\{[^{}"]{,40}\}|[({\[]|[)}\]]|, |[^"(){}\[\],]+|,')


def wrapped(text: str, indent: int) -> list[str]:
    """A statement in lines of at most 120 columns where it can be broken behind commas: what follows stands below the
    innermost open bracket."""
    pad = " " * indent
    if len(text) + indent <= COLUMNS:
        return [pad + text]
    pieces: list[str] = [""]          # parts that stay together
    for token in _TOKEN.findall(text):
        if token == ", " and not pieces[-1].endswith("(g"):
            pieces[-1] += ","
            pieces.append("")
        else:
            pieces[-1] += token
    lines, line, stack = [], pad, [indent + 4]
    for i, piece in enumerate(pieces):
        last = 1 if i + 1 == len(pieces) else 0
        begin = line == pad or line.isspace()
        if not begin and len(line) + 1 + len(piece) - last > COLUMNS - last:
            lines.append(line)
            line = " " * (stack[-1] if stack[-1] <= COLUMNS - 40 else indent + 8)
            begin = True
        if not begin:
            line += " "
        for token in _TOKEN.findall(piece):
            line += token
            if token in "({[" and len(token) == 1:
                stack.append(len(line))
            elif token in ")}]" and len(stack) > 1:
                stack.pop()
    lines.append(line)
    return lines


class Writer:
    """The text of a model.c of several programs that share one file of weights."""

    def __init__(self, weights: Weights, weights_name: str):
        self.weights, self.weights_name = weights, weights_name
        self._names = Names()              # of functions and dims
        self._weight_names: dict[int, str] = {}
        self._depth = 0                    # of the names of nodes, what all of the function share
        self._said = OWN                   # by the last #line

    # -- constants -----------------------------------------------------------------------------------------------------
    def constant(self, value: Value, dims: Dims, scope: str, prefix: str) -> str:
        """The expression that gives a constant as a tensor. scope: what tc_weight puts before names here."""
        if not is_weight(value):
            dtype = f"TC_{value.dtype.upper()}"
            one = single(value)
            if one is None:
                return self._sizes(value, dims)
            shape = f", {dims.list(value.shape)}" if value.shape else ""
            return f"tc_full(g, {number(one, value.dtype)}, {dtype}{shape})"
        name = self.weight_name(value, prefix)
        local = name[len(scope) + 1:] if scope and name.startswith(scope + ".") else name
        return f"tc_weight(g, {quoted(local)})"

    def _sizes(self, value: Value, dims: Dims) -> str:
        """A tensor of sizes that are known at run time."""
        found = [wrap(e) for e in value.known or ()]  # type: ignore[arg-type]
        dtype = f"TC_{value.dtype.upper()}"
        if not value.rank:
            if value.dtype in ("i32", "i64"):
                return f"tc_dim_value(g, {dtype}, {dims.c(found[0])})"
            return f"tc_cast(tc_dim_value(g, TC_I64, {dims.c(found[0])}), {dtype})"
        vector = f"tc_dims_tensor(g, {dtype}, {dims.list(found)})"
        return vector if value.rank == 1 else f"tc_reshape({vector}, {dims.list(value.shape)})"

    def name_weights(self, program: Program) -> None:
        """Takes every weight that the program reads, of all instances of its functions, in the order of the nodes."""
        for number_ in dict.fromkeys(n for s in program.statements for n in s.reads()):
            if is_weight(value := program.values[number_]):
                self.weight_name(value, program.prefix)

    def weight_name(self, value: Value, prefix: str) -> str:
        """The name of a constant in the weights file, given at its first use."""
        if value.number not in self._weight_names:
            name = unused(prefix + (value.weight or dotted(value.hint) or "constant"), self.weights)
            self.weights.add(name, value)
            self._weight_names[value.number] = name
        return self._weight_names[value.number]

    # -- functions -----------------------------------------------------------------------------------------------------
    def reserve(self, wanted: str) -> str:
        """A name of a function."""
        return self._names.take(wanted)

    def function_name(self, word: str) -> str:
        name = snake(identifier(word, "part"))
        return self.reserve(f"{name}_part" if name in _LIBRARY else name)

    def function(self, function: Function, program: Program) -> list[str]:
        """A scope's function."""
        names, body = self._begin(function, program)
        parameters = ["tc_graph *g"]
        if function.scoped:
            parameters.append(f"const char *{body.take('scope')}")
        for value in function.inputs:
            names[value.number] = body.take(hint(value))
            parameters.append(f"tc_tensor {names[value.number]}")
        parameters += [f"tc_dim {dim}" for dim in function.dims]
        several = len(function.outputs) > 1
        if several:
            parameters += [f"tc_tensor *{body.take(f'{hint(value)}_out')}" for value in function.outputs]
        result = "void" if several else "tc_tensor"
        head = f"static {result} {function.name}({', '.join(parameters)})"
        lines = [*self._at(OWN), *wrapped(head, 0), "{"]
        lines += ['    tc_scope_push(g, "%s", scope);'] if function.scoped else []
        self._depth = function.depth if function.shared else 0
        lines += self._statements(function.statements, program, names, body, function.scope, 1)
        if several:
            outs = [p.rpartition("*")[2] for p in parameters if p.startswith("tc_tensor *")]
            for out, value in zip(outs, function.outputs, strict=True):
                lines += wrapped(f"*{out} = {self._text(f'{value}', program, names, function.scope)};", 4)
        lines += ["    tc_scope_pop(g);"] if function.scoped else []
        if not several:
            lines += wrapped(f"return {self._text(f'{function.outputs[0]}', program, names, function.scope)};", 4)
        return [*lines, "}", ""]

    def _begin(self, function: Function, program: Program) -> tuple[dict[int, str], Names]:
        taken = set(program.dims.declared) | self._names.taken
        return {}, Names(taken)

    def entry(self, program: Program, main: Function, is_model: bool) -> list[str]:
        """The body of a program."""
        names: dict[int, str] = {}
        body = Names({*self._names.taken, *program.dims.declared})
        self._depth = 0
        lines = [*self._at(OWN), f"{'TC_MODEL' if is_model else 'TC_FUNCTION'}({program.name})", "{"]
        inner: list[str] = []
        read = {n for s in main.statements for n in s.reads()} | {v.number for _, v in program.outputs}
        used = {name for s in main.statements for text in s.texts() for name in sizes.used(text)}
        for _name, value in program.inputs:
            used.update(sizes.used(program.dims.list(value.shape)))
        for name, value in program.inputs:
            shape = f", {program.dims.list(value.shape)}" if value.shape else ""
            call = f"tc_input(g, {quoted(name)}, TC_{value.dtype.upper()}{shape})"
            if value.number in read:
                names[value.number] = body.take(name)
                call = f"tc_tensor {names[value.number]} = {call}"
            inner += wrapped(sizes.plain(call) + ";", 4)
        statements = self._statements(main.statements, program, names, body, "", 1)
        outputs = self._at(OWN)
        for name, value in program.outputs:
            text = self._text(f"{value}", program, names, "")
            used.update(sizes.used(text))
            outputs += wrapped(sizes.plain(f"tc_output(g, {quoted(name)}, {text});"), 4)
        if len(self.weights):
            inner.append(f"    tc_weights(g, {quoted(self.weights_name)});")
        for name, s in program.dims.declared.items():
            # A dim that nothing names is declared nowhere.
            if name in used or any(name in re.findall(r"\w+", line) for line in statements + outputs):
                divisor = f", .divisor = {s.divisor}" if s.divisor > 1 else ""
                special = program.dims.specialized.get(name, ())
                divisor += f", .specialize = {{{', '.join(map(str, special))}}}" if special else ""
                lines.append(f"    tc_dim {name} = tc_dynamic(g, {quoted(name)}, {s.lo}, {s.hi}{divisor});")
        return [*lines, *inner, "", *statements, *outputs, *self._optional(program, names), "}"]

    def _optional(self, program: Program, names: dict[int, str]) -> list[str]:
        """Outputs that a macro asks for."""
        if not program.optional:
            return []
        lines = [f"#ifdef {LAYERS}"]
        for name, text in program.optional:
            lines += wrapped(sizes.plain(f"tc_output(g, {quoted(name)}, {self._text(text, program, names, '')});"), 4)
        return [*lines, "#endif"]

    def _text(self, text: str, program: Program, names: dict[int, str], scope: str) -> str:
        """C of a marked text; constants stand where they are used."""
        found = dict(names)
        for n in values_of(text):
            if n not in found:
                found[n] = self.constant(program.values[n], program.dims, scope, program.prefix)
        return substitute(text, found)

    def _statements(self, statements: Sequence[Statement], program: Program, names: dict[int, str], body: Names,
                    scope: str, depth: int) -> list[str]:
        lines: list[str] = []
        for statement in statements:
            lines += self._at(shown(statement.origin, self._depth) or OWN, statement.origin.line)
            lines += self._statement(statement, program, names, body, scope, depth)
        return lines

    def _at(self, file: str, line: int = 0) -> list[str]:
        """What is written next stands for this. line: 0: the line's own number, in the file that is written."""
        if file == self._said and not line:
            return []
        self._said = "" if line else file
        return [f"#line {line or _NUMBER} {quoted(file)}"]

    def _statement(self, s: Statement, program: Program, names: dict[int, str], body: Names, scope: str,
                   depth: int) -> list[str]:
        indent = 4 * depth
        lines: list[str] = []

        def c(text: str) -> str:
            return sizes.plain(self._text(text, program, names, scope))

        if s.array is not None:
            base = names[s.array.number] = body.take(hint(s.array, s.origin.kind))
            lines.append(f"{' ' * indent}tc_tensor {base}[{len(s.parts)}];")
            for i, part in enumerate(s.parts):
                names[part.number] = f"{base}[{i}]"
        if s.declared:
            for value in s.declared:
                names[value.number] = body.take(hint(value, s.origin.kind))
            lines += wrapped(f"tc_tensor {', '.join(names[v.number] for v in s.declared)};", indent)
        if s.head:
            lines += wrapped(c(s.head) + " {", indent)
            lines += self._statements(s.body, program, dict(names), body, scope, depth + 1)
            return [*lines, " " * indent + "}"]
        if not s.text:
            return lines
        text = sizes.plain(self._text(s.text, program, names, s.within or scope))
        if s.target is not None:
            name = names[s.target.number] = body.take(hint(s.target, s.origin.kind))
            if s.within:
                form = quoted(s.within) if "%" not in s.within else f'"%s", {quoted(s.within)}'
                return [*lines, f"{' ' * indent}tc_tensor {name};", f"{' ' * indent}TC_SCOPE(g, {form})",
                        *wrapped(f"{name} = {text};", indent + 4)]
            text = f"tc_tensor {name} = {text}"
        return lines + wrapped(text + ";", indent)


_ANONYMOUS = re.compile(r"(?i)(?:tmp|out|output|y|v|x|val|onnx)?_*\d*")


def hint(value: Value, kind: str = "") -> str:
    """What a variable is called: the last part of the model's name that says something, else the kind of node."""
    parts = [re.sub(r"(?:_output|_+\d+)+$|^\d+$", "", part) for part in re.split(r"[/:.]+", value.hint)]
    last = next((part for part in reversed(parts) if not _ANONYMOUS.fullmatch(part)), "")
    return snake(identifier(last or kind or value.hint, "v"))


def snake(name: str) -> str:
    """CamelCase as camel_case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name).lower()
