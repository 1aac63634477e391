# SPDX-License-Identifier: Apache-2.0
"""Networks that none of the three libraries has: recommenders, graph networks by scatter, the parts of image
generators. Each is the small form of a published architecture, written with plain PyTorch."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


def mlp(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


# -- recommenders
# ------------------------------------------------------------------------------------------------------------
class Dlrm(nn.Module):
    """Embeddings and a bottom network meet in all their products."""

    def __init__(self, tables: int = 8, rows: int = 200, width: int = 16):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom, self.top = mlp(13, 64, width), mlp(width + (tables + 1) * tables // 2, 64, 1)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        parts = torch.stack([x, *(bag(sparse[:, i]) for i, bag in enumerate(self.bags))], 1)
        products = parts @ parts.transpose(1, 2)
        return torch.sigmoid(self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1)))


class Factorization(nn.Module):
    """DeepFM: first and second order terms, and a deep network, over the same embeddings."""

    def __init__(self, fields: int = 10, rows: int = 100, width: int = 8):
        super().__init__()
        self.linear, self.factors = nn.Embedding(fields * rows, 1), nn.Embedding(fields * rows, width)
        self.deep = mlp(fields * width, 64, 32, 1)
        self.register_buffer("first", torch.arange(fields) * rows, persistent=False)

    def forward(self, fields: torch.Tensor) -> torch.Tensor:
        index = fields + self.first
        v = self.factors(index)
        second = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(index).sum(1) + second + self.deep(v.flatten(1)))


class WideDeep(nn.Module):
    def __init__(self, fields: int = 10, rows: int = 100, width: int = 8):
        super().__init__()
        self.wide, self.tables = nn.Linear(13, 1), nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.deep = mlp(fields * width + 13, 128, 64, 1)

    def forward(self, dense: torch.Tensor, fields: torch.Tensor) -> torch.Tensor:
        parts = [table(fields[:, i]) for i, table in enumerate(self.tables)]
        return torch.sigmoid(self.wide(dense) + self.deep(torch.cat([dense, *parts], 1)))


class NeuralFiltering(nn.Module):
    """A product of embeddings beside a network of them."""

    def __init__(self, rows: int = 300, width: int = 16):
        super().__init__()
        self.users, self.items = nn.Embedding(rows, 2 * width), nn.Embedding(rows, 2 * width)
        self.network, self.out = mlp(2 * width, 32, width), nn.Linear(2 * width, 1)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        (a, b), (c, d) = self.users(user).chunk(2, 1), self.items(item).chunk(2, 1)
        return torch.sigmoid(self.out(torch.cat([a * c, self.network(torch.cat([b, d], 1))], 1)))


class Interest(nn.Module):
    """Attention of a candidate over a history, of masked length (DIN)."""

    def __init__(self, rows: int = 300, width: int = 16):
        super().__init__()
        self.items, self.score, self.out = nn.Embedding(rows, width), mlp(4 * width, 36, 1), mlp(2 * width, 64, 1)

    def forward(self, candidate: torch.Tensor, history: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        x, h = self.items(candidate), self.items(history)
        wide = x[:, None].expand_as(h)
        weights = self.score(torch.cat([wide, h, wide - h, wide * h], 2))[..., 0]
        weights = weights.masked_fill(torch.arange(h.shape[1]) >= lengths[:, None], 0)
        return torch.sigmoid(self.out(torch.cat([x, (weights[:, :, None] * h).sum(1)], 1)))


# -- graph networks: edges are an input
# ---------------------------------------------------------------------------------------
class GraphConvolution(nn.Module):
    def __init__(self, a: int, b: int):
        super().__init__()
        self.linear = nn.Linear(a, b, bias=False)
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        degree = torch.ones(x.shape[0]).index_add(0, target, torch.ones(target.shape[0]))
        scale = degree.rsqrt()
        x = self.linear(x)
        messages = x[source] * (scale[source] * scale[target])[:, None]
        return torch.zeros_like(x).index_add(0, target, messages) + x * (scale * scale)[:, None] + self.bias


class GraphAttention(nn.Module):
    def __init__(self, a: int, b: int, heads: int = 4):
        super().__init__()
        self.heads, self.linear = heads, nn.Linear(a, b, bias=False)
        self.left, self.right = nn.Parameter(torch.randn(heads, b // heads)), nn.Parameter(torch.randn(heads,
                                                                                                       b // heads))

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        x = self.linear(x).view(n, self.heads, -1)
        score = F.leaky_relu((x * self.left).sum(2)[source] + (x * self.right).sum(2)[target], 0.2)
        at = target[:, None].expand_as(score)
        most = torch.full((n, self.heads), -math.inf).scatter_reduce(0, at, score, "amax", include_self=False)
        weight = torch.exp(score - most[target])
        total = torch.zeros(n, self.heads).scatter_add(0, at, weight)
        weight = weight / (total[target] + 1e-9)
        return torch.zeros_like(x).index_add(0, target, x[source] * weight[:, :, None]).flatten(1)


class Sage(nn.Module):
    def __init__(self, a: int, b: int):
        super().__init__()
        self.own, self.others = nn.Linear(a, b), nn.Linear(a, b, bias=False)

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        at = target[:, None].expand(-1, x.shape[1])
        mean = torch.zeros_like(x).scatter_reduce(0, at, x[source], "mean", include_self=False)
        return self.own(x) + self.others(mean)


class Isomorphism(nn.Module):
    def __init__(self, a: int, b: int):
        super().__init__()
        self.network, self.epsilon = mlp(a, b, b), nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return self.network((1 + self.epsilon) * x + torch.zeros_like(x).index_add(0, target, x[source]))


class Graph(nn.Module):
    """Two layers, and the mean of all nodes."""

    def __init__(self, layer: Callable[[int, int], nn.Module]):
        super().__init__()
        self.first, self.second, self.out = layer(16, 32), layer(32, 32), nn.Linear(32, 7)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        source, target = edges[0], edges[1]
        x = F.elu(self.first(x, source, target))
        x = self.second(x, source, target)
        return self.out(x), x.mean(0)


# -- image generators
# -----------------------------------------------------------------------------------------------------------
class Residual(nn.Module):
    def __init__(self, a: int, b: int, time: int = 0):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, padding=1)
        self.time = nn.Linear(time, b) if time else None
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x: torch.Tensor, t: torch.Tensor | None = None) -> torch.Tensor:
        h = self.conv1(F.silu(self.norm1(x)))
        if self.time is not None and t is not None:
            h = h + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class Attention(nn.Module):
    """Of all places of an image; with a context across to it."""

    def __init__(self, width: int, context: int = 0, heads: int = 4):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, width)
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(context or width, 2 * width), nn.Linear(width,
                                                                                                               width)

    def forward(self, x: torch.Tensor, context: torch.Tensor | None = None) -> torch.Tensor:
        b, c, h, w = x.shape
        rows = self.norm(x).flatten(2).transpose(1, 2)
        k, v = self.kv(rows if context is None else context).chunk(2, 2)
        q, k, v = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (self.q(rows), k, v))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.out(y).transpose(1, 2).view(b, c, h, w)


class Denoiser(nn.Module):
    """The U-Net of a diffusion model; context: the width of what it is conditioned on."""

    def __init__(self, width: int = 32, channels: int = 3, context: int = 0):
        super().__init__()
        time = 4 * width
        self.width, self.time = width, nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.enter = nn.Conv2d(channels, width, 3, padding=1)
        self.down1, self.half1 = Residual(width, width, time), nn.Conv2d(width, width, 3, 2, 1)
        self.down2, self.half2 = Residual(width, 2 * width, time), nn.Conv2d(2 * width, 2 * width, 3, 2, 1)
        self.middle1, self.attend, self.middle2 = Residual(2 * width, 2 * width,
                                                           time), Attention(2 * width, context), Residual(2 * width, 2 * width, time)
        self.up2, self.up1 = Residual(4 * width, width, time), Residual(2 * width, width, time)
        self.norm, self.leave = nn.GroupNorm(8, width), nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor, context: torch.Tensor | None = None) -> torch.Tensor:
        half = self.width // 2
        angles = t[:, None].float() * torch.exp(-math.log(10000) * torch.arange(half) / half)
        e = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        a = self.down1(self.enter(x), e)
        b = self.down2(self.half1(a), e)
        m = self.middle2(self.attend(self.middle1(self.half2(b), e), context), e)
        m = self.up2(torch.cat([F.interpolate(m, scale_factor=2.0), b], 1), e)
        m = self.up1(torch.cat([F.interpolate(m, scale_factor=2.0), a], 1), e)
        return self.leave(F.silu(self.norm(m)))


class Encoder(nn.Sequential):
    def __init__(self, width: int, out: int):
        super().__init__(nn.Conv2d(3, width, 3, padding=1), Residual(width, width), nn.Conv2d(width, width, 3, 2, 1),
                         Residual(width, 2 * width), nn.Conv2d(2 * width, 2 * width, 3, 2, 1),
                         Residual(2 * width, 2 * width),
                         Attention(2 * width), nn.GroupNorm(8, 2 * width), nn.SiLU(),
                         nn.Conv2d(2 * width, out, 3, padding=1))


class Decoder(nn.Sequential):
    def __init__(self, width: int, latent: int):
        super().__init__(nn.Conv2d(latent, 2 * width, 3, padding=1), Residual(2 * width, 2 * width),
                         Attention(2 * width),
                         nn.Upsample(scale_factor=2.0), nn.Conv2d(2 * width, width, 3, padding=1),
                         Residual(width, width),
                         nn.Upsample(scale_factor=2.0), nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width),
                         nn.SiLU(),
                         nn.Conv2d(width, 3, 3, padding=1))


class Variational(nn.Module):
    """The noise is an input."""

    def __init__(self, width: int = 32, latent: int = 4):
        super().__init__()
        self.encoder, self.decoder = Encoder(width, 2 * latent), Decoder(width, latent)

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, variance = self.encoder(x).chunk(2, 1)
        variance = variance.clamp(-30, 20)
        return self.decoder(mean + torch.exp(0.5 * variance) * noise), mean, variance


class Quantized(nn.Module):
    """A code book between encoder and decoder."""

    def __init__(self, width: int = 32, latent: int = 8, codes: int = 64):
        super().__init__()
        self.encoder, self.decoder, self.codes = Encoder(width, latent), Decoder(width, latent), nn.Embedding(codes,
                                                                                                              latent)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        z = self.encoder(x).permute(0, 2, 3, 1)
        index = torch.cdist(z.flatten(0, 2), self.codes.weight).argmin(1)
        return self.decoder(self.codes(index).view(z.shape).permute(0, 3, 1, 2)), index


def _edges(nodes: int = 40, count: int = 160) -> torch.Tensor:
    return torch.randint(0, nodes, (2, count))


def networks() -> dict[str, Callable[[], Made]]:
    def graph(layer: Callable[[int, int], nn.Module]) -> Callable[[], Made]:
        return lambda: (Graph(layer), (torch.randn(40, 16), _edges()), {})

    return {
        "dlrm": lambda: (Dlrm(), (torch.rand(4, 13), torch.randint(0, 200, (4, 8, 3))), {}),
        "deepfm": lambda: (Factorization(), (torch.randint(0, 100, (4, 10)),), {}),
        "wide_deep": lambda: (WideDeep(), (torch.rand(4, 13), torch.randint(0, 100, (4, 10))), {}),
        "ncf": lambda: (NeuralFiltering(), (torch.randint(0, 300, (4,)), torch.randint(0, 300, (4,))), {}),
        "din": lambda: (Interest(),
                        (torch.randint(0, 300, (4,)), torch.randint(0, 300, (4, 12)), torch.tensor([3, 12, 0, 7])), {}),
        "gcn": graph(GraphConvolution), "gat": graph(GraphAttention), "graph_sage": graph(Sage),
        "gin": graph(Isomorphism),
        "ddpm_unet": lambda: (Denoiser(), (torch.randn(1, 3, 32, 32), torch.tensor([17])), {}),
        "latent_unet": lambda: (Denoiser(channels=4, context=48),
                                (torch.randn(1, 4, 16, 16), torch.tensor([17]), torch.randn(1, 7, 48)), {}),
        "vae": lambda: (Variational(), (torch.rand(1, 3, 32, 32), torch.randn(1, 4, 8, 8)), {}),
        "vqvae": lambda: (Quantized(), (torch.rand(1, 3, 32, 32),), {}),
    }
