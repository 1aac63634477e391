# SPDX-License-Identifier: Apache-2.0
"""The products that random graphs are made of (random_ops.py): einsum, matrix products, convolutions; of short integers
and with weights of 16 bits, too."""
from __future__ import annotations

from typing import Any

from random_graph_c import Maker, Refused, Size, Value


def counted(m: Maker, size: Size) -> Value:
    """arange or linspace, no input among its operands."""
    if m.rng.random() < 0.5 or size.constant is None:
        return m.make(f"tc_arange(g, {m.float_type}, {size.text})", [],
                      lambda t, d: t.arange(size.at(d), dtype=t.float64), (size,), exact=True, most=40.0)
    return m.make(f"tc_linspace(g, {m.float_type}, -1, 1, {size.text})", [],
                  lambda t, d: t.linspace(-1, 1, size.at(d), dtype=t.float64), (size,), most=1.0)


def einsum(m: Maker) -> None:
    """One or two operands, one of them often twice; some labels are shared, some are kept."""
    rng = m.rng
    a = m.pick(rank=(1, 2, 3))
    b = a if rng.random() < 0.4 else m.pick(rank=(1, 2, 3))
    letters = iter("abcdefgh")
    first = [next(letters) for _ in a.shape]
    second: list[str] = []
    for s in b.shape:
        same = [x for x, size in zip(first, a.shape) if size == s and x not in second]
        second.append(rng.choice(same) if same and rng.random() < 0.6 else next(letters))
    sizes = dict(zip(first + second, a.shape + b.shape))
    kept = [x for x in sizes if rng.random() < 0.5]
    rng.shuffle(kept)
    terms = m.elements(tuple(sizes[x] for x in sizes if x not in kept))
    text = f"{''.join(first)},{''.join(second)}->{''.join(kept)}"
    m.make(f'tc_einsum("{text}", {a.name}, {b.name})', [a, b], lambda t, d, a, b: t.einsum(text, a, b),
           tuple(sizes[x] for x in kept), most=a.most * b.most * terms)


def matmul(m: Maker) -> None:
    """By another value, by a weight, or by numbers that the build knows."""
    x, rng = m.pick(rank=(2, 3)), m.rng
    k = x.shape[-1]
    kind = rng.randrange(4)
    if kind == 0:
        others = [v for v in m.values if v.kind == "float" and v.rank == 2 and v.shape[0] == k and v.most <= 1e3]
        if not others:
            raise Refused
        w = rng.choice(others)
        m.make(f"tc_matmul({x.name}, {w.name})", [x, w], lambda t, d, x, w: x @ w, (*x.shape[:-1], w.shape[1]),
               most=x.most * w.most * 40)
    elif kind == 1:
        n = Size.of(rng.choice((1, 2, 5, 16, 17, 24, 33)))
        w, b = m.weight((n, k)), m.weight((n,))
        m.make(f"tc_linear({x.name}, {w.name}, {b.name})", [x, w, b], lambda t, d, x, w, b: x @ w.T + b,
               (*x.shape[:-1], n), most=x.most * 4 * 40)
    elif kind == 2:
        y = m.make(f"tc_transpose({x.name}, {x.rank - 2}, {x.rank - 1})", [x], lambda t, d, x: x.transpose(-1, -2),
                   (*x.shape[:-2], k, x.shape[-2]), exact=x.exact)
        m.make(f"tc_matmul({x.name}, {y.name})", [x, y], lambda t, d, x, y: x @ y, (*x.shape[:-1], x.shape[-2]),
               most=x.most * x.most * 40)
    else:
        if k.constant is None or k.constant == 0:
            raise Refused
        n = rng.choice((1, 3, 16, 18))
        ramp = counted(m, Size.of(n * k.constant))
        table = m.make(f"tc_reshape({ramp.name}, {k.text}, {n})", [ramp], lambda t, d, x: x.reshape(k.constant, n),
                       (k, Size.of(n)), exact=ramp.exact)
        if rng.random() < 0.5:   # a product that the build computes
            w = m.weight((Size.of(n), Size.of(rng.choice((1, 4, 17)))))
            table = m.make(f"tc_matmul({table.name}, {w.name})", [table, w], lambda t, d, x, w: x @ w, (k, w.shape[1]),
                           most=table.most * 4 * n)
        m.make(f"tc_matmul({x.name}, {table.name})", [x, table], lambda t, d, x, w: x @ w,
               (*x.shape[:-1], table.shape[1]), most=x.most * table.most * 40)


