# SPDX-License-Identifier: Apache-2.0
"""The table of operations, and what a function of it works with."""
from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Callable, Mapping, NoReturn, Sequence, TypeVar

from ...records import dataclass
from ...symbolic import Expr, IntLike, wrap
from .. import dims as sizes
from ..dims import Shape
from ..operations import import_topics
from ..problems import known_late, Malformed, Unsupported
from ..program import Origin, Statement
from ..values import FLOATS, Element, Value, number
from .data import dtype_of
from .model import Attribute, Graph, Tensor

if TYPE_CHECKING:
    from .graph import Importer

# Operations that take elements of 4 and 2 bits and small floats (Value.kind): those that move them, and conversions.
MOVES = {("", name) for name in ("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten")}
SMALL = MOVES | {("", name) for name in ("Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear", "Shape",
                                         "Size")} | {
    ("com.microsoft", "QuantizeLinear"), ("com.microsoft", "DequantizeLinear")}

# Domains that are one: what ONNX calls its own.
DOMAINS = {"ai.onnx": ""}

Function = Callable[["Node"], None]
T = TypeVar("T")

_table: dict[tuple[str, str], list[tuple[int, Function]]] = {}


def op(*names: str, since: int = 1, domain: str = "") -> Callable[[Function], Function]:
    """Registers a function for operations from an opset on."""
    def register(function: Function) -> Function:
        for name in names:
            _table.setdefault((domain, name), []).append((since, function))
        return function
    return register


def add(function: Function, *names: str, since: int = 1, domain: str = "") -> None:
    op(*names, since=since, domain=domain)(function)


def find(domain: str, name: str, opset: int) -> Function | None:
    """The function of the newest opset that the model's has reached."""
    if not _table:
        import_topics(__file__, __package__)
    found = [entry for entry in _table.get((domain, name), ()) if entry[0] <= opset]
    return max(found, key=lambda entry: entry[0])[1] if found else None


class NeedsValue(Unsupported):
    """The elements of a value must be known before a call. inputs: the model's inputs that it comes from."""

    def __init__(self, message: str, inputs: Sequence[str]):
        names = ", ".join(inputs)
        super().__init__(message, f"it comes from the model's input{'s' * (len(inputs) > 1)} {names}: "
                         f"--set {inputs[0]}=… fixes it" if inputs
                         else "sizes must follow from the sizes of the inputs")
        self.inputs = tuple(inputs)


def only(found: Sequence[T], what: str) -> T:
    """The element of a list of one."""
    if len(found) != 1:
        raise Malformed(f"{what} is {len(found)} numbers, not one")
    return found[0]


