#!/usr/bin/env bash
# hit_instructions.sh PROGRAM COMPILER BASELINE [--update]: counts the instructions of one hit of TunedKernel::Launch
# per feature, by callgrind, and fails if any takes more than BASELINE has, or if BASELINE lacks one. --update writes
# what is counted into BASELINE instead: commit it with the change that explains it. The table is also left in
# ./hit_instructions.log.
#
# COMPILER, "GNU 12" say, is that of PROGRAM: another one makes other code (a few per cent more or less), so that
# BASELINE has figures by compiler. One that has none is compared with GNU 12's: vector_add and the matmul bundle may
# take a tenth more, and nothing else fails. What the C library takes (memcmp) is not counted: it is another machine's.
set -euo pipefail
program=$1 compiler=$2 baseline=$3 update=${4:-}
readonly hits=1000 named=" vector_add matmul "

if [ "$(uname -m)" != x86_64 ]; then
  echo "SKIPPED: the figures are of x86-64: a hit's instructions were NOT counted"
  exit 77
fi
if ! command -v valgrind > /dev/null; then
  echo "SKIPPED: no valgrind (scripts/install_dependencies --tests installs it): a hit's instructions were NOT counted"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

features=$("$program")
# One process for all features, most of whose time is valgrind's start: callgrind writes a file at the end of each.
# shellcheck disable=SC2086
if ! TUNEONCE_STORE=memory valgrind --tool=callgrind --callgrind-out-file="$folder/costs" \
    --toggle-collect='*CountHits*' --dump-before='*EndOfHits*' "$program" $features > "$folder/log" 2>&1; then
  echo "FAILED: the hits could not be counted:"
  cat "$folder/log"
  exit 1
fi

count() {  # FILE: the instructions of its hits in the program itself
  # Lines of cost are "LINE COST"; that behind "calls=" is the callee's, which has lines of its own. A name stands once,
  # behind its number.
  awk -v program="$(basename "$program")" '
    /^c?ob=/ { id = $1; sub(/^c?ob=/, "", id); if (NF > 1) name[id] = substr($0, length($1) + 2) }
    /^ob=/ { own = name[id] ~ "/" program "$" }
    /^calls=/ { getline; next }
    /^[0-9+*-]/ && own { cost += $2 }
    END { print cost + 0 }' "$1"
}

of=$compiler
if [ -z "$update" ] && ! grep -q "^$compiler " "$baseline"; then
  echo "No figures of $compiler in $baseline: compared with those of GNU 12; vector_add and matmul may take 10 % more."
  of="GNU 12"
fi
failed=0 part=0
exec > >(tee hit_instructions.log)
printf '%-14s %12s %10s %6s\n' feature instructions before more
for feature in $features; do
  part=$((part + 1))
  now=$(($(count "$folder/costs.$part") / hits))
  if [ "$now" = 0 ]; then
    echo "FAILED: valgrind saw no CountHits in $program"
    exit 1
  fi
  echo "$compiler $feature $now" >> "$folder/counted"
  before=$(awk -v c="$of" -v f="$feature" '$1 " " $2 == c && $3 == f { print $4 }' "$baseline")
  printf '%-14s %12s %10s %6s\n' "$feature" "$now" "${before:-(none)}" "${before:+$((now - before))}"
  [ -z "$update" ] || continue
  if [ -z "$before" ]; then
    echo "FAILED: $baseline has no figure of $feature; run this with --update"
    failed=1
  elif [ "$of" = "$compiler" ] && [ "$now" -gt "$before" ]; then
    echo "FAILED: a hit of $feature takes $now instructions, $before before"
    failed=1
  elif [[ $named == *" $feature "* ]] && [ "$now" -gt $((before + before / 10)) ]; then
    echo "FAILED: a hit of $feature takes $now instructions by $compiler, $before by $of: more than a tenth more"
    failed=1
  fi
done
if [ -n "$update" ]; then
  { grep '^#' "$baseline"; grep -v -e '^#' -e "^$compiler " "$baseline" || true; cat "$folder/counted"; } > "$folder/new"
  cp "$folder/new" "$baseline"
  exit 0
fi
while read -r gone; do
  echo "FAILED: $baseline has a figure of $gone, which is not measured any more; run this with --update"
  failed=1
done < <(awk -v c="$of" '$1 " " $2 == c { print $3 }' "$baseline" | grep -vxF "$features" || true)
if [ $failed = 1 ]; then
  echo "If it is meant to: tests/runtime/hit_instructions.sh $program '$compiler' $baseline --update"
fi
exit $failed
