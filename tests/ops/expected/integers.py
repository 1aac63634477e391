# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for integers.c."""
from __future__ import annotations

import torch
from make_expected import Random


def functions(rng: Random) -> dict:
    cases = {}
    for label, dtype in (("i32", torch.int32), ("i64", torch.int64)):
        a, b = rng.integers(dtype, 3, 17), rng.integers(dtype, 3, 17)
        b[b == 0] = 7

        def arithmetic(i: dict) -> dict:
            a, b = i["a"], i["b"]
            return {"add": a + b, "sub": a - b, "mul": a * b, "div": torch.div(a, b, rounding_mode="trunc"),
                    "largest": torch.maximum(a, b), "smallest": torch.minimum(a, b), "opposite": -a,
                    "magnitude": b.abs(), "cube": a**3}

        def compare(i: dict) -> dict:
            a, b = i["a"], i["b"]
            return {"equal": a == b, "less": a < b, "least": a <= b, "chosen": torch.where(a > 0, a, b),
                    "floats": a.to(torch.float32), "booleans": b.to(torch.bool)}

        def reduce(i: dict, dtype: torch.dtype = dtype) -> dict:
            a = i["a"]
            return {"rows": a.sum(1, dtype=dtype), "columns": a.sum(0, dtype=dtype), "all": a.sum(dtype=dtype)}

        cases[f"arithmetic_{label}"] = ({"a": a, "b": b}, arithmetic, "n=3,m=17")
        cases[f"compare_{label}"] = ({"a": a, "b": b}, compare, "n=3,m=17")
        cases[f"reduce_{label}"] = ({"a": a}, reduce, "n=3,m=17")
    wide = rng.randint(-2**40, 2**40, (3, 17))
    cases["narrow"] = ({"a": wide}, lambda i: {"narrow": i["a"].to(torch.int32),
                                               "wide": i["a"].to(torch.int32).to(torch.int64)}, "n=3,m=17")
    p = rng.rand(3, 17) > 0.3
    cases["bool"] = ({"p": p}, lambda i: {"any": i["p"].any(1), "all": i["p"].all(0), "numbers": i["p"].to(torch.int32),
                                          "floats": i["p"].to(torch.float32), "same": i["p"] == ~i["p"]}, "n=3,m=17")
    cases["arange"] = ({}, lambda i: {"columns": torch.arange(17).expand(3, 17).contiguous(),
                                      "steps": torch.arange(5, 8, 2, dtype=torch.int32), "floats": torch.arange(17.0),
                                      "full": torch.full((3, 2), -3, dtype=torch.int32), "size": torch.tensor(51)},
                       "n=3,m=17")
    return cases
