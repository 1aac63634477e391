# SPDX-License-Identifier: Apache-2.0
"""What ONNX's reference gives for training.c."""
from __future__ import annotations

import sys
from pathlib import Path

import torch
from make_expected import Random

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
import onnx_node


def functions(rng: Random) -> dict:
    def run(op: str, i: dict, *states: torch.Tensor, **options: object) -> list[torch.Tensor]:
        found = onnx_node.run(op, [i["rate"], i["step"], i["x"], i["d"], *states], 1 + len(states), by="reference",
                              domain="ai.onnx.preview.training", **options)
        return [y.reshape(3, 5) for y in found]

    def adagrad(i: dict) -> dict:
        y, h = run("Adagrad", i, i["h"].abs(), decay_factor=0.1, epsilon=1e-3, norm_coefficient=0.01)
        return {"y": y, "h_next": h}

    def adam(i: dict) -> dict:
        y, v, h = run("Adam", i, i["v"], i["h"].abs(), alpha=0.9, beta=0.75, epsilon=1e-2, norm_coefficient=0.01,
                      norm_coefficient_post=0.05)
        return {"y": y, "v_next": v, "h_next": h}

    def momentum(i: dict) -> dict:
        y, v = run("Momentum", i, i["v"], alpha=0.9, beta=0.5, norm_coefficient=0.0, mode="standard")
        nesterov, _ = run("Momentum", i, i["v"], alpha=0.9, beta=0.5, norm_coefficient=0.1, mode="nesterov")
        return {"y": y, "v_next": v, "nesterov": nesterov}

    base = {"x": rng.normal(3, 5), "d": rng.normal(3, 5), "rate": torch.tensor(0.125), "step": torch.tensor(3)}
    h, v = {"h": rng.normal(3, 5)}, {"v": rng.normal(3, 5)}
    return {"adagrad": ({**base, **h}, adagrad, "n=3"), "adam": ({**base, **h, **v}, adam, "n=3"),
            "momentum": ({**base, **v}, momentum, "n=3")}
