# SPDX-License-Identifier: Apache-2.0
"""What causes which work: every input of a build is changed, one after the other, and the cache tells what was made.

A copy of the tool builds a model of three layers, so that its own files can be changed too.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, note, ok
from tensor_compile.compile import host_programs, toolchain
from tensor_compile.compile.cache import Cache

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
PARTS = ("generator", "templates", "interpreter", "runtime/include", "runtime/hosted", "targets")
MODEL = """
#include <tensor_compile/model.h>
#include "sizes.h"
TC_MODEL(m)
{
    tc_dim n = tc_dynamic(g, "n", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, n, WIDTH);
    tc_weights(g, "m.safetensors");
    x = tc_relu(tc_linear(x, tc_weight(g, "a")));
    x = tc_tanh(tc_linear(x, tc_weight(g, "b")));
    x = tc_softmax(tc_linear(x, tc_weight(g, "c")), 1);
    tc_output(g, "y", x);
}
"""


def weights(path: Path, value: float, width: int = 16) -> None:
    sizes = {"a": (32, width), "b": (48, 32), "c": (64, 48)}
    header, at = {}, 0
    for name, shape in sizes.items():
        count = shape[0] * shape[1]
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<f", value) * (at // 4))


class Place:
    """A folder with a model, a copy of the tool, and what was built last."""

    def __init__(self, folder: Path, tool: Path):
        self.folder, self.tool, self.out = folder, tool, folder / "out"
        folder.mkdir(parents=True)
        (folder / "model.c").write_text(MODEL, encoding="utf-8")
        (folder / "sizes.h").write_text("#define WIDTH 16\n", encoding="utf-8")
        weights(folder / "m.safetensors", 0.25)

    def build(self, *options: str, **environment: str) -> tuple[dict[str, int], bytes]:
        """Builds; returns how many entries of each kind the cache has gained, and object and header."""
        before = self.entries()
        command = [sys.executable, str(self.tool / "generator" / "tensor-compile"), "build", "model.c", "-o", "out",
                   "--depfile", "out/model.d", "--cache", "out/.tensor-compile", *options]
        made = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})
        if made.returncode or made.stdout or made.stderr:
            ok(False, f"builds, and says nothing: {made.returncode} {made.stdout} {made.stderr}")
        gained = {kind: len(now - before.get(kind, set())) for kind, now in self.entries().items()}
        return {kind: n for kind, n in gained.items() if n}, self.outputs()

    def outputs(self) -> bytes:
        return (self.out / "model.o").read_bytes() + (self.out / "model.h").read_bytes()

    def entries(self) -> dict[str, set[str]]:
        root = self.out / ".tensor-compile"
        return {kind: set(os.listdir(root / kind)) for kind in ("host", "objects", "weights", "headers")
                if (root / kind).exists()}

    def depends(self) -> set[str]:
        text = (self.out / "model.d").read_text(encoding="utf-8").replace("\\\n", " ").split(": ", 1)[1]
        return {str(Path(word).relative_to(self.folder)) for word in text.split()
                if Path(word).is_relative_to(self.folder)}


def copy_tool(to: Path) -> Path:
    for part in PARTS:
        shutil.copytree(ROOT / part, to / part, ignore=shutil.ignore_patterns("__pycache__"))
    return to


def give_programs(root: Path) -> None:
    """Puts the build machine's programs of this tool into a cache: no place of the tool is in them."""
    shared = Cache(Path(os.environ["TC_TESTS_CACHE"]))
    compiler = toolchain.detect(("cc",), shared.root, "the compiler")
    for program in (host_programs.capture_library(compiler, shared)[0], host_programs.interpreter(compiler, shared)):
        shutil.copytree(program.parent, root / "host" / program.parent.name)


def append(path: Path, text: str) -> None:
    with open(path, "a", encoding="utf-8") as f:
        f.write(text)


def later(path: Path) -> None:
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns + 1_000_000_000))


