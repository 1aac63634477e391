# SPDX-License-Identifier: Apache-2.0
"""The options that every sub-command which builds a model shares."""
from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path
from typing import Sequence, TYPE_CHECKING

from ..compile import imported
from ..compile.cache import user_folder
from ..compile.options import Options
from ..errors import UsageError

if TYPE_CHECKING:
    from ..compile.run_model import Request

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if not match:
        raise argparse.ArgumentTypeError(f"not a size: {text!r} (examples: 65536, 64K, 2M)")
    return int(match[1]) * UNITS[match[2]]


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a positive number: {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """120s, 2m; 90 are seconds, too."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|)", text)
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"not a time such as 120s, 2m or 120 (seconds): {text!r}")
    return float(match[1]) * (60 if match[2] == "m" else 1)


def budget(text: str) -> float | None:
    """As seconds; None: no limit."""
    return None if text == "none" else seconds(text)


def bound(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"not a number of at least 0: {text!r}")
    return value


def specialize(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The sizes of each dim: a comma before NAME= begins another one."""
    found = []
    for dim in re.split(r",(?=[A-Za-z_])", text):
        match = re.fullmatch(r"([A-Za-z_]\w*)=(\d+(?:,\d+)*)?", dim)
        if not match:
            raise argparse.ArgumentTypeError(f"not DIM=SIZE,SIZE…: {dim!r}")
        found.append((match[1], tuple(sorted({int(s) for s in match[2].split(",")})) if match[2] else ()))
    return found


def words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def command(text: str) -> tuple[str, ...]:
    """The words of a command; a program named by a relative path is the one seen from here, wherever it is started."""
    found = words(text)
    return (os.path.abspath(found[0]), *found[1:]) if found and os.sep in found[0] else found


def from_environment(variable: str, default: str) -> tuple[str, ...]:
    """The command that an environment variable names."""
    try:
        return command(os.environ.get(variable, "") or default)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"${variable}: {error}") from None


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model and everything that decides what is built from it."""
    parser.add_argument("model", metavar="MODEL.c",
                        help="the model's source, or a .onnx, .pt2 or .tflite, which is imported")
    add_import(parser)
    group = parser.add_argument_group("model")
    group.add_argument("-I", dest="preprocessor", action="append", metavar="DIR", default=[],
                       type=lambda d: f"-I{os.path.abspath(d)}", help="folder of headers of the model's source")
    group.add_argument("-D", dest="preprocessor", action="append", metavar="NAME[=VALUE]",
                       type=lambda d: f"-D{d}", help="macro of the model's source")
    group.add_argument("--specialize", action="extend", default=[], type=specialize, metavar="DIM=SIZE,…",
                       help="make variants for these sizes of a dynamic dim, e.g. batch=1,32; several dims, as in "
                            "batch=1,32,seq=128 or by several options, form a product; replaces what the model "
                            "declares for the dim")
    group.add_argument("--weights", choices=("embed", "external"), default="embed",
                       help="keep the packed weights in the object, or in a file of their own (default: embed)")

    group = parser.add_argument_group("target")
    group.add_argument("--target", dest="backend", choices=("c", "reference", "cuda"), default="c",
                       help="c: optimised kernels; reference: one plain loop an operation, equal bit for bit; cuda: "
                            "kernels for NVIDIA GPUs (default: c)")
    group.add_argument("--with-reference", action="store_true",
                       help="also build a plain kernel for every operation, which calls with TC_STANCE_REFERENCE run: "
                            "equal bit for bit, slow")
    group.add_argument("--target-file", default="", metavar="NAME|FILE",
                       help="target description: the name of one in targets/ or a .toml file (default: by the "
                            "compiler's architecture)")
    group.add_argument("--isa", default="", metavar="ISA,…",
                       help="these instruction sets, e.g. avx2,avx512 (default: those of the target file)")
    group.add_argument("--cc", type=command, default=None, metavar="COMMAND",
                       help="compiler for the target (default: $CC, else cc)")
    group.add_argument("--cflags", type=words, default=(), metavar="FLAGS",
                       help="the target's compiler flags; processor, ABI, sysroot and prefix-map flags among them are "
                            "passed on to every kernel, others are not")
    group.add_argument("--host-cc", type=command, default=None, metavar="COMMAND",
                       help="compiler for the machine that builds (default: $CC_FOR_BUILD, else cc)")

    group.add_argument("--nvcc", type=command, default=None, metavar="COMMAND",
                       help="CUDA's compiler, for --target cuda (default: $NVCC, else nvcc)")

    group.add_argument("--precision", choices=("f32", "tf32", "bf16", "f16"), default="f32",
                       help="what --target cuda rounds the operands of products and convolutions to, which the matrix "
                            "units then sum in f32: results are near those of f32 and the same in every run; f32: "
                            "exact "
                            "(default: f32)")

    group.add_argument("--cuda-libraries", choices=("auto", "none"), default="none",
                       help="auto: with --target cuda and 16 bits, `tune` also measures the algorithms of "
                            "cuBLASLt for products, and a build takes those that the tuning lock names; the program "
                            "then needs that version of the library (default: none)")

    group.add_argument("--numerics", choices=("exact", "relaxed"), default="exact",
                       help="relaxed: convolutions may be computed by other sums (Winograd), within the errors of "
                            "docs/numerics.md (default: exact)")

    group.add_argument("--optimize", choices=("size", "balanced", "speed"), default="speed",
                       help="what kernels are compiled for: -Os, -O2 or -O3; size: kernels that differ in constants "
                            "alone are one function, and all products share two micro-kernels; bits are the same "
                            "(default: speed)")

    group.add_argument("--memory", choices=("fast", "small"), default="fast",
                       help="small: convolutions and pooling run some rows at a time, one behind the other, where that "
                            "makes the arena smaller, even if the call then takes longer; bits are the same (default: "
                            "fast)")

    group.add_argument("--bake-values", action="store_true",
                       help="leave out channels of integers that are constant for the values of these weights, or that "
                            "only weights of zero read; bits are the same, and other weights need another build")

    group = parser.add_argument_group("tuning")
    group.add_argument("--tune", choices=("lock", "frozen", "off"), default="lock",
                       help="lock: use the tuning lock where it applies, which changes speed, and arena and code by "
                            "some percent; frozen: fail where an entry is missing or stale; off: ignore it "
                            "(default: lock)")
    group.add_argument("--lock", default="", metavar="FILE", help="tuning lock (default: MODEL.tuning.lock)")

    group = parser.add_argument_group("budgets (a build that exceeds one fails and prints the bill)")
    for name, what in (("arena", "working memory"), ("weights", "packed weights"), ("code", "machine code"),
                       ("stack", "stack of the entry, the kernel that needs most and, by GCC for a target of one "
                                 "thread, the runtime")):
        group.add_argument(f"--max-{name}", type=size, default=None, metavar="BYTES", help=f"{what}, e.g. 64K")
    group.add_argument("--runtime", choices=("core", "lean"), default="core",
                       help="whose stack counts: that of tensor-compile or of tensor-compile-lean (default: core)")

    group = parser.add_argument_group("looking inside")
    group.add_argument("--verify", action="store_true", help="verify the intermediate forms between all passes")
    group.add_argument("--dump-after", default="", metavar="PASS",
                       help="print the intermediate form after a pass (`--dump-after help` lists them)")
    group.add_argument("--keep", default="", metavar="DIR",
                       help="keep the capture program, the graph and the generated C sources in DIR")

    group = parser.add_argument_group("work")
    group.add_argument("--capture-timeout", type=positive, default=30, metavar="SECONDS",
                       help="how long the model's program may take to record the graph (default: 30)")
    group.add_argument("--cache", default="", metavar="DIR",
                       help="all that is kept for later builds (default: .tensor-compile beside the object; programs "
                            "of "
                            "the build machine, which all models share, in tensor-compile of $XDG_CACHE_HOME or "
                            "~/.cache)")
    group.add_argument("--build-cache", default="", metavar="DIR", help="the same without those programs")
    group.add_argument("-j", "--jobs", type=positive, default=None, metavar="N",
                       help="compilers, and runs of `check`, at once (default: what the jobserver grants, else one a "
                            "core)")


def add_import(parser: argparse.ArgumentParser) -> None:
    """How a model of another format is imported."""
    group = parser.add_argument_group("import (of a .onnx, .pt2 or .tflite)")
    group.add_argument("--dim", action="append", default=[], metavar="DIM=LOW:HIGH",
                       help="range of a dynamic dim (default: 1:4096); DIM=LOW:HIGH:DIVISOR: multiples of the divisor "
                            "alone; "
                            "DIM=SIZE: a constant")
    group.add_argument("--set", action="append", default=[], metavar="INPUT=NUMBER,…",
                       help="makes an input a constant: where sizes follow from it")
    group.add_argument("--qdq", choices=("floats", "integers"), default="floats",
                       help="how an operation of a quantized ONNX model is computed between DequantizeLinear and "
                            "QuantizeLinear: "
                            "in floats, as the nodes say, or in integers, with the bits of TensorFlow Lite Micro "
                            "(default: floats)")


def bindings(text: str) -> dict[str, int]:
    found = {}
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([A-Za-z_]\w*)=(\d+)", part.strip())
        if not match:
            raise argparse.ArgumentTypeError(f"not DIM=SIZE,…: {text!r}")
        found[match[1]] = int(match[2])
    return found


def renaming(text: str) -> tuple[str, str]:
    """The model's name of a tensor and a file's, which may hold any character."""
    return _named(text, "NAME_IN_FILE")


def by_name(option: str, given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What an option that may be given several times says of each name."""
    found: dict[str, str] = {}
    for name, other in given:
        if name in found:
            raise UsageError(f"{option} names {name} more than once")
        found[name] = other
    return found


