# SPDX-License-Identifier: Apache-2.0
"""The order of all passes: graph text -> the plan of a model. Each pass is one public function of its own file."""
from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Callable, Mapping

from .build.target import Target
from .errors import UserError
from .graph import text as graph_text
from .graph.cse import cse
from .graph.dce import dce
from .graph.errors import IrError
from .graph.fold import fold
from .graph.inline import inline
from .graph.ir import DimDecl, Function, Module
from .graph.simplify import simplify
from .graph.specialize import specialize
from .graph.verify import verify
from .loops import layout, text as loops_text
from .loops.fuse import fuse
from .loops.ir import Buffer, FunctionPlan, ModelPlan, Variant
from .loops.lower import lower
from .loops.plan import plan
from .loops.schedule import schedule
from .loops.verify import verify as verify_loops

PASSES = ("capture", "inline", "simplify", "cse", "dce", "specialize", "layout", "fold", "lower", "fuse", "schedule",
          "plan")
ALIGNMENT = 64  # of every tensor of the weights and of the state

Observer = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """captured: as recorded, verified (the f64 oracle runs it); simplified: after the first simplify, which fixes all
    arithmetic (the exact oracle runs it); constants: the module whose one function makes the packed weights, in the
    order of plan.packed."""

    captured: Module
    simplified: Module
    constants: Module
    plan: ModelPlan


def run(text: str, name: str, target: Target, sizes: Mapping[str, tuple[int, ...]], *, fused: bool = True,
        check: bool = False, observe: Observer = lambda name, thing: None) -> Compiled:
    """name: of the text, for messages; sizes: of --specialize, replacing what the module declares for a dim; check:
    verify after every pass; observe(pass, result): what --dump-after prints."""

    def after(pass_name: str, thing: object) -> None:
        if check and isinstance(thing, Module):
            verify(thing)
        observe(pass_name, thing)

    module = graph_text.parse_module(text, name)
    verify(module)  # always: the text comes from a program that the user wrote
    module = _declare(module, sizes)
    captured = module
    after("capture", module)

    module = inline(module)
    after("inline", module)
    # From here on every pass works on one function without calls. simplify fixes the arithmetic of all variants: it
    # runs before specialize, which must not open further choices.
    for pass_name, rewrite in (("simplify", simplify), ("cse", cse), ("dce", dce)):
        module = _each(module, rewrite)
        after(pass_name, module)
    simplified = module

    variants = [(entry, when) for entry in module.entries for when in _variants(module, entry)]
    functions = [specialize(entry, {module.dims[d].sym: size for d, size in when.items()}) for entry, when in variants]
    # Constant sizes let views cancel and guards vanish; the second rounds clear up what layout added.
    functions = [dce(cse(simplify(f))) for f in functions]
    _observe(after, "specialize", module, functions)
    functions = [dce(cse(simplify(layout.apply(f, target)))) for f in functions]
    _observe(after, "layout", module, functions)
    # All variants at once: a weight that two of them pack alike is packed once.
    constants, functions = fold(module, functions)
    after("fold", constants)

    packed, packed_bytes = _offsets((n, v.type) for f in constants.entries for n, v, _ in f.results)
    plans: dict[str, FunctionPlan] = {}
    for (entry, when), function in zip(variants, functions, strict=True):
        lowered = lower(function, module, target)
        observe("lower", lowered)
        if check:
            verify_loops(lowered)
        kernels = fuse(lowered) if fused else fuse(lowered, separate=True)
        observe("fuse", kernels)
        scheduled = schedule(kernels, target)
        observe("schedule", scheduled)
        program = plan(scheduled, target)
        if check:
            verify_loops(program)
        observe("plan", program)
        if entry.name not in plans:
            plans[entry.name] = FunctionPlan(entry.name, lowered.inputs, lowered.outputs, [], _dims(module, entry),
                                             entry.guards, [])
        made = plans[entry.name]
        if not when:  # the generic variant's buffers have the declared shapes
            made.inputs, made.outputs, made.states = lowered.inputs, lowered.outputs, lowered.states
        made.variants.append(Variant(_variant_name(when), dict(when), program))

    states = [Buffer(s.name, s.type.dtype, s.type.shape, tuple(range(s.type.rank)), "state")
              for s in module.states.values()]
    state_offset, state_bytes = _offsets((s.name, s.type) for s in module.states.values())
    return Compiled(captured, simplified, constants,
                    ModelPlan(module.model, list(plans.values()), packed, packed_bytes, states, state_offset,
                              state_bytes))


