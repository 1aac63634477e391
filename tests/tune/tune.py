# SPDX-License-Identifier: Apache-2.0
"""`tune` on kernels built by hand: it proves, measures, writes the lock, and leaves alone what still holds."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from cases import convolution, dim, matmul
from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import lock as locks
from tensor_compile.compile import harness, machine_lock, toolchain, tune, tune_model, tune_pace
from tensor_compile import target as targets
from tensor_compile.compile.cache import Cache
from tensor_compile.emit.contraction import candidates as table, micro
from tensor_compile.emit.contraction.key import kernel_key
from tensor_compile.cli import tune_command
from tensor_compile.errors import UserError
from tensor_compile.loops import program_ir
from tensor_compile.loops.contraction_schedule import parse
from tensor_compile.symbolic import sym

ARCH = os.uname().machine
ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}


def main(folder: Path) -> None:
    cache = Cache(folder / "cache")
    compiler = toolchain.detect(("cc",), cache.root, "compiler")
    target = targets.load(targets.find(ARCH)).with_isas((ISA[ARCH],))
    target = replace(target, flags=(*target.flags, "-O1"))    # no time of it counts
    tools = harness.Toolset(compiler, target, (), cache)
    kernels = [matmul(6, 32, 24), matmul(sym(dim("batch", 8)), 16, 8), convolution(1, 4, 6, 6, 16, (3, 3), pad=1)]
    path = folder / "model.tuning.lock"
    said: list[str] = []
    result = tune.tune(kernels, tools, path, rounds=4, say=said.append)
    ok(said[1] == "measuring 1 of 3 kernels" and
       all(re.fullmatch(rf"measuring {n} of 3 kernels, \d+ s left", said[n]) for n in (2, 3)),
       "it says how far it is, and how long it takes") or note(repr(said))
    equal((len(result.timed), result.wrong, result.skipped), (3, [], set()), "every kernel is measured")
    timed = {key for key, *_ in result.timed}
    equal([{key for key, least in found.items() if least > 0} for found in (result.before, result.model)],
          [timed, timed], "and so are what was used before and what the cost model chooses")
    entries = locks.read(path)
    equal(sorted(entries), sorted(kernel_key(k, ISA[ARCH], target.name) for k in kernels), "the lock has their keys")
    ok(all(table.refusal(k, parse(entries[kernel_key(k, ISA[ARCH], target.name)].candidate)) is None
           for k in kernels), "the winners are legal")
    frozen = locks.Tuning.load("frozen", path, target)
    for kernel in kernels:
        frozen.schedule(kernel, ISA[ARCH])
    equal(frozen.finish(), [], "a frozen build accepts it")
    before = path.read_text(encoding="utf-8")
    equal(tune.tune(kernels, tools, path).timed, [], "a second run measures nothing")
    equal(path.read_text(encoding="utf-8"), before, "and leaves the file as it is")
    kept = entries[min(entries)]
    stale = locks.Entry(kept.key, "tc_contraction_f32_99x16__" + ISA[ARCH], 1.0, False, kept.compiler, kept.templates)
    locks.write(path, {**entries, kept.key: stale})
    equal([key for key, *_ in tune.tune(kernels, tools, path, rounds=2).timed], [kept.key], "a stale entry is measured")
    slow = replace(entries[kept.key], candidate=table.ranked(kernels[0], ISA[ARCH], target)[-1].name)
    planted = next(case for case in tune.cases(kernels, tools, {kept.key: slow}, True) if case.name == kept.key)
    ok(planted.incumbent.name == slow.candidate and planted.worth == tune.WORTH_MEASURED and
       planted.candidates[0] == table.choose(kernels[0], ISA[ARCH], target),
       "--all lets what is better fight what the lock has") or note(repr(planted))
    raises(UserError, lambda: tune.tune(kernels, harness.Toolset(compiler, target, (), cache, ("/no/such/emulator",)),
                                        path, again=True), "does not start", "error: a wrapper that does not exist")
    distant(tools, kernels)
    figures()
    fetched()
    summaries()
    paced(tools, kernels)
    settled(tools, kernels)
    short(tools, kernels, folder)
    if ARCH == "x86_64":
        both = targets.load(targets.find(ARCH)).with_isas(("x86_64", "avx2"))
        equal(tune.best_first(harness.Toolset(compiler, both, (), cache, ("qemu",))),
              ["avx2", "x86_64"], "the best instruction set first")
    stopped(folder / "stopped.tuning.lock", tools, kernels)
    pruned(path, tools, kernels)
    wrong_candidate(folder, tools, kernels[0])


def distant(tools: harness.Toolset, kernels: list) -> None:
    """Where calls find the constants of a kernel: by all that the model reads, and the caches."""
    tools = replace(tools, target=replace(tools.target, l2=1 << 20, l3=1 << 24))

    def far(read: int, used: harness.Toolset = tools) -> list[int]:
        return [case.between for case in tune.cases(kernels, used, {}, True, ("f", "f", "g"), (read, 1, read))]
    equal(far(1 << 20), [0, 0, 0], "what fits the second cache stays near")
    equal(far(3 << 20), [3 << 20, 0, 3 << 20], "more comes from the last cache")
    equal(far(1 << 30), [1 << 25, 0, 1 << 25], "and much more from memory")
    huge = replace(tools, target=replace(tools.target, l3=1 << 30))
    equal(far(1 << 40, huge), [1 << 28, 0, 1 << 28], "as far as there is room")
    equal(far(1 << 30, replace(tools, count="instructions")), [0, 0, 0], "where time is counted")
    twice = tune.cases(kernels[:1] * 2, tools, {}, True, ("g", "f"), (1, 1 << 30))
    equal([case.between for case in twice], [1 << 25], "a kernel at two places is as far as it is at one of them")
    first, second, third = (program_ir.Step(kernel) for kernel in kernels)
    tiles, alone = program_ir.Tiles("tiles", (), [second]), program_ir.Branch("branch", "c", [third], [])
    steps = [first, tiles, alone]
    sizes = [tune.constants([step]) for step in (first, second, third)]
    ok(0 < min(sizes) and max(sizes) < tune.constants(steps) <= sum(sizes), "a program reads each constant once") or \
        note(repr(sizes))
    equal([read for _, read in tune._reading(steps, 7)], [7, sizes[1], 7], "tiles read their own ones again")


def figures() -> None:
    """What a core multiplies and reads in a cycle, as its target file has it, decides between schedules."""
    target, kernel = targets.load(targets.find("x86_64")), matmul(512, 4096, 512)

    def chosen(isa: str = "avx512", **of: float) -> str:
        return table.choose(kernel, isa, replace(target, **of)).name
    usual = chosen()
    equal(chosen(fma=32.0, l1d_read=64.0, l2_read=32.0, l3_read=10.0, memory_read=10.0), usual,
          "the figures that are assumed change nothing")
    ok(chosen(l2_read=8.0, l3_read=2.0) != usual, "slow caches do")
    ok(chosen(fma=16.0) != usual, "and half of the multiply-adds")
    equal(chosen("avx2", fma=16.0), chosen("avx2"), "which are all that AVX2 has")


def fetched() -> None:
    """What is fetched ahead is tried both ways, of the first schedules, in the place of the last ones."""
    target = targets.load(targets.find("x86_64"))
    for title, kernel in (("where panels are waited for", matmul(128, 768, 768)),
                          ("of many rows", matmul(3136, 96, 64)),
                          ("of a convolution", convolution(1, 512, 7, 7, 512, (3, 3), pad=1))):
        ranked, tried = table.ranked(kernel, "avx512", target), table.tried(kernel, "avx512", target, 24)
        equal((len(tried), tried[:4]), (24, ranked[:4]), f"{title}: as many as without, the cost model's first")
        ok(any(replace(c, prefetch=not c.prefetch) in tried for c in tried) and
           all(table.refusal(kernel, c) is None for c in tried), f"{title}: with and without") or note(repr(tried))
    few = matmul(1, 4096, 1024)
    equal(table.tried(few, "avx512", target, 24), table.ranked(few, "avx512", target)[:24],
          "one row has nothing to fetch")


def summaries() -> None:
    """The line at the end."""
    equal(tune_command._summary(tune.Result(left=3, sets=["avx2", "x86_64"]), "model.tuning.lock", False, 30.0),
          "nothing was measured in 30 s: compiling took all of it. Give more (--budget 120s), or build for fewer "
          "instruction sets (--isa avx2); there is no model.tuning.lock yet", "a budget that is too small")
    equal(tune_command._summary(tune.Result(left=1, planned=False), "model.tuning.lock", True, 2.0),
          "2 s were over before it was known what there is to measure. Give more (--budget 120s); model.tuning.lock is "
          "as it was", "a budget that ends before the plan")
    equal(tune_command._summary(tune.Result(left=3, begun=True, sets=["neon"]), "model.tuning.lock", True, 30.0),
          "no kernel was measured to its end in 30 s. Give more (--budget 120s); model.tuning.lock is as it was",
          "a kernel that takes all of it, where there is one instruction set")
    equal(tune_command._summary(tune.Result(left=3, timed=[("a", parse("tc_contraction_f32_4x16__avx2"), 1.0)],
                                            decisions={"variants": 1, "splits": 21}), "model.tuning.lock", True),
          "1 kernel measured (left for the next run: 3 kernels, 1 variant, 21 splits), one call of each by one thread: "
          "1.0 us before, 1.0 us now (1.00x the cost model); model.tuning.lock written", "what is left, in full")
    said: list[str] = []
    tune.Telling(said.append, 3, 60.0, {"orders": 2, "splits": 1}).measuring()
    ok(re.fullmatch(r"measuring 1 of 3 kernels, then 2 orders, 1 split, (60|59) s left", said[0]),
       "what follows kernels is said while they are measured") or note(said[0])
    names = [parse("tc_contraction_f32_4x16__avx2"), parse("tc_contraction_f32_4x8__x86_64")]
    equal(tune_command._summary(tune.Result(timed=[("a", names[0], 1.0), ("b", names[1], 7.0), ("c", names[0], 2.0)],
                                            before={"a": 1.5, "b": 9.0}, model={"a": 2.5, "b": 10.5}),
                                "model.tuning.lock", True),
          "3 kernels measured, one call of each by one thread: avx2 3.5 us before, 3.0 us now (1.50x the cost "
          "model); x86_64 9.0 us before, 7.0 us now (1.50x the cost model); model.tuning.lock written",
          "totals by instruction set")


def some_of(case: harness.Case, count: int) -> harness.Case:
    """With so many candidates."""
    more = [replace(case.candidates[0], mc=i) for i in range(1, count)]
    return replace(case, candidates=(case.candidates[0], *more), incumbent=case.candidates[0])


def paced(tools: harness.Toolset, kernels: list) -> None:
    """How many candidates there is time for, and which."""
    found = tune.cases(kernels, tools, {}, True)
    names = [replace(found[0].candidates[0], mc=i) for i in range(1, 60)]
    cases = [replace(case, candidates=(case.incumbent, *names)) for case in found]

    def most(end: float | None, *known: object) -> set[int]:
        return {len(case.candidates) for case in tune_pace.Pace(end, *known).fewer(cases, cases)}
    equal(most(None), {60}, "without a budget all candidates are measured")
    end = machine_lock.now() + 30.5
    equal(most(end), {tune_pace.FIRST}, "the first kernel tells")
    equal(most(end, 10.0, 10), {10}, "what all have time for")
    equal(most(end, 1.0, 10), {60}, "all where there is time for that")
    equal(most(end, 1000.0, 10), {tune_pace.FEWEST}, "the fewest")
    known = {tune_pace.kin(case): {names[40].name: 1.0, names[50].name: 2.0} for case in cases}
    fewer = tune_pace.Pace(end, 10.0, 10, known).fewer(cases, cases)
    equal([(len(case.candidates), *case.candidates[-2:]) for case in fewer],
          [(tune_pace.LATER, names[40], names[50])] * 3, "what was best for its kin")
    last = replace(cases[0], incumbent=cases[0].candidates[-1])
    equal(tune_pace.spread(last, 1).candidates, (last.candidates[0], last.incumbent), "the incumbent is one of them")
    tiles = [replace(last.incumbent, mr=i % 3 + 1, mc=i) for i in range(9)]
    equal(tune_pace.spread(replace(last, candidates=tuple(tiles), incumbent=tiles[0]), 6).candidates,
          tuple(tiles[:6]), "tiles and the cost model's order")
    tiles = [replace(last.incumbent, mr=i // 3 + 1, mc=i) for i in range(9)]
    equal(tune_pace.spread(replace(last, candidates=tuple(tiles), incumbent=tiles[0]), 4).candidates,
          tuple(tiles[i] for i in (0, 1, 2, 3)), "half of them are other tiles")
    cases = tune.cases([matmul(64, 32, 24), matmul(640, 32, 24), matmul(sym(dim("batch", 64)), 32, 24),
                        matmul(64, 16, 24), matmul(1, 32, 24)], tools, {}, True)
    equal([[cases.index(case) for case in group] for group in tune_pace.groups(cases)], [[0], [3, 4], [1], [2]],
          "known sizes first, then the first of its kin")
    equal([[cases.index(case) for case in group]
           for group in tune_pace.groups(cases, {cases[1].name, cases[0].name, cases[2].name})],
          [[3], [4], [0], [1], [2]], "what is long is last, each alone")
    shared = [replace(case, functions=frozenset(names)) for case, names in zip(cases, "a b b a ab".split())]
    equal((tune_pace.firsts(shared), [[shared.index(case) for case in group] for group in tune_pace.groups(shared)]),
          ({cases[0].name, cases[1].name}, [[0], [1], [3, 4], [2]]), "one kernel of each function first")
    shared = [replace(case, functions=frozenset(names)) for case, names in zip(cases, "a b a a b".split())]
    equal([[shared.index(case) for case in group] for group in tune_pace.groups(shared[:2] + shared[3:])],
          [[0], [1], [3, 4]], "then functions in turns")
    pace = tune_pace.Pace(machine_lock.now() + 10.5, 10.0, 10)
    equal([[len(part) for part in pace.fitting(cases[:n])] for n in (1, 2, 4)], [[1, 0], [2, 0], [2, 2]],
          "what would not come to its end together is parted")
    equal([[len(part) for part in tune_pace.Pace(end, 100.0, 10).fitting(cases)] for end in (None, machine_lock.now())],
          [[5, 0], [1, 4]], "one is measured in any case")
    pace = tune_pace.Pace(machine_lock.now() + 30.5, firsts={str(n) for n in range(10)})
    equal(len(pace.fewer([some_of(cases[0], 30)], cases)[0].candidates), 6,
          "the first kernel leaves others their share")
    calls = {case.name: tune_pace.least(case, replace(tools.target, clock=1000.0)) for case in cases}
    ratio = cases[1].operations / cases[4].operations
    ok(calls[cases[4].name] > 0 and abs(calls[cases[1].name] / calls[cases[4].name] - ratio) < 1e-6 * ratio,
       "by its operations") or note(repr(calls))
    equal(tune_pace.least(cases[1], replace(tools.target, clock=0.0)), 0.0, "a target without a clock does not tell")
    floats, *integers = (tune_pace.least(replace(cases[1], incumbent=replace(cases[1].incumbent, dtype=dtype, isa=isa)),
                                         replace(tools.target, clock=1000.0))
                         for dtype, isa in (("f32", "avx512"), ("u8xi8", "avx512_vnni"), ("u8xi8", "avx512_amx")))
    equal([round(floats / each, 6) for each in integers], [4.0, 8.0], "by the speed at which bytes are multiplied")
    calls = {cases[0].name: 2.0, cases[1].name: 1.0}
    equal([tune_pace.Pace(end and machine_lock.now() + end, calls=calls).long() for end in (None, 30.0, 60.0)],
          [set(), {cases[0].name}, set()], "which are long depends on the time")
    some = [replace(case, candidates=(case.incumbent, *names)) for case in cases]
    late = machine_lock.now() + 20.5
    equal([{len(case.candidates)
            for case in tune_pace.Pace(late, seconds, count, calls=calls).fewer(some[:1], some[:1])}
           for seconds, count in ((0.0, 0), (1.0, 100))], [{10}, {10}],
        "as many candidates of a long one as their calls have time for")
    batch = dim("batch", 64)
    large = matmul(sym(batch) * 4096, 64, 512)
    equal((tune.sizes(large), tune.sizes(large, 1 << 30)), ({batch: 64}, {batch: 4}), "what takes long is smaller")


def short(tools: harness.Toolset, kernels: list, folder: Path) -> None:
    """A budget that is short for several functions, and for several models."""
    for functions, measured in ((("a", "b", "c"), 3), (("a", "b", "b"), 2), (("a", "a", "a"), 1)):
        result = tune.tune(kernels, tools, folder / "short.lock", rounds=1, keep=False, budget=0.001, most=1000.0,
                           functions=functions)
        equal((len(result.timed), result.left), (measured, 3 - measured),
              f"functions {' '.join(functions)}: a kernel of each, and what is left")

    now, asked, said = [0.0], [], []
    builds = [Namespace(shown=name, lock_path=folder / f"{name}.lock") for name in "abcd"]
    (folder / "a.lock").touch()
    (folder / "c.lock").touch()
    os.utime(folder / "a.lock", (100, 100))

    def search(options: Namespace, request: object, clock: tune_model.Clock, tell: object) -> tune.Result:
        asked.append((options.shown, round(clock.budget), round(clock.most)))
        now[0] += 9.0
        return tune.Result()
    real = tune_model.search, machine_lock.now, tune_command._ran, tune_command._print, tune_command._line
    tune_model.search, machine_lock.now = search, lambda: now[0]
    tune_command._ran, tune_command._print = lambda: 0.0, lambda *_: None
    tune_command._line = lambda options, line: said.append(f"{options.shown}: {line}")
    args = {"again": False, "diff": False, "rounds": 1, "count": "time", "exe_wrapper": (), "link_args": (), "jobs": 1}
    try:
        for budget in (19.0, 60.0):
            now[0] = 0.0
            tune_command._tune(builds, Namespace(budget=budget, **args))
    finally:
        tune_model.search, machine_lock.now, tune_command._ran, tune_command._print, tune_command._line = real
    equal(asked, [("b", 5, 10), ("d", 3, 10), ("a", 15, 0), ("b", 17, 0), ("c", 21, 0), ("d", 33, 0)],
          "what was never measured first, and as much time as a model needs")
    equal(said, [f"{name}: no time was left for it: the next run begins with it, and --budget 40s has some for all"
                 for name in "ac"], "models for which none was left")


def stopped(path: Path, tools: harness.Toolset, kernels: list) -> None:
    """Everything is compiled already: what ends the search does so while it measures."""
    before = tune.tune(kernels, tools, path, rounds=2, keep=False)
    ok(len(before.timed) == 3 and not path.exists(), "a search that is not to be kept writes nothing")

    def interrupted(line: str) -> None:
        if line.startswith("measuring 3"):
            raise KeyboardInterrupt
    try:
        tune.tune(kernels, tools, path, rounds=2, say=interrupted)
        ok(False, "an interruption goes on to the caller")
    except KeyboardInterrupt:
        equal(len(locks.read(path)), 2, "an interruption keeps what was measured")
    said: list[str] = []
    equal(len(tune.tune(kernels, tools, path, rounds=2, say=said.append, budget=1000.0).timed), 1,
          "the next run goes on from there, a budget is enough")
    ok(any(re.match(r"measuring 1 of 1 kernels, (9\d\d|1000)\b", line) for line in said),
       "with a budget the time left is known")

    def late(line: str) -> None:
        if line.startswith("measuring 3"):
            signal.raise_signal(signal.SIGALRM)
    group = tune_pace.GROUP
    try:
        tune_pace.GROUP = 1
        result = tune.tune(kernels, tools, path, rounds=1, again=True, say=late, budget=1000.0)
    finally:
        tune_pace.GROUP = group
    equal((len(result.timed), result.left), (2, 1), "a budget ends the search and says what it left")
    sizes = [case.operations for case in tune.cases(kernels, tools, {}, True)]
    largest = {case.name for case in tune.cases(kernels, tools, {}, True) if case.operations > min(sizes)}
    equal({key for key, *_ in result.timed}, largest, "the smallest kernel")


def settled(tools: harness.Toolset, kernels: list) -> None:
    """What took the place of the cost model's choice, and of what an earlier run measured: it wins once more, does not,
    or was left."""
    first = replace(tune.cases(kernels[:1], tools, {}, True)[0], name="first")
    used, won = first.incumbent, next(c for c in first.candidates if c != first.incumbent)
    old = [first, *(replace(first, name=name, worth=tune.WORTH_MEASURED)
                    for name in ("again", "not again", "left", "same"))]
    result = tune.Result(timed=[(case.name, used if case.name == "same" else won, 8.0) for case in old],
                         before={case.name: 10.0 for case in old})
    changed = tune._changed(result, old)
    equal([(case.name, {*case.candidates}) for case in changed],
          [(name, {used, won}) for name in ("again", "not again", "left")], "what changed fights again")
    tune._settle(result, tune.Result(timed=[("again", won, 8.0), ("not again", used, 10.0)]), old)
    equal(result.timed, [("first", won, 8.0), ("again", won, 8.0), ("not again", used, 10.0), ("left", used, 10.0),
                         ("same", used, 8.0)], "what does not win twice goes back")


def pruned(path: Path, tools: harness.Toolset, kernels: list) -> None:
    entries = locks.read(path)
    first = entries[min(entries)]
    foreign = locks.Entry(first.key.rpartition(" ")[0] + " target=elsewhere/isa", first.candidate, 1.0, False, "c", "0")
    gone = locks.Entry(first.key.replace("rows=", "rows=9"), first.candidate, 1.0, False, "c", "0")
    locks.write(path, {**entries, foreign.key: foreign, gone.key: gone})
    plans = [(kernels[:2], tools.target), (kernels[2:], tools.target)]
    found = tune.unused(plans, path)
    equal([e.key for e in found], [gone.key], "an entry that no kernel has is unused, one of another target is not")
    tune.prune(found, path)
    equal(sorted(locks.read(path)), sorted([*entries, foreign.key]), "and is taken out")
    equal(len(tune.unused(plans[:1], path)), 1, "what another build of the lock uses counts")


def wrong_candidate(folder: Path, tools: harness.Toolset, kernel: object) -> None:
    """A kernel whose sums start elsewhere."""
    candidate = table.legal(kernel, ISA[ARCH], tools.target)[0]
    case = harness.Case("case", kernel, {}, (candidate,), candidate)
    library = micro.library
    try:
        micro.library = lambda micros, isa: library(micros, isa).replace("tct_zero_f32();", "tct_splat_f32_(1.0f);", 1)
        path = harness.program([case], tools, folder / "spoilt")
    finally:
        micro.library = library
    output = subprocess.run([str(path), "time", "2"], capture_output=True, text=True, check=False).stdout
    if not ok(f"wrong {candidate.name}" in output and "instead of" in output and "winner" not in output,
              "a wrong candidate is found and not timed"):
        note(output)


if ARCH not in ISA:
    skip("tune", f"no target of {ARCH}")
    done()
with tempfile.TemporaryDirectory() as name:
    main(Path(name))
done()
