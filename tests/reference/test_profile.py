# SPDX-License-Identifier: Apache-2.0
"""`profile`: a row a kernel with its place in the model, a trace that trace viewers read, the same table from a record.
What it counts is compared with numbers that are worked out here; times are only summed."""
import json
import tempfile
from pathlib import Path

import models
from tap import done, equal, note, ok, raises
from tensor_compile import target
from tensor_compile.compile import costs, profile_model
from tensor_compile.compile.profile_model import Event
from tensor_compile.errors import UserError

SOURCE = """#include <tensor_compile/model.h>
TC_MODEL(two)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 16), w = tc_input(g, "w", TC_F32, 8, 16);
    TC_SCOPE(g, "head") {
        x = tc_linear(x, w);
    }
    tc_output(g, "y", tc_softmax(x, -1));
}
"""

# how events become times of a call
events = [Event("f", "generic", step, thread, us) for call in range(2) for step, thread, us in
          ((0, 0, 3.0), (0, 1, 5.0), (1, 0, 2.0), (1, 0, 2.0), (1, 1, 1.0))]
found = profile_model.measured(events, 2)
equal((found.steps, found.calls, found.threads), ({0: 5.0, 1: 4.0}, 2, 2), "a step takes what its slowest thread takes")
equal(profile_model.measured(events, 0).calls, 2, "calls of a record: what the rarest step has")
equal(profile_model.measured([], 0).steps, {}, "nothing recorded")
x86 = target.load(target.find("x86_64"))
limits = costs.ceilings(x86, "avx2", 2)
equal((limits.operations, limits.bytes), (2 * 8 * 2 * x86.clock * 1e6 * 2, x86.bandwidth * 1e6 * 2),
      "ceilings of a target file")

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "two.c").write_text(SOURCE, encoding="utf-8")
    isa = ("--isa", "x86_64") if models.X86 else ()

    def tool(*words: str):
        return models.tool(folder, "profile", "two.c", *isa, *words)

    result = tool("--dims", "batch=5", "--calls", "4", "--trace", "trace.json")
    lines = result.stdout.splitlines()
    equal(result.returncode, 0, "a model is profiled") or note(result.stderr)
    ok(lines[0].startswith("two at batch=5: ") and "us in kernels of a call, median of 4, least " in lines[0],
       "what and how often") \
        or note(lines[0])
    ok(any(line.split()[-3:] == ["head:", "linear", "two.c:7"] for line in lines),
       "a kernel, its scope and line") or note(result.stdout)
    ok(any(line.split()[-1:] == ["head"] for line in lines)
       and any(line.split()[-1:] == ["two.c:9"] and len(line.split()) == 3
                                                                for line in lines), "time by scope and by line")
    trace = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
    kernels = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["dur"] >= 0 and e["cat"] == "two"]
    equal([e["args"]["step"] for e in kernels], [0, 1] * 4, "the trace has every kernel of every call, in order")
    equal(trace["otherData"], {"dropped": 0}, "and nothing was dropped")
    again = tool("--dims", "batch=5", "--from", "trace.json")
    equal(again.stdout.splitlines()[0].partition("median")[2], lines[0].partition("median")[2],
          "--from: the same table")
    fast = {**trace, "traceEvents": [{**e, "dur": 1e-6} if "dur" in e else e for e in trace["traceEvents"]]}
    (folder / "fast.json").write_text(json.dumps(fast), encoding="utf-8")
    ok(not models.X86 or "; over 100 %: the bytes came from a cache, not from memory\n" in
       tool("--dims", "batch=5", "--from", "fast.json").stdout, "more than memory gives")
    equal(sorted(row.split()[-1] for row in again.stdout.splitlines()[3:5]), ["two.c:7", "two.c:9"], "with its kernels")

    (folder / "text").write_text("nothing", encoding="utf-8")
    raises(UserError, lambda: profile_model.read_record(folder / "text", "text"), "not a record of tc_recorder_write",
           "no record")
    for words, code, text in ((("--from", "trace.json"), 2,
                               "--from: a record does not tell the sizes of two\n  hint: name them: --dims batch=SIZE"),
                              (("--dims", "batch=1", "--dims", "batch=2"), 2, "profile goes with one --dims"),
                              (("--dims", "batch=1", "--from", "no.json"), 1, "no.json: error: no such file"),
                              (("--dims", "batch=8,foo=1"), 2,
                               "two.c: error: --dims: the model has no dim 'foo'\n  hint: its dims: batch"),
                              (("--dims", "foo=1", "--from", "trace.json"), 2, "the model has no dim 'foo'"),
                              (("--trace", "none/trace.json"), 1, "none: error: no such folder")):
        result = tool(*words)
        ok(result.returncode == code and text in result.stderr, f"{words}: exit code {code}") or note(result.stderr)
done()
