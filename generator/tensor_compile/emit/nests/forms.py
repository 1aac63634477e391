# SPDX-License-Identifier: Apache-2.0
"""Which form a loop nest has: what it is beyond loops over rows, where an instruction set gains from that."""
from __future__ import annotations

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel
from ...loops import sorted_columns
from ...loops.sorted_columns import SortedColumns
from ...records import dataclass
from .few_outputs import FewOutputs
from .row_parts import RowParts
from .row_sums import is_wide
from .transpose import Transposition, transposition
from .turned_copies import Turn, turn
from .top_columns import TopColumns
from .turned_loads import TurnedLoads, turned_loads
from . import columns, few_outputs, lane_groups, top_columns, turns, window


@dataclass(frozen=True, slots=True)
class Scatter:
    """scatter.py"""


@dataclass(frozen=True, slots=True)
class Turns:
    """turns.py"""


@dataclass(frozen=True, slots=True)
class Columns:
    """columns.py"""


Form = Scatter | Transposition | Turn | TurnedLoads | RowParts | FewOutputs | Turns | Columns | TopColumns \
    | SortedColumns


def form_of(kernel: LoopNestKernel, isa: InstructionSet) -> Form | None:
    """None of a general nest (general_nest.py)."""
    if any(x.dynamic for x in kernel.stores):
        return Scatter()
    if not isa.has_vectors:
        return None
    found: Form | None = transposition(kernel) or turn(kernel)
    if found is not None:
        return found
    first = kernel.phases[0]
    across = turned_loads(kernel)
    if across is not None and is_wide(first, isa):
        return across
    groups = lane_groups.find(kernel, isa)
    if groups is not None and is_wide(groups.kernel.phases[0], isa):
        return RowParts(groups.cut, groups)
    few = few_outputs.find(kernel, isa)
    if few is not None and is_wide(first, isa):
        return few
    cut = window.cut(kernel, isa)
    if cut is not None and is_wide(first, isa):
        return RowParts(cut)
    if columns.steps_together(kernel, isa):
        return Columns()
    top = top_columns.find(kernel, isa)
    if top is not None:
        return top
    ordered = sorted_columns.find(kernel)
    if ordered is not None and sorted_columns.side_by_side(kernel, ordered):
        return ordered
    return Turns() if turns.in_turn(kernel, isa) and is_wide(first, isa) else None
