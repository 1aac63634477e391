# SPDX-License-Identifier: Apache-2.0
"""Chooses the physical orders of a function's values by what they cost (order_costs.py), behind layout.

A value has one order for all of its readers, and may have a copy in a second one. Inputs, states, outputs and what a
state becomes are row-major, and may have the copy. A constant that only elementwise nodes read is laid when the model
is built. Values that one kernel makes of one another (elementwise results of a single reader, parts of a concat)
share an order.

What is least in sum is found exactly, by elimination: one set of values after the other is minimized out of the sum,
the one with the fewest neighbours first, which on a chain is dynamic programming from one end to the other. Where a
residual graph would need tables of more than MOST entries, the set that blocks keeps the order that rules gave it
(layout.orders). The choice replaces that of the rules only where it costs less.

What is chosen stands in the graph: `ordered` says in which order its operand lies, `reorder` copies it. How its
tensors lie decides whether a convolution of few output channels keeps its panels (few_outputs.py), so their readers
agree by cost.
"""
from __future__ import annotations

from dataclasses import field, replace
from itertools import product as combinations
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence, TypeVar

from ..graph.fold import is_constant
from ..graph.ir import Function, Node, TensorType, Value
from ..graph.table import PRIMITIVES, is_elementwise, lowering_of
from ..records import dataclass
from ..symbolic import ONE, Expr
from . import layout
from .few_outputs import along_lines, in_memory
from .order_costs import Costs, across, base_of, seen
from .physical_order import last_order, Order
from .scalar_ir import row_major

MOST = 20_000    # entries of a table
NEVER = 1e30     # cycles of what is not to be chosen
GAIN = 0.002     # of the cycles that orders cost by the rules, below which nothing is changed

Choice = tuple[Order, Order | None]    # of a value, and of its copy
Scope = tuple[int, ...]                # of a term of the sum: the sets whose choices it depends on


