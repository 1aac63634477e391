# SPDX-License-Identifier: Apache-2.0
"""The driver of a model for a CUDA device: tables and entries as for the processor, with kernels in an image that the
hosted part loads, and steps that are launches.

A call finds where its inputs, outputs and state are for the device, which copies those of the processor's memory, and
launches every step in order on one stream, or starts a recording of that; then results that are the processor's are
copied back. Loops and branches are the driver's: it fetches what they depend on."""
from __future__ import annotations

from typing import Mapping

from ...target import Target
from ...graph.dtypes import DTYPES
from ...loops import schedule_cuda
from ...loops.bulk_copies import MAP_WORDS, BulkCopy
from ...loops.loop_ir import CheckKernel, Kernel
from ...loops.plan import bytes_of
from ...loops.program_ir import ModelPlan, Step
from ...loops.library_products import Matrix, WORKSPACE_ALIGNED
from ...loops.scalar_ir import Buffer
from .products import Biases, GivenAway, given_away
from ..cwriter import string
from ..memory import is_check
from ..driver import Code, FunctionDriver, KernelTable, Source, driver_text
from ..soon import Soon
from ..steps import StepsWriter
from ..streams import Streams

IMAGE = "tci_kernels"   # the symbol of the image that the object embeds


def emit_driver(plan: ModelPlan, target: Target, sources: Mapping[Code, Source], *, embed: bool = True) -> str:
    """As driver.emit_driver; a source's symbol names its function in the image."""
    return driver_text(plan, target, _Image(plan, target, sources), _Function, embed)


class _Image(KernelTable):
    """The kernels' functions in the image that the object embeds, and products that are a library's."""

    model_fields = (".device = &device_code",)

    def __init__(self, plan: ModelPlan, target: Target, sources: Mapping[Code, Source]):
        super().__init__(plan, target, sources)
        self.biases = Biases.of(plan, target.precision)

    def given(self, kernel: Kernel, plain: bool) -> GivenAway | None:
        """What a library computes of it."""
        return None if plain else given_away(kernel, self.target.precision)

    def text(self) -> str:
        declared, rows, units = [], [], schedule_cuda.units(self.target)
        ours = any(not self.given(*kernel) for kernel in self.first)
        if ours:
            declared.append(f"extern const unsigned char {IMAGE}[] __attribute__((visibility(\"hidden\")));")
        for name, (kernel, plain) in zip([names[0] for names in self.rows], self.first):
            given = self.given(kernel, plain)
            if given:
                declared.append(f"static const tc_device_product {name} = {given.initializer()};")
                rows.append(f"    {{{string(name)}, 0, &{name}}},")
            else:
                rows.append(f"    {{{string(name)}, {schedule_cuda.launch(kernel, plain, units).shared}, 0}},")
        return "\n".join([*declared, "", *self.biases.text(), "static const tc_device_kernel device_kernels[] = {",
                          *(rows or ["    {0, 0, 0},"]), "};\n", "static const tc_device_code device_code = {",
                          '    .kind = "cuda",', *([f"    .image = {IMAGE},"] if ours else []),
                          f"    .kernel_count = {len(rows)},", "    .kernels = device_kernels,",
                          f"    .overlaps = {int(schedule_cuda.overlaps(self.target))},",
                          *self.biases.fields(),
                          "};", ""])

    def function_fields(self) -> list[str]:
        return []


