#!/usr/bin/env python3
"""triton_search.py LIST: seconds of triton.autotune's first call with the configs of LIST, as JSON."""

import json
import pathlib
import sys
import tempfile
import time

import os

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()  # Nothing is compiled yet.

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

listed = json.loads(pathlib.Path(sys.argv[1]).read_text())
CONFIGS = [
    triton.Config({name: config[name] for name in ("TILE_M", "TILE_N", "TILE_K", "GROUP")},
                  num_warps=config["WARPS_M"] * config["WARPS_N"], num_stages=config["STAGES"])
    for config in listed["configs"]
]


@triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
@triton.jit
def matmul(a, b, c, m, n, k, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(m, TILE_M), tl.cdiv(n, TILE_N)
    group = tl.program_id(0) // (GROUP * tiles_n) * GROUP
    rows_of_group = min(GROUP, tiles_m - group)
    in_group = tl.program_id(0) % (GROUP * tiles_n)
    rows = (group + in_group % rows_of_group) * TILE_M + tl.arange(0, TILE_M)
    columns = in_group // rows_of_group * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, k, TILE_K):
        depth = start + inner
        a_tile = tl.load(a + rows[:, None] * k + depth[None, :], (rows[:, None] < m) & (depth[None, :] < k), 0.0)
        b_tile = tl.load(b + columns[None, :] * k + depth[:, None], (columns[None, :] < n) & (depth[:, None] < k), 0.0)
        total = tl.dot(a_tile, b_tile, total)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16), inside)


m, n, k = (listed["shape"][name] for name in "MNK")
a = torch.randn((m, k), dtype=torch.float16, device="cuda")
b = torch.randn((n, k), dtype=torch.float16, device="cuda")
c = torch.empty((m, n), dtype=torch.float16, device="cuda")
torch.cuda.synchronize()
begin = time.monotonic()
matmul[lambda meta: (triton.cdiv(m, meta["TILE_M"]) * triton.cdiv(n, meta["TILE_N"]),)](a, b, c, m, n, k)
torch.cuda.synchronize()
seconds = time.monotonic() - begin
best = matmul.best_config
print(json.dumps({"triton": triton.__version__, "configs": len(CONFIGS), "seconds": round(seconds, 2),
                  "best": {**best.kwargs, "num_warps": best.num_warps, "num_stages": best.num_stages}}))
