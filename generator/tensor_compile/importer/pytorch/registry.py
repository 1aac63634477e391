# SPDX-License-Identifier: Apache-2.0
"""The table of operations, and what a function of it works with."""
from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Sequence, Union

from ...records import dataclass
from ...symbolic import Expr, IntLike, wrap
from ..dims import Shape, constants
from ..operations import import_topics
from ..problems import Malformed, Unsupported
from ..program import Statement
from ..values import COMPLEX, FLOATS, Value, number
from .archive import dtype_of

if TYPE_CHECKING:
    from .graph import Importer

# An argument: a tensor, a size, a number, text, a list of these, a graph (its JSON); None where it is None.
Argument = Union[Value, Expr, int, float, complex, bool, str, "Computed", None, list[Any], dict[str, Any]]
Function = Callable[["Node"], None]

_table: dict[str, Function] = {}
_of_complex: dict[str, Function] = {}


@dataclass(frozen=True, slots=True)
class Computed:
    """A float that sizes make, as C: an f64 tensor without axes."""

    text: str


# Arguments that say where or how PyTorch keeps a tensor, or what only training asks for: nothing of the result.
_PLACES = frozenset(("device", "pin_memory", "layout", "memory_format", "non_blocking", "requires_grad", "generator",
                     "copy", "stable"))


