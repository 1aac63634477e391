# SPDX-License-Identifier: Apache-2.0
"""The functions of the cases: FAMILIES[family][name] = (function or module, arguments, options). Options: dynamic (of
torch.export.export), decompose (to Core ATen first)."""
from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

FAMILIES: dict[str, dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]] = {}
_family = ""
torch.manual_seed(7)


def family(name: str) -> None:
    global _family
    _family = name
    FAMILIES[name] = {}


def case(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> None:
    assert name not in FAMILIES[_family], name
    FAMILIES[_family][name] = (function, args, options)


def f(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def pos(*shape: int) -> torch.Tensor:
    return torch.rand(*shape) + 0.1


def unit(*shape: int) -> torch.Tensor:
    return torch.rand(*shape) * 1.8 - 0.9


def i(*shape: int, low: int = -5, high: int = 6, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, dtype=dtype)


def b(*shape: int) -> torch.Tensor:
    return torch.rand(*shape) > 0.5


# -- arithmetic --------------------------------------------------------------------------------------------------------
family("elementwise")
for word, fn in {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
                 "minimum": torch.minimum, "remainder": torch.remainder, "fmod": torch.fmod, "atan2": torch.atan2,
                 "hypot": torch.hypot, "fmax": torch.fmax, "fmin": torch.fmin, "copysign": torch.copysign,
                 "logaddexp": torch.logaddexp, "floor_divide": torch.floor_divide}.items():
    case(f"{word}_broadcast", fn, f(2, 3), f(4, 1, 3))
for word, fn in {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "floor_divide": torch.floor_divide,
                 "remainder": torch.remainder, "fmod": torch.fmod}.items():
    case(f"{word}_integers", fn, i(3, 4), i(4, low=1))
    case(f"{word}_mixed", fn, i(3, 4), pos(4))
    case(f"{word}_number", lambda x, fn=fn: fn(x, 2), f(3, 4))
    case(f"{word}_real_beside_integers", lambda x, fn=fn: fn(x, 1.5), i(3, 4))
case("add_alpha", lambda x, y: torch.add(x, y, alpha=3), f(2, 3), f(3))
case("sub_alpha_number", lambda x: torch.sub(x, 2, alpha=3), i(2, 3))
case("add_bool", lambda x, y: x + y, b(2, 3), i(3))
case("add_zero_dim", lambda x, y: x + y, i(2, 3, dtype=torch.int32), torch.tensor(3, dtype=torch.int64))
case("add_zero_dim_float", lambda x, y: x + y, i(2, 3), torch.tensor(1.5, dtype=torch.float64))
case("rsub", lambda x: 3 - x, f(2, 3))
case("rdiv", lambda x: 3 / x, pos(2, 3))
case("div_integers", torch.div, i(3, 4), i(4, low=1))
case("div_floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), f(3, 4), f(4))
case("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), f(3, 4), pos(4))
case("div_trunc_integers", lambda x, y: torch.div(x, y, rounding_mode="trunc"), i(3, 4), i(4, low=1))
case("div_mode_number", lambda x: torch.div(x, 2, rounding_mode="floor"), i(3, 4))
case("pow", torch.pow, pos(2, 3), f(3))
case("pow_2", lambda x: x ** 2, f(2, 3))
case("pow_3", lambda x: x ** 3, f(2, 3))
case("pow_half", lambda x: x ** 0.5, pos(2, 3))
case("pow_scalar_base", lambda x: 2 ** x, f(2, 3))
case("pow_integers", lambda x: x ** 2, i(2, 3))
case("heaviside", torch.heaviside, f(2, 3), f(3))
case("xlogy", torch.xlogy, pos(2, 3), pos(3))
for word in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(word, getattr(torch, word), i(3, 4), i(4))
    case(f"{word}_number", lambda x, fn=getattr(torch, word): fn(x, 0.5), f(3, 4))
    case(f"{word}_mixed", lambda x, y, fn=getattr(torch, word): fn(x, y), i(3, 4), f(4))
for word in ("logical_and", "logical_or", "logical_xor"):
    case(word, getattr(torch, word), b(3, 4), b(4))
    case(f"{word}_numbers", getattr(torch, word), i(3, 4, low=0, high=2), f(4))
case("logical_not", torch.logical_not, b(3))
case("logical_not_numbers", torch.logical_not, i(5, low=0, high=2))
for word in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    case(word, getattr(torch, word), i(3, 4), i(4))
    case(f"{word}_bool", getattr(torch, word), b(3, 4), b(4))
    case(f"{word}_number", lambda x, fn=getattr(torch, word): fn(x, 3), i(3, 4))
case("bitwise_not", torch.bitwise_not, i(4))
case("bitwise_not_bool", torch.bitwise_not, b(4))
case("shifts", lambda x: (x << 2, x >> 1), i(4))
case("where", torch.where, b(2, 3), f(2, 3), f(3))
case("where_numbers", lambda c, x: (torch.where(c, x, 0.0), torch.where(c, 1.0, x)), b(2, 3), f(2, 3))
case("where_two_numbers", lambda c: torch.where(c, 1.0, 2.0), b(2, 3))
case("clamp", lambda x: torch.clamp(x, -0.5, 0.5), f(3, 4))
case("clamp_low", lambda x: torch.clamp(x, min=0.1), f(3, 4))
case("clamp_high", lambda x: torch.clamp(x, max=0.1), f(3, 4))
case("clamp_tensors", torch.clamp, f(3, 4), -pos(4), pos(4))
case("clamp_min_tensor", torch.clamp_min, f(3, 4), f(4))
case("hardtanh", lambda x: F.hardtanh(x, -0.3, 0.7), f(3, 4))
case("relu6", F.relu6, f(3, 4) * 5)
case("casts", lambda x: (x.to(torch.int32), x.double(), x.bool(), x.half().float()), f(3, 4) * 3)
case("type_as", lambda x, y: x.type_as(y), i(3), f(2))
case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), f(2, 3), f(3), f(2, 1))
case("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=2), f(2, 3), f(3), pos(2, 1))
case("lerp", lambda x, y: torch.lerp(x, y, 0.3), f(2, 3), f(3))
case("lerp_tensor", torch.lerp, f(2, 3), f(3), f(3))
case("isclose", torch.isclose, f(2, 3), f(2, 3))
case("half", lambda x, y: x * y + 1, f(2, 3).half(), f(3).half())
case("bfloat16", lambda x, y: x * y + 1, f(2, 3).bfloat16(), f(3).bfloat16())

# -- functions of one tensor -------------------------------------------------------------------------------------------
family("functions")
for word in """abs exp expm1 sin cos tan tanh sinh cosh atan asinh erf neg relu sigmoid square sinc floor ceil trunc round
frac sign signbit isnan isinf isfinite exp2""".split():
    case(word, getattr(torch, word), f(3, 5))
for word in "log log1p log2 log10 sqrt rsqrt reciprocal".split():
    case(word, getattr(torch, word), pos(3, 5))
for word in "asin acos atanh".split():
    case(word, getattr(torch, word), unit(3, 5))
case("acosh", torch.acosh, pos(3, 5) + 1)
case("erfc", torch.erfc, f(3, 5))
case("round_decimals", lambda x: torch.round(x, decimals=2), f(3, 5))
case("floor_integers", lambda x: (torch.floor(x), torch.round(x), torch.isnan(x)), i(3))
case("sqrt_integers", torch.sqrt, i(4, low=1, high=9))
case("nan_to_num", torch.nan_to_num, torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]))
for word, fn in {"silu": F.silu, "mish": F.mish, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "selu": F.selu,
                 "gelu": F.gelu, "logsigmoid": F.logsigmoid, "softsign": F.softsign, "tanhshrink": F.tanhshrink,
                 "softplus": F.softplus, "elu": F.elu, "celu": F.celu, "leaky_relu": F.leaky_relu,
                 "hardshrink": F.hardshrink, "softshrink": F.softshrink}.items():
    case(word, fn, f(3, 5) * 2)
case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), f(3, 5))
case("softplus_beta", lambda x: F.softplus(x, beta=2, threshold=1), f(3, 5))
case("elu_alpha", lambda x: F.elu(x, 0.5), f(3, 5))
case("prelu", F.prelu, f(2, 3, 4), pos(3))
case("prelu_one", F.prelu, f(2, 3), pos(1))
case("threshold", lambda x: F.threshold(x, 0.2, -1.0), f(3, 5))
case("glu", lambda x: F.glu(x, 1), f(3, 4))
case("logit", lambda x: torch.logit(x, 1e-3), torch.rand(3, 4))
case("softmax", lambda x: (F.softmax(x, -1), F.softmax(x, 0), F.log_softmax(x, 1)), f(3, 5))
case("softmax_dtype", lambda x: F.softmax(x, -1, dtype=torch.float32), f(3, 5).half())
case("softmin", lambda x: F.softmin(x, 1), f(3, 5))
case("dropout_off", lambda x: F.dropout(x, 0.5, training=False), f(3, 5))
for word in ("gelu", "silu", "hardswish", "softplus", "mish", "elu", "logit"):
    case(f"{word}_core", getattr(F, word, getattr(torch, word, None)), pos(3, 5) / 2, decompose=True)

