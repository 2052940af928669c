#!/usr/bin/env python3
"""tuneonce.exhaustive_search beside cuTile's own, in one run: the same kernel, the same 16 configs, the same stream. Cold:
nothing is compiled before; warm: the same search again, in the same process.

cutile_search.py > JSON. Needs tuneonce, torch with a GPU, PyPI's cuda-tile, tileiras where both find it. ours_over_cutile: our
wall seconds over cuTile's, to be at most 1/3 cold. choice: cuTile's selection's time over ours, both as our search measured them.
"""
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ["CUDA_TILE_CACHE_DIR"] = tempfile.mkdtemp()  # Nothing is compiled before.
sys.path.insert(0, str(pathlib.Path(__file__).parent / "../tests/cutile"))
import cuda.tile as ct  # noqa: E402
import torch  # noqa: E402
from export import KERNELS  # noqa: E402

import tuneonce  # noqa: E402

matmul, _, _ = KERNELS["matmul"]
SPACE = [dict(TILE_M=m, TILE_N=n, TILE_K=k, occupancy=o)
         for m in (64, 128) for n in (64, 128) for k in (32, 64) for o in (1, 2)]
M, N, K = 1024, 256, 512
a = torch.rand((M, K), dtype=torch.float16, device="cuda")
b = torch.rand((K, N), dtype=torch.float16, device="cuda")
c = torch.empty((M, N), dtype=torch.float16, device="cuda")


def seconds_of(search):
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = search(SPACE, torch.cuda.current_stream(), lambda x: (ct.cdiv(M, x["TILE_M"]), ct.cdiv(N, x["TILE_N"])), matmul,
                    lambda x: (a, b, c, x["TILE_M"], x["TILE_N"], x["TILE_K"]), lambda x: {"occupancy": x["occupancy"]},
                    quiet=True)
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


# What is done once in a process, by the first of them: the compiler's version, the context.
ct.launch(torch.cuda.current_stream(), (1, 1), matmul, (a, b, c, 32, 32, 32))
tuneonce.exhaustive_search([1], torch.cuda.current_stream(), None, lambda config: lambda: c.zero_(), lambda config: (), quiet=True)
ours, cutiles = [], []
for _ in range(4):  # The first is cold.
    ours.append(seconds_of(tuneonce.exhaustive_search))
    cutiles.append(seconds_of(ct.tune.exhaustive_search))
mean_us = {str(s.config): s.mean_us for s in ours[-1][1].successes}
best = ours[-1][1].best
torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)
cost = ours[0][1].cost
assert cost.num_compiled == len(SPACE), f"{cost.num_compiled} of {len(SPACE)} were compiled ahead"
print(json.dumps({
    "device": torch.cuda.get_device_name(), "cores": len(os.sched_getaffinity(0)), "configs": len(SPACE), "shape": [M, N, K],
    "ours_s": [s for s, _ in ours], "cutile_s": [s for s, _ in cutiles], "ours_compile_wall_s": cost.compile_wall_seconds,
    "ours_over_cutile": [o / t for (o, _), (t, _) in zip(ours, cutiles)],
    "ours_best": [str(r.best.config) for _, r in ours], "cutile_best": [str(r.best.config) for _, r in cutiles],
    "choice": mean_us.get(str(cutiles[-1][1].best.config), 0) / best.mean_us}, indent=1))
