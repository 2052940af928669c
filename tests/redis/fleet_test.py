#!/usr/bin/env python3
"""fleet_test.py [--machines 4] [--processes 8]: machines (a store on disk each) with processes that tune the same keys over
one Redis server of the test's own. One search per key; what was acknowledged outlives a server that is killed; a server
that hangs stops nobody; code that was tampered with is refused. One machine plays all: it says so. Prints JSON."""
import argparse
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List

TAMPER = r"""
for _, key in ipairs(redis.call('KEYS', '*:code/*')) do
  local code = redis.call('GET', key)
  redis.call('SET', key, string.sub(code, 1, 200) .. 'X' .. string.sub(code, 202))
end
"""


def host(store: str, address: str, extents: List[int]) -> None:
    """One process of a machine: warms up the keys, and says what that took."""
    import tuneonce
    kernel = tuneonce.load("vector_add", "cpu", store=[store, address], isolation="off", max_rounds=4)
    print("ready", flush=True)
    sys.stdin.readline()
    longest = 0.0
    for extent in extents:
        begin = time.monotonic()
        kernel.warmup([{"N": extent}])
        longest = max(longest, time.monotonic() - begin)
    counters = kernel.counters()
    print(json.dumps({"tunes": counters["tunes"], "stored": counters["stored_hits"], "longest_s": longest,
                      "compiles": counters.get("compiles", 0),
                      "choices": [str(kernel.explain({"N": extent}).config) for extent in extents]}), flush=True)


class Server:
    """A redis-server that keeps what it acknowledged."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.socket = folder, folder / "socket"
        self.process: Any = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", "",
             "--appendonly", "yes", "--appendfsync", "always", "--logfile", str(self.folder / "log")])
        for _ in range(1000):
            if self.ask("PING") == "PONG":
                return
            time.sleep(0.01)
        raise RuntimeError("redis-server does not answer")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.socket.unlink()

    def ask(self, *command: str) -> str:
        return subprocess.run(["redis-cli", "-s", str(self.socket), *command], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()


class Fleet:
    def __init__(self, folder: pathlib.Path, machines: int, processes: int) -> None:
        self.folder, self.machines, self.processes, self.generation = folder, machines, processes, 0
        self.server = Server(folder)
        keys = folder / "keys"
        keys.touch(mode=0o600)
        keys.write_text(f"test {secrets.token_hex(32)}\n")
        self.environment = {**os.environ, "TUNEONCE_FLEET_KEYS": str(keys), "TUNEONCE_COMPILE_WORKERS": "1"}

    def address(self, timeout_ms: int) -> str:
        return f"redis+unix://{self.server.socket}?name=fleet&timeout_ms={timeout_ms}"

    def run(self, extents: List[int], fresh: bool, timeout_ms: int = 10000, processes: int = 0) -> List[Dict[str, Any]]:
        """All processes at once; with `fresh` on machines that never tuned anything. What each said, and on stderr."""
        self.generation += fresh
        started = []
        for i in range(processes or self.processes):
            machine = self.folder / f"machine{i % self.machines}.{self.generation}"
            machine.mkdir(mode=0o700, exist_ok=True)
            started.append(subprocess.Popen(
                [sys.executable, __file__, "--host", str(machine / "store.db"), self.address(timeout_ms),
                 *map(str, extents)], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True))
        for process in started:
            assert process.stdout and process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in started:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        said = []
        for process in started:
            out, words = process.communicate(timeout=1200)
            assert process.returncode == 0, words
            said.append({**json.loads(out), "words": words})
        return said


def total(said: List[Dict[str, Any]], what: str) -> int:
    return sum(each[what] for each in said)


def test(fleet: Fleet) -> Dict[str, Any]:
    report: Dict[str, Any] = {"machines": fleet.machines, "processes": fleet.processes, "on": "one machine"}
    server, extents = fleet.server, [1024, 4096]
    server.start()
    said = fleet.run(extents, fresh=True)
    report["searches_for_two_keys"] = total(said, "tunes")
    assert total(said, "tunes") == len(extents), said
    assert len({str(each["choices"]) for each in said}) == 1, said
    choices = said[0]["choices"]

    server.kill()
    server.start()
    said = fleet.run(extents, fresh=True)
    report["searches_after_the_server_was_killed"] = total(said, "tunes")
    assert total(said, "tunes") == 0 and all(each["choices"] == choices for each in said), said

    # A server that hangs: each machine for itself, and nobody for ever. What is known is served.
    os.kill(server.process.pid, signal.SIGSTOP)
    said = fleet.run(extents, fresh=False, timeout_ms=250)
    assert total(said, "tunes") == 0, said
    report["longest_warmup_of_a_known_key_while_it_hangs_s"] = max(each["longest_s"] for each in said)
    said = fleet.run([2048], fresh=False, timeout_ms=250)
    report["searches_per_machine_while_it_hangs"] = total(said, "tunes") / fleet.machines
    assert total(said, "tunes") <= fleet.machines, said
    assert any("redis+unix://" in each["words"] for each in said), said
    server.process.send_signal(signal.SIGCONT)

    # Code that was tampered with does not run; it is said, and compiled here.
    server.ask("EVAL", TAMPER, "0")
    said = fleet.run(extents, fresh=True, processes=fleet.machines)
    assert total(said, "tunes") == 0 and all(each["choices"] == choices for each in said), said
    refused = sum("an artifact in" in each["words"] and "is refused" in each["words"] for each in said)
    report["machines_that_refused_tampered_code"] = refused
    assert refused == fleet.machines, said
    return report


def main() -> int:
    if len(sys.argv) > 1 and sys.argv[1] == "--host":
        host(sys.argv[2], sys.argv[3], [int(extent) for extent in sys.argv[4:]])
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--processes", type=int, default=8)
    arguments = parser.parse_args()
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        print("skipped: there is no redis-server (scripts/install_dependencies --tests)")
        return 77
    with tempfile.TemporaryDirectory(prefix="tuneonce_fleet_", dir="/tmp") as folder:
        fleet = Fleet(pathlib.Path(folder), arguments.machines, arguments.processes)
        try:
            print(json.dumps(test(fleet), indent=1))
        finally:
            if fleet.server.process is not None:
                fleet.server.process.kill()
                fleet.server.process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
