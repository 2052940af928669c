#!/usr/bin/env python3
"""regret.py --bundles FOLDER [--only FAMILY ...] [--shapes N] [--json FILE] [--stop-after SECONDS]

What a family's space leaves on the table: the best Tile IR config that our search finds in a bundle's space, against the
best of a superset of a hundred configs and more of the same cuTile kernel, both raced again by one timer. regret: how much
slower, with its 95 % interval. Ends with exit code 1 where it is more than 3 % for sure. Needs a GPU, torch, cuda-tile,
tileiras.
"""
import argparse
import inspect
import json
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict

import cuda.tile as ct
import torch
import tuneonce
from cases import FAMILIES, Case, Family
from contenders import Contenders
from race import race

MOST = 1.03
HINTS = ("occupancy", "num_ctas")


class Kernel:
    """A bundle's cuTile kernel at one case, launched with a config's constants and hints."""

    def __init__(self, kernel: Any, case: Case):
        self.kernel, self._case = kernel, case
        self._names = list(inspect.signature(kernel._pyfunc).parameters)

    def arguments(self, config: Dict[str, Any]) -> tuple:
        values = {**self._case.arguments, **config}
        return tuple(values[name] for name in self._names)

    def hints(self, config: Dict[str, Any]) -> Dict[str, Any]:
        return {name: config[name] for name in HINTS if name in config}

    def launcher(self, config: Dict[str, Any]) -> Callable[[], None]:
        kernel, arguments = self.kernel.replace_hints(**self.hints(config)), self.arguments(config)
        grid = self._case.grid(config)
        return lambda: ct.launch(torch.cuda.current_stream(), grid, kernel, arguments)


def measure(family: Family, contenders: Contenders, shape: Dict[str, int], case: Case) -> Dict[str, Any]:
    contenders.ours(case)
    result = contenders.results.last
    ours = next(success for success in result.successes if success.config.get("backend") == "tile")
    kernel = Kernel(contenders.kernel(family.bundle), case)
    space = tuneonce.SearchSpace(family.superset, [lambda config: family.fits(shape, config)])
    found = tuneonce.exhaustive_search(space, torch.cuda.current_stream(), case.grid, kernel.kernel, kernel.arguments,
                                       kernel.hints, quiet=True)
    times = race({"space": kernel.launcher(ours.config), "superset": kernel.launcher(found.best.config)}, "cuda")
    over = times["superset"]
    return {"space": len(contenders.results.configs("tile")), "superset": len(space), "failures": len(found.failures),
            "best_of_space": ours.config, "best_of_superset": found.best.config, "space_us": times["space"]["us"],
            "superset_us": over["us"], "regret": over["ratio"] - 1, "low": over["low"] - 1, "high": over["high"] - 1}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[2] / "bundles")
    parser.add_argument("--only", nargs="*", choices=[family.bundle for family in FAMILIES])
    parser.add_argument("--shapes", type=int, default=3, help="of each family, the last ones (default 3)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="S", help="begin no shape after it")
    options = parser.parse_args()
    begin, rows, failed = time.monotonic(), [], False
    for family in FAMILIES:
        if options.only and family.bundle not in options.only:
            continue
        contenders = Contenders(family, options.bundles, "cuda")
        for shape, case, _ in list(family.cases("cuda"))[-options.shapes:]:
            if time.monotonic() - begin > options.stop_after:
                print("stopped: the rest is NOT measured", flush=True)
                return 1
            row: Dict[str, Any] = {"bundle": family.bundle, "shape": shape}
            try:
                row.update(measure(family, contenders, shape, case))
                failed |= row["low"] > MOST - 1
                print("{bundle:18} {shape} {space} of {superset}: {space_us:.2f} us and {superset_us:.2f}, regret "
                      "{regret:+.3f} ({low:+.3f} to {high:+.3f}); {best_of_superset}".format(**row), flush=True)
            except Exception as error:  # One shape's; the others are measured.
                failed, row["failed"] = True, f"{type(error).__name__}: {error}"
                print(f"{family.bundle:18} {shape} FAILED: {row['failed']}", flush=True)
            rows.append(row)
            if options.json:
                options.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "rows": rows}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
