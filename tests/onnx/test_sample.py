# SPDX-License-Identifier: Apache-2.0
"""A fixed sample of ONNX's node tests (sample.txt), from Debian's package libonnx-testdata; docs/conformance.md has
all."""
import os
from pathlib import Path

import conformance
from tap import done, ok, skip

DATA = Path("/usr/share/libonnx-testdata/data/node")

names = (Path(__file__).parent / "sample.txt").read_text().split()
if DATA.is_dir():
    results = conformance.run([DATA / name for name in names], Path(os.environ["TC_TESTS_CACHE"]) / "conformance",
                              len(names))
    for r in results:
        ok(r.status == "passed", f"{r.case}{f': {r.status}: {r.reason}' if r.reason else ''}")
    ok(len(results) == len(names), "every case has a result")
else:
    skip("cases of ONNX's node tests", f"no {DATA}: the Debian package libonnx-testdata is not installed")
done()
