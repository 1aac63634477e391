# SPDX-License-Identifier: Apache-2.0
"""The file as tensors and operators."""
from __future__ import annotations

from dataclasses import field

from ...records import dataclass
from ..problems import Malformed
from .flatbuffer import Buffer, Table
from .schema import CUSTOM, IDENTIFIER, OPERATIONS, VERSION

MOST_AXES = 8


@dataclass(frozen=True, slots=True)
class Quantization:
    """(q - zeros) * scales: one number each, or one a slice of the axis; no scales: not quantized."""

    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """dtype: the format's number of it. data: of a constant. signature: the shape with -1 for sizes that may differ."""

    name: str
    dtype: int
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    data: memoryview | None
    quantization: Quantization
    is_variable: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """inputs and outputs: numbers of tensors, -1 for an input that is left out. options: None where there are none."""

    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Table | None
    custom: str = ""


@dataclass(slots=True)
class Graph:
    tensors: list[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: list[Operator]
    names: dict[int, str] = field(default_factory=dict)   # of inputs and outputs, where a signature gives them


@dataclass(slots=True)
class Model:
    graphs: list[Graph]   # the first one is the model, operators run others
    description: str


def read(data: memoryview) -> Model:
    root = Buffer(data, IDENTIFIER).root
    version = root.integer(0, "u32")
    if version != VERSION:
        raise Malformed(f"version {version} of the format; {VERSION} is known")
    codes = [_code(t) for t in root.tables(1)]
    buffers = [_bytes(t, data) for t in root.tables(4)]
    graphs = list(root.tables(2))
    if not graphs:
        raise Malformed("it has no graph")
    found = [_graph(t, codes, buffers) for t in graphs]
    found[0].names = _signature(root, len(found[0].tensors))
    return Model(found, root.text(3))


def _code(t: Table) -> tuple[int, str, int]:
    """An operation that the graph uses: its number, the name of a custom one, its version."""
    number = max(t.integer(0, "i8"), t.integer(3))
    return number, t.text(1), t.integer(2, default=1)


def _bytes(t: Table, data: memoryview) -> memoryview | None:
    """A buffer's content, in its own vector or behind the flatbuffer; None where it has none."""
    offset, size = t.integer(1, "u64"), t.integer(2, "u64")
    if offset > 1:
        if offset + size > len(data):
            raise Malformed("a buffer leads out of the file")
        return data[offset:offset + size]
    found = t.bytes(0)
    return found if len(found) else None


def _quantization(t: Table | None) -> Quantization:
    if t is None:
        return Quantization()
    if t.integer(4, "u8"):
        raise Malformed("a quantization of the user's own")
    scales = tuple(float(v) for v in t.numbers(2, "f32"))
    zeros = t.integers(3, "i64")
    if len(zeros) != len(scales):
        if zeros:
            raise Malformed(f"{len(scales)} scales and {len(zeros)} zero points")
        zeros = (0,) * len(scales)
    return Quantization(scales, zeros, t.integer(6))


def _tensor(t: Table, buffers: list[memoryview | None]) -> Tensor:
    shape, signature, buffer, name = t.integers(0), t.integers(7), t.integer(2, "u32"), t.text(3)
    if len(shape) > MOST_AXES or signature and len(signature) != len(shape) or any(s < 0 for s in shape):
        raise Malformed(f"the tensor {name!r} has the shape {list(shape)[:MOST_AXES + 1]}")
    if buffer >= len(buffers):
        raise Malformed(f"the tensor {name!r} is in buffer {buffer} of {len(buffers)}")
    if t.table(6) is not None:
        raise Malformed(f"the tensor {name!r} is stored as a sparse one")
    return Tensor(name, t.integer(1, "i8"), shape, signature or shape, buffers[buffer], _quantization(t.table(4)),
                  bool(t.integer(5, "bool")))


def _graph(t: Table, codes: list[tuple[int, str, int]], buffers: list[memoryview | None]) -> Graph:
    tensors = [_tensor(x, buffers) for x in t.tables(0)]

    def numbers(found: tuple[int, ...], least: int) -> tuple[int, ...]:
        for i in found:
            if not least <= i < len(tensors):
                raise Malformed(f"tensor {i} of {len(tensors)}")
        return found

    operators = []
    for x in t.tables(3):
        code = x.integer(0, "u32")
        if code >= len(codes):
            raise Malformed(f"operation {code} of {len(codes)}")
        number, custom, version = codes[code]
        if not 0 <= number < len(OPERATIONS):
            name = f"builtin operation {number}"
        else:
            name = OPERATIONS[number]
        options = x.table(4)
        operators.append(Operator(name, version, numbers(x.integers(1), -1), numbers(x.integers(2), 0),
                                  options if options is not None else x.table(12),   # newer operations' lie there
                                  custom if number == CUSTOM else ""))
    return Graph(tensors, numbers(t.integers(1), 0), numbers(t.integers(2), 0), operators)


def _signature(root: Table, tensors: int) -> dict[int, str]:
    """The names that the first signature of the first graph gives to inputs and outputs."""
    for t in root.tables(7):
        if t.integer(4, "u32") == 0:
            named = [(x.integer(1, "u32"), x.text(0)) for field in (0, 1) for x in t.tables(field)]
            return {i: name for i, name in named if i < tensors and name}
    return {}
