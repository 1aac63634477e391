# SPDX-License-Identifier: Apache-2.0
"""How the kernels of a variant run together: every form gives the same bits, with teams of several sizes; `tune`
measures forms, and the lock decides them."""
from __future__ import annotations

import os
import random
import subprocess
import tempfile
from pathlib import Path

import small_model
from small_model import ISA
from tap import done, equal, note, ok, skip
from tensor_compile.compile import assemble, duel, lock as locks, record, tune_model, tune_variants
from tensor_compile.compile.progress import Progress
from tensor_compile.loops.variant_form import CHAINS, VariantForm, parse

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(att)
{
    tc_tensor q = tc_input(g, "q", TC_F32, 4, 96, 32), k = tc_input(g, "k", TC_F32, 4, 512, 32);
    tc_tensor v = tc_input(g, "v", TC_F32, 4, 512, 32);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v));
}
"""


def names() -> None:
    forms = [VariantForm(chains, threads) for chains in CHAINS for threads in (0, 1, 16)]
    equal([parse(form.name) for form in forms], forms, "the name of a form says all of it")
    equal([parse(name) for name in ("regions_t0", "kernels_t", "tiles", "regions_t2x")], [None] * 4, "what names none")


def decisions() -> None:
    """us by form; the core takes 4 threads by itself."""
    def won(used: VariantForm, worth: float = tune_variants.WORTH, **us: float) -> tuple[str, str]:
        of = {form: t for name, t in us.items() if (form := parse(name)) is not None}
        found = tune_variants._Times(of, 4, lambda a, b, worth: duel.fought(lambda: of[a], lambda: of[b], worth))
        timed = tune_variants._decide("key", used, found, worth)
        return timed.used[0], timed.won[0]
    usual = VariantForm()
    equal(won(usual, regions_t1=9.0, regions_t4=5.0, kernels_t4=4.9), ("regions", "regions"), "2 % are not worth it")
    equal(won(usual, tune_variants.WORTH_MEASURED, regions_t4=5.0, kernels_t4=4.75), ("regions", "regions"),
          "5 % are not, where an earlier run measured")
    equal(won(usual, regions_t1=9.0, regions_t4=5.0, kernels_t4=4.0), ("regions", "kernels"), "20 % are")
    equal(won(usual, regions_t1=4.0, regions_t4=5.0, kernels_t4=6.0), ("regions", "regions_t1"), "fewer threads")
    equal(won(VariantForm("kernels", 1), regions_t4=5.0, kernels_t1=5.1), ("kernels_t1", "kernels_t1"), "what was used")
    said = [tune_model.line(tune_variants.Timed("key", ("regions", 9.0), ("kernels_t1", 8.0), teams))
            for teams in ((4, 1), (1, 1), None)]
    equal(said, ["      8.000 us  kernels_t1  key  (a whole call by 1 thread; was 9.000 us by 4 threads, regions)",
                 "      8.000 us  kernels_t1  key  (a whole call by 1 thread; was 9.000 us, regions)",
                 "      8.000 us  kernels_t1  key  (was 9.000 us, regions)"], "a line says what was timed")


def noisy() -> None:
    """Duels of whole calls on a loaded machine, where a call takes up to half more."""
    draw = random.Random(3)

    def wins(used: float, other: float, worth: float) -> int:
        def call(us: float) -> float:
            return us * draw.gauss(1, 0.02) * (draw.uniform(1, 1.5) if draw.random() < 0.3 else 1)
        return sum(duel.fought(lambda: call(used), lambda: call(other), worth).won for _ in range(200))
    equal(wins(100, 100, tune_variants.WORTH_MEASURED), 0, "chance wins no duel")
    ok(wins(100, 80, tune_variants.WORTH_MEASURED) >= 190, "20 % do")
    disturbed = duel.fought(lambda: 18 if draw.random() < 0.1 else 40, lambda: 28, tune_variants.WORTH)
    equal(disturbed.won, False, "a team that other work holds up keeps its place")
    equal([duel.fought(lambda: 10, lambda: 5, tune_variants.WORTH, lambda calm=calm: calm).won
           for calm in (False, True)], [False, True], "turns that other work disturbs win nothing")


def held_up() -> None:
    """Both forms are calls of one program, whose larger team is held up in every turn."""
    class Program:
        held_up = False

        def time(self, function: object, variant: object, threads: int) -> float:
            self.held_up = busy and threads > 1
            teams.append(threads)
            return 10.0 if threads > 1 else 5.0
    teams: list[int] = []
    for busy in (True, False):
        forms = VariantForm("regions", 4), VariantForm("regions", 1)
        found = tune_variants._fought({"regions": Program()}, None, None, *forms, tune_variants.WORTH)
        equal((found.points, found.won), (-9, False) if busy else (22, True),
              "a turn is disturbed whichever of its two calls was held up" if busy else "else the faster team wins")
    equal(teams[:4], [4, 1, 1, 4], "who is first changes")


def main(folder: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return small_model.run(folder, *words)
    small_model.prepare(folder, MODEL)
    lock = folder / "model.tuning.lock"
    build = ("build", "model.c", "-o", "build", "--isa", ISA)
    ok(run(*build).returncode == 0, "build")
    measured = measure(folder)
    (key,) = [key for key in locks.read(lock) if key.startswith(locks.VARIANT)] or [""]
    ok(key.startswith("variant att/generic graph=") and [m.key for m in measured] == [key] and measured[0].won[1] > 0,
       "the variant is measured") or note(repr(measured))
    equal(measure(folder), [], "a second run measures nothing")
    measured_once(folder)

    results = set()
    (options,) = record.builds(folder / "build")
    for form in ("regions", "kernels_t1", "kernels_t3"):
        locks.write(lock, {key: locks.Entry(key, form, 1.0, False, "c", "0")})
        equal(form_of(folder), form, "the lock decides")
        (place := folder / form).mkdir()
        with Progress() as progress:
            built = tune_variants.Built(assemble.run(options, progress), options, place)
        (function,) = built.made.compiled.plan.functions
        for threads in (3,) if results else (1, 3):
            built.profile(function, function.variants[0], threads, 1)
            results.add(built.results(function, function.variants[0]))
    ok(len(results) == 1 and b'"y"' in next(iter(results)), "all forms and teams give the same bits") or \
        note(repr([r[:300] for r in results]))

    locks.write(lock, {key: locks.Entry(key, "squares_t2", 1.0, False, "c", "0")})
    result = run(*build, "--tune", "frozen")
    ok(result.returncode == 1 and f"stale: {key}: there is no form squares_t2" in result.stderr and
       "missing: contraction" in result.stderr, "frozen lists what is stale and missing") or note(result.stderr)
    gone = key.replace("graph=", "graph=0")
    locks.write(lock, {name: locks.Entry(name, "regions", 1.0, False, "c", "0") for name in (key, gone)})
    ok("1 entry taken out" in run("tune", "-C", "build", "--prune").stdout and list(locks.read(lock)) == [key],
       "--prune takes out variants that no build has")


def measure(folder: Path) -> list[tune_variants.Timed]:
    """As `tune` does, without the kernels."""
    (options,) = record.builds(folder / "build")
    of = tune_model.planned(options)
    with Progress() as progress:
        wanted = tune_variants.left(options.lock_path, of.plan, of.keys, of.compiler, False)
        return list(tune_variants.tune(options, wanted, of.keys, of.compiler, progress, True))


def measured_once(folder: Path) -> None:
    """With --all the second pass has the variants that the first one left."""
    (options,) = record.builds(folder / "build")
    said: list[str] = []
    search = tune_model._Search(options, tune_model.Request(True, True, 1, "time", (), (), None),
                                tune_model.Clock(None), said.append)
    of = tune_model.planned(options)
    equal([search.forms(of), search.forms(of, 1)], [True, False], "a variant is measured once in a search")
    equal((len(said), search.unformed), (1, False), "and told once") or note(repr(said))


def form_of(folder: Path) -> str:
    """Of the build's plan: whether it has tiles, and how many threads it takes."""
    (options,) = record.builds(folder / "build")
    (variant,) = tune_model.planned(options).plan.functions[0].variants
    return VariantForm("regions" if tune_variants._has_tiles(variant.program) else "kernels", variant.threads).name


names()
decisions()
noisy()
held_up()
if not ISA:
    skip("variants", f"no target of {os.uname().machine}")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
done()
