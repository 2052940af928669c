"""One exported kernel against its home: what both compute, how long both take to choose a config, and to run."""
import dataclasses
import json
import pathlib
import shutil
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from case import Case
from home import home_of
from kernel_list import PublicKernel
from race import race

SAMPLES = 20  # Of each side, in pairs: 19 degrees of freedom, so that 1 % of noise leaves an interval of 0.5 %.
ROUNDS = 10  # Launches of each side in a sample, interleaved; the first sample's warm the clocks up and do not count.
OFF_THE_BOUND = ("M", "T", "S", "N", "B")  # Dims of a case that may be made smaller, the first that a bucket covers.
TOLERANCES = {"float16": 1e-2, "bfloat16": 2e-2, "float32": 1e-3, "float64": 1e-6}


class Measuring:
    """Measures one kernel. Owns our tuned kernel and its store, which lies in `scratch`. One thread."""

    def __init__(self, kernel: PublicKernel, bundle: pathlib.Path, packages: pathlib.Path, scratch: pathlib.Path,
                 device: str):
        import tuneonce
        self._kernel, self._bundle, self._scratch, self._device = kernel, bundle, scratch, device
        self._parameters = list(tuneonce.Bundle(bundle).parameters)
        self._ours = tuneonce.TunedKernel(bundle, device=device, store=scratch / "ours.sqlite", on_tune_error="raise")
        self._at_home = kernel.load(packages)
        self._home: Any = None
        self.stage = ""  # What a shape is at, for who reads of a failure.

    def shape(self, shape: Dict[str, int]) -> Dict[str, Any]:
        """All of one shape: choices, results, times."""
        self.stage = "the reference"
        case = self._kernel.case(shape)
        expected = case.reference()
        arguments = self.arguments(case)
        result: Dict[str, Any] = {"shape": shape}
        self.stage = "our search"
        result["cold_s"] = seconds(lambda: self._ours.warmup_with(*arguments), self._device)
        result["incorrect"] = self.incorrect()
        self.stage = "our launch"
        seconds(lambda: self._ours(*arguments), self._device)
        self.stage = "home's search"
        at_home = self._kernel.case(shape)
        self._home = home_of(self._kernel.language, self._at_home, at_home)
        result["home_cold_s"] = seconds(lambda: self._home.tune(at_home), self._device)
        result["home_config"] = {k: v for k, v in self._home.config.items()}
        self.stage = "home's launch"
        at_home = self._kernel.case(shape)  # The search may have written what it read.
        seconds(self._home.launcher(at_home), self._device)
        result.update(errors_of(case, at_home, expected))
        del expected, at_home
        self.stage = "the race"
        # On the same tensors: where they lie is worth some percent of a kernel of 3 us.
        result.update(self.race(lambda: self._ours(*arguments), self._home.launcher(case)))
        return result

    def verify(self, shape: Dict[str, int], seeds: int) -> Dict[str, Any]:
        """Tunes one shape with the data of each seed, from 0 on, and compares each result with the reference; no race.
        "incorrect": the configs that a search refused. "wrong": the outputs that differ from the reference. Both name
        the seed."""
        result: Dict[str, Any] = {"shape": shape, "seeds": seeds, "incorrect": [], "wrong": []}
        of_other_shapes = set(self.incorrect())
        for seed in range(seeds):
            self.stage = f"seed {seed}"
            case = dataclasses.replace(self._kernel, seed=seed).case(shape)
            expected = case.reference()
            arguments = self.arguments(case)
            search = self._ours.retune_with if self._ours.is_ready(*arguments) else self._ours.warmup_with
            search(*arguments)
            result["incorrect"] += [f"seed {seed}: {c}" for c in self.incorrect() if c not in of_other_shapes]
            seconds(lambda: self._ours(*arguments), self._device)
            for name in (name for name in case.outputs if name in expected):
                tolerance = case.tolerance or tolerance_of(case.arguments[name])
                error = difference(case.arguments[name], expected[name])
                if not error <= tolerance:
                    result["wrong"].append(f"seed {seed}: {name}: {error:.1e}")
        return result

    def incorrect(self) -> List[str]:
        """Configs of all searches so far whose output differed from the baseline's, and by how much."""
        import tuneonce
        return [f"{candidate.config}: {candidate.message}"
                for record in tuneonce.records(self._scratch / "ours.sqlite") for candidate in record.candidates
                if candidate.kind == "wrong_result"]

    def arguments(self, case: Case) -> List[Any]:
        """What the bundle takes, by its parameters' names. Raises KeyError for one that the case has not."""
        missing = [name for name in self._parameters if name not in case.arguments]
        if missing:
            raise KeyError(f"the declaration's parameters {', '.join(missing)} are none of the case's arguments")
        return [case.arguments[name] for name in self._parameters]

    def race(self, ours: Callable[[], None], home: Callable[[], None]) -> Dict[str, Any]:
        """Both interleaved in samples, by one timer."""
        raced = race({"ours": ours, "home": home}, self._device, SAMPLES, ROUNDS)
        ratio = raced.ratio("ours", "home")
        return {
            "ours_us": median(raced.times_us["ours"]), "home_us": median(raced.times_us["home"]), "ratio": ratio.mean,
            "low": ratio.low, "high": ratio.high, "samples": SAMPLES, "timer": raced.timer}

    def regret(self, shape: Dict[str, int]) -> Optional[Dict[str, Any]]:
        """Off the bucket's bound: the bucket's selection against the shape's own. None where nothing is bucketed.
        REQUIRES: `shape` was measured."""
        import tuneonce
        exact_bundle = without_buckets(self._bundle, self._scratch / "exact")
        if exact_bundle is None:
            return None
        for dim in (d for d in OFF_THE_BOUND if shape.get(d, 0) >= 16):
            off = {**shape, dim: shape[dim] * 3 // 4}
            try:
                case = self._kernel.case(off)
                arguments = self.arguments(case)
                if not self._ours.is_ready(*arguments):
                    continue  # Another key: this dim is not what the bucket covers.
            except Exception:  # No shape of this kernel's, which other dims may be.
                continue
            exact = tuneonce.TunedKernel(exact_bundle,
                                         device=self._device,
                                         store=self._scratch / "ours.sqlite",
                                         on_tune_error="raise")
            exact.warmup_with(*arguments)
            raced = self.race(lambda: self._ours(*arguments), lambda: exact(*arguments))
            return {"shape": off, "ratio": raced["ratio"], "low": raced["low"], "high": raced["high"]}
        return None


def without_buckets(bundle: pathlib.Path, copy: pathlib.Path) -> Optional[pathlib.Path]:
    """A copy of the bundle that takes each shape for itself; None if it does already."""
    key = json.loads((bundle / "manifest.json").read_text()).get("key", ())
    if not any("bucket" in part for part in key):
        return None
    return copy_with(bundle, copy,
                     key=[{k: v for k, v in part.items() if k == "dim" or "bucket" not in part} for part in key])


def copy_with(bundle: pathlib.Path, copy: pathlib.Path, **fields: Any) -> pathlib.Path:
    """A copy of the bundle whose manifest has these fields in place of its own."""
    shutil.copytree(bundle, copy, dirs_exist_ok=True)
    manifest = json.loads((bundle / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, **fields}))
    return copy


