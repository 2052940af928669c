#!/usr/bin/env bash
# Checks all configs of a bundle for GPUs that are not here. It needs the command `tuneonce` in PATH, and for its last
# step the compilers, but no GPU:
#   offline_check.sh [BUNDLE [TARGET ...]]
set -euo pipefail
bundle=${1:-vector_add}
targets=(sm_90 sm_100)
[ $# -lt 2 ] || targets=("${@:2}")
for target in "${targets[@]}"; do arguments+=(--target "$target"); done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Without a compiler: artifacts, parameters of kernels, grids, and how many configs there are for each target.
tuneonce bundle check "$bundle" "${arguments[@]}"
tuneonce bundle compile "$bundle" "${arguments[@]}" --dry-run

# Every config for every target. The result is a bundle that needs no compiler where it runs.
compile=(tuneonce bundle compile "$bundle" "${arguments[@]}" -o "$folder/compiled" --json)
if ! "${compile[@]}" > "$folder/report" 2> "$folder/error"; then
  cat "$folder/error"
  grep -q 'was not found' "$folder/error" || exit 1
  echo "SKIPPED: a compiler is missing, so that nothing was compiled; 'tuneonce doctor' states how to install it"
  exit 77
fi
if grep -n '"refused": [1-9]' "$folder/report"; then
  echo "FAILED: a compiler refused configs"
  exit 1
fi
tuneonce bundle check "$folder/compiled"
