# SPDX-License-Identifier: Apache-2.0
"""Real models against the results that ONNX Runtime gave: every stored pair, at its own sizes, each once by the generic
variant and once by a variant of its sizes.

  test_real.py [MODEL...]

`check` compares a call with the interpreter's bits, which are those of both variants, with the interpreter in double,
and with the stored outputs within 1e-3. The models are NAME.onnx with NAME.io.safetensors, whose pairs are K.in.INPUT
and K.out.OUTPUT, in ../shared/data/onnx and in the folder that TC_ONNX_MODELS names; one that is in neither is skipped.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tap import done, note, ok, skip
from tensor_compile.importer.onnx.model import Model, read

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
FOLDERS = [ROOT.parent / "shared" / "data" / "onnx", *map(Path, filter(None, [os.environ.get("TC_ONNX_MODELS")]))]


@dataclass(frozen=True)
class Real:
    """dims: of model.c, told by INPUT.AXIS; options: of import; fixed: inputs that become numbers."""

    dims: dict[str, str]
    options: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


MODELS = {
    "magika": Real({"unk_214": "bytes.0"}, ("--dim", "unk_214=1:64")),
    "ppocr_det": Real({"p2o_DynamicDimension_0": "x.0", "p2o_DynamicDimension_1": "x.2",
                       "p2o_DynamicDimension_2": "x.3"},
                      ("--dim", "p2o_DynamicDimension_0=1:8", "--dim", "p2o_DynamicDimension_1=32:1024:32",
                       "--dim", "p2o_DynamicDimension_2=32:1024:32")),
    "silero_vad_sequence": Real({"frames": "input.0"}),
    "silero_vad_step": Real({"batch": "input.0"}, ("--dim", "sequence=576", "--dim", "batch=1:64", "--set", "sr=16000"),
                            ("sr",)),
    "minilm_l3": Real({"batch_size": "input_ids.0", "sequence_length": "input_ids.1"},
                      ("--dim", "batch_size=1:64", "--dim", "sequence_length=1:512")),
}


def stored(path: Path) -> dict[tuple[int, str], dict[str, tuple[dict, bytes]]]:
    """(pair, "in" or "out") -> tensors by name, as header entry and bytes."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    found: dict[tuple[int, str], dict[str, tuple[dict, bytes]]] = {}
    for key, entry in json.loads(content[8:8 + size]).items():
        if key != "__metadata__":
            number, side, name = key.split(".", 2)
            begin, end = entry["data_offsets"]
            found.setdefault((int(number), side), {})[name] = (entry, content[8 + size + begin:8 + size + end])
    return found


def write(path: Path, tensors: dict[str, tuple[dict, bytes]]) -> str:
    header, at = {}, 0
    for name, (entry, data) in tensors.items():
        header[name] = {"dtype": entry["dtype"], "shape": entry["shape"], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data for _, data in tensors.values()))
    return str(path)


def run(name: str, model: Path, work: Path) -> None:
    real, pairs = MODELS[name], stored(model.with_name(f"{name}.io.safetensors"))
    made = subprocess.run([*TOOL, "import", str(model), "-o", str(work), *real.options], capture_output=True, text=True,
                          check=False)
    if not ok(made.returncode == 0, f"{name}: imported"):
        note(made.stderr)
        return
    graph = read(Model, memoryview(model.read_bytes())).graph
    assert graph is not None
    text = (work / "model.c").read_text()
    initial = {t.name for t in graph.initializer}
    c_names = dict(zip((i.name for i in graph.input if i.name not in initial and i.name not in real.fixed),
                       re.findall(r'tc_input\(g, "(\w+)"', text), strict=True))
    c_names |= dict(zip((o.name for o in graph.output), re.findall(r'tc_output\(g, "(\w+)"', text), strict=True))
    cases, sizes = [], {dim: [] for dim in real.dims}
    for number in sorted({k for k, _ in pairs}):
        for side, option in (("in", "--inputs"), ("out", "--expect")):
            kept = {c_names[n]: t for n, t in pairs[number, side].items() if n not in real.fixed}
            cases += [option, write(work / f"{number}.{side}", kept)]
        for dim, place in real.dims.items():
            tensor, _, axis = place.rpartition(".")
            sizes[dim].append(pairs[number, "in"][tensor][0]["shape"][int(axis)])
    special = [w for dim, found in sizes.items()
               for w in ("--specialize", f"{dim}={','.join(map(str, dict.fromkeys(found)))}")]
    for what, words in (("generic", []), ("specialized", special)):
        result = subprocess.run([*TOOL, "check", str(work / "model.c"), "--rtol", "1e-3", *words, *cases, "--cache",
                                os.environ["TC_TESTS_CACHE"]], capture_output=True, text=True, check=False)
        if not ok(result.returncode == 0, f"{name}: {len(pairs) // 2} stored pairs, {what}"):
            note(result.stdout + result.stderr)
        for line in re.findall(r"^.*expected.*$", result.stdout, re.M):
            note(line)


for name in sys.argv[1:] or MODELS:
    where = next((f / f"{name}.onnx" for f in FOLDERS if (f / f"{name}.onnx").is_file()), None)
    if where is None:
        skip(name, "its file is in neither folder")
        continue
    with tempfile.TemporaryDirectory() as folder:
        run(name, where, Path(folder) / name)
done()
