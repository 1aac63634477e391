# SPDX-License-Identifier: Apache-2.0
"""What models of one operation are made of: tensors with random scales and weights, for make_cases.py."""
from __future__ import annotations

from typing import Sequence

import numpy
from encode import Operator, Part, Tensor, model

r = numpy.random.default_rng(14)
cases: dict[str, tuple[bytes, list[str]]] = {}
ranges: dict[str, tuple[int, int]] = {}    # of the integers that an input of a name has, in every case of a stage


def scale(low: float = 0.002, high: float = 0.2) -> float:
    return float(numpy.float32(numpy.exp(r.uniform(numpy.log(low), numpy.log(high)))))


def affine(name: str, shape: Sequence[int], dtype: str = "i8", s: float = 0.0, z: int | None = None) -> Tensor:
    ends = {"i8": (-128, 128), "u8": (0, 256), "i16": (0, 1)}
    return Tensor(name, dtype, shape, scales=[s or scale()], zeros=[int(r.integers(*ends[dtype])) if z is None else z])


def constant(name: str, dtype: str, shape: Sequence[int], values: numpy.ndarray, scales: Sequence[float] = (),
             axis: int = 0,
             zeros: Sequence[int] = ()) -> Tensor:
    return Tensor(name, dtype, shape, values.flatten().tolist(), scales, zeros or [0] * len(scales), axis)


def sizes(name: str, values: Sequence[int]) -> Tensor:
    return Tensor(name, "i32", [len(values)], list(values))


def case(name: str, tensors: Sequence[Tensor], operators: Sequence[Operator], inputs: Sequence[str],
         outputs: Sequence[str], others: Sequence[Part] = ()) -> None:
    cases[name] = model(tensors, operators, inputs, outputs, name, others), list(inputs)


def weights(out: int, each: int, axis: int, shape: Sequence[int], per: bool, x: Tensor,
            bias_dtype: str = "i32") -> list[Tensor]:
    scales = [scale(0.001, 0.02) for _ in range(out if per else 1)]
    w = r.integers(-127, 128, size=shape)
    bias = r.integers(-20000, 20000, size=out)
    return [constant("w", "i8", shape, w, scales, axis),
            constant("b", bias_dtype, [out], bias, [float(numpy.float32(x.scales[0] * s)) for s in scales])]


def one(name: str, op: str, x: Tensor, y: Tensor, version: int = 2, more: Sequence[Tensor] = (),
        **options: object) -> None:
    case(name, [x, y, *more], [Operator(op, ["x", *[t.name for t in more]], ["y"], options, version)], ["x"], ["y"])


def result_window(shape: Sequence[int], out: int, kernel: Sequence[int], options: dict[str, int]) -> list[int]:
    found = []
    for i, k in enumerate(kernel):
        s, d = options["stride_h" if i == 0 else "stride_w"], options.get("dilation_h" if i == 0 else "dilation_w", 1)
        reach = (k - 1) * d + 1
        found.append(-(-shape[1 + i] // s) if options["padding"] == 0 else (shape[1 + i] - reach) // s + 1)
    return [shape[0], *found, out]
