#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the example from nothing: on an emulated Cortex-M4 board where arm-none-eabi-gcc and qemu-system-arm are there,
# else on this machine. `bash run.sh host`: on this machine in any case.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/setup.sh
. "$here/../setup.sh"
if [ "${1:-}" = host ] || ! command -v arm-none-eabi-gcc >/dev/null || ! command -v qemu-system-arm >/dev/null; then
    tc_example "$here"
    exit
fi
build=${TC_BUILD_DIR:-$tc_root/build/examples/keyword-spotting-board}
tc_setup
tc_writable "$build"
if [ ! -e "$here/subprojects/tensor-compile" ]; then
    tc_writable "$here/subprojects"
    ln -s ../../.. "$here/subprojects/tensor-compile"
fi
[ -f "$build/build.ninja" ] || echo "building (once)"
if ! { [ -f "$build/build.ninja" ] || meson setup "$build" "$here" --cross-file "$here/board/cross.ini" >"$build/log.txt" 2>&1; } ||
    ! meson compile -C "$build" >"$build/log.txt" 2>&1; then
    cat "$build/log.txt"
    exit 1
fi
qemu-system-arm -M mps2-an386 -icount shift=0 -nographic -semihosting-config enable=on,target=native \
    -kernel "$build/keyword-spotting" 2>&1
