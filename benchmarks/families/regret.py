#!/usr/bin/env python3
"""regret.py --bundles FOLDER [--only FAMILY ...] [--shapes I ...] [--search-seconds S] [--json FILE] [--stop-after SECONDS]

What a family's space leaves on the table: the best Tile IR config that our search finds in a bundle's space, against the
best of a superset of a hundred configs and more of the same cuTile kernel, both raced again by one timer. regret: how much
slower, with its 95 % interval. Ends with exit code 1 where it is more than 3 % for sure. The superset is gone through in a
random order, so that what a search has tried when its time is over says something of all of it. Needs a GPU, torch,
cuda-tile, tileiras.
"""
import random
import sys
from typing import Any, Callable, Dict, Tuple

import torch
import tuneonce
from cases import Family
from contenders import Contenders
from home import CutileHome, hints_of
from shapes import Shape, measure_all, parser_of, race_of

MOST = 1.03
FASTEST = 8  # Of the superset's, that the file has: what a space that lacks the best might take in place of it.


def measure(family: Family, contenders: Contenders, shape: Shape, seconds: float) -> Tuple[Dict[str, Any], bool]:
    dims, case, _ = shape
    contenders.ours(case)
    result = contenders.results.last
    assert result is not None
    ours = next(success for success in result.successes if success.config.get("backend") == "tile")
    kernel = contenders.kernel(family.bundle)
    home = CutileHome(kernel)
    space = list(tuneonce.SearchSpace(family.superset, [lambda config: family.fits(dims, config)]))
    random.Random(1).shuffle(space)
    found = tuneonce.exhaustive_search(space, torch.cuda.current_stream(), case.grid, kernel,
                                       lambda config: home.arguments(case, config), hints_of, quiet=True,
                                       wall_budget_ms=1000 * seconds)

    def launcher(config: Dict[str, Any]) -> Callable[[], None]:
        home.config = config
        return home.launcher(case)

    times = race_of({"space": launcher(ours.config), "superset": launcher(found.best.config)}, "cuda")
    over = times["superset"]
    measured = {
        "space": len(contenders.results.configs("tile")), "superset": len(space),
        "tried": len(space) - len(found.not_measured), "failures": len(found.failures),
        "best_of_space": ours.config, "best_of_superset": found.best.config, "space_us": times["space"]["us"],
        "fastest_of_superset": [{**each.config, "us": each.mean_us} for each in found.successes[:FASTEST]],
        "superset_us": over["us"], "regret": over["ratio"] - 1, "low": over["low"] - 1, "high": over["high"] - 1}
    return measured, over["low"] > MOST


def line(row: Dict[str, Any]) -> str:
    return ("{space}, {tried} of {superset}: {space_us:.2f} us and {superset_us:.2f}, regret {regret:+.3f} ({low:+.3f} to "
            "{high:+.3f}); {best_of_superset}".format(**row))


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--shapes", type=int, nargs="+", default=[-3, -2, -1], metavar="I",
                        help="of each family, by their places in its list (default: the last three)")
    parser.add_argument("--search-seconds", type=float, default=60, metavar="S", help="of a superset, at each shape (60)")
    options = parser.parse_args()
    return measure_all(options, lambda shapes: [shapes[i] for i in options.shapes if -len(shapes) <= i < len(shapes)],
                       lambda family, contenders, shape: measure(family, contenders, shape, options.search_seconds), line)


if __name__ == "__main__":
    sys.exit(main())
