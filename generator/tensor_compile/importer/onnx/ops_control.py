# SPDX-License-Identifier: Apache-2.0
"""If, Loop, Scan: folded where they can be, else blocks of the DSL."""
from __future__ import annotations

from typing import Sequence

from ...symbolic import Expr, IntLike, equal
from ..dims import Shape
from ..problems import Malformed
from ..program import Statement
from ..values import Value
from .model import Graph
from .registry import Node, op

MOST_ITERATIONS = 64   # of a loop that is written out, iteration by iteration


def truth(value: Value) -> bool | None:
    """A condition, where it is known."""
    known = value.single
    if isinstance(known, Expr):
        return bool(known.value) if known.is_const else None
    return None if known is None else bool(known)


def scalar(value: Value) -> str:
    """A condition or a number as a tensor of rank 0."""
    return f"tc_reshape_scalar({value})" if value.rank else f"{value}"


def variable(n: Node, initial: str, dtype: str, shape: Sequence[IntLike], hint: str) -> Value:
    """A C variable that blocks change."""
    value = n.value(dtype, shape, hint)
    n.emit(Statement(initial, value, keep=True))
    return value


def assign(n: Node, variables: Sequence[Value], made: Sequence[Value]) -> None:
    """variables = made, all at once."""
    sources = []
    for i, value in enumerate(made):
        if any(value is v for v in variables[:i]):   # it would be overwritten before it is read
            value = n.let(f"{value}", value.dtype, value.shape, value.hint)
        sources.append(value)
    for v, value in zip(variables, sources, strict=True):
        if v is not value:
            n.emit(Statement(f"{v} = {value}", keep=True))


def complete(values: Sequence[Value | None], least: int = 0) -> list[Value] | None:
    """The values; None where one of them could not be imported (which was reported). least: how many there must be."""
    if len(values) < least:
        raise Malformed(f"its body has {len(values)} outputs, it needs {least}")
    return None if any(v is None for v in values) else list(values)  # type: ignore[arg-type]


def given_up(n: Node) -> None:
    for i in range(len(n.outputs)):
        n.given[i] = None  # type: ignore[assignment]


def same_type(a: Value, b: Value) -> bool:
    return a.dtype == b.dtype and a.rank == b.rank and all(equal(x, y) for x, y in zip(a.shape, b.shape))


def joined(a: Shape, b: Shape) -> Shape | None:
    """The type that two branches share: where a size is a dim and the other a number, the dim's is a guard."""
    return a if len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b)) else None


@op("If")
def if_(n: Node) -> None:
    test = n.input(0)
    branches = n.graph("then_branch"), n.graph("else_branch")
    known = truth(test)
    if known is not None:
        for i, value in enumerate(n.importer.graph(branches[0 if known else 1])):
            n.given[i] = value  # type: ignore[assignment]
        return
    bodies: list[list[Statement]] = []
    results: list[list[Value]] = []
    for branch in branches:
        with n.importer.aside() as body:
            values = complete(n.importer.graph(branch), len(n.outputs))
        if values is None:
            return given_up(n)
        bodies.append(body)
        results.append(values)
    if len(results[0]) != len(results[1]):
        raise Malformed("its branches differ in the number of outputs")
    for a, b in zip(*results, strict=True):
        if a.dtype != b.dtype or joined(a.shape, b.shape) is None:
            n.refuse(f"a condition that is known at run time only, and branches that give different types: "
                     f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}", _what_decides(n))
    made = []
    for i, value in enumerate(results[0]):
        shape = f", {n.dim_list(value.shape)}" if value.shape else ""
        name = n.outputs[i] if i < len(n.outputs) else n.op_type
        made.append(variable(n, f"tc_full(g, 0, TC_{value.dtype.upper()}{shape})", value.dtype, value.shape, name))
    names = "".join(f", &{v}" for v in made)
    for head, body, values in ((f"TC_IF(g, {scalar(test)}{names})", bodies[0], results[0]),
                               ("TC_ELSE(g)", bodies[1], results[1])):
        with n.importer.within(body):
            assign(n, made, values)
        n.emit(Statement(head=head, body=body, keep=True))
    for i, value in enumerate(made):
        n.give(value, i)


