# SPDX-License-Identifier: Apache-2.0
"""contender.py KIND FOLDER ROW THREADS: a process that calls one row's model with a peer, as server.h has it.

  about    answers versions and settings
  run N    calls the model N times; answers the nanoseconds of all N together
  out F    makes one call and writes its output to the file F; answers "ok"

KIND: eager, compile (torch.compile: max_autotune, freezing), frozen (torch.compile: default mode, freezing, which takes
less time to compile), ahead (torch.compile's code that ahead.py has made), onnxruntime, openvino. prepare.py made the
files.
"""
from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, TextIO

HERE = Path(__file__).resolve().parent
Call = Callable[[], object]
Output = Callable[[], object]


def torch_call(kind: str, folder: Path, row: str, threads: int, held: ExitStack) -> tuple[Call, Output, str]:
    """held: keeps the inference mode for as long as there are calls."""
    import numpy as np
    import torch
    sys.path.insert(0, str(HERE))
    import peer_networks as networks
    from rows import named
    torch.set_num_threads(threads)
    (known,) = named(row)
    names = json.loads((folder / f"{row}.json").read_text())["inputs"]
    inputs = {name: torch.from_numpy(np.load(folder / f"{row}.{name}.npy")) for name in names}
    weights = networks.weights(known.model, folder / f"{known.model}.safetensors")
    made: Callable[..., torch.Tensor] = networks.Model(known.model, weights, inputs).eval()
    about = f"torch {torch.__version__}"
    if kind != "eager":
        from torch._inductor import config
        # Dynamo reads the setting of the module: with an option of torch.compile alone, weights stay inputs.
        config.freezing, config.max_autotune = True, kind == "compile"
        made = torch.compile(made, fullgraph=True, dynamic=False)
        about += ", max_autotune, freezing" if kind == "compile" else ", default mode, freezing"
    given = tuple(inputs.values())

    def call() -> torch.Tensor:
        return made(*given)
    # Outside of it a second call would compile anew, without freezing.
    held.enter_context(torch.inference_mode())
    call()
    return call, lambda: call().numpy(), about


def ahead_call(folder: Path, row: str, threads: int, held: ExitStack) -> tuple[Call, Output, str]:
    """held: keeps the inference mode for as long as there are calls. The loader itself: aoti_load_package of
    torch._inductor first compiles programs that ask what the processor has, one process at a time."""
    import numpy as np
    import torch
    torch.set_num_threads(threads)
    names = json.loads((folder / f"{row}.json").read_text())["inputs"]
    given = [torch.from_numpy(np.load(folder / f"{row}.{name}.npy")) for name in names]
    loader = torch._C._aoti.AOTIModelPackageLoader(str(folder / f"{row}.{threads}.pt2"), "model", False, 1, -1)
    held.enter_context(torch.inference_mode())

    def call() -> torch.Tensor:
        (out,) = loader.boxed_run(list(given))
        return out
    return (call, lambda: call().numpy(),
            f"torch {torch.__version__}, AOTInductor, max_autotune, freezing")


def onnxruntime_call(folder: Path, row: str, threads: int) -> tuple[Call, Output, str]:
    import numpy as np
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(str(folder / f"{row}.onnx"), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    wanted = {i.name for i in session.get_inputs()}
    for name in json.loads((folder / f"{row}.json").read_text())["inputs"]:
        if name in wanted:
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(np.load(folder / f"{row}.{name}.npy")))
    expected = np.load(folder / f"{row}.expected.npy")
    out = ort.OrtValue.ortvalue_from_numpy(np.empty_like(expected))
    binding.bind_ortvalue_output("y", out)
    return (lambda: session.run_with_iobinding(binding), out.numpy,
            f"onnxruntime {ort.__version__}, all optimizations, IO binding")


def openvino_call(folder: Path, row: str, threads: int) -> tuple[Call, Output, str]:
    import numpy as np
    import openvino as ov
    core = ov.Core()
    compiled = core.compile_model(core.read_model(str(folder / f"{row}.onnx")), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads})
    request = compiled.create_infer_request()
    names = set(json.loads((folder / f"{row}.json").read_text())["inputs"])
    for port in compiled.inputs:
        (name,) = names & port.get_names()   # it may have names of values that are equal to it, too
        request.set_tensor(port, ov.Tensor(np.load(folder / f"{row}.{name}.npy")))
    return (request.infer, lambda: request.get_output_tensor(0).data,
            f"openvino {ov.__version__}, LATENCY, f32")


def main() -> None:
    kind, folder, row, threads = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    answers = os.fdopen(os.dup(1), "w")   # what libraries print goes to the log
    os.dup2(2, 1)
    make = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}
    with ExitStack() as held:
        if kind in make:
            made = make[kind](folder, row, threads)
        elif kind == "ahead":
            made = ahead_call(folder, row, threads, held)
        else:
            made = torch_call(kind, folder, row, threads, held)
        serve(*made, answers)


def serve(call: Call, output: Output, about: str, answers: TextIO) -> None:
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "about":
            answer = about
        elif command == "run":
            start = time.perf_counter_ns()
            for _ in range(int(rest)):
                call()
            answer = str(time.perf_counter_ns() - start)
        elif command == "out":
            import numpy as np
            call()
            np.asarray(output(), dtype=np.float32).tofile(rest)
            answer = "ok"
        else:
            raise SystemExit(f"unknown command {command}")
        print(answer, file=answers, flush=True)


main()
