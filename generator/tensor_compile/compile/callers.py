# SPDX-License-Identifier: Apache-2.0
"""A model that is called for each of the user's samples: compiled for this processor, or run by the interpreter."""
from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from ..errors import UserError
from ..graph.text import print_module
from ..loops.program_ir import FunctionPlan
from ..quantize.states import State
from . import assemble, chosen, files, host_programs, model_program, processor, tensor_files
from .assemble import Planned
from .cache import Cache
from .capture_run import Captured
from .options import Options
from .progress import Progress
from .samples import Samples


class Caller:
    """captured: the graph where it is there already. folder: for its files."""

    made: Planned

    def __init__(self, options: Options, folder: Path, function: str):
        self.options, self.folder, self.function = options, folder, function
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def plan(self) -> FunctionPlan:
        return chosen.functions(self.made, self.options.shown, self.function)[0]

    def call(self, inputs: Path, out: Path, sizes: dict[str, int], threads: int) -> None:
        raise NotImplementedError

    def over(self, samples: Samples, threads: int, states: Sequence[State] = ()) -> Iterator[Path]:
        """The outputs of each call; the file is the next call's, too. states: zeros before the first call."""
        inputs, out, zeros = (self.folder / name for name in ("inputs", "out", "zeros"))
        tensor_files.write_zeros(zeros, {s.before: (s.dtype, s.shape) for s in states})
        before = zeros, tensor_files.read(zeros, str(zeros))
        for call in samples.calls:
            self.call(inputs, out, call.write(inputs, before), threads)
            yield out
            if states:
                left = tensor_files.read(out, str(out))
                before = out, {s.before: left[s.after] for s in states}


class CompiledCaller(Caller):
    def __init__(self, options: Options, captured: Captured | None, cache: Cache, folder: Path, progress: Progress,
                 function: str = ""):
        super().__init__(options, folder, function)
        _, _, target, _ = assemble.toolchains(options)
        made = assemble.run(processor.best_only(options, target), progress, captured)
        self.made = made
        self.symbol = assemble.entry_symbols(made.compiled.plan)[self.plan.name]
        self.program = model_program.build(made, options, cache, folder, [], ())

    def call(self, inputs: Path, out: Path, sizes: dict[str, int], threads: int) -> None:
        result = self.program.call(self.symbol, inputs, out, "best", threads, sizes, shown=self.options.shown)
        if result.returncode:
            raise UserError(f"{self.symbol}: {result.stderr.strip() or f'exit code {result.returncode}'}",
                            self.options.shown)


class InterpretedCaller(Caller):
    def __init__(self, options: Options, captured: Captured | None, cache: Cache, folder: Path, progress: Progress,
                 function: str = ""):
        super().__init__(options, folder, function)
        self.made = assemble.plan(options, progress, captured)
        self.graph = folder / "graph.tcg"
        module = assemble.placed(self.made.compiled.reference, self.made)
        self.graph.write_bytes(files.encoded(print_module(module)))
        self.program = host_programs.interpreter(self.made.host, cache, options.jobs)

    def call(self, inputs: Path, out: Path, sizes: dict[str, int], threads: int) -> None:
        dims = ["--dims", ",".join(f"{k}={v}" for k, v in sizes.items())] if sizes else []
        with self.made.captured.errors():
            model_program.run([str(self.program), str(self.graph), "--function", self.plan.name, "--inputs",
                               str(inputs), "--weights-dir", "/", *dims, "--out", str(out)])
