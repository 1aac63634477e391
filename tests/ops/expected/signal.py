# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and ONNX's reference implementation give for signal.c."""
from __future__ import annotations

import torch
from make_expected import Random
from onnx_reference import run

N, L = 3, 7
SIZE = f"n={N},l={L}"
complex_of, real_of = torch.view_as_complex, torch.view_as_real


def dynamic(i: dict) -> dict:
    x, r = complex_of(i["x"]), i["r"][..., 0]
    return {"whole": real_of(torch.fft.fft(x, dim=1)), "back": real_of(torch.fft.ifft(x, dim=1)),
            "half": real_of(torch.fft.rfft(r, dim=0)), "real": real_of(torch.fft.fft(r, dim=0)),
            "longer": real_of(torch.fft.fft(r, L + 3, dim=0)), "shorter": real_of(torch.fft.fft(x, min(L, 5), dim=1)),
            "halves": torch.fft.irfft(x, L, dim=1)[..., None]}


def constant(i: dict) -> dict:
    x, y, z = i["x"][..., 0], complex_of(i["y"]), complex_of(i["z"])
    return {"spectrum": real_of(torch.fft.rfft(x)), "prime": real_of(torch.fft.fft(x, 37)),
            "large": real_of(torch.fft.fft(y)), "large_back": real_of(torch.fft.ifft(y)),
            "real_back": torch.fft.irfft(y, 401)[..., None], "even_back": torch.fft.irfft(y, 400)[..., None],
            "first": real_of(torch.fft.fft(z, dim=0))}


def stft(i: dict) -> dict:
    x, y = i["x"], complex_of(i["y"])
    window = i["w"]
    half = torch.stft(x[..., 0], 48, 16, window=window, center=False, return_complex=True)
    frames = x[..., 0].unfold(1, 60, 10) * torch.cat((window, torch.zeros(12, dtype=x.dtype)))
    pairs = y.unfold(1, 16, 7)
    return {"half": real_of(half.mT), "whole": real_of(torch.fft.fft(frames)), "pairs": real_of(torch.fft.fft(pairs))}


def added(frames: torch.Tensor, window: torch.Tensor, step: int) -> torch.Tensor:
    """Frames [b, f, m] times the window, one every `step` samples, over the sums of its squares."""
    total = torch.zeros(frames.shape[0], (frames.shape[1] - 1) * step + frames.shape[2], dtype=frames.dtype)
    weight = torch.zeros(total.shape[1], dtype=window.dtype)
    for k in range(frames.shape[1]):
        total[:, k * step:k * step + frames.shape[2]] += frames[:, k] * window
        weight[k * step:k * step + frames.shape[2]] += window ** 2
    return total / weight


def istft(i: dict) -> dict:
    x, y = complex_of(i["x"]), complex_of(i["y"])
    return {"half": added(torch.fft.irfft(x, 48), i["w"], 16)[..., None],
            "pairs": real_of(added(torch.fft.ifft(y), torch.ones(16, dtype=i["w"].dtype), 7))}


def complex_numbers(i: dict) -> dict:
    x, y, r, m = complex_of(i["x"]), complex_of(i["y"]), i["r"], complex_of(i["m"])
    return {"product": real_of(x * y), "quotient": real_of(x / y), "conjugate": real_of(y.conj().resolve_conj()),
            "magnitude": x.abs(), "angle": y.angle(), "exponential": real_of(y.exp()), "logarithm": real_of(x.log()),
            "polar": real_of(torch.polar(torch.full_like(r, 2), r)),
            "made": real_of(torch.complex(*torch.broadcast_tensors(r, y.abs()))), "matrices": real_of(x @ m)}


def windows(i: dict) -> dict:
    hamming, = run("HammingWindow", torch.tensor(33), periodic=0, output_datatype=11)

    def mel(bins: int, length: int, rate: int, low: float, high: float) -> torch.Tensor:
        edges = (torch.tensor(x, dtype=torch.float64) for x in (low, high))
        return run("MelWeightMatrix", torch.tensor(bins), torch.tensor(length), torch.tensor(rate), *edges,
                   output_datatype=11)[0]

    return {"hann": torch.hann_window(L, dtype=torch.float64), "hamming": torch.hamming_window(17, False),
            "blackman": torch.blackman_window(L + N, dtype=torch.float64), "hamming_of_onnx": hamming,
            "mel": mel(8, 16, 8192, 0, 4096).float(), "mel_fine": mel(40, 400, 16000, 20, 7600)}


def functions(rng: Random) -> dict:
    n = rng.normal
    return {"dynamic": ({"x": n(N, L, 2), "r": n(L, N, 1)}, dynamic, SIZE),
            "constant": ({"x": n(N, 400, 1), "y": n(2, 1200, 2), "z": n(12, L, 2)}, constant, SIZE),
            "stft": ({"x": n(N, 4 * L + 60, 1), "y": n(N, 4 * L + 60, 2), "w": torch.hann_window(48)}, stft, SIZE),
            "windows": ({}, windows, SIZE),
            "istft": ({"x": n(N, L, 25, 2), "y": n(2, N, 16, 2), "w": torch.hamming_window(48)}, istft, SIZE),
            "complex": ({"x": n(N, 1, 4, 2), "y": n(L, 4, 2), "r": n(L, 1), "m": n(4, L, 2)}, complex_numbers, SIZE)}
