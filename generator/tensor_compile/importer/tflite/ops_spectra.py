# SPDX-License-Identifier: Apache-2.0
"""Spectra: complex numbers, whose values have a last axis with the two parts. Only what is here takes them."""
from __future__ import annotations

from ...symbolic import product, wrap
from ..problems import Malformed
from ..values import COMPLEX
from .registry import Node, op


@op("RFFT2D", versions=1)
def rfft2d(n: Node) -> None:
    """Of real x the first half of the spectrum along the last axis, then all of it along the one before."""
    x, lengths = n.input(0), n.integers(1, "the lengths")
    if x.dtype != "f32":
        n.refuse(f"the spectrum of {x.dtype}")
    if x.rank < 2 or len(lengths) != 2 or any(v < 1 for v in lengths):
        raise Malformed(f"{len(lengths)} lengths of a tensor of rank {x.rank}")
    columns, rows = x.rank - 1, x.rank - 2
    half = wrap(lengths[1] // 2 + 1)
    shape = (*x.shape[:-1], half, wrap(2))
    text = f"tc_dft(tc_unsqueeze({x}, {x.rank}), .axis = {columns}, TC_SIZES({lengths[1]}), .onesided = true)"
    if lengths[0] != 1 or x.shape[rows] != wrap(1):
        spectrum = n.let(text, "f32", shape, "spectrum")
        shape = (*x.shape[:-2], wrap(lengths[0]), half, wrap(2))
        text = f"tc_dft({spectrum}, .axis = {rows}, TC_SIZES({lengths[0]}))"
    n.give(text, "f32", shape).kind = COMPLEX


@op("REAL", "IMAG", "COMPLEX_ABS", versions=1, numbers=COMPLEX)
def parts(n: Node) -> None:
    x = n.input(0)
    last = x.rank - 1
    calls = {"REAL": f"tc_select({x}, {last}, 0)", "IMAG": f"tc_select({x}, {last}, 1)",
             "COMPLEX_ABS": f"tc_complex_abs({x})"}
    n.give(calls[n.name], x.dtype, x.shape[:-1])


@op("RESHAPE", "SQUEEZE", "EXPAND_DIMS", versions=2, numbers=COMPLEX)
def reshape(n: Node) -> None:
    """To the shape that the file has."""
    x, given = n.input(0), n.output().shape
    if n.name != "EXPAND_DIMS":
        n.ignore("dims" if n.name == "SQUEEZE" else "new_shape")
    shape = (*map(wrap, given), wrap(2))
    if product(shape) != product(x.shape):
        n.refuse(f"complex numbers of the shape {list(x.shape[:-1])} that become {list(given)}")
    n.give(f"tc_reshape({x}, {n.dim_list(shape)})", x.dtype, shape).kind = COMPLEX
