#!/usr/bin/env bash
# run.sh SOURCE: cross-compiles the library, the command, the CPU device and some tests for aarch64, and runs them under
# qemu-user: the unit tests of what reads and writes bytes, an example whose kernel the CPU device compiles by the cross
# compiler, and the command. What it needs of Debian's arm64 packages is unpacked into .deps/aarch64 (or
# TUNEONCE_AARCH64_ROOT); nothing of the system is changed but for the cross compiler and qemu, which are installed.
set -euo pipefail
cd "$1"
source scripts/environment
root=$(realpath -m "${TUNEONCE_AARCH64_ROOT:-.deps/aarch64}")
missing=()
command -v aarch64-linux-gnu-g++ > /dev/null || missing+=(crossbuild-essential-arm64)
command -v qemu-aarch64-static > /dev/null || missing+=(qemu-user-static)
if [ ${#missing[@]} -gt 0 ]; then
  echo "tuneonce: installing ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" > /dev/null
fi

# The host's package manager is not asked to know another architecture: it has its own lists, and unpacks, nothing more.
if [ ! -e "$root/complete" ]; then
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$root"
  . /etc/os-release
  echo "deb http://deb.debian.org/debian $VERSION_CODENAME main" > "$work/sources.list"
  cat > "$work/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures {"arm64";};
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$work/lists";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
CONF
  export APT_CONFIG=$work/apt.conf
  apt-get update -q > /dev/null
  abseil=$(apt-cache depends libabsl-dev | sed -n 's/.*Depends: \(libabsl20[0-9]*\).*/\1/p' | head -n 1)
  (cd "$work/debs" && apt-get download -q "$abseil" libabsl-dev libsqlite3-0 libsqlite3-dev libgtest-dev nlohmann-json3-dev \
     libcli11-dev > /dev/null)
  for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$root"; done
  unset APT_CONFIG
  rm -rf "$work"
  touch "$root/complete"
fi

start=$SECONDS
mkdir -p build  # Of a fresh clone.
cmake -S . -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DTUNEONCE_AARCH64_ROOT="$root" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DCMAKE_UNITY_BUILD=ON -DTUNEONCE_BUILD_BENCHMARKS=OFF \
  -DTUNEONCE_INSTALL=OFF -DTUNEONCE_WARNINGS_AS_ERRORS=ON > build/aarch64.log 2>&1 || { tail build/aarch64.log; exit 1; }
cmake --build build/aarch64 --target base_test definition_test tile_ir_test launch_test tuneonce_cli tuneonce_hello \
  > build/aarch64.log 2>&1 || { grep -E 'error|FAILED' build/aarch64.log | head -n 20; exit 1; }
echo "== aarch64: built in $((SECONDS - start)) s"
start=$SECONDS
bin=build/aarch64/bin
emulated() {
  TUNEONCE_CXX=$PWD/tests/aarch64/c++ TUNEONCE_STORE=memory \
    qemu-aarch64-static -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$root/usr/lib/aarch64-linux-gnu" "$@"
}
# Without those that limit the process, which qemu shares, and those that take minutes there.
emulated $bin/base_test --gtest_brief=1 --gtest_filter="-FileLimitTest.*:ProcessTest.*"
emulated $bin/definition_test --gtest_brief=1
emulated $bin/launch_test --gtest_brief=1 --gtest_filter="-SourceParametersTest.*"
emulated $bin/tile_ir_test --gtest_brief=1 --gtest_filter="-*Every*"
emulated $bin/tuneonce_hello cpu
emulated $bin/tuneonce tune vector_add --device cpu --shape N=1000 --quiet > /dev/null
emulated $bin/tuneonce hints show bundles/vector_add/vector_add.1024.tileir
echo "== aarch64: tested under qemu in $((SECONDS - start)) s"
