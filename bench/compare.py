# SPDX-License-Identifier: Apache-2.0
"""Compares the outputs of our builds with PyTorch's at three sizes of each model, and prints time and working memory.

  python bench/compare.py [--models resnet50,gpt2,…] [--isa avx512] [--build DIR]

PyTorch computes in double from the same weights and inputs. An output passes where its largest error is at most
TOLERANCE of the largest value; the error of PyTorch's own f32 is printed beside it. Exit code 1 where one fails. The
times are of one call after another, not interleaved: bench/run.py measures.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from safetensors.torch import load_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import builds
import models
import run
from servers import Server

TOLERANCE = 2e-5
SIZES: dict[str, tuple[dict[str, int], ...]] = {
    "resnet50": ({"batch": 1}, {"batch": 2}, {"batch": 5}),
    "mobilenet_v2": ({"batch": 1}, {"batch": 2}, {"batch": 5}),
    "gpt2": ({"length": 1}, {"length": 17}, {"length": 128}),
    "gpt2-decode": ({"past": 0}, {"past": 17}, {"past": 300}),
    "unet": ({"height": 64, "width": 64}, {"height": 96, "width": 160}, {"height": 256, "width": 256}),
    "minilm": ({"batch": 1, "seq": 9}, {"batch": 3, "seq": 20}, {"batch": 1, "seq": 128}),
    "mlp": ({"batch": 1}, {"batch": 7}, {"batch": 64}),
    "digits": ({"batch": 1}, {"batch": 7}, {"batch": 32}),
    "lstm-vad": ({},),
}


def doubled(tensors: dict) -> dict:
    return {k: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for k, v in tensors.items()}


def compare(model: str, program: Path, args: argparse.Namespace) -> bool:
    """Prints one line a size; whether all outputs passed."""
    weights = load_file(run.make_weights(model, args.build))
    exact_weights, call, passed = doubled(weights), models.MODELS[model], True
    for sizes in SIZES[model]:
        inputs = models.random_inputs(model, **sizes)
        with torch.inference_mode():
            exact = call(exact_weights, doubled(inputs))
            start = time.perf_counter()
            eager = call(weights, inputs)
            eager_time = time.perf_counter() - start
        server = Server([program, *sizes.values(), *run.input_files(model, inputs, args.build / "data")])
        got = torch.from_numpy(np.fromfile(server.output(args.build / "data" / "out.raw"), np.float32))
        got = got.reshape(exact.shape)
        largest = exact.abs().max().item()
        error = (got - exact).abs().max().item() / largest
        ours, arena = server.seconds(1), int(server.ask("arena"))
        server.close()
        right = error <= TOLERANCE
        passed &= right
        label = " ".join((model, *(f"{k}={v}" for k, v in sizes.items())))
        print(f"{'ok  ' if right else 'FAIL'} {label:30} error {error:.1e} (PyTorch f32 "
              f"{(eager - exact).abs().max().item() / largest:.1e}), {ours * 1e3:.2f} ms (PyTorch "
              f"{eager_time * 1e3:.2f}), "
              f"arena {arena / 2**20:.2f} MiB", flush=True)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(SIZES))
    parser.add_argument("--isa", default=builds.best_isa(), help="as tensor-compile build --isa")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "bench")
    args = parser.parse_args()
    args.build = args.build.resolve()
    (args.build / "data").mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    passed = True
    for model in args.models.split(","):
        if model not in SIZES:
            parser.error(f"unknown model {model!r}; there are {', '.join(SIZES)}")
        run.make_weights(model, args.build)
        passed &= compare(model, run.build_program(model, "generic", args), args)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
