# SPDX-License-Identifier: Apache-2.0
"""Damaged models: whatever is done to a file, the import ends in model text or in one UserError, in bounded time and
memory.

    fuzz.py SECONDS [SEED] [MODEL...]

Bytes are flipped, set, inserted and taken away, words of four bytes replaced by small numbers, by large ones and by
other words of the file, parts of files joined. Without models it begins with those of cases.zip. Prints what went wrong
with the seed that does it again, as long as cases.zip is the same; exit code 1 where something did. What was found is a
model of test_import.py.
"""
from __future__ import annotations

import random
import sys
import zipfile
from pathlib import Path

from fuzzing import change, fuzz, KINDS
from tensor_compile.importer.tflite import reader

CASES = Path(__file__).resolve().parent / "cases.zip"


def seeds() -> list[bytes]:
    with zipfile.ZipFile(CASES) as archive:
        return [archive.read(name) for name in archive.namelist() if name.endswith(".tflite")]


def damaged(models: list[bytes], r: random.Random) -> bytes:
    data = bytearray(r.choice(models))
    for _ in range(r.choice((1, 1, 2, 3, 8))):
        if len(data) < 16:
            break
        at = r.randrange(len(data))
        word = at & ~3
        kind = r.randrange(KINDS + 4)
        if kind < KINDS:
            change(data, at, kind, models, r)
        elif kind == KINDS:
            data[word:word + 4] = r.choice((0, 1, 2, 4, 8, 100, len(data), 1 << 20, (1 << 31) - 1,
                                            (1 << 32) - 1)).to_bytes(4, "little")
        elif kind == KINDS + 1:
            begin = r.randrange(len(data)) & ~3
            data[word:word + 4] = data[begin:begin + 4]
        elif kind == KINDS + 2:
            data[at & ~1:(at & ~1) + 2] = r.randrange(64).to_bytes(2, "little")
        else:
            data[word:word + 4] = (int.from_bytes(data[word:word + 4],
                                                  "little") + r.choice((-8, -4, 4, 8)) & 0xffffffff).to_bytes(
                4, "little")
    return bytes(data)


def main() -> int:
    models = [Path(p).read_bytes() for p in sys.argv[3:]] or seeds()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    return fuzz(reader.import_file, "model.tflite", lambda r: damaged(models, r), float(sys.argv[1]), seed)


if __name__ == "__main__":
    sys.exit(main())
