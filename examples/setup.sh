# SPDX-License-Identifier: Apache-2.0
# Sourced by examples/*/run.sh and tests/run.sh: finds Meson >= 1.0 and Ninja, or gets them, without questions, as root
# or not, with or without pip and venv. What it gets lies in build/tools of this repository and nowhere else (but for
# Debian packages, where it is root). Sets PATH (and PYTHONPATH where needed); exits with one line where it cannot.

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

# Debian packages, one transaction; quiet, no questions. Fails where this is not root or not Debian.
tc_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    if [ -z "${tc_apt_updated:-}" ]; then
        DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1 || return 1
        tc_apt_updated=1
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 </dev/null
}

tc_pip_target() { # tc_pip_target PIP...: installs beside, without a virtual environment
    "$@" install -q --disable-pip-version-check --target "$tc_tools/python" --upgrade 'meson>=1.0' ninja \
        >/dev/null 2>&1 </dev/null
}

tc_get_meson() {
    mkdir -p "$tc_tools" || return 1
    if python3 -m venv "$tc_tools/venv" >/dev/null 2>&1 &&
        "$tc_tools/venv/bin/python" -m pip install -q --disable-pip-version-check 'meson>=1.0' ninja \
            >/dev/null 2>&1 </dev/null; then
        return 0
    fi
    rm -rf "$tc_tools/venv"
    tc_pip_target python3 -m pip && return 0
    tc_apt meson ninja-build && return 0
    # pip as one file, run without being installed
    python3 -c 'import sys, urllib.request as u; u.urlretrieve("https://bootstrap.pypa.io/pip/pip.pyz", sys.argv[1])' \
        "$tc_tools/pip.pyz" >/dev/null 2>&1 && tc_pip_target python3 "$tc_tools/pip.pyz"
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

tc_setup() {
    command -v python3 >/dev/null 2>&1 || tc_apt python3 ||
        tc_fail "Python is needed; as root: apt-get install python3"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        tc_fail "Python >= 3.11 is needed, this is $(python3 --version 2>&1); as root: apt-get install python3"
    printf 'int main(void) { return 0; }\n' | "${CC:-cc}" -x c - -o /dev/null 2>/dev/null || tc_apt gcc libc6-dev ||
        tc_fail "A working C compiler is needed; as root: apt-get install gcc libc6-dev"
    tc_have_meson && return
    tc_use_tools
    tc_have_meson && return
    echo "setting up Meson and Ninja"
    tc_get_meson || :
    tc_use_tools
    tc_have_meson || tc_fail "neither venv, pip, apt-get nor a download got Meson and Ninja: Meson >= 1.0 and Ninja are needed; as root: apt-get install meson ninja-build"
}
