# SPDX-License-Identifier: Apache-2.0
"""Products of cuBLASLt, over the driver and the library of the tests: what tune measures and the lock names, what
builds take from it, results, and what is missing where."""
from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import struct
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import emulation
from emulation import HERE, ROOT
from tap import done, equal, note, ok, raises, skip
from tensor_compile import cli
from tensor_compile.compile import lock as locks, record, tune_cuda, tune_model, tune_whole
from tensor_compile.compile.progress import Progress
from tensor_compile.compile.tune import Result
from tensor_compile.compile.tune_variants import Built
from tensor_compile.errors import UserError
from tensor_compile.emit.cuda.kernels import emit_kernel, emit_plain
from tensor_compile.loops import library_products, schedule_cuda
from tensor_compile.loops.library_products import LibraryAlgorithm, library_product
from tensor_compile.loops.parse import parse_unit

tune_cuda.MOST = 1
F16, BF16 = 5, 6   # of tc_dtype
NAME = "cublaslt_130102_w4096_02000000000000003412"


def tool(*words: object) -> tuple[int, str]:
    """The exit status of the command line tool in this process, and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(list(map(str, words)))
    return code, said.getvalue()


def weights_file() -> bytes:
    """The model's, whose numbers are larger from the narrow products' columns on."""
    numbers = [0.25 * (i % 5 - 2) + (i >= 32) for i in range(64)]
    head = json.dumps({"bias": {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]}}).encode()
    return struct.pack("<Q", len(head)) + head + struct.pack("<64f", *numbers)


def product_of(lines: dict[str, str], precision: str = "bf16") -> tuple | None:
    """What the library is asked for of a contraction, of whose text `lines` has what is not usual."""
    text = {"a": 'bf16 ("a"[i,k])', "b": 'bf16 ("b"[j,k])', "k": "k:64", "m": "i:24", "batch": "", "kind": "temp",
            "to": '"c"[i,j]', "value": "cast bf16 (acc f32)", "wide": "64"} | lines
    unit = parse_unit(f"""tensor_compile.loops 1 fused "f"
