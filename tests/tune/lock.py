# SPDX-License-Identifier: Apache-2.0
"""The tuning lock: format, keys, the three modes, and what each says about entries that are missing, stale or
illegal."""
from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from cases import convolution, dim, heads, matmul
from tap import done, equal, ok, raises
from tensor_compile.compile import decisions, lock as locks
from tensor_compile import target as targets
from tensor_compile.compile import tune
from tensor_compile.emit.contraction import candidates as table
from tensor_compile.emit.contraction.cost_model import STREAMS
from tensor_compile.emit.contraction.candidate_table import PANEL
from tensor_compile.emit.contraction.key import kernel_key, split_key
from tensor_compile.emit.contraction.team_bands import BANDS, LEAST_TILES, has_bands, team_bands
from tensor_compile.errors import UserError
from tensor_compile.instruction_sets import INSTRUCTION_SETS
from tensor_compile.symbolic import sym

TARGET = targets.load(targets.find("x86_64"))


def entry(key: str, candidate: str) -> locks.Entry:
    return locks.Entry(key, candidate, 12.5, False, "gcc 12.2.0", "0123abcd")


def keys() -> None:
    key = kernel_key(matmul(128, 384, 384), "avx2", "x86_64")
    ok(key.startswith("contraction f32 rows=128 columns=384 terms=384 batches=1 walk=") and
       key.endswith(" target=x86_64/avx2"), "key of a matmul")
    equal(kernel_key(matmul(128, 384, 384), "avx2", "x86_64"), key, "equal kernels have equal keys")
    batch = sym(dim("batch"))
    ok(" rows=(3*batch) " in kernel_key(matmul(3 * batch, 64, 8), "avx2", "x86_64"), "key of a dynamic size")
    ok(" rows=14x14 columns=32 terms=3x3x16 " in
       kernel_key(convolution(1, 16, 14, 14, 32, (3, 3), pad=1), "avx2", "x86_64"), "key of a convolution")
    others = [matmul(128, 384, 384, 0), matmul(128, 384, 384, bias=False), matmul(128, 384, 384, residual=True),
              matmul(128, 384, 384, transposed=True), matmul(128, 384, 384, batch=2), heads(128, 24, 16, 384)]
    equal(len({kernel_key(k, "avx2", "x86_64") for k in others} | {key}), len(others) + 1,
          "packing, epilogue, storage and batch are part of the key")
    padded = [convolution(1, 16, 14, 14, 32, (3, 3), pad=p) for p in (0, 1)]
    ok(kernel_key(padded[0], "avx2", "x") != kernel_key(padded[1], "avx2", "x"), "padding is part of the key")


def text() -> None:
    entries = {k: entry(k, "tc_contraction_f32_6x16__avx2")
               for k in ("contraction f32 rows=2 target=a/avx2", "contraction f32 rows=1 target=a/avx2")}
    printed = locks.print_entries(entries)
    equal(printed, """# tensor-compile tuning lock 2
contraction f32 rows=1 target=a/avx2 -> tc_contraction_f32_6x16__avx2 12.500 us, gcc 12.2.0, templates 0123abcd
contraction f32 rows=2 target=a/avx2 -> tc_contraction_f32_6x16__avx2 12.500 us, gcc 12.2.0, templates 0123abcd
""", "the text is sorted")
    equal(locks.parse(printed, "x"), entries, "the text can be read back")
    earlier = printed.replace("lock 2", "lock 1").replace(" -> ", "\n  ")
    equal(locks.parse(earlier, "x"), entries, "so can that of version 1, of two lines an entry")
    broken = "error: expected an entry, KEY -> CANDIDATE and its provenance"
    for bad, message, what in [
            ("", "x:1: error: not a tuning lock of this version", "an empty file"),
            ("# tensor-compile tuning lock 3\n", "x:1: error: not a tuning lock", "another version"),
            (printed + "contraction target=a/b\n", f"x:4: {broken}", "an entry cut off"),
            (printed + "contraction target=a/b -> tc\n", f"x:4: {broken}", "cut off within its candidate"),
            (printed.replace("lock 2\n", "lock 2\ncontraction target=a/b\n"), f"x:3: {broken}", "above another entry"),
            (printed.replace("abcd\n", "abcd", 1), f"x:2: {broken}", "two entries on a line"),
            (printed.replace("12.500 us", "fast"), f"x:2: {broken}", "a candidate without a time"),
            (earlier.replace("12.500 us", "fast"), f"x:3: {broken}", "so in version 1"),
            (printed + "  tc_x 1 us, a, templates 0\n", f"x:4: {broken}", "a candidate without a key"),
            (printed.replace("contraction", "<<<<<<< HEAD\ncontraction", 1), "x:2: error: a merge conflict that is not "
             "resolved", "git's marks where a key should be"),
            (earlier.replace("  tc_", "=======\n  tc_", 1), "x:3: error: a merge conflict that is not resolved",
             "git's marks within an entry"),
            (f"<<<<<<< HEAD\n{printed}", "x:1: error: a merge conflict that is not resolved", "marks above all")]:
        raises(UserError, lambda: locks.parse(bad, "x"), message, f"error: {what}")
        raises(UserError, lambda: locks.parse(bad, "x"), "delete ", f"{what}: the hint helps")


