#!/usr/bin/env python3
"""gallery_page.py --results FOLDER --commit COMMIT > docs/internal/gallery.md

Writes the page of what gallery.py measured, with the pictures of gallery_shots.py. All of its text is made of the
results; read it before you commit it."""

import argparse
import datetime
import json
import pathlib
import textwrap
from typing import Any, Dict, List


def time_text(us: float) -> str:
    return f"{us / 1000:.3g} ms" if us >= 1000 else f"{us:.4g} us"


def result_of(file: Dict[str, Any]) -> Dict[str, Any]:
    """The record of a file that `tune --json` wrote: its configs by axis, its candidates by outcome."""
    record = dict(file["records"][0])

    def axes(config: Any) -> Dict[str, Any]:
        return {each["axis"]: each["value"] for each in config}

    candidates = [{**each, "config": axes(each["config"])} for each in record["candidates"]]
    outcomes = {"measured": "successes", "duplicate": "duplicates", "not_measured": "not_measured"}
    for name in ("successes", "duplicates", "not_measured", "failures"):
        record[name] = [each for each in candidates if outcomes.get(each["outcome"], "failures") == name]
    record["best"] = {**record["best"], "config": axes(record["best"]["config"])}
    return record


def found(result: Dict[str, Any], brief: Any) -> str:
    """The selected config, and how many of the others ran, failed or were not measured."""
    others = [f"{len(result['successes'])} ran"]
    if result["duplicates"]:
        others.append(f"{len(result['duplicates'])} have the same code as others")
    if result["failures"]:
        kinds = sorted({failure["outcome"] for failure in result["failures"]})
        others.append(f"{len(result['failures'])} failed ({', '.join(kinds)})")
    if result["not_measured"]:
        others.append(f"{len(result['not_measured'])} not measured")
    best, speedup = result["best"], result["speedup_over_baseline"]
    faster = f", {speedup:.2f}x faster than the baseline" if speedup else ""
    return (
        f"`{brief(best['config'])}` runs in {time_text(best['mean_us'])}{faster}; of the configs {', '.join(others)}."
    )


def seen(result: Dict[str, Any], brief: Any) -> str:
    """How the other configs' times compare, and how close the selected one is to the device's peak."""
    best, fastest, slowest = result["best"], result["successes"][0], result["successes"][-1]
    if fastest["config"] == best["config"]:
        ties = sum(each["ties_with_fastest"] for each in result["successes"][1:])
        text = f"The slowest takes {slowest['mean_us'] / fastest['mean_us']:.2f}x as long"
        text += f", and {ties} tie with the fastest" if ties else ", and no other may be as fast"
    else:
        text = f"The lowest mean is that of `{brief(fastest['config'])}`, {time_text(fastest['mean_us'])}"
        text += f", but it was not selected ({result['reason'].replace('_', ' ')})"
    roofline = best.get("roofline") or {}
    if roofline.get("percent_of_peak"):
        text += f"; the selected config reaches {roofline['percent_of_peak']:.0f} % of the device's peak"
    return text + ("." if result["is_conclusive"] else "; it is not conclusive: a budget ended the race.")


def section(name: str, result: Dict[str, Any]) -> List[str]:
    outcomes = ("successes", "failures", "duplicates", "not_measured")
    configs = [each["config"] for outcome in outcomes for each in result[outcome]]
    axes = [axis for axis in configs[0] if len({json.dumps(config.get(axis)) for config in configs}) > 1]

    def brief(config: Dict[str, Any]) -> str:
        return "{" + ", ".join(f"{axis}={config[axis]}" for axis in axes or config) + "}"

    shape = result["tuned_at"]
    text = textwrap.wrap(f"{found(result, brief)} {seen(result, brief)}", 118, break_on_hyphens=False)
    picture = f"![{result['kernel']}, {shape}](gallery/{name}.webp)"
    return [f"## {result['kernel']}: {shape}", "", *text, "", picture, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--commit", required=True)
    options = parser.parse_args()
    results = {file.stem: result_of(json.loads(file.read_text())) for file in sorted(options.results.glob("[0-9]*.json"))}
    first = next(iter(results.values()))
    date = datetime.datetime.fromtimestamp(first["unix_seconds"], datetime.timezone.utc).date()
    lines = [
        "# Gallery",
        "",
        f"{len(results)} searches of the [bundles](../bundles.md) on one {first['device']}, {date}, commit",
        f"{options.commit}. Each picture is the top of a view of [`tuneonce report`](../cli.md).",
        "`benchmarks/gallery.py` made the results, `benchmarks/gallery_shots.py` the pictures.",
        "",
    ]
    for name, result in results.items():
        lines += section(name, result)
    print("\n".join(lines).rstrip())


if __name__ == "__main__":
    main()
