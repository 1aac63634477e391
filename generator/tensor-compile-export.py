#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports a PyTorch module for tensor-compile: FILE.py:FUNCTION -> model.pt2, model.inputs.safetensors and
model.outputs.safetensors. Needs PyTorch >= 2.5 and nothing else; tensor-compile itself needs none of it.

    python3 tensor-compile-export.py net.py:make -o net.pt2 --dynamic x.0=batch:1:64
    tensor-compile check net.pt2 --inputs net.inputs.safetensors --expect net.outputs.safetensors

FUNCTION takes no arguments and returns (module, args) or (module, args, kwargs): an nn.Module and the sample inputs of
one call. The module is exported as it is (call .eval() where you mean inference). The sample outputs are those of the
module itself, in eager mode.
"""
from __future__ import annotations

import argparse
import ctypes
import importlib.util
import inspect
import json
import os
import re
import struct
import sys
from pathlib import Path
from typing import Any, Iterable, NoReturn

try:
    import torch
    from torch.utils import _pytree as pytree
except ImportError:
    sys.exit("tensor-compile-export: error: PyTorch is not installed for this Python")

DTYPES = {
    torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int8: "I8",
    torch.uint8: "U8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64", torch.bool: "BOOL",
}


def fail(message: str) -> NoReturn:
    print(f"tensor-compile-export: error: {message}", file=sys.stderr)
    sys.exit(1)


def identifier(text: str) -> str:
    """`text` as a C identifier, as `tensor-compile import` makes names."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or "value"
    return f"_{name}" if name[0].isdigit() else name


def output_names(outputs: Any) -> list[str]:
    """A name for each tensor of a result: its path of keys, attributes and indices; `output` where the result is one
    tensor, `output_0`, `output_1` … where it is a plain sequence."""
    names = []
    for path, _ in pytree.tree_flatten_with_path(outputs)[0]:
        name = path_name(path)
        names.append(identifier(name if name and not name[0].isdigit() else f"output_{name}" if name else "output"))
    return names


def result_names(outputs: Any, inputs: Iterable[str]) -> list[str]:
    """The names that the outputs have in C, where those of the inputs are taken: `mask_2` behind an input `mask`."""
    taken, names = set(inputs), []
    for wanted in output_names(outputs):
        name, count = wanted, 2
        while name in taken:
            name, count = f"{wanted}_{count}", count + 1
        taken.add(name)
        names.append(name)
    return names


