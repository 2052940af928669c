#!/usr/bin/env python3
"""What compiling the 16 matmul candidates of compile_cost_benchmark takes from Python: by cuTile one after the other, as its
search does; and as tuneonce.exhaustive_search does, the front end one after the other and tileiras several at a time.

Needs PyPI's cuda-tile, and tileiras where cuda-tile finds it (its wheel, or PATH); for the second tuneonce; no GPU. Prints JSON.
"""
import io
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ["CUDA_TILE_CACHE_DIR"] = tempfile.mkdtemp()  # Nothing is compiled before.
sys.path.insert(0, str(pathlib.Path(__file__).parent / "../tests/cutile"))
from cuda.tile.compilation import CallingConvention, ConstantConstraint, KernelSignature, export_kernel  # noqa: E402
from export import KERNELS  # noqa: E402

matmul, MATMUL, _ = KERNELS["matmul"]
CANDIDATES = [((m, n, k), occupancy) for m in (64, 128) for n in (64, 128) for k in (32, 64) for occupancy in (1, 2)]


def exported(config, occupancy, **how):
    signature = KernelSignature([*MATMUL, *map(ConstantConstraint, config)], CallingConvention.cutile_python_v1(), symbol="matmul")
    made = io.BytesIO()
    export_kernel(matmul.replace_hints(occupancy=occupancy), [signature], made, gpu_code="sm_90", **how)
    return made.getvalue()


exported(*CANDIDATES[0], output_format="tileir_bytecode")  # Looks which bytecode the compiler takes.
report = {"candidates": len(CANDIDATES), "cores": len(os.sched_getaffinity(0))}
try:
    from tuneonce import _tuneonce
    start = time.perf_counter()
    running = [_tuneonce._TileIrCompile(exported(*candidate, output_format="tileir_bytecode"), "matmul", ["-O3", "--lineinfo"],
                                        (9, 0)) for candidate in CANDIDATES]
    report["tuneonce_front_end_s"] = time.perf_counter() - start
    tuneonce_seconds = [each.wait()[1] for each in running]
    report.update(tuneonce_s=time.perf_counter() - start, tuneonce_one_core_s=sum(tuneonce_seconds))
except ImportError as error:
    report["tuneonce"] = f"not run: {error}"
seconds = []
for candidate in CANDIDATES:
    start = time.perf_counter()
    exported(*candidate, output_format="cubin")
    seconds.append(time.perf_counter() - start)
report.update(compile_s=sum(seconds), longest_single_s=max(seconds))
print(json.dumps(report))
