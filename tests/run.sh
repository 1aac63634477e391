#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests from nothing, or those of the suites and tests that are named (docs/testing.md):
#
#     bash tests/run.sh [--all] [NAME...]
#
# Needs a C compiler, git and Python; gets the rest by itself: Meson and Ninja, and, as root on Debian, the cross
# compilers and emulators. What cannot be had is a SKIP with its reason. --all adds what is too long for continuous
# integration: the suite under sanitizers, all 2^32 inputs of the math functions, long emulator runs.
# The last line is "N passed, N failed"; the exit code is 0 when nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=examples/setup.sh
. examples/setup.sh

all=
names=()
for argument; do
    case $argument in
    --all) all=1 ;;
    -h | --help) sed -n '3,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "usage: bash tests/run.sh [--all] [NAME...]" >&2; exit 2 ;;
    *) names+=("$argument") ;;
    esac
done

tc_setup

# Cross compilers and emulators: wanted, not needed. The tests themselves SKIP where one is missing.
packages=
want() { # want COMMAND PACKAGE...
    command -v "$1" >/dev/null 2>&1 && return
    shift
    packages="$packages $*"
}
want clang clang
want aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
want riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
want arm-none-eabi-gcc gcc-arm-none-eabi libnewlib-arm-none-eabi
want riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf
want qemu-aarch64 qemu-user
want qemu-system-arm qemu-system-arm
want g++ g++
want pkg-config pkg-config
[ -d /usr/share/libonnx-testdata ] || packages="$packages libonnx-testdata"
# They are installed while the suite is compiled, which needs none of them: tests look for them when they run. So is
# NumPy, for modules of --emit python, where Meson lies in tools of this repository.
get_more() {
    # shellcheck disable=SC2086
    [ -z "$packages" ] || tc_apt $packages || echo "not installed (the tests that need them are skipped):$packages"
    local python=$tc_tools/venv/bin/python
    [ ! -x "$python" ] || "$python" -c 'import numpy' >/dev/null 2>&1 ||
        "$python" -m pip install -q --disable-pip-version-check --no-input --retries 2 --timeout 15 numpy \
            >/dev/null 2>&1 </dev/null || echo "not installed (the tests that need it are skipped): numpy"
}
[ -z "$packages" ] || echo "setting up$packages"
get_more &
installing=$!
installed() {
    [ -z "$installing" ] || wait "$installing"
    installing=
}

build=${TC_BUILD_DIR:-build/tests}
# Bytecode of Python lies beside the tests' output, also where the environment forbids it: a run of the tool that
# compiles its modules again takes three times as long.
unset PYTHONDONTWRITEBYTECODE
mkdir -p "$build" && PYTHONPYCACHEPREFIX=$(cd "$build" && pwd)/bytecode
export PYTHONPYCACHEPREFIX
jobs=$(nproc 2>/dev/null || echo 2)
most_cache=10240   # MiB that tests keep
results=

suite() { # suite NAME "MESON SETUP OPTIONS" [MESON TEST OPTIONS]
    local name=$1 options=$2 dir=$build/$1 selected=()
    shift 2
    results="$results $name=$dir"
    rm -f "$dir/meson-logs/testlog.json" "$dir/meson-logs/testlog-all.json"
    # shellcheck disable=SC2086
    if [ ! -f "$dir/build.ninja" ]; then
        meson setup "$dir" $options || return
    fi
    # Programs of the build machine that builds of the suite make are those of its tests, too (meson.build: tc_tests_user).
    XDG_CACHE_HOME=$(cd "$dir" && pwd)/tests/cache
    export XDG_CACHE_HOME
    # Kernels of tests are kept for the next run, of every state of the sources: where that is too much, it begins anew.
    local kept
    kept=$(du -sm "$XDG_CACHE_HOME" 2>/dev/null | cut -f1)
    [ "${kept:-0}" -le "$most_cache" ] || rm -rf "${XDG_CACHE_HOME:?}"
    if [ ${#names[@]} -gt 0 ]; then
        ninja -C "$dir" build.ninja >/dev/null || return # a test that was added since is known then
        mapfile -t selected < <(meson introspect --tests "$dir" | python3 tests/select_tests.py ${all:+--all} "${names[@]}")
        wait $! || exit 2
        installed
        # Only what these tests need is built; a long one that is named runs, too.
        meson test -C "$dir" --setup=all --num-processes "$jobs" --timeout-multiplier 4 "${selected[@]}"
        return
    fi
    meson compile -C "$dir" -j "$jobs"
    local compiled=$?
    installed
    [ $compiled = 0 ] || return
    meson test -C "$dir" --no-rebuild --num-processes "$jobs" --timeout-multiplier 4 "$@"
}

suite native "-Doptimization=2" ${all:+--setup=all}
if [ -n "$all" ]; then
    suite sanitized "-Db_sanitize=address,undefined -Db_lundef=false"
fi

# shellcheck disable=SC2086
python3 tests/summary.py $results
