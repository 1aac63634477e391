# SPDX-License-Identifier: Apache-2.0
"""A graph of an exported program to a Program: nodes in order through the table of operations."""
from __future__ import annotations

import re
from dataclasses import field
from functools import partial
from typing import Any, Mapping, Sequence

from ...records import dataclass
from ...symbolic import Expr, floordiv, wrap
from ..dims import DEFAULT_HIGH, Dims, Range
from ..problems import Malformed, Problem, Unsupported
from ..program import Origin, Program, Statement
from ..source import Names, identifier
from ..values import COMPLEX, Value, is_zero
from . import expressions, registry
from .archive import Archive, Json, Stored, items, listed, member, number, parts_of, text
from .live import IN_PLACE, first_operand, names_in, needed, target_of
from .outputs import member_names
from .registry import Argument, Computed, Node, Type, as_kind, is_complex
from .views import Slot, inverse

MOST_NODES = 1_000_000
MOST_NESTED = 32   # graphs within nodes within graphs

_SCALARS = ("as_int", "as_float", "as_bool", "as_string")
_LISTS = ("as_ints", "as_floats", "as_bools", "as_strings")


@dataclass(slots=True)
class Scope:
    """Names of one graph. json: its types."""

    json: Json
    values: dict[str, Any] = field(default_factory=dict)


