# SPDX-License-Identifier: Apache-2.0
"""The benchmark's programs build and answer, without PyTorch and without timing anything: every model's server compiles
against its generated header, links as bench/run.py links it, and follows the protocol of server.h.

  test_bench.py CACHE        (kernels are shared with the rest of the build)
"""
import argparse
import array
import importlib.util
import json
import struct
import subprocess
import sys
import tempfile
import xml.dom.minidom
from pathlib import Path

from tap import done, equal, note, ok

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BENCH = ROOT / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "peers")]
import builds
import decode
import report
import rows
import shares

for script in sorted([*BENCH.glob("*.py"), *(BENCH / "peers").glob("*.py")]):
    try:
        compile(script.read_text(encoding="utf-8"), str(script), "exec")
        ok(True, f"{script.name} is Python")
    except SyntaxError as error:
        ok(False, f"{script.name}: {error}")


def safetensors(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """f32 tensors of one value, 1/1024."""
    header, data = {}, array.array("f")
    for name, shape in shapes.items():
        size = 1
        for extent in shape:
            size *= extent
        begin = len(data) * 4
        data.extend([2.0**-10] * size)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data) * 4]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.tobytes())


def serve(program: Path, arguments: list[str], out: Path) -> tuple[int, list[str], bytes]:
    """(exit code, answers, output) of two rounds and a request for the output."""
    result = subprocess.run([str(program), *arguments], input=f"run 1\nrun 2\nout {out}\n", capture_output=True,
                            text=True, check=False, timeout=100)
    return result.returncode, result.stdout.split(), out.read_bytes() if out.exists() else b""


def differences(folder: Path) -> None:
    """What is said of a GPU's results that differ from the processor's, which needs neither."""
    program, core = folder / "differences", ROOT / "runtime" / "core"
    sources = [*sorted(core.glob("*.c")), *sorted((ROOT / "runtime" / "cuda").glob("*.c")),
               *(ROOT / "runtime" / "hosted" / name for name in ("file.c", "sha256.c"))]
    subprocess.run(["cc", "-std=gnu11", "-O1", f"-I{ROOT}", f"-I{ROOT / 'runtime' / 'include'}",
                    str(HERE / "differences.c"), *map(str, sources), "-rdynamic", "-o", str(program), "-ldl", "-lm"],
                   check=True)
    said = subprocess.run([str(program)], capture_output=True, text=True, check=False).stdout
    equal([line for line in said.splitlines() if line.startswith("not ok")], [], "differences are told as they are")
    equal(said.splitlines()[-1], "1..5", "all of them")


isa = builds.best_isa()
ok(isa == "" or (ROOT / "targets" / "x86_64.toml").read_text(encoding="utf-8").count(f'"{isa}"'),
   f"the instruction set of this machine ({isa or 'all'}) is one of the target's")
