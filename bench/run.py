# SPDX-License-Identifier: Apache-2.0
"""Measures our builds against PyTorch eager: one interleaved run, medians of rounds, one thread.

  python bench/run.py [--models mlp,gpt2,…] [--rounds 30] [--isa avx512] [--build DIR] [--profile]

Needs torch, numpy and safetensors (a throw-away virtual environment). Each model is built twice: with variants of the
sizes measured, and as the generic variant alone. All outputs are checked against PyTorch's; then come the rounds: in
each, every contender makes its calls one after the other, so that slow phases of a shared machine hit all of them.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import builds
import models
from servers import Server, conditions, interleaved

VARIANTS = ("specialized", "generic")
CONTENDERS = ("torch eager", *VARIANTS)
ROUND = 0.03  # seconds of calls that each contender makes a round


def make_weights(model: str, build: Path) -> Path:
    """The safetensors beside the model's source; made where the model's weights are seeded ones."""
    folder = builds.source(model).parent
    path = folder / f"{folder.name}.safetensors"
    if path.exists():
        return path
    if model in builds.OWN:
        g = torch.Generator().manual_seed(7)
        made = {name: torch.randn(shape, generator=g) for name, shape in builds.OWN[model].items()}
        save_file({name: w / w.shape[1]**0.5 if w.ndim == 2 else w * 0.1 for name, w in made.items()}, path)
    else:
        builds.make_weights(folder / "make_weights.c", build / "make_weights", path)
    return path


def build_program(model: str, variant: str, args: argparse.Namespace) -> Path:
    arguments = ["--isa", args.isa] if args.isa else []
    if variant == "specialized":
        arguments += builds.specialized(model)
    start = time.perf_counter()
    made = builds.program(model, builds.source(model), args.build / f"{model}-{variant}", args.build / "cache",
                          arguments)
    print(f"built {model} {variant} in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return made


def input_files(model: str, inputs: dict, folder: Path) -> list[str]:
    """The inputs that are tensors, each in a raw file."""
    files = []
    for name, tensor in inputs.items():
        if isinstance(tensor, torch.Tensor):
            files.append(str(folder / f"{model}.{name}"))
            tensor.numpy().tofile(files[-1])
    return files


def measure(model: str, sizes: dict, programs: dict[str, Path], args: argparse.Namespace) -> dict:
    """Median seconds of a call by contender, and medians of the ratios within a round."""
    weights = load_file(make_weights(model, args.build))
    inputs = models.random_inputs(model, **sizes)
    folder = args.build / "data"
    folder.mkdir(exist_ok=True)
    files = input_files(model, inputs, folder)
    call = models.MODELS[model]
    servers = {variant: Server([program, *sizes.values(), *files]) for variant, program in programs.items()}

    def eager(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call(weights, inputs)
        return (time.perf_counter() - start) / calls

    with torch.inference_mode():
        expected = call(weights, inputs).numpy()
        contenders = {"torch eager": eager, **{k: s.seconds for k, s in servers.items()}}
        for name, server in servers.items():
            got = np.fromfile(server.output(folder / "out.raw"), np.float32).reshape(expected.shape)
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5 * max(2, np.abs(expected).max()),
                                       err_msg=f"{model} {name}")
        _, times = interleaved(contenders, args.rounds, ROUND)
    for server in servers.values():
        server.close()
    return {name: statistics.median(t) for name, t in times.items()} | {
        "ratio": statistics.median(a / b for a, b in zip(times["torch eager"], times["specialized"])),
        "generic/specialized": statistics.median(a / b for a, b in zip(times["generic"], times["specialized"]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(models.MODELS))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--isa", default=builds.best_isa(),
                        help="instruction sets to build, as tensor-compile build --isa (default: this machine's best)")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "bench")
    args = parser.parse_args()
    wanted = args.models.split(",")
    for name in wanted:
        if name not in models.MODELS:
            parser.error(f"unknown model {name!r}; there are {', '.join(models.MODELS)}")
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    args.build = args.build.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    programs: dict[str, dict[str, Path]] = {}
    for model in dict.fromkeys(wanted):
        make_weights(model, args.build)
        programs[model] = {variant: build_program(model, variant, args) for variant in VARIANTS}
    print(conditions(f"torch {torch.__version__}, numpy {np.__version__}", args.isa, args.rounds) + "\n")
    print("| model | torch eager | specialized | generic | eager / specialized | generic / specialized |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model, sizes in builds.ROWS:
        if model not in programs:
            continue
        r = measure(model, sizes, programs[model], args)
        label = f"{model} " + ", ".join(f"{k} {v}" for k, v in sizes.items())
        us = [f"{r[k] * 1e6:.1f} us" for k in CONTENDERS]
        print(f"| {label} | {' | '.join(us)} | {r['ratio']:.2f} | {r['generic/specialized']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
