# SPDX-License-Identifier: Apache-2.0
"""Orders, fusion and splits in the tuning lock: every choice gives the same bits with teams of several sizes; `tune`
measures them, builds name what is missing and stale. --all: all pairs of choices, too."""
from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Iterator

import small_model
from small_model import ISA, ROOT
from tap import done, equal, note, ok, raises, skip
from tensor_compile.cli import tune_command
from tensor_compile.compile import assemble, decisions, duel, lock as locks, machine_lock, record, recording, tune, \
    tune_lines, tune_model, tune_variants
from tensor_compile.compile.decisions import Decision
from tensor_compile.compile.duel import Duel
from tensor_compile.compile.lock import Entry, Tuning
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress
from tensor_compile.errors import UserError

MODEL = """#include <tensor_compile/model.h>
static tc_tensor weights(tc_graph *g, int a, int b, int c, int d)
{
    return tc_sin(tc_cast(tc_reshape(tc_arange(g, TC_I32, a * b * c * d), a, b, c, d), TC_F32));
}
TC_MODEL(mixed)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 1, 8, 12, 10);
    tc_tensor y = tc_relu(tc_conv2d(x, weights(g, 24, 8, 3, 3), .padding = {1, 1}));
    tc_tensor z = tc_add(tc_conv2d(y, weights(g, 24, 24, 1, 1)), y);
    tc_tensor rows = tc_reshape(z, 24, 120);
    tc_output(g, "mix", tc_matmul(tc_softmax(tc_matmul(rows, tc_transpose(rows, 1, 0)), -1), rows));
    tc_output(g, "norm", tc_softmax(tc_add(rows, tc_tanh(rows)), 0));
}
"""


def main(folder: Path, everything: bool) -> None:
    def build(*words: str) -> subprocess.CompletedProcess[str]:
        return small_model.run(folder, "build", "model.c", "-o", "build", "--isa", ISA, *words)
    refused()
    small_model.prepare(folder, MODEL)
    result = build()
    ok(result.returncode == 0, "build") or note(result.stderr)
    (options,) = record.builds(folder / "build")
    of = tune_model.planned(options)
    kinds = choices(of)
    equal([len(kind) > 0 for kind in kinds], [True] * 3, "orders, fusions and splits may be decided")
    searched(options, of, [d.key for kind in kinds for d in kind])
    others(replace(options, lock=str(folder / "others.lock")), of)
    machines(folder)
    kernels_first(options, kinds)
    same(options, kinds, everything, folder)

    unplanned(options, of)
    endless()
    offered(options, kinds[0][0])
    wrong = {kind[0].key: Entry(kind[0].key, "sideways", 1.0, False, "c", "0") for kind in kinds}
    lock = options.lock_path
    locks.write(lock, wrong)
    result = build("--tune", "frozen")
    ok(result.returncode == 1 and all(f"stale: {key}: " in result.stderr for key in wrong) and
       all(f"missing: {d.key}: no entry" in result.stderr for kind in kinds for d in kind[1:]),
       "frozen lists what is stale and missing") or note(result.stderr)
    for words in ("--memory", "small"), ("--optimize", "size"), ("--max-arena", "1M"):
        result = build("--tune", "frozen", *words)
        ok("missing: split" in result.stderr and not re.search("missing: (order|fuse)", result.stderr),
           f"{words[0]}: orders and fusions are not measured, and not missing") or note(result.stderr)
    gone = [Entry(key.replace(" target=", "0 target="), "usual", 1.0, False, "c", "0") for key in wrong]
    locks.write(lock, wrong | {e.key: e for e in gone})
    equal(tune.unused([([], of.target)], lock, tune_model.used(of)), sorted(gone, key=lambda e: e.key),
          "--prune takes out what no build has")


