# SPDX-License-Identifier: Apache-2.0
"""`tune -C build` names models from where the user stands, wherever they were built from: Ninja builds them from the
folder of the build."""
import tempfile
from pathlib import Path

from small_model import ISA, prepare, run
from tap import done, equal, note, ok, skip

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_output(g, "y", tc_exp(tc_input(g, "x", TC_F32, 4)));
}
"""


def main(folder: Path) -> None:
    (folder / "nets").mkdir()
    (folder / "build").mkdir()
    prepare(folder, "")
    model = folder / "nets" / "model.c"
    model.write_text(MODEL, encoding="utf-8")
    built = run(folder / "build", "build", "../nets/model.c", "-o", "nets", "--isa", ISA)
    equal(built.returncode, 0, "built") or note(built.stderr)
    for place, name, words in ((folder, "nets/model.c", ("-C", "build")),
                               (folder / "nets", "model.c", ("-C", "../build")),
                               (folder / "build", "../nets/model.c", ())):
        told = run(place, "tune", *words)
        lines = told.stdout.splitlines()
        ok(told.returncode == 0 and lines and all(line.startswith(f"{name}: ") for line in lines) and
           lines[-1].startswith(f"{name}: nothing to measure: {name.removesuffix('.c')}.tuning.lock is "),
           f"{name}, from another folder") or note(told.stdout + told.stderr)
    model.write_text(MODEL.replace('"x"', '"x y"'), encoding="utf-8")
    told = run(folder, "tune", "-C", "build")
    ok(told.returncode == 1 and told.stderr.startswith("nets/model.c:4: error: "), "so do errors of the model") \
        or note(told.stdout + told.stderr)


if not ISA:
    skip("places", "no target of this machine")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name).resolve())
done()
