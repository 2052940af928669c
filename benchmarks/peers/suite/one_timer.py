"""The one timer that all choices are measured with: CUDA graphs of launches, by turns.

Each candidate is captured LAUNCHES times into a graph of its own; the graphs are replayed in rounds, each round in
another order, between two events. A candidate's time is its median over rounds, per launch, with what it reads still in
the cache where that is large enough: the same for all.
"""

import random
import statistics
from typing import Any, Callable, Dict

LAUNCHES, ROUNDS = 10, 15


def measure(candidates: Dict[str, Callable[[], Any]]) -> Dict[str, float]:
    """Microseconds of a launch, by name; a candidate that cannot be captured or launched is left out."""
    import torch

    graphs = {}
    for name, launch in candidates.items():
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                launch()
                stream.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=stream):
                    for _ in range(LAUNCHES):
                        launch()
            graph.replay()
            torch.cuda.synchronize()
            graphs[name] = graph
        except Exception:  # noqa: BLE001  It did not compile, or its resources are not to be had.
            torch.cuda.synchronize()
    order, times = random.Random(1), {name: [] for name in graphs}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(ROUNDS):
        names = list(graphs)
        order.shuffle(names)
        for name in names:
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) * 1000 / LAUNCHES)
    return {name: statistics.median(each) for name, each in times.items()}
