#!/usr/bin/env python3
"""Exports the public kernels of the list and races them against their homes, each in a process of its own.

run.py --work FOLDER [--only PART ...] [--export-only] [--results FILE] [--stop-after SECONDS] ...

Results are appended to FILE as they come, and kernels that are in it are not run again, so that a run may be cut off
and go on. At the end stands the table of all that FILE has. Exit code 0 if nothing was refused, failed, slow or wrong.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from typing import IO, Any, Dict, List, Sequence

import report
from kernel_list import HERE, PublicKernel, chosen, definitions_of, is_module, read

JOBS = 3  # One measures, the others import and export meanwhile.
TIME_LIMIT_S = 300  # For exporting one kernel, and for measuring it.


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
        log = options.work / "logs" / f"{kernel.package}.{kernel.name}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as caches:
            found = pathlib.Path(caches) / "result.json"
            paths = {"list": options.list, "kernel": kernel.id, "work": options.work, "result": found}
            paths["time-limit"], paths["seeds"] = options.time_limit, options.seeds
            command = [sys.executable, str(HERE / "one_kernel.py"), "--device", options.device]
            command += [word for name, value in paths.items() for word in (f"--{name}", str(value))]
            command += ["--export-only"] if options.export_only else []
            with open(log, "w") as output:
                code = run_group(command, output, self._environment(caches))
            result = json.loads(found.read_text()) if found.is_file() else {"kernel": kernel.id, "exported": False}
            ended = f"it ended with exit code {code}"
            if code == -signal.SIGALRM:
                ended = f"it ran longer than {options.time_limit} s"
            if not found.is_file():
                result["refusal"] = ended
            elif code != 0:
                result["failure"] = f"{ended}; see logs/{log.name}"
        return {**result, "seconds": round(time.monotonic() - start, 1)}

    def _environment(self, caches: str) -> Dict[str, str]:
        """Ours, with the packages found and every compiler's cache empty."""
        paths = [str(self._options.work / "packages"), str(HERE), os.environ.get("PYTHONPATH", "")]
        names = ("XDG_CACHE_HOME", "TRITON_CACHE_DIR", "CUDA_TILE_CACHE_DIR", "CUDA_CACHE_PATH", "FLAGGEMS_CACHE_DIR")
        return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p),
                **{name: f"{caches}/{name.lower()}" for name in names}}


def run_group(command: Sequence[str], output: IO[str], environment: Dict[str, str]) -> int:
    """The command's exit code. What it started and left behind is ended with it."""
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                               env=environment, start_new_session=True)
    code = process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return code


def line_of(result: Dict[str, Any]) -> str:
    if not result["exported"]:
        return f"{result['kernel']}: refused: {result['refusal']} ({result['seconds']} s)"
    if "failure" in result:
        return f"{result['kernel']}: exported, failed: {result['failure']} ({result['seconds']} s)"
    verified = [shape for shape in result.get("shapes", ()) if "seeds" in shape]
    if verified:
        found = [line for shape in verified for line in shape["wrong"] + shape["incorrect"]]
        return f"{result['kernel']}: {verified[0]['seeds']} seeds: {'; '.join(found) or 'correct'} ({result['seconds']} s)"
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
    parser.add_argument("--seeds", type=int, default=0, metavar="N",
                        help="tune each shape with the data of N seeds, compare with torch, and race nothing")
    parser.add_argument("--results", type=pathlib.Path, help="default: WORK/results.jsonl, or WORK/exports.jsonl")
    parser.add_argument("--again", action="store_true", help="run what the results have, too")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT_S, metavar="SECONDS",
                        help="of exporting a kernel, and of measuring it")
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
