# SPDX-License-Identifier: Apache-2.0
"""What `explain` says of loop nests that are more than loops over one row after the other: what lanes are, how many
positions or rows are computed side by side, copies in another order (emit/nests/forms.py)."""
from __future__ import annotations

from ..emit.integers.lane_nest import runs_by_lanes
from ..emit.integers.windows import found_at, multiplies_four
from ..emit.nests import ahead
from ..emit.nests.few_outputs import FewOutputs
from ..emit.nests.forms import Columns, Form, form_of, Scatter, Turns
from ..emit.nests.row_parts import RowParts
from ..emit.nests.rows_together import joined_rows
from ..emit.nests.transpose import SIDE, Transposition
from ..emit.nests.turned_copies import Turn
from ..emit.nests.turned_loads import TurnedLoads
from ..instruction_sets import instruction_set, InstructionSet
from ..loops.byte_products import ByteProductKernel
from ..loops.loop_ir import LoopNestKernel
from ..loops.program_ir import Program
from ..target import Target


def nests(program: Program, target: Target) -> list[str]:
    """The kernel's number, how it runs, and for which instruction sets where not for all."""
    if target.apart:
        return []
    lines = []
    for number, step in enumerate(program.kernel_steps):
        kernel = step.kernel
        if not isinstance(kernel, LoopNestKernel) or isinstance(kernel, ByteProductKernel):
            continue
        sets: dict[str, list[str]] = {}
        for isa in target.isas:
            if how := _how(kernel, instruction_set(isa)):
                sets.setdefault(how, []).append(isa)
        told = [how + (f" ({', '.join(isas)})" if len(isas) < len(target.isas) else "") for how, isas in sets.items()]
        lines += [f"{number} {kernel.label}: {'; '.join(told)}"] if told else []
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
    assert isinstance(form, Scatter)
    return "each thread walks all points and stores its own elements"
