# SPDX-License-Identifier: Apache-2.0
"""--bake-values: models whose weights have rows and columns of zeros, in every place that a channel is handed through,
beside the interpreter on the graph as it was recorded; what is left out; weights of another build."""
from __future__ import annotations

import json
import os
import random
import re
import struct
import subprocess
import tempfile
from pathlib import Path

import forked
from tap import done, equal, note, ok

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"
# Padding is -3, the zero of all tensors. Half of the biases are zero: channels that they make constant equal it.
MODEL = """#include <tensor_compile/model.h>
#define CONV(of, name, ...) tc_quantized_conv(.x = {of, 0.5, -3}, .w = tc_weight(g, name ".w"), \\
    .w_scale = tc_weight(g, name ".s"), .bias = tc_weight(g, name ".b"), .scale = 0.5, .zero = -3, __VA_ARGS__)
TC_MODEL(baked)
{
    tc_weights(g, "weights.safetensors");
    tc_dim n = tc_dynamic(g, "n", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_I8, n, 3, 9, 8);
    tc_tensor a = CONV(x, "a", .padding = {1, 1});
    tc_tensor b = CONV(a, "b", .padding = {1, 1}, .groups = 16);
    tc_tensor c = CONV(b, "c", .stride = {1, 1});
    tc_tensor d = tc_quantized_add(.a = {a, 0.5, -3}, .b = {c, 0.5, -3}, .scale = 0.7, .zero = -3);
    tc_tensor e = CONV(d, "e", .padding = {1, 1});
    tc_tensor f = tc_max_pool2d(e, {2, 2});
    tc_tensor h = CONV(f, "h", .stride = {2, 2});
    tc_tensor i = tc_reshape(tc_quantized_avg_pool2d(h, {2, 2}), n, 16);
    tc_output(g, "y", tc_quantized_linear(.x = {i, 0.5, -3}, .w = tc_weight(g, "i.w"), .w_scale = tc_weight(g, "i.s"),
                                          .bias = tc_weight(g, "i.b"), .scale = 0.5, .zero = 2));
    tc_output(g, "all", CONV(f, "j", .stride = {1, 1}));
}
"""
# Channels that are -0 beside a border of +0: 1/x tells them apart.
ZEROS = """#include <tensor_compile/model.h>
TC_MODEL(zeros)
{
    tc_weights(g, "zeros.safetensors");
    tc_tensor x = tc_conv2d(tc_input(g, "x", TC_I32, 1, 4, 5, 5), tc_weight(g, "first"));
    x = tc_reciprocal(tc_pad(tc_neg(tc_cast(x, TC_F32)), .low = {0, 0, 1, 1}, .high = {0, 0, 1, 1}));
    x = tc_cast(tc_minimum(tc_maximum(x, -9.0), 9.0), TC_I32);
    tc_output(g, "y", tc_conv2d(x, tc_weight(g, "second")));
}
"""
# Opens a weights file; 1: it is refused.
OPEN = """#include "model.h"
#include <tensor_compile/hosted.h>
int main(int argc, char **argv)
{
    tc_weights_file file;
    return argc == 2 ? baked_weights_open(&file, argv[1], 1) != TC_STATUS_OK : 2;
}
"""
SHAPES = {"a": (16, 3, 3, 3), "b": (16, 1, 3, 3), "c": (16, 16, 1, 1), "e": (16, 16, 3, 3), "h": (16, 16, 1, 1),
          "i": (5, 16), "j": (16, 16, 1, 1)}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return forked.tool(*words)


def weights(seed: int, dead: float, path: Path, factor: float = 1.0) -> None:
    """Rows of zeros for a share of the outputs, columns of zeros for a few inputs."""
    rng, header, data = random.Random(seed), {}, b""
    for name, shape in SHAPES.items():
        terms = shape[1] * (9 if len(shape) == 4 and shape[2] == 3 else 1)
        taps = terms // shape[1]
        rows = [rng.random() < dead for _ in range(shape[0])]
        columns = [rng.random() < 0.2 * dead for _ in range(shape[1])] if shape[1] > 3 else [False] * shape[1]
        values = [0 if rows[o] or columns[i] else rng.randrange(-127, 128)
                  for o in range(shape[0]) for i in range(shape[1]) for _ in range(taps)]
        bias = [0 if rng.random() < 0.5 else rng.randrange(-4000, 4000) for _ in range(shape[0])]
        scale = [factor * rng.uniform(0.5, 2) * 0.02 / terms ** 0.5 for _ in range(shape[0])]
        for part, dtype, size, text in (("w", "I8", list(shape), struct.pack(f"<{len(values)}b", *values)),
                                        ("b", "I32", [shape[0]], struct.pack(f"<{shape[0]}i", *bias)),
                                        ("s", "F32", [shape[0]], struct.pack(f"<{shape[0]}f", *scale))):
            header[f"{name}.{part}"] = {"dtype": dtype, "shape": size,
                                        "data_offsets": [len(data), len(data) + len(text)]}
            data += text
    write(path, header, data)


