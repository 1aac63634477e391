# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime gives for recurrent_onnx.c."""
from __future__ import annotations

import sys
from pathlib import Path

import torch
from make_expected import Random

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
import onnx_node

T, B = 7, 3


def functions(rng: Random) -> dict:
    def weights(directions: int, gates: int) -> dict:
        return {"x": rng.normal(T, B, 5), "w": rng.normal(directions, gates * 6, 5) * 0.5,
                "r": rng.normal(directions, gates * 6, 6) * 0.5, "bias": rng.normal(directions, gates * 12) * 0.3}

    def outputs(op: str, i: dict, *names: str, **attributes: object) -> dict:
        order = ("x", "w", "r", "bias", "lengths", "h0") + (("c0", "peepholes") if op == "LSTM" else ())
        found = onnx_node.run(op, [i.get(k) for k in order], len(names), opset=14, hidden_size=6, **attributes)
        return dict(zip(names, found))

    lengths = {"lengths": torch.tensor([3, 7, 5], dtype=torch.int32)}
    states = {"h0": rng.normal(2, B, 6)}
    c0 = {"c0": rng.normal(2, B, 6)}

    def everything(i: dict) -> dict:
        return outputs("LSTM", i, "y", "h_n", "c_n", direction="bidirectional", clip=0.7,
                       activations=["HardSigmoid", "ScaledTanh", "Softsign", "Sigmoid", "LeakyRelu", "Elu"],
                       activation_alpha=[0.2, 1.5, 0.1, 0.9], activation_beta=[0.5, 0.6])

    def batch_first(i: dict) -> dict:
        """ONNX Runtime has no layout = 1: the same network with its operands and results turned."""
        turned = {**i, "x": i["x"].transpose(0, 1), "h0": i["h0"].transpose(0, 1)}
        found = outputs("LSTM", {k: v.contiguous() for k, v in turned.items()}, "y", "h_n", "c_n",
                        direction="bidirectional")
        return {"y": found["y"].permute(2, 0, 1, 3), "h_n": found["h_n"].transpose(0, 1),
                "c_n": found["c_n"].transpose(0, 1)}

    def rnn_plain(i: dict) -> dict:
        return {**outputs("RNN", i, "y"),
                **outputs("RNN", i, "thresholded", activations=["ThresholdedRelu"], activation_alpha=[0.3])}

    size = f"t={T},b={B}"
    plain = {k: v for k, v in weights(2, 4).items() if k != "bias"}
    bare = {k: v for k, v in weights(1, 1).items() if k != "bias"}
    return {
        "lstm": (weights(1, 4), lambda i: outputs("LSTM", i, "y", "h_n", "c_n"), size),
        "lstm_everything": ({**weights(2, 4), **lengths, **states, **c0, "peepholes": rng.normal(2, 18) * 0.3},
                            everything, size),
        "lstm_coupled": (weights(1, 4), lambda i: outputs("LSTM", i, "y", direction="reverse", input_forget=1), size),
        "lstm_batch_first": ({**plain, "x": plain["x"].transpose(0, 1), "h0": states["h0"].transpose(0, 1)},
                             batch_first, size),
        "gru": ({**weights(2, 3), **lengths, **states},
                lambda i: outputs("GRU", i, "y", "h_n", direction="bidirectional"), size),
        "gru_linear": (weights(1, 3),
                       lambda i: outputs("GRU", i, "y", "h_n", direction="reverse", linear_before_reset=1, clip=0.5,
                                                        activations=["Sigmoid", "Softplus"]), size),
        "rnn": ({**weights(2, 1), **lengths}, lambda i: outputs("RNN", i, "y", "h_n", direction="bidirectional",
                                                                activations=["Relu", "Affine"], activation_alpha=[0.4],
                                                                activation_beta=[0.1]), size),
        "rnn_plain": (bare, rnn_plain, size),
    }
