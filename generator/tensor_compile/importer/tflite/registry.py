# SPDX-License-Identifier: Apache-2.0
"""The table of operations, and what a function of it works with."""
from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Callable, NoReturn, Sequence

from ...records import dataclass
from ...symbolic import Expr, IntLike, wrap
from .. import dims as sizes
from ..dims import Shape
from ..operations import import_topics
from ..problems import known_late, Malformed, Unsupported
from ..program import Origin, Statement
from ..values import FLOATS, Element, Value, number, round_to
from .model import Operator, Tensor
from .schema import ACTIVATIONS, OPTIONS, PADDINGS

if TYPE_CHECKING:
    from .graph import Held, Importer

Function = Callable[["Node"], None]

_table: dict[tuple[str, str], tuple[int, Function]] = {}


def op(*names: str, versions: int, numbers: str = "") -> Callable[[Function], Function]:
    """Registers a function for operations up to a version. numbers: the kind of values (COMPLEX) that it takes."""
    def register(function: Function) -> Function:
        for name in names:
            assert (name, numbers) not in _table, name
            _table[name, numbers] = versions, function
        return function
    return register


def find(name: str, numbers: str = "") -> tuple[int, Function] | None:
    if not _table:
        import_topics(__file__, __package__)
    return _table.get((name, numbers))


def known() -> list[str]:
    find("")
    return sorted({name for name, _ in _table})


@dataclass(frozen=True, slots=True)
class Scale:
    """What integers stand for, as C numbers: (q - zero) * scale."""

    scale: str
    zero: int


