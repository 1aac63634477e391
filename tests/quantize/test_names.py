# SPDX-License-Identifier: Apache-2.0
"""The names of layers: those of the float model's weights and scopes, in the report, for --float and in what is
written."""
import json
import os
import re
import struct
import tempfile
from pathlib import Path

from samples import floats, run, write
from tap import done, equal, note, ok

ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}.get(os.uname().machine, "")
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_dim n = tc_dynamic(g, "n", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 3, 8, 8);
    tc_weights(g, "m.safetensors");
    x = tc_relu(tc_conv2d(x, tc_weight(g, "features.0.0.weight"), tc_weight(g, "features.0.0.bias")));
    TC_SCOPE(g, "features.1") {
        tc_tensor y = tc_conv2d(x, tc_weight(g, "conv.0.weight"));
        x = tc_conv2d(tc_add(x, y), tc_weight(g, "conv.1.weight"));
    }
    tc_output(g, "y", tc_softmax(tc_linear(tc_mean(x, 2, 3), tc_weight(g, "head.50%.weight")), 1));
}
"""
NUMBERS = """#include <tensor_compile/model.h>
TC_MODEL(numbers)
{
    tc_tensor x = tc_input(g, "x", TC_F32, tc_dynamic(g, "n", 1, 8), 8);
    tc_weights(g, "numbers.safetensors");
    tc_tensor a = tc_linear(tc_relu(tc_linear(x, tc_weight(g, "a.1.weight"))), tc_weight(g, "a.3.weight"));
    tc_output(g, "sum", tc_softmax(tc_add(a, tc_gelu(tc_linear(a, tc_weight(g, "a.10.weight")))), 1));
}
"""
LAYERS = ["features.0.0", "features.1.conv.0", "features.1.conv.1", "head.50%"]


def stored(path: Path) -> set[str]:
    content = path.read_bytes()
    return set(json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]]))


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    write(folder / "m.safetensors", {
        "features.0.0.weight": ((4, 3, 3, 3), floats(108, 1)), "features.0.0.bias": ((4,), floats(4, 2)),
        "features.1.conv.0.weight": ((4, 4, 1, 1), floats(16, 3)),
        "features.1.conv.1.weight": ((4, 4, 1, 1), floats(16, 4)), "head.50%.weight": ((5, 4), floats(20, 5))})
    write(folder / "x", {"x": ((6, 3, 8, 8), floats(6 * 192, 6))})
    asked = ("quantize", folder / "m.c", "--data", folder / "x", "--interpret")
    made = run(*asked, "-o", folder / "int8")
    report = [line.split("  ")[0] for line in made.stdout.splitlines() if " dB " in line]
    equal([line for line in report if "." in line], LAYERS, "the report has the names of the weights") or \
        note(made.stdout + made.stderr)
    checked = run("check", folder / "int8" / "model.c", "--float", folder / "m.c", "--inputs", folder / "x",
                  "--interpret")
    equal([line.split("  ")[0] for line in checked.stdout.splitlines() if " dB " in line], report, "and so has check")
    last = re.search(r"model.c: not judged, as --least names no bound: the least is \S+ dB, of (\S+)\n$",
                     checked.stdout)
    ok(checked.returncode == 0 and last and last[1] in report, "whose last line has one, too, and judges nothing") or \
        note(checked.stdout)
    for least, word, code, end in (("1", "right", 0, ""), ("300", "WRONG", 1, ", asked were 300 dB")):
        checked = run("check", folder / "int8" / "model.c", "--float", folder / "m.c", "--inputs", folder / "x",
                      "--interpret", "--least", least)
        ok(checked.returncode == code and
           re.search(rf"model.c: {word}: the least is \S+ dB, of [^ ,]+{end}\n$", checked.stdout),
           f"with --least {least} it is {word}") or note(checked.stdout)
    for layer in ("features.0.0", "features_0_0", "head.50%", "head_50"):
        kept = run(*asked, "-o", folder / "kept", "--no-compare", "--float", layer)
        floats_ = {name for name in stored(folder / "kept" / "model.safetensors") if name.endswith(".weight")} if \
            not kept.returncode else set()
        one = layer if "." in layer else {"features_0_0": "features.0.0", "head_50": "head.50%"}[layer]
        text = (folder / "kept" / "model.c").read_text(encoding="utf-8")
        ok(kept.returncode == 0 and f'"{one.replace("%", "%%")}"' not in text and len(floats_) == 4,
           f"--float {layer} keeps {one}") or note(kept.stdout + kept.stderr + text)
    kept = run(*asked, "-o", folder / "kept", "--no-compare", "--float", "features_*")
    ok(kept.returncode == 0 and "tc_quantized_conv" not in (folder / "kept" / "model.c").read_text(encoding="utf-8"),
       "patterns match either name") or note(kept.stderr)

    between = [layer for layer in report if re.fullmatch(r"(add|mean)_\d+", layer)]
    equal(len(between), 2, "a sum and a mean have rows, too") or note(report)
    for layer in between:
        call = f"tc_quantized_{layer.partition('_')[0]}("
        kept = run(*asked, "-o", folder / "kept", "--float", layer)
        text = (folder / "kept" / "model.c").read_text(encoding="utf-8")
        rows = [line.split("  ")[0] for line in kept.stdout.splitlines() if " dB " in line]
        ok(kept.returncode == 0 and call not in text and f"in floats: 1 {layer.partition('_')[0]} (m.c:" in kept.stdout,
           f"--float {layer} keeps it") or note(kept.stdout + kept.stderr + text)
        equal(rows, [row for row in report if row != layer], "and all else is in integers")

    (folder / "numbers.c").write_text(NUMBERS, encoding="utf-8")
    write(folder / "numbers.safetensors", {f"a.{n}.weight": ((8, 8), floats(64, n)) for n in (1, 3, 10)})
    for model, unknown, meant in (
            ("m.c", "features.1", "features.1.*"), ("m.c", "features", "features.*"), ("m.c", "add", "add_*"),
            ("m.c", "y", "head.50%"), ("m.c", "feature.0.0", "features.0.0"), ("numbers.c", "a.9", "a.3 or a.10"),
            ("numbers.c", "a.11", "a.10"), ("numbers.c", "a.0", "a.1"), ("numbers.c", "sum", "a.3 or a.10")):
        kept = run("quantize", folder / model, "--data", folder / "x", "-o", folder / "kept", "--float", unknown)
        ok(kept.returncode == 2 and f"is called {unknown!r}\n  hint: did you mean {meant}? they are " in kept.stderr,
           f"{unknown} is none: {meant} may be meant") or note(kept.stderr)
    for unknown in ("nothing", "a." + "1" * 5000):
        kept = run(*asked, "-o", folder / "kept", "--float", unknown)
        ok(kept.returncode == 2 and f"is called {unknown!r}\n  hint: they are " in kept.stderr,
           "and of some names nothing") or note(kept.stderr)

    text = (folder / "int8" / "model.c").read_text(encoding="utf-8")
    equal(re.findall(r"TC_SCOPE\(g, (.*?)\)\n +(\w+) = (\w+)\(", text), [
        ('"features.0.0"', "features", "tc_quantized_conv"), ('"features.1.conv.0"', "conv", "tc_quantized_conv"),
        ('"features.1"', "add", "tc_quantized_add"), ('"features.1.conv.1"', "conv_2", "tc_quantized_conv"),
        ('"%s", "head.50%"', "v50", "tc_quantized_linear")], "layers are scopes") or note(text)
    equal(stored(folder / "int8" / "model.safetensors"),
          {f"{layer}.{part}" for layer in LAYERS for part in ("weight", "scale")} | {"features.0.0.bias"},
          "and the names of the tensors what they were")
    shown = run("explain", folder / "int8" / "model.c", "--isa", ISA, "--summary")
    ok(all(re.search(rf" % +{re.escape(layer)}: ", shown.stdout) for layer in LAYERS[:2]) and
       re.search(r"  features$", shown.stdout, re.M), "which explain tells") or note(shown.stdout + shown.stderr)
    run_ = run("check", folder / "int8" / "model.c", "--isa", ISA, "--tap", "features.0.0")
    ok(run_.returncode == 0 and "features.0.0: equal" in run_.stdout, "and check --tap takes") or \
        note(run_.stdout + run_.stderr)
done()
