#!/usr/bin/env bash
# check_plots.sh ROOT PYTHON: the plots in ROOT/docs/plots are what ROOT/benchmarks/plots.py makes of the results.
set -euo pipefail
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$2" "$1/benchmarks/plots.py" "$out"
diff -rq "$out" "$1/docs/plots" || { echo "run benchmarks/plots.py and commit docs/plots"; exit 1; }
