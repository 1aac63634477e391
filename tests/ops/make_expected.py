# SPDX-License-Identifier: Apache-2.0
"""Writes expected/FAMILY.safetensors: inputs and PyTorch's outputs of every function of the models in this folder.

  python make_expected.py        (needs torch, numpy and safetensors)

Keys are FUNCTION.in.NAME and FUNCTION.out.NAME; the dims follow from the inputs' shapes or stand in the metadata under
FUNCTION as "n=3,m=17". PyTorch computes in float64 where the function is one of floats, so that its own rounding is
not part of the comparison; test_ops.py states the tolerance.
"""
from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
generator = torch.Generator().manual_seed(2026)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator)


def integers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randint(-1000, 1000, shape, generator=generator).to(dtype)


ONE = {
    "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "floor": torch.floor, "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "tanh": torch.tanh, "erf": torch.erf, "relu": F.relu, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "pow_2": lambda x: x**2, "pow_3": lambda x: x**3,
    "pow_m1": lambda x: x**-1, "pow_half": lambda x: x**0.5, "pow_m3half": lambda x: x**-1.5,
    "pow_2p2": lambda x: x**2.2, "clamp": lambda x: x.clamp(-0.5, 1.25),
}
TWO = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt,
    "ge": torch.ge, "where": lambda a, b: torch.where(a > b, a, b * 2),
}


def elementwise() -> dict:
    cases = {}
    x = normal(3, 17) * 3
    for name, f in ONE.items():
        positive = name in ("log", "sqrt", "rsqrt", "pow_half", "pow_m3half", "pow_2p2")
        cases[name] = ({"x": x.abs() if positive else x}, lambda i, f=f: {"y": f(i["x"])}, "n=3,m=17")
    a, b = normal(3, 17), normal(3, 17)
    b[0] = a[0]
    for name, f in TWO.items():
        cases[name] = ({"a": a, "b": b}, lambda i, f=f: {"y": f(i["a"], i["b"])}, "n=3,m=17")

    def logical(i: dict) -> dict:
        p, q = i["a"] > 0, i["b"] < 0
        return {"both": p & q, "either": p | q, "one": p ^ q, "none": ~(p | q)}

    def broadcast(i: dict) -> dict:
        return {"rows": i["x"] + i["row"], "columns": i["x"] * i["column"], "outer": i["column"] - i["row"],
                "scaled": i["x"] / i["scalar"], "number": 1.5 - i["x"]}

    def cast(i: dict) -> dict:
        x = i["x"]
        return {"i32": x.to(torch.int32), "i64": x.to(torch.int64), "boolean": x.to(torch.bool),
                "back": x.to(torch.int32).to(x.dtype)}

    def chain(i: dict) -> dict:
        s = i["a"] + i["b"]
        t = torch.sigmoid(s) * (i["a"] - torch.tanh(i["b"]))
        return {"y": torch.clamp(t * t + s, min=-1), "z": torch.exp(torch.clamp(t, max=2))}

    cases["logical"] = ({"a": a, "b": b}, logical, "n=3,m=17")
    cases["broadcast"] = ({"x": x, "row": normal(17), "column": normal(3, 1), "scalar": normal(1).reshape(())},
                          broadcast, "n=3,m=17")
    cases["cast"] = ({"x": x * 100}, cast, "n=3,m=17")
    cases["chain"] = ({"a": a, "b": b}, chain, "n=3,m=17")
    return cases


