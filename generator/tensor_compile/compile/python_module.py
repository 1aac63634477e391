# SPDX-License-Identifier: Apache-2.0
"""`--emit python`: a shared library of the model and the runtime, and a module that calls it by ctypes and NumPy."""

from __future__ import annotations

import re
from pathlib import Path

from ..emit.interface import Entry, interface
from ..loops.scalar_ir import Buffer
from ..symbolic import Expr
from . import assemble, files, toolchain
from .assemble import Made
from .host_programs import HOSTED, RUNTIME
from .options import Options
from .tools import run_tool

# By the number of tc_dtype; bf16 by its bits.
NUMBERS = ("f32", "i32", "i64", "bool", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "u32", "u64")
NUMPY = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "bf16": "uint16",
    "bool": "bool_",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
}
BASE = Path(__file__).with_name("python_module.txt")


def write(made: Made, options: Options) -> list[Path]:
    """The library and the module, both or none."""
    paths = [Path(options.object), Path(options.header)]
    cache = options.open_cache()
    with files.Outputs() as outputs, cache.scratch() as scratch:
        model, library = Path(scratch) / "model.o", Path(scratch) / "model.so"
        with files.Outputs() as linked:
            assemble.link_object(made, cache, model, linked)
        flags = (*made.target.flags, *toolchain.host_flags(options.cflags, made.compiler.arch))
        sources = [*sorted((RUNTIME / "core").glob("*.c")), *HOSTED]
        run_tool(
            [
                *made.compiler.command,
                "-shared",
                "-fPIC",
                "-std=c11",
                "-O2",
                "-w",
                "-D_GNU_SOURCE",
                *flags,
                f"-I{RUNTIME / 'include'}",
                f"-I{RUNTIME / 'core'}",
                *map(str, sources),
                str(model),
                "-o",
                str(library),
                "-pthread",
            ],
            "the shared library does not link",
            Path(scratch),
        )
        outputs.move(library, paths[0])
        outputs.write(paths[1], text(made, paths[0].name))
    return paths


def text(made: Made, library: str) -> str:
    """The module: what all have, then a function an entry."""
    plan = made.compiled.plan
    made_of = interface(plan, False)
    words = {"LIBRARY": repr(library), "MODEL": made_of.model, "STATE": str(bool(plan.states))}
    # In one pass: what stands for a word may hold another one.
    base = re.sub("|".join(words), lambda m: words[m[0]], BASE.read_text(encoding="utf-8"))
    return "\n\n".join([base, *(_function(entry) for entry in made_of.entries)]) + "\n"


def _function(entry: Entry) -> str:
    plan = entry.plan
    names, buffers, told = entry.tensor_names, [*plan.inputs, *plan.outputs], []
    for dim in entry.dims:
        place = next(
            (
                (i, axis)
                for i, b in enumerate(plan.inputs)
                for axis, size in enumerate(b.shape)
                if str(size) == dim.sym.name
            ),
            None,
        )
        told.append(f"({dim.sym.name!r}, {place!r})")
    tensors = [
        f"({name!r}, {NUMPY[b.dtype]!r}, {NUMBERS.index(b.dtype)}, {_shape(b)})" for name, b in zip(names, buffers)
    ]
    types = [f"{name}: {b.dtype}[{', '.join(map(str, b.shape))}]" for name, b in zip(names, buffers)]
    inputs, outputs = ", ".join(tensors[: entry.inputs]), ", ".join(tensors[entry.inputs :])
    shown, results = ", ".join(types[: entry.inputs]), ", ".join(types[entry.inputs :])
    return (
        f"_{entry.symbol} = _Function({entry.symbol!r}, [{', '.join(told)}],\n    [{inputs}],\n    [{outputs}])\n\n\n"
        f"def {entry.symbol}(*inputs, threads=1, state=None, **named):\n"
        f'    """{shown or "no inputs"}; returns {results}: a dict where there are several. Sizes that no shape tells,'
        ' and inputs,\n'
        f'    may be given by name. threads: a number, or a Pool."""\n'
        f"    return _{entry.symbol}.call(inputs, named, threads, state)"
    )


def _shape(buffer: Buffer) -> str:
    return f"lambda d: ({''.join(_size(s) + ', ' for s in buffer.shape)})"


def _size(size: Expr) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda m: m[0] if m[0] in ("floordiv", "max", "min") else f"d[{m[0]!r}]", str(size))
