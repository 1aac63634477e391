# SPDX-License-Identifier: Apache-2.0
"""The passes, those of the graph and those of the loops, in one list, and what they hand on."""
from __future__ import annotations

from dataclasses import field, replace
from functools import partial
from typing import Any, Callable, Mapping, Protocol, Sequence

from .errors import UserError
from .graph import passes as graph_passes
from .graph.bake import bake, Baked, Evaluate
from .graph.branches import shorter_first
from .graph.concats import concats
from .graph.constant_places import constant_places, offsets
from .graph.dce import dce
from .graph.divide import divide, NARROWEST, of_several_rows, PANEL
from .graph.extremes import extremes
from .graph.finite import leaves, padded_weights
from .graph.fold import CONSTANTS
from .graph.halves import halves
from .graph.ir import Function, Module
from .graph.passes import each, Graph, GraphPass, on_module
from .graph.simplify import simplify
from .graph.text import print_module
from .graph.verify import verify as verify_graph
from .graph.winograd import Decision, decisions, winograd
from .graph.winograd_integers import winograd_integers
from .emit.cuda.shapes import Shapes, with_shapes
from .emit.memory import memory
from .emit.contraction.order_price import price_of
from .emit.contraction.schedules import Choose, with_schedules
from .emit.work import kernel_work
from .instruction_sets import instruction_set
from .loops import attention, byte_vectors, consecutive, layout, orders, paired, prepare, printer as loops_text, \
    schedule_cuda, sorted_columns, sorted_words, stripe_gains, stripes, tile_regions
from .loops.byte_products import with_byte_products
from .loops.byte_room import with_room
from .loops.constant_facts import constant_facts, ConstantFacts
from .loops.fuse import fuse
from .loops.cold import cold
from .loops.far import far
from .loops.fused import Fused
from .loops.loop_ir import Computation
from .loops.program_ir import Element, Program
from .loops.scalar_ir import Buffer
from .loops.order_costs import Costs
from .loops.lower import LoweredFunction, lower
from .loops.narrow import narrow
from .loops.plan import plan
from .loops.schedule import schedule
from .loops.resample import resample
from .loops.shorten import shorten
from .loops.variant_form import VariantForm
from .loops.verify_loops import verify as verify_loops
from .records import dataclass
from .symbolic import Expr
from .target import Target

WIDE = 8         # lanes of a register from which on values between two axes are not stored (loops/resample.py)
HEADERS = 128    # bytes at most before the weights and before the state

ChooseForm = Callable[[str, str, Function], VariantForm]   # of an entry, a variant's name and its graph


class Decide(orders.Decide, Protocol):
    """What decides orders, what is fused and blocks of tile regions, where the cost model and the rules of fusion do
    not."""

    def apart(self, entry: str, variant: str, first: Element, item: Computation, made: tuple[str, ...],
              buffers: Mapping[str, Buffer]) -> bool:
        """As of joining.Apart, of a variant."""

    def rows(self, entry: str, variant: str, kernels: Sequence[tile_regions.Chained], handed: Sequence[str],
             usual: int, most: int) -> int:
        """As of tile_regions.Rows, of a variant."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a build asks of the passes. name: of the text, for messages. plain, relaxed, with_reference, small,
    evaluate: as of `run`. choose: the schedules of contractions; shapes: those of a GPU's, None: the cost model's;
    form: that of a variant; decide: orders, fusion and blocks, None: the passes do."""

    name: str
    plain: bool
    relaxed: bool
    with_reference: bool
    small: bool
    choose: Choose
    shapes: Shapes | None
    evaluate: Evaluate | None
    form: ChooseForm
    decide: Decide | None


@dataclass(frozen=True, slots=True)
class Packed:
    """Where constants and states lie in the weights and in the state, by name, and the bytes of both."""

    offset: Mapping[str, int]
    bytes: int
    state_offset: Mapping[str, int]
    state_bytes: int
    facts: ConstantFacts


@dataclass(frozen=True, slots=True)
class Unit:
    """A variant of an entry on its way through the passes of the loops. separate: one kernel an item, nothing fused.
    lowered: what `lower` made of it; form: what the last pass did; chosen: how its kernels run together."""

    entry: str
    name: str
    when: Mapping[str, int]
    function: Function
    separate: bool
    lowered: LoweredFunction
    form: LoweredFunction | Fused | Program
    chosen: VariantForm = VariantForm()


@dataclass(frozen=True, slots=True)
class State:
    """What the passes have made so far. target: with all instruction sets that kernels are made for, as soon as that is
    known."""

    captured: Module
    target: Target
    graph: Graph
    packed: Packed | None = None
    units: tuple[Unit, ...] = ()
    baked: Baked = Baked()
    orders: Mapping[str, orders.Chosen] = field(default_factory=dict)
    winograd: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """What passes of one kind make. verify: of a state whatever they made, but for the kernels that are known to be
    right (verify_loops.verify); show: the same printed."""

    verify: Callable[[State, dict[int, Any]], None]
    show: Callable[[State], str]


