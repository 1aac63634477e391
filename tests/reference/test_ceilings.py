# SPDX-License-Identifier: Apache-2.0
"""`bench` and `ceilings`: what they compute of times and ceilings, on numbers worked out here, and that they run. Times
are never looked at, but for what a processor of these days cannot miss."""
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom
from dataclasses import replace
from pathlib import Path

import models
from tap import done, equal, note, ok
from tensor_compile import target
from tensor_compile.compile import bench_model, disturbance, machine, profile_model
from tensor_compile.compile.costs import Cost
from tensor_compile.compile.profile_model import Event

TOOL = os.path.join(os.environ["TC_SOURCE_ROOT"], "generator", "tensor-compile")
SOURCE = """#include <tensor_compile/model.h>
TC_MODEL(two)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 8, 16), w = tc_input(g, "w", TC_F32, 8, 16);
    tc_output(g, "y", tc_softmax(tc_linear(x, w), -1));
}
"""

BYTES = """#include <tensor_compile/model.h>
TC_MODEL(bytes)
{
    tc_tensor x = tc_input(g, "x", TC_I8, 8, 16), w = tc_input(g, "w", TC_I8, 16, 8);
    tc_tensor sums = tc_matmul_integer(x, w);
    tc_output(g, "y", tc_softmax(tc_cast(sums, TC_F32), -1));
}
"""

events = [Event("f", "v", step, thread, us) for a, b, c in ((3.0, 1.0, 9.0), (5.0, 2.0, 1.0), (4.0, 7.0, 1.0))
          for step, thread, us in ((0, 0, a), (1, 0, b), (1, 0, b), (0, 1, c))]
equal(profile_model.medians(events, 3), {0: 4.0, 1: 4.0}, "the median of a call, of the slowest thread, of all runs")
equal(profile_model.medians(events[:-4], 3)[1], 2.0, "the mean where calls differ in how often a step ran")
shared = [profile_model.Event("f", "v", 0, thread, us) for call in ((9.0, 1.0), (4.0, 5.0), (2.0, 8.0))
          for thread, us in enumerate(call)]
equal(profile_model.least(shared, 3), {0: 5.0}, "the least is one call's, of its slowest thread")
# thread 1 took a piece over from thread 0 in one call of two
taken = [Event("f", "generic", 0, 0, 8.0), Event("f", "generic", 0, 0, 20.0)] + [Event("f", "generic", 0, 1, 4.0)] * 3
equal(profile_model.least(taken, 2), {0: 8.0}, "where threads take parts over, the least is not above the median")

one = Cost(0, "one", "", "", False, 0, 1, 4000, 500, 500, (), ())
equal((bench_model.Row(one, 10.0, 3.0, "flops", 4.0).of_ceiling, bench_model.Row(one, 10.0, 3.0, "flops").of_ceiling),
      (75.0, 30.0), "percent of a ceiling is by the least time")
stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 4 100 100 8 16 32 5 5\ncpu1 100 0 0 7\ncpu2 50 0 0 7\nintr 5\n"
equal([disturbance.busy_ticks(stat, which) for which in ((0,), (1,), (0, 2))], [63, 100, 113],
      "a processor is busy but for its idle and waiting ticks")
Moment = disturbance.Moment
equal([disturbance.others(Moment(1.0, 5.0, 2.0), Moment(at, busy, 3.0))
       for at, busy in ((3.0, 9.0), (1.1, 9.0), (3.0, 5.5))], [1.5, 0.0, 0.0],
      "what others had is what was busy without us; not of a short time")
