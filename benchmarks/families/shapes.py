"""The families' shapes, one after the other, as a command measures them: its options, its file, its exit code."""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Sequence, Tuple

import torch
from cases import FAMILIES, Case, Family, Operators
from contenders import Contenders
from race import race

SAMPLES, ROUNDS = 15, 8  # Of each: pairs for the interval, and interleaved launches in each.
Shape = Tuple[Dict[str, int], Case, Operators]


def parser_of(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[2] / "bundles")
    parser.add_argument("--only", nargs="*", choices=[family.bundle for family in FAMILIES])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="S", help="begin no shape after it")
    return parser


def measure_all(options: argparse.Namespace, device: str, choose: Callable[[Sequence[Shape]], Sequence[Shape]],
                measure: Callable[[Family, Contenders, Shape], Tuple[Dict[str, Any], bool]],
                line: Callable[[Dict[str, Any]], str]) -> int:
    """The exit code: 1 if a shape failed, by `measure`'s second value or an exception, or time was over. The file has each
    shape as soon as it is measured, of several families each family when it is over; `line` is printed of it."""
    chosen = [family for family in FAMILIES if not options.only or family.bundle in options.only]
    if len(chosen) > 1:
        return each_in_a_process([family.bundle for family in chosen], options)
    begin, rows, has_failed = time.monotonic(), [], False
    contenders = Contenders(chosen[0], options.bundles, device)
    for shape in choose(list(chosen[0].cases(device))):
        if time.monotonic() - begin > options.stop_after:
            print("stopped: the rest is NOT measured", flush=True)
            return 1
        row: Dict[str, Any] = {"bundle": chosen[0].bundle, "shape": shape[0]}
        try:
            measured, failed = measure(chosen[0], contenders, shape)
            row.update(measured)
        except Exception as error:  # One shape's; the others are measured.
            row["failed"], failed = f"{type(error).__name__}: {error}", True
        has_failed |= failed
        rows.append(row)
        where = f"{chosen[0].bundle:18} " + " ".join(f"{name}={extent}" for name, extent in shape[0].items())
        print(f"{where} FAILED: {row['failed']}" if "failed" in row else f"{where:63} {line(row)}", flush=True)
        if options.json:
            name = torch.cuda.get_device_name() if device == "cuda" else "CPU device"
            options.json.write_text(json.dumps({"device": name, "rows": rows}, indent=1) + "\n")
    return 1 if has_failed else 0


def each_in_a_process(families: Sequence[str], options: argparse.Namespace) -> int:
    """A family that loses its CUDA context takes no other's with it. The options of a later place on a line count."""
    begin, merged, has_failed = time.monotonic(), {"rows": []}, False
    with tempfile.TemporaryDirectory() as folder:
        for family in families:
            part = Path(folder) / f"{family}.json"
            left = options.stop_after - (time.monotonic() - begin)
            done = subprocess.run([sys.executable, *sys.argv, "--only", family, "--json", str(part), "--stop-after", str(left)])
            has_failed |= done.returncode != 0
            if part.exists():
                of = json.loads(part.read_text())
                merged = {"device": of["device"], "rows": merged["rows"] + of["rows"]}
            if options.json:
                options.json.write_text(json.dumps(merged, indent=1) + "\n")
    return 1 if has_failed else 0


def race_of(calls: Dict[str, Callable[[], Any]], device: str) -> Dict[str, Dict[str, float]]:
    """us: the median; least_us and most_us: of its samples. Of all but the first: the first's time over it, with its 95 %
    interval from `low` to `high`."""
    raced = race(calls, device, SAMPLES, ROUNDS)
    first, rows = next(iter(calls)), {}
    for name, times in raced.times_us.items():
        rows[name] = {"us": sorted(times)[len(times) // 2], "least_us": min(times), "most_us": max(times)}
        if name != first:
            ratio = raced.ratio(first, name)
            rows[name].update(ratio=ratio.mean, low=ratio.low, high=ratio.high)
    return rows

