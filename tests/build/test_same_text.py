# SPDX-License-Identifier: Apache-2.0
"""Header, driver and kernels of whole models are a function of the graph alone: they do not depend on PYTHONHASHSEED,
and no kernel's code on what regions, places and weights are called.

  test_same_text.py            the test
  test_same_text.py --digest   prints the digest of everything that is emitted for the sample graphs
"""
import os
import re
import subprocess
import sys
from pathlib import Path

from tap import done, equal, note, ok
from tensor_compile import pipeline
from tensor_compile import target as targets
from tensor_compile.compile import files
from tensor_compile.compile.cpu_target import kernel_sources
from tensor_compile.emit.header import emit_header
from tensor_compile.emit.driver import emit_driver
from tensor_compile.graph.text import print_module

GRAPHS = Path(os.environ["TC_SOURCE_ROOT"]) / "tests" / "graphs"
TARGET = targets.load(targets.find("x86_64"))


def emitted(text: str) -> tuple[list[str], list[str]]:
    """(header, driver, constants and the kernels by name), (the code of each step's kernel, without names and
    comments)"""
    made = pipeline.run(text, "graph.tcg", TARGET, {}, with_reference=True)
    sources = kernel_sources(made.plan, TARGET)
    whole = [emit_header(made.plan, TARGET), emit_driver(made.plan, TARGET, sources.of_kernel),
             print_module(made.constants)]
    whole += [sources.by_symbol[name].text for name in sorted(sources.by_symbol)]
    code = []
    for function in made.plan.functions:
        for variant in function.built:
            for step in variant.program.kernel_steps:
                for isa in TARGET.isas:
                    source = sources.of_kernel[step.kernel, isa, function.is_plain(variant)]
                    plain = re.sub(r"/\*.*?\*/", "", source.text, flags=re.S)
                    code.append(re.sub(r"\btck_\w+", "tck", plain))
    return whole, code


def renamed(text: str) -> str:
    """The same graph without regions and places, its weights and states called by numbers."""
    text = re.sub(r' (?:scope|loc)\("[^)]*\)', "", text)
    text = re.sub(r'prefix="([^"]*)"', lambda m: f'prefix="{_spelt(m[1])}"', text)
    text = re.sub(r'name="([^"]*)"', lambda m: f'name="{_spelt(m[1])}"', text)
    return re.sub(r'^(\s*(?:weight|state|assign)) "([^"]*)"', lambda m: f'{m[1]} "{_spelt(m[2])}"', text, flags=re.M)


def _spelt(name: str) -> str:
    """Another name for each part of a dotted one: prefixes and relative names still make absolute ones."""
    return ".".join(f"n{int.from_bytes(part.encode(), 'big') % 999983}" if part else "" for part in name.split("."))


def graphs() -> list[Path]:
    return sorted(GRAPHS.glob("*.tcg"))


if sys.argv[1:] == ["--digest"]:
    for path in graphs():
        print(path.name, files.digest(*emitted(path.read_text(encoding="utf-8"))[0]))
    sys.exit(0)

digests = [subprocess.run([sys.executable, __file__, "--digest"], check=True, capture_output=True, text=True,
                          env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("0", "1", "4242")]
equal(len(digests[0].splitlines()), len(graphs()), "the sample graphs are emitted")
equal(digests[1:], digests[:1] * 2, "the same text under every PYTHONHASHSEED")
for path in graphs():
    text = path.read_text(encoding="utf-8")
    other = renamed(text)
    ok(other != text and "scope(" not in other, f"{path.stem}: renamed")
    got, want = emitted(other)[1], emitted(text)[1]
    equal(len(got), len(want), f"{path.stem}: as many kernels")
    different = [i for i, (a, b) in enumerate(zip(got, want)) if a != b]
    if not equal(different, [], f"{path.stem}: the same code"):
        note(want[different[0]])
        note(got[different[0]])
done()
