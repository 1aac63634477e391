#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests from nothing: bash tests/run.sh [--all]. The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
build=${TC_BUILD_DIR:-build/tests}
meson=${MESON:-meson}

[ -f "$build/build.ninja" ] || "$meson" setup "$build" || exit 1
"$meson" compile -C "$build" || exit 1
"$meson" test -C "$build" --print-errorlogs
python3 tests/summary.py "native=$build"
