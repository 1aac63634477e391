# SPDX-License-Identifier: Apache-2.0
"""examples/setup.sh on machines that lack something: Python's venv or pip, the right to install, a network, a compiler.
Every way either ends with Meson and Ninja or with one line that names a command. The machines are folders of stand-ins,
the only ones on PATH: nothing is installed or downloaded."""
import shutil
import subprocess
import tempfile
from itertools import product
from pathlib import Path

from tap import done, equal, note, ok

SETUP = Path(__file__).resolve().parents[2] / "examples" / "setup.sh"
COMMANDS = ("bash", "basename", "cat", "chmod", "cp", "dirname", "head", "ln", "mkdir", "mv", "rm", "sort")

# What the stand-ins share: `tools FOLDER` puts a Meson and a Ninja there.
TOOLS = """#!/bin/bash
tools() {
    mkdir -p "$1"
    printf '#!/bin/bash\\necho 1.0.0\\n' >"$1/meson"
    cp "$1/meson" "$1/ninja"
    chmod +x "$1/meson" "$1/ninja"
}
"""
# WAYS: which of venv, pip (of the system), apt-get and a download this machine has.
PYTHON = TOOLS + """here=$(dirname "$0")
has() { [[ " $WAYS " = *" $1 "* ]]; }
target() { while [ "$1" != --target ]; do shift; done; tools "$2/bin"; }
case "$*" in
"-m venv "*) has venv || exit 1; mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
"-m pip "*)
    case $here in
    */venv/bin) has network || exit 1; tools "$here" ;;
    *) has pip && has network || exit 1; target "$@" ;;
    esac ;;
*pip.pyz" install "*) has network || exit 1; target "$@" ;;
*pip.pyz) has network || exit 1 ;;
--version) echo "Python $VERSION" ;;
*version_info*) [ "$VERSION" = 3.11.2 ] ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
"""
APT = TOOLS + """[[ " $WAYS " = *" apt "* ]] || exit 100
case "$*" in
*update*) ;;
*meson*) tools "$(dirname "$0")" ;;
*gcc*) printf '#!/bin/bash\\nexit 0\\n' >"$(dirname "$0")/cc"; chmod +x "$(dirname "$0")/cc" ;;
esac
"""


def program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def machine(folder: Path, compiler: bool = True) -> Path:
    """A folder of stand-ins, the PATH of a machine without Meson, and a checkout."""
    shutil.rmtree(folder, ignore_errors=True)
    commands = folder / "bin"
    commands.mkdir(parents=True)
    for name in COMMANDS:
        (commands / name).symlink_to(str(shutil.which(name)))
    program(commands / "python3", PYTHON)
    program(commands / "apt-get", APT)
    program(commands / "id", "#!/bin/bash\necho $USER_ID\n")
    if compiler:
        program(commands / "cc", "#!/bin/bash\nexit 0\n")
    (folder / "checkout" / "examples").mkdir(parents=True)
    shutil.copy(SETUP, folder / "checkout" / "examples")
    return folder


def start(folder: Path, ways: str, root: bool = False, version: str = "3.11.2", then: str = "command -v meson",
          **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(folder / "bin" / "bash"), "-euc", f". checkout/examples/setup.sh; tc_setup; {then}"], cwd=folder,
        capture_output=True, text=True, check=False,
        env={"PATH": str(folder / "bin"), "WAYS": ways, "USER_ID": "0" if root else "1000", "VERSION": version, **more})


def fails(name: str, result: subprocess.CompletedProcess, *messages: str) -> None:
    """Exit code 1 and one line with the messages."""
    lines = result.stderr.splitlines()
    if not ok(result.returncode == 1 and len(lines) == 1 and all(m in lines[0] for m in messages), name):
        note(f"exit code {result.returncode}\n{result.stdout}{result.stderr}")


with tempfile.TemporaryDirectory() as place:
    folder = Path(place).resolve() / "machine"
    tools = folder / "checkout" / "build" / "tools"

    # every machine there is
    for venv, pip, apt, network, root in product((True, False), repeat=5):
        ways = " ".join(way for way, has in (("venv", venv), ("pip", pip), ("apt", apt), ("network", network)) if has)
        name = f"{ways or 'nothing'}{' as root' if root else ''}"
        result = start(machine(folder), ways, root)
        want = tools / "venv" / "bin" if venv and network else tools / "python" / "bin" if pip and network else \
            folder / "bin" if apt and root else tools / "python" / "bin" if network else None
        if want is None:
            fails(f"{name}: one line names the command", result, "as root: apt-get install meson ninja-build")
        elif not equal((result.returncode, result.stdout.splitlines()[-1:], result.stderr), (0, [f"{want}/meson"], ""),
                       f"{name}: Meson and Ninja"):
            note(result.stdout)

    # again, without what it came by
    start(machine(folder), "venv network")
    equal((start(folder, "").stdout, start(folder, "").returncode), (f"{tools}/venv/bin/meson\n", 0),
          "what was set up once is used without a network, and quietly")
    program(tools / "venv" / "bin" / "meson", "#!/bin/bash\necho 0.61.2\n")
    fails("an old Meson does not do", start(folder, ""), "Meson >= 1.0", "apt-get install meson ninja-build")

    # a folder of somebody else: a file in its way stands for the missing permission, which root always has
    machine(folder)
    (folder / "file").touch()
    fails("tools that cannot be written", start(folder, "venv network", TC_TOOLS=str(folder / "file" / "tools")),
          f"no permission to write to {folder}/file/tools", "cp -r ")
    example = 'tc_example "$PWD/checkout/examples/one"'
    fails("a build folder that cannot be written",
          start(folder, "venv network", then=example, TC_BUILD_DIR=str(folder / "file" / "build")),
          f"no permission to write to {folder}/file/build", "cp -r ")
    (folder / "checkout" / "examples" / "one").mkdir()
    (folder / "checkout" / "examples" / "one" / "subprojects").touch()
    fails("an example that cannot be written", start(folder, "venv network", then=example),
          "no permission to write to ", "examples/one/subprojects", "cp -r ")

    # Python and the compiler
    fails("an old Python", start(machine(folder), "venv network", version="3.9.2"),
          "Python >= 3.11 is needed, this is Python 3.9.2", "apt-get install python3")
    (folder / "bin" / "python3").unlink()
    fails("no Python", start(folder, ""), "Python is needed; as root: apt-get install python3")
    fails("no compiler", start(machine(folder, compiler=False), "venv apt network"),
          "A working C compiler is needed; as root: apt-get install gcc libc6-dev")
    equal(start(folder, "venv apt network", root=True).returncode, 0, "which root gets")
    fails("CC that is none", start(machine(folder), "venv network", root=True, CC="no-such-cc -m64"),
          "CC=no-such-cc -m64 is no working C compiler", "unset CC")
    fails("a relative one that is none", start(folder, "venv network", CC="./no-such-cc"),
          f"CC={folder}/./no-such-cc is no working C compiler", "unset CC")
    program(folder / "mycc", "#!/bin/bash\nexit 0\n")
    for given, want in (("./mycc", f"{folder}/./mycc"), ("bin/cc -m64", f"{folder}/bin/cc -m64"),
                        (f"{folder}/mycc", f"{folder}/mycc"), ("cc", "cc"), ("cc ./mycc", "cc ./mycc")):
        result = start(folder, "venv network", then='bash -c \'echo "$CC"\'', CC=given)
        equal((result.returncode, result.stdout.splitlines()[-1:]), (0, [want]),
              f"CC={given.replace(str(folder), '/…')} reaches Meson as a path that holds in every folder")
done()
