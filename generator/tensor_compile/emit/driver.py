# SPDX-License-Identifier: Apache-2.0
"""The driver of a model: one C source with the tables that the core reads, the steps of every variant and the entries.

It only says what is particular to the model. Checks, the choice of instruction set and team, and messages are the
core's (runtime/core/run.c).
"""
from __future__ import annotations

from typing import Mapping, Protocol

from ..errors import UserError
from ..graph.dtypes import DTYPES
from ..loops.loop_ir import Kernel
from ..loops.plan import bytes_of
from ..loops.program_ir import ModelPlan, Variant
from ..loops.scalar_ir import Buffer
from ..symbolic import Expr, Sym, wrap
from ..target import Target
from .cwriter import LOWER, fits, integer, largest, string
from .header import STATE_HEADER, declarations, upper_end
from .interface import Entry, Interface, interface
from .memory import Memory, memory
from .steps import StepsWriter
from .weights import layout_digest, weights_symbol
from .work import program_barriers, program_work


class Source(Protocol):
    """What the driver needs of an emitted kernel."""

    @property
    def symbol(self) -> str: ...

    @property
    def arguments(self) -> tuple[int, ...]: ...


def dtype_constant(dtype: str) -> str:
    return f"TC_DTYPE_{DTYPES[dtype].upper}"


Code = tuple[Kernel, str, bool]   # a kernel, the instruction set that it is compiled for, and whether it is plain


def emit_driver(plan: ModelPlan, target: Target, sources: Mapping[Code, Source], *, embed: bool = True) -> str:
    """sources[kernel, isa, plain].symbol: the C name of a kernel compiled for an instruction set of the target. embed:
    the weights are what weights_place defines; otherwise an argument of the calls."""
    return driver_text(plan, target, KernelTable(plan, target, sources), FunctionDriver, embed)


def driver_text(plan: ModelPlan, target: Target, kernels: KernelTable, function: type[FunctionDriver],
                embed: bool) -> str:
    """The driver around what a target decides: how it holds kernels, and how a function's steps run."""
    face = interface(plan, not embed)
    parts = ["#include <tensor_compile/driver.h>\n", declarations(plan, face, target), kernels.text()]
    parts.append(_model(plan, face, kernels))
    for entry in face.entries:
        parts.append(function(plan, face, entry, target, kernels).text())
    return "\n".join(parts)


class KernelTable:
    """The distinct kernels of a model in order of first use: equal ones of several variants are one row."""

    model_fields: tuple[str, ...] = ()  # of tc_model, besides those of every model

    def __init__(self, plan: ModelPlan, target: Target, sources: Mapping[Code, Source]):
        self.isas, self.target = target.isas, target
        self.rows: dict[tuple[str, ...], int] = {}
        self._row_of: dict[tuple[Kernel, bool], int] = {}
        self._arguments: dict[tuple[Kernel, bool], tuple[int, ...]] = {}
        self.first: list[tuple[Kernel, bool]] = []   # of each row one kernel, and whether it is the reference's
        for function in plan.functions:
            for variant in function.built:
                plain = function.is_plain(variant)
                for step in variant.program.kernel_steps:
                    names = tuple(sources[step.kernel, isa, plain].symbol for isa in self.isas)
                    if names not in self.rows:
                        self.first.append((step.kernel, plain))
                    self._arguments[step.kernel, plain] = sources[step.kernel, self.isas[0], plain].arguments
                    self._row_of[step.kernel, plain] = self.rows.setdefault(names, len(self.rows))

    def row(self, kernel: Kernel, plain: bool) -> int:
        return self._row_of[kernel, plain]

    def arguments(self, kernel: Kernel, plain: bool) -> tuple[int, ...]:
        """What the kernel's function is given behind its dims."""
        return self._arguments[kernel, plain]

    def text(self) -> str:
        lines = [f"tc_kernel {name};" for names in self.rows for name in dict.fromkeys(names)]
        for i, isa in enumerate(self.isas):
            lines += ["", f"static tc_kernel *const kernels_{isa}[] = {{"]
            lines += [f"    {names[i]}," for names in self.rows] or ["    0,"]
            lines.append("};")
        tables = ", ".join(f"kernels_{isa}" for isa in self.isas)
        cpus = ", ".join(f"TC_CPU_{isa.upper()}" for isa in self.isas)
        lines += ["", f"static tc_kernel *const *const kernels[] = {{{tables}}};",
                  f"static const tc_cpu cpus[] = {{{cpus}}};", ""]
        return "\n".join(lines)

    def function_fields(self) -> list[str]:
        """Of tc_function: what tells the processors' kernels."""
        return [f".cpu_count = {len(self.isas)}", ".cpus = cpus", ".kernels = kernels"]


