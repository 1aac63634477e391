# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for einsum.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

M, K = 5, 17


def pairs(i: dict) -> dict:
    a, b, c = i["a"], i["b"], i["c"]
    e = torch.einsum
    return {"product": e("bij,bjk->bik", a, b), "turned": e("bij, bjk -> kib", a, b), "two": e("bij,jck->cbi", a, c),
            "implicit": e("bij,jck", a, c), "rows": e("bij,bjk->i", a, b)}


def elements(i: dict) -> dict:
    a, b, c = i["a"], i["b"], i["c"]
    e = torch.einsum
    return {"scaled": e("ij,j->ij", a, b), "outer": e("ij,k->kji", a, b[:1]), "integers": e("ij,ij->ji", c, c),
            "sum": e("ij->j", a), "all": c.sum().to(c.dtype), "transposed": a.T, "itself": b @ b}


def diagonals(i: dict) -> dict:
    a, b = i["a"], i["b"]
    e = torch.einsum
    return {"diagonal": e("iji->ij", a), "trace": e("iji->j", a), "three": e("ijii->ji", b)}


def several(i: dict) -> dict:
    a, b, c, d, x = (i[name] for name in "abcde")
    e = torch.einsum
    return {"chain": e("ij,jk,kl->il", a, b, c), "ellipsis": e("...ij,...jk->...ik", d, x),
            "last": e("i...,ji->j...", a, a.T), "shared": e("xyij,zji,jk->xzk", d, x, c)}


def products(i: dict) -> dict:
    a, b, bias, v = i["a"], i["b"], i["bias"], i["v"]
    return {"bmm": a.bmm(b), "mm": a[0].mm(b[1]), "mv": a[0].mv(v), "dot": v.dot(v),
            "addmm": torch.addmm(bias, a[0], b[1], beta=0.5, alpha=2), "baddbmm": torch.baddbmm(bias, a, b),
            "outer": v.outer(bias), "inner": torch.inner(a, v), "tensordot": torch.tensordot(a, b, ([2, 0], [1, 0]))}


def functions(rng: Random) -> dict:
    n = rng.normal
    cases = {
        "pairs": ({"a": n(2, M, K), "b": n(2, K, 17), "c": n(K, 3, 17)}, pairs),
        "elements": ({"a": n(M, K), "b": n(K), "c": rng.integers(torch.int32, 4, M)}, elements),
        "diagonals": ({"a": n(M, 3, M), "b": n(5, K, 5, 5)}, diagonals),
        "several": ({"a": n(M, 4), "b": n(4, K), "c": n(K, 18), "d": n(2, 1, M, K), "e": n(3, K, M)}, several),
        "products": ({"a": n(2, M, K), "b": n(2, K, 17), "bias": n(17), "v": n(K)}, products),
        "bilinear": ({"a": n(M, 5), "b": n(M, K), "weight": n(4, 5, K), "bias": n(4)}, lambda i: {
            "y": F.bilinear(i["a"], i["b"], i["weight"], i["bias"])}),
    }
    return {name: (inputs, f, f"m={M},k={K}") for name, (inputs, f) in cases.items()}
