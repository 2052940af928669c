#!/usr/bin/env bash
# math_matches_cutile.sh TUNEONCE SOURCE_FOLDER: what the options ftz and approx make of a kernel's bytecode compiles to
# the same bytes as cuTile's own export of a source that has these flags at every operation. Needs PyPI's cuda-tile and
# nvidia-cuda-tileiras in .deps/tile (scripts/test).
set -euo pipefail
tuneonce=$1 source=$2
tile=$source/.deps/tile
bin=$tile/nvidia/cu13/bin
if [ ! -x "$bin/tileiras" ]; then
  echo "SKIPPED: cuTile and tileiras are not in $tile: run scripts/install_dependencies --tests" >&2
  exit 77
fi
export TUNEONCE_TILEIRAS=$bin/tileiras
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
# One config is enough for each kernel.
check() {  # VERSION "MATH ..." KERNEL.CONFIG...
  local version=$1 out=$work/$1 maths=$2 each math options
  shift 2
  # shellcheck disable=SC2086
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tile python3 "$source/tests/cutile/export.py" "$out" --bytecode-version "$version" \
    ${maths:+--math ${maths// / --math }} --only "$@"
  for each in "$@"; do
    for math in $maths; do
      options="--option ${math//,/=true --option }=true"
      env -i TMPDIR="$work" "$bin/tileiras" --gpu-name sm_90 "$out/$each@$math.tileir" -o "$out/theirs.cubin"
      # shellcheck disable=SC2086
      "$tuneonce" compile "$out/$each.tileir" --target sm_90 $options -o "$out/ours.cubin" > /dev/null
      cmp "$out/theirs.cubin" "$out/ours.cubin"
      count=$((count + 1))
    done
  done
}
# Both flags at once for every kernel, and each alone for those with few operations: compiling takes the time. The
# other attentions have the operations of the first.
kernels=(attention.64x64x64 softmax.1024x0x0 rms_norm.1024x0x1 layer_norm.1024x1x1 silu_and_mul.512 rope.4x64
         elementwise.1024 fp8_block_matmul.16x128x128)
[ "${TUNEONCE_TESTS:-}" != whole ] || kernels+=(decode_attention.64x64 varlen_attention.64x64x64)
check 13.3 "ftz,approx" "${kernels[@]}"
check 13.3 "ftz approx" softmax.1024x0x0 silu_and_mul.512
# The plain file and the patched one differ: else the comparison above would show nothing.
"$tuneonce" compile "$work/13.3/attention.64x64x64.tileir" --target sm_90 -o "$work/plain.cubin" > /dev/null
"$tuneonce" compile "$work/13.3/attention.64x64x64.tileir" --target sm_90 --option ftz=true -o "$work/ftz.cubin" > /dev/null
if cmp -s "$work/plain.cubin" "$work/ftz.cubin"; then
  echo "ftz changes nothing" >&2
  exit 1
fi
echo "$count patched files compile to what cuTile's exports compile to"
