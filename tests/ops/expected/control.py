# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for control.c, its loops written in plain Python. Writes control.weights too."""
from __future__ import annotations

from pathlib import Path

import torch
from make_expected import Random
from safetensors.torch import save_file

WEIGHTS = Path(__file__).resolve().parents[1] / "control.weights"


def functions(rng: Random) -> dict:
    w, table = rng.normal(8, 8) * 0.5, rng.normal(50, 8)
    save_file({"w": w, "embedding": table}, WEIGHTS)
    w, table = w.double(), table.double()

    def scan(i: dict) -> dict:
        h, total, every, sums = i["h"], torch.zeros(i["h"].shape[0], dtype=torch.float64), [], []
        for x in i["xs"]:
            h = torch.tanh(h @ w + x + i["bias"].exp())
            total = total + h.sum(1)
            every.append(h)
            sums.append(total)
        return {"last": h, "total": total, "all": torch.stack(every), "sums": torch.stack(sums)}

    def kinds(i: dict) -> dict:
        a, b = i["a"], i["b"]
        for x in i["xs"]:
            a, b = b + x * x, a
        return {"squares": i["xs"] ** 2, "a_n": a, "b_n": b, "last": i["xs"][-1]}

    def newton(i: dict) -> dict:
        a = i["a"].abs() + 1
        guess, moved, count = a, a + 1, 0
        while (moved.abs() > 1e-3).any() and count < 50:
            after = (guess + a / guess) * 0.5
            guess, moved, count = after, guess - after, count + 1
        return {"root": guess, "turns": torch.tensor(count)}

    def choose(i: dict) -> dict:
        x = i["x"]
        y, z = (torch.softmax(x, 1), x @ w) if x.sum() > 0 else (x * 2, -x)
        return {"y": y, "z": z + 1}

    def nested(i: dict) -> dict:
        c, every = i["c"], []
        for x in i["xs"]:
            y = x
            if x.sum() > c.sum():
                for _ in range(3):
                    y = y * 0.5 + c
            else:
                for _ in range(2):
                    y = y - c.mean()
            c = torch.tanh(y)
            every.append(y.amax())
        return {"c_n": c, "all": torch.stack(every)}

    def greedy(i: dict) -> dict:
        tokens, at, token, h = torch.full((12,), -1), 0, i["index"], i["h"]
        while at < 12 and token != 49:
            tokens[at] = token
            h = torch.tanh(h @ w + table[token])
            token = (h @ table.T).reshape(50).argmax()
            at += 1
        return {"tokens": tokens, "count": torch.tensor(at), "h_n": h}

    def sorted_by_all(i: dict) -> dict:
        order = torch.arange(17)
        for x in i["xs"].round():
            order = order[x[order].sort(stable=True).indices]
        return {"order": order}

    def walked(i: dict) -> dict:
        c = i["c"]
        for index in i["index"]:
            c = (c + table[index]) * 0.5
        return {"c_n": c}

    xs = {"xs": rng.normal(5, 3), "c": rng.normal(3)}
    return {
        "scan": ({"xs": rng.normal(5, 3, 8), "h": rng.normal(3, 8), "bias": rng.normal(8)}, scan, "n=5,m=3"),
        "scan_kinds": ({"xs": rng.normal(5, 3), "a": rng.normal(3), "b": rng.normal(3)}, kinds, "n=5,m=3"),
        "scan_sort": ({"xs": rng.normal(5, 17)}, sorted_by_all, "n=5,m=17"),
        "while": ({"a": rng.normal(5) * 10}, newton, "m=5"),
        "while_never": ({"x": rng.normal(5)}, lambda i: {"y": i["x"]}, "m=5"),
        "if": ({"x": rng.normal(5, 8) + 0.5}, choose, "m=5"),
        "if_not": ({"x": rng.normal(5, 8) - 0.5}, choose, "m=5"),
        "nested": (xs, nested, "n=5,m=3"),
        "greedy": ({"index": torch.tensor(7), "h": rng.normal(1, 8)}, greedy, "m=12"),
        "walked_index": ({"index": rng.randint(0, 50, (4, 3)), "c": rng.normal(3, 8)}, walked, "n=4"),
    }
