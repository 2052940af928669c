#!/usr/bin/env bash
# find_package.sh SOURCE BUILD CUDA_INCLUDE [KEPT]: installs the build to an empty prefix, which is then moved, builds
# the consumer against it, by all of its components, runs it (it lies elsewhere than the CPU device's library and the
# bundles, and finds both), runs the installed command, which finds the bundles that were installed, and two plugins with a
# tuneonce each, which export none of it. With KEPT the prefix is left there, for other tests.
set -euo pipefail
source=$1 build=$2 cuda=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUNEONCE_CPU_DRIVER
cmake --install "$build" --prefix "$work/first" > "$work/log" || { cat "$work/log"; exit 1; }
if grep -rIl -e "$source" -e "$build" -e "$work/first" "$work/first"; then
  echo "these files name the folder of the build or of the prefix"; exit 1
fi
mv "$work/first" "$work/prefix"
configure() {  # COMPONENTS
  cmake -G Ninja -S "$(dirname "$0")/consumer" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DTUNEONCE_CUDA_INCLUDE_DIR="$cuda" -DCONSUMER_PLUGINS=ON -DCONSUMER_COMPONENTS="$1" > "$work/log" 2>&1
}
if configure "Bundles;Nonsense"; then echo "there is no component Nonsense"; exit 1; fi
tr -s ' \n' ' ' < "$work/log" | grep -q "there are Bundles, Store, CpuDevice, Command, Redis, Mpi" || { cat "$work/log"; exit 1; }
mv "$work/prefix/bin/tuneonce" "$work/away"
if configure Command; then echo "the command is not there"; exit 1; fi
tr -s ' \n' ' ' < "$work/log" | grep -q "component Command: this tuneonce has no $work/prefix/bin/tuneonce" ||
  { cat "$work/log"; exit 1; }
mv "$work/away" "$work/prefix/bin/tuneonce"
components="Bundles;Store;CpuDevice;Command"
for component in redis mpi; do  # As far as they were built.
  [ ! -e "$work/prefix/lib/cmake/tuneonce/tuneonce_$component.cmake" ] || components+=";${component^}"
done
configure "$components" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
unset TUNEONCE_BUNDLES
(cd / && "$work/build/consumer" "$work/store/store.db" softmax)
(cd / && "$work/build/graph_consumer")
for component in redis mpi; do
  [[ $components != *${component^}* ]] || (cd / && "$work/build/${component}_consumer")
done
(cd / && "$work/prefix/bin/tuneonce" tune vector_add --device cpu --shape N=1000 --json > /dev/null)
cmp <(cd "$source/bundles" && find . -name __pycache__ -prune -o -print | sort) \
    <(cd "$work/prefix/share/tuneonce/bundles" && find . -print | sort) || { echo "not all bundles are installed"; exit 1; }
said=$(cd / && "$work/prefix/bin/tuneonce" tune nonsense 2>&1) && { echo "nonsense is no bundle"; exit 1; }
for file in bash-completion/completions/tuneonce zsh/site-functions/_tuneonce fish/vendor_completions.d/tuneonce.fish \
            man/man1/tuneonce.1 man/man1/tuneonce-tune.1; do
  [ -s "$work/prefix/share/$file" ] || { echo "$file is not installed"; exit 1; }
done
grep -q "no bundle of that name in $work/prefix/share/tuneonce/bundles (" <<< "$said" || { echo "$said"; exit 1; }
# What is loaded by name is the program's own, also where the program was found by PATH and such a file lies in the working
# directory.
mkdir "$work/trap"
cp "$work/prefix/lib/libtuneonce_cpu_driver.so" "$work/trap"
said=$(cd "$work/trap" && PATH="$work/prefix/bin:$PATH" bash -c 'exec -a tuneonce tuneonce doctor')
grep -q "CPU driver: $work/prefix/" <<< "$said" || { echo "$said"; exit 1; }
echo "installed command: ok"
# What was compiled ahead is embedded with its selections, and then runs without a compiler.
(cd / && "$work/prefix/bin/tuneonce" tune vector_add --device cpu --shape N=1000 --store "$work/store/tuned.db" --json \
   > /dev/null)
"$work/prefix/bin/tuneonce" bundle compile vector_add --target cpu --selections "$work/store/tuned.db" --only-decided \
  -o "$work/compiled/vector_add" > "$work/log" || { cat "$work/log"; exit 1; }
cmake "$work/build" -DCONSUMER_COMPILED="$work/compiled/vector_add" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/build" --target compiled_consumer > "$work/log" || { cat "$work/log"; exit 1; }
(cd / && "$work/build/compiled/compiled_consumer")
if nm -DC --defined-only "$work/build/libplugin_a.so" | grep 'tuneonce::'; then
  echo "a plugin with a static tuneonce exports it"; exit 1
fi
# The shared libstdc++ that Abseil brings would take these for its own, and the host's std::call_once would jump to 0.
if nm -DC --defined-only "$work/build/libplugin_b.so" | grep 'std::__once_call'; then
  echo "a plugin exports the libstdc++ that it is linked with statically"; exit 1
fi
(cd / && "$work/build/plugin_host" "$work/build/libplugin_a.so" "$work/build/libplugin_b.so")
if [ -n "${4:-}" ]; then
  rm -rf "$4"
  mv "$work/prefix" "$4"
fi
