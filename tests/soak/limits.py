"""The command under resource limits, without descriptors, without SIGCHLD: an end in words, never a hang or a signal."""
import contextlib
import itertools
import os
import pathlib
import resource
import signal

from trial import NOT_STARTED

K, M = 1 << 10, 1 << 20

# Limits from none at all to enough. The short form takes every STEP-th.
SWEEPS = {
    "NPROC": (resource.RLIMIT_NPROC, [*range(0, 24), 28, 32, 48, 64, 128]),
    "NOFILE": (resource.RLIMIT_NOFILE, [*range(3, 32), 40, 48, 64, 128]),
    "FSIZE": (resource.RLIMIT_FSIZE, [0, 1, 512, 4 * K, 8 * K, 16 * K, 24 * K, 32 * K, 48 * K, 64 * K, 128 * K, 256 * K, 512 * K, M, 4 * M,
                                      64 * M, 1 << 29]),
    "AS": (resource.RLIMIT_AS, [16 * M, 32 * M, 48 * M, 64 * M, 96 * M, 128 * M, 160 * M, 192 * M, 224 * M, 256 * M, 320 * M, 384 * M, 448 * M,
                                512 * M, 768 * M, 1 << 30, 3 << 29, 1 << 31, 3 << 30, 1 << 32, 1 << 33, 1 << 35]),
    # Of the least the command uses 56 KiB, and the system some 16 for the environment and at random; what a thread runs
    # out of cannot end in words.
    "STACK": (resource.RLIMIT_STACK, [96 * K, 128 * K, 256 * K, 1 * M, 8 * M]),
}


# Begins its output and fails, as one does that runs out of memory.
HALF_A_COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && { printf '\\177ELF' > "$2"; exit 1; }; shift; done
echo half a compiler 1.0
"""


def others():
    """How many processes and threads count against this user's limit already; root tries as users who have none."""
    if os.geteuid() == 0:
        return 0
    count = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended meanwhile.
            count += len(list((process / "task").iterdir())) if process.stat().st_uid == os.getuid() else 0
    return count


def sweep(report, make_trial, short):
    for name, (limit, values) in SWEEPS.items():
        if name == "NPROC":
            values = [value + others() for value in values]
        check = report.check(f"RLIMIT_{name}")
        for i, value in enumerate(values[::4] if short else values):
            # Processes are counted by user, and root's are not limited: each run as a user of its own, where that can be.
            trial = make_trial(f"{name}-{value}", uid=70000 + i if os.geteuid() == 0 else None)

            def prepare(limit=limit, value=value):
                resource.setrlimit(limit, (value, value))
            wrong, code, _ = trial.run(trial.tune(1000 + i), prepare)
            check.add(f"{name}={value}", None if wrong == NOT_STARTED else wrong,
                      "not started" if wrong == NOT_STARTED else "tuned" if code == 0 else "error")
            if wrong is None:
                # Without the limit all goes on, on what the run has left.
                kept = [1000 + i] if code == 0 else []
                wrong, code, out = trial.run(trial.tune(2000))
                wrong = wrong or (None if code == 0 else f"exit code {code}: {out}")
                check.add(f"{name}={value}, the store after it", wrong or trial.check_store([*kept, 2000]))


def closed_descriptors(report, make_trial):
    check = report.check("closed descriptors 0 to 2")
    for count in range(4):
        for closed in itertools.combinations(range(3), count):
            trial = make_trial("closed-" + "".join(map(str, closed)))

            def prepare(closed=closed):
                for descriptor in closed:
                    os.close(descriptor)
            wrong, code, out = trial.run(trial.tune(1000, "--json"), prepare)
            if 2 in closed and wrong and wrong.startswith("0 lines"):
                wrong = None  # There is no place for the line.
            if wrong is None and 1 not in closed and code != 0:
                wrong = f"exit code {code} although stdout is open"
            check.add(f"closed {closed}", wrong or (trial.check_store([1000]) if code == 0 else None))


def signals(report, make_trial):
    check = report.check("SIGCHLD ignored, signals blocked")

    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    for name, prepare in (("SIGCHLD ignored", ignore), ("all signals blocked", block)):
        trial = make_trial(name.replace(" ", "-"))
        wrong, code, out = trial.run(trial.tune(1000), prepare)
        check.add(name, wrong or (None if code == 0 else f"exit code {code}: {out}") or trial.check_store([1000]))
        # A compile that fails must be seen to fail.
        bad = make_trial(name.replace(" ", "-") + "-false")

        compiler = bad.folder / "compiler"
        compiler.write_text(HALF_A_COMPILER)
        compiler.chmod(0o755)
        bad.variables["TUNEONCE_CXX"] = str(compiler)
        wrong, code, _ = bad.run(bad.tune(1000), prepare)
        check.add(f"{name}, a compiler that fails", wrong or (None if code == 1 else "a compiler that fails counts as success"))
