# SPDX-License-Identifier: Apache-2.0
"""Target files: those of the project, and every mistake in one of the user's."""
import tempfile
from pathlib import Path

from tap import done, equal, ok, raises
from tensor_compile import target
from tensor_compile.errors import UserError

for name in target.names():
    loaded = target.load(target.find(name))
    equal(loaded.name, name, f"{name}: its name is its file's")
    ok(all(i in target.ARCHITECTURES[loaded.arch] for i in loaded.isas), f"{name}: instruction sets of its arch")

x86 = target.load(target.find("x86_64"))
equal(x86.with_isas(("avx512", "x86_64")).isas, ("x86_64", "avx512"), "instruction sets keep the order of preference")
raises(UserError, lambda: x86.with_isas(("neon",)), "unknown instruction set 'neon' for x86_64", "a foreign set")
raises(UserError, lambda: target.find("z80"), "unknown target 'z80'", "an unknown target")
raises(UserError, lambda: target.find("./no.toml"), "no such target file", "a file that is not there")

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
mistake('arch = "x86_64"', 'arch = "m68k"', "unknown arch 'm68k'")
mistake('isas = ["x86_64", "avx2", "avx512"]', 'isas = ["sse9"]', "unknown instruction set 'sse9'")
mistake('isas = ["x86_64", "avx2", "avx512"]', "isas = []",
        "'isas' must name at least one instruction set and 'threads' be at least 1")
mistake('isas = ["x86_64", "avx2", "avx512"]', "isas = [1]", "'isas' must be a list of strings")
mistake("panel = 16", "panel = 5", "'panel' must be 4 or 16")
mistake("index_bits = 64", "index_bits = 16", "'index_bits' must be 32 or 64")
mistake("threads = 16", "threads = 0", "'threads' be at least 1")
done()
