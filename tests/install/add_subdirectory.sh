#!/usr/bin/env bash
# add_subdirectory.sh SOURCE CUDA_INCLUDE: builds the consumer with tuneonce inside it, as a shared library and without
# JSON, command and tests; checks that the library shows no Abseil symbol; runs the consumer.
set -euo pipefail
source=$1 cuda=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -G Ninja -S "$source/tests/install/consumer" -B "$work" -DCMAKE_BUILD_TYPE=Debug -DTUNEONCE_SOURCE="$source" \
  -DTUNEONCE_CUDA_INCLUDE_DIR="$cuda" -DCMAKE_UNITY_BUILD=ON > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work" --target consumer tuneonce_cpu_driver > "$work/log" || { cat "$work/log"; exit 1; }
library=$work/tuneonce/lib/libtuneonce.so
nm -DC --defined-only "$library" > "$work/symbols"
if grep 'absl::' "$work/symbols"; then
  echo "libtuneonce.so shows Abseil symbols"; exit 1
fi
grep -q 'tuneonce::TunedKernel::Create' "$work/symbols" || { echo "the API is not exported"; exit 1; }
TUNEONCE_CPU_DRIVER=$work/tuneonce/cpu_device/libtuneonce_cpu_driver.so "$work/consumer"
