# SPDX-License-Identifier: Apache-2.0
"""Data classes that start fast: what @dataclasses.dataclass makes, in half of its time.

The tool has more than two hundred of them, and a build of a small model spent a fifth of its time on making them: the
standard library compiles each method by itself, and writes each class's signature for its documentation. Here one text
a class is compiled, with what differs from class to class; all classes share the rest. Fields are the standard
library's, as are `field`, `fields`, `replace`, `asdict` and `KW_ONLY`, which work on these classes as on its own.
"""
from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError
from typing import Any, Callable, TypeVar, dataclass_transform

T = TypeVar("T")
_ABSENT: Any = object()   # in the place of an argument whose default is made


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """Like dataclasses.dataclass."""
    def make(cls: type[T]) -> type[T]:
        explicit_eq, explicit_hash = "__eq__" in vars(cls), vars(cls).get("__hash__") is not None
        explicit_repr = "__repr__" in vars(cls)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__   # or a signature is written there
        bases: list[Any] = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
        inherits = any(base.__dataclass_params__.frozen for base in bases)   # all of a line must be
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots,
                                          frozen=inherits and frozen)(cls)
        made.__dataclass_params__.frozen, made.__dataclass_params__.eq = frozen, eq
        found = dataclasses.fields(made)
        methods = _methods(made, found, frozen)
        made.__init__ = methods["__init__"]
        if eq and not explicit_eq:
            made.__eq__ = methods["__eq__"]
        if eq and not explicit_hash:
            made.__hash__ = methods["__hash__"] if frozen else None
        if not explicit_repr:
            made.__repr__ = _repr
        if frozen:
            made.__setattr__, made.__delattr__ = _setattr, _delattr
            if slots:
                made.__getstate__, made.__setstate__ = _getstate, _setstate
        done: type[T] = made
        return done

    return make


def _methods(cls: Any, found: tuple[Field[Any], ...], frozen: bool) -> dict[str, Any]:
    """__init__, __eq__ and __hash__."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT}
    parameters: list[str] = []
    later: list[str] = []   # by keyword alone
    body: list[str] = []
    for f in found:
        value, default = f.name, ""
        if f.default is not MISSING:
            names[f"_default_{f.name}"], default = f.default, f"=_default_{f.name}"
            value = f.name if f.init else f"_default_{f.name}"
        elif f.default_factory is not MISSING:
            names[f"_make_{f.name}"], default = f.default_factory, "=_absent"
            value = f"_make_{f.name}() if {f.name} is _absent else {f.name}" if f.init else f"_make_{f.name}()"
        if f.init:
            (later if f.kw_only else parameters).append(f.name + default)
        elif not default:   # __post_init__ sets it
            continue
        body.append(f" _set(self, {f.name!r}, {value})" if frozen else f" self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    compared = [f.name for f in found if f.compare]
    hashed = [f.name for f in found if (f.compare if f.hash is None else f.hash)]
    exec(f"def __init__({', '.join(['self', *parameters, *(['*'] if later else []), *later])}):\n"
         + "\n".join(body or [" pass"])
         + "\ndef __eq__(self, other):\n"
         f" return {_values('self', compared)} == {_values('other', compared)} "
         "if other.__class__ is self.__class__ else NotImplemented\n"
         f"def __hash__(self):\n return hash({_values('self', hashed)})\n", names)
    for name in ("__init__", "__eq__", "__hash__"):
        names[name].__qualname__ = f"{cls.__qualname__}.{name}"
    return names


def _values(of: str, names: list[str]) -> str:
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _setattr(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
