#!/usr/bin/env bash
# deb.sh SOURCE FOLDER: installs the Debian packages in FOLDER (by scripts/deb) into an empty Debian 12, and uses them
# there: the command, a program by find_package with all components, the same by pkg-config; then removes them.
set -euo pipefail
cd "$1"
debs=$(realpath "$2")
source tests/install/clean_root.sh
work=$(mktemp -d)
root=$work/root
trap 'remove_root "$root"; rm -rf "$work"' EXIT
clean_root "$root" g++ cmake ninja-build pkg-config man-db
before=$(cd "$root" && find usr -name '*tuneonce*')
cp -r "$debs" "$root/debs"
within "$root" sh -c 'apt-get install -y --no-install-recommends /debs/*.deb' > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
for folder in "${TUNEONCE_CUDA_INCLUDE_DIR:-}" "${CUDA_HOME:-/usr/local/cuda}/include" .deps/cuda/include; do
  [ -e "$folder/cudaTypedefs.h" ] || continue
  mkdir -p "$root/usr/local/cuda"
  cp -rL "$folder" "$root/usr/local/cuda/include"
  break
done
cp -r tests/install/consumer "$root/consumer"
cat > "$root/use" <<'SCRIPT'
set -ex
cd /
tuneonce doctor
tuneonce tune softmax --device cpu --shape M=16 --shape N=64 --quiet > /dev/null
cmake -G Ninja -S consumer -B by_cmake -DCMAKE_BUILD_TYPE=Release \
  -DCONSUMER_COMPONENTS="Bundles;Store;CpuDevice;Command" > /dev/null
cmake --build by_cmake > /dev/null
by_cmake/consumer /tmp/store/store.db softmax
cp -r by_cmake/bundles by_pkg_config
g++ -std=c++17 -O1 -Iby_pkg_config consumer/main.cc consumer/use.cc consumer/own_absl.cc -o by_pkg_config/consumer \
  $(pkg-config --cflags --libs tuneonce_tools)
by_pkg_config/consumer /tmp/store/store.db softmax
if [ -e /usr/share/man/man1/tuneonce.1* ]; then man tuneonce > /dev/null; fi
test -s /usr/share/doc/libtuneonce0/copyright
apt-get remove -y 'libtuneonce*' tuneonce > /dev/null
SCRIPT
within "$root" bash /use > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
after=$(cd "$root" && find usr -name '*tuneonce*')
[ "$before" = "$after" ] || { echo "removing the packages leaves: $after"; exit 1; }
grep '^consumer:' "$work/log"
echo "the Debian packages: installed, used by find_package and pkg-config, removed"
