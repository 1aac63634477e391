# SPDX-License-Identifier: Apache-2.0
"""Runs the tool as a process of its own that is a fork of the test: to load Python and the tool's modules takes longer
than most builds of a small model. Tests of how the tool is started start it: tests/integration, tests/cross, and what
passes Python's own variables. What the test has changed in the tool's modules is changed in the fork, too."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import BinaryIO, Mapping, NoReturn, Sequence

# all that a build needs, so that every fork has it
from tensor_compile import cli
from tensor_compile.cli import build_command, check_command, explain_command   # noqa: F401
from tensor_compile.compile import assemble, build, check_model, imported, model_program   # noqa: F401

PROGRAM = Path(cli.__file__).parents[2] / "tensor-compile"


def tool(*words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
         ) -> subprocess.CompletedProcess[str]:
    """`tensor-compile WORDS` in the folder cwd: exit code and what it printed. env: its whole environment."""
    given = [str(word) for word in words]
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _run(given, cwd, env, out, err)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape").replace("\r\n", "\n"))
    return subprocess.CompletedProcess([str(PROGRAM), *given], code, *texts)


def _run(words: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, out: BinaryIO,
         err: BinaryIO) -> NoReturn:
    """As generator/tensor-compile does it, to the process's end."""
    code: object = 1
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        if cwd is not None:
            os.chdir(cwd)
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        tempfile.tempdir = None   # TMPDIR may be another one
        gc.disable()
        code = cli.main(list(words))
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:   # what else ends with Python is the test's: its temporary folders, say
            os._exit(code if isinstance(code, int) else 0 if code is None else 1)