def unplanned(options: Options, of: tune_model.Planned) -> None:
    """A budget that ends before it is known what is to be measured."""
    planned = tune_model.planned
    tune_model.planned = lambda of: time.sleep(600)
    request = tune_model.Request(False, True, 1, "time", (), (), None)
    result = tune_model.search(options, request, tune_model.Clock(0.1), lambda line: None)
    tune_model.planned = planned
    equal((result.timed, result.left), ([], 1), "a budget ends planning, too")
    search = tune_model._Search(options, request, tune_model.Clock(60.0), print, formed=40.0, last=of)
    kind = tune_lines.Kind("fusions", [Decision("key", "fused", ("stored",))], None)
    equal((search.kind(of, kind, 0.5, False), search.waiting), (False, True), "what would not end in time waits")
    planned_ = tune_model._Search(options, request, tune_model.Clock(60.0), print, planning=4.0, last=of)
    equal((planned_.kind(of, kind, 0.5, False), planned_.waiting, planned_.short(kind, 1, False),
           planned_.short(replace(kind, decisions=[]), 0.01, False)), (False, True, False, False),
          "so does it where an earlier run measured forms: by the time that planning takes")
    late = tune_model.Clock(180.0, machine_lock.now() - 177.9)
    equal((late.over, tune_model.Clock(180.0).left() < 178.1), (True, True),
          "a search ends early, whatever its last part is")


def kernels_first(options: Options, kinds: list[list[Decision]]) -> None:
    """Where the time is not enough for forms and decisions, kernels have all of it; what is left is said in full."""
    build, tune_model.BUILD = tune_model.BUILD, 1e6
    said: list[str] = []
    own = replace(options, lock=str(options.lock_path.parent / "first.lock"))
    request = tune_model.Request(False, True, 1, "time", (), (), None)
    result = tune_model.search(own, request, tune_model.Clock(600.0), said.append)
    tune_model.BUILD = build
    of = tune_model.planned(own)
    entries = locks.read(own.lock_path)
    equal(({key.partition(" ")[0] for key in entries}, result.left, said), ({"contraction"}, 0, []),
          "kernels come first")
    equal(result.decisions, {"variants": 1, "orders": len(kinds[0]), "fusions": len(kinds[1]),
                             "splits": len(choices(of)[2])}, "forms and decisions are left")
    behind(own)
    rest = ", ".join(f"{n} {name.removesuffix('s') if n == 1 else name}" for name, n in result.decisions.items())
    summary = tune_command._summary(result, "first.lock", True, 600.0)
    ok(f" kernels measured (left for the next run: {rest}), one call " in summary, "which the last line says") or \
        note(summary)
    equal(tune_command._summary(tune.Result(decisions={"splits": 1}), "first.lock", True),
          "no kernel is to be measured; left for the next run: 1 split", "be it decisions alone")


def behind(options: Options) -> None:
    """Forms that have too little in their part of the time, or do not end in it, have what kernels leave."""
    request = tune_model.Request(False, True, 1, "time", (), (), None)
    parts, tuned = tune_model.FORMS, tune_variants.tune
    lock, kernels = options.lock_path, options.lock_path.read_bytes()
    asked: list[bool] = []

    def first_ends(*of: object) -> Iterator[tune_variants.Timed]:
        asked.append("contraction" in lock.read_text(encoding="utf-8") if lock.exists() else False)
        if len(asked) == 1:
            raise tune.OutOfTime
        return tuned(*of)
    for name, part, measure, wanted in (("have too little", 1e-6, tuned, []),
                                        ("do not end", parts, first_ends, [False, True])):
        said: list[str] = []
        lock.unlink()
        tune_model.FORMS, tune_variants.tune = part, measure
        result = tune_model.search(options, request, tune_model.Clock(600.0), said.append)
        tune_model.FORMS, tune_variants.tune = parts, tuned
        ok("variants" not in result.decisions and result.left == 0 and asked == wanted and
           sum("a whole call by" in line for line in said) == 1 and not any("to the end" in line for line in said),
           f"forms that {name} have what kernels leave") or note(f"{asked} {result.decisions} {said}")
    lock.write_bytes(kernels)


def endless() -> None:
    """A budget that ends within the builds of decisions."""
    equal(tune_model.summary("splits", [], None, False, True),
          "splits were not measured to their end: the next run goes on", "none of some is no news")


def offered(options: Options, decision: Decision) -> None:
    """An order that another cost model would not offer is the lock's to decide."""
    most, decisions.MOST_ORDERS = decisions.MOST_ORDERS, 0
    lock = options.lock_path.parent / "offered.lock"
    locks.write(lock, {decision.key: Entry(decision.key, decision.others[0], 1.0, False, "c", "0")})
    own = replace(options, lock=str(lock))
    of = tune_model.planned(own)
    equal((decision.key in of.keys.tuning.orders, tune.unused([([], of.target)], lock, tune_model.used(of))),
          (False, []), "--prune keeps what is used, offered or not")
    decisions.MOST_ORDERS = most


