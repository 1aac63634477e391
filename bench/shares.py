# SPDX-License-Identifier: Apache-2.0
"""What each thread of a large team needs of every kernel, measured on one processor.

  bench/shares.py [--models mobilenet_v2,resnet50] [--int8] [--isa avx2] [--threads 16] [--rounds 40] [--kernels 20]
                  [--cpu N] [--team] [--build DIR] [--prepare]

The threads of a team take turns (turns.h), so that each part of a step is timed alone. A kernel's largest part, beside
its time on one thread divided by the threads, is what an uneven split loses. The sum of the parts, beside the time on
one thread, is what is done twice. Caches are those of one processor, to which a thread before has mostly brought what
several read. What threads take of each other's parts, and what one writes and another reads, is left out.
With --team a team on as many processors is timed besides, and what its slowest thread needs more than the largest part
stands last. Needs a C compiler and nothing else.
"""
from __future__ import annotations

import argparse
import array
import json
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import builds
from servers import Server, conditions

MODELS = ("mobilenet_v2", "resnet50")
MOST_THREADS = 256    # TURNS_MOST of turns.h
BARRIER = 1.0    # microseconds between two steps of 16 threads, about
IMAGE = 3 * 224 * 224
SAMPLES = 4


class Part(NamedTuple):
    """A kernel, or all of a network, in microseconds."""

    kernel: str
    alone: float
    largest: float
    together: float
    slowest: float    # thread of a team on processors of its own; 0 where none was timed

    def lost(self, threads: int) -> float:
        return max(self.largest, self.slowest) - self.alone / threads

    def line(self, threads: int) -> str:
        even = self.alone / threads
        slowest = f" {self.slowest:.2f} | {self.slowest - self.largest:.2f} |" if self.slowest else ""
        return (f"| {self.kernel} | {self.alone:.1f} | {even:.2f} | {self.largest:.2f} | {self.largest - even:.2f} | "
                f"{self.together / self.alone:.2f} |{slowest}")


class Turns(Server):
    """A process whose threads take turns."""

    def parts(self, calls: int) -> list[tuple[str, list[float]]]:
        """Kernels, and the microseconds of every thread."""
        rows = [row.rpartition("=") for row in self.ask(f"profile {calls}").split("\t") if row]
        return [(name, [int(ns) / 1e3 for ns in times.split(",")]) for name, _, times in rows]


def images(path: Path, count: int) -> array.array[float]:
    """Seeded images, as the samples of a safetensors file."""
    g = random.Random(1)
    values = array.array("f", (g.gauss(0, 1) for _ in range(count * IMAGE)))
    header = json.dumps({"image": {"dtype": "F32", "shape": [count, 3, 224, 224],
                                   "data_offsets": [0, 4 * len(values)]}}).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + values.tobytes())
    return values


def built(model: str, args: argparse.Namespace) -> tuple[Path, Path | None, Path]:
    """The program of threads that take turns, that of a team, and the file of their input."""
    folder = args.build / model
    folder.mkdir(parents=True, exist_ok=True)
    weights, cache = folder / "weights.safetensors", args.build / "cache"
    source = builds.source(model)
    raw = folder / "image.raw"
    if not weights.exists():
        builds.make_weights(source.parent / "make_weights.c", folder / "make", weights)
    if not raw.exists():
        raw.write_bytes(images(folder / "samples.safetensors", SAMPLES)[:IMAGE].tobytes())
    words = [f'-DWEIGHTS="{weights}"']
    if args.int8:
        if not (folder / "int8" / "model.c").exists():
            subprocess.run([sys.executable, str(builds.TOOL), "quantize", str(source), *words, "--data",
                            str(folder / "samples.safetensors"), "-o", str(folder / "int8"), "--cache", str(cache),
                            "--no-compare", "--force"], check=True)
        source, words = folder / "int8" / "model.c", []
    out = folder / f"{'int8' if args.int8 else 'f32'}-{args.isa.replace(',', '-')}"
    options = ["--specialize", "batch=1", *(["--isa", args.isa] if args.isa else []), *words]
    in_turns = builds.program(model, source, out, cache, options, turns=True)
    return in_turns, builds.program(model, source, out, cache, options, team=True) if args.team else None, raw


