#!/usr/bin/env bash
# wheel.sh SOURCE WHEEL: installs a wheel into an empty Debian 12 without a compiler and without a GPU; there it is
# imported, and the command runs; then, with a compiler, both tune. WHEEL is for that Debian's Python 3.11.
set -euo pipefail
cd "$1"
wheel=$(realpath "$2")
source tests/install/clean_root.sh
work=$(mktemp -d)
root=$work/root
trap 'remove_root "$root"; rm -rf "$work"' EXIT
clean_root "$root" python3 python3-venv
mkdir "$root/wheels"
cp "$wheel" "$root/wheels"
python3 -m pip download -q --only-binary=:all: --python-version 3.11 --platform manylinux2014_x86_64 -d "$root/wheels" numpy
cp -r tests/python "$root/python"
cat > "$root/use" <<'SCRIPT'
set -ex
cd /
python3 -m venv venv
venv/bin/pip install -q --no-index --find-links /wheels tuneonce numpy
! command -v c++
venv/bin/python -c 'import tuneonce, tuneonce.export; print(tuneonce.load("vector_add", device="cpu").dims)'
venv/bin/tuneonce doctor || true
venv/bin/tuneonce hints show venv/lib/python3.11/site-packages/tuneonce/share/tuneonce/bundles/vector_add/vector_add.1024.tileir
SCRIPT
cat > "$root/tune" <<'SCRIPT'
set -ex
cd /
venv/bin/tuneonce tune softmax --device cpu --shape M=16 --shape N=64 --quiet
venv/bin/python python/python_test.py venv/lib/python3.11/site-packages/tuneonce/share/tuneonce/bundles \
  test_it_tunes_once_and_counts test_a_bundle_is_loaded_by_name_or_by_folder test_import_is_cheap_and_brings_no_torch
SCRIPT
within "$root" bash /use > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q "C++ compiler" "$work/log"
within "$root" sh -c 'apt-get install -y --no-install-recommends g++' > "$work/log" 2>&1 || { tail -n 5 "$work/log"; exit 1; }
within "$root" bash /tune > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
echo "the wheel: imported without a compiler, tunes with one"
