# SPDX-License-Identifier: Apache-2.0
"""Our builds beside PyTorch eager, torch.compile, ONNX Runtime and OpenVINO: fresh processes, interleaved rounds.

usage: run.py [--rows NAME,…] [--threads N,…] [--contenders NAME,…] [--rounds N] [--together N] [--build DIR]
              [--limit SECONDS] [--isa ISA] [--lock DIR] [--patience SECONDS] [--out FILE.json] [--prepare | --prepared]

Runs with a Python that has torch, numpy and safetensors; a peer that it lacks is left out and said so. Every contender
is a process of its own a row and number of threads, on as many processors, which all contenders of a row share. Outputs
are compared with PyTorch's before anything is timed. In each round each contender makes calls for some 30 ms, behind
some that are not timed, one contender after the other. Raw times go to the JSON file, of which report.py makes the
table and the chart. The contender multiply-adds computes no model: its calls are as many multiply-adds as the row's.
"""
from __future__ import annotations

import argparse
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import builds
import multiply_adds
from rows import Row, named
from servers import conditions

OURS = "tensor-compile"
CONTENDERS = (OURS, "eager", "compile", "onnxruntime", "openvino")
COMPILED = ("compile", "frozen")   # take seconds to minutes to compile
AHEAD = "ahead"   # only where ahead.py has made its file
PEAK = "multiply-adds"   # no peer: multiply_adds.py
FEWEST = 3        # rounds of a row whose calls are long
ROUND = 0.03      # seconds of calls that each contender makes a round
PAUSE = 0.01      # between contenders: threads that spin behind a call go to sleep
SLOW = 0.3        # seconds of a call that needs no others before it
SAMPLES = 4       # of calls, before their number a round is chosen
LEAST = 30.0      # seconds that an answer may take whenever it is asked for
TOLERANCE = 1e-3  # of the largest expected value


class Failed(Exception):
    """A contender that does not start, answer or agree."""


@dataclass
class Contender:
    """A process that answers line by line. first: of the processors that it is timed on, by their number among those
    that there are; log: what it says on standard error; warm: calls that are not timed precede those of a round."""

    name: str
    command: list[str]
    threads: int
    first: int
    log: Path
    patience: float
    process: subprocess.Popen[str] | None = None
    times: list[float] = field(default_factory=list)
    calls: int = 1
    warm: bool = True
    about: str = ""
    error: float = 0.0
    begun: float = 0.0
    failed: str = ""

    def start(self) -> None:
        """On the processors that it is timed on: OpenVINO holds its threads on some of those that it finds here. One
        that compiles for minutes does so on all, and is pinned behind that."""
        environment = {"TORCHINDUCTOR_COMPILE_THREADS": "4"} | os.environ | {
            "OMP_NUM_THREADS": str(self.threads), "MKL_NUM_THREADS": str(self.threads)}
        pinned = [] if self.name in COMPILED else ["taskset", "-c", ",".join(map(str, self.processors()))]
        self.begun = time.monotonic()
        self.process = subprocess.Popen([*pinned, *self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log.open("w"), env=environment, text=True, start_new_session=True)

    def processors(self) -> list[int]:
        there = sorted(os.sched_getaffinity(0))
        return [there[(self.first + i) % len(there)] for i in range(min(self.threads, len(there)))]

    def pin(self) -> None:
        assert self.process is not None
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), self.processors())

    def ask(self, line: str) -> str:
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self.last_words()) from None
        left = max(LEAST, self.begun + self.patience - time.monotonic())
        if not select.select([process.stdout], [], [], left)[0]:
            raise Failed(f"no answer {time.monotonic() - self.begun:.0f} s after its start")
        answer = process.stdout.readline().strip()
        if not answer:
            raise Failed(self.last_words())
        return answer

    def last_words(self) -> str:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else "ended without a word"

    def seconds(self, calls: int) -> float:
        return int(self.ask(f"run {calls}")) / 1e9 / calls

    def close(self) -> None:
        """Ends it with the processes that it has started: one that compiles has some."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def options(row: Row, args: argparse.Namespace) -> list[str]:
    """Of our build of a row, but for the tuning lock."""
    arguments = ["--isa", args.isa] if args.isa else []
    for define in (*row.defines, f'WEIGHTS="{args.build / row.model}.safetensors"'):
        arguments += ["-D", define]
    for dim, size in row.dims:
        arguments += ["--specialize", f"{dim}={size}"]
    return arguments


def build(row: Row, args: argparse.Namespace) -> Path:
    """The benchmark process of our build of a row."""
    arguments = options(row, args)
    if args.lock:
        arguments += ["--lock", str(args.lock / f"{row.name}.tuning.lock")]
    return builds.program(row.name, row.source, args.build / row.name, args.build / "cache", arguments, row.function,
                          team=True)


def peak(row: Row, args: argparse.Namespace) -> list[str]:
    """The program of the contender PEAK and the operations of a row's products; empty: it has none."""
    asked = multiply_adds.options_of(row.source, args.build / "cache", options(row, args))
    operations = multiply_adds.counted(row, asked)
    return [str(multiply_adds.program(args.build / PEAK, asked)), str(operations)] if operations else []


