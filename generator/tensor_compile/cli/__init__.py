# SPDX-License-Identifier: Apache-2.0
"""The command-line tool: one module a sub-command, each with `add(subparsers)` and `run(args) -> int`.

Exit codes: 0 done, 1 the user's error, 2 wrong usage, 3 a bug of this project, 130 interrupted, whatever the signal.
"""
from __future__ import annotations

import argparse
import errno
import io
import os
import re
import signal
import sys
import tempfile
import traceback
from typing import Mapping, NoReturn

from ..errors import OptionError, Reported, UsageError, UserError, closest

VERSION = "0.1.0"
TENSORS = (".safetensors", ".npz")
INTERRUPTED = 130   # what a shell says of a program that Ctrl-C ended


class Parser(argparse.ArgumentParser):
    """Errors without a screen of usage before them. siblings: the sub-commands' parsers, of one of them. instead: what
    to write in place of a word that is no option's, where the command takes none."""

    siblings: Mapping[str, Parser] = {}
    instead: str = ""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n  hint: {self._hint(message)}\n")

    def _hint(self, message: str) -> str:
        more = f"see {self.prog} --help"
        if unknown := re.match(r"unrecognized arguments: (--?\w[\w-]*)", message):
            others = [name for name, parser in self.siblings.items() if unknown[1] in parser.options()]
            return (f"`tensor-compile {others[0]}` has {unknown[1]}; " if others else
                    closest(unknown[1], self.options())) + more
        if word := re.match(r"unrecognized arguments: ([^-]\S*)", message):
            tensors = word[1].endswith(TENSORS) and "--inputs" in self.options()
            return (f"--inputs {word[1]} reads tensors; " if tensors else self.instead) + more
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            return closest(choice[1], re.findall(r"[\w-]+", choice[2])) + more
        return more

    def options(self) -> list[str]:
        """Its options as they are written."""
        return [word for action in self._actions for word in action.option_strings]


def main(argv: list[str]) -> int:
    from . import bench_command, build_command, ceilings_command, check_command, explain_command, import_command, \
        minify_command, pack_command, profile_command, quantize_command, run_command, tune_command

    parser = Parser(
        prog="tensor-compile", allow_abbrev=False,
        description="Compiles a model written in C (model.c) to one object file and a typed header, at build time.",
        epilog="Exit codes: 0 done, 1 an error in the model, its data or its environment, 2 wrong usage, 3 a bug of "
               "tensor-compile, 130 interrupted (Ctrl-C, SIGTERM, SIGHUP). "
               "`tensor-compile COMMAND --help` describes a command.")
    parser.add_argument("--version", action="version", version=f"tensor-compile {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for module in (build_command, import_command, quantize_command, run_command, check_command, profile_command,
                   bench_command, explain_command, tune_command, ceilings_command, minify_command, pack_command):
        module.add(commands)
    for sub_command in commands.choices.values():
        sub_command.siblings = commands.choices
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # paths need not be UTF-8
    argv, passed_on = minify_command.parted(argv)
    args, unknown = parser.parse_known_args(argv, argparse.Namespace(passed_on=passed_on))
    if unknown:
        commands.choices[args.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    for number in (signal.SIGTERM, signal.SIGHUP):  # end as Ctrl-C does: children stopped, nothing half-written
        signal.signal(number, _interrupt)
    try:
        code: int = args.run(args)
        return code
    except Reported:
        return 1
    except UserError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, OptionError) else 1
    except UsageError as error:
        hint = "" if "\n  hint: " in str(error) else f"\n  hint: see tensor-compile {args.command} --help"
        print(f"tensor-compile {args.command}: error: {error}{hint}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as end:
        print(f"tensor-compile: interrupted{': ' if str(end) else ''}{end}", file=sys.stderr)
        return INTERRUPTED
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


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _bug(error: Exception, argv: list[str]) -> int:
    fd, path = tempfile.mkstemp(prefix="tensor-compile-", suffix=".dump.txt")
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        f.write(f"tensor-compile {VERSION}\npython {sys.version}\narguments: {argv!r}\n\n")
        f.write("".join(traceback.format_exception(error)))
        f.write(f"\n{getattr(error, 'detail', '')}\n")
    print(f"tensor-compile: internal error: {error or type(error).__name__}\n"
          f"  this is a bug of tensor-compile, not of your model; please report it with {path}", file=sys.stderr)
    return 3
