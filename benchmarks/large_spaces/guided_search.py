#!/usr/bin/env python3
"""Guided search against the best config of a whole space, on a GPU.

The space is that of matmul.cu, 1350 configs on an H100. For each shape there is an exhaustive search, then guided ones
of 50 and 100 trials with several seeds. They run cubins that are compiled ahead, so that a search costs its trials
alone. What each search selected is measured again in one race, with the five fastest configs of the exhaustive search.
`fraction` is the least time of these five, divided by the time of the config that the guided search selected.

With --repeats each shape is then searched that many times without a budget and with one seed. What these searches
selected is measured again in one race: `within_2pct` is the share of pairs whose times differ by at most 2 %.

Then the wall seconds of cold searches are measured, compiles included: guided searches of the whole space, and an
exhaustive search of a list of configs, next to triton.autotune of that list.
"""

import argparse
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import kernels  # noqa: E402
from searches import GUIDED, Failed, Report, Tuneonce, config_of, name_of, summary, times  # noqa: E402

EXHAUSTIVE = ("--strategy", "exhaustive", "--gpu-budget", "15s", "--race-budget", "30s", "--baseline-margin", "0")
FINALISTS = 5  # How many of the fastest configs of an exhaustive search are measured again.


def is_valid(kernel: kernels.Kernel, config: kernels.Config) -> bool:
    return all(eval(condition, {}, dict(config)) for condition in kernel.conditions)  # noqa: S307


def small(kernel: kernels.Kernel) -> kernels.Kernel:
    """A space of few configs, to try this script without a GPU."""
    kernel.axes = {**kernel.axes, "TILE_M": [64, 128], "TILE_N": [128], "TILE_K": [32], "STAGES": [3], "GROUP": [1]}
    return kernel


def triton_list(kernel: kernels.Kernel, count: int) -> List[kernels.Config]:
    """A sample of configs that differ in what Triton knows: tiles, number of warps, stages, group."""
    distinct: Dict[Any, kernels.Config] = {}
    for values in itertools.product(*kernel.axes.values()):
        config = dict(zip(kernel.axes, values))
        if is_valid(kernel, config):
            warps = config["WARPS_M"] * config["WARPS_N"]
            distinct.setdefault(tuple(config[a] for a in ("TILE_M", "TILE_N", "TILE_K", "STAGES", "GROUP")) + (warps,),
                                config)
    configs = [config for config in distinct.values() if config != kernel.baseline]
    return [kernel.baseline, *random.Random(1).sample(configs, min(count, len(configs)) - 1)]


