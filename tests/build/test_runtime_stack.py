# SPDX-License-Identifier: Apache-2.0
"""The stack of the runtime: the deepest path of calls as GCC writes them; of both runtimes on a Cortex-M4."""
from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tap import done, equal, ok, skip
from tensor_compile.compile import runtime_stack, toolchain
from tensor_compile.compile.cache import Cache


def graph(frames: dict[str, int], *calls: str) -> str:
    lines = [f'node: {{ title: "{name}" label: "{name}\\nrun.c:1:1\\n{size} bytes (static)\\n0 dynamic objects" }}'
             for name, size in frames.items()]
    return "\n".join([*lines, *(f'edge: {{ sourcename: "{a}" targetname: "{b}" label: "run.c:2:2" }}'
                                for a, b in (call.split() for call in calls)), ""])


FRAMES = {"tc_run": 40, "run.c:run": 100, "run.c:run_team": 4000, "refuse": 16, "tc_step": 8, "note": 24}
CALLS = ("tc_run run.c:run", "tc_run refuse", "run.c:run run.c:run_team", "run.c:run __indirect_call", "tc_step note",
         "tc_step __indirect_call")
equal(runtime_stack.of_calls(graph(FRAMES, *CALLS)), 40 + 100 + 8 + 24, "the entry's path and a step's, without a team")
equal(runtime_stack.of_calls(graph(FRAMES, *CALLS, "refuse tc_run")), None, "functions that call themselves")
equal(runtime_stack.of_calls(graph({"other": 3})), None, "no runtime")
if shutil.which("arm-none-eabi-gcc"):
    with tempfile.TemporaryDirectory() as temporary:
        cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", temporary)))
        command = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb")
        compiler = toolchain.detect(command, cache.programs.root, "the compiler")
        found = [runtime_stack.needed(name, compiler, (), cache) for name in ("lean", "core")]
        lean, core = found
        ok(lean is not None and core is not None and 100 < lean < core < 4000, f"lean and core: {found} bytes")
else:
    skip("a Cortex-M4", "arm-none-eabi-gcc is not installed")
done()
