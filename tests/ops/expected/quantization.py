# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime, ONNX's reference and ml_dtypes give for quantization.c; TensorFlow Lite's fixed point as gemmlowp
defines it, in Python's integers."""
from __future__ import annotations

import math
import sys
from pathlib import Path

import ml_dtypes
import numpy
import torch
from make_expected import Random
from onnx import TensorProto as T

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
import onnx_node

INTEGERS = {"i8": (torch.int8, T.INT8), "u8": (torch.uint8, T.UINT8), "i16": (torch.int16, T.INT16),
            "u16": (torch.uint16, T.UINT16)}


def doubling_high_mul(a: int, b: int) -> int:
    if a == b == -2**31:
        return 2**31 - 1
    total = a * b + (2**30 if a * b >= 0 else 1 - 2**30)
    return abs(total) // 2**31 * (1 if total >= 0 else -1)


def divide_by_power(x: int, n: int) -> int:
    mask = (1 << n) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> n) + ((x & mask) > threshold)


def multiplied(x: int, q: int, e: int) -> int:
    left = (x << max(e, 0)) & 0xFFFFFFFF
    left = left - 2**32 if left >= 2**31 else left
    return divide_by_power(doubling_high_mul(left, q), max(-e, 0))


def multiplied_once(x: int, q: int, e: int) -> int:
    return max(-2**31, min(2**31 - 1, (x * q + (1 << (30 - e))) >> (31 - e)))


