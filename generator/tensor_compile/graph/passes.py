# SPDX-License-Identifier: Apache-2.0
"""The order of the graph passes."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from ..symbolic import Expr, Sym
from .absorb import absorb
from .control import control
from .cse import cse
from .dce import dce
from .divide import divide
from .fold import fold
from .inline import inline
from .ir import Function, Guard, Module
from .simplify import simplify
from .specialize import refuted, specialize, suffix
from .verify import callees_of, verify
from .widen import widen
from .winograd import winograd

FunctionPass = Callable[[Function], Function]
ModulePass = Callable[[Module], Module]
Dump = Callable[[str, Module], None]


def each(run_pass: FunctionPass) -> ModulePass:
    """The pass on every function, called ones too."""
    def on_each(module: Module) -> Module:
        return replace(module, functions={n: run_pass(f) for n, f in module.functions.items()})
    return on_each


# Passes before specialization: after them the arithmetic is fixed (docs/numerics.md), and what they leave is what the
# interpreter runs to compare bits.
BEFORE: tuple[tuple[str, ModulePass], ...] = (
    ("simplify", each(simplify)),           # first: absorb knows views and broadcasts in their normal form only
    ("control", control),                   # before absorb and fold, which find weights where they are used
    ("cse", each(cse)),                     # simplify shares equal nodes already, except where rules do not reach
    ("absorb", each(absorb)),               # before anything looks at sizes: all variants must share its arithmetic
    ("simplify-absorbed", each(simplify)),  # scales and shifts that absorb composed: x*1, -(-x), broadcasts
    ("dce", each(dce)),                     # last: what the others left without users
)

# With `--numerics relaxed`, behind them: sums in other orders. What these leave is the reference then.
RELAXED: tuple[tuple[str, ModulePass], ...] = (
    ("winograd", each(winograd)),           # behind absorb: weights have their scales already
    ("simplify-winograd", each(simplify)),
    ("dce-winograd", each(dce)),
)

# Passes on each variant, after specialization: exact ones only.
AFTER: tuple[tuple[str, ModulePass], ...] = (
    ("divide", each(divide)),                  # first: what it slices is made simple by what follows
    ("simplify-specialized", each(simplify)),  # dims of size 1 and equal sizes are visible now
    ("control-specialized", control),          # loops of one iteration
    ("cse-specialized", each(cse)),
    ("dce-specialized", each(dce)),            # before layout, which packs what it finds
)

# The whole order, as dumps name it. capture is the module as read; layout (loops/layout.py) precedes fold, because
# packing is part of the constant graph. widen follows what fixes the reference: the interpreter rounds 16-bit floats by
# itself.
ORDER: tuple[str, ...] = ("capture", "inline", *(n for n, _ in (*BEFORE, *RELAXED)), "widen", "specialize",
                          *(n for n, _ in AFTER), "layout", "fold")


@dataclass(frozen=True, slots=True)
class GraphVariant:
    """An entry function for fixed sizes of some dims: `when` by dim name, {} for the generic one."""

    name: str
    when: Mapping[str, int]
    function: Function


@dataclass(slots=True)
class Compiled:
    """What the passes made of a module.

    reference: the module after `simplify` (no calls, no variants): what outputs are compared with, bit for bit.
    module: the reference's declarations with every function of every variant, called ones included, after fold.
    variants: by entry name; the generic one is last and always there.
    constants: the module whose one function computes the packed constants, in the order c0, c1, ...
    """

    reference: Module
    module: Module
    variants: dict[str, list[GraphVariant]] = field(default_factory=dict)
    constants: Module | None = None


def run(module: Module, layout: FunctionPass | None = None, dump: Dump | None = None,
        verify_each: bool = False, plain: bool = False, relaxed: bool = False) -> Compiled:
    """Runs every graph pass.

    layout: the target's layout pass. dump: called after each pass of ORDER with its name and the module. plain: the
    variants keep the reference's own nodes, the passes of AFTER are left out (fold alone runs behind specialize).
    relaxed: with the passes of RELAXED.
    verify_each: runs the verifier after each pass; it always runs on what capture wrote. Raises IrError.
    """
    def after(name: str, made: Module) -> Module:
        if verify_each or name == "capture":
            verify(made)
        if dump is not None:
            dump(name, made)
        return made

    after("capture", module)
    module = after("inline", inline(module))
    for name, run_pass in (*BEFORE, *RELAXED) if relaxed else BEFORE:
        module = after(name, run_pass(module))
    reference = module
    module = after("widen", each(widen)(module))
    module, variants = _specialized(module)
    after("specialize", module)
    for name, run_pass in () if plain else AFTER:
        module = after(name, run_pass(module))
    if layout is not None:
        module = after("layout", each(layout)(module))
    constants, functions = fold(module, list(module.functions.values()))
    module = replace(module, functions={f.name: f for f in functions})
    if verify_each:
        verify(constants)
    after("fold", module)
    return Compiled(reference, module, {entry: [GraphVariant(name, when, module.functions[name])
                                                for name, when in chosen] for entry, chosen in variants.items()},
                    constants)


def _specialized(module: Module) -> tuple[Module, dict[str, list[tuple[str, dict[str, int]]]]]:
    """The module with a function for every variant of every entry, and their names and sizes by entry."""
    functions: dict[str, Function] = {}
    variants: dict[str, list[tuple[str, dict[str, int]]]] = {}
    for entry in module.entries:
        variants[entry.name] = []
        dims = dims_of(module, entry)
        choices = [d for d in module.dims.values() if d.specialize and d.sym in dims]
        for sizes in product(*(d.specialize for d in choices)):
            when = {d.sym: size for d, size in zip(choices, sizes)}
            if when and _possible(entry, when):
                _add(module, entry.name, when, functions)
                variants[entry.name].append((entry.name + suffix(when), {s.name: n for s, n in when.items()}))
        variants[entry.name].append((entry.name, {}))
        _add(module, entry.name, {}, functions)
    return replace(module, functions=functions), variants


def _possible(function: Function, sizes: Mapping[Sym, int]) -> bool:
    """Whether some values of the other dims satisfy the guards."""
    return not any(refuted(Guard(g.name, g.lhs.substitute(sizes), g.relation, g.rhs.substitute(sizes)))
                   for g in function.guards)


def _add(module: Module, root: str, sizes: Mapping[Sym, int], functions: dict[str, Function]) -> None:
    """Adds the function and those it holds, specialized, under their names with the sizes' suffix."""
    pending = [root]
    while pending:
        name = pending.pop()
        new = name + suffix(sizes)
        if new not in functions:
            source = module.functions[name]
            functions[new] = replace(specialize(source, sizes), name=new)
            pending += [h for n in source.nodes for h in callees_of(n)]


def dims_of(module: Module, root: Function) -> set[Sym]:
    """Dims that the function, or one it holds, depends on."""
    found: set[Sym] = set()
    seen: set[str] = set()
    pending = [root]
    exprs: set[Expr] = set()
    while pending:
        function = pending.pop()
        if function.name in seen:
            continue
        seen.add(function.name)
        for node in (*function.parameters, *function.nodes):
            exprs.update(d for t in node.types for d in t.shape)
            exprs.update(e for v in node.attrs.values() if isinstance(v, tuple) for e in v if isinstance(e, Expr))
            pending += [module.functions[h] for h in callees_of(node)]
        for g in function.guards:
            exprs.update((g.lhs, g.rhs))
    for e in exprs:
        found |= e.symbols()
    return found
