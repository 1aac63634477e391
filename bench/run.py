# SPDX-License-Identifier: Apache-2.0
"""Measures our builds against PyTorch eager: one interleaved run, medians of rounds, one thread.

  python bench/run.py [--models mlp,digits,minilm] [--rounds 30] [--isa avx512] [--build DIR]

Needs torch, numpy and safetensors (a throw-away virtual environment). For every row it builds the model twice (the
specialized size and the generic variant alone), checks all outputs against PyTorch's, then runs rounds: in each, every
contender makes its calls one after the other, so that slow phases of a shared machine hit all of them.
"""
from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
import models  # noqa: E402

ROWS = [("mlp", {"batch": 1}), ("mlp", {"batch": 64}), ("digits", {"batch": 1}), ("digits", {"batch": 32}),
        ("minilm", {"batch": 1, "seq": 128})]
OUTPUT = {"mlp": 10, "digits": 10, "minilm": 384}


class Server:
    """One benchmark process of a C build."""

    def __init__(self, program: Path, args: list[str]):
        self.process = subprocess.Popen([str(program), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line: str) -> str:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"benchmark process failed on {line!r}")
        return answer

    def seconds(self, calls: int) -> float:
        return int(self.ask(f"run {calls}")) / 1e9 / calls

    def output(self, path: Path, shape: tuple) -> np.ndarray:
        self.ask(f"out {path}")
        return np.fromfile(path, dtype=np.float32).reshape(shape)


def weights_of(model: str, build: Path) -> Path:
    """The safetensors beside the model's source; made where the model's weights are seeded ones."""
    if model == "mlp":
        path = HERE / "mlp" / "mlp.safetensors"
        if not path.exists():
            g = torch.Generator().manual_seed(7)
            w = {}
            for i, (n, k) in enumerate([(512, 784), (512, 512), (10, 512)], 1):
                w[f"fc{i}.weight"] = torch.randn(n, k, generator=g) / k**0.5
                w[f"fc{i}.bias"] = torch.randn(n, generator=g) * 0.1
            save_file(w, path)
        return path
    path = ROOT / "examples" / model / f"{model}.safetensors"
    if not path.exists():
        tool = build / "make_weights"
        subprocess.run(["cc", "-O2", str(path.parent / "make_weights.c"), "-o", str(tool), "-lm"], check=True)
        subprocess.run([str(tool), str(path)], check=True)
    return path


def build_server(model: str, sizes: dict, variant: str, args: argparse.Namespace) -> Path:
    """Compiles model and server program; variant: `specialized` or `generic`."""
    source = (HERE / "mlp" if model == "mlp" else ROOT / "examples" / model) / "model.c"
    out = args.build / f"{model}-{'-'.join(map(str, sizes.values()))}-{variant}"
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "generator" / "tensor-compile"), "build", str(source), "-o", str(out),
               "--isa", args.isa]
    if variant == "specialized":
        for name, size in sizes.items():
            command += ["--specialize", f"{name}={size}"]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    print(f"built {out.name} in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    program = out / "server"
    runtime = ROOT / "runtime"
    subprocess.run(["cc", "-O2", f"-DMODEL_{model.upper()}", f"-I{out}", f"-I{runtime / 'include'}", f"-I{HERE}",
                    str(HERE / "server.c"), str(out / "model.o"), *map(str, sorted(runtime.glob("core/*.c"))), "-o",
                    str(program)], check=True)
    return program


def measure(model: str, sizes: dict, args: argparse.Namespace) -> dict:
    weights = load_file(weights_of(model, args.build))
    inputs = models.random_inputs(model, **sizes)
    folder = args.build / "data"
    folder.mkdir(exist_ok=True)
    files = []
    for name, tensor in inputs.items():
        files.append(str(folder / f"{model}.{name}"))
        tensor.numpy().tofile(files[-1])
    call = models.MODELS[model]
    with torch.inference_mode():
        expected = call(weights, inputs).numpy()
        servers = {v: Server(build_server(model, sizes, v, args), [*map(str, sizes.values()), *files])
                   for v in ("specialized", "generic")}

        def eager(calls: int) -> float:
            start = time.perf_counter()
            for _ in range(calls):
                call(weights, inputs)
            return (time.perf_counter() - start) / calls

        contenders = {"torch eager": eager, **{k: s.seconds for k, s in servers.items()}}
        counts = {}
        for name, run in contenders.items():
            run(2)
            counts[name] = max(1, int(0.03 / run(3)))
        for name, server in servers.items():
            got = server.output(folder / "out.raw", expected.shape)
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=2e-5, err_msg=f"{model} {name}")
        times: dict = {name: [] for name in contenders}
        for _ in range(args.rounds):
            for name, run in contenders.items():
                times[name].append(run(counts[name]))
    return {name: statistics.median(t) for name, t in times.items()} | {
        "ratio": statistics.median(a / b for a, b in zip(times["torch eager"], times["specialized"])),
        "generic/specialized": statistics.median(a / b for a, b in zip(times["generic"], times["specialized"]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="mlp,digits,minilm")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--isa", default="avx512", help="instruction sets to build, as tensor-compile build --isa")
    parser.add_argument("--build", type=Path, default=Path("build-bench"))
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.build.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    print(f"{cpu}, {platform.system()} {platform.release()}; {compiler}; torch {torch.__version__}; one thread; "
          f"--isa {args.isa}; median of {args.rounds} interleaved rounds\n")
    print("| model | torch eager | specialized | generic | eager / specialized | generic / specialized |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model, sizes in ROWS:
        if model not in args.models.split(","):
            continue
        r = measure(model, sizes, args)
        label = f"{model} " + ", ".join(f"{k} {v}" for k, v in sizes.items())
        us = [f"{r[k] * 1e6:.1f} us" for k in ("torch eager", "specialized", "generic")]
        print(f"| {label} | {' | '.join(us)} | {r['ratio']:.2f} | {r['generic/specialized']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
