# SPDX-License-Identifier: Apache-2.0
"""Statements to functions, by the scopes of the model's nodes.

Statements that follow each other and share a scope become a function of tensors in and out. Which node belongs where
decides the grouping alone; what tc_scope_push says is the prefix of the weights' own names, so that they keep these.
Functions that do the same with weights of the same relative names are one function, and calls of it one behind the
other, each on what the one before gave, are a loop.
"""
from __future__ import annotations

import re
from dataclasses import field
from typing import Callable, Sequence

from ..records import dataclass
from . import dims as sizes
from .program import Origin, Program, Statement, substitute, values_of
from .values import Value
from .weights import is_weight

LEAST = 2   # statements of a function

# Weights that have no name of their own: those that an exporter folded, and what nodes hold.
_ANONYMOUS = re.compile(r"^onnx::|^/|_output_\d+$|^$|^\W*\d+$|^const_fold_opt|^Constant")
# What a weight is called by the operation that reads it, and at which place.
_ROLES = {(kind, i): role for kinds, roles in (
    ("MatMul Gather", ("", "weight")), ("Gemm Conv ConvTranspose LayerNormalization", ("", "weight", "bias")),
    ("BatchNormalization", ("", "mean", "var", "weight", "bias")),
    ("LSTM GRU RNN", ("", "weight", "recurrence", "bias")), ("Add", ("bias", "bias")), ("Mul", ("scale", "scale")))
    for kind in kinds.split() for i, role in enumerate(roles) if role}
# Two operations whose function is called after them, for several scopes share it.
_PAIRS: dict[tuple[str, ...], str] = {("MatMul", "Add"): "linear"}


@dataclass(slots=True)
class Function:
    """A C function of a scope, as its first instance was. scoped: its first argument is what tc_weight puts before
    names; scope: that of the first instance; dims: sizes that it is given; depth: of the scope of its nodes; shared: it
    has more than one instance."""

    name: str
    statements: list[Statement]
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    dims: tuple[str, ...] = ()
    scope: str = ""
    scoped: bool = False
    depth: int = 0
    shared: bool = False


@dataclass(slots=True)
class Parted:
    """main: the entry's own statements, which call the functions."""

    main: Function
    functions: list[Function] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Call:
    """scope: relative to the caller's; arguments: in the order of the function's inputs."""

    function: Function
    scope: str
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]


def part(program: Program, take: Callable[[str], str]) -> Parted:
    """take: gives a name of a function that is not taken."""
    if program.prefix or not any(s.scope for s in program.statements):
        return Parted(Function(program.name, program.statements))
    parting = _Parting(program, take)
    statements = parting.build(0, len(program.statements), 0, "")
    return Parted(Function(program.name, statements), parting.functions)


