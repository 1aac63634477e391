# SPDX-License-Identifier: Apache-2.0
"""What is done where tensors are larger than a thread's caches: the next rows are fetched, and results are stored past
the caches."""
from __future__ import annotations

from typing import Sequence

from ...instruction_sets import CACHE_LINE
from ...loops.loop_ir import ALONE, ALWAYS, LoopNestKernel
from ...loops.plan import bytes_of
from ...loops.scalar_ir import Buffer
from ..scalar import ScalarEmitter

FAR = 1 << 21     # bytes of a tensor from which on the next rows are fetched, and results pass the caches by
NEAR = 1 << 20    # bytes that the second cache of a thread holds
DECLARED = "const int far ="
END = ["if (far)", "    tcv_stream_end();"]    # behind the loops


def large(b: Buffer) -> bool:
    size = bytes_of(b)
    return b.kind in ("input", "output", "temp") and size.is_const and size.value >= FAR


def test(e: ScalarEmitter, kernel: LoopNestKernel, outputs: Sequence[str]) -> str:
    """Declares `far`: what the kernel touches is more than the threads' caches hold, or that was chosen for it
    (loops/far.py); and these buffers, which are stored past them, begin at lines."""
    each = sum(bytes_of(b).value for b in kernel.params if bytes_of(b).is_const)
    more = {ALWAYS: "", ALONE: "threads == 1 && "}.get(kernel.far, f"threads * {NEAR} < {each} && ")
    aligned = " && ".join(f"((uintptr_t){e.pointers[name]} & {CACHE_LINE - 1}) == 0" for name in outputs)
    return f"{DECLARED} {more}{aligned};"
