# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for attention.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random


def functions(rng: Random) -> dict:
    def operands(heads: int, kv: int, d: int, e: int) -> dict:
        return {"q": rng.normal(2, heads, 5, d), "k": rng.normal(2, kv, 16, d), "v": rng.normal(2, kv, 16, e)}

    def sdpa(i: dict, mask: torch.Tensor | None = None, **options: object) -> dict:
        return {"y": F.scaled_dot_product_attention(i["q"], i["k"], i["v"], attn_mask=mask, **options)}

    size = "batch=2,l=5,s=16"
    keep = rng.rand(2, 1, 1, 16) > 0.3
    keep[..., 0] = True
    cases = {
        "plain": (operands(4, 4, 32, 32), sdpa, size),
        "odd": (operands(3, 3, 7, 19), lambda i: sdpa(i, scale=0.3), size),
        "causal": (operands(2, 2, 16, 16), lambda i: sdpa(i, is_causal=True), size),
        "mask": (operands(2, 2, 16, 16) | {"mask": rng.normal(5, 16)}, lambda i: sdpa(i, i["mask"]), size),
        "keep": (operands(2, 2, 16, 16) | {"keep": keep}, lambda i: sdpa(i, i["keep"]), size),
        "grouped": (operands(6, 2, 16, 16), lambda i: sdpa(i, is_causal=True, enable_gqa=True), size),
        "embedding": ({"table": rng.normal(50, 24), "index": rng.randint(0, 50, (2, 7))},
                      lambda i: {"y": i["table"][i["index"]] * 2}, "l=7"),
        "gather": ({"x": rng.normal(3, 50, 4), "index": rng.randint(0, 50, (7,)).to(torch.int32)},
                   lambda i: {"y": i["x"].index_select(1, i["index"])}, "l=7"),
    }

    def capped(i: dict) -> dict:
        scores = 0.75 * torch.tanh(i["q"] @ i["k"].transpose(2, 3) / 4 / 0.75)
        later = torch.ones(5, 16, dtype=torch.bool).triu(1)
        return {"y": scores.masked_fill(later, -torch.inf).softmax(-1) @ i["v"]}

    cases["capped"] = (operands(2, 2, 16, 16), capped, size)

    def heads(i: dict) -> dict:
        q, k, v = (F.linear(i[f"x{n}"], i[f"w{n}"]).view(2, 7, 3, 16).transpose(1, 2) for n in range(3))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 7, 48)
        return {"y": F.linear(y, i["w3"])}

    inputs = {f"x{n}": rng.normal(2, 7, 48) for n in range(3)} | {f"w{n}": rng.normal(48, 48) / 7 for n in range(3)}
    cases["heads"] = (inputs | {"w3": rng.normal(40, 48) / 7}, heads, "batch=2,l=7")

    def alone(heads: int, kv: int, out: int) -> dict:
        return {"q": rng.normal(2, heads, 7, 16), "k": rng.normal(2, kv, 7, 16), "v": rng.normal(2, kv, 7, out)}

    cases["self"] = (alone(4, 2, 24), lambda i: sdpa(i, is_causal=True, enable_gqa=True), "batch=2,l=7")
    given = rng.rand(2, 1, 1, 7) > 0.3
    given[..., 0] = True
    cases["self_keep"] = (alone(2, 2, 16) | {"keep": given},
                          lambda i: sdpa(i, i["keep"] & torch.ones(7, 7, dtype=torch.bool).tril()), "batch=2,l=7")

    def of_kept(i: dict, keep: torch.Tensor) -> torch.Tensor:
        """Each row by itself, of the columns that it keeps; PyTorch's value where it keeps none."""
        k, v = (i[name].repeat_interleave(2, 1) for name in "kv")
        y = F.scaled_dot_product_attention(i["q"], k, v, attn_mask=keep)
        v = v.clone()
        v[:, :, 0] = torch.inf
        for row in range(5):
            if keep[row].any():
                y[:, :, row] = F.scaled_dot_product_attention(i["q"][:, :, row:row + 1], k[:, :, keep[row]],
                                                              v[:, :, keep[row]])[:, :, 0]
        return y

    def left_out(i: dict) -> dict:
        keep, band = i["keep"], torch.ones(5, 16, dtype=torch.bool).tril().triu(-2)
        return {"kept": of_kept(i, keep), "causal": of_kept(i, keep & band),
                "added": sdpa(i, i["bias"].expand(5, 16), enable_gqa=True)["y"]}

    keep = rng.rand(5, 16) > 0.5
    keep[1], keep[2, :3] = False, False
    bias = rng.normal(5, 1)
    bias[3] = -torch.inf
    cases["left_out"] = (operands(4, 2, 16, 16) | {"keep": keep, "bias": bias}, left_out, size)
    return cases
