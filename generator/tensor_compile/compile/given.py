# SPDX-License-Identifier: Apache-2.0
"""The user's own tensors for a function: files of inputs and expected outputs, their names, and the sizes they tell."""
from __future__ import annotations

import itertools
from dataclasses import field, replace
from pathlib import Path
from typing import Collection, Iterable, Mapping, Sequence

from ..errors import OptionError, UserError, closest
from ..graph.ir import DimDecl, Guard
from ..loops.program_ir import FunctionPlan
from ..loops.scalar_ir import Buffer
from ..records import dataclass
from ..symbolic import Expr, Sym
from . import imported, numpy_files, tensor_files
from .capture_run import Captured
from .tensor_files import Tensor

MOST_SIZES = 100_000   # of a dim that are tried where a shape is no multiple of it


@dataclass(frozen=True, slots=True)
class Case:
    """One call: a file of inputs, and one of expected outputs, "" for none. arrays, arrays_expected: .npy files of
    tensors, by the model's name, that these lack."""

    inputs: str
    expect: str = ""
    arrays: Mapping[str, str] = field(default_factory=dict)
    arrays_expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Given:
    """The tensors of a file under the model's names. names: the model's name -> the file's, where they differ. apart:
    the files of tensors that have one of their own, by the model's name; alone: what these have. copied: the file is
    none that programs read, so its tensors have to be copied to one."""

    shown: str
    tensors: Mapping[str, Tensor]
    names: Mapping[str, str]
    apart: Mapping[str, str] = field(default_factory=dict)
    alone: Mapping[str, Tensor] = field(default_factory=dict)
    copied: bool = False

    @staticmethod
    def read(shown: str, names: Mapping[str, str]) -> "Given":
        """Of a safetensors file or a .npz."""
        path = Path(shown)
        with tensor_files.opened(path, shown) as f:
            begin = f.read(len(numpy_files.ARRAY))
        if begin == numpy_files.ARRAY:
            raise UserError("one array, where tensors by name are read", shown, "np.savez(FILE, NAME=x) writes an "
                            "array with its name; --input NAME=FILE takes it as it is, for `check` --expect "
                            "NAME=FILE, too")
        if begin.startswith(numpy_files.ARCHIVE):
            return Given(shown, numpy_files.Archive(path, shown), names, copied=True)
        return Given(shown, tensor_files.read(path, shown), names)

    @staticmethod
    def of(file: str, arrays: Mapping[str, str], names: Mapping[str, str], shown: str) -> "Given":
        """Of a file, "" for none, and .npy files. shown: what is named where there is no file."""
        return (Given.read(file, names) if file else Given(shown, {}, names)).beside(arrays)

    def beside(self, apart: Mapping[str, str]) -> "Given":
        """With tensors of files of their own, .npy, by the model's name."""
        alone = {name: numpy_files.read_array(Path(file), file) for name, file in apart.items()}
        return replace(self, apart=apart, alone=alone)

    def place(self, name: str) -> str:
        """The file that has the tensor."""
        return self.apart.get(name, self.shown)

    def find(self, name: str) -> Tensor | None:
        return self.alone[name] if name in self.alone else self.tensors.get(self._name(name))

    def _name(self, name: str) -> str:
        """Of several files one may have the model's own name."""
        other = self.names.get(name, name)
        return name if other not in self.tensors and name in self.tensors else other

    def has(self, buffers: Iterable[Buffer]) -> bool:
        return all(self.find(b.name) is not None for b in buffers)

    def missing(self, buffers: Iterable[Buffer]) -> list[str]:
        return [b.name for b in buffers if self.find(b.name) is None]

    def require(self, buffer: Buffer, what: str) -> Tensor:
        tensor = self.find(buffer.name)
        name = self._name(buffer.name)
        if tensor is None:
            raise UserError(f'no tensor "{name}" for the {what} {buffer.name}', self.shown,
                            closest(name, self.tensors) + f"the file has {', '.join(self.tensors) or 'no tensors'}; "
                            f"--map {buffer.name}=NAME takes another")
        return tensor

    def besides(self, wanted: Iterable[str]) -> list[str]:
        """Tensors of the files that are none of these and that --map does not name."""
        return [name for name in (*self.tensors, *self.alone) if name not in {*wanted, *self.names.values()}]

    def renamed(self, wanted: list[str], path: Path) -> Path:
        """The file itself, or one at `path` in which the wanted tensors have the model's names. Of a file that has to
        be copied nothing else is there."""
        if not (self.names or self.apart or self.copied):
            return Path(self.shown)
        kept = {name: found for name in wanted if name not in self.alone and (found := self.find(name)) is not None}
        others = {} if self.copied else {name: t for name, t in self.tensors.items()
                                         if name not in {*self.names.values(), *kept, *self.alone}}
        here = [(Path(self.shown), {**kept, **others})] if kept or others else []
        tensor_files.write(path, *here, *((Path(file), {name: self.alone[name]}) for name, file in self.apart.items()))
        return path


