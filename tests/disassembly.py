# SPDX-License-Identifier: Apache-2.0
"""What tests look for in disassembled kernels: functions and their innermost loops."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

OBJDUMP = {"x86_64": "objdump", "aarch64": "aarch64-linux-gnu-objdump"}
JUMP = re.compile(r"\t(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\s+(?:[^,]+,\s*)*([0-9a-f]+) <")
STACK = re.compile(r"%[re]sp|\bsp\b")   # kernels keep no frame pointer
SPILL = re.compile(r"\tv?mov\w+\s.*,\S*\(%rsp\)$|\tst[rp]\s.*\[sp\b")   # a store to the stack
CALL = re.compile(r"\t(?:call\w*|bl|blr)\s")


def functions(path: Path, arch: str) -> dict[str, list[tuple[int, str]]]:
    """By name, the (address, instruction) of each function of an object."""
    listing = subprocess.run([OBJDUMP[arch], "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True,
                             check=True).stdout
    out: dict[str, list[tuple[int, str]]] = {}
    for line in listing.splitlines():
        if match := re.match(r"[0-9a-f]+ <([\w.]+)>:", line):
            body = out.setdefault(match[1], [])
        elif match := re.match(r"\s+([0-9a-f]+):\t(.*)", line):
            body.append((int(match[1], 16), "\t" + match[2]))
    return out


def inner_loops(body: list[tuple[int, str]]) -> list[list[str]]:
    """The instructions of every innermost loop, from the target of a backward jump to the jump."""
    spans = []
    for address, text in body:
        if (match := JUMP.search(text)) and body[0][0] <= int(match[1], 16) <= address:
            spans.append((int(match[1], 16), address))
    inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    return [[text for address, text in body if begin <= address <= end] for begin, end in inner]
