#!/usr/bin/env python3
"""plots.py [OUT]: the plots of docs/performance.md as SVG, from benchmarks/results/*.json alone. OUT: docs/plots.

Plain SVG, with nothing but Python, and the same bytes each time: the test docs.PlotsShowTheResults makes them again and
compares.
"""

import json
import math
import pathlib
import sys
from typing import Any, Callable, Dict, List, Sequence, Tuple

import peers_plots
from peers_plots import show
from plot import COLOURS, LEFT, ROW, TOP, Plot

_HERE = pathlib.Path(__file__).resolve().parent


def read(name: str) -> Dict[str, Any]:
    return json.loads((_HERE / "results" / f"{name}.json").read_text())


def where(results: Dict[str, Any]) -> str:
    commit = results.get("commit")
    return results["date"] + (f", commit {commit}" if commit else "")


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def hit_cost() -> str:
    """A dot per process; a line at each median."""
    results = read("hit_cost")
    names = ["1 key", "64 keys", "4096 keys", "matmul bundle"]
    runs = results["runs"][-4:]
    dates = " and ".join(sorted({run["date"] for run in runs}))
    plot = Plot(
        "What a hit adds to a raw launch, on the host",
        f"H200 hosts, {dates}; a dot per process, a line at the median",
        (len(names) * (len(runs) + 1) - 1) * ROW,
        largest=120,
    )
    plot.scale([0, 20, 40, 60, 80, 100], "ns, driver call taken out")
    row = 0
    for name in names:
        plot.text(12, TOP + row * ROW + 10, name, weight="bold")
        for run, colour in zip(runs, COLOURS):
            y = TOP + row * ROW + 10
            plot.text(LEFT - 10, y + 4, run["commit"], anchor="end", colour=colour)
            for value in run[name]:
                plot.dot(value, y, colour)
            if run[name]:
                at = plot.x(median(run[name]))
                plot.line(at, y - 9, at, y + 9, colour="#222222")
            row += 1
        row += 1
    return plot.svg()


def python_call() -> str:
    results = read("python_call")
    plot = Plot(
        "A call from Python with three torch tensors",
        f"host time; a dot per run, {where(results)}",
        len(results["calls"]) * ROW,
        smallest=3,
        largest=40,
        log=True,
    )
    plot.scale([3, 5, 10, 20, 40], "us, logarithmic")
    for row, ((name, values), colour) in enumerate(zip(results["calls"].items(), COLOURS)):
        y = TOP + row * ROW + 10
        plot.text(LEFT - 10, y + 4, name, anchor="end", colour=colour)
        for value in values:
            plot.dot(value, y, colour)
        at = plot.x(median(values))
        plot.line(at, y - 9, at, y + 9, colour="#222222")
    return plot.svg()


def compile_cost() -> str:
    results = read("compile_cost")
    workers = results["workers"]
    plot = Plot(
        "Compiling 16 candidates on several cores",
        f"a dot per run, dashed: one per worker; {where(results)}",
        len(workers) * ROW,
        largest=16,
    )
    plot.scale([0, 2, 4, 6, 8, 10, 12, 14, 16], results["unit"])
    for row, count in enumerate(workers):
        y = TOP + row * ROW + 10
        plot.text(LEFT - 10, y + 4, f"{count} worker{'s' if count > 1 else ''}", anchor="end")
        plot.line(plot.x(count), y - 11, plot.x(count), y + 11, colour="#222222", dashes="3,3")
        for run in results["runs"]:
            plot.dot(run["times_faster"][row], y, COLOURS[0 if run["host"] == "first" else 1])
    plot.legend(["first host", "second host"])
    return plot.svg()


