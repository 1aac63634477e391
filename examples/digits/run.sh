#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the example from nothing: needs a C compiler, git and Python; Meson and Ninja come by themselves.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/setup.sh
. "$here/../setup.sh"
tc_setup

# A consumer project has tensor-compile as a subproject, from a wrap; here it is the repository this lies in.
mkdir -p "$here/subprojects"
[ -e "$here/subprojects/tensor-compile" ] || ln -s ../../.. "$here/subprojects/tensor-compile"

build=${TC_BUILD_DIR:-$tc_root/build/examples/digits}
mkdir -p "$build"
[ -f "$build/build.ninja" ] || echo "building (about a minute, once)"
[ -f "$build/build.ninja" ] || meson setup "$build" "$here" >"$build/log.txt" 2>&1 || { cat "$build/log.txt"; exit 1; }
meson compile -C "$build" >"$build/log.txt" 2>&1 || { cat "$build/log.txt"; exit 1; }
"$build/digits" "$here/held-out.safetensors"
