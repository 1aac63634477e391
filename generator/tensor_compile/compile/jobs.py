# SPDX-License-Identifier: Apache-2.0
"""Parallel work within the slots that the caller grants: GNU make's jobserver, or a number of jobs.

Under a jobserver the process owns one slot from the start and takes further ones by reading a byte each from the pipe,
which it writes back. Without one, `jobs` run at once.
"""
from __future__ import annotations

import os
import re
import select
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Callable, Iterator, TypeVar

from . import children

T = TypeVar("T")
R = TypeVar("R")
MOST = 64   # at once


class Jobserver:
    """The client's side; `None` from `connect` where no jobserver is offered or its pipe is closed."""

    def __init__(self, read_fd: int, write_fd: int):
        self.read_fd, self.write_fd = read_fd, write_fd

    @staticmethod
    @contextmanager
    def connect(makeflags: str) -> Iterator["Jobserver | None"]:
        match = re.findall(r"--jobserver-(?:auth|fds)=(\S+)", makeflags)
        opened: list[int] = []
        server = None
        try:
            if match and match[-1].startswith("fifo:"):
                opened.append(os.open(match[-1][5:], os.O_RDWR | os.O_NONBLOCK))
                server = Jobserver(opened[0], opened[0])
            elif match and re.fullmatch(r"\d+,\d+", match[-1]):
                # The pipe is shared with make itself: opened anew, so that non-blocking reads are ours alone.
                read_fd, write_fd = map(int, match[-1].split(","))
                opened.append(os.open(f"/proc/self/fd/{read_fd}", os.O_RDONLY | os.O_NONBLOCK))
                server = Jobserver(opened[0], os.dup(write_fd))
                opened.append(server.write_fd)
        except OSError:
            server = None
        try:
            yield server
        finally:
            for fd in opened:
                os.close(fd)

    def take(self) -> bytes | None:
        """A token, or None when there is none just now."""
        if not select.select([self.read_fd], [], [], 0)[0]:
            return None
        try:
            return os.read(self.read_fd, 1) or None
        except BlockingIOError:
            return None

    def give(self, token: bytes) -> None:
        os.write(self.write_fd, token)


def default_jobs() -> int:
    return len(os.sched_getaffinity(0))


def spare_jobs(jobs: int | None) -> int:
    """How many jobs of run_all may go on beside one that the caller itself does: none under a jobserver, whose slots
    only one of them could take."""
    if jobs is None and "--jobserver" in os.environ.get("MAKEFLAGS", ""):
        return 0
    return (jobs or default_jobs()) - 1


def run_all(work: Callable[[T], R], items: list[T], jobs: int | None, done: Callable[[int], None] = lambda n: None,
            most: int = MOST) -> list[R]:
    """work(item) for every item, results in the items' order; the first exception stops what has not started, and an
    interruption also the processes that run.

    jobs: how many at once; None: as the jobserver grants, or one a core; never more than `most`. done(n) is told after
    the nth has ended.
    """
    with Jobserver.connect(os.environ.get("MAKEFLAGS", "") if jobs is None else "") as server:
        limit = min(len(items) if server else (jobs or default_jobs()), most)
        results: dict[int, R] = {}
        running: dict[Future[R], tuple[int, bytes | None]] = {}
        waiting = list(range(len(items)))
        with ThreadPoolExecutor(max_workers=max(1, min(limit, len(items)))) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < limit:
                        token = None
                        if server and running and (token := server.take()) is None:
                            break
                        index = waiting.pop(0)
                        running[pool.submit(work, items[index])] = (index, token)
                    ended, _ = wait(running, return_when=FIRST_COMPLETED, timeout=0.05 if server and waiting else None)
                    for future in ended:
                        index, token = running.pop(future)
                        if server and token is not None:
                            server.give(token)
                        results[index] = future.result()
                        done(len(results))
            except KeyboardInterrupt:
                children.end()
                raise
            finally:
                waiting.clear()
                for future, (_, token) in running.items():
                    wait([future])
                    if server and token is not None:
                        server.give(token)
        return [results[i] for i in range(len(items))]
