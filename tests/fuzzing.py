# SPDX-License-Identifier: Apache-2.0
"""Damaged files for a front end: whatever is done to a file, the import ends in model text or in one UserError, in
bounded time and memory. A format's fuzz.py says how files are damaged."""
from __future__ import annotations

import random
import resource
import signal
import tempfile
import time
import traceback
from pathlib import Path
from typing import Callable, Sequence

from tensor_compile.errors import UserError
from tensor_compile.importer.output import Written

LIMIT = 10           # seconds of one import
MEMORY = 1 << 30     # bytes of the process
KINDS = 5            # of damage that is done to any format


class TooLong(Exception):
    pass


def _alarm(number: int, frame: object) -> None:
    raise TooLong


def attempt(read: Callable[[Path, str], Written], path: Path) -> str:
    """What is wrong with how the import of a file by `read` ended; "" where it is an import or one error."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(LIMIT)
    try:
        written = read(path, path.name)
        for _ in written.blocks():
            pass
        return ""
    except UserError as error:
        return "" if str(error).startswith(path.name) or error.where else f"an error without a place: {error}"
    except TooLong:
        return f"it took more than {LIMIT} s"
    except MemoryError:
        return f"it took more than {MEMORY >> 20} MiB"
    except RecursionError:
        return "it recursed too deeply"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    finally:
        signal.alarm(0)


def change(data: bytearray, at: int, kind: int, models: Sequence[bytes], r: random.Random) -> None:
    """One of KINDS ways to damage any format: flips a bit, sets a byte, takes bytes away, puts in random ones, or some
    of another model."""
    if kind == 0:
        data[at] ^= 1 << r.randrange(8)
    elif kind == 1:
        data[at] = r.choice((0, 1, 2, 127, 128, 255))
    elif kind == 2:
        del data[at:at + r.choice((1, 2, 4, 16, 64))]
    elif kind == 3:
        data[at:at] = bytes(r.randrange(256) for _ in range(r.choice((1, 2, 8))))
    else:
        other = r.choice(models)
        begin = r.randrange(len(other))
        data[at:at] = other[begin:begin + r.choice((4, 16, 64))]


def fuzz(read: Callable[[Path, str], Written], name: str, damaged: Callable[[random.Random], bytes], seconds: float,
         seed: int) -> int:
    """Imports files called `name` for so long; `damaged` makes one from a seed. Prints each kind of mistake with the
    seed that makes it again; the exit code is 1 where there is one."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found: set[str] = set()
    tries = 0
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        while time.monotonic() < end:
            path.write_bytes(damaged(random.Random(seed + tries)))
            wrong = attempt(read, path)
            if wrong and wrong not in found:
                found.add(wrong)
                print(f"seed {seed + tries}: {wrong}", flush=True)
            tries += 1
    print(f"{tries} files, {len(found)} kinds of mistakes")
    return 1 if found else 0
