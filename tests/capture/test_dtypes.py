# SPDX-License-Identifier: Apache-2.0
"""The dtypes that operations take are those that their headers name: "Dtypes: numbers, all of them for tc_scatter, …".
Results have the operands' dtype, or are positions and counts (i64), truth values, or of the dtype that the call names.

usage: test_dtypes.py PROGRAM     (made of dtypes.c)
"""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from tap import done, equal, ok

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
spec = importlib.util.spec_from_file_location("make_ops", ROOT / "docs" / "make_ops.py")
make_ops = sys.modules["make_ops"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_ops)

FLOATS = {"f32", "f64", "f16", "bf16"}
NUMBERS = FLOATS | {f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}
SETS = {"all of them": NUMBERS | {"bool"}, "numbers": NUMBERS, "floats": FLOATS}
TOPICS = ("elementwise", "contractions",
          "indexing", "selecting", "ordering", "parts", "rearranging", "making", "views", "random", "recurrent")


def documented(sentence: str, name: str) -> set[str]:
    """What the sentence begins with, or has for this operation alone."""
    own = re.search(rf"({'|'.join(SETS)}) for {name}\b", sentence)
    first = re.match("|".join(SETS), sentence)
    if not own and not first:
        raise ValueError(f"{name}: no dtypes begin the sentence: {sentence}")
    return SETS[own[1] if own else first[0]]


sentences = {name: group.facts["Dtypes"] for topic in TOPICS for group in make_ops.groups(topic)[1]
             for name in group.names}
sentences["tc_one_hot"] = "all of them"  # its result's, which is given; the index's are said
taken = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines()
for line in taken:
    name, *pairs = line.split()
    dtypes = dict(pair.split(":") for pair in pairs)
    equal(sorted(dtypes), sorted(documented(sentences[name], name)), f"{name}: {sentences[name]}")
    changed = {given: made for given, made in dtypes.items() if made not in (given, "i64", "bool")}
    if changed:
        equal(changed, {}, f"{name}: no dtype is narrowed")
ok(len(taken) > 100, "the operations of these topics")
done()