def array(text: str) -> tuple[str, str]:
    """A tensor of the model and the file that it has of its own."""
    return _named(text, "FILE.npy")


def _named(text: str, what: str) -> tuple[str, str]:
    """A name of the model's, and what the text says of it."""
    name, equals, said = text.partition("=")
    if not (name and equals and said):
        raise argparse.ArgumentTypeError(f"not NAME={what}: {text!r}")
    return name, said


def refuse_array(option: str, file: str, instead: str) -> None:
    """Raises where a file of tensors by name is to be a .npy."""
    if file.endswith(".npy"):
        raise UsageError(f"{option} {file}: a .npy holds one array without a name; {instead}")


def expected(text: str) -> str | tuple[str, str]:
    """A file of outputs, or one of them and the .npy that has it."""
    return array(text) if text.endswith(".npy") and "=" in text else text


def add_inputs(group: argparse._ArgumentGroup, default: str) -> None:
    """The inputs of one call. default: what inputs are that are not given."""
    group.add_argument("--inputs", default="", metavar="FILE",
                       help=f"the inputs by name: safetensors, or a .npz of NumPy{default}")
    add_input(group)


def add_input(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--input", action="append", type=array, default=[], metavar="NAME=FILE.npy",
                       help="this input is the array of a .npy of NumPy; may be given several times, also with "
                            "--inputs")


