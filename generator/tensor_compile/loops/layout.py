# SPDX-License-Identifier: Apache-2.0
"""Layout, a graph pass before orders and fold: packs second operands of contractions, and chooses physical orders.

`apply` rewrites a function. A `dot` of order seq becomes `packed_dot`, whose second operand is made by graph nodes
(transpose, reshape, pad) in panels [batch..., N/P, K, P]: of a constant they are folded with it, of anything else they
are a loop nest of the program. An operand that already has stride 1 in n (the values of attention) stays as it is. A
`convolution` becomes `packed_convolution` the same way; one with few output channels a group (depthwise) keeps no
panel: its weights are turned to [window..., c, o], so that the reduction can be vectorized over o. A product of two
constants stays what it is: fold computes it.

Operands are packed in the dtypes that they are stored in (operands.py): weights of 16 bits as they are, short integers
whose product is summed in i32 in groups of terms (products.py). What is no constant and has 16 bits stays so where few
rows read it.

`orders` says how each value that is computed lies in memory: as `ordered` says where costs were looked at (orders.py);
else by rules: channels-last behind convolutions and before those of integers, the order in which its reader walks it
where that is another one, row-major otherwise. Lowering asks for it; inputs, outputs and state are row-major always.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Sequence

from ..graph.dce import dce
from ..graph.dtypes import DTYPES
from ..graph.fold import is_constant
from ..graph.infer import Context
from ..graph.interleaved import interleaves, of_positions
from ..graph.ir import Function, Module, Node, TensorType, Value
from ..graph.rewrite import Builder, Values
from ..graph.table import PRIMITIVES, is_elementwise
from ..instruction_sets import instruction_set
from ..symbolic import ONE, Expr, IntLike, floordiv, product as product_of, wrap
from ..target import Target
from .operands import Operands, VIEWS
from .physical_order import last_order, Order
from .products import F32, Product, integers
from .sorted_words import alone, multiplies, ordered, pairs, with_order
from .term_by_term import most_rows, TURNED

FEWEST_COLUMNS = 4   # of a product of integers, from which on it is worth panels
FEW_ROWS = 12        # for fewer, words of bytes are not sorted: panels are read once, in their order
NARROW_TERMS = 8   # of a vector of 16-bit elements
NARROWEST_GROUP = 16   # output channels of a group that are worth a matrix unit


class Sorted:
    """Constant operands that some function's products sort, and those that a function could, for more rows. They are
    packed for both in one way: what functions share is stored once."""

    def __init__(self) -> None:
        self.builder, self.values = Builder(Function("weights", entry=True), Context()), Values()
        self.many: set[Value] = set()
        self.few: dict[str, set[Value]] = {}

    def same(self, b: Value) -> Value:
        """Of all functions' equal operands the same."""
        return self.builder.copied(b, self.values)


def on_all(module: Module, target: Target) -> Module:
    """`apply` on every function, one that packs what another one sorts behind all others."""
    found = Sorted()
    made = {name: apply(f, target, found) for name, f in module.functions.items()}
    for name, few in list(found.few.items()):
        if few & found.many:
            made[name] = apply(module.functions[name], target, found)
    return replace(module, functions=made)


def apply(function: Function, target: Target, found: Sorted | None = None) -> Function:
    """The function with packed contractions. `target.panel` is the panel width. With 16-bit operands
    (`target.narrow`) the terms of a column lie side by side instead: panels of one column, in the narrow dtype; what
    is no constant stays. found: what functions sort, of all functions so far."""
    typed = "" if target.apart else target.arch
    panel = 1 if target.narrow else target.panel
    found = (found or Sorted()) if multiplies(target) else None
    vectors = bool(typed) and all(instruction_set(isa).has_vectors for isa in target.isas)
    rewriter = _Rewriter(function, panel, target.narrow, typed, target.multiplies_bytes, found, alone(target), vectors)
    return rewriter.run()


