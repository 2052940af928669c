#!/usr/bin/env bash
# find_package.sh SOURCE BUILD: installs the build to an empty prefix, builds the consumer against it, runs it (it lies
# elsewhere than the CPU device's library and the bundles, and finds both), runs the installed command, which finds the
# bundles that were installed, and two plugins with a tuneonce each, which export none of it.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUNEONCE_CPU_DRIVER
cmake --install "$build" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
cmake -G Ninja -S "$(dirname "$0")/consumer" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" -DCONSUMER_PLUGINS=ON > "$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
unset TUNEONCE_BUNDLES
(cd / && "$work/build/consumer" "$work/store/store.db" softmax)
(cd / && "$work/prefix/bin/tuneonce" tune vector_add --device cpu --shape N=1000 --json > /dev/null)
cmp <(cd "$source/bundles" && find . -name __pycache__ -prune -o -print | sort) \
    <(cd "$work/prefix/share/tuneonce/bundles" && find . -print | sort) || { echo "not all bundles are installed"; exit 1; }
said=$(cd / && "$work/prefix/bin/tuneonce" tune nonsense 2>&1) && { echo "nonsense is no bundle"; exit 1; }
for file in bash-completion/completions/tuneonce zsh/site-functions/_tuneonce fish/vendor_completions.d/tuneonce.fish \
            man/man1/tuneonce.1 man/man1/tuneonce-tune.1; do
  [ -s "$work/prefix/share/$file" ] || { echo "$file is not installed"; exit 1; }
done
grep -q "none of this name in $work/prefix/share/tuneonce/bundles (" <<< "$said" || { echo "$said"; exit 1; }
echo "installed command: ok"
if nm -DC --defined-only "$work/build/libplugin_a.so" | grep 'tuneonce::'; then
  echo "a plugin with a static tuneonce exports it"; exit 1
fi
(cd / && "$work/build/plugin_host" "$work/build/libplugin_a.so" "$work/build/libplugin_b.so")