def everywhere() -> None:
    """Each processor computes each product, those of few registers too."""
    m = dim("m")
    for target in (targets.load(targets.find(name)) for name in targets.names()):
        for isa in (isa for isa in target.isas if isa in INSTRUCTION_SETS):   # GPUs have tables of their own
            kernels = (matmul(sym(m), 2, 16, target.panel), matmul(sym(m), sym(m), sym(m), 0),
                       convolution(1, 16, 9, 9, 2, (3, 3), panel=target.panel))
            ok(all(table.legal(kernel, isa, target) for kernel in kernels), f"{target.name}: {isa} has schedules")


def modes(folder: Path) -> None:
    raises(UserError, lambda: tune.run_harness(["./no-such-harness"], print), "the measuring harness does not start: ",
           "so is a harness")
    (folder / "folder").mkdir()
    raises(UserError, lambda: locks.Tuning.load("lock", folder / "folder", TARGET), "cannot read the tuning lock: ",
           "a folder in the lock's place")
    kernel = matmul(64, 384, 384)
    key = kernel_key(kernel, "avx2", TARGET.name)
    default = table.choose(kernel, "avx2", TARGET)
    other = next(c for c in table.legal(kernel, "avx2", TARGET) if c != default)
    path = folder / "m.tuning.lock"

    def choose(mode: str, name: str | None) -> tuple[str, locks.Tuning]:
        path.unlink(missing_ok=True)
        if name:
            locks.write(path, {key: entry(key, name)})
        tuning = locks.Tuning.load(mode, path, TARGET)
        return tuning.schedule(kernel, "avx2").name, tuning

    name, tuning = choose("lock", other.name)
    equal((name, tuning.finish()), (other.name, []), "lock: an entry that applies decides")
    name, tuning = choose("frozen", other.name)
    equal((name, tuning.finish()), (other.name, []), "frozen: an entry that applies decides")
    name, tuning = choose("off", other.name)
    equal((name, tuning.finish()), (default.name, []), "off: the cost model decides")
    for what, named, message in [
            ("missing", None, "missing: contraction f32 rows=64 "),
            ("stale", "tc_contraction_f32_60x16__avx2", "tc_contraction_f32_60x16__avx2 is not in the candidate table"),
            ("illegal", "tc_contraction_f32_6x64__avx512", "is of another instruction set")]:
        name, tuning = choose("lock", named)
        notes = tuning.finish()
        ok(name == default.name and (not notes if what == "missing" else message in notes[0] and what in notes[0]),
           f"lock: {what}: the cost model decides" + ("" if what == "missing" else ", the entry is named"))
        name, tuning = choose("frozen", named)
        raises(UserError, tuning.finish, message, f"frozen: {what} is an error")
        raises(UserError, tuning.finish, "the tuning lock does not cover this build (--tune frozen):\n", "and says so")
    small = matmul(3, 384, 384)
    key = kernel_key(small, "avx2", TARGET.name)
    tuning = locks.Tuning("frozen", path, TARGET, {key: entry(key, "tc_contraction_f32_6x16__avx2")})
    tuning.schedule(small, "avx2")
    raises(UserError, tuning.finish, "6x16__avx2: the kernel has only 3 rows", "frozen: illegal by the prover")
    equal(locks.Tuning.load("off", folder / "m.tuning.lock", TARGET).entries, {}, "off: the file is not read")


