# SPDX-License-Identifier: Apache-2.0
"""The steps of the workflow in docs/tuning.md, run in a repository of their own; and what the commands say."""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, raises, skip
from tensor_compile.cli import arguments

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
ISA = {"x86_64": "x86_64", "aarch64": "neon", "riscv64": "rv64"}.get(os.uname().machine, "")
MODEL = """#include <tensor_compile/model.h>
TC_MODEL(model)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 4, 16), w = tc_input(g, "w", TC_F32, 16, 16);
    tc_output(g, "y", tc_matmul(x, w));
}
"""


def workflow() -> list[str]:
    page = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    return re.findall(r"^ *- run: (.*)$", text, re.MULTILINE)


def main(folder: Path) -> None:
    tool = folder / "bin" / "tensor-compile"
    tool.parent.mkdir()
    # One instruction set, and the tests' cache as the user's: the steps are what matters here.
    cache = Path(os.environ.get("TC_TESTS_CACHE", str(folder / "cache")))
    cache.mkdir(parents=True, exist_ok=True)
    (folder / "tensor-compile").symlink_to(cache)
    tool.write_text(f"""#!/bin/sh
case $1 in build) set -- "$@" --isa {ISA};; esac
exec {ROOT}/generator/tensor-compile "$@"
""", encoding="utf-8")
    tool.chmod(0o755)
    work, remote = folder / "work", folder / "remote"
    environment = os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": "/dev/null",
                                "XDG_CACHE_HOME": str(folder)}

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, shell=True, cwd=work, capture_output=True, text=True, check=False,
                              env=environment)

    work.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    (work / "model.c").write_text(MODEL, encoding="utf-8")
    (work / ".gitignore").write_text("build/\n", encoding="utf-8")
    for command in ("git init -q -b main", "git add .", "git -c user.name=a -c user.email=a@b commit -qm first",
                    f"git remote add origin {remote}", "git push -qu origin main"):
        result = run(command)
        ok(result.returncode == 0, "set up: " + command.replace(str(folder), "")) or note(result.stderr)
    commands = workflow()
    equal(sum("tune -C build" in c for c in commands), 2, "the workflow tunes and prunes")
    for command in commands:
        result = run(command)
        ok(result.returncode == 0, command) or note(result.stdout + result.stderr)
    shown = subprocess.run(["git", "-C", str(remote), "show", "main:model.tuning.lock"], capture_output=True, text=True,
                           check=False).stdout
    equal(shown, (work / "model.tuning.lock").read_text(encoding="utf-8"), "the lock was pushed")
    equal(shown.count("contraction f32 rows=4"), 1, "it has the model's kernel")

    result = run("tensor-compile tune -C build --diff --rounds 2")
    ok(re.search(r"model.c: [01] of 1 kernels would change, one call of each by one thread: .*; nothing written",
                 result.stdout),
       "--diff") or note(result.stdout + result.stderr)
    equal((work / "model.tuning.lock").read_text(encoding="utf-8"), shown, "writes nothing")
    (work / "model.tuning.lock").write_text(shown.replace("rows=4", "rows=5"), encoding="utf-8")
    result = run("tensor-compile tune -C build --prune")
    taken = re.search(r"model.tuning.lock: (1 entry|2 entries) taken out", result.stdout)
    ok("rows=5" in result.stdout and taken, "--prune says what it takes out") or note(result.stdout + result.stderr)
    earlier = shown.replace("lock 2", "lock 1").replace(" -> ", "\n  ")
    for words in ("--prune", "--rounds 2"):
        (work / "model.tuning.lock").write_text(earlier + shown.partition("\n")[2], encoding="utf-8")
        result = run(f"tensor-compile tune -C build {words}")
        text = (work / "model.tuning.lock").read_text(encoding="utf-8")
        ok(result.returncode == 0 and text.startswith(shown.partition("\n")[0]) and text.count("rows=4 ") ==
           shown.count("rows=4 "), f"tune {words} writes one line an entry") or \
            note(result.stdout + result.stderr + text)
    result = run("tensor-compile tune -C build --prune --diff")
    ok(result.returncode == 2 and "--prune measures nothing: it goes without --diff, --all and --budget" in
       result.stderr, "--prune --diff is wrong usage") or note(result.stderr)
    equal([arguments.budget(text) for text in ("90", "120s", "1.5m", "none")], [90, 120, 90, None], "times of --budget")
    ok("a number alone: seconds" in " ".join(run("tensor-compile tune --help").stdout.split()), "in the help, too")
    for text in ("soon", "0s", "-1", "1h"):
        raises(argparse.ArgumentTypeError, lambda text=text: arguments.budget(text),
               "not a time such as 120s, 2m or 120 (seconds): ", text)


if not ISA:
    skip("ci", f"no target of {os.uname().machine}")
else:
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
done()
