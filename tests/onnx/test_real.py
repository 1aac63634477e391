# SPDX-License-Identifier: Apache-2.0
"""Real models against the results that ONNX Runtime gave: every stored pair, at its own sizes, each once by the generic
variant and once by a variant of its sizes.

  test_real.py [MODEL...] [--isa ISA...]      (options are those of check)

`check` compares a call with the interpreter's bits, which are those of both variants, with the interpreter in double,
and with the stored outputs within 1e-3. The models are NAME.onnx with NAME.io.safetensors, whose pairs are K.in.INPUT
and K.out.OUTPUT, in ../shared/data/onnx and in the folder that TC_ONNX_MODELS names; one that is in neither is skipped.
"""
from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "interpreter"))

import st
from tap import done, note, ok, skip
from tensor_compile.importer.onnx.model import Model, read

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
Tensor = tuple[str, list[int], list]   # dtype, shape, elements
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
FOLDERS = [ROOT.parent / "shared" / "data" / "onnx", *map(Path, filter(None, [os.environ.get("TC_ONNX_MODELS")]))]


@dataclass(frozen=True)
class Real:
    """dims: of model.c, told by INPUT.AXIS; options: of import; fixed: inputs that become numbers. batch: the axis of a
    tensor along which pairs of equal sizes may be joined to one of a larger batch, where the pairs have few sizes;
    joined: which of them are."""

    dims: dict[str, str]
    options: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    batch: dict[str, int] = field(default_factory=dict)
    joined: tuple[tuple[int, ...], ...] = ()


MODELS = {
    "magika": Real({"unk_214": "bytes.0"}, ("--dim", "unk_214=1:64"),
                   batch={"bytes": 0, "target_label": 0}, joined=((0, 1, 2, 3),)),
    "ppocr_det": Real({"p2o_DynamicDimension_0": "x.0", "p2o_DynamicDimension_1": "x.2",
                       "p2o_DynamicDimension_2": "x.3"},
                      ("--dim", "p2o_DynamicDimension_0=1:8", "--dim", "p2o_DynamicDimension_1=32:1024:32",
                       "--dim", "p2o_DynamicDimension_2=32:1024:32")),
    "silero_vad_sequence": Real({"sequence_length": "input.0"}),
    "silero_vad_step": Real({"batch": "input.0"}, ("--dim", "sequence=576", "--dim", "batch=1:64", "--set", "sr=16000"),
                            ("sr",), {"input": 0, "state": 1, "output": 0, "stateN": 1}, ((0, 1), (0, 1, 2))),
    "minilm_l3": Real({"batch_size": "input_ids.0", "sequence_length": "input_ids.1"},
                      ("--dim", "batch_size=1:64", "--dim", "sequence_length=1:512")),
}


def stored(path: Path) -> dict[tuple[int, str], dict[str, Tensor]]:
    """(pair, "in" or "out") -> tensors by name."""
    found: dict[tuple[int, str], dict[str, Tensor]] = {}
    for key, tensor in st.read(path).items():
        number, side, name = key.split(".", 2)
        found.setdefault((int(number), side), {})[name] = tensor
    return found


def joined(parts: list[Tensor], axis: int) -> Tensor:
    """Tensors of equal shapes behind one another along an axis."""
    dtype, shape, _ = parts[0]
    rows = math.prod(shape[:axis])
    chunks = [[values[i * len(values) // rows:(i + 1) * len(values) // rows] for i in range(rows)]
              for _, _, values in parts]
    return dtype, [*shape[:axis], shape[axis] * len(parts), *shape[axis + 1:]], \
        [value for row in zip(*chunks) for chunk in row for value in chunk]


more = [word for word in sys.argv[1:] if word not in MODELS]


def run(name: str, model: Path, work: Path) -> None:
    real, pairs = MODELS[name], stored(model.with_name(f"{name}.io.safetensors"))
    made = subprocess.run([*TOOL, "import", str(model), "-o", str(work), *real.options], capture_output=True, text=True,
                          check=False)
    if not ok(made.returncode == 0, f"{name}: imported"):
        note(made.stderr)
        return
    for numbers in real.joined:
        at = 1 + max(k for k, _ in pairs)
        for side in ("in", "out"):
            pairs[at, side] = {name: joined([pairs[k, side][name] for k in numbers], axis)
                               for name, axis in real.batch.items() if name in pairs[numbers[0], side]}
    graph = read(Model, memoryview(model.read_bytes())).graph
    assert graph is not None
    text = (work / "model.c").read_text()
    initial = {t.name for t in graph.initializer}
    c_names = dict(zip((i.name for i in graph.input if i.name not in initial and i.name not in real.fixed),
                       re.findall(r'tc_input\(g, "(\w+)"', text), strict=True))
    c_names |= dict(zip((o.name for o in graph.output), re.findall(r'tc_output\(g, "(\w+)"', text), strict=True))
    cases: dict[tuple[int, ...], list[str]] = {}    # options of check, by the sizes of the dims
    for number in sorted({k for k, _ in pairs}):
        sizes = tuple(pairs[number, "in"][tensor][1][int(axis)]
                      for tensor, _, axis in (place.rpartition(".") for place in real.dims.values()))
        for side, option in (("in", "--inputs"), ("out", "--expect")):
            kept = {c_names[n]: t for n, t in pairs[number, side].items() if n not in real.fixed}
            st.write(work / f"{number}.{side}", kept)
            cases.setdefault(sizes, []).extend([option, str(work / f"{number}.{side}")])
    check(f"{name}: {len(pairs) // 2} pairs, generic", work, [word for words in cases.values() for word in words])
    for group in variants(list(cases)):
        special = [word for dim, found in zip(real.dims, zip(*group))
                   for word in ("--specialize", f"{dim}={','.join(map(str, dict.fromkeys(found)))}")]
        check(f"{name}: specialized for {' '.join(special[1::2])}", work,
              [*special, *(word for sizes in group for word in cases[sizes])])


def variants(sizes: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """All sizes in one build where their dims have no other combinations, else in builds of their own."""
    combinations = math.prod(len(set(found)) for found in zip(*sizes))
    return [sizes] if combinations == len(sizes) else [[one] for one in sizes]


def check(label: str, work: Path, words: list[str]) -> None:
    command = [*TOOL, "check", str(work / "model.c"), "--rtol", "1e-3", "--cache", os.environ["TC_TESTS_CACHE"]]
    result = subprocess.run([*command, *more, *words], capture_output=True, text=True, check=False)
    if not ok(result.returncode == 0, label):
        note(result.stdout + result.stderr)
    for line in re.findall(r"^.*expected.*$", result.stdout, re.M):
        note(line)


asked = [word for word in sys.argv[1:] if word in MODELS]
for name in asked or MODELS:
    where = next((f / f"{name}.onnx" for f in FOLDERS if (f / f"{name}.onnx").is_file()), None)
    if where is None:
        skip(name, "its file is in neither folder")
        continue
    with tempfile.TemporaryDirectory() as folder:
        run(name, where, Path(folder) / name)
done()
