# SPDX-License-Identifier: Apache-2.0
"""The networks of examples/ as PyTorch eager functions, in the dtype of their weights; see models.py."""
from __future__ import annotations

import torch
import torch.nn.functional as F


def _norm2d(w: dict, x: torch.Tensor, name: str) -> torch.Tensor:
    return F.batch_norm(x, w[name + ".running_mean"], w[name + ".running_var"], w[name + ".weight"], w[name + ".bias"])


def resnet50(w: dict, x: dict) -> torch.Tensor:
    def bottleneck(h: torch.Tensor, p: str, stride: int) -> torch.Tensor:
        y = F.relu(_norm2d(w, F.conv2d(h, w[p + "conv1.weight"]), p + "bn1"))
        y = F.relu(_norm2d(w, F.conv2d(y, w[p + "conv2.weight"], stride=stride, padding=1), p + "bn2"))
        y = _norm2d(w, F.conv2d(y, w[p + "conv3.weight"]), p + "bn3")
        if p + "downsample.0.weight" in w:
            h = _norm2d(w, F.conv2d(h, w[p + "downsample.0.weight"], stride=stride), p + "downsample.1")
        return F.relu(y + h)

    h = F.relu(_norm2d(w, F.conv2d(x["image"], w["conv1.weight"], stride=2, padding=3), "bn1"))
    h = F.max_pool2d(h, 3, 2, 1)
    for stage in range(1, 5):
        i = 0
        while f"layer{stage}.{i}.conv1.weight" in w:
            h = bottleneck(h, f"layer{stage}.{i}.", 2 if stage > 1 and i == 0 else 1)
            i += 1
    return F.linear(h.mean((2, 3)), w["fc.weight"], w["fc.bias"])


def mobilenet_v2(w: dict, x: dict) -> torch.Tensor:
    def unit(h: torch.Tensor, p: str, stride: int) -> torch.Tensor:
        weight = w[p + ".0.weight"]
        window = weight.shape[-1]
        groups = h.shape[1] // weight.shape[1]
        return F.relu6(_norm2d(w, F.conv2d(h, weight, stride=stride, padding=window // 2, groups=groups), p + ".1"))

    h = unit(x["image"], "features.0", 2)
    block = 1
    strides = {2: 2, 4: 2, 7: 2, 14: 2}
    while f"features.{block}.conv.1.weight" in w or f"features.{block}.conv.1.0.weight" in w:
        p, y, stride = f"features.{block}.conv.", h, strides.get(block, 1)
        last = 1
        if f"{p}1.0.weight" in w:
            y, last = unit(y, p + "0", 1), 2
        y = unit(y, f"{p}{last - 1}", stride)
        y = _norm2d(w, F.conv2d(y, w[f"{p}{last}.weight"]), f"{p}{last + 1}")
        h = h + y if stride == 1 and h.shape == y.shape else y
        block += 1
    h = unit(h, f"features.{block}", 1)
    return F.linear(h.mean((2, 3)), w["classifier.1.weight"], w["classifier.1.bias"])


def gpt2(w: dict, x: dict, width: int = 64) -> torch.Tensor:
    """Logits of all tokens. width: of a head."""
    ids = x["ids"].long()
    length = len(ids)
    h = w["wte.weight"][ids] + w["wpe.weight"][:length]
    return _gpt2_layers(w, h, width, None)


def gpt2_decode(w: dict, x: dict, width: int = 64) -> torch.Tensor:
    """Logits of one token behind x["past"] others, whose keys and values all are 0."""
    past, table = x["past"], w["wte.weight"]
    empty = torch.zeros(table.shape[1] // width, past, width, dtype=table.dtype)
    h = table[x["ids"].long()] + w["wpe.weight"][past:past + 1]
    return _gpt2_layers(w, h, width, empty)


def _gpt2_layers(w: dict, h: torch.Tensor, width: int, before: torch.Tensor | None) -> torch.Tensor:
    length, hidden = h.shape

    def norm(t: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(t, (hidden,), w[name + ".weight"], w[name + ".bias"])

    def dense(t: torch.Tensor, name: str) -> torch.Tensor:
        return torch.addmm(w[name + ".bias"], t, w[name + ".weight"])

    i = 0
    while f"h.{i}.ln_1.weight" in w:
        p = f"h.{i}."
        q, k, v = (t.view(length, -1, width).transpose(0, 1)
                   for t in dense(norm(h, p + "ln_1"), p + "attn.c_attn").chunk(3, 1))
        if before is not None:
            k, v = torch.cat((before, k), 1), torch.cat((before, v), 1)
        a = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=before is None)[0]
        h = h + dense(a.transpose(0, 1).reshape(length, hidden), p + "attn.c_proj")
        inner = F.gelu(dense(norm(h, p + "ln_2"), p + "mlp.c_fc"), approximate="tanh")
        h = h + dense(inner, p + "mlp.c_proj")
        i += 1
    return F.linear(norm(h, "ln_f"), w["wte.weight"])


def unet(w: dict, x: dict) -> torch.Tensor:
    def unit(h: torch.Tensor, p: str) -> torch.Tensor:
        return F.relu(_norm2d(w, F.conv2d(h, w[p + ".conv.weight"], padding=1), p + ".norm"))

    def pair(h: torch.Tensor, p: str) -> torch.Tensor:
        return unit(unit(h, p + ".first"), p + ".second")

    h, skips, level = x["image"], [], 0
    while f"down.{level}.first.conv.weight" in w:
        h = pair(F.max_pool2d(h, 2) if level else h, f"down.{level}")
        skips.append(h)
        level += 1
    for level in range(level - 2, -1, -1):
        h = pair(torch.cat((skips[level], F.interpolate(h, scale_factor=2, mode="nearest")), 1), f"up.{level}")
    return F.softmax(F.conv2d(h, w["out.weight"], w["out.bias"]), 1)


def vad_step(w: dict, frame: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """(probability [1], h, c) of a frame [576]: 64 samples that came before and 512 new ones; h and c [1, 128]."""
    x = F.pad(frame[None, None], (0, 64), mode="reflect")
    x = F.conv1d(x, w["stft_conv.weight"], stride=128)
    bins = x.shape[1] // 2
    x = torch.sqrt(x[:, :bins]**2 + x[:, bins:]**2)
    for i, stride in enumerate((1, 2, 2, 1), 1):
        x = F.relu(F.conv1d(x, w[f"conv{i}.weight"], w[f"conv{i}.bias"], stride=stride, padding=1))
    h, c = torch.lstm_cell(x[:, :, 0], (h, c), w["lstm_cell.weight_ih"], w["lstm_cell.weight_hh"],
                           w["lstm_cell.bias_ih"], w["lstm_cell.bias_hh"])
    y = F.conv1d(F.relu(h)[:, :, None], w["final_conv.weight"], w["final_conv.bias"])
    return torch.sigmoid(y)[0, 0], h, c


def vad(w: dict, x: dict) -> torch.Tensor:
    """The first chunk of a stream."""
    zero = torch.zeros(1, 128, dtype=x["samples"].dtype)
    return vad_step(w, torch.cat((torch.zeros(64, dtype=zero.dtype), x["samples"])), zero, zero)[0]
