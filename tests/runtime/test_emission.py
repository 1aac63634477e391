# SPDX-License-Identifier: Apache-2.0
"""What holds for the text of header and driver and for the core's objects, whatever they compute."""
from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import make_model
import tap
from tensor_compile.emit.interface import MAX_RANK
from tensor_compile.emit.steps import PIECE_WORK
from tensor_compile.emit.weights import ABI
from tensor_compile.emit.work import WORK_PER_AWAKE_THREAD, WORK_PER_BARRIER, WORK_PER_THREAD, program_barriers, \
    team_worth
from tensor_compile.loops.contraction_schedule import LARGE_TEAM
from tensor_compile.loops.program_ir import Loop
from tensor_compile.symbolic import Sym
from tensor_compile.target import ARCHITECTURES

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
TESTS, INCLUDE = ROOT / "tests" / "runtime", ROOT / "runtime" / "include"
CORE = sorted((ROOT / "runtime" / "core").glob("*.c"))
HOSTED = [ROOT / "runtime" / "hosted" / name for name in ("environment.c", "file.c", "places.c", "pool.c", "sha256.c")]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
M4F = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
SMALL = ["-Os", "-std=c11", "-ffreestanding", "-ffunction-sections", "-fdata-sections",
         "-fno-asynchronous-unwind-tables"]


def run(command: list, work: Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], cwd=work, capture_output=True, text=True, check=False)


def passes(command: list, work: Path, name: str) -> bool:
    result = run(command, work)
    if not tap.ok(result.returncode == 0, name):
        tap.note(result.stderr + result.stdout)
        return False
    return True


def generate(work: Path, name: str, weights: str, target: str) -> None:
    made = run([sys.executable, TESTS / "make_model.py", name, weights, target, f"{name}.c", f"{name}.h", f"{name}.S",
                f"{name}.bin"], work)
    assert made.returncode == 0, made.stderr


def headers_alone(work: Path) -> None:
    own = sorted((INCLUDE / "tensor_compile").glob("*.h"))
    for compiler, language, standard in (("gcc", "c", "c11"), ("clang", "c", "c11"), ("g++", "c++", "c++17"),
                                         ("clang++", "c++", "c++17")):
        for header in [Path("fake.h"), Path("fakex.h"), *own]:
            name = f"{header.name} alone, {compiler} {standard}"
            if header.name in ("driver.h", "fetching.h") and language == "c++":
                continue  # of generated C alone
            if not shutil.which(compiler):
                tap.skip(name, f"no {compiler}")
                continue
            (work / "alone.c").write_text(f'#include "{header}"\n', encoding="utf-8")
            passes([compiler, "-x", language, f"-std={standard}", *WARNINGS, f"-I{INCLUDE}", "-I.", "-fsyntax-only",
                    "alone.c"], work, name)


def constants(work: Path) -> None:
    """What generator and headers both have is the same number."""
    for name, value in (("TC_ABI", ABI), ("TC_MAX_RANK", MAX_RANK), ("TC_PIECE_WORK", PIECE_WORK),
                        ("TC_LARGE_TEAM", LARGE_TEAM)):
        (work / "constant.c").write_text('#include "tensor_compile/driver.h"\n#include "tensor_compile/fetching.h"\n'
                                         f'_Static_assert({name} == {value}, "");\n', encoding="utf-8")
        passes(["gcc", "-std=c11", f"-I{INCLUDE}", "-fsyntax-only", "constant.c"], work, f"{name} is {value}")


def barriers() -> None:
    """How many barriers a variant says that its threads meet at: those of the steps, of a few iterations of a loop."""
    plan = make_model.model("fake")
    program = plan.functions[0].variants[-1].program
    equal = tap.equal
    equal(program_barriers(program), 2, "one behind the checks, one where a step reads what others wrote")
    *_, last = program.steps
    inner = [replace(last, barrier=True), last]
    for iterations, want in ((3, 3 * 2), (100, 4 * 2)):
        loop = Loop("loop", Sym("i", 0, iterations - 1), inner, iteration_barrier=True)
        equal(program_barriers(replace(program, steps=[*program.steps, loop])), 2 + want,
              f"{iterations} iterations, each behind a barrier, with one in it")


