#!/usr/bin/env bash
# find_package.sh SOURCE BUILD: installs the build to an empty prefix, builds the consumer against it, runs it (it lies
# elsewhere than the CPU device's library, and finds it), and runs the installed command.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUNEONCE_CPU_DRIVER
cmake --install "$build" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
cmake -G Ninja -S "$(dirname "$0")/consumer" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
(cd / && "$work/build/consumer" "$work/store/store.db" "$source/bundles/softmax")
(cd / && "$work/prefix/bin/tuneonce" tune vector_add --device cpu --shape N=1000 --json > /dev/null)
echo "installed command: ok"