class _Parting:
    def __init__(self, program: Program, take: Callable[[str], str]):
        self.program, self.take = program, take
        self.functions: list[Function] = []
        self._by_key: dict[str, Function] = {}
        self._calls: dict[int, _Call] = {}     # by the identity of the statement that calls
        self._names: dict[str, int] = {}       # weights by name
        self._readers: dict[int, list[int]] = {}
        for i, statement in enumerate(program.statements):
            for number in statement.reads():
                self._readers.setdefault(number, []).append(i)
        self._wanted = {value.number for _, value in program.outputs}
        for number in self._readers:
            value = program.values[number]
            if is_weight(value) and not _ANONYMOUS.search(value.hint):
                value.weight = self._unique(dotted(value.hint), value)

    def _unique(self, wanted: str, value: Value) -> str:
        name, count = wanted, 2
        while self._names.get(name, value.number) != value.number:
            name, count = f"{wanted}_{count}", count + 1
        self._names[name] = value.number
        return name

    # -- grouping ------------------------------------------------------------------------------------------------------
    def build(self, begin: int, end: int, depth: int, scope: str) -> list[Statement]:
        """The statements begin..end, whose first `depth` scopes are one, with calls in the place of inner scopes."""
        out: list[Statement] = []
        at = begin
        while at < end:
            path = self.program.statements[at].scope
            last = at + 1
            if len(path) > depth:
                while last < end and self.program.statements[last].scope[:depth + 1] == path[:depth + 1]:
                    last += 1
            if last - at < LEAST:
                out.append(self.program.statements[at])
                at += 1
                continue
            if at == begin and last == end:
                return self.build(at, last, depth + 1, scope)
            out.append(self._call(at, last, depth + 1, scope))
            at = last
        return self._loops(out, range(begin, end))

    def _call(self, begin: int, end: int, depth: int, around: str) -> Statement:
        """A run of statements as a call."""
        own = self.program.statements[begin:end]
        path = own[0].scope[:depth]
        scope = self._scope(own, path, around)
        body = self.build(begin, end, depth, scope or around)
        self._name_weights(own, scope or around, depth)   # those that no inner function has named
        made = {value.number for s in body for value in s.made()}
        read = list(dict.fromkeys(number for s in body for number in s.reads()))
        inputs = tuple(self.program.values[number] for number in read
                       if number not in made and not self._local(self.program.values[number], scope))
        outputs = tuple(value for s in own for value in s.results if value.number in self._wanted or any(
            not begin <= reader < end for reader in self._readers.get(value.number, ())))
        dims = tuple(sorted({name for s in body for text in s.texts() for name in sizes.used(text)}))
        key = self._key(body, inputs, outputs, scope, dims)
        function = self._by_key.get(key)
        if function is None:
            function = Function(self.take(_word(path, body)), body, inputs, outputs, dims, scope, bool(scope), depth)
            self._by_key[key] = function
            self.functions.append(function)
        else:
            function.shared = True
        relative = scope[len(around) + 1:] if around and scope.startswith(around + ".") else scope
        return self._calling(_Call(function, relative, inputs, outputs))

    def _calling(self, call: _Call) -> Statement:
        words = ["g", *([f'"{call.scope}"'] if call.function.scoped else []), *(f"{v}" for v in call.arguments),
                 *(f"{sizes.MARK}{dim}{sizes.MARK}" for dim in call.function.dims)]
        if len(call.results) == 1:
            statement = Statement(f"{call.function.name}({', '.join(words)})", call.results[0])
        else:
            outs = [f"&{value}" for value in call.results]
            statement = Statement(f"{call.function.name}({', '.join([*words, *outs])})", declared=call.results)
        self._calls[id(statement)] = call
        return statement

    # -- names of weights ----------------------------------------------------------------------------------------------
    def _weights(self, statements: Sequence[Statement]) -> list[Value]:
        numbers = dict.fromkeys(number for s in statements for number in s.reads())
        return [value for number in numbers if is_weight(value := self.program.values[number])]

    def _scope(self, statements: Sequence[Statement], path: tuple[str, ...], around: str) -> str:
        """What the names of the weights begin with; "": nothing that helps."""
        names = [value.weight for value in self._weights(statements) if value.weight]
        inside = [name.split(".") for name in names if not around or name.startswith(around + ".")]
        level = len(around.split(".")) if around else 0
        if inside:
            common = inside[0][:-1]
            for words in inside[1:]:
                common = common[:next((i for i, (a, b) in enumerate(zip(common, words[:-1])) if a != b),
                                      min(len(common), len(words) - 1))]
            # Not further than the nodes' scope goes, where the weights' names have it.
            own = dotted(path[-1]).split(".")
            ends = [i + len(own) for i in range(level, len(common)) if common[i:i + len(own)] == own]
            return ".".join(common[:ends[0]] if ends else common) if len(common) > level else ""
        return ".".join([*([around] if around else []), dotted(path[-1])])

    def _name_weights(self, statements: Sequence[Statement], scope: str, depth: int) -> None:
        """Names for those that have none, by who reads them."""
        for statement in statements:
            for i, number in enumerate(statement.reads()):
                value = self.program.values[number]
                if is_weight(value) and not value.weight:
                    role = _ROLES.get((statement.origin.kind, i), "constant")
                    deeper = [*([scope] if scope else []), *map(dotted, statement.scope[depth:]), role]
                    value.weight = self._unique(".".join(deeper), value)

    @staticmethod
    def _local(value: Value, scope: str) -> bool:
        """A constant that the function can name itself."""
        if not value.is_constant:
            return False
        return not is_weight(value) or bool(scope) and value.weight.startswith(scope + ".")

    # -- equal functions -----------------------------------------------------------------------------------------------
    def _key(self, body: Sequence[Statement], inputs: Sequence[Value], outputs: Sequence[Value], scope: str,
             dims: tuple[str, ...]) -> str:
        """A text that is equal for functions that are: values by their order, weights by their relative names. Types
        are not in it: capture infers them at each call."""
        names: dict[int, str] = {v.number: f"<{i}>" for i, v in enumerate(inputs)}

        def name(number: int) -> str:
            if number not in names:
                value = self.program.values[number]
                if not value.is_constant:
                    names[number] = f"<{len(names)}>"
                elif is_weight(value):
                    names[number] = f"<weight {value.weight[len(scope) + 1:]}>"
                else:
                    names[number] = f"<{value.dtype}{list(value.shape)}={value.splat}{value.known}>"
            return names[number]

        def text(marked: str) -> str:
            return substitute(marked, {n: name(n) for n in values_of(marked)})

        def lines(statements: Sequence[Statement]) -> list[str]:
            found = []
            for s in statements:
                found.append("|".join((text(s.head), text(s.text), name(s.target.number) if s.target else "",
                                       ",".join(name(v.number) for v in (*s.declared, *s.parts)))))
                found += ["{", *lines(s.body), "}"] if s.head else []
            return found

        return "\n".join([f"{bool(scope)} {dims}", *lines(body), ",".join(name(v.number) for v in outputs)])

    # -- loops ---------------------------------------------------------------------------------------------------------
    def _loops(self, statements: list[Statement], own: range) -> list[Statement]:
        """Calls of one function, each on what the one before gave, with numbered scopes: a loop. own: the program's
        statements that these stand for."""
        out: list[Statement] = []
        at = 0
        while at < len(statements):
            last, place = self._chain(statements, at, own)
            if last - at < 2:
                out.append(statements[at])
                at += 1
                continue
            first, final = self._calls[id(statements[at])], self._calls[id(statements[last - 1])]
            stem, start = _numbered(first.scope) or ("", 0)
            result = final.results[0]
            out.append(Statement(f"{first.arguments[place]}", result))
            arguments = [result if i == place else v for i, v in enumerate(first.arguments)]
            words = ["g", f'tc_name(g, "{stem}%d", i)', *(f"{v}" for v in arguments),
                     *(f"{sizes.MARK}{dim}{sizes.MARK}" for dim in first.function.dims)]
            body = Statement(f"{result} = {first.function.name}({', '.join(words)})", keep=True)
            out.append(Statement(head=f"for (int i = {start}; i < {start + last - at}; i++)", body=[body], keep=True))
            at = last
        return out

    def _chain(self, statements: Sequence[Statement], begin: int, own: range) -> tuple[int, int]:
        """The end of the chain of calls that begins there, and the place of the argument that is handed on."""
        first = self._calls.get(id(statements[begin]))
        found = _numbered(first.scope) if first is not None else None
        if first is None or found is None or len(first.results) != 1:
            return begin + 1, 0
        stem, start = found
        last, place = begin + 1, -1
        before = first
        while last < len(statements):
            call = self._calls.get(id(statements[last]))
            if call is None or call.function is not first.function \
                    or _numbered(call.scope) != (stem, start + last - begin):
                break
            changed = [i for i, (a, b) in enumerate(zip(before.arguments, call.arguments)) if a is not b]
            if len(changed) != 1 or place not in (-1, changed[0]) \
                    or call.arguments[changed[0]] is not before.results[0] \
                    or not self._read_once(before.results[0], statements, own):
                break
            place, before, last = changed[0], call, last + 1
        return last, place

    def _read_once(self, value: Value, statements: Sequence[Statement], own: range) -> bool:
        """Only the next call reads it, no other here and none outside."""
        return value.number not in self._wanted and all(i in own for i in self._readers.get(value.number, ())) \
            and sum(value.number in s.reads() for s in statements) == 1