@dataclass(slots=True)
class Group:
    """Values of one order. members: in the order of the nodes; choices: the rules' first; fixed: row-major, whatever
    readers want; constant: one that is laid as is best when the model is built; users: of all values,
    who reads them and as which operand."""

    members: list[Value]
    choices: list[Choice]
    fixed: bool
    constant: bool = False
    users: Mapping[Value, Sequence[tuple[Node, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """before, after: modelled cycles that orders cost by the rules, and as they were chosen. ordered, copied: how many
    sets of values lie in another order than that of the rules, or have a copy. sets: how many there are; kept: those
    that no table held; fixed: those that were given from outside."""

    before: float
    after: float
    ordered: int
    copied: int
    sets: int
    kept: int
    fixed: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """Another choice for a set. price: what all orders that depend on one another then cost more, as a part; usual:
    what is chosen instead."""

    price: float
    group: Group
    choice: Choice
    usual: Choice


class Decide(Protocol):
    """What fixes orders from outside, as a tuning lock does. wanted: offers are."""

    wanted: bool

    def order(self, group: Group) -> Choice | None:
        """The choice for a set; None: what costs least."""

    def offer(self, offers: list[Offer]) -> None:
        """Of a function, the cheapest first."""


def choice_name(choice: Choice) -> str:
    """0231: the order from the slowest dim to the fastest; 0123+0231: and a copy."""
    return "+".join("".join(map(str, order)) for order in choice if order is not None)


Term = tuple[Scope, Callable[[tuple[Choice, ...]], float]]
T = TypeVar("T")


def apply(function: Function, costs: Costs, decide: Decide | None = None) -> tuple[Function, Chosen | None]:
    """The function with the orders that cost least; None where nothing is to be chosen. decide: what fixes the orders
    of some sets."""
    found = _Groups(function, costs)
    if not found.sets:
        return function, None
    rules = [s.choices[0] for s in found.sets]
    fixed = {i: choice for i, s in enumerate(found.sets) if decide and (choice := decide.order(s)) is not None}
    begin = [fixed.get(i, rule) for i, rule in enumerate(rules)]
    picked, before, after, kept = list(begin), 0.0, 0.0, 0
    offers: list[Offer] = []
    for terms in _apart(found.terms(), len(rules)):
        usual = _sum(terms, begin)
        before += _sum(terms, rules)
        if usual == 0:   # no order can cost less
            continue
        chosen, left, others = _searched(terms, found.sets, begin, fixed, decide is not None and decide.wanted)
        offers += others
        reached = _sum(terms, chosen)
        if reached < usual * (1 - GAIN):
            picked = [new if new != old else at for new, old, at in zip(chosen, begin, picked)]
            usual = reached
        after, kept = after + usual, kept + left
    if offers and decide is not None:
        decide.offer(sorted(offers, key=lambda offer: offer.price))
    changed = [i for i, (new, old) in enumerate(zip(picked, rules)) if new != old]
    made = Chosen(before, after, sum(picked[i][0] != rules[i][0] for i in changed),
                  sum(picked[i][1] is not None for i in changed), len(rules), kept, len(fixed))
    told = _said(function, found, picked, changed) if changed or found.along_lines(picked) else function
    return told, made


def _said(function: Function, found: _Groups, picked: Sequence[Choice], changed: Sequence[int]) -> Function:
    """The function with what was chosen written down: where rules would give another order, from what they see of the
    orders that are written down already."""
    told = set(changed)
    while True:
        made, now = _rewritten(function, found, picked, told)
        rules = layout.orders(made)
        missing = {at for at, group in enumerate(found.sets) if at not in told and not group.fixed
                   and any(v in found.users and rules.get(now[v], row_major(v.shape)) != picked[at][0]
                           for v in group.members)}
        if not missing:
            return made
        told |= missing


def _sum(terms: Sequence[Term], chosen: Sequence[Choice]) -> float:
    return sum(cost(tuple(chosen[i] for i in scope)) for scope, cost in terms)


def _apart(terms: Sequence[tuple[Scope, T]], count: int) -> list[list[tuple[Scope, T]]]:
    """The terms that share no set are sums of their own."""
    root = list(range(count))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i
    for scope, _ in terms:
        for i in scope:
            root[max(find(scope[0]), find(i))] = min(find(scope[0]), find(i))
    parts: dict[int, list[tuple[Scope, T]]] = {}
    for term in terms:
        parts.setdefault(find(term[0][0]), []).append(term)
    return [parts[i] for i in sorted(parts)]


def _searched(terms: Sequence[Term], sets: Sequence[Group], begin: Sequence[Choice], fixed: Mapping[int, Choice],
              priced: bool) -> tuple[list[Choice], int, list[Offer]]:
    """The choices of least sum, those of other sets as in `begin`; how many sets kept theirs for lack of room; priced:
    the other choices of each set, as if none were fixed."""
    mine = sorted({i for scope, _ in terms for i in scope})
    number = {i: n for n, i in enumerate(mine)}
    tables = [(tuple(number[i] for i in scope), _table(scope, cost, sets)) for scope, cost in terms]
    counts = [len(sets[i].choices) for i in mine]

    def only(i: int, choice: Choice) -> tuple[Scope, dict[Scope, float]]:
        return (number[i],), {(c,): 0.0 if x == choice else NEVER for c, x in enumerate(sets[i].choices)}
    bound = [only(i, choice) for i, choice in fixed.items() if i in number]
    found, kept = least(counts, [*tables, *bound])

    def price(at: Sequence[int]) -> float:
        return sum(table[tuple(at[v] for v in scope)] for scope, table in tables)

    def offers() -> Iterator[Offer]:
        usual = least(counts, tables)[0]
        if price(usual) >= price([0] * len(counts)) * (1 - GAIN):
            usual = [0] * len(counts)
        for i in mine:
            for c, choice in enumerate(sets[i].choices):
                if c != usual[number[i]] and not sets[i].constant:
                    other = least(counts, [*tables, only(i, choice)])[0]
                    yield Offer(price(other) / max(price(usual), 1.0) - 1, sets[i], choice,
                                sets[i].choices[usual[number[i]]])
    chosen = list(begin)
    for i, c in zip(mine, found):
        chosen[i] = sets[i].choices[c]
    return chosen, kept, list(offers()) if priced and not kept else []


def _table(scope: Scope, cost: Callable[[tuple[Choice, ...]], float], sets: Sequence[Group]) -> dict[Scope, float]:
    """A term by the positions of choices."""
    listed = [range(len(sets[i].choices)) for i in scope]
    return {at: cost(tuple(sets[i].choices[c] for i, c in zip(scope, at))) for at in combinations(*listed)}


# -- the search -----------------------------------------------------------------------------------------------------
def least(counts: Sequence[int], terms: Sequence[tuple[Scope, dict[Scope, float]]]) -> tuple[list[int], int]:
    """For each of len(counts) variables with so many values the one that makes the sum of the terms least, the first
    of equal ones; and how many variables kept value 0 since no table held what they depend on."""
    factors: dict[int, tuple[Scope, dict[Scope, float]]] = dict(enumerate(terms))
    touching: list[set[int]] = [set() for _ in counts]
    for number, (scope, _) in factors.items():
        for v in scope:
            touching[v].add(number)
    left, following, kept = set(range(len(counts))), len(factors), 0
    taken: list[tuple[int, Scope, dict[Scope, int]]] = []

    def around(v: int) -> Scope:
        return tuple(sorted({u for f in touching[v] for u in factors[f][0]} - {v}))

    def size(v: int) -> int:
        out = counts[v]
        for u in around(v):
            out *= counts[u]
        return out

    sizes = {v: size(v) for v in left}
    while left:
        v = min(left, key=lambda u: (sizes[u], u))
        if large := sizes[v] > MOST:
            v = max(left, key=lambda u: (len(around(u)), -u))   # the one that joins most: the others come apart
            kept += counts[v] > 1
        scope, mine, values = around(v), sorted(touching[v]), range(counts[v])
        best: dict[Scope, int] = {}
        table: dict[Scope, float] = {}
        parts = [(factors[f][1], tuple(-1 if u == v else scope.index(u) for u in factors[f][0])) for f in mine]
        if large:   # kept: terms lose a variable and stay apart
            for f in mine:
                own, old = factors[f]
                at = own.index(v)
                shorter = own[:at] + own[at + 1:]
                factors[f] = (shorter, {k[:at] + k[at + 1:]: c for k, c in old.items() if k[at] == 0})
            taken.append((v, (), {(): 0}))
        else:
            for point in combinations(*(range(counts[u]) for u in scope)):
                costs = [sum(t[tuple(c if i < 0 else point[i] for i in at)] for t, at in parts) for c in values]
                best[point] = min(values, key=lambda c: costs[c])
                table[point] = costs[best[point]]
            for f in mine:
                for u in factors.pop(f)[0]:
                    touching[u].discard(f)
            factors[following] = (scope, table)
            for u in scope:
                touching[u].add(following)
            following += 1
            taken.append((v, scope, best))
        left.discard(v)
        for u in scope:
            sizes[u] = size(u)
    out = [0] * len(counts)
    for v, scope, best in reversed(taken):
        out[v] = best[tuple(out[u] for u in scope)]
    return out, kept


# -- sets of values and what they cost --------------------------------------------------------------------------------
class _Groups:
    """set_of: by value that stands in memory, its place in `sets`."""

    def __init__(self, function: Function, costs: Costs):
        self.function, self.costs = function, costs
        self.rules = layout.orders(function)
        self.users: dict[Value, list[tuple[Node, int]]] = {}
        for node in function.nodes:
            for position, v in enumerate(node.operands):
                self.users.setdefault(v, []).append((node, position))
        self.last = {v for _, v, _ in (*function.results, *function.assigns)}
        self.set_of: dict[Value, int] = {}
        self.sets: list[Group] = []
        self.join()
        resampled = self.resampled()
        for at, group in enumerate(self.sets):
            group.choices, group.users = self.choices(group, resampled.get(at, ())), self.users

    def join(self) -> None:
        """Sets of the values that have a choice: of rank 3 and more."""
        constant: set[Node] = set()
        for node in self.function.nodes:
            if is_constant(node, constant):
                constant.add(node)
        for node in (*self.function.parameters, *self.function.nodes):
            if node in constant:
                self.join_constant(node, constant)
                continue
            for index, kind in enumerate(node.types):
                v = Value(node, index)
                if kind.rank < 3 or lowering_of(node.op) == "view" or node.op in ("constant", "iota"):
                    continue
                if node.op in PRIMITIVES and PRIMITIVES[node.op].graphs:
                    continue
                fixed = lowering_of(node.op) == "leaf" or v in self.last \
                    or node.op in _ROW_MAJOR and not layout.gathers_along(node)
                at = None if fixed else self.maker(node)
                if at is None:
                    at = len(self.sets)
                    self.sets.append(Group([], [], fixed))
                self.sets[at].members.append(v)
                self.set_of[v] = at

    def join_constant(self, node: Node, constant: set[Node]) -> None:
        """A constant that nothing but elementwise kernels read: no other constant is computed from it."""
        v = Value(node)
        inner = [d for d in v.shape if d != ONE]
        if len(v.shape) >= 3 and len(inner) > 1 and lowering_of(node.op) != "view" and v not in self.last \
                and node.op not in ("constant", "iota") \
                and v in self.users and all(is_elementwise(user.op) and user not in constant
                                            for user, _ in self.users[v]):
            self.set_of[v] = len(self.sets)
            self.sets.append(Group([v], [], False, constant=True))

    def maker(self, node: Node) -> int | None:
        """The set of the operand that one kernel makes this node's value of."""
        if not (is_elementwise(node.op) or node.op == "concat"):
            return None
        for v in node.operands:
            at = self.set_of.get(v)
            if at is None or self.sets[at].fixed or self.sets[at].constant:
                continue
            alone = len(self.users[v]) == 1 and v not in self.last
            if alone and len(v.shape) == len(node.types[0].shape) \
                    and self.rules.get(v, row_major(v.shape)) == self.rules.get(Value(node), row_major(v.shape)):
                return at
        return None

    def resampled(self) -> dict[int, list[Order]]:
        """By set: orders in which what resamplings and poolings are made of lies, or what is made of them is read, with
        elementwise values between them. One of them alone would be turned on both of its sides."""
        chains: list[tuple[Scope, Node]] = []
        for node in self.function.nodes:
            at = self.set_of.get(Value(node))
            if at is not None and (is_elementwise(node.op) or _resamples(node)):
                read = (self.set_of.get(base_of(x)) for x in node.operands)
                chains.append(((at, *(i for i in read if i is not None and not self.sets[i].fixed)), node))
        found: dict[int, list[Order]] = {}
        for chain in _apart(chains, len(self.sets)):
            if any(_resamples(node) for _, node in chain):
                wanted = list(dict.fromkeys(order for _, node in chain for order in self.around(node)))
                found |= {at: wanted for scope, _ in chain for at in scope}
        return found

    def around(self, node: Node) -> Iterator[Order]:
        """How operands lie that are views of what is row-major; what those that transpose its value ask for."""
        for x in node.operands:
            base = base_of(x)
            lies = seen(x, row_major(base.shape)) if x != base and base not in self.rules else None
            rest = [d for d in range(len(x.shape)) if not lies or d not in lies]
            if lies and len(x.shape) == len(node.types[0].shape) and all(x.shape[d] == ONE for d in rest):
                yield (*rest, *lies)
        yield from (user.attrs["perm"] for user, _ in self.users.get(Value(node), ()) if user.op == "transpose")

    def choices(self, group: Group, resampled: Sequence[Order]) -> list[Choice]:
        """resampled: orders that the group may have, too, as values of its rank."""
        rank = len(group.members[0].shape)
        first = row_major(group.members[0].shape)
        rule = self.rules.get(group.members[0], first)
        wanted = dict.fromkeys([first, rule] if group.fixed else [rule, first])
        if rank >= 3 and self.convolved(group):
            wanted[last_order(rank)] = None
        for v in group.members:
            wanted.update(dict.fromkeys(node.attrs["perm"] for node, _ in self.users.get(v, ())
                                        if node.op == "transpose"))
        if not group.fixed:
            wanted.update(dict.fromkeys(order for order in resampled if len(order) == rank))
        own = [first] if group.fixed else list(wanted)
        alone: list[Choice] = [(order, None) for order in own]
        copied: list[Choice] = [(order, other) for order in own for other in wanted if other != order]
        single = (len(group.members) == 1 or group.fixed) and not group.constant
        if group.constant:
            alone = [(order, None) for order in dict.fromkeys((first, last_order(rank)))]
        return alone + (copied if single and group.members[-1] in self.users else [])

    def convolved(self, group: Group) -> bool:
        """A convolution makes or reads one of its values."""
        return any(v.node.op in _WINDOWS or any(node.op in _WINDOWS for node, _ in self.users.get(v, ()))
                   for v in group.members)

    def terms(self) -> list[Term]:
        """What choices cost: a copy, what makes a value, what reads it."""
        found: list[Term] = []
        for at, group in enumerate(self.sets):
            if not group.constant:
                found += [((at,), self.made(v)) for v in group.members]
        for node in self.function.nodes:
            if lowering_of(node.op) == "view":
                continue
            for position, x in enumerate(node.operands):
                source = self.set_of.get(base_of(x))
                if source is not None or position == 0 and self.costs.few(node):
                    found.append(self.reading(node, position, source))
        return found

    def made(self, v: Value) -> Callable[[tuple[Choice, ...]], float]:
        def cost(of: tuple[Choice, ...]) -> float:
            order, copied = of[0]
            return self.costs.make(v.node, order) + (self.costs.copy(v, order, copied) if copied is not None else 0.0)
        return cost

    def reading(self, node: Node, position: int, source: int | None) -> Term:
        """source: None where what is read has a single order."""
        result = self.set_of.get(Value(node)) if across(node) else None
        scope = tuple(dict.fromkeys(at for at in (source, result) if at is not None))
        alone = row_major(base_of(node.operands[position]).shape)

        def cost(of: tuple[Choice, ...]) -> float:
            order, copied = (alone, None) if source is None else of[0]
            own = row_major(node.types[0].shape) if result is None else of[-1][0]
            plain = self.costs.read(node, position, order, own)
            return plain if copied is None else min(plain, self.costs.read(node, position, copied, own))
        return scope, cost

    def order_read(self, node: Node, position: int, picked: Sequence[Choice]) -> tuple[Order, bool]:
        """In which order a node reads what its operand is a view of; whether that is the copy."""
        base = base_of(node.operands[position])
        at = self.set_of.get(base)
        order, copied = (row_major(base.shape), None) if at is None else picked[at]
        if copied is None:
            return order, False
        own = self.own(node, picked)
        second = self.costs.read(node, position, copied, own) < self.costs.read(node, position, order, own)
        return (copied, True) if second else (order, False)

    def along_lines(self, picked: Sequence[Choice]) -> set[Node]:
        """The convolutions of few output channels that cost less without panels."""
        return {node for node in self.function.nodes if self.costs.few(node)
                and self.costs.along_lines(node, self.order_read(node, 0, picked)[0], self.own(node, picked))}

    def own(self, node: Node, picked: Sequence[Choice]) -> Order:
        """How what a node makes lies."""
        at = self.set_of.get(Value(node))
        return row_major(node.types[0].shape) if at is None else picked[at][0]


def _resamples(node: Node) -> bool:
    return node.op == "window_reduce" or layout.gathers_along(node)


_WINDOWS = ("packed_convolution", "convolution")
_ROW_MAJOR = ("gather", "scatter", "update_slice", "sort", "cumulative", "extern_call", "reorder")


# -- the graph ------------------------------------------------------------------------------------------------------
def _rewritten(function: Function, found: _Groups, picked: Sequence[Choice], told: set[int]
               ) -> tuple[Function, dict[Value, Value]]:
    """The function with `ordered` behind the values of some sets and `reorder` for copies, and with its convolutions
    along lines; what it computes of each value."""
    wanted: dict[Value, Choice] = {}
    for at in sorted(told):
        group, (order, copied) = found.sets[at], picked[at]
        for v in group.members:
            if v in found.users and (copied is not None or not group.fixed and not (
                    group.constant and order == row_major(v.shape))):
                wanted[v] = (order, copied)
    nodes: list[Node] = []
    moved: dict[Value, Value] = {}
    copies: dict[Value, Value] = {}
    made: dict[Value, Value] = {}
    lines: dict[Value, Value] = {}   # views whose lines are copied
    along = found.along_lines(picked)

    def make(like: Node, op: str, operands: tuple[Value, ...], attrs: dict[str, Any], dtype: str,
             shape: tuple[Expr, ...]) -> Value:
        nodes.append(Node(op, operands, attrs, (TensorType(dtype, shape),), like.loc, like.scope))
        return Value(nodes[-1])

    def add(v: Value, op: str, order: Order) -> Value:
        return make(v.node, op, (v,), {"order": order}, v.dtype, v.shape)

    def turned(v: Value, op_order: Order) -> Value:
        """A constant as it is read, where it lies in another order."""
        laid = make(v.node, "transpose", (v,), {"perm": op_order}, v.dtype, tuple(v.shape[d] for d in op_order))
        stored = add(laid, "ordered", row_major(laid.shape))
        back = tuple(op_order.index(d) for d in range(len(op_order)))
        return make(v.node, "transpose", (stored,), {"perm": back}, v.dtype, v.shape)

    def hold(node: Node, new: Node) -> None:
        for index in range(len(node.types)):
            old, now = Value(node, index), Value(new, index)
            moved[old] = made[old] = now
            if old in wanted:
                order, copied = wanted[old]
                group = found.sets[found.set_of[old]]
                if group.constant:
                    moved[old] = turned(now, order)
                elif not group.fixed:
                    moved[old] = add(now, "ordered", order)
                if copied is not None:
                    copies[old] = add(now, "reorder", copied)

    def operand(node: Node, position: int) -> Value:
        x = node.operands[position]
        copied = lowering_of(node.op) != "view" and base_of(x) in copies and found.order_read(node, position, picked)[1]
        return _again(x, copies, moved, nodes) if copied else moved[x]

    def lined(x: Value, now: Value) -> Value:
        """What lies line by line: `now`, as which x is read, or a copy of a view."""
        if in_memory(x):
            return now
        if x not in lines:
            lines[x] = add(now, "reorder", row_major(x.shape))
        return lines[x]

    for p in function.parameters:
        hold(p, p)
    for node in function.nodes:
        operands = tuple(operand(node, i) for i in range(len(node.operands)))
        if node in along:
            new = along_lines(node, lined(node.operands[0], operands[0]), operands[1], make)
        else:
            new = node if operands == node.operands else Node(node.op, operands, node.attrs, node.types, node.loc,
                                                              node.scope)
        nodes.append(new)
        hold(node, new)
    last = {v: Value(moved[v].node.operands[0].node, v.index) if moved[v].node.op == "ordered" else moved[v]
            for _, v, _ in (*function.results, *function.assigns)}
    return replace(function, nodes=nodes, assigns=[(n, last[v], loc) for n, v, loc in function.assigns],
                   results=[(n, last[v], loc) for n, v, loc in function.results]), made


def _again(x: Value, copies: dict[Value, Value], moved: dict[Value, Value], nodes: list[Node]) -> Value:
    """The same views of a copy."""
    if x in copies:
        return copies[x]
    node = x.node
    inner = _again(node.operands[0], copies, moved, nodes)
    operands = (inner, *(moved[v] for v in node.operands[1:]))
    nodes.append(Node(node.op, operands, node.attrs, node.types, node.loc, node.scope))
    return Value(nodes[-1])