def command(name: str, row: Row, threads: int, args: argparse.Namespace, peaks: dict[Row, list[str]]) -> list[str]:
    """How a contender is started; empty: there is none for the row."""
    if name == PEAK:
        return [peaks[row][0], str(threads), *peaks[row][1:]] if peaks[row] else []
    if name == AHEAD and not (args.build / f"{row.name}.{threads}.pt2").exists():
        return []
    if name != OURS:
        return [sys.executable, str(HERE / "contender.py"), name, str(args.build), row.name, str(threads)]
    listed = json.loads((args.build / f"{row.name}.json").read_text())["ours"]
    return [str(args.build / row.name / "server"), str(threads), *(str(size) for _, size in row.dims),
            *(str(args.build / f"{row.name}.{name}.raw") for name in listed)]


def agree(contender: Contender, row: Row, folder: Path) -> float:
    """The largest difference from PyTorch's output, as a part of its largest value."""
    import numpy as np
    expected = np.load(folder / f"{row.name}.expected.npy")
    path = folder / f"{row.name}.{contender.threads}.{contender.name}.out"
    contender.ask(f"out {path}")
    got = np.fromfile(path, np.float32).reshape(expected.shape)
    error = float(np.abs(got - expected).max() / np.abs(expected).max())
    if not error <= TOLERANCE:
        raise Failed(f"its output is off by {error:.2g} of the largest value")
    return error


def ready(contender: Contender, row: Row, args: argparse.Namespace) -> None:
    """Waits for a contender and compares its output."""
    try:
        if contender.name == PEAK:    # it has no output
            contender.about = f"{contender.command[-1]} operations"
            contender.seconds(1)
            return
        contender.about = "tensor-compile" if contender.name == OURS else contender.ask("about")
        contender.error = agree(contender, row, args.build)
        if contender.name in COMPILED:
            contender.pin()
    except Failed as error:
        contender.failed = str(error)
        contender.close()


def settle(c: Contender) -> None:
    """How many calls a round has: by calls that others precede, since threads that sleep make the first one slow. The
    fastest of some samples counts: one that the host disturbs would leave every round a few calls behind a pause."""
    taken = c.seconds(1)
    if taken < SLOW:
        for _ in range(SAMPLES):
            taken = min(taken, c.seconds(max(3, int(ROUND / taken / SAMPLES))))
    c.calls, c.warm = max(1, int(ROUND / taken)), taken < SLOW


