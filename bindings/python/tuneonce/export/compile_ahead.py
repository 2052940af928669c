"""Compiles several configs at a time, in processes that fill the compiler's cache."""
import contextlib
import os
import signal
import sys
import time
from typing import Any, Callable, Dict, Sequence, Set, Tuple

# How long one config may compile, in seconds; TUNEONCE_EXPORT_TIME_LIMIT overrides it.
TIME_LIMIT = 300.0
# How often the processes are looked at, in seconds.
PERIOD = 0.01


def time_limit() -> float:
    return float(os.environ.get("TUNEONCE_EXPORT_TIME_LIMIT", TIME_LIMIT))


def compile_ahead(name: str, jobs: Sequence[Callable[[], Any]], most: int) -> Set[int]:
    """Runs each job in a fork of this process, at most `most` at a time, and shows progress on a terminal. What a job raises is raised
    again when it runs here. Returns the numbers of the jobs that were ended by the time limit. REQUIRES: this process has one thread."""
    running: Dict[int, Tuple[int, float]] = {}  # By process: the job's number, and when it began.
    late: Set[int] = set()
    waiting = list(range(len(jobs)))
    try:
        while waiting or running:
            while waiting and len(running) < most:
                number = waiting.pop(0)
                running[_begin(jobs[number])] = (number, time.monotonic())
            time.sleep(PERIOD)
            for process, (number, since) in list(running.items()):
                if os.waitpid(process, os.WNOHANG)[0] == process:
                    del running[process]
                elif time.monotonic() - since > time_limit():
                    _end(process)
                    del running[process]
                    late.add(number)
                else:
                    continue
                _show(name, len(jobs) - len(waiting) - len(running), len(jobs))
    finally:
        for process in running:
            _end(process)
    return late


def _begin(job: Callable[[], Any]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent decides.
            job()
        finally:
            os._exit(0)
    return process


def _end(process: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _show(name: str, done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{name}: compiled {done} of {count}", end="\n" if done == count else "", file=sys.stderr, flush=True)
