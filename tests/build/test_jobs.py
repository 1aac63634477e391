# SPDX-License-Identifier: Apache-2.0
"""Parallel work: order of results, the number at once, the jobserver's tokens, exceptions, interruptions; and how much
memory it may take."""
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from tap import done, equal, ok, raises
from tensor_compile.compile import children, memory
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
most = 0
run_all(work, list(range(12)), 8, most=2)
ok(most <= 2, "8 jobs, of which 2 may be at once")


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
os.environ["MAKEFLAGS"] = ""
begun: list[int] = []


def sleeps(item: int) -> int:
    with subprocess.Popen(["sleep", "3600"]) as process:
        begun.append(item)
        return process.wait()


def interrupt(number: int, frame: object) -> None:
    if len(begun) == 2:     # both are asleep
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt


signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
raises(KeyboardInterrupt, lambda: run_all(sleeps, [1, 2, 3], 2), "", "an interruption is passed on at once")
equal((sorted(begun), children.below(os.getpid())), ([1, 2], []), "nothing runs any more, and nothing more was started")
# Processes that end while they are listed are no error.
with subprocess.Popen(["sh", "-c", "while :; do (/bin/true; /bin/true) & (/bin/true; /bin/true); done"]) as parent:
    try:
        listed = [len(children.below(os.getpid())) for _ in range(3000)]
    finally:
        parent.kill()
ok(max(listed) > 1, "processes below this one, listed while they begin and end")

with tempfile.TemporaryDirectory() as place:
    root = Path(place)

    def write(name: str, text: str) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="ascii")

    equal((memory.available(root), memory.fitting(10, root)), (None, memory.UNKNOWN), "memory: nothing tells")
    write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    1000 kB\n")
    equal((memory.available(root), memory.fitting(100 << 10, root), memory.fitting(501 << 10, root)), (1000 << 10, 5, 1),
          "memory: half of what is free, and one process always")
    write("proc/self/cgroup", "4:memory:/else\n0::/work/one\n")
    write("sys/fs/cgroup/work/one/memory.max", "max\n")
    write("sys/fs/cgroup/work/one/memory.stat", "anon 300000\nfile 700000\n")
    equal(memory.available(root), 1000 << 10, "memory: a control group without a limit")
    write("sys/fs/cgroup/work/one/memory.max", "800000\n")
    equal((memory.available(root), memory.fitting(100000, root)), (500000, 2), "memory: one with a limit")
    write("sys/fs/cgroup/work/one/memory.stat", "anon 300000\nfile 700000\nshmem 100000\n")
    equal(memory.available(root), 400000, "memory: what lies in tmpfs does not give way")
    write("sys/fs/cgroup/work/memory.max", "1000000\n")
    write("sys/fs/cgroup/work/memory.stat", "anon 900000\nfile 90000\n")
    equal(memory.available(root), 100000, "memory: less of a group around it")
    write("sys/fs/cgroup/work/memory.stat", "anon 1100000\n")
    equal((memory.available(root), memory.fitting(1, root)), (0, 1), "memory: one that holds more than its limit")
    write("proc/self/cgroup", "0::/../other\n")
    write("sys/fs/cgroup/memory.max", "700000\n")
    write("sys/fs/cgroup/memory.stat", "anon 100000\n")
    equal(memory.available(root), 600000, "memory: of a group outside of what is mounted, the root")

with tempfile.TemporaryDirectory() as place:
    root = Path(place)      # control groups of version 1
    none = "9223372036854771712\n"
    write("proc/meminfo", "MemAvailable:    1000 kB\n")
    write("proc/self/cgroup", "12:cpu,cpuacct:/else\n4:memory:/work/one\n1:name=systemd:/work\n0::/\n")
    for name in ("", "work/", "work/one/"):
        write(f"sys/fs/cgroup/memory/{name}memory.limit_in_bytes", none)
        write(f"sys/fs/cgroup/memory/{name}memory.usage_in_bytes", "900000\n")
        write(f"sys/fs/cgroup/memory/{name}memory.stat", "cache 1\nrss 2\ntotal_cache 700000\ntotal_rss 300000\n")
    write("sys/fs/cgroup/cpu,cpuacct/else/memory.limit_in_bytes", "1\n")
    equal(memory.available(root), 1000 << 10, "memory, version 1: groups without a limit")
    write("sys/fs/cgroup/memory/work/one/memory.limit_in_bytes", "800000\n")
    equal((memory.available(root), memory.fitting(100000, root)), (500000, 2), "memory, version 1: one with a limit")
    write("sys/fs/cgroup/memory/work/one/memory.stat", "total_rss 300000\ntotal_cache 700000\ntotal_shmem 100000\n")
    equal(memory.available(root), 400000, "memory, version 1: what lies in tmpfs does not give way")
    write("sys/fs/cgroup/memory/work/memory.limit_in_bytes", "350000\n")
    equal(memory.available(root), 50000, "memory, version 1: less of a group around it")
    write("proc/self/cgroup", "4:memory:/docker/0123456789\n0::/\n")
    equal(memory.available(root), 1000 << 10, "memory, version 1: a container, whose group is mounted as the root")
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n")
    equal(memory.available(root), 300000, "memory, version 1: with a limit")
ok(memory.available() is None or memory.fitting(1) > 1, "memory: of this machine")

os.environ["MAKEFLAGS"] = " -j3 --jobserver-auth=98,99"
equal(run(None)[0], [i * i for i in range(12)], "a jobserver whose pipe is closed is none")
done()
