# SPDX-License-Identifier: Apache-2.0
"""Physical orders by cost: the search against all choices, what it decides, and equal bits whatever it decides."""
from __future__ import annotations

import itertools
import random
from dataclasses import replace

from harness import TARGET, _difference, module_of, random_tensor
from oracle import programs
from oracle.graph import Run
from tap import done, equal, ok
from tensor_compile.emit.contraction.order_price import price_of
from tensor_compile.graph.ir import Node, Value
from tensor_compile.graph.text import print_function
from tensor_compile.graph.verify import verify
from tensor_compile.loops import fuse, layout, lower, orders, plan, schedule, verify_loops
from tensor_compile.loops.order_costs import Costs

# -- the search -------------------------------------------------------------------------------------------------------
rng = random.Random(5)
for number in range(60):
    counts = [rng.randint(1, 4) for _ in range(rng.randint(1, 7))]
    terms = []
    for _ in range(rng.randint(1, 10)):
        scope = tuple(sorted(rng.sample(range(len(counts)), min(len(counts), rng.randint(1, 3)))))
        terms.append((scope, {at: float(rng.randint(0, 9))
                              for at in itertools.product(*(range(counts[v]) for v in scope))}))

    def total(point: tuple[int, ...]) -> float:
        return sum(table[tuple(point[v] for v in scope)] for scope, table in terms)

    best = min(total(point) for point in itertools.product(*map(range, counts)))
    found, kept = orders.least(counts, terms)
    equal((total(tuple(found)), kept), (best, 0), f"sum {number}: the least of all choices")

dense = [((a, b), {at: float(rng.randint(0, 9)) for at in itertools.product(range(3), repeat=2)})
         for a, b in itertools.combinations(range(14), 2)]
found, kept = orders.least([3] * 14, dense)
ok(kept and all(0 <= c < 3 for c in found), "where every set meets every other one, some keep what rules gave them")
equal(orders.least([3] * 14, dense), (found, kept), "the same again")
dense = [((a, b), {at: float(rng.randint(0, 9)) for at in itertools.product(range(1 if a == 0 else 2), range(2))})
         for a, b in itertools.combinations(range(41), 2)]
found, kept = orders.least([1] + [2] * 40, dense)
ok(0 < kept < 40 and found[0] == 0, "nor is one of a single order, which meets them all, a table of all of theirs")

# -- decisions --------------------------------------------------------------------------------------------------------
CONV = "stride=[1, 1], low=[0, 0], high=[0, 0], dilation=[1, 1], groups=1"
HEAD = """function f(%0 "x" : f32[1,16,30,30] loc("m.c":1)) entry {
%1 = weight() {name="w"} : f32[16,16,1,1]
%2 = convolution(%0, %1) {CONV} : f32[1,16,30,30]
""".replace("CONV", CONV)
JOINED = HEAD + """%3 = reshape(%2) {shape=[1, 16, 900]} : f32[1,16,900]
%4 = reduce(%3) {op=sum, axes=[2], order=lanes} : f32[1,16]
%5 = convolution(%2, %1) {CONV} : f32[1,16,30,30]
%6 = reduce(%5) {op=max, axes=[1], order=free} : f32[1,30,30]
return "y" %4
return "z" %6
}""".replace("CONV", CONV)
TORN = HEAD + """%3 = reshape(%2) {shape=[1, 14400]} : f32[1,14400]
%4 = reduce(%3) {op=sum, axes=[1], order=lanes} : f32[1]
%5 = convolution(%2, %1) {CONV} : f32[1,16,30,30]
%6 = reduce(%5) {op=max, axes=[1], order=free} : f32[1,30,30]
return "y" %4
return "z" %6
}""".replace("CONV", CONV)
ADDED = HEAD + """%3 = weight() {name="c"} : f32[1,16,30,30]
%4 = add(%2, %3) : f32[1,16,30,30]
%5 = convolution(%4, %1) {CONV} : f32[1,16,30,30]
%6 = reduce(%5) {op=max, axes=[1], order=free} : f32[1,30,30]
return "z" %6
}""".replace("CONV", CONV)
PADDED = HEAD + """%3 = reduce(%2) {op=max, axes=[0, 1, 2, 3], order=free} : f32[]
%4 = pad(%2, %3) {low=[1, 0, 0, 0], high=[0, 0, 0, 0]} : f32[2,16,30,30]
%5 = reduce(%4) {op=max, axes=[1], order=free} : f32[2,30,30]
return "z" %5
}""".replace("CONV", CONV)
FEW = """function f(%0 "x" : f32[1,4,5,18] loc("m.c":1)) entry {
%1 = weight() {name="w"} : f32[4,4,1,1]
%2 = convolution(%0, %1) {CONV} : f32[1,4,5,18]
%3 = weight() {name="f"} : f32[2,4,3,3]
%4 = convolution(%2, %3) {PADDED} : f32[1,2,5,18]
%5 = broadcast(%2) {shape=[1, 4, 5, 18, 2], axes=[0, 1, 2, 3]} : f32[1,4,5,18,2]
%6 = reshape(%5) {shape=[1, 4, 5, 36]} : f32[1,4,5,36]
%7 = convolution(%6, %3) {PADDED} : f32[1,2,5,36]
return "y" %4
return "z" %7
}""".replace("CONV", CONV).replace("PADDED", CONV.replace("low=[0, 0], high=[0, 0]", "low=[1, 1], high=[1, 1]"))
RESAMPLED = """function f(%0 "x" : f32[1,30,30,16] loc("m.c":1)) entry {
%1 = transpose(%0) {perm=[0, 3, 1, 2]} : f32[1,16,30,30]
%2 = iota() {axis=0} : i64[30]
%3 = gather(%1, %2) {axis=3} : f32[1,16,30,30]
%4 = window_reduce(%3) {op=max, size=[3, 3], stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1]} : f32[1,16,30,30]
%5 = exp(%4) : f32[1,16,30,30]
%6 = add(%3, %5) : f32[1,16,30,30]
%7 = gather(%6, %2) {axis=2} : f32[1,16,30,30]
%8 = transpose(%7) {perm=[0, 2, 3, 1]} : f32[1,30,30,16]
return "y" %8
}"""
WEIGHTS = (("w", "f32[16,16,1,1]"), ("c", "f32[1,16,30,30]"), ("f", "f32[2,4,3,3]"))