def _register(table: dict[str, Function], targets: Sequence[str]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for target in targets:
            assert target not in table, target
            table[target] = function
        return function
    return register


def op(*targets: str) -> Callable[[Function], Function]:
    """Registers a function for operations: `aten.relu.default`."""
    return _register(_table, targets)


def complex_op(*targets: str) -> Callable[[Function], Function]:
    """The same where an operand or a result is complex: a table of its own, so that no other function meets one."""
    return _register(_of_complex, targets)


def add(function: Function, *targets: str) -> None:
    op(*targets)(function)


def find(target: str) -> Function | None:
    if not _table:
        import_topics(__file__, __package__)
    return _table.get(target)


def find_complex(target: str) -> Function | None:
    find("")
    return _of_complex.get(target)


def known() -> list[str]:
    """All operations of the table."""
    find("")
    return sorted(_table)


def is_complex(of: Argument) -> bool:
    """Whether an argument is, or has, a complex number."""
    if isinstance(of, list):
        return any(map(is_complex, of))
    return isinstance(of, complex) or isinstance(of, Value) and of.kind == COMPLEX


def as_kind(value: Value, kind: str) -> Value:
    """The same tensor, as pairs of real numbers or as complex ones: one C variable stands for both."""
    return value if value.kind == kind else replace(value, kind=kind)


@dataclass(frozen=True, slots=True)
class Type:
    """What the archive says of a result. kind: of a Value; the shape of a complex tensor ends with its two parts."""

    dtype: str
    shape: Shape
    kind: str = ""


@dataclass(slots=True)
class Node:
    """One node, as a function of the table sees it. arguments: by PyTorch's names; results: the types of its
    tensors."""

    importer: Importer
    target: str
    arguments: dict[str, Argument]
    results: list[Type]
    hints: list[str]
    asked: set[str] = field(default_factory=set)
    given: list[Value] = field(default_factory=list)

    # -- arguments
    # -------------------------------------------------------------------------------------------------------
    def has(self, name: str) -> bool:
        """Whether it is given, and not None."""
        self.asked.add(name)
        return self.arguments.get(name) is not None

    def argument(self, name: str, default: Argument = None) -> Argument:
        self.asked.add(name)
        found = self.arguments.get(name)
        return default if found is None else found

    def tensor(self, name: str) -> Value:
        found = self.argument(name)
        if not isinstance(found, Value):
            raise Malformed(f"the argument {name!r} is no tensor")
        return found

    def optional(self, name: str) -> Value | None:
        return self.tensor(name) if self.has(name) else None

    def tensors(self, name: str) -> list[Value]:
        found = self.argument(name)
        if not isinstance(found, list) or not all(isinstance(v, Value) for v in found):
            raise Malformed(f"the argument {name!r} is no list of tensors")
        return found

    def integer(self, name: str, default: int | None = None) -> int:
        """A number that must be known when the model is imported."""
        found = self.argument(name, default)
        if isinstance(found, Expr):
            if not found.is_const:
                self.refuse(f"{name} depends on the dims of the model ({found})")
            found = found.value
        if isinstance(found, bool) or not isinstance(found, int):
            raise Malformed(f"the argument {name!r} is no integer")
        return found

    def real(self, name: str, default: float | None = None) -> float:
        found = self.argument(name, default)
        if isinstance(found, Expr) and found.is_const:
            found = found.value
        if isinstance(found, (Expr, Computed)):
            self.refuse(f"{name} depends on the dims of the model"
                        f"{f' ({found})' if isinstance(found, Expr) else ''}")
        if not isinstance(found, (int, float)):
            raise Malformed(f"the argument {name!r} is no number")
        return float(found)

    def flag(self, name: str, default: bool = False) -> bool:
        found = self.argument(name, default)
        if not isinstance(found, (bool, int)):
            raise Malformed(f"the argument {name!r} is neither true nor false")
        return bool(found)

    def text(self, name: str, default: str = "") -> str:
        found = self.argument(name, default)
        if not isinstance(found, str):
            raise Malformed(f"the argument {name!r} is no text")
        return found

    def size(self, name: str, default: IntLike | None = None) -> Expr:
        found = self.argument(name, default)
        if isinstance(found, bool) or not isinstance(found, (int, Expr)):
            raise Malformed(f"the argument {name!r} is no size")
        return wrap(found)

    def sizes(self, name: str, default: Sequence[IntLike] | None = None) -> list[Expr]:
        found = self.argument(name, list(default) if default is not None else None)
        if isinstance(found, (int, Expr)) and not isinstance(found, bool):
            found = [found]
        if not isinstance(found,
                          list) or not all(isinstance(v, (int, Expr)) and not isinstance(v, bool) for v in found):
            raise Malformed(f"the argument {name!r} is no list of sizes")
        return [wrap(v) for v in found]

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        found = constants(self.sizes(name, default))
        if found is None:
            self.refuse(f"{name} depends on the dims of the model")
        return found

    def window(self, name: str, axes: int, default: int) -> list[int]:
        """One number an axis of a window: PyTorch lets one number stand for all, and none for the default."""
        found = self.integers(name, ()) or [default]
        if len(found) not in (1, axes):
            raise Malformed(f"the argument {name!r} has {len(found)} numbers for {axes} axes")
        return found * axes if len(found) == 1 else found

    def dtype(self, name: str = "dtype") -> str | None:
        """An element type that is asked for."""
        found = self.argument(name)
        if found is None:
            return None
        if not isinstance(found, dict) or not isinstance(found.get("scalar_type"), int):
            raise Malformed(f"the argument {name!r} is no element type")
        return dtype_of(found["scalar_type"])

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """An axis counted from the front."""
        return self.counted(self.integer(name, default), rank)

    def axes(self, name: str, rank: int) -> list[int]:
        """Axes counted from the front; all of them where none is given."""
        found = self.integers(name, ())
        return sorted(self.counted(a, rank) for a in found) if found else list(range(rank))

    def counted(self, axis: int, rank: int) -> int:
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise Malformed(f"axis {axis} of a tensor of rank {rank}")
        return axis + max(rank, 1) if axis < 0 else axis

    def ignore(self, *names: str) -> None:
        """Arguments that do not change the result."""
        self.asked.update(names)

    def only(self, name: str, *values: Argument) -> None:
        """An argument that is supported with these values alone (None: left out)."""
        found = self.argument(name)
        if found not in values and found is not None:
            self.refuse(f"{name}={found}")

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """This node is correct and cannot be imported."""
        raise Unsupported(message, hint)

    def unread(self) -> list[str]:
        return sorted(name for name, value in self.arguments.items()
                      if name not in self.asked and name not in _PLACES and value is not None)

    # -- C
    # -----------------------------------------------------------------------------------------------------------------
    def dim(self, size: IntLike) -> str:
        return self.importer.dims.c(size)

    def dim_list(self, sizes: Sequence[IntLike]) -> str:
        return self.importer.dims.list(sizes)

    def vector(self) -> Type:
        """The type of a result that must have one axis."""
        if len(self.type.shape) != 1:
            raise Malformed(f"its result has {len(self.type.shape)} axes")
        return self.type

    @property
    def type(self) -> Type:
        """The type of the one result, or of the first."""
        if not self.results:
            raise Malformed("it has no tensor as its result")
        return self.results[0]

    def as_dtype(self, value: Value, dtype: str) -> str:
        """The tensor in this element type."""
        return f"{value}" if value.dtype == dtype else f"tc_cast({value}, TC_{dtype.upper()})"

    def operand(self, value: Argument, dtype: str) -> str:
        """A tensor in this element type, or a number that takes it from the tensor beside."""
        if isinstance(value, Value):
            return self.as_dtype(value, dtype)
        if isinstance(value, Expr) and value.is_const:
            value = value.value
        if isinstance(value, Expr):
            text = f"tc_dim_value(g, TC_I64, {self.dim(value)})"
            return text if dtype == "i64" else f"tc_cast({text}, TC_{dtype.upper()})"
        if isinstance(value, Computed):
            return value.text if dtype == "f64" else f"tc_cast({value.text}, TC_{dtype.upper()})"
        if not isinstance(value, (int, float)):
            raise Malformed("an operand is neither a tensor nor a number")
        literal = number(value, dtype)
        if literal is None or (dtype not in FLOATS and isinstance(value, float) and not value.is_integer()):
            self.refuse(f"the number {value} beside {dtype}")
        return literal

    def constant(self, value: Argument, dtype: str) -> str:
        """The same, where both sides may be numbers: always a tensor."""
        text = self.operand(value, dtype)
        return text if isinstance(value, Value) or "tc_" in text else f"tc_full(g, {text}, TC_{dtype.upper()})"

    # -- what it gives
    # ----------------------------------------------------------------------------------------------------
    def value(self, dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        return self.importer.program.value(dtype, tuple(wrap(s) for s in shape), hint=hint or self.hints[0])

    def emit(self, statement: Statement) -> None:
        self.importer.emit(statement)

    def let(self, text: str, dtype: str, shape: Sequence[IntLike], hint: str = "") -> Value:
        """A step of the node."""
        value = self.value(dtype, shape, hint)
        self.emit(Statement(text, value))
        return value

    def result(self, text: str, dtype: str = "") -> Value:
        """The next result, by a statement. dtype: of the text, where the result's is another."""
        i = len(self.given)
        if i >= len(self.results):
            raise Malformed(f"it has {len(self.results)} tensors as results")
        kind = self.results[i]
        if dtype and dtype != kind.dtype:
            text = f"tc_cast({text}, TC_{kind.dtype.upper()})"
        value = as_kind(self.let(text, kind.dtype, kind.shape, self.hints[i]), kind.kind)
        self.given.append(value)
        return value

    def give(self, value: Value) -> None:
        """The next result is a value that exists."""
        self.given.append(value)

    def fill(self, text: str) -> list[Value]:
        """Results by a call that gives the first and fills variables with the others, which the text names as @1, @2
        …"""
        others = [self.value(t.dtype, t.shape, hint) for t, hint in zip(self.results[1:], self.hints[1:])]
        first = self.value(self.type.dtype, self.type.shape, self.hints[0])
        for i, other in enumerate(others, 1):
            text = text.replace(f"@{i}", f"{other}")
        self.emit(Statement(text, first, declared=tuple(others)))
        self.given += [first, *others]
        return self.given

    def array(self, text: str) -> None:
        """All results by one call that fills an array: text with {array}."""
        base = self.value("", (), self.hints[0] + "_parts")
        parts = tuple(self.value(t.dtype, t.shape, hint) for t, hint in zip(self.results, self.hints))
        self.emit(Statement(text.replace("{array}", f"{base}"), array=base, parts=parts))
        self.given += [as_kind(part, kind.kind) for part, kind in zip(parts, self.results, strict=True)]
