# SPDX-License-Identifier: Apache-2.0
"""Philox 4x32-10, written from the paper (Salmon and others, 2011), and the vectors that its authors publish."""
from __future__ import annotations

MASK = 0xFFFFFFFF

# counter, key, words: tests/kat_vectors of Random123
KNOWN = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((MASK,) * 4, (MASK, MASK), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
)


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [high1 ^ c[1] ^ k0, low1, high0 ^ c[3] ^ k1, low0]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return tuple(c)


def words(seed: int, offset: int, count: int) -> list[int]:
    """What tc_random_bits gives (ops/random.h)."""
    key, stream = (seed & MASK, seed >> 32 & MASK), (offset & MASK, offset >> 32 & MASK)
    out: list[int] = []
    for block in range(-(-count // 4)):
        out += philox((block & MASK, block >> 32, *stream), key)
    return out[:count]