class Benchmark:
    def __init__(self, options: argparse.Namespace, work: pathlib.Path):
        self.options, self.work = options, work
        self.kernel = small(kernels.matmul()) if options.small else kernels.matmul()
        self.tuneonce = Tuneonce(options.tuneonce, options.device)
        self.report = Report(options.out, options.stop_after, commit=options.commit, what=__doc__, shapes=[],
                             repeats=[])
        self.bundle = self.ahead = self.kernel.write(HERE, work / "matmul")

    def compile_ahead(self) -> None:
        if self.options.device == "cpu":
            return
        self.ahead = self.work / "ahead"
        seconds = self.tuneonce.compile(self.bundle, self.options.target, self.ahead)
        self.report.result["compile_all_seconds"] = round(seconds, 1)
        self.report.write("compiled all configs")

    def shape(self, shape: Dict[str, int]) -> None:
        """Searches one shape by all strategies, and races what they selected."""
        whole = self.tuneonce.tune(self.ahead, shape, *EXHAUSTIVE)
        result: Dict[str, Any] = {"shape": shape, "exhaustive": summary(whole), "guided": []}
        self.report.result["shapes"].append(result)
        self.report.result["configs"] = len(whole["candidates"])
        by_time = sorted(times(whole).values())
        result["exhaustive"]["median_us"] = statistics.median(by_time)
        self.report.write(f"{shape}: exhaustive")
        measured = [outcome for outcome in whole["candidates"] if outcome["outcome"] == "measured"]
        best = [config_of(outcome) for outcome in measured[:FINALISTS]]
        configs = list(best)
        for trials, seed in itertools.product(self.options.trials, range(1, self.options.seeds + 1)):
            if self.report.left() < 30:
                result["cut_short"] = True
                break
            found = self.tuneonce.tune(self.ahead, shape, *GUIDED, "--max-trials", str(trials), "--seed", str(seed))
            result["guided"].append({"trials": trials, "seed": seed, **summary(found)})
            configs.append(config_of(found["best"]))
            self.report.write(f"{shape}: {trials} trials, seed {seed}")
        raced = self.tuneonce.race(self.kernel, HERE, self.work / f"race{len(self.report.result['shapes'])}", shape,
                                   configs)
        best_us = min(raced[name_of(config)] for config in best)
        result["best_us"], result["race_us"] = best_us, raced
        for guided in result["guided"]:
            guided["fraction"] = round(best_us / raced[name_of(guided["best"])], 4)
        for trials in self.options.trials:
            fractions = [guided["fraction"] for guided in result["guided"] if guided["trials"] == trials]
            if fractions:
                result[f"fraction_{trials}"] = {"mean": round(statistics.mean(fractions), 4), "least": min(fractions)}
        self.report.write(f"{shape}: race {[result.get(f'fraction_{trials}') for trials in self.options.trials]}")

    def repeat(self, shape: Dict[str, int]) -> None:
        """Searches one shape several times alike, and races what was selected."""
        searches = [self.tuneonce.tune(self.ahead, shape, *GUIDED) for _ in range(self.options.repeats)]
        found = [config_of(search["best"]) for search in searches]
        raced = self.tuneonce.race(self.kernel, HERE, self.work / f"repeats{len(self.report.result['repeats'])}", shape,
                                   found)
        times_us = [raced[name_of(config)] for config in found]
        differences = [max(pair) / min(pair) - 1 for pair in itertools.combinations(times_us, 2)]
        result = {
            "shape": shape,
            "searches": [summary(search) for search in searches],
            "times_us": times_us,
            "within_1pct": statistics.mean(difference <= 0.01 for difference in differences),
            "within_2pct": statistics.mean(difference <= 0.02 for difference in differences),
            "largest_difference": round(max(differences), 4),
        }
        self.report.result["repeats"].append(result)
        self.report.write(f"{shape}: {self.options.repeats} searches alike, {result['within_2pct']:.2f} of the pairs "
                          f"within 2 %, largest difference {result['largest_difference']}")

    def walls(self, shape: Dict[str, int]) -> None:
        """Measures the wall seconds of cold searches."""
        result: Dict[str, Any] = {"shape": shape}
        self.report.result["wall"] = result
        for trials in self.options.trials:
            found = self.tuneonce.tune(self.bundle, shape, *GUIDED, "--max-trials", str(trials))
            result[f"guided_{trials}"] = summary(found)
            self.report.write(f"cold guided search, {trials} trials")
        configs = triton_list(self.kernel, self.options.triton_configs)
        listed = self.tuneonce.tune(self.kernel.write(HERE, self.work / "list", configs), shape, *EXHAUSTIVE)
        result["list"] = {"configs": len(configs), **summary(listed)}
        self.report.write(f"cold exhaustive search of {len(configs)} configs")
        if self.options.device == "cpu":
            return
        (self.work / "list.json").write_text(json.dumps({"shape": shape, "configs": configs}))
        limit = max(30.0, self.report.left() - 5)
        command = [sys.executable, str(HERE / "triton_search.py"), str(self.work / "list.json")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            result["triton"] = (json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else
                                {"failed": done.stderr[-500:]})
        except subprocess.TimeoutExpired:
            result["triton"] = {"failed": f"it was ended after {limit:.0f} s"}
        self.report.write(f"triton.autotune of the same list: {result['triton']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tuneonce", default="tuneonce", help="the command")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--shape", nargs="+", default=["4096x4096x4096", "512x8192x4096", "64x4096x14336"])
    parser.add_argument("--trials", nargs="*", type=int, default=[50, 100], help="none: --repeats alone")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=0, help="searches of each shape without a budget; 2 or more")
    parser.add_argument("--triton-configs", type=int, default=60)
    parser.add_argument("--stop-after", type=float, default=560, help="seconds after which no search begins")
    parser.add_argument("--small", action="store_true", help="a space of few configs, to try the script")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("guided_search.json"))
    options = parser.parse_args()
    shapes = [dict(zip("MNK", map(int, text.split("x")))) for text in options.shape]
    with tempfile.TemporaryDirectory() as folder:
        benchmark = Benchmark(options, pathlib.Path(folder))
        try:
            benchmark.compile_ahead()
            for shape in shapes:
                if options.trials and benchmark.report.left() > 60:
                    benchmark.shape(shape)
            for shape in shapes:
                if options.repeats > 1 and benchmark.report.left() > 60:
                    benchmark.repeat(shape)
            if options.trials and benchmark.report.left() > 40:
                benchmark.walls(shapes[0])
        except Failed as error:
            benchmark.report.result["failed"] = str(error)
            benchmark.report.write(f"failed: {error}")
            return 1
    return 0


sys.exit(main())
