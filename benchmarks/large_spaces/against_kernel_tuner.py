#!/usr/bin/env python3
"""Two public spaces that cannot be searched whole, searched by tuneonce and by Kernel Tuner with the same wall seconds.

The spaces are CLTune's GEMM with KTT's parameters (205,216 configs), and dedispersion with BAT's (123,863,040 points).
Each search is a process of its own with nothing compiled before. Kernel Tuner's time limit and tuneonce's budget both
include the construction of the space and all compiles. What each selected is measured again in one race, with the
baseline that tuneonce started from. Kernel Tuner compares no results here, and tuneonce compares those of each config
with the baseline's.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import kernels  # noqa: E402
from searches import GUIDED, Failed, Report, Tuneonce, name_of, summary  # noqa: E402

GRACE = 45  # Seconds that Kernel Tuner gets beyond its limit, which it does not check during a compile.


def cached_best(cache: pathlib.Path, kernel: kernels.Kernel) -> Dict[str, Any]:
    """The best config in a cache file that Kernel Tuner did not close."""
    if not cache.exists():
        return {}
    text = cache.read_text().rstrip().rstrip(",")
    for end in ("", "}", "}}", "}\n}"):
        try:
            entries = list(json.loads(text + end)["cache"].values())
            break
        except (ValueError, KeyError):
            continue
    else:
        return {}
    measured = [entry for entry in entries if isinstance(entry.get("time"), (int, float))]
    if not measured:
        return {"tried": len(entries)}
    best = min(measured, key=lambda entry: float(entry["time"]))
    config = {axis: int(best[axis]) for axis in kernel.axes}
    return {"tried": len(entries), "measured": len(measured), "best": config, "best_us": best["time"] * 1000}


def kernel_tuner(options: argparse.Namespace, kernel: kernels.Kernel, name: str, strategy: str,
                 work: pathlib.Path) -> Dict[str, Any]:
    out = work / f"{name}_{strategy}.json"
    command = [options.python, str(HERE / "kernel_tuner_search.py"), name, str(options.kernels), strategy,
               str(options.budget), str(out)]
    found: Dict[str, Any] = {"strategy": strategy}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.budget + GRACE)
        if done.returncode != 0:
            found["failed"] = done.stderr[-400:]
    except subprocess.TimeoutExpired:
        found["failed"] = f"it was ended {GRACE} s after its time limit"
    if out.exists():
        found = {**json.loads(out.read_text()), **found}
    if "best" not in found:
        found = {**found, **cached_best(out.with_suffix(".cache.json"), kernel)}
    return found


def compare(options: argparse.Namespace, report: Report, name: str, work: pathlib.Path) -> None:
    kernel, shape = kernels.KERNELS[name](), kernels.SHAPES[name]
    result: Dict[str, Any] = {"shape": shape, "tuneonce": [], "kernel_tuner": []}
    report.result["spaces"][name] = result
    bundle = kernel.write(options.kernels, work / name)
    chosen: Dict[str, kernels.Config] = {}
    tuneonce = Tuneonce(options.tuneonce, "cuda")
    for seed in range(1, options.seeds + 1):
        try:
            budget = ("--budget", f"{options.budget:.0f}s", "--compile-timeout", "20s")
            record = tuneonce.tune(bundle, shape, *GUIDED, *budget, "--seed", str(seed), timeout=options.budget + 120)
            found = summary(record)
            chosen[f"tuneonce, seed {seed}"] = found["best"]
        except Failed as error:
            found = {"failed": str(error)}
        result["tuneonce"].append({"seed": seed, **found})
        report.write(f"{name}: tuneonce, seed {seed}: {found.get('best_us', found.get('failed'))}")
        if "failed" in found:
            break
    for strategy in options.strategies:
        if report.left() < options.budget + GRACE:
            result["kernel_tuner"].append({"strategy": strategy, "failed": "the run's time was over"})
            continue
        found = kernel_tuner(options, kernel, name, strategy, work)
        result["kernel_tuner"].append(found)
        if "best" in found:
            chosen[f"Kernel Tuner, {strategy}"] = found["best"]
        report.write(f"{name}: Kernel Tuner, {strategy}: {found.get('best_us', found.get('failed'))}")
        if "best" not in found and "space_seconds" not in found:
            break  # It did not get through the space. No other strategy will.
    try:
        raced = tuneonce.race(kernel, options.kernels, work / f"{name}_race", shape, list(chosen.values()))
        result["race_us"] = {who: raced.get(name_of(config)) for who, config in chosen.items()}
        result["race_us"]["baseline"] = raced.get(name_of(kernel.baseline))
    except Failed as error:
        result["race_us"] = {"failed": str(error)}
    report.write(f"{name}: race {result['race_us']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kernels", type=pathlib.Path, required=True, help="the folder that prepare.py wrote")
    parser.add_argument("--tuneonce", default="tuneonce", help="the command")
    parser.add_argument("--python", default=sys.executable, help="a Python with kernel-tuner 1.5 and CuPy")
    parser.add_argument("--space", nargs="+", choices=list(kernels.SHAPES), default=list(kernels.SHAPES))
    parser.add_argument("--budget", type=float, default=60, help="seconds of each search")
    parser.add_argument("--seeds", type=int, default=1, help="searches of tuneonce in each space")
    parser.add_argument("--strategies", nargs="+", default=["genetic_algorithm", "simulated_annealing", "pso"])
    parser.add_argument("--stop-after", type=float, default=560, help="seconds after which no search begins")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("against_kernel_tuner.json"))
    options = parser.parse_args()
    report = Report(options.out, options.stop_after, commit=options.commit, what=__doc__, budget_seconds=options.budget,
                    spaces={})
    with tempfile.TemporaryDirectory() as folder:
        for name in options.space:
            compare(options, report, name, pathlib.Path(folder))
    return 0


sys.exit(main())
