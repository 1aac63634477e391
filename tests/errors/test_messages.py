# SPDX-License-Identifier: Apache-2.0
"""Every message of the product is expected by some test.

The messages are read from the sources: formats of the C functions that report errors, texts of what Python raises or
finds. A test expects a message where a string literal of the tests' sources holds its fixed parts in their order, on
one line; a short message from its start. Of a longer message its longest part is enough, if that is half of it. Whether
that test then compares the right thing is its own business; what is found here is the message that no test can have
compared.
"""
from __future__ import annotations

import ast
import re
from pathlib import Path

from tap import done, equal, note, ok

ROOT = Path(__file__).resolve().parents[2]

# C: folder -> functions, and which argument of each is the format
C_REPORTERS = {
    "generator/capture": {"tc_fail": 2, "tc_error": 3, "fprintf": 1},
    "interpreter": {"tci_fail": 2, "tci_node_fail": 2, "tci_lexer_fail": 1, "usage": 0},
    "runtime/core": {"tc_refuse": 4, "fail_view": 6},
    "runtime/hosted": {"tc_refuse": 4, "tc_safetensors_fail": 1, "bad": 1},
}
# Python: the last name of what is called -> which argument is the message
PY_REPORTERS = {"UserError": 0, "UsageError": 0, "ArgumentTypeError": 0, "IrError": 0, "ParseError": 2, "_Mismatch": 0,
                "_need": 1, "error": 0, "append": 0}
SHORT = 16  # characters of fixed text, below which a message might be met by chance
APPENDED_TO = "found"  # list.append counts where the list is called so
# What no test can bring about, and why
BEYOND_REACH = {
    "out of memory": "memory would have to end",
    "out of memory: a tensor of … bytes": "memory would have to end",
    "cannot be mapped: …": "memory would have to end",
    "the file of external data has become shorter": "somebody would have to cut it while it is read",
}

C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\w+|\S', re.S)
C_HOLE = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|t|j)?[a-zA-Z]")


def c_tokens(text: str) -> list[str]:
    """Without comments; what stands between them stays in order."""
    return [m[0] for m in C_TOKEN.finditer(text) if not m[0].startswith(("/*", "//"))]


def c_text(token: str) -> str:
    escapes = {"n": "\n", "t": "\t", "0": "\0"}
    return re.sub(r"\\(.)", lambda m: escapes.get(m[1], m[1]), token[1:-1])


def c_literals(tokens: list[str]) -> list[str]:
    """String literals, neighbours joined as the compiler joins them."""
    out: list[str] = []
    joined = False
    for token in tokens:
        if token.startswith('"'):
            if joined:
                out[-1] += c_text(token)
            else:
                out.append(c_text(token))
        joined = token.startswith('"')
    return out


def c_arguments(tokens: list[str], at: int) -> list[list[str]]:
    """The arguments of the call whose parenthesis opens at `at`."""
    depth, out = 0, [[]]
    for token in tokens[at:]:
        depth += token in "([{" if len(token) == 1 else 0
        depth -= token in ")]}" if len(token) == 1 else 0
        if not depth:
            break
        if token == "," and depth == 1:
            out.append([])
        else:
            out[-1].append(token)
    out[0] = out[0][1:]
    return out


def c_messages(path: Path, reporters: dict[str, int]) -> set[tuple[str, ...]]:
    text = path.read_text(encoding="utf-8")
    tokens = c_tokens(text)
    if own := re.search(r"^static bool fail\(([^)]*)\)", text, re.M):  # the file's own: its text is `what`
        reporters = {**reporters, "fail": [p.endswith("what") for p in own[1].split(",")].index(True)}
    found: set[tuple[str, ...]] = set()
    for i, token in enumerate(tokens[:-1]):
        if token in reporters and tokens[i + 1] == "(":
            arguments = c_arguments(tokens, i + 1)
            if reporters[token] < len(arguments) and (token != "fprintf" or arguments[0] == ["stderr"]):
                found |= {tuple(p.replace("%%", "%") for p in C_HOLE.split(text.replace("%%", "%%")))
                          for text in c_literals(arguments[reporters[token]])}
    return found


