# SPDX-License-Identifier: Apache-2.0
"""PyTorch's architectures through tensor-compile: exported, imported, built, called, compared with PyTorch eager.

    python3 zoo.py [--only GLOBS] [--names FILE] [--jobs N] [--seconds 300] [--results FILE] [--stage import|run]

Needs PyTorch, torchvision, timm and transformers. One process an architecture, with caps on time and memory; one line
of JSON each in the results file, which is read first: what is there is not run again. page.py writes docs/zoo.md of it.
Times are medians on one thread, of both in turn; --compile NAMES also takes those of torch.compile.
"""
from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import json
import multiprocessing
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOL = [sys.executable, str(ROOT / "generator" / "tensor-compile")]
MEMORY = 12 << 30
TOLERANCE = 1e-3
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "generator")]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("export", ROOT / "generator" / "tensor-compile-export.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(words: list[str], seconds: float) -> str:
    """"" or the messages of a command that failed."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"not within {seconds:.0f} s"
    return "" if not done.returncode else (done.stderr or done.stdout or f"exit code {done.returncode}").strip()


def child(name: str, stage: str, cache: Path, seconds: float, compiled: bool, tell: Callable[[Any], None]) -> dict[str,
                                                                                                                   Any]:
    """What became of one architecture: as far as it got, and why no farther. tell: takes what is known before the last
    step."""
    import torch
    from torch.utils import _pytree as pytree

    import architectures

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    export = script()
    found: dict[str, Any] = {"name": name, "reached": "nothing"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        begin = time.monotonic()
        try:
            module, args, kwargs = architectures.make(name)
            found["parameters"] = sum(p.numel() for p in module.parameters())
            with torch.no_grad():
                program = torch.export.export(module, args, kwargs, strict=False)
                torch.export.save(program, str(folder / "model.pt2"))
        except Exception as error:
            return {**found,
                    "why": f"torch.export: {type(error).__name__}: "
                           f"{str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}"}
        found.update(reached="exported", export_s=round(time.monotonic() - begin, 1))
        begin = time.monotonic()
        said = run([*TOOL, "import", str(folder / "model.pt2"), "-o", str(folder / "src"), "--name", "net"], seconds)
        found["import_s"] = round(time.monotonic() - begin, 2)
        if said:
            return {**found, "why": said[:3000]}
        found.update(reached="imported", lines=(folder / "src" / "model.c").read_text().count("\n"))
        if stage == "import":
            return found
        names = [str(n) for n in program.graph_signature.user_inputs]
        leaves = pytree.tree_leaves((args, kwargs))
        inputs = [(n, x) for n, x in zip(names, leaves, strict=True) if isinstance(x, torch.Tensor)]
        with torch.no_grad():
            outputs = module(*args, **kwargs)
        outputs = dict(outputs) if hasattr(outputs, "to_tuple") else outputs
        called = export.result_names(outputs, [n for n, _ in inputs])
        results = [(n, x) for n, x in zip(called, pytree.tree_leaves(outputs))
                   if isinstance(x, torch.Tensor)]
        del program
        begin = time.monotonic()
        import builds
        said = run([*TOOL, "build", str(folder / "src" / "model.c"), "-o", str(folder / "out"), "--isa",
                    builds.best_isa(), "--cache",
                    str(cache), "--jobs", "1"], seconds)
        found["build_s"] = round(time.monotonic() - begin, 1)
        if said:
            return {**found, "why": said[:3000]}
        found["reached"] = "built"
        found |= measured(folder, cache, inputs, results, lambda: module(*args, **kwargs))
        if compiled and found["reached"] == "right":
            tell(found)
            found |= of_compiler(torch.compile(module), args, kwargs)
        return found


def of_compiler(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The time of torch.compile's module, on one thread and in its default mode."""
    import torch

    times: list[float] = []
    try:
        with torch.no_grad():
            module(*args, **kwargs)
            module(*args, **kwargs)
            while len(times) < 15 and sum(times) < 10:
                begin = time.perf_counter()
                module(*args, **kwargs)
                times.append(time.perf_counter() - begin)
    except Exception as error:
        return {"compile_why": f"{type(error).__name__}: {str(error)[:200]}"}
    return {"compile_ms": statistics.median(times) * 1e3}


def measured(folder: Path, cache: Path, inputs: list, results: list, call: Any) -> dict[str, Any]:
    """The largest error of all outputs, relative to the largest magnitude of each; times of both in turn; sizes."""
    import builds
    import torch

    header = (folder / "out" / "model.h").read_text()
    found: dict[str, Any] = {}
    if arena := re.search(r"#define NET_ARENA_BYTES \(?\(?(?:size_t\)?)?(\d+)", header):
        found["arena"] = int(arena[1])
    size = subprocess.run(["size", str(folder / "out" / "model.o")], capture_output=True, text=True, check=True)
    found["code"] = int(size.stdout.splitlines()[1].split()[0])
    builds.FUNCTIONS["net"] = "net"
    server = builds.program("net", folder / "src" / "model.c", folder / "out", cache, ["--isa", builds.best_isa()])
    files = []
    for n, x in inputs:
        if not re.search(rf"\*{re.escape(n)}\b", header):
            continue   # a state
        path, x = folder / f"in_{n}", x.contiguous()
        path.write_bytes(x.numpy().tobytes() if x.dtype != torch.bfloat16 else x.view(torch.int16).numpy().tobytes())
        files.append(str(path))
    process = subprocess.Popen([str(server), *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(words: str) -> str:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(words + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    try:
        if ask(f"outs {folder}/got") != "ok":
            return {**found, "why": "the call failed"}
        worst = 0.0
        for i, (n, want) in enumerate(results):
            raw = (folder / f"got.{i}").read_bytes()
            got = torch.frombuffer(bytearray(raw),
                                   dtype=want.dtype).reshape(want.shape) if raw else torch.empty(want.shape)
            if not want.dtype.is_floating_point:
                if not torch.equal(got, want):
                    return {**found, "why": f"output {n} differs ({(got != want).sum().item()} of {want.numel()})"}
                continue
            if not want.numel():
                continue
            scale = want.abs().max().item()
            if scale < 1e-20:
                return {**found, "why": f"output {n} is zero, or as good as zero"}
            error = (got.double() - want.double()).abs().max().item() / scale
            worst = max(worst, error if error == error else float("inf"))
        found["error"] = worst
        if not worst <= TOLERANCE:
            return {**found, "why": f"the largest error is {worst:.3g} of the largest value"}
        found["reached"] = "right"
        ours, theirs = [], []
        with torch.no_grad():
            call()
            for _ in range(15):
                begin = time.perf_counter()
                call()
                theirs.append(time.perf_counter() - begin)
                ours.append(int(ask("run 1")) * 1e-9)
                if sum(theirs) + sum(ours) > 5:
                    break
        found.update(eager_ms=statistics.median(theirs) * 1e3, ours_ms=statistics.median(ours) * 1e3)
        return found
    finally:
        process.kill()


def alone(name: str, stage: str, cache: Path, seconds: float, compiled: bool, to: Connection) -> None:
    """A process of one architecture."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        to.send(child(name, stage, cache, seconds, compiled, to.send))
    except Exception as error:  # of ours: a result, too
        traceback.print_exc()
        to.send({"name": name, "reached": "nothing", "why": f"{type(error).__name__}: {error}"})


def guarded(name: str, stage: str, cache: Path, seconds: float, compiled: bool) -> dict[str, Any]:
    """In a process of its own, of a server that has PyTorch loaded."""
    begin = time.monotonic()
    processes = multiprocessing.get_context("forkserver")
    result, to = processes.Pipe(duplex=False)
    process = processes.Process(target=alone, args=(name, stage, cache, seconds, compiled, to))
    process.start()
    to.close()
    found: dict[str, Any] = {"name": name, "reached": "nothing", "why": f"not within {seconds:.0f} s"}
    try:
        while result.poll(max(0.0, begin + seconds - time.monotonic())):
            found = result.recv()
    except EOFError:  # it has ended
        process.join()
        if process.exitcode:
            found = {"name": name, "reached": "nothing", "why": f"its process ended with {process.exitcode}"}
    try:
        os.killpg(process.pid or 0, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.join()
    return {**found, "seconds": round(time.monotonic() - begin, 1)}


def matching(name: str, patterns: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split(","))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="names, as patterns with commas")
    parser.add_argument("--names", type=Path, help="a file of names, one a line: these, in this order")
    parser.add_argument("--compile", default="", metavar="NAMES",
                        help="those that torch.compile is timed of, as patterns with commas")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300, help="for one architecture")
    parser.add_argument("--deadline", type=float, default=1e9, help="begin none after so many seconds")
    parser.add_argument("--results", type=Path, default=Path("zoo.jsonl"))
    parser.add_argument("--stage", choices=("import", "run"), default="run")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "tensor-compile-zoo")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    import architectures

    done = {json.loads(line)["name"]
            for line in args.results.read_text().splitlines()} if args.results.exists() else set()
    names = args.names.read_text().split() if args.names else architectures.names()
    wanted = [n for n in names if matching(n, args.only) and n not in done]
    if args.list:
        print("\n".join(wanted))
        return 0
    begin = time.monotonic()
    # No number of threads for programs that are started by this one: each architecture has one core.
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TORCHINDUCTOR_COMPILE_THREADS="1")
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch", "torchvision", "timm", "transformers"])

    def one(name: str) -> dict[str, Any] | None:
        if time.monotonic() - begin > args.deadline:
            return None
        return guarded(name, args.stage, args.cache, args.seconds, matching(name, args.compile))

    with ThreadPoolExecutor(args.jobs) as pool, open(args.results, "a", encoding="utf-8") as file:
        for ended in as_completed([pool.submit(one, name) for name in wanted]):
            found = ended.result()
            if found is None:
                continue
            file.write(json.dumps(found) + "\n")
            file.flush()
            ratio = f" {found['eager_ms'] / found['ours_ms']:.2f}x" if "ours_ms" in found else ""
            print(f"{found['name']}: {found['reached']}{ratio} {found.get('why', '')[:400]}", flush=True)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
