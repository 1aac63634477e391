# SPDX-License-Identifier: Apache-2.0
"""No symbol and no struct stands for two things: a program may be linked with the capture library and the runtime.

usage: test_symbols.py CAPTURE RUNTIME...    (static libraries)
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tap import done, equal, ok, skip


def defined(library: str) -> set[str]:
    shown = subprocess.run(["nm", "-g", "--defined-only", "-P", library], capture_output=True, text=True,
                           check=True).stdout
    names = {line.split()[0] for line in shown.splitlines() if len(line.split()) > 2}
    return {name for name in names if not name.startswith("__odr_asan")}    # which the address sanitizer adds


def structs(folder: Path) -> set[str]:
    """The structs and unions that files of a folder define."""
    texts = (path.read_text(encoding="utf-8") for path in [*folder.rglob("*.h"), *folder.rglob("*.c")])
    return {name for text in texts for name in re.findall(r"\b(?:struct|union) (\w+)\s*\{", text)}


root = Path(os.environ["TC_SOURCE_ROOT"])
equal(sorted(structs(root / "generator" / "capture") & structs(root / "runtime")), [], "no struct is defined by both")
if not shutil.which("nm"):
    skip("symbols", "there is no nm")
    done()
capture, runtime = defined(sys.argv[1]), set().union(*map(defined, sys.argv[2:]))
ok({"tc_relu_at", "tc_register_"} <= capture and {"tc_call", "tc_run", "tc_pool_create"} <= runtime,
   "the libraries are these")
shared = {name for name in capture & runtime if name.startswith("tc_safetensors_")}   # one source, of both libraries
ok(shared, "files of tensors are read by the same functions")
equal(sorted((capture & runtime) - shared), [], f"none of {len(capture)} and {len(runtime)} other symbols is both's")
equal(sorted(name for name in runtime if not name.startswith("tc_")), [], "and the runtime's begin with tc_")
done()
