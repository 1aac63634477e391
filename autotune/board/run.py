#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a board, as the exe_wrapper of `tensor-compile tune --count cycles`: loads it, prints the lines
that it says, and ends with the code of its line `exit CODE`.

    run.py [--serial DEVICE [--baud N]] [--timeout SECONDS] --load COMMAND PROGRAM [ARG...]

COMMAND loads and starts the program, whose path stands in it as {} (or is its last word): openocd, pyocd, probe-rs, a
copy to a drive. With --serial the lines come from there, a UART; else from COMMAND, which shows what the program says
by semihosting. ARGs are left out: a program on a board has none.
"""
from __future__ import annotations

import argparse
import os
import select
import shlex
import stat
import subprocess
import sys
import termios
import time
import tty


def opened(device: str, baud: int) -> int:
    """The serial line, eight bits as they are."""
    fd = os.open(device, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    if stat.S_ISCHR(os.fstat(fd).st_mode):
        tty.setraw(fd)
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise SystemExit(f"{device}: no such speed: {baud}")
        attributes = termios.tcgetattr(fd)
        attributes[4] = attributes[5] = speed
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
        termios.tcflush(fd, termios.TCIFLUSH)
    return fd


def command(load: str, program: str) -> list[str]:
    words = shlex.split(load)
    return [word.replace("{}", program) for word in words] if any("{}" in word for word in words) else [*words, program]


def follow(fd: int, timeout: float, loader: subprocess.Popen[bytes], serial: bool) -> int:
    """Prints what comes until the line of the end; its code."""
    rest, last = b"", time.monotonic()
    while True:
        data = b""
        if select.select([fd], [], [], 0.5)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:   # nothing there; a terminal whose other end is closed
                pass
        if not data:
            code = loader.poll()
            if code or code == 0 and not serial:
                raise SystemExit(f"loading ended with code {code}, without the line `exit CODE`")
            if time.monotonic() - last > timeout:
                raise SystemExit(f"no line for {timeout:.0f} s")
            time.sleep(0.02)
            continue
        last = time.monotonic()
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            text = line.decode("ascii", "replace").rstrip("\r")
            print(text, flush=True)
            if text.startswith("exit "):
                return int(text[5:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--serial", metavar="DEVICE")
    parser.add_argument("--baud", type=int, default=115200)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds without a line (default: 60)")
    parser.add_argument("--load", required=True, metavar="COMMAND")
    parser.add_argument("program")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    fd = opened(given.serial, given.baud) if given.serial else -1
    loader = subprocess.Popen(command(given.load, given.program), stdin=subprocess.DEVNULL,
                              stdout=sys.stderr if given.serial else subprocess.PIPE,
                              stderr=None if given.serial else subprocess.STDOUT)
    try:
        lines = fd if loader.stdout is None else loader.stdout.fileno()
        return follow(lines, given.timeout, loader, bool(given.serial))
    finally:
        if loader.poll() is None:
            loader.terminate()
            loader.wait()


if __name__ == "__main__":
    sys.exit(main())
