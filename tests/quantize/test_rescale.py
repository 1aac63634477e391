# SPDX-License-Identifier: Apache-2.0
"""`quantize --rescale integers`: the sums of a layer are brought to its result's scale as TensorFlow Lite Micro does
it, rounded twice; computed here from what is in the quantized model's files."""
import math
import re
import struct
import tempfile
from pathlib import Path

from samples import floats, run, st, write
from tap import done, equal, note, ok

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_weights(g, "m.safetensors");
    tc_output(g, "y", tc_linear(tc_input(g, "x", TC_F32, n, 9), tc_weight(g, "fc.weight"), tc_weight(g, "fc.bias")));
}
"""
NUMBER = r"\(g, (-?[0-9.e-]+)f?, TC_"


def f32(x: float) -> float:
    found: float = struct.unpack("<f", struct.pack("<f", x))[0]
    return found


def scaled(total: int, scale: float) -> int:
    """total * scale with scale = q * 2^(e - 31): the upper half of 64 bits rounded, then the shift, halves away from
    zero."""
    fraction, e = math.frexp(scale)
    q = math.floor(fraction * 2 ** 31 + 0.5)
    if q == 1 << 31:
        q, e = 1 << 30, e + 1
    product = (total << max(e, 0)) * q
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    high = abs(nudged) // (1 << 31) * (1 if nudged >= 0 else -1)
    right = max(-e, 0)
    return (abs(high) + (1 << right >> 1) >> right) * (1 if high >= 0 else -1)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    write(folder / "m.safetensors", {"fc.weight": ((5, 9), floats(45, 1)), "fc.bias": ((5,), floats(5, 2))})
    x = [f32(v) for v in floats(60 * 9, 3)]
    write(folder / "data", {"x": ((60, 9), x)})
    made = run("quantize", folder / "m.c", "--data", folder / "data", "-o", folder / "out", "--rescale", "integers",
               "--interpret")
    if not ok(made.returncode == 0, "a model is quantized"):
        note(made.stderr)
        done()
    ok(re.search(r"^y .*[3-9]\d\.\d dB", made.stdout, re.M), "near the float model") or note(made.stdout)
    text = (folder / "out" / "model.c").read_text(encoding="utf-8")
    ok(".floats" not in text, "no product of f32 brings it to its scale")
    (sx, zx), (sy, zy) = ((float(s), int(z)) for s, z in re.findall(
        r"tc_(?:de)?quantize\(\w+, tc_full" + NUMBER + r"F32\), tc_full" + NUMBER + r"I8\)\)", text)[:2])
    stored = st.read(folder / "out" / "model.safetensors")
    w, scale, bias = (stored[f"fc.{part}"][2] for part in ("weight", "scale", "bias"))
    called = run("run", folder / "out" / "model.c", "--inputs", folder / "data", "-o", folder / "y", "--target",
                 "reference")
    if not ok(called.returncode == 0, "and runs"):
        note(called.stderr)
        done()
    sx, sy = f32(sx), f32(sy)
    q = [int(max(-128, min(127, round(f32(v / sx)) + zx))) for v in x]
    want = []
    for i in range(60):
        for j in range(5):
            total = sum((q[9 * i + k] - zx) * w[9 * j + k] for k in range(9)) + bias[j]
            y = scaled(total, sx * scale[j] / sy) + zy
            want.append(f32((max(-128, min(127, y)) - zy) * sy))
    equal([f32(v) for v in st.read(folder / "y")["y"][2]], want, "every result is that of two roundings")
done()
