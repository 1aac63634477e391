# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for recurrent.c. Writes recurrent.weights too."""
from __future__ import annotations

from pathlib import Path

import torch
from make_expected import Random
from safetensors.torch import save_file
from torch import nn

WEIGHTS = Path(__file__).resolve().parents[1] / "recurrent.weights"


def functions(rng: Random) -> dict:
    modules = {
        "lstm": nn.LSTM(5, 6, num_layers=2, bidirectional=True, batch_first=True), "wide": nn.LSTM(9, 40),
        "projected": nn.LSTM(5, 6, proj_size=3, bias=False), "gru": nn.GRU(5, 6, bidirectional=True),
        "rnn": nn.RNN(5, 6, num_layers=2), "rectified": nn.RNN(5, 6, num_layers=2, nonlinearity="relu"),
    }
    weights = {}
    for name, module in modules.items():
        for key, value in module.named_parameters():
            value.data = rng.normal(*value.shape) * 0.4
            weights[f"{name}.{key}"] = value.data.clone()
    modules["rectified"].load_state_dict(modules["rnn"].state_dict())
    save_file({k: v for k, v in weights.items() if not k.startswith("rectified")}, WEIGHTS)
    modules = {name: module.double() for name, module in modules.items()}

    def lstm(i: dict) -> dict:
        y, (h, c) = modules["lstm"](i["x"], (i["h"], i["c"]))
        return {"y": y, "h_n": h, "c_n": c}

    def projected(i: dict) -> dict:
        y, (h, c) = modules["projected"](i["x"])
        return {"y": y, "h_n": h, "c_n": c}

    def gru(i: dict) -> dict:
        y, h = modules["gru"](i["x"], i["h"])
        return {"y": y, "h_n": h}

    def rnn(i: dict) -> dict:
        y, h = modules["rnn"](i["x"])
        return {"y": y, "h_n": h, "rectified": modules["rectified"](i["x"])[0]}

    def lengths(i: dict) -> dict:
        one, gate = nn.LSTM(5, 6, bidirectional=True).double(), nn.GRU(5, 6).double()
        one.load_state_dict({k: v for k, v in modules["lstm"].state_dict().items() if "_l0" in k})
        gate.load_state_dict({k: modules["gru"].state_dict()[k] for k in gate.state_dict()})
        packed = nn.utils.rnn.pack_padded_sequence(i["x"], i["lengths"], enforce_sorted=False)
        y, (h, c) = one(packed)
        y, gated = (nn.utils.rnn.pad_packed_sequence(p, total_length=len(i["x"]))[0] for p in (y, gate(packed)[0]))
        return {"y": y, "h_n": h, "c_n": c, "gated": gated.transpose(0, 1)}

    def tensors(i: dict) -> dict:
        module = nn.LSTM(5, 6).double()
        module.load_state_dict({"weight_ih_l0": i["ih"], "weight_hh_l0": i["hh"], "bias_ih_l0": i["ih_bias"],
                                "bias_hh_l0": i["hh_bias"]})
        return {"y": module(i["x"])[0]}

    def double(i: dict) -> dict:
        module = nn.GRU(5, 6).double()
        given = modules["gru"].state_dict()
        module.load_state_dict({k: given[k] for k in module.state_dict()} |
                               {"bias_hh_l0": torch.zeros(18, dtype=torch.float64)})
        return {"y": module(i["x"])[0]}

    def cells(i: dict) -> dict:
        w = {k: v.double() for k, v in weights.items()}
        of = lambda name: [w[f"{name}.{k}_l0"] for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        h, c = torch.lstm_cell(i["x"], (i["h"], i["c"]), *of("lstm"))
        ih, hh, bias, none = of("rnn")
        return {"lstm": h, "lstm_c": c, "gru": torch.gru_cell(i["x"], i["h"], *of("gru")),
                "rnn": torch.rnn_relu_cell(i["x"], i["h"], ih, hh, bias, torch.zeros_like(none))}

    def whole(f):
        def run(i: dict) -> dict:
            with torch.no_grad():
                return f(i)
        return run

    x, size = rng.normal(3, 2, 5), "t=3,b=2"
    cases = {
        "lstm": ({"x": rng.normal(2, 3, 5), "h": rng.normal(4, 2, 6), "c": rng.normal(4, 2, 6)}, lstm, size),
        "lstm_wide": ({"x": rng.normal(7, 2, 9)}, lambda i: {"y": modules["wide"](i["x"])[0]}, "t=7,b=2"),
        "lstm_projected": ({"x": x}, projected, size),
        "gru": ({"x": x, "h": rng.normal(2, 2, 6)}, gru, size),
        "lengths": ({"x": rng.normal(5, 3, 5), "lengths": torch.tensor([4, 1, 3])}, lengths, "t=5,b=3"),
        "rnn": ({"x": x}, rnn, size),
        "lstm_given": ({"x": x, "ih": rng.normal(24, 5), "hh": rng.normal(24, 6), "ih_bias": rng.normal(24),
                          "hh_bias": rng.normal(24)}, tensors, size),
        "gru_double": ({"x": rng.normal(3, 2, 5).double()}, double, size),
        "cells": ({"x": rng.normal(3, 5), "h": rng.normal(3, 6), "c": rng.normal(3, 6)}, cells, "b=3"),
    }
    return {name: (inputs, whole(f), at) for name, (inputs, f, at) in cases.items()}
