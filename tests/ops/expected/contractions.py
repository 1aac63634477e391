# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for contractions.c."""
from __future__ import annotations

import torch.nn.functional as F
from make_expected import Random


CONVOLUTIONS = {
    "3x3": (3, 20, 3, 3, dict(padding=1)), "1x1": (17, 33, 1, 1, {}),
    "strided": (8, 16, 3, 3, dict(stride=2, padding=1)),
    "uneven": (4, 5, 1, 5, dict(stride=(3, 1), padding=(0, 2))),
    "dilated": (4, 16, 3, 3, dict(dilation=(2, 3), padding=(2, 3))),
    "grouped": (12, 24, 3, 3, dict(groups=3, padding=1)), "depthwise": (20, 20, 3, 3, dict(groups=20, padding=1)),
    "multiplier": (6, 12, 3, 3, dict(groups=6, stride=(2, 1))), "large": (2, 32, 7, 7, dict(stride=2, padding=3)),
}
POOLS = {
    "max": lambda x: F.max_pool2d(x, 2), "max_padded": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_dilated": lambda x: F.max_pool2d(x, (3, 2), 1, 0, (2, 3)), "average": lambda x: F.avg_pool2d(x, (2, 3)),
    "average_padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "average_excluding": lambda x: F.avg_pool2d(x, 3, (2, 1), 1, count_include_pad=False),
}


def functions(rng: Random) -> dict:
    cases = {
        "matmul": ({"a": rng.normal(5, 64), "b": rng.normal(64, 17)}, lambda i: {"y": i["a"] @ i["b"]},
                   "m=5,n=17,k=64"),
        "matmul_batch": ({"a": rng.normal(2, 1, 5, 64), "b": rng.normal(3, 64, 17)}, lambda i: {"y": i["a"] @ i["b"]},
                         "m=5,n=17,k=64"),
        "matmul_vector": ({"a": rng.normal(7, 17), "b": rng.normal(17)},
                          lambda i: {"y": i["a"] @ i["b"], "dot": i["b"] @ i["b"]}, "m=7,k=17"),
        "matmul_narrow": ({"a": rng.normal(7, 64), "b": rng.normal(64, 10)}, lambda i: {"y": i["a"] @ i["b"]},
                          "m=7,k=64"),
        "linear": ({"x": rng.normal(7, 64), "w": rng.normal(48, 64), "b": rng.normal(48), "r": rng.normal(7, 48)},
                   lambda i: {"y": F.gelu(F.linear(i["x"], i["w"], i["b"])) + i["r"]}, "m=7,k=64"),
        "linear_narrow": ({"x": rng.normal(1, 7, 64), "w": rng.normal(15, 64), "b": rng.normal(15)},
                          lambda i: {"y": F.relu(F.linear(i["x"], i["w"], i["b"]))}, "m=7,k=64"),
    }
    for label, (c, o, kh, kw, options) in CONVOLUTIONS.items():
        inputs = {"x": rng.normal(2, c, 9, 10), "weight": rng.normal(o, c // options.get("groups", 1), kh, kw),
                  "bias": rng.normal(o)}
        cases[f"conv_{label}"] = (inputs, lambda i, options=options: {
            "y": F.relu(F.conv2d(i["x"], i["weight"], i["bias"], **options))}, "batch=2,h=9,w=10")
    x = rng.normal(2, 5, 9, 10)
    for label, f in POOLS.items():
        cases[f"pool_{label}"] = ({"x": x}, lambda i, f=f: {"y": f(i["x"])}, "batch=2,h=9,w=10")

    def residual(i: dict) -> dict:
        y = i["x"]
        for n in range(2):
            s = i[f"statistics{n}"]
            y = F.batch_norm(F.conv2d(y, i[f"weight{n}"], padding=1), s[0], s[1].abs(), s[2], s[3])
            y = F.relu(y) if n == 0 else y
        y = F.relu(i["x"] + y)
        return {"y": y, "mean": y.mean((2, 3))}

    inputs = {"x": rng.normal(2, 16, 9, 10)}
    for n in range(2):
        inputs[f"weight{n}"], inputs[f"statistics{n}"] = rng.normal(16, 16, 3, 3) / 12, rng.normal(4, 16)
    cases["residual"] = (inputs, residual, "batch=2,h=9,w=10")

    def where(i: dict) -> dict:
        a = i["a"].clone()
        a[:, 1::2] = 0
        return {"rows": a @ i["b"], "causal": a.tril() @ i["b"], "vector": a[0] @ i["b"]}

    cases["matmul_where"] = ({"a": rng.normal(5, 64), "b": rng.normal(64, 17)}, where, "m=5,n=17,k=64")
    return cases
