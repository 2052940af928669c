"""`tuneonce.cutile.autotune`: cuTile's pattern of searching once, caching the result and launching it, as one decorator.

    @tuneonce.cutile.autotune(configs=[{"TILE": tile, "occupancy": n} for tile in (256, 1024) for n in (1, 2)],
                              grid=lambda config, x, y: (ct.cdiv(x.shape[0], config["TILE"]),))
    @ct.kernel
    def scale(x, y, TILE: ct.Constant[int]): ...

    scale(x, y)

The first call of a key compiles the configs several at a time, races them with verification, and stores the record and the
code: the next process neither compiles nor measures. Needs cuda-tile.
"""
import importlib
from typing import Any, List

_MODULES = {"autotune": "autotuner", "Autotuner": "autotuner"}
__all__ = ["autotune", "Autotuner"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tuneonce.cutile' has no attribute '{name}'")
    return getattr(importlib.import_module(f"tuneonce.cutile.{_MODULES[name]}"), name)


def __dir__() -> List[str]:
    return sorted({*globals(), *_MODULES})
