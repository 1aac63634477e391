# SPDX-License-Identifier: Apache-2.0
"""Random functions whose branches stand side by side (loops/stages.py), from model.c to real kernels: the interpreter's
bits for teams of 1, 2 and 5. Products, sums, softmaxes, scans, parts, gathers and loops of small matrices, which read
what other branches made; some results are outputs.

  test_branches.py [FIRST [COUNT]] [--print]

Functions of the seeds FIRST to FIRST + COUNT - 1; --print shows them. Each follows from its seed alone."""
import os
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from runner import NATIVE, build, native_isas, run, words
from tap import done, note, ok
from tensor_compile.compile.cache import Cache
from tensor_compile.loops import plan

SIDES = (8, 16, 24, 33)     # of the matrices


class Function:
    def __init__(self, seed: int):
        self.name, self.draw = f"f{seed}", random.Random(seed)
        self.side, self.lines, self.count = self.draw.choice(SIDES), [], 0

    def put(self, text: str) -> str:
        self.lines.append(f"v[{self.count}] = {text};")
        self.count += 1
        return f"v[{self.count - 1}]"

    def any(self) -> str:
        """A value of any branch."""
        return f"v[{self.draw.randrange(self.count)}]"

    def part(self, joined: str, axis: int) -> str:
        """As many rows or columns of two matrices, or more, that are joined."""
        first = self.draw.randrange(self.side)
        return self.put(f"tc_slice(tc_concat({axis}, {joined}), {axis}, {first}, {first + self.side})")

    def step(self, x: str) -> str:
        y, axis = self.any(), self.draw.randrange(2)
        index = f'tc_input(g, "i{self.count}", TC_I32, {self.side})'
        ways = ((7, f"tc_matmul({x}, {y})"), (2, f"tc_matmul({y}, tc_permute({x}, 1, 0))"),
                (3, f"tc_softmax({x}, {axis})"), (2, f"tc_add({x}, {y})"), (2, f"tc_cumsum({x}, {axis})"), (2, ""),
                (1, f"tc_mul(tc_relu({x}), tc_mean({y}, 0))"), (1, f"tc_gather({x}, {index}, 0)"))
        chosen, = self.draw.choices([text for _, text in ways], [often for often, _ in ways])
        return self.put(chosen) if chosen else self.part(f"{x}, {y}", axis)

    def loop(self, x: str, y: str) -> str:
        turn = self.put(f"tc_add({x}, 0)")
        self.lines.append(f"TC_SCAN(g, 3, &{turn}) {{ {turn} = tc_softmax(tc_matmul({turn}, {y}), 1); }}")
        return turn

    def branch(self) -> str:
        x = self.any()
        for _ in range(self.draw.randrange(1, 6)):
            x = self.step(x)
            if self.draw.random() < 0.1:
                self.lines.append(f'tc_output(g, "o{self.count}", {x});')
        return x

    @property
    def text(self) -> str:
        size = f"TC_F32, {self.side}, {self.side}"
        for i in range(self.draw.randrange(2, 4)):
            self.put(f'tc_input(g, "x{i}", {size})')
        for _ in range(self.draw.randrange(1, 3)):
            ends = [self.branch() for _ in range(self.draw.randrange(2, 5))]
            if self.draw.random() < 0.4:
                ends.append(self.loop(ends[0], ends[-1]))
            self.put(f"tc_softmax({self.part(', '.join(ends), 1)}, 1)")
        body = "\n    ".join(("tc_tensor v[200];", *self.lines, f'tc_output(g, "y", v[{self.count - 1}]);'))
        return f"TC_FUNCTION({self.name})\n{{\n    {body}\n}}\n"


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word != "--print"]
    first, count = (*numbers, *(1, 12)[len(numbers):])
    functions = [Function(seed) for seed in range(first, first + count)]
    text = "\n".join(("#include <tensor_compile/model.h>", "TC_MODEL(branches)", "{", "}",
                      *(function.text for function in functions)))
    if "--print" in sys.argv:
        print(text)
        return
    sorted_ = []     # of each program, how many steps each of its stages has
    usual = plan.staged

    def staged(*arguments):
        found = usual(*arguments)
        sorted_.append([len(stage) for stage in found.stages])
        return found
    plan.staged = staged
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "branches.c"
        model.write_text(text, encoding="utf-8")
        cache = Cache(Path(os.environ.get("TC_TESTS_CACHE", place)))
        machine = replace(NATIVE, isas=native_isas(1, 1))
        made = build(model, machine, cache, {})
        ok(sum(map(bool, sorted_)) >= count // 4, "branches of some functions stand side by side") or note(sorted_)
        run(made, machine, cache, [f"bits {f.name} {words(made, f.name, {})}" for f in functions])
    done()


main()
