# SPDX-License-Identifier: Apache-2.0
"""What quantize says of data and models that it cannot use; nothing is written then."""
import math
import re
import tempfile
from pathlib import Path

from samples import called, floats, write
from tap import done, equal, note, ok

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_dim n = tc_dynamic(g, "n", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 4), y = tc_input(g, "y", TC_F32, n, 3);
    tc_weights(g, "m.safetensors");
    tc_output(g, "z", tc_add(PRODUCT, y));
}
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(MODEL.replace("PRODUCT", 'tc_linear(x, tc_weight(g, "fc.weight"))'), encoding="utf-8")
    (folder / "plain.c").write_text(MODEL.replace("PRODUCT", "tc_relu(tc_slice(x, 1, 0, 3))"), encoding="utf-8")
    write(folder / "m.safetensors", {"fc.weight": ((3, 4), floats(12, 1))})
    good = {"x": ((5, 4), floats(20, 2)), "y": ((5, 3), floats(15, 3))}
    write(folder / "good", good)
    write(folder / "odd", {**good, "y": ((4, 3), floats(12, 3))})
    write(folder / "flat", {**good, "x": ((20,), floats(20, 2))})
    write(folder / "none", {"x": ((0, 4), []), "y": ((0, 3), [])})
    header = b'{"x": {"dtype": "F64", "shape": [5, 4], "data_offsets": [0, 160]}}'
    (folder / "wide").write_bytes(len(header).to_bytes(8, "little") + header + bytes(160))
    broken = floats(20, 2)
    broken[17] = math.nan
    write(folder / "nan", {**good, "x": ((5, 4), broken)})
    write(folder / "inf.safetensors", {"fc.weight": ((3, 4), [*floats(11, 1), math.inf])})

    def refused(model: str, data: str, code: int, *parts: str, more: tuple[str, ...] = ()) -> None:
        asked = ["--data", folder / data] if data else []
        done_ = called("quantize", folder / model, *asked, "-o", folder / "out", "--interpret", "--no-compare", *more)
        if not ok(done_.returncode == code and all(part in done_.stderr for part in parts), parts[0]):
            note(f"{done_.returncode}: {done_.stderr}")

    refused("m.c", "", 2, "--data is missing: the ranges of the model's values come from samples of its inputs")
    refused("m.c", "missing", 1, "no such file")
    refused("m.c", "odd", 1, "the inputs have different numbers of samples: x 5, y 4")
    refused("m.c", "flat", 1, "input x: the file has f32[20], the model takes f32[n,4]")
    refused("m.c", "wide", 1, "input x: the file has f64[5,4], the model takes f32[n,4]",
            "samples are of the input's dtype, f32", more=("--map", "y=x"))
    refused("m.c", "good", 1, '--map x=xx: no tensor "xx"', "did you mean x? the file has x, y", more=("--map", "x=xx"))
    refused("m.c", "good", 2, "--map z=x: the model has no 'z' for which a file is read", "it has x, y",
            more=("--map", "z=x"))
    refused("m.c", "none", 1, "there are no samples: an input has 0 of them")
    whole = (folder / "good").read_bytes()
    (folder / "cut").write_bytes(whole[:-8])
    for more in ((), ("--map", "x=x")):
        refused("m.c", "cut", 1, f'{folder / "cut"}: error: truncated: "y" ends at byte 140 of the data, the file has '
                "132", more=more)
    refused("m.c", "nan", 1, f"x ({folder}/m.c:5) is NaN for one of the samples 0 to 4: no scale can be found",
            "nan: error")
    filled = "tc_linear(tc_pad(x, .low = {0, 1}, .value = __builtin_nanf(\"\")), tc_full(g, 0.5, TC_F32, 3, 5))"
    (folder / "filled.c").write_text(MODEL.replace("PRODUCT", filled), encoding="utf-8")
    refused("filled.c", "good", 1,
            f"entry_1 ({folder}/filled.c:7) is NaN for one of the samples 0 to 4: no scale can be found")
    refused("m.c", "good", 2, "--float: no layer of integers is called 'fd'", "they are fc",
            more=("--float", "fd"))
    for layer in ("*", "fc"):
        refused("m.c", "good", 1,
                "nothing of the model can be computed in integers: it has no convolution and no product of "
                "f32 by weights but those of --float", more=("--float", layer))
    refused("plain.c", "good", 1,
            "nothing of the model can be computed in integers: it has no convolution and no product of f32 by "
            "weights\n")
    for name_, body, message in (
            ("state", 'TC_SCAN(g, 4, &z) { z = tc_add(z, tc_state(g, "s", TC_F32, n, 3)); }',
             f"{folder}/state.c:7: error: a loop or a branch reads the state 's', which quantize does not know"),
            ("where", "z = tc_sum_where(z, tc_gt(z, 0), 1)",
             "the model has operations that a quantized model cannot be written with:\n  1 x reduce_where (at "
             "where.c:7)")):
        text = MODEL.replace("PRODUCT", 'tc_linear(x, tc_weight(g, "fc.weight"))').replace("tc_output",
                                                                                           "tc_tensor z = PLACE", 1)
        text = text.replace("PLACE(g, \"z\", ", "").replace("y));", f'y); {body}; tc_output(g, "z", z);')
        text = text.replace('tc_dynamic(g, "n", 1, 8)', "{4}" if name_ == "state" else 'tc_dynamic(g, "n", 1, 8)')
        (folder / f"{name_}.c").write_text(text.replace("tc_dim n = {4};", "enum { n = 5 };"), encoding="utf-8")
        refused(f"{name_}.c", "good", 1, message)
    fixed = MODEL.replace("PRODUCT", 'tc_linear(x, tc_weight(g, "fc.weight"))')
    (folder / "fixed.c").write_text(fixed.replace('tc_dim n = tc_dynamic(g, "n", 1, 8)', "enum { n = 6 }"),
                                    encoding="utf-8")
    refused("fixed.c", "good", 1, "5 samples are too few for one call, which takes 6")
    refused("m.c", "good", 2, "--target does not go with quantize, which runs the model on this processor",
            more=("--target", "cuda"))
    refused("m.c", "good", 2, "--dims: the model has no dim 'foo'\n  hint: its dims: n", more=("--dims", "foo=1"))
    refused("m.c", "good", 2, "not a percentage above 50: '3'", more=("--percentile", "3"))
    for more in (("--percentile", "99"), ("--percentile", "99", "--observer", "minmax")):
        refused("m.c", "good", 2, "tensor-compile quantize: error: --percentile goes with --observer percentile\n"
                "  hint: ", more=more)
    ok(not (folder / "out").exists(), "and nothing is written")

    def says(message: str, *words: object) -> None:
        done_ = called(*words)
        if not ok(done_.returncode and message in done_.stderr, message):
            note(f"{done_.returncode}: {done_.stderr}")

    says("tensor-compile quantize: error: -o is missing: the folder for the quantized model\n"
         "  hint: tensor-compile quantize MODEL.c --data FILE.safetensors -o DIR",
         "quantize", folder / "m.c", "--data", folder / "good")
    made = called("quantize", folder / "m.c", "--data", folder / "good", "-o", folder / "out", "--interpret",
               "--no-compare")
    ok(made.returncode == 0 and (folder / "out" / "model.safetensors").exists(), "the same model with good data")
    text = (folder / "out" / "model.c").read_text(encoding="utf-8")
    (folder / "out" / "model.c").write_text(text + "/* mine */\n", encoding="utf-8")
    refused("m.c", "good", 1, "out/model.c: error: it was changed since quantize wrote it, or something else wrote it\n"
            "  hint: --force overwrites it; -o names another folder")
    (folder / "out" / "model.c").write_text(text, encoding="utf-8")
    equal(called("build", folder / "out" / "model.c", "-o", folder / "built", "--target", "reference").stderr, "",
          "nothing is said of what quantize wrote")
    lines = text.splitlines()
    (written, entry), (read, product) = ((i, line) for i, line in enumerate(lines, 1)
                                         if "tc_quantize(" in line or "tc_quantized_linear(" in line)
    scale, zero = re.search(r"x = \{\w+, ([0-9.e-]+), (-?\d+)\}", product).groups()
    lines[read - 1] = product.replace(scale, "0.5")
    (folder / "out" / "model.c").write_text("\n".join(lines) + "\n", encoding="utf-8")
    equal(called("build", folder / "out" / "model.c", "-o", folder / "built", "--target", "reference").stderr,
          f"{folder / 'out' / 'model.c'}:{read}: warning: tc_quantized_linear: in fc: .x is read with the scale 0.5 "
          f"and the zero {zero}, and line {written} wrote it with {scale} and {zero}\n", "a scale that was changed is")
    (folder / "out" / "model.c").write_text(text, encoding="utf-8")
    beside = ("check", folder / "out" / "model.c", "--inputs", folder / "good")
    write(folder / "m.safetensors", {"other": ((3, 4), floats(12, 1)), "fc.weight": ((3, 4), floats(12, 1))})
    (folder / "other.c").write_text((folder / "m.c").read_text(encoding="utf-8").replace("fc.weight", "other"),
                                    encoding="utf-8")
    says(f"none of its layers is one of {folder / 'other.c'}: it was not made of that model by quantize", *beside,
         "--float", folder / "other.c", "--interpret")
    says("--float goes with --inputs, and without --input, --state, --expect, --tap and --save", *beside,
         "--float", folder / "m.c", "--tap", "*")
    says("tensor-compile check: error: --least goes with --float\n  hint: see tensor-compile check --help\n", *beside,
         "--least", "20")
    (folder / "m.safetensors").write_bytes((folder / "inf.safetensors").read_bytes())
    refused("m.c", "good", 1, f"fc ({folder}/m.c:7) is infinite")
done()
