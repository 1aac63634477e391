# SPDX-License-Identifier: Apache-2.0
"""A call of the user's function as one C function: shapes as arrays of sizes, run by the first thread."""
from __future__ import annotations

from ..loops.loop_ir import ExternKernel
from ..loops.scalar_ir import Buffer
from .index import c_index
from .nests.loop_nest import parameters


def emit_extern(kernel: ExternKernel, symbol: str) -> str:
    """p: the buffers that are read, then those that are written."""
    names = {s: f"d[{i}]" for i, s in enumerate(kernel.dims)}
    lines = ["/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: a call of {kernel.function}.",
             *parameters(kernel), " */", '#include "tc_kernel.h"', "",
             f"void {kernel.function}(const void *const *in, void *const *out, const tc_index *const *in_shape,",
             f"{' ' * (6 + len(kernel.function))}const tc_index *const *out_shape);", "",
             f"void {symbol}(void *const *p, const tc_index *d, tc_index thread, tc_index threads)", "{",
             "    (void)d, (void)threads;", "    if (thread)", "        return;"]

    def shapes(buffers: tuple[Buffer, ...], name: str) -> None:
        for i, b in enumerate(buffers):
            sizes = ", ".join(c_index(s, names) for s in b.shape) or "0"
            lines.append(f"    const tc_index {name}{i}[] = {{{sizes}}};")
        pointers = ", ".join(f"{name}{i}" for i in range(len(buffers))) or "0"
        lines.append(f"    const tc_index *const {name}[] = {{{pointers}}};")

    shapes(kernel.reads, "read")
    shapes(kernel.writes, "made")
    count = len(kernel.reads)
    inputs = ", ".join(f"p[{i}]" for i in range(count)) or "0"
    lines += [f"    const void *const in[] = {{{inputs}}};",
              f"    {kernel.function}(in, p + {count}, read, made);", "}", ""]
    return "\n".join(lines)