def py_parts(node: ast.expr) -> list[list[str]]:
    """The fixed parts of each text that an expression may be."""
    if isinstance(node, ast.Constant):
        return [[node.value]] if isinstance(node.value, str) else [["", ""]]
    if isinstance(node, ast.JoinedStr):
        out = [""]
        for value in node.values:
            if isinstance(value, ast.Constant):
                out[-1] += value.value
            else:
                out.append("")
        return [out]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [left[:-1] + [left[-1] + right[0]] + right[1:] for left in py_parts(node.left)
                for right in py_parts(node.right)]
    if isinstance(node, ast.Lambda):
        return py_parts(node.body)
    if isinstance(node, ast.IfExp):
        return py_parts(node.body) + py_parts(node.orelse)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [p for element in node.elts for p in py_parts(element)]
    if isinstance(node, ast.BoolOp):
        return [p for value in node.values for p in py_parts(value)]
    return [["", ""]]


def py_messages(path: Path) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "append" and ast.unparse(node.func.value).split(".")[-1] != APPENDED_TO:
            continue
        if name in PY_REPORTERS and PY_REPORTERS[name] < len(node.args):
            found |= {tuple(parts) for parts in py_parts(node.args[PY_REPORTERS[name]])}
    return found


def expectations() -> list[str]:
    """The string literals of the tests."""
    out: list[str] = []
    for path in sorted(ROOT.glob("tests/**/*")):
        if path == Path(__file__).resolve():
            continue
        if path.suffix in (".c", ".h"):
            out += c_literals(c_tokens(path.read_text(encoding="utf-8")))
        elif path.suffix == ".py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {id(n.body[0].value) for n in ast.walk(tree)
                    if isinstance(n, (ast.Module, ast.FunctionDef, ast.ClassDef)) and n.body
                    and isinstance(n.body[0], ast.Expr)}
            pieces = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
            out += ["…".join(parts) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for parts in py_parts(n)]
            out += [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                    and id(n) not in docs and id(n) not in pieces]
    return out


def is_expected(message: tuple[str, ...], lines: str) -> bool:
    parts = [part.strip() for part in message if part.strip()]
    size, longest = sum(map(len, parts)), max(parts, key=len)
    start = "(?:^|: )" if size < SHORT and message[0].strip() else ""
    if re.search(start + ".*?".join(map(re.escape, parts)), lines, re.M):
        return True
    return len(longest) >= SHORT and 2 * len(longest) >= size and longest in lines


messages: dict[tuple[str, ...], str] = {}
for folder, reporters in C_REPORTERS.items():
    for path in sorted((ROOT / folder).glob("*.c")):
        messages |= {m: str(path.relative_to(ROOT)) for m in c_messages(path, reporters)}
for path in sorted((ROOT / "generator" / "tensor_compile").rglob("*.py")):
    messages |= {m: str(path.relative_to(ROOT)) for m in py_messages(path)}
expected = "\n".join(expectations())

wordless = [m for m in messages if not re.search("[A-Za-z]{2}", "".join(m))]
for parts in wordless:
    del messages[parts]
ok(len(messages) > 300, "messages are found in the sources")
for lines, message, want in (("one: f32 is new, not old", ("", " is ", ", not ", ""), True),
                             ("f32 is new\nnot old", ("", " is ", ", not ", ""), False),
                             ("the axis is 7", ("axis is ", ""), False),
                             ("tc_sum: axis is 7", ("axis is ", ""), True),
                             ("a window of 5 does not fit", ("a window of ", " does not fit along axis ", " of "),
                              False),
                             ("does not fit along axis 2", ("window ", " does not fit along axis ", " of "), True)):
    equal(is_expected(message, lines), want,
          f"{lines!r} {'expects' if want else 'is too little for'} {'…'.join(message)!r}")
missing: dict[str, list[str]] = {}
for parts, place in messages.items():
    if not is_expected(parts, expected) and "…".join(parts).strip() not in BEYOND_REACH:
        missing.setdefault(place, []).append("…".join(parts))
for place, texts in sorted(missing.items()):
    if not ok(False, f"{place}: every message is expected by a test"):
        for text in sorted(texts):
            note(f"no test expects: {text}")
equal(sum(map(len, missing.values())), 0, f"all of {len(messages)} messages are expected by a test")
done()
