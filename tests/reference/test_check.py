# SPDX-License-Identifier: Apache-2.0
"""`check` sees what is wrong: a pass that changes arithmetic by the recorded graph in double precision, a kernel by the
interpreter's bits, a model by the user's own outputs; and it says so with its exit code."""
import contextlib
import io
import json
import re
import struct
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import models
from tap import done, equal, note, ok
from tensor_compile import passes, pipeline
from tensor_compile.compile import check_model, check_runs, cpu_target, roundings
from tensor_compile.compile.given import Case
from tensor_compile.compile.judge import Judge
from tensor_compile.compile.options import Options
from tensor_compile.emit.kernels import KernelSource
from tensor_compile.graph.ir import Function, Node, Value
from tensor_compile.graph.passes import GraphPass, each, on_module

sys.path.insert(0, str(models.ROOT / "tests" / "interpreter"))
import st

REQUEST = check_runs.Request(function="", dims=({"batch": 5},), cases=(), rtol=1e-4, atol=1e-5, seed=1, threads=1,
                              wrapper=())

SCANNED = """#include <tensor_compile/model.h>
static void sums(tc_graph *g, tc_dim steps)
{
    tc_tensor x = tc_input(g, "x", TC_F32, steps, 3), sum = tc_input(g, "first", TC_F32, 3);
    TC_SCAN(g, steps, &sum) {
        sum = tc_tanh(tc_add(tc_mul(sum, 0.5f), tc_each(x)));
    }
    tc_output(g, "y", sum);
}

TC_MODEL(scanned) { sums(g, tc_dynamic(g, "steps", 1, 200)); }
TC_FUNCTION(twos) { sums(g, tc_dynamic(g, "twos", 4, 200, .divisor = 2)); }
TC_FUNCTION(any) { sums(g, tc_dynamic(g, "many", 0, 1 << 30)); }
"""
PLACES = """#include <tensor_compile/model.h>
TC_MODEL(places)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 8);
    tc_output(g, "most", tc_argmax(x, 1));
    tc_output(g, "above", tc_gt(x, 3));
    tc_output(g, "quotient", tc_div(x, 0));
}
"""
GUARDED = """#include <tensor_compile/model.h>
TC_MODEL(guarded)
{
    tc_dim n = tc_dynamic(g, "n", 3, 64), half = tc_dynamic(g, "half", 1, 32);
    tc_tensor x = tc_input(g, "x", TC_F32, n), y = tc_input(g, "y", TC_F32, half, 2);
    tc_output(g, "z", tc_add(x, tc_reshape(y, n)));
}

/* What nobody reads is not run: its indices may be any. */
TC_FUNCTION(unread)
{
    tc_dim count = tc_dynamic(g, "count", 1, 9);
    tc_tensor rows = tc_input(g, "rows", TC_I64, count);
    tc_embedding(rows, tc_input(g, "table", TC_F32, 3, 2));
    tc_output(g, "next", tc_add(rows, 1));
}

/* 0.35 of f32 is below it: 3.5 in f32, and in double precision less. */
TC_FUNCTION(steps)
{
    tc_output(g, "whole", tc_round(tc_mul(tc_input(g, "part", TC_F32, 4), 10)));
}

TC_FUNCTION(twice)
{
    tc_output(g, "two", tc_mul(tc_input(g, "one", TC_F32, 4), 2));
}

TC_FUNCTION(stepped)
{
    tc_tensor scale = tc_full(g, 0.25f, TC_F32), zero = tc_full(g, 3, TC_U8);
    tc_tensor whole = tc_quantize(tc_mul(tc_input(g, "part", TC_F32, 4), 2.5f), scale, zero);
    tc_output(g, "stepped", tc_reshape(tc_dequantize(whole, scale, zero), 2, 2));
}
"""

# In f32 little of part is left behind the sum.
CANCELS = """#include <tensor_compile/model.h>
TC_MODEL(cancels)
{
    tc_tensor part = tc_input(g, "part", TC_F32, 4);
    tc_tensor whole = tc_round(tc_mul(tc_sub(tc_add(part, 1e6f), 1e6f), 10));
    tc_output(g, "little", tc_mul(tc_cast(tc_cast(whole, TC_I32), TC_F32), 0.5f));
}
"""

