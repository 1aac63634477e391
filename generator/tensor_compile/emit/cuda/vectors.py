# SPDX-License-Identifier: Apache-2.0
"""Eight neighbouring points of a thread: what lies side by side in memory goes 16 bytes at a time.

A load or store whose address steps by one with the innermost variable, from a multiple of eight on, becomes an array of
eight that one access brings or takes; the others stay where the points are, one after the other."""
from __future__ import annotations

from typing import Callable, Sequence

from ...loops.loop_ir import Store
from ...loops.scalar_ir import Load, Reduction, Scalar
from ...loops.scalars import identity, walk
from ...loops.wide import depends, is_wide, reductions
from ...symbolic import Sym
from .kernels import Emitter
from ..nests.reduction import term
from ..constants import constant
from ..scalar import C_TYPE, indent


def points(e: Emitter, stores: Sequence[Store], last: Sym, first: str, decode: Sequence[str], bound: Sequence[Sym],
           values: Sequence[Scalar] = (), each: Callable[[], None] = lambda: None) -> list[str]:
    """Statements that store at eight points, of which `last` is `first`, a multiple of eight, in the first one. decode:
    declares what else is known at a point, whose number is v. values, each: what else is evaluated at a point. All is
    loaded before anything is stored."""
    roots = [*values, *(x.value for x in stores)]
    old = e.kept
    scope = e.open(bound)
    e.kept = dict(old)
    for node in reductions(roots):
        _window(e, node, last, first, decode)
    held = {x for node in reductions(roots) for x in walk(node)}
    bring(e, [n for n in dict.fromkeys(walk(*roots)) if isinstance(n, Load) and n not in held], last, first)
    after: list[str] = []
    arrays = []
    name = e.names.get(last)
    e.names[last] = first
    for x in stores:
        dtype, address = x.value.dtype, e.address(x.buffer, x.index)
        if x.dynamic or not is_wide(address, last, dtype, e.buffers[x.buffer]):
            arrays.append("")
            continue
        arrays.append(e.fresh("out"))
        e.lines.append(f"{C_TYPE[dtype]} {arrays[-1]}[8];")
        after.append(f"tc_store8({e.pointers[x.buffer]} + ({e.index(address)}), {arrays[-1]});")
    if name is not None:
        e.names[last] = name
    e.open((*bound, last))
    each()
    results = [e.value(x.value) for x in stores]
    for x, array, result in zip(stores, arrays, results):
        if array:
            e.lines.append(f"{array}[v] = {result.text};")
        else:
            e.store_value(x, result)
    lines = e.scopes.pop().lines
    assert e.scopes.pop() is scope
    e.kept = old
    return [*scope.lines, "#pragma unroll", "for (int v = 0; v < 8; ++v) {", *indent([*decode, *lines]), "}", *after]


def comes_wide(e: Emitter, node: Load, last: Sym) -> bool:
    """Whether one access loads it for the eight points: indices that are data are the same at all of them."""
    return not node.valid and is_wide(e.address(node.buffer, node.index), last, node.dtype, e.buffers[node.buffer]) \
        and not any(depends(value, last) for _, value in node.dynamic)


def bring(e: Emitter, loads: Sequence[Load], last: Sym, first: str, arrays: dict[Load, str] | None = None) -> None:
    """Loads what of the loads can be loaded by vectors to arrays of eight, which they are from now on. arrays: those
    that are declared already."""
    kept = dict(e.kept)
    name = e.names.get(last)
    for node in loads:
        if node in kept or not comes_wide(e, node, last):
            continue
        indices = [(s, e.scalar(v)) for s, v in node.dynamic]
        e.names[last] = first
        e.names.update({s: e.position(s, text) for s, text in indices})
        array = (arrays or {}).get(node)
        if array is None:
            array = e.fresh("wide")
            e.lines.append(f"{C_TYPE[node.dtype]} {array}[8];")
        e.lines.append(f"tc_load8({array}, {e.pointers[node.buffer]} + "
                       f"({e.index(e.address(node.buffer, node.index))}));")
        kept[node] = f"{array}[v]"
        if name is not None:
            e.names[last] = name
    e.kept = kept


def _window(e: Emitter, node: Reduction, last: Sym, first: str, decode: Sequence[str]) -> None:
    """A reduction of the eight points, a term of all of them after the other."""
    acc = e.fresh("acc")
    e.lines += [f"{C_TYPE[node.dtype]} {acc}[8];", "#pragma unroll", "for (int v = 0; v < 8; ++v)",
                f"    {acc}[v] = {constant(identity(node.op, node.order, node.dtype))};"]
    old = e.kept
    heads = [e.loop(s) for s in node.vars]
    e.open(guard=True)
    bring(e, [x for x in walk(node.value) if isinstance(x, Load)], last, first)
    e.open((last,))
    text = term(e, node.op, node.dtype, f"{acc}[v]", node.value, False)
    e.lines.append(f"{acc}[v] = {text};")
    lines = e.scopes.pop().lines
    e.lines += ["#pragma unroll", "for (int v = 0; v < 8; ++v) {", *indent([*decode, *lines]), "}"]
    e.close(f"if ({e.all_nonnegative(node.valid)})" if node.valid else "")
    for head in reversed(heads):
        e.close(head)
    e.kept = {**old, node: f"{acc}[v]"}
