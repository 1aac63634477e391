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


class Outputs:
    """Outputs that appear together: each is made whole beside its place, and all are renamed when the block ends. An
    error within the block, or a place that cannot be taken, is the user's (unwritable, full, a folder there) and leaves
    every place as it was.

        with Outputs() as outputs:
            outputs.write(path, data)
            outputs.move(made, other_path)
    """

    def __init__(self) -> None:
        self._staged: list[tuple[Path, Path]] = []

    def __enter__(self) -> "Outputs":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for beside, _place in self._staged:
                beside.unlink(missing_ok=True)

    def write(self, path: Path, data: bytes | str | Iterable[bytes]) -> None:
        """Where data is no text and no bytes, it is written part by part."""
        if isinstance(data, str):
            data = data.encode()
        try:
            with open(self._stage(path), "wb") as f:
                for part in (data,) if isinstance(data, bytes) else data:
                    f.write(part)
        except OSError as error:
            raise _unwritable(path, error) from None

    def move(self, source: Path, path: Path) -> None:
        """The file `source` becomes the output: by its name alone where both lie on one file system."""
        try:
            os.replace(source, self._stage(path))
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise _unwritable(path, error) from None
            self._staged.pop()[0].unlink()
            self.write(path, blocks(source))
            source.unlink()

    def _stage(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(fd)
        self._staged.append((Path(name), path))
        return Path(name)

    def _commit(self) -> None:
        for _beside, path in self._staged:
            if path.is_dir():
                raise UserError("cannot write: Is a directory", str(path))
        for beside, path in self._staged:
            try:
                beside.chmod(0o666 & ~_umask())
                beside.replace(path)
            except OSError as error:
                raise _unwritable(path, error) from None


def write(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """One output, as Outputs."""
    with Outputs() as outputs:
        outputs.write(path, data)


def _unwritable(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write: {error.strerror or error}", str(path))


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
