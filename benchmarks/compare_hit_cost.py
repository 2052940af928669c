#!/usr/bin/env python3
"""What a hit adds in two builds, interleaved on one machine: compare_hit_cost.py NEW_BIN OLD_BIN [--device cuda]

Starts hit_cost_benchmark of each folder in turn, several processes of each, and prints for each case the medians of all
processes and how much the first adds to the second: nanoseconds over the raw launch of the same process, and from 16
threads the share of the raw launch with its range. --json FILE keeps every process's figures.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
from typing import Any, Dict, List

CASES = ["BM_HitNothing/1", "BM_HitNothing/64", "BM_HitNothing/4096", "BM_BundleHitNothing"]
NOTHING = "^BM_(Raw|Hit|BundleHit)Nothing"
THREADED = ["BM_Hit/1/real_time/threads:16", "BM_Hit/64/real_time/threads:16"]


def medians(folder: pathlib.Path, device: str, only: str, repetitions: int, min_time_s: float) -> Dict[str, float]:
    """Nanoseconds by benchmark: the median of one process's repetitions."""
    out = subprocess.run([
        str(folder / "hit_cost_benchmark"), f"--device={device}", f"--benchmark_filter={only}",
        f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={min_time_s}",
        "--benchmark_report_aggregates_only=true", "--benchmark_format=json"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    # Real time: of threads, the CPU time would be a sum.
    return {b["run_name"]: b["real_time"] for b in json.loads(out)["benchmarks"] if b["aggregate_name"] == "median"}


def added(figures: Dict[str, float]) -> Dict[str, float]:
    """Of one process: what each case adds to its raw launch; from 16 threads as a share."""
    raw, threads = figures.get("BM_RawNothing"), figures.get("BM_RawLaunch/real_time/threads:16")
    result = {case: figures[case] - raw for case in CASES if raw is not None and case in figures}
    result.update({case: figures[case] / threads - 1 for case in THREADED if threads and case in figures})
    return result


def row(case: str, new: List[float], old: List[float]) -> str:
    if case in THREADED:
        text = ["%+.1f %% (%+.1f to %+.1f)" % tuple(100 * x for x in (statistics.median(v), min(v), max(v))) for v in (new, old)]
    else:
        text = ["%.1f ns (%.1f to %.1f)" % (statistics.median(v), min(v), max(v)) for v in (new, old)]
    return f"{case:34} {text[0]:28} {text[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=5, help="of each build (default: 5)")
    parser.add_argument("--repetitions", type=int, default=3, help="in each process (default: 3)")
    parser.add_argument("--min-time", type=float, default=0.2, metavar="S", help="of each repetition (default: 0.2)")
    parser.add_argument("--threads", action="store_true", help="from 16 threads, too: a machine with as many cores")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    filters = (NOTHING, "threads:16") if options.threads else (NOTHING,)
    runs: Dict[str, List[Dict[str, Any]]] = {"new": [], "old": []}
    for _ in range(options.processes):
        for name, folder in (("new", options.new), ("old", options.old)):
            runs[name].append({
                only: medians(folder, options.device, only, options.repetitions, options.min_time) for only in filters})
    by_case: Dict[str, Dict[str, List[float]]] = {}
    for name, processes in runs.items():
        for process in processes:
            for case, value in added({k: v for figures in process.values() for k, v in figures.items()}).items():
                by_case.setdefault(case, {"new": [], "old": []})[name].append(value)
    print(f"{'':34} {'new: median (range)':28} old")
    for case, of in by_case.items():
        if of["new"] and of["old"]:
            print(row(case, of["new"], of["old"]))
    if options.json:
        options.json.write_text(json.dumps({"device": options.device, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
