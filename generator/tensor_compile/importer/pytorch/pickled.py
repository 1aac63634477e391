# SPDX-License-Identifier: Apache-2.0
"""The tensors of a file of torch.save, where PyTorch before 2.9 keeps the weights of an archive. Nothing is unpickled:
the operations of its pickle are read one by one by a machine that has tensors, numbers, words, tuples and tables alone.
It looks up no class and calls nothing; what it does not know is an error."""
from __future__ import annotations

import pickletools
from typing import Any, Callable, Mapping, Sequence

from ...records import dataclass
from ..problems import Malformed, Unsupported

MOST_BYTES = 1 << 26       # of a pickle, which has no elements of tensors
_MARK = object()


@dataclass(frozen=True, slots=True)
class Name:
    """A class or function that the pickle names."""

    text: str


@dataclass(frozen=True, slots=True)
class Storage:
    """Elements in the member data/KEY. dtype: torch.export's number of it, 0: of bytes."""

    key: str
    dtype: int


@dataclass(frozen=True, slots=True)
class Tensor:
    storage: Storage
    dtype: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def entry(self) -> Mapping[str, Any]:
        """As newer archives describe a tensor."""
        return {"tensor_meta": {"dtype": self.dtype, "storage_offset": {"as_int": self.offset},
                                "sizes": [{"as_int": s} for s in self.sizes],
                                "strides": [{"as_int": s} for s in self.strides]}}


_STORAGES = {"Byte": 1, "Char": 2, "Short": 3, "Int": 4, "Long": 5, "Half": 6, "Float": 7, "Double": 8,
             "ComplexFloat": 10, "ComplexDouble": 11, "Bool": 12, "BFloat16": 13, "Untyped": 0}
# Element types that have no storage of their own.
_DTYPES = {"torch uint16": 28, "torch float8_e4m3fn": 29, "torch float8_e5m2": 30, "torch float8_e4m3fnuz": 31,
           "torch float8_e5m2fnuz": 32}


def _storage(words: object) -> Storage:
    """('storage', class, key, device, number of elements)"""
    match words:
        case ("storage", Name(text), str(key), str(), int()):
            name = text.removeprefix("torch.storage ").removeprefix("torch ").removesuffix("Storage")
            if name in _STORAGES:
                return Storage(key, _STORAGES[name])
            raise Unsupported(f"tensors of {text.replace(' ', '.')}")
    raise Malformed("its pickle has a storage of another form")


def _whole(found: object) -> tuple[int, ...]:
    if not isinstance(found, tuple) or not all(type(x) is int for x in found):
        raise Malformed("its pickle has sizes that are no numbers")
    return found


def _tensor(arguments: Sequence[object]) -> Tensor:
    """(storage, offset, sizes, strides, …)"""
    match arguments:
        case (Storage() as storage, int(offset), sizes, strides, *_):
            return Tensor(storage, storage.dtype, offset, _whole(sizes), _whole(strides))
    raise Malformed("its pickle has a tensor of another form")


def _typed(arguments: Sequence[object]) -> Tensor:
    """(storage of bytes, offset, sizes, strides, gradient, hooks, element type, …)"""
    tensor = _tensor(arguments)
    name = arguments[6] if len(arguments) > 6 else None
    if not isinstance(name, Name) or name.text not in _DTYPES:
        raise Unsupported(f"tensors of {name.text.replace(' ', '.') if isinstance(name, Name) else 'no type'}")
    return Tensor(tensor.storage, _DTYPES[name.text], tensor.offset, tensor.sizes, tensor.strides)


def _first(arguments: Sequence[object]) -> object:
    if not arguments:
        raise Malformed("its pickle has a parameter of another form")
    return arguments[0]


# What a pickle of tensors calls, and what the machine does for it.
_FUNCTIONS: dict[str, Callable[[Sequence[object]], object]] = {
    "torch._utils _rebuild_tensor_v2": _tensor, "torch._utils _rebuild_tensor_v3": _typed,
    "torch._utils _rebuild_parameter": _first, "torch._utils _rebuild_parameter_with_state": _first,
    "collections OrderedDict": lambda arguments: {}}


