#!/usr/bin/env python3
"""versions.py OTHER [--bundles FOLDER] [--only FAMILY ...] [--json FILE] [--stop-after SECONDS]

The shipped bundles beside the same ones in the folder OTHER, whose cubins another version of Triton exported: our
winners of both without Tile IR (ENABLE_TILE=0), each twice, interleaved on the same tensors, at three shapes of a
family. To make OTHER: copy the bundles, delete their cubins, and with the other Triton on PYTHONPATH

  python -m tuneonce.export triton BUNDLE_triton.py:BUNDLE -o . --cubin

in each folder. Needs torch and tuneonce on a GPU of compute capability 9.0, for which the cubins are; not Triton.
"""
import os
import sys
from pathlib import Path
from typing import Any, Dict, Tuple

os.environ["ENABLE_TILE"] = "0"

from cases import FAMILIES, Family  # noqa: E402
from contenders import Contenders  # noqa: E402
from shapes import Shape, measure_all, parser_of, race_of  # noqa: E402


def measure(contenders: Dict[str, Contenders], shape: Shape) -> Tuple[Dict[str, Any], bool]:
    case = shape[1]
    calls, choices = {}, {}
    for name, of in contenders.items():
        launch = of.ours(case)
        launch()
        assert of.results.last is not None
        choices[name] = of.results.last.best.config
        calls.update({name: launch, f"{name} again": lambda call=launch: call()})  # type: ignore[misc]
    return {"choices": choices, "contenders": race_of(calls, "cuda")}, False


def line(row: Dict[str, Any]) -> str:
    return "other / ours {ratio:.3f} ({low:.3f} to {high:.3f})".format(**row["contenders"]["ours"])


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("other", type=Path)
    options = parser.parse_args()
    options.only = options.only or [family.bundle for family in FAMILIES if family.has_triton]
    others: Dict[str, Contenders] = {}

    def measured(family: Family, ours: Contenders, shape: Shape) -> Tuple[Dict[str, Any], bool]:
        if family.bundle not in others:
            others[family.bundle] = Contenders(family, options.other, "cuda")
        return measure({"other": others[family.bundle], "ours": ours}, shape)

    return measure_all(options, lambda shapes: shapes[1:6:2], measured, line)


if __name__ == "__main__":
    sys.exit(main())