class Drawn(Costs):
    """Costs that mean nothing: any order may be chosen anywhere."""

    def draw(self, *of: object) -> float:
        return random.Random(f"{self.seed} {of}").random()

    def copy(self, v, order, other) -> float:
        return self.draw("copy", v.shape) / 4

    def make(self, node, order) -> float:
        return self.draw("make", node.op, node.types, order)

    def read(self, node, position, order, result) -> float:
        return self.draw("read", node.op, node.types, position, order, result)

    def along_lines(self, node, order, result) -> bool:
        return self.draw("along", node.types, order, result) < 0.5


def told(body: str, costs: Costs | None = None):
    module = module_of(body, dims=(), weights=WEIGHTS)
    (function,) = module.entries
    laid = layout.apply(function, TARGET)
    made, chosen = orders.apply(laid, costs or Costs(TARGET, price_of(TARGET.with_isas(("avx512",)))))
    verify(replace(module, functions={"f": made}))
    return module, made, chosen


_, made, chosen = told(JOINED)
ok("ordered" in print_function(made) and "order=[0, 2, 3, 1]" in print_function(made) and chosen.ordered == 1
   and chosen.after < chosen.before, "a reshape that joins height and width leaves channels last")
_, made, chosen = told(TORN)
ok("order=[0, 2, 3, 1]" not in print_function(made), "one that joins channels, too, does not")
_, made, chosen = told(ADDED)
ok("perm=[0, 3, 1, 2]" in print_function(made) and chosen.ordered >= 1, "a constant is turned when the model is built")
_, made, chosen = told(ADDED.replace("%5 =", "%8 =").replace("%6", "%9").replace("%5", "%8").replace("(%4", "(%5")
                       .replace("%4 = add(%2, %3)", "%4 = exp(%3) : f32[1,16,30,30]\n%5 = add(%2, %4)"))
ok(print_function(made).count("perm=[0, 3, 1, 2]") == 1, "what it is computed from is not")
for axis, size in ((2, "60,30"), (3, "30,60")):
    _, made, chosen = told(HEAD + f"""%3 = iota() {{axis=0}} : i64[60]
%4 = gather(%2, %3) {{axis={axis}}} : f32[1,16,{size}]
%5 = convolution(%4, %1) {{{CONV}}} : f32[1,16,{size}]
%6 = reduce(%5) {{op=max, axes=[1], order=free}} : f32[1,{size}]
return "y" %6
}}""")
    found = layout.orders(made)
    equal([found.get(v) for v in map(Value, made.nodes) if v.node.op == "gather"], [(0, 2, 3, 1)],
          f"what is gathered along axis {axis} between convolutions keeps channels last")
