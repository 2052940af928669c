"""The families' shapes, one after the other, as a command measures them: its options, its file, its exit code."""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch
from cases import FAMILIES, Case, Family, Operators
from contenders import Contenders, ContextLost, context_is_lost
from race import race

SAMPLES, ROUNDS = 15, 8  # Of each: pairs for the interval, and interleaved launches in each.
AGAIN = 3  # The exit code of a process that lost its CUDA context: its file says by whom, and what it had measured.
Shape = Tuple[Dict[str, int], Case, Operators]
Measure = Callable[[Family, Contenders, Shape], Tuple[Dict[str, Any], bool]]


def parser_of(description: str, devices: Sequence[str] = ("cuda",)) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[2] / "bundles")
    parser.add_argument("--only", nargs="*", choices=[family.bundle for family in FAMILIES])
    parser.add_argument("--device", choices=devices, default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="S", help="begin no shape after it")
    # Of the process of one family: its first shape, and who has cost the process before it its CUDA context.
    parser.add_argument("--from-shape", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--without", action="append", default=[], help=argparse.SUPPRESS)
    return parser


def measure_all(options: argparse.Namespace, choose: Callable[[Sequence[Any]], Sequence[Any]],
                measure: Measure, line: Callable[[Dict[str, Any]], str]) -> int:
    """The exit code: 1 if a shape failed, by `measure`'s second value or an exception, or time was over. The file has each
    shape as soon as it is measured; `line` is printed of it."""
    if options.from_shape is not None:
        return one_family(options, choose, measure, line)
    begin, has_failed = time.monotonic(), False
    with tempfile.TemporaryDirectory() as folder:
        file = options.json or Path(folder) / "all.json"
        file.write_text(json.dumps({"device": "", "rows": []}))
        for family in [family.bundle for family in FAMILIES if not options.only or family.bundle in options.only]:
            has_failed |= in_processes(family, file, begin + options.stop_after)
    return 1 if has_failed else 0


def in_processes(family: str, file: Path, end: float) -> bool:
    """Whether something failed. A family is measured in a process of its own, so that it takes no other's CUDA context with
    it. Who costs it the context is left out behind that, by name: the next process begins with the same shape."""
    first, without, has_failed = 0, [], False
    while True:
        again = [argument for name in without for argument in ("--without", name)]
        # The options of a later place on a line count.
        code = subprocess.run([sys.executable, *sys.argv, "--only", family, "--json", str(file), "--from-shape", str(first),
                               "--stop-after", str(end - time.monotonic()), *again]).returncode
        if code in (0, 1):
            return has_failed or code != 0
        has_failed, of = True, json.loads(file.read_text())
        if code != AGAIN:  # It was killed, or aborted: at the shape that has no row.
            of["rows"].append({"bundle": family, "failed": f"the process ended with exit code {code}"})
            file.write_text(json.dumps(of, indent=1) + "\n")
        elif of["lost"]:
            without.append(of["lost"])
        first = sum(row["bundle"] == family for row in of["rows"])


def one_family(options: argparse.Namespace, choose: Callable[[Sequence[Any]], Sequence[Any]], measure: Measure,
               line: Callable[[Dict[str, Any]], str]) -> int:
    """Adds a family's rows to the file's."""
    device = options.device
    family = next(family for family in FAMILIES if family.bundle == options.only[0])
    begin, has_failed, rows = time.monotonic(), False, json.loads(options.json.read_text())["rows"]
    contenders = Contenders(family, options.bundles, device, options.without)

    def write(lost: Optional[str]) -> None:
        name = torch.cuda.get_device_name() if device == "cuda" else "CPU device"
        options.json.write_text(json.dumps({"device": name, "rows": rows, "lost": lost}, indent=1) + "\n")

    for shape in family.cases(device, choose, options.from_shape):
        if time.monotonic() - begin > options.stop_after:
            print("stopped: the rest is NOT measured", flush=True)
            return 1
        where = f"{family.bundle:18} " + " ".join(f"{name}={extent}" for name, extent in shape[0].items())
        row: Dict[str, Any] = {"bundle": family.bundle, "shape": shape[0]}
        try:
            measured, failed = measure(family, contenders, shape)
            row.update(measured)
        except ContextLost as lost:
            print(f"{where} again without {lost.by}: {lost}", flush=True)
            write(lost.by)
            return AGAIN
        except Exception as error:  # One shape's; the others are measured.
            row["failed"], failed = f"{type(error).__name__}: {error}", True
        has_failed |= failed
        rows.append(row)
        print(f"{where} FAILED: {row['failed']}" if "failed" in row else f"{where:63} {line(row)}", flush=True)
        write(None)
        if "failed" in row and context_is_lost(device):
            return AGAIN
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

