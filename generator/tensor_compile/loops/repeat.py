# SPDX-License-Identifier: Apache-2.0
"""Values that their readers compute rather than load: cheap ones of a few readers, whatever is read in parts, each
element once (what is split and joined otherwise needs no memory between), and what is wider than all that it is
computed from, integers or cheap, so that memory holds the narrow ones."""
from __future__ import annotations

from dataclasses import replace

from ..graph.dtypes import DTYPES
from .dependences import Dependences
from .equations import solve
from .loop_ir import Computation, Contraction
from .scalar_ir import Load, Reduction, Scalar, Sorted
from .disjoint import apart, one_to_one
from .program_ir import Element
from .scalars import Rewriter, cost, loads, substitute, walk

CHEAP_TO_REPEAT = 4    # cost of a value that its readers compute again rather than load
MOST_WIDE = 4          # readers of a value with more bytes than what it is computed from
MOST_GROUPED = 8         # loads of a value whose readers share it out


def repeat(given: Dependences) -> Dependences:
    """The items as they are computed so. What some reader reads at an index that is data stays in memory anyway."""
    uses = Dependences(list(given.items), given.buffers, given.outside, given.lasting, list(given.loads),
                       _copied(given.writers), _copied(given.readers))
    indirect = {x.buffer for item_loads in uses.loads for x in item_loads if x.dynamic}
    for seq, item in enumerate(uses.items):
        if not isinstance(item, Computation):
            continue
        replaced: dict[str, Computation] = {}
        for x in uses.loads[seq]:
            writers = uses.writers.get(x.buffer, ())
            if len(writers) != 1 or x.buffer in indirect:
                continue
            writer = uses.items[writers[0]]
            if not isinstance(writer, Computation) or x.valid:
                continue
            if writer.index != x.index or item.dynamic:
                again = _repeatable(uses, writers[0], writer, x.buffer)
            else:
                again = _widened(uses, writers[0], writer, x.buffer)
            if again and not any(_overwritten(uses, y.buffer, writers[0], seq) for y in uses.loads[writers[0]]):
                replaced[x.buffer] = writer
        if replaced:
            _replace(uses, seq, item, replaced)
    return uses


def _copied(by_buffer: dict[str, list[int]]) -> dict[str, list[int]]:
    return {name: list(items) for name, items in by_buffer.items()}


def _replace(uses: Dependences, seq: int, item: Computation, replaced: dict[str, Computation]) -> None:
    """Computes in the item what it loads from the buffers. What nobody loads any more goes."""
    def leaf(s: Scalar) -> Scalar | None:
        writer = replaced.get(s.buffer) if isinstance(s, Load) else None
        if writer is None or not isinstance(s, Load):
            return None
        solution = solve(list(zip(writer.index, s.index, strict=True)), writer.vars)
        return substitute(writer.value, solution) if solution is not None else None

    change = Rewriter(leaf=leaf)
    item = replace(item, value=change(item.value), dynamic=tuple((g, change(v)) for g, v in item.dynamic))
    uses.items[seq] = item
    uses.loads[seq] = loads(*(v for _, v in item.dynamic), item.value)
    for name in replaced:
        if not any(x.buffer == name for x in uses.loads[seq]):
            uses.readers[name].remove(seq)
            if not uses.readers[name]:
                _drop(uses, uses.writers[name][0])
    for name in {x.buffer: None for x in uses.loads[seq]}:
        if seq not in uses.readers.setdefault(name, []):
            uses.readers[name].append(seq)


def _drop(uses: Dependences, seq: int) -> None:
    item = uses.items[seq]
    uses.items[seq] = None
    uses.writers[item.out].remove(seq)
    for name in {x.buffer: None for x in uses.loads[seq]}:
        uses.readers[name].remove(seq)


