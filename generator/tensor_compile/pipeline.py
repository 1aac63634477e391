# SPDX-License-Identifier: Apache-2.0
"""Graph text -> the plan of a model: the graph passes (graph/passes.py names their order), then those of the loops."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Iterable, Mapping

from .errors import OptionError, UserError, closest
from .graph import passes as graph_passes
from .graph.errors import IrError
from .graph.fold import CONSTANTS
from .graph.dtypes import DTYPES
from .graph.facts import Facts
from .graph.ir import DimDecl, Function, Guard, Loc, Module, Node, TensorType
from .graph.tap import tap
from .graph.text import parse_module, print_module
from .emit import candidates
from .emit.schedules import Choose, with_schedules
from .loops import attention, byte_vectors, layout, printer as loops_text, tile_regions
from .loops.byte_products import with_byte_products
from .loops.fuse import fuse
from .loops.loop_ir import FunctionPlan, ModelPlan, Variant
from .loops.scalar_ir import Buffer
from .loops.lower import LoweredFunction, lower
from .loops.narrow import narrow
from .loops.plan import plan
from .loops.schedule import schedule
from .loops.shift_pairs import shift_pairs
from .loops.verify_loops import verify as verify_loops
from .symbolic import Expr
from .target import Target

# As --dump-after names them.
LOOPS = ("lower", "fuse", "tile", "schedule", "plan")
PASSES = (*graph_passes.ORDER, "constants", *LOOPS)
ALIGNMENT = 64  # of every tensor of the weights and of the state
HEADERS = 128    # bytes at most before either of them

Dump = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """captured: as recorded, with the command line's specialization (the f64 oracle runs it); reference: after
    simplify, which fixes all arithmetic (the exact oracle runs it); constants: the module whose one function computes
    the packed weights, in the order of plan.packed; finite: those of them that padded convolutions read; taps: by
    function, the outputs that the command line added, in the order in which they are computed, and where; target: with
    all instruction sets that kernels are made for."""

    captured: Module
    reference: Module
    constants: Module
    plan: ModelPlan
    finite: tuple[str, ...]
    taps: Mapping[str, Mapping[str, Loc | None]]
    target: Target


def run(text: str, name: str, target: Target, sizes: Mapping[str, tuple[int, ...]], *, verify: bool = False,
        dump: Dump | None = None, plain: bool = False, with_reference: bool = False,
        taps: tuple[str, ...] = (), choose: Choose | None = None, relaxed: bool = False) -> Compiled:
    """name: of the text, for messages; sizes: of --specialize, replacing what the module declares for a dim; verify:
    after every pass; dump(pass, printed form): called after each of PASSES. plain: `--target reference`, one loop nest
    an operation of the reference graph, no layout and no fusion. with_reference: beside the variants one that is not
    fused, for TC_STANCE_REFERENCE; it shares their packed weights. taps: regions whose
    results become outputs (graph/tap.py). choose: the schedules of contractions; None: the cost model does.
    relaxed: sums may be taken in other orders (docs/numerics.md)."""
    chosen = choose or (lambda kernel, isa, parts: candidates.choose(kernel, isa, target, parts))
    try:
        captured = _declare(parse_module(text, name), sizes)
        declared = {f.name: len(f.results) for f in captured.entries}
        captured = tap(captured, taps, name) if taps else captured
        shown = (lambda pass_name, module: dump(pass_name, print_module(module))) if dump else None
        chosen_layout = None if plain else lambda f: layout.apply(f, target)
        graph = graph_passes.run(captured, chosen_layout, shown, verify, plain, relaxed)
    except IrError as error:
        raise UserError("\n".join(error.findings), name, "the recorded graph is not legal") from None
    if any(n.op in ("packed_dot", "packed_convolution") and n.types[0].dtype == "i32" and n.attrs["panel"]
           for f in graph.module.functions.values() for n in f.nodes):
        target = target.for_integers()
    if target.apart:
        for f in graph.reference.functions.values():
            for node in f.nodes:
                if node.op == "extern_call":
                    raise UserError(f"tc_extern: {node.attrs['function']} is a function of your program, which a GPU "
                                    f"cannot call",
                                    str(node.loc or name), "build the model for a processor")
    constants = graph.constants
    if dump:
        dump("constants", print_module(constants))
    packed, packed_bytes = _offsets((n, v.type) for n, v, _ in constants.functions[CONSTANTS].results)
    state_offset, state_bytes = _offsets((s.name, s.type) for s in captured.states.values())
    for what, needed in (("state", state_bytes), ("packed weights", packed_bytes)):
        if needed + HEADERS >= 1 << target.index_bits - 1:
            raise UserError(f"{needed} bytes of {what}: more than {target.index_bits} bits address", name)

    pairs = shift_pairs(constants.functions[CONSTANTS]) if target.multiplies_bytes else frozenset()
    functions = []
    printed: dict[str, list[str]] = {name: [] for name in LOOPS}
    for entry in captured.entries:
        variants = []

        def built(name: str, when: Mapping[str, int], function: Function, lowered: LoweredFunction,
                  separate: bool) -> Variant:
            facts = _facts(function) if verify else ()
            if verify:
                verify_loops(lowered, facts)
            fused = fuse(lowered, separate)
            if verify:
                verify_loops(fused, facts)
            if target.narrow:
                fused = narrow(fused if separate else attention.form(fused), target.narrow)
                if verify:
                    verify_loops(fused, facts)
            tiled = tile_regions.form(fused, target) if target.tiles and not separate else fused
            if verify and tiled is not fused:
                verify_loops(tiled, facts)
            scheduled = schedule(tiled, target)
            if not (separate or target.apart):
                scheduled = with_schedules(scheduled, target, chosen)
            if target.multiplies_bytes and not separate:
                scheduled = with_byte_products(scheduled, target.threads, byte_vectors.scratch_for(target.isas), pairs)
            program = plan(scheduled, target)
            if verify:
                verify_loops(program, facts)
            if dump:
                for title, unit in zip(LOOPS, (lowered, fused, tiled, scheduled, program), strict=True):
                    printed[title].append(f"# {entry.name} {name}\n{loops_text.print_unit(unit)}")
            return Variant(name, dict(when), program)

        for variant in graph.variants[entry.name]:
            lowered = lower(variant.function, graph.module, target, plain)
            variants.append(built(_variant_name(variant.when), variant.when, variant.function, lowered, plain))
        # The last one is the generic variant, whose buffers have the declared shapes.
        reference = variants[-1] if plain else None
        if with_reference and not plain:
            generic = graph.variants[entry.name][-1].function
            reference = built("reference", {}, generic, lower(generic, graph.module, target), True)
        functions.append(FunctionPlan(entry.name, lowered.inputs, lowered.outputs, lowered.states,
                                      _dims(captured, entry), _needed(entry.guards), variants, reference))
    if dump:
        for title, texts in printed.items():
            dump(title, "\n".join(texts))

    states = [Buffer(s.name, s.type.dtype, s.type.shape, tuple(range(s.type.rank)), "state")
              for s in captured.states.values()]
    return Compiled(captured, graph.reference, constants,
                    ModelPlan(captured.model, functions, packed, packed_bytes, states, state_offset, state_bytes),
                    leaves("packed", padded_weights(graph.module.functions.values())),
                    {f.name: {n: loc for n, _, loc in f.results[declared[f.name]:]} for f in captured.entries}, target)


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
            if size < s.lo or (s.hi is not None and size > s.hi) or size % s.divisor:
                raise OptionError(f"--specialize: {name} cannot be {size}",
                                  hint=f"its range is {s.lo} to {s.hi}" + (f", a multiple of {s.divisor}"
                                                                           if s.divisor > 1 else ""))
        dims[name] = DimDecl(s, tuple(wanted))
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


def _offsets(tensors: Iterable[tuple[str, TensorType]]) -> tuple[dict[str, int], int]:
    """Each tensor at the next multiple of ALIGNMENT, in order; the whole size."""
    out: dict[str, int] = {}
    at = 0
    for name, kind in tensors:
        out[name] = at
        at += -(-kind.elements.value * DTYPES[kind.dtype].bytes // ALIGNMENT) * ALIGNMENT
    return out, at
