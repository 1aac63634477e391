# SPDX-License-Identifier: Apache-2.0
"""`check`: the compiled model against the interpreter and the user's own outputs. All arithmetic is in C: the
interpreter, the compiled model in a small program (generator/check/run_model.c), and tc-data, which makes random inputs
and compares.
"""
from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import OptionError, UserError, closest
from ..graph.dce import dce
from ..graph.ir import Function, Guard, Loc, Module, Node, Value
from ..graph.table import PRIMITIVES
from ..graph.text import print_module
from ..graph.verify import held
from ..loops.loop_ir import Buffer, FunctionPlan, Variant
from ..loops.layout import ELEMENTWISE
from ..pipeline import Compiled
from ..symbolic import Expr, Sym, const
from . import assemble, files, host_programs, toolchain
from .assemble import Made
from .cache import Cache
from .host_programs import INTERPRETER, ROOT, TEMPLATES
from .objects import RUNTIME_INCLUDE
from .options import Options
from .progress import Progress
from .tools import ToolBroken, run_tool

CHECK = ROOT / "generator" / "check"
TARGET_INCLUDES = (RUNTIME_INCLUDE, INTERPRETER, TEMPLATES / "include", host_programs.GENERATOR)
PART = "a part of `check` does not compile"
MOST_TRIED = 100    # sizes of a dim that are tried against guards
ANY_INTEGER = 1000  # bound of random integers that index nothing


@dataclass(frozen=True, slots=True)
class Request:
    """dims: the sizes to check at, each a mapping by dim name; () for every specialized combination and a generic one.
    externs: C sources of the functions that the model calls with tc_extern.
    wrapper: the words that start a program of the target here. save: where the outputs are written, "" nowhere."""

    function: str
    dims: tuple[dict[str, int], ...]
    inputs: str
    expect: str
    rtol: float
    atol: float
    seed: int
    threads: int
    wrapper: tuple[str, ...]
    save: str = ""
    externs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tools:
    data: Path
    interpreter: Path
    runner: Path
    folder: Path


def run(options: Options, request: Request) -> int:
    with Progress() as progress:
        made = assemble.run(options, progress)
        cache = Cache(Path(options.cache))
        symbols = assemble.entry_symbols(made.compiled.plan)
        if request.function and request.function not in (*symbols, *symbols.values()):
            raise OptionError(f"the model has no function {request.function!r}", options.shown,
                              closest(request.function, symbols.values()) +
                              f"its functions: {', '.join(symbols.values())}")
        with cache.scratch() as scratch:
            folder = Path(scratch)
            interpreter, externs = _interpreter(made, options, request, cache, folder)
            tools = Tools(_data_tool(made, cache), interpreter, _runner(made, options, cache, folder, externs), folder)
            weights = "-"
            if options.weights == "external":
                weights = str(folder / "weights")
                files.write(Path(weights), assemble.external_weights(made.compiled.plan, made.weights))
            for name, module in (("captured", _live(made.compiled.captured)), ("reference", made.compiled.reference)):
                (folder / f"{name}.tcg").write_bytes(files.encoded(print_module(placed(module, made))))
            good = True
            checked = [f for f in made.compiled.plan.functions if request.function in ("", f.name, symbols[f.name])]
            _known_dims(options, checked, request)
            runs = [(function, sizes) for function in checked for sizes in _all_sizes(function, request)]
            if request.save and len(runs) > 1:
                raise OptionError(f"--save: one file cannot hold the outputs of {len(runs)} runs", options.shown,
                                  "choose one with --function and --dims")
            for function, sizes in runs:
                progress.say("")
                good &= _check(made, options, function, sizes, request, tools, weights)
    return 0 if good else 1


def placed(module: Module, made: Made) -> Module:
    """The module with absolute paths of its weight files."""
    return Module(module.model, module.dims, [str(p) for p in made.weight_files], module.weights, module.states,
                  module.functions)


def _live(module: Module) -> Module:
    """The module without what no result needs: an index of what is not read cannot be out of range."""
    return replace(module, functions={name: dce(f) for name, f in module.functions.items()})


def _known_dims(options: Options, functions: list[FunctionPlan], request: Request) -> None:
    names = {d.sym.name for f in functions for d in f.dims}
    for given in request.dims:
        for name in given:
            if name not in names:
                raise OptionError(f"--dims: {request.function or 'the model'} has no dim {name!r}", options.shown,
                                  closest(name, sorted(names)) + f"its dims: {', '.join(sorted(names)) or 'none'}")


