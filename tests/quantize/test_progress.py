# SPDX-License-Identifier: Apache-2.0
"""What `quantize` says on the way where nobody looks at a terminal."""
import io
import re
import tempfile
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace

from samples import called, floats, write
from tap import done, equal, note, ok
from tensor_compile.compile import progress

now = 100.0
progress.time = SimpleNamespace(monotonic=lambda: now)
said = io.StringIO()
with redirect_stderr(said):
    spoken, silent = progress.Progress(lines=True), progress.Progress()
    for clock, text in ((104.9, "a"), (105.0, "b"), (105.1, "c"), (109.9, ""), (110.5, ""), (111.0, "d"), (115.9, "e"),
                        (116.0, "f")):
        now = clock
        spoken.say(text)
        silent.say(text)
equal(said.getvalue(), "b\nd\nf\n", "a line some seconds behind the one before, where that is asked for")
said = io.StringIO()
with redirect_stderr(said):
    with progress.Progress(enabled=True, lines=True) as shown:
        now += 10
        shown.say("a")
equal(said.getvalue(), "\r\x1b[Ka\r\x1b[K", "on a terminal one that is rewritten")

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_weights(g, "m.safetensors");
    tc_output(g, "y", tc_linear(tc_input(g, "x", TC_F32, 5, 4), tc_weight(g, "fc.weight")));
}
"""
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    write(folder / "m.safetensors", {"fc.weight": ((3, 4), floats(12, 1))})
    write(folder / "x", {"x": ((5, 4), floats(20, 2))})
    asked = ("quantize", folder / "m.c", "--data", folder / "x", "--interpret", "-o")
    made = called(*asked, folder / "short")
    equal((made.returncode, made.stderr), (0, ""), "a short run says nothing")
    progress.SECONDS = 0.0
    made = called(*asked, folder / "long")
    ok(made.returncode == 0 and re.search(r"m\.c: observed 1 of 1 calls\n(.*\n)*.*model\.c: compared 1 of 1 calls\n",
                                          made.stderr), "a long one how far it is") or note(made.stderr)
    made = called("check", folder / "long" / "model.c", "--float", folder / "m.c", "--inputs", folder / "x",
                  "--interpret")
    ok(made.returncode == 0 and "model.c: compared 1 of 1 calls\n" in made.stderr, "and so does check --float") or \
        note(made.stderr)
    equal(called("build", folder / "m.c", "-o", folder / "out", "--target", "reference").stderr, "",
          "a build is silent, however long it takes")
done()
