# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for bits.c."""
from __future__ import annotations

import torch
from make_expected import Random

SIZE = "n=3,m=17"


def functions(rng: Random) -> dict:
    cases = {}
    for label, dtype in (("i32", torch.int32), ("i64", torch.int64)):
        ends = torch.iinfo(dtype)
        a, b = rng.integers(dtype, 3, 17), rng.integers(dtype, 3, 17)
        a[0, :6] = torch.tensor([0, -1, ends.max, ends.min, ends.min + 1, 1], dtype=dtype)
        b[b == 0] = 7
        b[1, :3] = torch.tensor([1, ends.max, ends.min], dtype=dtype)
        # PyTorch leaves amounts beyond the width to the machine: docs/numerics.md's rule is tested by test_scalar.c
        places = rng.randint(0, ends.bits, (3, 17)).to(dtype)
        cases[f"bits_{label}"] = ({"a": a, "b": b}, lambda i: {
            "both": i["a"] & i["b"], "either": i["a"] | 0xf0, "one": i["a"] ^ i["b"], "other": ~i["a"]}, SIZE)
        cases[f"shifts_{label}"] = ({"a": a, "places": places}, lambda i: {
            "left": i["a"] << i["places"], "right": i["a"] >> i["places"], "nine": i["a"] >> 9}, SIZE)
        cases[f"remainders_{label}"] = ({"a": a, "b": b}, lambda i: {
            "rem": torch.fmod(i["a"], i["b"]), "remainder": torch.remainder(i["a"], i["b"]),
            "floor": torch.floor_divide(i["a"], i["b"]), "sevens": torch.remainder(i["a"], 7), "sign": i["a"].sign()},
            SIZE)
    return cases