def write(path: Path, header: dict[str, object], data: bytes) -> None:
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    cache = ["--cache", os.environ.get("TC_TESTS_CACHE", str(folder / "cache"))]
    isa = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []
    model = folder / "model.c"
    model.write_text(MODEL, encoding="utf-8")
    file = folder / "weights.safetensors"
    few = ["--optimize", "size", *isa, *cache]
    weights(1, 0.6, file)
    result = run("check", str(model), "--bake-values", "--dims", "n=3", *few)
    if not ok(result.returncode == 0, "the bits of the recorded graph"):
        note(result.stdout[-2000:] + result.stderr[-2000:])
    result = run("explain", str(model), "--bake-values", *few)
    found = re.search(r"baked: (\d+) of (\d+) multiply-adds", result.stdout)
    ok(found is not None and int(found[1]) < int(found[2]) / 2, "explain: fewer multiply-adds of an image")

    def digest(name: str, *options: str, of: Path = model) -> bytes:
        """Of the layout that code and weights must agree on."""
        made = run("pack", str(of), *options, "-o", str(folder / name), *few)
        if not ok(made.returncode == 0, f"pack: {name}"):
            note(made.stderr)
        return (folder / name).read_bytes()[24:56]

    others = folder / "others.safetensors"
    weights(2, 0.9, others)
    baked, plain = digest("baked", "--bake-values"), digest("plain")
    ok(baked != plain, "code for these weights does not take others' layout")
    own = folder / "own"
    own.mkdir()
    (own / "model.c").write_text(MODEL, encoding="utf-8")
    weights(2, 0.9, own / "weights.safetensors")
    ok(digest("others", "--bake-values", of=own / "model.c") != baked, "nor weights with other channels")
    made = run("pack", str(model), "--bake-values", "--from", str(others), "-o", str(folder / "never"), *few)
    message = "other channels are constant or unused than in the model's own weights: no code of --bake-values fits"
    ok(made.returncode == 1 and f"{others}: error: {message}" in made.stderr and not (folder / "never").exists(),
       "which pack refuses at once") or note(made.stderr)
    alike = folder / "alike.safetensors"
    weights(1, 0.6, alike, 0.75)
    equal(digest("alike", "--bake-values", "--from", str(alike)), baked, "other values in the same channels fit")

    made = run("build", str(model), "--bake-values", "--weights", "external", "-o", str(folder / "out"), *few)
    if not ok(made.returncode == 0, "a build with a file of weights"):
        note(made.stderr)
    (folder / "open.c").write_text(OPEN, encoding="utf-8")
    hosted = [str(RUNTIME / "hosted" / name) for name in ("file.c", "sha256.c")]
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", f"-I{folder / 'out'}", f"-I{RUNTIME / 'include'}",
                    str(folder / "open.c"), *map(str, sorted((RUNTIME / "core").glob("*.c"))), *hosted,
                    str(folder / "out" / "model.o"), "-o", str(folder / "open")], check=True)
    for name, refused in (("baked", 0), ("alike", 0), ("plain", 1), ("others", 1)):
        opened = subprocess.run([str(folder / "open"), str(folder / name)], check=False)
        equal(opened.returncode, refused, f"when it is opened: {name}")

    rows = struct.pack("<32i", *range(1, 17), *[0] * 16)    # the last four of eight outputs are zero
    columns = struct.pack("<24i", *range(-12, 12))
    write(folder / "zeros.safetensors",
          {"first": {"dtype": "I32", "shape": [8, 4, 1, 1], "data_offsets": [0, 128]},
           "second": {"dtype": "I32", "shape": [3, 8, 1, 1], "data_offsets": [128, 224]}}, rows + columns)
    (folder / "zeros.c").write_text(ZEROS, encoding="utf-8")
    result = run("check", str(folder / "zeros.c"), "--bake-values", *few)
    if not ok(result.returncode == 0, "channels of -0 stay where what is beside them is +0"):
        note(result.stdout[-2000:] + result.stderr[-2000:])
done()
