# SPDX-License-Identifier: Apache-2.0
"""The functions of more cases, behind those of functions.py: complex numbers and Fourier transforms."""
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from functions import case, f, family, pos
from torch import nn

# -- complex numbers: inputs and outputs are pairs along a last axis ---------------------------------------------------
family("complex")


def z(*shape: int) -> torch.Tensor:
    return torch.complex(f(*shape), f(*shape))


def rotary(q: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """As Llama's first code has it."""
    turned = torch.view_as_complex(q.reshape(*q.shape[:-1], -1, 2))
    places = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned * places[None, :, None]).flatten(3)


class SpectralConv(nn.Module):
    """A layer of a Fourier neural operator: complex weights on the lowest frequencies, written into zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = (nn.Parameter(torch.view_as_complex(torch.rand(2, 3, 4, 3, 2))) for _ in "ab")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        there = torch.fft.rfft2(x)
        out = torch.zeros(x.shape[0], 3, x.shape[-2], x.shape[-1] // 2 + 1, dtype=torch.cfloat)
        out[:, :, :4, :3] = torch.einsum("bixy,ioxy->boxy", there[:, :, :4, :3], self.low)
        out[:, :, -4:, :3] = torch.einsum("bixy,ioxy->boxy", there[:, :, -4:, :3], self.high)
        return torch.fft.irfft2(out, s=(x.shape[-2], x.shape[-1]))


class Turning(nn.Module):
    """A complex state and a complex buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(3, dtype=torch.complex64))
        self.register_buffer("by", z(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.mul_(self.by)
        return self.state + x


def written_parts(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.real.mul_(2)
    y.imag[0] = 7
    torch.view_as_real(y)[1, :, 0] = 3
    y[:, 1] = 1 - 2j
    y.t()[2].add_(5)
    return y


def shapes(x: torch.Tensor) -> Any:
    return (x.reshape(6, 2), x.transpose(0, -1), x.permute(2, 0, 1), x.flatten(1), x.unsqueeze(-1), x[:, -1],
            x[..., ::2], x.flip(-1), x.roll(1), x.roll((1, -1), (0, 2)), x.movedim(0, -1), x.mT, x.mH,
            x.repeat(1, 2, 1), x[:, :1].expand(2, 3, 2), *x.split([1, 2], 1), *x.unbind(-1), F.pad(x, (1, 0)),
            x[0].t(), x.squeeze(), x.index_select(1, torch.tensor([2, 0])), x[:, torch.tensor([1, 1])],
            x.new_zeros(2), torch.ones_like(x))


case("arithmetic", lambda x, y: (x + y, x - y, x * y, x / y, -x, x.reciprocal(), x ** 2, x ** -3, x.square()), z(2, 3),
     z(4, 1, 3))
case("beside_real", lambda x, y: (x + y, y - x, x * y, y * x, x / y, y / x, torch.cat((x, torch.complex(y, y))),
                                  torch.where(y > 1, x, y)), z(2, 3), pos(2, 3))
case("beside_numbers", lambda x: (x + 1, 2 - x, x * 3, x / 2, x * 1j, (1 + 2j) / x, x.real * 1j, x.masked_fill(
    x.real > 0, 1j)), z(3))
case("functions", lambda x: (x.abs(), x.angle(), x.real, x.imag, x.conj().resolve_conj(), x.exp(), x.log(),
                             torch.view_as_real(x), torch.is_complex(x) + x.real), z(3, 4))
case("makers", lambda x, y: (torch.complex(x, y), torch.polar(x, y), x.to(torch.complex64),
                             torch.full((3,), 1 - 1j) + x[0], torch.view_as_complex(torch.stack((x, y), -1)),
                             torch.complex(x, y).to(torch.complex128)), pos(2, 3), f(2, 3))
case("sums", lambda x: (x.sum(), x.sum(1), x.mean((0, 2), keepdim=True), x.cumsum(-1), x.mean()), z(2, 3, 4))
case("shapes", shapes, z(2, 3, 2))
case("joined", lambda x, y: (torch.cat((x, y), -1), torch.stack((x, y), -1), torch.stack((x, y))), z(2, 3), z(2, 3))
case("products", lambda x, y: (x @ y, torch.mm(x[0], y), F.linear(x, y.t()), torch.einsum("bij,jk->bk", x, y),
                               torch.einsum("bij->jb", x)), z(2, 3, 4), z(4, 5))
case("rotary", rotary, f(2, 3, 2, 8), f(3, 4))
case("rotary_core", rotary, f(2, 3, 2, 8), f(3, 4), decompose=True)
case("written_parts", written_parts, z(2, 3))
case("state", Turning(), f(3))
case("spectral_conv", SpectralConv(), f(1, 2, 8, 6))
case("short_time_core", lambda x, w: torch.istft(torch.stft(x, 8, 4, window=w, return_complex=True) * 2, 8, 4,
                                                 window=w), f(1, 32), torch.hamming_window(8), decompose=True)
case("double", lambda x, y: torch.fft.fft(x * y), z(5).to(torch.complex128), f(5).double())

# -- Fourier transforms ------------------------------------------------------------------------------------------------
family("spectra")
case("fft", lambda x: (torch.fft.fft(x), torch.fft.ifft(x), torch.fft.fft(x, 7, 1), torch.fft.ifft(x, 3, 0, "ortho"),
                       torch.fft.fft(x, norm="forward"), torch.fft.ifft(x, norm="forward")), z(4, 5))
case("fft_real", lambda x: (torch.fft.fft(x), torch.fft.rfft(x), torch.fft.rfft(x, 7, norm="ortho"),
                            torch.fft.ihfft(x), torch.fft.rfft(x.int())), f(3, 6))
case("fft_back", lambda x: (torch.fft.irfft(x), torch.fft.irfft(x, 9), torch.fft.irfft(x, 9, 0, "ortho"),
                            torch.fft.hfft(x), torch.fft.hfft(x, 7, norm="forward")), z(5, 5))
case("fft_axes", lambda x, y: (torch.fft.fft2(x), torch.fft.ifftn(x, norm="ortho"), torch.fft.fftn(x, (3, 7), (0, 2)),
                               torch.fft.rfft2(y), torch.fft.rfftn(y, dim=(2, 0)), torch.fft.irfft2(x, (3, 5)),
                               torch.fft.irfftn(x)), z(3, 4, 3), f(3, 4, 3))
case("fft_core", lambda x, y: (torch.fft.fft2(x, norm="ortho"), torch.fft.ifft(x), torch.fft.rfft(y),
                               torch.fft.irfft(x, 5), torch.fft.irfft2(x, (3, 6), norm="forward"), torch.fft.fftn(y)),
     z(3, 4), f(3, 4), decompose=True)
case("fft_order", lambda x, y: (torch.fft.fftshift(x), torch.fft.ifftshift(y, 1), torch.fft.fftfreq(8, 0.5),
                                torch.fft.fftfreq(5), torch.fft.rfftfreq(7)), z(3, 4), f(3, 5))
case("windows", lambda x: (torch.hann_window(9), torch.hamming_window(8, False), torch.blackman_window(7),
                           torch.hamming_window(8, True, 0.6, 0.4), x), f(1))
case("stft", lambda x, w: (torch.stft(x, 16, 4, window=w, return_complex=True),
                           torch.stft(x[0], 16, window=w, center=False, return_complex=True),
                           torch.stft(x, 20, 5, 16, w, normalized=True, return_complex=True).abs(),
                           torch.stft(x, 16, 8, window=w, onesided=False, pad_mode="constant", return_complex=True)),
     f(2, 64), torch.hann_window(16))
case("istft", lambda x, w: (torch.istft(x, 16, 4, window=w), torch.istft(x, 16, 4, window=w, length=50),
                            torch.istft(x[0], 16, 4, 12, w[:12], normalized=True),
                            torch.istft(torch.cat((x, x[:, :7]), 1), 16, 4, window=w, onesided=False,
                                        return_complex=True)), z(2, 9, 16), torch.hamming_window(16))
case("stft_core", lambda x, w: torch.istft(torch.stft(x, 16, 4, window=w, return_complex=True) * 2, 16, 4, window=w),
     f(2, 64), torch.hann_window(16), decompose=True)
