#!/usr/bin/env python3
"""Host time of one call from Python with three torch tensors: a TunedKernel's hit (key lookup and assumption checks included),
cuTile's ct.launch of the same fixed kernel on a grid that is there already, Triton's autotuned call, torch.add.

python_call_cost.py BUNDLES_FOLDER > JSON. Needs tuneonce, torch, triton, PyPI's cuda-tile, tileiras where both find it. Each figure:
the median of 20 batches of 200 calls, the stream drained outside the timed part; they take turns batch by batch. Each call is
a lambda's, whose own time, and the loop's, is "nothing": the ratios are without it, those with it are beside them.
peers/python_calls.py has other calls: one tensor three times, and ct.launch with a grid that is made for each.
"""
import json
import pathlib
import statistics
import sys
import time

import torch
import triton
import triton.language as tl

import tuneonce

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder / "matmul"))
import cuda.tile as ct  # noqa: E402
from matmul import matmul  # noqa: E402


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


a, b, c = (torch.rand((64, 64), dtype=torch.float16, device="cuda") for _ in range(3))
kernel = tuneonce.TunedKernel(folder / "matmul", store="memory")
kernel(a, b, c)
stream = torch.cuda.current_stream()
parameter = torch.nn.Parameter(b, requires_grad=False)  # Another type than its neighbours.
calls = {
    "nothing": lambda: None,
    "tuneonce with a Parameter": lambda: kernel(a, parameter, c),
    "tuneonce": lambda: kernel(a, b, c),
    "ct.launch": lambda: ct.launch(stream, (1, 1), matmul, (a, b, c, 64, 64, 64)),
    "triton_autotuned": lambda: add[(32,)](a, b, c, 4096),
    "torch.add": lambda: torch.add(a, b, out=c),
}
times = {name: [] for name in calls}
for batch in range(22):
    for name, call in calls.items():
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            call()
        if batch >= 2:  # The first ones warm up.
            times[name].append((time.perf_counter() - start) / 200 * 1e6)
torch.cuda.synchronize()
microseconds = {name: statistics.median(values) for name, values in times.items()}
assert kernel.counters()["tunes"] == 1
own = {name: us - microseconds["nothing"] for name, us in microseconds.items()}
print(json.dumps({"host_us_per_call": microseconds, "device": torch.cuda.get_device_name(),
                  "tuneonce_over_ct_launch": own["tuneonce"] / own["ct.launch"],
                  "triton_over_tuneonce": own["triton_autotuned"] / own["tuneonce"],
                  "with_the_loop": {"tuneonce_over_ct_launch": microseconds["tuneonce"] / microseconds["ct.launch"],
                                    "triton_over_tuneonce": microseconds["triton_autotuned"] / microseconds["tuneonce"]}},
                 indent=1))
