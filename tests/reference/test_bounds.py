# SPDX-License-Identifier: Apache-2.0
"""What `check` takes for rounding and what not: right results of sums that cancel and of 16-bit models are right; wrong
are those with one term too few or too many, two elements exchanged, a wrong mask, a small but wrong element."""
from __future__ import annotations

import contextlib
import io
import math
import random
import re
import struct
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Callable

import models
from tap import done, equal, note, ok
from tensor_compile.compile import check_model, check_runs, model_program
from tensor_compile.compile.given import Case
from tensor_compile.compile.options import Options

sys.path.insert(0, str(models.ROOT / "tests" / "interpreter"))
import st

MODEL = """#include <tensor_compile/model.h>
TC_MODEL(m)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 8, 1000);
    tc_output(g, "sums", tc_sum(x, 1));
    tc_output(g, "square", tc_mul(tc_sum(x, 1), tc_sum(x, 1)));
}

static tc_tensor two(tc_graph *g, tc_dtype dtype)
{
    tc_tensor x = tc_cast(tc_input(g, "x", TC_F32, 8, 64), dtype), w = tc_cast(tc_input(g, "w", TC_F32, 64, 64), dtype);
    tc_tensor hidden = tc_relu(tc_matmul(x, w));
    tc_output(g, "hidden", tc_cast(hidden, TC_F32));
    return tc_cast(tc_matmul(hidden, w), TC_F32);
}

TC_FUNCTION(brain) { tc_output(g, "y", two(g, TC_BF16)); }
TC_FUNCTION(halves) { tc_output(g, "y", two(g, TC_F16)); }

TC_FUNCTION(attention)
{
    tc_tensor q = tc_input(g, "q", TC_F32, 1, 2, 9, 8), k = tc_input(g, "k", TC_F32, 1, 2, 9, 8);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, tc_input(g, "v", TC_F32, 1, 2, 9, 8), .causal = true));
}

/* Results far below any fixed bound. */
TC_FUNCTION(small) { tc_output(g, "y", tc_mul(tc_softmax(tc_input(g, "x", TC_F32, 4, 50), 1), 1e-9f)); }

/* Two classes are equal but for rounding: 0.1 + 0.2 and 0.3 in f32. */
TC_FUNCTION(tied)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 3, 4);
    tc_output(g, "best", tc_argmax(tc_concat(1, tc_sum_keepdims(tc_narrow(x, 1, 0, 2), 1), tc_narrow(x, 1, 2, 2)), 1));
}

/* Zeros and poles that rounding hits, and differences of doubles. */
static void functions(tc_graph *g, tc_dtype dtype)
{
    tc_tensor x = tc_cast(tc_input(g, "x", TC_F32, 16, 300), dtype);
    tc_output(g, "tail", tc_log(tc_erfc(tc_mul(x, 2))));
    tc_output(g, "gamma", tc_lgamma(x));
    tc_output(g, "less", tc_silu(tc_sub(tc_exp(x), tc_exp(tc_mul(x, 0.999f)))));
    tc_output(g, "moved", tc_var(tc_add(tc_mul(x, 0.01f), 100), 1));
    tc_output(g, "product", tc_prod(tc_add(x, 0.5f), 1));
}

TC_FUNCTION(of_f16) { functions(g, TC_F16); }
TC_FUNCTION(of_bf16) { functions(g, TC_BF16); }
TC_FUNCTION(of_f32) { functions(g, TC_F32); }
TC_FUNCTION(of_f64) { functions(g, TC_F64); }

/* Rectified everywhere: near zero a result bends. */
static void rectified(tc_graph *g, tc_dtype dtype)
{
    static const char *const names[] = {"w0", "w1", "w2", "w3"};
    tc_tensor y = tc_cast(tc_input(g, "x", TC_F32, 1, 5, 9, 9), dtype);
    for (int i = 0; i < 4; ++i) {
        tc_tensor w = tc_cast(tc_input(g, names[i], TC_F32, 5, 5, 3, 3), dtype);
        y = i % 2 ? tc_conv_transpose2d(y, w, .stride = {2, 2}, .padding = {1, 1}, .output_padding = {1, 1})
                  : tc_conv2d(y, w, .padding = {1, 1});
        if (i == 3)
            y = tc_add(y, tc_unsqueeze(tc_unsqueeze(tc_cast(tc_input(g, "b", TC_F32, 5), dtype), 1), 1));
        y = tc_relu(y);
    }
    tc_output(g, "y", tc_cast(y, TC_F32));
}

TC_FUNCTION(rectified_f16) { rectified(g, TC_F16); }
TC_FUNCTION(rectified_bf16) { rectified(g, TC_BF16); }
TC_FUNCTION(rectified_f32) { rectified(g, TC_F32); }

TC_FUNCTION(cancelled)
{
    tc_output(g, "y", tc_relu(tc_sum(tc_input(g, "x", TC_F32, 200, 1000), 1)));
}

TC_FUNCTION(cancelled_f16)
{
    tc_tensor x = tc_mul(tc_cast(tc_input(g, "x", TC_F32, 200, 999), TC_F16), 0.3f);
    tc_output(g, "y", tc_cast(tc_relu(tc_sum(x, 1)), TC_F32));
}

/* It jumps where a sum is zero. */
TC_FUNCTION(jumps) { tc_output(g, "y", tc_sign(tc_sum(tc_input(g, "x", TC_F32, 50, 1000), 1))); }

/* 70000 is infinite in f16. */
TC_FUNCTION(beyond) { tc_output(g, "y", tc_cast(tc_cast(tc_mul(tc_input(g, "x", TC_F32, 4), 7), TC_F16), TC_F32)); }
"""
NEAR_ZERO = 2e-5    # some roundings of a sum of a thousand terms
Tensors = dict[str, tuple[str, list[int], list]]
Change = Callable[[Tensors], None]


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "m.c").write_text(MODEL, encoding="utf-8")
    options = Options(str(folder / "m.c"), "m.c", str(folder / "m.o"), str(folder / "m.h"), models.cache(folder),
                      isas=("x86_64",) if models.X86 else (), jobs=2)
    request = check_runs.Request(function="", dims=(), cases=(), rtol=None, atol=None, seed=1, threads=1, wrapper=())
    call = model_program.Program.call

    def run(function: str, inputs: Tensors | None = None, change: Change | None = None,
            expect: Tensors | None = None) -> tuple[dict[tuple[str, str], bool], str]:
        """Whether each comparison of each tensor is right, and what is printed. change: of the results of each call."""
        def changed(self, symbol, source, out, *more, **named):
            result = call(self, symbol, source, out, *more, **named)
            if change is not None and result.returncode == 0:
                tensors = st.read(out)
                change(tensors)
                st.write(out, tensors)
            return result

        cases: tuple[Case, ...] = ()
        if inputs is not None:
            st.write(folder / "in", inputs)
            if expect is not None:
                st.write(folder / "want", expect)
            cases = (Case(str(folder / "in"), str(folder / "want") if expect is not None else ""),)
        out = io.StringIO()
        model_program.Program.call = changed
        try:
            with contextlib.redirect_stdout(out):
                check_model.run(options, replace(request, function=function, cases=cases))
        finally:
            model_program.Program.call = call
        said = out.getvalue()
        lines = [line.split(": ") for line in said.splitlines()[:-1] if line.count(": ") >= 3]
        return {(part[1].replace(str(folder / "want"), "want"), part[2]): not part[-1].endswith("FAILED")
                for part in lines}, said

    def right(name: str, *given, **named) -> None:
        found, said = run(*given, **named)
        if not ok(bool(found) and all(found.values()), f"right: {name}"):
            note(said)

    def wrong(name: str, tensor: str, *given, by: str = "double precision", **named) -> None:
        found, said = run(*given, **named)
        if not ok(not found[by, tensor] and all(good for (how, t), good in found.items()
                                                if t != tensor and how == by), f"wrong: {name}"):
            note(said)

    def changes(tensor: str, *elements: tuple[int, float]) -> Change:
        """Adds to elements."""
        def change(tensors: Tensors) -> None:
            for at, more in elements:
                tensors[tensor][2][at] = f32(tensors[tensor][2][at] + more)
        return change

    def sets(tensor: str, at: int, value: float) -> Change:
        return lambda tensors: tensors[tensor][2].__setitem__(at, value)

    def exchange(tensor: str, i: int, j: int) -> Change:
        def change(tensors: Tensors) -> None:
            values = tensors[tensor][2]
            values[i], values[j] = values[j], values[i]
        return change

    draw = random.Random(1)

    def normal(*shape: int, scale: float = 1) -> tuple[str, list[int], list]:
        count = 1
        for n in shape:
            count *= n
        return "F32", list(shape), [f32(draw.gauss(0, scale)) for _ in range(count)]

    # sums of a thousand terms of magnitude 1 that nearly cancel
    rows = []
    for _ in range(8):
        half = [f32(draw.gauss(0, 1)) for _ in range(500)]
        row = half + [f32(-v * (1 + 1e-6 * draw.random())) for v in half]
        draw.shuffle(row)
        rows += row
    sums = {"x": ("F32", [8, 1000], rows)}
    right("sums that cancel", "m", sums)
    least = min(range(1000), key=lambda i: abs(abs(rows[i]) - 0.01))
    wrong("a term of 0.01 is left out of a thousand", "sums", "m", sums, changes("sums", (0, -rows[least])))
    wrong("a term is taken twice", "sums", "m", sums, changes("sums", (3, rows[3000])))
    for seed in range(3):
        right(f"other random inputs, {seed}", "m", {"x": normal(8, 1000)})
    wrong("two results are exchanged", "sums", "m", {"x": normal(8, 1000)}, exchange("sums", 6, 7))
    # the user's own sums, in another order
    orders = [sum(sorted(rows[at:at + 1000])) for at in range(0, 8000, 1000)]
    own: Tensors = {"sums": ("F32", [8], [f32(v) for v in orders])}
    right("expected sums in another order", "m", sums, expect=own)
    off: Tensors = {"sums": ("F32", [8], [f32(v + (0.01 if i == 5 else 0)) for i, v in enumerate(orders)])}
    wrong("expected sums with another term", "sums", "m", sums, by="want", expect=off)

    # 16 bits inside, f32 outside
    for function in ("brain", "halves"):
        right(f"{function}: random inputs", function)
        x, w = normal(8, 64), normal(64, 64)
        given = {"x": x, "w": w}
        right(f"{function}: others", function, given)
        right(f"{function}: inputs of very different rows", function,
              {"x": ("F32", [8, 64], [f32(v * 16.0 ** -(i // 64)) for i, v in enumerate(x[2])]), "w": w})
        hidden = [max(0.0, sum(x[2][64 * r + i] * w[2][64 * i + k] for i in range(64)))
                  for r in range(8) for k in range(64)]
        term = sorted((abs(hidden[64 * 2 + k] * w[2][64 * k + 5]), k) for k in range(64))[56][1]
        wrong(f"{function}: one of the larger terms is left out", "y", function, given,
              changes("y", (64 * 2 + 5, -hidden[64 * 2 + term] * w[2][64 * term + 5])))
        wrong(f"{function}: two neighbours are exchanged", "hidden", function, given,
              exchange("hidden", *next((i, i + 1) for i in range(511) if abs(hidden[i] - hidden[i + 1]) > 4)))

    # a mask that is one position off, at its edge
    given = {name: normal(1, 2, 9, 8) for name in "qkv"}
    right("attention", "attention", given)

    def one_more(tensors: Tensors) -> None:
        """The last but one query of the first head takes the last key, too."""
        q, k, v = (given[name][2] for name in "qkv")
        scores = [sum(q[7 * 8 + d] * k[j * 8 + d] for d in range(8)) / math.sqrt(8) for j in range(9)]
        total = sum(map(math.exp, scores))
        for d in range(8):
            tensors["y"][2][7 * 8 + d] = f32(sum(math.exp(s) / total * v[j * 8 + d] for j, s in enumerate(scores)))
    wrong("a mask with one position more", "y", "attention", given, one_more)

    # below a fixed bound of 1e-5 everything would be right
    right("results of 1e-10", "small")
    wrong("one of them is a hundredth off", "y", "small", None,
          lambda tensors: tensors["y"][2].__setitem__(7, f32(tensors["y"][2][7] * 1.01)))
    wrong("all of them are zero", "y", "small", None,
          lambda tensors: tensors["y"][2].__setitem__(slice(None), [0.0] * 200))

    for function in ("of_f16", "of_bf16", "of_f32", "of_f64"):
        right(f"functions {function}", function, {"x": normal(16, 300)})
    wrong("a double that is 1e-9 off", "less", "of_f64", {"x": normal(16, 300)},
          lambda tensors: tensors["less"][2].__setitem__(4, tensors["less"][2][4] + 1e-9))

    # where a function bends, other roundings may all be on one side of it, and the model's own on the other one
    def net() -> Tensors:
        return {"x": normal(1, 5, 9, 9), "b": normal(5, scale=0.05)} | \
            {f"w{i}": normal(5, 5, 3, 3, scale=0.15) for i in range(4)}

    def results(function: str, inputs: Tensors) -> list:
        """Those of the compiled model."""
        found: list = []
        run(function, inputs, lambda tensors: found.extend(tensors["y"][2]) if not found else None)
        return found

    for dtype in ("bf16", "f16", "f32"):
        function = f"rectified_{dtype}"
        for count in range(2 if dtype == "bf16" else 1):
            right(f"rectified sums of {dtype}, {count}", function, net())
        given = net()
        own = results(function, given)
        size = math.sqrt(sum(v * v for v in own) / len(own))

        def other(name: str, change: Callable[[list], object]) -> Change:
            """The results of a model whose operand is another one."""
            changed_ = {key: (kind, shape, list(values)) for key, (kind, shape, values) in given.items()}
            change(changed_[name][2])
            values = results(function, changed_)
            return lambda tensors: tensors["y"][2].__setitem__(slice(None), values)

        def taps(values: list) -> None:
            """The largest and the least tap of one pair of channels are exchanged."""
            least, most = (pick(range(27, 36), key=values.__getitem__) for pick in (min, max))
            values[least], values[most] = values[most], values[least]
        wrong(f"{dtype}: two taps are exchanged", "y", function, given, other("w3", taps))
        wrong(f"{dtype}: a bias that is not added", "y", function, given,
              other("b", lambda values: values.__setitem__(3, 0.0)))
        zero = next(i for i, v in enumerate(own) if v == 0)
        wrong(f"{dtype}: a zero is a tenth of the usual size", "y", function, given, sets("y", zero, f32(0.1 * size)))
        if dtype == "f32":
            wrong("f32: it is a millionth of it and more", "y", function, given, sets("y", zero, f32(5e-6 * size)))
            continue
        wrong(f"{dtype}: two taps of the first layer", "y", function, given, other("w0", taps))
        wrong(f"{dtype}: a row is one element further", "y", function, given, lambda tensors: tensors["y"][2]
              .__setitem__(slice(36 * 5, 36 * 6), [0.0, *tensors["y"][2][36 * 5:36 * 6 - 1]]))
    zeros = []
    for _ in range(200):
        half = [f32(draw.gauss(0, 1)) for _ in range(500)]
        row = half + [f32(-v) for v in half]
        draw.shuffle(row)
        zeros += row
    right("rectified sums that cancel", "cancelled", {"x": ("F32", [200, 1000], zeros)})
    wrong("one with a term of 0.001 too many", "y", "cancelled", {"x": ("F32", [200, 1000], zeros)},
          changes("y", (9, 1e-3)))
    thirds = []
    for _ in range(200 * 333):
        a, b = draw.randrange(-255, 255) / 64, draw.randrange(-255, 255) / 64
        thirds += [a, b, -a - b]
    halves: Tensors = {"x": ("F32", [200, 999], thirds)}
    right("rectified sums of f16 that cancel", "cancelled_f16", halves)
    wrong("one with a term of 0.5 too many", "y", "cancelled_f16", halves, changes("y", (9, 0.5)))
    exact: Tensors = {"x": ("F32", [200, 1000], [float(round(4 * v)) for v in zeros])}
    right("rectified sums of integers", "cancelled", exact)
    wrong("a zero that rounding does not move is tiny", "y", "cancelled", exact, sets("y", 7, 1e-9))

    # a sum some roundings from zero: of either sign, which is said
    signs = []
    for number in range(50):
        half = [f32(draw.gauss(0, 1)) for _ in range(500)]
        row = [*half[1:], *(f32(-v) for v in half[1:]), 0.0, 0.01 if number == 9 else NEAR_ZERO]
        draw.shuffle(row)
        signs += row
    near: Tensors = {"x": ("F32", [50, 1000], signs)}
    found, said = run("jumps", near)
    ok(all(found.values()) and "times as large" not in said and "a jump" not in said, "signs of sums") or note(said)
    found, said = run("jumps", near, lambda tensors: [tensors["y"][2].__setitem__(at, -1.0) for at in (3, 30)])
    ok(found["double precision", "y"], "two signs of sums some roundings from zero") or note(said)
    ok(re.search(r"double precision: y: .*, 2 of 50 elements as errors 8 times as large have them$", said, re.M),
       "the line says that they are so by larger errors alone") or note(said)
    ok("double precision: 2 elements right by runs with errors 8 times as large alone:" in said,
       "and a line at the end how many there are") or note(said)
    wrong("the sign of a sum that is farther away", "y", "jumps", near, sets("y", 9, -1.0))

    # which of two equal classes is the larger one is rounding's to say, and which of two others is not
    classes = {"x": ("F32", [3, 4], [f32(v) for v in (0.1, 0.2, 0.3, 0, 0.7, 0.1, 0.8, 0, 1, 0, 3, 2)])}
    right("classes", "tied", classes)
    for other in (0, 1):
        found, said = run("tied", classes, sets("best", 0, other))
        ok(found["double precision", "best"], f"class {other} of two that are equal but for rounding") or note(said)
    for row, other in ((0, 2), (2, 0), (2, 2)):
        wrong(f"class {other} in row {row}", "best", "tied", classes, sets("best", row, other))

    # what overflows in f16 is infinite, and nothing else is there
    large = {"x": ("F32", [4], [10000.0, -10000.0, 1.0, 9000.0])}
    right("an overflow of f16", "beyond", large)
    wrong("a number in its place", "y", "beyond", large, sets("y", 0, 5.0))
    wrong("the other infinity", "y", "beyond", large, sets("y", 0, -float("inf")))
    infinite: Tensors = {"y": ("F32", [4], [float("inf"), -float("inf"), float("inf"), 63000.0])}
    wrong("a number where an infinity is expected", "y", "beyond", large, by="want", expect=infinite)
    infinite = {"y": ("F32", [4], [float("inf"), -float("inf"), 7.0, 62976.0])}
    equal(run("beyond", large, expect=infinite)[0]["want", "y"], True, "expected infinities")
done()
