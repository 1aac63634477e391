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

from run import ROOT, Log
from tensor_compile import pipeline, target as targets
from tensor_compile.emit.cuda.half import emit_half
from tensor_compile.emit.identity import identity
from tensor_compile.graph.dtypes import DTYPES
from tensor_compile.loops import schedule_cuda, schedule_half
from tensor_compile.loops.bulk_copies import come_in_bulk, tensor_maps
from tensor_compile.loops.loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel

MOST_TILES = 6    # of a program, beside the one that the others have to be equal to

HOST = r"""
#include <cuda.h>
#include <cuda_runtime.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
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
/* As runtime/cuda/device.c has it. */
static void describe(void *to, void *address, uint64_t terms, uint64_t lines, uint64_t bytes, unsigned box)
{
    const uint64_t sizes[] = {terms, lines}, strides[] = {bytes};
    const unsigned boxes[] = {64, box}, steps[] = {1, 1};
    if (cuTensorMapEncodeTiled((CUtensorMap *)to, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, address, (const cuuint64_t *)sizes,
                               (const cuuint64_t *)strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        printf("no map\n"), exit(1);
}
static float element(const void *from, size_t i, int size)
{
    if (size == 4)
        return ((const float *)from)[i];
    const unsigned bits = (unsigned)((const unsigned short *)from)[i] << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
/* Elements of the result that are farther from the first tile's than 1 % of the largest. */
static long apart(void *result, size_t count, int size)
{
    static char *first, *now;
    const int is_first = !first;
    if (is_first)
        first = (char *)malloc(count * size), now = (char *)malloc(count * size);
    must(cudaMemcpy(is_first ? first : now, result, count * size, cudaMemcpyDeviceToHost));
    long wrong = 0;
    float most = 0;
    for (size_t i = 0; i < count; ++i)
        most = fabsf(element(first, i, size)) > most ? fabsf(element(first, i, size)) : most;
    for (size_t i = 0; !is_first && i < count; ++i)
        wrong += !(fabsf(element(first, i, size) - element(now, i, size)) <= 0.01f * most);
    return wrong;
}
template <class K, class A>
static void measure(const char *name, K kernel, A arguments, int blocks, int threads, int shared, void *result,
                    size_t count, int size)
{
    must(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    fill<<<256, 256>>>((unsigned *)result, count * size / 4, size);
    kernel<<<blocks, threads, shared>>>(arguments);
    must(cudaDeviceSynchronize());
    const long wrong = apart(result, count, size);
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
    printf("%s %.2f%s\n", name, best / 20 * 1000, wrong ? ",WRONG" : "");
    if (wrong)
        printf("(%ld of %zu wrong)\n", wrong, count);
    fflush(stdout);
}
"""


