# SPDX-License-Identifier: Apache-2.0
"""A model as C sources that need a C11 compiler and nothing else (docs/emit-c.md).

Headers of the project are taken into one file by replacing their includes with their text; what the build of an object
says by flags (instruction set, no contraction of floating-point operations) the sources say themselves.
"""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable, Iterator, Mapping

from ..instruction_sets import INSTRUCTION_SETS, InstructionSet
from ..loops.program_ir import ModelPlan
from .cwriter import identifier
from .weights import weights_symbol

SILENT = ("unused-function", "unused-variable", "unused-but-set-variable", "unused-parameter", "sign-compare",
          "missing-field-initializers", "unused-const-variable", "unused-macros", "psabi")
_INCLUDE = re.compile(r'^#include (?:"([^"]+)"|<(tensor_compile/[^>]+)>)\n', re.M)
_KERNEL = re.compile(r"\btck_")
_FAST = ("__FAST_MATH__", "__ASSOCIATIVE_MATH__", "__RECIPROCAL_MATH__", "__NO_SIGNED_ZEROS__")

CHECKS = f"""#if {" || ".join(f"defined {name}" for name in _FAST)} || \\
    (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math and its parts: results would change"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a little-endian processor is needed"
#endif
"""
EXACT = """#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC optimize("fp-contract=off", "wrapv", "no-strict-aliasing")
#endif
"""


def inlined(path: Path, folders: Iterable[Path], kept: Mapping[str, str]) -> str:
    """The file with the text of the project's headers in place of their includes; kept: includes that stay, under the
    names given."""
    places = tuple(folders)

    def replace(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name in kept:
            return f'#include "{kept[name]}"\n'
        found = next(p for p in (path.parent / name, *(f / name for f in places)) if p.is_file())
        return inlined(found, places, kept)

    text = path.read_text(encoding="utf-8")
    if path.suffix == ".def":  # a table: what explains it is for those who change it
        text = text[text.index("*/\n") + 3:]
    return _INCLUDE.sub(replace, text)


def vectors(include: Path) -> str:
    """One header of everything that kernels include, for the instruction set that the file which includes it names."""
    lines = ["/* SPDX-License-Identifier: Apache-2.0", " *",
             " * What kernels include: scalars, and vectors of the instruction set that TC_ISA_... names.", " */",
             "#ifndef TC_VECTORS_H", "#define TC_VECTORS_H", CHECKS + EXACT.rstrip()]
    lines += ["#ifdef __GNUC__"]
    lines += [f'#pragma GCC diagnostic ignored "-W{name}"' for name in SILENT] + ["#endif"]
    for isa in INSTRUCTION_SETS.values():
        lines += _asked_for(isa) if isa.features else []
    def text(*names: str) -> str:
        return "".join(inlined(include / name, (include,), {}) for name in names)

    return "\n".join(lines) + "\n" + text(
        "tc_tile.h", "tc_sort.h", "tc_sort_lanes.h", "tc_turn.h", "tc_groups.h", "tc_in_turn.h") + \
        "#if defined(__arm__) || (defined(__riscv) && __riscv_xlen == 32)\n" + \
        text("tc_bytes.h", "tc_pairs.h", "tc_fixed.h") + "#ifdef __ARM_FEATURE_MVE\n" + text("tc_helium.h") + \
        "#endif\n#endif\n#endif\n"


def _asked_for(isa: InstructionSet) -> list[str]:
    """What the compiler does not make by default: as functions' target; and what headers ask for, which Clang does not
    define for functions. Behind the base's, whose vectors it may use."""
    intrinsics = "immintrin.h" if "x86_64" in isa.archs else "arm_neon.h"
    lines = [f"#ifdef {_macro(isa)}", "#ifdef __clang__", f"#include <{intrinsics}>"]
    for feature in isa.features:
        lines += [f"#ifndef {feature.macro}", f"#define {feature.macro} 1", "#endif"]
    target = ",".join(feature.option for feature in isa.features)
    lines += [f'#pragma clang attribute push(__attribute__((target("{target}"))), apply_to = function)',
              "#elif defined __GNUC__", f'#pragma GCC target("{target}")', "#endif"]
    return lines + ([f"#define TC_ISA_{isa.vectors}"] if isa.vectors != isa.upper else []) + ["#endif"]


def _macro(isa: InstructionSet) -> str:
    return f"TC_ISA_{isa.upper if isa.features else isa.vectors}"


def kernel(model: str, isa: InstructionSet, text: str) -> str:
    """A kernel's file from its translation unit."""
    first = f'#define {_macro(isa)}\n#include "tc_vectors.h"\n'
    includes = iter([first])
    body = _INCLUDE.sub(lambda match: next(includes, ""), text)  # tc_vectors.h has them all
    end = "\n#ifdef __clang__\n#pragma clang attribute pop\n#endif\n" if isa.features else ""
    return _KERNEL.sub(f"{identifier(model)}_tck_", body) + end


def runtime(core: Path, include: Path) -> dict[str, str]:
    """The runtime's freestanding core: its headers and one source."""
    folder = include / "tensor_compile"
    names = {"tensor_compile/runtime.h": "tc_runtime.h", "runtime.h": "tc_runtime.h",
             "tensor_compile/driver.h": "tc_driver.h", "driver.h": "tc_driver.h"}
    text = CHECKS
    for path in sorted(core.glob("*.c")):
        text += inlined(path, (include,), names)
    return {"tc_runtime.h": inlined(folder / "runtime.h", (include,), names),
            "tc_driver.h": inlined(folder / "driver.h", (include,), names), "tc_runtime.c": text}


def driver(plan: ModelPlan, text: str) -> str:
    """The driver's file; embedded weights are words there (`weights`)."""
    symbol = weights_symbol(plan)
    text = _KERNEL.sub(f"{identifier(plan.model)}_tck_", text)
    text = text.replace("#include <tensor_compile/driver.h>\n", CHECKS + EXACT + '#include "tc_driver.h"\n')
    declared = f'extern const unsigned char {symbol}[] __attribute__((visibility("hidden")));\n'
    return text.replace(declared, f"extern const uint64_t {symbol}_words[];\n"
                                  f"#define {symbol} ((const unsigned char *){symbol}_words)\n")


def header(text: str) -> str:
    return text.replace("#include <tensor_compile/runtime.h>\n", '#include "tc_runtime.h"\n')


def weights(plan: ModelPlan, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The packed weights as words of 8 bytes, the last one filled up with zeros; part by part."""
    symbol = f"{weights_symbol(plan)}_words"
    count = (size + 7) // 8
    yield ("/* SPDX-License-Identifier: Apache-2.0\n *\n * The packed weights.\n */\n#include <stdint.h>\n\n"
           f"extern const uint64_t {symbol}[];\n_Alignas(64) const uint64_t {symbol}[{max(count, 1)}] = {{\n").encode()
    rest = b""
    for block in payload:
        rest += block
        whole = len(rest) // 48 * 48
        yield _words(rest[:whole])
        rest = rest[whole:]
    yield _words(rest + bytes(-len(rest) % 8))
    yield b"};\n"


def _words(data: bytes) -> bytes:
    words = [f"0x{data[i:i + 8][::-1].hex().lstrip('0') or '0'}," for i in range(0, len(data), 8)]
    return "".join("".join(words[i:i + 6]) + "\n" for i in range(0, len(words), 6)).encode()
