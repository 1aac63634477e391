# SPDX-License-Identifier: Apache-2.0
"""Models with seeded weights that are built for a GPU in bf16, of which locks are measured (products.py, tuned.py)."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from run import ROOT, make_weights

EXAMPLES, OWN = ROOT / "examples", ROOT / "bench/cuda/models"


@dataclass(frozen=True)
class Case:
    """weights: the source of the program that writes them, and its options; options: of the build; words, calls: those
    of compare.c; budget: seconds that `tune` has."""

    name: str
    model: str
    source: Path
    weights: tuple[Path | str, ...]
    options: tuple[str, ...]
    words: tuple[str, ...]
    calls: tuple[str, ...]
    budget: int = 0

    def prepare(self, folder: Path, cc: str) -> tuple[str, ...]:
        """Writes the weights into the folder. Returns the options of builds."""
        path = folder / "weights.safetensors"
        make_weights(path, cc, *self.weights)
        return (f'-DWEIGHTS="{path}"', *self.options, "--target", "cuda", "--target-file", "cuda-sm90", "--precision",
                "bf16")
