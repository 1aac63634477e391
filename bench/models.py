# SPDX-License-Identifier: Apache-2.0
"""The benchmark models as PyTorch eager functions over the same safetensors that our builds read.

Each entry of MODELS takes the weights and the inputs, tensors by their names in the model. Written the way a PyTorch
user would write inference code: torch.nn.functional, no compile.
"""
from __future__ import annotations

import torch
import torch.nn.functional as F

import networks


def mlp(w: dict, x: dict) -> torch.Tensor:
    h = F.relu(F.linear(x["image"], w["fc1.weight"], w["fc1.bias"]))
    h = F.relu(F.linear(h, w["fc2.weight"], w["fc2.bias"]))
    return F.linear(h, w["fc3.weight"], w["fc3.bias"])


def lstm_step(w: dict, x: dict) -> torch.Tensor:
    """h' and c', one below the other: what torch.nn.LSTMCell calls."""
    weights = (w[f"lstm.{kind}_{of}"] for kind in ("weight", "bias") for of in ("ih", "hh"))
    return torch.stack(torch.lstm_cell(x["x"], (x["h"], x["c"]), *weights))


def digits(w: dict, x: dict) -> torch.Tensor:
    h = F.max_pool2d(F.relu(F.conv2d(x["image"], w["conv1.weight"], w["conv1.bias"], padding=1)), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, w["conv2.weight"], w["conv2.bias"], padding=1)), 2)
    return F.softmax(F.linear(h.flatten(1), w["fc.weight"], w["fc.bias"]), -1)


def minilm(w: dict, x: dict, layers: int = 6, heads: int = 12) -> torch.Tensor:
    ids, mask = x["ids"], x["mask"]
    batch, seq = ids.shape
    hidden = w["embeddings.norm.weight"].shape
    h = w["embeddings.word.weight"][ids] + w["embeddings.position.weight"][:seq]
    h = F.layer_norm(h, hidden, w["embeddings.norm.weight"], w["embeddings.norm.bias"], 1e-12)
    bias = torch.where(mask.bool(), 0.0, float("-inf")).to(h.dtype)[:, None, None, :]
    for i in range(layers):
        p = f"layer.{i}."

        def linear(t: torch.Tensor, name: str) -> torch.Tensor:
            return F.linear(t, w[f"{p}{name}.weight"], w[f"{p}{name}.bias"])

        q, k, v = (linear(h, n).view(batch, seq, heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).reshape(batch, seq, -1)
        h = F.layer_norm(h + linear(a, "output"), hidden, w[p + "attention_norm.weight"],
                         w[p + "attention_norm.bias"], 1e-12)
        m = linear(F.gelu(linear(h, "up")), "down")
        h = F.layer_norm(h + m, hidden, w[p + "output_norm.weight"], w[p + "output_norm.bias"], 1e-12)
    weight = mask.to(torch.float32)[:, :, None]
    return (h * weight).sum(1) / weight.sum(1)


def random_inputs(model: str, **sizes: int) -> dict:
    """The inputs of the model by name; what is no tensor is for PyTorch's function alone."""
    g = torch.Generator().manual_seed(1)
    batch = sizes.get("batch", 1)
    if model == "mlp":
        return {"image": torch.randn(batch, 784, generator=g)}
    if model == "lstm-step":
        return {name: torch.randn(1, size, generator=g) for name, size in (("x", 64), ("h", 128), ("c", 128))}
    if model == "digits":
        return {"image": torch.rand(batch, 1, 8, 8, generator=g)}
    if model in ("resnet50", "mobilenet_v2"):
        return {"image": torch.randn(batch, 3, 224, 224, generator=g)}
    if model == "unet":
        return {"image": torch.randn(1, 3, sizes["height"], sizes["width"], generator=g)}
    if model == "lstm-vad":
        return {"samples": torch.randn(512, generator=g) * 0.1}
    if model in ("gpt2", "gpt2-decode"):
        return {"ids": torch.randint(0, 50257, (sizes.get("length", 1),), generator=g, dtype=torch.int32), **sizes}
    ids = torch.randint(0, 30522, (batch, sizes["seq"]), generator=g)
    return {"ids": ids, "mask": torch.ones(batch, sizes["seq"], dtype=torch.int64)}


MODELS = {"mlp": mlp, "lstm-step": lstm_step, "digits": digits, "minilm": minilm, "resnet50": networks.resnet50,
          "mobilenet_v2": networks.mobilenet_v2, "gpt2": networks.gpt2, "gpt2-decode": networks.gpt2_decode,
          "unet": networks.unet, "lstm-vad": networks.vad}
