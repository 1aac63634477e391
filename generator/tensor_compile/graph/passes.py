# SPDX-License-Identifier: Apache-2.0
"""The passes of the graph and their order; ../passes.py has all of them."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

from ..records import dataclass
from ..symbolic import Expr, Sym
from .absorb import absorb
from .control import control
from .cse import cse
from .dce import dce
from .divide import divide
from .fold import fold
from .inline import inline
from .interleaved import interleaved
from .ir import Function, Guard, Module
from .simplify import simplify
from .specialize import refuted, specialize, suffix
from .verify import callees_of, held, verify
from .widen import widen
from .windows import windows

FunctionPass = Callable[[Function], Function]
ModulePass = Callable[[Module], Module]
Dump = Callable[[str, Module], None]


@dataclass(frozen=True, slots=True)
class GraphVariant:
    """An entry function for fixed sizes of some dims: `when` by dim name, {} for the generic one. name: of the function
    in the module."""

    name: str
    when: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Graph:
    """What the passes made of a module.

    module: its declarations with every function that there is by now: after `specialize` those of every variant, called
    ones included. reference: the module before `widen` (no calls, no variants): what outputs are compared with, bit for
    bit. variants: by entry name; the generic one is last and always there. constants: the module whose one function
    computes the packed constants, in the order c0, c1, ...
    """

    module: Module
    reference: Module
    variants: Mapping[str, list[GraphVariant]]
    constants: Module


@dataclass(frozen=True, slots=True)
class GraphPass:
    """plain: also where the variants keep the reference's own nodes (`--target reference`). relaxed: only where sums
    may be taken in other orders (`--numerics relaxed`)."""

    name: str
    run: Callable[[Graph], Graph]
    plain: bool = True
    relaxed: bool = False


def each(run_pass: FunctionPass) -> ModulePass:
    """The pass on every function, called ones too."""
    def on_each(module: Module) -> Module:
        return replace(module, functions={n: run_pass(f) for n, f in module.functions.items()})
    return on_each


def on_module(run_pass: ModulePass) -> Callable[[Graph], Graph]:
    """The pass on the module, before variants are told apart or on all of them."""
    return lambda graph: replace(graph, module=run_pass(graph.module))


def captured(module: Module) -> Graph:
    """What the passes begin with."""
    return Graph(module, module, {}, Module(module.model))


def _widen(graph: Graph) -> Graph:
    """The interpreter rounds 16-bit floats by itself: the reference is what there is before."""
    return replace(graph, reference=graph.module, module=each(widen)(graph.module))


def _fold(graph: Graph) -> Graph:
    constants, functions = fold(graph.module, list(graph.module.functions.values()))
    return replace(graph, module=replace(graph.module, functions={f.name: f for f in functions}), constants=constants)


def _specialize(graph: Graph) -> Graph:
    """The module with a function for every variant of every entry."""
    module = graph.module
    functions: dict[str, Function] = {}
    variants: dict[str, list[GraphVariant]] = {}
    for entry in module.entries:
        variants[entry.name] = []
        dims = dims_of(module, entry)
        choices = [d for d in module.dims.values() if d.specialize and d.sym in dims]
        for sizes in product(*(d.specialize for d in choices)):
            when = {d.sym: size for d, size in zip(choices, sizes)}
            if when and _possible(entry, when):
                name = _add(module, entry.name, when, functions)
                variants[entry.name].append(GraphVariant(name, {s.name: n for s, n in when.items()}))
        name = _add(module, entry.name, {}, functions)
        variants[entry.name].append(GraphVariant(name, {}))
    return replace(graph, module=replace(module, functions=functions), variants=variants)


def _possible(function: Function, sizes: Mapping[Sym, int]) -> bool:
    """Whether some values of the other dims satisfy the guards."""
    return not any(refuted(Guard(g.name, g.lhs.substitute(sizes), g.relation, g.rhs.substitute(sizes)))
                   for g in function.guards)


def _add(module: Module, root: str, sizes: Mapping[Sym, int], functions: dict[str, Function]) -> str:
    """Adds the function and those it holds, specialized, under their names with the sizes' suffix; its name."""
    pending = [root]
    while pending:
        name = pending.pop()
        new = name + suffix(sizes)
        if new not in functions:
            source = module.functions[name]
            functions[new] = replace(specialize(source, sizes), name=new)
            pending += [h for n in source.nodes for h in callees_of(n)]
    return root + suffix(sizes)


