# SPDX-License-Identifier: Apache-2.0
"""A .pt2 file: a zip archive of a JSON program and raw tensors. Nothing in it is unpickled, and nothing is believed.

PyTorch 2.9 and newer write each tensor as a member, described in JSON; older ones have files of torch.save, which
are archives themselves (pickled.py): data/weights/model.pt in 2.8, serialized_state_dict.pt before."""
from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from ...errors import UserError
from ...records import dataclass
from ..mapped import BLOCK, opening
from ..problems import Malformed, Unsupported
from ..values import DTYPES
from . import pickled
from .members import DAMAGED, HINT, Member, Place, opened

# torch.export's numbers of element types (its ScalarType), and of those that are not here the words for messages.
TYPES = {1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f16", 7: "f32", 8: "f64", 12: "bool", 13: "bf16",
         28: "u16"}
# Of complex ones the element type of their two parts.
COMPLEX = {10: "f32", 11: "f64"}
OTHERS = {9: "complex32", 10: "complex64", 11: "complex128", 29: "float8_e4m3fn", 30: "float8_e5m2",
          31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz"}
SCHEMAS = (7, 8)            # the major versions that are read
MOST_JSON = 1 << 30         # bytes of the program
MOST_MEMBERS = 1 << 20

Json = Mapping[str, Any]


def dtype_of(number: int) -> str:
    if number not in TYPES:
        raise Unsupported(f"tensors of {OTHERS.get(number, f'element type {number}')}")
    return TYPES[number]


def parts_of(number: int) -> tuple[str, int]:
    """The element type that a tensor has here, and how many of it make one of PyTorch's elements: two where it is
    complex, as a last axis."""
    return (COMPLEX[number], 2) if number in COMPLEX else (dtype_of(number), 1)


@dataclass(frozen=True, slots=True)
class Strided:
    """The row-major bytes of a tensor that lies otherwise in its storage (a transposed or sliced weight). storage: from
    the tensor's first element on; strides count elements."""

    storage: Member
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int

    @property
    def length(self) -> int:
        total = self.size
        for s in self.shape:
            total *= s
        return total

    def blocks(self) -> Iterator[bytes]:
        content = memoryview(b"".join(self.storage.blocks()))
        size = self.size

        def rows(axis: int, at: int) -> Iterator[bytes]:
            count, stride = self.shape[axis], self.strides[axis]
            if axis + 1 < len(self.shape):
                for i in range(count):
                    yield from rows(axis + 1, at + i * stride)
            elif stride == 1:
                yield bytes(content[at * size:(at + count) * size])
            else:
                yield b"".join(content[(at + i * stride) * size:(at + i * stride + 1) * size] for i in range(count))

        if self.length:
            yield from rows(0, 0)


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor of the archive. alias: equal for tensors that are the same elements of one storage; complex: whether the
    last axis has the two parts of its elements."""

    dtype: str
    shape: tuple[int, ...]
    data: Member | Strided
    alias: tuple[object, ...]
    complex: bool = False


class Archive:
    """program: the JSON of the exported program; dims: names of sizes that the export script kept, by PyTorch's
    symbol."""

    def __init__(self, path: Path, shown: str):
        self.path, self.shown = path, shown
        try:
            with opening(shown, "an archive"), zipfile.ZipFile(path) as z:
                infos = z.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise UserError(f"no archive of torch.export.save ({error})", shown, HINT) from None
        if len(infos) > MOST_MEMBERS:
            raise Malformed(f"the archive has {len(infos)} members")
        self._sizes = {i.filename: i.file_size for i in infos}
        self.program = self._program()
        self._weights = self._table("weights", "serialized_state_dict")
        self._constants = self._table("constants", "serialized_constants")

    # -- members
    # -----------------------------------------------------------------------------------------------------------
    def _named(self, *endings: str) -> list[str]:
        return sorted(name for name in self._sizes if any(("/" + name).endswith(e) for e in endings))

    def _json(self, name: str) -> Json:
        if self._sizes[name] > MOST_JSON:
            raise Malformed(f"{name} would have {self._sizes[name]} bytes")
        try:
            with zipfile.ZipFile(self.path) as z, z.open(name) as f:
                # In blocks: a size that is a lie asks for no memory.
                found = json.loads(b"".join(iter(lambda: f.read(BLOCK), b"")))
        except (ValueError, RecursionError):
            raise Malformed(f"{name} is no JSON") from None
        except DAMAGED as error:
            raise Malformed(f"{name} cannot be read ({error})") from None
        if not isinstance(found, dict):
            raise Malformed(f"{name} is no JSON object")
        return found

    def _program(self) -> Json:
        names = [n for n in self._sizes if n.endswith(".json") and "/models/" in "/" + n] \
            or self._named("/serialized_exported_program.json")
        if not names:
            raise UserError("the archive has no program", self.shown, HINT)
        if len(names) > 1:
            raise UserError(f"the archive has several programs: {', '.join(sorted(names))}", self.shown,
                            "save one program an archive")
        program = self._json(names[0])
        version = program.get("schema_version")
        major = version.get("major") if isinstance(version, dict) else None
        if major not in SCHEMAS:
            raise UserError(f"the program is of schema version {major}; versions {SCHEMAS[0]} to {SCHEMAS[-1]} can be "
                            "read", self.shown, "export the module again: PyTorch 2.5 to 2.15 write these")
        return program

    def _table(self, kind: str, old: str) -> dict[str, tuple[Place, Json]]:
        """Names of tensors to members and their descriptions. old: the file of torch.save in archives before 2.8."""
        found: dict[str, tuple[Place, Json]] = {}
        for config in self._named(f"_{kind}_config.json"):
            folder = config.rpartition("/")[0]
            entries = self._json(config).get("config")
            if not isinstance(entries, dict):
                raise Malformed(f"{config} has no table of tensors")
            for name, entry in entries.items():
                if not isinstance(entry, dict) or not isinstance(entry.get("path_name"), str):
                    raise Malformed(f"{config} does not say where {name!r} lies")
                found[name] = self._place(f"{folder}/{entry['path_name']}"), entry
        for file in self._named(f"/{old}.pt", f"/data/{kind}/model.pt"):
            found |= self._pickled(file)
        return found

    def _place(self, name: str) -> Place:
        return Place(name, self._sizes.get(name, -1))

    def _pickled(self, file: str) -> dict[str, tuple[Place, Json]]:
        """The tensors of a file of torch.save."""
        if not self._sizes[file]:
            return {}
        try:
            with opened(self.path, file) as z:
                sizes = {i.filename: i.file_size for i in z.infolist()}
                name = next((n for n in sizes if n.endswith("/data.pkl")), "")
                if not name or sizes[name] > pickled.MOST_BYTES:
                    raise Malformed(f"{file} has no pickle of at most {pickled.MOST_BYTES} bytes")
                folder = name.removesuffix("data.pkl")
                if folder + "byteorder" in sizes and z.read(folder + "byteorder") != b"little":
                    raise Unsupported("numbers whose first byte is the highest")
                tensors = pickled.tensors(z.read(name))
        except DAMAGED as error:
            raise Malformed(f"{file} cannot be read ({error})") from None
        found: dict[str, tuple[Place, Json]] = {}
        for key, tensor in tensors.items():
            if tensor is None:
                found[key] = Place(file, -1), {"use_pickle": True}
            else:
                member = f"{folder}data/{tensor.storage.key}"
                found[key] = Place(member, sizes.get(member, -1), file), tensor.entry
        return found

    # -- tensors
    # -----------------------------------------------------------------------------------------------------------
    def weight(self, name: str) -> Stored:
        return self._stored(name, *self._find(self._weights, name, "weight"))

    def constant(self, name: str) -> Stored:
        found = self._constants if name in self._constants else self._weights
        return self._stored(name, *self._find(found, name, "constant"))

    def _find(self, table: dict[str, tuple[Place, Json]], name: str, kind: str) -> tuple[Place, Json]:
        if name not in table:
            raise Malformed(f"the archive has no {kind} {name!r}")
        return table[name]

    def _stored(self, name: str, place: Place, entry: Json) -> Stored:
        if entry.get("use_pickle"):
            raise Unsupported(f"the tensor {name!r} is pickled", "only plain tensors are read")
        if place.size < 0:
            raise Malformed(f"the archive has no member {place.name} for {name!r}")
        meta = entry.get("tensor_meta")
        if not isinstance(meta, dict):
            raise Malformed(f"the tensor {name!r} has no type")
        dtype, parts = parts_of(number(meta, "dtype"))
        shape = tuple(whole(s, name) for s in items(meta, "sizes"))
        strides = tuple(whole(s, name) for s in items(meta, "strides"))
        offset = whole(meta.get("storage_offset", {"as_int": 0}), name)
        size = DTYPES[dtype][0]
        if len(strides) != len(shape) or min((*shape, *strides, offset), default=0) < 0:
            raise Malformed(f"the tensor {name!r} has the sizes {list(shape)} and the strides {list(strides)}")
        if parts == 2:
            shape, strides, offset = (*shape, 2), (*(2 * s for s in strides), 1), 2 * offset
        count, row_major, last = 1, True, 0
        for s, stride in zip(reversed(shape), reversed(strides)):
            row_major &= s == 1 or stride == count
            count *= s
            last += (s - 1) * stride
        extent = (last + 1) * size if count else 0
        if (offset * size + extent) > place.size:
            raise Malformed(f"the tensor {name!r} needs {offset * size + extent} bytes, {place.name} has {place.size}")
        storage = Member(self.path, place, offset * size, extent)
        if not row_major and count * size > max(16 * extent, 1 << 20):
            raise Malformed(f"the tensor {name!r} repeats few elements {count} times")
        data = storage if row_major or not count else Strided(storage, shape, strides, size)
        return Stored(dtype, shape, data, (place, offset, dtype, shape, strides, parts), parts == 2)


# -- what JSON gives
# --------------------------------------------------------------------------------------------------------
def _entry(of: object, key: str) -> object:
    return of.get(key) if isinstance(of, dict) else None


def items(of: object, key: str) -> Sequence[Any]:
    found = _entry(of, key)
    if not isinstance(found, list):
        raise Malformed(f"{key} is missing or no list")
    return found


def listed(found: object) -> list[Any]:
    if not isinstance(found, list):
        raise Malformed(f"no list: {str(found)[:80]}")
    return found


def member(of: object, key: str) -> Json:
    found = _entry(of, key)
    if not isinstance(found, dict):
        raise Malformed(f"{key} is missing or no object")
    return found


def text(of: object, key: str) -> str:
    found = _entry(of, key)
    if not isinstance(found, str):
        raise Malformed(f"{key} is missing or no text")
    return found


def number(of: object, key: str) -> int:
    found = _entry(of, key)
    if not isinstance(found, int) or isinstance(found, bool):
        raise Malformed(f"{key} is missing or no number")
    return found


def whole(size: object, name: str) -> int:
    """A size that must be a number."""
    found = size.get("as_int") if isinstance(size, dict) else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise Malformed(f"the stored tensor {name!r} has a size that is no number")
    return found
