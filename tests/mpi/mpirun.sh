#!/usr/bin/env bash
# mpirun.sh MPIRUN SIZE PROGRAM...: the program as that many ranks on this machine, however many cores it has, and also
# as root, which Open MPI refuses without being told.
set -euo pipefail
mpirun=$1 size=$2; shift 2
arguments=(-n "$size")
if "$mpirun" --version 2>&1 | grep -q 'Open MPI'; then
  # No network, and no yielding of cores by spinning: ranks of one machine.
  arguments+=(--oversubscribe --allow-run-as-root --mca btl self,vader --mca mpi_yield_when_idle 1)
fi
exec "$mpirun" "${arguments[@]}" "$@"
