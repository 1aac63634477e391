# SPDX-License-Identifier: Apache-2.0
"""Steps that read large memory once, as a decoder's do: packed weights by products of few rows, and keys and values
that lie in a state. Memory sets their time.

A thread that waits at a barrier fetches its part of what the next two of them read (tc_barrier_ahead), so that memory
is read while small steps run, or other threads finish. What a part is the kernel says: all panels of all its products,
one product behind the other, split evenly (templates/contraction/memory.c.in, `by_panels`, and term_by_term.c.in); of
tiles, all tiles.
"""
from __future__ import annotations

from typing import Mapping

from ..graph.dtypes import DTYPES
from ..loops.loop_ir import consecutive, ContractionKernel, GroupedContractionKernel, Kernel, LoopNestKernel
from ..loops.program_ir import Element, Step, Tiles
from ..loops.scalar_ir import Buffer, Load
from ..loops.scalars import domain_size, extent, loads
from ..records import dataclass
from ..symbolic import Expr, Sym, product, wrap

ROWS = 8               # of a product up to which all of them are one tile, so that panels are read once
LEAST = 1 << 19        # bytes of a step's panels, from which on they come from behind the second caches of a team
LEAST_STATE = 1 << 17  # the same of a state's tensor, as one token's products read those of all layers
PANEL = 16             # neighbouring columns of which a team shares products in place


@dataclass(frozen=True, slots=True)
class Stream:
    """tc_stream: what a team shares in a step. Offset: in the packed weights; in the state's tensor."""

    first: Expr
    count: Expr
    across: Expr
    runs: Expr
    offset: int
    bytes: int
    between: int
    apart: int
    reach: Expr
    outer: int

    @staticmethod
    def of_weights(first: int, count: int, offset: int, size: int) -> "Stream":
        """Panels that lie one behind the other."""
        return Stream(wrap(first), wrap(count), wrap(count), wrap(1), offset, size, 0, size, wrap(count * size), 0)

    @property
    def numbers(self) -> tuple[Expr, ...]:
        """As the driver's struct has them."""
        return (self.first, self.count, self.across, self.runs, *map(wrap, (self.offset, self.bytes, self.between,
                                                                            self.apart)), self.reach, wrap(self.outer))


@dataclass(frozen=True, slots=True)
class Streams:
    """Of one step, whose team shares so many panels. state: the tensor that they are part of; None: the weights."""

    panels: Expr
    parts: tuple[Stream, ...]
    state: Buffer | None = None


def streams(item: Element, packed: Mapping[str, int]) -> Streams | None:
    """None where the item is no such step. packed: where the packed buffers lie."""
    if isinstance(item, Tiles):
        return _keys(item)
    if not isinstance(item, Step):
        return None
    return _weights(item.kernel, packed) or _in_place(item.kernel)


