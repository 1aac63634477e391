# SPDX-License-Identifier: Apache-2.0
"""The generated header: the typed interface of a model, and everything a user must know to call it."""
from __future__ import annotations

from ..errors import UserError
from ..graph.dtypes import DTYPES
from ..loops.plan import bytes_of
from ..loops.program_ir import ModelPlan, Variant
from ..loops.scalar_ir import Buffer
from ..target import Target
from .cwriter import comment, largest, macro
from .interface import Entry, Interface, interface
from .memory import memory
from .weights import ABI, HEADER_BYTES

STATE_HEADER = 64
COMPILED_OUT = "{0} bytes at the upper ends of the dims exceed the limit of {1}: ask {2}_arena_bytes"


def emit_header(plan: ModelPlan, target: Target, *, stem: str = "model", embed: bool = True,
                max_arena: int | None = None) -> str:
    """stem: of the file it will be. embed: the weights are in the object, not an argument. Arena bounds above max_arena
    bytes get no macro."""
    face = interface(plan, not embed)
    guard = f"TENSOR_COMPILE_MODEL_{face.prefix}_H"
    parts = [f"""/* {comment(stem)}.h: model {comment(plan.model)}, compiled by tensor-compile for target {comment(target.name)}. Do not edit.
 *
 * Memory is the caller's; nothing here allocates or keeps a pointer beyond the call. Tensors are dense and row-major, a
 * bool is a byte 0 or 1. Pointers need their type's natural alignment unless said otherwise; pointers to tensors
 * without elements may be NULL. Outputs must overlap nothing else; inputs may overlap each other.
 *
 * Thread safety: a call uses its context, arena{', state' if face.has_state else ''} and outputs alone. Calls on different ones may run at the same time
 * in any threads and may share inputs{' and weights' if face.external else ''}.
 */
#ifndef {guard}
#define {guard}

#include <tensor_compile/runtime.h>

#if TC_ABI != {ABI}
#error "this model was compiled for another version of tensor-compile: rebuild it"
#endif
"""]
    parts.append(_limits(plan, face, target, max_arena))
    parts.append('#ifdef __cplusplus\nextern "C" {\n#endif\n')
    parts.append(declarations(plan, face, target))
    if face.has_state:
        parts.append(_state_functions(face))
    if face.external:
        parts.append(_weights_functions(face))
    parts.append("#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    return "\n".join(parts)


def declarations(plan: ModelPlan, face: Interface, target: Target) -> str:
    """Types and prototypes; the driver starts with the same text, so the two cannot differ."""
    parts = [f"/* The model, for tc_state_… and tc_weights_…. */\nextern const tc_model {face.model}_model;\n"]
    counters = [(e.symbol, field, text) for e in face.entries for field, text in zip(e.counters, _counter_texts(e))]
    parts.append(f"""/* Optional counts of calls, owned by the caller: start with all zero; not to be shared by concurrent calls. */
typedef struct {face.model}_counters {{""")
    for entry in face.entries:
        parts.append("    struct {")
        parts += [f"        uint64_t {field}; /* {comment(text)} */"
                  for symbol, field, text in counters if symbol == entry.symbol]
        parts.append(f"    }} {entry.symbol};")
    parts.append(f"}} {face.model}_counters;\n")
    for entry in face.entries:
        parts.append(_arguments(face, entry))
        parts.append(_prototypes(entry, target))
    return "\n".join(parts)


def _limits(plan: ModelPlan, face: Interface, target: Target, max_arena: int | None) -> str:
    lines: list[str] = []
    declared: dict[str, tuple[int, int | None, int]] = {}
    for entry in face.entries:
        for dim in entry.dims:
            declared[dim.sym.name] = (dim.sym.lo, upper_end(dim.sym.hi, target), dim.sym.divisor)
    for name, (low, high, divisor) in declared.items():
        base = f"{face.prefix}_{macro(name)}"
        lines += [f"/* Dim {comment(name)}: its range and what divides it. */", f"#define {base}_MIN {low}",
                  f"#define {base}_MAX {high}", f"#define {base}_DIVISOR {divisor}", ""]
    for entry in face.entries:
        lines += _tensor_limits(entry, face)
    total, whole = 0, True
    for entry in face.entries:
        bounds = [(v, memory(v.program, target.apart).bound(target.threads, f"the arena of {entry.symbol}"))
                  for v in entry.plan.variants]
        bound = max((b for _, b in bounds), default=0)
        total = max(total, bound)
        base = macro(entry.symbol)
        where = "of the device's memory" if target.apart else \
            f"and up to {target.threads} thread{'s' if target.threads > 1 else ''}"
        lines.append(f"/* Arena of {entry.symbol} in bytes, {64}-byte aligned: enough for all sizes of the dims "
                     f"{where}. */")
        if max_arena is None or bound <= max_arena:
            lines.append(f"#define {base}_ARENA_BYTES {max(bound, 64)}")
        else:
            whole = False
            lines.append(f"/* {base}_ARENA_BYTES: {COMPILED_OUT.format(bound, max_arena, entry.symbol)}. */")
        lines += [f"#define {base}_ARENA_BYTES_{variant_macro(v)} {max(b, 64)}" for v, b in bounds if v.when]
        lines.append("")
        if entry.plan.reference is not None:
            lines += _reference_limit(entry, target, max_arena)
    if all(e.symbol != face.model for e in face.entries):
        lines.append("/* Arena that serves every function. */")
        lines.append(f"#define {face.prefix}_ARENA_BYTES {max(total, 64)}" if whole else
                     f"/* {face.prefix}_ARENA_BYTES: not defined, as that of a function is not. */")
        lines.append("")
    if face.has_state:
        lines += [f"/* Bytes of a state buffer, {64}-byte aligned. */",
                  f"#define {face.prefix}_STATE_BYTES {plan.state_bytes + STATE_HEADER}", ""]
    if face.external:
        lines += ["/* Bytes of the weights file. */",
                  f"#define {face.prefix}_WEIGHTS_BYTES {plan.packed_bytes + HEADER_BYTES}", ""]
    return "\n".join(lines)


def _tensor_limits(entry: Entry, face: Interface) -> list[str]:
    """A macro for the bytes of each tensor. Names that differ in case alone would share one."""
    where = ", at the upper ends of the dims" if entry.dims else ""
    lines = [f"/* Bytes of the inputs and outputs of {entry.symbol}{where}. */"]
    taken = {"ARENA": "the arena"}
    if entry.symbol == face.model:
        taken |= {name: what for name, what, there in (("STATE", "the state", face.has_state),
                                                       ("WEIGHTS", "the weights", face.external)) if there}
    for buffer, name in zip(entry.tensors, entry.tensor_names):
        short, what = name.upper(), f"{buffer.kind} {buffer.name!r}"
        full = f"{macro(entry.symbol)}_{short}_BYTES"
        if short in taken:
            raise UserError(f"{entry.plan.name}: {what} and {taken[short]} would both be the macro {full}",
                            hint="give one of them another name")
        taken[short] = what
        lines.append(f"#define {full} {largest(bytes_of(buffer), what)}")
    return [*lines, ""]


def _reference_limit(entry: Entry, target: Target, max_arena: int | None) -> list[str]:
    assert entry.plan.reference is not None
    bound = memory(entry.plan.reference.program, target.apart).bound(target.threads,
                                                                     f"the reference's arena of {entry.symbol}")
    name = f"{macro(entry.symbol)}_ARENA_BYTES_REFERENCE"
    text = f"#define {name} {max(bound, 64)}" if max_arena is None or bound <= max_arena else \
        f"/* {name}: {bound} bytes exceed the limit of {max_arena}: ask tc_function_arena_bytes. */"
    return ["/* The same for calls with TC_STANCE_REFERENCE. */", text, ""]


def upper_end(high: object, target: Target) -> int:
    """The largest value of a dim that tc_index holds."""
    most = (1 << target.index_bits - 1) - 1
    return min(high, most) if isinstance(high, int) else most


def variant_macro(variant: Variant) -> str:
    return "_".join(f"{macro(name)}_{size}" for name, size in sorted(variant.when.items()))


def _counter_texts(entry: Entry) -> list[str]:
    texts = ["calls that passed the checks of their arguments", "of these, calls of the generic variant"]
    for i in entry.sized:
        sizes = ", ".join(map(str, entry.sizes(i)))
        texts.append(f"of these, calls in which {entry.dims[i].sym.name} was none of {sizes}")
    return texts + [f"calls refused by the guard {g.name}" for g in entry.guards]


def argument_type(dtype: str) -> str:
    """As in the argument struct: 16-bit floats are bits, under names that say which (runtime.h)."""
    about = DTYPES[dtype]
    return f"tc_{dtype}" if about.is_float and about.bytes == 2 else about.c_type


def _type_text(buffer: Buffer) -> str:
    return f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def _bytes_text(buffer: Buffer) -> str:
    return f"{bytes_of(buffer)} bytes"


def _arguments(face: Interface, entry: Entry) -> str:
    lines = [f"/* Arguments of {entry.symbol}. What is not set is 0 or NULL. */",
             f"typedef struct {entry.symbol}_args {{"]
    for i, (dim, name) in enumerate(zip(entry.dims, entry.dim_names)):
        high = dim.sym.hi if isinstance(dim.sym.hi, int) else "unbounded"
        text = f"{dim.sym.lo}..{high}"
        if dim.sym.divisor != 1:
            text += f", a multiple of {dim.sym.divisor}"
        if entry.sizes(i):
            text += f"; specialized for {', '.join(map(str, entry.sizes(i)))}"
        if needs := [g.name for g in entry.guards if dim.sym in (g.lhs - g.rhs).symbols()]:
            text += f"; needs {' and '.join(needs)}"
        lines.append(f"    tc_index {name}; /* {comment(text)} */")
    for i, (buffer, name) in enumerate(zip(entry.tensors, entry.tensor_names)):
        const, role = ("const ", "input") if i < entry.inputs else ("", "output")
        lines.append(f"    {const}{argument_type(buffer.dtype)} *{name}; "
                     f"/* {role} {comment(_type_text(buffer))}: {comment(_bytes_text(buffer))} */")
    if entry.plan.states:
        lines.append(f"    void *state; /* {face.prefix}_STATE_BYTES, 64-byte aligned, from {face.model}_state_init; "
                     f"{'read and written' if _writes_state(entry) else 'only read'} */")
    if face.external:
        lines.append(f"    const void *weights; /* {face.prefix}_WEIGHTS_BYTES of a weights file, 64-byte aligned */")
    lines += [f"    {face.model}_counters *counters; /* NULL: not counted */", f"}} {entry.symbol}_args;", ""]
    return "\n".join(lines)


def _writes_state(entry: Entry) -> bool:
    for variant in entry.plan.variants:
        for step in variant.program.kernel_steps:
            for store in step.kernel.stores:
                buffer = variant.program.buffers.get(store.buffer)
                if buffer is not None and buffer.kind == "state":
                    return True
    return False


def _prototypes(entry: Entry, target: Target) -> str:
    inputs = ", ".join(b.name for b in entry.tensors[:entry.inputs])
    outputs = ", ".join(b.name for b in entry.tensors[entry.inputs:])
    dims = "".join(f"tc_index {name}, " for name in entry.dim_names)
    guards = "".join(f"\n * Guard, else TC_STATUS_GUARD_FAILED: {comment(g.name)}." for g in entry.guards)
    asked = "; 0 where the dims are out of range" if entry.dims else ""
    return f"""/* Computes {comment(outputs)}{f' from {comment(inputs)}' if inputs else ''}. A status but TC_STATUS_OK is explained in context->error; what
 * each one leaves untouched is said at tc_status.{guards} */
tc_status {entry.symbol}(tc_context *context, const {entry.symbol}_args *args);
{_resident(entry) if target.apart else ""}
/* The function, for tc_call. */
extern const tc_function {entry.symbol}_function;

/* Bytes of arena that one call needs with a team of up to `{entry.threads}`{asked}. */
size_t {entry.symbol}_arena_bytes({dims}tc_index {entry.threads});
{_tensor_functions(entry)}"""


def _resident(entry: Entry) -> str:
    state = ", state (tc_cuda_upload of an initialised one)" if entry.plan.states else ""
    return f"""
/* The same with tensors{state} in the memory of the context's device, aligned to 16 bytes. The work goes
 * to `stream` (a CUstream or cudaStream_t) and is not waited for; tc_cuda_finish tells of indices out of range, for which
 * outputs and state are then undefined. */
tc_status {entry.symbol}_cuda(tc_context *context, const {entry.symbol}_args *args, void *stream);
"""


def _tensor_functions(entry: Entry) -> str:
    """One for every tensor whose size depends on dims; all take the dims of the function."""
    sized = [(i, name) for i, (b, name) in enumerate(zip(entry.tensors, entry.tensor_names)) if b.elements.symbols()]
    dims = ", ".join(f"tc_index {name}" for name in entry.dim_names)
    functions = [f"""TC_HEADER_FUNCTION size_t {entry.symbol}_{name}_bytes({dims})
{{
    const tc_index tc_dims[] = {{{", ".join(entry.dim_names)}}};
    return tc_function_tensor_bytes(&{entry.symbol}_function, {i}, tc_dims);
}}
""" for i, name in sized]
    return "\n".join(["\n/* Bytes of tensors at sizes; 0 where the dims are out of range. */",
                      *functions]) if sized else ""


def _state_functions(face: Interface) -> str:
    m = face.model
    return f"""/* State: a buffer of {face.prefix}_STATE_BYTES, see tc_state_… in runtime.h. reset makes a used one new. */
TC_HEADER_FUNCTION tc_status {m}_state_init(void *state)
{{
    return tc_state_init(&{m}_model, state);
}}

TC_HEADER_FUNCTION tc_status {m}_state_reset(void *state)
{{
    return tc_state_init(&{m}_model, state);
}}

TC_HEADER_FUNCTION tc_status {m}_state_copy(void *to, const void *from)
{{
    return tc_state_copy(&{m}_model, to, from);
}}

TC_HEADER_FUNCTION tc_status {m}_state_export(const void *state, const char *name, void *data, size_t bytes)
{{
    return tc_state_export(&{m}_model, state, name, data, bytes);
}}

TC_HEADER_FUNCTION tc_status {m}_state_import(void *state, const char *name, const void *data, size_t bytes)
{{
    return tc_state_import(&{m}_model, state, name, data, bytes);
}}
"""


def _weights_functions(face: Interface) -> str:
    m = face.model
    return f"""/* Checks a weights file in memory ({face.prefix}_WEIGHTS_BYTES) before it is used as args->weights. */
TC_HEADER_FUNCTION tc_status {m}_weights_check(const void *weights, size_t bytes)
{{
    return tc_weights_check(&{m}_model, weights, bytes);
}}

/* With tensor_compile/hosted.h: maps a weights file, see tc_weights_open. */
#define {m}_weights_open(file, path, verify) tc_weights_open((file), &{m}_model, (path), (verify))
"""
