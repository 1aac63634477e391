# SPDX-License-Identifier: Apache-2.0
"""tests/select_tests.py: what a name on the command line of tests/run.sh stands for."""
from __future__ import annotations

import tap
from select_tests import select

TESTS = [
    {"name": "ops-views", "suite": ["tensor-compile:ops"]},
    {"name": "ops-views-all", "suite": ["tensor-compile:long"]},
    {"name": "ops-parts", "suite": ["tensor-compile:ops"]},
    {"name": "full", "suite": ["tensor-compile:e2e", "tensor-compile:long"]},
    {"name": "encoder", "suite": ["tensor-compile:e2e"]},
    {"name": "e2e", "suite": ["tensor-compile:build"]},
]
CASES = [
    # names, --all, the tests, the names that stand for nothing
    (["ops"], False, ["ops-views", "ops-parts"], []),
    (["ops-views"], False, ["ops-views"], []),
    (["ops-views-all"], False, ["ops-views-all"], []),
    (["ops-*"], False, ["ops-views", "ops-views-all", "ops-parts"], []),
    (["e2e"], False, ["encoder", "e2e"], []),
    (["e2e"], True, ["full", "encoder", "e2e"], []),
    (["long"], False, ["ops-views-all", "full"], []),
    (["encoder", "ops-parts", "encoder"], False, ["ops-parts", "encoder"], []),
    (["enocder", "ops-parts"], False, ["ops-parts"], ["enocder"]),
    (["opsx*"], False, [], ["opsx*"]),
]

for names, with_long, want, unknown in CASES:
    tap.equal(select(TESTS, names, with_long), (want, unknown), f"{' '.join(names)}{' --all' if with_long else ''}")

tap.done()
