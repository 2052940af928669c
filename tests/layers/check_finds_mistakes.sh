#!/usr/bin/env bash
# check_finds_mistakes.sh ROOT CMAKE: plants one mistake of each kind in a copy of the tree and expects check_layers, and
# check_includes, to name each of them.
set -euo pipefail
root=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

copy_tree() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  cp -r "$root/include" "$root/lib" "$root/tools" "$work/tree/"
}

expectations=()  # FILE, what is wrong with it, and a part of the message, by threes.
expect_all() {  # COMMAND...: it fails, and names each mistake after its file.
  local i
  if "$@" > "$work/log" 2>&1; then echo "no mistake was found by: $*"; exit 1; fi
  tr '\n' ' ' < "$work/log" | tr -s ' ' > "$work/line"
  for ((i = 0; i < ${#expectations[@]}; i += 3)); do
    grep -qF "${expectations[i]}: ${expectations[i + 2]}" "$work/line" && continue
    echo "not found, or by another message: ${expectations[i]}: ${expectations[i + 1]}"
    cat "$work/log"
    exit 1
  done
  expectations=()
}

plant() {  # FILE LINE MESSAGE
  printf '%s\n' "$2" >> "$work/tree/$1"
  expectations+=("$1" "$2" "$3")
}

copy_tree
plant lib/base/status.cc '#include "cuda/event.h"' 'base may not include cuda'
plant lib/definition/config.cc '#include "runtime/hit_table.h"' 'definition may not include runtime'
plant lib/runtime/config_chain.cc '#include "report/config_json.h"' 'runtime may not include report'
plant lib/search/candidate.cc '#include "tuneonce/plugin/record_store.h"' 'search does not know store'
plant lib/store/memory_store.cc '#include "tuneonce/exhaustive_search.h"' 'store may not include search'
plant include/tuneonce/result.h '#include "absl/strings/str_cat.h"' 'a public header may not include a third-party library'
plant include/tuneonce/device.h '#include "cuda/event.h"' 'a public header may not include a private one'
plant lib/search/candidate.cc 'auto x = UnguardedTable(api);' 'calls the driver round the capture guard'
plant tools/inspect/doctor.cc '#include <filesystem>' 'use base/file.h'
plant lib/definition/config.cc 'auto x = getenv("X");' 'only base/environment reads'
plant lib/search/candidate.cc 'auto x = Environment::Read();' 'takes the environment from its Runtime'
expect_all "$cmake" "-DROOT=$work/tree" -P "$root/tests/layers/check_layers.cmake"

without() {  # FILE INCLUDE MESSAGE
  grep -qF "#include \"$2\"" "$root/$1" || { echo "$1 does not include $2: this tests nothing"; exit 1; }
  grep -vF "#include \"$2\"" "$root/$1" > "$work/tree/$1"
  expectations+=("$1" "without $2" "$3")
}

copy_tree
without lib/search/search_engine_race.cc search/search_engine.h 'names SearchEngine'
without lib/search/candidate.cc base/short_list.h 'calls ShortListOf'
without lib/search/trial_worker.cc absl/strings/str_cat.h 'uses absl::StrCat'
expect_all python3 "$root/tests/layers/check_includes.py" "$work/tree"
