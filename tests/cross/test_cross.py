# SPDX-License-Identifier: Apache-2.0
"""A consumer project, built natively and for other machines through Meson's cross files and exe_wrapper: the same bits
everywhere. On the bare-metal board the image holds no heap and no stdio."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tap import done, equal, note, ok, skip
from tensor_compile.compile import elf

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MESON = os.environ.get("MESON", "meson").split()
LINUX = {
    "aarch64": ("aarch64-linux-gnu", "aarch64", "armv8-a", "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu", "riscv64", "rv64gc", "qemu-riscv64"),
}
M4F = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]


def words(values: list[str]) -> str:
    return "[" + ", ".join("'" + v + "'" for v in values) + "]"


def linux_cross(triplet: str, family: str, cpu: str, emulator: str) -> str:
    return f"""[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
strip = '{triplet}-strip'
exe_wrapper = {words([emulator, '-L', f'/usr/{triplet}'])}
[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{cpu}'
endian = 'little'
"""


def board_cross(folder: Path) -> str:
    startup = folder / "startup.o"
    subprocess.run(["arm-none-eabi-gcc", "-std=c11", "-O2", *M4F, "-c", str(HERE / "m4f" / "startup.c"), "-o",
                    str(startup)], check=True)
    wrapper = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native",
               "-kernel"]
    return f"""[binaries]
c = 'arm-none-eabi-gcc'
ar = 'arm-none-eabi-ar'
strip = 'arm-none-eabi-strip'
exe_wrapper = {words(wrapper)}
[built-in options]
c_args = {words(M4F)}
c_link_args = {words([*M4F, '-nostartfiles', '-T', str(HERE / 'm4f' / 'link.ld'), str(startup)])}
[host_machine]
system = 'none'
cpu_family = 'arm'
cpu = 'cortex-m4'
endian = 'little'
"""


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def build(project: Path, name: str, cross: str | None) -> Path | None:
    """The program, built in a folder of its own; notes what went wrong."""
    out = project / f"build-{name}"
    options = []
    if cross is not None:
        (project / f"{name}.ini").write_text(cross, encoding="utf-8")
        options = ["--cross-file", str(project / f"{name}.ini")]
    for command in ([*MESON, "setup", str(out), str(project), *options], [*MESON, "compile", "-C", str(out)],
                    [*MESON, "test", "-C", str(out)]):
        result = run(command)
        if result.returncode:
            note(f"{' '.join(command)}: exit code {result.returncode}")
            note(result.stdout[-3000:] + result.stderr[-3000:])
            return None
    return next(p for p in (out / "main", out / "main.exe") if p.exists())


with tempfile.TemporaryDirectory() as folder:
    project = Path(folder) / "consumer"
    shutil.copytree(HERE / "consumer", project)
    shutil.copy(ROOT / "examples" / "digits" / "digits.safetensors", project)
    (project / "subprojects").mkdir()
    (project / "subprojects" / "tensor-compile").symlink_to(ROOT)

    native = build(project, "native", None)
    if not ok(native, "native: configures, builds and runs"):
        done()
    want = run([str(native)]).stdout
    equal(len(want.splitlines()), 8, "native: two outputs for each of four batches")

    for name, (triplet, family, cpu, emulator) in LINUX.items():
        if not shutil.which(f"{triplet}-gcc") or not shutil.which(emulator):
            skip(name, f"{triplet}-gcc or {emulator} is not installed")
            continue
        program = build(project, name, linux_cross(triplet, family, cpu, emulator))
        if ok(program, f"{name}: configures, builds and runs under the emulator"):
            equal(run([emulator, "-L", f"/usr/{triplet}", str(program)]).stdout, want, f"{name}: the native bits")

    if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
        skip("cortex-m4f", "arm-none-eabi-gcc or qemu-system-arm is not installed")
    else:
        program = build(project, "cortex-m4f", board_cross(Path(folder)))
        if ok(program, "cortex-m4f: configures, builds and runs on the emulated board"):
            got = run(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting-config",
                       "enable=on,target=native", "-kernel", str(program)], timeout=300)
            equal(got.stdout + got.stderr, want, "cortex-m4f: the native bits")
            image = elf.read(program)
            names = {s.name for s in image.symbols}
            heap = sorted(n for n in names if any(w in n for w in ("malloc", "calloc", "printf", "fopen", "_sbrk",
                                                                   "_write", "stdout")))
            equal(heap, [], "cortex-m4f: no heap and no stdio in the image")
            note(f"cortex-m4f: {image.size('code') + image.size('rodata')} bytes of code and constants, "
                 f"{image.size('data') + image.size('bss')} of data")
done()
