# SPDX-License-Identifier: Apache-2.0
"""The rows' models in PyTorch, their weights and their inputs. Needs torch."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))
import builds
import models

Tensors = dict[str, torch.Tensor]
LAYERS, WIDTH, INNER, HEADS, KV_HEADS, HEAD, WORDS, POSITIONS = 30, 576, 1536, 9, 3, 64, 49152, 8192


def attention(w: Tensors, x: Tensors) -> torch.Tensor:
    return F.scaled_dot_product_attention(x["q"][None], x["k"][None], x["v"][None], is_causal=True)[0]


def pointwise(w: Tensors, x: Tensors) -> torch.Tensor:
    return F.gelu(F.layer_norm(x["a"] + x["b"], (1024,), w["weight"], w["bias"])) * x["c"]


def vit_tiny(w: Tensors, x: Tensors, width: int = 192, heads: int = 3) -> torch.Tensor:
    def linear(t: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(t, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(t: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(t, (width,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-6)

    h = F.conv2d(x["image"], w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=16)
    h = torch.cat((w["cls_token"], h.flatten(2).transpose(1, 2)), 1) + w["pos_embed"]
    tokens = h.shape[1]
    for i in range(12):
        p = f"blocks.{i}."
        q, k, v = linear(norm(h, p + "norm1"), p + "attn.qkv").view(1, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, tokens, width)
        h = h + linear(a, p + "attn.proj")
        h = h + linear(F.gelu(linear(norm(h, p + "norm2"), p + "mlp.fc1")), p + "mlp.fc2")
    return linear(norm(h, "norm")[:, 0], "head")


def smollm2(w: Tensors, x: Tensors) -> torch.Tensor:
    """Logits of a token behind others; the keys and values of those are an input."""
    past = x["cache"].shape[3]
    def norm(t: torch.Tensor, name: str) -> torch.Tensor:
        return t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + 1e-5) * w[name + ".weight"]

    cosines, sines = w["cosines"][past:past + 1], w["sines"][past:past + 1]

    def rotated(t: torch.Tensor) -> torch.Tensor:
        one, two = t.chunk(2, -1)
        return t * cosines + torch.cat((-two, one), -1) * sines

    def repeated(t: torch.Tensor) -> torch.Tensor:
        return t[:, None].expand(KV_HEADS, HEADS // KV_HEADS, past + 1, HEAD).reshape(1, HEADS, past + 1, HEAD)

    h = F.embedding(x["id"], w["embed_tokens.weight"])
    for i in range(LAYERS):
        p = f"layers.{i}."
        y = norm(h, p + "input_layernorm")
        q, k, v = (F.linear(y, w[f"{p}self_attn.{n}_proj.weight"]).view(1, -1, HEAD).transpose(0, 1) for n in "qkv")
        k, v = torch.cat((x["cache"][i, 0], rotated(k)), 1), torch.cat((x["cache"][i, 1], v), 1)
        a = F.scaled_dot_product_attention(rotated(q)[None], repeated(k), repeated(v))[0]
        h = h + F.linear(a.transpose(0, 1).reshape(1, WIDTH), w[p + "self_attn.o_proj.weight"])
        y = norm(h, p + "post_attention_layernorm")
        y = F.silu(F.linear(y, w[p + "mlp.gate_proj.weight"])) * F.linear(y, w[p + "mlp.up_proj.weight"])
        h = h + F.linear(y, w[p + "mlp.down_proj.weight"])
    return F.linear(norm(h, "norm"), w["embed_tokens.weight"])


CALLS: dict[str, Callable[[Tensors, Tensors], torch.Tensor]] = models.MODELS | {
    "matmul": lambda w, x: x["a"] @ x["b"],
    "conv3x3": lambda w, x: F.conv2d(x["x"], w["weight"], w["bias"], padding=1),
    "attention": attention, "pointwise": pointwise, "vit_tiny": vit_tiny, "smollm2": smollm2,
    "bert_base": lambda w, x: models.minilm(w, x, 12)}


class Model(torch.nn.Module):
    """A row's model with its weights as parameters; inputs by position."""

    def __init__(self, model: str, weights: Tensors, inputs: Tensors):
        super().__init__()
        self.model, self.inputs = model, list(inputs)
        self.paths = {name: name.replace(".", "__") for name in weights}
        for name, path in self.paths.items():
            self.register_parameter(path, torch.nn.Parameter(weights[name], requires_grad=False))

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        weights = {name: getattr(self, path) for name, path in self.paths.items()}
        return CALLS[self.model](weights, dict(zip(self.inputs, inputs)))


class LstmStep(torch.nn.Module):
    """The LSTM step as an operation of ONNX: torch.lstm_cell has none."""

    def __init__(self, weights: Tensors):
        super().__init__()
        self.lstm = torch.nn.LSTM(64, 128)
        self.lstm.load_state_dict({k.removeprefix("lstm.") + "_l0": v for k, v in weights.items()})

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        _, (h, c) = self.lstm(x[None], (h[None], c[None]))
        return torch.stack((h[0], c[0]))


def exportable(model: str, weights: Tensors, inputs: Tensors) -> torch.nn.Module:
    return (LstmStep(weights) if model == "lstm-step" else Model(model, weights, inputs)).eval()


