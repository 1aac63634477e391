# SPDX-License-Identifier: Apache-2.0
"""Output of tests/tap.h is TAP, whatever a text holds: a name is one line, each line of a note is a diagnostic."""
import os
import subprocess
import tempfile
from pathlib import Path

from tap import done, equal

PROGRAM = r"""
#include "tap.h"

int main(void)
{
    tc_ok(1, "%s", "an error\n  hint: of two lines");
    if (!tc_ok(0, "no error"))
        tc_note("got: %s", "one line\nanother\n");
    return tc_done();
}
"""
PRINTED = r"""ok 1 - an error\n  hint: of two lines
not ok 2 - no error
# got: one line
# another
1..2
# 1 of 2 failed
"""

with tempfile.TemporaryDirectory() as folder:
    source, program = Path(folder) / "points.c", Path(folder) / "points"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    f"-I{os.environ['TC_SOURCE_ROOT']}/tests", str(source), "-o", str(program)], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    equal(result.stdout, PRINTED, "names are one line each, notes may have several")
    equal(result.returncode, 1, "a point that failed fails the program")
done()
