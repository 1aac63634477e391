# SPDX-License-Identifier: Apache-2.0
"""Text in, text out: every file of passes/PASS/ holds the input of a pass, a line `====` and what the pass makes of it.

`test_passes.py --write` replaces what the passes make by what they make now; read the difference before you keep it.
"""
import os
import sys

from harness import PLAIN, TARGET, TINY
from tap import done, equal, ok
from tensor_compile.graph.text import parse_module, print_function
from tensor_compile.loops import cold, consecutive, far, fuse, layout, lower, plan, resample, schedule, shorten, \
    tile_regions, verify_loops
from tensor_compile.loops.fused import Fused
from tensor_compile.loops.parse import parse_unit
from tensor_compile.loops.printer import print_unit

FOLDER = os.path.join(os.environ["TC_SOURCE_ROOT"], "tests", "loops", "passes")
BETWEEN = "====\n"


def run(name: str, text: str, file: str) -> str:
    if name in ("layout", "lower"):
        module = parse_module(text, file)
        (function,) = module.entries
        if name == "layout":
            return print_function(layout.apply(function, TARGET))
        made = lower.lower(layout.apply(function, TARGET), module, TARGET)
    else:
        unit = parse_unit(text, file)
        without_comments = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
        equal(print_unit(unit), without_comments, f"{file}: printed as it was read")
        if name == "fuse":
            made = fuse.fuse(unit)
        elif name == "resample":
            made = resample.resample(unit)
        elif name == "shorten":
            made = shorten.shorten(unit)
        elif name == "tile":
            made = tile_regions.form(unit, TINY if "\n# tiny\n" in text else
                                     PLAIN if "\n# tiny, no vectors\n" in text else TARGET)
        elif name == "consecutive":
            made = consecutive.form(unit)
        elif name == "schedule":
            made = schedule.schedule(unit, TARGET)
        elif name == "cold":
            made = cold.cold(unit, TARGET)
        elif name == "far":
            made = far.far(unit, TARGET)
        else:
            made = plan.plan(unit, TARGET)
    if not isinstance(made, Fused):
        verify_loops.verify(made)
    return print_unit(made)


for name in ("layout", "lower", "fuse", "resample", "shorten", "tile", "consecutive", "schedule", "cold", "far", "plan"):
    files = sorted(os.listdir(os.path.join(FOLDER, name)))
    ok(files, f"there are cases of {name}")
    for file in files:
        path = os.path.join(FOLDER, name, file)
        with open(path, encoding="utf-8") as f:
            given, _, want = f.read().partition(BETWEEN)
        got = run(name, given, f"{name}/{file}")
        if "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as f:
                f.write(given + BETWEEN + got)
        else:
            equal(got, want, f"{name}/{file}: {given.splitlines()[1].removeprefix('# ')}")
done()