def _model(plan: ModelPlan, face: Interface, kernels: KernelTable) -> str:
    lines = []
    if plan.states:
        lines.append("static const tc_state_info states[] = {")
        for b in plan.states:
            lines.append(f"    {{{string(b.name)}, {dtype_constant(b.dtype)}, {plan.state_offset[b.name]}, "
                         f"{bytes_of(b).value}}},")
        lines.append("};\n")
    embedded = face.has_weights and not face.external
    if embedded:
        lines.append(f"extern const unsigned char {weights_symbol(plan)}[] __attribute__((visibility(\"hidden\")));\n")
    layout = ", ".join(f"0x{byte:02x}" for byte in layout_digest(plan))
    lines.append(f"""TC_PUBLIC const tc_model {face.model}_model = {{
    .abi = &TC_ABI_SYMBOL,
    .name = {string(plan.model)},
    .state_bytes = {plan.state_bytes + STATE_HEADER if plan.states else 0},
    .state_count = {len(plan.states)},
    .states = {'states' if plan.states else '0'},
    .weights_bytes = {plan.packed_bytes},
    .weights = {weights_symbol(plan) if embedded else '0'},
    .layout = {{{layout}}},{"".join(f"{chr(10)}    {field}," for field in kernels.model_fields)}
}};
""")
    return "\n".join(lines)


def _shown(kernel: Kernel) -> str:
    """What logs and profiles call a kernel."""
    return f"{kernel.label} ({kernel.loc})" if kernel.loc is not None else kernel.label