def _weights(kernel: Kernel, packed: Mapping[str, int]) -> Streams | None:
    if not isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        return None
    first, panels, parts = 0, 0, []
    for part in kernel.contractions:
        count = _panels(part, packed)
        if not count:
            return None
        for b in part.b:
            buffer = next(p for p in part.params if p.name == b.buffer)
            size = buffer.elements.value * DTYPES[buffer.dtype].bytes
            parts.append(Stream.of_weights(first, count, packed[b.buffer], size // count))
        first += 0 if consecutive(kernel) else count
        panels = max(panels, first, count)
    if sum(p.count.value * p.bytes for p in parts) < LEAST:
        return None
    return Streams(wrap(panels), tuple(parts))


def _panels(part: ContractionKernel, packed: Mapping[str, int]) -> int:
    """Of each second operand; 0 where they are not read so."""
    rows, columns, terms = domain_size(part.batch + part.m), domain_size(part.n), domain_size(part.k)
    if not (part.b_panel and rows.is_const and rows.value <= ROWS and columns.is_const and terms.is_const) \
            or any(extent(s).value != 1 for s in part.batch):
        return 0
    count = -(-columns.value // part.b_panel)
    for b in part.b:
        buffer = next(p for p in part.params if p.name == b.buffer)
        if b.buffer not in packed or not buffer.elements.is_const \
                or buffer.elements.value != count * part.b_panel * terms.value:
            return 0
    return count


# -- states ---------------------------------------------------------------------------------------------------------

def _in_place(kernel: Kernel) -> Streams | None:
    """A product whose second operand is read where it lies in a state: panels are neighbouring columns of all terms,
    groups the batches."""
    if not isinstance(kernel, ContractionKernel) or kernel.b_panel or len(kernel.b) != 1:
        return None
    (b,), rows, columns = kernel.b, domain_size(kernel.m), domain_size(kernel.n)
    if len(kernel.batch) > 1 or not len(kernel.k) == len(kernel.n) == 1 or not (rows.is_const and rows.value <= ROWS):
        return None
    buffer, offset, steps = _read(kernel.params, b, (*kernel.batch, *kernel.k, *kernel.n))
    if buffer is None:
        return None
    size, (terms_step, columns_step) = DTYPES[buffer.dtype].bytes, steps[-2:]
    terms, batches = extent(kernel.k[0]), product(extent(s) for s in kernel.batch)
    across, outer = (columns + (PANEL - 1)) // PANEL, steps[0] * size if kernel.batch else 0
    if columns_step == 1 and columns.is_const and columns.value % PANEL == 0:    # side by side, as values are
        return _of_state(buffer, Stream(wrap(0), batches * across, across, terms, offset, PANEL * size,
                                        terms_step * size, PANEL * size, columns * size, outer))
    if terms_step == 1 and terms == columns_step:    # one behind the other, as keys are
        panel = PANEL * columns_step * size
        return _of_state(buffer, Stream(wrap(0), batches * across, across, wrap(1), offset, panel, 0, panel,
                                        columns * (columns_step * size), outer))
    return None


def _keys(tiles: Tiles) -> Streams | None:
    """Tiles that pack what they read in a state once, as keys are: panels are tiles, groups those of one head."""
    first = tiles.body[0]
    kernel = first.kernel if isinstance(first, Step) else None
    if not isinstance(kernel, LoopNestKernel) or tiles.windows or tiles.growing or not 1 <= len(tiles.axes) <= 2 \
            or len(kernel.phases) != 1:
        return None
    read = [x for s in kernel.stores for x in loads(s.value)]
    (phase,), starts = kernel.phases, tuple(a.start for a in tiles.axes)
    if len(read) != 1 or len(tiles.axes) > 1 and tiles.axes[0].block != 1:
        return None
    walked = (*kernel.rows, *phase.vars)
    buffer, offset, steps = _read(kernel.params, read[0], (*starts, *walked))
    if buffer is None:
        return None
    one = steps[len(starts) - 1]    # from one key to the next
    inner = domain_size(tuple(s for s, step in zip(walked, steps[len(starts):]) if step < one))
    if not inner.is_const or inner.value != one:
        return None
    line, axis = one * DTYPES[buffer.dtype].bytes, tiles.axes[-1]
    outer = steps[0] * DTYPES[buffer.dtype].bytes if len(starts) > 1 else 0
    return _of_state(buffer, Stream(wrap(0), product(a.blocks for a in tiles.axes), axis.blocks, wrap(1), offset,
                                    line * axis.block, 0, line * axis.block, axis.size * line, outer))


def _read(params: tuple[Buffer, ...], load: Load, own: tuple[Sym, ...]) -> tuple[Buffer | None, int, list[int]]:
    """The state's tensor that is read, from which byte on, and how many elements lie between two values of each
    variable."""
    buffer = next(p for p in params if p.name == load.buffer)
    if buffer.kind != "state" or load.dynamic or not buffer.elements.is_const:
        return None, 0, []
    address = buffer.address(load.index)
    steps = [address.coefficient(s) for s in own]
    known = [s.value for s in steps if s is not None and s.is_const and s.value >= 0]
    first = address.substitute(dict.fromkeys(own, 0))
    if len(known) != len(own) or not first.is_const or first.value < 0:
        return None, 0, []
    return buffer, first.value * DTYPES[buffer.dtype].bytes, known


def _of_state(buffer: Buffer, stream: Stream) -> Streams | None:
    if buffer.elements.value * DTYPES[buffer.dtype].bytes < LEAST_STATE:
        return None
    return Streams(stream.count, (stream,), buffer)
