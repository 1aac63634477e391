# SPDX-License-Identifier: Apache-2.0
"""`minify` with the tool: a model that has an error becomes the few lines that have it; Ctrl-C keeps what was found."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tap import done, equal, note, ok

ROOT = Path(__file__).resolve().parents[2]
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
CACHE = ["--cache", os.environ["TC_TESTS_CACHE"]]
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(net)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 4);
    tc_output(g, "w", tc_sum(x));
    tc_output(g, "y", tc_transpose(tc_exp(x), 0, 2)); /* it has one dim */
    tc_output(g, "z", x);
}
"""

with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "model.c").write_text(MODEL, encoding="utf-8")
    (folder / "good.c").write_text(MODEL.replace("tc_exp(x), 0, 2", "tc_exp(x), 0, 0"), encoding="utf-8")

    def start(*words: str) -> subprocess.Popen:
        return subprocess.Popen([*TOOL, "minify", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    running = start("model.c", "--command", "build", "--", *CACHE)
    small = folder / "model.min.c"
    while (len(small.read_text(encoding="utf-8").splitlines()) if small.exists() else 9) > 8 and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=240)
    if not ok(running.returncode == 0 and re.match(r"\S*model\.min\.c: \d lines, \d+ of \d+ tokens", output) and
              "(interrupted)" in output, "Ctrl-C ends the search"):
        note(output + errors)
    lines = small.read_text(encoding="utf-8").splitlines() if small.exists() else []
    equal(lines[:3], ["/* Made by minify from model.c. tensor-compile build model.min.c " + " ".join(CACHE),
                      " * error: tc_transpose: axis 2 is outside -1..0 of a tensor of rank 1 */",
                      "#include <tensor_compile/model.h>"], "what was found is kept, and says what it shows")
    ok("tc_transpose" in lines[-2] and len(lines) <= 8, "lines that do not matter are gone")
    equal(sorted(p.name for p in folder.iterdir() if p.name.startswith(".model")), [], "no other file is left")

    running = start("good.c", "--command", "build", "--", *CACHE)
    equal((running.communicate(timeout=240)[0], running.returncode),
          (f"good.c: nothing fails: tensor-compile build good.c {' '.join(CACHE)}\n", 1), "a model that does not fail")
    running = start("model.c", "--", "--frobnicate")
    errors = running.communicate(timeout=240)[1]
    ok("tensor-compile check does not take what stands behind --" in errors and running.returncode == 1,
       "options that there are not")
    running = start("model.onnx")
    ok("minify takes the source of a model" in running.communicate(timeout=240)[1], "a model of another format")
done()