def _word(path: tuple[str, ...], body: Sequence[Statement]) -> str:
    """What a scope's function is called: the last part of the path without its number, or the one before a number
    alone."""
    pair = _PAIRS.get(tuple(s.origin.kind for s in body))
    names = [re.sub(r"[._]*\d+$", "", part) for part in path]
    return pair or names[-1] or f"{next(filter(None, reversed(names)), '')}_part"


def _numbered(scope: str) -> tuple[str, int] | None:
    """layer.3: ("layer.", 3); None where it ends in no number."""
    match = re.fullmatch(r"(.*?[._]|)(\d{1,6})", scope)
    return (match[1], int(match[2])) if match and "%" not in scope else None


def dotted(name: str) -> str:
    """A name of a weight as PyTorch would write it: dots between its parts, without TensorFlow's :0."""
    return re.sub(r"[\x00-\x1f\"\\%]", "_", re.sub(r"[/.]+", ".", re.sub(r":\d+$", "", name)).strip("."))


def shown(origin: Origin, depth: int) -> str:
    """What #line calls a node. depth: how many scopes of its name are left out, those of a function of several
    instances."""
    if origin.line:
        return origin.name
    parts = [part for part in origin.name.split("/") if part]
    name = "/".join(parts[depth:] or parts[-1:])
    return name if origin.kind.lower() in name.rpartition("/")[2].lower() else f"{origin.kind} {name}".strip()
