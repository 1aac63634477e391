# SPDX-License-Identifier: Apache-2.0
"""The command-line tool: one module a sub-command, each with `add(subparsers)` and `run(args) -> int`.

Exit codes: 0 done, 1 the user's error, 2 wrong usage, 3 a bug of this project.
"""
from __future__ import annotations

import argparse
import difflib
import errno
import os
import re
import sys
import tempfile
import traceback

from ..errors import OptionError, Reported, UsageError, UserError

VERSION = "0.1.0"


class Parser(argparse.ArgumentParser):
    """Errors without a screen of usage before them."""

    def error(self, message: str) -> None:
        self.exit(2, f"{self.prog}: error: {message}\n  hint: {self._hint(message)}\n")

    def _hint(self, message: str) -> str:
        unknown = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        known = set(re.findall(r"(?<!\S)--[\w-]+", self.format_help()))
        close = difflib.get_close_matches(unknown[1], known, 1) if unknown else []
        return f"did you mean {close[0]}?" if close else f"see {self.prog} --help"


def main(argv: list[str]) -> int:
    from . import build, check, explain, pack, tune

    parser = Parser(
        prog="tensor-compile", allow_abbrev=False,
        description="Compiles a model written in C (model.c) to one object file and a typed header, at build time.",
        epilog="Exit codes: 0 done, 1 an error in the model, its data or its environment, 2 wrong usage, 3 a bug of "
               "tensor-compile. `tensor-compile COMMAND --help` describes a command.")
    parser.add_argument("--version", action="version", version=f"tensor-compile {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for module in (build, tune, check, explain, pack):
        module.add(commands)
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        commands.choices[args.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return args.run(args)
    except Reported:
        return 1
    except UserError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, OptionError) else 1
    except UsageError as error:
        print(f"tensor-compile: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tensor-compile: interrupted", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader (`| head`) has gone
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            return _bug(error, argv)
        print(UserError(f"cannot write: {error.strerror}", error.filename or ""), file=sys.stderr)
        return 1
    except Exception as error:  # everything else is ours: say so and leave what we need to repair it
        return _bug(error, argv)


def _bug(error: Exception, argv: list[str]) -> int:
    fd, path = tempfile.mkstemp(prefix="tensor-compile-", suffix=".dump.txt")
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        f.write(f"tensor-compile {VERSION}\npython {sys.version}\narguments: {argv!r}\n\n")
        f.write("".join(traceback.format_exception(error)))
        f.write(f"\n{getattr(error, 'detail', '')}\n")
    print(f"tensor-compile: internal error: {error or type(error).__name__}\n"
          f"  this is a bug of tensor-compile, not of your model; please report it with {path}", file=sys.stderr)
    return 3
