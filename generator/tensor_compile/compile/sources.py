# SPDX-License-Identifier: Apache-2.0
"""`build --emit c`: a folder of C sources instead of an object (docs/emit-c.md)."""
from __future__ import annotations

import re
from pathlib import Path

from ..emit import bundle
from ..instruction_sets import instruction_set
from . import assemble, budget, files
from .host_programs import ROOT, TEMPLATES
from .objects import RUNTIME_INCLUDE
from .options import Options


def write(planned: assemble.Planned, options: Options) -> list[Path]:
    """All files or none; returns their paths. What an earlier build listed in STEM.files and this one does not make is
    removed, so that *.c in the folder is always one model's program."""
    plan, header = planned.compiled.plan, Path(options.header)
    folder, stem = header.parent, header.stem
    budget.check(budget.memory_bill(planned), planned, options.shown, options.max_arena, options.max_weights, None,
                 None)
    texts = {f"{stem}.h": bundle.header(planned.header_text), f"{stem}.c": bundle.driver(plan, planned.driver_text),
             "tc_vectors.h": bundle.vectors(TEMPLATES / "include"),
             **bundle.runtime(ROOT / "runtime" / "core", RUNTIME_INCLUDE)}
    for source in planned.sources.by_symbol.values():
        name = source.symbol.removeprefix("tck_")
        texts[f"{stem}_{name}.c"] = bundle.kernel(plan.model, instruction_set(source.isa), source.text)
    weights = f"{stem}_weights.c" if plan.packed_bytes and options.weights == "embed" else ""
    listing = folder / f"{stem}.files"
    names = sorted([*texts, *([weights] if weights else [])])
    before = listing.read_text(encoding="utf-8").split() if listing.is_file() else []
    with files.Outputs() as outputs:
        for name, text in texts.items():
            outputs.write(folder / name, text)
        if weights:
            outputs.write(folder / weights, bundle.weights(plan, files.blocks(planned.weights), plan.packed_bytes))
        if options.weights == "external":
            outputs.write(Path(options.weights_file), assemble.external_weights(plan, planned.weights))
        outputs.write(listing, "".join(f"{name}\n" for name in names))
    for name in before:
        if name not in names and re.fullmatch(rf"{re.escape(stem)}_\w+\.c", name):
            (folder / name).unlink(missing_ok=True)
    external = [Path(options.weights_file)] if options.weights == "external" else []
    return [*(folder / name for name in names), listing, *external]
