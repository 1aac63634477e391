# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of real and complex tensors, of whole axes and of short times; windows."""
from __future__ import annotations

from typing import Sequence

from ...symbolic import Expr, equal, floordiv, product, wrap
from ..problems import Malformed
from ..values import COMPLEX, Value
from .ops_complex import logical_rank, pairs
from .registry import Node, complex_op, op

# By which power of the length a forward transform is multiplied; a backward one lacks the rest up to -1.
_POWERS = {"backward": 0.0, "ortho": -0.5, "forward": -1.0}
_NUMBERED = tuple(_POWERS.values())


def _norm(n: Node) -> float:
    name = n.text("norm", "backward")
    if name not in _POWERS:
        raise Malformed(f"a norm {name!r}")
    return _POWERS[name]


def scaled(n: Node, text: str, dtype: str, length: Expr, power: float) -> str:
    """Times a power of the length."""
    if not power:
        return text
    if length.is_const:
        return f"tc_mul({text}, {float(length.value) ** power!r})"
    value = f"tc_cast(tc_dim_value(g, TC_I64, {n.dim(length)}), TC_{dtype.upper()})"
    value = f"tc_sqrt({value})" if abs(power) == 0.5 else value
    return f"tc_{'mul' if power > 0 else 'div'}({text}, {value})"


def _spectrum(n: Node, x: Value) -> str:
    """The operand as tc_dft takes it: a last axis of 1 of real numbers, of 2 of complex ones."""
    text = n.as_dtype(x, n.type.dtype)
    return text if x.kind == COMPLEX else f"tc_unsqueeze({text}, -1)"


def transformed(n: Node, text: str, axis: int, size: Expr, length: Expr, inverse: bool = False,
                onesided: bool = False) -> str:
    """Along one axis of this size, cut or filled to the length."""
    own = 2 * (size - 1) if inverse and onesided else size
    words = "" if equal(own, length) else f", TC_SIZES({n.dim(length)})"
    words += ", .inverse = true" if inverse else ""
    return f"tc_dft({text}, .axis = {axis}{words}{', .onesided = true' if onesided else ''})"


def _lengths(n: Node, x: Value, axes: Sequence[int], half: bool = False) -> list[Expr]:
    """Those that are asked for, else the sizes; of half a spectrum the last one is that of its signal."""
    name = "s" if "s" in n.arguments else "n"
    found = n.sizes(name) if n.has(name) else []
    if found:
        if len(found) != len(axes):
            raise Malformed(f"{len(found)} lengths of {len(axes)} axes")
        return [x.shape[a] if equal(s, -1) else s for s, a in zip(found, axes)]
    own = [x.shape[a] for a in axes]
    return [*own[:-1], 2 * (own[-1] - 1)] if half else own


def _chosen(n: Node, x: Value) -> list[int]:
    """The axes of a transform, in the order of the call."""
    rank = logical_rank(x)
    kind = n.target.split(".")[1]
    if kind[-1] == "n":
        given = n.integers("dim", ())
        if not given:
            count = len(n.sizes("s")) if n.has("s") else rank
            given = list(range(rank - count, rank))
    else:
        given = n.integers("dim", (-2, -1) if kind[-1] == "2" else (-1,))
    return [n.counted(a, rank) for a in given]


def _names(*stems: str) -> list[str]:
    return [f"aten.fft_{stem}{end}.default" for stem in stems for end in ("fft", "fft2", "fftn")]


def _whole(n: Node, x: Value, axes: Sequence[int], lengths: Sequence[Expr], inverse: bool, power: float) -> None:
    """A complex transform. power: as of _POWERS."""
    text = _spectrum(n, x)
    for axis, length in zip(axes, lengths):
        text = transformed(n, text, axis, x.shape[axis], length, inverse)
    n.result(scaled(n, text, n.type.dtype, product(lengths), -power if inverse else power))


@complex_op(*_names("", "i"))
def fft(n: Node) -> None:
    x = n.tensor("self")
    axes = _chosen(n, x)
    _whole(n, x, axes, _lengths(n, x, axes), n.target.startswith("aten.fft_i"), _norm(n))


def _halved(n: Node, x: Value, axes: Sequence[int], lengths: Sequence[Expr], power: float) -> str:
    """Half the spectrum of real numbers: along the last of the axes the non-negative frequencies alone."""
    text = transformed(n, _spectrum(n, x), axes[-1], x.shape[axes[-1]], lengths[-1], onesided=True)
    for axis, length in zip(axes[:-1], lengths[:-1]):
        text = transformed(n, text, axis, x.shape[axis], length)
    return scaled(n, text, n.type.dtype, product(lengths), power)


