#!/usr/bin/env bash
# find_package.sh SOURCE BUILD: installs the build to an empty prefix, builds the consumer against it, runs it, and runs
# the installed command.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
cmake -G Ninja -S "$source/tests/install/consumer" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
# The program lies elsewhere than the CPU device's library: it is told where.
TUNEONCE_CPU_DRIVER=$(echo "$work"/prefix/lib*/libtuneonce_cpu_driver.so "$work"/prefix/lib/*/libtuneonce_cpu_driver.so | tr ' ' '\n' | grep -v '\*' | head -n 1) \
  "$work/build/consumer"
(cd / && "$work/prefix/bin/tuneonce" tune vector_add --device cpu --shape N=1000 --json > /dev/null)
echo "installed command: ok"
