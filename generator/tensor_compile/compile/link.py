# SPDX-License-Identifier: Apache-2.0
"""Objects to ONE relocatable object whose only global symbols are the model's public ones.

The partial link leaves hidden symbols global, so two models with equal kernels would collide: they are made local.
Inputs are linked in the order given under names that do not depend on the cache, so the result does not either. Weights
may be large: the last step alone writes them, without a tool that would hold them in memory.
"""
from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import UserError
from . import elf
from .toolchain import Compiler, host_flags
from .tools import run_tool


def relocatable(objects: Sequence[Path], out: Path, compiler: Compiler, flags: tuple[str, ...], work: Path,
                contents: Mapping[str, Path] | None = None) -> None:
    """objects -> out (in `work`, a scratch folder); flags: the target's and the host's. contents: files that are put in
    place of what sections of these names hold."""
    names = []
    for i, path in enumerate(objects):
        name = f"{i:05}-{path.name}"
        os.symlink(path.resolve(), work / name)
        names.append(name)
    (work / "inputs").write_text("\n".join(names), encoding="utf-8")
    joined = work / "joined.o"
    abi = host_flags(flags, compiler.arch)
    failure = "the objects cannot be linked into one"
    run_tool([*compiler.command, *abi, "-r", "-nostdlib", "-Wl,--build-id=none,-z,noexecstack", "-o", joined.name,
              "@inputs"], failure, work)
    run_tool([compiler.objcopy, "--localize-hidden", joined.name, str(out)], failure, work)
    for section, path in (contents or {}).items():
        _put(out, section, path)


def _put(out: Path, section: str, content: Path) -> None:
    try:
        elf.put(out, section, content)
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror or error}", str(out)) from None