def _all_sizes(function: FunctionPlan, request: Request) -> list[dict[str, int]]:
    """Those that were asked for, as far as they are of this function; else sizes for every variant."""
    dims = {d.sym.name: d.sym for d in function.dims}
    asked: list[dict[str, int]] = []
    for all_given in request.dims:
        given = {name: size for name, size in all_given.items() if name in dims}
        if given not in asked:
            asked.append(given)
        for name, size in given.items():
            s = dims[name]
            if size < s.lo or (s.hi is not None and size > s.hi) or size % s.divisor:
                raise OptionError(f"--dims: {name} = {size} is not in {s.lo}..{'' if s.hi is None else s.hi}"
                                  + (f" or no multiple of {s.divisor}" if s.divisor > 1 else ""))
        for name in dims:
            if name not in given:
                raise OptionError(f"--dims: {function.name} needs {name} too")
        failed = failed_guard(function, given)
        if failed is not None:
            raise OptionError(f"--dims: the sizes break the guard {failed.name!r} of {function.name}")
    if request.dims or not dims:
        return asked or [{}]
    return [_sizes_of(function, variant, dims) for variant in function.variants]


def _sizes_of(function: FunctionPlan, variant: Variant, dims: dict[str, Sym]) -> dict[str, int]:
    """Sizes that the variant serves and that hold the guards; those that have a variant are left to it."""
    def choices(name: str) -> list[int]:
        if name in variant.when:
            return [variant.when[name]]
        first = _unlisted(dims[name], [v.when.get(name) for v in function.variants])
        return [first] + [n for n in range(dims[name].lo, min(dims[name].hi or MOST_TRIED, MOST_TRIED) + 1)
                          if n != first and n % dims[name].divisor == 0]

    for sizes in islice(product(*map(choices, dims)), MOST_TRIED ** 2):
        found = dict(zip(dims, sizes))
        if failed_guard(function, found) is None:
            return found
    raise UserError(f"no small sizes hold the guards of {function.name}", hint="name some with --dims")


def failed_guard(function: FunctionPlan, sizes: dict[str, int]) -> Guard | None:
    """The first guard that the sizes break."""
    values = {d.sym: sizes[d.sym.name] for d in function.dims}
    for guard in function.guards:
        left, right = guard.lhs.evaluate(values), guard.rhs.evaluate(values)
        if not (left == right if guard.relation == "==" else left >= right):
            return guard
    return None


