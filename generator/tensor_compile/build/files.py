# SPDX-License-Identifier: Apache-2.0
"""Files: content hashes and outputs that are written beside their place and renamed, never half-written."""
from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Iterable, Iterator

from ..errors import UserError


def digest(*parts: bytes | str) -> str:
    """SHA-256 of the parts, each delimited by its length."""
    h = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()


def file_digest(path: Path) -> str:
    h = hashlib.sha256()
    for block in blocks(path):
        h.update(block)
    return h.hexdigest()


def tree_files(root: Path) -> list[Path]:
    """Every file under root but compiled Python, sorted."""
    return sorted(p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def tree_digest(roots: Iterable[Path]) -> str:
    """Content of every file under the roots (a root may be a file), independent of where the roots lie."""
    parts: list[str] = []
    for root in roots:
        for path in tree_files(root) if root.is_dir() else [root]:
            parts += [path.relative_to(root).as_posix() if path != root else path.name, file_digest(path)]
    return digest(*parts)


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a file that may be larger than memory."""
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            yield block


def write(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """Writes beside `path` and renames; an error is the user's (unwritable, full) and leaves nothing behind. Where data
    is no text and no bytes, it is written part by part."""
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(fd, "wb") as f:
            if isinstance(data, str):
                data = data.encode()
            for part in (data,) if isinstance(data, bytes) else data:
                f.write(part)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        if name and os.path.exists(name):
            os.unlink(name)
        raise UserError(f"cannot write: {error.strerror or error}", str(path)) from None


def move(source: Path, path: Path) -> None:
    """Puts the file `source` in the place of `path`: by its name alone where both lie on one file system."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise UserError(f"cannot write: {error.strerror or error}", str(path)) from None
        write(path, blocks(source))
        source.unlink()


def write_if_changed(path: Path, data: bytes | str) -> bool:
    data = data.encode() if isinstance(data, str) else data
    try:
        if path.read_bytes() == data:
            return False
    except OSError:
        pass
    write(path, data)
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
