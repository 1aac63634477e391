# SPDX-License-Identifier: Apache-2.0
"""What a Meson build directory knows: the exe_wrapper of its cross files, as Meson reads them
(machinefile.py there)."""
from __future__ import annotations

import ast
import configparser
import json
import os
import re
from pathlib import Path
from typing import Union

from ..errors import UserError
from ..records import dataclass

Value = Union[str, bool, int, "list[Value]"]
COMMAND_LINE = Path("meson-private", "cmd_line.txt")
REGENERATE = "build build.ninja: REGENERATE_BUILD "   # what it depends on has the cross files by their whole paths
HINT = "name it: --exe-wrapper COMMAND"


@dataclass(frozen=True, slots=True)
class Wrapper:
    """command: what starts programs of the host machine; files: the cross files that say so."""

    command: tuple[str, ...]
    files: tuple[Path, ...]


def exe_wrapper(folder: Path) -> Wrapper | None:
    """None where this is no Meson build directory, none for another machine, or one whose programs run here."""
    asked = _parser()
    try:
        asked.read_string((folder / COMMAND_LINE).read_text(encoding="utf-8"))
        names = ast.literal_eval(asked.get("properties", "cross_file", fallback="[]"))
        files = tuple(_found(name, folder) for name in names)
        sections = _sections(files, _source(folder))
    except FileNotFoundError:
        return None
    except (OSError, configparser.Error, ValueError, SyntaxError) as error:
        raise UserError(f"cannot read the exe_wrapper of this build: {error}", str(folder), HINT) from None
    found = sections.get("binaries", {}).get("exe_wrapper")
    command = found if isinstance(found, list) else [found] if found else []
    if not command or not all(isinstance(word, str) for word in command) or not _needed(sections):
        return None
    return Wrapper(tuple(map(str, command)), files)


def _parser() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = lambda name: name   # type: ignore[assignment, method-assign]
    return parser


def _found(name: str, folder: Path) -> Path:
    """A cross file by the name that `meson setup` was given, from wherever it was."""
    path = Path(os.path.expandvars(os.path.expanduser(name)))
    if path.is_absolute():
        return path
    line = next((line for line in (folder / "build.ninja").read_text(encoding="utf-8").splitlines()
                 if line.startswith(REGENERATE)), "")
    words = [re.sub(r"\$(.)", r"\1", word) for word in re.findall(r"(?:\$.|[^ ])+", line.removeprefix(REGENERATE))]
    end = re.sub(r"^(\.\./)+", "", os.path.normpath(name))
    found = [word for word in words if os.path.isabs(word) and word.endswith(f"/{end}")]
    if not found:
        raise ValueError(f"no cross file {name}")
    return Path(found[0])


def _source(folder: Path) -> str:
    """The project's, which files may name."""
    try:
        told = json.loads((folder / "meson-info" / "meson-info.json").read_text(encoding="utf-8"))
        return str(told["directories"]["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _sections(files: tuple[Path, ...], source: str) -> dict[str, dict[str, Value]]:
    """What later files say stands in the place of what earlier ones do."""
    parser = _parser()
    for path in files:
        text = path.read_text(encoding="utf-8")
        parser.read_string(text.replace("@GLOBAL_SOURCE_ROOT@", source).replace("@DIRNAME@", str(path.parent)))
    constants: dict[str, Value] = {"true": True, "false": False, "True": True, "False": False}
    if parser.has_section("constants"):
        constants |= _section(parser, "constants", constants)
    return {name: _section(parser, name, constants) for name in ("binaries", "properties", "host_machine")
            if parser.has_section(name)}


def _section(parser: configparser.RawConfigParser, name: str, constants: dict[str, Value]) -> dict[str, Value]:
    scope = dict(constants)
    found: dict[str, Value] = {}
    for entry, text in parser.items(name):
        tree = ast.parse(text.replace("\\", "\\\\").strip(), mode="eval")
        found[entry] = scope[entry] = _value(tree.body, scope)
    return found


def _value(node: ast.expr, scope: dict[str, Value]) -> Value:
    """Strings, numbers, arrays, names of constants, + of two strings or arrays, / of two paths."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
        return node.value
    if isinstance(node, ast.List):
        return [_value(part, scope) for part in node.elts]
    if isinstance(node, ast.Name) and node.id in scope:
        return scope[node.id]
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, scope), _value(node.right, scope)
        if isinstance(left, str) and isinstance(right, str):
            if isinstance(node.op, ast.Div):
                return os.path.join(left, right)
            if isinstance(node.op, ast.Add):
                return left + right
        if isinstance(left, list) and isinstance(right, list) and isinstance(node.op, ast.Add):
            return left + right
    raise ValueError(f"{ast.unparse(node)} is nothing that a cross file may have")


def _needed(sections: dict[str, dict[str, Value]]) -> bool:
    """Whether Meson starts the host machine's programs with it."""
    told = sections.get("properties", {}).get("needs_exe_wrapper")
    if isinstance(told, bool):
        return told
    host = sections.get("host_machine", {})
    here = os.uname()
    return (host.get("system"), host.get("cpu_family")) != (here.sysname.lower(), here.machine)
