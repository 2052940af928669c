#!/usr/bin/env bash
# check_doxygen.sh ROOT: the reference of ROOT/include, made by ROOT/docs/Doxyfile, has no broken reference and no
# malformed comment. 77 (skipped) where there is no doxygen.
set -euo pipefail
if ! command -v doxygen > /dev/null; then
  echo "SKIPPED: there is no doxygen (scripts/install_dependencies --tests)"
  exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$1/docs"
{ cat Doxyfile; echo "OUTPUT_DIRECTORY = $out"; } | doxygen -
pages=$(find "$out/reference" -name 'class*.html' | wc -l)
[ "$pages" -ge 40 ] || { echo "only $pages classes: a wrong folder?"; exit 1; }
echo "a reference of $pages classes, without a warning"
