#!/usr/bin/env bash
# matches_cutile.sh TUNEONCE SOURCE_FOLDER: for every kernel of bundles/ that was written in cuTile, and several sets of hints,
# what `tuneonce hints set` patches is, as tileirdisasm shows it, the same program as cuTile's own export with replace_hints;
# of three kernels it also compiles to the same bytes. (Not of all: of some, by num_ctas=2, tileiras 13.5 makes one of two
# codes each time, also of the same file.) A kernel's other configs have one set of hints: every fourth of them, or all
# with TUNEONCE_TESTS=whole. Needs PyPI's cuda-tile and nvidia-cuda-tileiras in .deps/tile (scripts/test).
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
# One structural config of each kernel with every set: what a hint does to the file does not depend on the tile's size.
names=(rms_norm.1024x0x1 softmax.1024x0x0 matmul.64x64x64 silu_and_mul.512 rope.4x64 persistent_matmul.64x64x64
       vector_add.1024 layer_norm.1024x1x1 elementwise.1024 dual_gemm.64x64x32 attention.64x32x64
       fp8_matmul.16x128x128 fp8_block_matmul.16x128x128 grouped_gemm.64x128x64 varlen_attention.64x64x64
       decode_attention.64x64 paged_attention.64x64x64 split_k_matmul.64x64x64)
every=4
[ "${TUNEONCE_TESTS:-}" != whole ] || every=1
export_by_cutile() {  # ARGUMENT...
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tile python3 "$source/tests/cutile/export.py" "$work" "$@"
}
export_by_cutile --hints "${hint_sets[0]}" --every "$every"
export_by_cutile --hints "${hint_sets[0]}" --hints "${hint_sets[1]}" --hints "${hint_sets[2]}" --only "${names[@]}"

same_text() {  # FILE FILE
  cmp <(env -i "$bin/tileirdisasm" "$1") <(env -i "$bin/tileirdisasm" "$2")
}
same_code() {  # FILE FILE
  for file in "$@"; do env -i TMPDIR="$work" "$bin/tileiras" --gpu-name sm_90 "$file" -o "$file.cubin"; done
  cmp "$1.cubin" "$2.cubin"
}

count=0
for name in "${names[@]}"; do
  plain=$work/$name.tileir
  for hints in "${hint_sets[@]}"; do
    exported=${plain%.tileir}@$hints.tileir
    # shellcheck disable=SC2086
    "$tuneonce" hints set "$plain" ${hints//,/ } -o "$plain.patched" > /dev/null
    same_text "$exported" "$plain.patched"
    case $name in rms_norm* | softmax* | matmul*) same_code "$exported" "$plain.patched" ;; esac
    count=$((count + 1))
  done
  # The other configs, with one set.
  for other in "$work/${name%%.*}".*.tileir; do
    case $other in *@*|"$plain") continue ;; esac
    "$tuneonce" hints set "$other" occupancy=2 -o "$other.patched" > /dev/null
    same_text "${other%.tileir}@occupancy=2.tileir" "$other.patched"
    count=$((count + 1))
  done
done
echo "$count patched files match cuTile's exports"