class FunctionDriver:
    """One entry function: its tables, variants and the two entries."""

    steps_writer = StepsWriter

    def __init__(self, plan: ModelPlan, face: Interface, entry: Entry, target: Target, kernels: KernelTable):
        self.plan, self.face, self.entry, self.target, self.kernels = plan, face, entry, target, kernels
        self.own = f"tcd_{entry.symbol}"    # starts what the driver keeps to itself
        self.position = {d.sym.name: i for i, d in enumerate(entry.dims)}

    def names(self, *exprs: Expr) -> Mapping[Sym, str]:
        """C text of the dims in expressions, as 64-bit numbers."""
        return {s: f"(int64_t){self.dim(s)}" for e in exprs for s in e.symbols()}

    def dtype(self, b: Buffer) -> str:
        return dtype_constant(b.dtype)

    def dim(self, s: Sym) -> str:
        """C text of a dim, or of the iteration of a loop around the step."""
        return f"iteration_{s.name}" if s.is_iteration else f"d[{self.position[s.name]}]"

    def c(self, e: Expr | int) -> str:
        e = wrap(e)
        return integer(e, self.names(e))

    def text(self) -> str:
        parts = [self.dim_table(), self.tensor_table(), self.shape(), self.guard(), self.select()]
        parts += [self.variant(i, v) for i, v in enumerate(self.entry.plan.built)]
        parts += [self.variant_table(), self.entries()]
        return "\n".join(parts)

    # -- tables -------------------------------------------------------------------------------------------------
    def dim_table(self) -> str:
        lines = [f"static const tc_index {self.own}_sizes_{i}[] = {{{', '.join(map(str, self.entry.sizes(i)))}}};"
                 for i in self.entry.sized]
        lines.append(f"static const tc_dim_info {self.own}_dims[] = {{")
        for i, dim in enumerate(self.entry.dims):
            sizes = self.entry.sizes(i)
            tensor, axis, scale, offset = self.binding(dim.sym)
            table = f"{self.own}_sizes_{i}" if sizes else "0"
            lines.append(f"    {{{string(dim.sym.name)}, {dim.sym.lo}, {upper_end(dim.sym.hi, self.target)}, "
                         f"{dim.sym.divisor}, {table}, {len(sizes)}, {tensor}, {axis}, {scale}, {offset}}},")
        if not self.entry.dims:
            lines.append('    {"", 0, 0, 1, 0, 0, -1, 0, 1, 0},')
        return "\n".join([*lines, "};", ""])

    def binding(self, s: Sym) -> tuple[int, int, int, int]:
        """(input, axis, scale, offset) with shape[axis] == scale * s + offset, the smallest scale first."""
        best = None
        for i, buffer in enumerate(self.entry.plan.inputs):
            for axis, size in enumerate(buffer.shape):
                inside = list(size.symbols())
                if len(inside) != 1 or inside[0].name != s.name:
                    continue
                scale = size.coefficient(inside[0])
                if scale is None or not scale.is_const or scale.value < 1:
                    continue
                offset = size - scale * Expr((((inside[0],), 1),))
                if best is None or scale.value < best[2]:
                    best = i, axis, scale.value, offset.value
        return best or (-1, 0, 1, 0)

    def tensor_table(self) -> str:
        lines = [f"static const tc_tensor_info {self.own}_tensors[] = {{"]
        lines += [f"    {{{string(b.name)}, {dtype_constant(b.dtype)}, {len(b.shape)}}}," for b in self.entry.tensors]
        return "\n".join([*lines, "};", ""])

    def shape(self) -> str:
        lines = [f"static void {self.own}_shape(const tc_index *d, unsigned tensor, int64_t sizes[TC_MAX_RANK])", "{",
                 "    (void)d, (void)sizes;", "    switch (tensor) {"]
        cases: dict[tuple[Expr, ...], list[int]] = {}
        for i, b in enumerate(self.entry.tensors):
            largest(bytes_of(b), f"{b.kind} {b.name!r}")
            if b.shape:
                cases.setdefault(b.shape, []).append(i)
        for dims, tensors in cases.items():
            lines += [f"    case {i}:" for i in tensors]
            lines += [f"        sizes[{axis}] = {self.c(size)};" for axis, size in enumerate(dims)]
            lines.append("        break;")
        return "\n".join([*lines, "    default:", "        break;", "    }", "}", ""])

    def guard(self) -> str:
        lines = []
        if self.entry.guards:
            names = ", ".join(string(g.name) for g in self.entry.guards)
            lines.append(f"static const char *const {self.own}_guards[] = {{{names}}};\n")
        lines += [f"static int {self.own}_guard(const tc_index *d, int64_t sides[2])", "{", "    (void)d, (void)sides;"]
        for i, g in enumerate(self.entry.guards):
            for side in (g.lhs, g.rhs):
                if not fits(side):
                    raise UserError(f"a side of the guard {g.name!r} can grow beyond 64 bits: {side}",
                                    str(g.loc or ""), LOWER)
            fails = {"==": "!=", ">=": "<"}[g.relation]
            lines += [f"    sides[0] = {self.c(g.lhs)}, sides[1] = {self.c(g.rhs)};",
                      f"    if (sides[0] {fails} sides[1])", f"        return {i};"]
        return "\n".join([*lines, "    return -1;", "}", ""])

    def select(self) -> str:
        variants = self.entry.plan.variants
        assert variants and not variants[-1].when, "the generic variant is last"
        lines = [f"static unsigned {self.own}_select(const tc_index *d)", "{", "    (void)d;"]
        for i, variant in enumerate(variants[:-1]):
            test = " && ".join(f"d[{self.position[name]}] == {size}" for name, size in sorted(variant.when.items()))
            lines += [f"    if ({test})", f"        return {i};"]
        return "\n".join([*lines, f"    return {len(variants) - 1};", "}", ""])

    # -- variants -----------------------------------------------------------------------------------------------
    def variant(self, number: int, variant: Variant) -> str:
        name, program = f"{self.own}_v{number}", variant.program
        where = memory(program, self.target.apart)
        where.bound(self.target.threads, f"the arena of {self.entry.symbol}")
        steps = ", ".join(string(_shown(step.kernel)) for step in program.kernel_steps)
        return "\n".join([
            f"static const char *const {name}_steps[] = {{{steps or '0'}}};\n",
            self.arena(name, where), self.work(name, variant),
            self.steps_writer(self, program, where, self.entry.plan.is_plain(variant)).text(name)])

    def arena(self, name: str, where: Memory) -> str:
        slots = len(where.slots)
        lines = [f"static uint64_t {name}_arena(const tc_index *d, uint64_t threads, uint64_t *offsets)", "{",
                 f"    uint64_t at = {where.temps or 0};" if where.temps is not None else "    uint64_t at = 0;",
                 "    (void)d, (void)threads, (void)offsets;"]
        if where.count:
            lines += [f"    uint64_t unused[{where.count}];", "    offsets = offsets ? offsets : unused;"]
        if slots:
            lines.append(f"    uint64_t ends[{slots}];")
        for i, slot in enumerate(where.slots):
            behind = "0"
            for below in slot.above:
                behind = f"ends[{below}]" if behind == "0" else f"tc_later({behind}, ends[{below}])"
            lines += [f"    offsets[{i}] = {behind};", f"    ends[{i}] = offsets[{i}] + tc_round({self.c(slot.size)});",
                      f"    at = tc_later(at, ends[{i}]);"]
        lines += self.scratch(where)
        for name, size in where.copies:
            lines += [f"    offsets[{where.copy_numbers[name]}] = at;", f"    at += tc_round({self.c(size)});"]
        return "\n".join([*lines, "    return at;", "}", ""])

    def instances(self) -> tuple[str, str]:
        """How often there is each buffer of scratch, and all of a thread together: C text of factors. A thread's
        scratch is one piece of memory for all steps, which stays in its own caches: what another thread wrote would
        have to come from there."""
        return "", " * threads"

    def scratch(self, where: Memory) -> list[str]:
        """Of the arena, behind the temps."""
        lines, number = [], len(where.slots)
        each, all_together = self.instances()
        if where.scratch:
            lines.append("    uint64_t end, room = 0;")
        for group in where.scratch:
            lines.append("    end = 0;")
            for _, _, size in group:
                lines += [f"    offsets[{number}] = at + end;", f"    end += tc_round({self.c(size)}){each};"]
                number += 1
            lines.append("    room = tc_later(room, end);")
        if where.scratch:
            lines += [f"    offsets[{where.room_number}] = room;", f"    at += room{all_together};"]
        return lines

    def work(self, name: str, variant: Variant) -> str:
        """What the core judges a team by."""
        total = program_work(variant.program)
        text = integer(total, {s: f"(uint64_t)d[{self.position[s.name]}]" for s in total.symbols()})
        # a wrapped product only misjudges the team
        text = str(min(total.value, (1 << 62) - 1)) if total.is_const else text
        return (f"static uint64_t {name}_work(const tc_index *d)\n{{\n    (void)d;\n"
                f"    return (uint64_t)({text});\n}}\n")

    def variant_table(self) -> str:
        lines = [f"static const tc_variant {self.own}_variants[] = {{"]
        for i, variant in enumerate(self.entry.plan.built):
            name = f"{self.own}_v{i}"
            barriers = program_barriers(variant.program)
            lines.append(f"    {{{string(variant.name)}, {name}_steps, {variant.threads}, {barriers}, {name}_arena, "
                         f"{name}_work, {name}_run}},")
        return "\n".join([*lines, "};", ""])

    # -- entries ------------------------------------------------------------------------------------------------
    def entries(self) -> str:
        e, base, own = self.entry, self.entry.symbol, self.own
        dims = ", ".join(f"args->{name}" for name in e.dim_names) or "0"
        buffers = ", ".join(f"(void *)args->{name}" for name in e.tensor_names) or "0"
        state = "args->state" if e.plan.states else "0"
        weights = "args->weights" if self.face.external else "0"
        asked = "".join(f"tc_index {name}, " for name in e.dim_names)
        given = ", ".join(e.dim_names) or "0"
        reference = f"&{own}_variants[{e.plan.built.index(e.plan.reference)}]" if e.plan.reference else "0"
        fields = "\n    ".join(f"{field}," for field in self.kernels.function_fields())
        return f"""static tc_status {own}_call(tc_context *context, const tc_view *inputs, const tc_view *outputs,
                     const tc_call_options *options)
{{
    tc_index dims[{max(len(e.dims), 1)}];
    void *buffers[{max(len(e.tensors), 1)}];
    return tc_call_with(context, &{base}_function, inputs, outputs, options, dims, buffers);
}}

TC_PUBLIC const tc_function {base}_function = {{
    .model = &{self.face.model}_model,
    .name = {string(base)},
    .dim_count = {len(e.dims)},
    .input_count = {e.inputs},
    .output_count = {len(e.tensors) - e.inputs},
    .guard_count = {len(e.guards)},
    .variant_count = {len(e.plan.variants)},
    .uses_state = {int(bool(e.plan.states))},
    .max_threads = {self.target.threads},
    .dims = {own}_dims,
    .tensors = {own}_tensors,
    .shape = {own}_shape,
    .guards = {f'{own}_guards' if e.guards else '0'},
    .guard = {own}_guard,
    .select = {own}_select,
    .variants = {own}_variants,
    .reference = {reference},
    {fields}
    .call = {own}_call,
}};

TC_PUBLIC tc_status {base}(tc_context *context, const {base}_args *args)
{{
    if (!args)
        return tc_run_null(context, &{base}_function);
    const tc_index dims[] = {{{dims}}};
    void *const buffers[] = {{{buffers}}};
    return tc_run(context, &{base}_function, dims, buffers, {state}, {weights},
                  args->counters ? &args->counters->{e.symbol} : 0);
}}

TC_PUBLIC size_t {base}_arena_bytes({asked}tc_index {e.threads})
{{
    const tc_index tc_dims[] = {{{given}}};
    return tc_run_arena_bytes(&{base}_function, tc_dims, {e.threads});
}}
"""
