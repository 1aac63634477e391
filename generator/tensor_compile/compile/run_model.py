# SPDX-License-Identifier: Apache-2.0
"""`run`: one call of a model with the user's tensors."""
from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import OptionError, UserError
from ..loops.program_ir import FunctionPlan
from ..loops.scalar_ir import Buffer
from ..records import dataclass
from . import assemble, chosen, files, given, model_program, numpy_files, processor, random_inputs, tensor_files
from .assemble import Made
from .given import Given
from .options import Options
from .progress import Progress


@dataclass(frozen=True, slots=True)
class Request:
    """inputs: a file of tensors, "" for none; arrays: .npy files of inputs, by name; seed: of inputs that no file has,
    None where there must be none; dims: sizes that the user named; names: the model's name of a tensor -> the file's;
    out, state_out: where outputs and state are written, "" nowhere; arrays_out: .npy files of outputs, by name; state:
    what it is before, "" for zero."""

    function: str
    inputs: str
    dims: Mapping[str, int]
    out: str
    state: str = ""
    state_out: str = ""
    threads: int = 1
    wrapper: tuple[str, ...] = ()
    externs: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, str] = field(default_factory=dict)
    arrays_out: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    def given(self, shown: str) -> Given:
        """The inputs of files. shown: the model, which is named where no file is."""
        return Given.of(self.inputs, self.arrays, self.names, shown)


def run(options: Options, request: Request) -> int:
    request.given(options.shown)     # what is wrong with a file is said before the model is built
    if request.state:
        Given.read(request.state, {})
    cache = options.open_cache()
    with Progress() as progress, cache.scratch() as scratch:
        _, _, target, _ = assemble.toolchains(options)
        model_program.warn_fewer(options, request.threads, target)
        made = assemble.run(processor.best_only(options, target), progress)
        function = function_of(made, options.shown, request)
        _require_outputs(function, made.compiled.plan.states, request, options.shown)
        folder = Path(scratch)
        data = model_program.data_tool(made, cache)
        inputs, sizes = inputs_of(function, request, made, folder, data)
        before, after = states(made, request, folder)
        _, externs = model_program.extern_sources(made, options.shown, request.externs)
        program = model_program.build(made, options, cache, folder, externs, request.wrapper)
        progress.say("")
        out = folder / "out"
        symbol = assemble.entry_symbols(made.compiled.plan)[function.name]
        result = program.call(symbol, inputs, out, "best", request.threads, sizes, (before, after), options.shown)
        if result.returncode:
            at = ", ".join(f"{k}={v}" for k, v in sizes.items())
            raise UserError(f"{symbol}{f' at {at}' if at else ''}: "
                            f"{result.stderr.strip() or f'exit code {result.returncode}'}", options.shown)
        print(model_program.run([str(data), "show", str(out), *(b.name for b in function.outputs)]), end="")
        results = tensor_files.read(out, str(out))
        numpy_files.write_tensors(request.out, out, folder / "archive")
        for name, file in request.arrays_out.items():
            files.write(Path(file), numpy_files.array(out, results[name]))
        numpy_files.write_tensors(request.state_out, Path(after), folder / "archive")
    return 0


def _require_outputs(function: FunctionPlan, states: Sequence[Buffer], request: Request, shown: str) -> None:
    """Raises where an output that is to be written is none, or it or a state of a dtype that its file cannot have.
    states: of all functions, which one file holds."""
    outputs = {b.name: b.dtype for b in function.outputs}
    given.refuse_arrays("--output", request.arrays_out, function, function.outputs, shown)
    for name, file in request.arrays_out.items():
        numpy_files.require_writable(name, outputs[name], file)
    numpy_files.require_archivable(request.out, function.outputs)
    numpy_files.require_archivable(request.state_out, states)


def function_of(made: Made, shown: str, request: Request) -> FunctionPlan:
    """The one that was named; else the only one, or the only one whose inputs the files have."""
    found = chosen.functions(made, shown, request.function)
    if len(found) > 1 and (request.inputs or request.arrays):
        inputs = request.given(shown)
        found = [f for f in found if inputs.has(f.inputs)] or found
    if len(found) > 1:
        symbols = assemble.entry_symbols(made.compiled.plan)
        raise OptionError("the model has several functions", shown,
                          f"name one: --function {', '.join(symbols[f.name] for f in found)}")
    return found[0]


def inputs_of(function: FunctionPlan, request: Request, made: Made, folder: Path, data: Path
              ) -> tuple[Path, dict[str, int]]:
    """The file of the inputs under the model's names, and the size of every dim. data: tc-data."""
    captured, path = made.captured, folder / "inputs"
    for name in request.dims:
        if name not in [d.sym.name for d in function.dims]:
            raise OptionError(f"--dims: {function.name} has no dim {name!r}", captured.shown,
                              f"its dims: {', '.join(d.sym.name for d in function.dims) or 'none'}")
    wanted = [b.name for b in function.inputs]
    given.refuse_arrays("--input", request.arrays, function, function.inputs, captured.shown)
    inputs = request.given(captured.shown)
    given.refuse_names(request.names, wanted, [inputs])
    left = inputs.missing(function.inputs)
    if request.seed is None and not request.inputs:
        given.refuse_missing(left, function, request.arrays, captured.shown)
    made_up = [] if request.seed is None else left
    sizes = given.sizes(function, inputs, request.dims, captured, made_up)
    seed = request.seed or 0
    return random_inputs.inputs_file(made.compiled, function, sizes, inputs, made_up, seed, data, path), sizes


def states(made: Made, request: Request, folder: Path) -> tuple[str, str]:
    """The files of the state before and behind the call."""
    found = made.compiled.plan.states
    if not found:
        if request.state or request.state_out:
            raise OptionError("--state: the model has no state", request.state or request.state_out)
        return "-", "-"
    before = folder / "state"
    if request.state:
        given.write_state(Given.read(request.state, {}), found, before)
    else:
        tensor_files.write_zeros(before, {b.name: (b.dtype, tuple(s.value for s in b.shape)) for b in found})
    return str(before), str(folder / "state-out")
