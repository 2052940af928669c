#!/usr/bin/env python3
"""recall.py --bundle FOLDER [--json FILE] [--stop-after SECONDS] [--gpu-ms MS]

How often what nvMatmulHeuristics proposes contains the best config: at each of 54 shapes all configs of the bundle that
recall_declared.py declares are raced, and it is looked which of them a search with `max_proposed` 8 or 16 would have tried.
loss: how much slower the best of those is than the best of all, by the one race of all. Writes the JSON after each shape.
Needs a GPU of compute capability 9.0, nvMatmulHeuristics and PyTorch; no compiler, where the bundle has cubins. Ends with exit
code 1 where a shape failed or no model was asked, 77 where there is no GPU.
"""
import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import tuneonce

ROWS = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096)
COLUMNS_AND_DEPTHS = ((4096, 4096), (14336, 4096), (4096, 14336), (6144, 4096), (1024, 8192), (8192, 1024))
SHAPES = [(m, n, k) for n, k in COLUMNS_AND_DEPTHS for m in ROWS]
MOST_PROPOSED = (8, 16)
CLOSE = 0.03


class Kept(tuneonce.Observer):
    result: Optional[tuneonce.TuningRecord] = None

    def on_tuned(self, kernel: str, key: str, result: tuneonce.TuningRecord) -> None:
        self.result = result


class Search:
    """A kernel of its own, with nothing stored, so that it searches at each shape."""

    def __init__(self, folder: Path, max_proposed: int, **budget: Any):
        self._kept = Kept()
        self._kernel = tuneonce.TunedKernel(folder, store="memory", observer=self._kept, on_tune_error="raise",
                                            max_proposed=max_proposed, isolation="off", **budget)

    def at(self, tensors: Sequence[torch.Tensor]) -> tuneonce.TuningRecord:
        self._kernel.warmup_with(*tensors)
        assert self._kept.result is not None
        return self._kept.result


def times_of(result: tuneonce.TuningRecord) -> Dict[str, float]:
    """By config; one that is the same code as another has its time."""
    times = {str(success.config): success.mean_us for success in result.successes}
    return {**times, **{str(d.config): times[str(d.same_as)] for d in result.duplicates if str(d.same_as) in times}}


def tried_of(result: tuneonce.TuningRecord) -> List[str]:
    return [str(each.config) for each in (*result.successes, *result.duplicates, *result.failures)]


def measure(shape: Tuple[int, int, int], all_of: Search, proposing: Dict[int, Search]) -> Dict[str, Any]:
    m, n, k = shape
    tensors = [torch.rand(extents, device="cuda", dtype=torch.float16) - 0.5 for extents in ((m, k), (k, n), (m, n))]
    result = all_of.at(tensors)
    times = times_of(result)
    best = result.successes[0]
    row: Dict[str, Any] = {"shape": {"M": m, "N": n, "K": k}, "configs": len(times), "failures": len(result.failures),
                           "best": best.config, "best_us": best.mean_us, "margin_us": best.error_margin_us}
    for most, search in proposing.items():
        of = search.at(tensors)
        tried = [config for config in tried_of(of) if config in times]
        fastest = min(times[config] for config in tried)
        row[str(most)] = {"tried": len(tried), "has_the_best": fastest == best.mean_us,  # Or the same code as the best.
                          "loss": fastest / best.mean_us - 1, "notes": list(of.notes)}
    return row


def summary(rows: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    of: Dict[str, Any] = {"shapes": len(rows)}
    for most in MOST_PROPOSED:
        losses = [row[str(most)]["loss"] for row in rows]
        of[str(most)] = {
            "tried": statistics.mean(row[str(most)]["tried"] for row in rows),
            "has_the_best": sum(row[str(most)]["has_the_best"] for row in rows) / len(rows),
            "within_3_percent": sum(loss <= CLOSE for loss in losses) / len(rows), "mean_loss": statistics.mean(losses),
            "largest_loss": max(losses)}
    return of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="S", help="begin no shape after it")
    parser.add_argument("--gpu-ms", type=float, default=150, help="of a race of all configs (150)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("SKIPPED: no GPU")
        return 77
    begin, rows, has_failed = time.monotonic(), [], False
    all_of = Search(options.bundle, 0, gpu_budget_ms=options.gpu_ms)
    proposing = {most: Search(options.bundle, most, gpu_budget_ms=1, max_rounds=1, verify=False) for most in MOST_PROPOSED}
    for shape in SHAPES:
        if time.monotonic() - begin > options.stop_after:
            print("stopped: the rest is NOT measured")
            has_failed = True
            break
        try:
            rows.append(measure(shape, all_of, proposing))
        except Exception as error:  # One shape's; the others are measured.
            print(f"{shape} FAILED: {type(error).__name__}: {error}", flush=True)
            has_failed = True
            continue
        row = rows[-1]
        has_failed |= any(row[str(most)]["tried"] > most + 1 for most in MOST_PROPOSED)  # No model was asked.
        print(f"{shape}: best {row['best_us']:.2f} us of {row['configs']}; " + ", ".join(
            f"of {row[str(most)]['tried']} {row[str(most)]['loss']:+.3f}" for most in MOST_PROPOSED), flush=True)
        if options.json:
            options.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "gpu_ms": options.gpu_ms,
                                                "seconds": time.monotonic() - begin, "summary": summary(rows),
                                                "rows": rows}, indent=1) + "\n")
    if rows:
        print(json.dumps(summary(rows), indent=1))
    return 1 if has_failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