def add_call(parser: argparse.ArgumentParser) -> None:
    """How a sub-command that runs the model calls it."""
    group = parser.add_argument_group("call")
    group.add_argument("--function", default="", metavar="NAME",
                       help="this function: its C name, or the one in the model's source")
    group.add_argument("--dims", action="append", type=bindings, default=[], metavar="DIM=SIZE,…",
                       help="sizes of dynamic dims that the inputs' shapes do not tell")
    group.add_argument("--map", action="append", type=renaming, default=[], metavar="NAME=NAME_IN_FILE",
                       help="the file has this tensor of the model under another name; may be given several times")
    group.add_argument("--threads", type=positive, default=1, metavar="N", help="the team (default: 1)")
    group.add_argument("--extern-source", action="append", default=[], metavar="FILE",
                       help="C source of functions that the model calls with tc_extern; may be given several times")
    group.add_argument("--exe-wrapper", type=words, default=(), metavar="COMMAND",
                       help="starts the target's programs here, e.g. 'qemu-aarch64 -L /usr/aarch64-linux-gnu'")


def one_call(args: argparse.Namespace, command: str) -> Request:
    """The call of the model that add_call's and add_inputs' options ask for; its results are written nowhere."""
    from ..compile.run_model import Request   # not needed by most sub-commands

    if len(args.dims) > 1:
        raise UsageError(f"{command} goes with one --dims")
    return Request(args.function, args.inputs, args.dims[0] if args.dims else {}, "", threads=args.threads,
                   wrapper=args.exe_wrapper, externs=tuple(args.extern_source), names=by_name("--map", args.map),
                   arrays=by_name("--input", args.input))


