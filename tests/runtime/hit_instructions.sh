#!/usr/bin/env bash
# hit_instructions.sh PROGRAM COMPILER BASELINE: counts the instructions of one hit of TunedKernel::Launch per feature, by
# callgrind, and compares them with the figures that were taken at dbfc7c4. Fails if a named kernel (vector_add, the matmul
# bundle) takes more. COMPILER, "GNU 12" say, is that of PROGRAM: another one makes other code (a few
# per cent more or less), so that BASELINE has figures by compiler; one that has none is measured against GNU 12's and may
# be a tenth above besides. The table is also left in ./hit_instructions.log. To add a compiler's: build this program at dbfc7c4 with it.
set -euo pipefail
program=$1 compiler=$2 baseline=$3
readonly hits=1000

if [ "$(uname -m)" != x86_64 ]; then
  echo "SKIPPED: the figures are of x86-64: a hit's instructions were NOT counted"
  exit 77
fi
if ! command -v valgrind > /dev/null; then
  echo "SKIPPED: no valgrind (scripts/install_dependencies --tests installs it): a hit's instructions were NOT counted"
  exit 77
fi
slack=0
if ! grep -q "^$compiler " "$baseline"; then
  echo "No figures of $compiler in $baseline: compared with those of GNU 12, and 10 % more are allowed."
  compiler="GNU 12"
  slack=10
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0 named=0
exec > >(tee hit_instructions.log)
printf '%-14s %12s %10s %6s\n' feature instructions dbfc7c4 more
for feature in $("$program"); do
  if ! TUNEONCE_STORE=memory valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*CountHits*' \
       "$program" "$feature" > "$log" 2>&1; then
    echo "FAILED: $feature could not be counted:"
    cat "$log"
    exit 1
  fi
  instructions=$(($(sed -n 's/.*Collected : //p' "$log") / hits))
  if [ "$instructions" = 0 ]; then
    echo "FAILED: valgrind saw no CountHits in $program"
    exit 1
  fi
  before=$(awk -v c="$compiler" -v f="$feature" '$1 " " $2 == c && $3 == f { print $4 }' "$baseline")
  if [ -z "$before" ]; then
    printf '%-14s %12s %10s\n' "$feature" "$instructions" "(new)"
    continue
  fi
  printf '%-14s %12s %10s %6s\n' "$feature" "$instructions" "$before" $((instructions - before))
  case $feature in
    vector_add | matmul)
      named=$((named + 1))
      if [ "$instructions" -gt $((before + before * slack / 100)) ]; then
        echo "FAILED: a hit of $feature takes $instructions instructions; $before at dbfc7c4"
        failed=1
      fi
      ;;
  esac
done
if [ $named != 2 ]; then
  echo "FAILED: vector_add and matmul were not both compared"
  failed=1
fi
exit $failed
