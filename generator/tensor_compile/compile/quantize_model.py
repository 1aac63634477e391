# SPDX-License-Identifier: Apache-2.0
"""`quantize`: a float model as one of 8-bit integers. The float model runs over the user's data with the ends of its
values as results; scales follow from them; the interpreter makes the integers of the weights; model.c and weights are
written; then both models run over the data, and the report says how far each layer is from the float one's."""
from __future__ import annotations

import math
import struct
from dataclasses import field, replace
from pathlib import Path
from typing import Mapping

from ..errors import OptionError, UserError
from ..graph.ir import Function, Module, Value
from ..graph.text import print_module
from ..importer import output
from ..importer.mapped import Mapped, load
from ..importer.output import check_untouched
from ..importer.program import LAYERS
from ..loops.program_ir import FunctionPlan
from ..quantize import layers, observe, source, states, weights
from ..quantize.layers import Found, Layer
from ..quantize.observe import Range
from ..records import dataclass
from . import assemble, chosen, files, host_programs, model_program, recording, tensor_files
from .cache import Cache
from .callers import CompiledCaller, InterpretedCaller
from .capture_run import Captured
from .layer_errors import Errors, table
from .numbers import number_of
from .options import Options
from .progress import Progress
from .samples import Samples


@dataclass(frozen=True, slots=True)
class Request:
    """data: safetensors files of inputs; out: the folder for model.c and model.safetensors. observer: minmax or
    percentile; percentile: of the elements of a value that its integers reach. kept_float: names, or patterns of names,
    of layers that stay floats. activations: i8 or u8, the dtype of values. names: the model's name of an input -> the
    files'. most: how many samples are looked at, 0 for all."""

    data: tuple[str, ...]
    out: str
    observer: str = "minmax"
    percentile: float = 100.0
    per_channel: bool = True
    in_floats: bool = True
    activations: str = "i8"
    kept_float: tuple[str, ...] = ()
    function: str = ""
    force: bool = False
    report: str = ""
    dims: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    most: int = 0
    threads: int = 1
    compare: bool = True
    interpret: bool = False


def run(options: Options, request: Request) -> int:
    if not request.data:
        raise OptionError("--data is missing: the ranges of the model's values come from samples of its inputs",
                          options.shown,
                          "--data FILE.safetensors has them by name, one behind the other along the first axis")
    model, constants = Path(request.out) / "model.c", Path(request.out) / "model.safetensors"
    if model.exists() and model.resolve() == Path(options.model).resolve():
        raise OptionError("the quantized model would take the place of the model itself", options.shown,
                          "-o names another folder")
    if not request.force:
        check_untouched(model, str(model), "quantize")
    cache = options.open_cache()
    with Progress(lines=True) as progress, cache.scratch() as scratch:
        folder = Path(scratch)
        float_model = recorded(options, request.function, progress)
        written, text = _quantized(float_model, request, cache, folder, progress)
        with files.Outputs() as outputs:
            outputs.write(model, written.text)
            outputs.write(constants, written.blocks())
        lines = text
        if request.compare:
            progress.say(f"{model}: comparing with {options.shown}")
            integers = replace(options, model=str(model.resolve()), shown=str(model))
            lines = [*text, "", *table(compare(float_model, integers, request, cache, folder, progress))]
        progress.say("")
    print("\n".join(lines))
    if request.report:
        files.write(Path(request.report), ("\n".join(lines) + "\n").encode())
    print(f"\nwritten: {', '.join(map(str, filter(None, (model, constants, request.report))))}")
    return 0


# -- the float model ---------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Recorded:
    """The float model after the passes that fix its arithmetic. module: the reference; function: its one entry, whose
    states are parameters."""

    options: Options
    made: assemble.Planned
    captured: Captured
    module: Module
    function: Function
    plan: FunctionPlan
    states: list[states.State]


def check(quantized: Options, request: Request, float_model: str, least: float | None) -> int:
    """`check --float`: a quantized model beside the float model that it was made of. least: decibels that every layer
    and output must have; None: nothing is judged."""
    cache = quantized.open_cache()
    options = replace(quantized, model=str(Path(float_model).resolve()), shown=float_model)
    with Progress(lines=True) as progress, cache.scratch() as scratch:
        errors = compare(recorded(options, request.function, progress), quantized, request, cache, Path(scratch),
                         progress)
        progress.say("")
    print("\n".join(table(errors)))
    worst = min(errors.found, key=lambda name: errors.found[name].decibels)
    found = f"the least is {errors.found[worst].decibels:.1f} dB, of {errors.shown(worst)}"
    if least is None:
        print(f"{quantized.shown}: not judged, as --least names no bound: {found}")
        return 0
    if not errors.found[worst].decibels >= least:
        print(f"{quantized.shown}: WRONG: {found}, asked were {least:g} dB")
        return 1
    print(f"{quantized.shown}: right: {found}")
    return 0


