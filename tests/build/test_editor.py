# SPDX-License-Identifier: Apache-2.0
"""What an editor makes of model.c by compile_commands.json: headers that compile, documentation at every operation, and
what clangd, asked as an editor asks it, shows of an operation and offers for its options."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any

from places import ROOT
from tap import done, equal, note, ok, skip
from tensor_compile.compile import compile_commands, editor_headers
from tensor_compile.compile.options import Options

MODEL = """#include <tensor_compile/model.h>

TC_MODEL(net)
{
    tc_tensor x = tc_input(g, "image", TC_F32, tc_dynamic(g, "batch", 1, 64), 1, 8, 8), w = tc_weight(g, "w");
    x = tc_conv2d(x, w, .padding = 1);
    x = tc_layer_linear(g, tc_relu(tc_flatten(x, 1)), "fc");
    tc_output(g, "probabilities", tc_softmax(x, -1));
}
"""
SHOWN = (  # a word of the model, and what its documentation says
    ("tc_conv2d", "Padding is zeros,\n`.padding` on both sides of an axis, or `.low` before and `.high` behind it."),
    ("tc_layer_linear", "torch.nn.Linear: NAME.weight [out, in], NAME.bias [out]."),
    ("tc_softmax", "ATen: softmax, log_softmax, softmin (of one axis)."),
    ("tc_dynamic", "a size that is known at run time"),
    ("TC_MODEL", "TC_MODEL(name) { ... }: the model, once a program."),
)
OPTIONS = ["bias", "dilation", "groups", "high", "low", "padding", "same", "stride", "weight", "x"]


class Clangd:
    """A session with clangd, which speaks JSON-RPC on its streams. Its answers are few and come in order."""

    def __init__(self, folder: Path):
        self.process = subprocess.Popen(["clangd", "--log=error", "--background-index=0", "-j=1"], cwd=folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdin and self.process.stdout
        self.out: IO[bytes] = self.process.stdin
        self.into: IO[bytes] = self.process.stdout
        self.complaints: list[str] = []
        self.asked = 0
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})

    def tell(self, message: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.out.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.out.flush()

    def ask(self, method: str, params: Any) -> Any:
        self.asked += 1
        self.tell({"id": self.asked, "method": method, "params": params})
        while True:
            size = 0
            while line := self.into.readline().strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            if not size:
                raise EOFError("clangd ended")
            answer = json.loads(self.into.read(size))
            if answer.get("method") == "textDocument/publishDiagnostics":
                self.complaints = [d["message"] for d in answer["params"]["diagnostics"]]
            if answer.get("id") == self.asked and "method" not in answer:
                return answer.get("result")

    def open(self, path: Path, text: str) -> None:
        self.tell({"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": path.as_uri(), "languageId": "c", "version": 1, "text": text}}})

    def at(self, method: str, path: Path, text: str, offset: int) -> Any:
        before = text[:offset]
        return self.ask(f"textDocument/{method}", {"textDocument": {"uri": path.as_uri()}, "position": {
            "line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}})

    def end(self) -> None:
        self.ask("shutdown", None)
        self.tell({"method": "exit"})
        self.process.wait(timeout=60)


def with_clangd(folder: Path, model: Path) -> None:
    editor = Clangd(folder)
    editor.open(model, MODEL)
    for word, said in SHOWN:
        answer = editor.at("hover", model, MODEL, MODEL.index(word) + 1)
        shown = str(answer["contents"]["value"] if answer else answer)
        if not ok(said in shown, f"clangd shows what {word} is"):
            note(shown)
    equal(editor.complaints, [], "clangd has nothing against the model")
    half = folder / "half.c"
    text = MODEL.replace(".padding = 1", ".")
    editor.open(half, text)
    editor.at("hover", half, text, text.index("TC_MODEL"))  # it has read the headers when it answers
    found = editor.at("completion", half, text, text.index(", .)") + len(", ."))
    equal(sorted({item["label"].strip(" •") for item in found["items"]}), OPTIONS, "it offers the options alone")
    editor.end()


with tempfile.TemporaryDirectory() as place:
    folder = Path(place).resolve()
    model = folder / "model.c"
    model.write_text(MODEL, encoding="utf-8")
    commands = folder / "compile_commands.json"
    options = [Options(str(folder / name), name, str(folder / f"{name}.o"), str(folder / "model.h"), str(folder / "cache"))
               for name in ("model.c", "half.c")]
    compile_commands.update(commands, folder / "cache", options)
    entry = next(e for e in json.loads(commands.read_text(encoding="utf-8")) if e["file"] == str(model))
    for path in (model, *sorted(ROOT.glob("examples/*/model.c"))):
        words = [*entry["arguments"][:-1], path.name, "-fsyntax-only", "-Werror"]
        equal(subprocess.run(words, cwd=path.parent, capture_output=True, text=True, check=False).stderr, "",
              f"compiles with the headers for editors: {path.parent.name if path != model else 'a model'}")

    include = editor_headers.folder(folder / "cache")
    written = {p.relative_to(include).as_posix(): p.read_text(encoding="utf-8") for p in include.rglob("*.h")}
    equal(sorted(written), sorted(p.relative_to(editor_headers.HEADERS).as_posix()
                                  for p in editor_headers.HEADERS.rglob("*.h")), "every header is there")
    bare = [m[0] for text in written.values() for m in re.finditer(r"^#define tc_\w*[a-z0-9]\([^)]*\)(?! /\*)", text, re.M)]
    equal(bare, [], "every macro that users write has its documentation")
    equal([name for name, text in written.items() if re.search(r"\.at\b|\btc_site at;", text)], [],
          "no option is the call's place")

    if shutil.which("clangd"):
        with_clangd(folder, model)
    else:
        skip("clangd shows the documentation and completes options", "clangd is not installed")

done()
