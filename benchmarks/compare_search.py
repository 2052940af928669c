#!/usr/bin/env python3
"""Our search beside cuTile's exhaustive_search (the same kernel, the same 16 configs) and Triton's autotune (a kernel of the same
tiles, with 4 or 8 warps for occupancy 1 or 2), in one run on one GPU.

compare_search.py SEARCH_COST_BENCHMARK KERNELS_FOLDER > JSON. Needs torch, triton, PyPI's cuda-tile, tileiras where both find it.
Warm: every candidate is compiled already, in this process (cuTile, Triton) or in the artifact cache (ours). Walls are medians
of 5. "choice": cuTile's best config's time over ours, both as our search measured them.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../tests/cutile"))
import cuda.tile as ct  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from export import KERNELS  # noqa: E402

matmul, _, _ = KERNELS["matmul"]

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


CONFIGS = [triton.Config({"TILE_M": c["TILE_M"], "TILE_N": c["TILE_N"], "TILE_K": c["TILE_K"]},
                         num_warps=4 * c["occupancy"]) for c in SPACE]


@triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
@triton.jit
def triton_matmul(a, b, c, m, n, k, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    columns = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, k, TILE_K):
        a_tile = tl.load(a + rows[:, None] * k + start + inner[None, :])
        b_tile = tl.load(b + (start + inner[:, None]) * n + columns[None, :])
        total = tl.dot(a_tile, b_tile, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


def triton_search(m, n, k):
    """Seconds of one autotuned call that has nothing in its cache of choices. Extents must be multiples of 128."""
    a = torch.rand((m, k), dtype=torch.float16, device="cuda")
    b = torch.rand((k, n), dtype=torch.float16, device="cuda")
    c = torch.empty((m, n), dtype=torch.float16, device="cuda")
    triton_matmul.cache.clear()
    start = time.perf_counter()
    triton_matmul[lambda meta: (triton.cdiv(m, meta["TILE_M"]), triton.cdiv(n, meta["TILE_N"]))](a, b, c, m, n, k)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def main():
    binary, kernels = sys.argv[1:3]
    ours = json.loads(subprocess.run([binary, "--kernels", kernels], check=True, stdout=subprocess.PIPE).stdout)
    report = []
    for shape in ours:
        m, n, k = shape["shape"]
        cold = cutile_search(m, n, k)
        warm = [cutile_search(m, n, k) for _ in range(5)]
        triton_cold, triton_warm = triton_search(m, n, k), triton_search(m, n, k)
        our_warm = statistics.median(run["wall_s"] for run in shape["warm"])
        cutile_warm = statistics.median(run[0] for run in warm)
        best = shape["warm"][-1]
        report.append({
            "shape": [m, n, k], "ours_cold_s": shape["cold"]["wall_s"], "cutile_cold_s": cold[0],
            "ours_warm_s": our_warm, "cutile_warm_s": cutile_warm,
            "cold_ratio": cold[0] / shape["cold"]["wall_s"], "warm_ratio": cutile_warm / our_warm,
            "triton_cold_s": triton_cold, "triton_warm_s": triton_warm, "triton_warm_ratio": triton_warm / our_warm,
            "ours_best": [run["best"] for run in shape["warm"]], "events_best": shape["events"]["best"],
            "cutile_best": [run[1] for run in warm], "cutile_us": warm[-1][2], "ours_us": best["best_us"],
            "choice": [best["mean_us"].get(run[1], 0) / best["mean_us"][best["best"]] for run in warm],
            "events_warm_s": shape["events"]["wall_s"], "gpu_s": best["gpu_s"], "rounds": best["rounds"],
            "notes": best["notes"]})
    print(json.dumps(report, indent=2))


main()