def _what_decides(n: Node) -> str:
    """What the user may fix, so that a condition is known."""
    dims = [f"--dim {name}=…" for name in n.importer.dims.declared]
    inputs = [f"--set {name}=…" for name in n.importer.inputs_of(n.input(0))]
    return f"it may be known where sizes or inputs are: {', '.join(dims + inputs)}" if dims or inputs else ""


# -- Loop --------------------------------------------------------------------------------------------------------------

@op("Loop")
def loop(n: Node) -> None:
    """Iterations as many as are known: written out where a type changes from iteration to iteration, else TC_SCAN.
    Iterations that the data decides: TC_WHILE."""
    body = n.graph("body")
    limit, start = n.optional(0), n.optional(1)
    initial = [n.input(i) for i in range(2, len(n.inputs))]
    begins = True if start is None else truth(start)
    iterations = None
    if limit is not None and limit.known is not None:
        iterations = n.size(limit, "the number of iterations")
    if begins is False or iterations is not None and equal(iterations, 0):
        return _no_iterations(n, body, initial)
    if iterations is not None and _written_out(n, body, iterations, begins, initial):
        return None
    if iterations is not None and begins and _counted(n, body, iterations, initial):
        return None
    if iterations is not None and _written_out(n, body, iterations, begins, initial, always=True):
        return None
    if len(n.outputs) > len(initial):
        decides = limit if limit is not None and iterations is None else start
        if decides is not None:
            n.elements(decides, "the number of iterations")
        n.refuse("outputs that grow by iterations whose number the data decides")
    _while(n, body, limit, iterations, start, initial)
    return None


def _no_iterations(n: Node, body: Graph, initial: list[Value]) -> None:
    for i, value in enumerate(initial):
        n.give(value, i)
    if len(n.outputs) > len(initial):
        n.refuse("a loop of no iterations whose iterations are an output")


def _written_out(n: Node, body: Graph, iterations: Expr, begins: bool | None, initial: list[Value],
                 always: bool = False) -> bool:
    """Iteration behind iteration, where they are few and their conditions known. False where a block would do, too."""
    if not iterations.is_const or iterations.value > MOST_ITERATIONS or not begins:
        return False
    with n.importer.trial():
        made = complete(n.importer.graph(body, [n.constant([0], "i64", ()), n.constant([True], "bool", ()),
                                                *map(n.importer.opaque, initial)]), 1 + len(initial))
    if made is None and not always:
        return False   # it is tried again, and reported then
    if not always and made is not None and truth(made[0]) and iterations.value > 1 \
            and all(same_type(a, b) for a, b in zip(initial, made[1:])):
        return False
    carried, collected = list(initial), []
    for iteration in range(iterations.value):
        values = complete(n.importer.graph(body, [n.constant([iteration], "i64", ()), n.constant([True], "bool", ()),
                                                  *carried]), 1 + len(initial))
        if values is None:
            given_up(n)
            return True
        carried = values[1:1 + len(initial)]
        collected.append(values[1 + len(initial):])
        go_on = truth(values[0])
        if go_on is None:
            n.refuse("a loop whose types change from iteration to iteration, and whose end the data decides")
        if not go_on:
            break
    for i, value in enumerate(carried):
        n.give(value, i)
    for i, parts in enumerate(zip(*collected)):
        at = len(initial) + i
        shape = [len(parts), *parts[0].shape]
        if any(not same_type(p, parts[0]) for p in parts):
            n.refuse("an output of iterations that differ in type")
        n.result(f"tc_stack(0, {', '.join(f'{p}' for p in parts)})", parts[0].dtype, shape, at)
    return True


def _begin(n: Node, initial: list[Value], names: Sequence[str]) -> list[Value]:
    """The carried variables, with their first values."""
    return [variable(n, f"{value}", value.dtype, value.shape, name) for value, name in zip(initial, names)]


def _collect(n: Node, values: Sequence[Value], iterations: Expr, body: list[Statement]) -> list[Value]:
    """What every iteration gives, along a new axis 0."""
    made = []
    for value in values:
        every = n.value(value.dtype, (iterations, *value.shape), value.hint)
        n.emit(Statement(declared=(every,), keep=True))
        with n.importer.within(body):
            n.emit(Statement(f"tc_collect({value}, &{every})", keep=True))
        made.append(every)
    return made


