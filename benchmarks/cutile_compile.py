#!/usr/bin/env python3
"""What cuTile spends compiling the 16 matmul candidates of compile_cost_benchmark, one after the other as its search does.

Needs PyPI's cuda-tile, and tileiras where cuda-tile finds it (its wheel, or PATH); no GPU. Prints JSON.
"""
import io
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../tests/cutile"))
from cuda.tile.compilation import CallingConvention, ConstantConstraint, KernelSignature, export_kernel  # noqa: E402
from export import KERNELS  # noqa: E402

matmul, MATMUL, _ = KERNELS["matmul"]

seconds = []
for config in [(m, n, k) for m in (64, 128) for n in (64, 128) for k in (32, 64)]:
    for occupancy in (1, 2):
        signature = KernelSignature([*MATMUL, *map(ConstantConstraint, config)], CallingConvention.cutile_python_v1(),
                                    symbol="matmul")
        start = time.perf_counter()
        export_kernel(matmul.replace_hints(occupancy=occupancy), [signature], io.BytesIO(), gpu_code="sm_90",
                      output_format="cubin")
        seconds.append(time.perf_counter() - start)
print(json.dumps({"candidates": len(seconds), "compile_s": sum(seconds), "longest_single_s": max(seconds)}))
