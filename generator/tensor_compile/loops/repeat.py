# SPDX-License-Identifier: Apache-2.0
"""Values that their readers compute rather than load: cheap ones of a few readers, whatever is read in parts, each
element once (what is split and joined otherwise needs no memory between), and integers that are wider than all that
they are computed from, so that memory holds the narrow ones."""
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..graph.dtypes import DTYPES
from .equations import solve
from .loop_ir import Computation, Contraction
from .scalar_ir import Load, Reduction, Scalar, Sorted
from .disjoint import apart, one_to_one
from .scalars import Rewriter, cost, loads, substitute, walk

if TYPE_CHECKING:
    from .fuse import Fusion

CHEAP_TO_REPEAT = 4    # cost of a value that its readers compute again rather than load
MOST_WIDE = 4          # readers of a wide integer
MOST_GROUPED = 8         # loads of a value whose readers share it out


def repeat(fusion: Fusion) -> None:
    """Rewrites the items of a fusion, before they join any kernel. What some reader reads at an index that is data
    stays in memory anyway."""
    indirect = {x.buffer for item_loads in fusion.loads for x in item_loads if x.dynamic}
    for seq, item in enumerate(fusion.items):
        if not isinstance(item, Computation):
            continue
        replaced: dict[str, Computation] = {}
        for x in fusion.loads[seq]:
            writers = fusion.writers.get(x.buffer, ())
            if len(writers) != 1 or x.buffer in indirect:
                continue
            writer = fusion.items[writers[0]]
            if not isinstance(writer, Computation) or x.valid:
                continue
            if writer.index != x.index or item.dynamic:
                again = _repeatable(fusion, writers[0], writer, x.buffer)
            else:
                again = _widened(fusion, writers[0], writer, x.buffer)
            if again:
                replaced[x.buffer] = writer
        if replaced:
            _replace(fusion, seq, item, replaced)


def _replace(fusion: Fusion, seq: int, item: Computation, replaced: dict[str, Computation]) -> None:
    """Computes in the item what it loads from the buffers. What nobody loads any more goes."""
    def leaf(s: Scalar) -> Scalar | None:
        writer = replaced.get(s.buffer) if isinstance(s, Load) else None
        if writer is None or not isinstance(s, Load):
            return None
        solution = solve(list(zip(writer.index, s.index, strict=True)), writer.vars)
        return substitute(writer.value, solution) if solution is not None else None

    change = Rewriter(leaf=leaf)
    item = replace(item, value=change(item.value), dynamic=tuple((g, change(v)) for g, v in item.dynamic))
    fusion.items[seq] = item
    fusion.loads[seq] = loads(*(v for _, v in item.dynamic), item.value)
    for name in replaced:
        if not any(x.buffer == name for x in fusion.loads[seq]):
            fusion.readers[name].remove(seq)
            if not fusion.readers[name]:
                _drop(fusion, fusion.writers[name][0])
    for name in {x.buffer: None for x in fusion.loads[seq]}:
        if seq not in fusion.readers.setdefault(name, []):
            fusion.readers[name].append(seq)


def _drop(fusion: Fusion, seq: int) -> None:
    item = fusion.items[seq]
    fusion.items[seq] = None
    fusion.writers[item.out].remove(seq)
    for name in {x.buffer: None for x in fusion.loads[seq]}:
        fusion.readers[name].remove(seq)


def _repeatable(fusion: Fusion, seq: int, writer: Computation, name: str) -> bool:
    if fusion.buffers[name].kind != "temp" or name in fusion.outside:
        return False
    if not all(isinstance(fusion.items[r], Computation) for r in fusion.readers[name]):
        return False
    if (len(fusion.readers[name]) > 2 or cost(writer.value) > CHEAP_TO_REPEAT) and not _shared_out(fusion, writer,
                                                                                                   name):
        return False
    # what could be the epilogue of a contraction or the tail of a reduction stays there
    for x in fusion.loads[seq]:
        kept = fusion.buffers[x.buffer].kind in ("input", "packed") or _read_apart(fusion, x.buffer, seq)
        if x.dynamic or not kept:
            return False
    return True


def _widened(fusion: Fusion, seq: int, writer: Computation, name: str) -> bool:
    """A temp of integers, read at its own points alone, with more bytes a point than what it is computed from."""
    if fusion.buffers[name].kind != "temp" or name in fusion.outside or writer.dynamic or writer.window \
            or not DTYPES[writer.value.dtype].is_integer or len(fusion.readers[name]) > MOST_WIDE:
        return False
    readers = [fusion.items[r] for r in fusion.readers[name]]
    if not all(isinstance(r, Computation) and not r.dynamic for r in readers) \
            or any(x.buffer == name and (x.index != writer.index or x.valid or x.dynamic)
                   for r in fusion.readers[name] for x in fusion.loads[r]):
        return False
    if any(isinstance(s, (Reduction, Sorted)) for s in walk(writer.value)):
        return False
    sources = {x.buffer: x.dtype for x in fusion.loads[seq] if fusion.buffers[x.buffer].kind != "packed"}
    if any(x.dynamic for x in fusion.loads[seq]) or not sources \
            or not all(DTYPES[dtype].is_integer for dtype in sources.values()):
        return False
    return sum(DTYPES[dtype].bytes for dtype in sources.values()) < DTYPES[writer.value.dtype].bytes


def _shared_out(fusion: Fusion, writer: Computation, name: str) -> bool:
    """No element of the buffer is read twice, so its readers compute no more than is computed anyway."""
    if any(isinstance(s, (Reduction, Sorted)) for s in walk(writer.value)):
        return False
    parts = [(x, fusion.items[r]) for r in fusion.readers[name] for x in fusion.loads[r] if x.buffer == name]
    if len(parts) > MOST_GROUPED or not all(
            not x.dynamic and not x.valid and one_to_one(fusion.buffers[name], x.index, item.vars)
            and not any(isinstance(s, Reduction) for s in walk(item.value)) for x, item in parts):
        return False
    return all(apart(x.index, y.index) for i, (x, _) in enumerate(parts) for y, _ in parts[:i])


def _read_apart(fusion: Fusion, name: str, seq: int) -> bool:
    """The buffer is stored whatever becomes of item `seq`: another one reads it at other points than its own."""
    if fusion.buffers[name].kind != "temp" or len(fusion.writers.get(name, ())) != 1:
        return False  # not one writer among these items: a loop's body reads what was made before the loop, too
    writer = fusion.items[fusion.writers[name][0]]
    return isinstance(writer, (Computation, Contraction)) and any(
        x.buffer == name and x.index != writer.index for r in fusion.readers[name] if r != seq for x in fusion.loads[r])
