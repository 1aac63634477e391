# SPDX-License-Identifier: Apache-2.0
"""--target cuda: what it refuses; objects that need nothing of CUDA; and, over the driver library of the tests, results
with the bits of the processor's, state and faults. Arguments: nvcc, or `none`; `--all`: the encoder too."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import emulation
import forked
from emulation import HERE, ROOT
from tap import done, equal, note, ok, skip
from tensor_compile.compile import elf
from tensor_compile.loops import schedule_attention

DIGITS = ROOT / "examples" / "digits" / "model.c"
DECODER = ROOT / "tests" / "decoder" / "model.c"
ENCODER = ROOT / "examples" / "minilm" / "model.c"
SMALL = ["-DLAYERS=1", "-DHIDDEN=24", "-DHEADS=3", f'-DWEIGHTS="{ROOT}/tests/e2e/encoder.safetensors"']
RUNTIME = [*sorted((ROOT / "runtime" / "core").glob("*.c")), *sorted((ROOT / "runtime" / "cuda").glob("*.c"))]
nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
if shutil.which(nvcc) is None:
    nvcc = "none"


def refused(words: list, message: str, name: str, command: str = "build", code: int = 1) -> None:
    done = forked.tool(command, DIGITS, *words)
    if not ok(done.returncode == code and message in done.stderr, name):
        note(f"{done.returncode}: {done.stderr}")


def build(model: Path, out: Path, *more: str, cache: Path) -> Path:
    """The object, with its kernels' sources in out/keep."""
    done = forked.tool("build", model, "-o", out, "--build-cache", cache, "--keep", out / "keep", "-j", "2", *more)
    if done.returncode:
        raise RuntimeError(f"build {model} {' '.join(map(str, more))}\n{done.stdout}{done.stderr}")
    return out / f"{model.stem}.o"


