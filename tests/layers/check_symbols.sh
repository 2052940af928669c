#!/usr/bin/env bash
# check_symbols.sh LIBRARY...: every symbol of the libraries that others could meet lies in the inline namespace that carries
# the major version, so that two versions can be in one process.
set -euo pipefail
symbols=$(nm -C --defined-only --extern-only "$@" 2> /dev/null | sed -nE 's/^[0-9a-f]+ //p' | grep 'tuneonce::')
[ "$(wc -l <<< "$symbols")" -gt 1000 ] || { echo "only $(wc -l <<< "$symbols") symbols in $*: a wrong file?"; exit 1; }
# What instantiates other libraries' templates with our types names them in its arguments.
if grep -E '^. ((non-)?virtual thunk to |vtable for |typeinfo (name )?for |guard variable for )?tuneonce::' <<< "$symbols" |
    grep -vE '^. [a-z -]*tuneonce::v[0-9]+::'; then
  echo "these symbols are outside of the inline namespace: start the file with 'inline namespace v0 {'"; exit 1
fi
