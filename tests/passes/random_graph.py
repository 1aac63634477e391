# SPDX-License-Identifier: Apache-2.0
"""Random graph modules and data for tests; run as a program, writes one: random_graph.py NODES SEED > x.tcg"""
from __future__ import annotations

import random
import sys

from oracle.graph import Tensor
from oracle.scalars import rounded, wrap
from tensor_compile.graph.dtypes import FLOATS
from tensor_compile.graph.ir import DimDecl, Function, Loc, Module, Node, TensorType, Value, WeightDecl
from tensor_compile.graph.rewrite import Builder
from tensor_compile.graph.infer import Context
from tensor_compile.symbolic import ONE, ZERO, Sym, const, sym

EXTREME = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e-42, 3e38, 0.5, -2.5)
CONSTANTS = (0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x40000000, 0x3E800000, 0xFF800000, 0x7F800000,
             0x7FC00000, 0x40490FDB)
UNARY = ("neg", "abs", "exp", "sqrt", "tanh", "neg", "abs")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")


def tensor(rng: random.Random, dtype: str, shape: tuple[int, ...], extreme: float = 0.3) -> Tensor:
    """Random elements; a share `extreme` of floats are NaN, infinities, zeros of both signs, denormals."""
    n = 1
    for d in shape:
        n *= d
    if dtype in FLOATS:
        return Tensor(dtype, shape,
                      [rounded(dtype, rng.choice(EXTREME) if rng.random() < extreme else rng.uniform(-4, 4))
                                     for _ in range(n)])
    return Tensor(dtype, shape, [rng.randrange(2) if dtype == "bool" else wrap(dtype, rng.randrange(-5, 6))
                                 for _ in range(n)])


