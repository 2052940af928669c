#!/usr/bin/env python3
"""addresses.py [--bundles FOLDER] [--only FAMILY ...] [--device cuda|cpu] [--json FILE] [--stop-after SECONDS]

How far the fastest config of a bundle depends on where its tensors lie: the two that our search finds fastest, raced at
six places each, at which all tensors are copies in memory of their own. What a search can tell apart by more rounds is
within one place's interval; what it cannot is how the places differ. Needs torch and tuneonce; on the CPU device it shows
that the script works.
"""
import dataclasses
import sys
from typing import Any, Dict, List, Tuple

import torch
from cases import Case, Family
from contenders import Contenders
from shapes import Shape, measure_all, parser_of, race_of

PLACES = 6
GAP_BYTES = 37 << 20  # More from place to place, so that they do not lie at like distances.


def measure(_: Family, contenders: Contenders, shape: Shape) -> Tuple[Dict[str, Any], bool]:
    case, device = shape[1], contenders.device
    contenders.ours(case)
    result = contenders.results.last
    assert result is not None
    if len(result.successes) < 2:
        return {"configs": [], "places": []}, False
    configs = [success.config for success in result.successes[:2]]
    launches = {f"config {i}": contenders.ours_of(config) for i, config in enumerate(configs)}
    kept: List[Any] = []  # So that no place is an earlier one.
    places = []
    for place in range(PLACES):
        kept.append(torch.empty(GAP_BYTES * place if device == "cuda" else 0, dtype=torch.uint8, device=device))
        kept.append(copied(case))
        places.append(race_of({name: launch_at(kept[-1]) for name, launch_at in launches.items()}, device))
    return {"configs": configs, "places": places}, False


def copied(case: Case) -> Case:
    return dataclasses.replace(case, arguments={name: value.clone() if isinstance(value, torch.Tensor) else value
                                                for name, value in case.arguments.items()})


def line(row: Dict[str, Any]) -> str:
    if not row["places"]:
        return "only one config"
    seconds = [place["config 1"] for place in row["places"]]
    times = [place["config 0"]["us"] for place in row["places"]]
    widest = max(of["high"] - of["low"] for of in seconds)
    return (f"first {min(times):.2f} to {max(times):.2f} us; first / second {min(of['ratio'] for of in seconds):.3f} to "
            f"{max(of['ratio'] for of in seconds):.3f}, each known to {widest / 2:.3f}")


def main() -> int:
    options = parser_of(__doc__, devices=("cuda", "cpu")).parse_args()
    return measure_all(options, lambda shapes: shapes[:6:2], measure, line)


if __name__ == "__main__":
    sys.exit(main())
