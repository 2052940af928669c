#!/usr/bin/env bash
# check_spelling.sh ROOT: no word of the documentation is one of codespell's known mistakes.
set -euo pipefail
cd "$1"
if [ ! -e .deps/site/complete ]; then
  echo "SKIPPED: there is no codespell: scripts/install_dependencies --tests"
  exit 77
fi
# InOut is a word of ours.
PYTHONPATH=.deps/site python3 -m codespell_lib --ignore-words-list inout \
    docs/*.md docs/*/*.md docs/examples/*/*.md README.md CHANGELOG.md CONTRIBUTING.md licenses/README.md
