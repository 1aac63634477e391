# SPDX-License-Identifier: Apache-2.0
"""`run`: one call of a model with the user's tensors."""
from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Mapping

from ..errors import OptionError, UserError
from ..loops.program_ir import FunctionPlan
from ..records import dataclass
from . import assemble, check_model, files, given, model_program, processor, tensor_files
from .assemble import Made
from .capture_run import Captured
from .given import Given
from .options import Options
from .progress import Progress


@dataclass(frozen=True, slots=True)
class Request:
    """inputs: a safetensors file, "" for a function without inputs; dims: sizes that the user named; names: the model's
    name of a tensor -> the file's; out, state_out: where outputs and state are written, "" nowhere; state: what it is
    before, "" for zero."""

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


def run(options: Options, request: Request) -> int:
    for path in filter(None, (request.inputs, request.state)):
        tensor_files.read(Path(path), path)  # what is wrong with a file is said before the model is built
    cache = options.open_cache()
    with Progress() as progress, cache.scratch() as scratch:
        _, _, target, _ = assemble.toolchains(options)
        model_program.warn_fewer(options, request.threads, target)
        made = assemble.run(processor.best_only(options, target), progress)
        function = function_of(made, options.shown, request)
        folder = Path(scratch)
        inputs, sizes = inputs_of(function, request, made.captured, folder)
        before, after = states(made, request, folder)
        _, externs = model_program.extern_sources(made, options.shown, request.externs)
        program = model_program.build(made, options, cache, folder, externs, request.wrapper)
        data = model_program.data_tool(made, cache)
        progress.say("")
        out = folder / "out"
        symbol = assemble.entry_symbols(made.compiled.plan)[function.name]
        result = program.call(symbol, inputs, out, "best", request.threads, sizes, (before, after), options.shown)
        if result.returncode:
            at = ", ".join(f"{k}={v}" for k, v in sizes.items())
            raise UserError(f"{symbol}{f' at {at}' if at else ''}: "
                            f"{result.stderr.strip() or f'exit code {result.returncode}'}", options.shown)
        print(model_program.run([str(data), "show", str(out), *(b.name for b in function.outputs)]), end="")
        if request.out:
            files.write(Path(request.out), files.blocks(out))
        if request.state_out:
            files.write(Path(request.state_out), files.blocks(Path(after)))
    return 0


def function_of(made: Made, shown: str, request: Request) -> FunctionPlan:
    """The one that was named; else the only one, or the only one whose inputs the file has."""
    found = check_model.chosen(made, shown, request.function)
    if len(found) > 1 and request.inputs:
        inputs = Given.read(request.inputs, request.names)
        found = [f for f in found if inputs.has(tuple(f.inputs))] or found
    if len(found) > 1:
        symbols = assemble.entry_symbols(made.compiled.plan)
        raise OptionError("the model has several functions", shown,
                          f"name one: --function {', '.join(symbols[f.name] for f in found)}")
    return found[0]


def inputs_of(function: FunctionPlan, request: Request, captured: Captured, folder: Path
              ) -> tuple[Path, dict[str, int]]:
    """The file of the inputs under the model's names, and the size of every dim."""
    path, shown = folder / "inputs", captured.shown
    for name in request.dims:
        if name not in [d.sym.name for d in function.dims]:
            raise OptionError(f"--dims: {function.name} has no dim {name!r}", shown,
                              f"its dims: {', '.join(d.sym.name for d in function.dims) or 'none'}")
    if not request.inputs:
        if function.inputs:
            raise OptionError(f"--inputs is missing: {function.name} takes "
                              f"{', '.join(b.name for b in function.inputs)}", shown,
                              "--inputs FILE.safetensors has them by name")
        tensor_files.write_zeros(path, {})
    inputs = Given.read(request.inputs or str(path), request.names)
    wanted, sizes = [b.name for b in function.inputs], given.sizes(function, inputs, request.dims, captured)
    given.refuse_names(request.names, wanted, [inputs])
    return inputs.renamed(wanted, path), sizes


def states(made: Made, request: Request, folder: Path) -> tuple[str, str]:
    """The files of the state before and behind the call."""
    found = made.compiled.plan.states
    if not found:
        if request.state or request.state_out:
            raise OptionError("--state: the model has no state", request.state or request.state_out)
        return "-", "-"
    before = folder / "state"
    if request.state:
        start = Given.read(request.state, {})
        for buffer in found:
            start.require(buffer, "state")
        tensor_files.write(before, (Path(request.state), {b.name: start.tensors[b.name] for b in found}))
    else:
        tensor_files.write_zeros(before, {b.name: (b.dtype, tuple(s.value for s in b.shape)) for b in found})
    return str(before), str(folder / "state-out")
