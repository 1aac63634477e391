# SPDX-License-Identifier: Apache-2.0
"""The cache under a build directory: entries by the digest of everything that makes them, never rewritten.

An entry is a folder. It is made in a temporary folder and renamed into place, so builds that run at once may both make
it and one of the two equal results stays. Nothing in it is an output: deleting the cache costs time only.
"""
from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Callable

from ..errors import UserError


class Cache:
    """root: the cache's folder, made when first needed."""

    def __init__(self, root: Path):
        self.root = Path(os.path.abspath(root))  # tools run in other folders

    def _place(self, kind: str, key: str) -> Path:
        return self.root / kind / key[:40]

    def _make(self, kind: str) -> Path:
        """The folder root/kind. Version control leaves a cache alone."""
        folder = self.root / kind
        folder.mkdir(parents=True, exist_ok=True)
        ignore = self.root / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        return folder

    def has(self, kind: str, key: str) -> bool:
        return self._place(kind, key).is_dir()

    def entry(self, kind: str, key: str, make: Callable[[Path], None]) -> Path:
        """The folder of `key`, made by make(folder) where it does not exist; what make raises leaves nothing behind."""
        final = self._place(kind, key)
        if final.is_dir():
            return final
        try:
            work = Path(tempfile.mkdtemp(prefix="new-", dir=self._make(kind)))
        except OSError as error:
            raise UserError(f"cannot write: {error.strerror}", str(final.parent)) from None
        try:
            make(work)
            try:
                os.rename(work, final)
            except OSError as error:
                if not final.is_dir():  # otherwise another build was first: its entry is the same
                    raise UserError(f"cannot write: {error.strerror}", str(final)) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return final

    def scratch(self) -> tempfile.TemporaryDirectory:
        """A temporary folder on the cache's file system."""
        try:
            return tempfile.TemporaryDirectory(prefix="run-", dir=self._make("tmp"))
        except OSError as error:
            raise UserError(f"cannot write: {error.strerror}", str(self.root)) from None
