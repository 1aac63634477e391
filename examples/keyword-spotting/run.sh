#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the example from nothing on an emulated board: `bash run.sh` on mps2-an386 (Cortex-M4), `bash run.sh an547` on
# mps3-an547 (Cortex-M55), `bash run.sh host` on this machine. So does the first where arm-none-eabi-gcc or qemu-system-arm is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/setup.sh
. "$here/../setup.sh"
board=${1:-an386}
if [ "$board" = host ] || ! command -v arm-none-eabi-gcc >/dev/null || ! command -v qemu-system-arm >/dev/null; then
    [ "$board" = host ] || echo "no arm-none-eabi-gcc or no qemu-system-arm, so built for this machine; for the board:" \
        "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm" >&2
    tc_example "$here"
    exit
fi
case $board in
an386) machine=mps2-an386 ;;
an547) machine=mps3-an547 ;;
*) echo "run.sh [an386|an547|host]" >&2; exit 2 ;;
esac
build=${TC_BUILD_DIR:-$tc_root/build/examples/keyword-spotting-$board}
tc_setup
tc_writable "$build"
if [ ! -e "$here/subprojects/tensor-compile" ]; then
    tc_writable "$here/subprojects"
    ln -s ../../.. "$here/subprojects/tensor-compile"
fi
[ -f "$build/build.ninja" ] || echo "building (once)"
if ! { [ -f "$build/build.ninja" ] || meson setup "$build" "$here" --cross-file "$here/board/$board.ini" >"$build/log.txt" 2>&1; } ||
    ! meson compile -C "$build" >"$build/log.txt" 2>&1; then
    cat "$build/log.txt"
    exit 1
fi
qemu-system-arm -M "$machine" -icount shift=0 -nographic -semihosting-config enable=on,target=native \
    -kernel "$build/keyword-spotting" 2>&1
