# SPDX-License-Identifier: Apache-2.0
"""A small model in a folder of its own, and builds of it, for tests of what a build makes of its files."""
from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path

import forked

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
TOOL = ROOT / "generator" / "tensor-compile"
ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}.get(os.uname().machine, "")
MODEL = """#include <tensor_compile/model.h>
#include "sizes.h"
TC_MODEL(m)
{
    tc_weights(g, "m.safetensors");
    tc_tensor x = tc_input(g, "x", TC_F32, WIDTH);
    tc_output(g, "y", tc_add(x, tc_weight(g, "w")));
}
"""
SIZES = "#define WIDTH 4\n"


def weights(value: float, width: int = 4) -> bytes:
    """A safetensors file of one tensor, w."""
    text = json.dumps({"w": {"dtype": "F32", "shape": [width], "data_offsets": [0, 4 * width]}}).encode()
    return struct.pack("<Q", len(text)) + text + struct.pack("<f", value) * width


def fill(folder: Path, name: str = "model.c") -> Path:
    """The model in a new folder; its path."""
    folder.mkdir(parents=True)
    (folder / "sizes.h").write_text(SIZES, encoding="utf-8")
    (folder / "m.safetensors").write_bytes(weights(0.25))
    (folder / name).write_text(MODEL, encoding="utf-8")
    return folder / name


def tool(folder: Path, *words: str, command: str = "build", **environment: str) -> subprocess.CompletedProcess[str]:
    """A sub-command in a folder, for one instruction set."""
    return forked.tool(command, *words, "--isa", ISA, cwd=folder, env={**os.environ, **environment})


def said(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


GOOD = (0, "", "")
