# SPDX-License-Identifier: Apache-2.0
"""What ONNX's reference and PyTorch give for attention_onnx.c."""
from __future__ import annotations

import sys
from pathlib import Path

import torch
from make_expected import Random
from onnx import TensorProto as T

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
import onnx_node

L, P = 5, 8


def functions(rng: Random) -> dict:
    def cached(i: dict) -> dict:
        names = ("y", "present_k", "present_v", "scores")
        found = onnx_node.run("Attention", [i[k] for k in ("q", "k", "v", "mask", "pk", "pv")], 4, opset=24,
                              by="reference",
                              q_num_heads=4, kv_num_heads=2, is_causal=1, softcap=2.0, qk_matmul_output_mode=2)
        return dict(zip(names, found))

    def lengths(i: dict) -> dict:
        run = lambda *more, **options: onnx_node.run(
            "Attention", [i["q"], i["k"], i["v"], *more], 4, opset=24, by="reference", types={3: T.BOOL}, **options)
        # the evaluator of lengths needs a mask with the batch's axis
        y, _, _, scores = onnx_node.run("Attention",
                                        [i["q"], i["k"], i["v"], torch.zeros(2, 3, L, L + P), None, None, i["lengths"]],
                                        4, opset=24, by="reference", scale=0.5)
        short, _, _, softmax = run(i["seen"], qk_matmul_output_mode=3)
        return {"y": y, "scores": scores, "short_mask": short, "softmax": softmax}

    def window(i: dict) -> dict:
        at = torch.arange(L)
        seen = (at[None] <= at[:, None]) & (at[None] > at[:, None] - 4)
        return {"y": torch.nn.functional.scaled_dot_product_attention(i["q"], i["k"], i["v"], attn_mask=seen)}

    def rotary(i: dict) -> dict:
        run = lambda *x, **options: onnx_node.run("RotaryEmbedding", list(x), opset=23, by="reference",
                                                  **options)[0]
        return {"halves": run(i["x"], i["c"], i["s"], i["at"]),
                "pairs": run(i["x"], i["c"], i["s"], i["at"], interleaved=1),
                "side_by_side": run(i["rows"], i["c"], i["s"], i["at"], num_heads=3),
                "partly": run(i["rows"], i["c4"], i["s4"], num_heads=3, rotary_embedding_dim=4),
                "partly_pairs": run(i["x"], i["c6"], i["s6"], rotary_embedding_dim=6, interleaved=1)}

    def linear(i: dict) -> dict:
        run = lambda *x, **options: onnx_node.run("LinearAttention", list(x), 2, opset=27, by="reference",
                                                  q_num_heads=4,
                                                  kv_num_heads=2, **options)
        y, state = run(*(i[k] for k in "qkvsdb"))
        return {"gated_delta": y, "state": state,
                "plain": run(*(i[k] for k in "qkv"), update_rule="linear", scale=0.5)[0]}

    n = rng.normal
    seen = rng.rand(L, L) > 0.4
    seen[:, 0] = True
    return {
        "cached": ({"q": n(2, L, 32), "k": n(2, L, 16), "v": n(2, L, 10), "mask": n(L, L + P), "pk": n(2, 2, P, 8),
                    "pv": n(2, 2, P, 5)}, cached, f"l={L},p={P}"),
        "lengths": ({"q": n(2, 3, L, 8), "k": n(2, 3, L + P, 8), "v": n(2, 3, L + P, 8),
                     "lengths": torch.tensor([3, 5]),
                     "seen": seen}, lengths, f"l={L},p={P}"),
        "window": ({k: n(2, L, 8) for k in "qkv"}, window, f"l={L}"),
        "linear": ({"q": n(2, L, 24), "k": n(2, L, 12) * 0.4, "v": n(2, L, 10), "s": n(2, 2, 6, 5),
                    "d": -rng.rand(2, L, 12),
                    "b": rng.rand(2, L, 2)}, linear, f"l={L}"),
        "rotary": ({"x": n(2, 3, L, 8), "rows": n(2, L, 24), "c": n(64, 4), "s": n(64, 4),
                    "at": rng.randint(0, 64, (2, L)),
                    "c4": n(2, L, 2), "s4": n(2, L, 2), "c6": n(2, L, 3), "s6": n(2, L, 3)}, rotary, f"l={L}"),
    }