def _carried_shapes(n: Node, variables: Sequence[Value], made: Sequence[Value]) -> None:
    for v, value in zip(variables, made):
        if not same_type(v, value):
            n.refuse(f"a value whose type changes from iteration to iteration: {v.dtype}{list(v.shape)}, then "
                     f"{value.dtype}{list(value.shape)}")


def _counted(n: Node, body: Graph, iterations: Expr, initial: list[Value]) -> bool:
    """TC_SCAN of a known number of iterations; False where an iteration may be the last one before."""
    with n.importer.trial():
        tried = complete(n.importer.graph(body, [n.value("i64", ()), n.constant([True], "bool", ()),
                                                 *map(n.importer.opaque, initial)]), 1 + len(initial))
    if tried is None and iterations.is_const and iterations.value <= MOST_ITERATIONS:
        return False   # with the number of the iteration it may be possible
    if tried is not None and truth(tried[0]) is not True:
        return False
    steps = n.let(f"tc_arange(g, TC_I64, {n.dim(iterations)})", "i64", (iterations,), "steps")
    variables = _begin(n, initial, [i.name for i in body.input[2:]])
    with n.importer.aside() as inside:
        iteration = n.let(f"tc_each({steps})", "i64", (), body.input[0].name if body.input else "iteration")
        made = complete(n.importer.graph(body, [iteration, n.constant([True], "bool", ()), *variables]),
                        1 + len(initial))
    if made is None:
        given_up(n)
        return True
    count = len(initial)
    _carried_shapes(n, variables, made[1:1 + count])
    every = _collect(n, made[1 + count:], iterations, inside)
    with n.importer.within(inside):
        assign(n, variables, made[1:1 + count])
    n.emit(Statement(head=f"TC_SCAN(g, {n.dim(iterations)}{''.join(f', &{v}' for v in variables)})", body=inside,
                     keep=True))
    for i, value in enumerate([*variables, *every]):
        n.give(value, i)
    return True


def _while(n: Node, body: Graph, limit: Value | None, iterations: Expr | None, start: Value | None,
           initial: list[Value]) -> None:
    """TC_WHILE with the number of the iteration and the condition among its variables."""
    names = [i.name for i in body.input]
    iteration = variable(n, "tc_full(g, 0, TC_I64)", "i64", (), names[0] if names else "iteration")
    go_on = variable(n, scalar(start) if start is not None else "tc_full(g, 1, TC_BOOL)", "bool", (), "go_on")
    variables = _begin(n, initial, names[2:])
    with n.importer.aside() as inside:
        most = None if limit is None else n.dim(iterations) if iterations is not None else None
        test = f"{go_on}"
        if limit is not None:
            last = f"tc_dim_value(g, TC_I64, {most})" if most is not None else scalar(limit)
            test = f"tc_logical_and({go_on}, tc_lt({iteration}, {last}))"
        n.emit(Statement(f"tc_test({test})", keep=True))
        made = complete(n.importer.graph(body, [iteration, go_on, *variables]), 1 + len(initial))
        if made is not None:
            following = n.let(f"tc_add({iteration}, 1)", "i64", (), "following")
            made = made[:1 + len(initial)]
            _carried_shapes(n, variables, made[1:])
            again = n.let(scalar(made[0]), "bool", (), "again") if made[0].rank else made[0]
            assign(n, [iteration, go_on, *variables], [following, again, *made[1:]])
    if made is None:
        return given_up(n)
    head = f"TC_WHILE(g, &{iteration}, &{go_on}{''.join(f', &{v}' for v in variables)})"
    n.emit(Statement(head=head, body=inside, keep=True))
    for i, value in enumerate(variables):
        n.give(value, i)
    return None


# -- Scan --------------------------------------------------------------------------------------------------------------