def save_tensors(path: Path, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
    """A safetensors file: 8 bytes of length, a JSON header, row-major data."""
    header: dict[str, Any] = {}
    parts, offset = [], 0
    for name, tensor in tensors:
        if tensor.is_complex():   # a last axis of the real and the imaginary part
            tensor = torch.view_as_real(tensor.resolve_conj())
        if tensor.dtype not in DTYPES:
            fail(f"{name} has dtype {tensor.dtype}, which safetensors and tensor-compile do not have")
        plain = tensor.detach().cpu().contiguous()
        data = ctypes.string_at(plain.data_ptr(), plain.numel() * plain.element_size()) if plain.numel() else b""
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(parts)
    os.replace(beside, path)


def load(spec: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    file, colon, function = spec.rpartition(":")
    if not colon or not function.isidentifier():
        fail(f"{spec!r} is not FILE.py:FUNCTION")
    path = Path(file)
    if not path.is_file():
        fail(f"no such file: {file}")
    sys.path.insert(0, str(path.resolve().parent))
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        fail(f"{file} is not a Python file")
    source = importlib.util.module_from_spec(module_spec)
    sys.modules[path.stem] = source
    module_spec.loader.exec_module(source)
    make = getattr(source, function, None)
    if not callable(make):
        fail(f"{file} has no function {function}")
    made = make()
    if not isinstance(made, tuple) or len(made) not in (2, 3) or not isinstance(made[0], torch.nn.Module):
        fail(f"{function} must return (module, args) or (module, args, kwargs)")
    args = made[1] if isinstance(made[1], tuple) else (made[1],)
    return made[0], args, dict(made[2]) if len(made) == 3 else {}


def path_name(path: Iterable[Any]) -> str:
    """The keys, attributes and indices that lead to a value, joined."""
    return "_".join(str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", "")))) for key in path)


def sized(name: str, low: int, high: int, times: int) -> Any:
    """A Dim of this range; of multiples, which PyTorch writes as a number times another Dim."""
    if times == 1:
        return torch.export.Dim(name, min=low, max=high)
    return times * torch.export.Dim(f"_{name}", min=-(-low // times), max=high // times)


def dynamic_shapes(words: list[str], arguments: dict[str, Any]) -> dict[str, Any] | None:
    """--dynamic INPUT.AXIS=NAME[:MIN:MAX[:MULTIPLE]] -> what torch.export.export takes. arguments: those of the sample
    call by the names of forward's parameters; a tensor inside a list or a dict is INPUT_KEY. One NAME on several axes
    says that they are equal."""
    if not words:
        return None
    dims: dict[str, Any] = {}
    shapes: dict[str, Any] = {path_name(path): {} for path, value in pytree.tree_flatten_with_path(arguments)[0]
                              if isinstance(value, torch.Tensor)}
    for word in words:
        match = re.fullmatch(r"(\w+)\.(\d+)=([A-Za-z]\w*)(?::(\d+):(\d+)(?::([1-9]\d*))?)?", word)
        if not match:
            fail(f"--dynamic {word}: want INPUT.AXIS=NAME, INPUT.AXIS=NAME:MIN:MAX or "
                 "INPUT.AXIS=NAME:MIN:MAX:MULTIPLE")
        name, axis, dim, low, high, times = match.groups()
        if name not in shapes:
            fail(f"--dynamic {word}: {name} is no tensor input; there are {', '.join(shapes)}")
        if dim not in dims:
            dims[dim] = sized(dim, int(low), int(high), int(times or 1)) if high else torch.export.Dim(dim)
        shapes[name][int(axis)] = dims[dim]
    return pytree.tree_map_with_path(lambda path, _: shapes.get(path_name(path)), arguments)


def exported(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: list[str],
             decompose: bool) -> torch.export.ExportedProgram:
    arguments = dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
    shapes = dynamic_shapes(dynamic, arguments)
    try:
        program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
        return program.run_decompositions() if decompose else program
    except Exception as error:  # whatever PyTorch raises, its message is what the user needs
        fail(f"torch.export.export says:\n{error}")


def size_names(program: torch.export.ExportedProgram, dynamic: list[str]) -> dict[str, str]:
    """PyTorch's symbols of sizes -> what --dynamic called them, which the archive does not keep otherwise."""
    inputs = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    names = {}
    for word in dynamic:
        place, _, name = word.partition("=")
        tensor, _, axis = place.partition(".")
        value = inputs.get(tensor)
        if isinstance(value, torch.Tensor) and isinstance(value.shape[int(axis)], torch.SymInt):
            for symbol in value.shape[int(axis)].node.expr.free_symbols:
                names[str(symbol)] = name.partition(":")[0]
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="FILE.py:FUNCTION")
    parser.add_argument("-o", "--output", default="model.pt2", metavar="FILE.pt2")
    parser.add_argument("--dynamic", action="append", default=[], metavar="INPUT.AXIS=NAME[:MIN:MAX[:MULTIPLE]]",
                        help="a size that differs from call to call; may be given several times")
    parser.add_argument("--decompose", action="store_true", help="to Core ATen operations, before saving")
    options = parser.parse_args()

    module, args, kwargs = load(options.model)
    path = Path(options.output)
    if path.suffix != ".pt2":
        fail(f"-o {options.output}: the name of an archive ends in .pt2")
    program = exported(module, args, kwargs, options.dynamic, options.decompose)
    names = [str(name) for name in program.graph_signature.user_inputs]
    inputs = [(name, x) for name, x in zip(names, pytree.tree_leaves((args, kwargs)), strict=True)
              if isinstance(x, torch.Tensor)]
    copies = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.stem + ".part.pt2")
    names_of_sizes = json.dumps(size_names(program, options.dynamic))
    torch.export.save(program, str(beside), extra_files={"tensor_compile_dims.json": names_of_sizes})
    os.replace(beside, path)
    with torch.no_grad():
        # behind the save: a call may change buffers, which the program shares
        outputs = module(*copies[0], **copies[1])
    save_tensors(path.with_suffix(".inputs.safetensors"), inputs)
    taken = [name for name, _ in inputs]
    results = zip(result_names(outputs, taken), pytree.tree_leaves(outputs), strict=True)
    save_tensors(path.with_suffix(".outputs.safetensors"), [(n, x) for n, x in results if isinstance(x, torch.Tensor)])
    print(f"{path}: {len(program.graph.nodes)} nodes, inputs {', '.join(taken)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