def bands() -> None:
    """How a team shares a product: without a line by bands where it has many rows and near panels; else as one says."""
    schedule = table.choose(matmul(4096, 96, 16), "avx2", TARGET)
    all_teams, small_teams, none = (BANDS, False, False), (BANDS, True, False), (0, False, False)
    large_teams, both = (BANDS, False, True), (BANDS, True, True)
    least, small = BANDS * LEAST_TILES * schedule.mr, BANDS * schedule.mr

    def found(kernel, target=TARGET) -> tuple[int, bool, bool]:
        cut = team_bands(kernel, schedule, target)
        return cut.bands, cut.small_teams, cut.large_teams
    for what, kernel, expected in (
            ("many rows", matmul(least, 96, 16), all_teams), ("a row less", matmul(least - 1, 96, 16), both),
            ("a tile of rows for each band", matmul(small, 96, 16), small_teams),
            ("a thread of few columns reads most rows", matmul(250, 1024, 256), large_teams),
            ("panels that the second cache does not hold", matmul(250, 1024, 512), none),
            ("so they are, and far", matmul(small, 1024, 256), none),
            ("all panels are more than its rows", matmul(small, 1024, 16), small_teams),
            ("a row less than that", matmul(small - 1, 96, 16), none),
            ("one group of columns", matmul(least, schedule.nr, 16), none),
            ("far panels", matmul(least, 96, 4096), none), ("matrices", matmul(least, 96, 16, batch=2), none),
            ("unknown rows", matmul(sym(dim("m")), 96, 16), none)):
        equal(found(kernel), expected, f"bands without a line: {what}")
    equal(found(matmul(least, 96, 16), replace(TARGET, threads=1)), none, "one thread has no team")
    equal(found(matmul(small, 96, 16), replace(TARGET, arch="aarch64")), none, "small teams have bands on x86-64")
    many, few = matmul(4096, 96, 16), matmul(128, 96, 16)
    for kernel, usual in ((many, BANDS), (few, BANDS)):
        key = split_key(kernel, TARGET.name)
        for line, expected in ((None, usual), ("usual", usual), ("bands4", 4), ("bands1", 1), ("rows", usual),
                               ("bands999999", usual)):
            entries = {key: entry(key, line)} if line else {}
            tuning = locks.Tuning("lock", Path("m.tuning.lock"), TARGET, entries)
            equal(tuning.schedule(kernel, "avx2").bands, expected, f"the line {line}: {expected} bands")
            equal([f.key for f in tuning.findings.values() if f.kind == "stale"], [key] if line == "rows" else [],
                  f"the line {line}: " + ("is stale" if line == "rows" else "is a split"))
    equal(decisions._bands(many, schedule, BANDS, 16), [8, 4, 2], "what tune tries has no bands that are there anyway")
    equal(decisions._bands(many, schedule, BANDS, 1), [1], "it tries columns outermost where bands are usual")
    equal(decisions._bands(few, replace(schedule, mc=0), 0, 1), [], "and not where they are not")
    large = replace(schedule, bands=BANDS, large_teams=True)
    equal([has_bands(large, n) for n in (1, 7, 8, 16)], [False, False, True, True], "large teams have their bands")
    equal([has_bands(replace(large, large_teams=False, small_teams=True), n) for n in (2, 16)], [False, False],
          "those of small teams are no usual ones")
    equal([has_bands(replace(schedule, bands=n), 2) for n in (0, BANDS)], [False, True], "bands of all teams")


def model() -> None:
    for isa in ("avx2", "avx512"):
        for rows, columns, terms in ((128, 384, 384), (1, 512, 784), (512, 512, 512), (3, 64, 9)):
            kernel = matmul(rows, columns, terms)
            choice = table.choose(kernel, isa, TARGET)
            ok(table.refusal(kernel, choice) is None and choice == table.choose(kernel, isa, replace(TARGET)),
               f"cost model: {rows}x{columns}x{terms} on {isa}: {choice.name} is legal")
    equal(table.choose(matmul(1, 512, 784), "avx512", TARGET).mr, 1, "cost model: one row for a vector")
    for rows, expected in ((12544, 96), (784, 48)):
        equal(table.choose(matmul(rows, 96, 24), "avx512", TARGET).nr, expected,
              f"cost model: results that leave the second cache are stored by whole rows: {rows}x96")
    ok(table.choose(matmul(1, 50257, 768), "avx512", TARGET).nr <= STREAMS * PANEL,
       "cost model: for one row, few panels come from memory side by side")
    equal(table.choose(matmul(3, 64, 4097, 0, 3, bias=False), "avx512", TARGET).mr, 3,
          "cost model: a decoder's values, of which a team shares panels, are read once for all rows of a head")
    for keys in (2048, 8192):
        scores = matmul(64, keys, 64, 16, 12, bias=False)
        scores = replace(scores, params=tuple(replace(p, kind="temp") if p.name == "b" else p for p in scores.params))
        equal(table.choose(scores, "avx512", TARGET).prefetch, keys == 8192,
              f"cost model: panels of {keys} keys are fetched ahead where they come from behind the second cache")
    planes = convolution(1, 64, 56, 56, 64, (3, 3), pad=1, planar_in=True, planar_out=True)
    choice = table.choose(planes, "avx2", TARGET)
    ok(choice.in_parts and 4 * choice.kc * choice.nr <= TARGET.l1d,
       "cost model: where all tiles are the kernel's own, blocks of terms have panels that fit the first cache")
    for rows, columns, terms, far in ((3136, 256, 64, True), (784, 512, 128, True), (196, 64, 64, False)):
        mc = table.choose(matmul(rows, columns, terms), "avx512", TARGET).mc
        ok(0 < 4 * mc * columns <= TARGET.l2 // 8 if far else mc == 0,
           f"cost model: {rows}x{columns}x{terms}: rows are taken in blocks where their results would leave the cache")


keys()
text()
with tempfile.TemporaryDirectory() as name:
    modes(Path(name))
everywhere()
bands()
model()
done()
