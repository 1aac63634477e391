# SPDX-License-Identifier: Apache-2.0
"""docs/conformance.md from results of conformance.py: page.py TITLE=RESULTS.json[,LATER.json]... > docs/conformance.md

LATER: of cases that were run again."""
from __future__ import annotations

import fnmatch
import json
import sys
from pathlib import Path

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Conformance

How many cases of ONNX's own node tests pass, and each one that does not, with its reason. Written by
`tests/onnx/page.py` of what `tests/onnx/conformance.py` gives; [import.md](import.md) says what can be imported.

A case is imported as a user's model would be, compiled (AVX2, many cases to one object), called, and its outputs
compared with the stored ones: floats within rtol 1e-3 and atol 1e-7 (bf16: 1/64; a case may say otherwise in its
data.json), everything else exactly. Sizes have to be known before a call, so an input that sizes follow from (the shape
of a Reshape, the repeats of a Tile) is fixed at import to what the case stores, as `--set` does; the table counts these
cases. The whole suite:

    python3 tests/onnx/conformance.py FOLDER --results results.json --workers 2

with PYTHONPATH, TC_SOURCE_ROOT and TC_TESTS_CACHE as meson.build sets them. FOLDER is
`/usr/share/libonnx-testdata/data/node` of Debian's libonnx-testdata (1.12), or `onnx/backend/test/data/node` of PyPI's
onnx 1.22.0.
"""


# Why cases cannot pass, where what differs does not say it; {}: what differs.
WHY = {
    "test_bernoulli*": "random numbers of another generator",
    "test_adam_multiple": "the suite's mistake: the model lacks the epsilon that its results were made with (mended in "
                          "later suites): {}",
    "test_dft_inverse*": "the stored number has an error of 1.9e-7 where 0 is right, which is more than the bound: {}"}


def why(result: dict) -> str:
    form = next((form for pattern, form in WHY.items() if fnmatch.fnmatch(result["case"], pattern)), "{}")
    return form.format(result["reason"]).replace("|", "\\|").replace("\n", " ")


def section(title: str, results: list[dict]) -> list[str]:
    passed = [r for r in results if r["status"] == "passed"]
    fixed = sum(bool(r["fixed"]) for r in passed)
    lines = [f"## {title}", "",
             f"{len(passed)} of {len(results)} cases pass ({100 * len(passed) / len(results):.1f} %); {fixed} of them "
             "have fixed inputs.", ""]
    groups: dict[tuple[str, str], list[str]] = {}
    for r in results:
        if r["status"] != "passed":
            groups.setdefault((r["status"], why(r)), []).append(r["case"])
    if groups:
        lines += ["| cases | | reason |", "| --- | --- | --- |"]
    for (status, reason), names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0])):
        lines.append(f"| {', '.join(n.removeprefix('test_') for n in names)} | {status} | {reason} |")
    return [*lines, ""]


def main() -> int:
    lines = [HEAD]
    for word in sys.argv[1:]:
        title, _, paths = word.partition("=")
        cases = {r["case"]: r for path in paths.split(",") for r in json.loads(Path(path).read_text())}
        lines += section(title, [cases[name] for name in sorted(cases)])
    print("\n".join(lines), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