STEPS = """#include <tensor_compile/model.h>
TC_MODEL(steps)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8);
    tc_weights(g, "steps.safetensors");
    tc_output(g, "y", tc_gru(tc_input(g, "x", TC_F32, 3, batch, 8), "steps"));
}
"""
STEP_WEIGHTS = {"steps.weight_ih_l0": (192, 8), "steps.weight_hh_l0": (192, 64), "steps.bias_ih_l0": (192,),
                "steps.bias_hh_l0": (192,)}


def absolute_for_relu(function: Function) -> Function:
    """A wrong simplification: maximum(x, 0) becomes abs(x)."""
    moved: dict[Node, Node] = {p: p for p in function.parameters}
    nodes = []
    for node in function.nodes:
        operands = tuple(Value(moved[v.node], v.index) for v in node.operands)
        relu = node.op == "maximum"
        made = Node("abs" if relu else node.op, operands[:1] if relu else operands, {} if relu else node.attrs,
                    node.types, node.loc, node.scope)
        nodes.append(made)
        moved[node] = made
    return replace(function, nodes=nodes, results=[(n, Value(moved[v.node], v.index), at)
                                                   for n, v, at in function.results])


def smaller(kernel, isa: str, *more) -> KernelSource:
    """A wrong kernel: maximum takes the smaller one."""
    source = emit_kernel(kernel, isa, *more)
    return replace(source, text=source.text.replace("tc_maximum_f32", "tc_minimum_f32")
                   .replace("tcv_maximum_f32", "tcv_minimum_f32").replace("tcv_at_least_f32", "tcv_at_most_f32"))