def _unlisted(s: Sym, taken: list[int | None]) -> int:
    """A size of the dim that has no variant: the second smallest one, so that tails are exercised."""
    size = -(-max(s.lo, 1) // s.divisor) * s.divisor
    for _ in range(len(taken) + 2):
        following = size + s.divisor
        if size not in taken and size > 1 or (s.hi is not None and following > s.hi):
            break
        size = following
    return size


def _check(made: Made, options: Options, function: FunctionPlan, sizes: dict[str, int], request: Request, tools: Tools,
           weights: str) -> bool:
    at = ", ".join(f"{k}={v}" for k, v in sizes.items())
    inputs = Path(request.inputs) if request.inputs else tools.folder / "inputs"
    if not request.inputs:
        specs = [_spec(made.compiled, function, buffer, sizes) for buffer in function.inputs]
        _run([str(tools.data), "random", str(request.seed), str(inputs), *specs])
    elif not inputs.is_file():
        raise UserError("no such file", request.inputs)
    if request.expect and not Path(request.expect).is_file():
        raise UserError("no such file", request.expect)
    common = ["--function", function.name, "--inputs", str(inputs), "--weights-dir", "/"]
    if sizes:
        common += ["--dims", ",".join(f"{k}={v}" for k, v in sizes.items())]
    states = made.compiled.plan.states
    before = tools.folder / "state"
    if states:
        # counters and positions of a state start as zero: what they may be is the model's secret
        _run([str(tools.data), "random", str(request.seed + 1), str(before),
              *(f"{b.name}:{b.dtype}:1:{'x'.join(map(str, b.shape))}" for b in states)])
        common += ["--state", str(before)]
    exact, wide = tools.folder / "exact", tools.folder / "wide"
    for graph, more, out in (("reference", (), exact), ("captured", ("--f64",), wide)):
        after = ("--state-out", f"{out}-state") if states else ()
        _run([str(tools.interpreter), str(tools.folder / f"{graph}.tcg"), *common, *more, *after, "--out", str(out)],
             f"without --dims this ran at {at}" if request.inputs and sizes and not request.dims else "")
    symbol = assemble.entry_symbols(made.compiled.plan)[function.name]
    bound = f"{request.rtol},{request.atol}"
    own = {b.name for b in function.outputs}
    others = sorted({b.name for f in made.compiled.plan.functions for b in f.outputs} - own)
    taps = made.compiled.taps.get(function.name, {})
    good = True
    # a device takes what suits it of its images: one run
    runs = (made.target.arch,) if made.target.apart else made.target.isas
    for isa in (*runs, *(("reference",) if options.with_reference else ())):
        out = tools.folder / f"out-{isa}"
        command = [*request.wrapper, str(tools.runner), symbol, str(inputs), str(out), isa,
                   str(request.threads), weights, *((str(before), f"{out}-state") if states else ("-", "-")),
                   *(f"{k}={v}" for k, v in sizes.items())]
        try:
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:  # another machine's program, or no such wrapper
            raise UserError(f"the target's program cannot be run here: {error.strerror}",
                            request.wrapper[0] if request.wrapper else options.shown,
                            "--exe-wrapper names what runs it, e.g. 'qemu-aarch64 -L /usr/aarch64-linux-gnu'") from None
        title = " ".join(word for word in (symbol, at, isa) if word)
        if result.returncode == 3:
            print(f"{title}: skipped, this processor does not have it")
            continue
        if result.returncode == 4:
            raise UserError(f"the model cannot run here: {result.stderr.strip()}", options.shown,
                            f"check --target {options.backend} needs the device; building does not")
        if result.returncode:
            print(f"{title}: FAILED: {result.stderr.strip() or f'exit code {result.returncode}'}")
            good = False
            continue
        for suffix in ("", "-state") if states else ("",):
            got, named = Path(f"{out}{suffix}"), title + (": state" if suffix else "")
            good &= _compare(tools, named, "bits of the interpreter", "bits", got, Path(f"{exact}{suffix}"), taps)
            good &= _compare(tools, named, "double precision", bound, got, Path(f"{wide}{suffix}"), taps)
        if request.expect:
            good &= _compare(tools, title, request.expect, bound, out, Path(request.expect), taps, others)
        if request.save:
            files.write(Path(request.save), files.blocks(out))
    return good


def _compare(tools: Tools, title: str, with_what: str, how: str, got: Path, want: Path, taps: Mapping[str, Loc | None],
             ignored: Sequence[str] = ()) -> bool:
    """Prints a line a tensor, and which of the taps is the first to differ."""
    result = subprocess.run([str(tools.data), "compare", how, str(got), str(want), *ignored], capture_output=True,
                            text=True, check=False)
    if result.returncode not in (0, 1):
        raise UserError(result.stderr.strip(), str(want))
    lines = result.stdout.splitlines()
    for line in lines:
        print(f"{title}: {with_what}: {line}")
    wrong = [name for name in taps for line in lines if line.startswith(f"{name}: ") and line.endswith("FAILED")]
    if wrong:
        print(f"{title}: {with_what}: the first to differ is {wrong[0]} ({taps[wrong[0]] or 'no place known'})")
    return result.returncode == 0


def _spec(compiled: Compiled, function: FunctionPlan, buffer: Buffer, sizes: dict[str, int]) -> str:
    """What tc-data makes for an input: NAME:DTYPE:BOUND:SIZES. The bound suits the graph as recorded, too: results of
    a called function that nobody uses are computed there."""
    values = {d.sym: sizes[d.sym.name] for d in function.dims}
    shape = "x".join(str(d.evaluate(values)) for d in buffer.shape)
    bounds = [index_bound(module, function.name, buffer.name, values)
              for module in (compiled.captured, compiled.reference)]
    bound = min((b for b in bounds if b is not None), default=None)
    return f"{buffer.name}:{buffer.dtype}:{ANY_INTEGER if bound is None else max(bound, 1)}:{shape}"


def _moved_by(node: Node) -> tuple[Value, ...]:
    """The operands whose elements are the node's, at places that are not data; none of a parameter."""
    about = PRIMITIVES.get(node.op)
    return node.operands if about and about.moves and node.op != "gather" else ()


def _moved(module: Module, function: str, name: str) -> tuple[set[Value], list[Node]]:
    """The values that hold elements of an input moved about, and the nodes of the function and of those it holds."""
    root = module.functions[function]
    carries = {Value(p) for p in root.parameters if p.attrs["name"] == name}
    nodes: list[Node] = []

    def follow(body: Function) -> None:
        for node in body.nodes:
            nodes.append(node)
            if any(v in carries for v in (node.operands[:1] if node.op == "gather" else _moved_by(node))):
                carries.add(Value(node))
            for inner in (module.functions[h] for h in held(node)):
                given = node.operands[len(node.operands) - len(inner.parameters):]
                carries.update(Value(p) for p, v in zip(inner.parameters, given, strict=True) if v in carries)
                follow(inner)

    follow(root)
    return carries, nodes


def index_bound(module: Module, function: str, name: str, values: dict[Sym, int]) -> int | None:
    """Below which integers of an input are: the least extent of what is read or written at them, or of what they are
    compared with on the way to such an index; None where nothing is."""
    carries, nodes = _moved(module, function, name)
    found = []
    for node in (n for n in nodes if n.op in ("gather", "scatter")):
        if node.operands[1] in carries:
            found.append(node.operands[0].shape[node.attrs["axis"]])
        todo, seen = [node.operands[1].node], set()
        while todo:
            made = todo.pop()
            if made in seen:
                continue
            seen.add(made)
            todo += [v.node for v in (made.operands if made.op in ELEMENTWISE else _moved_by(made))]
            if made.op == "lt" and made.operands[0] in carries:
                found.append(_repeated(made.operands[1]))
    return min((size.evaluate(values) for size in found if size is not None), default=None)


def _repeated(value: Value) -> Expr | None:
    """The number that every element is: a constant or a size."""
    node = value.node
    while node.op in ("broadcast", "reshape", "cast"):
        node = node.operands[0].node
    return const(node.attrs["bits"]) if node.op == "constant" else \
        node.attrs["value"][0] if node.op == "dim_value" else None


def is_convolution_weight(module: Module, function: str, name: str) -> bool:
    """Whether an input is the second operand of a convolution: its values must be finite (docs/numerics.md)."""
    carries, nodes = _moved(module, function, name)
    return any(node.op == "convolution" and node.operands[1] in carries for node in nodes)


def _run(command: list[str], hint: str = "") -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 1 and result.stderr.strip():
        where, found, message = result.stderr.strip().rpartition("error: ")
        raise UserError(message, where.removesuffix(": ") if found else Path(command[0]).name,
                        hint)
    if result.returncode:
        raise ToolBroken(f"{Path(command[0]).name} failed", " ".join(command) + "\n" + result.stderr)


def _helpers() -> list[Path]:
    return [INTERPRETER / f"{name}.c" for name in ("safetensors", "arena", "diag", "output")]


def _data_tool(made: Made, cache: Cache) -> Path:
    roots = [CHECK, INTERPRETER, TEMPLATES / "include", *host_programs.TABLES]
    key = files.digest(made.host.identity, files.tree_digest(roots))

    def make(folder: Path) -> None:
        run_tool([*made.host.command, *toolchain.BUILD_MACHINE, "-D_GNU_SOURCE", f"-I{INTERPRETER}",
                  f"-I{host_programs.GENERATOR}", f"-I{TEMPLATES / 'include'}", str(CHECK / "data.c"),
                  *map(str, _helpers()), "-o", str(folder / "tc-data"), "-lm"], PART, folder)

    return cache.entry("host", key, make) / "tc-data"


def _interpreter(made: Made, options: Options, request: Request, cache: Cache, folder: Path) -> tuple[Path, list[Path]]:
    """The interpreter, which has the functions that the model calls with tc_extern; and their sources."""
    names = sorted({n.attrs["function"] for f in made.compiled.captured.functions.values() for n in f.nodes
                    if n.op == "extern_call"})
    if not names:
        return host_programs.interpreter(made.host, cache, options.jobs), []
    if not request.externs:
        raise UserError(f"the model calls functions of your program: {', '.join(names)}", options.shown,
                        "name their C sources: --extern-source FILE")
    sources = [Path(s).resolve() for s in request.externs]
    for s in sources:
        if not s.is_file():
            raise UserError("no such file", str(s), "--extern-source names C sources")
    return host_programs.interpreter_with(made.host, cache, folder, sources, names, options.jobs), sources


def _runner(made: Made, options: Options, cache: Cache, folder: Path, externs: list[Path]) -> Path:
    return model_program(made, options.cflags, cache, options.jobs, [CHECK / "run_model.c", *externs], [], folder / "run-model")


def model_program(made: Made, cflags: tuple[str, ...], cache: Cache, jobs: int | None, sources: list[Path],
                  includes: list[Path], out: Path) -> Path:
    """A program for the target: sources, the model's object, a table run_functions of its functions, the runtime and
    the interpreter (whose main is left out). Scratch files lie beside `out`."""
    model, table = out.with_suffix(".model.o"), out.with_suffix(".table.c")
    with files.Outputs() as outputs:
        assemble.link_object(made, cache, model, outputs)
    functions = [f"{symbol}_function" for symbol in assemble.entry_symbols(made.compiled.plan).values()]
    table.write_text("\n".join([
        "#include <tensor_compile/runtime.h>", *(f"extern const tc_function {name};" for name in functions),
        f"const tc_function *const run_functions[] = {{{', '.join(f'&{name}' for name in functions)}, 0}};", ""]),
        encoding="utf-8")
    flags = (*made.target.flags, *toolchain.host_flags(cflags, made.compiler.arch))
    run_tool([*made.compiler.command, *toolchain.BUILD_MACHINE, "-D_GNU_SOURCE", *flags,
              *(f"-I{path}" for path in (*includes, *TARGET_INCLUDES)), *map(str, sources), str(table), str(model),
              str(host_programs.target_library(made.compiler, flags, cache, jobs)), "-o", str(out), "-lm", "-pthread",
              "-ldl"],
             PART, out.parent)
    return out
