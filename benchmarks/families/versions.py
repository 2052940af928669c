#!/usr/bin/env python3
"""versions.py OTHER [--bundles FOLDER] [--only FAMILY ...] [--json FILE] [--stop-after SECONDS]

The shipped bundles beside the same ones in the folder OTHER, whose cubins another version of Triton exported: our
winners of both without Tile IR (ENABLE_TILE=0), each twice, interleaved on the same tensors, at three shapes of a
family. To make OTHER: copy the bundles, delete their cubins, and with the other Triton on PYTHONPATH

  python -m tuneonce.export triton BUNDLE_triton.py:BUNDLE -o . --cubin

in each folder. Needs torch and tuneonce on a GPU of compute capability 9.0, for which the cubins are; not Triton.
"""
import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

os.environ["ENABLE_TILE"] = "0"

import torch  # noqa: E402
from cases import FAMILIES  # noqa: E402
from contenders import Contenders  # noqa: E402
from race import race  # noqa: E402

OURS, OTHER = "ours", "other"
SAMPLES, ROUNDS = 9, 6


def row_of(shape: Any, contenders: Dict[str, Contenders]) -> Dict[str, Any]:
    dims, case, _ = shape
    calls, configs = {}, {}
    for name, of in contenders.items():
        launch = of.ours(case)
        launch()
        torch.cuda.synchronize()
        assert of.results.last is not None
        configs[name] = of.results.last.best.config
        calls.update({name: launch, f"{name} again": lambda call=launch: call()})  # type: ignore[misc]
    raced = race(calls, "cuda", SAMPLES, ROUNDS)
    ratio = raced.ratio(OTHER, OURS)
    return {"shape": dims, "configs": configs, "other_over_ours": [ratio.mean, ratio.low, ratio.high],
            "us": {name: sorted(times)[len(times) // 2] for name, times in raced.times_us.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[2] / "bundles")
    parser.add_argument("--only", nargs="*", choices=[family.bundle for family in FAMILIES if family.has_triton])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="S", help="begin no shape after it")
    options = parser.parse_args()
    begin, rows = time.monotonic(), []  # type: float, List[Dict[str, Any]]
    for family in FAMILIES:
        if not family.has_triton or (options.only and family.bundle not in options.only):
            continue
        contenders = {OURS: Contenders(family, options.bundles, "cuda"),
                      OTHER: Contenders(family, options.other, "cuda")}
        for shape in family.cases("cuda", lambda shapes: shapes[1:6:2], 0):
            if time.monotonic() - begin > options.stop_after:
                print("stopped: the rest is NOT measured")
                return 1
            row = {"bundle": family.bundle, **row_of(shape, contenders)}
            rows.append(row)
            print(row["bundle"], row["shape"], "other / ours {:.3f} ({:.3f} to {:.3f})".format(*row["other_over_ours"]))
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