@dataclass(frozen=True, slots=True)
class Pass:
    """plain, relaxed: as of a GraphPass. bakes: only with --bake-values."""

    name: str
    stage: Stage
    run: Callable[[State, Asked], State]
    plain: bool = True
    relaxed: bool = False
    bakes: bool = False

    def runs(self, asked: Asked) -> bool:
        return (self.plain or not asked.plain) and (asked.relaxed or not self.relaxed) \
            and (asked.evaluate is not None or not self.bakes)


# -- stages ---------------------------------------------------------------------------------------------------------
def _verify_units(state: State, known: dict[int, Any]) -> None:
    for unit in state.units:
        verify_loops(unit.form, _facts(unit.function), known)


def _show_units(state: State) -> str:
    return "\n".join(f"# {unit.entry} {unit.name}\n{loops_text.print_unit(unit.form)}" for unit in state.units)


GRAPH = Stage(lambda state, known: verify_graph(state.graph.module), lambda state: print_module(state.graph.module))
FOLDED = Stage(lambda state, known: verify_graph(state.graph.constants),
               lambda state: print_module(state.graph.constants))
LOOPS = Stage(_verify_units, _show_units)


# -- passes ---------------------------------------------------------------------------------------------------------
def of_graph(one: GraphPass) -> Pass:
    def on_graph(state: State, asked: Asked) -> State:
        return replace(state, graph=one.run(state.graph))
    return Pass(one.name, GRAPH, on_graph, one.plain, one.relaxed)


def _each(name: str, run_pass: Callable[[Fused, Unit, State, Asked], Fused | Program]) -> Pass:
    """A pass on the kernels of every unit."""
    def on_each(state: State, asked: Asked) -> State:
        units = []
        for unit in state.units:
            assert isinstance(unit.form, Fused)
            units.append(replace(unit, form=run_pass(unit.form, unit, state, asked)))
        return replace(state, units=tuple(units))
    return Pass(name, LOOPS, on_each)


def _divide(state: State, asked: Asked) -> State:
    """Without vectors, and on devices, products of one row by narrow parts stay whole, too."""
    vectors = state.target.panel == PANEL and not state.target.apart
    shared = of_several_rows(state.graph.module.functions.values())
    divided = each(partial(divide, of_a_row=PANEL if vectors else NARROWEST, shared=shared))
    return replace(state, graph=on_module(divided)(state.graph))


def _bake(state: State, asked: Asked) -> State:
    assert asked.evaluate is not None
    module, baked = bake(state.graph.module, asked.evaluate)
    return replace(state, graph=replace(state.graph, module=module), baked=baked)


def _winograd(state: State, asked: Asked) -> State:
    told: list[Decision] = []

    def on_each(function: Function) -> Function:
        decided = decisions(function)
        told.extend(decided.values())
        return winograd(function, decided)
    return replace(state, graph=on_module(each(on_each))(state.graph), winograd=tuple(told))


def _points(state: State, asked: Asked) -> State:
    """Not where memory is little: points of a convolution take four times the elements, of 16 bits."""
    if asked.small or not sorted_words.alone(state.target):
        return state
    points = on_module(each(lambda function: dce(simplify(winograd_integers(function)))))
    return replace(state, graph=points(state.graph))


def _halves(state: State, asked: Asked) -> State:
    """For devices, whose products take such views."""
    if not state.target.apart:
        return state
    views = on_module(each(lambda function: dce(simplify(halves(function)))))
    return replace(state, graph=views(state.graph))


def _concats(state: State, asked: Asked) -> State:
    """Not for devices and processors that multiply bytes: no model was measured there."""
    if state.target.apart or state.target.multiplies_bytes:
        return state
    return replace(state, graph=on_module(each(concats))(state.graph))


def _extremes(state: State, asked: Asked) -> State:
    """Not where memory is little, as what lies between two axes takes room. Measured with vectors alone, on none but
    processors."""
    if asked.small or state.target.apart or state.target.panel != PANEL:
        return state
    return replace(state, graph=on_module(each(extremes))(state.graph))


def _layout(state: State, asked: Asked) -> State:
    pack = on_module(lambda module: layout.on_all(module, state.target))
    return replace(state, graph=pack(state.graph))


def _orders(state: State, asked: Asked) -> State:
    """Devices and processors that multiply bytes keep the orders that rules give."""
    target = state.target
    if target.apart or target.multiplies_bytes:
        return state
    functions, found = {}, {}
    costs = Costs(target, price_of(target))
    for name, function in state.graph.module.functions.items():
        functions[name], chosen = orders.apply(function, costs, asked.decide)
        if chosen is not None:
            found[name] = chosen
    module = replace(state.graph.module, functions=functions)
    return replace(state, graph=replace(state.graph, module=module), orders=found)


