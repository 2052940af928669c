"""Processes that compile several configs at a time."""
import atexit
import contextlib
import os
import pickle
import selectors
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from tuneonce.triton.lowering import Compiled, Job

# How long one config may compile, in seconds. Triton's largest kernels take a tenth of it.
TIME_LIMIT = 300.0
# Memory that a worker is assumed to need, in bytes.
WORKER_BYTES = 700 << 20


def most_workers() -> int:
    """The cores that this process may use, as far as memory allows; TUNEONCE_COMPILE_WORKERS overrides it."""
    given = os.environ.get("TUNEONCE_COMPILE_WORKERS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, _available_bytes() // WORKER_BYTES))


def _available_bytes() -> int:
    """Memory that new processes can have, that of the page cache included."""
    with open("/proc/meminfo") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["MemAvailable"].split()[0]) << 10


class _Worker:
    """One process, and the number of the job that it works on, or None."""

    def __init__(self) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", "-m", "tuneonce.triton.compile_worker"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
        self.job: Optional[int] = None
        self.since = 0.0

    def start(self, number: int, job: Job) -> None:
        self.job, self.since = number, time.monotonic()
        try:
            pickle.dump(job, self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            pass  # The process ended, which reading its answer reports.

    def answer(self) -> Union[Compiled, str]:
        """Waits for the answer. A worker that died has none."""
        try:
            return pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return f"the compiler's process ended with status {self.process.wait()}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # What was not read by a process that ended.
                pipe.close()


class CompilePool:
    """Worker processes, which are started when they are first needed and end with this process. They know Triton, and nothing of
    the program. Thread rule: any thread; calls wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: List[_Worker] = []
        self._pid = os.getpid()
        atexit.register(self._end)

    def compile(self, jobs: Sequence[Callable[[], Job]]) -> List[Union[Compiled, Exception]]:
        """Compiles all jobs, each of which is made by a function of this thread while others compile. The result has a Compiled
        or an exception for each: that of its function, or a RuntimeError of the compiler."""
        with self._lock:
            if self._pid != os.getpid():  # A fork: the workers are the parent's.
                self._pid, self._workers = os.getpid(), []
            results: Dict[int, Union[Compiled, Exception]] = {}
            try:
                self._run(jobs, results)
            except BaseException:
                self._end()
                raise
            return [results[i] for i in range(len(jobs))]

    def _run(self, jobs: Sequence[Callable[[], Job]], results: Dict[int, Union[Compiled, Exception]]) -> None:
        most = min(most_workers(), len(jobs))
        while len(self._workers) < most:  # All at once: each needs a while to begin.
            self._workers.append(_Worker())
        for number, make in enumerate(jobs):
            try:
                job = make()
            except Exception as error:  # The kernel's own code.
                results[number] = error
                continue
            worker = next((w for w in self._workers if w.job is None), None)
            while worker is None:
                self._collect(results)
                worker = next((w for w in self._workers if w.job is None), None)
            worker.start(number, job)
        while any(w.job is not None for w in self._workers):
            self._collect(results)

    def _collect(self, results: Dict[int, Union[Compiled, Exception]]) -> None:
        """Waits for at least one answer, or a while."""
        busy = [w for w in self._workers if w.job is not None]
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            ready = [key.data for key, _ in selector.select(timeout=1.0)]
        for worker in ready:
            self._take(worker, worker.answer(), results)
        for worker in busy:
            if worker.job is not None and time.monotonic() - worker.since > TIME_LIMIT:
                worker.process.kill()
                self._take(worker, f"it did not compile within {TIME_LIMIT:.0f} s", results)

    def _take(self, worker: _Worker, answer: Any, results: Dict[int, Union[Compiled, Exception]]) -> None:
        results[worker.job] = RuntimeError(answer) if isinstance(answer, str) else answer
        worker.job = None
        if worker.process.poll() is not None:
            worker.end()
            self._workers[self._workers.index(worker)] = _Worker()

    def _end(self) -> None:
        if self._pid != os.getpid():
            return
        for worker in self._workers:
            worker.end()
        self._workers = []


POOL = CompilePool()
