#!/usr/bin/env python3
"""ranks_mpi_test.py MPIRUN_SH MPIEXEC PROGRAM: the example docs/examples/ranks_mpi.cc on the CPU device: three ranks run the same;
where one hangs the others say so, and the job ends."""
import json
import os
import subprocess
import sys


def run(*options):
    ran = subprocess.run([*sys.argv[1:3], "3", sys.argv[3], "--device", "cpu", "--json", *options],
                         env=dict(os.environ, TUNEONCE_STORE="memory"), capture_output=True, text=True, timeout=1200,
                         check=False)
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return ran.returncode, {line["rank"]: line for line in lines}, ran.stderr


def main():
    code, ranks, stderr = run()
    assert code == 0 and sorted(ranks) == [0, 1, 2], (code, ranks, stderr)
    assert len({rank["digest"] for rank in ranks.values()}) == 1, ranks
    assert all(rank["config"] for rank in ranks.values()), ranks

    code, ranks, stderr = run("--hang-rank", "2", "--deadline-ms", "1500")
    assert code != 0 and sorted(ranks) == [0, 1], (code, ranks, stderr)
    for rank in ranks.values():
        assert "rank 2 sent nothing for 1500 ms" in rank["error"], ranks

    # Rank 0 decides MPI's cells: without it nobody can say anything.
    code, ranks, stderr = run("--hang-rank", "0", "--deadline-ms", "1500")
    assert code != 0 and sorted(ranks) == [1, 2], (code, ranks, stderr)
    for rank in ranks.values():
        assert "the ranks did not agree" in rank["error"], ranks


main()