def measure(program: Path, beside: Path | None, arguments: list[Path | int], threads: int, rounds: int,
            cpu: int | None) -> list[Part]:
    """Every kernel, by the fastest of all rounds. beside: the program of a team. arguments: behind the number of
    threads."""
    alone, team = (Turns([program, n, *arguments], cpu) for n in (1, threads))
    slowest: list[float] = []
    if beside is not None:
        server = Server([beside, threads, *arguments])
        slowest = [us for _, us in server.profile(5 * rounds)]
        server.close()
    rows: list[tuple[str, float, list[float]]] = []
    for i in range(rounds):
        found = [(name, *one, many) for (name, one), (_, many) in zip(alone.parts(2), team.parts(2))]
        rows = [(name, min(a, b), list(map(min, c, d))) for (name, a, c), (_, b, d) in zip(rows, found)] if i else found
    for server in (alone, team):
        server.close()
    return [Part(name, one, max(many), sum(many), more) for (name, one, many), more in
            zip(rows, slowest or [0.0] * len(rows))]


def print_report(model: str, parts: list[Part], threads: int, kernels: int) -> None:
    """The table of a model: all of it, then the kernels that lose most; and the least time of the team."""
    lost = sorted(parts, key=lambda p: -p.lost(threads))
    total = Part("all", *(sum(p[i] for p in parts) for i in (1, 2, 3, 4)))
    more, more_rule = (" slowest thread | more |", " ---: | ---: |") if total.slowest else ("", "")
    print(f"\n{model}: {len(parts)} kernels\n\n| kernel | alone us | / {threads} | largest part | lost | "
          f"sum of parts / alone |{more}\n| --- | ---: | ---: | ---: | ---: | ---: |{more_rule}")
    print("\n".join(p.line(threads) for p in [total, *lost[:kernels]]))
    ideal = total.largest + BARRIER * len(parts)
    print(f"\nlargest parts and barriers of {BARRIER:g} us: {ideal:.0f} us, {total.alone / ideal:.1f} times as "
          "fast as one thread", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), help="names, commas between (default: %(default)s)")
    parser.add_argument("--int8", action="store_true", help="what `tensor-compile quantize` makes of the models")
    parser.add_argument("--isa", default=builds.best_isa(),
                        help="as tensor-compile build --isa (default: this machine's best)")
    parser.add_argument("--threads", type=int, default=16, help="of the team (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=40, help="of two calls each (default: %(default)s)")
    parser.add_argument("--kernels", type=int, default=20,
                        help="printed, those that lose most first (default: %(default)s)")
    parser.add_argument("--cpu", type=int, help="the processor that the threads take turns on")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "shares")
    parser.add_argument("--team", action="store_true", help="time a team of processors, too")
    parser.add_argument("--prepare", action="store_true", help="build, measure nothing")
    args = parser.parse_args()
    models = args.models.split(",")
    for name in models:
        if name not in MODELS:
            parser.error(f"unknown model {name!r}; there are {', '.join(MODELS)}")
    if not 2 <= args.threads <= MOST_THREADS or args.rounds < 1:
        parser.error(f"--threads must be 2 to {MOST_THREADS}, --rounds at least 1")
    args.build = args.build.resolve()
    for model in models:
        try:
            program, team, raw = built(model, args)
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"{model}: {' '.join(error.cmd[:3])} failed") from None
        if not args.prepare:
            parts = measure(program, team, [1, raw], args.threads, args.rounds, args.cpu)
            print_report(model, parts, args.threads, args.kernels)
    if not args.prepare:
        print("\n" + conditions("no others", args.isa, args.rounds, f"{args.threads} threads in turns", "fastest"))


if __name__ == "__main__":
    main()
