# SPDX-License-Identifier: Apache-2.0
"""The Philox of philox.py gives the published vectors, and is what expected/random.safetensors holds."""
import json
import struct
from pathlib import Path

from philox import KNOWN, philox, words
from tap import done, equal

for counter, key, expected in KNOWN:
    equal(philox(counter, key), expected, f"philox of counter {counter[0]:08x}...")

data = (Path(__file__).resolve().parent / "expected" / "random.safetensors").read_bytes()
length = struct.unpack_from("<Q", data)[0]
header = json.loads(data[8:8 + length])


def stored(name: str) -> list[int]:
    first, last = header[name]["data_offsets"]
    return list(struct.unpack(f"<{(last - first) // 8}q", data[8 + length + first:8 + length + last]))


(seed,), (offset,) = stored("op_bits.in.seed"), stored("op_bits.in.offset")
equal(stored("op_bits.out.y"), words(seed, offset, 51), "the words that tc_random_bits is compared with")
equal(stored("op_fixed.out.y")[:4], list(KNOWN[0][2]), "and the first published vector among them")
done()
