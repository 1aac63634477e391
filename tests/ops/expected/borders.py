# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for borders.c."""
from __future__ import annotations

import torch.nn.functional as F
from make_expected import Random

H = 7


def pads(mode: str):
    return lambda i: {"two": F.pad(i["x"], (1, 4, 3, 2), mode), "one": F.pad(i["x"].exp(), (0, 0, 0, 1), mode),
                      "three": F.pad(i["x"][None], (0, 3, 1, 0, 2, 1), mode)[0]}


def unfold(i: dict) -> dict:
    return {"y": F.unfold(i["x"], (3, 2), 1, 1, (2, 1)), "dilated": F.unfold(i["x"], 2, (2, 3))}


def fold(i: dict) -> dict:
    options = dict(kernel_size=(3, 2), stride=(2, 1), padding=1, dilation=(1, 2))
    return {"y": F.fold(F.unfold(i["x"], **options), i["x"].shape[2:], **options)}


def functions(rng: Random) -> dict:
    x = rng.normal(2, 3, H, 5)
    cases = {"reflect": pads("reflect"), "replicate": pads("replicate"), "circular": pads("circular"), "unfold": unfold,
             "fold": fold}
    return {name: ({"x": x}, f, f"batch=2,h={H}") for name, f in cases.items()}