@dataclass(slots=True)
class Node:
    """One operator, as a function of the table sees it. given: its results."""

    importer: Importer
    operator: Operator
    scope: tuple[str, ...] = ()
    asked: set[str] = field(default_factory=set)
    given: dict[int, Held] = field(default_factory=dict)

    # -- what it has
    # -----------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def count(self) -> int:
        """The number of its inputs."""
        return len(self.operator.inputs)

    def has(self, i: int) -> bool:
        return i < len(self.operator.inputs) and self.operator.inputs[i] >= 0

    def held(self, i: int) -> Held:
        if not self.has(i):
            raise Malformed(f"input {i} is missing")
        return self.importer.held(self.operator.inputs[i])

    def tensor(self, i: int) -> Tensor:
        """What the file says of an input."""
        if not self.has(i):
            raise Malformed(f"input {i} is missing")
        return self.importer.graph.tensors[self.operator.inputs[i]]

    def output(self, i: int = 0) -> Tensor:
        if i >= len(self.operator.outputs):
            raise Malformed(f"output {i} is missing")
        return self.importer.graph.tensors[self.operator.outputs[i]]

    def input(self, i: int) -> Value:
        """An input in the order of its axes."""
        return self.importer.last(self.held(i))

    def first(self, i: int) -> Value:
        """An input of rank 3 to 5 with its last axis, the channels, behind the batch."""
        return self.importer.first(self.held(i))

    def optional(self, i: int) -> Value | None:
        return self.input(i) if self.has(i) else None

    def option(self, name: str) -> int:
        self.asked.add(name)
        place, kind, default = OPTIONS[self.name][name]
        t = self.operator.options
        return t.integer(place, kind, int(default)) if t is not None else int(default)

    def real(self, name: str) -> str:
        """An option that is a number, as C."""
        self.asked.add(name)
        place, kind, default = OPTIONS[self.name][name]
        t = self.operator.options
        text = number(float(t.number(place, kind, default)) if t is not None else default, "f32")
        assert text is not None
        return text

    def option_list(self, name: str) -> tuple[int, ...]:
        self.asked.add(name)
        place, kind, _ = OPTIONS[self.name][name]
        t = self.operator.options
        return t.integers(place, kind.lstrip("*")) if t is not None else ()

    def real_list(self, name: str) -> tuple[float, ...]:
        self.asked.add(name)
        place, kind, _ = OPTIONS[self.name][name]
        t = self.operator.options
        return tuple(float(v) for v in t.numbers(place, kind.lstrip("*"))) if t is not None else ()

    def text(self, name: str) -> str:
        """An option that is a string."""
        self.asked.add(name)
        t = self.operator.options
        return t.text(OPTIONS[self.name][name][0]) if t is not None else ""

    def ignore(self, *names: str) -> None:
        """Options that do not change the result."""
        for name in names:
            if "*" in OPTIONS[self.name][name][1]:
                self.option_list(name)
            elif OPTIONS[self.name][name][1] == "text":
                self.text(name)
            else:
                self.option(name)

    def _word(self, name: str, words: Sequence[str]) -> str:
        found = self.option(name)
        if not 0 <= found < len(words):
            raise Malformed(f"the {name} {found} is unknown")
        return words[found]

    @property
    def activation(self) -> str:
        """The function behind the operation: "" for none."""
        found = self._word("activation", ACTIVATIONS)
        return "" if found == "none" else found

    @property
    def padding(self) -> str:
        return self._word("padding", PADDINGS)

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """This operator is correct and cannot be imported."""
        raise Unsupported(message, hint)

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front."""
        if not -rank <= value < rank:
            raise Malformed(f"axis {value} of a tensor of rank {rank}")
        return value + rank if value < 0 else value

    def integers(self, i: int, what: str) -> tuple[int, ...]:
        """The elements of an input that has to be known before a call."""
        found = self.input(i).integers
        if found is None:
            self.refuse(known_late(what), "sizes and axes must be constants of the model")
        return found

    def sizes(self, i: int, what: str) -> tuple[Expr, ...]:
        """The elements of an input that sizes follow from: dims may be among them."""
        found = self.input(i).folded
        if found is None or any(isinstance(e, float) for e in found):
            self.refuse(known_late(what), "sizes must follow from the sizes of the inputs")
        return tuple(wrap(e) for e in found)  # type: ignore[arg-type]

    # -- quantization
    # ------------------------------------------------------------------------------------------------------
    @staticmethod
    def _scale(t: Tensor) -> Scale | None:
        q = t.quantization
        if not q.scales:
            return None
        if len(q.scales) != 1:
            raise Unsupported("a scale for each slice of an axis, of other tensors than weights")
        text = number(q.scales[0], "f32")
        assert text is not None
        if not q.scales[0] > 0 or "INF" in text:
            raise Malformed(f"the scale of {t.name!r} is {text}")
        return Scale(text, q.zeros[0])

    def scale(self, i: int) -> Scale | None:
        """Of an input; None: it is not quantized."""
        return self._scale(self.tensor(i))

    def result_scale(self, i: int = 0) -> Scale | None:
        return self._scale(self.output(i))

    def quantized(self, i: int) -> Scale:
        found = self.scale(i)
        if found is None:
            self.refuse(f"integers without a scale ({self.tensor(i).name})")
        return found

    def into(self) -> Scale:
        found = self.result_scale()
        if found is None:
            self.refuse(f"integers without a scale ({self.output().name})")
        return found

    @property
    def is_integer(self) -> bool:
        """Whether it computes in integers: its first input is quantized, or another one of its dtype is."""
        dtype = self.input_dtype(0)
        alike = [self.tensor(i) for i in range(self.count) if self.has(i) and self.input_dtype(i) == dtype]
        return dtype not in FLOATS and any(t.quantization.scales for t in alike)

    def input_dtype(self, i: int) -> str:
        return self.importer.dtype(self.tensor(i))

    def same_scale(self, i: int = 0) -> None:
        """Operations that move elements: the scale stays."""
        if self.is_integer and self.scale(i) != self.result_scale():
            self.refuse("a result of another scale than its input")

    # -- C
    # -----------------------------------------------------------------------------------------------------------------
    def dim_list(self, shape: Sequence[IntLike]) -> str:
        return self.importer.dims.list(shape)

    def affine(self, x: Value, scale: Scale) -> str:
        return f"{{{x}, {scale.scale}, {scale.zero}}}"

    def behind(self) -> str:
        """The options of a quantized result."""
        into = self.into()
        return f", .scale = {into.scale}" + (f", .zero = {into.zero}" if into.zero else "")

    def value(self, dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        return self.importer.program.value(dtype, tuple(wrap(s) for s in shape),
                                           hint=hint or self.importer.hint(self.operator))

    def emit(self, statement: Statement) -> None:
        statement.origin = Origin(self.name)
        self.importer.statements.append(statement)

    def let(self, text: str, dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        """A step between."""
        value = self.value(dtype, shape, hint)
        self.emit(Statement(text, value))
        return value

    def activated(self, text: str, dtype: str, shape: Sequence[IntLike]) -> str:
        """The call with the activation behind it."""
        kind = self.activation
        if not kind:
            return text
        if dtype in FLOATS:
            calls = {"relu": "tc_relu({})", "relu6": "tc_relu6({})", "relu_n1_to_1": "tc_clamp({}, -1, 1)",
                     "tanh": "tc_tanh({})"}
            if kind not in calls:
                self.refuse(f"the activation {kind}")
            return calls[kind].format(self.let(text, dtype, shape))
        low, high = self.limits(kind, dtype)
        if low is None and high is None:
            return text
        x = self.let(text, dtype, shape)
        if low is not None and high is not None:
            return f"tc_clamp({x}, {low}, {high})"
        return f"tc_maximum({x}, {low})" if low is not None else f"tc_minimum({x}, {high})"

    def limits(self, kind: str, dtype: str) -> tuple[int | None, int | None]:
        """The integers that an activation limits the result to; None: the dtype's own end."""
        ends = {"relu": (0.0, None), "relu6": (0.0, 6.0), "relu_n1_to_1": (-1.0, 1.0), "relu_0_to_1": (0.0, 1.0)}
        if kind not in ends or dtype not in ("i8", "u8", "i16"):
            self.refuse(f"the activation {kind} of {dtype}")
        into = self.into()
        bits = 16 if dtype == "i16" else 8
        least, most = (0, 255) if dtype == "u8" else (-(1 << bits - 1), (1 << bits - 1) - 1)

        def place(x: float | None) -> int | None:
            # Halves away from zero of the f32 quotient.
            if x is None:
                return None
            q = rounded_quotient(x, float(into.scale))
            return into.zero + q
        low, high = (place(x) for x in ends[kind])
        return (low if low is not None and low > least else None, high if high is not None and high < most else None)

    # -- what it gives
    # -------------------------------------------------------------------------------------------------------
    def give(self, text: str, dtype: str, shape: Sequence[IntLike], i: int = 0) -> Value:
        """Output i by a statement."""
        value = self.value(dtype, shape, self.importer.result_hint(self.operator, i))
        self.emit(Statement(text, value))
        self.given[i] = self.importer.hold(last=value)
        return value

    def give_first(self, text: str, dtype: str, shape: Sequence[IntLike], i: int = 0) -> Value:
        """The same, with channels behind the batch."""
        value = self.value(dtype, shape, self.importer.result_hint(self.operator, i))
        self.emit(Statement(text, value))
        self.given[i] = self.importer.hold(first=value)
        return value

    def know(self, elements: Sequence[Element], dtype: str, shape: Sequence[IntLike]) -> None:
        """The result is integers that are known now."""
        value = self.importer.program.value(dtype, tuple(wrap(s) for s in shape), elements=tuple(elements),
                                            hint=self.importer.result_hint(self.operator, 0))
        self.given[0] = self.importer.hold(last=value)

    def fail(self) -> None:
        """Nothing is given: what it needs could not be imported, which is reported."""
        for i in range(len(self.operator.outputs)):
            self.given[i] = self.importer.hold()

    def hand_on(self, i: int = 0) -> None:
        """The result is an input as it is."""
        self.given[0] = self.held(i)

    def broadcast(self, *shapes: Shape) -> Shape:
        found = sizes.broadcast(*shapes)
        if found is None:
            raise Malformed(f"the shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast")
        return found

    def constant_sizes(self, shape: Sequence[Expr]) -> list[int]:
        found = sizes.constants(shape)
        if found is None:
            self.refuse("sizes that depend on the dims of the model")
        return found


def rounded_quotient(x: float, scale: float) -> int:
    """round(x / scale) as f32 divides, halves away from zero."""
    quotient = round_to(x / (round_to(scale, "f32") or math.inf), "f32")
    assert quotient is not None
    # Beyond 2^31 it is no integer of a quantized tensor, and the limit none.
    return int(math.copysign(math.floor(min(abs(quotient), 2.0**31) + 0.5), quotient))
