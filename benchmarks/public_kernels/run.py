#!/usr/bin/env python3
"""Exports the public kernels of the list and races them against their homes, each in a process of its own.

run.py --work FOLDER [--only PART ...] [--export-only] [--results FILE] [--stop-after SECONDS] ...

Results are appended to FILE as they come, and kernels that are in it are not run again, so that a run may be cut off
and go on. At the end stands the table of all that FILE has. Exit code 0 if nothing was refused, failed, slow or wrong.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from typing import Any, Dict, List, Sequence

import report
from kernel_list import HERE, PublicKernel, chosen, definitions_of, is_module, read

JOBS = 3  # One measures, the others import and export meanwhile.
TIME_LIMIT_S = 300  # For one kernel, the waiting for the device included.


class Runner:
    """Starts a process per kernel, a few at a time, and appends what they found. Thread rule: Run from one thread."""

    def __init__(self, options: argparse.Namespace):
        self._options = options
        self._lock = threading.Lock()
        self._left: List[PublicKernel] = []
        self._stop_at = time.monotonic() + options.stop_after

    def run(self, kernels: Sequence[PublicKernel]) -> None:
        self._left = list(kernels)
        threads = [threading.Thread(target=self._work) for _ in range(self._options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._left:
            print(
                f"stopped after {self._options.stop_after} s with {len(self._left)} kernels left; run it again to go on"
            )

    def _work(self) -> None:
        while time.monotonic() < self._stop_at:
            with self._lock:
                if not self._left:
                    return
                kernel = self._left.pop(0)
            result = self._one(kernel)
            with self._lock:
                with open(self._options.results, "a") as file:
                    file.write(json.dumps(result) + "\n")
                print(line_of(result), flush=True)

    def _one(self, kernel: PublicKernel) -> Dict[str, Any]:
        options = self._options
        start = time.monotonic()
        with tempfile.TemporaryDirectory(
        ) as home:  # Caches of compilers lie here, so that each kernel finds them empty.
            found, log = pathlib.Path(home) / "result.json", options.work / "logs" / (kernel.id.replace("/", ".") +
                                                                                      ".txt")
            log.parent.mkdir(parents=True, exist_ok=True)
            command = [
                sys.executable,
                str(HERE / "one_kernel.py"), "--list",
                str(options.list), "--kernel", kernel.id, "--work",
                str(options.work), "--result",
                str(found), "--device", options.device]
            command += ["--export-only"] if options.export_only else []
            with open(log, "w") as output:
                process = subprocess.Popen(command,
                                           stdout=output,
                                           stderr=subprocess.STDOUT,
                                           env=self._environment(home))
                try:
                    ended = f"it ended with exit code {process.wait(options.time_limit)}"
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    ended = f"it ran longer than {options.time_limit} s"
            result = json.loads(found.read_text()) if found.is_file() else {
                "kernel": kernel.id, "exported": False, "refusal": ended}
            if process.returncode != 0 and result["exported"]:
                result["failure"] = f"{ended}; see logs/{log.name}"
        return {**result, "seconds": round(time.monotonic() - start, 1)}

    def _environment(self, home: str) -> Dict[str, str]:
        paths = [str(self._options.work / "packages"), str(HERE), os.environ.get("PYTHONPATH", "")]
        return {
            **os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p), "HOME": home, "XDG_CACHE_HOME":
            f"{home}/cache", "TRITON_CACHE_DIR": f"{home}/triton", "CUDA_TILE_CACHE_DIR": f"{home}/cutile"}


def line_of(result: Dict[str, Any]) -> str:
    if not result["exported"]:
        return f"{result['kernel']}: refused: {result['refusal']} ({result['seconds']} s)"
    if "failure" in result:
        return f"{result['kernel']}: exported, failed: {result['failure']} ({result['seconds']} s)"
    ratios = ", ".join(f"{shape['ratio']:.3f}" for shape in result.get("shapes", ()))
    return f"{result['kernel']}: exported{', ' + ratios + ' of home' if ratios else ''} ({result['seconds']} s)"


def unpack(work: pathlib.Path, kernels: Sequence[PublicKernel]) -> None:
    """WORK/wheels into WORK/packages, and what of a checkout is no module without what it runs when it is imported."""
    packages = work / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    for wheel in sorted((work / "wheels").glob("*.whl")):
        stamp = packages / f".{wheel.stem}"
        if not stamp.is_file():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(packages)
            stamp.touch()
    for file in sorted({k.file for k in kernels if not is_module(k.file)}):
        checkout, copy = work / "checkout" / file, packages / file
        if checkout.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(definitions_of(checkout.read_text()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="prepare.py's folder: packages, bundles, logs")
    parser.add_argument("--list", type=pathlib.Path, default=HERE / "kernels.json")
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="of PACKAGE/NAME; default: all")
    parser.add_argument("--export-only", action="store_true", help="needs no GPU")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", type=pathlib.Path, help="default: WORK/results.jsonl, or WORK/exports.jsonl")
    parser.add_argument("--again", action="store_true", help="run what the results have, too")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT_S, metavar="SECONDS", help="of one kernel")
    parser.add_argument("--stop-after", type=float, default=1e9, metavar="SECONDS", help="start no kernel later")
    parser.add_argument("--json", type=pathlib.Path, help="write everything there, with the machine and the versions")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.work, options.list = options.work.resolve(), options.list.resolve()
    options.results = options.results or options.work / ("exports.jsonl" if options.export_only else "results.jsonl")
    try:
        kernels = chosen(read(options.list), options.only)
    except ValueError as error:
        parser.error(str(error))
    unpack(options.work, kernels)
    known = set() if options.again else {result["kernel"] for result in report.read_results(options.results)}
    Runner(options).run([k for k in kernels if k.id not in known])
    results = report.read_results(options.results)
    print()
    print(report.table(results), end="")
    if options.json:
        options.json.write_text(json.dumps(report.document(results), indent=1) + "\n")
    return 0 if report.is_good(results) else 1


if __name__ == "__main__":
    sys.exit(main())
