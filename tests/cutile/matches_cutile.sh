#!/usr/bin/env bash
# matches_cutile.sh TUNEONCE SOURCE_FOLDER: for every kernel of bundles/ that was written in cuTile, and several sets of hints,
# the bytecode that `tuneonce hints set` patches compiles to the same bytes as cuTile's own export with replace_hints, and
# tileirdisasm shows the same program. Needs PyPI's cuda-tile and nvidia-cuda-tileiras in .deps/tile (scripts/test).
set -euo pipefail
tuneonce=$1 source=$2
tile=$source/.deps/tile
bin=$tile/nvidia/cu13/bin
if [ ! -x "$bin/tileiras" ]; then
  echo "SKIPPED: cuTile and tileiras are not in $tile: run scripts/install_dependencies --tests" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hint_sets=("occupancy=2" "num_ctas=2,occupancy=4" "num_worker_warps=8")
arguments=()
for hints in "${hint_sets[@]}"; do arguments+=(--hints "$hints"); done
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tile python3 "$source/tests/cutile/export.py" "$work" "${arguments[@]}"

check() {  # PLAIN HINTS
  local plain=$1 hints=$2 exported=${1%.tileir}@$2.tileir patched=$1.patched.$2
  # shellcheck disable=SC2086
  "$tuneonce" hints set "$plain" ${hints//,/ } -o "$patched" > /dev/null
  for file in "$exported" "$patched"; do
    env -i TMPDIR="$work" "$bin/tileiras" --gpu-name sm_90 "$file" -o "$file.cubin"
    env -i "$bin/tileirdisasm" "$file" > "$file.text"
  done
  cmp "$exported.cubin" "$patched.cubin" && cmp "$exported.text" "$patched.text"
}
export -f check
export tuneonce bin work
# One structural config of each kernel with every set: what a hint does to the file does not depend on the tile's size.
# The plain export is checked against clearing, too.
count=0
for name in rms_norm.1024x0x1 rms_norm.1024x1x1 softmax.1024x0x0 silu_and_mul.512 rope.4x64 \
            matmul.64x64x64 persistent_matmul.64x64x64 vector_add.1024 layer_norm.1024x1x1 elementwise.1024 \
            dual_gemm.64x64x32 attention.64x32x64 fp8_matmul.16x128x128 grouped_gemm.64x128x64 \
            varlen_attention.64x64x64 decode_attention.64x64; do
  plain=$work/$name.tileir
  for hints in "${hint_sets[@]}"; do
    check "$plain" "$hints"
    count=$((count + 1))
  done
  # The other configs: the same program text, without compiling it.
  for other in "$work/${name%%.*}".*.tileir; do
    case $other in *@*|"$plain") continue ;; esac
    "$tuneonce" hints set "$other" occupancy=2 -o "$other.patched" > /dev/null
    cmp <(env -i "$bin/tileirdisasm" "${other%.tileir}@occupancy=2.tileir") <(env -i "$bin/tileirdisasm" "$other.patched")
    count=$((count + 1))
  done
done
echo "$count patched files match cuTile's exports"