with tempfile.TemporaryDirectory() as scratch:
    here = Path(scratch).resolve()
    tool = copy_tool(here / "tool")
    place = Place(here / "model", tool)
    lock, weight_file = place.folder / "model.tuning.lock", place.folder / "m.safetensors"
    isa = os.uname().machine
    one = ("--isa", {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}.get(isa, ""))

    give_programs(place.out / ".tensor-compile")
    gained, first = place.build(*one)
    ok("host" not in gained, "the programs of the build machine are found wherever the tool lies")
    note(f"the first build makes {gained}")
    kernels = gained["objects"]
    equal(place.depends(), {"model.c", "sizes.h", "m.safetensors", "."}, "the depfile names model, header and weights")

    old = os.stat(place.out / "model.o").st_mtime_ns
    stat = os.stat(weight_file)
    weights(weight_file, 0.5)
    os.utime(weight_file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    equal(place.build(*one), ({}, first), "unchanged: nothing is made, and no weight is read")
    ok(os.stat(place.out / "model.o").st_mtime_ns > old, "but the outputs are newer, as Ninja expects")
    equal(place.build(*one, "--jobs", "1"), ({}, first), "another number of jobs")
    weights(weight_file, 0.25)
    later(weight_file)
    equal(place.build(*one), ({}, first), "newer weights with the same content")
    for name in ("model.c", "sizes.h", "out/model.o"):
        later(place.folder / name)
    equal(place.build(*one), ({}, first), "a newer model, header and object with the same content")

    weights(weight_file, 0.75)
    later(weight_file)
    gained, second = place.build(*one)
    equal(gained, {"weights": 1}, "other weights: packed and linked, nothing compiled")
    ok(second != first, "other weights: another object")
    weights(weight_file, 0.25)
    later(weight_file)
    equal(place.build(*one), ({}, first), "the first weights again: all from the cache")

    lock.write_text("# tensor-compile tuning lock 2\n", encoding="utf-8")
    equal(place.build(*one), ({}, first), "a lock that appears and says nothing")
    ok("model.tuning.lock" in place.depends(), "a lock that is there is named in the depfile")
    lock.unlink()
    equal(place.build(*one), ({}, first), "a lock that has gone")
    ok("model.tuning.lock" not in place.depends(), "and is not named any more")

    os.unlink(place.out / "model.h")
    equal(place.build(*one), ({}, first), "a header that was deleted")
    (place.out / "model.o").write_bytes(b"")
    equal(place.build(*one), ({}, first), "an object that was damaged")

    (place.folder / "model.c").write_text(MODEL.replace("tc_tanh", "tc_sigmoid"), encoding="utf-8")
    gained, _ = place.build(*one)
    equal(gained, {"objects": 2}, "another layer: its kernel and the driver")
    (place.folder / "model.c").write_text(MODEL, encoding="utf-8")
    (place.folder / "sizes.h").write_text("#define WIDTH 24\n", encoding="utf-8")
    weights(weight_file, 0.25, 24)
    gained, _ = place.build(*one)
    ok(gained["objects"] < kernels and gained["weights"] == 1, f"another header of the model: {gained}")
    (place.folder / "sizes.h").write_text("#define WIDTH 16\n", encoding="utf-8")
    weights(weight_file, 0.25)
    equal(place.build(*one), ({}, first), "the first model again")

    gained, other = place.build(*one, "--specialize", "n=3")
    ok(other != first and gained["objects"] > 1 and set(gained) == {"objects"}, f"a variant more: {gained}")
    gained, other = place.build(*one, "--cflags=-fno-pic")
    equal(gained["objects"], kernels, "another flag of the compiler: all is compiled")
    equal(place.build(*one), ({}, first), "the first options again")

    append(tool / "generator" / "primitives.def", "/* more */\n")
    gained, same = place.build(*one)
    equal((gained, same == first), ({"host": 3, "weights": 1}, True),
          "the table of primitives: the host's programs, and what the interpreter is made of")
    append(tool / "templates" / "contraction" / "kernel.c.in", "%# more\n")
    equal(place.build(*one), ({}, first), "a remark in a template: the same kernels")
    append(tool / "templates" / "include" / "tc_kernel.h", "/* more */\n")
    gained, same = place.build(*one)
    equal((gained["objects"], same == first), (kernels, True), "a header of the kernels: all is compiled")
    append(tool / "targets" / f"{isa}.toml", "# more\n")
    equal(place.build(*one), ({}, first), "a remark in the target's file: the same kernels")

    # A compiler that fails leaves the outputs of the last build and nothing half-made.
    before = place.entries()
    (place.folder / "model.c").write_text(MODEL.replace("tc_tanh", "tc_erf"), encoding="utf-8")
    room = "No space left on device"
    for name, when, why, code, what in (("compiling", "tck_", "a bug of the compiler", 3, "internal error"),
                                        ("compiling", "tck_", room, 1, f"cannot write: {room}"),
                                        ("linking", "-nostdlib", room, 1, f"cannot write: {room}")):
        broken = here / "cc"
        broken.write_text(f'#!/bin/sh\ncase "$*" in *"{when}"*) echo "{why}" >&2; '
                          'exit 1;; esac\nexec cc "$@"\n', encoding="utf-8")
        broken.chmod(0o755)
        failed = subprocess.run([sys.executable, str(tool / "generator" / "tensor-compile"), "build", "model.c", "-o",
                                 "out", *one, "--cc", str(broken)], cwd=place.folder, capture_output=True, text=True,
                                check=False, env={**os.environ, "TMPDIR": str(here)})
        name = f"{name}: {why}"
        equal((failed.returncode, what in failed.stderr, place.outputs() == first), (code, True, True),
              f"{name}: the outputs are left alone")
        left = [str(path) for path in place.out.rglob("*") if path.name.startswith(("new-", "run-", ".model"))]
        equal(left, [], f"{name}: no unfinished entries")
    ok(all(names <= place.entries()[kind] for kind, names in before.items()), "no entry is taken away")
    (place.folder / "model.c").write_text(MODEL, encoding="utf-8")

    # Elsewhere, with another tool, cache, hash seed and number of jobs: the same bytes.
    elsewhere = Place(here / "other" / "deeper" / "model", copy_tool(here / "other" / "tool"))
    for part in ("generator/primitives.def", "templates/include/tc_kernel.h"):
        shutil.copy(tool / part, here / "other" / "tool" / part)
    shutil.copytree(place.out / ".tensor-compile" / "host", elsewhere.out / ".tensor-compile" / "host")
    _, got = elsewhere.build(*one, "--jobs", "1", PYTHONHASHSEED="4711")
    ok(got == first, "another folder, PYTHONHASHSEED and number of jobs: the same bytes")
done()
