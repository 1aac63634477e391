# SPDX-License-Identifier: Apache-2.0
"""Contractions on one thread against the machine's rate of multiply-adds, beside those of another checkout.

usage: contractions.py [--old ROOT] [--isa ISA] [--rounds N] [--only NAME,…] [--build DIR] [--cpu N]

Needs a C compiler and nothing else. Every row is a model of its own, compiled by this checkout and by ROOT; outputs of
both must be equal bit for bit. Times are of the processor, on one thread: other work beside it disturbs caches alone. A
round calls each for some milliseconds, one after the other, and a loop of independent multiply-adds: the table has the
least time of each, and GFLOP/s as a part of what that loop reached.
"""
from __future__ import annotations

import argparse
import array
import json
import os
import random
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import builds
from servers import Server

HERE = Path(__file__).resolve().parent
ROUND = 0.02   # seconds of a measurement


@dataclass(frozen=True)
class Row:
    """body: statements of the model; inputs and weights: shapes by name; flops: of a call; sizes: of dims."""

    name: str
    body: str
    inputs: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[int, ...]]
    flops: int
    generic: bool = False


def matmul(m: int, k: int, n: int) -> Row:
    return Row(f"matmul {m}x{k}x{n}, two inputs", 'tc_output(g, "y", tc_matmul(a, b));', {"a": (m, k), "b": (k, n)}, {},
               2 * m * k * n)


def linear(m: int, k: int, n: int, generic: bool = False) -> Row:
    return Row(f"linear {m}x{k}x{n}{', rows unknown' if generic else ''}", 'tc_output(g, "y", tc_linear(x, w));',
               {"x": (m, k)}, {"w": (n, k)}, 2 * m * k * n, generic)


def convolution(size: int, channels: int, outs: int, window: int, times: int, stride: int = 1) -> Row:
    """times: in a row, so that all but the first and the last see activations as the layout puts them."""
    pad, lines, flops, c, at = window // 2, [], 0, channels, size
    for i in range(times):
        lines.append(f"x = tc_relu(tc_conv2d(x, w{i}, .stride = {{{stride}, {stride}}}, .padding = {{{pad}, {pad}}}));")
        at = (at + 2 * pad - window) // stride + 1
        flops += 2 * at * at * outs * c * window * window
        c = outs
    weights = {f"w{i}": (outs, channels if i == 0 else outs, window, window) for i in range(times)}
    return Row(f"conv {window}x{window} {channels}->{outs} {size}x{size}{f' x{times}' if times > 1 else ', plain'}",
               "\n    ".join([*lines, 'tc_output(g, "y", x);']), {"x": (1, channels, size, size)}, weights, flops)


def mlp(batch: int) -> Row:
    return Row(f"mlp batch {batch}",
               'tc_output(g, "y", tc_linear(tc_relu(tc_linear(tc_relu(tc_linear(x, w0)), w1)), w2));',
               {"x": (batch, 784)}, {"w0": (512, 784), "w1": (512, 512), "w2": (10, 512)},
               2 * batch * (784 * 512 + 512 * 512 + 512 * 10))


ROWS = [matmul(512, 512, 512), matmul(128, 64, 128), matmul(1024, 1024, 1024), linear(512, 512, 512),
        linear(128, 768, 3072),
        linear(128, 3072, 768), linear(128, 768, 768), linear(128, 768, 768, True), linear(8, 768, 768, True),
        linear(1, 768, 3072), linear(1, 768, 3072, True), linear(3136, 64, 256), linear(3136, 16, 96),
        linear(784, 144, 24),
        convolution(56, 64, 64, 3, 1), convolution(56, 64, 64, 3, 3), convolution(28, 128, 128, 3, 3),
        convolution(14, 256, 256, 3, 3), convolution(7, 512, 512, 3, 3), convolution(14, 1024, 256, 1, 1),
        convolution(224, 3, 64, 7, 1, 2), mlp(1), mlp(64)]

PEAK = r"""/* Independent multiply-adds for `ARGUMENT` milliseconds, again and again: prints GFLOP/s of the best. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
typedef float vec __attribute__((vector_size(LANES * 4)));
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(void)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        double best = 0;
        for (int i = 0; i < 5; i++) {
            vec c[12], a, b;
            for (int k = 0; k < LANES; k++)
                a[k] = 0.999f, b[k] = 1e-3f;
            for (int j = 0; j < 12; j++)
                c[j] = b;
            const double from = now();
            for (int n = 0; n < 100000; n++) {
                for (int j = 0; j < 12; j++)
                    c[j] = c[j] * a + b;
                __asm__ volatile("" : "+x"(c[0]), "+x"(c[1]), "+x"(c[2]), "+x"(c[3]), "+x"(c[4]), "+x"(c[5]), "+x"(c[6]),
                                 "+x"(c[7]), "+x"(c[8]), "+x"(c[9]), "+x"(c[10]), "+x"(c[11]));
            }
            const double rate = 100000.0 * 12 * LANES * 2 / (now() - from) / 1e9;
            best = rate > best ? rate : best;
        }
        printf("%.3f\n", best);
        fflush(stdout);
    }
}
"""


def values(shape: tuple[int, ...], seed: int, scale: float) -> bytes:
    count = 1
    for n in shape:
        count *= n
    raw = array.array("H", random.Random(seed).randbytes(2 * count))
    return array.array("f", [(v - 32768) * scale / 32768 for v in raw]).tobytes()