def grouped_bars(
    title: str,
    subtitle: str,
    unit: str,
    ticks: Sequence[float],
    groups: Sequence[Tuple[str, List[float]]],
    names: Sequence[str],
    shown: Callable[[float], str],
) -> str:
    """A bar per name in each group, in the order of `names`; NaN: none. The last tick is the end of the scale."""
    pitch, gap = 17, 15
    bars = sum(not math.isnan(value) for _, values in groups for value in values)
    plot = Plot(title, subtitle, bars * pitch + (len(groups) - 1) * gap, largest=ticks[-1])
    plot.scale(ticks, unit)
    y = TOP + pitch / 2
    for group, values in groups:
        plot.text(LEFT - 10, y + 4, group, anchor="end")
        for value, colour in zip(values, COLOURS):
            if math.isnan(value):
                continue
            plot.bar(value, y, colour)
            inside = value > 0.5 * ticks[-1]
            plot.text(
                plot.x(value) + (-4 if inside else 4),
                y + 4,
                shown(value),
                anchor="end" if inside else "start",
                colour="#ffffff" if inside else "#222222",
                size=11,
            )
            y += pitch
        y += gap
    plot.legend(names)
    return plot.svg()


def fastest(times: Sequence[float]) -> float:
    return min(times) if times else math.nan


def bundles() -> str:
    """A dot per shape, at what another choice or torch's fastest operator takes of our time; a line at the median."""
    results = read("families-2026-11-23")
    of: Dict[str, Dict[str, List[float]]] = {}
    for row in results["rows"]:
        times = {name: contender["us"] / row["contenders"]["ours"]["us"] for name, contender in row["contenders"].items()}
        chosen = {name: times.pop(f"{name}'s selection", math.nan) for name in ("cuTile", "Triton")}
        torch = fastest([time for name, time in times.items() if name not in ("ours", "baseline")])
        for name, time in {**chosen, "torch": torch}.items():
            if not math.isnan(time):
                of.setdefault(row["bundle"], {}).setdefault(name, []).append(time)
    pitch, gap = 18, 12
    height = sum(len(series) * pitch for series in of.values()) + (len(of) - 1) * gap
    plot = Plot(
        f"{len(of)} bundles compared with cuTile's selection, Triton's and torch",
        f"times relative to our winner, right of 1: ours is faster; a dot per shape, H200 hosts, {results['date']}",
        height,
        smallest=0.04,
        largest=10,
        log=True,
    )
    plot.scale([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10], "times as long as ours, logarithmic")
    colours = dict(zip(["cuTile", "Triton", "torch"], COLOURS))
    y = TOP + pitch / 2
    for bundle, series in of.items():
        plot.text(12, y + 4, bundle, weight="bold")
        for name, values in series.items():
            plot.text(LEFT - 10, y + 4, name, anchor="end", colour=colours[name])
            for value in values:
                plot.dot(value, y, colours[name])
            at = plot.x(median(values))
            plot.line(at, y - 8, at, y + 8, colour="#222222")
            y += pitch
        y += gap
    plot.line(plot.x(1), TOP - 6, plot.x(1), plot.bottom, colour="#222222", dashes="3,3")
    return plot.svg()


def selection() -> str:
    results = read("selection")
    names = ["ours", "cuTile", "Triton"]
    groups = [(row["trace"], [row[n][0] for n in names]) for row in results["rows"]]
    return grouped_bars(
        "Searches whose choice is within 1 % of the best",
        f"1000 searches each, replayed on recorded H200 timings; {where(results)}",
        "share of searches",
        [0, 0.25, 0.5, 0.75, 1],
        groups,
        names,
        lambda v: f"{v:.3f}",
    )


_PLOTS = {
    "hit_cost": hit_cost,
    "python_call": python_call,
    "compile_cost": compile_cost,
    "bundles": bundles,
    "selection": selection,
}


def main() -> int:
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else _HERE.parent / "docs" / "plots"
    out.mkdir(parents=True, exist_ok=True)
    plots = {name: draw() for name, draw in _PLOTS.items()}
    runs = sorted((_HERE / "results").glob("peers-*.json"), reverse=True)  # By date: the newest first.
    if runs:
        plots.update(peers_plots.draw(show.filled_up([json.loads(run.read_text()) for run in runs])))
    for name, svg in plots.items():
        (out / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"{len(plots)} plots in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
