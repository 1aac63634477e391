# SPDX-License-Identifier: Apache-2.0
"""`run`: a call with the user's tensors, of a model in C, of ONNX and of torch.export; what it writes are NumPy's
values."""
import json
import struct
import tempfile
from pathlib import Path

import models
from tap import done, equal, note, ok

SOURCE = """#include <tensor_compile/model.h>
TC_MODEL(twice)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, tc_dim_mul(n, 2), 3);
    tc_output(g, "y", tc_mul(x, 2));
    tc_output(g, "rows", tc_sum(x, 1));
}

TC_FUNCTION(count)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 8);
    tc_tensor a = tc_input(g, "a", TC_F32, n), total = tc_state(g, "total", TC_F32);
    total = tc_add(total, tc_sum(a));
    tc_assign(tc_state(g, "total", TC_F32), total);
    tc_output(g, "so_far", tc_expand(total, m));
}
"""
ALONE = """#include <tensor_compile/model.h>
TC_MODEL(alone)
{
    tc_output(g, "three", tc_full(g, 3, TC_F32, 2));
}
"""
# Two dims that the model needs equal: both inputs then have the size of one of them.
EQUAL = """#include <tensor_compile/model.h>
TC_MODEL(pair)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 64);
    tc_tensor a = tc_input(g, "a", TC_F32, n), b = tc_input(g, "b", TC_F32, m);
    tc_output(g, "sum", tc_add(a, b));
}
"""


def read(path: Path) -> dict[str, list[float]]:
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        begin, end = entry["data_offsets"]
        found[name] = list(struct.unpack_from(f"<{(end - begin) // 4}f", data, 8 + size + begin))
    return found


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "twice.c").write_text(SOURCE, encoding="utf-8")
    (folder / "alone.c").write_text(ALONE, encoding="utf-8")
    values = [i / 4 for i in range(12)]
    models.safetensors(folder / "x.safetensors", {"x": ((4, 3), values)})
    models.safetensors(folder / "a.safetensors", {"a": ((3,), [1.0, 2.0, 4.0])})
    models.safetensors(folder / "odd.safetensors", {"x": ((3, 3), values[:9])})
    models.safetensors(folder / "big.safetensors", {"x": ((130, 3), [0.0] * 390)})
    models.safetensors(folder / "other.safetensors", {"z": ((3, 3), values[:9])})
    models.safetensors(folder / "start.safetensors", {"total": ((), [10.0]), "more": ((1,), [0.0])})

    def tool(*words: str, model: str = "twice.c"):
        return models.tool(folder, "run", model, *words)

    result = tool("--inputs", "x.safetensors", "-o", "y.safetensors")
    equal((result.returncode, result.stderr), (0, ""), "a call")
    equal(result.stdout, "y: f32[4,3]  0 to 5.5, mean 2.75  [0 0.5 1 1.5 2 2.5 ...]\n"
                         "rows: f32[4]  0.75 to 7.5, mean 4.125  [0.75 3 5.25 7.5]\n", "shows the outputs")
    equal(read(folder / "y.safetensors"), {"y": [2 * v for v in values], "rows": [0.75, 3.0, 5.25, 7.5]},
          "and writes them")
    result = tool("--inputs", "a.safetensors", "--dims", "m=2")
    ok(result.returncode == 0 and result.stdout.startswith("so_far: f32[2]  7 to 7"),
       "the function whose inputs the file has") \
        or note(result.stdout + result.stderr)
    result = tool("--inputs", "a.safetensors", "--dims", "m=1", "--state", "start.safetensors", "--state-out",
                  "end.safetensors")
    equal((result.returncode, read(folder / "end.safetensors")), (0, {"total": [17.0]}),
          "the state before and behind the call") \
        or note(result.stderr)
    equal(tool(model="alone.c").stdout, "three: f32[2]  3 to 3, mean 3  [3 3]\n", "a function without inputs")
    (folder / "equal.c").write_text(EQUAL, encoding="utf-8")
    models.safetensors(folder / "pair.safetensors", {"a": ((3,), [1.0, 2.0, 4.0]), "b": ((3,), [1.0, 1.0, 1.0])})
    result = tool("--inputs", "pair.safetensors", model="equal.c")
    equal((result.returncode, result.stdout), (0, "sum: f32[3]  2 to 5, mean 3.33333  [2 3 5]\n"),
          "dims that are equal are told by each other") or note(result.stderr)
    for words, code, text, name in (
            (("--inputs", "odd.safetensors"), 1, "the file has f32[3,3], the model takes f32[2*n,3]",
             "a size that no dim gives"),
            (("--inputs", "a.safetensors"), 2,
             "the shapes of the inputs do not tell the dim m\n  hint: name it: --dims m=SIZE",
             "a dim that no input has"),
            (("--inputs", "a.safetensors", "--dims", "q=1"), 2, "--dims: count has no dim 'q'\n  hint: its dims: n, m",
             "a dim that is not there"),
            (("--inputs", "x.safetensors", "--dims", "n=65"), 2, "twice.c: error: --dims: n = 65 is not in 1..64\n"
             "  hint: the range of n is declared at twice.c:4\n", "a size that is named, out of the declared range"),
            (("--inputs", "a.safetensors", "--dims", "m=9"), 2, "twice.c: error: --dims: m = 9 is not in 1..8\n"
             "  hint: the range of m is declared at twice.c:12\n", "and one that no input has"),
            (("--inputs", "big.safetensors"), 2, "big.safetensors: error: n = 65 is not in 1..64\n"
             "  hint: the range of n is declared at twice.c:4\n", "a size of an input, out of the declared range"),
            (("--inputs", "a.safetensors", "--dims", "m=1", "--dims", "m=2"), 2, "run goes with one --dims",
             "two sizes"),
            (("--inputs", "other.safetensors"), 2,
             "the model has several functions\n  hint: name one: --function twice, twice_count",
             "no function has these inputs"),
            (("--function", "twice", "--inputs", "other.safetensors"), 1, 'no tensor "x" for the input x',
             "nor the one that is named"),
            (("--function", "twice"), 2, "--inputs is missing: twice takes x", "no inputs"),
            (("--inputs", "nosuch.safetensors"), 1, "nosuch.safetensors: error: no such file", "no file of inputs"),
            (("--function", "twice", "--inputs", "x.safetensors", "--state", "a.safetensors"), 1,
             'no tensor "total" for the state total', "a state of other names")):
        result = tool(*words)
        ok(result.returncode == code and text in result.stderr and "Traceback" not in result.stderr,
           f"{name}: exit code {code}") \
            or note(f"{result.returncode}\n{result.stdout}{result.stderr}")
    result = tool("--state", "a.safetensors", model="alone.c")
    ok(result.returncode == 2 and "--state: the model has no state" in result.stderr, "a state for a model without one")
done()
