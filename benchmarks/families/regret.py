#!/usr/bin/env python3
"""regret.py --bundles FOLDER [--only FAMILY ...] [--shapes I ...] [--search-seconds S] [--json FILE] [--stop-after SECONDS]

What a family's space leaves on the table: the best Tile IR config of a bundle's space, against the best of a superset of a
hundred configs and more, both found by our search among cuTile's launches of the same kernel, and raced again by one timer,
beside what the bundle runs there, by whatever back end. regret: how much slower the space's is than the superset's, with
its 95 % interval. Ends with exit code 1 where it is more than 3 % for sure. The superset is gone through in a random order,
so that what a search has tried when its time is over says something of all of it. Needs a GPU, torch, cuda-tile, tileiras.
"""
import random
import sys
from typing import Any, Callable, Dict, List, Tuple

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
    ours = contenders.ours(case)
    result = contenders.results.last
    assert result is not None
    kernel = contenders.kernel(family.bundle)
    home = CutileHome(kernel)

    def search(configs: List[Dict[str, Any]]) -> Any:
        return tuneonce.exhaustive_search(configs, torch.cuda.current_stream(), case.grid, kernel,
                                          lambda config: home.arguments(case, config), hints_of, quiet=True,
                                          wall_budget_ms=1000 * seconds)

    def launcher(config: Dict[str, Any]) -> Callable[[], None]:
        home.config = config
        return home.launcher(case)

    space = contenders.results.configs("tile")
    superset = list(tuneonce.SearchSpace(family.superset, [lambda config: family.fits(dims, config)]))
    random.Random(1).shuffle(superset)
    of_space, of_superset = search(space), search(superset)
    times = race_of({"space": launcher(of_space.best.config), "superset": launcher(of_superset.best.config), "ours": ours},
                    "cuda")
    over = times["superset"]
    measured = {
        "space": len(space), "superset": len(superset), "tried": len(superset) - len(of_superset.not_measured),
        "failures": len(of_superset.failures), "best_of_space": of_space.best.config,
        "best_of_superset": of_superset.best.config, "space_us": times["space"]["us"], "superset_us": over["us"],
        "ours_us": times["ours"]["us"], "ours": result.best.config,
        "fastest_of_superset": [{**each.config, "us": each.mean_us} for each in of_superset.successes[:FASTEST]],
        "regret": over["ratio"] - 1, "low": over["low"] - 1, "high": over["high"] - 1}
    return measured, over["low"] > MOST


def line(row: Dict[str, Any]) -> str:
    return ("{space}, {tried} of {superset}: {space_us:.2f} us and {superset_us:.2f}, regret {regret:+.3f} ({low:+.3f} to "
            "{high:+.3f}), ours {ours_us:.2f}; {best_of_superset}".format(**row))


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
