# SPDX-License-Identifier: Apache-2.0
"""tensor-compile ceilings: what this machine can do, as a target file."""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import Parser, arguments


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "ceilings", help="measure this machine and write its target file", allow_abbrev=False,
        description="Measures the clock, multiply-adds and reads of each level of cache, on one thread and on all; "
                    "prints them. -o writes a target file with this machine's caches, threads, clock and bandwidth, "
                    "and what a core multiplies and reads in a cycle: the cost model then decides for it, and profile "
                    "and explain compare with it. Everything else is taken from --target-file. Let nothing else run "
                    "meanwhile.",
        epilog="Example: tensor-compile ceilings -o server.toml && "
               "tensor-compile build model.c --target-file server.toml")
    parser.add_argument("--target-file", default="", metavar="NAME|FILE",
                        help="what the file is made of (default: that of the compiler's machine)")
    parser.add_argument("-o", "--out", default="", metavar="FILE.toml", help="write the target file")
    parser.add_argument("--cc", type=arguments.command, default=None, metavar="COMMAND",
                        help="C compiler for the target (default: $CC, else cc)")
    parser.add_argument("--cflags", type=arguments.words, default=(), metavar="FLAGS", help="flags for it")
    parser.add_argument("--exe-wrapper", type=arguments.words, default=(), metavar="COMMAND",
                        help="starts the target's programs here; caches and threads are not asked for then")
    parser.add_argument("--cache", default="", metavar="DIR", help="what is known of compilers (default: the user's)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from .. import target as targets
    from ..compile import assemble, machine, machine_lock, processor
    from ..compile.cache import user_folder
    from ..compile.options import Options
    from ..compile.progress import Progress

    given = args.target_file
    cache = os.path.abspath(args.cache or user_folder() or ".tensor-compile")
    asked = Options(model="", shown="", object="", header="", cache=cache, cflags=args.cflags,
                    target_file=os.path.abspath(given) if "/" in given or given.endswith(".toml") else given,
                    cc=args.cc or arguments.from_environment("CC", "cc"),
                    host_cc=arguments.from_environment("CC_FOR_BUILD", "cc"))
    compiler, _, target, path = assemble.toolchains(asked)
    isa = target.isas[-1] if args.exe_wrapper else \
        (processor.best_only(asked, target).isas or target.isas)[-1]
    known = {**machine.caches(), "threads": len(os.sched_getaffinity(0))} if not args.exe_wrapper else {}
    held = {name: getattr(target, name) for name in machine.CACHES} | known
    sizes = machine.read_sizes(held)
    with Progress() as progress, machine_lock.alone(progress.notes("ceilings")):
        progress.say("")
        found = [machine.measure(compiler, target, args.cflags, isa, threads, asked.open_cache(), args.exe_wrapper,
                                 sizes) for threads in dict.fromkeys((1, known.get("threads", 1)))]
    print(f"clock: {found[0].clock / 1e6:.0f} MHz")
    for at in found:
        print(f"{at.threads} thread{'s' if at.threads > 1 else ''}, {isa}: {at.operations / 1e9:.1f} GFLOP/s of f32")
        for size, rate in at.reads.items():
            print(f"  reads of {size >> 10} KiB a thread: {rate / 1e9:.1f} GB/s")
    if args.out:
        rates = machine.rates(found[0], held)
        machine.write(Path(args.out), path, known | rates)
        loaded = targets.load(Path(args.out))
        print(f"{args.out}: {', '.join(f'{name} {getattr(loaded, name)}' for name in (*machine.SIZES, *rates))}")
    return 0
