# SPDX-License-Identifier: Apache-2.0
"""Models with loops, branches, orders and states, quantized: products around them are integers, they stay in floats."""
import re
import tempfile
from pathlib import Path

from samples import ROOT, floats, run, write
from tap import done, equal, note, ok

SHAPES = {"in": (8, 8), "cell": (8, 8), "mid": (8, 8), "out": (4, 8), "last": (4, 8)}

STATES = """#include <tensor_compile/model.h>
TC_MODEL(stream)
{
    tc_weights(g, "stream.safetensors");
    tc_tensor x = tc_input(g, "x", TC_F32, 1, 4), kept = tc_state(g, "kept", TC_F32, 1, 4);
    tc_tensor calls = tc_state(g, "calls", TC_I32, 1);
    tc_tensor now = tc_add(tc_mul(kept, 0.75), x);
    tc_output(g, "y", tc_linear(tc_relu(tc_linear(now, tc_weight(g, "a.weight"))), tc_weight(g, "b.weight")));
    tc_output(g, "called", tc_add(calls, 1));
    tc_assign(kept, now);
    tc_assign(calls, tc_add(calls, 1));
}
"""


def states(folder: Path) -> None:
    """Samples are one sequence: what is remembered grows to four times what a single call sees."""
    (folder / "stream.c").write_text(STATES, encoding="utf-8")
    write(folder / "stream.safetensors", {"a.weight": ((6, 4), floats(24, 1)), "b.weight": ((3, 6), floats(18, 2))})
    x = [abs(f) for f in floats(120, 3)]
    write(folder / "frames.safetensors", {"x": ((30, 4), x)})
    made = run("quantize", folder / "stream.c", "--data", folder / "frames.safetensors", "-o", folder / "held")
    if not ok(made.returncode == 0, "a model with states is quantized"):
        note(made.stderr)
        return
    kept, most = [0.0] * 4, 0.0
    for i in range(30):
        kept = [0.75 * k + f for k, f in zip(kept, x[4 * i:4 * i + 4])]
        most = max(most, *kept)
    text = (folder / "held" / "model.c").read_text(encoding="utf-8")
    scale = re.search(r"tc_quantize\([^,]*, tc_full\(g, ([0-9.e-]+)f?, TC_F32\)", text)
    ok(scale is not None and abs(float(scale[1]) * 255 / most - 1) < 1e-5,
       f"ranges are those of the sequence: {most:.4f}") or note(text)
    for part in ('tc_state(g, "kept", TC_F32, 1, 4)', 'tc_state(g, "calls", TC_I32, 1)', "tc_assign(kept, ",
                 "tc_assign(calls, "):
        ok(part in text, f"it has {part}")
    ok(re.search(r"^kept_after +inf dB", made.stdout, re.M), "the report has what is remembered")
    ok(re.search(r"^y +(?:[3-9]\d)\.\d dB", made.stdout, re.M), "and the outputs") or note(made.stdout)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "loops.c").write_bytes((ROOT / "tests" / "quantize" / "loops.c").read_bytes())
    weights = {f"{n}.weight": (s, floats(64 if s[0] == 8 else 32, i, 0.4)) for i, (n, s) in enumerate(SHAPES.items())}
    write(folder / "loops.safetensors", {**weights, "in.bias": ((8,), floats(8, 9))})
    write(folder / "data.safetensors", {"x": ((20, 6, 4, 8), floats(20 * 192, 7))})
    made = run("quantize", folder / "loops.c", "--data", folder / "data.safetensors", "-o", folder / "int8",
               "--interpret")
    if not ok(made.returncode == 0, "a model with loops is quantized"):
        note(made.stderr)
    note(made.stdout)
    text = (folder / "int8" / "model.c").read_text(encoding="utf-8") if made.returncode == 0 else ""
    for part in ("TC_SCAN(g, 6, &", "TC_WHILE(g, &", "TC_IF(g, ", "TC_ELSE(g)", "tc_topk(", "tc_sort(",
                 "tc_scatter_add("):
        ok(part in text, f"it has {part}")
    equal(len(re.findall(r"tc_quantized_linear\(", text)), 4, "the four products outside of the loop are in integers")
    for part in ("scan", "while", "cond", "sort", "scatter"):
        ok(re.search(rf"in floats: .*\b{part}", made.stdout), f"what stays is named: {part}")
    checked = run("check", folder / "int8" / "model.c", "--float", folder / "loops.c", "--inputs",
                  folder / "data.safetensors", "--interpret")
    ok(re.search(r"^y .* dB", checked.stdout, re.M) and re.search(r"^mid .* dB", checked.stdout, re.M),
       "the report has layers and outputs") or note(checked.stdout + checked.stderr)
    states(folder)
done()
