# SPDX-License-Identifier: Apache-2.0
"""Makes cases/FAMILY.zip: exported programs of small functions with PyTorch's results. Needs PyTorch; the tests do not.

    python3 make_cases.py [FAMILY...]

A case is a folder of the zip file: NAME/program.pt2 without what only people read, NAME/inputs.safetensors and
NAME/outputs.safetensors; NAME/numbers.json has sizes that a call is given beside its tensors, by PyTorch's symbol. The
functions are in functions.py and functions_complex.py. Those of the family `dynamic` are models of dynamic.py: beside
the program lie sizes.json and, of every call, RUN/CALL/inputs.safetensors and outputs.safetensors.
"""
from __future__ import annotations

import copy
import importlib.util
import io
import json
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

HERE = Path(__file__).resolve().parent
EXPORT = HERE.parents[1] / "generator" / "tensor-compile-export.py"
spec = importlib.util.spec_from_file_location("tensor_compile_export", EXPORT)
assert spec is not None and spec.loader is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


class Called(torch.nn.Module):
    """A module of one function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def stripped(archive: Path) -> bytes:
    """The archive without what differs from run to run, compressed. Stack traces keep their last frame's line."""
    kept = io.BytesIO()
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            if "sample_inputs" in name or not ("/models/" in name or "/data/" in name or "/extra/tensor_" in name):
                continue
            content = old.read(name)
            if name.endswith(".json"):
                content = json.dumps(plain(json.loads(content)), separators=(",", ":"), sort_keys=True).encode()
            new.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return kept.getvalue()


def plain(of: Any) -> Any:
    if isinstance(of, dict):
        return {k: {} if k == "metadata" else plain(v) for k, v in of.items()
                if k not in ("guards_code", "verifiers", "torch_version")}
    return [plain(v) for v in of] if isinstance(of, list) else of


def made(name: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, bytes]:
    module = function if isinstance(function, torch.nn.Module) else Called(function)
    module.eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        dynamic = options.get("dynamic")
        if dynamic is not None and isinstance(module, Called):
            dynamic = (dynamic,)
        program = torch.export.export(module, args, dynamic_shapes=dynamic)
        if options.get("decompose"):
            program = program.run_decompositions()
    copies = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, args)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # The functions of a family stand in one model.c: dims have the case's name.
        symbols = {str(s): f"{name}_{s}" for node in program.graph.nodes if node.op == "placeholder"
                   for value in [node.meta.get("val")]
                   for size in (value.shape if isinstance(value, torch.Tensor) else (value,))
                   if isinstance(size, torch.SymInt) for s in size.node.expr.free_symbols}
        extra = {"tensor_compile_dims.json": json.dumps(symbols)} if symbols else None
        # before a call changes buffers, which it shares
        torch.export.save(program, str(place / "program.pt2"), extra_files=extra)
        with torch.no_grad():
            outputs = module(*copies)
        return {f"{name}/program.pt2": stripped(place / "program.pt2"), **call(name, place, program, args, outputs)}


def call(name: str, place: Path, program: torch.export.ExportedProgram, args: Any, outputs: Any) -> dict[str, bytes]:
    """The members of a call."""
    inputs = list(zip([str(n) for n in program.graph_signature.user_inputs], pytree.tree_leaves(args), strict=True))
    numbers = {n: x for n, x in inputs if isinstance(x, int) and not isinstance(x, bool)}
    script.save_tensors(place / "i", [(n, x) for n, x in inputs if isinstance(x, torch.Tensor)])
    results = zip(script.output_names(outputs), pytree.tree_leaves(outputs), strict=True)
    script.save_tensors(place / "o", [(n, x) for n, x in results if isinstance(x, torch.Tensor)])
    members = {f"{name}/inputs.safetensors": (place / "i").read_bytes(),
               f"{name}/outputs.safetensors": (place / "o").read_bytes()}
    given = {str(node.meta["val"]): numbers[node.name] for node in program.graph.nodes
             if node.op == "placeholder" and isinstance(node.meta.get("val"), torch.SymInt)}
    return members | ({f"{name}/numbers.json": json.dumps(given).encode()} if given else {})


def made_dynamic(name: str, model: Any) -> dict[str, bytes]:
    """The members of a model of dynamic.py."""
    members: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = Path(folder)
        torch.manual_seed(5)
        program = script.exported(model.module, model.args(model.sample), {}, list(model.dynamic), False)
        torch.export.save(program, str(place / "program.pt2"), extra_files={
            "tensor_compile_dims.json": json.dumps(script.size_names(program, list(model.dynamic)))})
        members[f"{name}/program.pt2"] = stripped(place / "program.pt2")
        for r, run in enumerate(model.runs):
            module = copy.deepcopy(model.module)
            for c, sizes in enumerate(run):
                args = model.args(sizes)
                members |= call(f"{name}/{r}/{c}", place, program, args, module(*args))
    about = {"specialize": model.specialize, "outside": model.outside, "ranges": model.ranges, "runs": [
        [{k: v for k, v in sizes.items() if k != "reset"} for sizes in run] for run in model.runs]}
    members[f"{name}/sizes.json"] = json.dumps(about).encode()
    return members


def main(wanted: list[str]) -> int:
    import dynamic
    import functions
    import functions_complex  # noqa: F401 (adds its families to those of functions)

    failed = 0
    (HERE / "cases").mkdir(exist_ok=True)
    if not wanted or "dynamic" in wanted:
        with zipfile.ZipFile(HERE / "cases" / "dynamic.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, model in dynamic.MODELS.items():
                for member, content in made_dynamic(name, model).items():
                    archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
        print(f"dynamic: {len(dynamic.MODELS)} models")
    for family, cases in functions.FAMILIES.items():
        if wanted and family not in wanted:
            continue
        with zipfile.ZipFile(HERE / "cases" / f"{family}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, (function, args, options) in cases.items():
                try:
                    members = made(name, function, args, options)
                except Exception as error:  # the table is wrong, or this PyTorch is too old for it
                    print(f"{family}: {name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
                    failed += 1
                    continue
                for member, content in members.items():
                    archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
        print(f"{family}: {len(cases)} cases")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main(sys.argv[1:]))
