#!/usr/bin/env bash
# sample.sh N PROGRAM ARGUMENT...: runs every Nth case of a program of Google Test, or with TUNEONCE_TESTS=whole
# (`scripts/test whole`) all of them.
if [ "${TUNEONCE_TESTS:-}" != whole ]; then export GTEST_TOTAL_SHARDS=$1 GTEST_SHARD_INDEX=0; fi
shift
exec "$@"