def convolution(m: Maker) -> None:
    x, rng = m.pick(rank=(3,)), m.rng
    channels, length = x.shape[1:]
    window, padding = rng.choice(((1, 0), (2, 0), (3, 1), (3, 0)))
    if channels.constant is None or length.constant is not None and length.constant + 2 * padding < window:
        raise Refused
    w = m.weight((Size.of(rng.choice((1, 2, 16, 17))), channels, Size.of(window)))
    m.make(f"tc_conv1d({x.name}, {w.name}, .padding = {padding})", [x, w],
           lambda t, d, x, w: t.nn.functional.conv1d(x, w, padding=padding),
           (x.shape[0], w.shape[0], length + Size.of(2 * padding - window + 1)), most=x.most * 4 * 100)


INTEGERS = {"I8": (-128, 127), "U8": (0, 255), "I16": (-300, 300)}    # 150 products of any two are exact in f32


def short(m: Maker, x: Value, dtype: str) -> str:
    """x in C as an integer of few bits, widened: its whole range, as far as x reaches."""
    low, high = INTEGERS[dtype]
    return f"tc_cast(tc_cast(tc_clamp(tc_mul({x.name}, 80), {low}, {high}), TC_{dtype}), TC_I32)"


def typed_product(m: Maker) -> None:
    """Products of integers, summed in i32; products with weights of 16 bits."""
    rng, x = m.rng, m.pick(rank=(2, 3), exact=True)
    wide = Size.of(rng.choice((1, 5, 17, 33)))
    if rng.random() < 0.4:
        w = m.weight((x.shape[-1], wide))
        half = f"tc_cast(tc_cast({w.name}, TC_{rng.choice(('F16', 'BF16'))}), {m.float_type})"
        m.make(f"tc_matmul({x.name}, {half})", [x, w], lambda t, d, x, w: x @ w, (*x.shape[:-1], wide),
               most=x.most * 3 * 40)
        return
    left, right = rng.choice(list(INTEGERS)), rng.choice(list(INTEGERS))
    if x.most > 8 or m.elements(x.shape[1:]) > 150:
        raise Refused

    def numbers(t: Any, x: Any, dtype: str) -> Any:
        return (x * 80).clamp(*INTEGERS[dtype]).trunc()
    if rng.random() < 0.3 and x.rank == 3 and x.shape[2].constant is not None and x.shape[1].constant is not None:
        window = rng.choice((1, 3))
        if x.shape[2].constant + 2 < window:
            raise Refused
        w = m.weight((wide, x.shape[1], Size.of(window)))
        m.make(f"tc_cast(tc_conv1d({short(m, x, left)}, {short(m, w, right)}, .padding = 1), {m.float_type})", [x, w],
               lambda t, d, x, w: t.nn.functional.conv1d(numbers(t, x, left), numbers(t, w, right), padding=1),
               (x.shape[0], wide, x.shape[2] + Size.of(3 - window)), exact=True, most=1e7)
        return
    w = m.weight((x.shape[-1], wide)) if rng.random() < 0.7 else None
    other = f"tc_transpose({short(m, x, right)}, {x.rank - 2}, {x.rank - 1})" if w is None else short(m, w, right)
    m.make(f"tc_cast(tc_matmul({short(m, x, left)}, {other}), {m.float_type})", [x, w or x],
           lambda t, d, x, w_or_x: numbers(t, x, left) @ (numbers(t, w_or_x, right) if w else
                                                          numbers(t, x, right).transpose(-1, -2)),
           (*x.shape[:-1], wide if w else x.shape[-2]), exact=True, most=1e8)
