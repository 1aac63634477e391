# SPDX-License-Identifier: Apache-2.0
"""Names of folders and files that some tool on the way reads as something else: each builds, its depfile names what is
there, and Ninja reads it so; what cannot be is an error that says so."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from places import GOOD, MODEL, SIZES, fill, said, tool, weights
from tap import done, equal, note, ok, skip
from tensor_compile.compile import depfile, host_programs, toolchain
from tensor_compile.compile.cache import Cache
from tensor_compile.target import find, load

SHARED = os.environ["TC_TESTS_CACHE"]
# What tools read alike stands in one name.
STRANGE = ["a:b", "a b", "a  b", "a#b", "a$b", "a$$b", "a\\b", "a\\ b", "a\\#b", "a\\:b", "a'b", 'a"b', "a%b=c,d(e)", "-x",
           "@x", "a*b;c|d", "\u00e9", os.fsdecode(b"\xe9\xff"), "a\tb"]
ENDS = ["a:", "a\\", "a ", " a"]
# What Ninja's depfiles have no way to name: it reads the name as ended, or as another one.
NOT_NINJA = set("*;|\t")
# What they can name since some version of Ninja (1.11 cannot).
NEW_TO_NINJA = "'\""

with tempfile.TemporaryDirectory() as scratch:
    here = Path(scratch).resolve()
    ninja = shutil.which("ninja")

    def reads(character: str) -> bool:
        """Whether Ninja reads a name with that character in a depfile that has nothing else."""
        folder = here / "reads"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        name = f"a{character}b"
        (folder / name).touch()
        (folder / "one.d").write_text(f"out: {name}\n", encoding="utf-8")
        (folder / "build.ninja").write_text("rule make\n  command = touch out\n  deps = gcc\n  depfile = one.d\n"
                                            "build out: make\n", encoding="utf-8")
        subprocess.run([ninja], cwd=folder, capture_output=True, check=False)
        told = subprocess.run([ninja, "-t", "deps"], cwd=folder, capture_output=True, text=True, check=False).stdout
        return f"    {name}\n" in told

    unread = NOT_NINJA | ({c for c in NEW_TO_NINJA if not reads(c)} if ninja else set())

    def builds(folder: Path, model: str, header: str, data: str) -> None:
        """The model builds with its depfile, whose inputs are there and are what Ninja reads."""
        words = (f"./{model}" if model[0] in "-@" else model, "-o", "out", "--cache", SHARED, "--depfile", "model.d")
        name = folder.parent.name
        if not equal(said(tool(folder, *words)), GOOD, f"{name!a} builds"):
            return
        text = os.fsdecode((folder / "model.d").read_bytes())
        stem = model[:-2]
        outputs = depfile.text([f"out/{stem}.o", f"out/{stem}.h"], []).split(": ")[0]
        named = depfile.read(text, outputs)
        want = {str(folder / n) for n in (model, header, data)}
        ok(want <= set(named) and all(os.path.exists(n) for n in named), "its depfile names what is there") or note(
            f"missing: {want - set(named)}, not there: {[n for n in named if not os.path.exists(n)]}")
        if not ninja or unread & set(name):
            skip("as Ninja reads it", "there is no Ninja" if not ninja else "Ninja cannot read this name")
            return
        escaped = [p.replace("$", "$$").replace(":", "$:").replace(" ", "$ ")
                   for p in (f"out/{stem}.o", f"out/{stem}.h")]
        (folder / "build.ninja").write_bytes(os.fsencode(
            "rule make\n  command = true\n  deps = gcc\n  depfile = model.d\n"
            f"build {escaped[0]} {escaped[1]}: make\n"))
        made = subprocess.run([ninja], cwd=folder, capture_output=True, text=True, errors="surrogateescape",
                              check=False)
        told = subprocess.run([ninja, "-t", "deps"], cwd=folder, capture_output=True, check=False).stdout
        read = {os.fsdecode(line[4:]) for line in told.split(b"\n") if line.startswith(b"    ")}
        same = {os.path.normpath(n) for n in named} == {os.path.normpath(n) for n in read}
        ok(made.returncode == 0 and same, "as Ninja reads it") or note(f"{made.stdout}{set(named) ^ read}")

    for name in [*STRANGE, *ENDS]:  # folder, model, header and weights; the latter two where C can name them
        folder, model, header, data = here / name / "model", "model.c", "sizes.h", "m.safetensors"
        if name in STRANGE:
            model = f"{name}.c"
        if name in STRANGE and not set('"\\') & set(name):
            header, data = f"{name}.h", name
        fill(folder, model)
        (folder / "sizes.h").rename(folder / header)
        (folder / "m.safetensors").rename(folder / data)
        (folder / model).write_bytes(os.fsencode(MODEL.replace("sizes.h", header).replace("m.safetensors", data)))
        builds(folder, model, header, data)
    (folder / header).write_text(SIZES.replace("4", "5"), encoding="utf-8")
    (folder / data).write_bytes(weights(0.5, 5))
    before = (folder / "out" / "model.o").read_bytes()
    equal((said(tool(folder, "model.c", "-o", "out", "--cache", SHARED)),
           (folder / "out" / "model.o").read_bytes() != before),
          (GOOD, True), "a change is seen there")

    # Other commands in a folder of such a name.
    odd = here / os.fsdecode(b"\xff: \\") / "model"
    fill(odd)
    shared = Cache(Path(SHARED))   # of the build machine's programs one is made there, which shows what all need
    compiler = toolchain.detect(("cc",), shared.root, "the compiler")
    for program in (host_programs.interpreter(compiler, shared),
                    host_programs.target_library(compiler, load(find(os.uname().machine)).flags, shared)):
        shutil.copytree(program.parent, odd / "cache" / "host" / program.parent.name)
    for command, words in (("check", ()), ("explain", ()), ("pack", ("--out", "w", "--weights", "external"))):
        result = tool(odd, "model.c", "--cache", "cache", *words, command=command)
        ok(result.returncode == 0 and not result.stderr, f"{command} there") or note(f"{said(result)!a}")
    for words in (("--emit", "c"), ("--weights", "external"), ("--explain", "report"),
                  ("--compile-commands", "c.json")):
        equal(said(tool(odd, "model.c", "-o", f"out{words[0]}", "--cache", "cache", *words)), GOOD,
              f"build {' '.join(words)} there")
    failed = tool(odd, "model.c", "-o", "out", "--cache", "cache", "-Dtc_graph=7")
    ok(failed.returncode == 1 and "internal error" not in failed.stderr,
       "and mistakes are the model's") or note(f"{said(failed)!a}")

    # The longest names that a file can have.
    for length in (240, 252, 253):
        name = "x" * (length - 2) + ".c"
        folder = here / f"long{length}"
        fill(folder, name)
        equal(said(tool(folder, name, "-o", "out", "--cache", SHARED, "--depfile", "model.d")), GOOD,
              f"a name of {length} characters")
    failed = tool(folder, name, "-o", "out", "--cache", SHARED, "--weights", "external")
    ok(failed.returncode == 1 and "cannot write: File name too long" in failed.stderr,
       "with external weights it is too long"
       ) or note(failed.stderr)
    for what, text in (("model", "TC_MODEL({})\n{{\n" + MODEL.split("{", 1)[1].replace("{", "{{").replace("}", "}}")),):
        for length in (200, 252, 1000):
            folder = here / f"{what}{length}"
            fill(folder)
            (folder / "model.c").write_text('#include <tensor_compile/model.h>\n#include "sizes.h"\n'
                                            + text.format("m" * length), encoding="utf-8")
            equal(said(tool(folder, "model.c", "-o", "out", "--cache", SHARED)), GOOD,
                  f"a {what} of {length} characters")
            equal(said(tool(folder, "model.c", "-o", "c", "--emit", "c", "--cache", SHARED)), GOOD, "and as sources")

    # Line breaks: Make and Ninja have no way to name them.
    broken = here / "a\nb"
    fill(broken, "c\nd.c")
    fill(here / "whole")
    for folder, words in ((broken, ("c\nd.c",)), (here / "whole", ("model.c", "-o", "a\nb")),
                          (here / "whole", ("model.c", "-I", "a\nb")), (here / "whole", ("model.c", "--lock", "a\nb"))):
        failed = tool(folder, *words, "--cache", SHARED)
        ok(failed.returncode == 2 and "a line break in a name, which Make and Ninja cannot write: '" in failed.stderr,
           f"a line break in {words[-1]!a}") or note(f"{said(failed)!a}")

    # A command that cannot be told into words
    for variable in ("CC", "CC_FOR_BUILD", "NVCC"):
        failed = tool(here / "whole", "model.c", "--cache", SHARED, **{variable: 'gcc "'})
        ok(failed.returncode == 2 and f"${variable}: 'gcc \"': No closing quotation" in failed.stderr,
           f"{variable} with a quotation that is not closed") or note(failed.stderr)
done()