# -- reductions --------------------------------------------------------------------------------------------------------
family("reductions")
for word in ("sum", "mean", "amax", "amin", "prod", "logsumexp"):
    fn = getattr(torch, word)
    if word != "logsumexp":
        case(f"{word}_all", fn, f(3, 4))
    case(f"{word}_axis", lambda x, fn=fn: fn(x, 1), f(3, 4, 2))
    case(f"{word}_kept", lambda x, fn=fn: fn(x, -1, keepdim=True), f(3, 4, 2))
for word in ("sum", "mean", "amax", "logsumexp"):
    case(f"{word}_axes", lambda x, fn=getattr(torch, word): fn(x, (0, 2)), f(3, 4, 2))
case("sum_integers", torch.sum, i(3, 4, dtype=torch.int32))
case("sum_bool", lambda x: x.sum(0), b(3, 4))
case("mean_dtype", lambda x: x.mean(0, dtype=torch.float32), i(3, 4))
case("any_all", lambda x: (x.any(), x.all(), x.any(0), x.all(1, keepdim=True)), b(3, 4))
case("any_numbers", lambda x: (x.any(), x.all(0)), i(3, 4, low=0, high=2))
case("max_min", lambda x: (x.max(), x.min()), f(3, 4))
case("max_dim", lambda x: (*torch.max(x, 1), *torch.min(x, 0, keepdim=True)), f(3, 4))
case("argmax", lambda x: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)), f(3, 4))
case("var", lambda x: (x.var(), x.var(1), x.var(0, unbiased=False), torch.var(x, 1, correction=0, keepdim=True)),
     f(3, 4))