def recorded(options: Options, function: str, progress: Progress) -> Recorded:
    captured = recording.record(options, progress)
    made = assemble.plan(options, progress, captured)
    symbols = assemble.entry_symbols(made.compiled.plan)
    plans = chosen.functions(made, options.shown, function)      # type: ignore[arg-type]
    if len(plans) != 1:
        raise OptionError(f"the model has {len(plans)} functions", options.shown,
                          f"choose one with --function: {', '.join(symbols.values())}")
    module = made.compiled.reference
    held = [node for f in module.functions.values() if not f.entry for node in f.nodes if node.op == "state"]
    if held:
        raise UserError(f"a loop or a branch reads the state {held[0].attrs['name']!r}, which quantize does not know",
                        captured.as_given(str(held[0].loc or options.shown)),
                        "read it outside, into a tensor that the block reads")
    entry, found = states.opened(module, module.functions[plans[0].name])
    return Recorded(options, made, captured, module, entry, plans[0], found)


def _found(request: Request, float_model: Recorded) -> Found:
    options = float_model.options
    chosen.known_dims((float_model.plan,), (request.dims,), options.shown)
    every = layers.find(float_model.function)
    names = [layer.name for layer in layers.reported(every)]
    for pattern in request.kept_float:
        if not any(layers.called(name, pattern) for name in names):
            near = " or ".join(layers.meant(float_model.function, every, pattern)[:source.SHOWN])
            raise OptionError(f"--float: no layer of integers is called {pattern!r}", options.shown,
                              (f"did you mean {near}? " if near else "") + f"they are {', '.join(names) or 'none'}")
    found = layers.without(float_model.function, every, request.kept_float)
    if not found.layers:
        raise UserError("nothing of the model can be computed in integers: it has no convolution and no product of "
                        "f32 by weights"
                        + (" but those of --float" if every.layers else ""), options.shown)
    return found


def _quantized(float_model: Recorded, request: Request, cache: Cache, folder: Path, progress: Progress
               ) -> tuple[output.Written, list[str]]:
    shown = float_model.options.shown
    found = _found(request, float_model)
    samples = Samples.read(request.data, float_model.plan, float_model.captured, request.names, request.dims,
                           request.most)
    ranges = _ranges(request, float_model, found, samples, cache, folder, progress)
    percent = request.percentile if request.observer == "percentile" else 100.0
    scales = {v: observe.scale_of(*r.without_outliers(percent), request.activations) for v, r in ranges.items()}
    stored = weights.Constants(float_model.function, found)
    written = source.write(float_model.module, float_model.function, found, scales, stored, request.per_channel,
                           request.in_floats, shown, float_model.states)
    progress.say(f"{shown}: integers of the weights")
    values = _integers(float_model, stored, cache, folder)
    for name, view in values.items():
        written.weights[name].data = Mapped(view)
    said = _said(request, float_model, found, ranges, samples)
    comment = [f"Written by tensor-compile quantize from {Path(shown).name}.", *said[1:]]
    return output.write([written.program], "model.safetensors", comment), said


def _said(request: Request, float_model: Recorded, found: Found, ranges: Mapping[Value, Range],
          samples: Samples) -> list[str]:
    """What became integers, what did not."""
    kinds: dict[str, int] = {}
    for layer in found.layers.values():
        if layer.kind not in ("entry", "moves"):
            kinds[layer.kind] = kinds.get(layer.kind, 0) + 1
    how = "the smallest and the largest element" if request.observer == "minmax" else \
        f"the ends of {request.percentile:g} % of the elements"
    lines = [f"{float_model.options.shown}: {', '.join(f'{n} {kind}' for kind, n in kinds.items())} in integers; "
             f"ranges are {how} over {number_of(samples.count, 'sample')}"]
    floats: dict[str, list[str]] = {}
    for name, nodes in layers.stays_float(float_model.function, found).items():
        floats.setdefault(name.partition("#")[0], []).append(str(nodes[0].loc or nodes[0].scope))
    lines += [f"in floats: {len(places)} {name} ({', '.join(dict.fromkeys(places[:source.SHOWN]))}"
              f"{', …' if len(places) > source.SHOWN else ''})" for name, places in floats.items()]
    for value, r in ranges.items():
        if r.low == r.high:
            lines.append(f"warning: {found.layers[value].name} is {r.low:g} for every sample")
    return lines


# -- observing ---------------------------------------------------------------------------------------------------------