dim rows range=1:1024 divisor=1
buffer input "x" : bf16[24,64]
buffer output "y" : bf16[24,32]
buffer {text["kind"]} "a" : bf16[24,{text["wide"]}]
buffer packed "b" : bf16[32,64]
buffer temp "bt" : bf16[64,32]
buffer packed "bias" : f32[32]
buffer temp "moving" : f32[32]
buffer temp "d" : bf16[24,32]
buffer temp "c" : bf16[24,32]
contraction "product" batch ({text["batch"]}) m ({text["m"]}) n (j:32) k ({text["k"]}) panel 0 {{
  params ("x", "a", "b", "bt", "bias", "moving", "d", "c", "y") dims ()
  a = load {text["a"]}
  b = load {text["b"]}
  {text["to"]} = {text["value"]}
}}
""", "text")
    found = library_product(unit.kernels[0], precision)
    return found and (found.first.turned, found.first.stride, found.second.turned, found.second.stride,
                      found.bias is not None, found.added is not None, found.function)


ADDED = 'cast f32 (load bf16 ("d"[i,j]))'
BIASED = 'add f32 (acc f32, load f32 ("bias"[j]))'
for what, lines, wanted in (
        ("a product alone", {}, (False, 64, False, 64, False, False, "plain")),
        ("a second operand in lines of columns", {"b": 'bf16 ("bt"[k,j])'},
         (False, 64, True, 32, False, False, "plain")),
        ("rows of a wider matrix", {"wide": "80", "a": 'bf16 ("a"[i,k+8])'},
         (False, 80, False, 64, False, False, "plain")),
        ("a bias", {"value": f"cast bf16 ({BIASED})"}, (False, 64, False, 64, True, False, "plain")),
        ("all", {"value": f"cast bf16 (maximum f32 (add f32 ({ADDED}, {BIASED}), f32 0x0))"},
         (False, 64, False, 64, True, True, "relu")),
        ("rows that begin where 16 bytes do not", {"wide": "66"}, None),
        ("an operand of the caller's", {"a": 'bf16 ("x"[i,k])'}, None),
        ("a result of the caller's", {"to": '"y"[i,j]'}, None),
        ("terms that a window leaves out", {"a": 'bf16 ("a"[i,k] if (k-1) else bf16 0x0)'}, None),
        ("terms backwards", {"a": 'bf16 ("a"[i,-k+63])'}, None),
        ("rows of no number", {"m": "i:rows"}, None),
        ("a bias that a kernel made", {"value": 'cast bf16 (add f32 (acc f32, load f32 ("moving"[j])))'}, None),
        ("two matrices", {"value": f"cast bf16 (add f32 ({ADDED}, add f32 (acc f32, {ADDED})))"}, None),
        ("relu of another bound", {"value": "cast bf16 (maximum f32 (acc f32, f32 0x3f800000))"}, None),
        ("another function", {"value": "cast bf16 (tanh f32 (acc f32))"}, None),
        ("a factor", {"value": "cast bf16 (mul f32 (acc f32, f32 0x40000000))"}, None)):
    equal(product_of(lines), wanted, what)
equal([product_of({}, precision) for precision in ("f32", "tf32", "f16")], [None] * 3, "another precision")
named = library_products.algorithm(NAME)
equal((named, named and named.name), (LibraryAlgorithm(130102, 4096, "02000000000000003412"), NAME), "a name")
equal([library_products.algorithm(name) for name in (NAME + "0", "wgmma_64x64_16x64", NAME + "00" * 64)], [None] * 3,
      "names that are none")

with tempfile.TemporaryDirectory() as place:
    rounds = ctypes.CDLL(str(emulation.kept(
        ["cc", "-std=c11", "-shared", "-fPIC", *emulation.STRICT, ROOT / "runtime" / "cuda" / "products.c", "-ldl"],
        Path(place) / "rounds" / "products.so"))).tc_lt_round


def rounded(bits: list[int], dtype: int) -> list[int]:
    """16 bits of each f32 by the runtime."""
    to, from_ = (ctypes.c_uint16 * len(bits))(), (ctypes.c_uint32 * len(bits))(*bits)
    rounds(to, from_, ctypes.c_size_t(len(bits)), dtype)
    return list(to)


def half(bits: int) -> int:
    """f16 by Python."""
    value = struct.unpack("f", struct.pack("I", bits))[0]
    try:
        return struct.unpack("H", struct.pack("e", value))[0]
    except OverflowError:
        return 0xfc00 if value < 0 else 0x7c00


def bfloat(bits: int) -> int:
    """bf16: the nearer of the two around it, of equally near ones the even one."""
    below, left = bits >> 16, bits & 0xffff
    return below + (left > 0x8000 or (left == 0x8000 and below & 1))


some = [sign << 31 | exponent << 23 | digits for sign in (0, 1) for exponent in range(255)
        for digits in (0, 1, 0xfff, 0x1000, 0x1001, 0x3000, 0x8000, 0x18000, 0x7fffff, 0x2aaaaa, 0x7f8000)]
equal(rounded(some, F16), list(map(half, some)), "biases in f16, as Python rounds them")
equal(rounded(some, BF16), list(map(bfloat, some)), "biases in bf16")
equal([[x & 0x7fff for x in rounded([0x7f800000, 0xff800000], dtype)] for dtype in (F16, BF16)],
      [[0x7c00] * 2, [0x7f80] * 2], "infinities")
equal([[x & 0x7fff > infinite for x in rounded([0x7f800001, 0xffc00000], dtype)]
       for dtype, infinite in ((F16, 0x7c00), (BF16, 0x7f80))], [[True] * 2] * 2, "NaN")

cxx = emulation.compiler()
if cxx is None:
    skip("products of a library", "no C++ compiler")
    done()
with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    model = Path(shutil.copy(HERE / "products.c", folder))
    (folder / "products.safetensors").write_bytes(weights_file())
    cache = Path(os.environ.get("TC_TESTS_CACHE", folder / "cache"))
    lock = folder / "model.tuning.lock"
    options = ["--cache", cache, "--target", "cuda", "--target-file", "cuda-sm90", "--nvcc", emulation.stub(folder),
               "--lock", lock, "--precision", "bf16"]

    def build(out: str, *more: object) -> tuple[int, str]:
        return tool("build", model, "-o", folder / out, "--keep", folder / out / "keep", *options, *more)

    code, said = tool("build", model, "-o", folder / "no", *options[:-2], "--cuda-libraries", "auto")
    ok(code == 2 and "--cuda-libraries auto goes with --target cuda and --precision bf16 or f16: exact products have "
       "an order of sums that no library promises" in said, "what is exact is never the library's")
    code, said = build("first", "--cuda-libraries", "auto")
    equal((code, said), (0, ""), "without a lock auto is a build as any other")

    # -- tune: the plain kernels, ours and the library's
    (asked,) = [o for o in record.builds(cache) if o.object == str(folder / "first" / "products.o")]
    of = tune_model.planned(asked)
    target, found = of.target, tune_cuda.kernels(of.plan, schedule_cuda.units(of.target))
    products = [library_product(kernel, "bf16") for kernel in found]
    equal([p and (p.rows, p.columns, p.terms, p.function, p.bias is not None, p.added is not None) for p in products],
          [None, (41, 32, 32, "relu", True, True), (41, 64, 32, "gelu", True, False),
           (41, 32, 64, "plain", True, False), None], "products that may be the library's")
    sources = folder / "sources"
    sources.mkdir()
    units = schedule_cuda.units(target)
    for kernel, product in zip(found, products, strict=True):
        for made in (emit_kernel(kernel, units), *([emit_plain(kernel)] if product else [])):
            (sources / f"{made.symbol}.cu").write_text(made.text, encoding="utf-8")
    driver = emulation.driver(cxx, folder)
    emulation.library(cxx, driver)
    os.environ |= emulation.prepared(sorted(sources.glob("*.cu")), folder, driver, cxx)
    without, library = folder / "without", "libcublasLt.so.13"
    without.mkdir()
    (without / driver.name).symlink_to(driver)
    (without / library).touch()    # which is no library, and stands in front of one that this machine may have
    how = tune_model.Request(False, True, 6, "time", (), (), 2)

    def search() -> Result:
        return tune_model.search(asked, how, tune_model.Clock(None), lambda line: print(f"{asked.shown}: {line}"))
    path, os.environ["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"], str(without)
    raises(UserError, search,
           f"no library to measure: {library}: not found", "no library to tune")
    ok(not lock.exists(), "and no lock")
    os.environ["LD_LIBRARY_PATH"] = path
    timed = tune_whole._Search.timed
    calls: list[tune_whole.Times] = []

    def priced(self: tune_whole._Search, both: tuple[Built, Built]) -> tuple[tune_whole.Times, ...]:
        """By the library the widest product makes calls slower, the other two make them faster. (Calls of the emulated
        device are real, but their time tells nothing.)"""
        calls.extend([] if calls else timed(self, both))
        return tuple({(f.name, v.name): 100.0 + sum(
            (20.0 if "columns=64" in key else -5.0) for key, entry in locks.read(one.options.lock_path).items()
            if entry.candidate == NAME) for f, v in tune_whole.sized(one.made.compiled.plan)} for one in both)
    tune_whole._Search.timed = priced
    heard: list[str] = []
    run_harness = tune_cuda.run_harness
    tune_cuda.run_harness = lambda command, line: run_harness(command, lambda text: (heard.append(text), line(text)))
    with contextlib.redirect_stdout(io.StringIO()) as told:
        result = search()
        tune_cuda.run_harness = run_harness
        again = search()
    tune_whole._Search.timed = timed
    entries = locks.read(lock)
    (wide,) = [key for key in entries if "columns=64" in key]
    lost = [text.split()[:2] for text in heard if " is 0, should be " in text]
    equal(lost, [["refused", NAME.replace(f"_w{1 << 12}_02", "_w0_01")]], "a relu that makes 0 of NaN is refused")
    ok(all(us > 0 for times in calls for us in times.values()) and len(calls) == 2, "whole calls of both are timed")
    ok("whole calls: 1 of 3 changes make them slower and are not taken, 100.0 us before, 90.0 us now\n" in
       told.getvalue(), "what whole calls refuse is told") or note(told.getvalue())
    equal([(entries[key].candidate, entries[key].time) for key in entries if key == wide],
          [(result.used[wide], result.before[wide])], "and what was used stays in the lock, with its own time")
    equal([(winner.name, us) for key, winner, us in result.timed if key == wide],
          [(result.used[wide], result.before[wide])], "and in what is said at the end")
    def broken(self: tune_whole._Search) -> None:
        raise UserError("an index is out of range")
    run, tune_whole._Search.run = tune_whole._Search.run, broken
    change = {"a": tune_whole.Change("x", "y", "z")}
    proof = tune_whole.prove(asked, change, {"a": {("f", "v")}}, Progress(), None)
    equal((proof.refused, tune_whole.summary(proof, 1)), ([], "whole calls: 0 of 1 changes make them slower and are "
          "not taken; 1 were not compared so: an index is out of range"), "calls that cannot be timed refuse nothing")
    equal(tune_whole.prove(asked, change, {}, Progress(), None).unproved, [], "kernels of sizes that vary")
    tune_whole._Search.run = run
    locks.write(lock, entries | {wide: replace(entries[wide], candidate=NAME)})
    ok(told.getvalue().startswith(f"{asked.shown}: Fake GPU, of 2 processors"), "what was measured on is told")
    entries = locks.read(lock)
    equal((len(result.timed), result.wrong), (3, []), "tune measures what the library can compute")
    equal([entry.candidate for entry in entries.values()], [NAME] * 3, "and names the algorithm that was fastest")
    equal({entry.compiler for entry in entries.values()}, {"nvcc 13.0 with cuBLASLt 13.1.2 on Fake GPU"},
          "with the version of the library")
    equal(again.timed, [], "a second run measures nothing")
    later = tune_cuda.cases(found, target, entries, tune_cuda.Measurer("nvcc 13.0", "Fake GPU", 130200), False)
    equal([case.incumbent for case in later], [case.shapes[0] for case in later], "a later library begins anew")
    equal(len(later), 3, "with all of its products")
    callers = replace(found[1], params=tuple(replace(b, kind="input") if b.name == found[1].a.buffer else b
                                             for b in found[1].params))
    tune_cuda.MOST = 2
    (case,) = tune_cuda.cases([found[1], callers], target, entries, tune_cuda.Measurer("nvcc 13.0", "Fake GPU", 130102),
                              False)
    tune_cuda.MOST = 1
    ok(case.incumbent == case.shapes[0] and not any(isinstance(s, LibraryAlgorithm) for s in case.shapes),
       "a kernel like one whose operand is the caller's is not the library's any more")
    equal(len(tune_cuda.cases(found, target, entries, tune_cuda.Measurer("nvcc 13.0", "Fake GPU"), False)), 0,
          "a search without it, and with one shape, has nothing to measure")

    # -- builds
    code, said = build("none")
    ok(code == 0 and said.count(f"{NAME} is cuBLASLt's, which a build takes with --cuda-libraries auto alone") == 3,
       "a build that does not ask for the library says that it leaves entries out")
    ok("tc_device_product" not in (folder / "none" / "products.h").read_text(encoding="utf-8"), "and is ours")
    code, said = build("frozen", "--tune", "frozen")
    ok(code == 1 and f"illegal: {list(entries)[0]}: {NAME} is cuBLASLt's" in said, "a frozen one fails")
    code, said = build("theirs", "--cuda-libraries", "auto", "--verify")
    lines = [line for line in said.splitlines() if "missing" not in line]
    equal((code, lines), (0, []), "with auto it is taken")
    kept = {path.name for path in (folder / "theirs" / "keep").glob("*.cu")}
    equal(len(kept), 2, "only what is ours is compiled")
    ok(kept <= {path.name for path in sources.glob("*.cu")}, "as it was")
    whole = lock.read_text(encoding="utf-8")
    lock.write_text(whole.replace("cublaslt_130102", "cublaslt_130200", 1), encoding="utf-8")
    code, said = build("mixed", "--cuda-libraries", "auto")
    left = said.count(": a program has one")
    equal((code, left in (1, 2), len(list((folder / "mixed" / "keep").glob("*.cu")))), (0, True, 2 + left),
          "entries of two versions of the library: the program has one")
    code, said = build("mixed", "--cuda-libraries", "auto", "--tune", "frozen")
    ok(code == 1 and "stale: " in said and "measured with cuBLASLt 13." in said, "which a frozen build names")
    lock.write_text(whole, encoding="utf-8")
    code, said = tool("explain", model, *options, "--cuda-libraries", "auto")
    equal(said.count("cuBLASLt 13.1.2"), 3, "explain names the library")

    # -- calls
    compare = emulation.comparison(folder / "compare")
    isa = ["--isa", "x86_64"] if os.uname().machine == "x86_64" else []
    equal(tool("build", model, "-o", folder / "cpu", "--cache", cache, *isa)[0], 0, "the processor's")
    for name in ("cpu", "theirs"):
        emulation.run(["cc", "-shared", folder / name / "products.o", "-o", folder / f"{name}.so"])

    def called(**settings: str) -> subprocess.CompletedProcess:
        return subprocess.run([compare, folder / "cpu.so", folder / "theirs.so", "products", "--repeat", "2",
                               "--tolerance", "0.02", "products"], env={**os.environ, **settings},
                              capture_output=True, text=True, check=False)

    found_ = called()
    if not ok(found_.returncode == 0 and "elements differ" in found_.stdout and not found_.stderr,
              "results are those of f32, but for what is rounded; recorded, too, and in another place"):
        note(found_.stdout + found_.stderr)
    refused = "CUBLAS_STATUS_NOT_SUPPORTED"
    for what, wanted, settings in (
            ("no library", f"cuda: {library}: not found", {"LD_LIBRARY_PATH": str(without)}),
            ("another version", f"cuda: {library}: version 13.2.0, the model was tuned with 13.1.2",
             {"FAKE_LIBRARY_VERSION": "130200"}),
            ("a library that does not start", f"cuda: {library}: CUBLAS_STATUS_NOT_INITIALIZED",
             {"FAKE_CUDA_FAIL": "cublasLtCreate:1:1"}),
            ("another GPU", f"cuda: {library}: {refused}: the algorithm of tck_matmul_add_",
             {"FAKE_CUDA_FAIL": "cublasLtMatmulAlgoCheck:2:15"}),
            ("no memory for biases", "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY", {"FAKE_CUDA_FAIL": "cuMemAlloc:3:2"}),
            ("a product that is refused", f"cublasLtMatmul: {refused}", {"FAKE_CUDA_FAIL": "cublasLtMatmul:2:15"})):
        found_ = called(**settings)
        if not ok(found_.returncode and wanted in found_.stdout + found_.stderr and "left" not in found_.stderr, what):
            note(found_.stdout + found_.stderr)

    other = folder / "other"
    emulation.run([*emulation.with_runtime(HERE / "other_library.c", folder / "theirs" / "products.o"),
                   f"-I{folder / 'theirs'}", "-o", other])
    (driver.parent / "libcublasLt.so.12").touch()    # which is no library either
    found_ = subprocess.run([other], env={**os.environ, "FAKE_LIBRARY_VERSION": "130200"}, capture_output=True,
                            text=True, check=False)
    equal((found_.returncode, [line.partition(": is")[0] for line in found_.stdout.splitlines()], found_.stderr),
          (0, ["cuda: libcublasLt.so.13: version 13.2.0, the model was tuned with 13.1.2",
               "cuda: libcublasLt.so.12: not found", "libcublasLt"], ""),
          "a load that is refused leaves no library open")
done()
