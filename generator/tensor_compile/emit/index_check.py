# SPDX-License-Identifier: Apache-2.0
"""A CheckKernel as one C function: the fault flag is set where an index is outside 0..bound-1."""
from __future__ import annotations

from ..loops.loop_ir import CheckKernel
from .index import c_index
from .nests.loop_nest import parameters
from .scalar import C_TYPE


def emit_check(kernel: CheckKernel, symbol: str) -> str:
    """p[0] is the buffer of indices, p[1] the int32_t flag; threads may write the flag at once, all the same 1."""
    names = {s: f"d[{i}]" for i, s in enumerate(kernel.dims)}
    c_type = C_TYPE[kernel.buffer.dtype]
    described = parameters(kernel)
    return "\n".join([
        "/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: every index is in 0..{kernel.bound} - 1.",
        *described, " */", '#include "tc_kernel.h"', "",
        f"void {symbol}(void *const *p, const tc_index *d, tc_index thread, tc_index threads)", "{", "    (void)d;",
        f"    const {c_type} *const x = p[0];", "    int32_t *const fault = p[1];",
        f"    const int64_t bound = {c_index(kernel.bound, names)};", "    tc_index begin, end;",
        f"    tc_split({c_index(kernel.buffer.elements, names)}, thread, threads, &begin, &end);",
        "    int outside = 0;", "    for (tc_index i = begin; i < end; ++i)",
        "        outside |= x[i] < 0 || x[i] >= bound;", "    if (outside)",
        "        __atomic_store_n(fault, 1, __ATOMIC_RELAXED);",
        "}", ""])
