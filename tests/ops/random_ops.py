# SPDX-License-Identifier: Apache-2.0
"""The operations that random graphs are made of: each draws its operands, and says itself in C and in PyTorch.

In `run` functions t is torch, d the sizes of the dims, the rest the operands' values. What needs an order of elements
takes exact values alone (random_graph_c.py).
"""
from __future__ import annotations

import math
from typing import Any, Callable

from random_graph_c import ONE, Maker, Refused, Shape, Size, Value
from random_products import convolution, counted, einsum, matmul, typed_product

Run = Callable[..., Any]


# -- elements ---------------------------------------------------------------------------------------------------------
UNARY: list[tuple[str, Run, bool, Callable[[float], float]]] = [
    ("tc_neg({x})", lambda t, d, x: -x, True, lambda m: m),
    ("tc_abs({x})", lambda t, d, x: x.abs(), True, lambda m: m),
    ("tc_relu({x})", lambda t, d, x: x.relu(), True, lambda m: m),
    ("tc_clamp({x}, -1.5, 2)", lambda t, d, x: x.clamp(-1.5, 2), True, lambda m: 2.0),
    ("tc_tanh({x})", lambda t, d, x: x.tanh(), False, lambda m: 1.0),
    ("tc_sigmoid({x})", lambda t, d, x: x.sigmoid(), False, lambda m: 1.0),
    ("tc_silu({x})", lambda t, d, x: t.nn.functional.silu(x), False, lambda m: m),
    ("tc_gelu({x})", lambda t, d, x: t.nn.functional.gelu(x), False, lambda m: m),
    ("tc_erf({x})", lambda t, d, x: x.erf(), False, lambda m: 1.0),
    ("tc_exp(tc_minimum({x}, 3))", lambda t, d, x: x.clamp(max=3).exp(), False, lambda m: 21.0),
    ("tc_log(tc_add(tc_abs({x}), 0.5))", lambda t, d, x: (x.abs() + 0.5).log(), False, lambda m: 14.0),
    ("tc_sqrt(tc_add(tc_abs({x}), 0.25))", lambda t, d, x: (x.abs() + 0.25).sqrt(), False, lambda m: m + 1),
    ("tc_mul({x}, {x})", lambda t, d, x: x * x, False, lambda m: m * m),
    ("tc_sub(1.5, {x})", lambda t, d, x: 1.5 - x, False, lambda m: m + 1.5),
    ("tc_div(1, tc_add(tc_abs({x}), 0.5))", lambda t, d, x: 1 / (x.abs() + 0.5), False, lambda m: 2.0),
    ("tc_leaky_relu({x}, 0.1)", lambda t, d, x: t.nn.functional.leaky_relu(x, 0.1), False, lambda m: m),
]


def unary(m: Maker) -> None:
    x = m.pick()
    text, run, exact, most = m.rng.choice(UNARY)
    m.make(text.format(x=x.name), [x], run, x.shape, exact=exact and x.exact, most=most(x.most))


def rounded(m: Maker) -> None:
    x = m.pick(exact=True)
    name = m.rng.choice(("floor", "ceil", "trunc", "round", "sign"))
    m.make(f"tc_{name}({x.name})", [x], lambda t, d, x: getattr(t, name)(x), x.shape, exact=True, most=x.most + 1)


def broadcast(a: Shape, b: Shape) -> Shape:
    out = []
    for i in range(max(len(a), len(b))):
        x = a[len(a) - 1 - i] if i < len(a) else ONE
        y = b[len(b) - 1 - i] if i < len(b) else ONE
        if x != y and ONE not in (x, y):
            raise Refused
        out.append(y if x == ONE else x)
    return tuple(reversed(out))


def partner(m: Maker, x: Value) -> Value:
    """A value that broadcasts with x: itself, a known one, a weight, a row of numbers counted up."""
    kind = m.rng.randrange(6)
    if kind == 0:
        return x
    if kind == 1 and x.rank:
        return m.weight(x.shape[m.rng.randrange(x.rank + 1):] or (ONE,))
    if kind == 2 and x.rank:
        return counted(m, x.shape[-1])
    fitting = []
    for v in m.values:
        try:
            broadcast(v.shape, x.shape)
        except Refused:
            continue
        if v.kind == "float" and v.rank and v.most <= 1e3:
            fitting.append(v)
    return m.rng.choice(fitting) if fitting else x