@dataclass(slots=True)
class Node:
    """One node of the model, as a function of the table sees it.

    inputs: its values, None where one is left out; outputs: how many it has are wanted, "" where one is left out.
    """

    importer: Importer
    op_type: str
    name: str
    inputs: list[Value | None]
    outputs: tuple[str, ...]
    attributes: dict[str, Attribute]
    opset: int
    scope: tuple[str, ...]
    domain: str = ""
    asked: set[str] = field(default_factory=set)
    given: dict[int, Value] = field(default_factory=dict)

    # -- what it has ---------------------------------------------------------------------------------------------------
    def input(self, i: int) -> Value:
        """An input that must be there."""
        value = self.optional(i)
        if value is None:
            raise Malformed(f"input {i} is missing")
        return value

    def optional(self, i: int) -> Value | None:
        return self.inputs[i] if i < len(self.inputs) else None

    def wants(self, i: int) -> bool:
        """Whether somebody may read output i."""
        return i < len(self.outputs) and bool(self.outputs[i])

    def has(self, name: str) -> bool:
        self.asked.add(name)
        return name in self.attributes

    def _attribute(self, name: str, *types: int) -> Attribute | None:
        self.asked.add(name)
        found = self.attributes.get(name)
        if found is not None and found.type and found.type not in types:
            raise Malformed(f"the attribute {name!r} has another type")
        return found

    def integer(self, name: str, default: int | None = None) -> int:
        found = self._attribute(name, 2)
        return self._or(name, found.i if found else default)

    def real(self, name: str, default: float | None = None) -> float:
        """A float, as the shortest decimal that is it."""
        found = self._attribute(name, 1)
        if found is None:
            return self._or(name, default)
        text = number(found.f, "f32")
        assert text is not None
        return float(text.replace("INFINITY", "inf").replace("NAN", "nan"))

    def text(self, name: str, default: str | None = None) -> str:
        found = self._attribute(name, 3)
        return self._or(name, found.s.decode("utf-8", "replace") if found else default)

    def texts(self, name: str) -> list[str]:
        found = self._attribute(name, 8)
        return [s.decode("utf-8", "replace") for s in found.strings] if found else []

    def ints(self, name: str) -> list[int] | None:
        """None where it is not given."""
        found = self._attribute(name, 7)
        return list(found.ints) if found else None

    def reals(self, name: str) -> list[float] | None:
        found = self._attribute(name, 6)
        return [float(number(f, "f32") or 0) for f in found.floats] if found else None

    def tensor(self, name: str) -> Tensor | None:
        found = self._attribute(name, 4)
        return found.t if found else None

    def graph(self, name: str) -> Graph:
        found = self._attribute(name, 5)
        return self._or(name, found.g if found else None)

    def _or(self, name: str, value: T | None) -> T:
        if value is None:
            raise Malformed(f"the attribute {name!r} is missing")
        return value

    def dtype(self, name: str, default: str | None = None) -> str:
        """An attribute that is an element type."""
        return dtype_of(self.integer(name)) if self.has(name) or default is None else default

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front."""
        if not -rank <= value < rank:
            raise Malformed(f"axis {value} of a tensor of rank {rank}")
        return value + rank if value < 0 else value

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        found = [self.axis(v, rank) for v in values]
        if len(set(found)) != len(found):
            raise Malformed(f"axes {list(values)} name one twice")
        return found

    # -- what is known -------------------------------------------------------------------------------------------------
    def elements(self, value: Value, what: str) -> tuple[Element, ...]:
        """The elements of a value that has to be known before a call: sizes, axes, bounds."""
        found = value.known
        if found is None:
            raise NeedsValue(known_late(what), self.importer.inputs_of(value))
        return found

    def size(self, value: Value, what: str) -> Expr:
        """The same, of a value that is one number: a size."""
        return only(self.sizes(value, what), what)

    def sizes(self, value: Value, what: str) -> list[Expr]:
        """The same, of integers: each a size."""
        out = []
        for e in self.elements(value, what):
            if isinstance(e, float):
                if not e.is_integer():
                    raise Malformed(f"{what} is {e}")
                e = int(e)
            out.append(wrap(e))
        return out

    def whole(self, value: Value, what: str) -> list[int]:
        """The same, and constant."""
        out = []
        for e in self.sizes(value, what):
            if not e.is_const:
                self.refuse(f"{what} depends on the dims of the model ({e})")
            out.append(e.value)
        return out

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """This node is correct and cannot be imported."""
        raise Unsupported(message, hint)

    def same_dtype(self, *values: Value | None) -> str:
        """The one dtype of all of them."""
        dtypes = list(dict.fromkeys(v.dtype for v in values if v is not None))
        if len(dtypes) != 1:
            raise Malformed(f"its inputs have the element types {', '.join(dtypes)}")
        return dtypes[0]

    def floats_only(self, value: Value) -> None:
        if value.dtype not in FLOATS:
            self.refuse(f"an input of {value.dtype}")

    def broadcast(self, *values: Value) -> Shape:
        found = sizes.broadcast(*(v.shape for v in values))
        if found is None:
            shapes = ", ".join(str(list(v.shape)) for v in values)
            raise Malformed(f"the shapes {shapes} do not broadcast")
        return found

    # -- C -------------------------------------------------------------------------------------------------------------
    def dim(self, size: IntLike) -> str:
        return self.importer.dims.c(size)

    def dim_list(self, shape: Sequence[IntLike]) -> str:
        return self.importer.dims.list(shape)

    def operand(self, value: Value, beside: Value) -> str:
        """A number where the value is one and takes part in a broadcast with `beside` that it does not widen."""
        if not beside.is_constant and value.rank <= beside.rank and value.dtype == beside.dtype \
                and (single := value.single) is not None and (text := number(single, value.dtype)) is not None:
            return text
        return f"{value}"

    def number(self, value: Value) -> float | int | None:
        """The one element of a constant; None where it is not known."""
        e = value.single
        if isinstance(e, Expr):
            return e.value if e.is_const else None
        return e

    # -- what it gives -------------------------------------------------------------------------------------------------
    def _hint(self, i: int) -> str:
        name = self.outputs[i] if i < len(self.outputs) else ""
        return self.op_type if re.fullmatch(r"onnx::\w+|\W*\d*", name) else name

    def value(self, dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        """A value that a statement of the node will make."""
        return self.importer.program.value(dtype, tuple(wrap(s) for s in shape), hint=hint or self.op_type)

    def emit(self, statement: Statement) -> None:
        statement.origin = Origin(self.op_type, self.name or next((o for o in self.outputs if o), ""))
        statement.scope = self.scope
        self.importer.statements.append(statement)

    def let(self, text: str, dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        """A step of the node: `tc_tensor hint = text;`."""
        value = self.value(dtype, shape, hint)
        self.emit(Statement(text, value))
        return value

    def result(self, text: str, dtype: str, shape: Sequence[IntLike], i: int = 0) -> Value:
        """Output i by a statement."""
        value = self.let(text, dtype, shape, self._hint(i))
        self.given[i] = value
        return value

    def call(self, text: str, dtype: str, shape: Sequence[IntLike], more: Mapping[int, tuple[str, Sequence[IntLike]]],
             i: int = 0) -> Value:
        """Output i by a call that gives others, too, through pointers: `{out1}` in its text is the C variable of output
        1, declared before. more: the types of those by number."""
        others = {k: self.value(t, s, self._hint(k)) for k, (t, s) in more.items()}
        for k, other in others.items():
            text = text.replace(f"{{out{k}}}", f"{other}")
        value = self.value(dtype, shape, self._hint(i))
        self.emit(Statement(text, value, declared=tuple(others.values())))
        self.given |= {i: value, **others}
        return value

    def declare(self, text: str, dtype: str, shape: Sequence[IntLike], others: Sequence[Value]) -> Value:
        """A step by a call that sets other values, too, which are declared before; made by `value` and named in its
        text."""
        value = self.value(dtype, shape)
        self.emit(Statement(text, value, declared=tuple(others)))
        return value

    def give(self, value: Value, i: int = 0) -> None:
        """Output i is a value that exists."""
        self.given[i] = value

    def give_elements(self, elements: Sequence[Element], dtype: str, shape: Sequence[IntLike], i: int = 0) -> None:
        """Output i is known."""
        value = self.importer.program.value(dtype, tuple(wrap(s) for s in shape), elements=tuple(elements),
                                            hint=self._hint(i))
        self.given[i] = value

    def constant(self, elements: Sequence[Element], dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        """A small constant of the node's own."""
        return self.importer.program.value(dtype, tuple(wrap(s) for s in shape), elements=tuple(elements), hint=hint)

    def results(self, text: str, types: Sequence[tuple[str, Sequence[IntLike]]]) -> list[Value]:
        """Outputs by one call that fills an array: `tc_tensor parts[n]; text;`, text with {array}."""
        base = self.value("", (), self.outputs[0] + "_parts" if self.outputs else "parts")
        parts = [self.value(dtype, shape, self._hint(i)) for i, (dtype, shape) in enumerate(types)]
        self.emit(Statement(text.replace("{array}", f"{base}"), array=base, parts=tuple(parts)))
        for i, part in enumerate(parts):
            self.given[i] = part
        return parts
