#!/usr/bin/env bash
# run_test.sh: that run.sh says of each step how it ended, and ends as it should, with programs that only pretend.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

program() { # NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" > "$work/$1"
  chmod +x "$work/$1"
}
tools() { # WHAT DOCTOR SAYS
  program tuneonce "[ \"\$1\" = doctor ] && printf '%s\\n' $1; exit 0"
}
steps=()  # The first and the last step that expect asks for.
expect() { # WHAT CODE PART... : run.sh ends with CODE and says each PART, and none that begins with "not "
  local what=$1 code=$2 output got
  shift 2
  output=$(env -u INSTALL_PREFIX -u COOKBOOK PATH="$work:$PATH" TILE_KERNELS="$work" \
    "$here/run.sh" "$work" "${steps[@]}" 2>&1)
  got=$?
  [ "$got" = "$code" ] || { echo "$what: exit code $got, not $code"; wrong=1; }
  for part in "$@"; do
    if [ "${part#not }" != "$part" ]; then
      ! grep -q -- "${part#not }" <<< "$output" || { echo "$what: '${part#not }' is said in:"; echo "$output"; wrong=1; }
      continue
    fi
    grep -q -- "$part" <<< "$output" || { echo "$what: '$part' is not said in:"; echo "$output"; wrong=1; }
  done
}
# No Python package is there, whatever this machine has.
program python3 "exit 1"
reset() {
  for name in driver_conformance bundle_gpu_test cuda_cpp_gpu_test tuneonce_hello tuneonce_decode_loop tuneonce_llm tuned_kernel_gpu_test timer_gpu_test tile_kernels_gpu_test compile_cost_benchmark; do
    program "$name" 'exit 0'
  done
  tools "'[ok]      device cuda:0: a GPU' '[ok]      tileiras: 13.0' '[ok]      CUDA Tile C++: 13.5'"
}

reset
expect "all passes" 0 '^passed   driver conformance (. s)$' '^passed   tune rope without Tile IR (. s)$' '^passed   bundles by Tile IR' '^passed   hello (' '^passed   Tile IR kernels (' '^passed   cost of compiling (' '^skipped  C++ custom op' '^skipped  cookbook: COOKBOOK is not set'
steps=("TunedKernel on a GPU")
expect "from a step on" 0 'not passed   hello' '^passed   TunedKernel on a GPU (' '^skipped  C++ custom op'
steps=("hello" "TunedKernel on a GPU")
expect "some steps" 0 'not passed   bundles' '^passed   hello (' '^passed   TunedKernel on a GPU (' 'not passed   timers' \
  'not custom op'
steps=("" "hello")
expect "up to a step" 0 '^passed   driver conformance (' '^passed   hello (' 'not decode loop'
steps=("hello" "hello there")
expect "no such step" 1 "no step is called 'hello there'"
steps=("hi")
expect "no such step to begin with" 1 "no step is called 'hi'"
steps=()
tools "'[ok]      device cuda:0: a GPU' '[missing] tileiras: not found'"
expect "no tileiras" 0 '^SKIPPED: Tile IR kernels was NOT run: it needs tileiras' '^skipped  Tile IR kernels' '^passed   timers ('
program timer_gpu_test 'exit 1'
expect "a step fails" 1 '^FAILED: ' '^FAILED   timers: exit code 1 (' '^passed   tune matmul ('
program timer_gpu_test 'kill -SEGV $$'
expect "a step crashes" 1 '^FAILED   timers: exit code 139'
reset
program driver_conformance "printf '[  PASSED  ] 3 tests.\n[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] A.B\n[  SKIPPED ] A.C\n'"
program tuned_kernel_gpu_test 'exit 77'
rm "$work/tuneonce_decode_loop"
expect "parts are skipped" 0 '^passed   driver conformance, but 2 tests were skipped' '^skipped  TunedKernel on a GPU' '^skipped  decode loop: there is no'
tools "'[missing] CUDA driver: not found'"
expect "no GPU" 77 '^SKIPPED: no GPU'
exit $wrong