def write_weights(path: Path, weights: dict[str, tuple[int, ...]]) -> None:
    header, parts, at = {}, [], 0
    for i, (name, shape) in enumerate(weights.items()):
        fan = 1
        for n in shape[1:]:
            fan *= n
        parts.append(values(shape, 100 + i, (3 / fan) ** 0.5))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def source(row: Row, folder: Path) -> Path:
    lines = ["#include <tensor_compile/model.h>", "", "TC_MODEL(contraction)", "{"]
    if row.generic:
        lines.append('    tc_dim rows = tc_dynamic(g, "rows", 1, 1024);')
    for name, shape in row.inputs.items():
        sizes = ["rows" if row.generic and i == 0 else str(n) for i, n in enumerate(shape)]
        lines.append(f'    tc_tensor {name} = tc_input(g, "{name}", TC_F32, {", ".join(sizes)});')
    if row.weights:
        lines.append('    tc_weights(g, "weights.safetensors");')
        lines += [f'    tc_tensor {name} = tc_weight(g, "{name}");' for name in row.weights]
        write_weights(folder / "weights.safetensors", row.weights)
    path = folder / "model.c"
    path.write_text("\n".join([*lines, f"    {row.body}", "}", ""]))
    return path


def program(root: Path, written: Path, out: Path, cache: Path, isa: str, function: str = "contraction_function",
            arguments: Sequence[str] = ()) -> Path:
    """The benchmark process of a model compiled by the checkout `root`. arguments: of build."""
    out.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, str(root / "generator" / "tensor-compile"), "build", str(written), "-o", str(out),
                    "--cache", str(cache), "--cc", " ".join(builds.CC), *(["--isa", isa] if isa else []), *arguments],
                   check=True, env=environment)
    include, made = root / "runtime" / "include", out / "server"
    core = [str(p) for p in sorted((root / "runtime" / "core").glob("*.c"))]
    subprocess.run([*builds.CC, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-w",
                    f"-DFUNCTION={function}", "-DBENCH_CLOCK=CLOCK_THREAD_CPUTIME_ID", f"-I{out}", f"-I{include}",
                    f"-I{HERE}", str(HERE / "server.c"), str(out / "model.o"), *core, "-o", str(made)], check=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="a checkout to compare with")
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="rows whose names contain one of these, commas between")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "contractions")
    parser.add_argument("--cpu", type=int, help="the processor that everything runs on")
    args = parser.parse_args()
    build = args.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    (build / "peak.c").write_text(PEAK)
    lanes = {"avx512": 16, "avx2": 8}.get(args.isa, 4)
    flags = ["-march=native", "-mprefer-vector-width=512"] if lanes > 4 else []
    subprocess.run([*builds.CC, "-O3", "-funroll-loops", "-ffp-contract=fast", *flags, f"-DLANES={lanes}",
                    str(build / "peak.c"), "-o",
                    str(build / "peak")], check=True)
    peak = Server([build / "peak"], args.cpu)
    roots = {"new": builds.ROOT} | ({"old": args.old.resolve()} if args.old else {})
    wanted = [w for w in args.only.split(",") if w]
    print("| contraction | " + " | ".join(f"{name} us | of peak" for name in roots) +
          (" | old / new |" if args.old else " |"))
    print("| --- |" + " ---: |" * (2 * len(roots) + bool(args.old)))
    for number, row in enumerate(ROWS):
        if wanted and not any(w in row.name for w in wanted):
            continue
        folder = build / f"row{number}"
        folder.mkdir(exist_ok=True)
        written, files = source(row, folder), []
        for i, (name, shape) in enumerate(row.inputs.items()):
            files.append(str(folder / f"{name}.raw"))
            Path(files[-1]).write_bytes(values(shape, i, 1.0))
        dims = [str(next(iter(row.inputs.values()))[0])] if row.generic else []
        servers = {}
        for name, root in roots.items():
            made = program(root, written, folder / name, build / f"cache-{name}", args.isa)
            servers[name] = Server([made, *dims, *files], args.cpu)
        outputs = set()
        for _name, server in servers.items():
            outputs.add(server.output(folder / "out.raw").read_bytes())
        if len(outputs) > 1:
            raise SystemExit(f"{row.name}: the bits differ")
        best = {name: min(server.seconds(1) for _ in range(3)) for name, server in servers.items()}
        calls = {name: max(1, int(ROUND / t)) for name, t in best.items()}
        reached = 0.0
        for _ in range(args.rounds):
            for name, server in servers.items():
                best[name] = min(best[name], *(server.seconds(max(1, calls[name] // 4)) for _ in range(4)))
            reached = max(reached, float(peak.ask("again")))
        cells = [f"{best[n] * 1e6:.1f} | {row.flops / best[n] / 1e9 / reached:.0%}" for n in roots]
        ratio = f" | {best['old'] / best['new']:.2f}" if args.old else ""
        print(f"| {row.name} | {' | '.join(cells)}{ratio} |", flush=True)
        for server in servers.values():
            server.close()
    print(f"\npeak {reached:.1f} GFLOP/s, {args.isa or 'best of the target'}, {builds.banner()}")


if __name__ == "__main__":
    main()
