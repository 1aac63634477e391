# SPDX-License-Identifier: Apache-2.0
"""Contractions that cuBLASLt can compute on a GPU, as the library has products: two matrices whose lines lie at equal
distances, and behind the sums nothing but a bias a column, a matrix that is added, and relu or the gelu by tanh.
Nothing promises that the library's relu keeps NaN, so `tune` proves it of each algorithm.

Only products of 16 bits are given away: what is exact has an order of sums that no library promises, and weights of
tf32 lie in panels. A recorded call keeps addresses, so operands are temps and constants, none of which is the
caller's."""
from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeAlias

from ..graph.dtypes import DTYPES
from ..records import dataclass
from ..symbolic import Expr, Sym, wrap
from .bulk_copies import KINDS
from .loop_ir import AttentionKernel, ContractionKernel, GroupedContractionKernel, Kernel, LoopNestKernel
from .scalar_ir import Acc, Apply, Buffer, Const, Load, Scalar
from .scalars import domain_size, point_number

Tuned: TypeAlias = ContractionKernel | GroupedContractionKernel | LoopNestKernel
LIBRARY = "cublaslt"
OPERANDS = ("bf16", "f16")   # which are those of the precisions of these names, in memory too
ALIGNED = 16                # bytes: where matrices begin, and their lines
WORKSPACE_ALIGNED = 256     # bytes: where a workspace begins, by the library's rule
WORKSPACE = "%w"            # how the names of buffers begin that an algorithm has for itself
PLAIN, GELU, RELU = FUNCTIONS = "plain", "gelu", "relu"   # as tc_device_product.function numbers them


@dataclass(frozen=True, slots=True)
class LibraryAlgorithm:
    """One of the library's for a product, as a tuning lock names it. version: of the library, 130102 for 13.1.2, whose
    own `words` these are, as hexadecimal bytes. workspace: bytes."""

    version: int
    workspace: int
    words: str

    @property
    def name(self) -> str:
        return f"{LIBRARY}_{self.version}_w{self.workspace}_{self.words}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Elements of a buffer from `offset` on, in lines that begin `stride` elements apart. turned: lines are terms."""

    buffer: Buffer
    offset: int
    stride: int
    turned: bool = False


@dataclass(frozen=True, slots=True)
class LibraryProduct:
    """result = function(first second + bias + added), rows x columns of sums of `terms`. bias: one line of columns."""

    rows: int
    columns: int
    terms: int
    first: Matrix
    second: Matrix
    result: Matrix
    added: Matrix | None = None
    bias: Matrix | None = None
    function: str = PLAIN


def shown(version: int) -> str:
    """As people write it: 13.1.2."""
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def algorithm(name: str) -> LibraryAlgorithm | None:
    """That of a name in a lock; None: the name is no library's."""
    found = re.fullmatch(LIBRARY + r"_(\d{6})_w(\d+)_((?:[0-9a-f]{2}){1,64})", name)
    return LibraryAlgorithm(int(found[1]), int(found[2]), found[3]) if found else None


def library_product(kernel: Tuned, precision: str) -> LibraryProduct | None:
    """None: the kernel is more, or something else, than a product of the library's."""
    if not isinstance(kernel, ContractionKernel) or isinstance(kernel, AttentionKernel) or precision not in OPERANDS \
            or kernel.batch or kernel.where is not None or len(kernel.b) != 1 or len(kernel.stores) != 1:
        return None
    sizes = [domain_size(group) for group in (kernel.m, kernel.n, kernel.k)]
    store, behind = kernel.stores[0], _behind(kernel)
    if not kernel.m or not all(size.is_const for size in sizes) or store.dynamic or behind is None:
        return None
    place = _Places(kernel)
    first, second = (place.operand(load, group, precision)
                     for load, group in ((kernel.a, kernel.m), (kernel.b[0], kernel.n)))
    result = place.result(store.buffer, store.index)
    added = place.result(behind.added.buffer, behind.added.index) if behind.added else None
    bias = place.bias(behind.bias) if behind.bias else None
    if first is None or second is None or result is None or (behind.added and added is None) \
            or (behind.bias and bias is None) \
            or result.buffer.dtype not in ("f32", precision) \
            or (added and added.buffer.dtype != result.buffer.dtype):
        return None
    rows, columns, terms = (size.value for size in sizes)
    return LibraryProduct(rows, columns, terms, first, second, result, added, bias, behind.function)


def workspace(kernel: Kernel) -> Buffer | None:
    """The memory of the arena that the library has for itself in a kernel, which nothing else touches. It begins
    anywhere, and has room for the library's rule."""
    if not isinstance(kernel, ContractionKernel) or not isinstance(kernel.shape, LibraryAlgorithm):
        return None
    return next((b for b in kernel.params if b.name.startswith(WORKSPACE)), None)