def integer_family() -> dict:
    cases = {}
    for label, dtype in (("i32", torch.int32), ("i64", torch.int64)):
        a, b = integers(dtype, 3, 17), integers(dtype, 3, 17)
        b[b == 0] = 7

        def arithmetic(i: dict) -> dict:
            a, b = i["a"], i["b"]
            return {"add": a + b, "sub": a - b, "mul": a * b, "div": torch.div(a, b, rounding_mode="trunc"),
                    "largest": torch.maximum(a, b), "smallest": torch.minimum(a, b), "opposite": -a,
                    "magnitude": b.abs(), "cube": a**3}

        def compare(i: dict) -> dict:
            a, b = i["a"], i["b"]
            return {"equal": a == b, "less": a < b, "least": a <= b, "chosen": torch.where(a > 0, a, b),
                    "floats": a.to(torch.float32), "booleans": b.to(torch.bool)}

        def reduce(i: dict, dtype: torch.dtype = dtype) -> dict:
            a = i["a"]
            return {"rows": a.sum(1, dtype=dtype), "columns": a.sum(0, dtype=dtype), "all": a.sum(dtype=dtype)}

        cases[f"arithmetic_{label}"] = ({"a": a, "b": b}, arithmetic, "n=3,m=17")
        cases[f"compare_{label}"] = ({"a": a, "b": b}, compare, "n=3,m=17")
        cases[f"reduce_{label}"] = ({"a": a}, reduce, "n=3,m=17")
    wide = torch.randint(-2**40, 2**40, (3, 17), generator=generator)
    cases["narrow"] = ({"a": wide}, lambda i: {"narrow": i["a"].to(torch.int32),
                                               "wide": i["a"].to(torch.int32).to(torch.int64)}, "n=3,m=17")
    p = torch.rand(3, 17, generator=generator) > 0.3
    cases["bool"] = ({"p": p}, lambda i: {"any": i["p"].any(1), "all": i["p"].all(0), "numbers": i["p"].to(torch.int32),
                                          "floats": i["p"].to(torch.float32), "same": i["p"] == ~i["p"]}, "n=3,m=17")
    cases["arange"] = ({}, lambda i: {"columns": torch.arange(17).expand(3, 17).contiguous(),
                                      "steps": torch.arange(5, 8, 2, dtype=torch.int32), "floats": torch.arange(17.0),
                                      "full": torch.full((3, 2), -3, dtype=torch.int32), "size": torch.tensor(51)},
                       "n=3,m=17")
    return cases


def reductions() -> dict:
    cases = {}
    x = normal(3, 5, 17)
    for label in ("0", "1", "2", "01", "02", "12", "012"):
        axes = tuple(int(c) for c in label)
        cases[f"sum_{label}"] = ({"x": x}, lambda i, axes=axes: {"y": i["x"].sum(axes)}, "a=3,b=5,c=17")
    for label in ("0", "2", "02", "12"):
        axes = tuple(int(c) for c in label)
        cases[f"extremes_{label}"] = ({"x": x}, lambda i, axes=axes: {
            "largest": i["x"].amax(axes), "smallest": i["x"].amin(axes), "mean": i["x"].mean(axes),
            "variance": i["x"].var(axes, correction=0)}, "a1=3,b1=5,c1=17")
    for axis in range(3):
        cases[f"argmax_{axis}"] = ({"x": x}, lambda i, axis=axis: {"first": i["x"].argmax(axis),
                                                                   "last": i["x"].argmin(axis)}, "a1=3,b1=5,c1=17")
    x, r, s = normal(5, 100) * 2, normal(5, 100), normal(5, 100)
    w, b = normal(100), normal(100)
    size = "n=5,m=100"
    cases["softmax"] = ({"x": x}, lambda i: {"y": F.softmax(i["x"], -1)}, size)
    cases["softmax_columns"] = ({"x": x}, lambda i: {"y": F.softmax(i["x"], 0)}, "n1=5,m=100")
    cases["log_softmax"] = ({"x": x}, lambda i: {"y": F.log_softmax(i["x"], 1)}, size)
    cases["layer_norm"] = ({"x": x, "weight": w, "bias": b},
                           lambda i: {"y": F.layer_norm(i["x"], (100,), i["weight"], i["bias"], 1e-5)}, size)
    cases["rms_norm"] = ({"x": x, "weight": w}, lambda i: {"y": F.rms_norm(i["x"], (100,), i["weight"], 1e-6)}, size)

    def norm_chain(i: dict) -> dict:
        total = i["x"] + i["r"]
        return {"sum": total, "y": F.gelu(F.layer_norm(total, (100,), i["weight"], i["bias"])) * i["s"]}

    def invented(i: dict) -> dict:
        scaled = i["x"] / (i["x"].abs().amax(1, keepdim=True) + 1)
        return {"y": scaled.exp() - (scaled * scaled).mean(1, keepdim=True)}

    cases["norm_chain"] = ({"x": x, "r": r, "s": s, "weight": w, "bias": b}, norm_chain, size)
    cases["invented_norm"] = ({"x": x}, invented, size)
    return cases


CONVOLUTIONS = {
    "3x3": (3, 20, 3, 3, dict(padding=1)), "1x1": (17, 33, 1, 1, {}), "strided": (8, 16, 3, 3, dict(stride=2, padding=1)),
    "uneven": (4, 5, 1, 5, dict(stride=(3, 1), padding=(0, 2))),
    "dilated": (4, 16, 3, 3, dict(dilation=(2, 3), padding=(2, 3))),
    "grouped": (12, 24, 3, 3, dict(groups=3, padding=1)), "depthwise": (20, 20, 3, 3, dict(groups=20, padding=1)),
    "multiplier": (6, 12, 3, 3, dict(groups=6, stride=(2, 1))), "large": (2, 32, 7, 7, dict(stride=2, padding=3)),
}
POOLS = {
    "max": lambda x: F.max_pool2d(x, 2), "max_padded": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_dilated": lambda x: F.max_pool2d(x, (3, 2), 1, 0, (2, 3)), "average": lambda x: F.avg_pool2d(x, (2, 3)),
    "average_padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "average_excluding": lambda x: F.avg_pool2d(x, 3, (2, 1), 1, count_include_pad=False),
}