def _branches(state: State, asked: Asked) -> State:
    """On processors kernels follow each other."""
    return replace(state, graph=on_module(each(shorter_first))(state.graph)) if state.target.apart else state


def _constants(state: State, asked: Asked) -> State:
    """What is known as soon as constants are: where they lie, and what the target must multiply."""
    target, constants = state.target, state.graph.constants.functions[CONSTANTS]
    nodes = [n for f in state.graph.module.functions.values() for n in f.nodes]
    if any(n.op in ("packed_dot", "packed_convolution") and n.types[0].dtype == "i32" and n.attrs["panel"]
           for n in nodes):
        target = target.for_integers()
    if target.apart:
        _refuse_calls(state.graph.reference, asked.name)
    alone = leaves("packed", padded_weights(state.graph.module.functions.values()))    # asked whether they are finite
    places = constant_places(constants, alone)
    state_offset, state_size = offsets((s.name, s.type) for s in state.captured.states.values())
    for what, needed in (("state", state_size), ("packed weights", places.bytes)):
        if needed + HEADERS >= 1 << target.index_bits - 1:
            raise UserError(f"{needed} bytes of {what}: more than {target.index_bits} bits address", asked.name)
    facts = constant_facts(constants) if target.multiplies_bytes else ConstantFacts()
    module = replace(state.graph.constants, functions={CONSTANTS: places.computed})
    return replace(state, target=target, graph=replace(state.graph, constants=module),
                   packed=Packed(places.offset, places.bytes, state_offset, state_size, facts))


def _refuse_calls(module: Module, name: str) -> None:
    for f in module.functions.values():
        for node in f.nodes:
            if node.op == "extern_call":
                raise UserError(f"tc_extern: {node.attrs['function']} is a function of your program, which a GPU "
                                f"cannot call", str(node.loc or name), "build the model for a processor")


def _lower(state: State, asked: Asked) -> State:
    """A unit for every variant of every entry; the generic variant last, behind it the same as the reference that is
    asked for."""
    units = []
    for entry in state.captured.entries:
        for variant in state.graph.variants[entry.name]:
            function = state.graph.module.functions[variant.name]
            lowered = lower(function, state.graph.module, state.target, asked.plain)
            name = _variant_name(variant.when)
            chosen = VariantForm() if asked.plain else asked.form(entry.name, name, function)
            units.append(Unit(entry.name, name, variant.when, function, asked.plain, lowered, lowered, chosen))
        if asked.with_reference and not asked.plain:
            units.append(replace(units[-1], name="reference", separate=True, chosen=VariantForm()))
    return replace(state, units=tuple(units))


def _fuse(state: State, asked: Asked) -> State:
    decide = asked.decide

    def fused(unit: Unit) -> Fused:
        if decide is None or unit.separate or state.target.apart:
            return fuse(unit.lowered, unit.separate)
        return fuse(unit.lowered, apart=partial(decide.apart, unit.entry, unit.name))
    return replace(state, units=tuple(replace(unit, form=fused(unit)) for unit in state.units))


