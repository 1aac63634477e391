# SPDX-License-Identifier: Apache-2.0
"""Trains the network of model.c once and writes what the example needs:

    python3 train.py digits-all.safetensors        (needs torch and safetensors)

The argument holds `images` f32 [1797, 1, 8, 8] (0..1) and `labels` i64 [1797]: scikit-learn's copy of the UCI "Optical
Recognition of Handwritten Digits" (CC BY 4.0). The first 1437 train; the last 360 are held out and never seen.
Writes digits.safetensors (weights) and held-out.safetensors (images, labels).
"""
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn

TRAIN = 1437


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def shifted(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each image moved by -1, 0 or 1 pixel each way: the network should not learn the frame."""
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    moves = torch.randint(0, 3, (len(images), 2), generator=generator).tolist()
    return torch.stack([p[:, y:y + 8, x:x + 8] for p, (y, x) in zip(padded, moves)])


def main() -> None:
    data = load_file(sys.argv[1])
    images, labels = data["images"], data["labels"]
    torch.manual_seed(1)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(2)
    model = Digits()
    epochs, batch = 60, 32
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=epochs * (TRAIN // batch))
    for _ in range(epochs):
        order = torch.randperm(TRAIN, generator=generator)
        for start in range(0, TRAIN - batch + 1, batch):
            pick = order[start:start + batch]
            loss = nn.functional.cross_entropy(model(shifted(images[pick], generator)), labels[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(images[TRAIN:]).argmax(1) == labels[TRAIN:]).float().mean().item()
    print(f"held-out accuracy {right:.2%}")
    save_file({k: v.detach().contiguous() for k, v in model.state_dict().items()}, "digits.safetensors",
              {"source": "trained by train.py"})
    save_file({"images": images[TRAIN:].contiguous(), "labels": labels[TRAIN:].contiguous()},
              "held-out.safetensors",
              {"source": "UCI optical digits by scikit-learn load_digits (CC BY 4.0), last 360"})


if __name__ == "__main__":
    main()