def add_outputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("outputs")
    group.add_argument("-o", "--out", dest="out", default="", metavar="DIR",
                       help="folder for MODEL.o, MODEL.h and, with external weights, MODEL.weights (default: .)")
    group.add_argument("--emit", choices=("object", "c", "python"), default="object",
                       help="c: C sources in DIR that need nothing but a C11 compiler: cc -O2 DIR/*.c main.c; "
                            "python: MODEL.py, which calls libMODEL.so on NumPy arrays (default: object)")
    group.add_argument("--object", default="", metavar="FILE", help="the object (default: DIR/MODEL.o)")
    group.add_argument("--header", default="", metavar="FILE", help="the header (default: DIR/MODEL.h)")
    group.add_argument("--weights-file", default="", metavar="FILE",
                       help="external weights (default: the object's name with .weights)")
    group.add_argument("--depfile", default="", metavar="FILE", help="write Make dependencies, as Ninja reads them")
    group.add_argument("--compile-commands", default="", metavar="FILE",
                       help="put how MODEL.c is compiled into this compile_commands.json, for editors")
    group.add_argument("--explain", default="", metavar="FILE", help="write what `explain` prints to FILE")


def _emitted(args: argparse.Namespace, stem: str) -> tuple[str, str]:
    """The names of what holds the code and of what declares it; raises for options that only an object has."""
    if getattr(args, "emit", "object") == "object":
        return f"{stem}.o", f"{stem}.h"
    meaningless = [option for option, given in (
        ("--object", args.object), ("--header", args.header), ("--explain", args.explain),
        ("--max-code", args.max_code),
        ("--max-stack", args.max_stack), ("--target cuda", args.backend == "cuda")) if given]
    if args.emit == "python":
        meaningless = [option for option, given in (("--object", args.object), ("--header", args.header),
                                                    ("--explain", args.explain),
                                                    ("--target cuda", args.backend == "cuda"),
                                                    ("--weights external", args.weights == "external")) if given]
        if meaningless:
            raise UsageError(f"{meaningless[0]} does not go with --emit python, which makes a module and its library")
        return f"lib{stem}.so", f"{stem}.py"   # Python's import prefers MODEL.so to MODEL.py
    if meaningless:
        raise UsageError(f"{meaningless[0]} does not go with --emit c, which makes sources and no object")
    return f"{stem}.c", f"{stem}.h"


def default_cache(args: argparse.Namespace) -> str:
    """The cache of a sub-command that leaves no outputs."""
    return os.path.abspath(args.cache or args.build_cache or ".tensor-compile")


