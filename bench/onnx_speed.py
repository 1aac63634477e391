# SPDX-License-Identifier: Apache-2.0
"""Measures imported ONNX models against ONNX Runtime: one interleaved run, medians of rounds, one thread.

  python bench/onnx_speed.py FOLDER [--models magika,…] [--rounds 30] [--isa avx512] [--cpu N] [--build DIR]
                             [--profile]

Needs numpy and onnxruntime. FOLDER has NAME.onnx and NAME.io.safetensors, whose pairs are K.in.INPUT and K.out.OUTPUT.
Each model is built as the generic variant alone and with variants of the rows' sizes; outputs of both are compared with
the stored ones and with ONNX Runtime's, and with each other bit for bit. ONNX Runtime has all its optimizations, and
inputs and outputs bound in advance. --profile: besides, the slowest kernels of ours and nodes of theirs.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
import onnxruntime as ort

import builds
from servers import Server, conditions, interleaved

ROUND = 0.03          # seconds of calls that each contender makes a round
SHOWN = 12            # lines of a profile
DTYPES = {"F32": np.float32, "I64": np.int64, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}


@dataclass(frozen=True)
class Model:
    """pairs: those that are rows; dims: ranges, and fixed: inputs that are constants, as `import` takes them."""

    pairs: tuple[int, ...]
    dims: tuple[str, ...] = ()
    fixed: dict[str, str] = field(default_factory=dict)


MODELS = {
    "magika": Model((0, 4), ("unk_214=1:64",)),
    "ppocr_det": Model((0, 4), ("p2o_DynamicDimension_0=1:8", "p2o_DynamicDimension_1=32:1024:32",
                                "p2o_DynamicDimension_2=32:1024:32")),
    "silero_vad_sequence": Model((4, 0, 1)),
    "silero_vad_step": Model((0,), ("sequence=576", "batch=1:64"), {"sr": "16000"}),
    "minilm_l3": Model((0, 1, 2), ("batch_size=1:64", "sequence_length=1:512")),
}


def pairs(path: Path) -> tuple[dict[int, dict[str, np.ndarray]], dict[int, dict[str, np.ndarray]]]:
    """(inputs, outputs) of every pair, by name."""
    content = path.read_bytes()
    size = struct.unpack_from("<Q", content)[0]
    found: tuple[dict, dict] = {}, {}
    for key, entry in json.loads(content[8:8 + size]).items():
        if key == "__metadata__":
            continue
        number, side, name = key.split(".", 2)
        begin, end = entry["data_offsets"]
        data = np.frombuffer(content[8 + size + begin:8 + size + end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        found[side == "out"].setdefault(int(number), {})[name] = data
    return found


def identifier(name: str) -> str:
    """What a dim of this name is called in C."""
    return re.sub(r"__+", "_", re.sub(r"\W+", "_", name)).strip("_")


class Theirs:
    """ONNX Runtime on one thread."""

    def __init__(self, path: Path, inputs: dict[str, np.ndarray], profile: bool = False):
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        options.enable_profiling = profile
        if profile:
            options.profile_file_prefix = str(Path(tempfile.mkdtemp()) / "ort")
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [o.name for o in self.session.get_outputs()]
        self.values = [ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x)) for x in inputs.values()]
        self.binding = self.session.io_binding()
        for name, value in zip(inputs, self.values):
            self.binding.bind_ortvalue_input(name, value)
        for name in self.names:
            self.binding.bind_output(name)

    def seconds(self, calls: int) -> float:
        run, binding = self.session.run_with_iobinding, self.binding
        start = time.perf_counter()
        for _ in range(calls):
            run(binding)
        return (time.perf_counter() - start) / calls

    def outputs(self) -> dict[str, np.ndarray]:
        self.seconds(1)
        return dict(zip(self.names, self.binding.copy_outputs_to_cpu()))

    def profile(self, calls: int) -> list[tuple[str, float]]:
        """Nodes with the microseconds of the fastest of the calls."""
        self.seconds(calls)
        best: dict[str, float] = {}
        for event in json.loads(Path(self.session.end_profiling()).read_text(encoding="utf-8")):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                name = f"{event['args'].get('op_name', '')} {event['name'].removesuffix('_kernel_time')}"
                best[name] = min(best.get(name, math.inf), float(event["dur"]))
        return list(best.items())


def outputs_of(server: Server, path: Path, like: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    server.ask(f"outs {path}")
    return {name: np.fromfile(f"{path}.{i}", x.dtype).reshape(x.shape) for i, (name, x) in enumerate(like.items())}


def same(got: dict[str, np.ndarray], want: dict[str, np.ndarray], what: str) -> None:
    for name, x in want.items():
        if not np.issubdtype(x.dtype, np.floating):
            np.testing.assert_array_equal(got[name], x, f"{what}: {name}")
            continue
        np.testing.assert_allclose(got[name], x, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(x).max())),
                                   err_msg=f"{what}: {name}")


def sizes_of(session: ort.InferenceSession, inputs: dict[str, np.ndarray]) -> dict[str, int]:
    """Sizes of the dims, by what they are called in C."""
    found: dict[str, int] = {}
    for x in session.get_inputs():
        for axis, size in enumerate(x.shape):
            if not isinstance(size, int):
                found[identifier(size or f"{x.name}_{axis}")] = inputs[x.name].shape[axis]
    return found


def table(title: str, rows: list[tuple[str, float]]) -> None:
    total = sum(us for _, us in rows)
    print(f"  {title}: {total:.1f} us in {len(rows)}")
    for name, us in sorted(rows, key=lambda row: -row[1])[:SHOWN]:
        print(f"    {us:9.1f} us {100 * us / max(total, 1e-9):5.1f} %  {name}")


def measure(name: str, model: Model, args: argparse.Namespace) -> None:
    path = args.folder / f"{name}.onnx"
    given, wanted = pairs(args.folder / f"{name}.io.safetensors")
    first = Theirs(path, {i: given[model.pairs[0]][i] for i in given[model.pairs[0]]})
    order = [x.name for x in first.session.get_inputs()]
    rows = []
    for k in model.pairs:
        inputs = {i: given[k][i] for i in order}
        rows.append((k, inputs, {n: s for n, s in sizes_of(first.session, inputs).items()
                                 if f"{n}=" not in "".join(d for d in model.dims if ":" not in d)}))
    isa = ["--isa", args.isa] if args.isa else []
    asked = [w for d in model.dims for w in ("--dim", d)] + [w for i in model.fixed.items()
                                                             for w in ("--set", "=".join(i))]
    source = args.build / name
    subprocess.run([sys.executable, str(builds.TOOL), "import", str(path), "-o", str(source), "--force", *asked],
                   check=True)
    special = [w for n in rows[0][2] for w in
               ("--specialize", f"{n}={','.join(map(str, dict.fromkeys(row[2][n] for row in rows)))}")]
    builds.FUNCTIONS[name] = name
    programs: dict[str, Path] = {}
    for variant, more in (("specialized", special), ("generic", [])):
        begin = time.perf_counter()
        programs[variant] = builds.program(name, source / "model.c", args.build / f"{name}-{variant}",
                                           args.build / "cache",
                                           [*isa, *more])
        print(f"built {name} {variant} in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    header = (args.build / f"{name}-generic" / "model.h").read_text(encoding="utf-8")
    everywhere = os.sched_getaffinity(0)
    if args.cpu is not None:
        os.sched_setaffinity(0, {args.cpu})    # and with it the processes of the builds
    for k, inputs, sizes in rows:
        row(name, k, inputs, sizes, wanted[k], path, header, programs, set(model.fixed), args)
    os.sched_setaffinity(0, everywhere)


def row(name: str, k: int, inputs: dict[str, np.ndarray], sizes: dict[str, int], want: dict[str, np.ndarray],
        path: Path,
        header: str, programs: dict[str, Path], fixed: set[str], args: argparse.Namespace) -> None:
    files = []
    for n, x in inputs.items():
        if n not in fixed:
            files.append(args.build / f"{name}.{identifier(n)}.raw")
            np.ascontiguousarray(x).tofile(files[-1])
    ordered = sorted(sizes, key=lambda n: re.search(rf"\btc_index {n}\b", header).start())  # type: ignore[union-attr]
    ours = {v: Server([p, *(sizes[n] for n in ordered), *files]) for v, p in programs.items()}
    theirs = Theirs(path, inputs)
    reference = theirs.outputs()
    want = {n: want[n] for n in reference}
    same(reference, want, f"{name} {k}: ONNX Runtime")
    bits = []
    for variant, server in ours.items():
        got = outputs_of(server, args.build / "out", reference)
        same(got, want, f"{name} {k}: {variant}")
        bits.append([x.tobytes() for x in got.values()])
    if bits[0] != bits[1]:
        raise SystemExit(f"{name} {k}: generic and specialized differ")
    contenders: dict[str, Callable[[int], float]] = {"theirs": theirs.seconds,
                                                     **{v: s.seconds for v, s in ours.items()}}
    counts, times = interleaved(contenders, args.rounds, ROUND)
    us = {c: statistics.median(t) * 1e6 for c, t in times.items()}
    ratio = {v: statistics.median(a / b for a, b in zip(times["theirs"], times[v])) for v in ours}
    shape = ", ".join(f"{n} {s}" for n, s in sizes.items()) or "fixed"
    print(f"| {name}: {shape} | {us['theirs']:.1f} us | {us['specialized']:.1f} us | {us['generic']:.1f} us | "
          f"{ratio['specialized']:.2f} | {ratio['generic']:.2f} |", flush=True)
    if args.profile:
        for variant, server in ours.items():
            table(variant, server.profile(max(5, counts[variant])))
        table("ONNX Runtime", Theirs(path, inputs, True).profile(max(5, counts["theirs"])))
        sys.stdout.flush()
    for server in ours.values():
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default="")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--cpu", type=int, help="a processor for all that is measured")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "bench-onnx")
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    names = args.models.split(",") if args.models else [n for n in MODELS if (args.folder / f"{n}.onnx").exists()]
    if unknown := [n for n in names if n not in MODELS]:
        parser.error(f"unknown model {unknown[0]!r}; there are {', '.join(MODELS)}")
    args.build = args.build.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    print(conditions(f"onnxruntime {ort.__version__}, numpy {np.__version__}", args.isa, args.rounds) + "\n")
    print("| model: sizes | ONNX Runtime | specialized | generic | theirs / specialized | theirs / generic |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name in names:
        measure(name, MODELS[name], args)


if __name__ == "__main__":
    main()
