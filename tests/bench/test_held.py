# SPDX-License-Identifier: Apache-2.0
"""Libraries in which bench/peers/held.py has put traps find a processor without AVX-512 and AMX, else as it is."""
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import done, equal, skip

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
import held

LIBRARY = r"""
#include <cpuid.h>
void ask(unsigned leaf, unsigned sub, unsigned *out)
{
    __cpuid_count(leaf, sub, out[0], out[1], out[2], out[3]);
}
"""

PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for leaf, sub in ((0, 0), (7, 0), (7, 1), (0x80000002, 0)):
    out = (ctypes.c_uint * 4)()
    library.ask(leaf, sub, out)
    print(*out)
"""

AVX2, AVX512F, AMX_TILE, AVX_VNNI = 1 << 5, 1 << 16, 1 << 24, 1 << 4


def answers(library: Path, preload: Path) -> list[list[int]]:
    result = subprocess.run([sys.executable, "-c", PROGRAM, str(library)], capture_output=True, text=True, check=True,
                            env=os.environ | {"LD_PRELOAD": str(preload)})
    return [[int(x) for x in line.split()] for line in result.stdout.splitlines()]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, plain, copied = folder / "ask.c", folder / "plain.so", folder / "copied.so"
        source.write_text(LIBRARY, encoding="utf-8")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", str(plain)], check=True)
        shutil.copy(plain, copied)
        equal(held.trapped(copied), 1, "the one cpuid of a library becomes a trap")
        preload = held.preloaded(folder)
        there, found = answers(plain, preload), answers(copied, preload)
        equal((found[0], found[3]), (there[0], there[3]), "the vendor and the name are the processor's")
        equal(found[1][1] & AVX512F, 0, "there is no AVX-512")
        equal(found[1][3] & AMX_TILE, 0, "there is no AMX")
        equal(found[2][0] & AVX_VNNI, 0, "there is no AVX-VNNI")
        equal(found[1][1] & AVX2, there[1][1] & AVX2, "AVX2 is there where the processor has it")


if platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
    skip("libraries held to AVX2", "only on x86-64 with Linux")
elif not shutil.which("objdump"):
    skip("libraries held to AVX2", "needs objdump")
else:
    main()
done()
