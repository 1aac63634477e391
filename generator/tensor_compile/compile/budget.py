# SPDX-License-Identifier: Apache-2.0
"""Budgets: what a build may use of arena, weights, code and stack, and the bill where it uses more."""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Sequence, TYPE_CHECKING

from ..emit.memory import memory
from ..emit.contraction.micro import LIBRARY
from ..errors import UserError
from ..graph.fold import CONSTANTS
from ..records import dataclass
from . import by_layer
from .by_layer import Layer
from .pack import sources_of

if TYPE_CHECKING:
    from .assemble import Made, Planned


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the bill; bytes."""

    what: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Bill:
    """Bytes, each with what it is made of. arena: of the largest variant, at the upper ends of the dims and with the
    target's largest team; code: of all kernels and the driver; stack: of the deepest call (None where the compiler does
    not tell): the entry and the kernel that needs most, and the runtime between them where that is known."""

    arena: int
    weights: int
    code: int
    stack: int | None
    arena_lines: tuple[Line, ...]
    weights_lines: tuple[Line, ...]
    code_lines: tuple[Line, ...]
    stack_lines: tuple[Line, ...]


def memory_bill(made: Made | Planned) -> Bill:
    """The bill without code and stack, which are 0 and unknown."""
    plan = made.compiled.plan
    target = made.target
    arena = [Line(f"{f.name} {v.name}", memory(v.program, target.apart).bound(target.threads, f"the arena of {f.name}"))
             for f in plan.functions for v in f.variants]
    constants = made.compiled.constants
    stored = [name for name, _, _ in constants.functions[CONSTANTS].results]    # others are parts of these
    ends = [*(plan.packed[name] for name in stored), plan.packed_bytes][1:]
    weights = [Line(" ".join(sources_of(constants, name)) or name, end - plan.packed[name])
               for name, end in zip(stored, ends, strict=True)]
    return Bill(max((line.bytes for line in arena), default=0), plan.packed_bytes, 0, None, tuple(arena),
                tuple(weights),
                (), ())


def bill(made: Made) -> Bill:
    objects = [*made.objects.values(), made.driver]
    code = [Line(o.name, o.code) for o in objects]
    stack = [Line(o.name, o.stack) for o in objects if o.stack is not None]
    micro = max((line.bytes for line in stack[:-1] if line.what.startswith(LIBRARY)), default=0)
    deepest = max((line.bytes for line in stack[:-1]), default=0) + micro   # a kernel may call one of them
    return replace(memory_bill(made), code=sum(line.bytes for line in code), code_lines=tuple(code),
                   stack=deepest + stack[-1].bytes + (made.runtime or 0) if len(stack) == len(objects) else None,
                   stack_lines=(*stack, *([Line("runtime", made.runtime)] if made.runtime is not None else [])))


def check(bill: Bill, made: Made | Planned | None, shown: str, arena: int | None, weights: int | None,
          code: int | None, stack: int | None) -> None:
    """Raises with the bill, largest lines first, where a limit (None: none) is exceeded. made: tells the layers."""
    over: list[str] = []
    for name, used, limit, lines in (
            ("arena", bill.arena, arena, bill.arena_lines), ("weights", bill.weights, weights, bill.weights_lines),
            ("code", bill.code, code, bill.code_lines), ("stack", bill.stack, stack, bill.stack_lines)):
        if limit is None or (used is not None and used <= limit):
            continue
        shown_use = f"{used} bytes" if used is not None else "an amount that is not known"
        over.append(f"{shown}: error: --max-{name}: {shown_use} needed, {limit} allowed")
        of = by_layer.owners(made) if made is not None and name in ("code", "stack") else {}
        total: Counter[str] = Counter()
        for line in lines:
            total[line.what] += line.bytes
        over += _table([(what, size, of.get(what, ""))
                        for what, size in sorted(total.items(), key=lambda item: (-item[1], item[0]))])
        if name == "arena" and made is not None:
            over += _arena(*by_layer.largest_arena(made), limit)
        if name == "arena" and any(line.bytes <= limit for line in lines):
            over.append("  hint: a variant of fixed sizes fits: where the program calls with no others, write them in "
                        "the model instead of tc_dynamic")
    if over:
        raise Over("\n".join(over))


def _table(rows: Sequence[tuple[str, int, str]], indent: str = "    ") -> list[str]:
    width = max((len(what) for what, _, _ in rows), default=0)
    return [f"{indent}{what:<{width}}  {size:>10}" + (f"  {of}" if of else "") for what, size, of in rows]


def _arena(variant: str, layers: Sequence[Layer], limit: int) -> list[str]:
    """The layers that need more than the limit, in the order of a call, and what the largest of them needs."""
    if not layers:
        return []
    most = max(layers, key=lambda layer: layer.bytes)
    large = [layer for layer in layers if layer.bytes > limit]
    lines = [f"  layers of {variant} that need more while they run: {len(large)} of {len(layers)}",
             *_table([(layer.what, layer.bytes, "") for layer in large])]
    return [*lines, f"  {most.what} needs most:", *_table([(what, size, "") for what, size in most.parts])]


class Over(UserError):
    def __str__(self) -> str:
        return self.message
