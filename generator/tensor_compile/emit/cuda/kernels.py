# SPDX-License-Identifier: Apache-2.0
"""A kernel of the loop IR -> CUDA C. Scalars, indices and reductions inside a point are written by what writes the
processor's kernels, one lane wide; loops/schedule_cuda.py says how the loops are spread over blocks and threads.
"""
from __future__ import annotations

from types import MappingProxyType
from typing import AbstractSet as Set, Iterable, Mapping, Sequence

from ...loops import schedule_cuda
from ...loops.loop_ir import AttentionKernel, CheckKernel, ContractionKernel, GroupedContractionKernel, Kernel, \
    LoopNestKernel, PreparedKernel
from ...loops.scalar_ir import Buffer, Scalar
from ...loops.schedule_cuda import EXACT, Launch, Units
from ...graph.dtypes import DTYPES
from ...symbolic import Sym
from ..frame import DEVICE
from ..index import Names, c_index
from ..nests.items import positions
from ..kernels import KernelSource, PLACE, named
from ..nests.loop_nest import parameters
from ..scalar import C_TYPE, ScalarEmitter, CValue, extent, identifier, indent

ISA = "cuda"   # the end of the kernels' names
RELAXED = {"exp_f32": "tc_relaxed_exp", "tanh_f32": "tc_relaxed_tanh", "erf_f32": "tc_relaxed_erf",
           "div_f32": "tc_relaxed_div",
           "cast_f32_bf16": "tc_half_bf16", "cast_f32_f16": "tc_half_f16"}


def emit_kernel(kernel: Kernel, units: Units = EXACT) -> KernelSource:
    """units: what contractions run on."""
    if isinstance(kernel, LoopNestKernel):
        from .loop_nest import emit_loop_nest
        return named(kernel, ISA, emit_loop_nest(kernel, PLACE, units))
    if isinstance(kernel, AttentionKernel):
        from .attention import emit_attention
        return named(kernel, ISA, emit_attention(kernel, PLACE, units))
    elif isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        from .contraction import emit_contraction
        return named(kernel, ISA, emit_contraction(kernel, PLACE, units))
    elif isinstance(kernel, PreparedKernel):
        from .few import emit_prepared
        return named(kernel, ISA, emit_prepared(kernel, PLACE, units))
    assert isinstance(kernel, CheckKernel), "a GPU calls no function of the user's"
    return named(kernel, ISA, emit_check(kernel, PLACE, units.relaxed))


def emit_plain(kernel: Kernel) -> KernelSource:
    """The kernel of the reference: the processor's, one element after the other, whose team are the grid's threads."""
    from ..contraction.source import emit_reference
    from .loop_nest import emit_team

    if isinstance(kernel, LoopNestKernel):
        text = emit_team(kernel, PLACE)
    elif isinstance(kernel, (ContractionKernel, GroupedContractionKernel)):
        text = team(kernel, PLACE, emit_reference(kernel, f"{PLACE}_part", DEVICE))
    else:
        assert isinstance(kernel, CheckKernel), "a GPU calls no function of the user's"
        text = emit_check(kernel, PLACE)
    return named(kernel, ISA, text)


def team(kernel: Kernel, symbol: str, text: str) -> str:
    """A kernel around `text`, which defines the function SYMBOL_part in the frame DEVICE. Each thread of the grid is
    one of its team, with scratch of its own."""
    threads = schedule_cuda.launch(kernel, plain=True).threads
    names = Names({s: f"arguments.d[{i}].whole" for i, s in enumerate(kernel.dims)})
    places = [f"(char *)arguments.p[{i}] + thread * ({_scratch_bytes(b, names)})" if b.kind == "scratch"
              else _address(i, b) for i, b in enumerate(kernel.params)]
    return "\n".join([
        text, f'extern "C" __global__ void __launch_bounds__({threads})',
        f"{symbol}(const tc_arguments<{len(kernel.params)}, {len(kernel.dims)}> __grid_constant__ arguments)", "{",
        "    tc_begin_wait();", f"    const tc_index thread = (tc_index)blockIdx.x * {threads} + threadIdx.x;",
        f"    void *pointers[{len(kernel.params)}];",
        *(f"    pointers[{i}] = {place};" for i, place in enumerate(places)),
        f"    {symbol}_part({{pointers}}, &arguments.d[0].whole, thread, (tc_index)gridDim.x * {threads});", "}", ""])


def dim_names(kernel: Kernel) -> dict[Sym, str]:
    return {s: f"n_{identifier(s.name)}" for s in kernel.dims}


class Emitter(ScalarEmitter):
    """Indices that are data stay within what there is to read: a fault is found by a check, which no kernel waits for.
    kept: loads and reductions that are in registers, and where. relaxed: numbers were rounded to 16 bits already, so
    functions need not be exact to the last bit (tc_relaxed.cuh)."""

    kept: Mapping[Scalar, str] = MappingProxyType({})
    relaxed = False

    def function(self, operation: str) -> str:
        return RELAXED.get(operation, f"tc_{operation}") if self.relaxed else f"tc_{operation}"

    def value(self, node: Scalar) -> CValue:
        if node in self.kept:
            return CValue(self.kept[node], False, len(self.scopes) - 1)
        return super().value(node)

    def position(self, s: Sym, text: str) -> str:
        return f"tc_within({text}, {s.lo}, {self.index(extent(s) - 1)})"


