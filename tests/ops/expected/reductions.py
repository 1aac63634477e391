# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for reductions.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random


def functions(rng: Random) -> dict:
    cases = {}
    x = rng.normal(3, 5, 17)
    for label in ("0", "1", "2", "01", "02", "12", "012"):
        axes = tuple(int(c) for c in label)
        cases[f"sum_{label}"] = ({"x": x}, lambda i, axes=axes: {"y": i["x"].sum(axes)}, "a=3,b=5,c=17")
    for label in ("0", "2", "02", "12"):
        axes = tuple(int(c) for c in label)
        cases[f"extremes_{label}"] = ({"x": x}, lambda i, axes=axes: {
            "largest": i["x"].amax(axes), "smallest": i["x"].amin(axes), "mean": i["x"].mean(axes),
            "variance": i["x"].var(axes, correction=0)}, "a1=3,b1=5,c1=17")
    for axis in range(3):
        cases[f"argmax_{axis}"] = ({"x": x}, lambda i, axis=axis: {"first": i["x"].argmax(axis),
                                                                   "last": i["x"].argmin(axis)}, "a1=3,b1=5,c1=17")
    x, r, s = rng.normal(5, 100) * 2, rng.normal(5, 100), rng.normal(5, 100)
    w, b = rng.normal(100), rng.normal(100)
    size = "n=5,m=100"
    cases["softmax"] = ({"x": x}, lambda i: {"y": F.softmax(i["x"], -1)}, size)
    cases["softmax_columns"] = ({"x": x}, lambda i: {"y": F.softmax(i["x"], 0)}, "n1=5,m=100")
    cases["log_softmax"] = ({"x": x}, lambda i: {"y": F.log_softmax(i["x"], 1)}, size)
    cases["layer_norm"] = ({"x": x, "weight": w, "bias": b},
                           lambda i: dict(zip(("y", "mean", "inverse"),
                                              torch.native_layer_norm(i["x"], (100,), i["weight"], i["bias"], 1e-5))),
                                              size)
    cases["rms_norm"] = ({"x": x, "weight": w}, lambda i: {"y": F.rms_norm(i["x"], (100,), i["weight"], 1e-6)}, size)

    def norm_chain(i: dict) -> dict:
        total = i["x"] + i["r"]
        return {"sum": total, "y": F.gelu(F.layer_norm(total, (100,), i["weight"], i["bias"])) * i["s"]}

    def invented(i: dict) -> dict:
        scaled = i["x"] / (i["x"].abs().amax(1, keepdim=True) + 1)
        return {"y": scaled.exp() - (scaled * scaled).mean(1, keepdim=True)}

    cases["norm_chain"] = ({"x": x, "r": r, "s": s, "weight": w, "bias": b}, norm_chain, size)
    cases["invented_norm"] = ({"x": x}, invented, size)
    r = rng.normal(5, 100)
    r[3] = -1                                             # a row without terms

    def where_rows(i: dict) -> dict:
        x, p = i["x"], i["r"] > 0.5
        sums = torch.where(p, x, 0).sum(1)
        return {"sum": sums, "mean": (sums / p.sum(1)).unsqueeze(1),
                "largest": torch.where(p, x, float("-inf")).amax(1),
                "smallest": torch.where(p, x, float("inf")).amin(1),
                "any": ((x > 2) & p).any(1), "all": ((x < 2) | ~p).all(1)}

    def where_columns(i: dict) -> dict:
        x, p = i["x"], i["r"] > 0.5
        return {"sum": torch.where(p, x, 0).sum(0), "product": torch.where(p, x, 1).prod(0),
                "first": (x[:3] * 4).long().sum()}

    cases["where_rows"] = ({"x": x, "r": r}, where_rows, size)
    cases["where_columns"] = ({"x": x, "r": r}, where_columns, size)
    cases["where_softmax"] = ({"x": x, "r": r}, lambda i: {
        "y": i["x"].masked_fill(i["r"] <= 0.5, float("-inf")).softmax(1).nan_to_num(0)}, size)
    return cases
