# SPDX-License-Identifier: Apache-2.0
"""The driver of a model for a CUDA device: tables and entries as for the processor, with kernels as images that the
hosted part loads, and steps that are launches.

A call copies its inputs (and its state) to the device's arena, launches every step in order on one stream, and copies
outputs and state back when all has ended well. Loops and branches are the driver's: it fetches what they depend on."""
from __future__ import annotations

from typing import Mapping

from ..target import Target
from ..loops import schedule_cuda
from ..loops.ir import Buffer, CheckKernel, Kernel, ModelPlan, Step
from .cwriter import string
from .memory import CELL, buffer_bytes, is_check
from .program import Function, KernelTable, Source, driver_text
from .steps import StepsWriter


def emit_driver(plan: ModelPlan, target: Target, sources: Mapping[tuple[int, str], Source], *,
                embed: bool = True) -> str:
    """As program.emit_driver; sources[id(kernel), isa].symbol names the image as well as its function."""
    return driver_text(plan, target, _Images(plan, target, sources), _Function, embed)


class _Images(KernelTable):
    """The kernels' images, which the object embeds under their functions' names."""

    model_fields = (".device = &device_code",)

    def text(self) -> str:
        names = [names[0] for names in self.rows]
        lines = [f"extern const unsigned char {name}[] __attribute__((visibility(\"hidden\")));" for name in names]
        lines += ["", "static const tc_device_kernel device_kernels[] = {"]
        lines += [f"    {{{string(name)}, {name}}}," for name in names] or ["    {0, 0},"]
        return "\n".join([*lines, "};\n", "static const tc_device_code device_code = {",
                          '    .kind = "cuda",', f"    .kernel_count = {len(names)},", "    .kernels = device_kernels,",
                          "};", ""])

    def function_fields(self) -> list[str]:
        return []


class _Launches(StepsWriter):
    address = "uint64_t "
    arena = "f->device_arena"

    def begin(self) -> None:
        for b in self.copied():
            if b.kind != "output":
                self.put(f"tc_device_upload(f, {self.pointer(b)}, {super().pointer(b)}, {self.bytes(b)});")

    def end(self) -> None:
        written = {s.buffer for step in self.program.kernel_steps for s in _stores(step.kernel)}
        self.put("if (!tc_device_ready(f))", "    return;")
        for b in self.copied():
            if b.kind == "output" or (b.kind == "state" and b.name in written):
                self.put(f"tc_device_download(f, {super().pointer(b)}, {self.pointer(b)}, {self.bytes(b)});")

    def copied(self) -> list[Buffer]:
        return [self.program.buffers[name] for name, _ in self.where.copies if name != CELL]

    def bytes(self, b: Buffer) -> str:
        return self.function.c(buffer_bytes(b))

    def barrier(self) -> None:
        """Launches follow each other."""

    def end_checks(self) -> None:
        """Each check is looked at where it stands."""

    def condition(self, name: str) -> str:
        return f"tc_device_holds(f, {self.pointer(self.program.buffers[name])})"

    def call(self, step: Step) -> None:
        number, kernel, c = self.step, step.kernel, self.function.c
        self.step += 1
        values = [self.scratch(number, j) if b.kind == "scratch" else self.pointer(b)
                  for j, b in enumerate(kernel.params)]
        if is_check(step):
            values.append(f"f->device_arena + offsets[{self.where.copy_numbers[CELL]}]")
        values += [f"(uint64_t){self.function.dim(s)}" for s in kernel.dims] or ["0"]
        reference = self.function.entry.plan.reference
        launch = schedule_cuda.launch(kernel, plain=reference is not None and reference.program is self.program)
        blocks = f"tc_blocks({c(launch.points)}, {launch.each}, {launch.most(self.threads)})"
        row = f"{number}, {self.function.kernels.row(kernel)}, a, {blocks}, {launch.threads}"
        self.put("{", f"    const uint64_t a[] = {{{', '.join(values)}}};")
        if is_check(step):
            b = kernel.buffer
            asked = f"{row}, {string(b.name)}, {self.function.dtype(b)}, {c(kernel.bound)}"
            self.put(f"    if (tc_device_check(f, {asked}))", "        return;")
        else:
            self.put(f"    tc_device_step(f, {row});")
        self.put("}")

    def pointer(self, b: Buffer) -> str:
        """The device's address of a buffer."""
        if b.kind == "packed":
            return f"f->device_weights + {self.function.plan.packed[b.name]}"
        if b.kind in ("input", "output", "state"):
            return f"f->device_arena + offsets[{self.where.copy_numbers[b.name]}]"
        return super().pointer(b)


class _Function(Function):
    steps_writer = _Launches

    @property
    def instances(self) -> str:
        """Of scratch: as many as blocks may have one, whatever a caller thinks of threads."""
        return str(self.target.threads)


def _stores(kernel: Kernel) -> list:
    if isinstance(kernel, CheckKernel):
        return []
    return list(getattr(kernel, "stores", ())) or [s for stage in getattr(kernel, "stages", ()) for s in stage.stores]