_, made, chosen = told(RESAMPLED)
found = layout.orders(made)
equal([found.get(v) for v in map(Value, made.nodes) if v.node.op in ("gather", "window_reduce")], [(0, 2, 3, 1)] * 3,
      "what is resampled and pooled between transposes, all of it, lies as its ends do")
ok(chosen.before > 16 * 30 * 30 and chosen.after == 0, "so that nothing is turned")
_, made, chosen = told(HEAD + 'return "y" %2\n}')
ok(chosen.after <= chosen.before and not chosen.copied, "one convolution between an input and an output stays")

POOLED = """function f(%0 "x" : f32[1,16,60,60] loc("m.c":1)) entry {
%1 = window_reduce(%0) {op=max, size=[3, 3], STRIDES, low=[0, 0], high=[0, 0], dilation=[1, 1]} : f32[1,16,SIZE,SIZE]
return "y" %1
}"""


def pooled(stride: int, order: tuple[int, ...]) -> float:
    text = POOLED.replace("STRIDES", f"stride=[{stride}, {stride}]").replace("SIZE", str((60 - 3) // stride + 1))
    (function,) = module_of(text, dims=()).entries
    (node,) = (x for x in function.nodes if x.op == "window_reduce")
    return Costs(TARGET, price_of(TARGET.with_isas(("avx512",)))).read(node, 0, order, order) / (58 // stride) ** 2


ok(0 == pooled(1, (0, 2, 3, 1)) < pooled(2, (0, 1, 2, 3)) < pooled(3, (0, 1, 2, 3)) < pooled(5, (0, 1, 2, 3)),
   "windows along lines cost more than those of channels, most where their elements are gathered")
ok(pooled(2, (0, 1, 2, 3)) * 29 * 29 < 16 * 60 * 60, "not as much as it costs to turn the image")


GROUPED = """function f(%0 "x" : f32[1,32,60,60] loc("m.c":1)) entry {
%1 = weight() {name="w"} : f32[OUTS,32,3,3]
%2 = convolution(%0, %1) {stride=[STRIDE, STRIDE], low=[1, 1], high=[1, 1], dilation=[1, 1],\
 groups=GROUPS} : f32[1,OUTS,SIZE,SIZE]
return "y" %2
}"""


def convolved(outs: int, groups: int, stride: int, channels: int = 32, side: int = 60, dims: tuple[str, ...] = ()
              ) -> tuple[Costs, Node]:
    """Of 3x3, as layout leaves it. dims: of height and width, where they are not the numbers `side`."""
    ins, size = channels // groups, (side - 1) // stride + 1
    text = GROUPED.replace("OUTS,32", f"{outs},{ins}").replace("[1,32,60,60", f"[1,{channels},{side},{side}")
    for name, number in (("OUTS", outs), ("STRIDE", stride), ("GROUPS", groups), ("SIZE", size)):
        text = text.replace(name, str(number))
    if dims:
        text = text.replace(f"{side},{side}]", ",".join(d.split()[0] for d in dims) + "]")
    (function,) = module_of(text, dims=dims, weights=(("w", f"f32[{outs},{ins},3,3]"),)).entries
    (node,) = (x for x in layout.apply(function, TARGET).nodes if x.op == "packed_convolution")
    return Costs(TARGET, price_of(TARGET.with_isas(("avx512",)))), node


PLAIN, LAST = (0, 1, 2, 3), (0, 2, 3, 1)
costs, node = convolved(3, 1, 1)
ok(0 == costs.read(node, 0, PLAIN, PLAIN) < 60 * 60 * 32 < costs.read(node, 0, LAST, PLAIN)
   and costs.read(node, 0, PLAIN, LAST) > 60 * 60 * 32, "one of three output channels wants both tensors plain")
equal([costs.along_lines(node, *both) for both in ((PLAIN, PLAIN), (LAST, PLAIN), (PLAIN, LAST), (LAST, LAST))],
      [True, False, False, False], "and is then computed along lines")
eight, node = convolved(8, 1, 1)
ok(60 * 60 * 32 < eight.read(node, 0, LAST, LAST) < costs.read(convolved(3, 1, 1)[1], 0, LAST, LAST),
   "one of eight wants it less")
ok(not convolved(9, 1, 1)[0].few(convolved(9, 1, 1)[1]), "one of nine has panels")
avx2 = TARGET.with_isas(("avx2",))
narrow = Costs(avx2, price_of(avx2))
equal([narrow.along_lines(convolved(outs, 1, 1)[1], PLAIN, PLAIN) for outs in (3, 6)], [True, False],
      "with registers of 8 lanes, one of six has panels")
for channels in (1, 3):
    first = convolved(32, 1, 1, channels, 120)[1]
    equal([cost.few(first) and cost.along_lines(first, PLAIN, PLAIN) for cost in (costs, narrow)], [True, channels == 1],
          f"a first layer of {channels} runs along lines; with registers of 8 lanes, one of one channel")
scalar = Costs(replace(TARGET, isas=("scalar",)), lambda node, order: 1.0)
ok(not scalar.few(node), "and without vectors any one")
costs, node = convolved(32, 8, 1)
ok(0 == costs.read(node, 0, LAST, LAST) < costs.read(node, 0, PLAIN, PLAIN),
   "groups of four output channels cost more plain")
far, fifth = convolved(32, 8, 5)
ok(far.read(fifth, 0, PLAIN, PLAIN) * 25 > 10 * costs.read(node, 0, PLAIN, PLAIN), "much more where lanes are gathered")
costs, node = convolved(32, 1, 1)
ok(0 < costs.make(node, PLAIN) <= 60 * 60 * 32 / 2, "tiles turn what they store")
known, opened = (cost.asked(node, LAST) for cost, node in (
    convolved(32, 1, 1, side=100, dims=dims) for dims in ((), ("h 1:100", "w 1:100"))))
ok(0.8 < known / opened < 1.25, "unknown heights and widths cost what their upper ends do")
x = node.operands[0]
ok(costs.copy(x, PLAIN, LAST) < 2 * (1000 + 1.4 * 60 * 60 * 32), "a copy of many channels and positions moves whole lines")

# -- bits -------------------------------------------------------------------------------------------------------------
READERS = """function f(%0 "x" : f32[1,C,60,60] loc("m.c":1), %1 "i" : i64[120] loc("m.c":2)) entry {
%2 = arg_reduce(%0) {op=max, axis=1} : i64[1,60,60]
%3 = reduce(%0) {op=max, order=free, axes=[1]} : f32[1,60,60]
%4 = gather(%0, %1) {axis=2} : f32[1,C,120,60]
return "y" %2
return "z" %3
return "g" %4
}"""


def readers(channels: int) -> list[list[float]]:
    """Of extremes of channels and a gather of lines, which read and make plain tensors, and channels last."""
    (function,) = module_of(READERS.replace("C", str(channels)), dims=()).entries
    some = [x for x in function.nodes if x.op in ("arg_reduce", "reduce", "gather")]
    return [[costs.read(x, 0, order, order if x.op == "gather" else tuple(range(3))) for x in some]
            for order in (PLAIN, LAST)]


plain, last = readers(3)
ok(plain == [0.0] * 3 and min(last) > 0, "rows of few channels side by side fill no vector")
equal(readers(64), [[0.0] * 3] * 2, "those of many do")


def small(body: str) -> str:
    for old, new in (("14400", "36"), ("900", "9"), ("30", "3"), ("16", "4")):
        body = body.replace(old, new)
    return body


WEIGHTS = tuple((n, small(t)) for n, t in WEIGHTS)
seen = set()
for body in (JOINED, TORN, ADDED, PADDED, FEW, RESAMPLED):
    for seed in range(8):
        costs = Drawn(TARGET, lambda node, order: 0.0)
        costs.seed = seed
        module, made, chosen = told(small(body), costs)
        seen |= {word for word in ("ordered(", "reorder(", "panel=0") if word in print_function(made)}
        function = module.functions["f"]
        lowered = lower.lower(made, replace(module, functions={"f": made}), TARGET)
        joined = fuse.fuse(lowered)
        program = plan.plan(schedule.schedule(joined, TARGET), TARGET)
        for form in (lowered, joined, program):
            verify_loops.verify(form)
        rng = random.Random(seed)
        inputs = [random_tensor(rng, "f32", tuple(d.value for d in p.types[0].shape), True)
                  for p in function.parameters]
        weights = {n: random_tensor(rng, "f32", tuple(d.value for d in w.type.shape), False)
                   for n, w in module.weights.items()}
        values = {"x": list(inputs[0].data)} | {n: list(t.data) for n, t in weights.items()}
        programs.run(program, {}, values, seed % 2 == 1)
        wanted = Run(module, {}, weights, {}).results(function, inputs, "")
        equal([_difference(n, t, values[n]) for (n, _, _), t in zip(function.results, wanted, strict=True)],
              [""] * len(wanted), f"drawn orders {seed}: equal bits")
equal(seen, {"ordered(", "reorder(", "panel=0"}, "orders, copies and convolutions along lines were among them")
done()