equal(disturbance.others(None, Moment(3.0, 9.0, 3.0)), 0.0, "where the system does not tell")
for given, wanted in (((0.2, 1, 2, 11.0, 10.0), ""), ((1.1, 1, 2, 11.0, 10.0), ""), ((0.2, 1, 2, 9.0, 0.0), ""),
                      ((1.3, 1, 2, 11.0, 10.0),
                       "other work took 1.3 of 2 processors meanwhile, beside 1 thread of calls"),
                      ((0.3, 2, 2, 16.0, 10.0), "other work took 0.3 of 2 processors meanwhile, beside 2 threads of "
                                                "calls; medians are 1.6 times the least times"),
                      ((0.0, 1, 2, 13.0, 10.0), "medians are 1.3 times the least times")):
    equal(disturbance.warning(*given), wanted and
          f"{wanted}: read the least times, or measure while nothing else runs", f"a warning of {given}")

found = machine.parse("clock 2500.0\nfma 100.5\nread 16384 200000.0\nread 1048576 50000.0\n", 2)
equal((found.clock, found.operations, found.reads), (2.5e9, 100.5e9, {16384: 200e9, 1048576: 50e9}),
      "what the program prints is read")


def moving(runs: int, read: int, written: int = 0, distinct: int = 0, in_tile: bool = False) -> Cost:
    each = read + written
    return Cost(0, "one", "", "", False, 0, runs, 0, runs * read, runs * written, (), (), False, ((runs, each),),
                distinct or each, in_tile)


KIB, MIB = 1 << 10, 1 << 20
levels = machine.Machine(2, 1e9, {16 * KIB: 200.0, 512 * KIB: 50.0, 128 * MIB: 10.0})   # bytes a second
for what, cost, wanted in (
        ("what fits the first caches of two threads is read there", moving(1, 64 * KIB), 64 * KIB / 200),
        ("and written beside that", moving(1, 32 * KIB, 16 * KIB), 32 * KIB / 200),
        ("of more, what the first caches do not hold comes from the second ones", moving(1, 1 * MIB),
         (1 * MIB - 64 * KIB) / 50),
        ("of much more, most comes from memory", moving(1, 16 * MIB), (16 * MIB - 2 * (MIB + 32 * KIB)) / 10),
        ("a loop reads the same bytes near in each iteration", moving(100, 48 * KIB), 4800 * KIB / 200),
        ("and those of its own once from afar", moving(1000, 48 * KIB, 0, 16 * MIB),
         (16 * MIB - 2 * (MIB + 32 * KIB)) / 10),
        ("its constants come from memory, where all constants are more than the caches hold",
         replace(moving(1, 48 * KIB), kept=40 * KIB, all_kept=4 * MIB), 40 * KIB / 10),
        ("and from the second cache, where that holds all of them",
         replace(moving(1, 48 * KIB), kept=40 * KIB, all_kept=1 * MIB), 40 * KIB / 50),
        ("a tile is in the caches of one thread", moving(100, 64 * KIB, 0, 0, True), 100 * 32 * KIB / 50)):
    equal(round(levels.seconds(cost), 6), round(wanted, 6), what)
equal(machine.read_sizes({"l1d": 4096, "l2": 65536, "l3": 1 << 20}, 4), (2048, 32768, 1 << 17, 1 << 19, machine.MEMORY),
      "a team may share the third cache")
in_while = replace(moving(1, 100), by_data=True, operations=7)
often = profile_model.as_run([in_while, replace(in_while, step=1), replace(in_while, step=2, in_tile=True)],
                             [Event("f", "v", step, thread, 1.0) for step, thread in
                              ((0, 0), (0, 1), (0, 0), (0, 1), (0, 0), (0, 1), (2, 0), (2, 0), (2, 1))], 1)
equal([(c.runs, c.operations, c.read, c.each) for c in often],
      [(3, 21, 300, ((3.0, 100),)), (0, 0, 0, ((0.0, 100),)), (3, 21, 300, ((3.0, 100),))],
      "a kernel in a while counts as often as it ran, and one behind a branch not taken not at all")
equal([levels.seconds(c) for c in often], [1.5, 0.0, 1.5], "so do its bytes")
equal(machine.read_sizes({"l1d": 4096, "l2": 65536, "l3": 1 << 30}), (2048, 32768, machine.MEMORY),
      "a size for each level; one that is larger than what stands for memory has none")
