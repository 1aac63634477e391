# SPDX-License-Identifier: Apache-2.0
"""Sums the TAP results of `meson test` runs: summary.py NAME=BUILD_DIR... prints what failed or was skipped, then
`N passed, N failed` alone on the last line; exit code 1 when anything failed or nothing ran."""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

POINT = re.compile(r"^(not )?ok\b[^#]*(?:\\#[^#]*)*(?:#\s*(\w+)\b\s*(.*))?$")


def main() -> int:
    passed = failed = 0
    skipped: dict[str, int] = {}
    for argument in sys.argv[1:]:
        suite, _, build = argument.partition("=")
        logs = Path(build) / "meson-logs"
        log = logs / "testlog-all.json"   # of --setup=all
        if not log.exists():
            log = logs / "testlog.json"
        if not log.exists():
            print(f"{suite}: no results: the build or its set-up failed")
            failed += 1
            continue
        for line in log.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            good = bad = 0
            for point in (test.get("stdout") or "").splitlines():
                match = POINT.match(point)
                if not match:
                    continue
                if match[2] and match[2].upper() == "SKIP":
                    reason = f"{test['name']}: {match[3].strip()}"
                    skipped[reason] = skipped.get(reason, 0) + 1
                elif match[1]:
                    bad += 1
                    print(f"FAIL {suite} {test['name']}: {point}")
                else:
                    good += 1
            if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not bad:
                bad = 1
                print(f"FAIL {suite} {test['name']}: {test['result']} (exit code {test.get('returncode')})")
            passed, failed = passed + good, failed + bad
    for reason, count in sorted(skipped.items()):
        print(f"SKIP {reason}" + (f" ({count} points)" if count > 1 else ""))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
