#!/usr/bin/env bash
# mpirun.sh MPIRUN SIZE PROGRAM...: the program as that many ranks on this machine. Open MPI is told to start more ranks
# than there are cores, also as root, to use no network, and not to spin for what other ranks need the core for.
set -euo pipefail
mpirun=$1 size=$2; shift 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1
exec "$mpirun" -n "$size" "$@"