def dims_of(module: Module, root: Function) -> set[Sym]:
    """Dims that the function, or one it holds, depends on."""
    exprs: set[Expr] = set()
    for function in held(module.functions, root):
        for node in (*function.parameters, *function.nodes):
            exprs.update(d for t in node.types for d in t.shape)
            exprs.update(e for v in node.attrs.values() if isinstance(v, tuple) for e in v if isinstance(e, Expr))
        for g in function.guards:
            exprs.update((g.lhs, g.rhs))
    return {s for e in exprs for s in e.symbols()}


# Passes before specialization: after `dce` the arithmetic is fixed (docs/numerics.md), and what it leaves is what the
# interpreter runs to compare bits.
BEFORE: tuple[GraphPass, ...] = (
    GraphPass("inline", on_module(inline)),
    GraphPass("simplify", on_module(each(simplify))),   # first: absorb knows views in their normal form only
    GraphPass("control", on_module(control)),           # before absorb and fold, which find weights where they are used
    GraphPass("cse", on_module(each(cse))),             # simplify shares equal nodes, except where rules do not reach
    GraphPass("interleaved", on_module(each(interleaved))),   # before absorb: norms stand behind convolutions then
    GraphPass("absorb", on_module(each(absorb))),       # before any size is known: all variants share its arithmetic
    GraphPass("simplify-absorbed", on_module(each(simplify))),   # what absorb composed: x*1, -(-x), broadcasts
    GraphPass("dce", on_module(each(dce))),             # last: what the others left without users
)

# Sums in other orders. What these leave is the reference then.
RELAXED: tuple[GraphPass, ...] = (
    GraphPass("simplify-winograd", on_module(each(simplify)), relaxed=True),
    GraphPass("dce-winograd", on_module(each(dce)), relaxed=True),
)

# The reference of every comparison is what there is before.
WIDEN = GraphPass("widen", _widen)

# Passes on each variant: exact ones only.
VARIANTS: tuple[GraphPass, ...] = (
    GraphPass("specialize", _specialize),
    GraphPass("divide", on_module(each(divide)), plain=False),   # first: what it slices is made simple by what follows
    GraphPass("windows", on_module(each(windows)), plain=False),
    GraphPass("simplify-specialized", on_module(each(simplify)), plain=False),   # dims of size 1, equal sizes are seen
    GraphPass("control-specialized", on_module(control), plain=False),           # loops of one iteration
    GraphPass("cse-specialized", on_module(each(cse)), plain=False),
    GraphPass("dce-specialized", on_module(each(dce)), plain=False),   # before layout, which packs what it finds
)

# Behind layout (loops/layout.py): packing is part of the constant graph.
FOLD = GraphPass("fold", _fold)

# The exact passes without layout; `capture` is the module as read.
ORDER: tuple[str, ...] = ("capture", *(p.name for p in (*BEFORE, WIDEN, *VARIANTS, FOLD)))


def run(module: Module, dump: Dump | None = None, verify_each: bool = False) -> Graph:
    """The exact passes of graphs alone: the whole order is in ../passes.py.

    dump: called after each pass of ORDER with its name and the module. verify_each: runs the verifier after each pass;
    it always runs on what capture wrote. Raises IrError.
    """
    graph = captured(module)
    verify(module)
    if dump is not None:
        dump("capture", module)
    for one in (*BEFORE, WIDEN, *VARIANTS, FOLD):
        graph = one.run(graph)
        if verify_each:
            verify(graph.module)
        if dump is not None:
            dump(one.name, graph.module)
    if verify_each:
        verify(graph.constants)
    return graph
