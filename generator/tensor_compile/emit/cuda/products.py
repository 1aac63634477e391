# SPDX-License-Identifier: Apache-2.0
"""Products that cuBLASLt computes, in a model's driver: what the runtime makes a plan of (tc_device_product), and the
biases that it puts down in the result's dtype when the model is loaded."""
from __future__ import annotations

from dataclasses import field
from typing import Iterator

from ...graph.dtypes import DTYPES
from ...loops.library_products import LibraryAlgorithm, LibraryProduct, Matrix, library_product, workspace
from ...loops.loop_ir import ContractionKernel, Kernel
from ...loops.program_ir import ModelPlan
from ...loops.scalar_ir import Buffer
from ...records import dataclass
from .kernels import ISA
from ..kernels import KernelSource, named

ROUNDED = ("bf16", "f16")   # dtypes of results whose biases are put down anew
ALIGNED = 16


@dataclass(frozen=True, slots=True)
class GivenAway:
    """A kernel that is the library's."""

    product: LibraryProduct
    algorithm: LibraryAlgorithm
    kernel: ContractionKernel

    def source(self) -> KernelSource:
        """Of no file: what its symbol is made of, and equal ones share."""
        return named(self.kernel, ISA, self.initializer())

    def initializer(self) -> str:
        p, algorithm = self.product, self.algorithm
        words = bytes.fromhex(algorithm.words).ljust(64, b"\0")
        numbers = [f"0x{int.from_bytes(words[i:i + 8], 'little'):x}" for i in range(0, 64, 8)]
        return f"""{{
    .version = {algorithm.version},
    .operand = TC_DTYPE_{DTYPES[p.first.buffer.dtype].upper},
    .result = TC_DTYPE_{DTYPES[p.result.buffer.dtype].upper},
    .rows = {p.rows},
    .columns = {p.columns},
    .terms = {p.terms},
    .first_stride = {p.first.stride},
    .second_stride = {p.second.stride},
    .added_stride = {(p.added or p.result).stride},
    .result_stride = {p.result.stride},
    .first_turned = {int(p.first.turned)},
    .second_turned = {int(p.second.turned)},
    .has_added = {int(p.added is not None)},
    .has_bias = {int(p.bias is not None)},
    .function = TC_PRODUCT_{p.function.upper()},
    .workspace = {algorithm.workspace},
    .algorithm = {{{', '.join(numbers)}}},
}}"""

    @property
    def rounded_bias(self) -> Matrix | None:
        """Its bias, where that has not the result's dtype."""
        return self.product.bias if self.product.result.buffer.dtype in ROUNDED else None

    @property
    def workspace(self) -> Buffer | None:
        return workspace(self.kernel)


def given_away(kernel: Kernel, precision: str) -> GivenAway | None:
    """None: we compute it."""
    if not isinstance(kernel, ContractionKernel) or not isinstance(kernel.shape, LibraryAlgorithm):
        return None
    product = library_product(kernel, precision)
    assert product is not None, "a library's algorithm is chosen for products of its"
    return GivenAway(product, kernel.shape, kernel)


@dataclass(slots=True)
class Biases:
    """Those of a model that are rounded: where each begins in their block, by name, offset, columns and dtype. Of one
    weight several products may read parts that begin alike."""

    places: dict[tuple[str, int, int, str], int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    bytes: int = 0

    @staticmethod
    def of(plan: ModelPlan, precision: str) -> "Biases":
        made = Biases()
        for given in _all(plan, precision):
            bias = given.rounded_bias
            if bias and made.key(given) not in made.places:
                made.places[made.key(given)] = made.bytes
                dtype = given.product.result.buffer.dtype
                made.lines.append(f"    {{{plan.packed[bias.buffer.name] + 4 * bias.offset}, {made.bytes}, "
                                  f"{given.product.columns}, TC_DTYPE_{DTYPES[dtype].upper}}},")
                made.bytes += -(-2 * given.product.columns // ALIGNED) * ALIGNED
        return made

    @staticmethod
    def key(given: GivenAway) -> tuple[str, int, int, str]:
        bias = given.product.bias
        assert bias is not None
        return bias.buffer.name, bias.offset, given.product.columns, given.product.result.buffer.dtype

    def place(self, given: GivenAway) -> int:
        return self.places[self.key(given)]

    def fields(self) -> list[str]:
        """Of tc_device_code."""
        return [f"    .bias_count = {len(self.lines)},", "    .biases = device_biases,",
                f"    .bias_bytes = {self.bytes},"] if self.lines else []

    def text(self) -> list[str]:
        return ["static const tc_device_bias device_biases[] = {", *self.lines, "};", ""] if self.lines else []


def _all(plan: ModelPlan, precision: str) -> Iterator[GivenAway]:
    for function in plan.functions:
        for variant in function.built:
            for step in variant.program.kernel_steps if not function.is_plain(variant) else ():
                given = given_away(step.kernel, precision)
                if given:
                    yield given