case("std", lambda x: (x.std(), x.std(1), x.std(0, unbiased=False)), f(3, 4))
case("var_mean", lambda x: torch.var_mean(x, 1), f(3, 4))
case("norm", lambda x: (torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 1, -1), x.norm(dim=0),
                        x.norm(p=float("inf"))), f(3, 4))
case("normalize", lambda x: F.normalize(x, dim=1), f(3, 4))
case("count_nonzero", lambda x: torch.count_nonzero(x, 1), i(3, 4, low=0, high=2))
case("cumsum", lambda x: (x.cumsum(1), x.cumprod(0), torch.logcumsumexp(x, 1)), f(3, 4))
case("cumsum_integers", lambda x: x.cumsum(0), i(3, 4, dtype=torch.int32))
case("cummax", lambda x: (*torch.cummax(x, 1), *torch.cummin(x, 0)), f(3, 4))
case("core", lambda x: (x.mean((1, 2)), x.var(1), x.amax(0), x.std(2)), f(3, 4, 2), decompose=True)

# -- views and parts ---------------------------------------------------------------------------------------------------
family("views")
case("reshape", lambda x: (x.reshape(6, 4), x.view(2, -1), x.flatten(), x.flatten(1), x.reshape(-1)), f(2, 3, 4))
case("unflatten", lambda x: x.unflatten(1, (2, 3)), f(2, 6))
case("squeeze", lambda x: (x.squeeze(), x.squeeze(1), x.squeeze((0, 1)), x.unsqueeze(-1)), f(1, 1, 3))
case("permute", lambda x: (x.permute(2, 0, 1), x.transpose(0, -1), x.movedim(0, 2), x.movedim((0, 1), (1, 0))),
     f(2, 3, 4))
case("t", lambda x: (x.t(), x.T, x.mT), f(2, 3))
case("expand", lambda x, y: (x.expand(3, 4), x.expand(2, -1, 4), x.expand_as(y), torch.broadcast_to(x, (3, 2))),
     f(3, 1), f(3, 5))
case("broadcast_tensors", lambda x, y: torch.broadcast_tensors(x, y), f(3, 1), f(4))
case("repeat", lambda x: (x.repeat(2, 3), x.repeat(2, 1, 1), x.tile(2)), f(2, 3))
case("repeat_interleave", lambda x: (x.repeat_interleave(2), x.repeat_interleave(3, 1)), f(2, 3))
case("flip", lambda x: (x.flip(0), x.flip(0, 1), x.fliplr(), x.flipud()), f(2, 3))
case("roll", lambda x: (x.roll(1), x.roll(-2, 1), x.roll((1, 2), (0, 1))), f(3, 4))
case("pixel_shuffle", lambda x: (F.pixel_shuffle(x, 2), F.channel_shuffle(x, 2)), f(1, 8, 2, 3))
case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), f(1, 2, 4, 6))
case("rot90", lambda x: (x.rot90(), x.rot90(2, (1, 0))), f(2, 3))
case("slice", lambda x: (x[1:], x[:, :2], x[:, 1:3], x[::2], x[:, -2:], x[..., 1:-1], x[:, :100]), f(4, 5))
case("slice_step", lambda x: x[1:5:2, ::3], f(6, 7))
case("select", lambda x: (x[0], x[:, -1], x[1, 2], x[..., 0]), f(3, 4))
case("narrow", lambda x: x.narrow(1, 1, 2), f(3, 4))
case("split", lambda x: (*x.split(2, 1), *x.chunk(2, 0), *x.split([1, 4], 1)), f(4, 5))
case("split_even", lambda x: x.chunk(3, -1), f(2, 6))
case("tensor_split", lambda x: torch.tensor_split(x, 3, 1), f(2, 7))
case("unbind", lambda x: (*x.unbind(1), *x.unbind(0)), f(2, 3))
case("cat", lambda x, y: (torch.cat((x, y)), torch.cat((x, y, x), 1), torch.cat((x,))), f(2, 3), f(2, 3))
case("cat_mixed", lambda x, y: torch.cat((x, y)), i(2), f(3))
case("stack", lambda x, y: (torch.stack((x, y)), torch.stack((x, y), -1), torch.hstack((x, y)), torch.vstack((x, y))),
     f(2, 3), f(2, 3))