class _Launches(StepsWriter):
    function: _Function
    address = "uint64_t "
    arena = "f->device_arena"
    part = 0                  # where launches go: 0 the row, else a part beside it
    stretch: int | None = None     # the step behind the open stretch

    def begin(self) -> None:
        externals, plan = list(self.externals), self.function.entry.plan
        self.put(f"uint64_t e[{max(len(externals), 1)}];")
        for i, b in enumerate(externals):
            place, size = f"{self.place(b)}", self.function.c(bytes_of(b))
            if b.kind == "input":
                text = f"tc_device_input(f, {[x.name for x in plan.inputs].index(b.name)}, {place}, {size})"
            elif b.kind == "output":
                number = len(plan.inputs) + [x.name for x in plan.outputs].index(b.name)
                text = f"tc_device_output(f, {number}, {place})"
            else:
                text = f"tc_device_state(f, {self.function.plan.state_offset[b.name]}, {place}, {size})"
            self.put(f"e[{i}] = {text};")
        self.put(f"if (tc_device_begin(f, {self.varies}, e, {len(externals)})) {{")
        self.depth += 1

    @property
    def externals(self) -> list[Buffer]:
        """What the caller has."""
        return [self.program.buffers[name] for name, _ in self.where.copies]

    @property
    def varies(self) -> str:
        """Which of its calls are the same launches but for the externals' addresses. One launch alone takes longer by
        a recording: 2 us on an H200."""
        if any(not isinstance(item, Step) for item in self.program.steps) or len(self.program.steps) < 2:
            return "TC_DEVICE_VARIES"
        return "TC_DEVICE_BY_DIMS" if self.program.dims else "TC_DEVICE_FIXED"

    @property
    def has_checks(self) -> int:
        return int(any(is_check(step) for step in self.program.kernel_steps))

    def place(self, b: Buffer) -> str:
        """Where a copy of an external lies."""
        return f"f->device_arena + offsets[{self.where.copy_numbers[b.name]}]"

    def go_beside(self, number: int | None) -> None:
        """What stands before a step where stretches begin or end, or parts of one change; None: the end."""
        asides = () if self.plain else self.program.asides
        if self.stretch is not None and (number is None or number == self.stretch):
            self.put("tc_device_branch(f, TC_DEVICE_JOIN);")
            self.part, self.stretch = 0, None
        beside = [a for a in asides if number is not None and a.first <= number < a.end]
        if beside and beside[0].first == number:
            self.put("tc_device_branch(f, TC_DEVICE_FORK);")
            self.part, self.stretch = 0, beside[0].end
        part = next((i for i, a in enumerate(beside, 1) if number in a.steps), 0)
        if part != self.part:
            self.put(f"tc_device_branch(f, {part});")
            self.part = part

    def end(self) -> None:
        self.go_beside(None)
        written = {s.buffer for step in self.program.kernel_steps for s in step.kernel.stores}
        self.put("tc_device_end(f);")
        self.depth -= 1
        self.put("}", f"if (!tc_device_ready(f, {self.has_checks}))", "    return;")
        for b in self.externals:
            if b.kind == "output" or (b.kind == "state" and b.name in written):
                self.put(f"tc_device_download(f, {super().pointer(b)}, {self.place(b)}, "
                         f"{self.function.c(bytes_of(b))});")

    def streaming(self) -> dict[int, Streams]:
        """None: launches follow each other, none waits."""
        return {}

    def reading(self) -> Soon:
        """None: kernels of a device have no such tiles."""
        return Soon({})

    def barrier(self) -> None:
        """Launches follow each other."""

    def end_checks(self) -> None:
        """Each check is looked at where it stands."""

    def condition(self, name: str) -> str:
        return f"tc_device_holds(f, {self.pointer(self.program.buffers[name])}, {self.has_checks})"

    def call(self, step: Step) -> None:
        number, kernel, c = self.step, step.kernel, self.function.c
        self.step += 1
        self.go_beside(number)
        values = [self.first_scratch(number, j) if b.kind == "scratch" else self.pointer(b)
                  for j, b in enumerate(kernel.params)]
        given = self.function.kernels.given(kernel, self.plain)
        if given:
            self.product(number, given)
            return
        self.put("{")
        if isinstance(kernel, CheckKernel):
            b = kernel.buffer
            self.put(f"    static const tc_device_index index = "
                     f"{{&{self.function.entry.symbol}_function, {string(b.name)}}};")
            values += ["f->device->cell", "(uint64_t)(uintptr_t)&index"]
        values += [f"(uint64_t){self.function.dim(s)}" for s in kernel.dims] or ["0"]
        units = schedule_cuda.units(self.function.target)
        launch = schedule_cuda.launch(kernel, self.plain, units)
        maps = [] if self.plain else schedule_cuda.tensor_maps(kernel, units)
        blocks = f"tc_blocks({c(launch.points)}, {launch.each}, {launch.most(self.threads)})"
        row = f"f, {number}, {self.function.kernels.row(kernel, self.plain)}, a, {blocks}, {launch.threads}"
        self.arguments(kernel, values, maps)
        if is_check(step):
            self.put(*([f"    if (tc_device_check({row}))", "        return;"] if self.plain else
                       [f"    tc_device_check({row});"]))
        else:
            self.put(f"    tc_device_step({row});")
        self.put("}")

    def product(self, number: int, given: GivenAway) -> None:
        """A step that is a library's."""
        p = given.product

        def at(matrix: Matrix | None) -> str:
            if matrix is None:
                return "0"
            size = matrix.offset * DTYPES[matrix.buffer.dtype].bytes
            return self.pointer(matrix.buffer) + (f" + {size}" if size else "")

        kernels = self.function.kernels
        bias = str(kernels.biases.place(given)) if given.rounded_bias else at(p.bias)
        room, n = given.workspace, WORKSPACE_ALIGNED
        fields = {"first": at(p.first), "second": at(p.second), "added": at(p.added), "result": at(p.result),
                  "bias": bias, "workspace": f"({self.pointer(room)} + {n - 1}) / {n} * {n}" if room else "0"}
        self.put("{", "    const tc_device_operands a = {" + ", ".join(f".{k} = {v}" for k, v in fields.items()) + "};",
                 f"    tc_device_step(f, {number}, {kernels.row(given.kernel, self.plain)}, &a, 1, 1);", "}")

    def arguments(self, kernel: Kernel, values: list[str], maps: list[BulkCopy]) -> None:
        """Declares those of a launch: tensor maps, aligned to 64 bytes as the whole is, then the others."""
        if not maps:
            self.put(f"    const uint64_t a[] = {{{', '.join(values)}}};")
            return
        words, buffers, c = MAP_WORDS * len(maps), {b.name: b for b in kernel.params}, self.function.c
        self.put(f"    _Alignas(64) uint64_t a[{-(-(words + len(values)) // 8) * 8}] = {{[{words}] = "
                 f"{', '.join(values)}}};")
        for i, m in enumerate(maps):
            size = DTYPES[buffers[m.buffer].dtype].bytes
            self.put(f"    tc_device_map(f, a + {MAP_WORDS * i}, {self.pointer(buffers[m.buffer])} + "
                     f"(uint64_t)({c(m.offset)}) * {size}, {c(m.terms)}, {c(m.lines)}, ({c(m.stride)}) * {size}, "
                     f"{m.box});")

    def pointer(self, b: Buffer) -> str:
        """The device's address of a buffer."""
        if b.kind == "packed":
            return f"f->device_weights + {self.function.plan.packed[b.name]}"
        if b.kind in ("input", "output", "state"):
            return f"e[{[x.name for x in self.externals].index(b.name)}]"
        return super().pointer(b)


class _Function(FunctionDriver):
    steps_writer = _Launches
    kernels: _Image

    def instances(self) -> tuple[str, str]:
        """Each as many as blocks may have one, side by side, whatever a caller thinks of threads. A block finds its own
        by the bytes of one."""
        return f" * {self.target.threads}", ""

    def entries(self) -> str:
        e, base = self.entry, self.entry.symbol
        dims = ", ".join(f"args->{name}" for name in e.dim_names) or "0"
        buffers = ", ".join(f"(void *)args->{name}" for name in e.tensor_names) or "0"
        return super().entries() + f"""
TC_PUBLIC tc_status {base}_cuda(tc_context *context, const {base}_args *args, void *stream)
{{
    if (!args)
        return tc_run_null(context, &{base}_function);
    const tc_index dims[] = {{{dims}}};
    void *const buffers[] = {{{buffers}}};
    return tc_run_resident(context, &{base}_function, dims, buffers, {"args->state" if e.plan.states else "0"},
                           args->counters ? &args->counters->{e.symbol} : 0, stream);
}}
"""
