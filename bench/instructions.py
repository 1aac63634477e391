# SPDX-License-Identifier: Apache-2.0
"""Instructions of a call on AArch64, as qemu-aarch64 counts them, beside those of other checkouts.

usage: instructions.py [--old NAME=ROOT]... [--rows NAME,…] [--int8 NAME=model.c]... [--kernels N] [--peers DIR]
                       [--build DIR]

Needs aarch64-linux-gnu-gcc, qemu-aarch64 and the folder that peers/prepare.py filled with weights and inputs. The rows
are those of peers/rows.py. --int8 names a network that `tensor-compile quantize` wrote, of one image (--image): it is
counted on a processor with dot products of bytes (max) and on one without (cortex-a57). --old names another checkout.
Every checkout compiles the same model with the same compiler; the outputs must be equal bit for bit. The second call is
counted: the number is the same in every run, and knows no caches and no waits. --kernels prints the N kernels that
differ most, or, of one checkout, those that take the most. The columns are the checkouts in the order of the options,
this one last.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import builds
from servers import Server

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "peers"), str(builds.ROOT / "generator")]
import rows
from tensor_compile.compile import counting

CC = "aarch64-linux-gnu-gcc"
AUTOTUNE = builds.ROOT / "autotune"
PROCESSORS = ("max", "cortex-a57")


def program(root: Path, row: rows.Row, out: Path, arguments: list[str]) -> Path:
    """The benchmark process of a row, compiled by the checkout `root`."""
    out.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, str(root / "generator" / "tensor-compile"), "build", str(row.source), "-o",
                    str(out), "--cache", str(out.parent / "cache"), "--cc", CC, "--target-file", "aarch64", *arguments],
                   check=True, env=environment)
    made, runtime = out / "server", root / "runtime"
    subprocess.run([CC, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-w", "-static", "-Wl,--wrap=clock_gettime",
                    f"-DFUNCTION={row.function}_function", f"-I{out}", f"-I{runtime / 'include'}", f"-I{HERE}",
                    f"-I{AUTOTUNE}", str(HERE / "server.c"), str(HERE / "instructions.c"),
                    str(counting.CLOCKS / "emulator.c"), str(out / "model.o"),
                    *map(str, sorted((runtime / "core").glob("*.c"))), "-o", str(made)], check=True)
    return made


def options(row: rows.Row, peers: Path) -> list[str]:
    """Of build."""
    return ["--isa", "neon", *(word for define in (*row.defines, f'WEIGHTS="{peers / row.model}.safetensors"')
                               for word in ("-D", define)),
            *(word for dim, size in row.dims for word in ("--specialize", f"{dim}={size}"))]


def inputs(row: rows.Row, peers: Path) -> list[Path]:
    names = json.loads((peers / f"{row.name}.json").read_text(encoding="utf-8"))["ours"]
    return [peers / f"{row.name}.{name}.raw" for name in names]


def counts(roots: dict[str, Path], row: rows.Row, arguments: list[str], files: list[Path], processor: str,
           args: argparse.Namespace) -> list[int]:
    """Instructions of a call of each checkout; prints the kernels. 0: it does not build the row."""
    found, outputs, steps = [], set(), {}
    for name, root in roots.items():
        folder = args.build / name / row.name
        try:
            made = program(root, row, folder, arguments)
        except subprocess.CalledProcessError as error:
            print(f"{name} does not build {row.name}: {error}", file=sys.stderr)
            found.append(0)
            continue
        command, file = counting.counted(["qemu-aarch64", "-cpu", processor], ["cc"], folder)
        os.environ["TC_COUNT_FILE"] = str(file)
        server = Server([*command, made, *(size for _, size in row.dims), *files])
        outputs.add(server.output(folder / "out.raw").read_bytes())    # the call that comes before
        found.append(int(server.ask("run 1")))
        if args.kernels:
            steps[name] = [(kernel, us * 1e3) for kernel, us in server.profile(1)]
        server.close()
    if len(outputs) > 1:
        print(f"{row.name}: the bits differ")
    if steps:
        print(f"\n## {row.title}, {processor}")
        kernels(steps, args.kernels)
    return found


def kernels(steps: dict[str, list[tuple[str, float]]], most: int) -> None:
    """The kernels that differ most, step by step, where all have as many steps; else the longest of each."""
    for tree, listed in steps.items():
        print(f"{tree}: {sum(n for _, n in listed):.0f} in {len(listed)} kernels")
    if len({len(listed) for listed in steps.values()}) == 1:
        lines = [([n for _, n in line], line[-1][0]) for line in zip(*steps.values())]
        for numbers, kernel in sorted(lines, key=lambda line: (min(line[0]) - max(line[0]), -max(line[0])))[:most]:
            print("  " + " ".join(f"{n:12.0f}" for n in numbers) + f"  {kernel}")
        return
    for tree, listed in steps.items():
        for kernel, n in sorted(listed, key=lambda step: -step[1])[:most]:
            print(f"  {tree} {n:12.0f}  {kernel}")


def line(title: str, found: list[int]) -> str:
    ratios = [f"{before / found[-1]:.3f}" if before and found[-1] else "" for before in found[:-1]]
    return f"| {title} | " + " | ".join([*(f"{n:,}" if n else "none" for n in found), *ratios]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", action="append", default=[], metavar="NAME=ROOT")
    parser.add_argument("--rows", default="mlp1,mlp64,matmul,conv3x3,attention,pointwise,lstm-step,mobilenet_v2")
    parser.add_argument("--int8", action="append", default=[], metavar="NAME=MODEL.C")
    parser.add_argument("--image", type=Path, help="the input of --int8, raw")
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument("--peers", type=Path, default=builds.ROOT / "build" / "peers")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "instructions")
    args = parser.parse_args()
    args.build = args.build.resolve()
    roots = {name: Path(root).resolve() for name, _, root in (old.partition("=") for old in args.old)}
    roots["new"] = builds.ROOT
    head = ["row", *roots, *(f"{name} / new" for name in roots if name != "new")]
    table = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for row in rows.named(args.rows) if args.rows != "none" else []:
        table.append(line(row.title, counts(roots, row, options(row, args.peers), inputs(row, args.peers),
                                            PROCESSORS[0], args)))
        print(table[-1], file=sys.stderr)
    for name, _, source in (word.partition("=") for word in args.int8):
        network = rows.Row(name, name, Path(source).resolve(), name.partition(".")[0], (("batch", 1),))
        for processor in PROCESSORS:
            table.append(line(f"{name}, {processor}", counts(roots, network, ["--specialize", "batch=1"], [args.image],
                                                             processor, args)))
            print(table[-1], file=sys.stderr)
    print("\n" + "\n".join(table))


if __name__ == "__main__":
    main()