def _attention(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    return attention.form(form) if state.target.narrow and not unit.separate else form


def _narrow(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    return narrow(form, state.target.narrow) if state.target.narrow else form


def _stripes(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    """For the least memory, or where it saves time."""
    if unit.separate or not state.target.tiles:
        return form
    if not asked.small:
        return _stripes_in_time(form, unit, state.target)

    def arena(trial: Fused) -> int:
        """Without scratch of contractions, whose schedules take long to choose."""
        kernels = schedule(_tile(trial, unit, state, asked), state.target)
        planned = plan(_bytes(kernels, unit, state, asked), state.target)
        return memory(planned).bound(state.target.threads, f"the arena of {unit.entry}")
    return stripes.smallest(form, arena)


def _stripes_in_time(form: Fused, unit: Unit, target: Target) -> Fused:
    if unit.chosen.chains == "kernels":
        return form
    if unit.chosen.chains == "stripes":
        return stripe_gains.fastest(form, target, kernel_work, *stripe_gains.OF_ONE_THREAD)
    return stripe_gains.fastest(form, target, kernel_work, range(1, target.threads + 1), stripe_gains.SURE)


def _tile(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    apart = unit.separate or unit.chosen.chains == "kernels"
    if apart or not state.target.tiles:
        return form
    rows = None if asked.decide is None else partial(asked.decide.rows, unit.entry, unit.name)
    return tile_regions.form(form, state.target, rows)


def _consecutive(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    return form if unit.separate or state.target.apart else consecutive.form(form)


def _contractions(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    if unit.separate:
        return form
    if state.target.apart:   # paired first: what a lock names is the kernel that runs
        return _shaped(paired.form(form, state.target) if state.target.narrow else form, state, asked, rows=False)
    return with_schedules(form, state.target, asked.choose)


def _prepare(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    wanted = state.target.apart and state.target.narrow and not unit.separate
    made = prepare.form(form, state.target) if wanted else form
    return _shaped(made, state, asked, rows=True) if state.target.apart and not unit.separate else made


def _shaped(form: Fused, state: State, asked: Asked, rows: bool) -> Fused:
    """With the shapes of a tuning lock. Nests come behind prepare, which takes some of them."""
    return with_shapes(form, asked.shapes, schedule_cuda.units(state.target), rows) if asked.shapes else form


def _scheduled(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    """Where memory is little, rows are sorted one after the other."""
    made = schedule(form, state.target)
    return made if asked.small or unit.separate else sorted_columns.with_room(made, state.target)


def _bytes(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    target = state.target
    if unit.separate or not target.multiplies_bytes:
        return form
    assert state.packed is not None
    scratch = byte_vectors.scratch_for(target.isas)
    return with_room(with_byte_products(form, target.threads, scratch, state.packed.facts), target, scratch)


def _resampled(form: Fused, unit: Unit, state: State, asked: Asked) -> Fused:
    """Where lanes are many enough that one kernel is faster than two; devices have their own."""
    if unit.separate or state.target.apart or instruction_set(state.target.isas[-1]).lanes < WIDE:
        return form
    return resample(form)


def _planned(form: Fused, unit: Unit, state: State, asked: Asked) -> Program:
    """Devices have steps beside others, and where memory is little its order is that of the least."""
    return plan(form, state.target, not (asked.small or unit.separate or state.target.apart))


PASSES: tuple[Pass, ...] = (
    *map(of_graph, graph_passes.BEFORE),
    Pass("winograd", GRAPH, _winograd, relaxed=True),   # behind absorb: weights have their scales already
    *map(of_graph, graph_passes.RELAXED),
    of_graph(graph_passes.WIDEN),
    Pass("bake", GRAPH, _bake, plain=False, bakes=True),   # behind widen, which keeps the reference
    *(Pass(one.name, GRAPH, _divide, one.plain) if one.name == "divide" else of_graph(one)   # asks for the target
      for one in graph_passes.VARIANTS),
    Pass("points", GRAPH, _points, plain=False),     # before layout, which packs weights
    Pass("halves", GRAPH, _halves, plain=False),     # before fold, as the sign is a constant
    Pass("concats", GRAPH, _concats, plain=False),   # behind the last simplify, which makes them flat
    Pass("extremes", GRAPH, _extremes, plain=False),   # before layout, which says how what is between lies
    Pass("layout", GRAPH, _layout, plain=False),     # before fold: packing is part of the constant graph
    Pass("orders", GRAPH, _orders, plain=False),     # before fold, which lays constants as was chosen
    of_graph(graph_passes.FOLD),
    Pass("branches", GRAPH, _branches, plain=False),   # behind fold, which takes constants out
    Pass("constants", FOLDED, _constants),           # before lower, which asks for the target's instruction sets
    Pass("lower", LOOPS, _lower),
    Pass("fuse", LOOPS, _fuse),
    _each("resample", _resampled),
    _each("shorten", lambda form, unit, state, asked: form if unit.separate else shorten(form)),
    _each("attention", _attention),                  # for GPUs, before narrow, which makes its operands short
    _each("narrow", _narrow),
    _each("stripes", _stripes),                      # before tile, which takes the kernels that are left
    _each("tile", _tile),                            # before schedule, which renames the variables that chains share
    _each("consecutive", _consecutive),              # behind tile, which takes chains of many rows
    _each("schedule", _scheduled),
    _each("contractions", _contractions),            # before plan: scratch of schedules is memory
    _each("prepare", _prepare),                      # behind contractions, where a lock names shapes of products
    _each("bytes", _bytes),                          # before plan, for the same reason
    _each("cold", lambda form, unit, state, asked: form if unit.separate else cold(form, state.target)),
    _each("far", lambda form, unit, state, asked: form if unit.separate else far(form, state.target)),
    _each("plan", _planned),
)

# As --dump-after names them; capture is the module as read.
NAMES = ("capture", *(p.name for p in PASSES))


def _facts(function: Function) -> tuple[Expr, ...]:
    """What the function's guards make sure of, as expressions that are >= 0."""
    found = []
    for g in function.guards:
        found += [g.lhs - g.rhs] if g.relation == ">=" else [g.lhs - g.rhs, g.rhs - g.lhs]
    return tuple(found)


def _variant_name(when: Mapping[str, int]) -> str:
    return "_".join(f"{dim}{size}" for dim, size in when.items()) or "generic"
