#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ruff, mypy and clang-format with the settings at the root: `bash tests/lint.sh`. A tool that is not there is a SKIP.
set -u
cd "$(dirname "$0")/.." || exit 1
export TC_SOURCE_ROOT=$PWD TC_TESTS_CACHE=${TC_TESTS_CACHE:-$PWD/build/tests/cache} PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$PWD/generator:$PWD/tests exec python3 tests/lint/test_lint.py
