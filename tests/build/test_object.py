# SPDX-License-Identifier: Apache-2.0
"""What holds for the objects and headers of real models, however they compute: what they need and offer, how small the
digits example is beside its kernels, headers as C11 and C++17, bounds of arenas at all sizes, kernels by another
compiler, and two builds in one cache at the same time."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip
from tensor_compile.compile import assemble, elf
from tensor_compile.compile.options import Options
from tensor_compile.compile.progress import Progress

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
INCLUDE = ROOT / "runtime" / "include"
CORE = sorted((ROOT / "runtime" / "core").glob("*.c"))
MODELS = {"digits": ROOT / "examples" / "digits" / "model.c", "decoder": ROOT / "tests" / "decoder" / "model.c"}
ISA = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
BARE = {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}  # the last is the linker's own
RUNTIME = re.compile(r"tc_(abi_\d+|run\w*|call\w*|step|shared_step|pieces_of|pieces_next|barrier|fault|faulted|function_arena_bytes)$")

# Every size of the decoder's dims with teams of 1 to beyond the largest: the macros bound what a call needs.
BOUNDS = """
#include "model.h"
#include <stdio.h>
int main(void)
{
    size_t prefill = 0, decode = 0;
    for (tc_index threads = 1; threads <= 300; threads += threads < 9 ? 1 : 97) {
        for (tc_index n = DECODER_MODEL_LENGTH_MIN; n <= DECODER_MODEL_LENGTH_MAX; ++n) {
            size_t bytes = decoder_model_prefill_arena_bytes(n, threads);
            prefill = bytes > prefill ? bytes : prefill;
        }
        for (tc_index n = DECODER_MODEL_PAST_MIN; n <= DECODER_MODEL_PAST_MAX; ++n) {
            size_t bytes = decoder_model_decode_arena_bytes(n, threads);
            decode = bytes > decode ? bytes : decode;
        }
    }
    printf("%zu %zu %zu %zu\\n", prefill, (size_t)DECODER_MODEL_PREFILL_ARENA_BYTES, decode,
           (size_t)DECODER_MODEL_DECODE_ARENA_BYTES);
    printf("%zu\\n", decoder_model_prefill_arena_bytes(DECODER_MODEL_LENGTH_MAX + 1, 1));
    return 0;
}
"""

# The bits of 33 images' probabilities, by calls of 1 and of 32.
CLASSIFY = """
#include "model.h"
#include <stdio.h>
#include <string.h>
static tc_context context;
static _Alignas(64) unsigned char arena[DIGITS_ARENA_BYTES];
static float images[33 * 64], out[33 * 10];
int main(void)
{
    for (unsigned i = 0; i < 33 * 64; ++i)
        images[i] = (float)(i * 2654435761u >> 20) / 4096.0f;
    tc_context_init(&context, arena, sizeof arena);
    if (digits(&context, &(digits_args){.batch = 1, .image = images, .probabilities = out}) ||
        digits(&context, &(digits_args){.batch = 32, .image = images + 64, .probabilities = out + 10}))
        return puts(context.error.message), 1;
    for (unsigned i = 0, bits; i < 33 * 10; ++i)
        memcpy(&bits, out + i, 4), printf("%08x\\n", bits);
    return 0;
}
"""

with tempfile.TemporaryDirectory() as place:
    root = Path(place)
    cache = root / "cache"

    def command(name: str, out: str, *options: str) -> list[str]:
        return [*TOOL, "build", str(MODELS[name]), "-o", str(root / out), "--build-cache", str(cache), *ISA, *options]

    def good(result: subprocess.CompletedProcess, name: str) -> bool:
        if not ok(result.returncode == 0, name):
            note(result.stdout + result.stderr)
        return result.returncode == 0

    def run(*words: object, cwd: Path = root) -> subprocess.CompletedProcess:
        return subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, check=False)

    # Two builds of one model in one empty cache, at the same time; every part is wanted by both. (Programs of the build
    # machine: test_user_cache.py.)
    both = [subprocess.Popen(command("digits", out, "-j", "1", "--specialize", "batch=1"), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True) for out in ("digits", "twin")]
    told = [process.communicate()[0] for process in both]
    equal([(p.returncode, text) for p, text in zip(both, told)], [(0, "")] * 2, "two builds share an empty cache")
    for name in ("model.o", "model.h"):
        equal((root / "digits" / name).read_bytes(), (root / "twin" / name).read_bytes(), f"and give the same {name}")
    left = [p for kind in cache.iterdir() if kind.is_dir() for p in kind.iterdir()
            if p.name.startswith(("new-", "run-"))]
    equal(left, [], "and leave nothing unfinished in it")
    if not good(run(*command("decoder", "decoder", "--weights", "external")),
                "a model with states and external weights"):
        done()

    for name in ("digits", "decoder"):
        folder = root / name
        found = elf.read(folder / "model.o")
        needed = [n for n in found.undefined if n not in BARE and not RUNTIME.match(n)]
        equal(needed, [], f"{name}: the object needs the runtime's core, memcpy, memset and memmove alone")
        declared = set(re.findall(r"\b(\w+)(?:\(tc_|\(tc_index|;)", (folder / "model.h").read_text(encoding="utf-8")))
        extra = [n for n in found.exported if n not in declared]
        equal(extra, [], f"{name}: it offers what the header declares, no more")
        equal(sum(s.size for s in found.sections if s.role in ("data", "bss")
                  and not s.name.startswith(".data.rel.ro")), 0,
              f"{name}: nothing in it is writable")
        for compiler, language, standard in (("gcc", "c", "c11"), ("clang", "c", "c11"), ("g++", "c++", "c++17"),
                                             ("clang++", "c++", "c++17")):
            title = f"{name}: the header alone, {compiler} -std={standard}"
            if not shutil.which(compiler):
                skip(title, f"no {compiler}")
                continue
            (folder / "alone.c").write_text('#include "model.h"\n', encoding="utf-8")
            good(run(compiler, "-x", language, f"-std={standard}", *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only",
                     "alone.c",
                     cwd=folder), title)

    # Size: the driver as it was linked, and the core as the Meson project compiles it.
    options = Options(str(MODELS["digits"]), "model.c", str(root / "x.o"), str(root / "x.h"), str(cache),
                      programs=os.environ["TC_TESTS_CACHE"], specialize=(("batch", (1,)),), isas=tuple(ISA[1:]))
    with Progress() as progress:
        driver = elf.read(assemble.run(options, progress).driver.path)
    good(run("cc", "-Os", "-std=c11", "-ffreestanding", "-ffunction-sections", "-fdata-sections",
             "-fno-asynchronous-unwind-tables", f"-I{INCLUDE}", "-c", *CORE), "the core compiles")
    parts = [driver, *(elf.read(root / f"{source.stem}.o") for source in CORE)]
    size = sum(part.size(role) for part in parts for role in ("code", "rodata", "data", "bss"))
    ok(size < 16 << 10, f"digits: runtime and dispatch take {size} bytes, less than 16 KiB")

    (root / "bounds.c").write_text(BOUNDS, encoding="utf-8")
    if good(run("cc", "-std=c11", *WARNINGS, f"-I{root / 'decoder'}", f"-I{INCLUDE}", "bounds.c",
                root / "decoder" / "model.o",
                *CORE, "-o", "bounds"), "a program that asks for arenas"):
        lines = run(root / "bounds").stdout.splitlines()
        prefill, prefill_bound, decode, decode_bound = map(int, lines[0].split())
        ok(0 < prefill <= prefill_bound and 0 < decode <= decode_bound,
           f"no size and team needs more than the macros say: {lines[0]}")
        equal(lines[1], "0", "and sizes out of range have no answer")

    # Kernels and driver by the other compiler: the same bits.
    (root / "classify.c").write_text(CLASSIFY, encoding="utf-8")
    bits = {}
    for compiler, out in (("gcc", "digits"), ("clang", "clang")):
        if not shutil.which(compiler):
            skip(f"digits by {compiler}", f"no {compiler}")
            continue
        if out != "digits" and not good(run(*command("digits", out, "--cc", compiler)),
                                        f"digits is built by {compiler}"):
            continue
        if good(run(compiler, "-std=c11", *WARNINGS, f"-I{root / out}", f"-I{INCLUDE}", "classify.c",
                    root / out / "model.o",
                    *CORE, "-o", out + "-program"), f"and linked by {compiler}"):
            result = run(root / f"{out}-program")
            good(result, f"and runs ({compiler})")
            bits[compiler] = result.stdout
    if len(bits) == 2:
        equal(bits["clang"], bits["gcc"], "GCC and Clang: the same bits")
done()
