#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the example from nothing: needs a C compiler, git and Python, no ONNX package; Meson and Ninja come by
# themselves.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/setup.sh
. "$here/../setup.sh"
tc_example "$here" "${1:-$here/speech.wav}"
