# SPDX-License-Identifier: Apache-2.0
"""Measures networks of 8-bit integers against ONNX Runtime and OpenVINO: one interleaved run, medians of rounds.

  bench/int8.py [--models mobilenet_v2,resnet50] [--threads 1,16] [--rounds 15] [--activations u8] [--small]

The weights are the seeded ones of examples/. Ours is what `tensor-compile quantize --activations u8` makes of the
model; theirs what ONNX Runtime's quantize_static makes of the same weights over the same samples (QDQ, a scale a
channel, u8 activations), which OpenVINO reads, too. Outputs are compared with those of our f32 before anything is
measured. Needs numpy, safetensors, onnx and onnxruntime; OpenVINO where it is there.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import builds
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from safetensors.numpy import load_file, save_file
from servers import Server, conditions, interleaved

try:
    import openvino as ov
except ImportError:
    ov = None

SAMPLES = 4
ROUND = 0.05     # seconds of a contender's turn
SMALL = {"mobilenet_v2": {"SIZE": "64", "DIVIDE": "4", "CLASSES": "100"},
         "resnet50": {"SIZE": "64", "WIDTH": "16", "BLOCKS": "1,1,1,1", "CLASSES": "100"}}
LEAST_CLOSE = 0.5     # the relative error of int8 outputs that is a mistake, not rounding


class Network:
    """An ONNX graph of convolutions with normalizations folded into their weights."""

    def __init__(self, weights: dict[str, np.ndarray], size: int):
        self.w, self.nodes, self.initializers, self.count = weights, [], [], 0
        self.size = size

    def add(self, op: str, inputs: list[str], **attributes: object) -> str:
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [f"v{self.count}"], f"{op}_{self.count}", **attributes))
        return f"v{self.count}"

    def constant(self, name: str, value: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value.astype(np.float32)), name))
        return name

    def conv(self, x: str, name: str, norm: str, stride: int = 1) -> str:
        w = self.w
        scale = w[f"{norm}.weight"] / np.sqrt(w[f"{norm}.running_var"] + 1e-5)
        weight = w[f"{name}.weight"] * scale[:, None, None, None]
        window, groups = weight.shape[2], 1 if weight.shape[1] > 1 or weight.shape[0] == 1 else weight.shape[0]
        tensors = [self.constant(f"{name}.w", weight), self.constant(f"{name}.b", w[f"{norm}.bias"]
                                                                       - w[f"{norm}.running_mean"] * scale)]
        return self.add("Conv", [x, *tensors], kernel_shape=[window] * 2, strides=[stride] * 2, pads=[window // 2] * 4,
                        group=groups)

    def end(self, x: str, name: str) -> bytes:
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        classes = self.w[f"{name}.bias"].shape[0]
        x = self.add("Gemm",
                     [x, self.constant("fc.w", self.w[f"{name}.weight"]),
                      self.constant("fc.b", self.w[f"{name}.bias"])],
                     transB=1)
        graph = helper.make_graph(
            self.nodes, "network", [helper.make_tensor_value_info("image", TensorProto.FLOAT,
                                                                  [1, 3, self.size, self.size])],
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, classes])], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        found: bytes = model.SerializeToString()
        return found


def mobilenet_v2(weights: dict[str, np.ndarray], size: int) -> bytes:
    n, w = Network(weights, size), weights
    n.constant("zero", np.zeros(())), n.constant("six", np.full((), 6.0))

    def unit(x: str, name: str, stride: int = 1) -> str:
        return n.add("Clip", [n.conv(x, f"{name}.0", f"{name}.1", stride), "zero", "six"])

    x, block, width = unit("image", "features.0", 2), 1, w["features.0.0.weight"].shape[0]
    strides = {2: 2, 4: 2, 7: 2, 14: 2}
    while f"features.{block}.conv.1.weight" in w or f"features.{block}.conv.1.0.weight" in w:
        p, y, stride, last = f"features.{block}.conv.", x, strides.get(block, 1), 1
        if f"{p}1.0.weight" in w:
            y, last = unit(y, f"{p}0"), 2
        y = unit(y, f"{p}{last - 1}", stride)
        y = n.conv(y, f"{p}{last}", f"{p}{last + 1}")
        out = w[f"{p}{last}.weight"].shape[0]
        x = n.add("Add", [x, y]) if stride == 1 and out == width else y
        width, block = out, block + 1
    return n.end(unit(x, f"features.{block}"), "classifier.1")


def resnet50(weights: dict[str, np.ndarray], size: int) -> bytes:
    n, w = Network(weights, size), weights
    x = n.add("Relu", [n.conv("image", "conv1", "bn1", 2)])
    x = n.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage in range(1, 5):
        i = 0
        while f"layer{stage}.{i}.conv1.weight" in w:
            p, stride = f"layer{stage}.{i}.", 2 if stage > 1 and i == 0 else 1
            y = n.add("Relu", [n.conv(x, f"{p}conv1", f"{p}bn1")])
            y = n.add("Relu", [n.conv(y, f"{p}conv2", f"{p}bn2", stride)])
            y = n.conv(y, f"{p}conv3", f"{p}bn3")
            x = n.conv(x, f"{p}downsample.0", f"{p}downsample.1", stride) if f"{p}downsample.0.weight" in w else x
            x, i = n.add("Relu", [n.add("Add", [y, x])]), i + 1
    return n.end(x, "fc")


NETWORKS: dict[str, Callable[[dict[str, np.ndarray], int], bytes]] = {"mobilenet_v2": mobilenet_v2,
                                                                      "resnet50": resnet50}


class Reader(CalibrationDataReader):
    def __init__(self, images: np.ndarray):
        self.images = iter(images)

    def get_next(self) -> dict[str, np.ndarray] | None:
        image = next(self.images, None)
        return None if image is None else {"image": image[None]}


class OnnxRuntime:
    def __init__(self, path: Path, image: np.ndarray, threads: int):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input("image", ort.OrtValue.ortvalue_from_numpy(image))
        self.binding.bind_output(self.session.get_outputs()[0].name)

    def seconds(self, calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            self.session.run_with_iobinding(self.binding)
        return (time.perf_counter() - begin) / calls

    def output(self) -> np.ndarray:
        self.seconds(1)
        found: np.ndarray = self.binding.copy_outputs_to_cpu()[0]
        return found.ravel()


class OpenVino:
    def __init__(self, path: Path, image: np.ndarray, threads: int):
        core = ov.Core()
        asked = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
        self.request = core.compile_model(core.read_model(str(path)), "CPU", asked).create_infer_request()
        self.request.set_input_tensor(ov.Tensor(np.ascontiguousarray(image), shared_memory=True))

    def seconds(self, calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            self.request.infer()
        return (time.perf_counter() - begin) / calls

    def output(self) -> np.ndarray:
        self.seconds(1)
        return np.array(self.request.get_output_tensor().data).ravel()


class Ours(Server):
    def __init__(self, program: Path, image: Path, threads: int):
        super().__init__([program, threads, 1, image])
        self.file = program.parent / "out"

    def output_values(self) -> np.ndarray:
        return np.fromfile(self.output(self.file), np.float32)


def prepared(name: str, args: argparse.Namespace) -> tuple[dict[str, Path], Path, Path, np.ndarray]:
    """Our programs, the file of the image, the int8 ONNX model, the image."""
    folder = args.build / (f"{name}-small" if args.small else name)
    folder.mkdir(parents=True, exist_ok=True)
    macros = SMALL[name] if args.small else {}
    defines = [f"-D{k}={v}" for k, v in macros.items()]
    weights = folder / "weights.safetensors"
    example = builds.ROOT / "examples" / name
    builds.make_weights(example / "make_weights.c", folder / "make", weights, defines)
    size = int(macros.get("SIZE", "224"))
    images = np.random.default_rng(1).standard_normal((SAMPLES, 3, size, size)).astype(np.float32)
    save_file({"image": images}, folder / "samples.safetensors")
    raw = folder / "image.raw"
    images[:1].tofile(raw)
    words = [*defines, f'-DWEIGHTS="{weights}"']
    cache = args.build / "cache"
    begin = time.perf_counter()
    subprocess.run([sys.executable, str(builds.TOOL), "quantize", str(example / "model.c"), *words, "--data",
                    str(folder / "samples.safetensors"), "-o", str(folder
                                                                   / "int8"), "--cache", str(cache), "--no-compare",
                    "--force", "--activations", args.activations], check=True)
    said(f"{name}: quantized in {time.perf_counter() - begin:.1f} s")
    programs = {}
    for label, source, isa, more in (("f32", example / "model.c", args.isa, words),
                                     ("int8", folder / "int8" / "model.c",
                                     args.isa if args.isa != "avx512" else "avx512,avx512_vnni,avx512_amx", []),
                                     ("f32 avx2", example / "model.c", "avx2", words),
                                     ("int8 avx2", folder / "int8" / "model.c", "avx2", [])):
        begin = time.perf_counter()
        asked = ["--specialize", "batch=1", *(["--isa", isa] if isa else [])]
        programs[label] = builds.program(name, source, folder / label.replace(" ", "-"), cache, [*asked, *more],
                                         team=True)
        said(f"{name}: built {label} in {time.perf_counter() - begin:.1f} s")
    path = folder / "int8.onnx"
    (folder / "f32.onnx").write_bytes(NETWORKS[name](load_file(weights), size))
    quant_pre_process(str(folder / "f32.onnx"), str(folder / "prepared.onnx"), skip_symbolic_shape=True)
    quantize_static(str(folder / "prepared.onnx"), str(path), Reader(images), quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    said(f"{name}: ONNX Runtime's is quantized")
    return programs, raw, path, images[:1]


def said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measure(name: str, threads: int, programs: dict[str, Path], raw: Path, path: Path, image: np.ndarray,
            rounds: int) -> None:
    ours = {label: Ours(program, raw, threads) for label, program in programs.items()}
    theirs: dict[str, OnnxRuntime | OpenVino] = {"ONNX Runtime": OnnxRuntime(path, image, threads)}
    if ov is not None:
        theirs["OpenVINO"] = OpenVino(path, image, threads)
    want = ours["f32"].output_values()
    errors = {}
    for label, got in (*((k, s.output_values()) for k, s in ours.items()),
                       *((k, t.output()) for k, t in theirs.items())):
        errors[label] = float(np.linalg.norm(got - want) / np.linalg.norm(want))
        if not errors[label] < (1e-4 if label.startswith("f32") else LEAST_CLOSE):
            raise SystemExit(f"{name}: {label}: the relative error of the outputs is {errors[label]:.3g}")
    contenders: dict[str, Callable[[int], float]] = {k: s.seconds for k, s in (*ours.items(), *theirs.items())}
    _, times = interleaved(contenders, rounds, ROUND)
    for c in contenders:
        ratio = statistics.median(a / b for a, b in zip(times[c], times["int8"]))
        print(f"| {name}, {threads} threads | {c} | {statistics.median(times[c]) * 1e3:.3f} ms | "
              f"{min(times[c]) * 1e3:.3f} ms | "
              f"{ratio:.2f} | {100 * errors[c]:.2f} % |", flush=True)
    for s in ours.values():
        s.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(NETWORKS))
    parser.add_argument("--threads", default=f"1,{len(os.sched_getaffinity(0))}")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--activations", choices=("u8", "i8"), default="u8",
                        help="ours: as tensor-compile quantize --activations (default: %(default)s, as theirs are)")
    parser.add_argument("--small", action="store_true", help="small networks, to see that all works")
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "bench-int8")
    args = parser.parse_args()
    args.build = args.build.resolve()
    versions = f"onnxruntime {ort.__version__}, openvino {ov.__version__ if ov else 'missing'}, numpy {np.__version__}"
    print(conditions(versions, args.isa, args.rounds) + f"; our activations {args.activations}\n")
    print("| network | contender | median | least | time / int8's | relative error of the output |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name in args.models.split(","):
        made = prepared(name, args)
        for threads in map(int, args.threads.split(",")):
            measure(name, threads, *made, rounds=args.rounds)


if __name__ == "__main__":
    main()
