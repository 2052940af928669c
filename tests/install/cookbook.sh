#!/usr/bin/env bash
# cookbook.sh SOURCE PREFIX CUDA_INCLUDE [PYTHON]: the cookbook as its reader uses it. A copy of docs/cookbook in an
# empty folder is built against the tuneonce that is installed under PREFIX, and run on the CPU device. Every program
# has at most 60 lines of 120 columns, is listed in the index, and includes only installed headers of tuneonce. Where
# there is an NVRTC, the kernels for a GPU compile. PYTHON is the Python whose package was built.
set -uo pipefail
source=$1 prefix=$2 cuda=$3 python=${4:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUNEONCE_CPU_DRIVER TUNEONCE_BUNDLES
failed=0
wrong() { echo "$1"; failed=1; }

cp -r "$source/docs/cookbook" "$work/cookbook" && cd "$work/cookbook" || exit 1
mapfile -t programs < <(find . -type f ! -name README.md ! -name CMakeLists.txt -printf '%P\n' | sort)
for program in "${programs[@]}"; do
  lines=$(wc -l < "$program")
  [ "$lines" -le 60 ] || wrong "$program has $lines lines; at most 60 are allowed"
  [ "$(wc -L < "$program")" -le 120 ] || wrong "$program has lines of more than 120 columns"
  grep -qF "($program)" README.md || wrong "$program is not listed in README.md"
  while read -r header; do
    [ -e "$prefix/include/$header" ] || wrong "$program includes $header, which is not installed"
  done < <(sed -n 's/^ *# *include [<"]\(tuneonce\/[^>"]*\)[>"].*/\1/p' "$program")
  if grep -nE '^ *# *include "' "$program" | grep -vE '"cuda_(tile|fp16)\.h"'; then
    wrong "$program includes a file of its folder"
  fi
  name=$(basename "$program" .cc)
  if [ "$program" = "$name.cc" ] && [ "$name" != mpi_ranks ] && [ "$name" != redis_fleet ]; then
    grep -qF "g++ -std=c++17 $name.cc \$(pkg-config --cflags --libs tuneonce) && ./a.out" "$program" ||
      wrong "$program does not state how to build it"
  fi
done
[ "$(wc -w < README.md)" -le 600 ] || wrong "README.md has more than 600 words"

# By one line, as a comment of the program states it.
export CPATH=$cuda PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$prefix/lib64/pkgconfig
(TUNEONCE_STORE=memory bash -c "$(sed -n 's/^\/\/   //p' override_shape.cc)" > /dev/null) ||
  wrong "override_shape.cc cannot be built by the line in its comment"
(TUNEONCE_STORE=memory bash -e <<< "$(sed -n 's/^ \*   //p' c_host.c | sed 's| \*/$||')" > /dev/null) ||
  wrong "c_host.c cannot be built by the lines in its comment"

pybind11=$("$python" -m pybind11 --cmakedir 2> /dev/null) || true
cmake -G Ninja -S . -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DPYBIND11_FINDPYTHON=ON -Dpybind11_DIR="$pybind11" \
  -DPython_EXECUTABLE="$(command -v "$python")" -DTUNEONCE_CUDA_INCLUDE_DIR="$cuda" \
  > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep SKIPPED "$work/log" || true
cmake --build "$work/build" -j 2 > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
PATH="$prefix/bin:$PATH" "$source/tests/gpu/cookbook.sh" "$work/build" "$python" | tee "$work/results"
[ "${PIPESTATUS[0]}" = 0 ] || failed=1
[ $# -lt 4 ] || ! grep 'has no tuneonce' "$work/results" || failed=1

# The texts for a GPU, each once. A macro that the symbol names is replaced in it.
"$prefix/bin/tuneonce" doctor > "$work/doctor" || true
declare -A compiled=()
compile() { # PROGRAM KIND OPTION...
  local program=$1 kind=$2 symbol
  shift 2
  sed -n "/k${kind}Source\[\] = R\"(/,/^})\"/p" "$program" | sed '1d; s/^})".*$/}/' > "$work/kernel.cu"
  [ -s "$work/kernel.cu" ] || return 0
  symbol=$(sed -n "s/.*${kind}Cpp(k${kind}Source, \"\([^\"]*\)\".*/\1/p" "$program")
  [ -z "${compiled[$(cat "$work/kernel.cu")]:-}" ] || return 0
  "$prefix/bin/tuneonce" compile "$work/kernel.cu" --symbol "$symbol" --target sm_90 \
    -D TILE=256 -D BLOCK=128 -D ITEMS=4 -D VEC=4 -D UNROLL=2 -D TILE_M=64 -D TILE_N=64 -D TILE_K=64 \
    "$@" > "$work/log" 2>&1 || { cat "$work/log"; wrong "the $kind C++ of $program does not compile"; return; }
  compiled[$(cat "$work/kernel.cu")]=$program
}
for program in *.cc */*.cc; do
  if grep -q '^\[ok\] *NVRTC' "$work/doctor"; then compile "$program" Cuda; fi
  if grep -q '^\[ok\] *CUDA Tile C++' "$work/doctor"; then compile "$program" Tile --tile; fi
done
echo "${#compiled[@]} kernels for a GPU compile: those of ${compiled[*]}"
exit $failed
