#!/usr/bin/env bash
# two_majors.sh SOURCE: two plugins, each with a shared libtuneonce of another major version, whose symbols
# all see all, work at once in one process. The other version is this one with another number: names alone must do.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUNEONCE_CPU_DRIVER TUNEONCE_BUNDLES
options=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON -DBUILD_SHARED_LIBS=ON -DCONSUMER_PLUGINS=ON
         -DTUNEONCE_WITH_JSON=OFF -DTUNEONCE_WITH_SQLITE=OFF)
headers=$source/.deps/cuda/include
[ ! -e "$headers" ] || options+=(-DTUNEONCE_CUDA_INCLUDE_DIR="$headers")
other=$work/source
mkdir "$other"
git -C "$source" ls-files -z | (cd "$source" && xargs -0 cp --parents -t "$other")
grep -rlZ 'inline namespace v0' "$other"/{include,lib,tools,cpu_device} | xargs -0 sed -i 's/inline namespace v0/inline namespace v1/'
sed -i 's/^\( *project(tuneonce.*VERSION\) [0-9.]*/\1 1.0.0/; s/^\( *VERSION\) 0\.[0-9.]*/\1 1.0.0/' "$other/CMakeLists.txt"
for version in 0 1; do
  from=$source
  [ "$version" = 0 ] || from=$other
  cmake -G Ninja -S "$other/tests/install/consumer" -B "$work/$version" -DTUNEONCE_SOURCE="$from" "${options[@]}" \
    > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cmake --build "$work/$version" --target plugin_a plugin_host > "$work/log" || { cat "$work/log"; exit 1; }
  library=$(ldd "$work/$version/libplugin_a.so" | sed -n 's/.*\(libtuneonce\.so\.[0-9]*\) .*/\1/p')
  [ "$library" = "libtuneonce.so.$version" ] || { echo "plugin $version links $library"; exit 1; }
  grep -q "tuneonce::v$version::TunedKernel" <<< "$(nm -DC "$work/$version/libplugin_a.so")" ||
    { echo "plugin $version uses another"; exit 1; }
done
(cd / && "$work/0/plugin_host" "$work/0/libplugin_a.so" "$work/1/libplugin_a.so")
