# SPDX-License-Identifier: Apache-2.0
"""What `check` is asked for, and the runs that this makes: functions at sizes, on files or random inputs."""
from __future__ import annotations

from dataclasses import field
from typing import Mapping, Sequence

from ..errors import UserError
from ..graph.ir import Loc
from ..loops.program_ir import FunctionPlan
from ..records import dataclass
from . import chosen, given
from .capture_run import Captured
from .given import Case, Given
from .judge import NEAR


@dataclass(frozen=True, slots=True)
class Request:
    """dims: the sizes to check at, each a mapping by dim name; () for every specialized combination and a generic one,
    or those of the shapes of the inputs. cases: the user's own inputs and outputs; () for random inputs. seed: of
    these, and of inputs that a case lacks; None: it must have all. state: the user's file of it, "" for a random one.
    names: the model's name of a tensor -> the files', where they differ. externs: C sources of the functions that the
    model calls with tc_extern. wrapper: the words that start a program of the target here. save: where the outputs are
    written, "" nowhere."""

    function: str
    dims: tuple[dict[str, int], ...]
    cases: tuple[Case, ...]
    rtol: float | None
    atol: float | None
    seed: int | None
    threads: int
    wrapper: tuple[str, ...]
    save: str = ""
    externs: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    state: str = ""

    def bound(self, otherwise: str) -> str:
        """RTOL,ATOL as the user has them, the one that is not named is the usual one; else `otherwise`."""
        if self.rtol is None and self.atol is None:
            return otherwise
        rtol, atol = NEAR.split(",")
        return f"{rtol if self.rtol is None else self.rtol},{atol if self.atol is None else self.atol}"


@dataclass(frozen=True, slots=True)
class Run:
    """One function at some sizes. inputs, expect, state: the user's files, None for no outputs and for a state that is
    made up. made_up: inputs that no file has."""

    function: FunctionPlan
    sizes: dict[str, int]
    inputs: Given
    made_up: Sequence[str]
    expect: Given | None = None
    state: Given | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """The files of a case."""

    case: Case
    inputs: Given
    expect: Given | None


def opened(case: Case, names: Mapping[str, str], shown: str) -> Opened:
    """shown: the model, which is named where a tensor is in no file."""
    expect = None
    if case.expect or case.arrays_expected:
        expect = Given.of(case.expect, case.arrays_expected, names, ", ".join(case.arrays_expected.values()))
    return Opened(case, Given.of(case.inputs, case.arrays, names, shown), expect)


def runs_of(function: FunctionPlan, request: Request, cases: Sequence[Opened], captured: Captured, several: bool
          ) -> list[Run]:
    """Of the user's cases those that have the function's inputs, where there are other functions (several)."""
    wanted = [b.name for b in function.inputs]
    if not request.cases:
        nothing = Given(captured.shown, {}, request.names)
        return [Run(function, sizes, nothing, wanted)
                for sizes in chosen.sizes_for(function, request.dims, captured)]
    found = []
    named = {name: size for sizes in request.dims for name, size in sizes.items()}
    for files in cases:
        case, inputs = files.case, files.inputs
        if several and not inputs.has(function.inputs):
            continue
        given.refuse_arrays("--input", case.arrays, function, function.inputs, captured.shown)
        given.refuse_arrays("--expect", case.arrays_expected, function, function.outputs, captured.shown)
        left = inputs.missing(function.inputs)
        if request.seed is None and not case.inputs:
            given.refuse_missing(left, function, case.arrays, captured.shown)
        made_up = [] if request.seed is None else left
        found.append(Run(function, given.sizes(function, inputs, named, captured, made_up), inputs, made_up,
                         files.expect))
    return found


def not_compared(wanted: Run, taps: Mapping[str, Loc | None], others: set[str]) -> list[str]:
    """Tensors of the expected outputs that nothing is compared with: other functions' outputs, and where the model is
    tapped, parts that are not. Raises where they can only be mistaken names."""
    if not wanted.expect:
        return []
    own = [b.name for b in wanted.function.outputs]
    left = wanted.expect.besides([*own, *taps])
    strange = [name for name in left if name not in others]
    missing = [name for name in own if wanted.expect.find(name) is None]
    if strange and (not taps or len(missing) == len(own)):
        one = missing[0] if len(missing) == 1 else "OUTPUT"
        parts = "" if taps or len(strange) <= len(missing) else "; a part of the model needs --tap NAME"
        raise UserError(f"no output is named {', '.join(strange)}", wanted.expect.shown,
                        f"the outputs are {', '.join(own)}; --map {one}={strange[0]} compares them{parts}")
    return left
