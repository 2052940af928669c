#!/usr/bin/env bash
# pip_install.sh SOURCE_FOLDER: `pip install .` from a copy of the sources, into an empty environment; then the package and
# the command that it holds are used from elsewhere.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$source" ls-files -z | (cd "$source" && xargs -0 cp --parents -t "$work")
cd "$work"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check . numpy
cd /
"$work/venv/bin/python" "$work/tests/python/python_test.py" "$work/bundles" \
  test_it_tunes_once_and_counts test_a_bundle_is_loaded_by_name_or_by_folder test_import_is_cheap_and_brings_no_torch
"$work/venv/bin/tuneonce" tune softmax --device cpu --shape M=16 --shape N=64 --quiet > /dev/null
"$work/venv/bin/python" -c 'import tuneonce.export, importlib.resources as r; assert (r.files("tuneonce") / "py.typed").is_file()'
echo "pip install . works"
