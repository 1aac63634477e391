# SPDX-License-Identifier: Apache-2.0
"""The harness of autotune/ on candidates of known times (fake_cases.c): which are wrong, which win, how often each is
timed; and on a shared machine (noisy_cases.c): how often chance wins, and how often what is faster does."""
from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Sequence

from small_model import ISA, ROOT
from tap import done, equal, note, ok, skip

AUTOTUNE = ROOT / "autotune"
N = 3000    # results of a case


def linked(name: str, folder: Path, sources: Sequence[Path] = ()) -> Path:
    """sources: beside NAME.c; (): the harness."""
    program = folder / name
    sources = sources or (*sorted(AUTOTUNE.glob("*.c")), ROOT / "runtime" / "core" / "cpu.c")
    subprocess.run(["cc", "-std=c11", "-O1", "-Wall", "-Werror", f'-DISA="{ISA}"', f"-I{AUTOTUNE}",
                    f"-I{ROOT / 'templates' / 'include'}", f"-I{ROOT / 'runtime' / 'include'}",
                    str(Path(__file__).parent / f"{name}.c"), *map(str, sources), "-o", str(program)], check=True)
    return program


def waits(program: Path) -> None:
    """What is waited for ends, on a clock of ticks, too."""
    text = subprocess.run([str(program)], capture_output=True, text=True, check=False).stdout
    equal(text.splitlines(), ["apart 20.0", "calm 0.06", "never calm 400", "no patience 0.12", "ticks apart"],
          "turns lie apart, and what is waited for ends")


def noisy(program: Path) -> None:
    """A hundred kernels each."""
    text = subprocess.run([str(program), "time", "20"], capture_output=True, text=True, check=True).stdout
    case, won = "", Counter()
    for line in text.splitlines():
        kind, name, *_ = line.split(" ")
        case = name if kind == "case" else case
        won[case, name] += kind == "winner"
    equal(won["first_quiet", "0"], 100, "of equal candidates the cost model's choice stays")
    ok(won["first_loaded", "0"] >= 99, "and on a loaded machine")
    ok(won["again_loaded", "0"] >= 99, "what an earlier run chose stays beside others that are as good")
    ok(won["gain_quiet", "2"] >= 99, "3 % are found")
    ok(won["gain_loaded", "2"] >= 85, "and on a loaded machine")
    ok(won["more_loaded", "2"] >= 97, "5 % are found there")
    ok(won["bad_loaded", "0"] == 0, "a bad choice of an earlier run is mended")
    ok(won["mostly_calm", "2"] >= 80, "what is better while no other work is there wins where that is mostly so")
    ok(won["mostly_busy", "0"] >= 95, "but not where it is so for a tenth of the time")


def main(folder: Path) -> None:
    waits(linked("calm_waits", folder, [AUTOTUNE / "calm.c"]))
    noisy(linked("noisy_cases", folder))
    program = linked("fake_cases", folder)

    def run(*words: str) -> dict[str, list[list[str]]]:
        text = subprocess.run([str(program), *words], capture_output=True, text=True, check=False).stdout
        said: dict[str, list[list[str]]] = {"": []}
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            case = rest if kind == "case" else list(said)[-1]
            said.setdefault(case, [])
            if kind != "case":
                said[case].append([kind, *rest.split(" ")])
        return said
    said = run("time", "20")
    equal(said["gaining"][-1], ["winner", "fast", "900.0"], "the fastest wins")
    equal([line[1:] for line in said["gaining"][:-1]],
          [["usual", "1000.0", "20"], ["close", "975.0", "6"], ["fast", "900.0", "20"], ["slow", "3000.0", "1"]],
          "who is far behind is timed no more, the best and the incumbent twice")
    for case in "short", "long":
        wrong = {name: " ".join(why) for kind, name, *why in said[case] if kind == "wrong"}
        equal((sorted(wrong), said[case][-1]), (["spoilt", "writer", "wrong"], ["winner", "usual", "1000.0"]),
              f"a {case} call: what is wrong is not timed")
        equal("y[2999] is 0x40e00000 instead of" in wrong["spoilt"], True, "the one wrong result is named")
    equal(said["ties"][-1][1], "close", "what is 2 % faster than the cost model's choice takes its place")
    equal(said["kept"][-1][1], "usual", "but not that of what was measured before")
    equal([line[1:] for line in said["kept"][1:3]], [["close", "975.0", "20"], ["near", "990.0", "6"]],
          "what gains half of what is asked has a duel, of what gains less six rounds tell")
    equal(next(line[1] for line in said["chance"] if line[0] == "winner"), "usual", "who was fast by chance loses")
    equal(next(line[1] for line in said["noisy"] if line[0] == "winner"), "unlucky",
          "where times vary, nobody goes early")
    every = 29    # points of a long call: 1e8 operations, of which 4e6 are computed
    counts = [N * 3 * 9, sum((N - fill + every - 1) // every for fill in range(3))]
    equal(int(next(line[1] for line in said["warm"] if line[0] == "points")), sum(counts),
          "of a long call the reference computes some points")
    large, small = next(map(int, line[1:]) for line in said["warm"] if line[0] == "moves")
    ok(small >= large + 25, "operands lie elsewhere in every round and turn, but for large ones") or \
        note(f"{large} {small}")
    calls, same, places, other = next(map(int, line[1:]) for line in said["warm"] if line[0] == "cold")
    equal((calls > 5, same, places, other), (True, 0, 4, 0),
          "each call has other constants, as many as the model reads between two calls, of the same values")
    calls, same, places, other = next(map(int, line[1:]) for line in said["warm"] if line[0] == "warm")
    ok(same and places > 1 and not other, "what stays near is the same in all calls of a round") or \
        note(f"{calls} {same} {places} {other}")
    equal(run("time", "1")["gaining"][-1][1], "fast", "one round is enough to choose who fights a duel")


if not ISA or os.name != "posix":
    skip("harness", "no target of this machine")
    done()
with tempfile.TemporaryDirectory() as name:
    main(Path(name))
done()
