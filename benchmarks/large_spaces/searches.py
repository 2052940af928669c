"""Runs the command `tuneonce` on bundles, and reads what it found."""

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import subprocess
import time
from typing import Any, Dict, List, Optional

from kernels import Config, Kernel


# The fastest config is selected, also where it is less than 2 % faster than the baseline.
GUIDED = ("--strategy", "guided", "--baseline-margin", "0")


class Failed(Exception):
    """The command failed. The text is its message."""


@dataclasses.dataclass
class Tuneonce:
    program: str
    device: str

    def run(self, *arguments: str, timeout: Optional[float] = None) -> "subprocess.CompletedProcess[str]":
        """Runs the command. Shared libraries next to it are preferred."""
        folder = str(pathlib.Path(self.program).resolve().parent)
        path = os.pathsep.join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, "LD_LIBRARY_PATH": path})
        if done.returncode != 0:
            raise Failed(" ".join(done.stderr.split())[:500])
        return done

    def tune(self, bundle: pathlib.Path, shape: Dict[str, int], *options: str, timeout: float = 550) -> Dict[str, Any]:
        """Searches without a store. Returns the record, with `seconds`: of the whole process."""
        dims = [word for name, extent in shape.items() for word in ("--shape", f"{name}={extent}")]
        begin = time.monotonic()
        try:
            done = self.run("tune", str(bundle), "--device", self.device, "--json", "--quiet", *options, *dims,
                            timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"it was ended after {timeout:.0f} s") from error
        seconds = time.monotonic() - begin
        record = dict(json.loads(done.stdout)["records"][0])
        record["seconds"] = seconds
        return record

    def compile(self, bundle: pathlib.Path, target: str, into: pathlib.Path) -> float:
        """Compiles all configs ahead of time. Returns the seconds that this took."""
        begin = time.monotonic()
        self.run("bundle", "compile", str(bundle), "--target", target, "-o", str(into))
        return time.monotonic() - begin

    def race(self, kernel: Kernel, sources: pathlib.Path, folder: pathlib.Path, shape: Dict[str, int],
             configs: List[Config]) -> Dict[str, float]:
        """Measures the configs, and the kernel's baseline, in one race. Returns the mean microseconds by name."""
        distinct: List[Config] = []
        for config in [kernel.baseline, *configs]:
            if config not in distinct:
                distinct.append(config)
        bundle = kernel.write(sources, folder, distinct)
        record = self.tune(bundle, shape, "--strategy", "exhaustive", "--gpu-budget", "5s", "--race-budget", "20s")
        return times(record)


def config_of(outcome: Dict[str, Any]) -> Config:
    return {value["axis"]: value["value"] for value in outcome["config"]}


def name_of(config: Config) -> str:
    return ", ".join(f"{axis}={value}" for axis, value in sorted(config.items()))


def times(record: Dict[str, Any]) -> Dict[str, float]:
    """Mean microseconds by the config's name. A duplicate has the time of the config that has its code."""
    found = {}
    for outcome in record["candidates"]:
        if outcome["outcome"] == "measured":
            found[name_of(config_of(outcome))] = outcome["mean_us"]
    for outcome in record["candidates"]:
        if outcome["outcome"] == "duplicate":
            same = name_of({value["axis"]: value["value"] for value in outcome["same_as"]})
            if same in found:
                found[name_of(config_of(outcome))] = found[same]
    return found


def summary(record: Dict[str, Any]) -> Dict[str, Any]:
    kinds: Dict[str, int] = {}
    for outcome in record["candidates"]:
        kinds[outcome["outcome"]] = kinds.get(outcome["outcome"], 0) + 1
    cost = record["cost"]
    return {
        "seconds": round(record["seconds"], 2),
        "search_seconds": round(cost["wall_seconds"], 2),
        "compile_cpu_seconds": round(cost["compile_seconds"], 2),
        "num_compiled": cost["num_compiled"],
        "outcomes": kinds,
        "is_complete": record["is_complete"],
        "num_not_measured": record["num_not_measured"],
        "best": config_of(record["best"]),
        "best_us": record["best"]["mean_us"],
        "timer": record["timer"],
        "notes": record["notes"],
    }


class Report:
    """A result that is written again after each step, so that a run that is cut off leaves what it has."""

    def __init__(self, path: pathlib.Path, stop_after: float, **facts: Any):
        self.path, self.stop_after, self.begin = path, stop_after, time.monotonic()
        self.result: Dict[str, Any] = {"date": datetime.date.today().isoformat(), "machine": machine(), **facts}

    def left(self) -> float:
        return self.stop_after - (time.monotonic() - self.begin)

    def write(self, what: str) -> None:
        self.result["seconds"] = round(time.monotonic() - self.begin, 1)
        self.path.write_text(json.dumps(self.result, indent=1) + "\n")
        print(f"{self.result['seconds']:6.1f} s: {what}", flush=True)


def machine() -> Dict[str, Any]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu: Optional[str] = None
    try:
        gpu = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        pass
    return {"gpu": gpu, "cores": os.cpu_count(), "python": platform.python_version()}
