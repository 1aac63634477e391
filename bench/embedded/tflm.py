# SPDX-License-Identifier: Apache-2.0
"""The int8 models of MLPerf Tiny by TensorFlow Lite Micro with CMSIS-NN, on the boards of run.py and counted as there.

    tflm.py [MODEL...] [--board BOARD] [--sources FOLDER]

Sources: `meson subprojects download tflite-micro cmsis-nn flatbuffers gemmlowp ruy`, each a folder of --sources. Its
core is compiled with -Os and kernels with -O3; error texts are left out. Memory: the part of the arena that the
interpreter says it used, inputs and outputs among it.
"""
from __future__ import annotations

import argparse
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run import BOARDS, FOLDER, HERE, ROOT, TICKS, WORK, call, emulated, tiny

SOURCES = ("tflite-micro", "cmsis-nn", "flatbuffers", "gemmlowp", "ruy")
LITE = "tensorflow/lite"
CORE = ("micro/memory_helpers", "micro/micro_allocator", "micro/micro_allocation_info", "micro/micro_context",
        "micro/micro_interpreter", "micro/micro_interpreter_context", "micro/micro_interpreter_graph",
        "micro/micro_log", "micro/micro_op_resolver", "micro/micro_resource_variable", "micro/micro_utils",
        "micro/flatbuffer_utils", "micro/arena_allocator/non_persistent_arena_buffer_allocator",
        "micro/arena_allocator/persistent_arena_buffer_allocator",
        "micro/arena_allocator/single_arena_buffer_allocator", "micro/memory_planner/greedy_memory_planner",
        "micro/memory_planner/linear_memory_planner", "micro/memory_planner/non_persistent_buffer_planner_shim",
        "micro/tflite_bridge/flatbuffer_conversions_bridge", "micro/tflite_bridge/micro_error_reporter",
        "core/api/flatbuffer_conversions", "core/api/tensor_utils", "core/c/common", "kernels/kernel_util",
        "kernels/internal/common", "kernels/internal/quantization_util", "kernels/internal/portable_tensor_utils",
        "kernels/internal/runtime_shape", "kernels/internal/tensor_ctypes", "kernels/internal/tensor_utils")
SCHEMA = "tensorflow/compiler/mlir/lite/schema/schema_utils.cc"
KERNELS = ("add_common", "conv_common", "depthwise_conv_common", "fully_connected_common", "pooling_common",
           "softmax_common", "reshape", "reshape_common", "kernel_util", "cmsis_nn/add", "cmsis_nn/conv",
           "cmsis_nn/depthwise_conv", "cmsis_nn/fully_connected", "cmsis_nn/pooling", "cmsis_nn/softmax")


def library(board: tiny.Board, sources: Path, work: Path) -> tuple[list[str], list[str]]:
    """Objects, and flags of C++ with the places of headers."""
    tflm, cmsis = sources / "tflite-micro", sources / "cmsis-nn"
    cc, flags = board.cc[0], [*board.cc[1:], "-ffunction-sections", "-fdata-sections", "-w"]
    cxx = cc.replace("-gcc", "-g++")
    includes = [f"-I{path}" for path in (tflm, cmsis, cmsis / "Include", sources / "flatbuffers/include",
                                         sources / "gemmlowp", sources / "ruy")]
    common = [*flags, *includes, "-std=c++17", "-fno-rtti", "-fno-exceptions", "-fno-threadsafe-statics",
              "-fno-use-cxa-atexit", "-DTF_LITE_STATIC_MEMORY", "-DTF_LITE_STRIP_ERROR_STRINGS", "-DNDEBUG",
              "-DCMSIS_NN", "-DARM_NN_ENABLE_F16=0", "-DARM_NN_ENABLE_F32=0", "-DTF_LITE_DISABLE_X86_NEON"]
    work.mkdir(parents=True, exist_ok=True)
    jobs: list[list[str]] = []

    def add(command: list[str], path: Path) -> None:
        jobs.append([*command, "-c", str(path), "-o", str(work / ("_".join(path.parts[-3:]) + ".o"))])

    for path in (*(tflm / LITE / f"{name}.cc" for name in CORE), tflm / SCHEMA):
        add([cxx, *common, "-Os"], path)
    for name in KERNELS:
        add([cxx, *common, "-O3"], tflm / LITE / "micro/kernels" / f"{name}.cc")
    for path in sorted((cmsis / "Source").rglob("*.c")):
        if not re.search("_f(16|32)$|lstm|svdf", path.stem):
            add([cc, *flags, *includes, "-O3"], path)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(call, [job for job in jobs if not Path(job[-1]).is_file()]))
    return [job[-1] for job in jobs], common


def measure(model: str, board: tiny.Board, sources: Path, work: Path) -> dict[str, int]:
    objects, common = library(board, sources, work / "library")
    out = work / model
    out.mkdir(parents=True, exist_ok=True)
    stored = tiny.tensors(FOLDER / f"{model}.io.safetensors")
    cases = stored["input"][0][0]
    for key, part in (("input", "inputs.bin"), ("micro_output", "outputs.bin")):
        (out / part).write_bytes(stored[key][1])
    defines = {"CASES": cases, "INPUT_BYTES": len(stored["input"][1]) // cases,
               "OUTPUT_BYTES": len(stored["micro_output"][1]) // cases,
               "MODEL_FILE": f'"{FOLDER / model}.tflite"', "INPUTS_FILE": f'"{out / "inputs.bin"}"',
               "OUTPUTS_FILE": f'"{out / "outputs.bin"}"', "TICK": TICKS[board.target]}
    cc, startup, image = board.cc[0], out / "startup.o", out / "image"
    call([*board.cc, "-O2", "-c", str(board.startup), "-o", str(startup)])
    call([cc.replace("-gcc", "-g++"), *common, "-O2", f"-I{HERE}", *(f"-D{k}={v}" for k, v in defines.items()),
          str(HERE / "tflm.cc"), *objects, str(startup), "--specs=nano.specs", "--specs=nosys.specs",
          "-Wl,--defsym=end=__bss_end", *board.link,
          "-o", str(image)])
    found = emulated(board, image)
    sizes = call([cc.replace("-gcc", "-nm"), "-S", "-C", str(image)])
    found["code"] = sum(int(m[1], 16) for m in re.finditer(r"^\w+ (\w+) [tTwW] ", sizes, re.MULTILINE))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(WORK), metavar="MODEL")
    parser.add_argument("--board", default="cortex-m4f", choices=[b for b in BOARDS if b.startswith("cortex")])
    parser.add_argument("--sources", type=Path, default=ROOT / "subprojects")
    parser.add_argument("--work", type=Path, help="folder that is kept")
    given = parser.parse_args()
    missing = [name for name in SOURCES if not (given.sources / name).is_dir()]
    if missing:
        print(f"skipped: {', '.join(missing)} not in {given.sources}; meson subprojects download {' '.join(missing)}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        print(f"{'model':24} {'instructions':>12} {'a multiply-add':>14} {'arena':>8} {'stack':>6} {'code':>7}")
        for model in given.models:
            found = measure(model, BOARDS[given.board], given.sources, given.work or Path(temporary))
            print(f"{model:24} {found['instructions']:12} {found['instructions'] / WORK[model]:14.2f} "
                  f"{found['arena']:8} {found['stack']:6} {found['code']:7}"
                  f"{'  WRONG' if found['wrong'] else ''}")


if __name__ == "__main__":
    main()
