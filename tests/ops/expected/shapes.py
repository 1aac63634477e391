# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for shapes.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

H = 5


def axes(i: dict) -> dict:
    x = i["x"]
    return {"squeezed": x.squeeze(2), "flat": x.flatten(1, -2), "split": x.unflatten(1, (3, -1)), "moved": x.movedim(1, -1),
            "back": x.movedim(-1, 1), "swapped": x.swapaxes(1, 4), "expanded": x + x[:, :1].expand_as(x),
            "shaped": x.swapaxes(1, 4).reshape(x.shape)}


def parts(i: dict) -> dict:
    x = i["x"]
    chunks, every = x.chunk(4, -1), x.split(5, 1)
    return {"narrow": x.narrow(3, H, H), "chunk": torch.cat((chunks[-1], chunks[0]), -1),
            "every": torch.cat((every[-1], every[0]), 1)}


def pixels(i: dict) -> dict:
    x = i["x"].squeeze(2)
    return {"shuffled": F.pixel_shuffle(x, 2), "unshuffled": F.pixel_unshuffle(x[..., :6], 2),
            "channels": F.channel_shuffle(x, 4)}


def functions(rng: Random) -> dict:
    x = rng.normal(2, 12, 1, 2 * H, 7)
    y = rng.integers(torch.int32, 2, H + 3, 7)
    cases = {"axes": ({"x": x}, axes), "parts": ({"x": x}, parts), "pixels": ({"x": x}, pixels),
             "sliding": ({"x": y}, lambda i: {"rows": i["x"].unfold(1, 3, 2),
                                              "columns": i["x"].unfold(2, 2, 1).sum(-1).to(torch.int32)})}
    return {name: (inputs, f, f"batch=2,h={H}") for name, (inputs, f) in cases.items()}
