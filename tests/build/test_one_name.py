# SPDX-License-Identifier: Apache-2.0
"""One name for one thing: the capture library and the runtime define no symbol and no struct of one name, so that one
program can link both. What a model.c and a main.c both spell alike (tc_call, tc_dtype) is never a symbol twice."""
import os
import re
import subprocess
import tempfile
from pathlib import Path

from tap import done, equal, ok

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
CAPTURE = ROOT / "generator" / "capture"
RUNTIME = ROOT / "runtime"


def symbols(sources: list[Path], include: list[Path]) -> set[str]:
    """The global symbols that the sources define."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-c", "-w", "-O0", "-std=gnu11", *(f"-I{path}" for path in include), *map(str, sources)],
                       check=True, cwd=folder)
        listed = subprocess.run(["nm", "-g", "--defined-only", *sorted(os.listdir(folder))], check=True, cwd=folder,
                                capture_output=True, text=True).stdout
    return {match[1] for match in re.finditer(r"^[0-9a-f]+ [A-Z] (\w+)$", listed, re.M)}


def structs(folder: Path) -> set[str]:
    """The structs and unions that files of a folder define."""
    texts = (path.read_text(encoding="utf-8") for path in [*folder.rglob("*.h"), *folder.rglob("*.c")])
    return {name for text in texts for name in re.findall(r"\b(?:struct|union) (\w+)\s*\{", text)}


capture = symbols(sorted(CAPTURE.glob("*.c")), [CAPTURE / "include", CAPTURE, CAPTURE.parent])
runtime = symbols(sorted([*(RUNTIME / "core").glob("*.c"), *(RUNTIME / "hosted").glob("*.c")]), [RUNTIME / "include"])
ok("tc_function_arena_bytes" in runtime and len(capture) > 100, "both define symbols")
equal(sorted(capture & runtime), [], "no symbol is defined by the capture library and by the runtime")
equal(sorted(structs(CAPTURE) & structs(RUNTIME)), [], "no struct is defined by both")
done()