cache = Path(sys.argv[1])
arguments = ["--isa", isa] if isa else []
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    differences(folder)
    mlp = folder / "mlp-source"
    mlp.mkdir()
    (mlp / "model.c").write_bytes(builds.source("mlp").read_bytes())
    layers = [(512, 784), (512, 512), (10, 512)]
    safetensors(mlp / "mlp.safetensors", {f"fc{i}.{n}": s for i, (rows, columns) in enumerate(layers, 1)
                                          for n, s in (("weight", (rows, columns)), ("bias", (rows,)))})
    encoder = ROOT / "tests" / "e2e" / "encoder.safetensors"
    cases = (
        ("mlp", mlp / "model.c", [], ["2"], [struct.pack("<1568f", *[0.5] * 1568)], 2 * 10),
        ("digits", builds.source("digits"), [], ["3"], [struct.pack("<192f", *[0.5] * 192)], 3 * 10),
        ("minilm", builds.source("minilm"), ["-DLAYERS=2", "-DHIDDEN=24", "-DHEADS=3", f'-DWEIGHTS="{encoder}"'],
         ["2", "5"], [struct.pack("<10q", *range(10)), struct.pack("<10q", *[1] * 10)], 2 * 24),
    )
    for model, source, defines, sizes, inputs, count in cases:
        out = folder / model
        try:
            program = builds.program(model, source, out, cache, [*arguments, *defines])
        except subprocess.CalledProcessError as error:
            ok(False, f"{model}: builds")
            note(str(error))
            continue
        ok(True, f"{model}: builds and links without a warning")
        files = []
        for i, data in enumerate(inputs):
            files.append(folder / f"{model}.{i}")
            files[-1].write_bytes(data)
        code, answers, output = serve(program, [*sizes, *map(str, files)], folder / f"{model}.out")
        values = array.array("f", output[:len(output) // 4 * 4])
        ok(code == 0 and len(answers) == 3 and all(a.isdigit() for a in answers[:2]) and answers[2] == "ok",
           f"{model}: answers nanoseconds, nanoseconds, ok")
        equal(len(values), count, f"{model}: writes its output")
        ok(all(abs(v) < 1e6 for v in values) and any(values), f"{model}: of numbers")
        code, answers, _ = serve(program, [*sizes, *map(str, files[:-1]), str(folder / "missing")], folder / "none")
        ok(code == 1 and not answers, f"{model}: an input that is not there ends it")
    program = builds.program("digits", builds.source("digits"), folder / "digits", cache, arguments, team=True)
    once, twice = (serve(program, [n, "3", str(folder / "digits.0")], folder / f"digits.{n}.out") for n in "12")
    ok(once[0] == twice[0] == 0 and once[2] and once[2] == twice[2], "digits: two threads write what one writes")
    for threads in "12":
        answer = subprocess.run([program, threads, "3", str(folder / "digits.0")], input="profile 2\n", text=True,
                                capture_output=True, check=False, timeout=100).stdout
        steps = [part.rpartition("=") for part in answer.strip().split("\t")]
        ok(len(steps) > 3 and all(name and int(ns) > 0 for name, _, ns in steps),
           f"digits: the time of every kernel, {threads} threads")
    program = builds.program("digits", builds.source("digits"), folder / "digits", cache, arguments, turns=True)
    in_turns = serve(program, ["5", "3", str(folder / "digits.0")], folder / "digits.turns.out")
    ok(in_turns[0] == 0 and in_turns[2] == once[2], "digits: five threads that take turns write what one writes")
    for team in (None, folder / "digits" / "server"):
        parts = shares.measure(program, team, [3, folder / "digits.0"], threads=5, rounds=2, cpu=None)
        ok(len(parts) > 3 and all(p.kernel and 0 < p.largest <= p.together and p.alone > 0 for p in parts)
           and all((p.slowest > 0) == (team is not None) for p in parts),
           "digits: the time of every thread's part of every kernel" + (", and that of a team" if team else ""))
    shape = decode.Shape(1, 512)
    made = decode.program(folder / "decode", cache, 40, arguments, shape)
    packed, keys = (made.parent / "header.bin").read_bytes()[16:24], 2 * 3 * 41 * 64 * 4
    for threads in (1, 2):
        size, rounds = decode.measured(made, threads, 40, 3, shape)
        equal(size, int.from_bytes(packed, "little") - 512 * 576 * 4 + keys,
              "decode: weights, keys and values are read")
        ok(len(rounds) == 3 and all(len(row) == 3 and min(row) > 0 for row in rounds),
           f"decode: both reads and the step are timed, {threads} threads")

for row in rows.ROWS:
    ok(row.source.exists(), f"peers, {row.name}: its model is there")
RECORD = {"conditions": "a machine", "lock": False, "rows": [
    {"row": "one", "title": "one <1>", "threads": n, "contenders": {
        "tensor-compile": {"about": "", "seconds": [2e-6, 1e-6, 4e-6]},
        "eager": {"about": "torch 1", "seconds": [8e-6, 9e-6, 7e-6]},
        "openvino": {"about": "openvino 2", "seconds": [4e-6, 4e-6, 4e-6]},
        "compile": {"failed": "no answer"}}} for n in (1, 2)]}
lines = report.lines([RECORD])
equal([(x.threads, x.best, x.ratio) for x in lines], [(1, "openvino", 2.0), (2, "openvino", 2.0)],
      "peers: the best peer by its median, the ratio by rounds")
ok("| one <1> | 2.0 | 8.0 | 4.0 | 2.00 (OpenVINO) |" in report.table(lines), "peers: a line of the table")
ok("left out: one <1>, 2 threads, torch.compile: no answer" in report.about([RECORD]), "peers: who was left out")
PEAK = {"about": "9 operations", "seconds": [1e-6, 9e-7, 3e-6]}
measured = RECORD["rows"][0] | {"title": "one"}
measured["contenders"] = measured["contenders"] | {"multiply-adds": PEAK}
with_peak = RECORD | {"rows": [measured, *RECORD["rows"]]}
lines_with_peak = report.lines([with_peak])
equal([(x.title, x.best, x.share) for x in lines_with_peak],
      [("one", "openvino", 0.75), ("one <1>", "openvino", None), ("one <1>", "openvino", None)],
      "peers: multiply-adds are no peer, their share is the median of the rounds")
equal(report.table(lines_with_peak).splitlines()[:5], [
    "| 1 thread, us | tensor-compile | torch eager | OpenVINO | best peer / ours | share of the multiply-add peak |",
    "| --- | ---: | ---: | ---: | ---: | ---: |", "| one | 2.0 | 8.0 | 4.0 | 2.00 (OpenVINO) | 0.75 |",
    "| one <1> | 2.0 | 8.0 | 4.0 | 2.00 (OpenVINO) | |", "| geometric mean | | | | 2.00 | |"],
      "peers: the column of the share")
equal(report.table(lines_with_peak).split("\n\n")[1], report.table(lines).split("\n\n")[1],
      "peers: a table without the contender is as before")
equal(report.settings([with_peak]), ["torch 1", "openvino 2"], "peers: multiply-adds have no settings")

spec = importlib.util.spec_from_file_location("peers_run", BENCH / "peers" / "run.py")   # bench has a run.py, too
assert spec is not None and spec.loader is not None
peers = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = peers
spec.loader.exec_module(peers)
for limit, rounds in ((60.0, 5), (0.0, peers.FEWEST)):
    contender = peers.Contender("one", [], 1, 0, Path(), 1.0)
    contender.seconds = lambda calls: 1.0
    peers.measure([contender], 5, limit)
    equal(contender.times, [1.0] * rounds, f"peers: rounds of a row that may take {limit:.0f} seconds")
with tempfile.TemporaryDirectory() as temporary:
    for name, operations in (("mlp64", 2 * 64 * (784 * 512 + 512 * 512 + 512 * 10)), ("matmul", 2 * 512**3),
                             ("conv3x3", 2 * 64 * 64 * 9 * 56 * 56), ("pointwise", 0)):
        folder, row = Path(temporary), rows.named(name)[0]
        if row.model == "mlp":
            safetensors(folder / "mlp.safetensors", builds.OWN["mlp"])
        elif row.model != "matmul":
            safetensors(folder / f"{row.model}.safetensors", {"conv3x3": {"weight": (64, 64, 3, 3), "bias": (64,)},
                                                               "pointwise": {"weight": (1024,), "bias": (1024,)}}[name])
        found = peers.peak(row, argparse.Namespace(build=folder, isa=isa))
        equal([int(n) for n in found[1:]], [operations] if operations else [], f"peers, {name}: operations of products")
        for threads in "12" if name == "matmul" else "":
            answers = subprocess.run([found[0], threads, found[1]], input="run 1\nrun 2\n", capture_output=True,
                                     text=True, check=False, timeout=100).stdout.split()
            ok(len(answers) == 2 and all(int(a) > 0 for a in answers), f"peers: multiply-adds on {threads} threads")
drawn = xml.dom.minidom.parseString(report.chart(lines))
equal(len(drawn.getElementsByTagName("rect")), 1 + 2 + 2, "peers: a bar a number of threads")
done()
