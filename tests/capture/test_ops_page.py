# SPDX-License-Identifier: Apache-2.0
"""docs/ops.md is what docs/make_ops.py makes of the headers, and every operation says what all have to say."""
import importlib.util
import os
import sys
from pathlib import Path

from tap import done, equal, note, ok

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
spec = importlib.util.spec_from_file_location("make_ops", ROOT / "docs" / "make_ops.py")
make_ops = sys.modules["make_ops"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_ops)

sections = [(header, *make_ops.groups(header)) for header in make_ops.header_order()]
equal(sorted(make_ops.header_order()), sorted(p.stem for p in make_ops.OPS.glob("*.h")), "ops.h includes every header")
for header, _, found in sections:
    wrong = make_ops.complaints(found)
    if not ok(found != [] and not wrong, f"{header}.h: Dtypes, Shape and ATen of every operation"):
        note("\n".join(wrong))
ok(make_ops.PAGE.read_text(encoding="utf-8") == make_ops.page(sections), "docs/ops.md is up to date (docs/make_ops.py)")
lacking = make_ops.Group("some", ("tc_some",), "tc_some(x)", {"Dtypes": "all of them.", "ATen": "some."})
equal(make_ops.complaints([lacking]), ["some.h: tc_some: no line 'Shape:'"], "a line that is missing is named")
done()
