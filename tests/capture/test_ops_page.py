# SPDX-License-Identifier: Apache-2.0
"""docs/ops.md and docs/ops/ are what docs/make_ops.py makes of the headers; every operation says what all must say."""
import importlib.util
import os
import re
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
pages = make_ops.pages(sections)
equal(make_ops.stale(pages), [], "docs/ops.md and docs/ops/ are up to date (docs/make_ops.py)")
lacking = make_ops.Group("some", ("tc_some",), "tc_some(x)", {"Dtypes": "all of them.", "ATen": "some."})
equal(make_ops.complaints([lacking]), ["some.h: tc_some: no line 'Shape:'"], "a line that is missing is named")

index = pages[make_ops.DOCS / "ops.md"]
unnamed = [name for _, _, found in sections for g in found for name in g.names if f"`{name}`" not in index]
equal(unnamed, [], "every operation is in the index by topic")
elsewhere = [name for header, _, found in sections for g in found for name in g.names
             if not re.search(rf"\b{name}\b", pages[make_ops.DOCS / "ops" / f"{header}.md"])]
equal(elsewhere, [], "and on its topic's page")
long = [f"{path.name}:{i}" for path, text in pages.items() for i, line in enumerate(text.split("\n"), 1)
        if len(line) > 120 or line.startswith("|")]
equal(long, [], "pages can be read as text: no long line, no table")
unsaid = [g.names for _, _, found in sections for g in found if not re.match(r"[^\s,;:.]", make_ops.summary(g.prose))]
equal(unsaid, [], "every operation has a summary")


def found_as(names: str, aten: str) -> dict[str, tuple[str, ...]]:
    return dict(make_ops.foreign(make_ops.Group("some", tuple(names.split()), "", {"ATen": aten}), "ATen"))


both = ("tc_one", "tc_two")
for said, names, aten, want in (
        ("in order where there are as many", "tc_one tc_two", "uno, due (of two).",
         {"uno": ("tc_one",), "due (of two)": ("tc_two",)}),
        ("by their own names", "tc_one tc_two tc_two_keepdims", "two, one.", {"two": ("tc_two",), "one": ("tc_one",)}),
        ("in order, _keepdims apart", "tc_one tc_two tc_one_keepdims", "uno, due.",
         {"uno": ("tc_one",), "due": ("tc_two",)}),
        ("by how their names begin", "tc_max_pool1d tc_max_pool2d tc_one", "MaxPool.",
         {"MaxPool": ("tc_max_pool1d", "tc_max_pool2d")}),
        ("else as the group", "tc_one tc_two", "three and four.", {"three": both, "four": both}),
        ("and compositions not at all", "tc_one tc_two", "none, Log of Add; with other numbers.", {})):
    equal(found_as(names, aten), want, f"names of PyTorch and ONNX lead to operations {said}")
equal(make_ops.summary("tc_one(x, .two = {1, 2}), tc_two(x)\nThe first. Then the rest."), "The first",
      "a summary is the first sentence behind the call forms")
equal(make_ops.summary("TC_ONE(g, x) { ... } TC_TWO(g) { ... }: runs"), "runs", "blocks are call forms, too")
done()
