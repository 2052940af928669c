"""Launches interleaved by one timer on one stream."""
import dataclasses
import random
from typing import Any, Callable, Dict, List

from ratio import Ratio, ratio_of


@dataclasses.dataclass(frozen=True)
class Raced:
    """times_us: by name, one per sample. timer: how they were taken."""
    times_us: Dict[str, List[float]]
    timer: str

    def ratio(self, of: str, over: str) -> Ratio:
        return ratio_of(list(zip(self.times_us[of], self.times_us[over])))


def race(calls: Dict[str, Callable[[], Any]], device: str, samples: int, rounds: int) -> Raced:
    """`samples` of each, each of `rounds` launches that take turns with the others'. One sample more warms the clocks up and
    does not count. Raises RuntimeError if one could not be launched."""
    import tuneonce
    times: Dict[str, List[float]] = {name: [] for name in calls}
    timer = ""
    order = list(calls)
    for sample in range(samples + 1):
        random.Random(sample).shuffle(order)
        found = tuneonce.exhaustive_search(order,
                                           stream_of(device),
                                           None,
                                           lambda config: calls[config],
                                           lambda config: (),
                                           device=device,
                                           quiet=True,
                                           max_rounds=rounds)
        if found.failures:
            raise RuntimeError(f"{found.failures[0].config} could not be launched: {found.failures[0].message}")
        for success in found.successes:
            times[success.config].append(success.mean_us)
        timer = found.timer
    return Raced({name: each[1:] for name, each in times.items()}, timer)


def stream_of(device: str) -> Any:
    if not device.startswith("cuda"):
        return None
    import torch
    return torch.cuda.current_stream()
