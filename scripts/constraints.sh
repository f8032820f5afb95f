#!/usr/bin/env bash
# Write constraints.txt anew: every package of the run-time, the extras and the dev group, with
# hashes, for every supported Python and platform at once. The resolver lives in a throw-away venv.
# Versions already pinned stay unless UPGRADE=1.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check uv

"$scratch/venv/bin/uv" pip compile pyproject.toml --all-extras --group dev \
    --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
    ${UPGRADE:+--upgrade} --quiet --output-file constraints.txt
if grep -n '://' constraints.txt; then
    echo "constraints.txt names an address; only names, versions, markers and hashes belong there" >&2
    exit 1
fi
echo "constraints.txt: $(grep -c '==' constraints.txt) packages"
