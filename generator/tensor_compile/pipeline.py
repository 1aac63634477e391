# SPDX-License-Identifier: Apache-2.0
"""Graph text -> the plan of a model: every pass, those of the graph and those of the loops, in one list."""
from __future__ import annotations

from dataclasses import field, replace
from functools import partial
from typing import Any, Callable, Iterable, Mapping, Protocol

from .errors import OptionError, UserError, closest
from .graph import passes as graph_passes
from .graph.bake import bake, Baked, Evaluate
from .graph.branches import shorter_first
from .graph.concats import concats
from .graph.constant_places import constant_places, offsets
from .graph.dce import dce
from .graph.divide import divide, NARROWEST, of_several_rows, PANEL
from .graph.dtypes import DTYPES
from .graph.errors import IrError
from .graph.facts import Facts
from .graph.fold import CONSTANTS
from .graph.halves import halves
from .graph.ir import DimDecl, Function, Guard, Loc, Module, Node
from .graph.passes import each, Graph, GraphPass, on_module
from .graph.simplify import simplify
from .graph.tap import tap
from .graph.text import parse_module, print_module
from .graph.verify import verify as verify_graph
from .graph.winograd import Decision, decisions, winograd
from .graph.winograd_integers import winograd_integers
from .emit.contraction import candidates
from .emit.cuda.shapes import Shapes, with_shapes
from .emit.memory import memory
from .emit.contraction.order_price import price_of
from .emit.contraction.schedules import Choose, with_schedules
from .emit.work import kernel_work
from .loops import attention, byte_vectors, layout, orders, paired, prepare, printer as loops_text, \
    schedule_cuda, sorted_columns, sorted_words, stripe_gains, stripes, tile_regions
from .loops.byte_products import with_byte_products
from .loops.byte_room import with_room
from .loops.constant_facts import constant_facts, ConstantFacts
from .loops.fuse import fuse
from .loops.cold import cold
from .loops.far import far
from .loops.fused import Fused
from .loops.loop_ir import Computation
from .loops.program_ir import Element, FunctionPlan, ModelPlan, Program, Variant
from .loops.scalar_ir import Buffer
from .loops.order_costs import Costs
from .loops.lower import LoweredFunction, lower
from .loops.narrow import narrow
from .loops.plan import plan
from .loops.schedule import schedule
from .loops.shorten import shorten
from .loops.variant_form import VariantForm
from .loops.verify_loops import verify as verify_loops
from .records import dataclass
from .symbolic import Expr
from .target import Target

HEADERS = 128    # bytes at most before the weights and before the state

Dump = Callable[[str, str], None]
ChooseForm = Callable[[str, str, Function], VariantForm]   # of an entry, a variant's name and its graph


class Decide(orders.Decide, Protocol):
    """What decides orders and what is fused, where the cost model and the rules of fusion do not."""

    def apart(self, entry: str, variant: str, first: Element, item: Computation, made: tuple[str, ...],
              buffers: Mapping[str, Buffer]) -> bool:
        """As of joining.Apart, of a variant."""


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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a build asks of the passes. name: of the text, for messages. plain, relaxed, with_reference, small,
    evaluate: as of `run`. choose: the schedules of contractions; shapes: those of a GPU's, None: the cost model's;
    form: that of a variant; decide: orders and fusion, None: the passes do."""

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
    return tile_regions.form(form, state.target) if state.target.tiles and not apart else form


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
    Pass("layout", GRAPH, _layout, plain=False),     # before fold: packing is part of the constant graph
    Pass("orders", GRAPH, _orders, plain=False),     # before fold, which lays constants as was chosen
    of_graph(graph_passes.FOLD),
    Pass("branches", GRAPH, _branches, plain=False),   # behind fold, which takes constants out
    Pass("constants", FOLDED, _constants),           # before lower, which asks for the target's instruction sets
    Pass("lower", LOOPS, _lower),
    Pass("fuse", LOOPS, _fuse),
    _each("shorten", lambda form, unit, state, asked: form if unit.separate else shorten(form)),
    _each("attention", _attention),                  # for GPUs, before narrow, which makes its operands short
    _each("narrow", _narrow),
    _each("stripes", _stripes),                      # before tile, which takes the kernels that are left
    _each("tile", _tile),                            # before schedule, which renames the variables that chains share
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
    form: of variants; None: VariantForm(). decide: orders and fusion; None: the passes do."""
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


def padded_weights(functions: Iterable[Function]) -> list[Node]:
    """The second operands of padded convolutions, which must be finite: a product with padding may be skipped or
    multiplied (docs/numerics.md)."""
    return [n.operands[1].node for f in functions for n in f.nodes
            if n.op in ("convolution", "packed_convolution") and any((*n.attrs["low"], *n.attrs["high"]))
            and DTYPES[n.types[0].dtype].is_float]


def leaves(op: str, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names of the nodes of kind `op` (weight, packed) that the nodes are computed from, each once."""
    found: dict[str, None] = {}
    seen: set[Node] = set()
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == op:
            found[node.attrs["name"]] = None
        pending += [v.node for v in reversed(node.operands)]
    return tuple(found)


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


def _facts(function: Function) -> tuple[Expr, ...]:
    """What the function's guards make sure of, as expressions that are >= 0."""
    found = []
    for g in function.guards:
        found += [g.lhs - g.rhs] if g.relation == ">=" else [g.lhs - g.rhs, g.rhs - g.lhs]
    return tuple(found)


def _variant_name(when: Mapping[str, int]) -> str:
    return "_".join(f"{dim}{size}" for dim, size in when.items()) or "generic"
