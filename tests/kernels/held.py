# SPDX-License-Identifier: Apache-2.0
"""What a thread remembers of its scratch (tc_hold, tc_held_at): whatever the order of pieces, what is not copied again
is where it was copied to. A program copies numbers to places, in random walks up, down and elsewhere.
"""
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tap import done, equal, ok

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "include"
PROGRAM = """
#include "tc_tile.h"
#include <stdio.h>
int main(void)
{
    unsigned seed = 1;
    long copied = 0, wrong = 0;
    for (tc_index most = 1; most <= 19; ++most)
        for (int walk = 0; walk < 500; ++walk) {
            tc_index held[6] = {0}, places[19], at = seed % 40;
            for (int i = 0; i < 19; ++i)
                places[i] = -1;
            for (int step = 0; step < 60; ++step) {
                seed = seed * 1664525u + 1013904223u;
                const unsigned way = seed >> 24;
                at = way < 100 ? at : way < 170 ? at + 1 : way < 240 ? at - 1 : (tc_index)(seed >> 8) % 40;
                at = at < 0 ? 0 : at;
                const int missing = tc_hold(held, at, most);
                const tc_index place = tc_held_at(held, at, most);
                if (missing)
                    places[place] = at, ++copied;
                wrong += place < 0 || place >= most || places[place] != at;
            }
        }
    printf("%ld %d\\n", wrong, copied < 19 * 500 * 60 / 2);
    return 0;
}
"""

with tempfile.TemporaryDirectory() as folder:
    source, program = Path(folder) / "held.c", Path(folder) / "held"
    source.write_text(PROGRAM, encoding="utf-8")
    found = subprocess.run(["cc", "-std=c11", "-O1", "-DTC_ISA_SCALAR", f"-I{TEMPLATES}", str(source), "-o",
                            str(program), "-lm"], check=False, capture_output=True, text=True)
    ok(found.returncode == 0, f"the program compiles {found.stderr}")
    equal(subprocess.run([program], capture_output=True, text=True, check=True).stdout.split(), ["0", "1"],
          "what is held is in its place, and most is not copied again")
done()
