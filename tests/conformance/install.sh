#!/usr/bin/env bash
# Makes a virtual environment for each real client that the conformance tests run against what we make:
# `coworld`, which plays on our server, and `levers9`, whose SDK reads our evidence; and one for the libraries
# whose estimators ours are held against.
# Usage: tests/conformance/install.sh [FOLDER]     (coworld's; default: .venv-coworld in the checkout)
# Where a client or a Python for it cannot be had this says so and exits 0: the tests then skip with a reason.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)

# install CLIENT VERSION FOLDER PYTHONS: PYTHONS is a condition on sys.version_info
install() {
    local client=$1 version=$2 folder=$3 condition=$4 python= candidate
    if "$folder/bin/python" -c 'import importlib.metadata as m, sys; sys.exit(m.version(sys.argv[1]) != sys.argv[2])' \
        "$client" "$version" 2>/dev/null; then
        echo "$client $version is in $folder"
        return
    fi
    for candidate in python3.12 python3.11 python3 python; do
        if "$candidate" -c "import sys; sys.exit(not ($condition))" 2>/dev/null; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        echo "no Python for $client ($condition): its conformance tests will skip" >&2
        return
    fi
    "$python" -m venv --clear "$folder"
    if "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$client==$version"; then
        echo "$client $version is in $folder"
    else
        rm -rf "$folder"
        echo "$client $version cannot be installed here: its conformance tests will skip" >&2
    fi
}

install coworld 0.1.64 "${1:-${EVALHARNESS_COWORLD_VENV:-$root/.venv-coworld}}" '(3, 11) <= sys.version_info < (3, 13)'
install levers9 0.15.1 "${EVALHARNESS_LEVERS9_VENV:-$root/.venv-levers9}" '(3, 11) <= sys.version_info < (4,)'

# `obp` and `scope-rl` without what they declare: torch, gym and d3rlpy are gigabytes, and their estimators are arithmetic.
peers=${EVALHARNESS_PEERS_VENV:-$root/.venv-peers}
install scikit-learn 1.9.1 "$peers" '(3, 11) <= sys.version_info < (4,)'
if [ -x "$peers/bin/python" ]; then
    pip=("$peers/bin/python" -m pip install --quiet --disable-pip-version-check)
    if "$peers/bin/python" -c 'import importlib.metadata as m; [m.version(one) for one in ("obp", "scope-rl", "pandas")]' 2>/dev/null ||
        { "${pip[@]}" pandas && "${pip[@]}" --no-deps obp==0.4.1 scope-rl==0.2.1; }; then
        echo "obp and scope-rl are in $peers"
    else
        echo "obp and scope-rl cannot be installed here: the tests against them will skip" >&2
    fi
fi
