# SPDX-License-Identifier: Apache-2.0
"""What `explain` says of loop nests that are more than loops over one row after the other: what lanes are, how many
positions or rows are computed side by side, copies in another order (emit/nests/forms.py), elements that lie in turn
(in_turn.py), stores past the caches (far.py)."""
from __future__ import annotations

from ..emit.integers.lane_nest import runs_by_lanes
from ..emit.integers.windows import found_at, multiplies_four
from ..emit.nests import ahead, far, in_turn
from ..emit.nests.few_outputs import FewOutputs
from ..emit.nests.forms import Columns, Form, form_of, Scatter, Turns
from ..emit.nests.row_parts import RowParts
from ..emit.nests.rows_together import joined_rows
from ..emit.nests.top_columns import TopColumns
from ..emit.nests.transpose import SIDE, Transposition
from ..emit.nests.turned_copies import Turn
from ..emit.nests.turned_loads import TurnedLoads
from ..instruction_sets import instruction_set, InstructionSet
from ..loops.byte_products import ByteProductKernel
from ..loops.loop_ir import ALONE, ALWAYS, LoopNestKernel
from ..loops.program_ir import Program
from ..loops.sorted_columns import SortedColumns
from .assemble import Made


def nests(made: Made, program: Program) -> list[str]:
    """The kernel's number, how it runs, and for which instruction sets where not for all. program: of a variant that is
    not plain."""
    target = made.target
    if target.apart:
        return []
    lines = []
    for number, step in enumerate(program.kernel_steps):
        kernel = step.kernel
        if not isinstance(kernel, LoopNestKernel) or isinstance(kernel, ByteProductKernel):
            continue
        sets: dict[str, list[str]] = {}
        for isa in target.isas:
            text = made.sources.text(made.sources.symbol(kernel, isa))
            told = _how(kernel, instruction_set(isa)), _in_turn(text), _far(kernel, text)
            if how := ", ".join(filter(None, told)):
                sets.setdefault(how, []).append(isa)
        ways = [how + (f" ({', '.join(isas)})" if len(isas) < len(target.isas) else "") for how, isas in sets.items()]
        lines += [f"{number} {kernel.label}: {'; '.join(ways)}"] if ways else []
    return lines


def _how(kernel: LoopNestKernel, isa: InstructionSet) -> str:
    """Of the emitters of emit/kernels.py the first that takes the kernel; "": one row after the other."""
    if isa.byte_vectors:
        return "by vectors of four i32" if runs_by_lanes(kernel, isa.name) else ""
    if found_at(kernel, isa.name) is not None:
        return f"windows of bytes, by {'words of four' if multiplies_four(isa.name) else 'pairs of 16 bits'}"
    form = form_of(kernel, isa)
    if form is not None:
        return _of_form(form)
    side = joined_rows(kernel, isa)
    if side == 1:
        return ""
    return f"{side} rows side by side" + (", maxima of the next ones found ahead" if ahead.finds(kernel, side, isa)
                                          else "")


def _in_turn(text: str) -> str:
    """What the kernel's text does with elements that lie in turn."""
    parts, joins = in_turn.told(text)
    did = " and ".join(what for what, does in (("parted", parts), ("joined", joins)) if does)
    return f"elements that lie in turn {did} in registers" if did else ""


def _far(kernel: LoopNestKernel, text: str) -> str:
    """When it stores past the caches."""
    if far.DECLARED not in text:
        return ""
    when = {ALWAYS: "", ALONE: " with one thread", "": " where the second ones of all threads do not hold its bytes"}
    return "stores past the caches" + when[kernel.far]


def _of_form(form: Form) -> str:
    if isinstance(form, RowParts):
        width = form.cut.width
        if form.groups is not None:
            lanes, what = f"channels of {form.groups.side} groups", "positions"
        elif form.cut.blocks is not None:
            lanes, what = "positions along a line of the image", "lines"
        else:
            lanes, what = "channels", "positions"
        return f"lanes are {lanes}" + (f", {width} {what} side by side" if width > 1 else "")
    if isinstance(form, FewOutputs):
        vectors = f"{form.outs * form.width * len(form.sums)} vectors of results together"
        return f"lanes are positions along a line of the image, {vectors}"
    if isinstance(form, Transposition):
        return f"turned in registers, {SIDE} rows at a time"
    if isinstance(form, Turn):
        return "turned in registers, by whole lines of the caches"
    if isinstance(form, TurnedLoads):
        return "loads turned in registers, by whole lines of the caches"
    if isinstance(form, Turns):
        return "three bytes of a point stored together"
    if isinstance(form, Columns):
        return "lanes are neighbouring rows, each of whose steps needs the one before"
    if isinstance(form, TopColumns):
        return f"lanes are neighbouring rows, {form.side} vectors together, whose first places are registers"
    if isinstance(form, SortedColumns):
        return "lanes are neighbouring rows, which are sorted side by side"
    assert isinstance(form, Scatter)
    return "each thread walks all points and stores its own elements"
