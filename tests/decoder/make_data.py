# SPDX-License-Identifier: Apache-2.0
"""Writes decoder.safetensors (seeded weights) and expected.safetensors (a prompt and PyTorch's logits, in float64).

  python make_data.py        (needs torch and safetensors)
"""
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, INTERMEDIATE, VOCABULARY, CAPACITY = 2, 32, 4, 2, 8, 80, 96, 64
generator = torch.Generator().manual_seed(11)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator)


weights = {"embedding": normal(VOCABULARY, HIDDEN), "positions": normal(CAPACITY, HIDDEN) * 0.1,
           "norm": 1 + normal(HIDDEN) * 0.1}
for i in range(LAYERS):
    for name, rows, columns in [("query", HEADS * HEAD, HIDDEN), ("key", KV_HEADS * HEAD, HIDDEN),
                                ("value", KV_HEADS * HEAD, HIDDEN), ("output", HIDDEN, HEADS * HEAD),
                                ("gate", INTERMEDIATE, HIDDEN), ("up", INTERMEDIATE, HIDDEN),
                                ("down", HIDDEN, INTERMEDIATE)]:
        weights[f"layer.{i}.{name}"] = normal(rows, columns) / columns**0.5
    for name in ("norm1", "norm2"):
        weights[f"layer.{i}.{name}"] = 1 + normal(HIDDEN) * 0.1


def decoder(ids: torch.Tensor) -> torch.Tensor:
    w = {k: v.double() for k, v in weights.items()}
    n = len(ids)
    x = w["embedding"][ids] + w["positions"][:n]
    for i in range(LAYERS):
        def project(t: torch.Tensor, name: str) -> torch.Tensor:
            return F.linear(t, w[f"layer.{i}.{name}"])

        h = F.rms_norm(x, (HIDDEN,), w[f"layer.{i}.norm1"], 1e-6)
        q, k, v = (project(h, name).view(n, heads, HEAD).transpose(0, 1)
                   for name, heads in (("query", HEADS), ("key", KV_HEADS), ("value", KV_HEADS)))
        a = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=True)[0]
        x = x + project(a.transpose(0, 1).reshape(n, HIDDEN), "output")
        h = F.rms_norm(x, (HIDDEN,), w[f"layer.{i}.norm2"], 1e-6)
        x = x + project(F.silu(project(h, "gate")) * project(h, "up"), "down")
    return F.linear(F.rms_norm(x, (HIDDEN,), w["norm"], 1e-6), w["embedding"])


ids = torch.randint(0, VOCABULARY, (20,), generator=generator)
save_file(weights, HERE / "decoder.safetensors")
save_file({"ids": ids.to(torch.int32), "logits": decoder(ids).float()}, HERE / "expected.safetensors")