def contractions() -> dict:
    cases = {
        "matmul": ({"a": normal(5, 64), "b": normal(64, 17)}, lambda i: {"y": i["a"] @ i["b"]}, "m=5,n=17,k=64"),
        "matmul_batch": ({"a": normal(2, 1, 5, 64), "b": normal(3, 64, 17)}, lambda i: {"y": i["a"] @ i["b"]},
                         "m=5,n=17,k=64"),
        "matmul_vector": ({"a": normal(7, 17), "b": normal(17)},
                          lambda i: {"y": i["a"] @ i["b"], "dot": i["b"] @ i["b"]}, "m=7,k=17"),
        "matmul_narrow": ({"a": normal(7, 64), "b": normal(64, 10)}, lambda i: {"y": i["a"] @ i["b"]}, "m=7,k=64"),
        "linear": ({"x": normal(7, 64), "w": normal(48, 64), "b": normal(48), "r": normal(7, 48)},
                   lambda i: {"y": F.gelu(F.linear(i["x"], i["w"], i["b"])) + i["r"]}, "m=7,k=64"),
        "linear_narrow": ({"x": normal(1, 7, 64), "w": normal(15, 64), "b": normal(15)},
                          lambda i: {"y": F.relu(F.linear(i["x"], i["w"], i["b"]))}, "m=7,k=64"),
    }
    for label, (c, o, kh, kw, options) in CONVOLUTIONS.items():
        inputs = {"x": normal(2, c, 9, 10), "weight": normal(o, c // options.get("groups", 1), kh, kw),
                  "bias": normal(o)}
        cases[f"conv_{label}"] = (inputs, lambda i, options=options: {
            "y": F.relu(F.conv2d(i["x"], i["weight"], i["bias"], **options))}, "batch=2,h=9,w=10")
    x = normal(2, 5, 9, 10)
    for label, f in POOLS.items():
        cases[f"pool_{label}"] = ({"x": x}, lambda i, f=f: {"y": f(i["x"])}, "batch=2,h=9,w=10")

    def residual(i: dict) -> dict:
        y = i["x"]
        for n in range(2):
            s = i[f"statistics{n}"]
            y = F.batch_norm(F.conv2d(y, i[f"weight{n}"], padding=1), s[0], s[1].abs(), s[2], s[3])
            y = F.relu(y) if n == 0 else y
        y = F.relu(i["x"] + y)
        return {"y": y, "mean": y.mean((2, 3))}

    inputs = {"x": normal(2, 16, 9, 10)}
    for n in range(2):
        inputs[f"weight{n}"], inputs[f"statistics{n}"] = normal(16, 16, 3, 3) / 12, normal(4, 16)
    cases["residual"] = (inputs, residual, "batch=2,h=9,w=10")
    return cases


def attention() -> dict:
    def operands(heads: int, kv: int, d: int, e: int) -> dict:
        return {"q": normal(2, heads, 5, d), "k": normal(2, kv, 16, d), "v": normal(2, kv, 16, e)}

    def sdpa(i: dict, mask: torch.Tensor | None = None, **options: object) -> dict:
        return {"y": F.scaled_dot_product_attention(i["q"], i["k"], i["v"], attn_mask=mask, **options)}

    size = "batch=2,l=5,s=16"
    keep = torch.rand(2, 1, 1, 16, generator=generator) > 0.3
    keep[..., 0] = True
    cases = {
        "plain": (operands(4, 4, 32, 32), sdpa, size),
        "odd": (operands(3, 3, 7, 19), lambda i: sdpa(i, scale=0.3), size),
        "causal": (operands(2, 2, 16, 16), lambda i: sdpa(i, is_causal=True), size),
        "mask": (operands(2, 2, 16, 16) | {"mask": normal(5, 16)}, lambda i: sdpa(i, i["mask"]), size),
        "keep": (operands(2, 2, 16, 16) | {"keep": keep}, lambda i: sdpa(i, i["keep"]), size),
        "grouped": (operands(6, 2, 16, 16), lambda i: sdpa(i, is_causal=True, enable_gqa=True), size),
        "embedding": ({"table": normal(50, 24), "index": torch.randint(0, 50, (2, 7), generator=generator)},
                      lambda i: {"y": i["table"][i["index"]] * 2}, "l=7"),
        "gather": ({"x": normal(3, 50, 4), "index": torch.randint(0, 50, (7,), generator=generator).to(torch.int32)},
                   lambda i: {"y": i["x"].index_select(1, i["index"])}, "l=7"),
    }

    def heads(i: dict) -> dict:
        q, k, v = (F.linear(i[f"x{n}"], i[f"w{n}"]).view(2, 7, 3, 16).transpose(1, 2) for n in range(3))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 7, 48)
        return {"y": F.linear(y, i["w3"])}

    inputs = {f"x{n}": normal(2, 7, 48) for n in range(3)} | {f"w{n}": normal(48, 48) / 7 for n in range(3)}
    cases["heads"] = (inputs | {"w3": normal(40, 48) / 7}, heads, "batch=2,l=7")
    return cases