class Importer:
    """One program's import. dim_names: what the user called sizes, by PyTorch's symbol; multiples: of which number such
    a size is a multiple, the symbol being how often."""

    def __init__(self, archive: Archive, program: Program, dim_names: Mapping[str, str], multiples: Mapping[str, int]):
        self.archive, self.program = archive, program
        self.dims: Dims = program.dims
        self.statements: list[Statement] = program.statements
        self.problems: list[Problem] = []
        self.scope: tuple[str, ...] = ()
        self.origin = Origin()
        self._dim_names, self._multiples = dict(dim_names), dict(multiples)
        ranges = archive.program.get("range_constraints")
        self._ranges: Json = ranges if isinstance(ranges, dict) else {}
        self._symbols: dict[str, Expr] = {}
        self._stored: dict[tuple[object, ...], Value] = {}
        self._nodes = self._nested = 0
        self._slots: dict[int, Slot] = {}    # by the number of a value: where it may be changed in place
        self.around: Scope = Scope({})

    # -- types
    # -------------------------------------------------------------------------------------------------------------
    def symbol(self, name: str) -> Expr:
        """A size that differs from call to call."""
        if name not in self._symbols:
            if name.startswith("u"):
                raise Unsupported(f"a size that depends on data ({name})",
                                  "sizes must follow from the sizes of the inputs")
            times = self._multiples.get(name, 1)
            size = self.dims.named(self._dim_names.get(name, name), self._range(name, times))
            self._symbols[name] = floordiv(size, wrap(times))
        return self._symbols[name]

    def _range(self, name: str, times: int) -> Range:
        """Of the size. Where it is a multiple, its own range says more than that of the symbol."""
        whole = self._ranges.get(f"{times}*{name}")
        entry = whole or self._ranges.get(name)
        low, high = (entry.get("min_val"), entry.get("max_val")) if isinstance(entry, dict) else (None, None)
        low = max(low, 1) if isinstance(low, int) else 1
        high = min(high, 1 << 31) if isinstance(high, int) else max(DEFAULT_HIGH, low)
        if low > high:
            raise Malformed(f"the size {name} is in the range {low}..{high}")
        by = 1 if whole else times
        return Range(-(-low * by // times) * times, high * by // times * times, times)

    def size(self, entry: object) -> Expr:
        """A size of a type, or of an argument."""
        if isinstance(entry, dict):
            if isinstance(entry.get("as_int"), int):
                return wrap(int(entry["as_int"]))
            found = entry.get("as_expr")
            if isinstance(found, dict):
                return expressions.parse(text(found, "expr_str"), self.symbol)
        raise Malformed(f"no size: {str(entry)[:80]}")

    def type_of(self, meta: Json) -> Type:
        dtype, parts = parts_of(number(meta, "dtype"))
        shape = tuple(self.size(s) for s in items(meta, "sizes"))
        return Type(dtype, (*shape, wrap(2)), COMPLEX) if parts == 2 else Type(dtype, shape)

    def declared(self, scope: Scope, name: str) -> Type:
        meta = member(scope.json, "tensor_values").get(name)
        if not isinstance(meta, dict):
            raise Malformed(f"nothing says the type of {name!r}")
        return self.type_of(meta)

    # -- the program
    # -------------------------------------------------------------------------------------------------------
    def run(self) -> None:
        module = member(self.archive.program, "graph_module")
        graph, signature = member(module, "graph"), member(module, "signature")
        scope = Scope(graph)
        names = Names()
        states: dict[str, State] = {}
        changed = _changed(graph, signature)
        for spec in items(signature, "input_specs"):
            self._input(spec, scope, names, changed, states)
        self.nodes(graph, scope)
        outputs: list[Any] = []
        for spec in items(signature, "output_specs"):
            kind, about = _spec(spec)
            if kind == "user_output":
                outputs.append(member(about, "arg"))
            elif kind in ("buffer_mutation", "user_input_mutation", "parameter_mutation"):
                key = next((k for k in ("buffer_name", "user_input_name", "parameter_name") if k in about), "")
                name = text(about, key)
                value = scope.values.get(text(member(about, "arg"), "name"))
                if name in states and isinstance(value, Value):
                    states[name].slot.change(self, value)
            elif kind != "token":
                raise Unsupported(f"a program with the output {kind}")
        self._outputs(outputs, member_names(module, len(outputs)), scope, names)
        for state in states.values():
            state.store(self)
        if not self.program.outputs and not self.problems and not states:
            raise Malformed("it has no outputs")

    def _input(self, spec: object, scope: Scope, names: Names, changed: set[str], states: dict[str, State]) -> None:
        kind, about = _spec(spec)
        arg = about.get("arg")
        if kind == "user_input":
            kind, arg = _variant(arg)
            name = text(arg, "name") if isinstance(arg, dict) and "name" in arg else ""
            if kind != "as_tensor":
                if name:
                    scope.values[name] = self._number_input(kind, name, scope, names)
                return   # a number that the export made a constant
            if name in changed:
                states[name] = self._state(name, self.declared(scope, name), None, scope, name)
                return
            self._tensor_input(name, scope, names)
            return
        if kind == "constant_input":
            return   # a flag or None of the sample call: what reads it has its value
        if not isinstance(arg, dict):
            raise Malformed(f"the input {kind} has no name")
        name = text(arg, "name")
        try:
            if kind == "parameter":
                stored, full = self.archive.weight(text(about, "parameter_name")), text(about, "parameter_name")
            elif kind == "buffer":
                full = text(about, "buffer_name")
                stored = self.archive.weight(full) if about.get("persistent", True) else self.archive.constant(full)
            elif kind == "tensor_constant":
                full = text(about, "tensor_constant_name")
                stored = self.archive.constant(full)
            else:
                raise Unsupported(f"an input that is a {kind}")
            value = self._weight(stored, full)
            if name in changed or full in changed:
                states[full] = self._state(full, Type(stored.dtype, value.shape, value.kind), value, scope, name)
            else:
                scope.values[name] = value
                self._slots[value.number] = Slot(value)
        except Unsupported as error:
            scope.values[name] = None
            self.problems.append(Problem(kind, error.message, name, error.hint))

    def _tensor_input(self, name: str, scope: Scope, names: Names) -> None:
        try:
            kind = self.declared(scope, name)
        except Unsupported as error:
            self.problems.append(Problem("input", error.message, name, error.hint))
            scope.values[name] = None
            return
        value = as_kind(self.program.value(kind.dtype, kind.shape, hint=name), kind.kind)
        scope.values[name] = value
        self._slots[value.number] = Slot(value)
        self.program.inputs.append((names.take(identifier(name, "input")), value))

    def _number_input(self, kind: str, name: str, scope: Scope, names: Names) -> Any:
        """A number that the caller gives: a size is a dim, another number is a tensor of rank 0."""
        if kind == "as_sym_int":
            return None
        dtype = {"as_bool": "bool", "as_sym_bool": "bool", "as_float": "f64", "as_sym_float": "f64"}.get(kind)
        if dtype is None:
            return None
        value = self.program.value(dtype, (), hint=name)
        self.program.inputs.append((names.take(identifier(name, "input")), value))
        return value

    def _weight(self, stored: Stored, name: str) -> Value:
        """Tensors that are the same elements are one weight."""
        if stored.alias not in self._stored:
            value = self.program.value(stored.dtype, tuple(map(wrap, stored.shape)), data=stored.data, hint=name)
            value.weight = name
            self._stored[stored.alias] = as_kind(value, COMPLEX if stored.complex else "")
        return self._stored[stored.alias]

    def _state(self, full: str, kind: Type, initial: Value | None, scope: Scope, name: str) -> State:
        sizes = "".join(f", {self.dims.c(s)}" for s in kind.shape)
        if any(not s.is_const for s in kind.shape):
            raise Unsupported(f"{full} is changed in place and has a dynamic size", "states have constant sizes")
        handle = self.program.value(kind.dtype, kind.shape, hint=full)
        self.statements.append(Statement(f'tc_state(g, "{full}", TC_{kind.dtype.upper()}{sizes})', handle, keep=True))
        started = None
        value = handle
        if initial is not None and not is_zero(initial):
            # States are zero at first: until the first call has stored it, the value is the archive's.
            started = self.program.value("bool", (), hint="started")
            self.statements.append(Statement(f'tc_state(g, "{full}.started", TC_BOOL)', started, keep=True))
            value = self.program.value(kind.dtype, kind.shape, hint=full)
            self.statements.append(Statement(f"tc_where({started}, {handle}, {initial})", value))
        value = as_kind(value, kind.kind)
        slot = Slot(value)
        self._slots[value.number] = slot
        scope.values[name] = value
        return State(handle, started, slot)

    def _outputs(self, args: Sequence[Json], wanted: Sequence[str], scope: Scope, names: Names) -> None:
        for arg, name in zip(args, wanted, strict=True):
            try:
                value = self.argument(arg, scope)
            except Poisoned:
                continue
            if isinstance(value, Value):
                self.program.outputs.append((names.take(identifier(name, "output")), self.current(value)))
            elif isinstance(value, (Expr, int, float)) and not isinstance(value, bool):
                size = value if isinstance(value, (int, Expr)) else None
                if size is None:
                    continue
                result = self.program.value("i64", (), hint=name)
                self.statements.append(Statement(f"tc_dim_value(g, TC_I64, {self.dims.c(size)})", result))
                self.program.outputs.append((names.take(identifier(name, "output")), result))

    # -- nodes
    # ---------------------------------------------------------------------------------------------------------------
    def nodes(self, graph: Json, scope: Scope) -> None:
        nodes = items(graph, "nodes")
        self._nodes += len(nodes)
        if self._nodes > MOST_NODES:
            raise Malformed(f"it has more than {MOST_NODES} nodes")
        if not all(isinstance(node, dict) for node in nodes):
            raise Malformed("a node is no object")
        for node, wanted in zip(nodes, needed(graph, nodes, names_in(items(graph, "inputs")))):
            if wanted:
                self._node(node, scope)

    def graph(self, graph: Json, operands: Sequence[Any]) -> list[Any]:
        """The statements of a graph within a node; what it gives."""
        inner = Scope(graph)
        names = [_name(arg) for arg in items(graph, "inputs")]
        if len(names) != len(operands):
            raise Malformed(f"a graph of {len(names)} inputs is given {len(operands)}")
        inner.values.update(zip(names, operands))
        around, self.around = self.around, inner
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise Malformed(f"its graphs are nested more than {MOST_NESTED} deep")
        try:
            self.nodes(graph, inner)
        finally:
            self.around = around
            self._nested -= 1
        return [self.argument(arg, inner) for arg in items(graph, "outputs")]

    def _node(self, message: Json, scope: Scope) -> None:
        target = target_of(message)
        outputs = items(message, "outputs")
        names = [n for arg in outputs for n in _names(arg)]
        tensors = [n for arg in outputs for n in _names(arg) if _variant(arg)[0] in _TENSORS]
        if not tensors and not target.startswith("higher_order."):
            return   # sizes: their expressions are in the table of types; assertions: guards of the model say them
        for name in names:
            scope.values[name] = None
        metadata = message.get("metadata")
        self.scope, self.origin = _place(metadata if isinstance(metadata, dict) else {}, target)
        before = len(self.statements)
        try:
            for name, value in zip(tensors, self._apply(target, message, scope, tensors), strict=True):
                scope.values[name] = value
        except Unsupported as error:
            del self.statements[before:]
            self.problems.append(Problem(target, error.message, str(message.get("name") or names[0] if names else ""),
                                         error.hint))
        except Poisoned:
            del self.statements[before:]
        except Malformed as error:
            raise Malformed(f"{target} {names[0] if names else ''!r}: {error}") from None

    def _apply(self, target: str, message: Json, scope: Scope, tensors: list[str]) -> list[Value]:
        """The values of the node's tensors."""
        in_place = IN_PLACE.match(target)
        functional = f"aten.{in_place[1]}.{in_place[2]}" if in_place else target
        around, self.around = self.around, scope
        try:
            node = self._call(functional, message, scope, tensors)
            if in_place:
                changed = _first(message, scope, self)
                value = node.given[0]
                if value.dtype != changed.dtype or value.shape != changed.shape:
                    wide = f"tc_cast({value}, TC_{changed.dtype.upper()})" if value.dtype != changed.dtype else \
                        f"{value}"
                    if value.shape != changed.shape:
                        wide = f"tc_expand({wide}, {self.dims.list(changed.shape)})"
                    value = as_kind(node.let(wide, changed.dtype, changed.shape), value.kind)
                if value.kind != changed.kind:
                    raise Unsupported("complex numbers stored in a real tensor, or the other way round")
                self._slot(changed).change(self, value)
                return [changed] * len(tensors)
            self._view(functional, node, message, scope, tensors)
            return node.given
        finally:
            self.around = around

    def _call(self, target: str, message: Json, scope: Scope, tensors: list[str]) -> Node:
        function, of_complex = registry.find(target), registry.find_complex(target)
        if function is None and of_complex is None:
            raise Unsupported("no such operation is known")
        arguments: dict[str, Argument] = {}
        for i, entry in enumerate(items(message, "inputs")):
            name = text(entry, "name") or f"{i}"
            found = self.argument(member(entry, "arg"), scope)
            arguments[name] = self._now(found)
        node = Node(self, target, arguments, [self.declared(scope, name) for name in tensors] if tensors else [],
                    tensors or [target.split(".")[1]])
        if is_complex(list(arguments.values())) or any(kind.kind == COMPLEX for kind in node.results):
            function = of_complex
            if function is None:
                raise Unsupported("of complex numbers it is not known")
        elif function is None:
            raise Unsupported("of real numbers it is not known")
        try:
            function(node)
        except (ValueError, IndexError):  # lists of other lengths, axes that are not there
            raise Malformed("its arguments and results do not fit each other") from None
        unread = node.unread()
        if unread:
            raise Unsupported(f"the argument {', '.join(unread)}")
        if len(node.given) != len(tensors):
            raise Malformed(f"it gives {len(node.given)} tensors, {len(tensors)} are named")
        return node

    def emit(self, statement: Statement) -> None:
        statement.origin, statement.scope = self.origin, self.scope
        self.statements.append(statement)

    # -- what is changed in place
    # --------------------------------------------------------------------------------------------
    def _slot(self, value: Value) -> Slot:
        return self._slots.setdefault(value.number, Slot(value))

    def current(self, value: Value) -> Value:
        """What a tensor holds now."""
        slot = self._slots.get(value.number)
        return as_kind(slot.read(self), value.kind) if slot else value

    def _now(self, found: Argument) -> Argument:
        if isinstance(found, Value):
            return self.current(found)
        return [self._now(v) for v in found] if isinstance(found, list) else found

    def _view(self, target: str, node: Node, message: Json, scope: Scope, tensors: list[str]) -> None:
        """Remembers a result that is a view: writing to it writes to what it was made of, and the other way round."""
        back = inverse(target)
        if back is None:
            return
        made = _first(message, scope, self)
        parent = self._slot(made)
        place = self.scope, self.origin

        def again(i: int) -> Value:
            held = self.scope, self.origin
            self.scope, self.origin = place
            try:
                return self._call(target, message, scope, tensors).given[i]
            finally:
                self.scope, self.origin = held

        for i, value in enumerate(node.given):
            if value.number not in self._slots:      # it may be the operand itself (alias, detach, a split of one part)
                self._slots[value.number] = Slot(value, parent, partial(again, i), partial(back, node, i))

    # -- arguments
    # -----------------------------------------------------------------------------------------------------------
    def argument(self, arg: Json, scope: Scope) -> Argument:
        kind, content = _variant(arg)
        if kind in _SCALARS:
            return _number(content) if kind == "as_float" else content
        if kind in _LISTS:
            return [_number(v) if kind == "as_floats" else v for v in listed(content)]
        match kind:
            case "as_none":
                return None
            case "as_complex":
                return complex(*(_number(member(arg, kind).get(key)) for key in ("real", "imag")))
            case "as_tensor":
                return self._tensor(text(content, "name"), scope)
            case "as_tensors" | "as_nested_tensors":
                return [self._tensor(text(entry, "name"), scope) if isinstance(entry, dict) else
                        [self._tensor(text(e, "name"), scope) for e in listed(entry)] for entry in listed(content)]
            case "as_optional_tensor":
                return self.argument(content, scope) if isinstance(content, dict) and "as_tensor" in content else None
            case "as_optional_tensors":
                return [self.argument(e, scope) for e in listed(content)]
            case "as_sym_int":
                return self._named_size(content, scope)
            case "as_sym_ints":
                return [self._named_size(e, scope) for e in listed(content)]
            case "as_sym_float":
                return self._named_float(content, scope)
            case "as_sym_bool":
                if isinstance(content, dict) and isinstance(content.get("as_bool"), bool):
                    return bool(content["as_bool"])
                raise Unsupported("a condition over sizes that is known at run time only")
            case "as_scalar_type":
                return {"scalar_type": content}
            case "as_graph":
                return {"graph": member(content, "graph")}
            case "as_device" | "as_layout" | "as_memory_format":
                return str(content)
        raise Unsupported(f"an argument of the kind {kind.removeprefix('as_')}")

    def _tensor(self, name: str, scope: Scope) -> Value:
        if name not in scope.values:
            raise Malformed(f"nothing before it gives {name!r}")
        found = scope.values[name]
        if not isinstance(found, Value):
            raise Poisoned
        return found

    def _named_size(self, entry: object, scope: Scope) -> Argument:
        if isinstance(entry, dict) and isinstance(entry.get("as_name"), str):
            found = member(scope.json, "sym_int_values").get(entry["as_name"])
            return self.size(found)
        return self.size(entry)

    def _named_float(self, entry: object, scope: Scope) -> Argument:
        if isinstance(entry, dict) and "as_float" in entry:
            return _number(entry["as_float"])
        found = member(scope.json, "sym_float_values").get(text(entry, "as_name"))
        if isinstance(found, dict) and "as_float" in found:
            return _number(found["as_float"])
        return Computed(expressions.parse_number(text(member(found, "as_expr"), "expr_str"), self.symbol, self.dims.c))


class Poisoned(Exception):
    """An operand could not be imported, which is reported already."""


@dataclass(slots=True)
class State:
    """A tensor that stays between calls. handle: of tc_state; started: whether a call has stored it, where it does not
    begin as zeros."""

    handle: Value
    started: Value | None
    slot: Slot

    def store(self, importer: Importer) -> None:
        if not self.slot.version:
            return
        importer.scope, importer.origin = (), Origin()
        importer.emit(Statement(f"tc_assign({self.handle}, {self.slot.read(importer)})", keep=True))
        if self.started is not None:
            importer.emit(Statement(f"tc_assign({self.started}, tc_full(g, 1, TC_BOOL))", keep=True))


_TENSORS = ("as_tensor", "as_tensors", "as_optional_tensor", "as_optional_tensors")


def _number(content: object) -> float:
    """A float; JSON has those that are not finite as text."""
    try:
        return float(content)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise Malformed(f"no number: {str(content)[:80]}") from None


def _variant(of: object) -> tuple[str, Any]:
    """{kind: content} of the format's unions."""
    if not isinstance(of, dict) or len(of) != 1:
        raise Malformed(f"neither an argument nor a name: {str(of)[:80]}")
    return next(iter(of.items()))


def _spec(of: object) -> tuple[str, Json]:
    """The same of an input or output of the program."""
    kind = _variant(of)[0]
    return kind, member(of, kind) if kind != "token" else {}


def _names(arg: object) -> list[str]:
    """The names that an output defines."""
    kind, content = _variant(arg)
    if kind in ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"):
        return [str(content.get("name") or content.get("as_name"))] if isinstance(content, dict) else []
    if kind in ("as_tensors", "as_optional_tensors"):
        return [name for entry in listed(content) for name in
                (_names(entry) if isinstance(entry, dict) and len(entry) == 1 and "name" not in entry
                 else [text(entry, "name")])]
    return []


def _name(arg: object) -> str:
    found = _names(arg)
    return found[0] if found else ""


def _first(message: Json, scope: Scope, importer: Importer) -> Value:
    """The operand that an operation in place changes, or that a view is of."""
    for entry in items(message, "inputs"):
        found = importer.argument(member(entry, "arg"), scope)
        if isinstance(found, Value):
            return found
    raise Malformed("it has no tensor to change")


def _changed(graph: Json, signature: Json) -> set[str]:
    """The names of inputs (and of buffers) that the program changes."""
    found = set()
    for spec in items(signature, "output_specs"):
        kind, about = _spec(spec)
        if kind.endswith("_mutation"):
            found |= {str(v) for k, v in about.items() if k.endswith("_name")}
    made_of: dict[str, str] = {}
    for node in items(graph, "nodes"):
        target, first = target_of(node), first_operand(node)
        in_place = IN_PLACE.match(target)
        if in_place or inverse(target):
            for arg in items(node, "outputs"):
                for name in _names(arg):
                    made_of[name] = first
        if in_place:
            while first and first not in found:
                found.add(first)
                first = made_of.get(first, "")
    return found


_SEPARATORS = r"[/\\]"
_PYTORCH = rf"^<|(?:^|{_SEPARATORS})torch{_SEPARATORS}"    # files of PyTorch itself
_FRAME = re.compile(r'File "([^"]*)", line (\d{1,9}), in ')


def _place(metadata: Mapping[str, Any], target: str) -> tuple[tuple[str, ...], Origin]:
    """The modules around a node, and its line in the user's source."""
    stack = metadata.get("nn_module_stack")
    paths = [entry.split(",")[1] for entry in str(stack or "").split(";") if entry.count(",") >= 2]
    scope: list[str] = []
    before = ""
    for path in paths:
        if not re.fullmatch(r"[\w.]+", path) or path == before or before and not path.startswith(before + "."):
            continue
        scope.append(path[len(before) + 1:] if before else path)
        before = path
    frames = _FRAME.findall(str(metadata.get("stack_trace") or ""))
    theirs = [f for f in frames if not re.search(_PYTORCH, f[0])]
    own = [f for f in theirs if "site-packages" not in f[0] and "dist-packages" not in f[0]] or theirs
    if not own:
        return tuple(scope), Origin("", target.partition(".")[2].partition(".")[0] or target)
    return tuple(scope), Origin("", re.split(_SEPARATORS, own[-1][0])[-1], int(own[-1][1]))
