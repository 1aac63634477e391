# SPDX-License-Identifier: Apache-2.0
"""How near a step of a decoder (SmolLM2-135M's shape) comes to a plain read of the bytes that it reads: all weights,
and the keys and values of the tokens in front.

  python3 bench/decode.py [--past 4096] [--threads 1,4,16] [--rounds 30] [--isa avx512] [--build DIR]

Read and step take turns, on the same team and the same memory. Of two ways to read, in one stream a thread or in four
that are fetched ahead, the one counts that took less. Values are seeded, so no weights are needed. Needs nothing but
Python.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import builds

MODEL = builds.HERE / "peers" / "models" / "smollm2" / "model.c"
WIDTH, INNER, HEAD, KV_HEADS, LAYERS, WORDS, POSITIONS, HEADER = 576, 1536, 64, 3, 30, 49152, 8192, 128


@dataclass(frozen=True, slots=True)
class Shape:
    layers: int = LAYERS
    words: int = WORDS


def empty_weights(shape: Shape, path: Path) -> None:
    """A file of weights that are all zero, which takes no room."""
    kv = KV_HEADS * HEAD
    shapes = {"embed_tokens.weight": (shape.words, WIDTH), "norm.weight": (WIDTH,), "cosines": (POSITIONS, HEAD),
              "sines": (POSITIONS, HEAD)}
    for i in range(shape.layers):
        shapes |= {f"layers.{i}.{n}.weight": s for n, s in (
            ("input_layernorm", (WIDTH,)), ("post_attention_layernorm", (WIDTH,)),
            ("self_attn.q_proj", (WIDTH, WIDTH)), ("self_attn.k_proj", (kv, WIDTH)), ("self_attn.v_proj", (kv, WIDTH)),
            ("self_attn.o_proj", (WIDTH, WIDTH)), ("mlp.gate_proj", (INNER, WIDTH)), ("mlp.up_proj", (INNER, WIDTH)),
            ("mlp.down_proj", (WIDTH, INNER)))}
    tensors, at = {}, 0
    for name, sizes in shapes.items():
        end = at + 4 * (sizes[0] if len(sizes) == 1 else sizes[0] * sizes[1])
        tensors[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [at, end]}
        at = end
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def program(folder: Path, cache: Path, past: int, arguments: Sequence[str], shape: Shape = Shape()) -> Path:
    """The program of decode.c, with header.bin beside it. arguments: of build."""
    folder.mkdir(parents=True, exist_ok=True)
    made, weights, header = folder / "decode", folder / "weights.safetensors", folder / "header.bin"
    empty_weights(shape, weights)
    words = ["-D", f'WEIGHTS="{weights}"', "-D", f"LAYERS={shape.layers}", "-D", f"CAPACITY={past + 512}",
             "--specialize", f"past={past}", "--weights", "external", *arguments]
    builds.tool(MODEL, folder, cache, words)
    with open(folder / "model.weights", "rb") as file:
        header.write_bytes(file.read(HEADER))
    (folder / "model.weights").unlink()
    include = builds.ROOT / "runtime" / "include"
    subprocess.run([*builds.CC, "-std=c11", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror",
                    f"-DKV_HEADS={KV_HEADS}", f"-DHEAD={HEAD}", f"-I{folder}", f"-I{include}",
                    str(builds.HERE / "decode.c"),
                    *map(str, builds.POOL), str(folder / "model.o"), *map(str, builds.core(folder / "core")),
                    "-pthread", "-Wl,--gc-sections", "-o", str(made)], check=True)
    return made


def measured(made: Path, threads: int, past: int, rounds: int, shape: Shape = Shape()) -> tuple[int, list[list[int]]]:
    """The bytes that are read, and of each round the nanoseconds of both reads and of the step."""
    table = 4 * WIDTH * shape.words
    command = [str(made), str(threads), str(past), str(rounds), str(made.parent / "header.bin"), str(table)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(lines[0]), [[int(x) for x in line.split()] for line in lines[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--past", type=int, default=4096, help="tokens in front")
    parser.add_argument("--threads", default=",".join(str(n) for n in (1, 4, 16) if n <= (os.cpu_count() or 1)))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "bench-decode")
    options = parser.parse_args()
    folder = options.build.resolve()
    made = program(folder, folder / "cache", options.past, ["--isa", options.isa] if options.isa else [])
    print(f"{options.isa}, {builds.banner()}, load {os.getloadavg()[0]:.1f}, {options.past} tokens in front")
    print("| threads | MB | read us, least (median) | step us | share of the read: least times, median of rounds |\n"
          "|---|---|---|---|---|", flush=True)
    for threads in map(int, options.threads.split(",")):
        size, rounds = measured(made, threads, options.past, options.rounds)
        one, four, step = ([x / 1e3 for x in column] for column in zip(*rounds))
        read = min(one, four, key=min)
        share = statistics.median(r / s for r, s in zip(read, step))
        print(f"| {threads} | {size / 1e6:.0f} | {min(read):.0f} ({statistics.median(read):.0f}) | {min(step):.0f} "
              f"({statistics.median(step):.0f}) | {min(read) / min(step):.2f}, {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
