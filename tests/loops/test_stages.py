# SPDX-License-Identifier: Apache-2.0
"""Branches side by side: fewer barriers, the same bits, in a memory that hardly grows; and where they stay as they are."""
import random
from dataclasses import replace

from harness import TARGET, compare_ways, module_of, program_of
from tap import done, equal, note, ok
from tensor_compile.loops.loop_ir import Kernel
from tensor_compile.loops.program_ir import Program, Step
from tensor_compile.loops.scalar_ir import Buffer
from tensor_compile.loops.stage_groups import grouped, most_alive
from tensor_compile.loops.stages import Staged, staged
from tensor_compile.symbolic import wrap

LOC = 'loc("m.c":1)'
PRODUCT = "{lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0], order=lanes}"


class Graph:
    """A function of square matrices."""

    def __init__(self, inputs: int, size: str = "8"):
        self.type = f"f32[{size},{size}]"
        self.values = list(range(inputs))
        self.parameters = ", ".join(f'%{i} "x{i}" : {self.type} {LOC}' for i in self.values)
        self.lines: list[str] = []

    def put(self, text: str) -> int:
        self.values.append(len(self.values))
        self.lines.append(f"%{self.values[-1]} = {text} : {self.type} {LOC}")
        return self.values[-1]

    def product(self, a: int, b: int) -> int:
        return self.put(f"dot(%{a}, %{b}) {PRODUCT}")

    def chain(self, x: int, w: int, length: int, left: bool = False) -> int:
        """Products of x and w. left: w is the first operand, so that they are no part of a kernel of others of x."""
        for _ in range(length):
            x = self.product(w, x) if left else self.product(x, w)
        return x

    def module(self, *results: int):
        lines = (*self.lines, *(f'return "y{i}" %{r} {LOC}' for i, r in enumerate(results)))
        body = "\n".join(f"  {line}" for line in lines)
        return module_of(f"function f({self.parameters}) entry {{\n{body}\n}}\n", dims=())


def barriers(program: Program) -> int:
    return sum(step.barrier for step in program.kernel_steps)


def order(program: Program) -> list[str]:
    return [step.kernel.label for step in program.kernel_steps]


def both(graph: Graph, *results: int) -> tuple[Program, Program]:
    """The program in the order of the graph, and with its branches side by side, whose bits are compared."""
    module = graph.module(*results)
    differences, program, _ = compare_ways((False, True), module, "f", {}, seed=len(graph.lines))
    equal(differences, ["", ""], f"{len(graph.lines)} operations: the same bits, whatever thread is first")
    return program_of(module, "f", stages=False)[1], program


# two chains of four products each, and their sum
two = Graph(3)
two.put(f"add(%{two.chain(0, 2, 4)}, %{two.chain(1, 2, 4)})")
alone, beside = both(two, two.values[-1])
two_alone = alone
equal((barriers(alone), barriers(beside)), (6, 3), "two chains of four products: barriers")
equal(sorted(order(alone)), sorted(order(beside)), "the same kernels")
ok(beside.arena.size <= 1.5 * alone.arena.size, "an arena that is little larger") or note(beside.arena.size)

# a short branch beside a long one, and one chain
short = Graph(4)
short.put(f"add(%{short.chain(0, 1, 4)}, %{short.chain(2, 3, 3)})")
alone, beside = both(short, short.values[-1])
ok(barriers(beside) < barriers(alone), "a branch of three products beside one of four: fewer barriers")
one = Graph(2)
one.chain(0, 1, 5)
alone, beside = both(one, one.values[-1])
equal(order(alone), order(beside), "one chain stays as it is")

# stretches are found one by one: two pairs of branches, one behind the other
pair = Graph(3)
for _ in range(2):
    x = pair.values[-1]
    pair.put(f"add(%{pair.chain(x, 0, 3)}, %{pair.chain(x, 1, 3, left=True)})")
alone, beside = both(pair, pair.values[-1])
ok(barriers(beside) <= barriers(alone) - 2, "two stretches of two branches: a barrier less in each") or note(
    (barriers(alone), barriers(beside)))

# six chains: all of them would need a much larger arena, some at a time do not
six = Graph(7)
ends = [six.chain(i, 6, 4, left=i % 2 == 1) for i in range(6)]
for end in ends[1:]:
    ends[0] = six.put(f"add(%{ends[0]}, %{end})")
alone, beside = both(six, six.values[-1])
ok(barriers(beside) < barriers(alone), "six chains: some stand side by side") or note((barriers(alone),
                                                                                       barriers(beside)))
ok(beside.arena.size <= 1.5 * alone.arena.size, "in an arena that is little larger") or note(
    (alone.arena.size, beside.arena.size))


def chains(count: int, length: int) -> list[set[int]]:
    """What the steps of chains need, one chain behind the other."""
    return [{i - 1} if i % length else set() for i in range(count * length)]


