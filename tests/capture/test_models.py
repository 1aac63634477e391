# SPDX-License-Identifier: Apache-2.0
"""Captures each model of models/ and compares the text with tests/graphs/NAME.tcg (`--write` renews those); the
verifier of the generator infers every type again. Also: exit codes, paths, outputs that cannot be written, speed.

usage: test_models.py [--write] LIBRARY -- CC...
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import tap
from tensor_compile.graph.text import parse_module, print_module
from tensor_compile.graph.verify import verify

HERE = Path(__file__).resolve().parent
GRAPHS = HERE.parent / "graphs"
INCLUDE = HERE.parent.parent / "generator/capture/include"
MODELS = sorted(p.stem for p in (HERE / "models").glob("*.c"))


def write_weights(listing: Path, path: Path) -> None:
    """A safetensors file of zeros with the tensors of the listing (`name dtype dim...` a line)."""
    header, offset = {}, 0
    for line in listing.read_text().splitlines():
        name, dtype, *dims = line.split()
        shape = [int(d) for d in dims]
        size = {"F32": 4, "I32": 4, "I64": 8, "BOOL": 1}[dtype]
        for d in shape:
            size *= d
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + offset)


class Build:
    def __init__(self, library: str, compiler: list[str], directory: Path):
        self.library, self.compiler, self.directory = os.path.abspath(library), compiler, directory

    def compile(self, source: str, output: str, cwd: Path | None = None) -> Path:
        """The capture program of a source (path relative to cwd)."""
        program = self.directory / output
        flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-override-init", f"-I{INCLUDE}"]
        subprocess.run([*self.compiler, *flags, source, self.library, "-lm", "-o", str(program)], check=True,
                       cwd=cwd or self.directory)
        return program

    def capture(self, program: Path, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([str(program), *args], capture_output=True, text=True, timeout=60,
                              cwd=cwd or self.directory)


def check_models(build: Build, write: bool) -> None:
    for name in MODELS:
        source = build.directory / f"{name}.c"
        source.write_text((HERE / "models" / f"{name}.c").read_text())
        write_weights(HERE / "models" / f"{name}.weights", build.directory / f"{name}.safetensors")
        done = build.capture(build.compile(str(source), name), f"{name}.tcg")
        tap.equal((done.returncode, done.stderr), (0, ""), f"{name}: captured without a word")
        text = (build.directory / f"{name}.tcg").read_text()
        if write:
            (GRAPHS / f"{name}.tcg").write_text(text)
        tap.equal(text, (GRAPHS / f"{name}.tcg").read_text(), f"{name}: the text of tests/graphs")
        module = parse_module(text, f"{name}.tcg")
        verify(module)
        tap.equal(print_module(module), text, f"{name}: verified, and printed again to the same bytes")


def check_paths(build: Build) -> None:
    """The text does not depend on directories, nor on how the compiler was told the source."""
    away = build.directory / "away"
    (away / "sub").mkdir(parents=True)
    program = build.compile("../digits.c", "digits_relative", cwd=away)
    done = build.capture(program, str(away / "digits.tcg"), cwd=away)
    want = (build.directory / "digits.tcg").read_text()
    tap.equal(done.returncode, 0, "a relative __FILE__, from the compiler's directory")
    tap.equal((away / "digits.tcg").read_text(), want, "the same text")
    done = build.capture(program, "other.tcg", str(away), cwd=away / "sub")
    tap.equal(done.returncode, 0, "and from elsewhere, with the directory named")
    tap.equal((away / "sub" / "other.tcg").read_text(), want, "the same text")


def check_failures(build: Build) -> None:
    source = build.directory / "bad.c"
    source.write_text('#include <tensor_compile/model.h>\nTC_MODEL(bad)\n{\n    tc_weights(g, "digits.safetensors");\n'
                      '    tc_output(g, "y", tc_relu(tc_weight(g, "conv1.weigth")));\n}\n')
    program = build.compile(str(source), "bad")
    done = build.capture(program, "bad.tcg")
    tap.equal(done.returncode, 1, "an error of the model: exit code 1")
    tap.equal(done.stderr, 'bad.c:5: error: tc_weight: no weight "conv1.weigth" in digits.safetensors\n'
              '  hint: did you mean "conv1.weight", "conv2.weight"?\n', "with near names")
    tap.equal([p.name for p in build.directory.glob("bad.tcg*")], ["bad.tcg.end"], "and no output but what it came to")
    weights = build.directory / "digits.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1000])
    done = build.capture(build.directory / "digits", "cut.tcg")
    tap.equal(done.returncode, 1, "truncated weights: exit code 1")
    tap.ok(done.stderr.count("error:") == 1 and 'digits.safetensors: truncated: "' in done.stderr, "one error, named")
    weights.write_bytes(whole)
    done = build.capture(build.directory / "digits", "missing/out.tcg")
    tap.equal(done.returncode, 1, "a directory that does not exist: exit code 1")
    tap.ok("missing/out.tcg" in done.stderr and ": error: cannot be written: " in done.stderr, "named")
    (build.directory / "taken.tcg").mkdir()
    done = build.capture(build.directory / "digits", "taken.tcg")
    tap.equal(done.returncode, 1, "a directory in the output's place: exit code 1")
    tap.ok(not (build.directory / "taken.tcg.tmp").exists(), "nothing left beside it")
    done = build.capture(build.directory / "digits")
    tap.equal(done.returncode, 2, "no arguments: exit code 2")
    tap.ok(" OUT.tcg [DIRECTORY [MODEL.c]]" in done.stderr, "and how it is called")
    start, relu = "#include <tensor_compile/model.h>\n", 'tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, 1)));'
    many = start + "TC_MODEL(m) { " + relu + " }\n" + "".join(f"TC_FUNCTION(f{i}) {{ {relu} }}\n" for i in range(300))
    (build.directory / "many.c").write_text(many)
    done = build.capture(build.compile(str(build.directory / "many.c"), "many"), "many.tcg")
    names = re.findall(r"^function (\w+)", (build.directory / "many.tcg").read_text(), re.M)
    tap.equal((done.returncode, names), (0, ["m", *(f"f{i}" for i in range(300))]),
              "300 functions, in the order of the lines")
    for name, text, message in (
            ("early", start + "__attribute__((constructor)) static void early(void) { tc_relu(NULL); }\n"
             "TC_MODEL(m) { " + relu + " }\n",
             "early.c:2: error: tc_relu: called outside TC_MODEL and TC_FUNCTION"),
            ("endless", start + 'TC_MODEL(m) { tc_tensor x = tc_input(g, "x", TC_F32, 1); for (;;) x = tc_relu(x); }\n',
             "endless.c:2: error: tc_relu: the model has more than 1000000 operations")):
        (build.directory / f"{name}.c").write_text(text)
        done = build.capture(build.compile(str(build.directory / f"{name}.c"), name), f"{name}.tcg")
        tap.ok(done.returncode == 1 and message in done.stderr, message) or tap.note(done.stderr)


def check_size(build: Build) -> None:
    source = build.directory / "large.c"
    source.write_text('#include <tensor_compile/model.h>\nTC_MODEL(large)\n{\n'
                      '    tc_dim n = tc_dynamic(g, "n", 1, 64);\n    tc_tensor x = tc_input(g, "x", TC_F32, n, 64);\n'
                      '    for (int i = 0; i < 625; ++i)\n        x = tc_softmax(tc_add(x, 1), -1);\n'
                      '    tc_output(g, "y", x);\n}\n')
    done = build.capture(build.compile(str(source), "large"), "large.tcg")
    text = (build.directory / "large.tcg").read_text()
    tap.ok(done.returncode == 0 and text.count(" = ") > 5000, "a graph of more than 5,000 nodes")


def main() -> int:
    args = sys.argv[1:]
    write = args[0] == "--write"
    library, dashes, *compiler = args[write:]
    assert dashes == "--"
    with tempfile.TemporaryDirectory() as directory:
        build = Build(library, compiler, Path(directory))
        check_models(build, write)
        check_paths(build)
        check_failures(build)
        check_size(build)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
