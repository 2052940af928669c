"""The suite's experiments: each runs cells of one peer and says what came of them.

A cell's lines (cell.py) are merged into one dict: {"version", "works": {WORK: {...}}, "outcome", "cannot", "failed"}.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Callable, Dict, List, Optional

from watcher import Watcher

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = ("crash", "hang", "wrong")
DEADLINE_S = {"tune": 100, "restart": 60, "neighbour": 60, "hang": 25}
OTHER_DEADLINE_S = 45
GRACE_S = 2  # For output: a process in a group of its own may keep the pipe open, a killed one wait for the driver.


class Cell:
    """One process of one peer, which is ended at its deadline."""

    def __init__(self, peer: Dict[str, Any], experiment: str, folder: pathlib.Path, device: str, works: List[str]):
        self.arguments = [
            sys.executable,
            str(HERE / "cell.py"),
            peer["module"],
            peer["class"],
            experiment,
            str(folder),
            device,
            *works,
        ]
        self.deadline = peer["deadline_s"] or DEADLINE_S.get(experiment, OTHER_DEADLINE_S)
        self.result: Dict[str, Any] = {"works": {}}
        self._tail: List[str] = []

    def run(self, most_seconds: Optional[float] = None) -> Dict[str, Any]:
        deadline = self.deadline if most_seconds is None else min(self.deadline, max(1, most_seconds))
        watcher = Watcher().start()
        # A group of its own: what a peer starts ends with it.
        process = subprocess.Popen(
            self.arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        reader = threading.Thread(target=self._read, args=(process.stdout, watcher), daemon=True)
        reader.start()
        code: Optional[int] = None
        try:
            code = process.wait(deadline)
        except subprocess.TimeoutExpired:
            if deadline < self.deadline:  # That is not the peer's fault.
                self.result["cannot"] = f"the run was over after {deadline:.0f} s of it"
            else:
                self.result["failed"] = f"did not end in {deadline:.0f} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        reader.join(GRACE_S)
        watcher.stop()
        if code:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self.result["failed"] = f"the process died: {how}" + (f": {self._tail[-1]}" if self._tail else "")
        return self.result

    def _read(self, lines: IO[str], watcher: Watcher) -> None:
        for line in lines:
            self._take(line, watcher)

    def _take(self, line: str, watcher: Watcher) -> None:
        if not line.startswith("CELL "):
            if line.strip():
                self._tail = [*self._tail[-4:], line.strip()[:300]]
            return
        said = json.loads(line[len("CELL ") :])
        work = said.pop("work", None)
        if work is None:
            self.result.update(said)
            return
        if "begin" in said:
            said.update(watcher.between(said.pop("begin"), said.pop("end")))
        self.result["works"].setdefault(work, {}).update(said)


def tune(run: Callable[..., Dict[str, Any]], folder: pathlib.Path, works: List[str]) -> Dict[str, Any]:
    return run("tune", folder / "kept", works)


def restart(run: Callable[..., Dict[str, Any]], folder: pathlib.Path, works: List[str]) -> Dict[str, Any]:
    """Another process with what the tune's left."""
    if not (folder / "kept").exists():
        return {"cannot": "nothing was tuned before"}
    return run("restart", folder / "kept", works)


def fault(kind: str) -> Callable[..., Dict[str, Any]]:
    return lambda run, folder, works: run(kind, folder / kind, [])


def neighbour(run: Callable[..., Dict[str, Any]], folder: pathlib.Path, works: List[str]) -> Dict[str, Any]:
    """A tune while another program uses the GPU. Its choice is compared by the times of the quiet tune."""
    other = subprocess.Popen(
        [sys.executable, str(HERE / "neighbour.py")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    watchdog = threading.Timer(DEADLINE_S["neighbour"], other.kill)
    watchdog.start()
    try:
        assert other.stdout is not None
        if other.stdout.readline().strip() != "ready":
            return {"cannot": "the neighbour needs torch and a GPU"}
        return run("neighbour", folder / "neighbour", [w for w in works if w == "matmul"])
    finally:
        watchdog.cancel()
        other.kill()
        other.wait()


def full_disk(run: Callable[..., Dict[str, Any]], folder: pathlib.Path, works: List[str]) -> Dict[str, Any]:
    """What a peer remembers goes to a file system of 256 KiB that is full."""
    disk = folder / "full"
    disk.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        return {"cannot": f"no small file system can be made here: {mounted.stderr.strip() or 'mount failed'}"}
    try:
        try:
            (disk / "filler").write_bytes(b"x" * (1 << 20))
        except OSError:
            pass  # Full, as it should be.
        return run("full_disk", disk, ["vector_add"])
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def two_processes(run: Callable[..., Dict[str, Any]], folder: pathlib.Path, works: List[str]) -> Dict[str, Any]:
    """Two processes tune the same at once, with one place to remember."""
    found: List[Dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: found.append(run("two_processes", folder / "shared", ["vector_add"])))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cannot = [each["cannot"] for each in found if "cannot" in each]
    return {"cannot": cannot[0]} if cannot else {"processes": found}


# In order of importance; those of the second list are not timed, and run several at a time.
TIMED: Dict[str, Callable[..., Dict[str, Any]]] = {"tune": tune, "restart": restart}
TOGETHER: Dict[str, Callable[..., Dict[str, Any]]] = {
    **{kind: fault(kind) for kind in FAULTS},
    "full_disk": full_disk,
    "two_processes": two_processes,
}
LAST: Dict[str, Callable[..., Dict[str, Any]]] = {"neighbour": neighbour}
