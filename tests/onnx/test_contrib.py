# SPDX-License-Identifier: Apache-2.0
"""Operations of com.microsoft and ai.onnx.ml: imported, built and run, against what ONNX Runtime gave
(make_contrib.py)."""
from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import conformance
from tap import done, note, ok

HERE = Path(__file__).resolve().parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(HERE / "contrib.zip").extractall(folder)
        paths = sorted(p for p in Path(folder).iterdir())
        results = conformance.run(paths, Path(os.environ["TC_TESTS_CACHE"]) / "conformance")
        for result in results:
            if not ok(result.status == "passed", result.case):
                note(f"{result.status}: {result.reason}")
        ok(len(results) == len(paths) > 25, "all cases ran")
    done()


if __name__ == "__main__":   # the cases run in a process that imports this file
    main()