case("pad", lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=3.5), F.pad(x, (-1, 1)), F.pad(x, (0, 0))),
     f(3, 4))
case("pad_modes", lambda x: (F.pad(x, (1, 2), mode="reflect"), F.pad(x, (1, 2), mode="replicate"),
                             F.pad(x, (1, 2), mode="circular")), f(2, 3, 4))
case("pad_modes_2d", lambda x: (F.pad(x, (1, 2, 1, 0), mode="reflect"), F.pad(x, (1, 2, 3, 0), mode="replicate")),
     f(1, 2, 3, 4))
case("unfold", lambda x: x.unfold(1, 3, 2), f(2, 7))
case("diagonal", lambda x: (x.diagonal(), x.diagonal(1), torch.diag(x), torch.diag(x[0]), torch.diag_embed(x)), f(3, 4))
case("diagonal_axes", lambda x: x.diagonal(0, 1, 2), f(2, 3, 3))
case("tril", lambda x: (x.tril(), x.triu(1), x.tril(-1)), f(3, 4))
case("scatters", lambda x, y: (torch.slice_scatter(x, y, 0, 1, 3), torch.select_scatter(x, y[0], 0, 2),
                               torch.diagonal_scatter(x, y[0, :3])), f(4, 3), f(2, 3))
case("diff", lambda x: (torch.diff(x), torch.diff(x, 2, 0), torch.diff(x, dim=1, prepend=x[:, :1])), f(4, 5))
case("diff_bool", lambda x: torch.diff(x), b(4, 5))
case("meshgrid", lambda x, y: (*torch.meshgrid(x, y, indexing="ij"), *torch.meshgrid(x, y, indexing="xy")), f(2), f(3))

# -- made of nothing ---------------------------------------------------------------------------------------------------
family("making")
case("full", lambda x: (torch.zeros(2, 3), torch.ones(2), torch.full((2,), 7), torch.zeros_like(x), torch.ones_like(x),
                        torch.full_like(x, 2)), f(2))
case("new", lambda x: (x.new_zeros(3), x.new_ones(2, 2), x.new_full((2,), 1.5)), f(2))
case("arange", lambda x: (torch.arange(5), torch.arange(2, 9, 3), torch.arange(0.0, 1.0, 0.25),
                          torch.arange(5, 0, -2)) + (x,), f(1))
case("linspace", lambda x: (torch.linspace(0, 1, 5), torch.eye(3), torch.eye(2, 3), torch.tensor([1.0, 2.0])) + (x,),
     f(1))
case("indices", lambda x: (torch.tril_indices(3, 3), torch.triu_indices(3, 4, 1)) + (x,), f(1))
case("sizes", lambda x: (torch.arange(x.shape[0]) * x.shape[1], torch.zeros(x.shape[0], 2), x * x.shape[0]), f(3, 4),
     dynamic=({0: torch.export.Dim("n", min=1, max=9)},))

# -- products ----------------------------------------------------------------------------------------------------------
family("contractions")
case("matmul", torch.matmul, f(2, 3, 4), f(4, 5))
case("matmul_batches", torch.matmul, f(2, 1, 3, 4), f(5, 4, 2))
case("matmul_vectors", lambda x, y: (x @ y, y @ y), f(3, 4), f(4))
case("mm_bmm", lambda x, y: (torch.mm(x, y), torch.bmm(x[None], y[None]), torch.mv(x, y[:, 0])), f(3, 4), f(4, 5))
case("linear", F.linear, f(2, 3, 4), f(5, 4), f(5))
case("linear_plain", F.linear, f(4), f(5, 4))
case("addmm", lambda c, x, y: (torch.addmm(c, x, y), torch.addmm(c, x, y, beta=0.5, alpha=2)), f(5), f(3, 4), f(4, 5))
case("baddbmm", torch.baddbmm, f(2, 3, 5), f(2, 3, 4), f(2, 4, 5))
case("outer", torch.outer, f(3), f(4))
case("einsum", lambda x, y: (torch.einsum("bij,bjk->bik", x, y), torch.einsum("bij,bjk->k", x, y)), f(2, 3, 4),
     f(2, 4, 5))
case("tensordot", lambda x, y: torch.tensordot(x, y, dims=([1], [0])), f(2, 3), f(3, 4))
case("bilinear", F.bilinear, f(2, 3), f(2, 4), f(5, 3, 4), f(5))
case("integers", torch.matmul, i(3, 4), i(4, 2))
case("attention", F.scaled_dot_product_attention, f(2, 2, 3, 8), f(2, 2, 5, 8), f(2, 2, 5, 8))
case("attention_causal", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), f(2, 2, 5, 8))
case("attention_masks", lambda q, m, a: (F.scaled_dot_product_attention(q, q, q, attn_mask=m),
                                         F.scaled_dot_product_attention(q, q, q, attn_mask=a, scale=0.2)),
     f(1, 2, 4, 8), torch.ones(4, 4, dtype=torch.bool).tril(), f(4, 4))
