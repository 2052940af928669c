#!/usr/bin/env bash
# compiles_for_targets.sh TUNEONCE SOURCE_FOLDER: one config of every bundle: its Tile IR compiles for one of sm_80 (of
# 8-bit floats sm_89), sm_90, sm_100 and sm_120 in turn, and its CUDA C++ for sm_80 or sm_90, of bfloat16 for sm_80. By
# CUDA C++ for sm_90, which stands behind the Tile IR and has other limits, configs that have every value of each axis,
# the largest first. TUNEONCE_TESTS=whole: for each of these targets, and all configs. Nothing runs. Needs
# nvidia-cuda-tileiras in .deps/tile (scripts/test), and NVRTC.
set -euo pipefail
tuneonce=$1 bundles=$2/bundles
export TUNEONCE_TILEIRAS=$2/.deps/tile/nvidia/cu13/bin/tileiras
if [ ! -x "$TUNEONCE_TILEIRAS" ]; then
  echo "SKIPPED: there is no $TUNEONCE_TILEIRAS: run scripts/install_dependencies --tests" >&2
  exit 77
fi
if ! "$tuneonce" doctor | grep -q '^\[ok\] *NVRTC'; then
  echo "SKIPPED: there is no NVRTC" >&2
  exit 77
fi

declare -A has_tile_ir has_cuda
num_compiled=0
for_targets() {  # FILE TARGET... -- OPTION...: for all of them, or for one of them in turn
  local file=$1 target
  local -a targets=()
  shift
  while [ "$1" != -- ]; do targets+=("$1"); shift; done
  shift
  [ "${TUNEONCE_TESTS:-}" = whole ] || targets=("${targets[num_compiled++ % ${#targets[@]}]}")
  for target in "${targets[@]}"; do "$tuneonce" compile "$file" --target "$target" "$@"; done
}
of_cuda() { # NAME MACRO...
  local name=$1 macro
  local -a macros=()
  shift
  has_cuda[$name]=1
  for macro in "$@"; do macros+=(-D "$macro"); done
  for_targets "$bundles/$name/$name.cu" sm_80 sm_90 -- "${macros[@]}"
  if grep -q BFLOAT16 "$bundles/$name/$name.cu"; then
    "$tuneonce" compile "$bundles/$name/$name.cu" --target sm_80 "${macros[@]}" -D BFLOAT16=1
  fi
}
of_tile_ir() { # OLDEST_TARGET FILE...
  local oldest=$1 file
  shift
  for file in "$@"; do
    has_tile_ir[${file%%.*}]=1
    for_targets "$bundles/${file%%.*}/$file.tileir" "$oldest" sm_90 sm_100 sm_120 --
  done
}

of_tile_ir sm_80 attention.64x64.D64 decode_attention.64.D64 dual_gemm.64x64x32 elementwise.1024 \
  grouped_gemm.64x128x64 layer_norm.1024x0x1 matmul.64x64x32 paged_attention.64x64.D64 persistent_matmul.64x64x64 rms_norm.1024x0x1 rope.4x64 \
  silu_and_mul.512 softmax.1024x0x1 split_k_matmul.64x64x64 varlen_attention.64x64.D64 vector_add.1024
of_tile_ir sm_80 attention.64x64.D64.bfloat16 matmul.64x64x32.bfloat16 rms_norm.1024x0x1.bfloat16
of_tile_ir sm_89 fp8_block_matmul.64x128x128 fp8_matmul.64x128x128
of_cuda attention TILE_M=64
of_cuda decode_attention TILE_N=64
of_cuda dual_gemm TILE_M=64 TILE_N=64 TILE_K=32 occupancy=1
of_cuda elementwise BLOCK=2048
for name in fp8_block_matmul fp8_matmul; do of_cuda "$name" TILE_M=64 TILE_N=128 TILE_K=128 occupancy=1; done
of_cuda grouped_gemm TILE_M=64 TILE_N=128 TILE_K=64 occupancy=1
of_cuda grouped_gemm_pointers TILE_M=64 TILE_N=64 occupancy=1
for name in layer_norm rms_norm softmax; do of_cuda "$name" TILE_N=1024 occupancy=1; done
for name in matmul persistent_matmul; do of_cuda "$name" TILE_M=64 TILE_N=64 TILE_K=32 occupancy=1; done
of_cuda paged_attention TILE_M=64
of_cuda split_k_matmul TILE_M=64 TILE_N=64 TILE_K=32 occupancy=1
of_cuda rope TILE_H=4 HALF=64 occupancy=1
of_cuda silu_and_mul TILE_N=512 occupancy=1
of_cuda varlen_attention TILE_M=64
of_cuda vector_add BLOCK=1024 UNROLL=1
for folder in "$bundles"/*/; do
  name=$(basename "$folder")
  compgen -G "$folder*.tileir" > /dev/null || has_tile_ir[$name]=1  # It has none.
  if [ -z "${has_tile_ir[$name]:-}" ] || [ -z "${has_cuda[$name]:-}" ]; then
    echo "$name is not compiled here: add one of its configs above" >&2
    exit 1
  fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 - "$bundles" "$scratch" << 'EOF'
import json
import math
import os
import shutil
import sys
from pathlib import Path

for manifest in Path(sys.argv[1]).glob("*/manifest.json"):
    copy = Path(shutil.copytree(manifest.parent, Path(sys.argv[2]) / manifest.parent.name)) / "manifest.json"
    of = json.loads(copy.read_text())
    of["variants"] = [each for each in of["variants"]
                      if each["source"] in ("cuda_cpp", "cpu_cpp") and "bfloat16" not in each["name"]]
    def code_of(config):
        return tuple((name, value) for name, value in config.items() if name not in ("backend", "occupancy"))

    def size_of(config):
        return math.prod(value for _, value in code_of(config) if isinstance(value, int) and value > 0)

    text = json.dumps(of["baseline"])
    is_whole = os.environ.get("TUNEONCE_TESTS") == "whole"
    seen = set()
    kept = []
    for config in of["configs"] if is_whole else sorted(of["configs"], key=size_of, reverse=True):
        parts = {code_of(config)} if is_whole else {*code_of(config)}
        if not parts <= seen or json.dumps(config) in text:
            kept.append(config)
        seen |= parts
    of["configs"] = kept
    copy.write_text(json.dumps(of))
EOF
for folder in "$scratch"/*/; do
  name=$(basename "$folder")
  "$tuneonce" bundle compile "$folder" --target sm_90 -o "$scratch/ahead/$name" --json > "$scratch/ahead.json"
  if ! grep -q '"refused": 0' "$scratch/ahead.json"; then
    echo "$name: CUDA C++ does not build each config:" >&2
    cat "$scratch/ahead.json" >&2
    exit 1
  fi
done
