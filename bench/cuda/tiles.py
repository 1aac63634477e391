# SPDX-License-Identifier: Apache-2.0
"""What every tile of every contraction of 16-bit operands takes on this GPU, beside what the cost model thinks of it
(loops/schedule_half.py). Needs nvcc and a GPU. A graph is what `build --dump-after capture` prints.

    PYTHONPATH=generator python3 bench/cuda/tiles.py GRAPH:DIM=N,… … [--log FILE] [--most 8]
"""
from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tensor_compile import pipeline, target as targets
from tensor_compile.emit.cuda_half import emit_half
from tensor_compile.emit.identity import identity
from tensor_compile.graph.dtypes import DTYPES
from tensor_compile.loops import schedule_cuda, schedule_half
from tensor_compile.loops.loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel

ROOT = Path(__file__).resolve().parents[2]
HOST = r"""
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
static void must(cudaError_t error) { if (error) { printf("%s\n", cudaGetErrorString(error)); exit(1); } }
__global__ void fill(unsigned *to, size_t words, unsigned pattern)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x) {
        unsigned x = (unsigned)i * 2654435761u;
        to[i] = pattern == 2   ? (0x3c003c00u | (x & 0x80ff80ffu))
                : pattern == 4 ? (0x3c000000u | (x & 0x80ffffffu))
                               : x % 100;
    }
}
template <class K, class A>
static void measure(const char *name, K kernel, A arguments, int blocks, int threads, int shared)
{
    must(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    cudaEvent_t start, end;
    must(cudaEventCreate(&start)), must(cudaEventCreate(&end));
    float best = 1e9f;
    for (int round = 0; round < 4; ++round) {
        must(cudaEventRecord(start));
        for (int i = 0; i < 20; ++i)
            kernel<<<blocks, threads, shared>>>(arguments);
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        float ms;
        must(cudaEventElapsedTime(&ms, start, end));
        best = ms < best ? ms : best;
    }
    printf("%s %.2f\n", name, best / 20 * 1000);
}
"""


def program(kernel: ContractionKernel | GroupedContractionKernel, tiles: list, number: int) -> str:
    """A program that prints what each tile takes."""
    texts, calls = [], []
    for i, tile in enumerate(tiles):
        symbol = f"kernel{number}_{i}"
        texts.append(emit_half(kernel, symbol, "bf16", tile))
        points = sum(schedule_cuda.tiles(part, tile).value for part in kernel.contractions) * tile.split
        sums = max(len(part.b) for part in kernel.contractions)
        calls.append(f'    measure("{i}", {symbol}, arguments, {points}, {tile.threads}, {tile.shared(sums)});')
    params = kernel.params
    lines = [*texts, HOST, "int main()", "{", f"    tc_arguments<{len(params)}, 0> arguments = {{}};"]
    for i, b in enumerate(params):
        size = DTYPES[b.dtype].bytes
        words = -(-b.elements.value * size // 4)
        lines += [f"    must(cudaMalloc(&arguments.p[{i}], (size_t){words} * 4));",
                  f"    fill<<<256, 256>>>((unsigned *)arguments.p[{i}], (size_t){words}, {size});"]
    return "\n".join([*lines, "    must(cudaDeviceSynchronize());", *calls, "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--most", type=int, default=8)
    args = parser.parse_args()
    target = replace(targets.load(targets.find("cuda-sm90")), precision="bf16")
    found: dict = {}
    for given in args.graphs:
        path, _, dims = given.partition(":")
        sizes = {name: (int(n),) for name, n in (word.split("=") for word in dims.split(",") if word)}
        for function in pipeline.run(Path(path).read_text(encoding="utf-8"), path, target, sizes).plan.functions:
            for step in function.variants[0].program.kernel_steps:
                k = step.kernel
                if isinstance(k, (ContractionKernel, GroupedContractionKernel)) and not k.dims \
                        and not isinstance(k, AttentionKernel) \
                        and isinstance(schedule_cuda.tile(k, schedule_cuda.units(target)), schedule_half.HalfTile):
                    found.setdefault(identity(k), [k, f"{Path(path).stem}:{dims}", 0])[2] += 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(16) as pool:
        jobs = []
        for number, (kernel, where, times) in enumerate(found.values()):
            sums = max(len(part.b) for part in kernel.contractions)
            tiles = sorted(schedule_half.candidates(kernel, sums, True),
                           key=lambda t: schedule_half.estimate(kernel, t, sums))[:args.most]
            source = Path(folder) / f"k{number}.cu"
            source.write_text(program(kernel, tiles, number), encoding="utf-8")
            command = ["nvcc", "-std=c++17", "-w", "-fmad=false", "-gencode=arch=compute_90a,code=sm_90a",
                       f"-I{ROOT}/templates/cuda", f"-I{ROOT}/templates/include", str(source), "-o",
                       str(source.with_suffix(""))]
            job = pool.submit(subprocess.run, command, capture_output=True, text=True)
            jobs.append((kernel, where, times, tiles, source, job))
        lines = []

        def say(text: str) -> None:
            print(text, flush=True)
            lines.append(text)
            if args.log:
                args.log.write_text("\n".join(lines) + "\n", encoding="utf-8")

        for kernel, where, times, tiles, source, job in jobs:
            done = job.result()
            part = kernel.contractions[0]
            b, m, n, k = (math.prod(s.hi.value + 1 for s in group) for group in (part.batch, part.m, part.n, part.k))
            say(f"{where} {kernel.label}: {times} x {len(kernel.contractions)} parts, {b} x {m} x {n} x {k}")
            if done.returncode:
                say(done.stderr[-600:])
                continue
            try:
                result = subprocess.run([str(source.with_suffix(""))], capture_output=True, text=True, timeout=20)
            except subprocess.TimeoutExpired:
                say("    hangs")
                continue
            measured = dict(line.split() for line in result.stdout.splitlines() if line[:1].isdigit())
            sums = max(len(p.b) for p in kernel.contractions)
            for i, tile in enumerate(tiles):
                thought = schedule_half.estimate(kernel, tile, sums) / 1755
                say(f"    {tile.rows}x{tile.columns}{'w' if tile.wgmma else ''}/{tile.slices}/{tile.split} "
                    f"stages {tile.stages(sums)}: {measured.get(str(i), result.stdout[-80:])} us, "
                    f"thought {thought:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