def teams(work: Path) -> None:
    """How many threads a call is worth, as `tune` takes it, is what the core gives: at sizes where a thread
    more is, beside them, and at others."""
    draw = random.Random(1)
    each = [(barriers, size) for barriers in (0, 1, 2, 5, 12, 13, 40, 1000)
            for size in (WORK_PER_THREAD, WORK_PER_AWAKE_THREAD + barriers * WORK_PER_BARRIER)]
    calls = [(threads * size + more, barriers, most) for barriers, size in each for most in (1, 2, 3, 6, 64, 256)
             for threads in (1, 2, 3, 5, 6, 7, 64, 65, 256) for more in (-1, 0, 1)]
    calls += [(size, barriers, most) for barriers in (0, 9) for most in (1, 16, 1000) for size in (0, 1, (1 << 63) - 1)]
    calls += [(draw.randrange(1 << draw.randrange(1, 40)), draw.randrange(1 << draw.randrange(8)),
               draw.randrange(1, 300)) for _ in range(5000)]
    others = [source for source in CORE if source.name != "run.c"]
    if not passes(["gcc", "-std=c11", f"-I{INCLUDE}", TESTS / "team_sizes.c", *others, "-o", "team_sizes"], work,
                  "a program that asks the core for teams"):
        return
    text = "".join(f"{size} {barriers} {most}\n" for size, barriers, most in calls)
    said = subprocess.run([work / "team_sizes"], input=text, capture_output=True, text=True, check=True).stdout.split()
    wrong = [(call, got) for call, got in zip(calls, map(int, said), strict=True) if team_worth(*call) != got]
    tap.equal(wrong[:5], [], f"of {len(calls)} calls the core gives each the threads that it is worth")
    tap.ok(len({team_worth(*call) for call in calls}) > 100, "which are many numbers")


def freestanding(work: Path) -> None:
    for compiler, nm, flags in (("gcc", "nm", []), ("clang", "nm", []), ("arm-none-eabi-gcc", "arm-none-eabi-nm", M4F)):
        if not shutil.which(compiler):
            tap.skip(f"the core is freestanding, {compiler}", f"no {compiler}")
            continue
        objects = []
        for source in [*CORE, Path("fake.c" if compiler != "arm-none-eabi-gcc" else "fakem.c")]:
            out = f"{source.stem}.o"
            result = run([compiler, *SMALL, *WARNINGS, *flags, f"-I{INCLUDE}", "-c", source, "-o", out], work)
            tap.ok(result.returncode == 0, f"{source.name} compiles, {compiler}")
            objects.append(out)
        symbols = [line.split() for line in run([nm, *objects], work).stdout.splitlines() if len(line.split()) >= 2]
        needed = {s[-1] for s in symbols if s[-2] == "U"}
        defined = {s[-1] for s in symbols if s[-2] != "U"}
        missing = {s for s in needed - defined if not re.match(r"tck_|fakem?_weights_data|__aeabi_", s)}
        tap.ok(missing <= {"memcpy", "memset", "memmove"}, f"core and driver need no library, {compiler}")
        sections = [line.split() for line in run([nm.replace("nm", "size"), "-A", *objects], work).stdout.splitlines()]
        # .data.rel.ro is constant once loaded: tables of pointers in position-independent code
        writable = [s[0] for s in sections if len(s) == 3 and re.match(r"\.(data(?!\.rel\.ro)|s?bss|tdata|tbss)", s[0])
                    and s[1] != "0"]
        tap.equal(writable, [], f"core and driver have no writable data, {compiler}")


def small(work: Path) -> None:
    sizes = run(["size", "-t", *[f"{c.stem}.o" for c in CORE], "fake.o"], work).stdout.splitlines()[-1].split()
    total = int(sizes[0]) + int(sizes[1])
    tap.ok(total < 16 * 1024, f"runtime and dispatch: {total} bytes, less than 16 KiB")


def lean(work: Path) -> None:
    """Contexts and calls of firmware: what a model needs beside its kernels and its driver."""
    if not shutil.which("arm-none-eabi-gcc"):
        tap.skip("the small runtime", "no arm-none-eabi-gcc")
        return
    objects = [f"{name}.o" for name in ("lean", "fakem")]
    for source, out in zip((ROOT / "runtime/lean/lean.c", Path("fakem.c")), objects, strict=True):
        result = run(["arm-none-eabi-gcc", *SMALL, *WARNINGS, *M4F, f"-I{INCLUDE}", "-c", source, "-o", out], work)
        tap.ok(result.returncode == 0, f"{source.name} compiles")
    total = int(run(["arm-none-eabi-size", "lean.o"], work).stdout.splitlines()[-1].split()[0])
    tap.ok(0 < total < 1024, f"the small runtime: {total} bytes, less than 1 KiB")
    symbols = [line.split() for line in run(["arm-none-eabi-nm", *objects], work).stdout.splitlines()]
    symbols = [s for s in symbols if len(s) >= 2]
    needed = {s[-1] for s in symbols if s[-2] == "U"}
    needed -= {s[-1] for s in symbols if s[-2] != "U"}
    missing = {s for s in needed if not re.match(r"tck_|fakem_weights_data|__aeabi_|tc_state|tc_cpu_detect", s)}
    tap.ok(missing <= {"memcpy", "memset", "memmove"}, f"it has all that a driver calls: {missing}")


