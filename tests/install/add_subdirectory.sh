#!/usr/bin/env bash
# add_subdirectory.sh SOURCE CUDA_INCLUDE MODE: builds the consumer with tuneonce inside it and runs it; it finds the CPU
# device where it was built. MODE:
#   minimal  a shared library without JSON and SQLite, which shows no Abseil symbol, and has the ABI that was committed
#   default  by FetchContent, static, with whatever the machine has, by clang where it is there: a store on disk and
#            bundles, by name, work
#   absl     as minimal, with the pinned Abseil; TUNEONCE_ABSL_SOURCE names a copy of it, else it is fetched
set -euo pipefail
source=$1 cuda=$2 mode=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUNEONCE_CPU_DRIVER TUNEONCE_BUNDLES
options=(-DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_EXTENSIONS=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DTUNEONCE_SOURCE="$source" -DTUNEONCE_CUDA_INCLUDE_DIR="$cuda" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON)
minimal=(-DBUILD_SHARED_LIBS=ON -DTUNEONCE_WITH_JSON=OFF -DTUNEONCE_WITH_SQLITE=OFF)
# What did not change since the last run comes from ccache where there is one. By relative paths it is found although the
# folder has another name each time.
export CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
if command -v ccache > /dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
arguments=()
case $mode in
  minimal) options+=("${minimal[@]}") ;;
  default) options+=(-DTUNEONCE_FETCH=ON -DCMAKE_CXX_FLAGS_DEBUG=-O0)  # Nobody debugs it: faster.
           # The other modes have the machine's own compiler; without optimization clang takes two thirds of its time.
           if command -v clang++ > /dev/null; then options+=(-DCMAKE_CXX_COMPILER=clang++); fi
           arguments=("$work/store/store.db" softmax) ;;
  absl) options+=("${minimal[@]}" -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON)
        [ -z "${TUNEONCE_ABSL_SOURCE:-}" ] || options+=(-DFETCHCONTENT_SOURCE_DIR_TUNEONCE_ABSL="$TUNEONCE_ABSL_SOURCE") ;;
esac
cmake -G Ninja -S "$(dirname "$0")/consumer" -B "$work" "${options[@]}" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# A library's own targets keep its standard, and what it is warned of is up to the project around it.
if grep '"command"' "$work/compile_commands.json" | grep -- "-o tuneonce/" | grep -E -- '-std=c\+\+2|-Wall|-Wextra|-Werror'; then
  echo "a target of tuneonce was compiled as the consumer is, or with warnings"; exit 1
fi
grep '"command"' "$work/compile_commands.json" | grep -v -- "-o tuneonce/" | grep -q -- '-std=c++20'
cmake --build "$work" --target consumer > "$work/log" || { cat "$work/log"; exit 1; }
if [ "$mode" != default ]; then
  nm -DC --defined-only "$work/tuneonce/tools/libtuneonce_tools.so" > "$work/symbols_of_tools"
  if grep ' T tuneonce::' "$work/symbols_of_tools" | grep -v 'tuneonce::v[0-9]*::SummaryTable'; then
    echo "libtuneonce_tools.so shows more than report.h has without JSON"; exit 1
  fi
  nm -DC --defined-only "$work/tuneonce/lib/libtuneonce.so" > "$work/symbols"
  if grep 'absl::' "$work/symbols" "$work/symbols_of_tools"; then
    echo "a shared library shows Abseil symbols"; exit 1
  fi
  if [ "$mode" = minimal ] && command -v abidw > /dev/null; then  # Their public ABI is what was committed.
    "$source/scripts/abi" "$work/tuneonce/lib/libtuneonce.so"
    "$source/scripts/abi" "$work/tuneonce/tools/libtuneonce_tools.so"
  fi
  grep -q 'tuneonce::v[0-9]*::TunedKernel::Create' "$work/symbols" || { echo "the API is not exported"; exit 1; }
fi
(cd / && "$work/consumer" "${arguments[@]}")