alone = machine.Machine(1, 64e9, {16384: 128e9, 1 << 19: 61e9, 1 << 27: 7e9}, 2e9)
equal(machine.rates(alone, {"l1d": 32768, "l2": 1 << 20, "l3": 1 << 29}),
      {"clock": 2000, "bandwidth": 7000, "fma": 16.0, "l1d_read": 64.0, "l2_read": 30.5, "memory_read": 3.5},
      "clock and bandwidth of a target file, and what a core does in a cycle")
text = machine.target_text("# a\nl2 = 5   # bytes\nname = \"l2\"\nfma = 1.5  # b\n", {"l2": 7, "clock": 9, "fma": 16.0})
equal(text, "# a\nl2 = 7   # bytes\nname = \"l2\"\nfma = 16.0  # b\nclock = 9\n", "a target file keeps its comments")

over = "over 100 %: the machine was faster than while its ceilings were measured"
cost = Cost(0, "one", "", "", False, 0, 1, 1000, 500, 500, (), ())


class Found:
    """What bench_model.text reads of a record."""

    title, calls, isa = "m", 1, "avx2"

    class variant:
        name = "generic"


for bound, least, said in (("bytes", 2.0, True), ("flops", 2.0, True), ("bytes", 1.0, False), ("-", 0.0, False)):
    of = replace(cost, integers=bound == "-")
    lines = bench_model.text(Found, [bench_model.Row(of, 1.0, least, bound)], found)
    mixed = bench_model.text(Found, [bench_model.Row(of, 1.0, least, bound),
                                     bench_model.Row(replace(cost, integers=True), 3.0, 0.0, "-")], found)
    ok(bound == "-" or f"; kernels without integers, 25% of the time, reach {100 * least:.0f}% of the ceilings\n" in
       mixed, "a percentage says of which part of the time it is") or note(mixed)
    equal(over in lines, said, f"{100 * least:.0f} % bound by {bound}: whether a ceiling was too low")
