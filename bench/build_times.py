# SPDX-License-Identifier: Apache-2.0
"""What a build of a network takes where nothing is cached but the library that captures graphs: without a lock, for one
instruction set, with seeded weights of the network's size in the object. Each build has a cache of its own.

    python3 bench/build_times.py [--only NAME,…] [--weights DIR] [--isa ISA] [--rounds N]

--weights: where NAME.safetensors lie, or are written to; without it they are made anew.
"""
from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import builds

EXAMPLES = builds.ROOT / "examples"
OWN = builds.HERE / "cuda" / "models" / "make_weights.c"
SMALL = """#include <tensor_compile/model.h>
TC_MODEL(small)
{
    tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, 4)));
}
"""


@dataclass(frozen=True)
class Network:
    """weights: the source of the program that writes them, and its options; options: of the build."""

    name: str
    source: Path
    weights: tuple[Path, tuple[str, ...]]
    options: tuple[str, ...]

    def prepare(self, folder: Path) -> Path:
        path = folder / f"{self.name}.safetensors"
        if not path.exists():
            source, defines = self.weights
            builds.make_weights(source, folder / f"{self.name}-weights", path, defines)
        return path


NETWORKS = (
    Network("resnet50", EXAMPLES / "resnet50/model.c", (EXAMPLES / "resnet50/make_weights.c", ()),
            ("--specialize", "batch=1")),
    Network("bert_base", EXAMPLES / "minilm/model.c", (OWN, ("-DBERT",)),
            ("-DLAYERS=12", "-DHIDDEN=768", "-DHEADS=12", "--specialize", "batch=1", "--specialize", "seq=128")),
    Network("gpt2", EXAMPLES / "gpt2/model.c", (EXAMPLES / "gpt2/make_weights.c", ()),
            ("--specialize", "length=128")),
)


def measured(network: Network, weights: Path, isa: str) -> tuple[float, float, float]:
    """Seconds that pass, of a user's and of the system's processor time."""
    only = ("--isa", isa) if isa else ()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = folder / "small.c"
        small.write_text(SMALL, encoding="utf-8")
        builds.tool(small, folder / "small", folder / "cache", only)   # the capture library
        begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        builds.tool(network.source, folder / "out", folder / "cache",
                    (*only, *network.options, f'-DWEIGHTS="{weights}"', "--tune", "off"))
        passed, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--isa", default=builds.best_isa(), help="default: this machine's best")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    print(f"{len(os.sched_getaffinity(0))} processors, {builds.banner()}, {args.isa or 'all instruction sets'}")
    with tempfile.TemporaryDirectory() as place:
        folder = (args.weights or Path(place)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        chosen = [n for n in NETWORKS if not args.only or n.name in args.only.split(",")]
        paths = [network.prepare(folder) for network in chosen]
        for _ in range(args.rounds):
            for network, weights in zip(chosen, paths):
                passed, user, system = measured(network, weights, args.isa)
                print(f"{network.name}: {passed:.1f} s, user {user:.1f}, system {system:.1f}, load "
                      f"{os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