BINARY: list[tuple[str, Run, Callable[[float, float], float]]] = [
    ("tc_add({a}, {b})", lambda t, d, a, b: a + b, lambda a, b: a + b),
    ("tc_sub({a}, {b})", lambda t, d, a, b: a - b, lambda a, b: a + b),
    ("tc_mul({a}, {b})", lambda t, d, a, b: a * b, lambda a, b: a * b),
    ("tc_maximum({a}, {b})", lambda t, d, a, b: t.maximum(a, b), max),
    ("tc_minimum({a}, {b})", lambda t, d, a, b: t.minimum(a, b), max),
    ("tc_div({a}, tc_add(tc_abs({b}), 0.5))", lambda t, d, a, b: a / (b.abs() + 0.5), lambda a, b: 2 * a),
]


def binary(m: Maker) -> None:
    a = m.pick()
    b = partner(m, a)
    if m.rng.random() < 0.3:
        a, b = b, a
    text, run, most = m.rng.choice(BINARY)
    m.make(text.format(a=a.name, b=b.name), [a, b], run, broadcast(a.shape, b.shape), most=most(a.most, b.most),
           exact=a.exact and b.exact and text.startswith(("tc_max", "tc_min")))


def predicate(m: Maker, x: Value) -> Value:
    """A bool that broadcasts with x."""
    rng = m.rng
    if rng.random() < 0.4 and x.rank >= 2:    # which of two indices is larger: a causal mask
        rows, columns = x.shape[-2:]
        a = m.make(f"tc_unsqueeze(tc_arange(g, TC_I64, {rows.text}), 1)", [],
                   lambda t, d: t.arange(rows.at(d)).unsqueeze(1), (rows, ONE), "i64", True)
        b = m.make(f"tc_arange(g, TC_I64, {columns.text})", [], lambda t, d: t.arange(columns.at(d)), (columns,),
                   "i64", True)
        return m.make(f"tc_ge({a.name}, {b.name})", [a, b], lambda t, d, a, b: a >= b, (rows, columns), "bool", True)
    fitting = [v for v in m.values if v.kind == "float" and v.exact and v.rank and _fits(v, x)]
    if not fitting:
        raise Refused
    v, name = rng.choice(fitting), rng.choice(("lt", "le", "gt", "ge", "eq", "ne"))
    number = rng.choice((0.0, 0.5, -1.0))
    return m.make(f"tc_{name}({v.name}, {number})", [v], lambda t, d, v: getattr(t, name)(v, number), v.shape, "bool",
                  True)


def _fits(v: Value, x: Value) -> bool:
    try:
        return broadcast(v.shape, x.shape) == x.shape
    except Refused:
        return False


def choose(m: Maker) -> None:
    x = m.pick()
    p = predicate(m, x)
    y = partner(m, x)
    shape = broadcast(broadcast(p.shape, x.shape), y.shape)
    m.make(f"tc_where({p.name}, {x.name}, {y.name})", [p, x, y], lambda t, d, p, x, y: t.where(p, x, y), shape,
           exact=x.exact and y.exact, most=max(x.most, y.most))


def masked_softmax(m: Maker) -> None:
    x = m.pick()
    axis = m.axis(x, 1)
    p = predicate(m, x)
    masked = m.make(f"tc_masked_fill({x.name}, {p.name}, -INFINITY)", [x, p],
                    lambda t, d, x, p: x.masked_fill(p, float("-inf")), x.shape, exact=x.exact)
    m.make(f"tc_softmax({masked.name}, {axis})", [masked], lambda t, d, x: x.softmax(axis), x.shape, most=1.0)


