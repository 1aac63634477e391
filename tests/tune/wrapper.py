# SPDX-License-Identifier: Apache-2.0
"""`tune -C` of a Meson build directory starts programs as Meson does: by the exe_wrapper of its cross files."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from small_model import ISA, prepare, run
from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import meson_build, tune, tune_model
from tensor_compile.errors import UserError

MESON = os.environ.get("MESON", "meson").split()
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_output(g, "y", tc_exp(tc_input(g, "x", TC_F32, 4)));
}
"""
HOST = """[host_machine]
system = 'linux'
cpu_family = 'arm'
cpu = 'arm'
endian = 'little'
"""
FIRST = """[constants]
root = '/usr' / 'arm'
[binaries]
exe_wrapper = ['first']
"""
SECOND = """[constants]
start = ['env',
         'A=1 2']
[binaries]
exe_wrapper = start + ['-u', root + '-linux', '@DIRNAME@' / 'x', '@GLOBAL_SOURCE_ROOT@', 'C:\\n']
"""


def setup(folder: Path, name: str, *texts: str, relative: bool = False) -> Path:
    """A build directory of Meson's with these cross files."""
    (folder / "meson.build").write_text("project('p')\n", encoding="utf-8")
    words = []
    for i, text in enumerate(texts):
        path = folder / "cross files" / f"{name}{i}.ini"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        words += ["--cross-file", str(path.relative_to(folder)) if relative else str(path)]
    made = subprocess.run([*MESON, "setup", name, ".", *words], cwd=folder, capture_output=True, text=True, check=False)
    ok(made.returncode == 0, f"meson setup {name}") or note(made.stdout + made.stderr)
    return folder / name


def files(folder: Path) -> None:
    equal(meson_build.exe_wrapper(folder), None, "no build directory of Meson's")
    equal(meson_build.exe_wrapper(setup(folder, "native")), None, "a build for this machine")
    wanted = ("env", "A=1 2", "-u", "/usr/arm-linux", str(folder / "cross files" / "x"), str(folder), "C:\\n")
    for relative in (False, True):
        found = meson_build.exe_wrapper(setup(folder, f"cross{relative}", FIRST + HOST, SECOND, relative=relative))
        equal(found and found.command, wanted, f"the last cross file says it{', named from elsewhere' * relative}")
        equal(found and [path.name for path in found.files], [f"cross{relative}{i}.ini" for i in (0, 1)], "those are")
    word = setup(folder, "word", "[binaries]\nexe_wrapper = 'env'\n" + HOST)
    equal(getattr(meson_build.exe_wrapper(word), "command", None), ("env",), "one word")
    equal(meson_build.exe_wrapper(setup(folder, "none", HOST)), None, "a board without one")
    for name, text in (("needless", "[properties]\nneeds_exe_wrapper = false\n" + FIRST + HOST),
                       ("alike", FIRST + HOST.replace("'arm'", f"'{os.uname().machine}'"))):
        equal(meson_build.exe_wrapper(setup(folder, name, text)), None, f"{name}: programs run here")
    (folder / "cross files" / "word0.ini").write_text("[binaries]\nexe_wrapper = [f()]\n")
    raises(UserError, lambda: meson_build.exe_wrapper(word),
           "cannot read the exe_wrapper of this build: f() is nothing", "a cross file that was spoilt since")
    (folder / "cross files" / "word0.ini").unlink()
    equal(meson_build.exe_wrapper(word), None, "one that is gone")


def tuned(folder: Path) -> None:
    prepare(folder, MODEL)
    out = setup(folder, "out", "[binaries]\nexe_wrapper = ['env', '-u', 'X']\n" + HOST)
    built = run(folder, "build", "model.c", "-o", "out", "--isa", ISA)
    equal(built.returncode, 0, "built") or note(built.stderr)
    real = tune_model.search

    def search(options: object, request: tune_model.Request, *_: object) -> tune.Result:
        print("wrapper", request.wrapper, flush=True)
        return tune.Result()
    tune_model.search = search
    told = run(folder, "tune", "-C", "out")
    ok(told.stdout.startswith("out: kernels are run by the exe_wrapper of cross files/out0.ini: env -u X\n"
                              "wrapper ('env', '-u', 'X')\n"), "it is taken, and a line says so") or note(told.stdout)
    for given, wanted in (("nice", "('nice',)"), ("", "()")):
        told = run(folder, "tune", "-C", "out", "--exe-wrapper", given)
        ok(told.stdout.startswith(f"wrapper {wanted}\n"), f"the user says {given or 'none'}") or note(told.stdout)
    tune_model.search = real
    shutil.rmtree(out)


if not shutil.which(MESON[0]):
    skip("wrapper", "no Meson here")
else:
    with tempfile.TemporaryDirectory() as name:
        files(Path(name).resolve())
    with tempfile.TemporaryDirectory() as name:
        if ISA:
            tuned(Path(name).resolve())
        else:
            skip("tuned", f"no target of {os.uname().machine}")
done()
