# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and ONNX's reference implementation give for selecting.c."""
from __future__ import annotations

import torch
from make_expected import Random
from onnx_reference import run

N, M, I = 7, 5, 11
PLANE = f"n={N},m={M}"
SIZE = f"{PLANE},i={I}"


def one(op: str, *inputs: torch.Tensor | None, **attributes: object) -> torch.Tensor:
    return run(op, *inputs, **attributes)[0]


def nd(i: dict) -> dict:
    x, a, b, y, u = i["x"], i["a"], i["b"].long(), i["y"], i["u"]
    scattered = {name: one("ScatterND", y, a, u, reduction=op)
                 for name, op in (("set", "none"), ("added", "add"), ("times", "mul"))}
    # the reference takes rows of y for the other two
    for name, op in (("most", "amax"), ("least", "amin")):
        scattered[name] = y.reshape(-1).scatter_reduce(0, a[:, 0] * N + a[:, 1], u, op).reshape(N, N)
    return {"rows": one("GatherND", x, a), "batch": one("GatherND", x, b, batch_dims=1),
            "from_end": one("GatherND", x, a - N),
            **scattered}


def caches(i: dict) -> dict:
    x, y, start, hot, values = i["x"], i["y"], i["start"], i["hot"], i["values"]
    depth = torch.tensor(N)
    return {"prefix": one("TensorScatter", x, y, axis=-2),
            "around": one("TensorScatter", x, y, start, axis=-2, mode="circular"),
            "linear": one("TensorScatter", torch.ones(3, N + M, dtype=x.dtype), i["z"], start.clamp(max=N), axis=1),
            "one_hot": one("OneHot", hot.clamp(0, N - 1) - 2, depth, values, axis=0),
            # the reference takes indices beyond the classes modulo their number
            "last": values[(hot.where(hot >= 0, hot + N)[:, None] == torch.arange(N)).long()]}


def padded(found: torch.Tensor, size: int, fill: float) -> torch.Tensor:
    rest = torch.full((size, *found.shape[1:]), fill, dtype=found.dtype)
    rest[:len(found)] = found[:size]
    return rest


def compress(i: dict) -> dict:
    x, mask = i["x"], i["x"][:, 0] > 0.25
    rows = one("Compress", x, mask, axis=0)
    assert 2 < len(rows) < N
    return {"rows": padded(rows, N, -1), "few": rows[:2],
            "all": padded(one("Compress", x.reshape(-1), x.reshape(-1) < 0, axis=0), N * M, 0),
            "count": mask.sum(), "shorter": padded(one("Compress", x, i["p"], axis=0), 1, 0)}


def unique(i: dict) -> dict:
    few, out = i["x"].round(), {}
    for name, is_sorted in (("sorted", 1), ("unsorted", 0)):
        size = N * M if is_sorted else 1
        y, first, inverse, counts = run("Unique", few.reshape(-1), outputs=4, sorted=is_sorted)
        out |= {name: padded(y, size, 0)[:size], f"{name}_first": padded(first, N * M, 0)[:size],
                f"{name}_inverse": inverse,
                f"{name}_counts": padded(counts, N * M, 0)[:size]}
    assert 3 < len(y) < N * M
    return out | {"sorted_count": torch.tensor(len(y))}


def unique_slices(i: dict) -> dict:
    few = (i["x"] >> 9).sign()
    y, first, inverse, counts = run("Unique", few, outputs=4, axis=1)
    places = run("Unique", few[:1], outputs=2, axis=1)[1]
    z = few[:1].index_select(1, places.sort().values)
    assert 1 < z.shape[1] < N
    return {"sorted": padded(y.movedim(1, 0), N, 0).movedim(0, 1), "first": padded(first, N, 0), "inverse": inverse,
            "counts": padded(counts, N, 0), "count": torch.tensor(y.shape[1]),
            "unsorted": padded(z.movedim(1, 0), N, 0).movedim(0, 1)}


def functions(rng: Random) -> dict:
    n, r = rng.normal, rng.randint
    a = torch.stack((torch.randperm(N * N, generator=rng.generator)[:I] // N, r(0, N, (I,))), 1)
    slices = r(-1500, 1500, (M, N, 2)).int()
    slices[:, 2], slices[:, 5] = slices[:, 4], slices[:, 0]
    return {"nd": ({"x": n(N, N, M), "a": a, "b": r(0, N, (N, 2, 1)).int(), "y": n(N, N), "u": n(I)}, nd, SIZE),
            "caches": ({"x": n(3, 2, N + M, 4), "y": n(3, 2, M, 4), "start": torch.tensor([2, 0, N + M - 1]),
                        "z": n(3, M),
                        "hot": r(-1, N + 2, (I,)), "values": torch.tensor([-0.5, 2])}, caches, SIZE),
            "compress": ({"x": n(N, M), "p": torch.tensor([True])}, compress, PLANE),
            "unique": ({"x": 2 * n(N, M)}, unique, PLANE), "unique_slices": ({"x": slices}, unique_slices, PLANE)}
