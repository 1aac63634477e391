# SPDX-License-Identifier: Apache-2.0
"""Copies of installed packages that find a processor without AVX-512 and AMX.

ONEDNN_MAX_CPU_ISA holds oneDNN to AVX2. OpenVINO computes linear layers by MLAS, as ONNX Runtime does everything, and
MLAS asks the processor alone. In the copies each `cpuid` instruction is a trap, which held.so (held.c) answers:

    python bench/peers/held.py /tmp/held openvino onnxruntime
    PYTHONPATH=/tmp/held LD_PRELOAD=/tmp/held/held.so ONEDNN_MAX_CPU_ISA=AVX2 … bench/peers/run.py --isa avx2 …

Needs objdump and a C compiler; x86-64 with Linux.
"""
from __future__ import annotations

import argparse
import importlib.util
import platform
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CPUID, TRAP = b"\x0f\xa2", b"\xcc\x90"   # int3; nop
CODE = 1                                 # a segment's flag: it is executable
LOADED = 1                               # a segment's type


def segments(image: bytes) -> list[tuple[int, int, int]]:
    """The segments of code of a 64-bit ELF file: (address, offset in the file, bytes)."""
    table, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    found = []
    for at in range(table, table + size * count, size):
        kind, flags, offset, address, _, length = struct.unpack_from("<IIQQQQ", image, at)
        if kind == LOADED and flags & CODE:
            found.append((address, offset, length))
    return found


def trapped(library: Path) -> int:
    """Puts a trap in the place of each `cpuid` of a library. Returns how many there are."""
    image = bytearray(library.read_bytes())
    code = segments(bytes(image))
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(library)], capture_output=True, text=True,
                             check=True).stdout
    count = 0
    for place in re.findall(r"^\s*([0-9a-f]+):\s+cpuid\s*$", listing, re.MULTILINE):
        address = int(place, 16)
        offset = next(address - start + at for start, at, length in code if start <= address < start + length)
        assert image[offset:offset + 2] == CPUID, f"{library.name} has no cpuid at {address:x}"
        image[offset:offset + 2] = TRAP
        count += 1
    if count:
        library.write_bytes(image)
    return count


def preloaded(folder: Path) -> Path:
    """The library that answers the traps, made in a folder."""
    made = folder / "held.so"
    subprocess.run(["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC",
                    str(HERE / "held.c"), "-o", str(made)], check=True)
    return made


def installed(package: str) -> Path:
    """The folder of a package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"there is no package {package}")
    return Path(spec.submodule_search_locations[0])


def copy(source: Path, folder: Path) -> None:
    to = folder / source.name
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(source, to)
    for path in sorted(to.rglob("*.so*")):
        if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF" and (count := trapped(path)):
            print(f"{path.relative_to(folder)}: {count} traps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the copies go")
    parser.add_argument("packages", nargs="+", metavar="package", help="a package that this Python finds")
    args = parser.parse_args()
    if platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        raise SystemExit("held.py needs x86-64 with Linux")
    for tool in ("objdump", "cc"):
        if not shutil.which(tool):
            raise SystemExit(f"held.py needs {tool}")
    sources = [installed(package) for package in args.packages]
    args.folder.mkdir(parents=True, exist_ok=True)
    preloaded(args.folder)
    for source in sources:
        copy(source, args.folder)


if __name__ == "__main__":
    main()
