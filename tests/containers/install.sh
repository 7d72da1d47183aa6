#!/usr/bin/env bash
# Brings up the container engine that the container tests ask, where that needs nothing but Debian's own packages, and waits
# until it answers. Exit code 1, with the reason, where there is none and none can be started: those tests then skip.
# No registry is used: the tests make their images. `install.sh stop` ends what this script started.
set -euo pipefail

HERE="${TMPDIR:-/tmp}/evalharness-engine"
have() { command -v "$1" >/dev/null 2>&1; }
answers() { timeout 10 docker version >/dev/null 2>&1; }

if [ "${1:-}" = stop ]; then
    if [ -f "$HERE/pid" ]; then kill "$(cat "$HERE/pid")" 2>/dev/null || true; fi
    exit 0
fi
if have docker && answers; then
    echo "a container engine answers"
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "no container engine answers, and no right to start one: the container tests will skip" >&2
    exit 1
fi
if ! { have dockerd && have docker; } && have apt-get; then
    {
        apt-get update -qq
        command_line=$(apt-cache show docker-cli >/dev/null 2>&1 && echo docker-cli || true) # newer Debians pack it apart
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io $command_line
    } >/dev/null || true
fi
if ! { have dockerd && have docker; }; then
    echo "docker.io cannot be installed here: the container tests will skip" >&2
    exit 1
fi
if answers; then # the package's own service has started it
    echo "a container engine answers"
    exit 0
fi
mkdir -p "$HERE"
# Images are only looked at, and no test needs a network of containers: neither iptables nor a mountable overlay is asked for.
setsid dockerd --bridge=none --iptables=false --ip6tables=false --storage-driver=vfs --data-root "$HERE/data" \
    --exec-root "$HERE/exec" --pidfile "$HERE/pid" >"$HERE/log" 2>&1 </dev/null &
for _ in $(seq 60); do
    if answers; then
        echo "a container engine was started"
        exit 0
    fi
    sleep 0.5
done
echo "dockerd does not answer: the container tests will skip. Its last words:" >&2
tail -n 3 "$HERE/log" >&2
exit 1
