# SPDX-License-Identifier: Apache-2.0
"""Names of the tests that NAME... stands for: `meson introspect --tests BUILD | select_tests.py [--all] NAME...`.

A NAME is a suite (loops), a test (ops-views) or a pattern of either (ops-*). Long tests belong to a suite only with
--all; a long test that is named itself is always meant. One name a line, in Meson's order; exit code 2 for a NAME that
stands for nothing.
"""
from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Sequence


def suites(test: dict[str, Any]) -> list[str]:
    """Without the project's name that Meson puts before each."""
    return [suite.partition(":")[2] for suite in test["suite"]]


def select(tests: Sequence[dict[str, Any]], names: Sequence[str], with_long: bool) -> tuple[list[str], list[str]]:
    """-> the tests' names, and those of `names` that stand for none."""
    chosen: set[str] = set()
    unknown = []
    for name in names:
        by_name = {test["name"] for test in tests if fnmatchcase(test["name"], name)}
        by_suite = {test["name"] for test in tests
                    if any(fnmatchcase(suite, name) for suite in suites(test))
                    and (with_long or name == "long" or "long" not in suites(test))}
        if not by_name | by_suite:
            unknown.append(name)
        chosen |= by_name | by_suite
    return [test["name"] for test in tests if test["name"] in chosen], unknown


def main(words: list[str]) -> int:
    names = [word for word in words if word != "--all"]
    tests = json.load(sys.stdin)
    chosen, unknown = select(tests, names, "--all" in words)
    known = sorted({test["name"] for test in tests} | {suite for test in tests for suite in suites(test)})
    for name in unknown:
        close = get_close_matches(name, known, 1)
        print(f"no suite and no test is called {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
              file=sys.stderr)
    print("\n".join(chosen))
    return 2 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
