# SPDX-License-Identifier: Apache-2.0
"""A graph of ONNX to a Program: names to values, nodes in order through the table of operations."""
from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Iterator, Mapping, Sequence

from ...errors import UserError
from ...records import dataclass
from ...symbolic import Expr, parse, wrap
from .. import idioms
from ..dims import Dims
from ..problems import Malformed, Problem, Unsupported
from ..program import Program, Statement
from ..source import Names, identifier
from ..values import Value
from . import counted as counting
from . import qdq, registry
from .data import Source, type_of
from .model import Attribute, Dimension, Function, Graph, Model, NodeMessage, Tensor, ValueInfo
from .registry import DOMAINS, NeedsValue, Node

MOST_CALLS = 32          # of model-local functions within each other
MOST_NODES = 1_000_000   # that functions and graphs within graphs may expand to


@dataclass(slots=True)
class Scope:
    """Names of one graph, and of those around it."""

    values: dict[str, Value | None] = field(default_factory=dict)
    around: Scope | None = None

    def find(self, name: str) -> Value | None:
        """None: what gives this value could not be imported."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.around
        raise KeyError(name)


class Importer:
    """One model's import. fixed: inputs that are given as constants, by name; in_integers: see qdq.py."""

    def __init__(self, model: Model, source: Source, program: Program, fixed: Mapping[str, Value] | None = None,
                 in_integers: bool = False):
        self.model, self.source, self.program = model, source, program
        self.in_integers = in_integers
        self.dims: Dims = program.dims
        self.fixed = dict(fixed or {})
        self.statements: list[Statement] = program.statements
        self.problems: list[Problem] = []
        self.functions: dict[tuple[str, str, str], Function] = {
            (DOMAINS.get(f.domain, f.domain), f.name, f.overload): f for f in model.functions}
        self.opsets = _opsets(model.opset_import)
        self._public = Names()                  # of inputs, outputs and dims
        self._dim_names: dict[str, str] = {}    # by what the model calls them
        self._inputs: dict[int, str] = {}       # values that are the model's inputs: their names there
        self._around: tuple[Scope, Mapping[str, int], Mapping[str, Attribute] | None] = (Scope(), {}, None)
        self._calls = 0
        self._nodes = 0
        self._path: tuple[str, ...] = ()        # scopes of the functions that are being expanded

    # -- the model -----------------------------------------------------------------------------------------------------
    def run(self) -> None:
        graph = self.model.graph
        if graph is None:
            raise Malformed("it has no graph")
        if self.in_integers:
            graph = qdq.in_integers(graph)
            self.opsets[qdq.DOMAIN] = 1
        scope = Scope()
        self._constants(graph, scope)
        names = self._public
        taken = {info.name for info in graph.input}
        for info in graph.input:
            if info.name not in scope.values:
                self._input(info, scope)
        for name in self.fixed:
            if name not in taken:
                raise UserError(f"--set: the model has no input {name!r}",
                                hint=f"its inputs: {', '.join(sorted(taken))}")
        self.nodes(graph.node, scope, self.opsets, [o.name for o in graph.output])
        for info in graph.output:
            value = self._output(info.name, scope)
            if value is not None:
                value = counting.finished(self.program, value)
                self.program.outputs.append((names.take(identifier(info.name, "output")), value))
                if value.counted is not None:
                    count = names.take(identifier(f"{info.name}_count", "output"))
                    self.program.outputs.append((count, value.counted[0]))
        if not graph.output:
            raise Malformed("it has no outputs")
        idioms.shorten(self.program)

    def _output(self, name: str, scope: Scope) -> Value | None:
        try:
            return scope.find(name)
        except KeyError:
            raise Malformed(f"nothing gives the output {name!r}") from None

    def _constants(self, graph: Graph, scope: Scope) -> None:
        for t in graph.initializer:
            if t.name in scope.values:
                raise Malformed(f"two tensors are called {t.name!r}")
            scope.values[t.name] = self._tensor(t, t.name)
        for sparse in graph.sparse_initializer:
            name = sparse.values.name if sparse.values else ""
            self.problems.append(Problem("sparse tensor", "sparse tensors are not imported", name))
            scope.values[name] = None

    def _tensor(self, t: Tensor, name: str) -> Value | None:
        try:
            return self.program.add(self.source.value(t, name))
        except Unsupported as error:
            self.problems.append(Problem("constant", error.message, name, error.hint))
            return None

    def _input(self, info: ValueInfo, scope: Scope) -> None:
        if info.name in self.fixed:
            scope.values[info.name] = self.program.add(self.fixed[info.name])
            return
        try:
            value = self._declared(info)
        except Unsupported as error:
            self.problems.append(Problem("input", error.message, info.name, error.hint))
            scope.values[info.name] = None
            return
        scope.values[info.name] = self.program.add(value)
        self._inputs[value.number] = info.name
        self.program.inputs.append((self._public.take(identifier(info.name, "input")), value))

    def _declared(self, info: ValueInfo) -> Value:
        kind = info.type
        if kind is None or kind.tensor is None:
            word = next((w for w in ("sequence", "map", "sparse", "optional", "opaque")
                         if kind is not None and getattr(kind, w) is not None), "")
            raise Unsupported(f"it is {word + ' of tensors' if word else 'of no type'}, not a tensor",
                              "only tensors go in and out")
        dtype, small = type_of(kind.tensor.elem_type)
        if kind.tensor.shape is None:
            raise Unsupported("its number of dims is not known",
                              "give it a shape where the model is exported: dims may be dynamic, their number not")
        shape = tuple(self.declared_size(d, info.name, axis) for axis, d in enumerate(kind.tensor.shape.dims))
        return Value(dtype, shape, hint=info.name, kind=small)

    def declared_size(self, d: Dimension, tensor: str, axis: int) -> Expr:
        """A size as a model declares it: a number, a dim by its name, an expression over such names."""
        if d.value is not None and (d.value > 0 or d.value == 0 and not d.param):
            return wrap(d.value)
        name = d.param.strip()
        if re.search(r"[-+*/()]", name) and re.fullmatch(r"[\w\s+*()/-]+", name):
            text = re.sub(r"([\w]+)\s*//\s*(\w+)", r"floordiv(\1, \2)", name)
            words = [w for w in re.findall(r"[A-Za-z_]\w*", text) if w != "floordiv"]
            if words and all(w in self.dims.declared for w in words):
                try:
                    return parse(text, self.dims.declared)
                except ValueError:
                    pass
        if not re.search(r"[A-Za-z_]", name) or name == "None":
            name = ""   # "?" and their like name no size: two of them may differ
        key = name or f"{identifier(tensor, 'input')}_{axis}"
        if key not in self._dim_names:
            self._dim_names[key] = self._public.take(identifier(key, "dim"))
        return self.dims.named(self._dim_names[key])

    # -- nodes ---------------------------------------------------------------------------------------------------------
    def nodes(self, nodes: Sequence[NodeMessage], scope: Scope, opsets: Mapping[str, int], wanted: Sequence[str],
              attributes: Mapping[str, Attribute] | None = None) -> None:
        """The nodes that the wanted names need, in order. attributes: of the function call around."""
        for node in _needed(nodes, wanted):
            self._nodes += 1
            if self._nodes > MOST_NODES:
                raise Malformed(f"it expands to more than {MOST_NODES} nodes")
            self._node(node, scope, opsets, attributes)

    def _node(self, message: NodeMessage, scope: Scope, opsets: Mapping[str, int],
              attributes: Mapping[str, Attribute] | None) -> None:
        inputs: list[Value | None] = []
        poisoned = False
        for name in message.input:
            try:
                value = scope.find(name) if name else None
            except KeyError:
                raise Malformed(f"{_describe(message)}: nothing before it gives its input {name!r}") from None
            poisoned |= bool(name) and value is None
            inputs.append(value)
        for name in message.output:
            if name and name in scope.values:
                raise Malformed(f"{_describe(message)}: its output {name!r} exists already")
            if name:
                scope.values[name] = None
        domain = DOMAINS.get(message.domain, message.domain)
        own = self.functions.get((domain, message.op_type, message.overload))
        opset = opsets.get(domain, 1 if own else 0)
        if own is None and not opset:
            raise Malformed(f"{_describe(message)}: the model names no opset of the domain {domain or 'ai.onnx'!r}")
        function = None if own else registry.find(domain, message.op_type, opset)
        what = f"{domain}::{message.op_type}" if domain else message.op_type
        if own is None and function is None:
            hint = "" if domain in ("", "com.microsoft") else \
                "in a model.c of your own tc_extern calls a C function of yours (docs/externs.md)"
            self.problems.append(Problem(what, f"no operation of opset {opset} is known", _name(message), hint))
            return
        if poisoned:
            return
        node = Node(self, message.op_type, message.name, inputs, message.output, self._given(message, attributes),
                    opset, (*self._path, *_scope(message)), domain)
        before = len(self.statements)
        try:
            kinds = [v.kind for v in inputs if v is not None and v.kind]
            if kinds and not own and (domain, message.op_type) not in registry.SMALL:
                raise Unsupported(f"an input of {kinds[0]}", "convert it with Cast before")
            counted = next((v.counted for v in inputs if v is not None and v.counted is not None), None)
            place = counting.axis_of(node) if counted is not None and not own else 0
            if own:
                self._call(own, node, message, scope)
            else:
                assert function is not None
                self._apply(function, node, scope, opsets, attributes)
        except Unsupported as error:
            del self.statements[before:]
            needed = error.inputs if isinstance(error, NeedsValue) else ()
            self.problems.append(Problem(what, error.message, _name(message), error.hint, needed))
            return
        except Malformed as error:
            text = str(error)
            raise Malformed(text if " node " in text or ": " in text else f"{_describe(message)}: {text}") from None
        if counted is not None and not own:
            node.given[0].counted = (counted[0], place)
            node.given[0].rough = counting.is_rough(node)
        if kinds and (domain, message.op_type) in registry.MOVES:
            for value in node.given.values():
                value.kind = kinds[0]
        for i, name in enumerate(message.output):
            if name and i in node.given:
                scope.values[name] = node.given[i]
            elif name:
                self.problems.append(Problem(what, f"its output {i} is not imported", _name(message)))

    def _apply(self, function: registry.Function, node: Node, scope: Scope, opsets: Mapping[str, int],
               attributes: Mapping[str, Attribute] | None) -> None:
        around = self._around
        self._around = (scope, opsets, attributes)
        try:
            function(node)
        finally:
            self._around = around
        unread = sorted(set(node.attributes) - node.asked)
        if unread:
            node.refuse(f"the attribute{'s' * (len(unread) > 1)} {', '.join(unread)}")

    @staticmethod
    def _given(message: NodeMessage, attributes: Mapping[str, Attribute] | None) -> dict[str, Attribute]:
        """The node's attributes; those that name one of the function's are the call's."""
        found = {}
        for a in message.attribute:
            if a.ref_attr_name:
                if attributes is None:
                    raise Malformed(f"{_describe(message)}: the attribute {a.name!r} is none of a function")
                if a.ref_attr_name in attributes:
                    found[a.name] = attributes[a.ref_attr_name]
            else:
                found[a.name] = a
        return found

    # -- functions and graphs within -----------------------------------------------------------------------------------
    def _call(self, function: Function, node: Node, message: NodeMessage, scope: Scope) -> None:
        if self._calls >= MOST_CALLS:
            raise Malformed(f"{_describe(message)}: functions call each other more than {MOST_CALLS} deep")
        inner = Scope()
        for i, name in enumerate(function.input):
            inner.values[name] = node.inputs[i] if i < len(node.inputs) else None
        given = {a.name: a for a in function.attribute_proto} | node.attributes
        opsets = self.opsets | _opsets(function.opset_import)
        path, self._path = self._path, node.scope + ((message.name or function.name),)
        self._calls += 1
        try:
            # An input that the call leaves out is no value that failed: its readers see it as left out.
            left_out = {name for i, name in enumerate(function.input)
                        if i >= len(node.inputs) or node.inputs[i] is None}
            nodes = [_without(n, left_out) for n in function.node] if left_out else function.node
            self.nodes(nodes, inner, opsets, [o for o, mine in zip(function.output, message.output) if mine], given)
        finally:
            self._calls -= 1
            self._path = path
        for i, name in enumerate(function.output):
            if i < len(message.output) and message.output[i]:
                value = self._output(name, inner)
                if value is not None:
                    node.given[i] = value
        for i, name in enumerate(message.output):
            if name and i not in node.given:
                node.given[i] = None  # type: ignore[assignment]  # a node within was reported

    def graph(self, graph: Graph, bound: Sequence[Value | None] = ()) -> list[Value | None]:
        """The statements of a graph within the node at hand, which may read what is around; its outputs. bound: its
        inputs."""
        around, opsets, attributes = self._around
        scope = Scope(around=around)
        self._constants(graph, scope)
        for info, value in zip(graph.input, bound):
            scope.values[info.name] = value
        self.nodes(graph.node, scope, opsets, [o.name for o in graph.output], attributes)
        found = [self._output(o.name, scope) for o in graph.output]
        if any(value is not None and value.counted is not None for value in found):
            raise Unsupported("the size of a result is data", counting.HINT)
        return found

    @contextmanager
    def within(self, statements: list[Statement]) -> Iterator[None]:
        """Statements go there."""
        kept, self.statements = self.statements, statements
        try:
            yield
        finally:
            self.statements = kept

    @contextmanager
    def aside(self) -> Iterator[list[Statement]]:
        """Statements go into a list of their own: the body of a block."""
        body: list[Statement] = []
        with self.within(body):
            yield body

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Nothing that happens here stays, only what is known of the results."""
        problems = len(self.problems)
        with self.aside():
            yield
        del self.problems[problems:]

    def opaque(self, value: Value) -> Value:
        """A value of the same type of which nothing else is known."""
        return self.program.value(value.dtype, value.shape, hint=value.hint)

    # -- what messages need --------------------------------------------------------------------------------------------
    def inputs_of(self, value: Value) -> list[str]:
        """The model's inputs of integers (else of any dtype) that a value is computed from."""
        makers = {v.number: s for s in _all(self.program.statements + self.statements) for v in s.results}
        todo, seen, found = [value.number], set(), []
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            if number in self._inputs:
                found.append(self._inputs[number])
            elif number in makers:
                todo += makers[number].reads()
        order = {name: i for i, name in enumerate(self._inputs.values())}
        return sorted(found, key=order.__getitem__)


