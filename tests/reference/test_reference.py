# SPDX-License-Identifier: Apache-2.0
"""Reference kernels, as a target of their own and beside the optimised ones, have the interpreter's bits; so have the
optimised ones, and so all are equal."""
import shutil
import subprocess
import tempfile
from pathlib import Path

import models
from tap import done, equal, note, ok, skip
from tensor_compile.compile.elf import read

BEST = ("--isa", "avx2") if models.X86 else ()

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    for make, more in ((models.digits, ("--specialize", "batch=3")), (models.mlp, ("--specialize", "batch=1")),
                       (models.encoder, ("--dims", "batch=2,length=17")), (models.decoder, ())):
        model = make(folder)
        for kind, options, count in (("the target reference", ("--target", "reference"), 1),
                                     ("--with-reference", ("--with-reference", *BEST), 2)):
            result = models.tool(folder, "check", model.name, *options, *more)
            lines = [line for line in result.stdout.splitlines() if "bits of the interpreter" in line]
            if not ok(result.returncode == 0 and lines and all(line.endswith(": equal") for line in lines),
                      f"{model.stem}: {kind}: {len(lines)} results have the interpreter's bits"):
                note(result.stdout + result.stderr)
            kinds = {line.split(":")[0].split()[-1] for line in lines}
            ok(len(kinds) == count or "skipped" in result.stdout, f"{model.stem}: {kind}: of {sorted(kinds)}")

    model = models.mlp(folder)
    headers = {}
    for name, options in (("c", ()), ("reference", ("--target", "reference")), ("both", ("--with-reference",))):
        result = models.tool(folder, "build", model.name, "-o", name, *BEST, *options)
        equal(result.stderr, "", f"mlp is built: {name}")
        text = (folder / name / "mlp.h").read_text(encoding="utf-8")
        headers[name] = [line for line in text.splitlines()
                         if line and "ARENA_BYTES" not in line and "The same for" not in line]
    equal(headers["c"], headers["both"], "--with-reference changes no declaration")
    equal(headers["c"], headers["reference"], "--target reference changes no declaration")
    exported = [read(folder / name / "mlp.o").exported for name in headers]
    ok(exported[0] == exported[1] == exported[2] and exported[0], "and exports the same symbols")
    ok("MLP_ARENA_BYTES_REFERENCE" in (folder / "both" / "mlp.h").read_text(encoding="utf-8"), "the reference's arena")
    equal(sorted({s for name in headers for s in read(folder / name / "mlp.o").undefined if not s.startswith("tc_")}
                 - {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}), [], "no object calls libc")
    sizes = [read(folder / name / "mlp.o").size("rodata") for name in ("c", "both")]
    ok(sizes[1] < sizes[0] + 2048, "the reference shares the packed weights")

    if shutil.which("arm-none-eabi-gcc"):
        result = models.tool(folder, "build", model.name, "-o", "arm", "--target", "reference", "--cc",
                             "arm-none-eabi-gcc", "--target-file", "cortex-m4f")
        equal((result.returncode, result.stderr), (0, ""), "the target reference on bare metal")
        sections = subprocess.run(["arm-none-eabi-readelf", "-SW", str(folder / "arm" / "mlp.o")], capture_output=True,
                                  text=True, check=False).stdout
        note_line = next((line for line in sections.splitlines() if ".note.GNU-stack" in line), "")
        ok(note_line and " X " not in note_line, "asks for no executable stack")
    else:
        skip("the target reference on bare metal", "no arm-none-eabi-gcc")
done()
