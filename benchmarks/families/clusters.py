#!/usr/bin/env python3
"""clusters.py --bundles FOLDER [--only FAMILY] [--device cuda|cpu] [--deadline MS] [--seconds S]

Finds the configs of a family's superset, with one block and with clusters of two, that hang: the bundle's kernel is
exported again with these configs, and tuned at the family's first shape, each candidate in a process that is killed at
its deadline. grouped_gemm with clusters of two hung on an H200 at occupancy 2 (docs/internal/performance_diary.md).
Needs torch, cuda-tile, a GPU and tileiras; on the CPU device it shows that the script works.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List

import tuneonce
from cases import FAMILIES, Case, Family
from contenders import Results


def exported(family: Family, bundles: Path, configs: List[Dict[str, Any]], folder: Path) -> Path:
    """The bundle of these configs, by cuTile alone."""
    name = family.bundle
    for file in [*(bundles / name).glob(f"{name}*.py"), *(bundles / name).glob("*.cpu.cc")]:
        shutil.copy(file, folder)
    module = next(file for file in (folder / f"{name}_declared.py", folder / f"{name}.py") if file.exists())
    module.write_text(module.read_text() + f"""
import dataclasses
{name}_bundle = dataclasses.replace(
    {name}_bundle, axes={{}}, hint_axes={{}}, configs={configs}, baseline={configs[0]}, max_configs={len(configs)},
    unaligned=[],
    where=[each for each in {name}_bundle.where if "device." not in each])
""")
    subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", f"{name}.py:{name}", "-o", "out"], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL)
    return folder / "out"


def tuned(bundle: Path, case: Case, device: str, deadline_ms: int, seconds: float) -> tuneonce.TuningRecord:
    results = Results()
    kernel = tuneonce.TunedKernel(bundle, device=device, store="memory", observer=results, candidate_deadline_ms=deadline_ms,
                                  wall_budget_ms=1000 * seconds, isolation="required" if device == "cuda" else "off")
    kernel.warmup_with(*(case.arguments[name] for name in tuneonce.Bundle(bundle).parameters))
    assert results.last is not None
    return results.last


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[2] / "bundles")
    parser.add_argument("--only", default="grouped_gemm", choices=[family.bundle for family in FAMILIES])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--deadline", type=int, default=2000, metavar="MS", help="of a candidate (2000)")
    parser.add_argument("--seconds", type=float, default=300, metavar="S", help="of the search (300)")
    options = parser.parse_args()
    family = next(family for family in FAMILIES if family.bundle == options.only)
    dims, case, _ = next(iter(family.cases(options.device, lambda shapes: shapes[:1], 0)))
    superset = tuneonce.SearchSpace({**family.superset, "num_ctas": [1, 2]}, [lambda config: family.fits(dims, config)])
    with tempfile.TemporaryDirectory() as folder:
        bundle = exported(family, options.bundles, [{"backend": "tile", **config} for config in superset], Path(folder))
        result = tuned(bundle, case, options.device, options.deadline, options.seconds)
    counts: Dict[str, Dict[str, int]] = {}
    ends = [(each.config, "ended") for each in [*result.successes, *result.duplicates]]
    for config, end in [*ends, *((failure.config, failure.kind) for failure in result.failures)]:
        of = counts.setdefault("occupancy {occupancy}, num_ctas {num_ctas}".format(**config), {})
        of[end] = of.get(end, 0) + 1
    for failure in result.failures:
        print(failure)
    for hints in sorted(counts):
        print(f"{family.bundle} at {hints}: {counts[hints]}")
    print(f"{len(result.not_measured)} not measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
