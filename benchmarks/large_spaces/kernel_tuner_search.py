#!/usr/bin/env python3
"""kernel_tuner_search.py KERNEL FOLDER STRATEGY SECONDS OUT: runs Kernel Tuner on a kernel of kernels.py.

It writes OUT as JSON. SECONDS is Kernel Tuner's time limit, which includes the construction of the space. With 0 only
the space is constructed, which needs no GPU.
"""

import json
import pathlib
import sys
import time
from typing import Any, Dict, List

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import kernels  # noqa: E402


def arguments_of(name: str) -> List[Any]:
    random = np.random.default_rng(1)
    if name == "gemm":
        m, n, k = (kernels.SHAPES["gemm"][dim] for dim in "MNK")
        a, b = (random.uniform(-1, 1, k * width).astype(np.float32) for width in (m, n))
        return [*(np.int32(extent) for extent in (m, n, k)), a, b, np.zeros(m * n, np.float32)]
    samples = random.integers(0, 256, kernels.CHANNELS * (kernels.SAMPLES + kernels.MAX_SHIFT), dtype=np.uint8)
    shifts = random.uniform(*kernels.SHIFTS, kernels.CHANNELS).astype(np.float32)
    return [samples, np.zeros(kernels.DMS * kernels.SAMPLES, np.float32), shifts]


LAUNCHES: Dict[str, Dict[str, Any]] = {
    "gemm": {
        "problem_size": (2048, 2048),
        "grid_div_x": ["MWG"],
        "grid_div_y": ["NWG"],
        "block_size_names": ["MDIMC", "NDIMC", "block_size_z"],
    },
    "dedispersion": {
        "problem_size": (kernels.SAMPLES, kernels.DMS),
        "grid_div_x": ["block_size_x", "tile_size_x"],
        "grid_div_y": ["block_size_y", "tile_size_y"],
    },
}


def main() -> None:
    name, folder, strategy, seconds, out = sys.argv[1:6]
    import kernel_tuner
    import kernel_tuner.interface
    from kernel_tuner.searchspace import Searchspace

    kernel = kernels.KERNELS[name]()
    found: Dict[str, Any] = {"kernel_tuner": getattr(kernel_tuner, "__version__", ""), "strategy": strategy}
    begin = time.monotonic()

    def write() -> None:
        found["seconds"] = round(time.monotonic() - begin, 2)
        pathlib.Path(out).write_text(json.dumps(found))

    def timed(*arguments: Any, **options: Any) -> Any:
        before = time.monotonic()
        space = Searchspace(*arguments, **options)
        found["space_seconds"], found["configs"] = round(time.monotonic() - before, 2), int(space.size)
        write()
        return space

    if float(seconds) == 0:
        timed(kernel.axes, kernel.conditions, 1024)
        return
    arguments = arguments_of(name)
    kernel_tuner.interface.Searchspace = timed
    begin = time.monotonic()
    try:
        results, _ = kernel_tuner.tune_kernel(
            kernel.symbol,
            str(pathlib.Path(folder) / kernel.file),
            arguments=arguments,
            tune_params=kernel.axes,
            restrictions=kernel.conditions,
            lang="CUPY",
            compiler_options=["-std=c++17"],
            strategy=strategy,
            strategy_options={"time_limit": float(seconds)},
            cache=str(pathlib.Path(out).with_suffix(".cache.json")),
            quiet=True,
            **LAUNCHES[name],
        )
        found["tried"] = len(results)
        measured = [result for result in results if isinstance(result.get("time"), (int, float))]
        found["measured"] = len(measured)
        if measured:
            best = min(measured, key=lambda result: float(result["time"]))
            found["best"] = {axis: int(best[axis]) for axis in kernel.axes}
            found["best_us"] = float(best["time"]) * 1000
    except Exception as error:  # noqa: BLE001  What it cannot do is a result.
        found["failed"] = f"{type(error).__name__}: {error}"[:400]
    write()


main()