class _Machine:
    """stack and memo of a pickle's operations."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, object] = {}

    def pop(self) -> Any:
        if not self.stack:
            raise Malformed("its pickle takes more than it has")
        return self.stack.pop()

    def marked(self) -> list[Any]:
        """What lies above the last mark."""
        found: list[Any] = []
        while (value := self.pop()) is not _MARK:
            found.append(value)
        return found[::-1]

    def put(self, pairs: Sequence[Any]) -> None:
        """Keys and values in turn into the table that is on top."""
        table = self.stack[-1] if self.stack else None
        if not isinstance(table, dict) or len(pairs) % 2 or not all(isinstance(k, (str, int)) for k in pairs[::2]):
            raise Malformed("its pickle has a table of another form")
        table.update(zip(pairs[::2], pairs[1::2]))

    def add(self, values: Sequence[Any]) -> None:
        held = self.stack[-1] if self.stack else None
        if not isinstance(held, list):
            raise Malformed("its pickle has a list of another form")
        held.extend(values)

    def call(self) -> object:
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise Malformed("its pickle calls what is no function")
        if function.text not in _FUNCTIONS:
            raise Unsupported(f"a tensor that {function.text.replace(' ', '.')} makes", "only plain tensors are read")
        return _FUNCTIONS[function.text](arguments)

    def step(self, operation: str, given: Any) -> None:
        match operation:
            case "PROTO" | "FRAME" | "STOP":
                pass
            case "MARK":
                self.stack.append(_MARK)
            case "EMPTY_DICT":
                self.stack.append({})
            case "EMPTY_LIST":
                self.stack.append([])
            case "EMPTY_TUPLE":
                self.stack.append(())
            case "TUPLE":
                self.stack.append(tuple(self.marked()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                self.stack.append(tuple([self.pop() for _ in range(int(operation[-1]))][::-1]))
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                self.stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[operation])
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINUNICODE" | "SHORT_BINUNICODE" | "BINFLOAT":
                self.stack.append(given)
            case "GLOBAL":
                self.stack.append(Name(given))
            case "STACK_GLOBAL":
                name, module = self.pop(), self.pop()
                self.stack.append(Name(f"{module} {name}"))
            case "BINPUT" | "LONG_BINPUT" | "MEMOIZE":
                self.memo[len(self.memo) if given is None else given] = self.stack[-1] if self.stack else self.pop()
            case "BINGET" | "LONG_BINGET":
                if given not in self.memo:
                    raise Malformed("its pickle asks for what it has not kept")
                self.stack.append(self.memo[given])
            case "BINPERSID":
                self.stack.append(_storage(self.pop()))
            case "REDUCE":
                self.stack.append(self.call())
            case "BUILD":      # attributes of a table: of no use here
                self.pop()
            case "SETITEM":
                value, key = self.pop(), self.pop()
                self.put((key, value))
            case "SETITEMS":
                self.put(self.marked())
            case "APPEND":
                value = self.pop()
                self.add((value,))
            case "APPENDS":
                self.add(self.marked())
            case _:
                raise Unsupported(f"the operation {operation} of a pickle", "only plain tensors are read")


def tensors(pickle: bytes) -> dict[str, Tensor | None]:
    """Of a table of them by name; None: something else."""
    if len(pickle) > MOST_BYTES:
        raise Malformed(f"its pickle has {len(pickle)} bytes")
    machine = _Machine()
    try:
        for operation, given, _ in pickletools.genops(pickle):
            machine.step(operation.name, given)
    except (ValueError, UnicodeError) as error:
        raise Malformed(f"its pickle cannot be read ({error})") from None
    found = machine.pop()
    if not isinstance(found, dict):
        raise Malformed("its pickle is no table of tensors")
    return {str(name): value if isinstance(value, Tensor) else None for name, value in found.items()}