def emitter(kernel: Kernel, written: Iterable[str], accs: Sequence[str] = ()) -> Emitter:
    """Of a kernel's statements, with its dims and buffers named."""
    return Emitter(dim_names(kernel), {b.name: f"p{i}" for i, b in enumerate(kernel.params)}, 1, accs=accs,
                         buffers={b.name: b for b in kernel.params}, written=written)


def function(kernel: Kernel, e: Emitter, symbol: str, what: str, body: list[str], header: str = "device",
             launch: Launch | None = None, early: bool = False) -> str:
    """The translation unit around a body, which e wrote. what: of the first comment; header: of templates/cuda; launch:
    if it is not the usual one; early: the next kernel may be brought to the multiprocessors meanwhile."""
    launch = launch or schedule_cuda.launch(kernel)
    begin = "tc_begin_wait" if not early else "tc_begin_first" if launch.leaves_room else "tc_begin"
    return "\n".join([
        "/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: {what}", *parameters(kernel), " */",
        f'#include "tc_{header}.cuh"', *positions_header(kernel), "",
        f'extern "C" __global__ void __launch_bounds__({launch.threads})',
        f"{symbol}(const tc_arguments<{pointers(kernel)}, {len(kernel.dims)}> __grid_constant__ arguments)", "{",
        f"    {begin}();",
        *indent(prologue(kernel, e.used, e.written)), *indent(body), "}", ""])


def rounded(text: str, dtype: str, wanted: str) -> str:
    """The 16 bits of an element, as one of `wanted`."""
    if dtype == wanted:
        return text
    return f"tc_half_{wanted}({text if dtype == 'f32' else f'tc_cast_{dtype}_f32({text})'})"


def positions_header(kernel: Kernel) -> list[str]:
    """Includes what makes positions ints, where all of them fit."""
    return ['#include "tc_small.cuh"'] if schedule_cuda.is_small(kernel) else []


def pointers(kernel: Kernel) -> int:
    """Of a kernel's arguments: its buffers; a check's also has the cell for its answer, and what to leave there."""
    return len(kernel.params) + 2 * isinstance(kernel, CheckKernel)


def prologue(kernel: Kernel, used: Set[Sym | str], written: frozenset[str]) -> list[str]:
    """Declares the dims and buffers that the body uses."""
    names = Names(dim_names(kernel))
    buffers = [_pointer(i, b, b.name in written, names) for i, b in enumerate(kernel.params) if b.name in used]
    return [*(f"const tc_index {names[s]} = arguments.d[{i}];" for i, s in enumerate(kernel.dims)
              if s in used | names.used), *buffers]


def _pointer(i: int, b: Buffer, written: bool, names: Mapping[Sym, str]) -> str:
    """Only what is never written through another pointer is restrict, as in the processor's kernels."""
    c_type = f"{'' if written else 'const '}{C_TYPE[b.dtype]}"
    if b.kind == "scratch":
        return f"{c_type} *const p{i} = ({c_type} *)((char *)arguments.p[{i}] + (ptrdiff_t)blockIdx.x * " \
               f"({_scratch_bytes(b, names)}));"
    restrict = "__restrict__ " if b.kind == "packed" else ""
    return f"{c_type} *{restrict}const p{i} = ({c_type} *){_address(i, b)};"


def _scratch_bytes(b: Buffer, names: Mapping[Sym, str]) -> str:
    """Of one instance, from which the next is as far away."""
    return f"(({c_index(b.elements, names)}) * {DTYPES[b.dtype].bytes} + 63) / 64 * 64"


def _address(i: int, b: Buffer) -> str:
    return f"tc_external(arguments.p[{i}])" if b.kind in ("input", "output", "state") else f"arguments.p[{i}]"


def grid_loop(name: str, count: str, each: int) -> str:
    """The head of a loop over all points, `each` a block at a time: one a thread, or one a block."""
    if each == 1:
        return f"for (tc_index {name} = blockIdx.x; {name} < {count}; {name} += gridDim.x)"
    return f"for (tc_index {name} = (tc_index)blockIdx.x * {each} + threadIdx.x; {name} < {count}; " \
           f"{name} += (tc_index)gridDim.x * {each})"


def decode(e: ScalarEmitter, position: str, variables: tuple[Sym, ...]) -> list[str]:
    """Declares every variable by a flattened position; they are bound in the emitter."""
    loops = [(e.bind(s), e.index(extent(s))) for s in reversed(variables)]
    return positions(loops[::-1], position, "const tc_index")


def emit_check(kernel: CheckKernel, symbol: str, early: bool = False) -> str:
    """One block finds the first index outside its bound, and leaves it in the cell unless that has one already."""
    e = emitter(kernel, ())
    indices = e.pointers[kernel.buffer.name]
    body = ["__shared__ unsigned long long first;", "if (threadIdx.x == 0)", "    first = ~0ull;", "__syncthreads();",
            f"const int64_t bound = {e.index(kernel.bound)};",
            grid_loop("i", f"({e.index(kernel.buffer.elements)})", schedule_cuda.THREADS),
            f"    if ({indices}[i] < 0 || {indices}[i] >= bound)", "        atomicMin(&first, (unsigned long long)i);",
            "__syncthreads();", "tc_fault *const cell = (tc_fault *)arguments.p[1];",
            "if (threadIdx.x == 0 && first != ~0ull && cell->position == 0)",
            f"    *cell = {{first + 1, (int64_t){indices}[first], bound, arguments.p[2]}};"]
    return function(kernel, e, symbol, f"every index is in 0..{kernel.bound} - 1.", body, early=early)
