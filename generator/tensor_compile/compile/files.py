# SPDX-License-Identifier: Apache-2.0
"""Files: content hashes and outputs that are written beside their place and renamed, never half-written."""
from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Iterable, Iterator

from ..errors import UserError


LONGEST_NAME = 255  # bytes of a file's name


def encoded(text: str | bytes) -> bytes:
    """As UTF-8. A path may hold bytes that are none: Python has them as surrogates, and they stay what they are."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def digest(*parts: bytes | str) -> str:
    """SHA-256 of the parts, each delimited by its length."""
    h = hashlib.sha256()
    for part in parts:
        data = encoded(part)
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
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [path for name in names if os.path.isfile(path := os.path.join(folder, name))]
    return sorted(map(Path, found))


def tree_digest(roots: Iterable[Path]) -> str:
    """Content of every file under the roots (a root may be a file), independent of where the roots lie."""
    parts: list[str] = []
    for root in roots:
        for path in tree_files(root) if root.is_dir() else [root]:
            parts += [path.relative_to(root).as_posix() if path != root else path.name, file_digest(path)]
    return digest(*parts)


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a file that may be larger than memory. A FIFO or a device may have no end: they are the user's
    error."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # of a FIFO, it does not wait for a writer
    with open(fd, "rb") as f:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UserError("not a regular file", str(path))
        while block := f.read(1 << 20):
            yield block


class Outputs:
    """Outputs that appear together: each is made whole beside its place, and all are renamed when the block ends. An
    error within the block, or a place that cannot be taken, is the user's (unwritable, full, a folder there) and leaves
    every place as it was. Of a symbolic link the target is replaced. A FIFO or a device is never replaced but written,
    before the others are renamed. ours: places of the tool alone, where whatever lies there is replaced.

        with Outputs() as outputs:
            outputs.write(path, data)
            outputs.move(made, other_path)
    """

    def __init__(self, ours: bool = False) -> None:
        self._ours = ours
        self._staged: list[tuple[Path, Path]] = []
        self._direct: list[tuple[Path, Path]] = []

    def __enter__(self) -> "Outputs":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for made, _place in self._staged + self._direct:
                made.unlink(missing_ok=True)

    def write(self, path: Path, data: bytes | str | Iterable[bytes]) -> None:
        """Where data is no text and no bytes, it is written part by part."""
        if isinstance(data, str):
            data = encoded(data)
        try:
            _fill(self._stage(path), (data,) if isinstance(data, bytes) else data)
        except OSError as error:
            raise unwritable(path, error) from None

    def move(self, source: Path, path: Path) -> None:
        """The file `source` becomes the output: by its name alone where both lie on one file system."""
        try:
            made = self._stage(path)
            try:
                os.replace(source, made)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _fill(made, blocks(source))
                source.unlink()
        except OSError as error:
            raise unwritable(path, error) from None

    def _stage(self, path: Path) -> Path:
        """An empty file that becomes the output, or that is copied into it."""
        if not self._ours:
            path, replaced = _place(path)
            if not replaced:
                fd, name = tempfile.mkstemp(prefix="tensor-compile-")
                os.close(fd)
                self._direct.append((Path(name), path))
                return Path(name)
        shown = decoded(encoded(path.name)[:LONGEST_NAME - 20])  # room for the dots and what mkstemp appends
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd, name = tempfile.mkstemp(prefix=f".{shown}.", dir=path.parent)
        except FileNotFoundError:  # someone took the folder away in between
            path.parent.mkdir(parents=True, exist_ok=True)
            fd, name = tempfile.mkstemp(prefix=f".{shown}.", dir=path.parent)
        os.close(fd)
        self._staged.append((Path(name), path))
        return Path(name)

    def _commit(self) -> None:
        for _beside, path in self._staged:
            try:
                taken = stat.S_ISDIR(os.stat(path).st_mode)
            except FileNotFoundError:
                continue
            except OSError as error:  # a name that is too long, say
                raise unwritable(path, error) from None
            if taken:
                raise UserError("cannot write: Is a directory", str(path))
        for made, path in self._direct:
            try:
                _fill(path, blocks(made))
            except OSError as error:
                raise unwritable(path, error) from None
        for beside, path in self._staged:
            try:
                beside.chmod(0o666 & ~_umask())
                beside.replace(path)
            except OSError as error:
                raise unwritable(path, error) from None


def write(path: Path, data: bytes | str | Iterable[bytes], ours: bool = False) -> None:
    """One output, as Outputs."""
    with Outputs(ours) as outputs:
        outputs.write(path, data)


def _fill(path: Path, parts: Iterable[bytes]) -> None:
    with open(path, "wb") as f:
        for part in parts:
            f.write(part)


def _place(path: Path) -> tuple[Path, bool]:
    """The file that the path leads to, and whether a new one may take its place. A link may lead to a file that has no
    name any more (/dev/stdout): it is written, like what is no regular file."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return (Path(os.path.realpath(path)) if path.is_symlink() else path), True
    if stat.S_ISDIR(mode):
        return path, True  # what takes its place says why it cannot
    if not stat.S_ISREG(mode):
        return path, False
    if not path.is_symlink():
        return path, True
    target = Path(os.path.realpath(path))
    try:
        return (target, True) if os.path.samefile(path, target) else (path, False)
    except OSError:
        return path, False


def require_folder(path: Path) -> None:
    """Raises where an output has no folder to lie in: before what it is made of is measured."""
    if not path.parent.is_dir():
        raise UserError("no such folder", str(path.parent))


def require_writable(path: Path) -> None:
    """Raises where an output cannot be written, as far as that is known beforehand; touches nothing."""
    try:
        place, replaced = _place(path)
    except OSError as error:
        raise unwritable(path, error) from None
    place = place.parent if replaced else place
    if os.access(place, os.W_OK):
        return
    reason = errno.EACCES if os.path.exists(place) else errno.ENOENT
    if reason == errno.EACCES and os.statvfs(place).f_flag & os.ST_RDONLY:
        reason = errno.EROFS
    raise UserError(f"cannot write: {os.strerror(reason)}", str(path))


def unwritable(path: Path, error: OSError) -> UserError:
    """Names the first folder of the path that cannot be made, which is nearest to what the user named; else the path
    itself."""
    place = next((folder for folder in reversed(path.parents) if not os.path.isdir(folder)), path)
    return UserError(f"cannot write: {error.strerror or error}", str(place))


def write_if_changed(path: Path, data: bytes | str) -> bool:
    data = encoded(data)
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
    except OSError:
        pass
    write(path, data)
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
