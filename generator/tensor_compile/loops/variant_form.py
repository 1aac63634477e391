# SPDX-License-Identifier: Apache-2.0
"""How the kernels of a variant run together: data that a tuning lock may decide. Every form gives the same bits."""
from __future__ import annotations

import re

from ..records import dataclass

_NAME = re.compile(r"(?P<chains>stripes|regions|kernels)(?:_t(?P<threads>[1-9]\d*))?$")


CHAINS = ("stripes", "regions", "kernels")


@dataclass(frozen=True, slots=True)
class VariantForm:
    """chains: `regions`: kernels are chained into tile regions where the cost model says that it pays
    (tile_regions.py), and run in stripes where that pays with any team (stripe_gains.py); `stripes`: these also where
    it pays with one thread; `kernels`: each kernel runs alone. threads: of a team that a call uses at most; 0: as many
    as its operations are worth."""

    chains: str = "regions"
    threads: int = 0

    @property
    def name(self) -> str:
        """As a tuning lock has it: regions, kernels_t4."""
        return self.chains + (f"_t{self.threads}" if self.threads else "")


def parse(name: str) -> VariantForm | None:
    """The form of that name; None where it is none."""
    match = _NAME.match(name)
    return VariantForm(match["chains"], int(match["threads"] or 0)) if match else None
