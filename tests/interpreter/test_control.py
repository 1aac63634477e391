# SPDX-License-Identifier: Apache-2.0
"""Calls, loops, states, the command line, its errors, and texts and files that were damaged on purpose."""
from __future__ import annotations

import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import st
from tap import done, equal, note, ok

HERE = Path(__file__).resolve().parent
GRAPH = HERE / "control.tcg"


def main(interpret: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        st.write(folder / "control.safetensors",
                 {"a.w": ("F32", [2], [2.0, 3.0]), "b.w": ("F32", [2], [5.0, 7.0])})

        def run(*arguments: str | Path, graph: Path = GRAPH) -> subprocess.CompletedProcess:
            return subprocess.run([interpret, str(graph), *map(str, arguments)], capture_output=True, text=True,
                                  errors="replace", check=False, timeout=60)

        def call(function: str, inputs: dict, *arguments: str | Path) -> subprocess.CompletedProcess:
            st.write(folder / "in.safetensors", inputs)
            return run("--function", function, "--inputs", folder / "in.safetensors", "--out",
                       folder / "out.safetensors", "--weights-dir", folder, *arguments)

        def gives(what: str, function: str, inputs: dict, want: dict, *arguments: str | Path) -> None:
            result = call(function, inputs, *arguments)
            if result.returncode:
                ok(False, what)
                note(result.stderr)
            else:
                got = st.read(folder / "out.safetensors")
                equal({key: value[2] for key, value in got.items()}, want, what)

        def fails(what: str, result: subprocess.CompletedProcess, code: int, message: str) -> None:
            if not ok(result.returncode == code and message in result.stderr and not result.stdout, what):
                note(f"exit {result.returncode}, want {code}: {result.stderr}")

        x = ("F32", [2], [1.0, -2.0])
        xs = ("F32", [4, 2], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
        gives("calls: weights and states under a prefix", "two_calls", {"x": x}, {"y": [10.0, -42.0]}, "--state-out",
              folder / "state.safetensors")
        equal(st.read(folder / "state.safetensors")["a.count"][2], [10.0, -42.0], "state: assigned at return")
        gives("state: read back", "two_calls", {"x": x}, {"y": [20.0, -84.0]}, "--state",
              folder / "state.safetensors")
        gives("while", "loop", {"start": ("I64", [], [3])}, {"last": [10], "sum": [49]})
        gives("while: no turn", "loop", {"start": ("I64", [], [30])}, {"last": [30], "sum": [0]})
        gives("cond: then", "choose", {"p": ("BOOL", [], [True]), "x": x}, {"y": [-1.0, 2.0]})
        gives("cond: else", "choose", {"p": ("BOOL", [], [False]), "x": x}, {"y": [1.0, -2.0]})
        gives("scan", "cumulative", {"xs": xs},
              {"total": [16.0, 20.0], "squares": [1.0, 4.0, 16.0, 36.0, 81.0, 144.0, 256.0, 400.0], "size": [7]},
              "--dims", "n=4")
        gives("gather", "lookup", {"xs": xs, "i": ("I64", [2], [3, 0])}, {"rows": [7.0, 8.0, 1.0, 2.0]}, "--dims",
              "n=4")
        st.write(folder / "in.safetensors", {"xs": xs})
        run("--function", "cumulative", "--dims", "n=4", "--inputs", folder / "in.safetensors", "--pack",
            folder / "out.bin")
        packed = (folder / "out.bin").read_bytes()
        ok(len(packed) == 192 and packed[:8] == struct.pack("<2f", 16, 20) and not any(packed[8:64]) and
           packed[64:72] == struct.pack("<2f", 1, 4) and not any(packed[96:128])
           and packed[128:136] == struct.pack("<q", 7) and
           not any(packed[136:]), "--pack: every result filled up to a multiple of 64 with zeros")
        ok("entry lookup(xs, i) -> rows" in run("--list").stdout, "--list")
        ok(run("--help").returncode == 0, "--help")

        fails("usage: unknown option", run("--nonsense"), 2, "unknown option --nonsense")
        fails("usage: no function", run("--out", "x"), 2, "--function is missing")
        fails("no such graph", run("--list", graph=folder / "none.tcg"), 1, "none.tcg: error: cannot be opened")
        fails("no such function", call("nothing", {}), 1, "no function 'nothing'")
        fails("unknown dim", call("loop", {}, "--dims", "m=1"), 1, "the graph has no dim 'm'")
        fails("dim out of range", call("lookup", {}, "--dims", "n=66"), 1, "n = 66 is outside 1..64")
        fails("dim against its divisor", call("lookup", {}, "--dims", "n=3"), 1, "n = 3 is no multiple of 2")
        fails("dim not given", call("guarded", {"xs": xs}), 1, "dim 'n' has no value; give --dims n=N")
        fails("guard", call("guarded", {"xs": ("F32", [2, 2], [0.0] * 4)}, "--dims", "n=2"), 1,
              "model.c:30: error: guard 'n = 4' does not hold: 2 == 4")
        fails("input missing", call("choose", {"x": x}), 1, 'input "p" is not in the file')
        fails("input of another shape", call("choose", {"p": ("BOOL", [], [True]), "x": ("F32", [3], [0.0] * 3)}), 1,
              'input "x": the value is f32[3], the declared type is f32[2]')
        fails("input of another dtype", call("choose", {"p": ("BOOL", [], [True]), "x": ("I32", [2], [0, 0])}), 1,
              'input "x" is I32 in the file, declared as f32')
        fails("index out of range", call("lookup", {"xs": xs, "i": ("I64", [2], [0, 4])}, "--dims", "n=4"), 1,
              "model.c:40: error: gather: index 4 at [1] is outside 0..3")
        fails("negative index", call("lookup", {"xs": xs, "i": ("I64", [2], [-1, 0])}, "--dims", "n=4"), 1,
              "gather: index -1 at [0] is outside 0..3")
        fails("endless recursion", call("endless", {"x": x}), 1,
              "function 'endless': calls nested more than 64 deep")
        ok(not call("two_calls", {"x": x}, "--check-finite", "b.w").returncode, "--check-finite: finite")
        st.write(folder / "control.safetensors",
                 {"a.w": ("F32", [2], [2.0, float("inf")]), "b.w": ("F32", [2], [5.0, 7.0])})
        fails("--check-finite: names weight and index", call("two_calls", {"x": x}, "--check-finite", "a.w"), 1,
              'model.c:4: error: weight "a.w" is inf at [1]; a padded convolution needs finite weights')
        (folder / "control.safetensors").unlink()
        fails("weights missing", call("two_calls", {"x": x}), 1, "control.safetensors: error: cannot be opened")
        fails("unwritable output", run("--function", "loop", "--inputs", folder / "in.safetensors", "--out",
                                       folder / "no" / "out"), 1, "error:")

        fuzz(interpret, folder)
    done()


def fuzz(interpret: str, folder: Path) -> None:
    """Damaged texts and files end with exit code 0 or 1, never by a signal. A mutated loop may run on: that is fine."""
    generator = random.Random(7)
    text = GRAPH.read_bytes()
    st.write(folder / "fuzz.safetensors", {"x": ("F32", [2], [1.0, -2.0]), "start": ("I64", [], [3]),
                                           "p": ("BOOL", [], [True]), "xs": ("F32", [4, 2], [0.5] * 8),
                                           "i": ("I64", [2], [3, 0])})
    file = (folder / "fuzz.safetensors").read_bytes()
    functions = ["two_calls", "loop", "choose", "cumulative", "lookup"]

    def damaged(data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(generator.randint(1, 3)):
            at = generator.randrange(len(out))
            kind = generator.randrange(5)
            if kind == 0:
                out[at] = generator.randrange(256)
            elif kind == 1:
                out[at] ^= 1 << generator.randrange(8)
            elif kind == 2:
                del out[at:at + generator.randint(1, 20)]
            elif kind == 3:
                other = generator.randrange(len(out))
                out[at:at] = out[other:other + generator.randint(1, 30)]
            else:
                out[at:at + 1] = b"%d" % generator.choice([0, 1, 9, 255, 2**31, 2**63 - 1, 2**64])
            if not out:
                out = bytearray(b"{")
        return bytes(out)

    crashes = 0
    for turn in range(300):
        graph, inputs = folder / "damaged.tcg", folder / "damaged.safetensors"
        graph.write_bytes(damaged(text) if turn % 2 else text)
        inputs.write_bytes(file if turn % 2 else damaged(file))
        command = [interpret, str(graph), "--function", generator.choice(functions), "--dims", "n=4", "--inputs",
                   str(inputs), "--weights-dir", str(folder), "--out", str(folder / "fuzz.out")]
        try:
            result = subprocess.run(command, capture_output=True, check=False, timeout=5)
        except subprocess.TimeoutExpired:
            continue
        if result.returncode not in (0, 1):
            crashes += 1
            note(f"turn {turn}: exit {result.returncode}")
            note(result.stderr.decode(errors="replace")[:800])
    ok(crashes == 0, "300 damaged texts and files: no crash")


main(sys.argv[1])