@complex_op(*_names("r"))
def rfft(n: Node) -> None:
    x = n.tensor("self")
    axes = _chosen(n, x)
    n.result(_halved(n, x, axes, _lengths(n, x, axes), _norm(n)))


def _real(n: Node, text: str, x: Value, axes: Sequence[int], lengths: Sequence[Expr], power: float) -> str:
    """Back from half a spectrum."""
    for axis, length in zip(axes[:-1], lengths[:-1]):
        text = transformed(n, text, axis, x.shape[axis], length, inverse=True)
    text = transformed(n, text, axes[-1], x.shape[axes[-1]], lengths[-1], inverse=True, onesided=True)
    return scaled(n, f"tc_squeeze({text}, {logical_rank(x)})", n.type.dtype, product(lengths), -power)


@complex_op(*_names("ir"))
def irfft(n: Node) -> None:
    x = n.tensor("self")
    axes = _chosen(n, x)
    n.result(_real(n, pairs(n, x, n.type.dtype), x, axes, _lengths(n, x, axes, half=True), _norm(n)))


@complex_op("aten.fft_hfft.default")
def hfft(n: Node) -> None:
    """The real spectrum of half a symmetric signal: back from conjugates, and a forward transform's factor."""
    x = n.tensor("self")
    axes = _chosen(n, x)
    text = f"tc_complex_conj({pairs(n, x, n.type.dtype)})"
    n.result(_real(n, text, x, axes, _lengths(n, x, axes, half=True), -1 - _norm(n)))


@complex_op("aten.fft_ihfft.default")
def ihfft(n: Node) -> None:
    x = n.tensor("self")
    axes = _chosen(n, x)
    n.result(f"tc_complex_conj({_halved(n, x, axes, _lengths(n, x, axes), -1 - _norm(n))})")


# -- as Core ATen has them ---------------------------------------------------------------------------------------------
def _numbered(n: Node) -> float:
    """A power: none, of the square root or of the whole length."""
    found = n.integer("normalization", 0)
    if not 0 <= found < len(_NUMBERED):
        raise Malformed(f"normalization={found}")
    return _NUMBERED[found]


def _dims(n: Node, x: Value) -> list[int]:
    return [n.counted(a, logical_rank(x)) for a in n.integers("dim")]


@complex_op("aten._fft_r2c.default")
def r2c(n: Node) -> None:
    x = n.tensor("self")
    axes, power = _dims(n, x), _numbered(n)
    lengths = [x.shape[a] for a in axes]
    if n.flag("onesided"):
        n.result(_halved(n, x, axes, lengths, power))
    else:
        _whole(n, x, axes, lengths, False, power)


@complex_op("aten._fft_c2c.default")
def c2c(n: Node) -> None:
    x = n.tensor("self")
    axes, inverse, power = _dims(n, x), not n.flag("forward", True), _numbered(n)
    # Here the factor is said alike of both directions.
    _whole(n, x, axes, [x.shape[a] for a in axes], inverse, -1 - power if inverse else power)


@complex_op("aten._fft_c2r.default")
def c2r(n: Node) -> None:
    x = n.tensor("self")
    axes = _dims(n, x)
    lengths = [*(x.shape[a] for a in axes[:-1]), n.size("last_dim_size")]
    n.result(_real(n, pairs(n, x, n.type.dtype), x, axes, lengths, -1 - _numbered(n)))


# -- order and frequencies ---------------------------------------------------------------------------------------------
@op("aten.fft_fftshift.default", "aten.fft_ifftshift.default")
@complex_op("aten.fft_fftshift.default", "aten.fft_ifftshift.default")
def shift(n: Node) -> None:
    x = n.tensor("self")
    text = f"{x}"
    for axis in n.axes("dim", logical_rank(x)):
        half = floordiv(x.shape[axis] + (1 if "ifft" in n.target else 0), wrap(2))
        text = f"tc_roll({text}, {n.dim(half)}, {axis})"
    n.result(text)


@op("aten.fft_fftfreq.default", "aten.fft_rfftfreq.default")
def frequencies(n: Node) -> None:
    n.ignore("dtype")
    count, spacing, dtype = n.integer("n"), n.real("d", 1.0), n.type.dtype
    if not count or not spacing:
        raise Malformed(f"{count} frequencies at a spacing of {spacing}")
    numbers = f"tc_arange(g, TC_{dtype.upper()}, {n.dim(n.vector().shape[0])})"
    if "rfft" not in n.target:
        half = count // 2
        numbers = f"tc_roll(tc_sub({numbers}, {half}), {count - half}, 0)"
    n.result(f"tc_mul({numbers}, {1 / (count * spacing)!r})")


