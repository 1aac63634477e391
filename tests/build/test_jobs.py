# SPDX-License-Identifier: Apache-2.0
"""Parallel work: order of results, the number at once, the jobserver's tokens, exceptions."""
import os
import threading
import time

from tap import done, equal, ok, raises
from tensor_compile.compile.jobs import run_all

lock = threading.Lock()
now = most = 0


def work(item: int) -> int:
    global now, most
    with lock:
        now += 1
        most = max(most, now)
    time.sleep(0.01)
    with lock:
        now -= 1
    return item * item


def run(jobs: int | None) -> tuple[list[int], int]:
    global most
    most = 0
    return run_all(work, list(range(12)), jobs), most


results, at_once = run(1)
equal((results, at_once), ([i * i for i in range(12)], 1), "--jobs 1: in order, one at a time")
results, at_once = run(4)
equal(results, [i * i for i in range(12)], "--jobs 4: results in the items' order")
ok(at_once <= 4, "never more than 4 at once")
equal(run_all(work, [], 2), [], "no items")


def fails(item: int) -> int:
    if item == 3:
        raise ValueError("third")
    return item


raises(ValueError, lambda: run_all(fails, list(range(100)), 2), "third", "an exception is passed on")

read_fd, write_fd = os.pipe()
for fifo in (False, True):
    os.write(write_fd, b"++")
    if fifo:
        path = f"/tmp/tensor-compile-jobs-{os.getpid()}"
        os.mkfifo(path)
        keep = os.open(path, os.O_RDWR)
        os.write(keep, b"++")
        auth = f"fifo:{path}"
    else:
        auth = f"{read_fd},{write_fd}"
    os.environ["MAKEFLAGS"] = f" -j3 --jobserver-auth={auth}"
    results, at_once = run(None)
    equal(results, [i * i for i in range(12)], f"jobserver ({'fifo' if fifo else 'pipe'}): all work is done")
    ok(at_once <= 3, "with its two tokens and the own slot")
    tokens = os.read(keep if fifo else read_fd, 10)
    equal(tokens, b"++", "and the tokens are given back")
    if fifo:
        os.unlink(path)
os.environ["MAKEFLAGS"] = " -j3 --jobserver-auth=98,99"
equal(run(None)[0], [i * i for i in range(12)], "a jobserver whose pipe is closed is none")
done()
