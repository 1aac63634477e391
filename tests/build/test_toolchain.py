# SPDX-License-Identifier: Apache-2.0
"""Which flags of the host reach a kernel, what compilers are, and that equal sources give equal objects."""
import errno
import os
import resource
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from tap import done, equal, ok, raises, skip
from tensor_compile import target
from tensor_compile.compile import budget, compiled_for, cuda_image, cuda_target, elf, link, objects, toolchain
from tensor_compile.compile.budget import Line
from tensor_compile.compile.cache import Cache
from tensor_compile.compile.options import Options
from tensor_compile.errors import UserError


def kept(flags: str, arch: str) -> str:
    return " ".join(toolchain.host_flags(tuple(flags.split()), arch))


def refused(*_: object) -> int:
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


equal(kept("-O0 -g -Wall -flto -fsanitize=address -DX -Iinc --coverage -ffast-math -pg", "x86_64"), "",
      "optimisation, sanitizers, LTO, coverage and fast-math stay out")
equal(kept("-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -O2", "arm"), "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard",
      "processor and ABI pass")
equal(kept("-mcpu=native -march=native -mtune=native", "aarch64"), "", "native does not")
equal(kept("-march=haswell -mavx512f -mno-sse3 -mcmodel=large -mno-red-zone", "x86_64"), "-mcmodel=large -mno-red-zone",
      "x86: the kernel's own instruction set decides, other -m flags pass")
equal(kept("--sysroot=/s -isysroot /t -ffile-prefix-map=/a=b -fPIE", "aarch64"),
      "--sysroot=/s -isysroot /t -ffile-prefix-map=/a=b -fPIE", "sysroot, prefix maps and PIE pass")
raises(UserError, lambda: kept("-m32", "x86_64"), "-m32: 32-bit x86 is not supported", "-m32 is refused")

