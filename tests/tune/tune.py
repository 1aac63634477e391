# SPDX-License-Identifier: Apache-2.0
"""`tune` on kernels built by hand: it proves, measures, writes the lock, and leaves alone what still holds."""
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from cases import convolution, dim, matmul
from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import lock as locks
from tensor_compile.compile import harness, toolchain, tune
from tensor_compile import target as targets
from tensor_compile.compile.cache import Cache
from tensor_compile.emit import candidates as table, micro
from tensor_compile.emit.key import kernel_key
from tensor_compile.errors import UserError
from tensor_compile.loops.contraction_schedule import parse
from tensor_compile.symbolic import sym

ARCH = os.uname().machine
ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}


def main(folder: Path) -> None:
    cache = Cache(folder / "cache")
    compiler = toolchain.detect(("cc",), cache.root, "compiler")
    target = targets.load(targets.find(ARCH)).with_isas((ISA[ARCH],))
    tools = harness.Toolset(compiler, target, (), cache)
    kernels = [matmul(6, 32, 24), matmul(sym(dim("batch", 8)), 16, 8), convolution(1, 4, 6, 6, 16, (3, 3), pad=1)]
    path = folder / "model.tuning.lock"
    said: list[str] = []
    result = tune.tune(kernels, tools, path, rounds=4, say=said.append)
    equal(said[2:], [f"measuring {n} of 3 kernels" for n in (1, 2, 3)], "it says how far it is")
    equal((len(result.timed), result.wrong, result.skipped), (3, [], set()), "every kernel is measured")
    equal({key for key, time in result.before.items() if time > 0}, {key for key, *_ in result.timed},
          "and so is what was used before")
    entries = locks.read(path)
    equal(sorted(entries), sorted(kernel_key(k, ISA[ARCH], target.name) for k in kernels), "the lock has their keys")
    ok(all(table.refusal(k, parse(entries[kernel_key(k, ISA[ARCH], target.name)].candidate)) is None
           for k in kernels), "the winners are legal")
    frozen = locks.Tuning.load("frozen", path, target)
    for kernel in kernels:
        frozen.schedule(kernel, ISA[ARCH])
    equal(frozen.finish(), [], "a frozen build accepts it")
    before = path.read_text(encoding="utf-8")
    equal(tune.tune(kernels, tools, path).timed, [], "a second run measures nothing")
    equal(path.read_text(encoding="utf-8"), before, "and leaves the file as it is")
    kept = entries[min(entries)]
    stale = locks.Entry(kept.key, "tc_contraction_f32_99x16__" + ISA[ARCH], 1.0, False, kept.compiler, kept.templates)
    locks.write(path, {**entries, kept.key: stale})
    equal([key for key, *_ in tune.tune(kernels, tools, path, rounds=2).timed], [kept.key], "a stale entry is measured")
    raises(UserError, lambda: tune.tune(kernels, harness.Toolset(compiler, target, (), cache, ("/no/such/emulator",)),
                                        path, again=True), "does not start", "error: a wrapper that does not exist")
    wrong_candidate(folder, tools, kernels[0])


def wrong_candidate(folder: Path, tools: harness.Toolset, kernel: object) -> None:
    """A kernel whose sums start elsewhere."""
    candidate = table.legal(kernel, ISA[ARCH], tools.target)[0]
    case = harness.Case("case", kernel, {}, (candidate,), candidate)
    library = micro.library
    try:
        micro.library = lambda micros, isa: library(micros, isa).replace("tct_zero_f32();", "tct_splat_f32_(1.0f);", 1)
        path = harness.program([case], tools, folder / "spoilt")
    finally:
        micro.library = library
    output = subprocess.run([str(path), "time", "2"], capture_output=True, text=True, check=False).stdout
    if not ok(f"wrong {candidate.name}" in output and "instead of" in output and "winner" not in output,
              "a wrong candidate is found and not timed"):
        note(output)


if ARCH not in ISA:
    skip("tune", f"no target of {ARCH}")
    done()
with tempfile.TemporaryDirectory() as name:
    main(Path(name))
done()