def with_workspace(kernel: Tuned, number: int) -> Tuned:
    """number: that no other kernel has."""
    shape = kernel.shape
    if not isinstance(shape, LibraryAlgorithm) or not shape.workspace:
        return kernel
    room = Buffer(f"{WORKSPACE}{number}", "u8", (wrap(shape.workspace + WORKSPACE_ALIGNED - 1),), (0,), "temp")
    return replace(kernel, params=(*kernel.params, room))


class _Places:
    """Where the matrices of a contraction lie; None where that is no matrix of the library's."""

    def __init__(self, kernel: ContractionKernel):
        self.kernel, self.buffers = kernel, {b.name: b for b in kernel.params}

    def operand(self, load: Load, group: tuple[Sym, ...], dtype: str) -> Matrix | None:
        if load.valid or load.dynamic or load.dtype != dtype:
            return None
        return self.matrix(load.buffer, load.index, group, self.kernel.k, turns=True)

    def result(self, buffer: str, index: tuple[Expr, ...]) -> Matrix | None:
        return self.matrix(buffer, index, self.kernel.m, self.kernel.n)

    def bias(self, load: Load) -> Matrix | None:
        buffer, columns = self.buffers[load.buffer], point_number(self.kernel.n)
        offset = buffer.address(load.index) - columns
        if buffer.kind != "packed" or load.valid or load.dynamic or not offset.is_const or not _aligned(buffer, offset):
            return None
        return Matrix(buffer, offset.value, 0)

    def matrix(self, name: str, index: tuple[Expr, ...], lines: tuple[Sym, ...], neighbours: tuple[Sym, ...],
               turns: bool = False) -> Matrix | None:
        buffer = self.buffers[name]
        address = buffer.address(index)
        offset = address.substitute({s: 0 for s in (*lines, *neighbours)})
        across = address.substitute({s: 0 for s in neighbours}) - offset
        along = address - across - offset
        turned = turns and across == point_number(lines) and along != point_number(neighbours)
        if turned:
            lines, neighbours, across, along = neighbours, lines, along, across
        stride = across.coefficient(lines[-1])
        if buffer.kind not in KINDS or stride is None or not stride.is_const or not offset.is_const \
                or along != point_number(neighbours) or across != point_number(lines) * stride \
                or stride.value < domain_size(neighbours).value \
                or not _aligned(buffer, offset) or not _aligned(buffer, stride):
            return None
        return Matrix(buffer, offset.value, stride.value, turned)


def _aligned(buffer: Buffer, elements: Expr) -> bool:
    return elements.value * DTYPES[buffer.dtype].bytes % ALIGNED == 0


@dataclass(frozen=True, slots=True)
class _Behind:
    """What is done with a sum."""

    bias: Load | None = None
    added: Load | None = None
    function: str = PLAIN


def _behind(kernel: ContractionKernel) -> _Behind | None:
    value = kernel.stores[0].value
    if isinstance(value, Apply) and value.op == "cast":
        value = value.args[0]
    function = PLAIN
    if isinstance(value, Apply) and value.op == "maximum" and value.args[1] == Const("f32", 0):
        value, function = value.args[0], RELU
    elif (inner := _within_gelu(value)) is not None:
        value, function = inner, GELU
    parts = _summands(value)
    rows, columns = set(kernel.m), set(kernel.n)
    sums = [x for x in parts if isinstance(x, Acc)]
    found = [x for x in map(_loaded, parts) if x is not None]
    biases = [x for x in found if not rows & _symbols(x) and x.dtype == "f32" and columns & _symbols(x)]
    added = [x for x in found if x not in biases]
    if len(sums) != 1 or len(sums) + len(found) != len(parts) or len(biases) > 1 or len(added) > 1 \
            or any(x.valid or x.dynamic for x in found):
        return None
    return _Behind(biases[0] if biases else None, added[0] if added else None, function)


def _summands(value: Scalar) -> list[Scalar]:
    if isinstance(value, Apply) and value.op == "add":
        return [part for x in value.args for part in _summands(x)]
    return [value]


def _loaded(value: Scalar) -> Load | None:
    """A load, or one that is widened."""
    if isinstance(value, Apply) and value.op == "cast":
        value = value.args[0]
    return value if isinstance(value, Load) else None


def _symbols(load: Load) -> set[Sym]:
    return {s for e in load.index for s in e.symbols()}


def _within_gelu(value: Scalar) -> Scalar | None:
    """x of x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), written as capture/activations.c does."""
    if not (isinstance(value, Apply) and value.op == "mul" and isinstance(value.args[0], Apply)
            and value.args[0].op == "mul"):
        return None
    x = value.args[0].args[0]

    def apply(op: str, *args: Scalar | int) -> Scalar:
        return Apply(op, "f32", tuple(Const("f32", a) if isinstance(a, int) else a for a in args))

    cube = apply("mul", apply("mul", x, x), x)
    inner = apply("mul", apply("add", x, apply("mul", cube, 0x3d372713)), 0x3f4c422a)
    whole = apply("mul", apply("mul", x, 0x3f000000), apply("add", apply("tanh", inner), 0x3f800000))
    return x if value is whole else None
