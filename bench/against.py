# SPDX-License-Identifier: Apache-2.0
"""Networks on one thread beside those of another checkout, with the time of every kernel.

usage: against.py --old ROOT [--isa ISA] [--rounds N] [--only NAME,…] [--kernels N] [--build DIR] [--cpu N]
                  [--prepare | --prepared]

Needs a C compiler and nothing else. Each model is compiled by this checkout and by ROOT, at the row's sizes; outputs
must be equal bit for bit. Times are of the processor, on one thread: other work beside it disturbs caches alone. A
round calls each for some milliseconds, one after the other; the table has the least time of each and the median of the
ratios within a round. --kernels prints the N kernels that differ most. --prepare builds and measures nothing.
"""
from __future__ import annotations

import argparse
import random
import statistics
from array import array
from pathlib import Path

import builds
from contractions import program, values, write_weights
from servers import Server, conditions, interleaved

ROUND = 0.06   # seconds of calls that a checkout makes a round
IMAGE = (1, 3, 224, 224)
# name, size that it is specialized for, shape of the input; token ids where the shape has one axis
ROWS = {"resnet50": (("batch", 1), IMAGE), "mobilenet_v2": (("batch", 1), IMAGE), "mlp": (("batch", 64), (64, 784)),
        "gpt2": (("length", 128), (128,))}


def weights_of(name: str, build: Path) -> Path:
    """The file of weights: those of the examples are written by the C program beside the model."""
    path = build / f"{name}.safetensors"
    if path.exists():
        return path
    if name in builds.OWN:
        write_weights(path, builds.OWN[name])
        return path
    builds.make_weights(builds.source(name).parent / "make_weights.c", build / f"make_{name}", path)
    return path


def input_of(name: str, shape: tuple[int, ...], build: Path) -> Path:
    path = build / f"{name}.raw"
    path.write_bytes(array("i", [random.Random(1).randrange(50000) for _ in range(shape[0])]).tobytes()
                     if len(shape) == 1 else values(shape, 1, 1.0))
    return path


def built(name: str, root: Path, tree: str, args: argparse.Namespace) -> Path:
    made = args.build / f"{name}-{tree}" / "server"
    if args.prepared and made.exists():
        return made
    dim, size = ROWS[name][0]
    arguments = ["-D", f'WEIGHTS="{weights_of(name, args.build)}"', "--specialize", f"{dim}={size}"]
    return program(root, builds.source(name), args.build / f"{name}-{tree}", args.build / f"cache-{tree}", args.isa,
                   f"{builds.FUNCTIONS[name]}_function", arguments)


def kernels(servers: dict[str, Server], calls: dict[str, int], rounds: int, most: int) -> None:
    """The kernels that differ most, step by step, where both have as many steps; else the slowest of each."""
    steps: dict[str, list[tuple[str, float]]] = {}
    for _ in range(rounds):
        for tree, server in servers.items():
            rows = server.profile(calls[tree])
            steps[tree] = [(name, min(us, steps[tree][i][1] if tree in steps else us))
                           for i, (name, us) in enumerate(rows)]
    for tree, rows in steps.items():
        print(f"{tree}: {sum(us for _, us in rows):.0f} us in {len(rows)} kernels")
    if len({len(rows) for rows in steps.values()}) == 1:
        pairs = sorted(zip(steps["new"], steps["old"]), key=lambda pair: -abs(pair[0][1] - pair[1][1]))
        for (name, new), (_, old) in pairs[:most]:
            print(f"  new {new:9.1f} us, old {old:9.1f} us, {old / new:5.2f}  {name}")
        return
    for tree, rows in steps.items():
        for name, us in sorted(rows, key=lambda row: -row[1])[:most]:
            print(f"  {tree} {us:9.1f} us  {name}")


def compare(name: str, roots: dict[str, Path], args: argparse.Namespace) -> str:
    """The row of the table; prints the kernels."""
    (_, size), shape = ROWS[name]
    path = input_of(name, shape, args.build)
    servers = {tree: Server([built(name, root, tree, args), size, path], args.cpu) for tree, root in roots.items()}
    if len({server.output(args.build / "out.raw").read_bytes() for server in servers.values()}) > 1:
        print(f"{name}: the bits differ")
    calls, times = interleaved({tree: server.seconds for tree, server in servers.items()}, args.rounds, ROUND)
    if args.kernels:
        print(f"\n## {name}")
        kernels(servers, {tree: max(2, n) for tree, n in calls.items()}, args.rounds, args.kernels)
    for server in servers.values():
        server.close()
    ratio = statistics.median(a / b for a, b in zip(times["old"], times["new"]))
    least = {tree: min(rounds) for tree, rounds in times.items()}
    return (f"| {name} | {least['new'] * 1e6:.0f} | {least['old'] * 1e6:.0f} | {least['old'] / least['new']:.3f} | "
            f"{ratio:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="a checkout to compare with")
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default=",".join(ROWS), help="rows, commas between")
    parser.add_argument("--kernels", type=int, default=0, help="how many of the kernels that differ most are printed")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "against")
    parser.add_argument("--cpu", type=int, help="the processor that everything runs on")
    parser.add_argument("--prepare", action="store_true", help="build, measure nothing")
    parser.add_argument("--prepared", action="store_true", help="--prepare has built everything")
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    roots = {"new": builds.ROOT, "old": args.old.resolve()}
    if args.prepare:
        for name in args.only.split(","):
            for tree, root in roots.items():
                built(name, root, tree, args)
        return
    rows = [compare(name, roots, args) for name in args.only.split(",")]
    print("\n| model | new us | old us | old / new | median of ratios |\n| --- | ---: | ---: | ---: | ---: |")
    print("\n".join(rows))
    print(f"\n{conditions('thread CPU time', args.isa, args.rounds)}")


if __name__ == "__main__":
    main()
