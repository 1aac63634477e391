# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for elementwise.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random


ONE = {
    "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "floor": torch.floor, "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "tanh": torch.tanh, "erf": torch.erf, "relu": F.relu, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "pow_2": lambda x: x**2, "pow_3": lambda x: x**3,
    "pow_m1": lambda x: x**-1, "pow_half": lambda x: x**0.5, "pow_m3half": lambda x: x**-1.5,
    "pow_2p2": lambda x: x**2.2, "clamp": lambda x: x.clamp(-0.5, 1.25),
}
TWO = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt,
    "ge": torch.ge, "where": lambda a, b: torch.where(a > b, a, b * 2),
}


def functions(rng: Random) -> dict:
    cases = {}
    x = rng.normal(3, 17) * 3
    for name, f in ONE.items():
        positive = name in ("log", "sqrt", "rsqrt", "pow_half", "pow_m3half", "pow_2p2")
        cases[name] = ({"x": x.abs() if positive else x}, lambda i, f=f: {"y": f(i["x"])}, "n=3,m=17")
    a, b = rng.normal(3, 17), rng.normal(3, 17)
    b[0] = a[0]
    for name, f in TWO.items():
        cases[name] = ({"a": a, "b": b}, lambda i, f=f: {"y": f(i["a"], i["b"])}, "n=3,m=17")

    def logical(i: dict) -> dict:
        p, q = i["a"] > 0, i["b"] < 0
        return {"both": p & q, "either": p | q, "one": p ^ q, "none": ~(p | q)}

    def broadcast(i: dict) -> dict:
        return {"rows": i["x"] + i["row"], "columns": i["x"] * i["column"], "outer": i["column"] - i["row"],
                "scaled": i["x"] / i["scalar"], "number": 1.5 - i["x"]}

    def cast(i: dict) -> dict:
        x = i["x"]
        return {"i32": x.to(torch.int32), "i64": x.to(torch.int64), "boolean": x.to(torch.bool),
                "back": x.to(torch.int32).to(x.dtype)}

    def chain(i: dict) -> dict:
        s = i["a"] + i["b"]
        t = torch.sigmoid(s) * (i["a"] - torch.tanh(i["b"]))
        return {"y": torch.clamp(t * t + s, min=-1), "z": torch.exp(torch.clamp(t, max=2))}

    cases["logical"] = ({"a": a, "b": b}, logical, "n=3,m=17")
    cases["broadcast"] = ({"x": x, "row": rng.normal(17), "column": rng.normal(3, 1),
                           "scalar": rng.normal(1).reshape(())},
                          broadcast, "n=3,m=17")
    cases["cast"] = ({"x": x * 100}, cast, "n=3,m=17")
    cases["chain"] = ({"a": a, "b": b}, chain, "n=3,m=17")
    return cases
