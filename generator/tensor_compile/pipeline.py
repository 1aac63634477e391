# SPDX-License-Identifier: Apache-2.0
"""Graph text -> the plan of a model: the passes run one behind the other, and what they made becomes a plan."""
from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Callable, Mapping

from .errors import OptionError, UserError, closest
from .graph import passes as graph_passes
from .graph.bake import Baked, Evaluate
from .graph.errors import IrError
from .graph.facts import Facts
from .graph.finite import leaves, padded_weights
from .graph.ir import DimDecl, Function, Guard, Loc, Module
from .graph.tap import tap
from .graph.text import parse_module
from .graph.winograd import Decision
from .emit.contraction import candidates
from .emit.cuda.shapes import Shapes
from .emit.contraction.schedules import Choose
from .loops import orders
from .loops.program_ir import FunctionPlan, ModelPlan, Program, Variant
from .loops.scalar_ir import Buffer
from .loops.variant_form import VariantForm
from .passes import Asked, ChooseForm, Decide, GRAPH, PASSES, State, Unit
from .records import dataclass
from .target import Target

Dump = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """captured: as recorded, with the command line's specialization (the f64 oracle runs it); reference: after
    simplify, which fixes all arithmetic (the exact oracle runs it); constants: the module whose one function computes
    the packed weights, in the order of plan.packed; finite: those of them that padded convolutions read; taps: by
    function, the outputs that the command line added, in the order in which they are computed, and where; target: with
    all instruction sets that kernels are made for; baked: what values of weights made smaller; orders: by entry and
    variant, what the choice of physical orders promises; winograd: what was decided of convolutions, where sums may be
    taken in other orders."""

    captured: Module
    reference: Module
    constants: Module
    plan: ModelPlan
    finite: tuple[str, ...]
    taps: Mapping[str, Mapping[str, Loc | None]]
    target: Target
    baked: Baked = Baked()
    orders: Mapping[tuple[str, str], orders.Chosen] = field(default_factory=dict)
    winograd: tuple[Decision, ...] = ()


def run(text: str, name: str, target: Target, sizes: Mapping[str, tuple[int, ...]], *, verify: bool = False,
        dump: Dump | None = None, plain: bool = False, with_reference: bool = False,
        taps: tuple[str, ...] = (), choose: Choose | None = None, shapes: Shapes | None = None,
        relaxed: bool = False, small: bool = False, evaluate: Evaluate | None = None,
        form: ChooseForm | None = None, decide: Decide | None = None) -> Compiled:
    """name: of the text, for messages; sizes: of --specialize, replacing what the module declares for a dim; verify:
    after every pass; dump(pass, printed form): called after each of NAMES that runs. plain: `--target reference`, one
    loop nest an operation of the reference graph, no layout and no fusion. with_reference: beside the variants one that
    is not fused, for TC_STANCE_REFERENCE; it shares their packed weights. taps: regions whose results become outputs
    (graph/tap.py). choose: the schedules of contractions, shapes: of a GPU's; None: the cost model does. relaxed: sums
    may be taken in other orders (docs/numerics.md). small: stripes make the arena smaller, where they can
    (loops/stripes.py). evaluate: channels are left out for the values of these weights (graph/bake.py); None: none.
    form: of variants; None: VariantForm(). decide: orders, fusion and blocks; None: the passes do."""
    asked = Asked(name, plain, relaxed, with_reference, small,
                  choose or (lambda kernel, isa, parts: candidates.choose(kernel, isa, target, parts)), shapes,
                  evaluate, form or (lambda entry, variant, function: VariantForm()), decide)
    try:
        captured = _declare(parse_module(text, name), sizes)
        declared = {f.name: len(f.results) for f in captured.entries}
        captured = tap(captured, taps, name) if taps else captured
        state = State(captured, target, graph_passes.captured(captured))
        known: dict[int, Any] = {}
        GRAPH.verify(state, known)
        if dump:
            dump("capture", GRAPH.show(state))
        for one in PASSES:
            if not one.runs(asked):
                continue
            state = one.run(state, asked)
            if verify:
                one.stage.verify(state, known)
            if dump:
                dump(one.name, one.stage.show(state))
    except IrError as error:
        raise UserError("\n".join(error.findings), name, "the recorded graph is not legal") from None
    return Compiled(captured, state.graph.reference, state.graph.constants, _plan(state, plain),
                    leaves("packed", padded_weights(state.graph.module.functions.values())),
                    {f.name: {n: loc for n, _, loc in f.results[declared[f.name]:]} for f in captured.entries},
                    state.target, state.baked,
                    {(u.entry, u.name): state.orders[u.function.name] for u in state.units
                     if not u.separate and u.function.name in state.orders}, state.winograd)


def _variant(unit: Unit) -> Variant:
    assert isinstance(unit.form, Program)
    return Variant(unit.name, dict(unit.when), unit.form, unit.chosen.threads)


def _plan(state: State, plain: bool) -> ModelPlan:
    """What emission needs."""
    assert state.packed is not None
    functions = []
    for entry in state.captured.entries:
        units = [unit for unit in state.units if unit.entry == entry.name]
        chosen = [unit for unit in units if plain or not unit.separate]
        variants = [_variant(unit) for unit in chosen]
        reference = variants[-1] if plain else next((_variant(unit) for unit in units if unit.separate), None)
        lowered = chosen[-1].lowered    # of the generic variant, whose buffers have the declared shapes
        functions.append(FunctionPlan(entry.name, lowered.inputs, lowered.outputs, lowered.states,
                                      _dims(state.captured, entry), _needed(entry.guards), variants, reference))
    states = [Buffer(s.name, s.type.dtype, s.type.shape, tuple(range(s.type.rank)), "state")
              for s in state.captured.states.values()]
    packed = state.packed
    return ModelPlan(state.captured.model, functions, dict(packed.offset), packed.bytes, states,
                     dict(packed.state_offset), packed.state_bytes, state.baked.digest)


def _declare(module: Module, sizes: Mapping[str, tuple[int, ...]]) -> Module:
    """The module with its specialization lists replaced where the command line names the dim."""
    dims = dict(module.dims)
    for name, wanted in sizes.items():
        if name not in dims:
            raise OptionError(f"--specialize: the model has no dim {name!r}",
                              hint=closest(name, dims) + f"its dims: {', '.join(dims) or 'none'}")
        s = dims[name].sym
        for size in wanted:
            if not s.takes(size):
                raise OptionError(f"--specialize: {name} cannot be {size}",
                                  hint=f"its range is {s.lo} to {s.hi}" + (f", a multiple of {s.divisor}"
                                                                           if s.divisor > 1 else ""))
        dims[name] = replace(dims[name], specialize=tuple(wanted))
    return replace(module, dims=dims)


def _dims(module: Module, entry: Function) -> list[DimDecl]:
    """The dims that the function depends on, in the order of their declaration: its arguments."""
    used = graph_passes.dims_of(module, entry)
    return [d for d in module.dims.values() if d.sym in used]


def _needed(guards: list[Guard]) -> list[Guard]:
    """Without those that ranges and divisors of the dims make sure of, or the others do."""
    kept = list(guards)
    for g in guards:
        rest = Facts(other for other in kept if other is not g)
        if rest.equal(g.lhs, g.rhs) if g.relation == "==" else rest.is_nonnegative(g.lhs - g.rhs):
            kept.remove(g)
    return kept
