#!/usr/bin/env bash
# by_hand.sh SOURCE: what CONTRIBUTING.md says of building by hand. A copy of the sources alone, without .deps, is
# configured by each of its presets; whatever is missing, CMake's words say how to get it. Nothing is built.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$source" ls-files -z --cached --others --exclude-standard | (cd "$source" && xargs -0 cp --parents -t "$work" 2> /dev/null) || true
cd "$work"
failed=0
configure() {  # WHAT PRESET ARGUMENT...: passes, or fails with the words
  local what=$1 preset=$2; shift 2
  rm -rf "build/$preset"
  if cmake --preset "$preset" "$@" > log 2>&1; then return; fi
  tr -s ' \n' ' ' < log | grep -q 'scripts/install_dependencies' && return
  echo "$what: configuring fails, and nothing says what to do:"; tail -n 12 log
  failed=1
}
# Every preset that CONTRIBUTING.md names: in `cmake --preset X`, or in the list of the others.
named=$(tr '\n' ' ' < CONTRIBUTING.md | grep -oE 'cmake --preset [a-z]+|The others are [^.]*' |
        grep -oE 'preset [a-z]+|`[a-z]+`' | sed 's/preset //' | tr -d '`' | sort -u)
[ "$(wc -w <<< "$named")" = 5 ] || { echo "CONTRIBUTING.md names 5 presets, not: $named"; failed=1; }
# The sanitizer presets take as long as release, and need the same packages.
[ "${TUNEONCE_TESTS:-}" = whole ] || named=$(grep -vE '^(asan|tsan)$' <<< "$named")
for preset in $named; do
  configure "preset $preset" "$preset"
done
for package in nlohmann_json SQLite3 GTest benchmark CLI11 pybind11 Python; do
  parts=(-DTUNEONCE_WITH_MPI=OFF -DTUNEONCE_WITH_REDIS=OFF)  # What does not need it, and takes most of the time.
  [ $package = GTest ] || parts+=(-DTUNEONCE_BUILD_TESTS=OFF)
  [ $package = benchmark ] || parts+=(-DTUNEONCE_BUILD_BENCHMARKS=OFF)
  configure "without $package" release -DCMAKE_DISABLE_FIND_PACKAGE_$package=ON "${parts[@]}"
  if [ -e build/release/build.ninja ]; then echo "$package is found nevertheless: this tests nothing"; failed=1; fi
done
for path in /root/ /home/ pyenv; do  # What only one machine has.
  if grep -rn "$path" scripts cmake CMakeLists.txt CMakePresets.json; then echo "$path is on one machine only"; failed=1; fi
done
exit "$failed"