with tempfile.TemporaryDirectory() as folder:
    cache = Cache(Path(folder) / "cache")
    raises(UserError, lambda: toolchain.detect(("no-such-cc",), cache.root, "the compiler"), "not found: no-such-cc",
           "a compiler that is not there")
    for name, script, message in (
            ("none", "echo something 1.2.3", "the compiler does not answer"),
            ("other", "echo Tiny", "is neither GCC nor Clang: "),
            ("old", "echo gcc 9.4.0", "the compiler is too old: gcc 9.4.0"),
            ("mute", "exit 7", "the compiler does not answer --version: ")):
        program = Path(folder) / name
        program.write_text(f"#!/bin/sh\n{script}\n" if name != "none" else
                           "#!/bin/sh\n[ $1 = --version ] && echo gcc 12.2.0 || exit 1\n", encoding="utf-8")
        program.chmod(0o755)
        raises(UserError, lambda: toolchain.detect((str(program),), cache.root, "the compiler"), message,
               f"a program that is none: {name}")
    for name, script, message in (
            ("mute-nvcc", "exit 7", "nvcc does not answer --version: "),
            ("old-nvcc", "echo 'release 11.8, V11.8.89'", "nvcc is too old: V11.8.89"),
            ("other-nvcc", "echo Tiny", "no CUDA compiler: ")):
        program = Path(folder) / name
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        raises(UserError, lambda: cuda_image.detect((str(program),)), message, f"a program that is no nvcc: {name}")
    good = Path(folder) / "nvcc"
    good.write_text("#!/bin/sh\necho 'release 13.0, V13.0.1'; echo sm_50\n", encoding="utf-8")
    good.chmod(0o755)
    gpu = target.load(target.find("cuda-sm80"))
    asked = Options("m.c", "m.c", "m.o", "m.h", "cache", nvcc=(str(good),))
    raises(UserError, lambda: cuda_target.Cuda().compile(asked, gpu, None, None, None, None, None),
           f"nvcc V13.0.1 makes no code for {gpu.isas[0]}", "an architecture that nvcc does not know")
    raises(UserError, lambda: cuda_target.Cuda().target(asked, replace(gpu, flags=("-O1",)), None),
           "the target cuda-sm80 has flags, which a GPU's does not take", "flags of a GPU")
    (Path(folder) / "text").write_text("no program", encoding="utf-8")
    (Path(folder) / "text").chmod(0o755)
    raises(UserError, lambda: toolchain.detect((str(Path(folder) / "text"),), cache.root, "the compiler"),
           f"the compiler does not run: {folder}/text: ", "a file that is no program")
    raises(UserError, lambda: cuda_image.detect((str(Path(folder) / "text"),)), "nvcc does not run: ", "nor nvcc")
    if shutil.which("arm-none-eabi-gcc"):
        arm = toolchain.detect(("arm-none-eabi-gcc",), cache.root, "the compiler")
        board = Options("m.c", "m.c", "m.o", "m.h", str(cache.root), cc=arm.command)
        hard = "-mthumb -mfloat-abi=hard"
        for flags, wanted in (("-mcpu=cortex-m0 -mthumb", "cortex-m0plus"), ("-mcpu=cortex-m3 -mthumb", "cortex-m0plus"),
                              ("-mcpu=cortex-m23 -mthumb", "cortex-m0plus"), ("-mcpu=cortex-m4", "cortex-m0plus"),
                              (f"-mcpu=cortex-m33 {hard}", "cortex-m4f"),
                              (f"-mcpu=cortex-m7 {hard} -mfpu=fpv5-d16", "cortex-m4f"),
                              (f"-mcpu=cortex-m55 {hard}", "cortex-m55"), ("-mcpu=cortex-a9", ""), ("-mthumb", "")):
            given = replace(board, cflags=tuple(flags.split()))
            equal(compiled_for.suited(given, arm), wanted, f"the target of {flags}")
            if wanted:
                compiled_for.require(given, target.load(target.find(wanted)), arm)
        m4f, m55 = (target.load(target.find(name)) for name in ("cortex-m4f", "cortex-m55"))
        compiled_for.require(board, m4f, arm)
        needs = " compiles for a processor or an ABI without "
        for flags, asked_for, message in (
                ("-mcpu=cortex-m0plus -mthumb", m4f, f"-mcpu=cortex-m0plus{needs}ARM_FPU (__ARM_FEATURE_FMA): the "
                 "instruction set m4f needs it"),
                ("-mcpu=cortex-m4 -mthumb", m4f, f"-mcpu=cortex-m4{needs}ARM_FPU (__ARM_FEATURE_FMA): the "
                 "instruction set m4f needs it"),
                (f"-mcpu=cortex-m33 {hard}", m55, f"-mcpu=cortex-m33 -mfloat-abi=hard{needs}HELIUM "
                 "(__ARM_FEATURE_MVE): the instruction set m55 needs it"),
                ("", m4f.with_isas(("m55",)), f"{' '.join(m4f.flags)}{needs}HELIUM (__ARM_FEATURE_MVE): the "
                 "instruction set m55 needs it"),
                ("-mcpu=cortex-m99", m4f, "arm-none-eabi-gcc -mcpu=cortex-m99 does not run: ")):
            raises(UserError, lambda: compiled_for.require(replace(board, cflags=tuple(flags.split())), asked_for, arm),
                   message, f"{flags or 'no flags'} do not go with {' '.join(asked_for.isas)}")
    else:
        skip("arm-none-eabi-gcc", "arm-none-eabi-gcc is not installed")
    for command, arch, isa in (("gcc", "x86_64", "avx2"), ("clang", "x86_64", "avx512"),
                               ("aarch64-linux-gnu-gcc", "aarch64", "neon"),
                               ("riscv64-linux-gnu-gcc", "riscv64", "rv64"), ("arm-none-eabi-gcc", "arm", "m0")):
        if not shutil.which(command):
            skip(command, f"{command} is not installed")
            continue
        found = toolchain.detect((command,), cache.root, "the compiler")
        if command == "gcc" and found.arch != arch:
            skip(command, f"this machine is {found.arch}")
            continue
        equal(found.arch, arch, f"{command}: architecture")
        flags = toolchain.kernel_flags(found, isa, (), (), arch)
        hidden = objects.Unit("hidden", "int shared(int x) { return x + 1; }", flags)
        public = objects.Unit("public", "int shared(int); __attribute__((visibility(\"default"
                                        "\"))) int entry(int x) { return shared(x); }", flags)
        place_text = "__attribute__((section(\".rodata.held\"), visibility(\"hidden\"))) const char held = 0;"
        held, payload = objects.Unit("held", place_text, flags), Path(folder) / "payload"
        payload.write_bytes(b"larger than the byte that it replaces" * 100)
        results = []
        for place in ("one", "two"):
            other = Cache(Path(folder) / place / command)
            made = objects.compile_units([hidden, public, held], found, other, 2)
            with other.scratch() as scratch:
                out = Path(folder) / place / f"{command}.o"
                link.relocatable([o.path for o in made], out, found, (), Path(scratch), {".rodata.held": payload})
            results.append(out)
        equal(results[0].read_bytes(), results[1].read_bytes(), f"{command}: the same bytes in two folders")
        equal(elf.read(results[0]).exported, ["entry"], f"{command}: hidden symbols are local")
        equal(elf.read(results[0]).undefined, [], f"{command}: nothing is left undefined")
        taken = Path(folder) / f"{command}.taken"
        subprocess.run([found.objcopy, "-O", "binary", "--only-section=.rodata.held", results[0], taken], check=True)
        equal(taken.read_bytes(), payload.read_bytes(), f"{command}: a section holds the file put in its place")
        if command == "gcc":
            sendfile, os.sendfile = os.sendfile, refused
            elf.put(results[1], ".rodata.held", payload)
            ok(results[1].read_bytes().endswith(payload.read_bytes()), "also where the system does not copy files")
            most, linked = resource.getrlimit(resource.RLIMIT_FSIZE), results[1].read_bytes()
            for able in (refused, sendfile):
                os.sendfile = able
                results[1].write_bytes(linked)
                resource.setrlimit(resource.RLIMIT_FSIZE, (len(linked) + 1000, most[1]))
                raises(OSError, lambda: elf.put(results[1], ".rodata.held", payload), os.strerror(errno.EFBIG),
                       "a disk that has room for a part of it")
                resource.setrlimit(resource.RLIMIT_FSIZE, most)
        if arch == "arm":
            os.truncate(payload, 1 << 32)
            raises(UserError, lambda: elf.put(results[1], ".rodata.held", payload),
                   "the weights do not fit an object of 32 bits", "4 GiB of weights")
        ok(elf.read(results[0]).size("code") > 0 and made[0].stack is not None, f"{command}: code and stack are known")
for lines, hinted in (((Line("f batch1", 100), Line("f generic", 2000)), True), ((Line("f generic", 2000),), False)):
    try:
        budget.check(budget.Bill(2000, 0, 0, 0, lines, (), (), ()), None, "m.c", 1000, None, None, None)
    except budget.Over as error:
        equal("hint: a variant of fixed sizes fits: " in str(error), hinted, "an arena that a variant alone would fit")
done()