def _all(statements: Sequence[Statement]) -> list[Statement]:
    found = []
    for s in statements:
        found.append(s)
        found += _all(s.body)
    return found


def _opsets(imports: Sequence[Any]) -> dict[str, int]:
    return {DOMAINS.get(o.domain, o.domain): o.version for o in imports}


def _needed(nodes: Sequence[NodeMessage], wanted: Sequence[str]) -> list[NodeMessage]:
    """Those whose outputs are read, by way of others; what no output of the model needs is not imported."""
    live = set(wanted)
    kept = []
    for node in reversed(nodes):
        if any(name in live for name in node.output if name):
            live.update(name for name in node.input if name)
            live |= _read_within(node)
            kept.append(node)
    kept.reverse()
    return kept


def _read_within(node: NodeMessage) -> set[str]:
    """Names that graphs of its attributes read (their own ones among them)."""
    found: set[str] = set()
    for a in node.attribute:
        for graph in (*((a.g,) if a.g else ()), *a.graphs):
            found.update(o.name for o in graph.output)
            for inner in graph.node:
                found.update(name for name in inner.input if name)
                found |= _read_within(inner)
    return found


def _without(node: NodeMessage, names: set[str]) -> NodeMessage:
    inputs = tuple("" if name in names else name for name in node.input)
    return NodeMessage(inputs, node.output, node.name, node.op_type, node.attribute, node.domain, node.overload,
                       node.metadata)


def _scope(message: NodeMessage) -> tuple[str, ...]:
    """The scope of a node: what stands before the last slash of its name."""
    return tuple(part for part in message.name.split("/")[:-1] if part)


def _name(message: NodeMessage) -> str:
    return message.name or next((o for o in message.output if o), "")


def _describe(message: NodeMessage) -> str:
    return f"{message.op_type} node {_name(message)!r}"
