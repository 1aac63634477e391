# SPDX-License-Identifier: Apache-2.0
"""The C interface of a model: what its functions, arguments and counters are called. Header and driver read it."""
from __future__ import annotations

from typing import Iterable

from ..errors import UserError
from ..graph.ir import DimDecl, Guard
from ..loops.program_ir import FunctionPlan, ModelPlan
from ..loops.scalar_ir import Buffer
from ..records import dataclass
from .cwriter import identifier, macro

MAX_RANK = 8  # TC_MAX_RANK


@dataclass(frozen=True, slots=True)
class Entry:
    """One function. symbol: of the typed entry; fields: C names in the order dims, inputs, outputs; dims in the order
    of the arguments; sized: positions of the dims that have variants of their own."""

    plan: FunctionPlan
    symbol: str
    dims: tuple[DimDecl, ...]
    dim_names: tuple[str, ...]
    tensors: tuple[Buffer, ...]
    tensor_names: tuple[str, ...]
    guards: tuple[Guard, ...]
    sized: tuple[int, ...]

    @property
    def inputs(self) -> int:
        return len(self.plan.inputs)

    @property
    def threads(self) -> str:
        """What a parameter beside the dims is called."""
        name = "threads"
        while name in self.dim_names:
            name += "_"
        return name

    @property
    def counters(self) -> tuple[str, ...]:
        """The fields of its counters block, all uint64_t, in the core's order."""
        return ("calls", "generic", *(f"miss_{self.dim_names[i]}" for i in self.sized),
                *(f"guard_{i}" for i in range(len(self.guards))))

    def sizes(self, dim: int) -> tuple[int, ...]:
        name = self.dims[dim].sym.name
        return tuple(sorted({v.when[name] for v in self.plan.variants if name in v.when}))


@dataclass(frozen=True, slots=True)
class Interface:
    """model, prefix: the model's name as identifier and as start of macros."""

    model: str
    prefix: str
    entries: tuple[Entry, ...]
    has_state: bool
    external: bool
    has_weights: bool


def interface(plan: ModelPlan, external: bool) -> Interface:
    """external: weights are an argument of every call."""
    model = identifier(plan.model)
    has_weights = plan.packed_bytes > 0
    entries = tuple(_entry(plan, f, model, external and has_weights) for f in plan.functions)
    made = Interface(model, macro(plan.model), entries, bool(plan.states), external and has_weights, has_weights)
    _tell_apart(plan.model, made)
    return made


def _tell_apart(name: str, face: Interface) -> None:
    """No two things that the header declares have one name. What a driver keeps to itself starts with tcd_."""
    taken: dict[str, str] = {}

    def take(what: str, names: Iterable[str]) -> None:
        for c_name in names:
            other = taken.setdefault(c_name, what)
            if other != what:
                raise UserError(f"{name}: {what} and {other} would both be {c_name} in C",
                                hint="give the function another name")

    take("the model", (f"{face.model}_{part}" for part in ("model", "counters")))
    if face.has_state:
        take("the model's state",
             (f"{face.model}_state_{verb}" for verb in ("init", "reset", "copy", "export", "import")))
    if face.external:
        take("the model's weights", (f"{face.model}_weights_{verb}" for verb in ("check", "open")))
    for e in face.entries:
        sizes = (f"{tensor}_bytes" for tensor in e.tensor_names)
        parts = (f"{e.symbol}_{part}" for part in ("args", "function", "arena_bytes", *sizes))
        take(f"function {e.plan.name!r}", (e.symbol, *parts))


def _entry(plan: ModelPlan, function: FunctionPlan, model: str, external: bool) -> Entry:
    symbol = model if function.name == plan.model else f"{model}_{identifier(function.name)}"
    dims = tuple(function.dims)
    tensors = (*function.inputs, *function.outputs)
    taken: dict[str, str] = {"counters": "the counters"}
    if function.states:
        taken["state"] = "the state"
    if external:
        taken["weights"] = "the weights"
    names = []
    for kind, name in [("dim", d.sym.name) for d in dims] + [(b.kind, b.name) for b in tensors]:
        field, what = identifier(name), f"{kind} {name!r}"
        if field in taken:
            raise UserError(f"{function.name}: {what} and {taken[field]} would both be the argument {field!r}",
                            hint="give one of them another name")
        if field.startswith(macro(model) + "_") and field == field.upper():
            raise UserError(f"{function.name}: {what} is named as the macros of the model's header are",
                            hint="give it another name")
        taken[field] = what
        names.append(field)
    for buffer in tensors:
        assert len(buffer.shape) <= MAX_RANK, buffer.name  # capture's own limit
    sized = tuple(i for i, d in enumerate(dims) if any(d.sym.name in v.when for v in function.variants))
    return Entry(function, symbol, dims, tuple(names[:len(dims)]), tensors, tuple(names[len(dims):]),
                 tuple(function.guards), sized)
