# SPDX-License-Identifier: Apache-2.0
# Sourced by examples/*/run.sh and tests/run.sh: finds Meson >= 1.0 and Ninja, or gets them, without questions, as root
# or not, with or without pip and venv. What it gets lies in build/tools of this repository and nowhere else (but for
# Debian packages, where it is root). Sets PATH (and PYTHONPATH where needed), and CC to a path from the root where it
# is a relative one; exits with one line, which names a command that helps, where it cannot.

tc_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tc_tools=${TC_TOOLS:-$tc_root/build/tools}

tc_fail() {
    echo "$*" >&2
    exit 1
}

tc_version_ok() { # tc_version_ok HAVE WANT
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

tc_have_meson() {
    command -v ninja >/dev/null 2>&1 && command -v meson >/dev/null 2>&1 &&
        tc_version_ok "$(meson --version 2>/dev/null || echo 0)" 1.0
}

# tc_writable FOLDER: it is there, made where needed, and files can be made in it.
tc_writable() {
    { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; } ||
        tc_fail "no permission to write to $1; in a copy of your own it works: cp -r '$tc_root' ~/tensor-compile"
}

# Debian packages, one transaction; quiet, no questions. Fails where this is not root or not Debian.
tc_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    if [ -z "${tc_apt_updated:-}" ]; then
        DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::http::Timeout=20 update -qq >/dev/null 2>&1 || return 1
        tc_apt_updated=1
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 </dev/null
}

# What pip is asked for; a network that is not there takes seconds, not minutes.
tc_pip_words=(install -q --disable-pip-version-check --no-input --retries 2 --timeout 15 'meson>=1.0' ninja)

tc_pip_target() { # tc_pip_target PIP...: installs beside, without a virtual environment
    "$@" "${tc_pip_words[@]}" --target "$tc_tools/python" --upgrade >/dev/null 2>&1 </dev/null
}

tc_get_meson() {
    if python3 -m venv "$tc_tools/venv" >/dev/null 2>&1 &&
        "$tc_tools/venv/bin/python" -m pip "${tc_pip_words[@]}" >/dev/null 2>&1 </dev/null; then
        return 0
    fi
    rm -rf "$tc_tools/venv"
    tc_pip_target python3 -m pip && return 0
    tc_apt meson ninja-build && return 0
    # pip as one file, run without being installed
    python3 -c '
import socket, sys, urllib.request
socket.setdefaulttimeout(15)
urllib.request.urlretrieve("https://bootstrap.pypa.io/pip/pip.pyz", sys.argv[1])' "$tc_tools/pip.pyz" >/dev/null 2>&1 &&
        tc_pip_target python3 "$tc_tools/pip.pyz"
}

tc_use_tools() {
    if [ -x "$tc_tools/venv/bin/meson" ]; then
        PATH=$tc_tools/venv/bin:$PATH
    elif [ -x "$tc_tools/python/bin/meson" ]; then
        PATH=$tc_tools/python/bin:$PATH
        PYTHONPATH=$tc_tools/python${PYTHONPATH:+:$PYTHONPATH}
        export PYTHONPATH
    fi
    export PATH
    hash -r
}

tc_compiler_works() {
    local cc
    read -r -a cc <<<"${CC:-cc}" # a launcher may stand before it: CC='ccache gcc'
    printf 'int main(void) { return 0; }\n' | "${cc[@]}" -x c - -o /dev/null 2>/dev/null
}

tc_setup() {
    command -v python3 >/dev/null 2>&1 || tc_apt python3 ||
        tc_fail "Python is needed; as root: apt-get install python3"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        tc_fail "Python >= 3.11 is needed, this is $(python3 --version 2>&1); as root: apt-get install python3"
    local program=${CC:-}
    case ${program%% *} in
    /*) ;;
    */*) export CC=$PWD/$CC ;; # Meson and Ninja start it in folders of their own
    esac
    if ! tc_compiler_works; then
        [ -z "${CC:-}" ] || tc_fail "CC=$CC is no working C compiler; for the system's own: unset CC"
        { tc_apt gcc libc6-dev && tc_compiler_works; } ||
            tc_fail "A working C compiler is needed; as root: apt-get install gcc libc6-dev"
    fi
    tc_have_meson && return
    tc_use_tools
    tc_have_meson && return
    tc_writable "$tc_tools"
    echo "setting up Meson and Ninja"
    tc_get_meson || :
    tc_use_tools
    tc_have_meson ||
        tc_fail "Meson >= 1.0 and Ninja are needed, and neither venv, pip, apt-get nor a download got them;" \
            "as root: apt-get install meson ninja-build"
}

# tc_example FOLDER ARGUMENTS…: builds the example and runs its program, which has the folder's name. A consumer project
# has tensor-compile as a subproject, from a wrap; here it is the repository that the example lies in. Where the example
# has a make_weights.c, NAME.safetensors is made beside it, once: seeded values, where a real program would have trained
# ones. --cuda: the example for NVIDIA GPUs, NAME-gpu, where it has one.
tc_example() {
    local folder=$1 name build weights cc program options=()
    shift
    name=$(basename "$folder")
    program=$name
    build=${TC_BUILD_DIR:-$tc_root/build/examples/$name}
    if [ "${1:-}" = --cuda ]; then
        shift
        program=$name-gpu
        build=$build-cuda
        options=(-Dcuda=true)
    fi
    weights=$folder/$name.safetensors
    tc_setup
    tc_writable "$build"
    if [ ! -e "$folder/subprojects/tensor-compile" ]; then
        tc_writable "$folder/subprojects"
        ln -s ../../.. "$folder/subprojects/tensor-compile"
    fi
    [ -f "$build/build.ninja" ] || echo "building (once)"
    if [ -f "$folder/make_weights.c" ] && [ ! -f "$weights" ]; then
        tc_writable "$folder"
        read -r -a cc <<<"${CC:-cc}"
        "${cc[@]}" -std=c11 -O2 "$folder/make_weights.c" -o "$build/make_weights" -lm
        "$build/make_weights" "$build/$name.safetensors"
        mv "$build/$name.safetensors" "$weights"
    fi
    if ! { [ -f "$build/build.ninja" ] || meson setup "${options[@]}" "$build" "$folder" >"$build/log.txt" 2>&1; } ||
        ! meson compile -C "$build" >"$build/log.txt" 2>&1; then
        cat "$build/log.txt"
        exit 1
    fi
    "$build/$program" "$@"
}
