# SPDX-License-Identifier: Apache-2.0
"""Small models whose sizes differ from call to call: MODELS[name]. make_cases.py makes cases/dynamic.zip of them."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

Sizes = dict[str, int]
VOCABULARY, WIDTH, HEADS, MOST = 14, 8, 2, 40


@dataclass(frozen=True)
class Model:
    """dynamic: words of tensor-compile-export.py. args: those of a call at these sizes. specialize: the sizes of
    variants. runs: calls one after the other, the first from the initial state; outside: sizes that are refused;
    ranges: what the import is told of a dim."""

    module: nn.Module
    dynamic: tuple[str, ...]
    args: Callable[[Sizes], tuple[Any, ...]]
    sample: Sizes
    specialize: dict[str, tuple[int, ...]]
    runs: list[list[Sizes]]
    outside: list[Sizes]
    ranges: dict[str, str] = field(default_factory=dict)


def words(*sizes: int) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, sizes)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(11)
    return make().eval()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], x.shape[1], HEADS, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor | None = None,
                causal: bool = False) -> torch.Tensor:
        k, v = self.kv(y).chunk(2, -1)
        mixed = F.scaled_dot_product_attention(self.heads(self.q(x)), self.heads(k), self.heads(v), mask,
                                               is_causal=causal)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, crossed: bool = False) -> None:
        super().__init__()
        self.attention = Attention()
        self.cross = Attention() if crossed else None
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, causal: bool = False,
                memory: torch.Tensor | None = None, memory_mask: torch.Tensor | None = None) -> torch.Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, y, mask, causal)
        if self.cross is not None and memory is not None:
            x = x + self.cross(self.norms[2](x), memory, memory_mask)
        return x + self.mlp(self.norms[1](x))


class Translation(nn.Module):
    """An encoder of padded rows and a decoder that looks at it, each with its own length."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(MOST, WIDTH)
        self.encoder = nn.ModuleList(Layer() for _ in range(2))
        self.decoder = nn.ModuleList(Layer(crossed=True) for _ in range(2))

    def embedded(self, ids: torch.Tensor) -> torch.Tensor:
        return self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))

    def forward(self, source: torch.Tensor, kept: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        mask = kept[:, None, None, :]
        memory = self.embedded(source)
        for layer in self.encoder:
            memory = layer(memory, mask)
        x = self.embedded(target)
        for layer in self.decoder:
            x = layer(x, None, True, memory, mask)
        return x @ self.words.weight.t()


class Segmentation(nn.Module):
    """Strides, a residual block, pools, two ways up again with skips, and a head over the whole image. (Of a max_pool2d
    with a stride torch.export wants to know whether its size is even.)"""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(4, 4, 3, 1, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, 1, 1))
        self.pool = nn.MaxPool2d(3, 1, 1)
        self.deep = nn.Conv2d(4, 6, 3, 2, 1, groups=2)
        self.up = nn.Conv2d(10, 4, 1)
        self.last = nn.ConvTranspose2d(4, 1, 2, 2)
        self.head = nn.Linear(6, 3)

    def forward(self, image: torch.Tensor) -> Any:
        x = self.stem(image)
        x = F.relu(x + self.body(x))
        deep = F.relu(self.deep(self.pool(x)))
        up = F.interpolate(deep, size=x.shape[-2:], mode="bilinear", align_corners=False)
        mask = F.interpolate(self.last(F.relu(self.up(torch.cat((up, x), 1)))), size=image.shape[-2:])
        return {"mask": mask + F.avg_pool2d(image, 3, 1, 1), "classes": self.head(deep.mean((2, 3))),
                "grid": F.adaptive_avg_pool2d(F.interpolate(deep, scale_factor=2), 1)}


