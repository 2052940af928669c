#!/usr/bin/env bash
# check_finds_mistakes.sh ROOT CMAKE: plants one mistake of each kind in a copy and expects check_layers to name it.
set -euo pipefail
root=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() {  # FILE LINE MESSAGE
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  cp -r "$root/include" "$root/lib" "$work/tree/"
  printf '%s\n' "$2" >> "$work/tree/$1"
  if "$cmake" "-DROOT=$work/tree" -P "$root/tests/layers/check_layers.cmake" > "$work/log" 2>&1; then
    echo "not found: $1: $2"; exit 1
  fi
  tr '\n' ' ' < "$work/log" | tr -s ' ' | grep -q "$3" || { echo "wrong message for $1:"; cat "$work/log"; exit 1; }
}

expect lib/base/status.cc '#include "cuda/event.h"' 'base may not include cuda'
expect lib/definition/config.cc '#include "runtime/hit_table.h"' 'definition may not include runtime'
expect lib/search/candidate.cc '#include "tuneonce/record_store.h"' 'search does not know store'
expect lib/store/memory_store.cc '#include "tuneonce/progress.h"' 'store may not include search'
expect include/tuneonce/status.h '#include "absl/strings/str_cat.h"' 'may not include a third-party library'
expect include/tuneonce/device.h '#include "cuda/event.h"' 'may not include a private one'
expect lib/search/candidate.cc 'auto x = UnguardedTable(api);' 'round the capture guard'
expect lib/report/doctor.cc '#include <filesystem>' 'use base/file.h'
expect lib/definition/config.cc 'auto x = getenv("X");' 'only base/environment reads'
expect lib/search/candidate.cc 'auto x = Environment::Read();' 'takes the environment from its Runtime'

without() {  # FILE INCLUDE MESSAGE: the same of check_includes, of an include that is taken away
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  cp -r "$root/include" "$root/lib" "$work/tree/"
  grep -qF "#include \"$2\"" "$work/tree/$1" || { echo "$1 does not include $2: this tests nothing"; exit 1; }
  grep -vF "#include \"$2\"" "$root/$1" > "$work/tree/$1"
  if python3 "$root/tests/layers/check_includes.py" "$work/tree" > "$work/log"; then
    echo "not found: $1 without $2"; exit 1
  fi
  grep -q "$3" "$work/log" || { echo "wrong message for $1:"; cat "$work/log"; exit 1; }
}

without lib/search/search_engine_race.cc search/search_engine.h 'names SearchEngine'
without lib/search/search_runner.cc worker/mps.h 'calls IsServedByMps'
without lib/search/trial_worker.cc absl/strings/str_cat.h 'uses absl::StrCat'
