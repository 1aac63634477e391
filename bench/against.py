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
import math
import random
import statistics
from array import array
from pathlib import Path

import builds
from contractions import program, values, write_weights
from servers import Server, conditions, interleaved

ROUND = 0.06   # seconds of calls that a checkout makes a round


def inputs_of(model: str, sizes: dict[str, int]) -> list[tuple[tuple[int, ...], str]]:
    """Of each input of models.random_inputs the shape, and what is in it: numbers up to 1, `ones` of 64 bits, or token
    ids of so many bits."""
    batch = sizes.get("batch", 1)
    if model.startswith("gpt2"):
        return [((sizes.get("length", 1),), "ids32")]
    if model == "minilm":
        return [((batch, sizes["seq"]), kind) for kind in ("ids64", "ones")]
    if model == "lstm-step":
        return [((1, width), "numbers") for width in (64, 128, 128)]
    shape = {"mlp": (batch, 784), "digits": (batch, 1, 8, 8), "lstm-vad": (512,)}.get(model)
    return [(shape or (batch, 3, sizes.get("height", 224), sizes.get("width", 224)), "numbers")]


def weights_of(name: str, build: Path) -> Path:
    """The file of weights: those of the examples are written by the C program beside the model."""
    path = build / f"{name.removesuffix('-decode')}.safetensors"
    if path.exists():
        return path
    if name in builds.OWN:
        write_weights(path, builds.OWN[name])
        return path
    builds.make_weights(builds.source(name).parent / "make_weights.c", build / f"make_{name}", path)
    return path


def input_file(path: Path, shape: tuple[int, ...], kind: str, seed: int) -> Path:
    count = math.prod(shape)
    ids = [random.Random(seed + i).randrange(30000) for i in range(count)] if kind.startswith("ids") else []
    path.write_bytes({"numbers": lambda: values(shape, seed, 1.0), "ones": lambda: array("q", [1] * count).tobytes(),
                      "ids32": lambda: array("i", ids).tobytes(), "ids64": lambda: array("q", ids).tobytes()}[kind]())
    return path


def built(model: str, root: Path, tree: str, args: argparse.Namespace) -> Path:
    made = args.build / f"{model}-{tree}" / "server"
    if made.exists() and args.prepared:
        return made
    weights = builds.source(model).parent / f"{model}.safetensors"
    own = [] if weights.exists() else ["-D", f'WEIGHTS="{weights_of(model, args.build)}"']
    return program(root, builds.source(model), args.build / f"{model}-{tree}", args.build / f"cache-{tree}", args.isa,
                   f"{builds.FUNCTIONS[model]}_function", [*own, *builds.specialized(model)])


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


def compare(model: str, sizes: dict[str, int], roots: dict[str, Path], args: argparse.Namespace) -> str:
    """The row of the table; prints the kernels."""
    name = " ".join([model, *(f"{dim} {size}" for dim, size in sizes.items())])
    files = [input_file(args.build / f"{model}.{i}", shape, kind, i)
             for i, (shape, kind) in enumerate(inputs_of(model, sizes), 1)]
    servers = {tree: Server([built(model, root, tree, args), *sizes.values(), *files], args.cpu)
               for tree, root in roots.items()}
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
    return (f"| {name} | {least['new'] * 1e6:.1f} | {least['old'] * 1e6:.1f} | {least['old'] / least['new']:.3f} | "
            f"{ratio:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="a checkout to compare with")
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default=",".join(builds.FUNCTIONS), help="models, commas between")
    parser.add_argument("--kernels", type=int, default=0, help="how many of the kernels that differ most are printed")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "against")
    parser.add_argument("--cpu", type=int, help="the processor that everything runs on")
    parser.add_argument("--prepare", action="store_true", help="build, measure nothing")
    parser.add_argument("--prepared", action="store_true", help="--prepare has built everything")
    args = parser.parse_args()
    wanted = args.only.split(",")
    for name in wanted:
        if name not in builds.FUNCTIONS:
            parser.error(f"unknown model {name!r}; there are {', '.join(builds.FUNCTIONS)}")
    args.build = args.build.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    roots = {"new": builds.ROOT, "old": args.old.resolve()}
    if args.prepare:
        for name in wanted:
            for tree, root in roots.items():
                built(name, root, tree, args)
        return
    rows = [compare(model, sizes, roots, args) for model, sizes in builds.ROWS if model in wanted]
    print("\n| model | new us | old us | old / new | median of ratios |\n| --- | ---: | ---: | ---: | ---: |")
    print("\n".join(rows))
    print(f"\n{conditions('thread CPU time', args.isa, args.rounds)}")


if __name__ == "__main__":
    main()
