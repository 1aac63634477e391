# SPDX-License-Identifier: Apache-2.0
"""Random functions of a model.c in the public operations, each with PyTorch's meaning beside it.

A graph follows from its seed alone. Its axes have constant sizes, 0 and 1 among them, dynamic ones and specialized
ones; operands repeat; much of what is computed is used by nobody. A value is `exact` where any correct implementation
has the same bits: only such values are compared, sorted or made indices of, as others may differ in their last place.
"""
from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Callable

SIZES = (1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 20, 33)
MOST = 40            # of a dynamic size
LARGEST = 1e6        # magnitudes beyond are not computed with


# -- sizes ------------------------------------------------------------------------------------------------------------
class Size:
    """A polynomial over dims with the C text that stands for it."""

    def __init__(self, terms: dict[tuple[str, ...], int], text: str):
        self.terms = {m: c for m, c in terms.items() if c}
        self.text = text
        self.key = tuple(sorted(self.terms.items()))

    @staticmethod
    def of(value: int) -> "Size":
        return Size({(): value}, str(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def constant(self) -> int | None:
        return self.terms.get((), 0) if set(self.terms) <= {()} else None

    def at(self, dims: dict[str, int]) -> int:
        total = 0
        for names, c in self.terms.items():
            for name in names:
                c *= name.size.at(dims) // name.by if isinstance(name, Quotient) else dims[name]
            total += c
        return total

    def over(self, by: int) -> "Size":
        """Divided, and rounded down."""
        if all(c % by == 0 for m, c in self.terms.items() if m):
            terms = {m: c // by for m, c in self.terms.items()}
        else:
            terms = {(Quotient(self, by),): 1}
        return Size(terms, str(self.constant // by) if self.constant is not None else
                    f"tc_dim_floordiv({self.text}, {by})")

    def __add__(self, other: "Size") -> "Size":
        terms = dict(self.terms)
        for m, c in other.terms.items():
            terms[m] = terms.get(m, 0) + c
        return Size(terms, _text(self, other, "add", sum))

    def __mul__(self, other: "Size") -> "Size":
        terms: dict[tuple[str, ...], int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                both = tuple(sorted(m + n))
                terms[both] = terms.get(both, 0) + c * d
        return Size(terms, _text(self, other, "mul", lambda pair: pair[0] * pair[1]))


def _text(a: Size, b: Size, op: str, value: Callable) -> str:
    if a.constant is not None and b.constant is not None:
        return str(value((a.constant, b.constant)))
    return f"tc_dim_{op}({a.text}, {b.text})"


class Quotient(str):
    """What stands for a size that is divided, among the names of dims."""

    def __new__(cls, size: Size, by: int) -> "Quotient":
        made = str.__new__(cls, f"({size.key})/{by}")
        made.size, made.by = size, by    # type: ignore[attr-defined]
        return made


ONE = Size.of(1)
Shape = tuple[Size, ...]


# -- graphs -----------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class Value:
    """kind: float (in the graph's dtype), i64 or bool. most: no finite element is larger. below: of an index, the size
    that all elements are below."""

    name: str
    kind: str
    shape: Shape
    exact: bool
    most: float = 4.0
    below: Size | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass
class Step:
    """run(torch, tensors...) gives the results, a tuple where there are several; exact results are not disturbed."""

    results: list[Value]
    operands: list[Value]
    run: Callable[..., Any]


@dataclass
class Dim:
    name: str
    low: int
    special: tuple[int, ...]


@dataclass
class Graph:
    seed: int
    dtype: str
    dims: list[Dim] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: list[tuple[str, Value]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"graph{self.seed}"

    @property
    def text(self) -> str:
        """The function in C."""
        return "\n".join([f"TC_FUNCTION({self.name})", "{", *(f"    {line}" for line in self.lines), "}", ""])

    def evaluate(self, torch: Any, given: dict[str, Any], dims: dict[str, int], unit: float = 0.0,
                 error: Callable[[Any, Any, float], Any] | None = None) -> dict[str, Any]:
        """The outputs in double; None where PyTorch refuses (an axis of no elements, say). unit: an error of each
        element of each result that is not exact, to see how far such errors get: `relative`, or another one."""
        made: dict[Value, Any] = {v: given[v.name] for v in self.inputs + self.weights}
        noise = torch.Generator().manual_seed(self.seed)
        for step in self.steps:
            operands = [made[v] for v in step.operands]
            results: Any = None
            if not any(x is None for x in operands):
                try:
                    results = step.run(torch, dims, *operands)
                except (RuntimeError, IndexError, ValueError):
                    results = None
            if not isinstance(results, tuple):
                results = (results,) * len(step.results) if results is None else (results,)
            for v, x in zip(step.results, results, strict=True):
                if unit and x is not None and v.kind == "float" and not v.exact:
                    draw = torch.rand(x.shape, generator=noise, dtype=torch.float64) * 2 - 1
                    x = (error or relative)(x, draw, unit)
                made[v] = x
        return {name: made[v] for name, v in self.outputs}


def relative(x: Any, draw: Any, unit: float) -> Any:
    """Each element with an error of up to `unit` of its own. draw: from -1 to 1, for each element."""
    return x * (1 + unit * draw)


def no_zeros(x: Any, draw: Any, unit: float) -> Any:
    """What is 0 by cancellation, a little beside it."""
    return x + unit * draw * (x == 0)


def more_zeros(x: Any, draw: Any, unit: float) -> Any:
    """What is no more than the errors of the other elements, as if it were 0."""
    del draw
    largest = x.abs()[x.isfinite()].max() if x.isfinite().any() else 0.0
    return x * (~(x.abs() <= unit * largest))


class Refused(Exception):
    """The operation does not suit what was drawn for it."""


class Maker:
    """Draws a graph. What operations need is in random_ops.py. largest: elements of a tensor, at the largest sizes."""

    dtypes: tuple[str, ...] = ("f32", "f32", "f32", "f64")
    largest = 6000

    def __init__(self, seed: int, operations: list):
        self.rng = random.Random(f"graph {seed}")
        rng = self.rng
        self.graph = Graph(seed, rng.choice(self.dtypes))
        self.dims = {}
        for letter in "nm"[: rng.choice((0, 1, 1, 2))]:
            special = rng.choice(((), (), (1,), (1, 3), (16,), (3, 17)))
            low = rng.choice((0, 0, 1, 1, 1, 2))
            special = tuple(s for s in special if s >= low)
            dim = Dim(f"{letter}{seed}", low, special)
            self.graph.dims.append(dim)
            words = f", .specialize = {{{', '.join(map(str, special))}}}" if special else ""
            self.line(f'tc_dim {letter} = tc_dynamic(g, "{dim.name}", {low}, {MOST}{words});')
            self.dims[dim.name] = Size({(dim.name,): 1}, letter)
        self.values: list[Value] = []
        self.count = 0
        self.inputs()
        steps = rng.randrange(4, 13)
        for _ in range(20 * steps):
            if len(self.graph.steps) >= steps:
                break
            before, number = len(self.graph.lines), self.count
            weights, inputs, made = len(self.graph.weights), len(self.graph.inputs), len(self.graph.steps)
            try:
                rng.choice(operations)(self)
            except Refused:
                del self.graph.lines[before:], self.graph.weights[weights:], self.graph.inputs[inputs:]
                del self.graph.steps[made:]
                dropped = {f"v{i}" for i in range(number, self.count)}
                self.values = [v for v in self.values if v.name not in dropped]
        self.finish()

    def inputs(self) -> None:
        """What the graph begins with."""
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            self.input(self.shape(self.rng.choice((1, 2, 2, 2, 3, 3, 4))))

    def line(self, text: str) -> None:
        self.graph.lines.append(text)

    @property
    def float_type(self) -> str:
        return f"TC_{self.graph.dtype.upper()}"

    def size(self) -> Size:
        rng = self.rng
        if self.dims and rng.random() < 0.5:
            return rng.choice(list(self.dims.values()))
        return Size.of(0 if rng.random() < 0.03 else rng.choice(SIZES))

    def shape(self, rank: int) -> Shape:
        while True:
            found = tuple(self.size() for _ in range(rank))
            if self.elements(found) <= self.largest:
                return found

    def elements(self, shape: Shape) -> int:
        """At the largest sizes that are tried."""
        total = 1
        for s in shape:
            total *= max(1, s.at({name: 33 for name in self.dims}))
        return total

    # -- values
    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def input(self, shape: Shape, kind: str = "float", below: Size | None = None) -> Value:
        name = self.fresh()
        dtype = self.float_type if kind == "float" else "TC_I64"
        self.line(f'tc_tensor {name} = tc_input(g, "{name}", {", ".join([dtype, *(s.text for s in shape)])});')
        made = Value(name, kind, shape, True, 4.0, below)
        self.graph.inputs.append(made)
        self.values.append(made)
        return made

    def weight(self, shape: Shape) -> Value:
        """Of constant sizes."""
        if any(s.constant is None or s.constant == 0 for s in shape):
            raise Refused
        name = self.fresh()
        self.line(f'tc_tensor {name} = tc_weight(g, "{self.graph.name}.{name}");')
        made = Value(name, "float", shape, True)
        self.graph.weights.append(made)
        self.values.append(made)
        return made

    def pick(self, kind: str = "float", rank: tuple[int, ...] = (), exact: bool = False) -> Value:
        """A value, of the latest more often than not."""
        fitting = [v for v in self.values if v.kind == kind and (not rank or v.rank in rank) and (v.exact or not exact)
                   and v.most <= LARGEST]
        if not fitting:
            raise Refused
        return self.rng.choice(fitting[-5:] if self.rng.random() < 0.7 else fitting)

    def axis(self, x: Value, least: int = 0) -> int:
        """One whose size, where it is a constant, is not below `least`."""
        fitting = [i for i, s in enumerate(x.shape) if s.constant is None or s.constant >= least]
        if not fitting:
            raise Refused
        return self.rng.choice(fitting)

    def make(self, call: str, operands: list[Value], run: Callable[..., Any], shape: Shape, kind: str = "float",
             exact: bool = False, most: float | None = None, below: Size | None = None) -> Value:
        """One more value: `call` in C, `run` in PyTorch."""
        return self.several(call, operands, run, [(shape, kind, exact, most, below)])[0]

    def several(self, call: str, operands: list[Value], run: Callable[..., Any], results: list[tuple]) -> list[Value]:
        """call: with `{1}` where the second result's C variable stands."""
        if len({id(o) for o in operands}) > 8:
            raise Refused
        made = []
        for shape, kind, exact, most, below in results:
            if self.elements(shape) > self.largest or len(shape) > 5:
                raise Refused
            top = max((o.most for o in operands), default=1.0) if most is None else most
            made.append(Value(self.fresh(), kind, tuple(shape), exact, top, below))
        names = [v.name for v in made]
        for extra in names[1:]:
            self.line(f"tc_tensor {extra};")
        self.line(f"tc_tensor {names[0]} = {call.replace('{1}', names[-1])};")
        self.graph.steps.append(Step(made, operands, run))
        self.values += made
        return made

    def finish(self) -> None:
        made = [v for step in self.graph.steps for v in step.results] or self.values
        chosen = self.rng.sample(made, min(len(made), self.rng.choice((1, 2, 3, 4))))
        if made[-1] not in chosen:
            chosen.append(made[-1])
        for i, v in enumerate(chosen):
            self.graph.outputs.append((f"r{i}", v))
            self.line(f'tc_output(g, "r{i}", {v.name});')
        for v in self.values:
            self.line(f"(void){v.name};")
