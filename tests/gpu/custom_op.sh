#!/usr/bin/env bash
# custom_op.sh PREFIX: builds docs/examples/custom_op against the libtuneonce.so installed under PREFIX and the torch of
# python3, and tests the op on the GPU.
set -euo pipefail
prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$here/../../docs/examples/custom_op" -B "$work" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DPython3_EXECUTABLE="$(command -v python3)" > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work" > "$work/log" || { cat "$work/log"; exit 1; }
python3 "$here/custom_op_test.py" "$work/librms_norm_op.so"
