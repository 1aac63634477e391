# SPDX-License-Identifier: Apache-2.0
"""A model with one of everything, quantized: what became integers, what stays, how far it is from the floats, and that
a constant activation is told. A model of one row, whose biases are repeated nowhere, and of windows of one axis."""
import math
import re
import tempfile
from pathlib import Path

from samples import ROOT, floats, run, write
from tap import done, equal, note, ok

SHAPES = {"stem": (8, 3, 3, 3), "depth": (8, 1, 3, 3), "squeeze": (4, 8, 1, 1), "excite": (8, 4, 1, 1),
          "project": (8, 8, 1, 1), "side": (4, 8, 1, 1), "join": (8, 12, 1, 1), "wide": (8, 8), "last": (6, 8)}
ROW = """#include <tensor_compile/model.h>

TC_MODEL(row)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 1, 4, 16);
    tc_weights(g, "row.safetensors");
    x = tc_max_pool1d(tc_relu(tc_layer_conv1d(g, x, "first", .padding = 1)), .kernel = 2);
    x = tc_avg_pool1d(x, .kernel = 2);
    tc_output(g, "y", tc_layer_linear(g, tc_flatten(x, 1), "last"));
}
"""
PADDED = """#include <math.h>
#include <tensor_compile/model.h>

TC_MODEL(padded)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 1, 4, 16);
    tc_weights(g, "padded.safetensors");
    x = tc_pad(tc_layer_conv1d(g, x, "first"), .low = {0, 0, 1}, .high = {0, 0, 1}, .value = FILLED);
    tc_output(g, "y", tc_layer_conv1d(g, READ, "last"));
}
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "mixed.c").write_bytes((ROOT / "tests" / "quantize" / "mixed.c").read_bytes())
    weights: dict[str, tuple[tuple[int, ...], list[float]]] = {}
    for i, (layer, shape) in enumerate(SHAPES.items()):
        terms = math.prod(shape[1:])
        weights[f"{layer}.weight"] = shape, floats(shape[0] * terms, i, terms ** -0.5)
        weights[f"{layer}.bias"] = shape[:1], [abs(b) + 0.3 for b in floats(shape[0], 50 + i, 0.3)]
    weights["side.weight"] = SHAPES["side"], [0.0] * 32          # a layer that gives its bias alone
    weights["side.bias"] = (4,), [0.5] * 4
    weights["norm.weight"], weights["norm.bias"] = ((6,), [1.0] * 6), ((6,), floats(6, 99))
    write(folder / "mixed.safetensors", weights)
    write(folder / "data.safetensors",
          {"image": ((40, 8, 8, 3), floats(40 * 192, 7)), "shift": ((40, 8), floats(320, 8))})
    made = run("quantize", folder / "mixed.c", "--data", folder / "data.safetensors", "-o", folder / "int8",
               "--no-compare", "--interpret")
    if not ok(made.returncode == 0, "a model is quantized"):
        note(made.stderr)
    first, *others = made.stdout.splitlines() or [""]
    for part in ("7 conv", "2 linear", "1 mul", "1 add", "1 mean", "1 average", "1 concat", "table"):
        ok(part in first, f"in integers: {part}")
    ok("over 40 samples" in first, "of all samples")
    said = "\n".join(others)
    for part in ("gelu (mixed.c:", "layer_norm (mixed.c:", "matmul (mixed.c:"):
        ok(f"in floats: 1 {part}" in said, f"what stays is named: {part}")
    ok("warning: side is 0.5 for every sample" in said, "and a constant activation")
    text = (folder / "int8" / "model.c").read_text(encoding="utf-8") if made.returncode == 0 else ""
    ok('tc_dynamic(g, "n", 1, 32, .specialize = {4})' in text, "dims keep what they are specialized for")
    equal(len(re.findall(r"tc_quantize\(", text)), 2, "two values of floats become integers: the image, and the gelu")
    equal(len(re.findall(r"tc_conv2d|tc_linear\(", text)), 0, "no product by weights is one of floats")
    checked = run("check", folder / "int8" / "model.c", "--float", folder / "mixed.c", "--inputs",
                  folder / "data.safetensors",
                  "--least", "22", "--interpret")
    if not ok(checked.returncode == 0, "every layer is near the float one's"):
        note(checked.stdout + checked.stderr)
    for layer in ("stem", "excite", "mean_", "table_", "concat_", "last", "scores", "alike"):
        ok(re.search(rf"^{layer}\w* .* dB ", checked.stdout, re.M), f"the report has {layer}")
    note(checked.stdout)

    kept = run("quantize", folder / "mixed.c", "--data", folder / "data.safetensors", "-o", folder / "kept",
               "--interpret", "--float", "table_*", "--float", "concat_*")
    rows = re.findall(r"^(\w+) .* dB ", kept.stdout, re.M)
    written = (folder / "kept" / "model.c").read_text(encoding="utf-8") if kept.returncode == 0 else ""
    ok(written and "tc_gather" not in written and "stem" in rows and not re.search("table|concat", " ".join(rows)),
       "tables and concatenations stay in floats where that is asked") or note(kept.stdout + kept.stderr)

    made = run("quantize", folder / "mixed.c", "--data", folder / "data.safetensors", "-o", folder / "u8",
               "--no-compare", "--interpret", "--activations", "u8")
    unsigned = (folder / "u8" / "model.c").read_text(encoding="utf-8") if made.returncode == 0 else ""
    ok("TC_U8" in unsigned and "TC_I8" not in unsigned, "values are u8 where that is asked")
    zeros = [[int(z) for z in re.findall(r"tc_full\(g, (-?\d+), TC_[IU]8\)", written)] for written in (text, unsigned)]
    equal([z + 128 for z in zeros[0]], zeros[1], "and every zero is 128 more")
    errors = [dict(re.findall(r"^(\w+) +([0-9.]+) dB", run(
        "check", folder / kind / "model.c", "--float", folder / "mixed.c", "--inputs", folder / "data.safetensors",
        "--least", "22", "--interpret").stdout, re.M)) for kind in ("int8", "u8")]
    ok(len(errors[0]) > 8 and errors[0].keys() == errors[1].keys()
       and all(abs(float(d) - float(errors[1][layer])) < 1 for layer, d in errors[0].items()), "as near to the floats")
    note(errors)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "row.c").write_text(ROW, encoding="utf-8")
    write(folder / "row.safetensors",
          {"first.weight": ((8, 4, 3), floats(96, 1, 0.3)), "first.bias": ((8,), floats(8, 2)),
           "last.weight": ((3, 32), floats(96, 3, 0.2)), "last.bias": ((3,), floats(3, 4))})
    write(folder / "data.safetensors", {"x": ((20, 4, 16), floats(20 * 64, 5))})
    made = run("quantize", folder / "row.c", "--data", folder / "data.safetensors", "-o", folder / "int8",
               "--interpret")
    equal([line.partition("row.c: ")[2] for line in made.stdout.splitlines()[:2]],
          ["1 conv, 1 average, 1 linear in integers; ranges are the smallest and the largest element over 20 samples",
           ""],
          "one row is integers to its end")
    if not ok(made.returncode == 0 and "warning" not in made.stderr, "and is compiled without a warning"):
        note(made.stderr)
    text = (folder / "int8" / "model.c").read_text(encoding="utf-8") if made.returncode == 0 else ""
    equal(text.count(".bias = tc_weight"), 2, "each product has its bias")
    ok("tc_max_pool1d(first, .kernel = 2, .stride = 2)" in text, "a window of one axis is a number")
    ok(all(float(line.split()[1]) > 30 for line in made.stdout.splitlines() if " dB " in line), "near the floats")
    note(made.stdout)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write(folder / "padded.safetensors",
          {"first.weight": ((8, 4, 3), floats(96, 1, 0.1)), "first.bias": ((8,), [-2.0] * 8),
           "last.weight": ((3, 8, 3), floats(72, 3, 0.2)), "last.bias": ((3,), floats(3, 4))})
    write(folder / "data.safetensors", {"x": ((20, 4, 16), floats(20 * 64, 5))})

    def padded(filled: str, read: str, name: str, activations: str = "i8") -> None:
        (folder / "padded.c").write_text(PADDED.replace("FILLED", filled).replace("READ", read), encoding="utf-8")
        made = run("quantize", folder / "padded.c", "--data", folder / "data.safetensors", "-o", folder / activations,
                   "--interpret", "--activations", activations, "--force")
        errors = re.findall(r"^\w+ +([0-9.]+) dB", made.stdout, re.M)
        if not ok(made.returncode == 0 and len(errors) == 3 and all(float(d) > 30 for d in errors), name):
            note(made.stdout + made.stderr)

    for activations in ("i8", "u8"):
        padded("-INFINITY", "tc_max_pool1d(x, .kernel = 2)",
               f"{activations}: what is padded with -INFINITY is the lowest integer there", activations)
    padded("NAN", "tc_where(tc_isnan(x), tc_full(g, -9, TC_F32), x)", "what is padded with NaN stays floats")
    padded("0", "tc_where(tc_lt(tc_unsqueeze(tc_div(tc_sum(x, 2), 0.0f), 2), -1e30f), x, tc_neg(x))",
           "a sum divided by 0 is no mean")
    padded("0", "tc_where(tc_isnan(tc_unsqueeze(tc_mul(tc_sum(x, 2), NAN), 2)), x, tc_neg(x))",
           "nor is one multiplied by NaN")
done()
