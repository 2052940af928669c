#!/usr/bin/env python3
"""Our search beside cuTile's exhaustive_search: the same kernel, the same 16 configs, in one run on one GPU.

compare_search.py SEARCH_COST_BENCHMARK KERNELS_FOLDER > JSON. Needs torch, PyPI's cuda-tile, tileiras where both find it.
Warm: every candidate is compiled already, in this process (cuTile) or in the artifact cache (ours). Walls are medians
of 5. "choice": cuTile's best config's time over ours, both as our search measured them.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../docs/examples/kernels/cutile"))
import cuda.tile as ct  # noqa: E402
import torch  # noqa: E402
from matmul import matmul  # noqa: E402

SPACE = [dict(TILE_M=m, TILE_N=n, TILE_K=k, occupancy=o)
         for m in (64, 128) for n in (64, 128) for k in (32, 64) for o in (1, 2)]


def cutile_search(m, n, k):
    a = torch.rand((m, k), dtype=torch.float16, device="cuda")
    b = torch.rand((k, n), dtype=torch.float16, device="cuda")
    c = torch.empty((m, n), dtype=torch.float16, device="cuda")
    start = time.perf_counter()
    result = ct.tune.exhaustive_search(
        SPACE, torch.cuda.current_stream(),
        lambda cfg: (ct.cdiv(m, cfg["TILE_M"]), ct.cdiv(n, cfg["TILE_N"])), matmul,
        lambda cfg: (a, b, c, cfg["TILE_M"], cfg["TILE_N"], cfg["TILE_K"]),
        lambda cfg: {"occupancy": cfg["occupancy"]}, quiet=True)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return seconds, ", ".join(f"{name}={value}" for name, value in result.best.config.items()), result.best.mean_us


def main():
    binary, kernels = sys.argv[1:3]
    ours = json.loads(subprocess.run([binary, "--kernels", kernels], check=True, stdout=subprocess.PIPE).stdout)
    report = []
    for shape in ours:
        m, n, k = shape["shape"]
        cold = cutile_search(m, n, k)
        warm = [cutile_search(m, n, k) for _ in range(5)]
        our_warm = statistics.median(run["wall_s"] for run in shape["warm"])
        cutile_warm = statistics.median(run[0] for run in warm)
        best = shape["warm"][-1]
        report.append({
            "shape": [m, n, k], "ours_cold_s": shape["cold"]["wall_s"], "cutile_cold_s": cold[0],
            "ours_warm_s": our_warm, "cutile_warm_s": cutile_warm,
            "cold_ratio": cold[0] / shape["cold"]["wall_s"], "warm_ratio": cutile_warm / our_warm,
            "ours_best": [run["best"] for run in shape["warm"]], "events_best": shape["events"]["best"],
            "cutile_best": [run[1] for run in warm], "cutile_us": warm[-1][2], "ours_us": best["best_us"],
            "choice": [best["mean_us"].get(run[1], 0) / best["mean_us"][best["best"]] for run in warm],
            "events_warm_s": shape["events"]["wall_s"], "gpu_s": best["gpu_s"], "rounds": best["rounds"],
            "notes": best["notes"]})
    print(json.dumps(report, indent=2))


main()