def sanitized(work: Path, sanitizer: str) -> None:
    compiler = shutil.which("clang") or shutil.which("gcc")
    if os.uname().machine != "x86_64" or not compiler:
        tap.skip(f"calls under -fsanitize={sanitizer}", "x86-64 with a compiler is needed")
        return
    flags = ["-std=c11", "-O1", "-g", f"-fsanitize={sanitizer}", "-D_POSIX_C_SOURCE=200809L", f"-I{INCLUDE}", "-I.",
             f"-I{TESTS}", f"-I{TESTS.parent}", f"-I{ROOT / 'templates' / 'include'}"]
    kernels = []
    for isa in ARCHITECTURES["x86_64"][1:]:
        kernels.append(f"kernels_{isa}.o")
        run([compiler, *flags, f"-DSET={isa}", "-c", TESTS / "kernels.c", "-o", kernels[-1]], work)
    model = [*kernels, "fake.c", "fakex.c", "fake.S"]
    apart = work / sanitizer   # the runtime, which all of the programs have, compiled once
    apart.mkdir()
    run([compiler, *flags, "-c", *CORE, *HOSTED], apart)
    runtime = sorted(apart.glob("*.o"))
    # A child behind fork() starts a pool of its own: ThreadSanitizer ends the child there unless it is told not to.
    os.environ["TSAN_OPTIONS"] = f"die_after_fork=0:{os.environ.get('TSAN_OPTIONS', '')}"
    for test, objects, arguments in (("test_calls", model, ["fakex.bin"]), ("test_teams", model, []),
                                     ("test_short_calls", model, []), ("test_ahead", [], [])):
        built = run([compiler, *flags, TESTS / f"{test}.c", *objects, *runtime, "-lpthread", "-lm", "-o", test], work)
        name = f"{test} under -fsanitize={sanitizer}"
        if built.returncode:
            tap.skip(name, f"{Path(compiler).name} cannot link it")
            continue
        result = run([f"./{test}", *arguments], work)
        if not tap.ok(result.returncode == 0 and "runtime error" not in result.stderr, name):
            tap.note(result.stdout + result.stderr)


def plain_driver(work: Path) -> None:
    """Generated text is a function of the plan alone."""
    first = (work / "fake.c").read_text(), (work / "fake.h").read_text()
    again = work / "again"
    again.mkdir()
    generate(again, "fake", "embed", "x86_64")
    tap.ok(first == ((again / "fake.c").read_text(), (again / "fake.h").read_text()),
           "driver and header are reproducible")


def own_scratch(work: Path) -> None:
    """A thread's scratch is the same memory in every step: it stays in its own caches."""
    runs = re.findall(r"^static void tcd_\w+_run\(.*?^}$", (work / "fake.c").read_text(), re.M | re.S)
    tap.equal(len(runs), 2, "two variants run")
    for run_text in runs:
        apart = re.findall(r"offsets\[\d+\] \+ \(uint64_t\)thread \* ([^,}]+)", run_text)
        tap.ok(len(apart) == 2 and len(set(apart)) == 1, f"scratch of two steps is {' and '.join(apart)} apart")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        generate(work, "fake", "embed", "x86_64")
        generate(work, "fakex", "external", "x86_64")
        generate(work, "fakem", "embed", "cortex-m4f")
        plain_driver(work)
        own_scratch(work)
        headers_alone(work)
        constants(work)
        teams(work)
        barriers()
        freestanding(work)
        run(["gcc", *SMALL, f"-I{INCLUDE}", "-c", *CORE, "fake.c"], work)
        small(work)
        lean(work)
        sanitized(work, "thread")
        sanitized(work, "address,undefined")
    tap.done()


main()
