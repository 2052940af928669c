#!/usr/bin/env bash
# run.sh FOLDER [FIRST [LAST]]: everything that needs a GPU, with the programs in FOLDER (a build's bin, or a copy of it
# on a machine that cannot build). With FIRST, from the step of that name on ("": from the beginning), and with LAST up
# to that one: after a run that was cut off, or where two GPUs take a part each. At its end stands a table of what
# passed, failed or was skipped, and why. Exit code 0 if nothing failed, also where something was skipped for want of a
# tool; 1 if a step failed, or none is called FIRST or LAST; 77 where there is no GPU.
set -uo pipefail
bin=$(cd "${1:?usage: run.sh FOLDER_OF_THE_PROGRAMS [FIRST_STEP [LAST_STEP]]}" && pwd)
to_begin=${2:-}  # Emptied when that step comes, and so is to_end.
to_end=${3:-}
is_over=
here=$(cd "$(dirname "$0")" && pwd)
bundles=$(cd "$here/../../bundles" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
doctor=$("$bin/tuneonce" doctor)
if ! grep -q '^\[ok\] *device cuda:0' <<< "$doctor"; then
  echo "SKIPPED: no GPU on this machine; the driver seam, the bundles and the hit benchmark were NOT run on one."
  exit 77
fi
echo "$doctor"

table=()
failed=0
is_left_out() { # NAME: whether it comes before the first step or behind the last.
  [ "$1" != "$to_begin" ] || to_begin=
  [ -z "$to_begin$is_over" ] || return 0
  [ "$1" != "$to_end" ] || { to_end= is_over=1; }
  return 1
}
skip() { # NAME WHY
  is_left_out "$1" && return
  note_skipped "$@"
}
note_skipped() { # NAME WHY
  echo "SKIPPED: $1 was NOT run: $2"
  table+=("skipped  $1: $2")
}
step() { # NAME COMMAND...: a program that is not there is skipped, and so is one that ends with 77.
  local name=$1 code skipped begin=$SECONDS took
  is_left_out "$name" && return
  shift
  if ! command -v "$1" > /dev/null; then
    note_skipped "$name" "there is no $1"
    return
  fi
  echo "== $*"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  took=$((SECONDS - begin))
  # GoogleTest's list of what it skipped, where it did.
  skipped=$(grep -c '^\[  SKIPPED \] [^0-9]' "$log")
  if [ "$code" = 77 ]; then
    note_skipped "$name" "it says so above"
  elif [ "$code" != 0 ]; then
    echo "FAILED: $*"
    table+=("FAILED   $name: exit code $code ($took s)")
    failed=1
  elif [ "$skipped" != 0 ]; then
    echo "SKIPPED: $skipped tests of $name, listed above, were NOT run"
    table+=("passed   $name, but $skipped tests were skipped: see above ($took s)")
  else
    table+=("passed   $name ($took s)")
  fi
}
in_shards() { # PROGRAM...: in up to eight processes at a time
  local shards=$((($(nproc) + 1) / 2)) code=0 logs i pid
  local -a pids=()
  [ "$shards" -le 8 ] || shards=8
  logs=$(mktemp -d)
  for ((i = 0; i < shards; ++i)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" > "$logs/$i" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
  cat "$logs"/*
  rm -rf "$logs"
  return "$code"
}
step_in_shards() { # NAME PROGRAM...: GoogleTest's tests of results, whose times nobody reads: most of it is compiling
  local name=$1
  shift
  if command -v "$1" > /dev/null; then step "$name" in_shards "$@"; else skip "$name" "there is no $1"; fi
}
step_with() { # TOOL HOW_TO_GET_IT NAME COMMAND...: skipped unless `tuneonce doctor` finds the tool
  local tool=$1 remedy=$2
  shift 2
  if grep -qF "[ok] $tool:" <<< "$(sed 's/\] */] /' <<< "$doctor")"; then
    step "$@"
  else
    skip "$1" "it needs $tool ($remedy)"
  fi
}
step_with_tileiras() { # NAME COMMAND...
  step_with tileiras "pip install nvidia-cuda-tileiras, or TUNEONCE_TILEIRAS" "$@"
}
step_with_cutile() { # NAME COMMAND...: for programs that compile by cuTile's own package too
  # It passes CUDA_HOME to the tileiras that it finds by PATH, which then takes that toolkit's older ptxas and fails.
  local name=$1
  shift
  step_with_tileiras "$name" env -u CUDA_HOME -u CUDA_PATH "$@"
}
step_with_tile_cpp() { # NAME COMMAND...
  step_with "CUDA Tile C++" "tuneonce doctor names what is missing" "$@"
}

# By name; beside a copy of the programs alone there are no bundles.
export TUNEONCE_BUNDLES=$bundles
step "driver conformance" "$bin/driver_conformance" --driver=cuda  # Not brief: a crash shows in which test.
step "ranks, a thread for each of two GPUs" "$bin/tuneonce_ranks_threads" cuda 2
step "time of a warm-up whose keys GPUs share" "$bin/key_sharing_benchmark" --device=cuda --benchmark_format=json \
  --benchmark_filter="matmul|llm"
for bundle in vector_add elementwise rms_norm layer_norm softmax silu_and_mul rope matmul persistent_matmul dual_gemm \
              attention fp8_matmul fp8_block_matmul grouped_gemm grouped_gemm_pointers varlen_attention decode_attention \
              split_k_matmul paged_attention; do
  step "tune $bundle" "$bin/tuneonce" tune "$bundle" --device cuda
  step "tune $bundle without Tile IR" env ENABLE_TILE=0 "$bin/tuneonce" tune "$bundle" --device cuda --quiet
done
# Shapes that fit no tile, rows that no tile covers, one row.
tune_at() { # BUNDLE DIM=EXTENT...
  local bundle=$1 shape
  local -a shapes=()
  shift
  for shape in "$@"; do shapes+=(--shape "$shape"); done
  step "tune $bundle, $*" "$bin/tuneonce" tune "$bundle" --device cuda "${shapes[@]}" --quiet
}
for bundle in matmul persistent_matmul dual_gemm fp8_matmul; do
  tune_at "$bundle" M=1000 N=777 K=123
  tune_at "$bundle" M=1 N=4001 K=4096
  tune_at "$bundle" M=1 N=16384 K=4096
done
for bundle in rms_norm layer_norm softmax; do
  tune_at "$bundle" M=33 N=1001
  tune_at "$bundle" M=4096 N=4001
  tune_at "$bundle" M=4096 N=16384
  tune_at "$bundle" M=1 N=16384
done
tune_at silu_and_mul M=4096 N=4001 N2=8002
tune_at silu_and_mul M=1 N=16384 N2=32768
tune_at rope T=33 H=5
tune_at rope T=1 H=32
tune_at attention S=1000 T=1000 H=8 G=2 D=64
tune_at attention S=1000 T=3000 H=8 G=2 causal=0
tune_at attention S=1 T=8191
tune_at attention S=2048 T=2048 H=8 G=8 D=256
tune_at fp8_block_matmul M=1000 N=777 K=123 NB=7 KB=1
tune_at fp8_block_matmul M=1 N=4000 K=4096 NB=32 KB=32
tune_at grouped_gemm T=1000 E=7 OFFSETS=8 N=777 K=123
tune_at grouped_gemm T=1 E=64 OFFSETS=65
tune_at grouped_gemm T=4096 E=256 OFFSETS=257 N=2048 K=2048
tune_at grouped_gemm_pointers M=100 E=7 N=777 K=123
tune_at grouped_gemm_pointers M=64 E=256 N=2048 K=2048
tune_at varlen_attention T=1000 OFFSETS=12 H=8 G=2 D=64
tune_at varlen_attention T=1000 OFFSETS=400 H=8 G=8 D=80 causal=0
tune_at decode_attention B=1 C=1000 H=8 G=8 D=64
tune_at decode_attention B=1 C=65536 H=32 G=8
tune_at decode_attention B=3 C=4000 H=40 G=2 D=80
tune_at decode_attention B=2 C=4096 H=16 G=8 D=256
tune_at split_k_matmul M=1 N=4096 K=14336 COUNTERS=64
tune_at split_k_matmul M=37 N=777 K=1001 COUNTERS=39
tune_at paged_attention T=16 S=16 OFFSETS=17 PAGE=16 PAGES=8192 TABLE=256
tune_at paged_attention T=1000 S=12 OFFSETS=13 H=8 G=2 D=80 PAGE=16 PAGES=1000 TABLE=70 causal=0
tune_at vector_add N=1000003
tune_at elementwise N=1000003
step_in_shards "bundles by Tile IR and by CUDA C++" "$bin/bundle_gpu_test" --gtest_brief=1
step_in_shards "tolerances of bundles, five seeds" "$bin/tolerance_gpu_test" --gtest_brief=1
step_in_shards "CUDA Tile C++ of bundles" "$bin/tile_cpp_gpu_test" --gtest_brief=1
step_with_tile_cpp "hello" "$bin/tuneonce_hello" cuda
if [ -e "$bin/libtuneonce_exec_counter.so" ]; then
  step_with_tile_cpp "hello without Python and nvcc" python3 "$here/hello_gpu_test.py" --bin "$bin" \
    --counter "$bin/libtuneonce_exec_counter.so" --device cuda
fi
step_with_tileiras "decode loop" "$bin/tuneonce_decode_loop" cuda
step_with_tileiras "language model, tiny" "$bin/tuneonce_llm" cuda tiny
step_with_tileiras "language model" "$bin/tuneonce_llm" cuda small
if [ -e "$bin/llm_step_benchmark" ]; then
  step_with_tileiras "host time of a language model's step" "$bin/llm_step_benchmark" --device=cuda
fi
# The same from bundles that were compiled ahead, with the compilers hidden.
if [ -e "$bin/libtuneonce_exec_counter.so" ]; then
  step_with_tileiras "examples without compilers" python3 "$here/precompiled_gpu_test.py" --bin "$bin" \
    --counter "$bin/libtuneonce_exec_counter.so" --bundles "$bundles" \
    --llm-bundles "$here/../../docs/examples/llm/bundles" --device cuda
else
  skip "examples without compilers" "there is no libtuneonce_exec_counter.so"
fi
step "TunedKernel on a GPU" "$bin/tuned_kernel_gpu_test" --gtest_brief=1
step "CUDA C++ with CUB and compiler options" "$bin/cuda_cpp_gpu_test" --gtest_brief=1
if [ -e "$bin/nvrtc_cache_benchmark" ]; then
  step "whose code NVRTC's cache gives" "$bin/nvrtc_cache_benchmark"
fi
step "isolated searches" "$bin/isolation_gpu_test"
if [ -e "$bin/isolation_benchmark" ]; then
  step "cost of isolation" "$bin/isolation_benchmark" --device=cuda
fi
step "timers" "$bin/timer_gpu_test" --gtest_brief=1
step "Tile IR code loaded beside launches" "$bin/tile_code_gpu_test"
if [ -e "$bin/programmatic_launch_benchmark" ]; then
  step_with_tileiras "chain of programmatic launches" "$bin/programmatic_launch_benchmark" --device=cuda
fi
# Tile IR kernels, where their bytecode is: TILE_KERNELS is a folder that tests/cutile/export.py wrote.
if [ -n "${TILE_KERNELS:-}" ]; then
  step_with_tileiras "Tile IR kernels" in_shards "$bin/tile_kernels_gpu_test" --kernels="$TILE_KERNELS" \
    --ptx="$here/../data/ptx/softmax.ptx" --gtest_brief=1
  step_with_tileiras "cost of compiling" "$bin/compile_cost_benchmark" --kernels="$TILE_KERNELS" --benchmark_format=json
else
  skip "Tile IR kernels" "TILE_KERNELS is not set"
fi
# The Python package, where it is (PYTHONPATH, or installed) with PyTorch, Triton and cuTile.
if python3 -c 'import tuneonce, torch, triton, cuda.tile' 2> /dev/null; then
  step_with_tileiras "Python package" python3 "$here/python_gpu_test.py" "$bundles"
  step_with_cutile "cost of a Python call" python3 "$here/../../benchmarks/python_call_cost.py" "$bundles"
  step_with_cutile "time to the first launch" python3 "$here/../../benchmarks/first_launch.py" --bundles "$bundles" \
    --tuneonce "$bin/tuneonce" --runs 1
  llm=$here/../../docs/examples/llm/llm.py
  TEST_DEVICE=cuda step_with_tileiras "language model with PyTorch" python3 "$here/../python/llm_test.py" \
    "$bin/tuneonce_llm" "$llm"
  step_with_tileiras "time of a step with PyTorch" python3 "$llm" --device cuda --size small --time
  step_with_tileiras "time of a step by PyTorch alone" python3 "$llm" --device cuda --size small --time --ops torch
  step "ranks under torchrun, on two GPUs" python3 "$here/../python/ranks_torchrun_test.py" \
    "$here/../../docs/examples/ranks_torchrun.py" "$bundles" cuda
  step_with_cutile "search over cuTile kernels" python3 "$here/../../benchmarks/cutile_search.py"
  step "tuneonce.triton.autotune" python3 "$here/triton_autotune.py"
  step_with_cutile "tuneonce.cutile.autotune" python3 "$here/cutile_autotune.py"
  for framework in torch cupy jax; do
    if python3 -c "import $framework" 2> /dev/null; then
      step_with_tileiras "a call from $framework" python3 "$here/../../docs/examples/callers/${framework}_caller.py"
    fi
  done
else
  skip "Python package" "python3 has not all of tuneonce, torch, triton and cuda-tile"
fi
# The custom op in C++, where an installed libtuneonce.so is: INSTALL_PREFIX is where `cmake --install` put it.
if [ -n "${INSTALL_PREFIX:-}" ] && python3 -c 'import torch' 2> /dev/null; then
  step_with_tileiras "C++ custom op" "$here/custom_op.sh" "$INSTALL_PREFIX"
else
  skip "C++ custom op" "python3 has no torch, or INSTALL_PREFIX is not set"
fi
# The cookbook, where CMake built it against an installed tuneonce: COOKBOOK is its build folder, or a copy.
if [ -n "${COOKBOOK:-}" ]; then
  PATH="$bin:$PATH" step "cookbook" "$here/cookbook.sh" "$COOKBOOK"
else
  skip "cookbook" "COOKBOOK is not set"
fi
echo
for missing in "$to_begin" "$to_end"; do
  [ -z "$missing" ] || { echo "run.sh: no step is called '$missing'"; exit 1; }
done
printf '%s\n' "${table[@]}"
exit $failed