case("attention_empty_rows", lambda q, m, a: (F.scaled_dot_product_attention(q, q, q, attn_mask=m),
                                              F.scaled_dot_product_attention(q, q, q, attn_mask=a)),
     f(1, 2, 4, 8), torch.tensor([[True] * 4, [False] * 4, [False, True] * 2, [True] * 4]),
     torch.tensor([[0.5], [-torch.inf], [0.0], [-1.0]]).expand(4, 4).contiguous())
case("attention_groups", lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), f(1, 4, 3, 8),
     f(1, 2, 3, 8))
case("attention_core", lambda q: F.scaled_dot_product_attention(q, q, q), f(1, 2, 3, 8), decompose=True)
case("cdist", torch.cdist, f(3, 4), f(5, 4))
case("cosine", F.cosine_similarity, f(3, 4), f(3, 4))
case("multihead", nn.MultiheadAttention(8, 2, batch_first=True), f(2, 3, 8), f(2, 3, 8), f(2, 3, 8))
case("transformer_layer", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), f(2, 3, 8))
case("linear_dynamic", nn.Linear(4, 3), f(5, 4), dynamic=({0: torch.export.Dim("n", min=1, max=64)},))

# -- windows -----------------------------------------------------------------------------------------------------------
family("windows")
case("conv1d", nn.Conv1d(3, 4, 3, 2, 1), f(2, 3, 9))
case("conv2d", nn.Conv2d(3, 4, 3), f(2, 3, 6, 7))
case("conv2d_options", nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2, bias=False), f(1, 4, 7, 6))
case("conv2d_same", nn.Conv2d(3, 4, 3, padding="same"), f(1, 3, 5, 6))
case("conv2d_alone", nn.Conv2d(3, 4, 3), f(3, 5, 6))
case("conv2d_depthwise", nn.Conv2d(4, 4, 3, padding=1, groups=4), f(1, 4, 5, 6))
case("conv2d_reflect", nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), f(1, 2, 5, 6))
case("conv3d", nn.Conv3d(2, 3, 2), f(1, 2, 3, 4, 5))
case("conv_transpose1d", nn.ConvTranspose1d(3, 2, 3, 2), f(1, 3, 5))
case("conv_transpose2d", nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), f(1, 3, 4, 5))
case("conv_transpose2d_groups", nn.ConvTranspose2d(4, 4, 2, 2, groups=2), f(1, 4, 3, 3))
case("conv_core", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), f(1, 3, 5, 5), decompose=True)
case("max_pool", lambda x: (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True)),
     f(1, 2, 5, 7))
case("max_pool_indices", lambda x: F.max_pool2d(x, 2, return_indices=True), f(1, 2, 4, 6))
case("max_pool_1d_3d", lambda x, y: (F.max_pool1d(x, 3, 1, 1), F.max_pool3d(y, 2)), f(1, 2, 7), f(1, 2, 4, 4, 4))
case("avg_pool", lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1),
                            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)), f(1, 2, 6, 7))
case("avg_pool_1d_3d", lambda x, y: (F.avg_pool1d(x, 3), F.avg_pool3d(y, 2)), f(1, 2, 7), f(1, 2, 4, 4, 4))
case("adaptive", lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (2, 3)),
                            F.adaptive_avg_pool1d(x[:, :, 0], 2)), f(1, 2, 5, 7))
case("adaptive_max", lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True), f(1, 2, 5, 7))
case("fold", lambda x: (F.unfold(x, 3, padding=1), F.fold(F.unfold(x, 2, stride=2), (4, 6), 2, stride=2)),
     f(1, 2, 4, 6))
case("lp_pool", lambda x: F.lp_pool2d(x, 2, 2), pos(1, 2, 4, 6))
case("conv_dynamic", nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
     f(2, 3, 8, 8),
     dynamic=({0: torch.export.Dim("batch", min=1, max=4), 2: torch.export.Dim("height", min=4, max=64)},))

# -- normalizations ----------------------------------------------------------------------------------------------------
family("normalization")


def trained(module: nn.Module) -> nn.Module:
    """Statistics and weights that are not 0 and 1."""
    for value in [*module.parameters(), *module.buffers()]:
        if value.dtype.is_floating_point:
            value.data = torch.rand(value.shape) + 0.5
    return module


