#!/usr/bin/env python3
"""How long a cold tune takes in two builds, interleaved on one machine: compare_cold_tune.py NEW_BIN OLD_BIN

Runs `tuneonce tune` of each folder in turn, each time with a store of its own and no code cached, and prints the
seconds of the whole process for each kernel: the medians with their ranges, their ratio, and what the new build's
search says that it verified. --json FILE keeps every figure.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
from typing import Any, Dict, List, Tuple

KERNELS = ["rms_norm", "softmax", "matmul", "attention"]


def tune(folder: pathlib.Path, kernel: str, device: str) -> Tuple[float, Dict[str, Any], int]:
    """Seconds of one cold tune, its record, and the runs that verified its finalists."""
    with tempfile.TemporaryDirectory() as scratch:
        store = pathlib.Path(scratch, "store.db")
        trace = pathlib.Path(scratch, "trace.json")
        environment = dict(os.environ, CUDA_CACHE_DISABLE="1")
        begin = time.monotonic()
        out = subprocess.run([
            str(folder / "tuneonce"), "tune", kernel, "--device", device, "--quiet", "--json", "--store", str(store),
            "--trace", str(trace)], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        seconds = time.monotonic() - begin
        events = json.loads(trace.read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        runs = sum(1 for event in events if event.get("name", "").startswith("verify at "))
        return seconds, json.loads(out)["records"][0], runs


def text_of(seconds: List[float]) -> str:
    return "%.2f s (%.2f to %.2f)" % (statistics.median(seconds), min(seconds), max(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repetitions", type=int, default=5, help="of each build and kernel (default: 5)")
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    seconds: Dict[str, Dict[str, List[float]]] = collections.defaultdict(lambda: {"new": [], "old": []})
    runs: Dict[str, int] = {}
    device = ""
    for kernel in options.kernels:
        for _ in range(options.repetitions):
            for name, folder in (("old", options.old), ("new", options.new)):
                took, record, num_runs = tune(folder, kernel, options.device)
                seconds[kernel][name].append(took)
                device = record["device"]
                if name == "new":
                    runs[kernel] = num_runs
    print(f"{device}: a cold tune, the median of {options.repetitions} processes")
    print(f"{'kernel':12} {'new':26} {'old':26} {'ratio':>6} {'runs':>5}")
    for kernel, of in seconds.items():
        ratio = statistics.median(of["new"]) / statistics.median(of["old"])
        print(f"{kernel:12} {text_of(of['new']):26} {text_of(of['old']):26} {ratio:6.2f} {runs[kernel]:5}")
    if options.json:
        options.json.write_text(json.dumps({"device": device, "seconds": seconds, "verification_runs": runs}, indent=1))


if __name__ == "__main__":
    main()
