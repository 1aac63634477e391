# SPDX-License-Identifier: Apache-2.0
"""The packed weights beside the code: the layout that both must agree on, the assembler text that embeds them, and the
header of an external weights file (runtime/core/weights.c reads it)."""
from __future__ import annotations

import hashlib
import struct

from ..loops.program_ir import ModelPlan
from ..loops.scalar_ir import Buffer
from .cwriter import identifier

HEADER_BYTES = 128
FORMAT_VERSION = 1
ABI = 1


def layout_digest(plan: ModelPlan) -> bytes:
    """SHA-256 of everything that a state buffer or a weights file must agree on with the code that reads it."""
    buffers: dict[str, Buffer] = {}
    for function in plan.functions:
        for variant in function.built:
            buffers.update((b.name, b) for b in variant.program.buffers.values() if b.kind == "packed")
    lines = [f"abi {ABI}", f"model {plan.model}", f"weights {plan.packed_bytes}"]
    for name, offset in sorted(plan.packed.items(), key=lambda item: (item[1], item[0])):
        form = f" {buffers[name].dtype} {buffers[name].shape} {buffers[name].order}" if name in buffers else ""
        lines.append(f"{offset} {name}{form}")
    lines.append(f"state {plan.state_bytes}")
    lines += [f"baked {plan.baked}"] if plan.baked else []
    lines += [f"{plan.state_offset[b.name]} {b.name} {b.dtype} {b.shape} {b.order}"
              for b in sorted(plan.states, key=lambda b: plan.state_offset[b.name])]
    return hashlib.sha256("\n".join(lines).encode()).digest()


def weights_symbol(plan: ModelPlan) -> str:
    return f"{identifier(plan.model)}_weights_data"


def embedding(symbol: str, path: str) -> str:
    """Assembler source that embeds the file `path`, as the assembler will find it, under a hidden symbol."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return _hidden(symbol, f'.incbin "{escaped}"', f". - {symbol}")


def weights_section(plan: ModelPlan) -> str:
    """The section that weights_place defines."""
    return f".rodata.{weights_symbol(plan)}"


def weights_place(plan: ModelPlan) -> str:
    """Assembler source of the weights' section: a byte stands where compile/link.py puts the payload."""
    return _hidden(weights_symbol(plan), ".byte 0", str(plan.packed_bytes))


def _hidden(symbol: str, content: str, size: str) -> str:
    """`%progbits` is understood everywhere, `@progbits` not on ARM."""
    return f"""    .section .rodata.{symbol},"a",%progbits
    .balign 64
    .globl {symbol}
    .hidden {symbol}
    .type {symbol}, %object
{symbol}:
    {content}
    .size {symbol}, {size}
    .section .note.GNU-stack,"",%progbits
"""


def weights_header(plan: ModelPlan, payload_sha256: bytes) -> bytes:
    """What stands before the payload (plan.packed_bytes long) in an external weights file."""
    head = struct.pack("<8sIIQ32s32s", b"TCWEIGHT", FORMAT_VERSION, HEADER_BYTES, plan.packed_bytes,
                       layout_digest(plan), payload_sha256).ljust(HEADER_BYTES - 8, b"\0")
    check = 0xcbf29ce484222325
    for byte in head:
        check = ((check ^ byte) * 0x100000001b3) & (1 << 64) - 1
    return head + struct.pack("<Q", check)
