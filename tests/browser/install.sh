#!/usr/bin/env bash
# Installs the headless browser in which the HTML report is tested, where that needs nothing but Debian's own packages.
# Elsewhere, and where they cannot be had, this says so and exits 0: the browser tests then skip with a reason.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }

if have chromedriver && { have chromium || have google-chrome; }; then
    echo "a browser and its driver are installed"
elif have apt-get && [ "$(id -u)" = 0 ]; then
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; then
        echo "chromium and its driver are installed"
    else
        echo "chromium cannot be installed here: the browser tests will skip" >&2
    fi
else
    echo "no chromium and chromedriver, and no right to install them: the browser tests will skip" >&2
fi