def options(args: argparse.Namespace, out: Path | None = None) -> Options:
    """The build that the arguments ask for; out: the folder of outputs where the sub-command has no such options."""
    model = os.path.abspath(args.model)
    if (args.dim or args.set or args.qdq != "floats") and not imported.is_foreign(model):
        raise UsageError(f"--{'dim' if args.dim else 'set' if args.set else 'qdq'} goes with a model that is imported "
                         f"(.onnx)")
    stem = Path(model).stem
    folder = Path(os.path.abspath(out or vars(args).get("out") or "."))

    def place(name: str, default: Path) -> str:
        value = getattr(args, name, "")
        return os.path.abspath(value) if value else str(default)

    names = _emitted(args, stem)
    obj, header = place("object", folder / names[0]), place("header", folder / names[1])
    if obj == header:
        raise UsageError("--object and --header name the same file")
    if args.precision != "f32" and args.backend != "cuda":
        raise UsageError(f"--precision {args.precision} goes with --target cuda alone")
    if args.cuda_libraries != "none" and (args.backend != "cuda" or args.precision not in ("bf16", "f16")):
        raise UsageError("--cuda-libraries auto goes with --target cuda and --precision bf16 or f16: exact products "
                         "have an order of sums that no library promises")
    if args.numerics != "exact" and args.backend == "cuda":
        raise UsageError("--numerics relaxed does not go with --target cuda")
    if args.memory != "fast" and args.backend != "c":
        raise UsageError(f"--memory {args.memory} does not go with --target {args.backend}")
    if args.optimize != "speed" and args.backend == "cuda":
        raise UsageError("--optimize does not go with --target cuda")
    dims = [name for name, _ in args.specialize]
    for name in dims:
        if dims.count(name) > 1:
            raise UsageError(f"--specialize names {name} more than once")
    target_file = args.target_file
    if target_file and ("/" in target_file or target_file.endswith(".toml")):
        target_file = os.path.abspath(target_file)

    def absolute(value: str) -> str:
        return os.path.abspath(value) if value else ""

    asked = Options(
        model=model, shown=args.model, object=obj, header=header,
        named_outputs=tuple(getattr(args, n, "") or os.path.join(getattr(args, "out", ""), name)
                            for n, name in zip(("object", "header"), names)),
        cache=default_cache(args) if args.cache or args.build_cache else
        str(Path(obj).parent / ".tensor-compile") if hasattr(args, "out") else default_cache(args),
        programs="" if args.cache else str(user_folder() or ""),
        depfile=absolute(getattr(args, "depfile", "")),
        compile_commands=absolute(getattr(args, "compile_commands", "")),
        weights_file=place("weights_file", Path(obj).with_suffix(".weights")), backend=args.backend,
        emit=getattr(args, "emit", "object"),
        with_reference=args.with_reference, numerics=args.numerics, target_file=target_file,
        precision=args.precision, optimize=args.optimize,
        memory=args.memory, bake_values=args.bake_values, isas=tuple(i for i in re.split(r"[,\s]+", args.isa) if i),
        specialize=tuple(sorted(args.specialize)),
        taps=tuple(getattr(args, "tap", ())), tune=args.tune, lock=absolute(args.lock),
        cuda_libraries=args.cuda_libraries, max_arena=args.max_arena,
        max_weights=args.max_weights, max_code=args.max_code, max_stack=args.max_stack, runtime=args.runtime,
        weights=args.weights,
        explain=absolute(getattr(args, "explain", "")), dump_after=args.dump_after, verify=args.verify,
        keep=absolute(args.keep), preprocessor=tuple(args.preprocessor),
        cc=args.cc or from_environment("CC", "cc"),
        host_cc=args.host_cc or from_environment("CC_FOR_BUILD", "cc"),
        nvcc=args.nvcc or from_environment("NVCC", "nvcc"), cflags=args.cflags,
        capture_timeout=args.capture_timeout, dims=tuple(args.dim), fixed=tuple(args.set), qdq=args.qdq,
        jobs=args.jobs)
    for path in (asked.model, asked.object, asked.header, asked.weights_file, asked.cache, asked.lock,
                 asked.target_file,
                 *asked.preprocessor):
        if "\n" in path:
            raise UsageError(f"a line break in a name, which Make and Ninja cannot write: {path!r}")
    return asked
