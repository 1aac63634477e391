# SPDX-License-Identifier: Apache-2.0
"""Stripes that save time: with a target file of small caches a build has them untuned where they pay with any team; a
lock's form decides else. Every form and team gives the interpreter's bits, and `tune` measures the form."""
from __future__ import annotations

import json
import os
import random
import re
import struct
import tempfile
from pathlib import Path

import small_model
from small_model import ISA, ROOT
from tap import done, equal, note, ok, skip
from tensor_compile.compile import assemble, lock as locks, record, tune, tune_model, tune_variants
from tensor_compile.compile.harness import operations
from tensor_compile.compile.progress import Progress
from tensor_compile.loops.loop_ir import ContractionKernel, GroupedContractionKernel
from tensor_compile.loops.program_ir import leaves, regions, Tiles, Variant
from tensor_compile.loops.variant_form import CHAINS, VariantForm

TEAMS = 1, 2, 5
WEIGHTS = {"a": (32, 8, 1, 1), "b": (32, 1, 5, 5), "c": (8, 32, 1, 1), "d": (16, 8, 3, 3), "e": (8, 16, 1, 1)}
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(images)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 10, 8, 48, 24);
    tc_weights(g, "weights.safetensors");
    tc_tensor y = tc_clamp(tc_conv2d(x, tc_weight(g, "a")), 0, 6);
    y = tc_clamp(tc_conv2d(y, tc_weight(g, "b"), .stride = {2, 2}, .padding = {2, 2}, .groups = 32), 0, 6);
    y = tc_conv2d(y, tc_weight(g, "c"));
    y = tc_relu(tc_conv2d(y, tc_weight(g, "d"), .padding = {1, 1}));
    y = tc_max_pool2d(y, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1});
    tc_output(g, "y", tc_conv2d(y, tc_weight(g, "e")));
}
"""


def write_weights(path: Path) -> None:
    draw, header, data = random.Random(1), {}, b""
    for name, shape in WEIGHTS.items():
        count = shape[0] * shape[1] * shape[2] * shape[3]
        begin = len(data)
        data += struct.pack(f"<{count}f", *(draw.uniform(-1, 1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def target(folder: Path, threads: int) -> str:
    """The path of this machine's target file with small caches."""
    text = (ROOT / "targets" / f"{os.uname().machine}.toml").read_text(encoding="utf-8")
    for name, size in (("threads", threads), ("l2", 1 << 17), ("l3", 1 << 19)):
        text = re.sub(rf"(?m)^{name} = \d+", f"{name} = {size}", text)
    path = folder / f"small{threads}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def stripes_of(variant: Variant) -> int:
    return sum(isinstance(region, Tiles) and bool(region.windows) for region in regions(variant.program.steps))


def main(folder: Path) -> None:
    small_model.prepare(folder, MODEL)
    write_weights(folder / "weights.safetensors")
    lock = folder / "model.tuning.lock"
    words = ("model.c", "--isa", ISA, "--target-file", target(folder, TEAMS[-1]))
    result = small_model.run(folder, "build", *words, "-o", "build", "--verify")
    ok(result.returncode == 0, "build") or note(result.stderr)
    (options,) = record.builds(folder / "build")
    of = tune_model.planned(options)
    (key,) = of.keys.found.values()
    found, results = {}, set()
    for chains in CHAINS:
        locks.write(lock, {key: locks.Entry(key, VariantForm(chains, TEAMS[-1]).name, 1.0, False, "c", "0")})
        (place := folder / chains).mkdir()
        with Progress() as progress:
            built = tune_variants.Built(assemble.run(options, progress), options, place)
        (function,) = built.made.compiled.plan.functions
        (variant,) = function.variants
        found[chains] = stripes_of(variant)
        for threads in TEAMS:
            built.profile(function, variant, threads, 1)
            results.add(built.results(function, variant))
        for kernel in (s.kernel for s in leaves(variant.program.steps)
                       if isinstance(s.kernel, (ContractionKernel, GroupedContractionKernel))):
            sizes = tune.sizes(kernel)
            ok(all(operations(part, sizes) > 0 for part in kernel.contractions),
               f"{chains}: {kernel.label} is measured with rows") or note(repr(sizes))
        checked = small_model.run(folder, "check", *words, "--threads", str(TEAMS[-1]))
        ok(checked.returncode == 0, f"{chains}: the interpreter's bits") or note(checked.stdout + checked.stderr)
    ok(found["kernels"] == 0 < found["regions"] <= found["stripes"], "stripes are where a form has them") or \
        note(repr(found))
    ok(len(results) == 1 and b'"y"' in next(iter(results)), "all forms and teams give the same bits") or \
        note(repr([r[:300] for r in results]))
    lock.unlink()
    with Progress() as progress:
        wanted = tune_variants.left(lock, of.plan, of.keys, of.compiler, False)
        measured = list(tune_variants.tune(options, wanted, of.keys, of.compiler, progress, True))
    equal([m.key for m in measured], [key], "tune measures the variant")
    equal(tune_variants._others(of.plan, options), ["stripes", "kernels"],
          "beside regions it builds stripes and kernels")
    explained = small_model.run(folder, "explain", *words).stdout
    ok("runs in stripes of" in explained, "explain names the region") or note(explained)


if not ISA:
    skip("stripes", f"no target of {os.uname().machine}")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
done()
