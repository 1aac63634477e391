# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for activations.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

SIZE = "n=3,m=17"


def functions(rng: Random) -> dict:
    x = rng.normal(3, 17) * 5
    x[0, :9] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 3.0, -3.0, 1e-40, 88.0])
    finite = x.nan_to_num(nan=1.0, posinf=40.0, neginf=-40.0)
    return {
        "exponential": ({"x": x}, lambda i: {"elu": F.elu(i["x"], 0.7), "celu": F.celu(i["x"], 1.3),
                                             "selu": F.selu(i["x"])}, SIZE),
        "lines": ({"x": finite}, lambda i: {"relu6": F.relu6(i["x"]), "hardtanh": F.hardtanh(i["x"], -0.5, 2.0),
                                            "hardsigmoid": F.hardsigmoid(i["x"]), "hardswish": F.hardswish(i["x"])},
                  SIZE),
        "soft": ({"x": finite}, lambda i: {
            "softplus": F.softplus(i["x"]), "steep": F.softplus(i["x"], 3.0, 5.0),
            "logsigmoid": F.logsigmoid(i["x"]), "softsign": F.softsign(i["x"])}, SIZE),
        "mish": ({"x": finite}, lambda i: {"y": F.mish(i["x"])}, SIZE),
        "shrunk": ({"x": finite}, lambda i: {
            "threshold": F.threshold(i["x"], 0.5, -2.0), "hard": F.hardshrink(i["x"], 1.5),
            "soft": F.softshrink(i["x"], 1.5), "tanh": F.tanhshrink(i["x"]), "rrelu": F.rrelu(i["x"], 0.125, 0.375)},
            SIZE),
        "prelu": ({"x": finite, "slope": rng.normal(17), "one": rng.normal(1)}, lambda i: {
            "channels": F.prelu(i["x"], i["slope"]), "all": F.prelu(i["x"], i["one"])}, SIZE),
        "glu": ({"x": rng.normal(3, 34), "z": rng.normal(6, 17)}, lambda i: {
            "columns": F.glu(i["x"], -1), "rows": F.glu(i["z"], 0)}, SIZE),
    }