def views() -> dict:
    x, a, b = normal(3, 17, 6), normal(3, 17), normal(3, 20)
    size = "n=3,m=17"
    return {
        "reshape": ({"x": x}, lambda i: {"rows": i["x"].reshape(-1, 6), "flat": i["x"].exp().flatten(1),
                                         "split": i["x"].reshape(3, 17, 2, 3),
                                         "mixed": -i["x"].permute(1, 0, 2).reshape(17, -1)}, size),
        "permute": ({"x": x}, lambda i: {"reversed": i["x"].permute(2, 1, 0), "swapped": i["x"].transpose(0, 1).abs(),
                                         "sum": i["x"].permute(0, 2, 1) - i["x"].permute(0, 2, 1)}, size),
        "slice": ({"x": x}, lambda i: {"head": i["x"][..., :4], "odd": i["x"][..., 1::2], "last": i["x"][..., -1],
                                       "first": i["x"][0] * 3, "inner": i["x"][..., 1:6][..., 1:-1]}, size),
        "expand": ({"x": a[:, :1].contiguous(), "row": a[0].contiguous()},
                   lambda i: {"wide": i["x"].expand(-1, 17), "deep": i["row"].expand(3, 3, 17),
                              "back": i["x"].unsqueeze(0).squeeze(2)}, size),
        "concat": ({"a": a, "b": b}, lambda i: {"joined": torch.cat([i["a"], i["b"], i["a"]], 1),
                                                "computed": torch.cat([i["a"].exp(), i["b"] * 2], 1),
                                                "rows": torch.cat([i["a"], -i["a"]], 0).sum(1)}, "n=3,m=17,p=20"),
        "split": ({"x": x}, lambda i: {"product": i["x"][..., :2] * i["x"][..., 2:4] * i["x"][..., 4:],
                                       "small": i["x"][..., :2], "large": F.relu(i["x"][..., 2:])}, size),
        "pad": ({"x": x}, lambda i: {"zeros": F.pad(i["x"], (2, 3, 1, 0, 0, 1)),
                                     "ones": F.pad(i["x"].tanh(), (0, 0, 2, 2, 0, 0), value=1.0),
                                     "sums": F.pad(i["x"], (0, 0, 3, 5), value=0.5).sum(1)}, size),
        "triangle": ({"x": a}, lambda i: {"lower": i["x"].tril(0), "upper": i["x"].exp().triu(-1)}, size),
        "update": ({"x": normal(64, 67), "y": a}, lambda i: {"z": torch.cat([
            torch.cat([i["x"][:3, :20], i["y"] * 2, i["x"][:3, 37:]], 1), i["x"][3:]], 0)}, "n=3,m=17,p=20"),
    }


def in_double(inputs: dict) -> dict:
    return {k: t.double() if t.dtype == torch.float32 else t for k, t in inputs.items()}


def main() -> None:
    (HERE / "expected").mkdir(exist_ok=True)
    for family, make in {"elementwise": elementwise, "integers": integer_family, "reductions": reductions,
                         "contractions": contractions, "attention": attention, "views": views}.items():
        tensors, sizes = {}, {}
        for name, (inputs, f, size) in make().items():
            outputs = f(in_double(inputs))
            sizes[f"op_{name}"] = size
            for k, t in inputs.items():
                tensors[f"op_{name}.in.{k}"] = t.clone().contiguous()
            for k, t in outputs.items():
                t = t.float() if t.dtype == torch.float64 else t
                tensors[f"op_{name}.out.{k}"] = t.clone().contiguous()
        save_file(tensors, HERE / "expected" / f"{family}.safetensors", sizes)
        print(family, len(sizes), "functions", sum(t.nbytes for t in tensors.values()), "bytes")


if __name__ == "__main__":
    main()