def each(x: torch.Tensor, f, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """f of each element and its number along the last axis."""
    columns = x.shape[-1]
    values = [f(v, i % columns) for i, v in enumerate(x.flatten().tolist())]
    return torch.tensor(values, dtype=dtype).reshape(x.shape)


def limited(x: int, bits: int) -> int:
    return max(-2**(bits - 1), min(2**(bits - 1) - 1, x))


def multiplier(scale: float) -> tuple[int, int]:
    """As TensorFlow Lite's QuantizeMultiplier."""
    fraction, shift = math.frexp(scale)
    q = math.floor(fraction * 2**31 + 0.5)
    if q == 2**31:
        q, shift = q // 2, shift + 1
    return (0, 0) if shift < -31 else (q, shift)


def functions(rng: Random) -> dict:
    cases = {}
    x = rng.normal(3, 21) * 40
    x[0, :6] = torch.tensor([0.5, 1.5, -2.5, 1e9, -1e9, math.inf])
    for name, (dtype, number) in INTEGERS.items():
        def quantize(i: dict, number: int = number) -> dict:
            run = lambda *inputs: onnx_node.run("QuantizeLinear", list(inputs), opset=23, types={-1: number},
                                                output_dtype=number)[0]
            q = run(i["x"], i["scale"], i["zero"])
            return {"q": q, "y": onnx_node.run("DequantizeLinear", [q, i["scale"], i["zero"]], opset=23)[0],
                    "plain": run(i["x"], i["scale"])}
        zero = torch.tensor(7, dtype=dtype)
        cases[f"quantize_{name}"] = ({"x": x if "8" in name else x * 300, "scale": torch.tensor(0.5), "zero": zero},
                                     quantize,
                                     "n=3")

    def axis(i: dict) -> dict:
        q = onnx_node.run("QuantizeLinear", [i["x"], i["scale"], i["zero"]], types={-1: T.INT8}, axis=1)[0]
        four = onnx_node.run("QuantizeLinear", [i["x"], i["scale"]], by="reference", types={-1: T.INT4}, axis=1,
                             output_dtype=T.INT4)[0]
        return {"q": q, "y": onnx_node.run("DequantizeLinear", [q, i["scale"], i["zero"]], axis=1)[0], "four": four,
                "wide": onnx_node.run("DequantizeLinear", [i["sums"], i["scale"]], axis=1)[0]}
    cases["axis"] = ({"x": rng.normal(3, 5, 3) * 9, "scale": rng.rand(5) + 0.1,
                      "zero": rng.randint(-9, 9, (5,)).to(torch.int8),
                      "sums": rng.randint(-2**30, 2**30, (3, 5, 3)).to(torch.int32)}, axis, "n=3")

    def blocks(i: dict) -> dict:
        q = onnx_node.run("QuantizeLinear", [i["x"], i["scale"], i["zero"]], types={-1: T.UINT8}, axis=1,
                          block_size=4)[0]
        return {"q": q, "y": onnx_node.run("DequantizeLinear", [q, i["scale"], i["zero"]], axis=1, block_size=4)[0]}
    cases["blocks"] = ({"x": rng.normal(3, 10) * 9, "scale": rng.rand(3, 3) + 0.1,
                        "zero": rng.randint(90, 150, (3, 3)).to(torch.uint8)}, blocks, "n=3")

    def dynamic(i: dict) -> dict:
        run = lambda x: onnx_node.run("DynamicQuantizeLinear", [x], 3, types={-1: T.UINT8, -3: T.UINT8})
        (q, scale, zero), (none, one, _) = run(i["x"]), run(torch.zeros(3, 2))
        return {"q": q, "scale": scale, "zero": zero, "nothing": none, "one": one}
    cases["dynamic"] = ({"x": rng.normal(3, 7) * 3 + 1}, dynamic, "k=3")

    q, e = [2**31 - 1, 2**30, 1518500250, 1 << 30, 1999999999, -2**31], [0, -7, 3, -31, -12, 0]
    wide = rng.randint(-2**31, 2**31, (3, 6)).to(torch.int32)
    wide[0] = torch.tensor([-2**31, 2**31 - 1, -1, 1, 0, -2**31])

    def fixed_point(i: dict) -> dict:
        q, e, z, x = i["q"].tolist(), i["e"].tolist(), int(i["z"]), i["x"]
        return {"mulhigh": each(x, lambda v, c: doubling_high_mul(v, q[c])),
                "halved": each(x, lambda v, c: divide_by_power(v, 1)),
                "shifted": each(x, lambda v, c: divide_by_power(v, max(-e[c], 0))),
                "twice": each(x, lambda v, c: limited(multiplied(v, q[c], e[c]) + z, 8), torch.int8),
                "once": each(x, lambda v, c: limited(multiplied_once(v, q[c], e[c]) + z, 8), torch.int8),
                "sixteen": each(x, lambda v, c: limited(multiplied(v, q[c], e[c]), 16), torch.int16)}
    cases["fixed_point"] = ({"x": wide, "q": torch.tensor(q, dtype=torch.int32),
                             "e": torch.tensor(e, dtype=torch.int32),
                             "z": torch.tensor(-3, dtype=torch.int8)}, fixed_point, "n=3")

    def by_numbers(i: dict) -> dict:
        rows = [each(i["x"], lambda v, c, s=s: limited(multiplied(v, *multiplier(s)), 8), torch.int8)
                for s in (0.000123, 0.75, 1.0, 3.25, 1e-12, 0.4999999999)]
        return {"y": torch.stack(rows)}
    cases["multiplier"] = ({"x": rng.randint(-200, 200, (17,)).to(torch.int32)}, by_numbers, "n=17")

    def bytes_(*shape: int) -> torch.Tensor:
        return rng.randint(0, 256, shape).to(torch.uint8)

    def signed(*shape: int) -> torch.Tensor:
        return rng.randint(-128, 128, shape).to(torch.int8)

    def matmul(i: dict) -> dict:
        run = lambda *z: onnx_node.run("MatMulInteger", [i["a"], i["b"], *z], types={-1: T.INT32})[0]
        return {"plain": run(), "zeros": run(i["a_zero"], i["b_zero"]), "columns": run(None, i["column_zeros"])}
    cases["matmul_integer"] = ({"a": bytes_(3, 37), "b": signed(37, 19), "a_zero": bytes_(), "b_zero": signed(1),
                                "column_zeros": signed(19)}, matmul, "n=3")

    def qlinear_matmul(i: dict) -> dict:
        return {"y": onnx_node.run("QLinearMatMul",
                                   [i[k] for k in ("a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "scale",
                                                                    "zero")], types={-1: T.UINT8})[0]}
    cases["qlinear_matmul"] = ({"a": bytes_(3, 37), "a_scale": torch.tensor(0.03), "a_zero": bytes_(),
                                "b": signed(37, 19),
                                "b_scale": rng.rand(19) * 0.1 + 0.01, "b_zero": torch.zeros(19, dtype=torch.int8),
                                "scale": torch.tensor(1.7), "zero": bytes_()}, qlinear_matmul, "n=3")

    def conv(i: dict) -> dict:
        return {"y": onnx_node.run("ConvInteger", [i["x"], i["w"], i["x_zero"], i["w_zero"]], types={-1: T.INT32},
                                   strides=[2, 1], pads=[1, 1, 1, 1], group=2)[0]}
    cases["conv_integer"] = ({"x": bytes_(3, 4, 7, 6), "w": bytes_(6, 2, 3, 3), "x_zero": bytes_(), "w_zero": bytes_()},
                             conv,
                             "n=3")

    def qlinear_conv(i: dict) -> dict:
        return {"y": onnx_node.run("QLinearConv",
                                   [i[k] for k in ("x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "scale",
                                                                  "zero", "bias")], types={-1: T.UINT8},
                                   pads=[1, 0, 0, 1], dilations=[1, 2])[0]}
    cases["qlinear_conv"] = ({"x": bytes_(3, 4, 7, 6), "x_scale": torch.tensor(0.03), "x_zero": bytes_(),
                              "w": signed(6, 4, 3, 3), "w_scale": rng.rand(6) * 0.1 + 0.01,
                              "w_zero": torch.zeros(6, dtype=torch.int8),
                              "bias": rng.randint(-3000, 3000, (6,)).to(torch.int32), "scale": torch.tensor(1.7),
                              "zero": bytes_()}, qlinear_conv, "n=3")

    def qlinear_conv1d(i: dict) -> dict:
        return {"y": onnx_node.run("QLinearConv", [i["x"], i["x_scale"], i["x_zero"], i["w"], i["w_scale"],
                                                   torch.tensor(0, dtype=torch.int8), i["scale"], i["zero"]],
                                   types={-1: T.INT8}, pads=[1, 1])[0]}
    cases["qlinear_conv1d"] = ({"x": signed(3, 3, 9), "x_scale": torch.tensor(0.02), "x_zero": signed(),
                                "w": signed(4, 3, 2),
                                "w_scale": torch.tensor(0.04), "scale": torch.tensor(0.9), "zero": signed()},
                                qlinear_conv1d,
                               "n=3")

    def nbits(i: dict) -> dict:
        def run(w: torch.Tensor, zero: torch.Tensor | None, bias: torch.Tensor | None, bits: int) -> torch.Tensor:
            scale = i["scale"].reshape(5, 3)
            zero = None if zero is None else zero.reshape(5, -1)
            return onnx_node.run("MatMulNBits", [i["x"], w, scale, zero, None, bias], domain="com.microsoft", K=40, N=5,
                                 bits=bits, block_size=16, accuracy_level=1)[0]
        return {"plain": run(i["w"], None, None, 4), "zeros": run(i["w"], i["zero"], i["bias"], 4),
                "eight": run(i["bytes"], i["byte_zeros"], None, 8)}
    cases["nbits"] = ({"x": rng.normal(3, 40), "w": bytes_(5, 3, 8), "scale": rng.rand(15) * 0.1, "zero": bytes_(10),
                       "bias": rng.normal(5), "bytes": bytes_(5, 3, 16), "byte_zeros": bytes_(15)}, nbits, "n=3")

    def packed(i: dict) -> dict:
        x = i["x"].numpy().astype(numpy.int64)
        spread = lambda bits: ((x[..., None] >> numpy.arange(0, 8, bits)) % 2**bits).reshape(3, -1)
        signed_of = lambda v, bits: torch.from_numpy(numpy.where(v >= 2**(bits - 1), v - 2**bits,
                                                                 v)).to(torch.int8)
        return {"four": signed_of(spread(4), 4), "two": torch.from_numpy(spread(2)).to(torch.uint8),
                "one": torch.from_numpy(spread(1)).to(torch.uint8), "signed_two": signed_of(spread(2), 2),
                "again": i["x"],
                "same": i["x"]}
    cases["packed"] = ({"x": bytes_(3, 6)}, packed, "n=3")

    codes = torch.arange(256).to(torch.uint8)
    for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"):
        format_ = numpy.dtype(getattr(ml_dtypes, f"float8_{name}"))
        values = numpy.unique(numpy.arange(256, dtype=numpy.uint8).view(format_).astype(numpy.float32))
        finite = values[numpy.isfinite(values)].astype(numpy.float64)
        middle = (finite[1:] + finite[:-1]) / 2
        x = torch.from_numpy(numpy.concatenate([
            finite, middle, numpy.nextafter(middle.astype(numpy.float32), numpy.float32(numpy.inf)),
            numpy.nextafter(middle.astype(numpy.float32), numpy.float32(-numpy.inf)),
            [finite[-1] * 1.01, finite[-1] * 1.1],
            [finite[-1] * 9, -finite[-1] * 1.5, math.inf, -math.inf, math.nan, -0.0, 3e38,
             1e-40]]).astype(numpy.float32))

        def small(i: dict, format_: numpy.dtype = format_) -> dict:
            code, x = i["code"].numpy(), i["x"].numpy().astype(numpy.float32)
            limits = ml_dtypes.finfo(format_)
            bits = lambda v: torch.from_numpy(v.astype(format_).view(numpy.uint8).copy())
            return {"value": torch.from_numpy(code.view(format_).astype(numpy.float32)),
                    "bits": bits(numpy.clip(x, float(limits.min), float(limits.max))), "overflow": bits(x)}
        cases[name] = ({"x": x, "code": codes}, small, f"m={len(x)}")

    def e8m0(i: dict) -> dict:
        """As the format is defined: there is no other implementation of all roundings."""
        def code(v: float, mode: str) -> int:
            v = abs(v)
            if math.isnan(v):
                return 255
            if v <= 2.0**-127:
                return 0
            if math.isinf(v):
                return 254
            fraction, exponent = math.frexp(v)  # v = fraction * 2^exponent, 1/2 <= fraction < 1
            up = {"up": fraction > 0.5, "down": False, "nearest": fraction >= 0.75}[mode]
            return min(exponent - 1 + up + 127, 254)
        values = i["x"].tolist()
        decoded = i["code"].numpy().view(ml_dtypes.float8_e8m0fnu).astype(numpy.float32)
        return {"value": torch.from_numpy(decoded),
                **{m: torch.tensor([code(v, m) for v in values]).to(torch.uint8) for m in ("up", "down", "nearest")}}
    powers = [s * 2.0**p for p in (-127, -126, -3, 0, 1, 126, 127) for s in (1, 1.25, 1.5, 1.75)] + [0.0, math.inf,
                                                                                                     math.nan, 3e-39]
    cases["e8m0"] = ({"x": torch.tensor(powers, dtype=torch.float64).float(), "code": codes}, e8m0, f"m={len(powers)}")

    def e2m1(i: dict) -> dict:
        format_ = ml_dtypes.float4_e2m1fn
        code = (i["code"].numpy() & 15).astype(numpy.uint8)
        return {"value": torch.from_numpy(code.view(format_).astype(numpy.float32)),
                "bits": torch.from_numpy(i["x"].numpy().astype(numpy.float32).astype(format_).view(numpy.uint8).copy())}
    quarters = torch.cat([torch.arange(-8, 8.25, 0.25),
                          torch.tensor([math.inf, -math.inf, math.nan, -0.0, 0.26, 5.001, 4.999])])
    cases["e2m1"] = ({"x": quarters, "code": codes}, e2m1, f"m={len(quarters)}")

    def float8(i: dict) -> dict:
        q = onnx_node.run("QuantizeLinear", [i["x"], i["scale"]], by="reference", types={-1: T.FLOAT8E4M3FN}, axis=1,
                          output_dtype=T.FLOAT8E4M3FN, opset=23)[0]
        y = torch.from_numpy(q.numpy().view(ml_dtypes.float8_e4m3fn).astype(numpy.float32)) * i["scale"].float()
        return {"q": q.view(torch.uint8), "y": y}
    cases["float8"] = ({"x": rng.normal(3, 5) * 100, "scale": rng.rand(5) + 0.1}, float8, "n=3")
    return cases