def _each(module: Module, rewrite: Callable[[Function], Function]) -> Module:
    return Module(module.model, module.dims, module.files, module.weights, module.states,
                  {f.name: rewrite(f) for f in module.functions.values()})


def _observe(after: Observer, pass_name: str, module: Module, functions: list[Function]) -> None:
    """The variants of a function share its name; seen as a module they are numbered."""
    named = {f"{f.name}__{i}": Function(f"{f.name}__{i}", f.entry, f.parameters, f.guards, f.nodes, f.assigns,
                                        f.results) for i, f in enumerate(functions)}
    after(pass_name, Module(module.model, module.dims, module.files, module.weights, module.states, named))


def _declare(module: Module, sizes: Mapping[str, tuple[int, ...]]) -> Module:
    """The module with its specialization lists replaced where the command line names the dim."""
    dims = dict(module.dims)
    for name, wanted in sizes.items():
        if name not in dims:
            raise UserError(f"--specialize: the model has no dim {name!r}",
                            hint=f"its dims: {', '.join(dims) or 'none'}")
        s = dims[name].sym
        for size in wanted:
            if size < s.lo or (s.hi is not None and size > s.hi) or size % s.divisor:
                raise UserError(f"--specialize: {name} cannot be {size}",
                                hint=f"its range is {s.lo} to {s.hi}" + (f", a multiple of {s.divisor}"
                                                                         if s.divisor > 1 else ""))
        dims[name] = DimDecl(s, tuple(wanted))
    return Module(module.model, dims, module.files, module.weights, module.states, module.functions)


def _dims(module: Module, entry: Function) -> list[DimDecl]:
    """Of the dims those that the entry's parameters, results or guards use, in the order of their declaration."""
    used: set = set()
    for shape in [p.types[0].shape for p in entry.parameters] + [v.shape for _, v, _ in entry.results]:
        for d in shape:
            used |= d.symbols()
    for node in entry.nodes:
        for t in node.types:
            for d in t.shape:
                used |= d.symbols()
    for g in entry.guards:
        used |= g.lhs.symbols() | g.rhs.symbols()
    return [d for d in module.dims.values() if d.sym in used]


def _variants(module: Module, entry: Function) -> list[dict[str, int]]:
    """The product of the dims' specialized sizes, then the generic variant. Combinations that a guard rules out are
    left out: no call could reach them."""
    lists = [(d.sym.name, d.specialize) for d in _dims(module, entry) if d.specialize]
    found = []
    for combination in itertools.product(*(sizes for _, sizes in lists)) if lists else []:
        when = {name: size for (name, _), size in zip(lists, combination)}
        try:
            specialize(entry, {module.dims[d].sym: size for d, size in when.items()})
        except IrError:
            continue
        found.append(when)
    return [*found, {}]


def _variant_name(when: Mapping[str, int]) -> str:
    return "_".join(f"{dim}{size}" for dim, size in when.items()) or "generic"


def _offsets(tensors) -> tuple[dict[str, int], int]:
    """Each tensor at the next multiple of ALIGNMENT, in order; the whole size."""
    from .graph.ir import DTYPES

    out: dict[str, int] = {}
    at = 0
    for name, kind in tensors:
        out[name] = at
        at += -(-kind.elements.value * DTYPES[kind.dtype] // ALIGNMENT) * ALIGNMENT
    return out, at
