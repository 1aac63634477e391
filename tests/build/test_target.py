# SPDX-License-Identifier: Apache-2.0
"""Target files: those of the project, and every mistake in one of the user's."""
import tempfile
from dataclasses import replace
from pathlib import Path

from tap import done, equal, ok, raises
from tensor_compile import target
from tensor_compile.errors import UserError
from tensor_compile.instruction_sets import instruction_set

for name in target.names():
    loaded = target.load(target.find(name))
    equal(loaded.name, name, f"{name}: its name is its file's")
    ok(all(i in target.ARCHITECTURES[loaded.arch] for i in loaded.isas), f"{name}: instruction sets of its arch")

x86 = target.load(target.find("x86_64"))
equal(x86.with_isas(("avx512", "x86_64")).isas, ("x86_64", "avx512"), "instruction sets keep the order of preference")
raises(UserError, lambda: x86.with_isas(("neon",)), "unknown instruction set 'neon' for x86_64", "a foreign set")
raises(UserError, lambda: target.find("z80"), "unknown target 'z80'", "an unknown target")
raises(UserError, lambda: target.find("./no.toml"), "no such target file", "a file that is not there")

reads = replace(x86, l2_read=20.0, memory_read=4.0)
equal((x86.reads, reads.reads), (target.Reads(64, 32, 10, 10), target.Reads(64, 20, 4, 4)),
      "what a file does not say of reads is assumed")
far = replace(reads, l3_read=9.0)
equal([far.reads.of(size, far) for size in (far.l3 // 2, far.l3)], [9, 4], "what the last cache holds comes from there")
equal([replace(x86, fma=fma).fmas(instruction_set(isa)) for fma in (0.0, 16.0, 32.0) for isa in ("avx2", "avx512")],
      [2, 2, 2, 1, 2, 2], "vectors that a core multiplies in a cycle, by the floats that it does")

good = target.find("x86_64").read_text(encoding="utf-8")


def mistake(old: str, new: str, message: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        path.write_text(good.replace(old, new), encoding="utf-8")
        raises(UserError, lambda: target.load(path), message, f"{old.strip()} -> {new.strip() or '(nothing)'}")


mistake("l1d = 32768", "", "key 'l1d' is missing")
mistake("l1d = 32768", "l1d = '32K'", "'l1d' must be an integer")
mistake("l1d = 32768", "l1d = -1", "'l1d' must not be negative")
mistake("l1d = 32768", "l1d = true", "'l1d' must be an integer")
mistake("line = 64", "lines = 64", "unknown key 'lines'")
mistake("line = 64", "line =", "not a target file: ")
mistake("line = 64", "line = 64\nl2_read = '32'", "'l2_read' must be a number")
mistake("line = 64", "line = 64\nl2_read = -1.5", "'l2_read' must not be negative")
mistake("line = 64", "line = 64\nfma = inf", "'fma' must be finite")
mistake("line = 64", "line = 64\nfma = nan", "'fma' must be finite")
mistake('arch = "x86_64"', 'arch = "m68k"', "unknown arch 'm68k'")
mistake('isas = ["x86_64", "avx2", "avx512"]', 'isas = ["sse9"]', "unknown instruction set 'sse9'")
mistake('isas = ["x86_64", "avx2", "avx512"]', "isas = []",
        "'isas' must name at least one instruction set and 'threads' be at least 1")
mistake('isas = ["x86_64", "avx2", "avx512"]', "isas = [1]", "'isas' must be a list of strings")
mistake("panel = 16", "panel = 5", "'panel' must be 4 or 16")
mistake("index_bits = 64", "index_bits = 16", "'index_bits' must be 32 or 64")
mistake("threads = 16", "threads = 0", "'threads' be at least 1")
done()
