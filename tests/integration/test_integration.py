# SPDX-License-Identifier: Apache-2.0
"""Real consumers: a project that takes this one through a wrap (generator, custom_target, native twin; native and
cross), an installed tool with pkg-config, rebuilds that do only what is needed, and builds that give the same bytes."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MESON = os.environ.get("MESON", "meson").split()
PARTS = ("generator", "templates", "interpreter", "autotune", "runtime", "targets", "meson.build", "meson_options.txt")
EMULATED = {"aarch64": "aarch64-linux-gnu", "riscv64": "riscv64-linux-gnu"}


def run(*command: object, **more) -> subprocess.CompletedProcess:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **more)
    if result.returncode:
        note(f"{' '.join(map(str, command))}: exit code {result.returncode}")
        note(result.stdout[-3000:] + result.stderr[-3000:])
    return result


def good(name: str, *command: object, **more) -> bool:
    return ok(run(*command, **more).returncode == 0, name)


def archive(folder: Path) -> Path:
    """This project as a release would be packed."""
    path = folder / "tensor-compile-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for part in PARTS:
            tar.add(ROOT / part, f"tensor-compile-0.1.0/{part}",
                    filter=lambda info: None if "__pycache__" in info.name else info)
    return path


def consumer(folder: Path, source: Path) -> Path:
    project = folder / "consumer"
    shutil.copytree(HERE / "consumer", project)
    (project / "subprojects").mkdir()
    (project / "subprojects" / "tensor-compile.wrap").write_text(f"""[wrap-file]
directory = tensor-compile-0.1.0
source_url = {source.as_uri()}
source_filename = {source.name}
source_hash = {hashlib.sha256(source.read_bytes()).hexdigest()}
""", encoding="utf-8")
    return project


def cross_file(folder: Path, family: str, triplet: str) -> Path:
    path = folder / f"{family}.ini"
    path.write_text(f"""[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
exe_wrapper = ['qemu-{family}', '-L', '/usr/{triplet}']
[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{family}'
endian = 'little'
""", encoding="utf-8")
    return path


def entries(commands: Path, source: Path) -> list[dict]:
    """What compile_commands.json says of a file."""
    return [e for e in json.loads(commands.read_text(encoding="utf-8"))
            if (Path(e["directory"]) / e["file"]).resolve() == source.resolve()]


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    project = consumer(folder, archive(folder))
    build = folder / "native"
    if good("wrap: configures", *MESON, "setup", build, project):
        good("wrap: builds", *MESON, "compile", "-C", build)
        good("wrap: generator, custom_target and native twin run", *MESON, "test", "-C", build)
        equal("no work to do" in run("ninja", "-C", build).stdout, True, "an unchanged project has nothing to do")
        commands = build / "compile_commands.json"
        models = entries(commands, project / "model.c")
        equal(len(models), 3, "compile_commands.json names model.c, once a build of it")
        good("and how it compiles", *models[0]["arguments"], "-Werror", "-fsyntax-only", cwd=models[0]["directory"])
        good("a second configuration", *MESON, "setup", "--reconfigure", build, project)
        equal(entries(commands, project / "model.c"), models, "leaves it there")
        ok(entries(commands, project / "main.c"), "beside what Meson compiles")
        os.utime(project / "model.c")
        first = run("ninja", "-C", build, "-v").stdout
        ok("model.c" in first and "no work to do" in run("ninja", "-C", build).stdout,
           "a touched model is looked at once")
        (project / "sizes.h").write_text("enum { COLUMNS = 7 };\n")
        run("ninja", "-C", build)
        good("a changed header of the model reaches the program", *MESON, "test", "-C", build)
        (project / "model.tuning.lock").write_text("# tensor-compile tuning lock 2\n")
        ok("tensor-compile build" in run("ninja", "-C", build, "-v").stdout, "a tuning lock that appears is seen")
        equal("no work to do" in run("ninja", "-C", build).stdout, True, "once")
        (project / "model.tuning.lock").unlink()
        run("ninja", "-C", build)
        equal("no work to do" in run("ninja", "-C", build).stdout, True, "and one that goes leaves nothing to do")
        good("installs what it offers", *MESON, "install", "-C", build, "--destdir", folder / "staged")
        ok(list((folder / "staged").rglob("model.h")), "the custom target's header is installed")

    for family, triplet in EMULATED.items():
        if not shutil.which(f"{triplet}-gcc") or not shutil.which(f"qemu-{family}"):
            skip(f"wrap: {family}", f"{triplet}-gcc or qemu-{family} is not installed")
            continue
        out = folder / family
        if good(f"wrap: configures for {family}", *MESON, "setup", out, project, "--cross-file",
                cross_file(folder, family, triplet)):
            good(f"wrap: builds for {family}", *MESON, "compile", "-C", out)
            good(f"wrap: runs for {family}, its native twin too", *MESON, "test", "-C", out)

    # installed
    prefix, staged = folder / "usr", folder / "install"
    if good("installed: configures", *MESON, "setup", staged, ROOT, f"-Dprefix={prefix}", "-Dtests=false") and \
            good("installed: installs", *MESON, "install", "-C", staged):
        tool = prefix / "bin" / "tensor-compile"
        out = folder / "by-hand"
        alone = dict(os.environ, XDG_CACHE_HOME=str(folder / "of-user"))
        good("installed: the tool builds", tool, "build", project / "model.c", "-o", out, env=alone)
        equal(sorted(p.name for p in (folder / "of-user" / "tensor-compile").iterdir()),
              [".gitignore", "compilers", "headers", "lock"],
              "installed: the capture library and the interpreter are there already")
        good("installed: the tool checks", tool, "check", project / "model.c", "--build-cache", folder / "checked")
        if shutil.which("pkg-config"):
            paths = ":".join(str(p.parent) for p in prefix.rglob("tensor-compile.pc"))
            words = run("pkg-config", "--cflags", "--libs", "--static", "tensor-compile",
                        env=dict(os.environ, PKG_CONFIG_PATH=paths)).stdout.split()
            good("installed: links by pkg-config", "cc", "-std=c11", project / "main.c", out / "model.o", f"-I{out}",
                 f"-I{project}", *words, "-o", out / "program")
            good("installed: the program runs", out / "program")
        else:
            skip("installed: links by pkg-config", "pkg-config is not installed")

    # the same bytes, whatever the folder, the hash seed and the number of jobs
    bytes_of = []
    for seed, jobs, where in (("1", "1", "one"), ("2", "4", "another/longer place")):
        copy = folder / where / "consumer"
        shutil.copytree(HERE / "consumer", copy)
        run(sys.executable, ROOT / "generator" / "tensor-compile", "build", copy / "model.c", "-o", copy / "out", "-j",
            jobs, "--specialize", "batch=1,4", cwd=copy, env=dict(os.environ, PYTHONHASHSEED=seed))
        bytes_of.append([(copy / "out" / name).read_bytes() for name in ("model.o", "model.h")])
    equal(bytes_of[0][0], bytes_of[1][0], "the object is the same byte for byte")
    equal(bytes_of[0][1], bytes_of[1][1], "and the header")
    ok(str(folder).encode() not in bytes_of[0][0] and str(ROOT).encode() not in bytes_of[0][0],
       "neither names a folder of this machine")
done()
