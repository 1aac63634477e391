# SPDX-License-Identifier: Apache-2.0
"""The module that net.pt2 was made of, with the weights of ../digits:

    python3 ../../generator/tensor-compile-export.py net.py:make -o net.pt2 --dynamic image.0=batch:1:64
"""
from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import nn

WEIGHTS = Path(__file__).resolve().parent.parent / "digits" / "digits.safetensors"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(128, 10)

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        x = nn.functional.max_pool2d(self.conv1(image).relu(), 2)
        x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return {"probabilities": self.fc(x.flatten(1)).softmax(-1)}


def trained() -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file of f32."""
    content = WEIGHTS.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    return {name: torch.frombuffer(bytearray(content[8 + size:][slice(*about["data_offsets"])]), dtype=torch.float32)
            .reshape(about["shape"]) for name, about in header.items() if name != "__metadata__"}


def make() -> tuple[nn.Module, tuple[torch.Tensor]]:
    net = Net().eval()
    net.load_state_dict(trained())
    return net, (torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(1)),)
