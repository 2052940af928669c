"""Launches interleaved by one timer on one stream: their times, and what the first takes over each of the others."""
import statistics
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import tuneonce

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "public_kernels"))
from measuring import stream_of  # noqa: E402
from ratio import ratio_of  # noqa: E402

SAMPLES, ROUNDS = 15, 8  # Of each: pairs for the interval, and interleaved launches in each.


def race(calls: Dict[str, Callable[[], Any]], device: str) -> Dict[str, Dict[str, float]]:
    """us: the median; least_us and most_us: of its samples. Of all but the first: the first's time over it, with its
    95 % interval from `low` to `high`. Raises RuntimeError if one could not be launched."""
    samples: List[Dict[str, float]] = []
    for _ in range(SAMPLES + 1):
        found = tuneonce.exhaustive_search(list(calls), stream_of(device), None, lambda config: calls[config],
                                           lambda config: (), device=device, quiet=True, max_rounds=ROUNDS)
        if found.failures:
            raise RuntimeError(f"{found.failures[0].config} could not be launched: {found.failures[0].message}")
        samples.append({success.config: success.mean_us for success in found.successes})
    first, rows = next(iter(calls)), {}
    for name in calls:
        times = [sample[name] for sample in samples[1:]]  # The first warms the clocks up.
        rows[name] = {"us": statistics.median(times), "least_us": min(times), "most_us": max(times)}
        if name != first:
            ratio = ratio_of([(sample[first], sample[name]) for sample in samples[1:]])
            rows[name].update(ratio=ratio.mean, low=ratio.low, high=ratio.high)
    return rows
