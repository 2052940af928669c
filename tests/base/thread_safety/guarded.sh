#!/bin/bash
# Clang finds each mistake of guarded.cc, and nothing without one.
# guarded.sh SOURCE_ROOT
set -u
root=$1
clang=""
for candidate in clang++ clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19; do
  if command -v $candidate > /dev/null; then clang=$candidate; break; fi
done
if [ -z "$clang" ]; then
  echo "SKIPPED: there is no clang++ here, which checks what each lock guards"
  exit 77
fi

# compiles DEFINE...
compiles() {
  $clang -std=c++17 -fsyntax-only -Wthread-safety -Werror "${@/#/-D}" -I "$root/lib" -I "$root/include" \
    "$root/tests/base/thread_safety/guarded.cc" > /dev/null 2>&1
}

failed=0
compiles TUNEONCE_NO_MISTAKE || { echo "without a mistake it does not compile"; failed=1; }
for mistake in TUNEONCE_READS_WITHOUT_THE_LOCK TUNEONCE_READS_AFTER_UNLOCK TUNEONCE_CALLS_WITHOUT_THE_LOCK; do
  if compiles $mistake; then echo "$mistake compiles"; failed=1; fi
done
exit $failed