class Maker:
    """Adds random nodes to a function whose values all have one of a few shapes over two dims."""

    def __init__(self, rng: random.Random, dims: tuple[Sym, Sym]):
        self.rng = rng
        self.n, self.m = sym(dims[0]), sym(dims[1])
        self.module = Module("random", {s.name: DimDecl(s, (1, 3) if s.name == "n" else (2,)) for s in dims},
                             ["random.safetensors"])
        source = Function("random", True)
        for i, shape in enumerate(((self.n, const(4)), (self.n, self.m), (self.n, const(2), const(3)))):
            source.parameters.append(Node("parameter", (), {"name": f"x{i}"}, (TensorType("f32", shape),)))
        self.builder = Builder(source, Context(), share=False)
        self.values: list[Value] = [Value(p) for p in source.parameters]

    def add(self, op: str, /, *operands: Value, types=None, **attrs) -> Value:
        value = Value(self.builder.make(op, operands, attrs, types, Loc("model.c", len(self.values)), ""))
        self.values.append(value)
        return value

    def pick(self, dtype: str | None = None, rank: int | None = None) -> Value:
        recent = self.values[-40:] if self.rng.random() < 0.8 else self.values
        fitting = [v for v in recent if (dtype is None or v.dtype == dtype) and (rank is None or v.type.rank == rank)]
        return self.rng.choice(fitting or [self.values[0]])

    def constant(self, like: TensorType) -> Value:
        if like.dtype == "f32":
            bits = self.rng.choice(CONSTANTS)
        else:
            bits = self.rng.randrange(2)
        scalar = self.add("constant", types=(TensorType(like.dtype, ()),), bits=bits)
        return scalar if like.rank == 0 else self.add("broadcast", scalar, shape=like.shape, axes=())

    def weight(self, shape: tuple[int, ...]) -> Value:
        name = f"w{len(self.module.weights) % 40}.{'x'.join(map(str, shape))}"
        type_ = TensorType("f32", tuple(map(const, shape)))
        self.module.weights.setdefault(name, WeightDecl(name, type_, 0))
        return self.add("weight", types=(type_,), name=name)

    def other(self, x: Value) -> Value:
        """A second operand of x's type."""
        same = [v for v in self.values[-60:] if v.type == x.type]
        return self.rng.choice(same) if same and self.rng.random() < 0.6 else self.constant(x.type)

    def step(self) -> None:
        rng, x = self.rng, self.pick()
        kind = rng.randrange(16)
        if kind <= 1 and x.dtype == "f32":
            self.add(rng.choice(UNARY), x)
        elif kind <= 4 and x.dtype != "bool":
            y = self.other(x)
            self.add(rng.choice(BINARY), *((x, y) if rng.random() < 0.7 else (y, x)))
        elif kind == 5:
            p = self.add(rng.choice(("lt", "ge", "eq")), x, self.other(x)) if x.dtype != "bool" else x
            if rng.random() < 0.4:
                p = self.add("logical_not", p)
            y = self.pick("f32")
            if p.shape == y.shape:
                self.add("select", p, y, self.other(y))
        elif kind == 6:
            self.add("cast", x, dtype=rng.choice(("f32", "i32", "i64", "bool")))
            if self.values[-1].dtype == "i32":
                self.add("bitcast", self.values[-1], dtype="f32")
        elif kind == 7 and x.type.rank:
            perm = list(range(x.type.rank))
            rng.shuffle(perm)
            y = self.add("transpose", x, perm=tuple(perm))
            if rng.random() < 0.5:
                self.add("transpose", y, perm=tuple(perm.index(d) for d in range(len(perm))))
        elif kind == 8:
            shape = list(x.shape)
            shape.insert(rng.randrange(len(shape) + 1), ONE)
            if len(shape) < 5:
                y = self.add("reshape", x, shape=tuple(shape))
                self.add("reshape", y, shape=x.shape)
            total = x.type.elements
            self.add("reshape", x, shape=(total,))
        elif kind == 9 and x.type.rank < 4:
            at = rng.randrange(x.type.rank + 1)
            shape = (*x.shape[:at], rng.choice((self.n, const(3), ONE)), *x.shape[at:])
            self.add("broadcast", x, shape=shape, axes=tuple(d + (d >= at) for d in range(x.type.rank)))
        elif kind == 10 and x.type.rank:
            d = rng.randrange(x.type.rank)
            low, high = const(rng.randrange(2)), const(rng.randrange(2))
            zero = self.constant(TensorType(x.dtype, ()))
            shape = [ZERO] * x.type.rank
            y = self.add("pad", x, zero, low=tuple(low if i == d else z for i, z in enumerate(shape)),
                         high=tuple(high if i == d else z for i, z in enumerate(shape)))
            if rng.random() < 0.6:
                self.add("slice", y, start=tuple(low if i == d else z for i, z in enumerate(shape)), size=x.shape,
                         stride=(1,) * x.type.rank)
        elif kind == 11 and x.type.rank:
            d = rng.randrange(x.type.rank)
            y = self.add("concat", x, self.other(x), axis=d)
            start = tuple(x.shape[d] if i == d and rng.random() < 0.5 else ZERO for i in range(x.type.rank))
            self.add("slice", y, start=start, size=x.shape, stride=(1,) * x.type.rank)
        elif kind == 12 and x.type.rank and x.dtype == "f32":
            d = rng.randrange(x.type.rank)
            op = rng.choice(("sum", "max", "min"))
            y = self.add("reduce", x, op=op, axes=(d,), order="lanes" if op == "sum" else "free")
            if rng.random() < 0.5:
                z = self.add("broadcast", y, shape=x.shape, axes=tuple(i for i in range(x.type.rank) if i != d))
                self.add("sub", x, z)
        elif kind == 13:
            w = self.weight(tuple(rng.choice((1, 2, 4)) for _ in range(rng.randrange(1, 3))))
            y = self.add(rng.choice(UNARY), w) if rng.random() < 0.5 else w
            self.add("mul", y, self.other(y))
        elif kind == 14 and x.dtype == "f32" and x.type.rank == 2 and x.shape[1] == 4:
            w = self.weight((rng.choice((4, 3)), 4))
            y = self.add("dot", x, w, lhs_batch=(), rhs_batch=(), lhs_contract=(1,), rhs_contract=(1,), order="lanes")
            b = self.weight((y.shape[1].value,))
            self.add("add", y, self.add("broadcast", b, shape=y.shape, axes=(1,)))
        elif kind == 15:
            i = self.add("iota", types=(TensorType("i32", (self.n, const(4))),), axis=rng.randrange(2))
            j = self.add("dim_value", types=(TensorType("i32", ()),), value=(self.m + rng.randrange(3),))
            self.add("lt", i, self.add("broadcast", j, shape=i.shape, axes=()))

    def finish(self, results: int) -> Module:
        function = self.builder.function
        chosen = self.rng.sample(self.values, min(results, len(self.values)))
        chosen.append(self.values[-1])
        function.results = [(f"r{i}", v, None) for i, v in enumerate(chosen)]
        self.module.functions["random"] = function
        return self.module


def random_module(seed: int, nodes: int, results: int = 6) -> Module:
    """A module of one entry with at least `nodes` nodes over dims n (1..6) and m (1..5)."""
    maker = Maker(random.Random(seed), (Sym("n", 1, 6, is_dim=True), Sym("m", 1, 5, is_dim=True)))
    while len(maker.builder.function.nodes) < nodes:
        maker.step()
    return maker.finish(results)


if __name__ == "__main__":
    from tensor_compile.graph.text import print_module

    sys.stdout.write(print_module(random_module(int(sys.argv[2]), int(sys.argv[1]), int(sys.argv[1]) // 20)))
