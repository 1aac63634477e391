# SPDX-License-Identifier: Apache-2.0
"""A kernel of the loop IR -> its C source and symbol for one instruction set."""
from __future__ import annotations

import hashlib
import re
from typing import Iterable

from ..instruction_sets import instruction_set
from ..loops.byte_products import ByteProductKernel
from ..loops.loop_ir import CheckKernel, ContractionKernel, ExternKernel, Kernel, LoopNestKernel, \
    GroupedContractionKernel
from ..records import dataclass
from .integers.products import WordEmitter, emit_byte_product
from .integers.pairs import PairEmitter
from .integers.vectors import VectorEmitter
from .integers.windows import emit_byte_window
from .index_check import emit_check
from .externs import emit_extern
from .contraction import micro
from .contraction.micro import Micro
from .integers.lane_nest import emit_lane_nest
from .nests.loop_nest import emit_loop_nest, parameters

PLACE = "tck_symbol"  # the function's name until its text is known


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One translation unit that defines the function `symbol`. arguments: of it as a kernel's, behind the kernel's dims
    (shared.py)."""

    symbol: str
    isa: str
    text: str
    micros: frozenset[Micro] = frozenset()   # that it calls
    arguments: tuple[int, ...] = ()


def emit_plain(kernel: Kernel, isa: str) -> KernelSource:
    """The kernel of the reference: one element after the other. isa: one without vectors."""
    if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        from .contraction.source import emit_reference
        return named(kernel, isa, emit_reference(kernel, PLACE))
    return emit_kernel(kernel, isa)


def _byte_emitter(isa: str) -> type[WordEmitter]:
    known = instruction_set(isa)
    return VectorEmitter if known.byte_vectors else PairEmitter if known.byte_pairs else WordEmitter


def emit_kernel(kernel: Kernel, isa: str) -> KernelSource:
    if isinstance(kernel, ByteProductKernel):
        text = emit_byte_product(kernel, isa, PLACE, _byte_emitter(isa))
    elif isinstance(kernel, LoopNestKernel):
        by_lanes = emit_lane_nest(kernel, isa, PLACE) if instruction_set(isa).byte_vectors else \
            emit_byte_window(kernel, isa, PLACE, parameters(kernel))
        text = by_lanes or emit_loop_nest(kernel, isa, PLACE)
    elif isinstance(kernel, CheckKernel):
        text = emit_check(kernel, PLACE)
    elif isinstance(kernel, ExternKernel):
        text = emit_extern(kernel, PLACE)
    elif isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        from .contraction.source import emit_contraction
        chosen = [next(s for s in part.schedules if s.isa == isa) for part in kernel.contractions]
        made = emit_contraction(kernel, chosen, PLACE)
        return named(kernel, isa, made.text, made.micros)
    else:
        raise TypeError(f"not a kernel: {type(kernel).__name__}")
    return named(kernel, isa, text)


def named(kernel: Kernel, isa: str, text: str, micros: frozenset[Micro] = frozenset()) -> KernelSource:
    """The source under a symbol made of the kernel's label and its text's digest."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    label = re.sub(r"[^A-Za-z0-9]+", "_", kernel.label).strip("_").lower()[:40] or "kernel"
    symbol = f"tck_{label}_{digest}__{isa}"
    return KernelSource(symbol, isa, text.replace(PLACE, symbol), micros)


def library(sources: Iterable[KernelSource], isa: str) -> KernelSource | None:
    """The micro-kernels of an instruction set that the sources call; None where they call none."""
    micros = frozenset(m for s in sources if s.isa == isa for m in s.micros)
    if not micros:
        return None
    text = micro.library(micros, isa)
    return KernelSource(f"{micro.LIBRARY}{hashlib.sha256(text.encode()).hexdigest()[:12]}__{isa}", isa, text)