def _shapes(model: str) -> dict[str, tuple[int, ...]]:
    """Of the weights that no program beside the model makes."""
    if model in builds.OWN:
        return builds.OWN[model]
    if model == "conv3x3":
        return {"weight": (64, 64, 3, 3), "bias": (64,)}
    if model == "pointwise":
        return {"weight": (1024,), "bias": (1024,)}
    shapes: dict[str, tuple[int, ...]] = {}

    def dense(name: str, rows: int, columns: int, bias: bool = True) -> None:
        shapes[f"{name}.weight"] = (rows, columns)
        if bias:
            shapes[f"{name}.bias"] = (rows,)

    if model == "vit_tiny":
        shapes |= {"cls_token": (1, 1, 192), "pos_embed": (1, 197, 192), "patch_embed.proj.weight": (192, 3, 16, 16),
                   "patch_embed.proj.bias": (192,), "norm.weight": (192,), "norm.bias": (192,)}
        for i in range(12):
            p = f"blocks.{i}."
            shapes |= {f"{p}{n}.{kind}": (192,) for n in ("norm1", "norm2") for kind in ("weight", "bias")}
            for name, rows, columns in (("attn.qkv", 576, 192), ("attn.proj", 192, 192), ("mlp.fc1", 768, 192),
                                        ("mlp.fc2", 192, 768)):
                dense(p + name, rows, columns)
        dense("head", 1000, 192)
    elif model == "bert_base":
        shapes |= {"embeddings.word.weight": (30522, 768), "embeddings.position.weight": (512, 768),
                   "embeddings.norm.weight": (768,), "embeddings.norm.bias": (768,)}
        for i in range(12):
            p = f"layer.{i}."
            for name in ("query", "key", "value", "output"):
                dense(p + name, 768, 768)
            dense(p + "up", 3072, 768)
            dense(p + "down", 768, 3072)
            shapes |= {f"{p}{n}_norm.{kind}": (768,) for n in ("attention", "output") for kind in ("weight", "bias")}
    elif model == "smollm2":
        shapes |= {"embed_tokens.weight": (WORDS, WIDTH), "norm.weight": (WIDTH,)}
        for i in range(LAYERS):
            p = f"layers.{i}."
            shapes |= {f"{p}{n}.weight": (WIDTH,) for n in ("input_layernorm", "post_attention_layernorm")}
            for name, rows, columns in (("q", WIDTH, WIDTH), ("k", 192, WIDTH), ("v", 192, WIDTH), ("o", WIDTH, WIDTH)):
                dense(f"{p}self_attn.{name}_proj", rows, columns, False)
            for name, rows, columns in (("gate", INNER, WIDTH), ("up", INNER, WIDTH), ("down", WIDTH, INNER)):
                dense(f"{p}mlp.{name}_proj", rows, columns, False)
    return shapes


def _value(name: str, shape: tuple[int, ...], g: torch.Generator) -> torch.Tensor:
    """Seeded, with the spread of trained weights; about 1 where a norm multiplies by it."""
    values = torch.randn(shape, generator=g)
    if len(shape) == 1:
        return 1 + 0.1 * values if name.endswith("weight") else 0.05 * values
    if "embed" in name or "token" in name:
        return 0.05 * values
    return values / values[0].numel()**0.5


def weights(model: str, path: Path) -> Tensors:
    """Those of a model, made at `path` where they are not there yet. The file gets its name when it is complete."""
    if path.exists():
        return load_file(path)
    part = path.with_suffix(".weights.part")
    maker = builds.ROOT / "examples" / model / "make_weights.c"
    if maker.exists():
        builds.make_weights(maker, path.with_suffix(".tool"), part)
        part.rename(path)
        return load_file(path)
    g = torch.Generator().manual_seed(7)
    made = {name: _value(name, shape, g) for name, shape in _shapes(model).items()}
    if model == "smollm2":
        angles = torch.arange(POSITIONS)[:, None] * 100000.0**(-torch.arange(0, HEAD, 2) / HEAD)
        made |= {"cosines": angles.cos().repeat(1, 2), "sines": angles.sin().repeat(1, 2)}
    if made:
        save_file(made, part)
        part.rename(path)
    return made


def inputs(model: str, sizes: dict[str, int]) -> Tensors:
    g = torch.Generator().manual_seed(1)
    if model == "matmul":
        size = sizes.get("SIZE", 512)
        return {name: torch.randn(size, size, generator=g) for name in "ab"}
    if model == "conv3x3":
        return {"x": torch.randn(1, 64, 56, 56, generator=g)}
    if model == "attention":
        return {name: torch.randn(12, sizes.get("LENGTH", 512), 64, generator=g) for name in "qkv"}
    if model == "pointwise":
        return {name: torch.randn(1024, 1024, generator=g) for name in "abc"}
    if model == "vit_tiny":
        return {"image": torch.randn(1, 3, 224, 224, generator=g)}
    if model == "smollm2":
        return {"id": torch.tensor([1234]), "cache": torch.zeros(LAYERS, 2, KV_HEADS, sizes["past"], HEAD)}
    made = models.random_inputs("minilm" if model == "bert_base" else model, **sizes)
    return {name: tensor for name, tensor in made.items() if isinstance(tensor, torch.Tensor)}
