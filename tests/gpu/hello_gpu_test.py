"""CUDA Tile C++ from a text to a launch without Python and without nvcc: the example docs/examples/hello.cc tunes in a
first process, in whose process tree are the worker in which NVRTC runs, tileiras, the ptxas that it runs, and the
shells that end them, and nothing else; a second process with the same store starts no process and opens no compiler
(tests/precompiled/exec_counter.cc sees it). On the device `cpu` a twin with the C++ compiler.

hello_gpu_test.py --bin FOLDER --counter LIBRARY --device cpu|cuda

Exit code 77 where there is no GPU or no compiler for CUDA Tile C++.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

# Programs that the first process may have below it, by the first word of their command line; and one that it must have.
ALLOWED = {"cuda": {"sh", "tuneonce_worker", "tileiras", "ptxas", "tuneonce_hello"},
           "cpu": {"sh", "c++", "cc1plus", "as", "collect2", "ld", "tuneonce_hello"}}
EXPECTED = {"cuda": "tileiras", "cpu": "cc1plus"}


def programs_below(root):
    """The names of the programs of all processes that descend from the process `root` now."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text()
            command = pathlib.Path("/proc", entry, "cmdline").read_bytes()
        except OSError:  # It has ended.
            continue
        parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
        names[int(entry)] = os.path.basename(command.split(b"\0")[0].decode(errors="replace"))
    found = set()
    for process in parents:
        above = process
        while above in parents and above != root:
            above = parents[above]
        if above == root and process != root and names[process]:
            found.add(names[process])
    return found


def run(options, log):
    """Runs the example. Returns what ran below it, as seen every 2 ms, and what the counter saw."""
    environment = dict(os.environ, EXEC_COUNTER=str(log), LD_PRELOAD=str(options.counter))
    process = subprocess.Popen([str(options.bin / "tuneonce_hello"), options.device], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    below = set()
    while process.poll() is None:
        below |= programs_below(process.pid)
        time.sleep(0.002)
    if process.returncode != 0:
        sys.exit(f"FAILED: tuneonce_hello ended with {process.returncode}: {process.stdout.read()}")
    return below, log.read_text().splitlines() if log.exists() else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--counter", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    options = parser.parse_args()
    if options.device == "cuda":
        doctor = subprocess.run([str(options.bin / "tuneonce"), "doctor"], capture_output=True, text=True).stdout
        for what in ("device cuda:0", "CUDA Tile C\\+\\+"):
            if not re.search(rf"^\[ok\] *{what}", doctor, re.MULTILINE):
                print(f"SKIPPED: this machine has no {what}")
                return 77
    os.environ.pop("TUNEONCE_CXX", None)  # The tests' own remembers what it compiled, and runs nothing then.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUNEONCE_STORE"] = f"{folder}/store.db"
        programs, seen = run(options, pathlib.Path(folder, "first"))
        later_programs, later_seen = run(options, pathlib.Path(folder, "second"))
    print(f"first process: below it {sorted(programs)}, it opened {sorted(set(seen))}; "
          f"second process: below it {sorted(later_programs)}, it opened or started {later_seen}")
    if programs - ALLOWED[options.device] or EXPECTED[options.device] not in programs:
        sys.exit(f"FAILED: the first process had below it {sorted(programs)}")
    if options.device == "cuda" and not any(re.match("open .*nvrtc", line) for line in seen):
        sys.exit("FAILED: the first process did not open NVRTC, so that this test shows nothing")
    if later_programs or later_seen:
        sys.exit("FAILED: the second process started a program or opened a compiler")
    return 0


if __name__ == "__main__":
    sys.exit(main())
