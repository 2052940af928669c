#!/usr/bin/env bash
# run.sh FOLDER: everything that needs a GPU, with the programs in FOLDER (a build's bin, or a copy of it on a machine
# that cannot build). Exit code 77, loudly, where there is no GPU.
set -uo pipefail
bin=${1:?usage: run.sh FOLDER_OF_THE_PROGRAMS}
failed=0

if ! grep -q '^\[ok\] *device cuda:0' <<< "$("$bin/tuneonce" doctor)"; then
  echo "SKIPPED: no GPU on this machine; the driver seam, the examples and the hit benchmark were NOT run on one."
  exit 77
fi
"$bin/tuneonce" doctor

step() {
  echo "== $*"
  "$@" || { echo "FAILED: $*"; failed=1; }
}

step "$bin/driver_conformance" --driver=cuda --gtest_brief=1
for example in vector_add rms_norm rope matmul; do step "$bin/tuneonce" tune "$example" --device cuda; done
# Shapes that fit no tile.
step "$bin/tuneonce" tune matmul --device cuda --shape M=1000 --shape N=777 --shape K=123 --quiet
step "$bin/tuneonce" tune rope --device cuda --shape M=33 --shape H=5 --shape D=48 --shape R=24 --quiet
[ -x "$bin/tuneonce_decode_loop" ] && step "$bin/tuneonce_decode_loop" cuda
[ -x "$bin/tuned_kernel_gpu_test" ] && step "$bin/tuned_kernel_gpu_test" --gtest_brief=1
[ -x "$bin/timer_gpu_test" ] && step "$bin/timer_gpu_test" --gtest_brief=1
# Tile IR kernels, where tileiras and their bytecode are: TUNEONCE_TILE_KERNELS is a folder that
# docs/examples/kernels/cutile/export.py wrote.
if [ -n "${TUNEONCE_TILE_KERNELS:-}" ]; then
  step "$bin/tile_kernels_gpu_test" --kernels="$TUNEONCE_TILE_KERNELS" \
    --ptx="$(dirname "$0")/../data/ptx/softmax.ptx" --gtest_brief=1
  [ -x "$bin/compile_cost_benchmark" ] &&
    step "$bin/compile_cost_benchmark" --kernels="$TUNEONCE_TILE_KERNELS" --benchmark_format=json
else
  echo "SKIPPED: TUNEONCE_TILE_KERNELS is not set; the Tile IR kernels were NOT run."
fi
# The Python package, where it is (PYTHONPATH, or installed) with PyTorch, Triton and cuTile.
if python3 -c 'import tuneonce, torch, triton, cuda.tile' 2> /dev/null; then
  bundles=$(dirname "$0")/../../docs/examples/bundles
  step python3 "$(dirname "$0")/python_gpu_test.py" "$bundles"
  step python3 "$(dirname "$0")/../../benchmarks/python_call_cost.py" "$bundles"
else
  echo "SKIPPED: no tuneonce, torch, triton and cuda-tile for python3; the Python package was NOT run."
fi
# The custom op in C++, where an installed libtuneonce.so is: TUNEONCE_PREFIX is where `cmake --install` put it.
if [ -n "${TUNEONCE_PREFIX:-}" ] && python3 -c 'import torch' 2> /dev/null; then
  step "$(dirname "$0")/custom_op.sh" "$TUNEONCE_PREFIX"
else
  echo "SKIPPED: no torch for python3, or TUNEONCE_PREFIX is not set; the C++ custom op was NOT built and run."
fi
exit $failed