def _repeatable(uses: Dependences, seq: int, writer: Computation, name: str) -> bool:
    if uses.buffers[name].kind != "temp" or name in uses.outside:
        return False
    readers = [uses.items[r] for r in uses.readers[name]]
    if not all(isinstance(r, Computation) for r in readers):
        return False
    if any(_convolves(uses.items[r], x) for r in uses.readers[name] for x in uses.loads[r] if x.buffer == name):
        return False
    if (len(uses.readers[name]) > 2 or cost(writer.value) > CHEAP_TO_REPEAT) and not _shared_out(uses, writer,
                                                                                                   name):
        return False
    # what could be the epilogue of a contraction or the tail of a reduction stays there
    for x in uses.loads[seq]:
        kept = uses.buffers[x.buffer].kind in ("input", "packed") or _read_apart(uses, x.buffer, seq)
        if x.dynamic or not kept:
            return False
    return True


def _convolves(item: Element | None, x: Load) -> bool:
    """A convolution reads each element for several output channels, or adds channels up: it loads vectors of what lies
    in memory (emit/nests/few_outputs.py, lane_groups.py). A depthwise one does not."""
    if not isinstance(item, Computation) or not item.window:
        return False
    for r in walk(item.value):
        if not isinstance(r, Reduction) or r.op != "dot" or x not in loads(r.value):
            continue
        own = {s for e in x.index for s in e.symbols()}
        if any(s not in own for y in loads(r.value) for e in y.index for s in e.symbols()) \
                or set(r.vars) & set().union(*(e.symbols() for e in x.index[1:2])):
            return True
    return False


def _widened(uses: Dependences, seq: int, writer: Computation, name: str) -> bool:
    """A temp that is read at its own points alone, with more bytes a point than what it is computed from: of integers,
    or a cheap one of what is stored whatever becomes of it."""
    if uses.buffers[name].kind != "temp" or name in uses.outside or writer.dynamic or writer.window \
            or len(uses.readers[name]) > MOST_WIDE:
        return False
    readers = [uses.items[r] for r in uses.readers[name]]
    if not all(isinstance(r, Computation) and not r.dynamic for r in readers) \
            or any(x.buffer == name and (x.index != writer.index or x.valid or x.dynamic)
                   for r in uses.readers[name] for x in uses.loads[r]):
        return False
    if any(isinstance(s, (Reduction, Sorted)) for s in walk(writer.value)):
        return False
    sources = {x.buffer: x.dtype for x in uses.loads[seq] if uses.buffers[x.buffer].kind != "packed"}
    if any(x.dynamic for x in uses.loads[seq]) or not sources:
        return False
    integers = all(DTYPES[dtype].is_integer for dtype in (writer.value.dtype, *sources.values()))
    if not integers and (cost(writer.value) > CHEAP_TO_REPEAT
                         or not all(_read_apart(uses, source, seq) for source in sources)):
        return False
    return sum(DTYPES[dtype].bytes for dtype in sources.values()) < DTYPES[writer.value.dtype].bytes


def _overwritten(uses: Dependences, name: str, before: int, seq: int) -> bool:
    """Item `seq` finds another value in the buffer than item `before`."""
    return uses.overwrites(name) and any(before < w <= seq for w in uses.writers.get(name, ()))


def _shared_out(uses: Dependences, writer: Computation, name: str) -> bool:
    """No element of the buffer is read twice, so its readers compute no more than is computed anyway."""
    if any(isinstance(s, (Reduction, Sorted)) for s in walk(writer.value)):
        return False
    parts = [(x, uses.items[r]) for r in uses.readers[name] for x in uses.loads[r] if x.buffer == name]
    if len(parts) > MOST_GROUPED or not all(
            not x.dynamic and not x.valid and one_to_one(uses.buffers[name], x.index, item.vars)
            and not any(isinstance(s, Reduction) for s in walk(item.value)) for x, item in parts):
        return False
    return all(apart(x.index, y.index) for i, (x, _) in enumerate(parts) for y, _ in parts[:i])


def _read_apart(uses: Dependences, name: str, seq: int) -> bool:
    """The buffer is stored whatever becomes of item `seq`: another one reads it at other points than its own."""
    if uses.buffers[name].kind != "temp" or len(uses.writers.get(name, ())) != 1:
        return False  # not one writer among these items: a loop's body reads what was made before the loop, too
    writer = uses.items[uses.writers[name][0]]
    return isinstance(writer, (Computation, Contraction)) and any(
        x.buffer == name and x.index != writer.index for r in uses.readers[name] if r != seq for x in uses.loads[r])