def refuse_arrays(option: str, arrays: Mapping[str, str], function: FunctionPlan, buffers: Sequence[Buffer],
                  shown: str) -> None:
    """Raises where a .npy is that of no input, or of no output. option: the one that names them."""
    names, what = [b.name for b in buffers], "input" if option == "--input" else "output"
    for name, file in arrays.items():
        if name not in names:
            raise OptionError(f"{option} {name}={file}: {function.name} has no {what} {name!r}", shown,
                              closest(name, names) + f"its {what}s: {', '.join(names) or 'none'}")


def refuse_missing(left: Sequence[str], function: FunctionPlan, arrays: Mapping[str, str], shown: str) -> None:
    """Raises where inputs are left that none of the .npy files is, and there is no other file."""
    if left:
        missing = f"--input of {', '.join(left)}" if arrays else "--inputs"
        raise OptionError(f"{missing} is missing: {function.name} takes {', '.join(b.name for b in function.inputs)}",
                          shown, "--inputs FILE has them by name (safetensors, or a .npz of NumPy), --input "
                          "NAME=FILE.npy is one of them, --seed 1 makes up the others")


def write_state(start: Given, states: Sequence[Buffer], path: Path) -> None:
    """The states of the user's file, at `path`. Raises where it lacks one, or has another type of it."""
    for buffer in states:
        tensor = start.require(buffer, "state")
        if tensor.dtype != buffer.dtype or tensor.shape != tuple(size.value for size in buffer.shape):
            raise UserError(f"state {buffer.name}: the file has {tensor}, the model takes {type_text(buffer)}",
                            start.shown)
    tensor_files.write(path, (Path(start.shown), {b.name: start.tensors[b.name] for b in states}))


def refuse_names(names: Mapping[str, str], known: Collection[str], files: Sequence[Given]) -> None:
    """Raises where --map has a name that is none of the model's tensors that files have (known), or one of a tensor
    that none of the files has."""
    tensors = list(dict.fromkeys(name for f in files for name in f.tensors))
    shown = ", ".join(dict.fromkeys(f.shown for f in files))
    for name, other in names.items():
        if name not in known:
            raise OptionError(f"--map {name}={other}: the model has no {name!r} for which a file is read", "",
                              closest(name, known) + f"it has {', '.join(known) or 'nothing'}")
        if other not in tensors:
            raise UserError(f'--map {name}={other}: no tensor "{other}"', shown,
                            closest(other, tensors) + f"the file has {', '.join(tensors) or 'no tensors'}")


def sizes(function: FunctionPlan, given: Given, fixed: Mapping[str, int], captured: Captured,
          made_up: Collection[str] = ()) -> dict[str, int]:
    """The size of every dim, from the shapes of the inputs. fixed: those that the user named; made_up: inputs that are
    not given. Raises where the shapes are none that the function takes."""
    refuse_named(function, fixed, captured)
    values: dict[Sym, int] = {d.sym: fixed[d.sym.name] for d in function.dims if d.sym.name in fixed}
    found = [(b, given.require(b, "input")) for b in function.inputs if b.name not in made_up]
    for buffer, tensor in found:
        if tensor.dtype != buffer.dtype or len(tensor.shape) != len(buffer.shape):
            raise UserError(f"input {buffer.name}: the file has {tensor}, the model takes {type_text(buffer)}",
                            given.place(buffer.name), numpy_files.cast(buffer.dtype, tensor.dtype)
                            if len(tensor.shape) == len(buffer.shape)
                            and (given.copied or buffer.name in given.apart) else "")
    equations = [(given.place(b.name), f"axis {axis} of the input {b.name} in {given.place(b.name)}", size, n)
                 for b, t in found for axis, (size, n) in enumerate(zip(b.shape, t.shape))]
    # Of dims that the model needs equal only one is in the shapes: guards tell the other one.
    equations += [(given.shown, f"the model's guard {guard.name}", guard.lhs - guard.rhs, 0)
                  for guard in function.guards if guard.relation == "=="]
    places: dict[str, str] = {}     # of what tells a size: its file
    origins = {s: f"{s.name} = {size} by --dims" for s, size in values.items()}     # and what it is
    while True:
        told = next(((s, fit[0], place, by) for place, by, size, n in equations
                     for s in [_only_unknown(size, values)] if s is not None
                     for fit in [_solutions(size, s, n, values)] if len(fit) == 1), None)
        if told is None:
            break
        sym, value, place, by = told
        values[sym], places[sym.name] = value, place
        origins[sym] = f"{sym.name} = {value} by {by}"
    named = {s.name: value for s, value in values.items()}
    for buffer, tensor in found:
        for axis, (size, n) in enumerate(zip(buffer.shape, tensor.shape)):
            begin = f"input {buffer.name}: the file has {tensor}, the model takes {type_text(buffer)}: " \
                    f"axis {axis} is {n}"
            unknown = _only_unknown(size, values)
            if unknown is not None and not _solutions(size, unknown, n, values):
                multiple = f", a multiple of {unknown.divisor}," if unknown.divisor > 1 else ""
                dim = next(d for d in function.dims if d.sym == unknown)
                raise UserError(f"{begin}, which no {unknown.name}{multiple} gives", given.place(buffer.name),
                                declared(dim, captured))
            if all(s in values for s in size.symbols()) and size.evaluate(values) != n:
                raise UserError(f"{begin}, not {size.evaluate(values)}", given.place(buffer.name),
                                "; ".join(origins[s] for s in sorted(size.symbols(), key=lambda s: s.name)))
    for dim in function.dims:
        if dim.sym.name not in named:
            raise OptionError(f"the shapes of the inputs do not tell the dim {dim.sym.name}", given.shown,
                              f"name it: --dims {dim.sym.name}=SIZE")
    for name, place in places.items():
        _refuse(function, {name: named[name]}, captured, place)
    refuse_guards(function, named, captured, given.shown)
    return {d.sym.name: named[d.sym.name] for d in function.dims}