def one(c: Contender) -> None:
    time.sleep(PAUSE)
    if c.warm:
        c.seconds(max(1, c.calls // 3))
    c.times.append(c.seconds(c.calls))


def measure(contenders: list[Contender], rounds: int, limit: float) -> None:
    """Rounds of those that run, as many as fit `limit` seconds; one that fails on the way is out."""
    begun, turn = 0.0, 0
    while turn <= rounds and (turn <= FEWEST or time.monotonic() - begun < limit):
        for c in contenders:
            if not c.failed:
                try:
                    one(c) if turn else settle(c)
                except Failed as error:
                    c.failed = str(error)
        begun = begun if turn else time.monotonic()
        turn += 1


def batch(rows: list[Row], args: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Starts all contenders of some rows, then times them row by row; what it found of a row and number of threads."""
    rows = [row for row in rows if (args.build / row.name / "server").exists()]
    # All contenders of a row share their processors; the rows of a batch, which start at once, have others.
    names = args.contenders.split(",")
    peaks = {row: peak(row, args) for row in rows} if PEAK in names else {}
    started = {(row, threads): [Contender(name, words, threads, number * threads,
                                          args.build / f"{row.name}.{threads}.{name}.log", args.patience)
                                for name in names if (words := command(name, row, threads, args, peaks))]
               for number, row in enumerate(rows) for threads in args.threads}
    for contenders in started.values():
        for c in contenders:
            c.start()
    with ThreadPoolExecutor(max(1, sum(map(len, started.values())))) as pool:
        waits = [pool.submit(ready, c, row, args) for (row, _), contenders in started.items() for c in contenders]
        for wait in waits:
            wait.result()
    for (row, threads), contenders in started.items():
        measure(contenders, args.rounds, args.limit)
        for c in contenders:
            c.close()
        yield {"row": row.name, "title": row.title, "threads": threads, "contenders": {
            c.name: {"failed": c.failed} if c.failed else
            {"about": c.about, "error": c.error, "calls": c.calls, "seconds": c.times} for c in contenders}}
        words = [f"{c.name} {c.failed or f'{1e6 * statistics.median(c.times):.1f} us'}" for c in contenders]
        print(f"{row.title}, {threads} threads: {'; '.join(words)}", file=sys.stderr, flush=True)


def _kept(rows: list[Row], made: Callable[[Row], bool], jobs: int) -> list[Row]:
    with ThreadPoolExecutor(jobs) as pool:
        return [row for row, ok in zip(rows, pool.map(made, rows)) if ok]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="names, commas between (default: all)")
    parser.add_argument("--threads", default=f"1,{len(os.sched_getaffinity(0))}", help="numbers, commas between")
    parser.add_argument("--contenders", default=",".join(CONTENDERS),
                        help="also: frozen, torch.compile in its default mode, which is ready sooner; "
                             "ahead, what ahead.py has compiled; multiply-adds, the multiply-add peak of --isa: as "
                             "many operations as the row's products and convolutions need, in registers alone")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit", type=float, default=60.0,
                        help=f"seconds of a row's rounds at one number of threads; {FEWEST} rounds there are always")
    parser.add_argument("--together", type=int, default=1, help="rows whose contenders are started at once")
    parser.add_argument("--isa", default=builds.best_isa())
    parser.add_argument("--lock", type=Path, help="folder with ROW.tuning.lock files (default: untuned)")
    parser.add_argument("--patience", type=float, default=900.0,
                        help="seconds from its start in which a contender has to be ready")
    parser.add_argument("--build", type=Path, default=builds.ROOT / "build" / "peers")
    parser.add_argument("--out", type=Path, default=None, help="raw times (default: peers.json in the build folder)")
    parser.add_argument("--prepare", action="store_true", help="make weights, ONNX files and our builds; time nothing")
    parser.add_argument("--prepared", action="store_true", help="--prepare has made everything")
    args = parser.parse_args()
    rows = named(args.rows)
    args.threads = [int(n) for n in args.threads.split(",")]
    args.build = args.build.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    jobs = max(1, args.together)

    def made(row: Row) -> bool:
        try:
            subprocess.run([sys.executable, str(HERE / "prepare.py"), str(args.build), row.name], check=True)
            build(row, args)
        except subprocess.CalledProcessError as error:
            print(f"{row.name} is left out: {' '.join(error.cmd[:3])} failed", file=sys.stderr, flush=True)
            return False
        return True
    if not args.prepared:
        # The first rows are of one model and share a file of weights; what all builds share is made once.
        rows = [row for row in rows[:1] if made(row)] + _kept(rows[1:], made, jobs)
    if args.prepare:
        return
    out = args.out or args.build / "peers.json"
    said = conditions("contenders as listed", args.isa, args.rounds, "threads as listed")
    record: dict[str, object] = {"conditions": said, "lock": bool(args.lock), "rows": []}
    results: list[dict[str, object]] = []
    for at in range(0, len(rows), jobs):
        for result in batch(rows[at:at + jobs], args):
            results.append(result)
            out.write_text(json.dumps(record | {"rows": results}, indent=1) + "\n")
    print(out)


if __name__ == "__main__":
    main()