case("batch_norm", trained(nn.BatchNorm2d(3)), f(2, 3, 4, 5))
case("batch_norm_1d", trained(nn.BatchNorm1d(3)), f(4, 3))
case("batch_norm_plain", trained(nn.BatchNorm2d(3, affine=False)), f(2, 3, 4, 5))
case("batch_norm_batch", nn.BatchNorm2d(3, track_running_stats=False), f(2, 3, 4, 5))
case("layer_norm", trained(nn.LayerNorm(5)), f(3, 5))
case("layer_norm_axes", trained(nn.LayerNorm((4, 5))), f(3, 4, 5))
case("layer_norm_plain", nn.LayerNorm(5, elementwise_affine=False), f(3, 5))
case("layer_norm_core", trained(nn.LayerNorm(5)), f(3, 5), decompose=True)
case("rms_norm", trained(nn.RMSNorm(5)), f(3, 5))
case("rms_norm_eps", trained(nn.RMSNorm(5, eps=1e-3)), f(3, 5))
case("group_norm", trained(nn.GroupNorm(2, 4)), f(2, 4, 5))
case("instance_norm", trained(nn.InstanceNorm2d(3, affine=True)), f(2, 3, 4, 5))
case("instance_norm_tracked", trained(nn.InstanceNorm2d(3, track_running_stats=True)), f(2, 3, 4, 5))
case("weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), f(2, 4))
case("local_response", nn.LocalResponseNorm(3), f(2, 5, 4, 4))

# -- indices -----------------------------------------------------------------------------------------------------------
family("indexing")
case("embedding", nn.Embedding(7, 4), i(2, 3, low=0, high=7))
case("embedding_padding", nn.Embedding(7, 4, padding_idx=0), i(2, 3, low=0, high=7))
case("index_select", lambda x, k: x.index_select(1, k), f(3, 4), i(2, low=0, high=4))
case("gather", lambda x, k: x.gather(1, k), f(3, 4), i(3, 2, low=0, high=4))
case("take_along_dim", lambda x: torch.take_along_dim(x, x.argsort(1), 1), f(3, 4))
case("index", lambda x, k: (x[k], x[:, k], x[k, k]), f(4, 4), i(3, low=-4, high=4))
case("index_two", lambda x, k, l: x[k[:, None], l], f(4, 5), i(2, low=0, high=4), i(3, low=0, high=5))
case("index_middle", lambda x, k: x[:, k, :, k], f(2, 3, 4, 3), i(2, low=0, high=3))
case("index_list", lambda x: x[:, [2, 0, -1]], f(2, 4))
case("index_put", lambda x, k, v: (torch.index_put(x, (k,), v), torch.index_put(x, (k,), v, accumulate=True)), f(4, 3),
     torch.tensor([1, 3]), f(2, 3))
case("index_put_mask", lambda x: torch.index_put(x, (x > 0,), torch.tensor(2.0)), f(3, 4))
case("index_add", lambda x, k, v: (x.index_add(0, k, v), x.index_copy(0, k, v), x.index_fill(0, k, 2.0)), f(4, 3),
     torch.tensor([1, 3]), f(2, 3))
case("masked_fill", lambda x, m: (x.masked_fill(m, -1.0), x.masked_fill(m, torch.tensor(2.0))), f(3, 4), b(3, 4))
case("masked_scatter", lambda x, m, y: x.masked_scatter(m, y), f(3, 4), b(3, 4), f(12))
case("scatter", lambda x, k, y: (x.scatter(1, k, y), x.scatter(1, k, 2.0), x.scatter_add(1, k, y)), f(3, 5),
     torch.tensor([[0, 2], [1, 3], [4, 0]]), f(3, 2))
case("scatter_part", lambda x, k, y: x.scatter(0, k, y), f(3, 5), torch.tensor([[0, 2, 1]]), f(2, 4))
case("scatter_reduce", lambda x, k, y: (x.scatter_reduce(0, k, y, "sum"), x.scatter_reduce(
        0, k, y, "amax", include_self=False), x.scatter_reduce(0, k, y, "mean")),
     f(4), torch.tensor([0, 0, 2]), f(3))
case("take", lambda x, k: torch.take(x, k), f(3, 4), i(5, low=0, high=12))
case("one_hot", lambda k: F.one_hot(k, 5), i(3, low=0, high=5))
case("searchsorted", lambda s, v: (torch.searchsorted(s, v), torch.searchsorted(s, v, right=True),
                                   torch.bucketize(v, s)), torch.arange(5.0), f(6) * 3)

# -- order -------------------------------------------------------------------------------------------------------------
family("ordering")
case("sort", lambda x: (*x.sort(), *x.sort(0, descending=True), x.argsort(1)), f(3, 5))
case("sort_stable", lambda x: torch.sort(x, dim=1, stable=True), f(3, 5))
case("topk", lambda x: (*x.topk(3), *x.topk(2, 0, largest=False)), f(4, 5))
case("topk_one", lambda x: x.topk(1), f(4, 5))
case("kthvalue", lambda x: x.kthvalue(2), f(4, 5))
case("median", lambda x: (x.median(), *x.median(1)), f(4, 5))

# -- resampling --------------------------------------------------------------------------------------------------------
family("resampling")
case("nearest", lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 3)),
                           F.interpolate(x, size=(5, 3), mode="nearest-exact")), f(1, 2, 3, 4))
