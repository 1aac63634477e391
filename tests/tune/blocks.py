# SPDX-License-Identifier: Apache-2.0
"""Rows of a block of tile regions in the tuning lock: every choice gives the interpreter's bits with teams of several
sizes; `tune` measures them, builds name what is missing and stale."""
from __future__ import annotations

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import small_model
from small_model import ISA
from tap import done, equal, note, ok, skip
from tensor_compile.compile import assemble, decisions, duel, lock as locks, record, tune, tune_lines, tune_model, \
    tune_variants
from tensor_compile.compile.decisions import Decision
from tensor_compile.compile.duel import Duel
from tensor_compile.compile.lock import Entry
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.loops.program_ir import ModelPlan, regions, Tiles

# two that are equal, and a causal one, whose tiles leave out columns
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(att)
{
    tc_tensor q = tc_input(g, "q", TC_F32, 4, 96, 32), r = tc_input(g, "r", TC_F32, 4, 96, 32);
    tc_tensor k = tc_input(g, "k", TC_F32, 4, 512, 32), v = tc_input(g, "v", TC_F32, 4, 512, 32);
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 400, 32);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v));
    tc_output(g, "w", tc_scaled_dot_product_attention(r, k, v));
    tc_output(g, "z", tc_scaled_dot_product_attention(x, x, x, .causal = true));
}
"""
REQUEST = tune_model.Request(False, True, 1, "time", (), (), None)


def names() -> None:
    equal([decisions.count_of("rows", name) for name in ("usual", "rows16", "rows0", "bands4")], [0, 16, None, None],
          "names of blocks")
    equal([decisions.block("key", usual, most).others for usual, most in ((32, 197), (32, 40), (32, 32), (8, 96))],
          [("rows16", "rows64"), ("rows16", "rows40"), ("rows16",), ("rows16",)], "half and twice the rows are tried")


def main(folder: Path) -> None:
    small_model.prepare(folder, MODEL)
    result = small_model.run(folder, "build", "model.c", "-o", "build", "--isa", ISA)
    ok(result.returncode == 0, "build") or note(result.stderr)
    (options,) = record.builds(folder / "build")
    of = tune_model.planned(options)
    found = list(of.keys.tuning.blocks.values())
    equal([d.others for d in found], [("rows16", "rows64")] * 2, "equal regions share a line") or note(repr(found))
    usual = blocks(of.plan)
    equal(sorted(usual), [32, 32, 32], "rows of a block without a lock")
    decided(folder, options, found)
    searched(replace(options, lock=str(folder / "searched.lock")), of, found)
    won(replace(options, lock=str(folder / "won.lock")), of, found)
    wrong(folder, options, of, found)


def blocks(plan: ModelPlan) -> list[int]:
    """Rows of a block of each region."""
    return [region.axes[-1].block for function in plan.functions for variant in function.variants
            for region in regions(variant.program.steps) if isinstance(region, Tiles)]


def decided(folder: Path, options: Options, found: list[Decision]) -> None:
    results = set()
    for number, names in enumerate((("usual", "usual"), ("rows16", "rows64"), ("rows64", "rows16"),
                                    ("rows1000", "rows7"))):
        locks.write(options.lock_path, {d.key: Entry(d.key, name, 1.0, False, "c", "0")
                                        for d, name in zip(found, names)})
        (place := folder / str(number)).mkdir()
        with Progress() as progress:
            built = tune_variants.Built(assemble.run(options, progress), options, place)
        plan = built.made.compiled.plan
        one, other = ({"usual": 32, "rows1000": 96}.get(name) or int(name.removeprefix("rows")) for name in names)
        equal(sorted(blocks(plan)), sorted([one, one, other]), f"the lock decides: {' and '.join(names)}")
        (function,) = plan.functions
        for threads in (1, 3, 8):
            built.profile(function, function.variants[0], threads, 1)
            results.add(built.results(function, function.variants[0]))
    ok(len(results) == 1 and b'"z"' in next(iter(results)), "all blocks and teams give the same bits")
    checked = small_model.run(folder, "check", "model.c", "--isa", ISA, "--threads", "3")
    ok(checked.returncode == 0, "which are the interpreter's") or note(checked.stdout + checked.stderr)
    explained = small_model.run(folder, "explain", "model.c", "--isa", ISA).stdout
    ok("runs in tiles of 1 of 4 by 96 of 96 points" in explained and "by 7 of 400 points" in explained,
       "explain names the rows") or note(explained)
    options.lock_path.unlink()


def searched(options: Options, of: tune_model.Planned, found: list[Decision]) -> None:
    """As `tune` does, without forms and schedules. A trial of other bits would end it."""
    tune_lines.TURNS = tune_lines.CALLS = 2
    said: list[str] = []
    for keep in False, True, True:
        search = tune_model._Search(options, replace(REQUEST, keep=keep), tune_model.Clock(None), said.append)
        equal(search.decisions_left(of).get("blocks", 0), 0 if options.lock_path.exists() else 2, "what is left")
        search.kind(of, search.block_kind(of), 1, False)
        equal(options.lock_path.exists(), keep, "--diff writes nothing" if not keep else "the lock is written")
    equal([re.sub(r"^\d+( of \d+ \w+).*", r"N\1", line) for line in said if re.match(r"\d+ of", line)],
          ["N of 2 blocks"] * 2, "it says so, and a run behind it measures nothing") or note(repr(said))
    entries = locks.read(options.lock_path)
    ok(all(entries[d.key].candidate in (d.usual, *d.others) and entries[d.key].time > 0 for d in found),
       "lines name a choice and its time") or note(locks.print_entries(entries))


def won(options: Options, of: tune_model.Planned, found: list[Decision]) -> None:
    """Another choice wins wherever there is one."""
    def other(self: tune_lines.Search, key: str) -> tune_variants.Timed:
        used = self.used[key]
        return tune_variants.Timed(key, (used, 2.0), (next((x for x in self.found[key] if x != used), used), 1.0))
    kept, tune_lines.Search.won = tune_lines.Search.won, other
    fought, tune_lines.fought = tune_lines.fought, lambda a, b, worth: Duel(worth, duel.WON, 1, (a(), b()))
    search = tune_model._Search(options, REQUEST, tune_model.Clock(None), lambda line: None)
    changed = search.kind(of, search.block_kind(of), 1, False)
    tune_lines.Search.won, tune_lines.fought = kept, fought
    entries = locks.read(options.lock_path)
    ok(changed and [entries[d.key].candidate for d in found] == [d.others[0] for d in found],
       "the winner is in the lock") or note(repr(entries))
    equal(blocks(tune_model.planned(options).plan), [16] * 3, "builds have it")
    asked: list[str] = []
    kind, tune_model._Search.kind = tune_model._Search.kind, lambda self, of, kind, part, again: asked.append(kind.name)
    search.lines(of)
    tune_model._Search.kind = kind
    equal(asked, ["orders", "fusions", "blocks"], "blocks are measured behind what chains follow from")


def wrong(folder: Path, options: Options, of: tune_model.Planned, found: list[Decision]) -> None:
    first, second = (d.key for d in found)
    gone = first.replace(" target=", "0 target=")
    locks.write(options.lock_path, {key: Entry(key, "squares", 1.0, False, "c", "0") for key in (first, gone)})
    result = small_model.run(folder, "build", "model.c", "-o", "build", "--isa", ISA, "--tune", "frozen")
    ok(result.returncode == 1 and f"stale: {first}: there is no block squares" in result.stderr and
       f"missing: {second}: no entry" in result.stderr, "frozen lists what is stale and missing") or note(result.stderr)
    result = small_model.run(folder, "build", "model.c", "-o", "build", "--isa", ISA)
    ok(result.returncode == 0 and "there is no block squares" in result.stderr, "else that is a warning") or \
        note(result.stderr)
    for words in ("--memory", "small"), ("--optimize", "size"), ("--max-arena", "8M"):
        result = small_model.run(folder, "build", "model.c", "-o", "build", "--isa", ISA, "--tune", "frozen", *words)
        ok("missing: contraction" in result.stderr and "missing: block" not in result.stderr,
           f"{words[0]}: blocks are not measured, and not missing") or note(result.stderr)
    equal([e.key for e in tune.unused([([], of.target)], options.lock_path, tune_model.used(of))], [gone],
          "--prune takes out what no build has")


names()
if not ISA:
    skip("blocks", f"no target of {os.uname().machine}")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
done()
