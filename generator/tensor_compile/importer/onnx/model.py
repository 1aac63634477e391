# SPDX-License-Identifier: Apache-2.0
"""ONNX's messages as dataclasses, read by one table of fields a message (onnx.proto has the numbers)."""
from __future__ import annotations

from typing import Any, Iterator

from ...records import dataclass
from . import wire
from ..problems import Malformed
from .wire import DEPTH, FIXED32, FIXED64, LENGTH, VARINT


@dataclass(frozen=True, slots=True)
class Entry:
    key: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Dimension:
    """value: None where it is not given."""

    value: int | None = None
    param: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    dims: tuple[Dimension, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorType:
    elem_type: int = 0
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Type:
    """The others are there where the value is no tensor."""

    tensor: TensorType | None = None
    sequence: bytes | None = None
    map: bytes | None = None
    sparse: bytes | None = None
    optional: bytes | None = None
    opaque: bytes | None = None


@dataclass(frozen=True, slots=True)
class ValueInfo:
    name: str = ""
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """The fields as they are in the file; data.py makes bytes of them. *_data: parts, each packed or one number."""

    dims: tuple[int, ...] = ()
    data_type: int = 0
    float_data: tuple[memoryview, ...] = ()
    int32_data: tuple[memoryview | int, ...] = ()
    string_data: tuple[bytes, ...] = ()
    int64_data: tuple[memoryview | int, ...] = ()
    name: str = ""
    raw_data: memoryview | None = None
    double_data: tuple[memoryview, ...] = ()
    uint64_data: tuple[memoryview | int, ...] = ()
    external_data: tuple[Entry, ...] = ()
    data_location: int = 0


@dataclass(frozen=True, slots=True)
class SparseTensor:
    values: Tensor | None = None
    indices: Tensor | None = None
    dims: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str = ""
    f: float = 0.0
    i: int = 0
    s: bytes = b""
    t: Tensor | None = None
    g: Graph | None = None
    floats: tuple[float, ...] = ()
    ints: tuple[int, ...] = ()
    strings: tuple[bytes, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    graphs: tuple[Graph, ...] = ()
    type: int = 0
    ref_attr_name: str = ""
    sparse_tensor: SparseTensor | None = None


@dataclass(frozen=True, slots=True)
class NodeMessage:
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    name: str = ""
    op_type: str = ""
    attribute: tuple[Attribute, ...] = ()
    domain: str = ""
    overload: str = ""
    metadata: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    node: tuple[NodeMessage, ...] = ()
    name: str = ""
    initializer: tuple[Tensor, ...] = ()
    input: tuple[ValueInfo, ...] = ()
    output: tuple[ValueInfo, ...] = ()
    value_info: tuple[ValueInfo, ...] = ()
    sparse_initializer: tuple[SparseTensor, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorSet:
    domain: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Function:
    name: str = ""
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    attribute: tuple[str, ...] = ()
    node: tuple[NodeMessage, ...] = ()
    opset_import: tuple[OperatorSet, ...] = ()
    domain: str = ""
    attribute_proto: tuple[Attribute, ...] = ()
    overload: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    ir_version: int = 0
    producer_name: str = ""
    producer_version: str = ""
    graph: Graph | None = None
    opset_import: tuple[OperatorSet, ...] = ()
    functions: tuple[Function, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """A SequenceProto, which test data has."""

    name: str = ""
    elem_type: int = 0
    tensor_values: tuple[Tensor, ...] = ()


# field number -> (name, kind, whether it repeats); kind: a class, or a word that `_content` knows.
_FIELDS: dict[type, dict[int, tuple[str, Any, bool]]] = {
    Entry: {1: ("key", "text", False), 2: ("value", "text", False)},
    Dimension: {1: ("value", "int", False), 2: ("param", "text", False)},
    Shape: {1: ("dims", Dimension, True)},
    TensorType: {1: ("elem_type", "int", False), 2: ("shape", Shape, False)},
    Type: {1: ("tensor", TensorType, False), 4: ("sequence", "bytes", False), 5: ("map", "bytes", False),
           7: ("opaque", "bytes", False), 8: ("sparse", "bytes", False), 9: ("optional", "bytes", False)},
    ValueInfo: {1: ("name", "text", False), 2: ("type", Type, False)},
    Tensor: {1: ("dims", "ints", True), 2: ("data_type", "int", False), 4: ("float_data", "part", True),
             5: ("int32_data", "part", True), 6: ("string_data", "bytes", True), 7: ("int64_data", "part", True),
             8: ("name", "text", False), 9: ("raw_data", "memory", False), 10: ("double_data", "part", True),
             11: ("uint64_data", "part", True), 13: ("external_data", Entry, True),
             14: ("data_location", "int", False)},
    SparseTensor: {1: ("values", Tensor, False), 2: ("indices", Tensor, False), 3: ("dims", "ints", True)},
    Attribute: {1: ("name", "text", False), 2: ("f", "float", False), 3: ("i", "int", False), 4: ("s", "bytes", False),
                5: ("t", Tensor, False), 6: ("g", Graph, False), 7: ("floats", "floats", True),
                8: ("ints", "ints", True), 9: ("strings", "bytes", True), 10: ("tensors", Tensor, True),
                11: ("graphs", Graph, True),
                20: ("type", "int", False), 21: ("ref_attr_name", "text", False),
                22: ("sparse_tensor", SparseTensor, False)},
    NodeMessage: {1: ("input", "text", True), 2: ("output", "text", True), 3: ("name", "text", False),
                  4: ("op_type", "text", False), 5: ("attribute", Attribute, True), 7: ("domain", "text", False),
                  8: ("overload", "text", False), 9: ("metadata", Entry, True)},
    Graph: {1: ("node", NodeMessage, True), 2: ("name", "text", False), 5: ("initializer", Tensor, True),
            11: ("input", ValueInfo, True), 12: ("output", ValueInfo, True), 13: ("value_info", ValueInfo, True),
            15: ("sparse_initializer", SparseTensor, True)},
    OperatorSet: {1: ("domain", "text", False), 2: ("version", "int", False)},
    Function: {1: ("name", "text", False), 4: ("input", "text", True), 5: ("output", "text", True),
               6: ("attribute", "text", True), 7: ("node", NodeMessage, True), 9: ("opset_import", OperatorSet, True),
               10: ("domain", "text", False), 11: ("attribute_proto", Attribute, True),
               13: ("overload", "text", False)},
    Model: {1: ("ir_version", "int", False), 2: ("producer_name", "text", False),
            3: ("producer_version", "text", False),
            7: ("graph", Graph, False), 8: ("opset_import", OperatorSet, True), 25: ("functions", Function, True)},
    Sequence: {1: ("name", "text", False), 2: ("elem_type", "int", False), 3: ("tensor_values", Tensor, True)},
}


def read(kind: type, view: memoryview, depth: int = 0) -> Any:
    """The message of a class in _FIELDS. Of a field that does not repeat the last one counts; unknown ones are
    skipped."""
    if depth > DEPTH:
        raise Malformed(f"messages are nested more than {DEPTH} deep")
    table = _FIELDS[kind]
    found: dict[str, Any] = {}
    for number, wire_type, content in wire.fields(view):
        about = table.get(number)
        if about is None:
            continue
        name, what, repeats = about
        if repeats:
            found.setdefault(name, []).extend(_content(what, wire_type, content, depth))
        else:
            for value in _content(what, wire_type, content, depth):
                found[name] = value
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in found.items()})


def _content(what: Any, wire_type: int, content: int | memoryview, depth: int) -> Iterator[Any]:
    """The values of one field: several where it is packed."""
    if what in ("int", "ints"):
        if isinstance(content, int):
            yield wire.signed(content)
        elif wire_type == LENGTH and what == "ints":
            yield from map(wire.signed, wire.varints(content))
        else:
            raise Malformed("a number has another wire type")
        return
    if what == "part":
        yield content
        return
    if isinstance(content, int) or wire_type == VARINT:
        raise Malformed("text, bytes or a message is a number")
    if what in ("float", "floats"):
        if wire_type == FIXED64:
            raise Malformed("a float has 8 bytes")
        if what == "float" and wire_type != FIXED32:
            raise Malformed("a float has another wire type")
        yield from wire.floats(content, "f", 4)
        return
    if wire_type != LENGTH:
        raise Malformed("text, bytes or a message has a fixed size")
    if what == "text":
        try:
            yield bytes(content).decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed("a name is no UTF-8") from None
    elif what == "bytes":
        yield bytes(content)
    elif what == "memory":
        yield content
    else:
        yield read(what, content, depth + 1)

