# SPDX-License-Identifier: Apache-2.0
"""Each thread of a kernel with scratch has its own. Blocks run at the same time on a GPU and one after the other in the
emulation, so results would not show here that two share it."""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import emulation
from emulation import ROOT
from tap import done, skip

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(rows)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 5000);
    tc_output(g, "y", tc_sort(tc_input(g, "x", TC_F32, n, m), 1, false, NULL));
}
"""


def main() -> None:
    cxx = emulation.compiler()
    if cxx is None:
        skip("scratch of blocks", "there is no C++ compiler")
        done()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "model.c").write_text(MODEL, encoding="utf-8")
        emulation.run([sys.executable, ROOT / "generator" / "tensor-compile", "build", folder / "model.c", "-o",
                       folder / "out", "--target", "cuda", "--target-file", "cuda-sm90", "--keep", folder / "keep",
                       "--nvcc", emulation.stub(folder)])
        kernel, = (folder / "keep").glob("tck_sort*.cu")
        objects = emulation.compile_kernels(cxx, [kernel], folder)
        emulation.run([*cxx, f"-DSORT={kernel.stem}", emulation.HERE / "scratch.cc", emulation.HERE / "emulate.cc",
                       *objects, "-o", folder / "scratch"])
        sys.exit(subprocess.run([folder / "scratch"], check=False).returncode)


main()
