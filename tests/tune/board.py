# SPDX-License-Identifier: Apache-2.0
"""`tune --count`: instructions of an emulated Cortex-M and of programs under an emulator, cycles of a board that speaks
over a serial line. The boards are emulated."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tap import done, equal, note, ok, raises, skip
from tensor_compile.compile import counting, tune
from tensor_compile.errors import UserError

ROOT = Path(os.environ["TC_SOURCE_ROOT"])
BOARD = ROOT / "autotune" / "board"
SOURCE = """#include <tensor_compile/model.h>
TC_MODEL(little)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 4, 32), w = tc_input(g, "w", TC_F32, 32, 24);
    tc_output(g, "y", tc_relu(tc_matmul(x, w)));
}
"""
QEMU = ["qemu-system-arm", "-M", "mps2-an386", "-icount", "shift=0", "-nographic"]
SEMIHOSTING = ["-semihosting-config", "enable=on,target=native"]
LINK = f"-nostartfiles -T {BOARD / 'mps2-an386.ld'} {BOARD / 'cortex-m.c'}"
ENTRY = re.compile(r" -> (\S+) (\S+) (\S+ ?\S*), gcc")


def tool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "generator" / "tensor-compile"), *words], capture_output=True,
                          text=True, check=False)


def tuned(folder: Path, *words: str) -> list[tuple[str, str, str]]:
    """Candidate, count and unit of the lock's entries after `tune`."""
    result = tool("tune", "-C", str(folder / "build"), *words)
    if not ok(result.returncode == 0, f"tune {words[1]}"):
        note(result.stdout + result.stderr)
        return []
    return ENTRY.findall((folder / "model.tuning.lock").read_text(encoding="utf-8"))


def refused(folder: Path, want: str, *words: str) -> None:
    result = tool("tune", "-C", str(folder / "build"), *words)
    if not ok(result.returncode == 1 and want in result.stderr, f"error: {want}"):
        note(result.stdout + result.stderr)


def built(folder: Path, target: str, cc: str, *words: str) -> bool:
    folder.mkdir(exist_ok=True)
    (folder / "model.c").write_text(SOURCE, encoding="utf-8")
    result = tool("build", str(folder / "model.c"), "-o", str(folder / "build"), "--target-file", target, "--cc", cc,
                  *words)
    if not ok(result.returncode == 0, f"a build for {target}"):
        note(result.stderr)
    return result.returncode == 0


def cortex_m(folder: Path) -> None:
    if not built(folder, "cortex-m4f", "arm-none-eabi-gcc"):
        return
    wrapper = " ".join([*QEMU, *SEMIHOSTING, "-kernel"])
    found = tuned(folder, "--count", "instructions", "--exe-wrapper", wrapper, "--link-args", LINK)
    equal([unit for _, _, unit in found], ["instructions emulated"], "the lock says what was counted")
    equal(found and found[0][0].startswith("tc_contraction_f32_4x4"), True, "the tile of the fewest instructions wins")
    # 4 x 24 x 32 multiply-adds, each at least one instruction and a part of a load
    ok(bool(found) and 1.5 <= float(found[0][1]) / (4 * 24 * 32) <= 8, f"a count that can be: {found}")
    equal(tuned(folder, "--count", "instructions", "--exe-wrapper", wrapper, "--link-args", LINK, "--all"), found,
          "the same count again")
    result = tool("build", str(folder / "model.c"), "-o", str(folder / "build"), "--target-file", "cortex-m4f", "--cc",
                  "arm-none-eabi-gcc", "--tune", "frozen")
    equal(result.returncode, 0, "a frozen build takes it")
    serial(folder)
    refused(folder, "cortex-m4f has no clock that tells the time of a call", "--count", "time")
    refused(folder, "instructions of a Cortex-M are counted by an emulator whose time is instructions", "--count",
            "instructions", "--exe-wrapper", "qemu-system-arm")
    refused(folder, "the measuring harness does not link:\n", "--count", "cycles", "--all")
    refused(folder, "only 0 of 1 kernels came back from the board; its last line: none", "--count",
            "cycles", "--all", "--link-args", LINK, "--exe-wrapper", "true")