def with_predicate(m: Maker) -> None:
    """Of terms alone; what is no term is not finite."""
    x, rng = m.pick(), m.rng
    p = predicate(m, x)
    if broadcast(p.shape, x.shape) != x.shape:
        raise Refused
    holes = m.make(f"tc_where({p.name}, {x.name}, INFINITY)", [p, x], lambda t, d, p, x: t.where(p, x, float("inf")),
                   x.shape, exact=x.exact, most=math.inf)
    axis, kind = m.axis(x, 1), rng.randrange(4)
    rest, pair = x.shape[:axis] + x.shape[axis + 1:], f"{holes.name}, {p.name}"
    if kind == 0:
        m.make(f"tc_sum_where({pair}, {axis})", [p, x, holes], lambda t, d, p, x, h: t.where(p, x, 0).sum(axis), rest,
               most=x.most * 40)
    elif kind == 1:
        m.make(f"tc_maximum(tc_amax_where({pair}, {axis}), -8)", [p, x, holes],
               lambda t, d, p, x, h: t.where(p, x, -8).amax(axis).clamp(min=-8), rest, exact=x.exact,
               most=max(x.most, 8.0))
    elif kind == 2:
        m.make(f"tc_softmax_where({pair}, {axis})", [p, x, holes], lambda t, d, p, x, h: t.where(
            p, x.masked_fill(~p, float("-inf")).softmax(axis), 0), x.shape, most=1.0)
    elif x.rank >= 2:
        w = m.weight((x.shape[-1], Size.of(rng.choice((1, 5, 17)))))
        m.make(f"tc_matmul_where({holes.name}, {w.name}, {p.name})", [p, x, holes, w],
               lambda t, d, p, x, h, w: t.where(p, x, 0) @ w, (*x.shape[:-1], w.shape[1]), most=x.most * 4 * 40)
    else:
        raise Refused


def cast(m: Maker) -> None:
    x = m.pick(m.rng.choice(("float", "i64", "bool")), exact=True)
    if x.kind == "float":
        m.make(f"tc_cast({x.name}, TC_I64)", [x], lambda t, d, x: x.trunc().long(), x.shape, "i64", True)
    else:
        m.make(f"tc_cast({x.name}, {m.float_type})", [x], lambda t, d, x: x.double(), x.shape, exact=True, most=6000.0)


# -- views and rearrangements -----------------------------------------------------------------------------------------
def moved(m: Maker, call: str, x: Value, run: Run, shape: Shape) -> Value:
    return m.make(call, [x], run, shape, x.kind, x.exact, x.most, x.below)


def permute(m: Maker) -> None:
    x = m.pick(rank=(2, 3, 4))
    order = list(range(x.rank))
    m.rng.shuffle(order)
    moved(m, f"tc_permute({x.name}, {', '.join(map(str, order))})", x, lambda t, d, x: x.permute(order),
          tuple(x.shape[i] for i in order))


def reshape(m: Maker) -> None:
    x, rng = m.pick(), m.rng
    kind = rng.randrange(4)
    if kind == 0 and x.rank > 1:
        shape: Shape = x.shape[:1] + (_product(x.shape[1:]),)
        moved(m, f"tc_flatten({x.name}, 1)", x, lambda t, d, x: x.reshape([s.at(d) for s in shape]), shape)
    elif kind == 1:
        shape = (_product(x.shape),)
        moved(m, f"tc_reshape({x.name}, {shape[0].text})", x, lambda t, d, x: x.reshape(-1), shape)
    elif kind == 2:
        axis = rng.randrange(x.rank + 1)
        moved(m, f"tc_unsqueeze({x.name}, {axis})", x, lambda t, d, x: x.unsqueeze(axis),
              (*x.shape[:axis], ONE, *x.shape[axis:]))
    else:
        at = [i for i, s in enumerate(x.shape) if s == ONE]
        if not at or x.rank < 2:
            raise Refused
        axis = rng.choice(at)
        moved(m, f"tc_squeeze({x.name}, {axis})", x, lambda t, d, x: x.squeeze(axis),
              x.shape[:axis] + x.shape[axis + 1:])


def _product(sizes: Shape) -> Size:
    total = ONE
    for s in sizes:
        total = s if total == ONE else total * s if s != ONE else total
    return total


