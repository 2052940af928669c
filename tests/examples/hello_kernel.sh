#!/usr/bin/env bash
# hello_kernel.sh ROOT TUNEONCE: the kernel in docs/examples/hello.cc compiles for each of its configs and two targets,
# without a warning about its Tile IR, and the README shows the same text. Skipped (77) where there is no front end for
# CUDA Tile C++.
set -euo pipefail
root=$1 tuneonce=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kernel_of() {  # FILE: the text between kTileSource[] = R"( and )"
  sed -n '/kTileSource\[\] = R"(/,/^})"/p' "$1" | sed '1d; s/^})".*$/}/'
}
kernel_of "$root/docs/examples/hello.cc" > "$folder/hello.cu"
kernel_of "$root/README.md" | diff "$folder/hello.cu" - || { echo "README.md shows another kernel than hello.cc"; exit 1; }
"$tuneonce" doctor > "$folder/doctor" || true
if ! grep -q '^\[ok\] *CUDA Tile C++' "$folder/doctor"; then
  echo "NOT INSTALLED: CUDA Tile C++ (scripts/install_dependencies --tests)"
  exit 77
fi
for target in sm_90 sm_120; do
  for tile in 1024 2048 4096; do
    "$tuneonce" compile "$folder/hello.cu" --tile --symbol "rms_norm<$tile>" --target "$target" -o "$folder/hello.cubin"
    [ -s "$folder/hello.cubin" ]
  done
done