ok(lines.startswith("m: 1.0 us in kernels of a call, median of 1, least 1.0 (generic, avx2, 2 threads); no ceiling "
                    "of integers is measured\n"), "integers alone") or note(lines)

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "two.c").write_text(SOURCE, encoding="utf-8")
    isa = ("--isa", "x86_64") if models.X86 else ()
    result = models.tool(folder, "bench", "two.c", *isa, "--calls", "5", "--chart", "two.svg")
    equal(result.returncode, 0, "a model is measured") or note(result.stderr)
    head, *rest = result.stdout.splitlines()
    ok(re.fullmatch(r"two: [\d.]+ us in kernels of a call, median of 5, least [\d.]+ \(generic, \w+\); "
                    r"\d+% of the ceilings", head), "what was measured") or note(head)
    rows = [line.split() for line in rest if line.endswith(("two.c:5",))]
    equal(sorted(row[-2] for row in rows), ["linear", "softmax"], "a row a kernel") or note(result.stdout)
    ok(all(row[6] in ("flops", "bytes") and len(row) == 9 for row in rows), "with what bounds it")
    ok(sum(float(row[2]) for row in rows) > 99, "shares of the whole")
    drawn = xml.dom.minidom.parse(str(folder / "two.svg"))
    equal(len(drawn.getElementsByTagName("rect")), 1 + 2 * 2, "the chart has two bars a kernel")

    (folder / "bytes.c").write_text(BYTES, encoding="utf-8")
    result = models.tool(folder, "bench", "bytes.c", *isa, "--calls", "5", "--chart", "bytes.svg")
    equal(result.returncode, 0, "a model of bytes is measured") or note(result.stderr)
    rows = {row[-2]: row for row in map(str.split, result.stdout.splitlines()) if row and ".c:" in row[-1]}
    ok(all(len(row) == 9 for row in rows.values()) and rows["softmax"][6] in ("flops", "bytes") and
       rows["matmul_cast"][5:7] == ["-", "-"], "products of integers have no ceiling") or note(result.stdout)
    ok(re.match(r"bytes: .*; kernels without integers, \d+% of the time, reach \d+% of the ceilings\n", result.stdout)
       and "\n-: integers, for which no ceiling is measured\n" in result.stdout, "which is said")
    result = models.tool(folder, "profile", "bytes.c", *isa, "--calls", "5")
    rows = {row[-2]: row for row in map(str.split, result.stdout.splitlines()) if row and ".c:" in row[-1] and
            len(row) == 10}
    ok(rows["matmul_cast"][4] == "-" and rows["softmax"][4].isdigit()
       and "; -: integers, whose peak is not known\n" in result.stdout, "nor in a profile") or note(result.stdout)

    result = subprocess.run([sys.executable, TOOL, "ceilings", "-o", "here.toml"], cwd=folder, capture_output=True,
                            text=True, check=False)
    equal(result.returncode, 0, "the machine is measured") or note(result.stderr)
    here = target.load(folder / "here.toml")
    base = target.load(target.find(here.name))
    ok(here.clock > 0 and here.bandwidth > 0, "the target file has a clock and a bandwidth")
    ok(min(here.fma, here.l1d_read, here.memory_read) > 0, "and what a core does in a cycle")
    ok(re.match(r"clock: \d+ MHz\n1 thread, ", result.stdout), "which are printed") or note(result.stdout)
    equal((here.isas, here.panel, here.flags), (base.isas, base.panel, base.flags), "the rest is the base's")
    result = models.tool(folder, "bench", "two.c", *isa, "--chart", "none/two.svg")
    equal((result.returncode, result.stdout, result.stderr), (1, "", "none: error: no such folder\n"),
          "a chart without a folder is refused before anything is measured")
    ok(not (folder / "none").exists(), "and no folder is made")
    result = models.tool(folder, "bench", "two.c", *isa, "--dims", "a=2")
    equal((result.returncode, result.stdout), (2, ""), "a dim that the model does not have") or note(result.stderr)
    ok("two.c: error: --dims: the model has no dim 'a'\n  hint: its dims: " in result.stderr, "is named")
    result = models.tool(folder, "bench", "two.c", "--dims", "a=1", "--dims", "a=2")
    equal((result.returncode, "bench goes with one --dims" in result.stderr), (2, True), "bench goes with one --dims")
    name, processors = os.uname().machine, len(os.sched_getaffinity(0))
    text = Path(os.environ["TC_SOURCE_ROOT"], "targets", f"{name}.toml").read_text(encoding="utf-8")
    for most in (processors + 1, processors):
        (folder / "team.toml").write_text(re.sub(r"(?m)^threads = \d+", f"threads = {most}", text), encoding="utf-8")
        asked = ("two.c", "--target-file", "team.toml", *isa, "--calls", "1", "--threads", "9999")
        fewer = f"two.c: warning: --threads 9999: calls have {most} thread{'s' * (most > 1)} at most, as target " \
                f"{name} has; --target-file names another one\n"
        turns = f"--threads 9999: calls have {most} threads, this process has {processors} processor" \
                f"{'s' * (processors > 1)}; threads that take turns do not compute at the same time, and a kernel's " \
                f"time is a thread's\n  hint: --threads {processors} is the most here\n" if most > processors else ""
        for command in ("check", "run"):
            result = models.tool(folder, command, *(word for word in asked if word not in ("--calls", "1")))
            ok(result.stderr.startswith(fewer), f"{command} says how many threads a call has") or note(result.stderr)
        for command in ("bench", "profile"):
            result = models.tool(folder, command, *asked)
            refused = f"tensor-compile {command}: error: {turns}" if turns else ""
            said = re.sub(r"(?m)^two.c: warning: (other work|medians) .*\n|^.*waits for another measurement\n", "",
                          result.stderr)
            equal((result.returncode, bool(result.stdout), said),
                  (2, False, fewer + refused) if turns else (0, True, fewer),
                  f"{command} {'refuses threads that take turns' if turns else 'measures others'}") or \
                note(result.stderr)
done()
