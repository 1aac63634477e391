# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for indexing.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

N, M, I = 7, 17, 11
SIZE = f"n={N},m={M},i={I}"


def functions(rng: Random) -> dict:
    cases = {}
    places = rng.randint(0, N, (I,))
    apart = torch.tensor([3, 0, 6, 1, 3, 3, 0, 2, 4, 4, 6])

    def copied(x, axis: int, index, u):
        out = x.clone()
        for k, j in enumerate(index.tolist()):
            out.select(axis, j).copy_(u.select(axis, k))
        return out
    for axis, x, u in ((0, rng.normal(N, M), rng.normal(I, M)), (1, rng.normal(M, N), rng.normal(M, I))):
        cases[f"index_add_{axis}"] = ({"index": apart.to(torch.int32), "u": u, "x": x}, lambda i, axis=axis: {
            "sum": i["x"].index_add(axis, i["index"].long(), i["u"]),
            "copy": -copied(i["x"].exp(), axis, i["index"], i["u"] * 2)}, SIZE)
    cases["take_along"] = (
        {"x": rng.normal(3, N, M), "index": rng.randint(0, N, (2, I, M)), "row": rng.normal(N),
         "places": places.to(torch.int32)},
        lambda i: {"y": i["x"].gather(1, i["index"]), "z": i["row"][i["places"].long()]}, SIZE)

    def along(i: dict) -> dict:
        last = i["x"].clone()
        for k in range(I):
            last.scatter_(0, i["index"][k:k + 1], i["u"][k:k + 1])
        return {"sum": i["x"].scatter_add(0, i["index"], i["u"]), "last": last,
                "most": i["x"].scatter_reduce(0, i["index"], i["u"], "amax"),
                "least": i["x"].scatter_reduce(0, i["index"], i["u"], "amin")}
    cases["scatter_along"] = ({"x": rng.normal(N, M), "index": rng.randint(0, N, (I, M)), "u": rng.normal(I, M)}, along,
                              SIZE)
    cases["histogram"] = ({"index": places}, lambda i: {
        "counts": torch.bincount(i["index"], minlength=N).to(torch.int32), "size": torch.full((M,), 1.5)}, SIZE)

    def put(i: dict) -> dict:
        a, b = i["a"], i["b"].long()
        return {"read": i["x"][a, b], "sum": i["x"].index_put((a, b), i["u"], accumulate=True),
                "put": i["x"].index_put((a,), i["u"])}
    cases["index_put"] = ({"x": rng.normal(N, 7, M), "a": places[:, None].contiguous(),
                           "b": rng.randint(0, 7, (3,)).to(torch.int32), "u": rng.normal(M)}, put, SIZE)
    cases["one_hot"] = ({"index": places, "x": rng.normal(M)}, lambda i: {
        "y": F.one_hot(i["index"], N).double(), "filled": i["x"].masked_fill(i["x"] > 0, 7)}, SIZE)
    cases["computed_places"] = ({"x": rng.normal(N, M), "index": places[:, None].contiguous()}, lambda i: {
        "early": i["x"].exp(), "late": i["x"].abs().sqrt().gather(0, i["index"].expand(I, M))}, SIZE)
    return cases