def searched(options: Options, of: tune_model.Planned, wanted: list[str]) -> None:
    """As `tune` does, without forms and schedules. A trial of other bits would end it."""
    tune_lines.TURNS = tune_lines.CALLS = 2
    tune_lines.WORTH = 0.0    # nothing wins: other orders would bring other decisions
    request = tune_model.Request(False, True, 1, "time", (), (), None)
    said: list[str] = []
    lacking: set[str] = set()
    write = locks.write

    def noted(path: Path, entries: dict[str, Entry]) -> bool:
        if path != options.lock_path:   # a trial's: of one kind of decisions, the first that the lock does not have yet
            left = [key for key in wanted if key not in locks.read(options.lock_path)]
            kind = left[0].partition(" ")[0]
            lacking.update(key for key in left if key.startswith(kind) and key not in entries)
        return write(path, entries)
    locks.write = noted
    for _ in range(2):
        search = tune_model._Search(options, request, tune_model.Clock(None), said.append)
        search.lines(of)
        search.splits()
    locks.write = write
    equal(lacking, set(), "a trial's lock has all lines of its kind, as the one that is written")
    entries = locks.read(options.lock_path)
    equal([key for key in wanted if key not in entries], [], "every decision has a line")
    equal([re.sub(r"^\d+( of \d+ \w+).*", r"N\1", line) for line in said if re.match(r"\d+ of", line)],
          [f"N of {sum(key.startswith(kind) for key in wanted)} {kind}s changed".replace("fuses", "fusions")
           .replace(" changed", "") for kind in ("order", "fuse", "split")],
          "it says so, and a second run measures nothing")
    equal(lacks(options, of), [], "a frozen build takes them")


def lacks(options: Options, of: tune_model.Planned) -> list[str]:
    """What a frozen build lists, but for schedules."""
    frozen = Tuning.load("frozen", options.lock_path, of.target)
    text = recording.capture(options, of.host, options.open_cache()).text
    frozen.cover(assemble.compile_graph(options, text, of.target, frozen).plan)
    return [str(f) for f in frozen.findings.values() if not f.key.startswith("contraction")]


def refused() -> None:
    """What did not make whole calls faster."""
    search = tune_lines.Search({"key": "usual"})
    search.found["key"]["other"] = [3.0, 2.0, 2.5, 2.0, 2.0, 2.0], [1.5, 1.0, 1.5, 1.0, 1.0, 1.0]
    equal(search.won("key"), tune_variants.Timed("key", ("usual", 2.0), ("other", 1.0)),
          "another choice is faster alone")
    search.keep(["key"])
    equal(search.won("key"), tune_variants.Timed("key", ("usual", 2.0), ("usual", 2.0)),
          "what is used stays, with its own time, where whole calls are no faster")


def others(options: Options, of: tune_model.Planned) -> None:
    """Another choice wins wherever there is one: other orders have other fusions, and what is stored may have more."""
    def won(self: tune_lines.Search, key: str) -> tune_variants.Timed:
        used = self.used[key]
        return tune_variants.Timed(key, (used, 2.0), (next((x for x in self.found[key] if x != used), used), 1.0))
    kept, tune_lines.Search.won = tune_lines.Search.won, won
    fought, tune_lines.fought = tune_lines.fought, lambda a, b, worth: Duel(worth, duel.WON, 1, (a(), b()))
    search = tune_model._Search(options, tune_model.Request(False, True, 1, "time", (), (), None),
                                tune_model.Clock(None), lambda line: None)
    search.lines(of)
    search.splits()
    tune_lines.Search.won, tune_lines.fought = kept, fought
    entries = locks.read(options.lock_path)
    ok(all(entries[d.key].candidate in d.others for d in of.keys.tuning.orders.values()), "all orders are others")
    equal(lacks(options, of), [], "a frozen build takes these, too")