case("bilinear", lambda x: (F.interpolate(x, scale_factor=2, mode="bilinear"),
                            F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True)), f(1, 2, 3, 4))
case("bicubic", lambda x: F.interpolate(x, size=(5, 7), mode="bicubic"), f(1, 2, 4, 4))
case("linear", lambda x: (F.interpolate(x, size=9, mode="linear"), F.interpolate(x, scale_factor=1.5)), f(1, 2, 6))
case("trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), f(1, 1, 2, 3, 2))
case("antialias", lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True), f(1, 2, 7, 9))
case("grid_sample", lambda x, g: (F.grid_sample(x, g, align_corners=False), F.grid_sample(
        x, g, "nearest", "border", align_corners=True)), f(1, 2, 4, 5), unit(1, 3, 3, 2))
case("upsample_core", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), f(1, 2, 3, 4), decompose=True)

# -- recurrent ---------------------------------------------------------------------------------------------------------
family("recurrent")
case("lstm", nn.LSTM(3, 4, batch_first=True), f(2, 5, 3))
case("lstm_deep", nn.LSTM(3, 4, 2, bidirectional=True), f(5, 2, 3))
case("lstm_projected", nn.LSTM(3, 4, proj_size=2), f(5, 2, 3))
case("lstm_states", nn.LSTM(3, 4, bias=False), f(5, 2, 3), (f(1, 2, 4), f(1, 2, 4)))
case("gru", nn.GRU(3, 4, 2, batch_first=True), f(2, 5, 3))
case("rnn", nn.RNN(3, 4, nonlinearity="relu"), f(5, 2, 3))
case("lstm_cell", nn.LSTMCell(3, 4), f(2, 3), (f(2, 4), f(2, 4)))
case("gru_cell", nn.GRUCell(3, 4), f(2, 3), f(2, 4))

# -- losses ------------------------------------------------------------------------------------------------------------
family("losses")
for word in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"):
    case(word, getattr(F, word), f(3, 4), torch.rand(3, 4))
case("reductions", lambda x, y: (F.mse_loss(x, y, reduction="sum"), F.l1_loss(x, y, reduction="none")), f(3, 4),
     f(3, 4))
case("bce", F.binary_cross_entropy, torch.rand(3, 4), torch.rand(3, 4))
case("kl_div", lambda x, y: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="sum"), f(3, 4), f(3, 4))
case("cross_entropy", F.cross_entropy, f(3, 5), i(3, low=0, high=5))
case("cross_entropy_options", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1, reduction="sum", ignore_index=2),
     f(3, 5), i(3, low=0, high=5))
case("nll_loss", lambda x, y: F.nll_loss(F.log_softmax(x, 1), y), f(3, 5), i(3, low=0, high=5))

# -- state, graphs within graphs, sizes --------------------------------------------------------------------------------
family("programs")


class Counter(nn.Module):
    """A buffer that a call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0]))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.sum(0))
        self.calls += 1
        return self.total * x


class Cache(nn.Module):
    """A cache that a call writes into."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 4, 3))

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(1, at, x)
        self.cache[0, 0, :] = 1.0
        return self.cache.sum(1)


class Tied(nn.Module):
    """One weight under two names, and one that is a part of another."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.scale = nn.Parameter(torch.rand(4, 3).t()[:, 1])

    def forward(self, k: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(k)) * self.scale.sum()


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[1:, 0] = 5.0
    y.mul_(2)
    rows = y.view(2, 2, 3)
    rows[0].add_(1)
    y.t().clamp_(max=4)
    return y + rows.reshape(4, 3)


def in_place_parts(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    wide = y[0].expand(2, 3)
    first, second = y.split([1, 3])
    second.mul_(3)
    y.unbind(1)[2].add_(7)
    y.chunk(2)[1][0].fill_(-1)
    first.sub_(second[:1])
    return torch.cat([y, wide])


def branch(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))


def loop(n: torch.Tensor, x: torch.Tensor) -> Any:
    return torch._higher_order_ops.while_loop(lambda k, v: k < 4, lambda k, v: (k + 1, v * 1.5), (n, x))


def without_gradient(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
    return y + 1


class Layer(nn.Module):
    """Parts of an array within a repeated module."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.out = nn.Linear(4, 12), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.one(x).split(4, 2)
        return self.out(q + k * v)


case("layers", nn.Sequential(Layer(), Layer(), Layer()), f(1, 2, 4))
case("counter", Counter(), f(3, 2))
case("cache", Cache(), f(2, 1, 3), torch.tensor([2]))
case("tied", Tied(), i(3, low=0, high=5))
case("in_place", in_place, f(4, 3))
case("in_place_parts", in_place_parts, f(4, 3))
case("branch_true", branch, pos(3))
case("branch_false", branch, -pos(3))
case("while_loop", loop, torch.tensor(0), f(3))
case("no_grad", without_gradient, f(3))
case("nested", lambda x, y: {"sum": x["a"] + y[0], "parts": [x["b"], {"last": y[1]}]}, {"a": f(2), "b": f(3)},
     (f(2), f(1)))