emit_kernel = cpu_target.emit_kernel

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    model = models.mlp(folder)
    options = Options(str(model), "mlp.c", str(folder / "mlp.o"), str(folder / "mlp.h"), models.cache(folder),
                      isas=("x86_64",) if models.X86 else (), jobs=2)

    def run(request: check_runs.Request = REQUEST) -> tuple[int, list[str]]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = check_model.run(options, request)
        return code, out.getvalue().splitlines()

    def parts(lines: list[str]) -> dict[str, bool]:
        """Whether each comparison passed."""
        return {line.split(": ")[1]: not line.endswith("FAILED") for line in lines[:-1] if ": " in line}

    code, lines = run()
    equal((code, parts(lines)), (0, {"bits of the interpreter": True, "double precision": True}), "a right model")
    ok(all("largest error" in line and "ulp" in line for line in lines if "double" in line), "error and ULP are told")

    before = pipeline.PASSES
    wrong = GraphPass("wrong", on_module(each(absolute_for_relu)))
    at = next(i for i, one in enumerate(before) if one.name == "widen")    # what is before it is the reference
    pipeline.PASSES = (*before[:at], passes.of_graph(wrong), *before[at:])
    try:
        code, lines = run()
    finally:
        pipeline.PASSES = before
    equal((code, parts(lines)), (1, {"bits of the interpreter": True, "double precision": False}),
          "a wrong simplification has the interpreter's bits and fails in double precision")
    ok(any("elements differ, the first at" in line for line in lines), "and where")

    cpu_target.emit_kernel = smaller
    try:
        code, lines = run()
    finally:
        cpu_target.emit_kernel = emit_kernel
    equal((code, parts(lines)["bits of the interpreter"]), (1, False), "a wrong kernel has not the interpreter's bits")

    code, lines = run(replace(REQUEST, rtol=0.0, atol=0.0))
    equal((code, parts(lines)), (1, {"bits of the interpreter": True, "double precision": False}),
          "the bound is the one given")
    ok(any("by more than 0.0 + 0.0 * |want|" in line for line in lines),
       "a line says what a difference may be where bits are right") or note("\n".join(lines))

    # golden data
    inputs = {"x": ((5, 29), [i % 7 - 3.0 for i in range(5 * 29)])}
    models.safetensors(folder / "x.safetensors", inputs)
    with tempfile.TemporaryDirectory() as kept:
        values = Path(kept) / "y.safetensors"
        bits = Judge.bits

        def keep(judge, got, want):
            values.write_bytes(Path(got).read_bytes())
            return bits(judge, got, want)

        Judge.bits = keep
        try:
            run(replace(REQUEST, cases=(Case(str(folder / "x.safetensors")),)))
        finally:
            Judge.bits = bits
        golden = values.read_bytes()
    (folder / "y.safetensors").write_bytes(golden)
    data = bytearray(golden)
    at = len(data) - 4
    struct.pack_into("<f", data, at, struct.unpack_from("<f", data, at)[0] + 0.01)
    (folder / "other.safetensors").write_bytes(data)
    isa = ("--isa", "x86_64") if models.X86 else ()

    def tool(*words: str, model: Path | str = "mlp.c"):
        sizes = () if "--inputs" in words or "--dims" in words else ("--dims", "batch=5")
        return models.tool(folder, "check", str(model), *isa, *sizes, *words)

    result = tool("--inputs", "x.safetensors", "--expect", "y.safetensors")
    ok(result.returncode == 0 and "y.safetensors: y: largest error 0," in result.stdout, "the user's own outputs")
    result = tool("--inputs", "x.safetensors", "--expect", "other.safetensors")
    ok(result.returncode == 1 and "1 of 50 elements differ, the first at 49  FAILED\n" in result.stdout
       and result.stdout.endswith("1 of 50 elements differ, the first at 49\n"), "other outputs: exit code 1")
    result = tool("--inputs", "x.safetensors", "--expect", "other.safetensors", "--atol", "0.1")
    ok(result.returncode == 0, "unless the bound allows it")

    # what is no finite float has to be the user's, too
    (folder / "places.c").write_text(PLACES, encoding="utf-8")
    x, inf = [float(i % 5 + i // 8) + 1 for i in range(16)], float("inf")
    st.write(folder / "places", {"x": ("F32", [2, 8], x)})
    right = {"most": ("I64", [2], [4, 1]), "above": ("BOOL", [2, 8], [v > 3 for v in x]),
             "quotient": ("F32", [2, 8], [inf] * 16)}
    for name, wrong in (("", []), ("most", [5, 1]), ("above", [False] * 16), ("quotient", [-inf, *[inf] * 15]),
                        ("quotient", [3.0, *[inf] * 15])):
        st.write(folder / "expected", right if not name else right | {name: (*right[name][:2], wrong)})
        result = tool("--inputs", "places", "--expect", "expected", model="places.c")
        failed = [line.split(": ")[-2] for line in result.stdout.splitlines() if line.endswith("FAILED")]
        equal((result.returncode, failed), (1, [name]) if name else (0, []),
              f"{name} that the model has otherwise: wrong" if name else "integers, bools and infinities as expected")

    models.safetensors(folder / "short.safetensors", {"x": ((4, 29), [0.0] * 4 * 29)})
    models.safetensors(folder / "unnamed.safetensors", {"z": ((5, 29), [0.0] * 5 * 29)})
    models.safetensors(folder / "narrow.safetensors", {"x": ((4, 28), [0.0] * 4 * 28)})
    models.safetensors(folder / "flat.safetensors", {"x": ((145,), [0.0] * 145)})
    models.safetensors(folder / "long.safetensors", {"x": ((65, 29), [0.0] * 65 * 29)})
    (folder / "text.safetensors").write_text("no tensors", encoding="utf-8")
    (folder / "cut.safetensors").write_bytes(golden[:-1])
    # names and several cases
    models.safetensors(folder / "other_names.safetensors", {"input.1": inputs["x"]})
    (folder / "named.safetensors").write_bytes(golden)
    result = tool("--inputs", "x.safetensors", "--expect", "y.safetensors", "--inputs", "other_names.safetensors",
                  "--expect",
                  "named.safetensors", "--map", "x=input.1")
    ok(result.returncode == 0 and result.stdout.endswith("mlp.c: right: 6 comparisons in 2 runs\n")
       and all("batch=5" in line for line in result.stdout.splitlines()[:-1]),
       "several cases, one with other names; sizes by the shapes; a verdict") or note(result.stdout + result.stderr)
    # parts of the model, by name
    result = tool("--inputs", "x.safetensors", "--tap", "*", "--tap", "fc1/linear#*", "--save", "taps.safetensors")
    told = [line.split(": ")[2] for line in result.stdout.splitlines() if "bits of the interpreter" in line]
    equal((result.returncode, sorted(told)),
          (0, sorted(["y", "fc0", "relu#2", "fc1", "fc1.linear#3", "relu#4", "fc2", "softmax#6"])),
          "--tap: what parts of the model hand on is compared, too") or note(result.stdout + result.stderr)
    kept = bytearray((folder / "taps.safetensors").read_bytes())
    size = struct.unpack_from("<Q", kept)[0]
    start = json.loads(kept[8:8 + size])["fc1"]["data_offsets"][0] + 8 + size
    struct.pack_into("<f", kept, start, struct.unpack_from("<f", kept, start)[0] + 0.01)
    (folder / "otherwise.safetensors").write_bytes(kept)
    wanted = ("--tap", "*", "--tap", "fc1.linear#*", "--inputs", "x.safetensors", "--expect")
    ok(tool(*wanted, "taps.safetensors").returncode == 0, "--save: the tapped tensors can be expected of the next run")
    result = tool(*wanted, "otherwise.safetensors", model=folder / "mlp.c")
    ok(result.returncode == 1
       and f"otherwise.safetensors: the first to differ is fc1 ({folder}/mlp.c:13)\n{folder}/mlp.c: WRONG: 1 of "
       in result.stdout, "the first part that differs is named, with its line") or note(result.stdout)
    result = tool(*wanted, "other.safetensors")
    ok(result.returncode == 1 and result.stdout.splitlines()[-2] ==
       "other.safetensors has none of the parts that --tap names, so it does not say where the difference begins; "
       "docs/porting.md shows how to save them", "a file without parts does not say where") or note(result.stdout)
    result = tool("--inputs", "x.safetensors", "--tap", "fc1", "--expect", "taps.safetensors")
    ok(result.returncode == 0 and "taps.safetensors: not compared: fc" in result.stdout
       and " (no parts that --tap names)\n" in result.stdout,
       "of a file of many parts those that are tapped are compared") or note(result.stdout)
    for words, text in ((("--tap", "fc"),
                         "the model has no region 'fc'\n  hint: did you mean fc2? its regions: fc0, relu#2, "),
                        (("--tap", "relu#*", "--dims", "batch=5", "--dims", "batch=6", "--save", "z"),
                         "--save: one file cannot hold the outputs of 2 runs")):
        result = tool(*words)
        ok(result.returncode == 2 and text in result.stderr, f"{words}: exit code 2") or note(result.stderr)
    for words, code, text, name in (
            (("--dims", "batch=5", "--inputs", "short.safetensors"), 1,
             "short.safetensors: error: input x: the file has f32[4,29], the model takes f32[batch,29]: axis 0 is 4, "
             "not 5\n  hint: batch = 5 by --dims\n", "inputs of another shape"),
            (("--inputs", "narrow.safetensors"), 1, "f32[4,28], the model takes f32[batch,29]: axis 1 is 28, "
             "not 29\n", "of another constant shape"),
            (("--inputs", "flat.safetensors"), 1, "input x: the file has f32[145], the model takes f32[batch,29]",
             "of another rank"),
            (("--inputs", "long.safetensors"), 2, "long.safetensors: error: batch = 65 is not in 1..64",
             "of a size out of range"),
            (("--inputs", "unnamed.safetensors"), 1,
             'unnamed.safetensors: error: no tensor "x" for the input x\n  hint: the file has z; '
             "--map x=NAME takes another", "inputs without one"),
            (("--inputs", "unnamed.safetensors", "--map", "x=Z"), 1, 'no tensor "Z" for the input x',
             "a name that is not there"),
            (("--inputs", "unnamed.safetensors", "--map", "x=y", "--map", "x=z"), 2, "--map names x more than once",
             "two names"),
            (("--inputs", "unnamed.safetensors", "--map", "x"), 2, "not NAME=NAME_IN_FILE: 'x'", "a name for nothing"),
            (("--inputs", "text.safetensors"), 1, "text.safetensors: error: not a safetensors file", "no safetensors"),
            (("--inputs", "cut.safetensors"), 1, "cut.safetensors", "truncated inputs"),
            (("--inputs", "none.safetensors"), 1, "no such file", "missing inputs"),
            (("--inputs", "x.safetensors", "--expect", "none.safetensors"), 1, "no such file", "missing outputs"),
            (("--inputs", "x.safetensors", "--expect", "x.safetensors"), 1,
             "x.safetensors: error: no output is named x\n  hint: the outputs are y; --map y=x compares them\n",
             "outputs of other names"),
            (("--inputs", "x.safetensors", "--expect", "taps.safetensors"), 1,
             "the outputs are y; --map OUTPUT=fc0 compares them; a part of the model needs --tap NAME",
             "parts without --tap"),
            (("--inputs", "x.safetensors", "--expect", "cut.safetensors"), 1, "cut.safetensors", "truncated outputs"),
            (("--expect", "y.safetensors"), 2, "every --expect needs --inputs of its own", "outputs without inputs"),
            (("--dims", "batch=6", "--dims", "batch=5", "--inputs", "x.safetensors"), 2,
             "--inputs goes with one --dims", "inputs for two sizes"),
            (("--function", "nothing"), 2, "the model has no function 'nothing'", "no such function")):
        result = tool(*words)
        said = result.stdout + result.stderr
        if not ok(result.returncode == code and text in said and "Traceback" not in said, f"{name}: exit code {code}"):
            note(f"{result.returncode}\n{said}")
    guarded = folder / "guarded.c"
    guarded.write_text(GUARDED, encoding="utf-8")
    result = models.tool(folder, "check", "guarded.c", *isa)
    ok(result.returncode == 0 and "n=4, half=2" in result.stdout, "default sizes hold the model's guards")
    (folder / "scanned.c").write_text(SCANNED, encoding="utf-8")
    for model, options, wanted in (("scanned", (), [2, 1, 100, 200]), ("scanned_twos", (), [4, 102, 200]),
                                   ("scanned_any", (), [2, 0, 128, 256]),
                                   ("scanned", ("--specialize", "steps=1"), [1, 2, 100, 200])):
        result = models.tool(folder, "check", "scanned.c", *isa, "--function", model, *options)
        sizes = [int(n) for n in re.findall(r"(?:steps|twos|many)=(\d+) \S+: bits of the interpreter: y: equal",
                                            result.stdout)]
        ok(result.returncode == 0 and list(dict.fromkeys(sizes)) == list(dict.fromkeys(wanted)),
           f"steps of a loop: both ends and the middle, {model} {' '.join(options)}") or note(f"{sizes} {result}")
    result = models.tool(folder, "check", "guarded.c", *isa, "--dims", "n=3,half=2")
    ok(result.returncode == 2 and "guarded.c: error: the sizes break the guard " in result.stderr, "given ones have to")
    result = models.tool(folder, "check", "guarded.c", *isa, "--function", "unread", "--dims", "count=2,n=4")
    ok(result.returncode == 0, "a dim that another function has is none to complain of") or note(result.stderr)
    result = models.tool(folder, "check", "guarded.c", *isa, "--function", "guarded", "--dims", "half=2,count=4")
    ok(result.returncode == 2 and "--dims: guarded needs n too" in result.stderr, "but none may be missing")
    result = models.tool(folder, "profile", "guarded.c", *isa, "--function", "guarded", "--dims", "m=2")
    ok(result.returncode == 2 and "--dims: the model has no dim 'm'" in result.stderr and
       "its dims: count, half, n" in result.stderr, "a name that is none shows those that are") or note(result.stderr)
    result = models.tool(folder, "profile", "guarded.c", *isa, "--function", "guarded", "--dims", "count=2")
    ok(result.returncode == 2 and "--dims: guarded needs n too\n  hint: its dims: " in result.stderr,
       "and so does one of another function") or note(result.stderr)
    result = models.tool(folder, "check", "guarded.c", *isa, "--function", "unread")
    ok(result.returncode == 0 and "next: equal" in result.stdout, "a gather that nobody reads") or note(result.stderr)
    models.safetensors(folder / "between.safetensors", {"part": ((4,), [0.35, 0.1, 0.2, 0.3])})
    between = ("--function", "steps", "--inputs", "between.safetensors")
    result = models.tool(folder, "check", "guarded.c", *isa, *between)
    said = "double precision: 1 float that lay between two integers became the other one; compared again with "
    for function, wrong, right in (("steps", "whole: largest error 1, ", "whole: largest error 0, 0 ulp"),
                                   ("stepped", "stepped: largest error 0.25 (1 step of 0.25), ",
                                    "stepped: largest error 0, 0 ulp")):
        result = models.tool(folder, "check", "guarded.c", *isa, *between, "--function", function)
        ok(result.returncode == 0 and all(re.search(line, result.stdout) for line in (
            rf": double precision: {re.escape(wrong)}.* 1 of 4 elements differ, the first at 0: by other integers\n",
            rf": double precision with the interpreter's integers: {right}\n", f"\n{said}")),
            f"{function}: numbers between two integers are told from wrong ones") or note(result.stdout + result.stderr)
    result = models.tool(folder, "check", "guarded.c", *isa, *between, "--atol", "1")
    ok(result.returncode == 0 and said not in result.stdout, "a bound of a step holds them") or note(result.stdout)
    (folder / "cancels.c").write_text(CANCELS, encoding="utf-8")
    below = folder.name
    result = models.tool(folder.parent, "check", f"{below}/cancels.c", *isa, "--inputs", f"{below}/between.safetensors")
    said = f"{below}/cancels.c:5: double precision: other integers of 1 float that differ by more than the bound, " \
           "the first here"
    ok(result.returncode == 0 and "little: equal" in result.stdout and said in result.stdout.splitlines(),
       "integers of floats that rounding alone has moved by more are told, and right") or note(result.stdout)
    models.safetensors(folder / "other.safetensors", {"stepped": ((2, 2), [0.75, 0.25, 0.5, 0.75])})
    result = models.tool(folder, "check", "guarded.c", *isa, *between, "--function", "stepped", "--expect",
                         "other.safetensors")
    ok(result.returncode == 1 and "other.safetensors: stepped: largest error 0.25 (1 step of 0.25), " in result.stdout
       and "\nstepped is dequantized from steps of 0.25: --atol 0.2502 would allow for 1\n" in result.stdout,
       "an expected output says how many steps it is off") or note(result.stdout + result.stderr)
    for step, error, bound, count in ((0.1002, "0.1", "0.1003", 1), (0.12345, "0.247", "0.2471", 2),
                                      (0.0173, "1.85", "1.853", 107)):
        line = f"y: largest error {error}, 3 ulp, 1 of 2 elements differ, the first at 0  FAILED"
        equal(list(roundings.hints([line], {"y": step})),
              [f"y is dequantized from steps of {step:.6g}: --atol {bound} would allow for {count}"],
              f"{count} steps of {step}, as printed: the bound holds them")
    for name in ("twice", "guarded_twice"):
        result = models.tool(folder, "check", "guarded.c", *isa, "--function", name)
        ok(result.returncode == 0 and {line.split()[0].rstrip(":") for line in result.stdout.splitlines()[:-1]} ==
           {"guarded_twice"}, f"--function {name}: the function of that name alone, shown by its C name")
    result = models.tool(folder, "check", "guarded.c", *isa, "--function", "guarded_thrice")
    names = "its functions: guarded, guarded_unread, guarded_steps, guarded_twice, guarded_stepped"
    ok(result.returncode == 2 and names in result.stderr, "no such C name")
    lines = models.tool(folder, "explain", "guarded.c", *isa).stdout.splitlines()
    equal([line for line in lines if line.startswith("function ")],
          [f"function {name}" for name in names.partition(": ")[2].split(", ")],
          "explain: functions by their C names")
    (folder / "steps.c").write_text(STEPS, encoding="utf-8")
    models.safetensors(folder / "steps.safetensors", models.seeded(STEP_WEIGHTS, 6))
    result = models.tool(folder, "check", "steps.c", *isa, "--specialize", "batch=1")
    ok(result.returncode == 0 and result.stdout.endswith("steps.c: right: 4 comparisons in 2 runs\n"),
       "a recurrent step of one row, by parts of weights that more rows are multiplied by") \
        or note(result.stdout + result.stderr)
    said = models.tool(folder, "explain", "steps.c", *(("--isa", "avx2") if models.X86 else ()), "--specialize",
                       "batch=1").stdout
    equal(re.findall(r"weights steps.weight_hh_l0: (\d+) bytes", said), [str(192 * 64 * 4)], "which are stored once") \
        or note(said)
    ok("are sums of one kernel" in said, "one kernel a step") or note(said)
    for words, text in (("batch=65", "batch = 65 is not in 1..64"),
                        ("length=1", "--dims: the model has no dim 'length'")):
        result = models.tool(folder, "check", "mlp.c", *isa, "--dims", words)
        ok(result.returncode == 2 and text in result.stdout + result.stderr, f"--dims {words}")
done()