def widest(most: int):
    return lambda group, stages: max(map(len, group)) <= most


equal(grouped(chains(3, 3), widest(2)), [[0, 3], [1, 4], [2, 5], [6], [7], [8]],
      "two of three chains side by side, the third behind them")
equal(grouped(chains(4, 2), widest(2)), [[0, 2], [1, 3], [4, 6], [5, 7]], "two and two of four")
equal(grouped(chains(3, 3), widest(1)), None, "none where two are too many")
equal(grouped(chains(3, 1), widest(3)), None, "nor where they have no barriers")
summed = [*chains(3, 2), {1, 3}, {5, 6}]     # the sum of two, and of that and the third
equal(grouped(summed, widest(2)), [[0, 2], [1, 3], [4, 6], [5], [7]], "sums stay behind their chains")
equal(most_alive([["a", "b"], ["b", "c"], ["c", "d"]], {"a": 1, "b": 2, "c": 4}, set(), set()), 6,
      "bytes at once, of tensors that are counted")
equal(most_alive([["a", "b"], ["b", "c"], ["c", "d"]], {"a": 1, "b": 2, "c": 4}, {"c"}, {"a"}), 7,
      "and of what was there before, or is needed later")

# a stretch that does not fit is left out alone
three = Graph(3)
for _ in range(3):
    x = three.values[-1]
    three.put(f"add(%{three.chain(x, 0, 3)}, %{three.chain(x, 1, 3, left=True)})")
alone, beside = both(three, three.values[-1])
row = [Step(step.kernel) for step in alone.kernel_steps]
first, last = ({id(s) for s in part} for part in (row[:len(row) // 3], row[-(len(row) // 3):]))
tried: list[Staged] = []


def last_is_large(found: Staged) -> int:
    tried.append(found)
    return 100 + 300 * any(id(s) in last for stage in found.stages for s in stage)


kept = staged(row, alone.buffers, TARGET, last_is_large)
sorted_ = {id(s) for stage in kept.stages for s in stage}
ok(sorted_ & first and not sorted_ & last, "the last of three stretches is left out alone") or note(
    [len(stage) for stage in kept.stages])
tried.clear()
staged(row, alone.buffers, TARGET, lambda found: tried.append(found) or 100)
equal(len(tried), 2, "the arena is asked for twice where all stretches fit")
tried.clear()
chain = [Step(step.kernel) for step in program_of(one.module(one.values[-1]), "f", stages=False)[1].kernel_steps]
staged(chain, alone.buffers, TARGET, lambda found: tried.append(found) or 100)
equal(len(tried), 0, "and not at all where there are no branches")

# where it does not pay
alone, _ = both(pair, pair.values[-1])
kernels = [step.kernel for step in alone.kernel_steps]
steps = [Step(k) for k in kernels]
buffers = alone.buffers
size = {"asked": 0}


def arena(found: Staged) -> int:
    size["asked"] += 1
    return alone.arena.size if found.stages == () else 4 * alone.arena.size


equal(staged(steps, buffers, TARGET, arena).steps, steps, "not where the arena would be four times as large")
ok(size["asked"] > 1, "which is asked")
equal(staged(steps, buffers, replace(TARGET, threads=1), arena).steps, steps, "not where there is no team")
equal(staged(steps, buffers, replace(TARGET, l2=256), lambda found: 0).steps, steps,
      "not where what is handed on leaves the second cache")
equal(staged(steps, buffers, TARGET, lambda found: None).steps, steps, "not where sizes are not known")


def with_scratch(kernel: Kernel, count: int) -> Step:
    return Step(replace(kernel, params=(*kernel.params, Buffer("%scratch", "f32", (wrap(count),), (0,), "scratch"))))


# scratch of a stage's steps lies side by side
large = [with_scratch(step.kernel, 1000) for step in two_alone.kernel_steps]
equal(staged(large, two_alone.buffers, TARGET, lambda found: 64).steps, large,
      "not where a thread would have scratch for two kernels")
one_large = [with_scratch(step.kernel, 1000 if i == 0 else 10) for i, step in enumerate(two_alone.kernel_steps)]
ok(staged(one_large, two_alone.buffers, TARGET, lambda found: 64).stages, "but where that is hardly more than for one")

# anything at all
for seed in range(30):
    draw = random.Random(seed)
    graph = Graph(6, "6")
    for _ in range(draw.randrange(6, 20)):
        a, b = draw.choice(graph.values), draw.choice(graph.values)
        graph.product(a, b) if draw.random() < 0.7 else graph.put(f"add(%{a}, %{b})")
    module = graph.module(*draw.sample(graph.values[-6:], 2))
    differences, program, _ = compare_ways((False, True), module, "f", {}, seed=seed)
    before = program_of(module, "f", stages=False)[1]
    ok(not any(differences) and barriers(program) <= barriers(before), f"graph {seed}: {barriers(before)} barriers "
       f"become {barriers(program)}") or note(differences)
done()