class _Rewriter:
    """typed: the architecture whose kernels multiply operands of other dtypes than that of their sums; "": none.
    in_bytes: products of short integers are loop nests, whose weights are rows of bytes. sorts: constant words of bytes
    are sorted; None: they are not. in_pairs: those that are not sorted are multiplied as pairs of 16 bits. vectors: all
    instruction sets have them."""

    def __init__(self, function: Function, panel: int, narrow: str = "", typed: str = "", in_bytes: bool = False,
                 sorts: Sorted | None = None, in_pairs: bool = False, vectors: bool = False):
        self.in_pairs, self.vectors = in_pairs, vectors
        self.function, self.panel, self.narrow, self.typed, self.in_bytes = function, panel, narrow, typed, in_bytes
        self.sorts = sorts
        self.operands = Operands(self.make)
        self.nodes: list[Node] = []
        self.moved: dict[Node, Node] = {p: p for p in function.parameters}
        self.constant: set[Node] = set()
        self.zeros: dict[str, Value] = {}
        self.packs: dict[tuple[Any, ...], Value] = {}  # a weight used by two contractions is packed once

    @property
    def fewest(self) -> int:
        """Output channels of a group of floats from which on it has panels. Half of one that is empty costs less than
        to bring elements of two groups together (emit/nests/lane_groups.py)."""
        if self.narrow:
            return NARROWEST_GROUP
        return self.panel // 2 + 1 if self.vectors else self.panel

    def run(self) -> Function:
        for node in self.function.nodes:
            operands = tuple(Value(self.moved[v.node], v.index) for v in node.operands)
            rewrite = {"dot": self.dot, "convolution": self.convolution}.get(node.op)
            new = None
            if rewrite is not None and not (operands and all(v.node in self.constant for v in operands)):
                new = rewrite(node, operands)
            if new is None:
                changed = any(a is not b.node for a, b in zip((v.node for v in operands), node.operands))
                new = node
                if changed:
                    new = Node(node.op, operands, node.attrs, node.types, node.loc, node.scope)
                self.keep(new)
            self.moved[node] = new
        old = self.function

        def move(v: Value) -> Value:
            return Value(self.moved[v.node], v.index)

        made = Function(old.name, old.entry, old.parameters, old.guards, self.nodes,
                        [(n, move(v), loc) for n, v, loc in old.assigns],
                        [(n, move(v), loc) for n, v, loc in old.results])
        return dce(made)   # casts that contractions do without

    def keep(self, node: Node) -> Value:
        self.nodes.append(node)
        if is_constant(node, self.constant):
            self.constant.add(node)
        return Value(node)

    def make(self, like: Node, op: str, operands: tuple[Value, ...], attrs: dict[str, Any], dtype: str,
             shape: tuple[Expr, ...]) -> Value:
        shape = tuple(wrap(d) for d in shape)
        return self.keep(Node(op, operands, attrs, (TensorType(dtype, shape),), like.loc, like.scope))

    def transpose(self, like: Node, x: Value, perm: list[int]) -> Value:
        if perm == sorted(perm):
            return x
        return self.make(like, "transpose", (x,), {"perm": tuple(perm)}, x.dtype, tuple(x.shape[p] for p in perm))

    def reshape(self, like: Node, x: Value, dims: Sequence[IntLike]) -> Value:
        shape = tuple(wrap(d) for d in dims)
        return x if shape == x.shape else self.make(like, "reshape", (x,), {"shape": shape}, x.dtype, shape)

    def pad_to(self, like: Node, x: Value, axis: int, size: Expr) -> Value:
        """x with zeros behind its `axis`, up to `size`."""
        missing = size - x.shape[axis]
        if not missing.terms:
            return x
        if x.dtype not in self.zeros:
            self.zeros[x.dtype] = self.make(like, "constant", (), {"bits": 0}, x.dtype, ())
        none = tuple(wrap(0) for _ in x.shape)
        high = tuple(missing if d == axis else wrap(0) for d in range(len(x.shape)))
        shape = tuple(size if d == axis else n for d, n in enumerate(x.shape))
        return self.make(like, "pad", (x, self.zeros[x.dtype]), {"low": none, "high": high}, x.dtype, shape)

    def dot(self, node: Node, operands: tuple[Value, ...]) -> Node | None:
        a, b = operands
        batch, contract = list(node.attrs["rhs_batch"]), list(node.attrs["rhs_contract"])
        free = [d for d in range(len(b.shape)) if d not in batch and d not in contract]
        if node.types[0].dtype == "i32":
            return self.integer_dot(node, a, b, batch, contract, free)
        if node.attrs["order"] == "lanes":
            return self.lanes_dot(node, a, b, batch, contract, free)
        if b.dtype != "f32" or not free:
            return None
        if (made := self.dot_of_halves(node, a, b, batch, contract, free)) is not None:
            return made
        if b.node not in self.constant and (self.narrow or len(free) == 1 and _unit_stride(b, free[0])):
            return None
        return self.packed_dot(node, a, self.panels(node, self.weights(b), batch, free, contract), F32)

    def packed_dot(self, node: Node, a: Value, packed: Value, product: Product, panel: int | None = None) -> Node:
        attrs = {"lhs_batch": node.attrs["lhs_batch"], "lhs_contract": node.attrs["lhs_contract"],
                 "panel": self.panel if panel is None else panel,
                 "group": product.group, "zero": product.zero, "ordered": int(product.ordered)}
        return self.keep(Node("packed_dot", (a, packed), attrs, node.types, node.loc, node.scope)).node

    def weights(self, b: Value) -> Value:
        """Constants that were widened from 16 bits as they are stored: a kernel widens what it loads of them."""
        half = self.operands.half(b) if self.typed and b.node in self.constant and b.dtype == "f32" else None
        return self.operands.stored(b, half) if half else b

    def dot_of_halves(self, node: Node, a: Value, b: Value, batch: list[int], contract: list[int], free: list[int]
                      ) -> Node | None:
        """The product of few rows by the 16 bits that each call widens b from, where they lie: side by side in columns
        (the values of attention), or term by term (its keys: term_by_term.py). None of any other product: with many
        rows a kernel would widen each element often."""
        half = self.operands.half(b) if self.vectors and b.node not in self.constant else None
        used = (*node.attrs["lhs_batch"], *node.attrs["lhs_contract"])
        rows = product_of(size for d, size in enumerate(a.shape) if d not in used)
        few = rows.is_const and rows.value <= most_rows(self.typed)
        if half is None or not few or not len(free) == len(contract) == 1:
            return None
        stored, terms = self.operands.stored(b, half), b.shape[contract[0]]
        if _unit_stride(stored, free[0]):
            return self.packed_dot(node, a, self.transpose(node, stored, batch + contract + free), F32, 0)
        whole = terms.is_const and terms.value % (TURNED // DTYPES[half].bytes) == 0
        if not whole or not _unit_stride(stored, contract[0]):
            return None
        return self.packed_dot(node, a, self.panels(node, stored, batch, free, contract), F32)

    def integers(self, a: Value, b: Value, elements: Expr, rows: int, columns: Expr
                 ) -> tuple[Value, Value, Product, Product, bool] | None:
        """The operands of a product that is summed in i32 in short dtypes, their product, that which b is packed for,
        and whether b is turned; None where they may not be short. elements: of a sum; rows: at least so many, whatever
        the batch is."""
        if not self.typed or self.in_bytes:
            return None
        short_a, short_b = self.operands.short(a), self.operands.short(b)
        if short_a is None or short_b is None:
            return None
        wide = self.in_pairs and b.node in self.constant and rows >= FEW_ROWS and pairs(elements, columns)
        product, turned = integers(short_a, "i16" if wide else short_b, self.typed)
        packed = product
        if self.sorts and b.node in self.constant and (order := ordered(product, elements, columns)).ordered:
            same = self.sorts.same(b)
            if rows >= FEW_ROWS:
                self.sorts.many.add(same)
                product = order
            else:
                self.sorts.few.setdefault(self.function.name, set()).add(same)
            packed = order if same in self.sorts.many else product
        return self.operands.stored(a, product.a), self.operands.stored(b, "i16" if product.group == 2 else short_b), \
            product, packed, turned

    def integer_dot(self, node: Node, a: Value, b: Value, batch: list[int], contract: list[int],
                    free: list[int]) -> Node | None:
        columns = product_of(b.shape[d] for d in free)
        others = {0, *node.attrs["lhs_batch"], *node.attrs["lhs_contract"]}
        inner = [d for i, d in enumerate(a.shape) if i not in others and d.is_const]
        short = self.integers(a, b, product_of(b.shape[d] for d in contract), product_of(inner).value, columns)
        if short is None or not free or not contract or columns.is_const and columns.value < FEWEST_COLUMNS:
            return None
        a, b, product, packed, turned = short
        return self.packed_dot(node, a, self.panels(node, b, batch, free, contract, packed, turned), product)

    def lanes_dot(self, node: Node, a: Value, b: Value, batch: list[int], contract: list[int],
                  free: list[int]) -> Node | None:
        """Terms are taken 16 at a time: a constant second operand is turned so that they are contiguous."""
        perm = batch + free + contract
        if b.node not in self.constant or perm == sorted(perm):
            return None
        turned = self.transpose(node, b, perm)
        attrs = dict(node.attrs, rhs_batch=tuple(range(len(batch))),
                     rhs_contract=tuple(range(len(batch) + len(free), len(perm))))
        return self.keep(Node("dot", (a, turned), attrs, node.types, node.loc, node.scope)).node

    def panels(self, like: Node, b: Value, batch: list[int], free: list[int], contract: list[int],
               kind: Product = F32, turned: bool = False) -> Value:
        key = (b, tuple(batch), tuple(free), tuple(contract), kind)
        packed = self.packs.get(key)
        if packed is not None:
            return packed
        part = self.part(like, b, free[0]) if not batch and len(free) == 1 and kind.group == 1 else None
        if part is not None:
            whole, first = part
            packed = self.panels(like, whole, batch, free, contract, kind)
            start = (wrap(first), *(wrap(0) for _ in packed.shape[1:]))
            shape = (floordiv(b.shape[free[0]] + (self.panel - 1), wrap(self.panel)), *packed.shape[1:])
            packed = self.make(like, "slice", (packed,), {"start": start, "size": shape, "stride": (1,) * len(shape)},
                               packed.dtype, shape)
            self.packs[key] = packed
            return packed
        heads = [b.shape[d] for d in batch]
        n, k = (product_of(b.shape[d] for d in dims) for dims in (free, contract))
        count = floordiv(n + (self.panel - 1), wrap(self.panel))
        x = self.transpose(like, b, batch + free + contract)
        x = self.reshape(like, x, heads + [n, k])
        if self.narrow:   # lines of whole vectors
            x = self.pad_to(like, x, len(heads) + 1, floordiv(k + (NARROW_TERMS - 1),
                                                              wrap(NARROW_TERMS)) * NARROW_TERMS)
            k = x.shape[-1]
            x = self.make(like, "cast", (x,), {"dtype": self.narrow}, self.narrow, x.shape)
        x = self.pad_to(like, x, len(heads), count * self.panel)
        r, group = len(heads), kind.group
        if group > 1:
            groups = floordiv(k + (group - 1), wrap(group))
            x = self.pad_to(like, x, r + 1, groups * group)
            if turned:
                x = self.turned(like, x, kind.b)
            x = self.reshape(like, x, heads + [count, wrap(self.panel), groups, wrap(group)])
            x = self.transpose(like, x, [*range(r), r, r + 2, r + 1, r + 3])
            if kind.ordered:
                x = with_order(self.make, like, x, kind)
        else:
            x = self.reshape(like, x, heads + [count, wrap(self.panel), k])
            x = self.transpose(like, x, [*range(r), r, r + 2, r + 1])
        self.packs[key] = x
        return x

    def part(self, like: Node, b: Value, axis: int) -> tuple[Value, int] | None:
        """Where b is some of the columns of a constant, which lie along the axis, and they are whole panels of it: that
        one, and the first panel. They lie within the panels of it where another product reads all of them
        (graph/constant_places.py)."""
        turns: list[list[int]] = []
        while b.node.op == "transpose":
            turns.append(list(b.node.attrs["perm"]))
            axis, b = turns[-1][axis], b.node.operands[0]
        if self.narrow or b.node.op != "slice" or b.node not in self.constant:
            return None
        (source,), start, size = b.node.operands, b.node.attrs["start"], b.node.attrs["size"]
        first, behind = start[axis].value, start[axis].value + size[axis].value
        if set(b.node.attrs["stride"]) != {1} or first % self.panel \
                or behind % self.panel and behind != source.shape[axis].value \
                or any(size[d] != n for d, n in enumerate(source.shape) if d != axis):
            return None
        for perm in reversed(turns):
            source = self.transpose(like, source, perm)
        return source, first // self.panel

    def turned(self, like: Node, x: Value, dtype: str) -> Value:
        """x of i8 or u8 in the other one of them, with its highest bit turned: every element 128 more, or less."""
        x = self.make(like, "cast", (x,), {"dtype": dtype}, dtype, x.shape)
        highest = self.make(like, "constant", (), {"bits": 0x80}, dtype, ())
        highest = self.make(like, "broadcast", (highest,), {"shape": x.shape, "axes": ()}, dtype, x.shape)
        return self.make(like, "bit_xor", (x, highest), {}, dtype, x.shape)

    def convolution(self, node: Node, operands: tuple[Value, ...]) -> Node | None:
        x, w = operands
        groups = node.attrs["groups"]
        if self.in_bytes and w.node in self.constant and w.node.op == "cast" and w.node.operands[0].dtype == "i8":
            return self.bytes_convolution(node, x, w)
        enough = w.shape[0].is_const and w.shape[0].value >= FEWEST_COLUMNS
        positions = product_of(node.types[0].shape[2:])
        rows = positions.value if positions.is_const else FEW_ROWS
        columns = floordiv(w.shape[0], wrap(node.attrs["groups"]))
        short = self.integers(x, w, product_of(w.shape[1:]), rows, columns) if w.dtype == "i32" and enough else None
        if not (w.shape[0].is_const and (w.dtype == "f32" or short is not None)):
            return None
        product = kind = F32
        turned = False
        if short is not None:
            x, w, product, kind, turned = short
        spatial = len(w.shape) - 2
        outs = w.shape[0].value // groups
        if groups > 1 and outs < (self.fewest if short is None else self.panel):
            return self.packed_convolution(node, x, self.transpose(node, w, [*range(2, 2 + spatial), 1, 0]), 0, F32)
        grouped = self.reshape(node, w if short is not None else self.weights(w), [groups, outs, *w.shape[1:]])
        packed = self.panels(node, grouped, [0], [1], [*range(3, 3 + spatial), 2], kind, turned)
        return self.packed_convolution(node, x, packed, self.panel, product)

    def packed_convolution(self, node: Node, x: Value, packed: Value, panel: int, product: Product) -> Node:
        attrs = {name: node.attrs[name] for name in ("stride", "low", "high", "dilation", "groups")}
        attrs |= {"window": tuple(d.value for d in node.operands[1].shape[2:]), "panel": panel,
                  "group": product.group, "zero": product.zero, "ordered": int(product.ordered)}
        return self.keep(Node("packed_convolution", (x, packed), attrs, node.types, node.loc, node.scope)).node

    def bytes_convolution(self, node: Node, x: Value, w: Value) -> Node | None:
        """Weights of bytes: of each output channel one row of terms, of whole words; depthwise [window..., 1, o]."""
        groups, spatial, stored = node.attrs["groups"], len(w.shape) - 2, w.node.operands[0]
        if groups == 1:
            terms = product_of(w.shape[1:])
            turned = self.transpose(node, stored, [0, *range(2, 2 + spatial), 1])
            turned = self.reshape(node, turned, [w.shape[0], terms])
            turned = self.pad_to(node, turned, 1, floordiv(terms + 3, wrap(4)) * 4)
        elif w.shape[0] == groups:
            turned = self.transpose(node, stored, [*range(2, 2 + spatial), 1, 0])
        else:
            return None
        wide = self.make(node, "cast", (turned,), {"dtype": "i32"}, "i32", turned.shape)
        return self.packed_convolution(node, x, wide, 0, F32)


def _unit_stride(x: Value, axis: int) -> bool:
    """Dim `axis` of x is the innermost one of the row-major value that x is a view of."""
    while x.node.op in VIEWS:
        source = x.node.operands[0]
        if x.node.op == "transpose":
            axis = x.node.attrs["perm"][axis]
        elif x.node.op == "slice":
            if x.node.attrs["stride"][axis] != 1:
                return False
        elif x.node.op == "broadcast":
            axes = x.node.attrs["axes"]
            if axis not in axes or source.shape[axes.index(axis)] != x.shape[axis]:
                return False
            axis = axes.index(axis)
        else:
            inner = [d for d in range(len(x.shape)) if x.shape[d] != ONE]
            if not inner or axis != inner[-1] or not source.shape:
                return False
            last = [d for d in range(len(source.shape)) if source.shape[d] != ONE]
            if not last or (source.shape[last[-1]] % x.shape[axis]).terms:
                return False
            axis = last[-1]
        x = source
    return x.node.op not in ("pad", "concat", "gather", "iota") and axis == len(x.shape) - 1


# -- physical orders ------------------------------------------------------------------------------------------------
def orders(function: Function) -> dict[Value, Order]:
    """The physical order of every value whose order is not row-major; f32 activations of rank 3 and more alone."""
    wanted = _readers(function)
    out: dict[Value, Order] = {}
    for node in function.nodes:
        for index, kind in enumerate(node.types):
            value, rank = Value(node, index), kind.rank
            if node.op in ("ordered", "reorder"):
                out[value] = node.attrs["order"]
                continue
            if rank < 3 or node.op in VIEWS or PRIMITIVES[node.op].graphs:
                continue
            order = wanted.get(value)
            if order is None and node.op in ("convolution", "packed_convolution"):
                order = last_order(rank)
            elif order is None and (is_elementwise(node.op) or node.op in ("window_reduce", "pad", "concat")
                                    or gathers_along(node)):
                order = next((out[v] for v in node.operands if v in out and len(v.shape) == rank), None)
                if order is None and interleaves(node):
                    order = _of_interleaved(node, out)
            if order is not None and order != tuple(range(rank)):
                out[value] = order
    return out


def _of_interleaved(node: Node, out: Mapping[Value, Order]) -> Order | None:
    """Channels last, where they lie so in all of its operands; None otherwise."""
    last = 0
    for v in node.operands:
        while v.node.op == "slice" or v.node.op == "reshape" and of_positions(v.node):
            v = v.node.operands[0]
        if out.get(v, (0,))[-1] == 1:
            last += 1
        elif v.node.op != "broadcast":
            return None
    return last_order(node.types[0].rank) if last else None


def _row_major(order: Order | None) -> bool:
    return order is not None and order == tuple(range(len(order)))


def gathers_along(node: Node) -> bool:
    """It takes elements along one axis, as a resampling does; the others stay where they are."""
    return node.op == "gather" and len(node.operands[1].shape) == 1


def _readers(function: Function) -> dict[Value, Order]:
    """What the readers of a value ask for, where they ask: (perm) behind `reshape(transpose(x, perm))`, row-major
    behind a reshape that joins or splits its dims, and whatever the reader of an elementwise result asked for."""
    asked: dict[Value, Order] = {}
    users: dict[Value, list[Node]] = {}
    for node in function.nodes:
        for v in node.operands:
            users.setdefault(v, []).append(node)
    for _, v, _ in [*function.results, *function.assigns]:
        asked.setdefault(v, tuple(range(len(v.shape))))
    for node in reversed(function.nodes):
        value = Value(node)
        if len(node.types) != 1 or len(value.shape) < 3 or value in asked:
            continue
        said = next((u for u in users.get(value, ()) if u.op == "ordered"), None)
        if said is not None:   # chosen by cost
            asked[value] = said.attrs["order"]
            continue
        for user in users.get(value, ()):
            if user.op == "reshape":
                if interleaves(node) and of_positions(user):   # lies as what it becomes: channels apart, or last
                    if _row_major(asked.get(Value(user))):
                        asked[value] = tuple(range(len(value.shape)))
                elif _joins(value.shape, user.types[0].shape):
                    asked[value] = tuple(range(len(value.shape)))
            elif user.op == "transpose":
                turned = Value(user)
                if any(u.op == "reshape" for u in users.get(turned, ())):
                    asked[value] = user.attrs["perm"]
            elif user.op == "packed_convolution" and user.attrs["group"] > 1:
                asked[value] = last_order(len(value.shape))   # rows are copied: windows of few channels as one
            elif user.op == "pad" and Value(user) in asked:
                asked[value] = asked[Value(user)]
            elif is_elementwise(user.op) and node.op not in VIEWS:
                down = Value(user)
                if down in asked and len(down.shape) == len(value.shape):
                    asked[value] = asked[down]
            if value in asked:
                break
    return asked


def _joins(before: tuple[Expr, ...], after: tuple[Expr, ...]) -> bool:
    """The reshape does more than add or drop dims of size 1."""
    return [d for d in before if d != ONE] != [d for d in after if d != ONE]