def refuse_named(function: FunctionPlan, named: Mapping[str, int], captured: Captured) -> None:
    """Raises where one of the sizes that --dims names is none that its dim takes."""
    _refuse(function, named, captured, captured.shown, "--dims: ")


def _refuse(function: FunctionPlan, named: Mapping[str, int], captured: Captured, where: str, by: str = "") -> None:
    """Raises where the dims do not take the sizes of theirs that are known. where, by: what gave these."""
    for dim in function.dims:
        s, size = dim.sym, named.get(dim.sym.name)
        if size is not None and not s.takes(size):
            most = "" if s.hi is None else s.hi
            wrong = f"no multiple of {s.divisor}" if size % s.divisor else f"not in {s.lo}..{most}"
            raise OptionError(f"{by}{s.name} = {size} is {wrong}", where, declared(dim, captured))


def declared(dim: DimDecl, captured: Captured) -> str:
    """A hint: what declares the range."""
    name = dim.sym.name
    if imported.is_foreign(captured.shown):
        return f"--dim {name}=LOW:HIGH gives another range"
    return f"the range of {name} is declared at {captured.as_given(str(dim.loc))}" if dim.loc else ""


def refuse_guards(function: FunctionPlan, sizes: Mapping[str, int], captured: Captured, where: str) -> None:
    """Raises where the sizes break a guard. where: what gave them."""
    failed = failed_guard(function, sizes)
    if failed is not None:
        raise OptionError(f"the sizes break the guard {failed.name!r} of {function.name}", where,
                          f"{captured.as_given(str(failed.loc))} needs it" if failed.loc else "")


def failed_guard(function: FunctionPlan, sizes: Mapping[str, int]) -> Guard | None:
    """The first guard that the sizes break."""
    values = {d.sym: sizes[d.sym.name] for d in function.dims}
    for guard in function.guards:
        left, right = guard.lhs.evaluate(values), guard.rhs.evaluate(values)
        if not (left == right if guard.relation == "==" else left >= right):
            broken: Guard = guard
            return broken
    return None


def type_text(buffer: Buffer) -> str:
    return f"{buffer.dtype}[{','.join(map(str, buffer.shape))}]"


def _only_unknown(size: Expr, values: Mapping[Sym, int]) -> Sym | None:
    unknown = [s for s in size.symbols() if s not in values]
    return unknown[0] if len(unknown) == 1 else None


def _solutions(size: Expr, s: Sym, n: int, values: Mapping[Sym, int]) -> list[int]:
    """The values of `s` for which the size is n: none, the one, or two of several."""
    def at(value: int) -> int:
        return size.evaluate({**values, s: value})

    step = at(s.divisor) - at(0)
    if step and (n - at(0)) % step == 0:
        value = (n - at(0)) // step * s.divisor
        if at(value) == n and not any(s.takes(v) and at(v) == n for v in (value - s.divisor, value + s.divisor)):
            return [value]
    upper = min(s.hi, MOST_SIZES) if isinstance(s.hi, int) else MOST_SIZES   # a division or a larger one of two: tried
    fit = (v for v in range(s.lo, upper + 1) if v % s.divisor == 0 and at(v) == n)
    return list(itertools.islice(fit, 2))
