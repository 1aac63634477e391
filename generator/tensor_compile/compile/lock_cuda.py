# SPDX-License-Identifier: Apache-2.0
"""What a build for a GPU takes from its tuning lock (lock.py): the shapes of contractions, attention and rows.

    contraction bf16 rows=128 columns=768+768+768 terms=768 batches=1 walk=… epilogue=… target=cuda-sm90/sm_90a
      -> wgmma_64x64_16x64_c2 9.104 us, nvcc 13.0 on NVIDIA H100 80GB HBM3, templates 4c1f90ab

The compiler's place has the CUDA toolkit, whose code another one does not make, and the GPU. An entry of another
toolkit is stale: it is not used, nor where a line of this toolkit has the same key."""
from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path
from typing import Callable

from ..emit.cuda.shapes import Tuned
from ..emit.contraction.key import attention_key, rows_key, shape_key
from ..loops import schedule_cuda
from ..loops.library_products import algorithm, library_product, LibraryAlgorithm, shown
from ..loops.loop_ir import AttentionKernel, LoopNestKernel
from ..loops.schedule_cuda import Shape
from ..records import dataclass
from ..target import Target
from . import lock as locks
from .lock import Entry, Finding


def key_of(kernel: Tuned, target: Target) -> str:
    about = (target.precision, "+".join(target.isas), target.name)
    if isinstance(kernel, LoopNestKernel):
        return rows_key(kernel, *about)
    return attention_key(kernel, *about) if isinstance(kernel, AttentionKernel) else shape_key(kernel, *about)


def named(kernel: Tuned, target: Target, name: str) -> Shape | None:
    """The shape of that name, where the kernel can have it."""
    theirs = algorithm(name)
    if theirs:
        return theirs if library_product(kernel, target.precision) else None
    units = schedule_cuda.units(target)
    return next((s for s in schedule_cuda.shapes(kernel, units) if schedule_cuda.shape_name(s) == name), None)


def toolkit_of(entry: Entry) -> str:
    return re.sub(r"( with .*)? on .*", "", entry.compiler)


@dataclass(slots=True)
class ShapeTuning:
    """As lock.Tuning. toolkit: the CUDA toolkit of the build, asked for each kernel that has an entry. libraries:
    whether an entry may name a library's algorithm; version: of the library, as the first of these has it;
    0: none has."""

    mode: str
    path: Path
    target: Target
    toolkit: Callable[[], str]
    entries: dict[str, Entry] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    libraries: bool = False
    version: int = 0

    @staticmethod
    def load(mode: str, path: Path, target: Target, toolkit: Callable[[], str],
             libraries: bool = False) -> "ShapeTuning":
        entries = {} if mode == "off" else locks.read(path)
        entries |= {key: locks.preferred(entry, lambda line: toolkit_of(line) == toolkit())
                    for key, entry in entries.items() if entry.others and locks.is_of(key, target)}
        return ShapeTuning(mode, path, target, toolkit, entries, libraries=libraries)

    def shape(self, kernel: Tuned) -> Shape | None:
        """The kernel's shape; None, and a finding, where the lock does not decide."""
        if self.mode == "off":
            return None
        key = key_of(kernel, self.target)
        entry = self.entries.get(key)
        found = named(kernel, self.target, entry.candidate) if entry else None
        if entry is None:
            self.findings[key] = Finding("missing", key, "no entry")
        elif toolkit_of(entry) != self.toolkit():
            self.findings[key] = Finding("stale", key, f"measured with {toolkit_of(entry)}, this is {self.toolkit()}")
        elif algorithm(entry.candidate) and not self.libraries:
            self.findings[key] = Finding("illegal", key, f"{entry.candidate} is cuBLASLt's, which a build takes with "
                                         "--cuda-libraries auto alone")
        elif found is None:
            self.findings[key] = Finding("illegal", key, f"{entry.candidate} is no shape of this kernel")
        elif isinstance(found, LibraryAlgorithm) and self.version not in (0, found.version):
            self.findings[key] = Finding("stale", key, f"measured with cuBLASLt {shown(found.version)}, another kernel "
                                         f"with {shown(self.version)}: a program has one")
        else:
            self.version = found.version if isinstance(found, LibraryAlgorithm) else self.version
            return found
        return None

    def finish(self) -> list[str]:
        """As lock.Tuning's."""
        return locks.told(self.mode, self.path, self.findings, self.entries, self.target)