def rearrange(m: Maker) -> None:
    x, rng = m.pick(rank=(1, 2, 3)), m.rng
    axis, times = m.axis(x), rng.choice((1, 2, 2, 3))
    larger = tuple(s * Size.of(times) if i == axis else s for i, s in enumerate(x.shape))
    kind = rng.randrange(7)
    if kind == 0:
        moved(m, f"tc_flip({x.name}, {axis})", x, lambda t, d, x: x.flip(axis), x.shape)
    elif kind == 1:
        moved(m, f"tc_repeat({x.name}, {times}, {axis})", x,
              lambda t, d, x: x.repeat([times if i == axis else 1 for i in range(x.dim())]), larger)
    elif kind == 2:
        moved(m, f"tc_repeat_interleave({x.name}, {times}, {axis})", x,
              lambda t, d, x: x.repeat_interleave(times, axis), larger)
    elif kind <= 4:
        all_times = [rng.choice((1, 2, 2, 3)) for _ in x.shape]
        moved(m, f"tc_tile({x.name}, {', '.join(map(str, all_times))})", x, lambda t, d, x: x.tile(all_times),
              tuple(s * Size.of(n) for s, n in zip(x.shape, all_times)))
    elif kind == 5:
        offset = rng.choice((0, 0, 1, -1))
        n = x.shape[-1] + Size.of(abs(offset)) if offset else x.shape[-1]
        moved(m, f"tc_diag({x.name}, {offset})", x, lambda t, d, x: x.diag_embed(offset), (*x.shape[:-1], n, n))
    elif x.rank >= 2:
        name = rng.choice(("tril", "triu"))
        moved(m, f"tc_{name}({x.name}, 0)", x, lambda t, d, x: getattr(t, name)(x), x.shape)
    else:
        raise Refused


def expand(m: Maker) -> None:
    x = m.pick(rank=(1, 2, 3))
    at = [i for i, s in enumerate(x.shape) if s == ONE]
    if not at:
        raise Refused
    axis, size = m.rng.choice(at), m.size()
    shape = tuple(size if i == axis else s for i, s in enumerate(x.shape))
    moved(m, f"tc_expand({x.name}, {', '.join(s.text for s in shape)})", x,
          lambda t, d, x: x.expand([s.at(d) for s in shape]), shape)


