#!/usr/bin/env bash
# cookbook.sh FOLDER [PYTHON]: runs the programs of docs/cookbook, which CMake built in FOLDER (or a copy of it, on a
# machine that cannot build), on the GPU, or without one on the CPU device. Prints one line for each: PASS, SKIP with
# the reason, or FAIL after its output. Exit code 1 if a program failed, or needs only tuneonce and was not built.
set -uo pipefail
folder=$(cd "${1:?usage: cookbook.sh FOLDER_OF_THE_BUILD [PYTHON]}" && pwd)
python=${2:-python3}
here=$(cd "$(dirname "$0")" && pwd)
cookbook=$(cd "$here/../../docs/cookbook" && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server" && wait "$server"; }; rm -rf "$work"' EXIT
cd "$work"
export TUNEONCE_STORE="$work/store.db"  # Each run tunes.
export PYTHONFAULTHANDLER=1  # A program that crashes states where.
failed=0

skip() { echo "SKIP $1: $2"; }
run() { # NAME COMMAND...: exit code 77 means skipped, and so does a compiler that this machine lacks.
  local name=$1 code begin=$SECONDS
  shift
  timeout 120 "$@" > "$work/log" 2>&1
  code=$?
  if [ "$code" = 77 ]; then
    skip "$name" "$(tail -n 1 "$work/log" | sed 's/^SKIPPED: //')"
  elif [ "$code" != 0 ] && grep -qE 'tileiras was not found|CUDA Tile C\+\+ needs' "$work/log"; then
    skip "$name" "$(tail -n 1 "$work/log")"
  elif [ "$code" != 0 ]; then
    cat "$work/log"
    echo "FAIL $name: exit code $code"
    failed=1
  else
    echo "PASS $name ($((SECONDS - begin)) s): $(tail -n 1 "$work/log")"
  fi
}
is_optional_there() { # NAME: whether a program that needs more than tuneonce was built and can be loaded here
  local missing
  if [ ! -x "$folder/$1" ]; then
    skip "$1" "it is not in $folder"
    return 1
  fi
  missing=$(ldd "$folder/$1" | sed -n 's/^\s*\(.*\) => not found/\1/p' | tr '\n' ' ')
  if [ -n "$missing" ]; then
    skip "$1" "this machine has no ${missing% }"
    return 1
  fi
}
program() { # NAME ARGUMENT...: one that must have been built
  if [ -x "$folder/$1" ]; then
    run "$1" "$folder/$@"
  else
    echo "FAIL $1: it is not in $folder"
    failed=1
  fi
}

for file in "$cookbook"/*.cc "$cookbook"/*.c; do
  name=$(basename "${file%.*}")
  case $name in
    mpi_ranks | redis_fleet) ;;  # Below.
    *) program "$name" ;;
  esac
done
program host "$folder/libplugin.so"

if is_optional_there mpi_ranks; then
  if command -v mpirun > /dev/null; then
    run mpi_ranks "$here/../mpi/mpirun.sh" mpirun 2 "$folder/mpi_ranks"
  else
    skip mpi_ranks "there is no mpirun"
  fi
fi

if is_optional_there redis_fleet; then
  if ! command -v redis-server > /dev/null; then
    skip redis_fleet "there is no redis-server"
  else
    redis-server --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save "" > "$work/redis.log" 2>&1 &
    server=$!
    for _ in $(seq 100); do [ ! -S "$work/redis.sock" ] || break; sleep 0.1; done
    echo "test $(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')" > "$work/keys"
    chmod 600 "$work/keys"
    run redis_fleet "$folder/redis_fleet" "redis+unix://$work/redis.sock?name=cookbook" "$work/keys"
  fi
fi

if ! compgen -G "$folder/twice.*.so" > /dev/null; then
  skip pybind11_module "it is not in $folder"
elif ! PYTHONPATH="$folder:${PYTHONPATH:-}" "$python" -c 'import twice' 2> "$work/log"; then
  skip pybind11_module "$python cannot import it: $(tail -n 1 "$work/log")"
else
  PYTHONPATH="$folder:${PYTHONPATH:-}" run pybind11_module "$python" "$cookbook/pybind11_module/test.py"
fi
for file in "$cookbook"/*.py; do
  name=$(basename "$file" .py)
  if "$python" -c 'import tuneonce.export' 2> /dev/null; then
    run "$name" "$python" "$file"
  else
    skip "$name" "$python has no tuneonce"
  fi
done
if command -v tuneonce > /dev/null; then
  run offline_check "$cookbook/offline_check.sh" vector_add sm_90
else
  skip offline_check "there is no tuneonce in PATH"
fi
exit $failed