@op("Scan", since=8)
def scan_of_batch(n: Node) -> None:
    """Opset 8: every input has a batch in front, and each of it is scanned by itself."""
    body = n.graph("body")
    count = n.integer("num_scan_inputs")
    turned = n.ints("directions") or [0] * count
    if n.optional(0) is not None:
        n.refuse("lengths of the sequences")
    values = [n.input(i) for i in range(1, len(n.inputs))]
    if not 1 <= count <= len(values) or len(turned) != count:
        raise Malformed(f"{count} scan inputs")
    states, batch = len(values) - count, values[0].shape[0]
    collected = len(body.output) - states
    inner = Node(n.importer, n.op_type, n.name, [], n.outputs, n.attributes, 9, n.scope)
    lines = [n.let(f"{v}", v.dtype, v.shape, "line") if v.is_constant else v for v in values]
    with n.importer.aside() as inside:
        each = [n.let(f"tc_each({v})", v.dtype, v.shape[1:], v.hint) for v in lines]
        _scan(inner, body, each[:states], each[states:], _Ways([0] * count, turned, [0] * collected, [0] * collected))
    made = complete([inner.given.get(i) for i in range(len(body.output))])
    if made is None:
        return given_up(n)
    for i, value in enumerate(_collect(n, made, batch, inside)):
        n.give(value, i)
    n.emit(Statement(head=f"TC_SCAN(g, {n.dim(batch)})", body=inside, keep=True))


@op("Scan", since=9)
def scan(n: Node) -> None:
    body = n.graph("body")
    count = n.integer("num_scan_inputs")
    states = [n.input(i) for i in range(len(n.inputs) - count)]
    _scan(n, body, states, [n.input(i) for i in range(len(states), len(n.inputs))], _Ways.of(n, body, states, count))


class _Ways:
    """Axes and directions of what is scanned and of what is collected."""

    def __init__(self, inputs: list[int], turned: list[int], outputs: list[int], turned_out: list[int]):
        self.inputs, self.turned, self.outputs, self.turned_out = inputs, turned, outputs, turned_out

    @staticmethod
    def of(n: Node, body: Graph, states: list[Value], count: int) -> _Ways:
        collected = len(body.output) - len(states)
        if count < 1 or collected < 0:
            raise Malformed(f"{count} scan inputs, {len(body.output)} outputs of the body")
        found = [n.ints(name) or [0] * length for name, length in (
            ("scan_input_axes", count), ("scan_input_directions", count), ("scan_output_axes", collected),
            ("scan_output_directions", collected))]
        if [len(f) for f in found] != [count, count, collected, collected]:
            raise Malformed("axes or directions differ in number from inputs or outputs")
        return _Ways(*found)


def _scan(n: Node, body: Graph, states: list[Value], inputs: list[Value], ways: _Ways) -> None:
    lines, iterations = [], None
    for value, axis, turned in zip(inputs, ways.inputs, ways.turned):
        at = n.axis(axis, value.rank)
        text = f"tc_movedim({value}, {at}, 0)" if at else f"{value}"
        text = f"tc_flip({text}, 0)" if turned else text
        shape = [value.shape[at], *value.shape[:at], *value.shape[at + 1:]]
        lines.append(n.let(text, value.dtype, shape, "line") if text != f"{value}" or value.is_constant else value)
        iterations = iterations or value.shape[at]
    if iterations is None:
        raise Malformed("nothing is scanned")
    names = [i.name for i in body.input]
    variables = _begin(n, states, names)
    with n.importer.aside() as inside:
        each = [n.let(f"tc_each({x})", x.dtype, x.shape[1:], name) for x, name in zip(lines, names[len(states):])]
        made = complete(n.importer.graph(body, [*variables, *each]), len(states))
    if made is None:
        return given_up(n)
    _carried_shapes(n, variables, made[:len(states)])
    every = _collect(n, made[len(states):], iterations, inside)
    with n.importer.within(inside):
        assign(n, variables, made[:len(states)])
    n.emit(Statement(head=f"TC_SCAN(g, {n.dim(iterations)}{''.join(f', &{v}' for v in variables)})", body=inside,
                     keep=True))
    for i, value in enumerate(variables):
        n.give(value, i)
    for i, (value, axis, turned) in enumerate(zip(every, ways.outputs, ways.turned_out), len(states)):
        at = n.axis(axis, value.rank)
        text = f"tc_flip({value}, 0)" if turned else f"{value}"
        text = f"tc_movedim({text}, 0, {at})" if at else text
        shape = [*value.shape[1:at + 1], value.shape[0], *value.shape[at + 1:]]
        if text == f"{value}":
            n.give(value, i)
        else:
            n.result(text, value.dtype, shape, i)
    return None