def program(kernel: ContractionKernel | GroupedContractionKernel, tiles: list, number: int) -> str:
    """A program that prints what each tile takes."""
    texts, calls, params = [], [], kernel.params
    result = [b.name for b in params].index(kernel.contractions[0].stores[0].buffer)
    for i, tile in enumerate(tiles):
        symbol = f"kernel{number}_{i}"
        texts.append(emit_half(kernel, symbol, "bf16", tile))
        launch = schedule_cuda.tiled(kernel, tile)
        blocks = f"{launch.blocks({}, 1)}, {launch.threads}, {launch.shared}"
        of_result = f"p[{result}], {params[result].elements.value}, {DTYPES[params[result].dtype].bytes}"
        calls += ["    {", *argument_lines(kernel, tile),
                  f'    measure("{i}", {symbol}, arguments, {blocks}, {of_result});', "    }"]
    lines = [*texts, HOST, "int main()", "{", f"    void *p[{len(params)}];"]
    for i, b in enumerate(params):
        size = DTYPES[b.dtype].bytes
        words = -(-b.elements.value * size // 4)
        lines += [f"    must(cudaMalloc(&p[{i}], (size_t){words} * 4));",
                  f"    fill<<<256, 256>>>((unsigned *)p[{i}], (size_t){words}, {size});"]
    return "\n".join([*lines, "    must(cudaDeviceSynchronize());", *calls, "}", ""])


def argument_lines(kernel: ContractionKernel | GroupedContractionKernel, tile: schedule_half.HalfTile) -> list[str]:
    """Declares the arguments of the kernel with this tile."""
    maps, names = tensor_maps(kernel, tile), [b.name for b in kernel.params]
    kind = f"tc_mapped_arguments<{len(maps)}, {len(names)}, 0>" if maps else f"tc_arguments<{len(names)}, 0>"
    lines = [f"    {kind} arguments = {{}};", "    memcpy(arguments.p, p, sizeof p);"]
    for i, m in enumerate(maps):
        lines.append(f"    describe(&arguments.maps[{i}], (char *)p[{names.index(m.buffer)}] + {m.offset.value} * 2, "
                     f"{m.terms.value}, {m.lines.value}, {m.stride.value} * 2, {m.box});")
    return lines


def products(kernel: ContractionKernel | GroupedContractionKernel) -> int:
    return sum(math.prod(s.hi.value + 1 for s in (*part.batch, *part.m, *part.n, *part.k))
               for part in kernel.contractions)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--least", type=float, default=0, help="only contractions of so many billions of products")
    parser.add_argument("--lock", type=Path, help="a file that is locked while a program measures, as others do")
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
                        and isinstance(schedule_cuda.tile(k, schedule_cuda.units(target)), schedule_half.HalfTile) \
                        and products(k) >= args.least * 1e9:
                    found.setdefault(identity(k), [k, f"{Path(path).stem}:{dims}", 0])[2] += 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(16) as pool:
        jobs = []
        for number, (kernel, where, times) in enumerate(found.values()):
            sums, bulk = max(len(part.b) for part in kernel.contractions), come_in_bulk(kernel)
            thought = {t: schedule_half.estimate(kernel, t, sums, bulk)
                       for t in schedule_half.candidates(kernel, sums, True, bulk)}
            tiles = sorted(thought, key=lambda t: thought[t])
            plain = [t for t in tiles if not t.wgmma][:1]    # the first: what others have to be equal to
            others = [*[t for t in tiles if not t.bulk and t not in plain][:args.most],
                      *(t for t in tiles if t.bulk)]
            for i in range(0, len(others), MOST_TILES):
                tiles, source = [*plain, *others[i:i + MOST_TILES]], Path(folder) / f"k{number}_{i}.cu"
                source.write_text(program(kernel, tiles, number), encoding="utf-8")
                command = ["nvcc", "-std=c++17", "-w", "-fmad=false", "-gencode=arch=compute_90a,code=sm_90a",
                           f"-I{ROOT}/templates/cuda", f"-I{ROOT}/templates/include", str(source), "-o",
                           str(source.with_suffix("")), "-lcuda"]
                job = pool.submit(subprocess.run, command, capture_output=True, text=True)
                jobs.append((kernel, where, times, sums, thought, tiles, source, job))
        say = Log(args.log).say
        for kernel, where, times, sums, thought, tiles, source, job in jobs:
            done = job.result()
            part = kernel.contractions[0]
            b, m, n, k = (math.prod(s.hi.value + 1 for s in group) for group in (part.batch, part.m, part.n, part.k))
            say(f"{where} {kernel.label}: {times} x {len(kernel.contractions)} parts, {b} x {m} x {n} x {k}")
            if done.returncode:
                say(done.stderr[-600:])
                continue
            try:
                locked = ["flock", str(args.lock)] if args.lock else []
                result = subprocess.run([*locked, str(source.with_suffix(""))], capture_output=True, text=True,
                                        timeout=8 if not args.lock else 200)
            except subprocess.TimeoutExpired:
                say("    hangs")
                continue
            measured = dict(line.split() for line in result.stdout.splitlines() if line[:1].isdigit())
            for i, tile in enumerate(tiles):
                form = "bulk" if tile.bulk else f"{'w' if tile.wgmma else ''}/{tile.slices}/{tile.split}"
                say(f"    {tile.rows}x{tile.columns} {form} "
                    f"stages {tile.stages(sums)}: {measured.get(str(i), 'none')} us, "
                    f"thought {thought[tile] / 1755:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