class Decoder(nn.Module):
    """A cache of keys and values in buffers: a call writes its words at `start` and looks at all up to them."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(MOST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(2, 1, HEADS, MOST, WIDTH // HEADS))

    def forward(self, ids: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(at)
        seen = torch.arange(MOST) <= at[:, None]
        for i, layer in enumerate(self.layers):
            y = layer.norms[0](x)
            k, v = layer.attention.kv(y).chunk(2, -1)
            self.keys[i].index_copy_(2, at, layer.attention.heads(k))
            self.values[i].index_copy_(2, at, layer.attention.heads(v))
            mixed = F.scaled_dot_product_attention(layer.attention.heads(layer.attention.q(y)), self.keys[i],
                                                   self.values[i], seen)
            x = x + layer.attention.out(mixed.transpose(1, 2).reshape(x.shape))
            x = x + layer.mlp(layer.norms[1](x))
        return x @ self.words.weight.t()


class Grown(nn.Module):
    """A cache that the caller passes in and gets back longer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.layer = Layer()

    def forward(self, ids: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
        x, inner = self.words(ids), self.layer.attention
        k, v = inner.kv(self.layer.norms[0](x)).chunk(2, -1)
        keys, values = torch.cat((keys, inner.heads(k)), 2), torch.cat((values, inner.heads(v)), 2)
        mixed = F.scaled_dot_product_attention(inner.heads(inner.q(x)), keys, values)
        x = x + inner.out(mixed.transpose(1, 2).reshape(x.shape))
        return {"logits": x @ self.words.weight.t(), "keys_then": keys, "values_then": values}


def language() -> nn.Module:
    """transformers' own code, as people export it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = LlamaForCausalLM(LlamaConfig(
                vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=12, num_hidden_layers=2,
                num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=MOST))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=ids, use_cache=False).logits

    return Logits()


def pairs(first: str, second: str, *sizes: tuple[int, int]) -> list[list[Sizes]]:
    return [[{first: a, second: b}] for a, b in sizes]


# The places of the cache that calls of 7 words and single ones fill.
_filled = 0


def next_places(s: Sizes) -> tuple[Any, ...]:
    global _filled
    begin = 0 if s.get("reset") else _filled
    _filled = begin + s["length"]
    return words(1, s["length"]), torch.arange(begin, _filled)


MODELS: dict[str, Model] = {
    "language": Model(
        seeded(language), ("ids.0=batch:1:4", f"ids.1=length:1:{MOST}"),
        lambda s: (words(s["batch"], s["length"]),), {"batch": 2, "length": 6}, {"batch": (1, 2), "length": (8, 32)},
        pairs("batch", "length", (1, 1), (4, 1), (1, 7), (1, 8), (2, 8), (3, 8), (1, 9), (2, 31), (1, 32), (2, 32),
              (3, 32), (2, 33), (4, MOST)),
        [{"batch": 5}, {"batch": 0}, {"length": MOST + 1}, {"length": 0}]),
    "translation": Model(
        seeded(Translation), ("source.0=batch:1:3", f"source.1=from:1:{MOST}", "kept.0=batch:1:3",
                              f"kept.1=from:1:{MOST}", "target.0=batch:1:3", "target.1=to:1:20"),
        lambda s: (words(s["batch"], s["from"]), torch.arange(s["from"]) < torch.randint(1, s["from"] + 1, (
            s["batch"], 1)), words(s["batch"], s["to"])),
        {"batch": 2, "from": 6, "to": 5}, {"from": (16, MOST), "to": (1, 16)},
        [[{"batch": b, "from": n, "to": t}] for b, n, t in (
            (1, 1, 1), (2, 15, 1), (3, 16, 1), (1, 17, 2), (2, 16, 15), (1, 16, 16), (2, 16, 17), (1, 15, 16),
            (1, MOST - 1, 16), (1, MOST, 16), (3, MOST, 20))],
        [{"from": MOST + 1}, {"to": 21}, {"to": 0}, {"batch": 4}]),
    "vision": Model(
        seeded(Segmentation), ("image.2=height:5:40", "image.3=width:5:48"),
        lambda s: (torch.randn(1, 1, s["height"], s["width"]),), {"height": 12, "width": 17},
        {"height": (16, 32), "width": (24, 32)},
        pairs("height", "width", (5, 5), (15, 24), (16, 23), (16, 24), (16, 25), (17, 24), (31, 32), (32, 31), (32, 32),
              (33, 33), (39, 47), (40, 48)),
        [{"height": 4}, {"height": 41}, {"width": 4}, {"width": 49}]),
    "decoder": Model(
        seeded(Decoder), ("ids.1=length:1:16", "at.0=length:1:16"), next_places,
        {"length": 5, "reset": 1}, {"length": (1, 8)},
        [[{"length": 7, "reset": 1}, {"length": 1}, {"length": 1}, {"length": 2}, {"length": 1}, {"length": 8},
          {"length": 9}, {"length": 1}],
         [{"length": 16, "reset": 1}, {"length": 15}, {"length": 1}, {"length": 8}],
         [{"length": 1, "reset": 1}, {"length": 8}]],
        [{"length": 17}, {"length": 0}]),
    "grown": Model(
        seeded(Grown), ("ids.0=batch:1:3", "keys.0=batch:1:3", "keys.2=past:0:32", "values.0=batch:1:3",
                        "values.2=past:0:32"),
        lambda s: (words(s["batch"], 1), *(torch.randn(s["batch"], HEADS, s["past"], WIDTH // HEADS) for _ in "kv")),
        {"batch": 2, "past": 5}, {"past": (1, 16)},
        pairs("batch", "past", (1, 0), (1, 1), (2, 1), (1, 2), (3, 15), (1, 16), (2, 16), (1, 17), (1, 31), (3, 32)),
        [{"past": 33}, {"batch": 0}, {"batch": 4}],
        {"past": "0:32"}),
}