def _ranges(request: Request, float_model: Recorded, found: Found, samples: Samples, cache: Cache, folder: Path,
            progress: Progress) -> dict[Value, Range]:
    options, values, bins = float_model.options, found.observed, request.observer == "percentile"
    module = observe.observed(float_model.module, float_model.function, values, bins, float_model.states)
    caller = _caller(request)(options, replace(float_model.captured, text=print_module(module)), cache,
                              folder / "observe", progress)
    ranges = {v: Range() for v in values}
    for i, out in enumerate(caller.over(samples, request.threads, float_model.states)):
        progress.say(f"{options.shown}: observed {i + 1} of {len(samples.calls)} calls")
        tensors = tensor_files.read(out, str(out))
        least, most = (_numbers(out, tensors[name], "f") for name in (observe.LEAST, observe.MOST))
        counts = [int(n) for n in _numbers(out, tensors[observe.BINS], "i")] if bins else []
        for k, (value, r) in enumerate(ranges.items()):
            if not (math.isfinite(least[k]) and math.isfinite(most[k])):
                place = float_model.captured.as_given(str(value.node.loc or ""))
                _refuse_infinite(found.layers[value], least[k], most[k], samples, i, place)
            r.add(least[k], most[k], counts[k * observe.BIN_COUNT:(k + 1) * observe.BIN_COUNT] if bins else None)
    return ranges


def _refuse_infinite(layer: Layer, low: float, high: float, samples: Samples, call: int, place: str) -> None:
    what = "NaN" if math.isnan(low) or math.isnan(high) else "infinite"
    where = f" ({place})" if place else ""
    raise UserError(f"{layer.name}{where} is {what} for {samples.named(call)}: no scale can be found",
                    samples.shown(call),
                    "the data holds such a number" if layer.kind == "entry" and layer.node.op == "parameter" else
                    "`check --inputs` shows whether the float model is right for it")


def _numbers(path: Path, tensor: tensor_files.Tensor, letter: str) -> tuple[float, ...]:
    with path.open("rb") as f:
        f.seek(tensor.at)
        return struct.unpack(f"<{tensor.bytes // 4}{letter}", f.read(tensor.bytes))


def _caller(request: Request) -> type[CompiledCaller] | type[InterpretedCaller]:
    return InterpretedCaller if request.interpret else CompiledCaller


# -- weights -----------------------------------------------------------------------------------------------------------

def _integers(float_model: Recorded, stored: weights.Constants, cache: Cache, folder: Path) -> dict[str, memoryview]:
    """The bytes of every tensor of the quantized model."""
    if not stored.results:
        return {}
    made = float_model.made
    placed = assemble.placed(stored.module(float_model.module), made)
    graph, out = folder / "integers.tcg", folder / "integers.safetensors"
    graph.write_bytes(files.encoded(print_module(placed)))
    program = host_programs.interpreter(made.host, cache, float_model.options.jobs)
    model_program.run([str(program), str(graph), "--function", weights.NAME, "--weights-dir", "/", "--out", str(out)])
    view, found = load(out, str(out)), {}
    for name, tensor in tensor_files.read(out, str(out)).items():
        found[name] = view[tensor.at:tensor.at + tensor.bytes]
    return found


# -- comparing ---------------------------------------------------------------------------------------------------------

def _called(request: Request, model: Recorded, function: Function, cache: Cache, folder: Path, progress: Progress
            ) -> CompiledCaller | InterpretedCaller:
    """What calls the one function of a model, its states as inputs and outputs."""
    module = observe.alone(model.module, states.with_results(function, model.states))
    return _caller(request)(model.options, replace(model.captured, text=print_module(module)), cache, folder, progress)


def compare(float_model: Recorded, quantized: Options, request: Request, cache: Cache, folder: Path,
            progress: Progress) -> Errors:
    """How far layers and outputs of a quantized model are from those of the float model over the samples."""
    options = float_model.options
    chosen.known_dims((float_model.plan,), (request.dims,), options.shown)
    found = layers.without(float_model.function, layers.find(float_model.function), request.kept_float)
    with_layers = replace(quantized, preprocessor=(f"-D{LAYERS}",), dims=(), fixed=())
    integers = recorded(with_layers, request.function, progress)
    integer = _called(request, integers, integers.function, cache, folder / "integer", progress)
    names = {b.name for b in integer.plan.outputs}
    wanted = {name: v for name, v in source.named_layers(float_model.function, found).items() if name in names}
    shown = {name: found.layers[v].name for name, v in wanted.items()}
    if not wanted:
        raise UserError(f"none of its layers is one of {options.shown}: it was not made of that model by quantize",
                        quantized.shown)
    results = [*float_model.function.results, *((name, v, None) for name, v in wanted.items())]
    tapped = replace(float_model.function, results=results)
    floats = _called(request, float_model, tapped, cache, folder / "float", progress)
    samples = Samples.read(request.data, float_model.plan, float_model.captured, request.names, request.dims,
                           request.most)
    tool = model_program.data_tool(integer.made, cache)
    errors = Errors(shown, [*(name for name, _, _ in float_model.function.results),
                            *(s.after for s in float_model.states)])
    runs = zip(floats.over(samples, request.threads, float_model.states),
               integer.over(samples, request.threads, integers.states), strict=True)
    for i, (want, got) in enumerate(runs):
        progress.say(f"{quantized.shown}: compared {i + 1} of {len(samples.calls)} calls")
        errors.add(model_program.run([str(tool), "errors", str(got), str(want)]))
    return errors
