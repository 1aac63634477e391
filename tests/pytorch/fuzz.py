# SPDX-License-Identifier: Apache-2.0
"""Damaged archives: whatever is done to a .pt2, the import ends in model text or in one UserError, in bounded time and
memory.

    fuzz.py SECONDS [SEED] [FAMILY.zip...]

Of the committed cases, bytes of the file or of a member are changed, members are cut off, dropped or exchanged, and
values of the program's JSON are replaced. Prints what went wrong with the seed that does it again; exit code 1 where
something did.
"""
from __future__ import annotations

import copy
import io
import json
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

from fuzzing import fuzz
from tensor_compile.importer.pytorch import reader

CASES = Path(__file__).resolve().parent / "cases"
WILD = (None, True, -1, 0, 1, 7, 1 << 31, 1 << 62, -(1 << 63), 1e300, "", "x", "s0", "as_none", [], {}, [None],
        {"as_int": -1},
        {"as_expr": {"expr_str": "s0*s0**9", "hint": None}}, {"as_expr": {"expr_str": "((" * 90, "hint": None}},
        {"as_tensor": {"name": "x"}}, {"as_int": 1 << 40})


def places(of: Any) -> list[tuple[Any, Any]]:
    """Every container and key of a JSON value."""
    found, left = [], [of]
    while left:
        entry = left.pop()
        keys = list(entry) if isinstance(entry, dict) else range(len(entry)) if isinstance(entry, list) else ()
        for key in keys:
            found.append((entry, key))
            left.append(entry[key])
    return found


def changed(text: bytes, r: random.Random) -> bytes:
    """JSON with some values replaced, dropped, renamed or exchanged."""
    content = json.loads(text)
    for _ in range(r.choice((1, 1, 2, 4))):
        all_places = places(content)
        if not all_places:
            break
        (holder, key), (other, other_key) = r.choice(all_places), r.choice(all_places)
        kind = r.randrange(5)
        if kind == 0:
            holder[key] = copy.deepcopy(r.choice(WILD))
        elif kind == 1:
            del holder[key]
        elif kind == 2:
            holder[key] = json.loads(json.dumps(other[other_key]))
        elif kind == 3 and isinstance(holder, dict):
            holder[str(r.choice((other_key, "as_none", "as_tensor", "as_int")))] = holder.pop(key)
        elif isinstance(holder[key], int):
            holder[key] += r.choice((-1, 1, 1 << 20, -(1 << 33)))
    return json.dumps(content).encode()


def bytes_changed(text: bytes, r: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(r.choice((1, 2, 8))):
        if data:
            at = r.randrange(len(data))
            if r.random() < 0.5:
                data[at] = r.randrange(256)
            else:
                del data[at:at + r.choice((1, 4, 64))]
    return bytes(data)


def damaged(archives: list[bytes], r: random.Random) -> bytes:
    whole = r.choice(archives)
    kind = r.randrange(8)
    if kind == 0:
        return bytes_changed(whole, r)
    if kind == 1:
        return whole[:r.randrange(len(whole) + 1)]
    kept = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(kept, "w") as new:
        names = old.namelist()
        target = r.choice(names) if kind < 5 else next((n for n in names if n.endswith(".json") and "/models/" in n),
                                                       names[0])
        for name in names:
            content = old.read(name)
            if name == target:
                if kind == 2:
                    continue
                if kind == 3:
                    content = content[:r.randrange(len(content) + 1)]
                elif name.endswith(".json") and kind != 7:
                    content = changed(content, r)
                else:
                    content = bytes_changed(content, r)
            new.writestr(name, content)
    return kept.getvalue()


def main() -> int:
    models = []
    families = sorted(str(p.relative_to(CASES)) for p in [*CASES.glob("*.zip"), *CASES.glob("versions/*.zip")])
    for family in sys.argv[3:] or families:
        with zipfile.ZipFile(CASES / family) as cases:
            models += [cases.read(name) for name in cases.namelist() if name.endswith(".pt2")]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    return fuzz(reader.import_file, "model.pt2", lambda r: damaged(models, r), float(sys.argv[1]), seed)


if __name__ == "__main__":
    sys.exit(main())
