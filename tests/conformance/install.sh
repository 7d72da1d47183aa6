#!/usr/bin/env bash
# Makes the virtual environment of the real `coworld` client, which the conformance tests run against our server.
# Usage: tests/conformance/install.sh [FOLDER]     (default: .venv-coworld in the checkout)
# The client needs Python 3.11 or 3.12; without one this says so and exits 0: the tests then skip with a reason.
set -euo pipefail

version=0.1.64
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-${EVALHARNESS_COWORLD_VENV:-$root/.venv-coworld}}

installed() {
    "$folder/bin/python" -c 'import importlib.metadata as m, sys; sys.exit(m.version("coworld") != sys.argv[1])' \
        "$version" 2>/dev/null
}

if installed; then
    echo "coworld $version is in $folder"
    exit 0
fi

python=
for candidate in python3.12 python3.11 python3 python; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "no Python 3.11 or 3.12: the conformance tests will skip" >&2
    exit 0
fi

"$python" -m venv --clear "$folder"
if "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "coworld==$version"; then
    echo "coworld $version is in $folder"
else
    rm -rf "$folder"
    echo "coworld $version cannot be installed here: the conformance tests will skip" >&2
fi
