# SPDX-License-Identifier: Apache-2.0
"""A LoopNestKernel as one C function (docs/loops.md, kernel ABI): its head, what is declared in it, and the loops of
its form (forms.py).

Rows are flattened and split over the team; a thread finds its first row by division and steps from there. In a row the
phases run one after the other, each a loop over its variables, the innermost 16 at a time with an exact tail.
"""
from __future__ import annotations

from ...instruction_sets import instruction_set, InstructionSet
from ...loops.loop_ir import Kernel, LoopNestKernel
from ...loops.scalar_ir import Buffer
from ...loops.sorted_columns import SortedColumns
from ...symbolic import Sym
from ..frame import Frame, PROCESSOR
from .few_outputs import FewOutputs
from .forms import Columns, Form, form_of, Scatter, Turns
from .general_nest import GeneralNest
from ..identity import held
from .row_parts import RowParts
from .top_columns import TopColumns
from .transpose import Transposition
from .turned_copies import Turn
from .turned_loads import TurnedLoads
from ..scalar import C_TYPE, ScalarEmitter, extent, indent
from . import columns, few_outputs, row_parts, scatter, sorted_columns, top_columns, transpose, turned_copies, \
    turned_loads, turns

# Scheduling before register allocation interleaves what is written one after the other, until registers run out.
PLAIN_SCHEDULE = ["#if defined(__GNUC__) && !defined(__clang__)", '#pragma GCC optimize("no-schedule-insns")', "#endif"]


def parameters(kernel: Kernel) -> list[str]:
    """The lines of a kernel's header comment that describe p and d."""
    lines = []
    for i, b in enumerate(kernel.params):
        order = "" if b.order == tuple(range(len(b.shape))) else f", order {', '.join(map(str, b.order))}"
        kind = f"{held(b)} {b.dtype}".lstrip()
        lines.append(f" *   p[{i}]  {kind}[{', '.join(str(d) for d in b.shape)}]{order}")
    return lines + [f" *   d[{i}]  {s.name}" for i, s in enumerate(kernel.dims)]


def pointer(i: int, b: Buffer, written: bool) -> list[str]:
    """Declares p<i>, the first element of a parameter. Only what is never written through another pointer is
    `restrict`: the planner may put a result where one of its operands was."""
    c_type = C_TYPE[b.dtype]
    if b.kind == "scratch":
        return [f"{c_type} *restrict const p{i} = p[{i}];"]
    const_text = "" if written else "const "
    restrict = "restrict " if b.kind == "packed" else ""
    return [f"{const_text}{c_type} *{restrict}const p{i} = p[{i}];".replace("*const", "*const")]


def emit_loop_nest(kernel: LoopNestKernel, isa: str, symbol: str, emitter: type[ScalarEmitter] = ScalarEmitter,
                   frame: Frame = PROCESSOR) -> str:
    """The kernel's C. emitter: of other scalars than those of vectors and tc_scalar.h, which general nests take."""
    found = instruction_set(isa)
    form = form_of(kernel, found if emitter is ScalarEmitter else instruction_set("scalar"))
    if isinstance(form, RowParts) and form.groups is not None:
        kernel = form.groups.kernel
    nest = GeneralNest(kernel, found, emitter, windows=isinstance(form, RowParts) and form.groups is None)
    _loops(nest, form)
    return function(nest, symbol, frame, _headers(form, found, frame) + sorted(nest.e.headers))


def _loops(nest: GeneralNest, form: Form | None) -> None:
    e, kernel = nest.e, nest.kernel
    if isinstance(form, Scatter):
        scatter.emit(e, kernel, nest.stored_along)
    elif isinstance(form, Transposition):
        transpose.emit(e, kernel, form)
    elif isinstance(form, Turn):
        turned_copies.emit(e, kernel, form)
    elif isinstance(form, TurnedLoads):
        turned_loads.emit(e, kernel, form, nest.phase)
    elif isinstance(form, RowParts):
        row_parts.emit(e, kernel, form, nest.phase)
    elif isinstance(form, FewOutputs):
        few_outputs.emit(e, kernel, form)
    elif isinstance(form, Turns):
        turns.emit(e, kernel)
    elif isinstance(form, Columns):
        columns.emit(e, kernel)
    elif isinstance(form, TopColumns):
        top_columns.emit(e, kernel, form)
    elif isinstance(form, SortedColumns):
        sorted_columns.emit(e, kernel, form)
    else:
        nest.nest()


def _headers(form: Form | None, isa: InstructionSet, frame: Frame) -> list[str]:
    """What the function includes."""
    found = ["tc_vector.h"] if isa.has_vectors else [frame.header, "tc_scalar.h"]
    if isinstance(form, Transposition):
        return [*found, "tc_transpose.h"]
    if isinstance(form, (Turn, TurnedLoads)):
        return [*found, "tc_turn.h"]
    if isinstance(form, SortedColumns):
        return [*found, sorted_columns.HEADER]
    return [*found, "tc_groups.h"] if isinstance(form, RowParts) and form.groups is not None else found


def function(nest: GeneralNest, symbol: str, frame: Frame, headers: list[str]) -> str:
    """The C around the loops of a nest."""
    kernel, e = nest.kernel, nest.e
    head = ["/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: loop nest over {_space(kernel.rows)}"
            f"; phases {'; '.join(_space(s.vars) for s in kernel.phases)}.", *parameters(kernel), " */",
            *(PLAIN_SCHEDULE if nest.isa.plain_schedule else []), *(f'#include "{name}"' for name in headers), "",
            frame.begin(symbol), "{",
            *indent(_declared(nest)), *indent(e.lines), "}", ""]
    return "\n".join(head)


def _declared(nest: GeneralNest) -> list[str]:
    """The dims and buffers that the body uses."""
    kernel, e = nest.kernel, nest.e
    buffers = []
    for i, b in enumerate(kernel.params):
        if b.name in e.pointers.used:
            buffers += pointer(i, b, b.name in nest.written)
    dims = [f"const tc_index {e.names[s]} = d[{i}];" for i, s in enumerate(kernel.dims) if s in e.names.used]
    return [*(dims or ["(void)d;"]), *buffers]


def _space(variables: tuple[Sym, ...]) -> str:
    return " x ".join(f"{s.name} < {extent(s)}" for s in variables) or "one point"