@op("aten.hann_window.default", "aten.hann_window.periodic", "aten.hamming_window.default",
    "aten.hamming_window.periodic", "aten.hamming_window.periodic_alpha", "aten.hamming_window.periodic_alpha_beta",
    "aten.blackman_window.default", "aten.blackman_window.periodic")
def window(n: Node) -> None:
    n.ignore("window_length", "dtype")
    periodic = "true" if n.flag("periodic", True) else "false"
    words = f"g, TC_{n.type.dtype.upper()}, {n.dim(n.vector().shape[0])}, {periodic}"
    name = n.target.split(".")[1]
    if n.has("alpha"):
        n.result(f"tc_cosine_window({words}, {n.real('alpha')}, {n.real('beta', 0.46)}, 0)")
    else:
        n.result(f"tc_{name}({words})")


# -- short times -------------------------------------------------------------------------------------------------------
def _windowed(n: Node, dtype: str) -> tuple[int, int, str]:
    """The length, the step and the window as words of tc_stft: a short window stands in the middle."""
    length = n.integer("n_fft")
    step, size = n.integer("hop_length", length // 4), n.integer("win_length", length)
    given = n.optional("window")
    if length < 1 or step < 1 or not 0 < size <= length:
        raise Malformed(f"windows of {size} in {length}, one every {step}")
    if given is None and size == length:
        return length, step, ""
    text = n.as_dtype(given, dtype) if given is not None else f"tc_full(g, 1, TC_{dtype.upper()}, {size})"
    if size < length:
        before = (length - size) // 2
        text = f"tc_pad_axis({text}, 0, {before}, {length - size - before}, 0)"
    return length, step, f", .window = {text}"


@op("aten.stft.default", "aten.stft.center")
@complex_op("aten.stft.default", "aten.stft.center")
def stft(n: Node) -> None:
    """Rows [b, n] or one alone; the frequencies come before the frames."""
    x = n.tensor("self")
    dtype, rank = n.type.dtype, logical_rank(x)
    n.ignore("return_complex")
    n.only("align_to_window", False)
    length, step, words = _windowed(n, dtype)
    onesided = n.flag("onesided", x.kind != COMPLEX)
    if x.kind == COMPLEX and onesided:
        raise Malformed("half a spectrum of complex numbers")
    text = _spectrum(n, x) if rank == 2 else f"tc_unsqueeze({_spectrum(n, x)}, 0)"
    if n.target == "aten.stft.center" and n.flag("center", True):
        mode = n.text("pad_mode", "reflect")
        if mode not in ("reflect", "constant", "replicate", "circular"):
            n.refuse(f"padding {mode}")
        name = "tc_pad" if mode == "constant" else f"tc_pad_{mode}"
        text = f"{name}({text}, .low = {{0, {length // 2}, 0}}, .high = {{0, {length // 2}, 0}})"
    n.ignore("pad_mode")
    text = f"tc_stft({text}, .step = {step}, .length = {length}{words}{'' if onesided else ', .twosided = true'})"
    text = scaled(n, f"tc_transpose({text}, 1, 2)", dtype, wrap(length), -0.5 if n.flag("normalized") else 0)
    n.result(text if rank == 2 else f"tc_squeeze({text}, 0)")


@complex_op("aten.istft.default")
def istft(n: Node) -> None:
    x = n.tensor("self")
    dtype, rank = n.type.dtype, logical_rank(x)
    length, step, words = _windowed(n, dtype)
    whole = n.flag("return_complex")
    onesided = n.flag("onesided", not whole)
    if whole and onesided:
        n.refuse("complex numbers of half a spectrum")
    text = pairs(n, x, dtype) if rank == 3 else f"tc_unsqueeze({pairs(n, x, dtype)}, 0)"
    text = scaled(n, text, dtype, wrap(length), 0.5 if n.flag("normalized") else 0)
    text = f"tc_istft(tc_transpose({text}, 1, 2), .step = {step}, .length = {length}{words}" \
           f"{'' if onesided else ', .twosided = true'})"
    frames = x.shape[rank - 1]
    there = length + step * (frames - 1)
    start = length // 2 if n.flag("center", True) else 0
    wanted = n.size("length") if n.has("length") else there - 2 * start
    if start or not equal(wanted, there):
        text = f"tc_slice({text}, 1, {start}, {n.dim(wanted + start)})"
    text = text if whole else f"tc_select({text}, 2, 0)"
    n.result(text if rank == 3 else f"tc_squeeze({text}, 0)")
