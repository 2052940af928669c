#!/usr/bin/env python3
"""run.py --bundles FOLDER [--only FAMILY ...] [--device cuda|cpu] [--json FILE] [--stop-after SECONDS]

Each shipped bundle at six shapes and more: our winner, our baseline, cuTile's exhaustive_search and Triton's autotune over
the same kernel and configs, and torch's operators, interleaved in one race by one timer on the same tensors; and the
largest error of ours against float64. Writes the JSON after each shape, prints a line for each, and ends with exit code 1
if a gate failed: a result that is wrong, or ours slower than cuTile's or Triton's own choice by more than 1 % (the 95 %
interval of the ratio beyond 1.01). What torch takes is reported, not gated. Needs torch and tuneonce, on a GPU also
cuda-tile, triton and tileiras; on the CPU device (tiny shapes, no peers but torch) it shows that the script works.
"""
import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Dict

import torch
from cases import FAMILIES, Case, Family
from contenders import Contenders, Launch
from measuring import difference, synchronize, tolerance_of
from race import race

GATED = ("cuTile's choice", "Triton's choice")
MOST = 1.01


def measure(contenders: Contenders, case: Case, operators: Dict[str, Launch], device: str) -> Dict[str, Any]:
    expected = case.reference()
    ours = contenders.ours(case)
    ours()
    synchronize(device)
    errors = {name: difference(case.arguments[name], wanted) for name, wanted in expected.items()}
    wrong = [name for name, error in errors.items() if not error <= tolerance_of(case.arguments[name])]
    del expected
    left_out: Dict[str, str] = {}
    rows = race({"ours": ours, **contenders.others(case, operators, left_out)}, device)
    slower = [name for name in GATED if name in rows and rows[name]["low"] > MOST]
    result = contenders.results.last
    return {"chosen": None if result is None else result.best.config, "configs": None if result is None else
            len(result.successes) + len(result.duplicates) + len(result.failures), "failures": [] if result is None else
            [str(failure) for failure in result.failures], "error": max(errors.values()), "wrong": wrong,
            "slower_than": slower, "contenders": rows, "left_out": left_out}


def line(family: Family, row: Dict[str, Any]) -> str:
    shape = " ".join(f"{name}={extent}" for name, extent in row["shape"].items())
    if "failed" in row:
        return f"{family.bundle:18} {shape:44} FAILED: {row['failed']}"
    times = row["contenders"]
    others = ", ".join(f"{name} {of['us']:.2f} ({of['ratio']:.3f})" for name, of in times.items() if name != "ours")
    gates = "".join([" WRONG" if row["wrong"] else "", f" SLOWER than {row['slower_than']}" if row["slower_than"] else ""])
    return f"{family.bundle:18} {shape:44} ours {times['ours']['us']:.2f} us, error {row['error']:.1e}; {others}{gates}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[2] / "bundles")
    parser.add_argument("--only", nargs="*", choices=[family.bundle for family in FAMILIES])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="S", help="begin no shape after it")
    options = parser.parse_args()
    begin, rows, failed = time.monotonic(), [], False
    for family in FAMILIES:
        if options.only and family.bundle not in options.only:
            continue
        contenders = Contenders(family, options.bundles, options.device)
        for shape, case, operators in family.cases(options.device):
            if time.monotonic() - begin > options.stop_after:
                print("stopped: the rest is NOT measured", flush=True)
                return 1
            row: Dict[str, Any] = {"bundle": family.bundle, "shape": shape}
            try:
                row.update(measure(contenders, case, operators, options.device))
            except Exception as error:  # One shape's; the others are measured.
                row["failed"] = f"{type(error).__name__}: {error}"
            failed |= bool(row.get("failed") or row["wrong"] or row["slower_than"])
            rows.append(row)
            print(line(family, row), flush=True)
            if options.json:
                name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU device"
                options.json.write_text(json.dumps({"device": name, "rows": rows}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