def refusals(folder: Path) -> list[tuple[str, str, dict[str, str]]]:
    """(scenario of test_calls.c, what its message says, the driver's environment)"""
    old = folder / "old" / "libcuda.so.1"
    old.parent.mkdir()
    (folder / "old.c").write_text("int cuInit(unsigned flags) { return (int)flags; }\n", encoding="utf-8")
    emulation.run(["cc", "-shared", "-fPIC", folder / "old.c", "-o", old])

    def fails(scenario: str, how: str, code: str) -> tuple[str, str, dict[str, str]]:
        return scenario, f"{how.split(':')[0]}: {code}", {"FAKE_CUDA_FAIL": how}

    own, lost = "the driver's own words", "CUDA_ERROR_LAUNCH_FAILED"
    return [("", "", {}),
            ("absent", "cuDeviceGet: not found", {"LD_LIBRARY_PATH": str(old.parent)}),
            ("absent", "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE", {"FAKE_CUDA_DEVICES": "0"}),
            fails("absent", "cuInit:1:100", f"CUDA_ERROR_NO_DEVICE: {own}"),
            fails("absent", "cuInit:1:803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
            fails("absent", "cuInit:1:2", "CUDA_ERROR_OUT_OF_MEMORY"),     # under AddressSanitizer
            fails("absent", "cuInit:1:12345", "error 12345, which the library has no words for"),
            fails("open", "cuDevicePrimaryCtxRetain:1:2", f"CUDA_ERROR_OUT_OF_MEMORY: {own}"),
            fails("open", "cuStreamCreate", lost),
            fails("foreign", "cuModuleLoadData:1:209", "CUDA_ERROR_NO_BINARY_FOR_GPU (a driver of CUDA 12.2)"),
            fails("foreign", "cuModuleLoadData:1:222", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (a driver of CUDA 12.2)"),
            fails("load", "cuModuleLoadData:1:200", "CUDA_ERROR_INVALID_IMAGE"),
            fails("load", "cuModuleGetFunction:2:500", "CUDA_ERROR_NOT_FOUND"),
            ("", "", {"FAKE_CUDA_FAIL": "cuModuleLoadData:2:200"}),   # all kernels are one module
            fails("load", "cuMemAlloc:1:2", "CUDA_ERROR_OUT_OF_MEMORY"),
            fails("load", "cuMemcpyHtoDAsync:1", lost),    # the cell of faults
            fails("load", "cuMemcpyHtoDAsync:2", lost),
            fails("load", "cuStreamSynchronize:1", lost),
            fails("memory", "cuMemAlloc:3:2", "CUDA_ERROR_OUT_OF_MEMORY"),
            fails("call", "cuLaunchKernel:3", lost),
            fails("call", "cuMemcpyDtoHAsync:2", lost),
            fails("call", "cuCtxPushCurrent:4", lost),
            ("lost", lost, {"FAKE_CUDA_FAIL": "cuLaunchKernel:3:719+"}),
            ("lost", lost, {"FAKE_CUDA_FAIL": "cuStreamSynchronize:2:719+"}),
            ("resident", "", {}),
            ("table", f"cuMemcpyHtoDAsync: {lost}", {}),
            *(fails("recorded", f"{function}:1", lost) for function in
              ("cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch", "cuLaunchKernel"))]


def objects(folder: Path, device: list[str], cache: Path) -> None:
    """What nvcc's part in an object is."""
    first = build(DIGITS, folder / "digits", *device, cache=cache)
    again = build(DIGITS, folder / "elsewhere" / "digits", *device, cache=folder / "elsewhere" / "cache")
    ok(first.read_bytes() == again.read_bytes(), "the same bytes in another folder with another cache")
    equal(first.with_suffix(".h").read_text(), again.with_suffix(".h").read_text(), "and the same header")
    data = first.read_bytes()
    ok(str(folder).encode() not in data and str(ROOT).encode() not in data, "no path in it")
    symbols = elf.read(first)
    names = [s.name for s in symbols.symbols]
    ok(not [n for n in names if n.startswith(("cu", "__cuda", "nv"))], "no symbol of CUDA")
    others = [n for n in symbols.undefined if not n.startswith("tc_") and n != "_GLOBAL_OFFSET_TABLE_"]
    equal(others, [], "nothing but the core is undefined")


def dims(folder: Path) -> None:
    """The larger of two dims, as ptxas gets it: two values of 64 bits between which it chooses by their low halves are
    what ptxas for sm_90 keeps 16 bits of."""
    source = folder / "dims.cu"
    source.write_text("""#include "tc_device.cuh"
#include "tc_small.cuh"
extern "C" __global__ void larger(const tc_arguments<1, 2> __grid_constant__ arguments)
{
    const tc_index n = arguments.d[0], m = arguments.d[1];
    *(int64_t *)arguments.p[0] = (int64_t)tc_max(n, m);
}
""", encoding="utf-8")
    emulation.run([nvcc, "-std=c++17", "-ptx", "-arch=compute_90", *emulation.INCLUDES, source, "-o",
                   folder / "dims.ptx"])
    text = (folder / "dims.ptx").read_text(encoding="utf-8")
    equal((text.count("ld.param.u32"), "max.s32" in text, "selp" in text), (2, True, False),
          "dims of kernels whose positions are ints are loaded with 32 bits")


def checked(out: Path, device: list[str], driver: Path, cxx: list[str], cache: Path) -> None:
    """`check` and `explain`, with reference kernels and the weights in a file of their own."""
    options = [*device, "--specialize", "batch=3", "--with-reference", "--weights", "external"]
    build(DIGITS, out, *options, cache=cache)
    env = {**os.environ, **emulation.prepared(sorted((out / "keep").glob("*.cu")), out, driver, cxx)}

    def tool(command: str, **more: str) -> subprocess.CompletedProcess:
        return forked.tool(command, DIGITS, *options, "--cache", cache, env={**env, **more})

    found = tool("check")
    said = found.stdout.splitlines()
    for title in ("digits batch=3 cuda", "digits batch=3 reference", "digits batch=2 cuda", "digits batch=2 reference"):
        ok(any(line.startswith(f"{title}: bits of the interpreter: probabilities") for line in said), f"check: {title}")
    if not ok(found.returncode == 0 and not found.stderr, "check: all is right"):
        note(found.stdout + found.stderr)
    emulation.run(["cc", "-shared", out / "model.o", "-o", out / "model.so"])
    loaded = subprocess.run([compare, out / "model.so", out / "model.so", "digits", "--weights", out / "model.weights",
                             "--repeat", "1", "digits,batch=3"], env=env, capture_output=True, text=True, check=False)
    if not ok(loaded.returncode == 0 and ", 0 of " in loaded.stdout, "calls need no weights that the device has"):
        note(loaded.stdout + loaded.stderr)
    absent = tool("check", FAKE_CUDA_DEVICES="0")
    message = "error: the model cannot run here: cuda: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE"
    if not ok(absent.returncode == 1 and message in absent.stderr and not absent.stdout, "check without a device"):
        note(absent.stdout + absent.stderr)
    broken = tool("check", FAKE_CUDA_FAIL="cuLaunchKernel:2")
    message = "the device's driver refused: digits: cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED"
    if not ok(broken.returncode == 1 and f"digits batch=3 cuda: FAILED: {message}" in broken.stdout,
              "check on a device that refuses"):
        note(broken.stdout + broken.stderr)
    text = tool("explain").stdout
    for words in ("target cuda-sm90 (sm_90a)", "blocks x threads", "variant reference", "arena: "):
        ok(words in text, f"explain: {words}")
    note(text)


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    cache = Path(os.environ.get("TC_TESTS_CACHE", folder / "cache"))
    device = ["--target", "cuda", "--target-file", "cuda-sm90", "--nvcc", nvcc]
    quiet = ["-o", str(folder / "refused"), "--cache", str(cache)]
    refused(["--target", "cuda", "--nvcc", "/no/such/nvcc", *quiet], "nvcc not found: /no/such/nvcc", "no nvcc")
    refused(["--target", "cuda", "--nvcc", "true", *quiet], "no CUDA compiler: true", "another program for nvcc")
    refused([*device, "--target-file", "x86_64", *quiet], "the target x86_64 is x86_64, no GPU",
            "a processor's target file")
    refused(["--target-file", "cuda-sm90", *quiet], "the target cuda-sm90 is cuda, but",
            "a GPU's target file for a processor")
    refused([*device, "--isa", "avx2", *quiet], "unknown instruction set 'avx2' for cuda",
            "a processor's instruction set", code=2)
    refused(["--precision", "bf16", *quiet], "--precision bf16 goes with --target cuda alone",
            "a processor's precision", code=2)
    ok(not (folder / "refused").exists(), "nothing is left behind")
    refused(device[:2], "--target cuda does not go with bench, which times kernels of this processor", "bench of a GPU",
            "bench", 2)

    if nvcc == "none":
        skip("objects for CUDA", "no nvcc")
    else:
        objects(folder, device, cache)
        dims(folder)

    cxx = emulation.compiler()
    if cxx is None:
        skip("calls", "no C++ compiler")
        done()
    device[-1] = str(emulation.stub(folder))
    driver = emulation.driver(cxx, folder)
    compare = emulation.comparison(folder / "compare")

    def same(out: Path, obj: Path, model: Path, name: str, calls: list[str], *more: str, tolerance: str = "",
             orders: tuple[str, ...] = ("forward", "reverse"), **settings: str) -> dict[str, str]:
        """One point a call and order of threads: all outputs and states have the bits of the processor's, or differ no
        more than `tolerance` allows. settings: of the driver."""
        emulation.run(["cc", "-shared", obj, "-o", out / "cuda.so"])
        env = {**os.environ, **emulation.prepared(sorted((out / "keep").glob("*.cu")), out, driver, cxx)}
        isa = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []
        cpu = build(model, out / "cpu", *isa, *more, cache=cache)
        emulation.run(["cc", "-shared", cpu, "-o", out / "cpu.so"])
        for order in orders:
            done = subprocess.run([compare, out / "cpu.so", out / "cuda.so", name, "--repeat", "1",
                                   *(["--tolerance", tolerance] if tolerance else []), *calls],
                                  env={**env, **settings, "FAKE_CUDA_ORDER": order}, capture_output=True, text=True,
                                  check=False)
            lines = done.stdout.splitlines()
            results = [line for line in lines if "elements differ" in line]
            good = done.returncode == 0 and results and not done.stderr and \
                (tolerance or all(", 0 of " in line for line in results))
            if not ok(good, f"{name}, threads {order}: {len(results)} outputs and states have the processor's "
                      f"{'values' if tolerance else 'bits'}"):
                note(done.stdout + done.stderr)
        return env

    checked(folder / "checked", device, driver, cxx, cache)

    if "--all" in sys.argv:
        out = folder / "encoder"
        encoder = build(ENCODER, out, *device, *SMALL, "--specialize", "batch=2", "--specialize", "seq=9", cache=cache)
        same(out, encoder, ENCODER, "minilm", ["minilm,batch=2,seq=9", "minilm,batch=1,seq=5"], *SMALL)

    out = folder / "attend"
    attend = build(HERE / "attend.c", out, *device, "--precision", "bf16", "--specialize", "length=72", cache=cache)
    kernels = [path.read_text(encoding="utf-8") for path in (out / "keep").glob("*.cu")]
    equal(sum("templates/cuda/attention.cu.in" in text for text in kernels), 6,
          "attention is one kernel, in both variants")
    ok(any("uint16_t" in text and "tc_rows.cuh" in text for text in kernels),
       "a norm reads 16 bits, eight points a thread")
    same(out, attend, HERE / "attend.c", "attend", ["attend,length=72", "attend,length=130"], tolerance="0.06",
         FAKE_CUDA_VERSION="12080")

    for precision, tolerance, most in (("bf16", "0.03", 2), ("f32", "", 4)):
        out = folder / f"turned-{precision}"
        weights = f'-DWEIGHTS="{ROOT}/tests/e2e/encoder.safetensors"'
        turned = build(HERE / "turned.c", out, *device, "--precision", precision, weights, cache=cache)
        count = len(list((out / "keep").glob("*.cu")))
        ok(count <= most, f"turned, {precision}: {count} kernels")
        same(out, turned, HERE / "turned.c", "turned", ["turned"], weights, tolerance=tolerance)

    # Few multiprocessors have enough to do with blocks of four warps, which multiply as a group.
    out = folder / "group"
    shape = ["-DGROUP", "--specialize", "length=72"]
    usual = schedule_attention.MULTIPROCESSORS, schedule_attention.MANY_KEYS
    schedule_attention.MULTIPROCESSORS = schedule_attention.MANY_KEYS = 1
    group = build(HERE / "attend.c", out, *device, "--precision", "bf16", *shape, cache=cache)
    schedule_attention.MULTIPROCESSORS, schedule_attention.MANY_KEYS = usual   # of the builds that follow
    kernels = [path.read_text(encoding="utf-8") for path in (out / "keep").glob("*.cu")]
    equal(sum("emulated_wgmma_held" in text for text in kernels), 4, "a group of warps multiplies")
    same(out, group, HERE / "attend.c", "attend", ["attend,length=72", "attend,length=150"], *shape,
         tolerance="0.1", orders=("reverse",), FAKE_CUDA_VERSION="12080")

    out = folder / "decoder"
    decoder = build(DECODER, out, *device, cache=cache)
    env = same(out, decoder, DECODER, "decoder_model",
               ["--below", "ids=96", "decoder_model_prefill,length=9", "decoder_model_decode,past=9",
                "decoder_model_decode,past=10"])
    program = out / "calls"
    emulation.run(["cc", "-std=c11", f"-I{out}", *emulation.STRICT, HERE / "test_calls.c", decoder, *RUNTIME, "-o",
                   program, "-ldl"])
    for scenario, wanted, more in refusals(folder):
        done_ = subprocess.run([program, scenario, wanted], env={**env, **more}, capture_output=True, text=True,
                               check=False)
        named = " ".join(f"{k}={v}" for k, v in more.items() if k != "LD_LIBRARY_PATH") or scenario or "refusals"
        points = [line for line in done_.stdout.splitlines() if "ok " in line]
        if not ok(done_.returncode == 0 and points and not done_.stderr, f"decoder, {named}: {len(points)} points"):
            note(done_.stdout + done_.stderr)
        for line in points:
            note(line)
    real = subprocess.run([program, "absent"], env={**os.environ, "LD_LIBRARY_PATH": ""}, capture_output=True,
                          text=True, check=False)
    if "opened" in real.stdout or real.returncode:
        skip("without a driver", "this machine has one")
    else:
        said = real.stdout.splitlines()[0]
        ok("libcuda.so.1: not found" in said or "CUDA_ERROR" in said, f"without a driver: {said}")
done()
