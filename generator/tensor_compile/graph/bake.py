# SPDX-License-Identifier: Apache-2.0
"""`--bake-values`: channels of integers that are constant or that nothing reads are left out, for these very weights.

channels.py says which channels may go, as a graph on the weights that `evaluate` computes. Here the function is written
again without them: convolutions and products have fewer rows of weights and fewer terms, what constant channels would
add to a sum is added to it (integers wrap: the same bits), and what lies between them has fewer channels. Kernels work
on words, so as many channels stay that MULTIPLE divides their number.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..records import dataclass
from ..symbolic import product, wrap
from .channels import Analysis, Channels, NAME
from .infer import Context
from .ir import Function, Loc, Module, Node, TensorType, Value
from .rewrite import Builder, only_readers, Values
from .table import lowering_of

MULTIPLE = 4

Evaluate = Callable[[Module], Mapping[str, bytes]]   # the results of a module's one function, on the model's weights
Picks = tuple[tuple[int, tuple[int, ...]], ...]      # axes, and the indices that are kept of each


@dataclass(frozen=True, slots=True)
class Smaller:
    """A convolution or product that has fewer channels: of its result, and multiply-adds of one call, in which sizes
    that are dims count as one."""

    loc: Loc | None
    left: int
    channels: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Baked:
    """What became smaller, and a digest of the channels that stay ("" where all do): other weights fit the code where
    theirs is the same."""

    products: tuple[Smaller, ...] = ()
    digest: str = ""


def bake(module: Module, evaluate: Evaluate) -> tuple[Module, Baked]:
    """The module without those channels."""
    functions: dict[str, Function] = {}
    products: list[Smaller] = []
    stay = []
    for name, function in module.functions.items():
        analysis = Analysis(function)
        kept = _evaluated(analysis, module, evaluate)
        functions[name] = function
        if kept:
            functions[name], smaller = _Rewriting(analysis, kept).run()
            products += smaller
            stay.append(f"{name}: {sorted(kept.items())}")
    digest = hashlib.sha256("\n".join(stay).encode()).hexdigest() if stay else ""
    return replace(module, functions=functions), Baked(tuple(products), digest)


def _evaluated(analysis: Analysis, module: Module, evaluate: Evaluate) -> dict[int, tuple[int, ...]]:
    """The channels that stay, of groups where not all do."""
    droppable = analysis.droppable()
    if not droppable:
        return {}
    asked = analysis.builder.function
    asked.results = [(f"g{group}", value, None) for group, value in droppable.items()]
    used = {n.attrs["name"] for n in asked.nodes if n.op == "weight"}
    weights = {name: w for name, w in module.weights.items() if name in used}
    found = evaluate(Module(module.model, {}, list(module.files), weights, {}, {NAME: asked}))
    return {group: indices for group in droppable if (indices := _kept(found[f"g{group}"])) is not None}


def _kept(droppable: bytes) -> tuple[int, ...] | None:
    """The channels that stay; None: all."""
    stay = [i for i, d in enumerate(droppable) if not d]
    go = [i for i, d in enumerate(droppable) if d]
    more = max(-len(stay) % MULTIPLE, MULTIPLE - len(stay))
    return tuple(sorted(stay + go[:more])) if more < len(go) else None


class _Rewriting:
    """kept: the channels that stay, by group; a group without an entry keeps all."""

    def __init__(self, analysis: Analysis, kept: Mapping[int, tuple[int, ...]]):
        self.analysis, self.kept = analysis, kept
        self.source = analysis.function
        self.builder, self.values = Builder(self.source, Context()), Values()
        self.readers = {r.node: (group, r) for group, r in analysis.readers}
        self.alone = only_readers(self.source)
        self.added: dict[Value, Value] = {}     # by a sum of the source: what its bias lacks
        self.copied = Values()                  # of the constants' function
        self.picked: dict[tuple[Value, Picks], Value] = {}
        self.products: list[Smaller] = []

    def run(self) -> tuple[Function, list[Smaller]]:
        for node in self.source.nodes:
            if node in self.analysis.constant or not self._touched(node):
                self.values.bind(node, self.builder.again(node, self.values.all(node.operands)))
            else:
                self.values[Value(node)] = self._smaller(node)
        return self.builder.finish(self.source, self.values.__getitem__), self.products

    def _stay(self, value: Value) -> Picks:
        """The axis of the value's channels and those that stay; () where all do."""
        c = self.analysis.known.get(value)
        stay = self.kept.get(self.analysis.group_of(c.group)) if c is not None else None
        return ((c.axis, stay),) if c is not None and stay is not None else ()

    def _touched(self, node: Node) -> bool:
        return any(map(self._stay, (*node.operands, *(Value(node, i) for i in range(len(node.types))))))

    def _smaller(self, node: Node) -> Value:
        if node in self.readers or node.op == "dot" or node.op == "convolution" and node.attrs["groups"] == 1:
            return self._sum(node)
        stay = self._stay(Value(node))
        ((axis, indices),) = stay
        attrs = dict(node.attrs)
        if "shape" in attrs:
            attrs["shape"] = _with(node.attrs["shape"], stay)
        if node.op == "convolution":
            x, w = node.operands
            attrs["groups"] = len(indices)
            weights = self._pick(w, ((0, indices),))
            self._note(node, self.analysis.known[Value(node)], stay, w, weights)
            return self._make(node, attrs, self.values[x], weights)
        if lowering_of(node.op) != "elementwise":
            return self._make(node, attrs, *self.values.all(node.operands))
        operands = [self._pick(v, stay) if self.analysis.is_constant(v) else self.values[v] for v in node.operands]
        for i, v in enumerate(node.operands):
            if v in self.added:    # the bias of a sum, which has no other reader
                more = self.builder.value("broadcast", self.added[v], like=node, shape=operands[1 - i].shape,
                                          axes=(axis,))
                operands[1 - i] = self._with_bias(node, operands[1 - i], self.added[v], axis) or \
                    self.builder.value("add", operands[1 - i], more, like=node)
        return self._make(node, attrs, *operands)

    def _make(self, node: Node, attrs: dict[str, Any], *operands: Value) -> Value:
        kind = node.types[0]
        types = (TensorType(kind.dtype, _with(kind.shape, self._stay(Value(node)))),)
        return Value(self.builder.make(node.op, operands, attrs, types, node.loc, node.scope))

    def _with_bias(self, node: Node, bias: Value, more: Value, axis: int) -> Value | None:
        """A broadcast bias of one element a channel with more added to these."""
        if bias.node.op != "broadcast" or bias.node.attrs["axes"] != (axis,):
            return None
        whole = self.builder.value("add", bias.node.operands[0], more, like=node)
        return self.builder.value("broadcast", whole, like=node, shape=bias.shape, axes=(axis,))

    def _sum(self, node: Node) -> Value:
        """A convolution of one group, or a product."""
        x, w = node.operands
        known = self.analysis.known
        rows, terms = (0, 1) if node.op == "convolution" or node.attrs["rhs_contract"] == (1,) else (1, 0)
        outs, ins = self._stay(Value(node)), self._stay(x)
        picks: Picks = tuple((rows, s) for _, s in outs)
        weights = self._pick(w, (*picks, *((terms, s) for _, s in ins)))
        made = self._make(node, node.attrs, self.values[x], weights)
        self._note(node, known[Value(node)], outs, w, weights)
        if not ins:
            return made
        found = known[x]
        gone = tuple(i for i in range(found.size) if i not in set(ins[0][1]))
        lost = self._pick(w, (*picks, (terms, gone)))
        elements = self._gathered(self.builder.copied(found.element, self.copied), 0, gone, node)
        wide = self.builder.value("broadcast", elements, like=node, shape=lost.shape, axes=(terms,))
        more = self.builder.value("reduce", self.builder.value("mul", lost, wide, like=node), like=node, op="sum",
                                  axes=tuple(a for a in range(lost.type.rank) if a != rows), order="free")
        reader, axis = self.alone.get(Value(node)), known[Value(node)].axis
        if reader is not None and reader.op == "add" and self._touched(reader) and self._stay(Value(reader)):
            self.added[Value(node)] = more
            return made
        return self.builder.value("add", made, self.builder.value("broadcast", more, like=node, shape=made.shape,
                                                                  axes=(axis,)), like=node)

    def _note(self, node: Node, c: Channels, outs: Picks, before: Value, after: Value) -> None:
        points = product(n for i, n in enumerate(node.types[0].shape) if i != c.axis and n.is_const).value
        left = len(outs[0][1]) if outs else c.size
        self.products.append(Smaller(node.loc, left, c.size, points * product(before.shape).value,
                                     points * product(after.shape).value))

    # -- constants ----------------------------------------------------------------------------------------------------
    def _pick(self, value: Value, picks: Picks) -> Value:
        """A constant of the source with less along some axes. Elementwise operations are made of what is picked, so
        that what later passes look for in them stays."""
        if not picks:
            return self.values[value]
        if (value, picks) in self.picked:
            return self.picked[value, picks]
        node = value.node
        if lowering_of(node.op) == "elementwise":
            operands = [self._pick(v, picks) for v in node.operands]
            kind = TensorType(node.types[0].dtype, operands[0].shape)
            made = Value(self.builder.make(node.op, operands, node.attrs, (kind,), node.loc, node.scope))
        elif node.op == "broadcast":
            axes = node.attrs["axes"]
            inner = tuple((axes.index(a), s) for a, s in picks if a in axes)
            made = self.builder.value("broadcast", self._pick(node.operands[0], inner), like=node,
                                      shape=_with(value.shape, picks), axes=axes)
        elif node.op == "transpose":
            perm = node.attrs["perm"]
            made = self.builder.value("transpose", self._pick(node.operands[0], tuple((perm[a], s) for a, s in picks)),
                                      like=node, perm=perm)
        else:
            made = self.values[value]
            for axis, indices in picks:
                made = self._gathered(made, axis, indices, node)
        self.picked[value, picks] = made
        return made

    def _gathered(self, value: Value, axis: int, indices: tuple[int, ...], like: Node) -> Value:
        one = [self.builder.filled(TensorType("i32", (wrap(1),)), i, like) for i in indices]
        index = one[0] if len(one) == 1 else self.builder.value("concat", *one, like=like, axis=0)
        return self.builder.value("gather", value, index, like=like, axis=axis)


def _with(shape: tuple[Any, ...], picks: Picks) -> tuple[Any, ...]:
    sizes = {axis: wrap(len(indices)) for axis, indices in picks}
    return tuple(sizes.get(i, n) for i, n in enumerate(shape))
