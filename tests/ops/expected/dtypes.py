# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for dtypes.c. Unsigned integers above u8, where PyTorch has little arithmetic, are computed in i64
and brought back modulo 2^bits. f16 and bf16 are rounded here after every operation, as the graph has it."""
from __future__ import annotations

import numpy
import torch
import torch.nn.functional as F
from make_expected import Random

DTYPES = True
INTEGERS = {"i8": (torch.int8, 8), "u8": (torch.uint8, 8), "i16": (torch.int16, 16), "u16": (torch.uint16, 16),
            "u32": (torch.uint32, 32), "u64": (torch.uint64, 64)}
FLOATS = {"f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


def array(t: torch.Tensor) -> numpy.ndarray:
    return t.numpy()


def integers(a: numpy.ndarray, b: numpy.ndarray) -> dict:
    """In numpy, whose integers wrap; the quotient of MIN and -1 is MIN there, too."""
    kind = a.dtype
    with numpy.errstate(all="ignore"):
        quotient = numpy.where(b == 0, kind.type(0), a // numpy.where(b == 0, kind.type(1), b))
        if kind.kind == "i":    # towards zero
            quotient = quotient + ((a % numpy.where(b == 0, kind.type(1), b) != 0) & ((a < 0) != (b < 0)) & (b != 0))
        out = {"add": a + b, "sub": a - b, "mul": a * b, "div": quotient.astype(kind), "largest": numpy.maximum(a, b),
               "smallest": numpy.minimum(a, b), "opposite": (0 - a).astype(kind), "chosen": numpy.where(a > 5, a, b),
               "least": a <= b, "floats": a.astype(numpy.float32) * numpy.float32(0.25),
               "halves": a.astype(numpy.float16),
               "rows": a.sum(1, dtype=kind), "columns": a.sum(0, dtype=kind), "most": a.max(1), "where": b.argmin(1),
               "turned": numpy.pad(a.T, ((1, 0), (0, 0)), constant_values=3), "product": (a @ b.T).astype(kind)}
    return {k: torch.from_numpy(numpy.ascontiguousarray(v)) for k, v in out.items()}


def few(a: numpy.ndarray, b: numpy.ndarray) -> dict:
    return {"mul": torch.from_numpy((a + b) * b), **{k: integers(a, b)[k] for k in ("div", "least", "halves", "rows")}}


def floats(dtype: torch.dtype, a: torch.Tensor, b: torch.Tensor) -> dict:
    """Each operation in double (or, for f64, as PyTorch has it), rounded to the dtype."""
    def rounded(t: torch.Tensor) -> torch.Tensor:
        return t.to(dtype)

    x, y = a.double(), b.double()
    product, tens = rounded(x * y).double(), rounded(x * 10).double()
    return {"add": rounded(x + y), "mul": rounded(x * y), "div": rounded(x / y), "root": rounded(y.abs().sqrt()),
            "floor": rounded(tens.floor()), "exp": rounded(x.exp()), "log": rounded(y.abs().log()),
            "tanh": rounded(x.tanh()), "erf": rounded(x.erf()), "less": x < y, "largest": torch.maximum(a, b),
            "chain": rounded(rounded(product + 0.5).double() - x), "sum": rounded(x.sum(1)),
            "columns": rounded(x.sum(0)), "most": a.amax(1), "where": a.argmax(1),
            "bytes": rounded(x * 100).double().clamp(-128, 127).trunc().to(torch.int8), "wide": x,
            "narrow": a.to(torch.bfloat16)}


def layers(dtype: torch.dtype, a: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> dict:
    x, v = a.double(), w.double()
    out = {"product": x @ v.T, "relu": (x @ v.T).relu(), "few": (x @ v.T)[:, :3], "softmax": x.softmax(-1),
           "norm": F.layer_norm(x, x.shape[1:], s.double()), "mean": x.mean(1)}
    return {k: t.to(dtype) for k, t in out.items()}


def convolutions(dtype: torch.dtype, x: torch.Tensor, w: torch.Tensor) -> dict:
    x, w = x.double(), w.double()
    out = {"y": F.conv2d(x, w, padding=1), "pooled": F.max_pool2d(x, 2), "averaged": F.avg_pool2d(x, 3)}
    return {k: t.to(dtype) for k, t in out.items()}


def patterns(real: torch.dtype, whole: torch.dtype, unsigned: torch.dtype, a: torch.Tensor, b: torch.Tensor) -> dict:
    pattern = a.view(whole)
    turned = torch.cat([torch.full_like(pattern[:, :1].T, 3), pattern.T])
    return {"bits": pattern, "unsigned_bits": a.view(unsigned), "floats": b.view(real), "back": b, "size": a.abs(),
            "most": pattern.amax(1), "turned": turned, "unknown": b.view(real).isnan()}


def functions(rng: Random) -> dict:
    cases = {}
    for name, (dtype, bits) in INTEGERS.items():
        a, b = (rng.randint(-2**62, 2**62, (3, 37)) >> rng.randint(62 - bits, 62, (3, 37)) for _ in range(2))
        a, b = (torch.from_numpy(array(t).astype(str(dtype).removeprefix("torch."))) for t in (a, b))
        if name in ("i8", "u64"):
            cases[f"integers_{name}"] = ({"a": a, "b": b}, lambda i: integers(array(i["a"]), array(i["b"])), "n=3,m=37")
        else:
            cases[f"few_{name}"] = ({"a": a, "b": b}, lambda i: few(array(i["a"]), array(i["b"])), "n=3,m=37")
    for name, dtype in FLOATS.items():
        a, b = (rng.normal(3, 37).to(dtype) for _ in range(2))
        cases[f"floats_{name}"] = ({"a": a, "b": b}, lambda i, dtype=dtype: floats(dtype, i["a"], i["b"]), "n=3,m=37")
        w, s = rng.normal(24, 37).to(dtype), rng.normal(37).to(dtype)
        cases[f"layers_{name}"] = ({"a": a, "w": w, "s": s},
                                   lambda i, dtype=dtype: layers(dtype, i["a"], i["w"], i["s"]), "n=3,m=37")
        x, k = rng.normal(2, 4, 9, 9).to(dtype), rng.normal(6, 4, 3, 3).to(dtype)
        cases[f"conv_{name}"] = ({"x": x, "w": k}, lambda i, dtype=dtype: convolutions(dtype, i["x"], i["w"]), "n=2")
    a, b = rng.normal(3, 37).double() * 8, rng.normal(3, 37).double()
    a[1] *= 2.0 ** (torch.arange(37) * 20)
    cases["functions_f64"] = ({"a": a, "b": b}, lambda i: {
        "sin": i["a"].sin(), "cos": i["a"].cos(), "tan": i["b"].tan(), "expm1": i["b"].expm1(),
        "log1p": i["b"].abs().log1p(), "pow": i["b"].abs() ** i["a"], "round": i["a"].round(),
        "remainder": torch.remainder(i["a"], i["b"])}, "n=3,m=37")
    for width, real, whole, unsigned in ((16, torch.float16, torch.int16, torch.uint16),
                                         (32, torch.float32, torch.int32, torch.uint32),
                                         (64, torch.float64, torch.int64, torch.uint64)):
        a = (rng.normal(3, 37) * 8).to(real)
        a[0, :8] = torch.tensor([0.0, -0.0, 1.0, -1.5, float("inf"), -float("inf"), 65504.0, 6e-8], dtype=real)
        b = (rng.randint(-2**63, 2**63 - 1, (3, 37)) >> 64 - width).to(whole)
        cases[f"bits_{width}"] = ({"a": a, "b": b}, lambda i, t=(real, whole, unsigned): patterns(
            *t, i["a"].to(t[0]), i["b"]), "n=3,m=37")
    a = rng.randint(-128, 128, (3, 37)).to(torch.int8)
    h, b = rng.normal(3, 37).half(), rng.normal(3, 37).bfloat16()
    cases["bits_8"] = ({"a": a, "h": h, "b": b}, lambda i: {
        "u8": i["a"].view(torch.uint8), "truth": (i["a"] > 0).to(torch.int8), "same": i["a"] > 0,
        "halves": i["b"].view(torch.float16), "brain": i["h"].view(torch.bfloat16), "u16": i["b"].view(torch.uint16)},
        "n=3,m=37")
    image = rng.randint(0, 256, (2, 6, 7, 3)).to(torch.uint8)
    cases["image"] = ({"x": image}, lambda i: {"y": ((i["x"].permute(0, 3, 1, 2).double() - 127.5) / 128).float()},
                      "n=2")
    return cases