class Remembered(nn.Module):
    """A buffer that state_dict does not have, and one that is another's part."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.arange(3.0), persistent=False)
        self.register_buffer("first", self.steps[:2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.steps + self.first.sum() + torch.tensor([1.0, 2.0, 3.0])


class ChangedInput(nn.Module):
    """What the caller passes in is changed: a state, which begins as zeros."""

    def forward(self, kept: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        kept.add_(y)
        return kept * 2


def stepped(start: torch.Tensor, xs: torch.Tensor) -> Any:
    from torch._higher_order_ops.scan import scan

    return scan(lambda carried, x: (carried * 0.5 + x, carried.sin()), start, xs)


case("remembered", Remembered(), f(3))
case("changed_input", ChangedInput(), torch.zeros(3), f(3))
case("scan", stepped, f(3), f(4, 3))
case("flags", lambda x, on, mode: (x.neg() if on else x) * (2 if mode is None else 3), f(3), True, None)
case("float16", nn.Sequential(nn.Linear(4, 3), nn.GELU()).half(), f(2, 4).half())
case("bfloat16", nn.Sequential(nn.Linear(4, 3), nn.GELU()).bfloat16(), f(2, 4).bfloat16())

# -- sizes that differ from call to call: dims belong to a whole model.c -----------------------------------------------
family("sizes")
case("dynamic_sizes", lambda x, y: (x.reshape(-1, 4), torch.cat((x, y), 1), x[:, : y.shape[1]], x.mean(1)), f(2, 6, 4),
     f(2, 5, 4),
     dynamic=({0: torch.export.Dim("n", min=1, max=8), 1: torch.export.Dim("t", min=6, max=32)},
              {0: torch.export.Dim("n", min=1, max=8), 1: torch.export.Dim("s", min=2, max=6)}))
SIXTH = torch.export.Dim("_n", min=1, max=5)
case("multiples", lambda x: (x.reshape(x.shape[0] // 6, 2, 3, 4).sum(1), x * x.shape[0], x[: x.shape[0] // 2]), f(12, 4),
     dynamic=({0: 6 * SIXTH},))
case("steps", lambda x: (torch.arange(0, x.shape[0] * x.shape[1], x.shape[1]) + x[0, 0].long(),
                         torch.arange(0, x.shape[0], 0.5) + x[0, 0], torch.arange(0, x.shape[0], 2) + x[0, 0],
                         torch.arange(1, x.shape[0], 1.0, dtype=torch.int64) + x[0, 0]), f(6, 4),
     dynamic=({0: torch.export.Dim("n", min=4, max=64)},))
case("floats_of_sizes", lambda x: (x * (1 / x.shape[0]), x * x.shape[0] ** -0.5, torch.full((2,), x.shape[0] / 2) + x[0, :2],
                                   torch.arange(x.shape[0]) * (2.0 / x.shape[0])), f(6, 4),
     dynamic=({0: torch.export.Dim("n", min=4, max=64)},))
case("number_input", lambda x, n: (x * n, torch.arange(n), x + n // 2), f(3), 5,
     dynamic=({}, torch.export.Dim.DYNAMIC))
case("number_constants", lambda x, n, r, on, how: x * n + r if on and how == "sum" else x - n, f(3), 5, 1.5, True, "sum")

# -- what mixtures of experts are made of, and what a program computes for nothing -------------------------------------
family("mixtures")
case("histc", lambda x: torch.histc(x, 4, 0, 3), i(20, low=-1, high=5).float())
case("histc_inner", lambda x: torch.histc(x, 7, -0.5, 0.75), f(5, 20))
case("grouped_mm", lambda x, w, n: torch._grouped_mm(x, w, offs=n), f(9, 8).bfloat16(), f(3, 8, 16).bfloat16(),
     torch.tensor([4, 4, 9], dtype=torch.int32))


def unused_random(x: torch.Tensor) -> torch.Tensor:
    noise = torch.empty_like(x).uniform_(-1, 1)
    noise.mul_(torch.rand([]))
    return x + 1


case("unused_random", unused_random, f(3, 4))
case("bags_sum", lambda x, w: F.embedding_bag(x, w, mode="sum"), i(4, 3, low=0, high=9), f(9, 5))
case("bags_mean", lambda x, w, o: F.embedding_bag(x, w, o, mode="mean"), i(7, low=0, high=9), f(9, 5),
     torch.tensor([0, 0, 2, 6]))
case("bags_weighted", lambda x, w, o,
     s: F.embedding_bag(x, w, o, mode="sum", per_sample_weights=s, include_last_offset=True),
     i(7, low=0, high=9), f(9, 5), torch.tensor([0, 3, 3, 7]), f(7))