def errors_of(case: Case, at_home: Case, expected: Dict[str, Any]) -> Dict[str, Any]:
    """The largest difference of ours and of home's to the reference, as parts of its largest value; without one, of
    ours to home's. Wrong is what exceeds the tolerance, unless home's own result is half as far off."""
    ours, home, wrong = 0.0, 0.0, []
    for name in case.outputs:
        wanted = expected.get(name, at_home.arguments[name])
        error, error_at_home = difference(case.arguments[name], wanted), difference(at_home.arguments[name], wanted)
        tolerance = case.tolerance or tolerance_of(case.arguments[name])
        if not error <= max(tolerance, 2 * error_at_home):
            wrong.append(name)
        ours, home = max(ours, error), max(home, error_at_home)
    return {"error": ours, "home_error": home, "wrong": wrong}


def difference(value: Any, wanted: Any) -> float:
    if isinstance(value, (list, tuple)):
        return max(difference(v, w) for v, w in zip(value, wanted))
    value, wanted = doubles(value), doubles(wanted)
    known = abs(wanted) < float("inf")  # No NaN either.
    if not known.any():
        return 0.0
    apart = abs(value[known] - wanted[known])
    if not (apart == apart).all():
        return float("inf")
    return float(apart.max()) / max(float(abs(wanted[known]).max()), 1e-30)


def doubles(values: Any) -> Any:
    return values.double() if hasattr(values, "double") else values.astype("float64")


def tolerance_of(values: Any) -> float:
    while isinstance(values, (list, tuple)):
        values = values[0]
    return TOLERANCES.get(str(values.dtype).split(".")[-1], 1e-2)


def seconds(what: Callable[[], Any], device: str) -> float:
    synchronize(device)
    start = time.monotonic()
    what()
    synchronize(device)
    return time.monotonic() - start


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        import torch
        torch.cuda.synchronize()


def median(values: Any) -> float:
    ordered: Sequence[float] = sorted(values)
    return ordered[len(ordered) // 2]