def serial(folder: Path) -> None:
    """A board whose UART is a terminal here: its lines arrive there, and nothing else."""
    main, line = os.openpty()
    said = folder / "uart"
    os.mkfifo(said)

    def wire() -> None:
        with open(said, "rb", buffering=0) as sent:
            while data := sent.read(256):
                os.write(main, data)
    threading.Thread(target=wire, daemon=True).start()
    load = " ".join([*QEMU, "-monitor", "none", "-chardev", f"file,id=u,path={said}", "-serial", "chardev:u",
                     "-kernel {}"])
    wrapper = f"{sys.executable} {BOARD / 'run.py'} --serial {os.ttyname(line)} --timeout 30 --load '{load}'"
    found = tuned(folder, "--count", "cycles", "--exe-wrapper", wrapper, "--link-args", f"-DUART=0x40004000 {LINK}",
                  "--rounds", "3")
    equal([unit for _, _, unit in found], ["cycles"], "cycles of a board over a serial line")
    os.close(main)
    os.close(line)


def user_programs(folder: Path) -> None:
    if not built(folder, "aarch64", "aarch64-linux-gnu-gcc", "--cflags=-static"):
        return
    found = tuned(folder, "--count", "instructions", "--exe-wrapper", "qemu-aarch64", "--link-args=-static")
    equal([unit for _, _, unit in found], ["instructions emulated"], "instructions of programs under an emulator")
    ok(bool(found) and 0.25 <= float(found[0][1]) / (4 * 24 * 32) <= 2, f"a count that can be: {found}")
    refused(folder, "cycles are counted on Cortex-M, aarch64 is another processor", "--count", "cycles")
    refused(folder, "instructions are counted by an emulator of user programs", "--count", "instructions",
            "--exe-wrapper", "true")
    raises(UserError, lambda: counting.counted(["./none"], ["cc"], folder),
           "the emulator does not start: No such file or directory: ./none", "error: an emulator that is not there")
    wrapper, file = counting.counted(["qemu-aarch64"], ["cc"], folder)
    counts = []
    for turns in (1_000_000, 3_000_000):
        (folder / "loop.c").write_text(f"""int main(void)
{{
    long left = {turns};
    __asm__ volatile("1: subs %0, %0, #1\\n\\tb.ne 1b" : "+r"(left) : : "cc");
    return 0;
}}""", encoding="utf-8")
        subprocess.run(["aarch64-linux-gnu-gcc", "-static", str(folder / "loop.c"), "-o", str(folder / "loop")],
                       check=True)
        file.write_bytes(bytes(8))
        subprocess.run([*wrapper, str(folder / "loop")], check=True)
        counts.append(int.from_bytes(file.read_bytes()[:8], "little"))
    ok(abs(counts[1] - counts[0] - 4_000_000) < 1000, f"two million more turns are four million instructions: {counts}")


reader = tune.Reader(tune.Result("cycles"))
for text in ("case K", "beyond tc_contraction_f32_4x4__m4f"):
    reader.line(text)
equal(reader.result.beyond, {"K"}, "a call that is longer than the counter counts")
raises(UserError, lambda: reader.line("failed no memory for K"), "nothing can be measured there: no memory for K",
       "error: what a board says")
with tempfile.TemporaryDirectory() as name:
    if shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm"):
        cortex_m(Path(name) / "m4")
    else:
        skip("a Cortex-M", "arm-none-eabi-gcc or qemu-system-arm is not installed")
    if shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64"):
        user_programs(Path(name) / "a64")
    else:
        skip("programs under an emulator", "aarch64-linux-gnu-gcc or qemu-aarch64 is not installed")
done()
