# SPDX-License-Identifier: Apache-2.0
"""TAP output for tests in Python: `ok`, `equal`, `raises`, `skip`, `note` at any point, `done` last."""
from __future__ import annotations

import subprocess
import sys
from difflib import unified_diff
from typing import Any, Callable, NoReturn

_points: list[bool] = []


def ok(condition: object, name: str) -> bool:
    """One point. Returns whether it passed."""
    passed = bool(condition)
    _points.append(passed)
    print(f"{'' if passed else 'not '}ok {len(_points)} - {_one_line(name)}", flush=True)
    return passed


def equal(got: Any, want: Any, name: str) -> bool:
    """One point: got == want; where not, the difference is printed (of texts, line by line)."""
    if ok(got == want, name):
        return True
    if isinstance(got, str) and isinstance(want, str):
        for line in unified_diff(want.splitlines(), got.splitlines(), "want", "got", lineterm=""):
            note(line)
    else:
        note(f"got  {got!r}")
        note(f"want {want!r}")
    return False


def raises(kind: type[BaseException], call: Callable[[], Any], message: str, name: str) -> bool:
    """One point: call() raises `kind` with `message` in its text."""
    try:
        call()
    except kind as error:
        if ok(message in str(error), name):
            return True
        note(f"got  {error}")
        note(f"want {message}")
        return False
    ok(False, name)
    note(f"no {kind.__name__} was raised")
    return False


def skip(name: str, why: str) -> None:
    """One point that cannot run here, and why."""
    _points.append(True)
    print(f"ok {len(_points)} - {_one_line(name)} # SKIP {_one_line(why)}", flush=True)


def note(text: str) -> None:
    """Diagnostic lines."""
    for line in str(text).splitlines() or [""]:
        print(f"# {line}", flush=True)


def step(name: str, command: list[str]) -> None:
    """One point: the command succeeds. Ends the test where it does not."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ok(result.returncode == 0, name):
        note(result.stdout[-3000:] + result.stderr[-3000:])
        done()


def points_of(command: list[str]) -> None:
    """The points and notes of a program that writes TAP, and one more: it ends well."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in result.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            ok(line.startswith("ok "), line.split(" - ", 1)[-1])
        elif line.startswith("#"):
            note(line[1:].strip())
    ok(result.returncode == 0, "the test program ends well")


def done() -> NoReturn:
    """Prints the plan and exits, 0 when every point passed."""
    print(f"1..{len(_points)}", flush=True)
    sys.exit(0 if all(_points) else 1)


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("#", "\\#")
