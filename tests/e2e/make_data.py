# SPDX-License-Identifier: Apache-2.0
"""Writes encoder.safetensors (seeded weights of a small configuration of examples/minilm), and PyTorch's embeddings, in
float64, of some batches: small.safetensors of that configuration, full.safetensors of the example's own weights.

  python make_data.py MINILM.safetensors     (what examples/minilm/make_weights wrote; needs torch and safetensors)
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))
import models

LAYERS, HIDDEN, HEADS, INTERMEDIATE, VOCABULARY, POSITIONS = 2, 24, 3, 56, 40, 512
generator = torch.Generator().manual_seed(5)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator)


def small() -> dict[str, torch.Tensor]:
    w = {"embeddings.word.weight": normal(VOCABULARY, HIDDEN), "embeddings.position.weight": normal(POSITIONS, HIDDEN)}
    norms = ["embeddings.norm"]
    for i in range(LAYERS):
        norms += [f"layer.{i}.attention_norm", f"layer.{i}.output_norm"]
        for name, rows, columns in (("query", HIDDEN, HIDDEN), ("key", HIDDEN, HIDDEN), ("value", HIDDEN, HIDDEN),
                                    ("output", HIDDEN, HIDDEN), ("up", INTERMEDIATE, HIDDEN),
                                    ("down", HIDDEN, INTERMEDIATE)):
            w[f"layer.{i}.{name}.weight"] = normal(rows, columns) / columns**0.5
            w[f"layer.{i}.{name}.bias"] = normal(rows) * 0.1
    for name in norms:
        w[f"{name}.weight"], w[f"{name}.bias"] = 1 + normal(HIDDEN) * 0.1, normal(HIDDEN) * 0.1
    return w


def expected(w: dict, layers: int, heads: int, vocabulary: int, batches: list[tuple[int, int]]) -> dict:
    """ids, mask and embedding of each batch; row i ends in 3 i positions of padding."""
    out = {}
    for batch, seq in batches:
        ids = torch.randint(0, vocabulary, (batch, seq), generator=generator)
        lengths = torch.tensor([max(1, seq - 3 * i) for i in range(batch)])
        mask = (torch.arange(seq)[None] < lengths[:, None]).long()
        found = models.minilm({k: v.double() for k, v in w.items()}, {"ids": ids, "mask": mask}, layers, heads)
        out |= {f"{batch}x{seq}.ids": ids, f"{batch}x{seq}.mask": mask, f"{batch}x{seq}.embedding": found.float()}
    return out


with torch.inference_mode():
    weights = small()
    save_file(weights, HERE / "encoder.safetensors")
    save_file(expected(weights, LAYERS, HEADS, VOCABULARY, [(1, 1), (1, 7), (3, 12), (2, 33)]),
              HERE / "small.safetensors")
    save_file(expected(load_file(sys.argv[1]), 6, 12, 30522, [(1, 128), (3, 20)]), HERE / "full.safetensors")