def cut(m: Maker) -> None:
    x, rng = m.pick(rank=(1, 2, 3)), m.rng
    axis = m.axis(x, 1)
    size = x.shape[axis]
    kind = rng.randrange(3)
    if kind == 0:
        moved(m, f"tc_select({x.name}, {axis}, 0)", x, lambda t, d, x: x.select(axis, 0),
              x.shape[:axis] + x.shape[axis + 1:])
    elif kind == 1:
        low, high = rng.choice(((0, 1), (1, 0), (1, 1), (0, 0)))
        if size.constant is not None and size.constant < low + high:
            raise Refused
        moved(m, f"tc_slice({x.name}, {axis}, {low}, {f'-{high}' if high else 'TC_END'})", x,
              lambda t, d, x: x.narrow(axis, low, x.shape[axis] - low - high),
              tuple(s + Size.of(-low - high) if i == axis else s for i, s in enumerate(x.shape)))
    elif size.constant is not None and size.constant > 0:
        step = rng.choice((2, 3))
        moved(m, f"tc_slice_step({x.name}, {axis}, 0, TC_END, {step})", x,
              lambda t, d, x: x[(slice(None),) * axis + (slice(None, None, step),)],
              tuple(Size.of(-(-size.constant // step)) if i == axis else s for i, s in enumerate(x.shape)))


def pad(m: Maker) -> None:
    x, rng = m.pick(rank=(1, 2, 3, 4)), m.rng
    axis, low, high, value = m.axis(x), rng.randrange(3), rng.randrange(3), rng.choice((0, 0, 1, -2))
    widths = [0, 0] * (x.rank - 1 - axis) + [low, high]
    m.make(f"tc_pad_axis({x.name}, {axis}, {low}, {high}, {value})", [x],
           lambda t, d, x: t.nn.functional.pad(x, widths, value=value),
           tuple(s + Size.of(low + high) if i == axis else s for i, s in enumerate(x.shape)), exact=x.exact,
           most=max(x.most, 2.0))


def join(m: Maker) -> None:
    x, rng = m.pick(rank=(1, 2, 3)), m.rng
    axis = m.axis(x)
    fitting = [v for v in m.values if v.kind == "float" and v.rank == x.rank and v.most <= 1e5
               and all(a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)) if i != axis)]
    if not fitting:
        raise Refused
    parts = [x, *(rng.choice(fitting) for _ in range(rng.choice((1, 1, 2))))]
    rng.shuffle(parts)
    names, exact, most = ", ".join(v.name for v in parts), all(v.exact for v in parts), max(v.most for v in parts)
    if rng.random() < 0.2 and all(v.shape == x.shape for v in parts):
        m.make(f"tc_stack({axis}, {names})", parts, lambda t, d, *xs: t.stack(xs, axis),
               (*x.shape[:axis], Size.of(len(parts)), *x.shape[axis:]), exact=exact, most=most)
        return
    whole = parts[0].shape[axis]
    for v in parts[1:]:
        whole = whole + v.shape[axis]
    m.make(f"tc_concat({axis}, {names})", parts, lambda t, d, *xs: t.cat(xs, axis),
           tuple(whole if i == axis else s for i, s in enumerate(x.shape)), exact=exact, most=most)


# -- reductions -------------------------------------------------------------------------------------------------------
REDUCTIONS: dict[str, tuple[Run, bool, Callable[[float, float], float]]] = {
    "sum": (lambda t, d, x, a, k: x.sum(a, keepdim=k), False, lambda m, n: m * n),
    "mean": (lambda t, d, x, a, k: x.mean(a, keepdim=k), False, lambda m, n: m),
    "amax": (lambda t, d, x, a, k: x.amax(a, keepdim=k), True, lambda m, n: m),
    "amin": (lambda t, d, x, a, k: x.amin(a, keepdim=k), True, lambda m, n: m),
    "var": (lambda t, d, x, a, k: x.var(a, correction=0, keepdim=k), False, lambda m, n: 4 * m * m),
    "logsumexp": (lambda t, d, x, a, k: x.logsumexp(a, keepdim=k), False, lambda m, n: m + 10),
}


def reduce(m: Maker) -> None:
    x, rng = m.pick(rank=(1, 2, 3, 4)), m.rng
    name = rng.choice(list(REDUCTIONS))
    axes = sorted(rng.sample(range(x.rank), rng.choice([n for n in (1, 1, 2, 3) if n <= x.rank])))
    run, exact, most = REDUCTIONS[name]
    if name != "sum" and any(x.shape[a].constant == 0 for a in axes):
        raise Refused
    keep = rng.random() < 0.4
    count = m.elements(tuple(x.shape[a] for a in axes))
    shape = tuple(ONE if a in axes else s for a, s in enumerate(x.shape) if keep or a not in axes)
    m.make(f"tc_{name}{'_keepdims' if keep else ''}({x.name}, {', '.join(map(str, axes))})", [x],
           lambda t, d, x: run(t, d, x, axes, keep), shape, exact=exact and x.exact, most=most(x.most, count))


def count_true(m: Maker) -> None:
    x = m.pick("bool")
    axis = m.axis(x, 1)
    name = m.rng.choice(("any", "all"))
    m.make(f"tc_{name}({x.name}, {axis})", [x], lambda t, d, x: getattr(x, name)(axis),
           x.shape[:axis] + x.shape[axis + 1:], "bool", True)


def places(m: Maker) -> None:
    x = m.pick(exact=True)
    axis = m.axis(x, 1)
    name = m.rng.choice(("argmax", "argmin"))
    m.make(f"tc_{name}({x.name}, {axis})", [x], lambda t, d, x: getattr(x, name)(axis),
           x.shape[:axis] + x.shape[axis + 1:],            "i64", True, below=x.shape[axis])


NORMALS: dict[str, tuple[str, Run, Callable[[float], float]]] = {
    "softmax": ("tc_softmax({x}, {axis})", lambda t, d, x, a: x.softmax(a), lambda m: 1.0),
    "log_softmax": ("tc_log_softmax({x}, {axis})", lambda t, d, x, a: x.log_softmax(a), lambda m: 2 * m + 10),
    "normalize": ("tc_div({x}, tc_add(tc_sum_keepdims(tc_abs({x}), {axis}), 0.5))",
                  lambda t, d, x, a: x / (x.abs().sum(a, keepdim=True) + 0.5), lambda m: 1.0),
    "center": ("tc_sub({x}, tc_mean_keepdims({x}, {axis}))", lambda t, d, x, a: x - x.mean(a, keepdim=True),
               lambda m: 2 * m),
    "norm": ("tc_mul(tc_sub({x}, tc_mean_keepdims({x}, {axis})), tc_rsqrt(tc_add(tc_var_keepdims({x}, {axis}), 0.25)))",
             lambda t, d, x, a: (x - x.mean(a, keepdim=True)) * (x.var(a, correction=0, keepdim=True) + 0.25).rsqrt(),
             lambda m: 100.0),
}


def normal(m: Maker) -> None:
    x = m.pick()
    axis = m.axis(x, 1)
    text, run, most = NORMALS[m.rng.choice(list(NORMALS))]
    m.make(text.format(x=x.name, axis=axis), [x], lambda t, d, x: run(t, d, x, axis), x.shape, most=most(x.most))


# -- along an axis ----------------------------------------------------------------------------------------------------
def cumulative(m: Maker) -> None:
    x, rng = m.pick(), m.rng
    axis = m.axis(x)
    kind = rng.randrange(5)
    if kind == 0:
        m.make(f"tc_cumsum({x.name}, {axis})", [x], lambda t, d, x: x.cumsum(axis), x.shape, most=x.most * 40)
    elif kind == 1:
        m.make(f"tc_cumsum_reverse({x.name}, {axis})", [x], lambda t, d, x: x.flip(axis).cumsum(axis).flip(axis),
               x.shape, most=x.most * 40)
    elif kind == 2:
        m.make(f"tc_cumprod(tc_tanh({x.name}), {axis})", [x], lambda t, d, x: x.tanh().cumprod(axis), x.shape, most=1.0)
    elif kind == 3:
        m.make(f"tc_cumulative_max({x.name}, {axis})", [x], lambda t, d, x: x.cummax(axis).values, x.shape,
               exact=x.exact)
    elif x.exact:
        m.several(f"tc_cummin({x.name}, {axis}, &{{1}})", [x], lambda t, d, x: tuple(x.cummin(axis)),
                  [(x.shape, "float", True, x.most, None), (x.shape, "i64", True, None, x.shape[axis])])


def ordering(m: Maker) -> None:
    """What has an order: exact values, as equal ones would change places."""
    x, rng = m.pick(exact=True), m.rng
    axis = m.axis(x, 1)
    size, down = x.shape[axis], rng.random() < 0.5
    kind = rng.randrange(5)
    rest = x.shape[:axis] + x.shape[axis + 1:]
    both = lambda shape: [(shape, "float", True, x.most, None), (shape, "i64", True, None, size)]
    sort = lambda t, x: t.sort(x, dim=axis, descending=down, stable=True)
    word = "true" if down else "false"
    if kind == 0:
        m.several(f"tc_sort({x.name}, {axis}, {word}, &{{1}})", [x], lambda t, d, x: tuple(sort(t, x)), both(x.shape))
    elif kind == 1:
        m.make(f"tc_argsort({x.name}, {axis}, {word})", [x], lambda t, d, x: sort(t, x).indices, x.shape, "i64", True,
               below=size)
    elif kind == 2:
        most = size.constant if size.constant is not None else 1
        k = rng.choice([k for k in (1, 1, 2, 3) if k <= most] or [0])
        if k == 0:
            raise Refused
        m.several(f"tc_topk({x.name}, {k}, {axis}, {word}, &{{1}})", [x],
                  lambda t, d, x: tuple(r.narrow(axis, 0, k) for r in sort(t, x)),
                  both(tuple(Size.of(k) if i == axis else s for i, s in enumerate(x.shape))))
    elif kind == 3:
        m.several(f"tc_median({x.name}, {axis}, &{{1}})", [x], lambda t, d, x: _median(t, x, axis), both(rest))
    else:
        m.several(f"tc_kthvalue({x.name}, 1, {axis}, &{{1}})", [x],
                  lambda t, d, x: tuple(r.select(axis, 0) for r in t.sort(x, dim=axis, stable=True)), both(rest))


def _median(t: Any, x: Any, axis: int) -> tuple:
    values, order = t.sort(x, dim=axis, stable=True)
    middle = (x.shape[axis] - 1) // 2
    return values.select(axis, middle), order.select(axis, middle)


def sorted_values(m: Maker) -> None:
    """The values alone may be of anything."""
    x = m.pick()
    axis = m.axis(x)
    m.make(f"tc_sort({x.name}, {axis}, false, NULL)", [x], lambda t, d, x: x.sort(axis).values, x.shape, exact=x.exact)


# -- indices ----------------------------------------------------------------------------------------------------------
def index(m: Maker, below: Size) -> Value:
    """Of integers below a size: an input, or what sorting and counting gave."""
    fitting = [v for v in m.values if v.kind == "i64" and v.below == below and v.rank in (1, 2)]
    if fitting and m.rng.random() < 0.6:
        return m.rng.choice(fitting)
    return m.input(m.shape(m.rng.choice((1, 1, 2))), "i64", below)


def gather(m: Maker) -> None:
    x = m.pick(rank=(1, 2, 3))
    axis = m.axis(x, 1)
    i = index(m, x.shape[axis])
    m.make(f"tc_gather({x.name}, {i.name}, {axis})", [x, i],
           lambda t, d, x, i: x.index_select(axis, i.reshape(-1)).reshape(
               *x.shape[:axis], *i.shape, *x.shape[axis + 1:]),
           (*x.shape[:axis], *i.shape, *x.shape[axis + 1:]), exact=x.exact)


def take_along(m: Maker) -> None:
    x = m.pick(rank=(1, 2, 3))
    axis = m.axis(x, 1)
    fitting = [v for v in m.values if v.kind == "i64" and v.below == x.shape[axis] and v.rank == x.rank
               and all(a == b for d, (a, b) in enumerate(zip(v.shape, x.shape)) if d != axis)]
    i = m.rng.choice(fitting) if fitting else m.input(x.shape, "i64", x.shape[axis])
    m.make(f"tc_take_along({x.name}, {i.name}, {axis})", [x, i], lambda t, d, x, i: x.gather(axis, i), i.shape,
           exact=x.exact)


def scatter(m: Maker) -> None:
    x = m.pick(rank=(1, 2, 3))
    axis, rng = m.axis(x, 1), m.rng
    i = index(m, x.shape[axis])
    if i.rank != 1:
        raise Refused
    shape = (*x.shape[:axis], *i.shape, *x.shape[axis + 1:])
    fitting = [v for v in m.values if v.kind == "float" and v.shape == shape and v.most <= 1e4]
    y = rng.choice(fitting) if fitting else m.input(shape)
    m.make(f"tc_index_add({x.name}, {axis}, {i.name}, {y.name})", [x, i, y],
           lambda t, d, x, i, y: x.index_add(axis, i, y),
           x.shape, most=x.most + 40 * y.most)


OPERATIONS: list[Callable[[Maker], None]] = [
    unary, unary, binary, binary, binary, rounded, choose, masked_softmax, with_predicate, cast, permute, reshape,
    rearrange, rearrange, expand, cut, pad, join, join, reduce, reduce, count_true, places, normal, normal,
    cumulative, cumulative, ordering, ordering, sorted_values, einsum, einsum, matmul, matmul, convolution,
    typed_product, gather, take_along, scatter]


def graph(seed: int) -> Any:
    return Maker(seed, OPERATIONS).graph
