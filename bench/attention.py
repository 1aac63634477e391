# SPDX-License-Identifier: Apache-2.0
"""Attention alone: this tree, an older commit and PyTorch eager, one thread, interleaved rounds, minima.

  python bench/attention.py [--old 61f0507] [--rounds 40] [--isa avx512] [--build DIR] [--no-torch] [--cpu N]

Outputs of both trees are compared bit by bit first, and with PyTorch's within 1e-5. A round makes calls of every
contender for some 30 ms, one contender after the other; the table has the fastest round of each.
"""
from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
from servers import Server

HEADS, HEAD = 12, 64
ROUND = 0.03  # seconds of calls that a contender makes a round
# (name, function, heads of keys, rows or cached positions)
ROWS = [("causal 12x512x64", "causal", 12, 512), ("full 12x512x64", "full", 12, 512),
        ("causal 12x2048x64", "causal", 12, 2048), ("causal 12x512x64, 4 kv heads", "causal", 4, 512),
        ("decode at 256", "decode", 12, 256), ("decode at 1024", "decode", 12, 1024),
        ("decode at 4096", "decode", 12, 4096), ("decode at 1024, 4 kv heads", "decode", 4, 1024)]


def builds_of(tree: Path) -> ModuleType:
    """bench/builds.py of a tree."""
    spec = importlib.util.spec_from_file_location(f"builds_{abs(hash(tree))}", tree / "bench" / "builds.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def old_tree(commit: str, folder: Path) -> Path:
    """The files of a commit."""
    if not (folder / "meson.build").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", str(folder)], input=archive, check=True)
    return folder


def server(tree: Path, row: tuple[str, str, int, int], build: Path, files: list[Path], isa: str) -> Server:
    _, function, kv_heads, size = row
    builds = builds_of(tree)
    builds.FUNCTIONS["attention"] = f"attention_{function}"
    length = size if function != "decode" else 16
    out = build / f"{kv_heads}-{length}"
    made = builds.program("attention", HERE / "attention" / "model.c", out, build / "cache",
                          ["-D", f"LENGTH={length}", "-D", f"KV_HEADS={kv_heads}", "--isa", isa])
    own = out / f"server-{function}"
    made.replace(own)
    return Server([own, *([size] if function == "decode" else []), *files])


def inputs_of(row: tuple[str, str, int, int]) -> list[np.ndarray]:
    _, function, kv_heads, size = row
    rng = np.random.default_rng(1)
    shapes = [(1, HEADS * HEAD), (1, kv_heads * HEAD), (1, kv_heads * HEAD)] if function == "decode" else \
        [(HEADS, size, HEAD), (kv_heads, size, HEAD), (kv_heads, size, HEAD)]
    return [rng.standard_normal(s, dtype=np.float32) for s in shapes]


def eager(row: tuple[str, str, int, int], inputs: list[np.ndarray]) -> Callable[[], np.ndarray]:
    """PyTorch's call of a row. The cache of a decoder is zero, as in a new state."""
    import torch
    from torch.nn import functional as F
    torch.set_num_threads(1)
    _, function, kv_heads, size = row
    q, k, v = (torch.from_numpy(x) for x in inputs)
    grouped = {"enable_gqa": True} if kv_heads != HEADS else {}
    if function == "decode":
        caches = [torch.zeros(kv_heads, size + 1, HEAD) for _ in range(2)]

        def call() -> np.ndarray:
            with torch.inference_mode():
                for cache, new in zip(caches, (k, v)):
                    cache[:, size] = new.view(kv_heads, HEAD)
                return F.scaled_dot_product_attention(q.view(1, HEADS, 1, HEAD), caches[0][None], caches[1][None],
                                                      **grouped).numpy()
        return call

    def whole() -> np.ndarray:
        with torch.inference_mode():
            return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=function == "causal",
                                                  **grouped).numpy()
    return whole


def seconds_of(call: Callable[[], object], calls: int) -> float:
    from time import perf_counter
    start = perf_counter()
    for _ in range(calls):
        call()
    return (perf_counter() - start) / calls


def measure(row: tuple[str, str, int, int], options: argparse.Namespace, old: Path) -> list[float | None]:
    """Seconds of a call: old tree, this tree, PyTorch."""
    files = []
    inputs = inputs_of(row)
    options.build.mkdir(parents=True, exist_ok=True)
    for name, data in zip("qkv", inputs):
        files.append(options.build / f"{name}.bin")
        data.tofile(files[-1])
    servers = [server(tree, row, options.build / name, files, options.isa) for name, tree in (("old", old),
                                                                                                ("new", ROOT))]
    outputs = [np.fromfile(s.output(options.build / "out.bin"), np.float32) for s in servers]
    if outputs[0].tobytes() != outputs[1].tobytes():
        raise SystemExit(f"{row[0]}: the two trees give different bits")
    calls: list[Callable[[int], float]] = [s.seconds for s in servers]
    if not options.no_torch:
        peer = eager(row, inputs)
        if not np.allclose(peer().reshape(-1), outputs[1], 1e-4, 1e-5):
            raise SystemExit(f"{row[0]}: not what PyTorch gives")
        calls.append(lambda n: seconds_of(peer, n))
    counts = [max(1, int(ROUND / max(c(1), 1e-7))) for c in calls]
    best = [float("inf")] * len(calls)
    for _ in range(options.rounds):
        for i, (call, n) in enumerate(zip(calls, counts)):
            best[i] = min(best[i], call(n))
    for s in servers:
        s.close()
    return [*best, *([None] if options.no_torch else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", default="61f0507", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--isa", default=builds_of(ROOT).best_isa())
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench-attention")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--cpu", type=int, help="run on this processor alone")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    old = old_tree(options.old, options.build / f"tree-{options.old}")
    print(f"{options.isa}, {builds_of(ROOT).banner()}, load {os.getloadavg()[0]:.1f}", flush=True)
    print("| row | old us | new us | torch eager us | old / new | eager / new |\n|---|---|---|---|---|---|", flush=True)
    for row in ROWS:
        if options.only not in row[0]:
            continue
        before, now, peer = measure(row, options, old)
        print(f"| {row[0]} | {before * 1e6:.1f} | {now * 1e6:.1f} | {f'{peer * 1e6:.1f}' if peer else '-'} | "
              f"{before / now:.2f} | {f'{peer / now:.2f}' if peer else '-'} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
