# SPDX-License-Identifier: Apache-2.0
"""What `explain` and `bench` say of convolutions of fewer products, with `--numerics relaxed`: which they are, in which
form, and why others are none."""
from __future__ import annotations

import re
from collections import Counter
from typing import Iterable, Sequence

from ..graph.winograd import Decision, FORMS, TAPS, WORD
from .costs import Cost
from .fusion_lines import once, times
from .numbers import number_of

DIRECT = TAPS * TAPS   # products of a result


def head(found: Sequence[Decision]) -> str:
    """How many there are of each form; "" where sums are taken in the exact order."""
    if not found:
        return ""
    forms = Counter(d.form.name for d in found if d.form is not None)
    told = ", ".join(f"{n} by {name}" for name, n in sorted(forms.items())) or "none"
    return f"Winograd (--numerics relaxed): {told}, of {number_of(len(found), 'convolution')}"


def lines(found: Sequence[Decision]) -> list[str]:
    """A line a convolution; equal ones once."""
    return once(_place(d) + (d.why if d.form is None else _form(d)) for d in found)


def reasons(found: Sequence[Decision]) -> list[str]:
    """Why those are none that stay as they are, each reason once; the most frequent first."""
    counted = Counter(d.why for d in found if d.form is None)
    return [f"{why}{times(n)}" for why, n in counted.most_common()]


def _form(d: Decision) -> str:
    assert d.form is not None
    return f"{d.form.name}, {float(d.form.products):g} products a result in place of {DIRECT}" \
        + (f"; {d.why}" if d.why else "")


def _place(d: Decision) -> str:
    """Scopes of the user's, and the line."""
    scope = ".".join(part for part in d.scope.split("/") if part and "#" not in part)
    place = " ".join(part for part in (scope, f"{d.loc.file}:{d.loc.line}" if d.loc else "") if part)
    return f"{place}: " if place else ""


def of_kernels(costs: Iterable[Cost]) -> list[str]:
    """Whose operations are not those of the convolution."""
    labels = {c.label for c in costs}
    return [f"{WORD}{form.m}: Winograd's {form.name}; operations are its own, a direct convolution has "
            f"{float(DIRECT / form.products):g} times as many products: compare times, not GFLOP/s"
            for form in FORMS if any(re.search(rf"_{WORD}{form.m}(?!\d)", label) for label in labels)]