def machines(folder: Path) -> None:
    """With one lock, that of `others`: another folder and cache, and fewer processors."""
    objects = []
    cpus = os.sched_getaffinity(0)
    for number, some in enumerate((cpus, {min(cpus)})):
        place = folder / f"machine{number}"
        place.mkdir()
        for name, file in ("model.c", "model.c"), ("others.lock", "model.tuning.lock"):
            (place / file).write_bytes((folder / name).read_bytes())
        os.sched_setaffinity(0, some)
        result = subprocess.run([sys.executable, str(ROOT / "generator" / "tensor-compile"), "build", "model.c", "-o",
                                 ".", "--isa", ISA, "--cache", str(place / "cache")], cwd=place, capture_output=True,
                                text=True, check=False)
        os.sched_setaffinity(0, cpus)
        ok(result.returncode == 0, "build with the lock") or note(result.stderr)
        objects.append((place / "model.o").read_bytes())
    equal(objects[0] == objects[1], True, "two machines with one lock make the same object")


def same(options: Options, kinds: list[list[Decision]], everything: bool, folder: Path) -> None:
    """Bits of calls with many choices at once."""
    results = set()
    for number, decided in enumerate(tried(kinds, everything)):
        lock = folder / f"{number}.lock"
        locks.write(lock, {key: Entry(key, name, 1.0, False, "c", "0") for key, name in decided.items()})
        (place := folder / str(number)).mkdir()
        own = replace(options, lock=str(lock))
        with Progress() as progress:
            built = tune_variants.Built(assemble.run(own, progress), own, place)
        (function,) = built.made.compiled.plan.functions
        for threads in (1, 3, 8):
            built.profile(function, function.variants[0], threads, 1)
            results.add(built.results(function, function.variants[0]))
    ok(len(results) == 1 and b'"mix"' in next(iter(results)), "all choices and teams give the same bits")


def choices(of: tune_model.Planned) -> list[list[Decision]]:
    tuning = of.keys.tuning
    return [list(tuning.orders.values()), list(tuning.fusions.values()),
            decisions.splits(of.plan, of.target, of.target.isas[-1], 8)]


def tried(kinds: list[list[Decision]], everything: bool) -> list[dict[str, str]]:
    """What locks decide: nothing; all of them otherwise; each pair of choices."""
    found: list[dict[str, str]] = [{}, {d.key: d.others[0] for kind in kinds for d in kind if d.others}]
    if everything:
        single = [(d.key, name) for kind in kinds for d in kind for name in d.others]
        found += [dict(pair) for pair in itertools.combinations(single, 2) if pair[0][0] != pair[1][0]]
    return found


def decided() -> None:
    """Who wins: 3 % and five turns of six; what is decided together, together."""
    def won(used: list[float], tried: list[float], *measured: str) -> str:
        search = tune_lines.Search({"k": "usual"}, frozenset(measured))
        search.found["k"]["bands4"] = used, tried
        return search.won("k").won[0]
    equal(won([10.0] * 6, [9.0] * 6), "bands4", "what is faster in every turn")
    equal(won([10.0] * 6, [9.5] * 6, "k"), "usual", "5 % are not, where an earlier run measured")
    equal(won([10.0] * 6, [9.8] * 6), "usual", "2 % are not worth it")
    equal(won([10.0] * 6, [9.0, 9.0, 11.0, 11.0, 9.0, 9.0]), "usual", "what is slower in two turns may be chance")
    equal([decisions.count_of("bands", name) for name in ("usual", "bands4", "bands0", "rows")], [0, 4, None, None],
          "names of splits")
    raises(UserError, lambda: locks.parse(f"{locks.HEADER}\nsplit f32\n", "x"), "expected an entry",
           "a split without a target")
    kind = tune_lines.Kind("splits", [Decision("a", "usual", ("bands2", "bands4")), Decision("b", "usual", ())], None)
    known = {"a": Entry("a", "bands8", 1.0, False, "gcc 1", locks.templates_digest())}
    equal([d.key for d in tune_lines.todo(kind, known, "gcc 1", False)], ["a", "b"], "a choice that is none, no line")
    known["a"] = known["b"] = Entry("a", "usual", 1.0, False, "gcc 1", locks.templates_digest())
    equal(tune_lines.todo(kind, known, "gcc 1", False), [], "what has good lines is left alone")
    equal(len(tune_lines.todo(kind, known, "gcc 2", False)), 2, "another compiler")


decided()
if not ISA:
    skip("lines", f"no target of {os.uname().machine}")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name), "--all" in sys.argv[1:])
done()
