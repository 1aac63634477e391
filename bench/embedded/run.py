# SPDX-License-Identifier: Apache-2.0
"""The int8 models of MLPerf Tiny on an emulated board without an operating system: instructions, RAM and flash, beside
the layers as calls of CMSIS-NN where its source is there (`meson subprojects download cmsis-nn`, or --cmsis).

    run.py [MODEL...] [--board BOARD] [--cmsis FOLDER] [--bake-values] [--memory fast|small]

Instructions are the emulator's (-icount shift=0), not cycles of a chip.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tflite"))
import tiny

FOLDER = Path(os.environ.get("TC_TINY", ROOT.parent / "shared" / "data" / "tiny"))
# multiply-adds of one call
WORK = {"ad01_int8": 264_192, "kws_ref_model": 2_656_768, "pretrainedResnet_quant": 12_501_632,
        "vww_96_int8": 7_489_664}
# Convolutions and linear layers as cmsis.c has them: height, width, in, out, window, stride, padding, times.
LAYERS = {
    "ad01_int8": ((0, 0, 640, 128, 0, 0, 0, 0, 0, 1), (0, 0, 128, 128, 0, 0, 0, 0, 0, 6),
                  (0, 0, 128, 8, 0, 0, 0, 0, 0, 1), (0, 0, 8, 128, 0, 0, 0, 0, 0, 1),
                  (0, 0, 128, 640, 0, 0, 0, 0, 0, 1)),
    "kws_ref_model": ((49, 10, 1, 64, 10, 4, 2, 4, 1, 1), (25, 5, 64, 0, 3, 3, 1, 1, 1, 4),
                      (25, 5, 64, 64, 1, 1, 1, 0, 0, 4), (0, 0, 64, 12, 0, 0, 0, 0, 0, 1)),
    "pretrainedResnet_quant": (
        (32, 32, 3, 16, 3, 3, 1, 1, 1, 1), (32, 32, 16, 16, 3, 3, 1, 1, 1, 2), (32, 32, 16, 32, 3, 3, 2, 0, 0, 1),
        (16, 16, 32, 32, 3, 3, 1, 1, 1, 1), (32, 32, 16, 32, 1, 1, 2, 0, 0, 1), (16, 16, 32, 64, 3, 3, 2, 0, 0, 1),
        (8, 8, 64, 64, 3, 3, 1, 1, 1, 1), (16, 16, 32, 64, 1, 1, 2, 0, 0, 1), (0, 0, 64, 10, 0, 0, 0, 0, 0, 1)),
    "vww_96_int8": (
        (96, 96, 3, 8, 3, 3, 2, 0, 0, 1), (48, 48, 8, 0, 3, 3, 1, 1, 1, 1), (48, 48, 8, 16, 1, 1, 1, 0, 0, 1),
        (48, 48, 16, 0, 3, 3, 2, 0, 0, 1), (24, 24, 16, 32, 1, 1, 1, 0, 0, 1), (24, 24, 32, 0, 3, 3, 1, 1, 1, 1),
        (24, 24, 32, 32, 1, 1, 1, 0, 0, 1), (24, 24, 32, 0, 3, 3, 2, 0, 0, 1), (12, 12, 32, 64, 1, 1, 1, 0, 0, 1),
        (12, 12, 64, 0, 3, 3, 1, 1, 1, 1), (12, 12, 64, 64, 1, 1, 1, 0, 0, 1), (12, 12, 64, 0, 3, 3, 2, 0, 0, 1),
        (6, 6, 64, 128, 1, 1, 1, 0, 0, 1), (6, 6, 128, 0, 3, 3, 1, 1, 1, 5), (6, 6, 128, 128, 1, 1, 1, 0, 0, 5),
        (6, 6, 128, 0, 3, 3, 2, 0, 0, 1), (3, 3, 128, 256, 1, 1, 1, 0, 0, 1), (3, 3, 256, 0, 3, 3, 1, 1, 1, 1),
        (3, 3, 256, 256, 1, 1, 1, 0, 0, 1), (0, 0, 256, 2, 0, 0, 0, 0, 0, 1))}
CMSIS = ("Convolution/arm_convolve_wrapper_s8", "Convolution/arm_convolve_1x1_s8*", "Convolution/arm_convolve_1_x_n_s8",
         "Convolution/arm_convolve_s8", "Convolution/arm_*conv*_get_buffer_sizes_s8",
         "Convolution/arm_depthwise_conv_*s8*", "Convolution/arm_nn_*_s8*", "FullyConnected/arm_fully_connected_s8",
         "FullyConnected/arm_fully_connected_get_buffer_sizes_s8", "NNSupport/*s8*", "NNSupport/*q7*",
         "Transpose/arm_transpose_s8")


# picoseconds of a tick of what count.h reads
TICKS = {"cortex-m4f": 40_000, "cortex-m55": 31_250, "cortex-m0plus": 62_500, "rv32imac": 1_000}
BOARDS = {board.target: board for board in tiny.BOARDS}
RISCV = ("qemu-system-riscv32", "-M", "virt", "-bios", "none")   # qemu-riscv32 counts no instructions


def call(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(command[:3])} …: {result.stdout}{result.stderr}"[:3000])
    return result.stdout + result.stderr


def emulated(board: tiny.Board, image: Path) -> dict[str, int]:
    """The numbers that a program prints, by their names."""
    words = board.emulator
    if board.folder == "rv32":
        words = (*RISCV, "-nographic", "-semihosting-config", "enable=on,target=native", "-kernel")
    printed = call([words[0], "-icount", "shift=0", *words[1:], str(image)])
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", printed, re.MULTILINE)}


def cmsis(model: str, board: tiny.Board, work: Path, source: Path) -> int:
    """Instructions of the layers of a model as calls of CMSIS-NN."""
    cc = board.cc[0]
    objects, flags = work / "cmsis", [*board.cc[1:], "-O3", "-ffunction-sections", "-w", f"-I{source / 'Include'}"]
    if not objects.is_dir():
        objects.mkdir(parents=True)
        for pattern in CMSIS:
            family, name = pattern.split("/")
            for path in sorted((source / "Source" / f"{family}Functions").glob(f"{name}.c")):
                call([cc, *flags, "-c", str(path), "-o", str(objects / f"{path.stem}.o")])
    layers = ",".join("{" + ",".join(map(str, layer)) + "}" for layer in LAYERS[model])
    image = work / f"{model}-cmsis"
    call([cc, *flags, f"-DTICK={TICKS[board.target]}", f"-DLAYERS={layers}", str(HERE / "cmsis.c"),
          *sorted(map(str, objects.glob("*.o"))), str(board.startup), *board.link, "-o", str(image)])
    return emulated(board, image)["instructions"]


def measure(model: str, board: tiny.Board, work: Path, options: list[str]) -> dict[str, int]:
    out = work / model
    out.mkdir(parents=True, exist_ok=True)
    machine = tiny.Machine(board.target, board.cc, ("--target-file", board.target))
    wrong = tiny.build(FOLDER / f"{model}.tflite", machine, out, *options)
    if wrong:
        raise SystemExit(wrong)
    stored = tiny.tensors(FOLDER / f"{model}.io.safetensors")
    cases = stored["input"][0][0]
    for key, part in (("input", "inputs.bin"), ("micro_output", "outputs.bin")):
        (out / part).write_bytes(stored[key][1])
    header = out / f"{model}.h"
    args = re.search(r"typedef struct \w+_args \{\n\s*const (\w+) \*(\w+);.*\n\s*(\w+) \*(\w+);",
                     header.read_text(encoding="utf-8"))
    assert args is not None
    defines = {"MODEL_HEADER": f'"{header}"', "MODEL_CALL": model, "MODEL_ARGS": f"{model}_args", "INPUT": args[2],
               "OUTPUT": args[4], "CASES": cases, "INPUT_BYTES": len(stored["input"][1]) // cases,
               "OUTPUT_BYTES": len(stored["micro_output"][1]) // cases, "ARENA_BYTES": f"{model.upper()}_ARENA_BYTES",
               "INPUTS_FILE": f'"{out / "inputs.bin"}"', "OUTPUTS_FILE": f'"{out / "outputs.bin"}"',
               "TICK": TICKS[board.target], "REPEAT": 1 if WORK[model] > 1_000_000 else 8}
    image = out / "image"
    call([*board.cc, "-std=gnu11", "-O2", "-w", f"-I{ROOT / 'runtime/include'}",
          *(f"-D{key}={value}" for key, value in defines.items()), str(HERE / "measure.c"),
          str(header.with_suffix(".o")), *sorted(map(str, (ROOT / "runtime/core").glob("*.c"))), str(board.startup),
          *board.link, "-o", str(image)])
    found = emulated(board, image)
    found["arena"] = int(re.search(r"_ARENA_BYTES (\d+)", header.read_text(encoding="utf-8"))[1])
    sections = {"code": 0, "weights": 0}
    for line in call([board.cc[0].replace("-gcc", "-size"), "-A", str(header.with_suffix(".o"))]).splitlines():
        if m := re.match(r"\.(text|rodata)\S*\s+(\d+)", line):
            sections["code" if m[1] == "text" else "weights"] += int(m[2])
    return found | sections


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(WORK), metavar="MODEL")
    parser.add_argument("--board", default="cortex-m4f", choices=BOARDS)
    parser.add_argument("--memory", default="fast", choices=("fast", "small"), help="of `build`")
    parser.add_argument("--cmsis", type=Path, default=ROOT / "subprojects" / "cmsis-nn", help="CMSIS-NN's source")
    parser.add_argument("--bake-values", action="store_true", help="as of build; a multiply-add is one of the model's")
    parser.add_argument("--work", type=Path, help="folder that is kept")
    given = parser.parse_args()
    board = BOARDS[given.board]
    for tool in (board.cc[0], RISCV[0] if board.folder == "rv32" else board.emulator[0]):
        if not shutil.which(tool):
            raise SystemExit(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as temporary:
        print(f"{'model':24} {'instructions':>12} {'a multiply-add':>14} {'arena':>8} {'stack':>6} {'code':>7} "
              f"{'constants':>9} {'CMSIS-NN':>10}")
        there = board.folder != "rv32" and (given.cmsis / "Include" / "arm_nnfunctions.h").is_file()
        for model in given.models:
            work = given.work or Path(temporary)
            options = ["--memory", given.memory, *(["--bake-values"] if given.bake_values else [])]
            found = measure(model, board, work, options)
            beside = str(cmsis(model, board, work, given.cmsis)) if there else "skipped"
            print(f"{model:24} {found['instructions']:12} {found['instructions'] / WORK[model]:14.2f} "
                  f"{found['arena']:8} {found['stack']:6} {found['code']:7} {found['weights']:9} {beside:>10}"
                  f"{'  WRONG' if found['wrong'] else ''}")
        if not there and board.folder != "rv32":
            print(f"skipped: CMSIS-NN's source is not in {given.cmsis}; meson subprojects download cmsis-nn")


if __name__ == "__main__":
    main()
