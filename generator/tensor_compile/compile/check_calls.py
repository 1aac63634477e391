# SPDX-License-Identifier: Apache-2.0
"""One run of `check`: its files, and the programs that run on them, the interpreter and that of the compiled model."""
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable, Sequence

from ..records import dataclass
from . import assemble, given, memory, model_program, random_inputs
from .assemble import Made
from .check_runs import Request, Run
from .jobs import run_all
from .model_program import Program


@dataclass(frozen=True, slots=True)
class Tools:
    """data: tc-data. folder: where the graphs lie, captured.tcg and reference.tcg, and the files of a run."""

    data: Path
    interpreter: Path
    program: Program
    folder: Path


@dataclass(frozen=True, slots=True)
class Calls:
    """Of one run. inputs: their file; expect: that of the expected outputs, None for none; state: that of the state
    before the call, None where the model has none. taps: the parts of the model whose results are outputs, with their
    places. shown: the model."""

    made: Made
    tools: Tools
    run: Run
    inputs: Path
    expect: Path | None
    state: Path | None
    taps: dict[str, str]
    threads: int
    shown: str

    @property
    def symbol(self) -> str:
        """The function's C name."""
        return assemble.entry_symbols(self.made.compiled.plan)[self.run.function.name]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of the files of a call's results end in: the state behind the call lies beside the outputs."""
        return ("",) if self.state is None else ("", "-state")

    def interpret(self, *more: str, out: Path, graph: str = "captured") -> str:
        """What the interpreter prints."""
        words = ["--function", self.run.function.name, "--inputs", str(self.inputs), "--weights-dir", "/"]
        if self.run.sizes:
            words += ["--dims", ",".join(f"{k}={v}" for k, v in self.run.sizes.items())]
        if self.state is not None:
            words += ["--state", str(self.state)]
        after = () if self.state is None else ("--state-out", f"{out}-state")
        with self.made.captured.errors():
            return model_program.run([str(self.tools.interpreter), str(self.tools.folder / f"{graph}.tcg"), *words,
                                      *more, *after, "--out", str(out)])

    def out(self, cpu: str) -> Path:
        """Where the results of the compiled model lie."""
        return self.tools.folder / f"out-{cpu}"

    def compiled(self, cpu: str) -> subprocess.CompletedProcess[str]:
        """A call of the compiled model. cpu: an instruction set, "reference" or a device."""
        states = ("-", "-") if self.state is None else (str(self.state), f"{self.out(cpu)}-state")
        return self.tools.program.call(self.symbol, self.inputs, self.out(cpu), cpu, self.threads, self.run.sizes,
                                       states, self.shown)


def prepared(made: Made, wanted: Run, request: Request, tools: Tools, shown: str) -> Calls:
    """Writes the files of the run."""
    function, sizes, states = wanted.function, wanted.sizes, made.compiled.plan.states
    seed = 1 if request.seed is None else request.seed
    inputs = random_inputs.inputs_file(made.compiled, function, sizes, wanted.inputs, wanted.made_up, seed, tools.data,
                                       tools.folder / "inputs")
    taps = {name: made.captured.as_given(str(loc or "no place known"))
            for name, loc in made.compiled.taps.get(function.name, {}).items()}
    expect = None
    if wanted.expect is not None:
        expect = wanted.expect.renamed([*(b.name for b in function.outputs), *taps], tools.folder / "expect")
    state = tools.folder / "state" if states else None
    if state is not None and wanted.state is not None:
        given.write_state(wanted.state, states, state)
    elif state is not None:
        # counters and positions of a state start as zero: what they may be is the model's secret
        model_program.run([str(tools.data), "random", str(seed + 1), str(state),
                           *(f"{b.name}:{b.dtype}:1:{'x'.join(map(str, b.shape))}" for b in states)])
    return Calls(made, tools, wanted, inputs, expect, state, taps, request.threads, shown)


def side_by_side(work: Sequence[Callable[[], object]], made: Made, jobs: int | None) -> None:
    """Runs of the interpreter and of the model's program."""
    # the interpreter in double precision holds weights in twice their size
    each = max(2 * sum(path.stat().st_size for path in made.weight_files), memory.largest_child())
    run_all(lambda one: one(), list(work), jobs, most=memory.fitting(each))
