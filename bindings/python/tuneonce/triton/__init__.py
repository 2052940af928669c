"""`tuneonce.triton.autotune` in place of `triton.autotune`: the same arguments, the same place, the same call.

    @tuneonce.triton.autotune(configs=[...], key=["M", "N", "K"])
    @triton.jit
    def matmul_kernel(...): ...

    matmul_kernel[grid](a, b, c, M, N, K, ...)

The first call of a key compiles the configs in several processes, races them with verification, and stores the record and the
code: the next process neither compiles nor measures. Needs Triton 3.6 to 3.9.
"""
import importlib
from typing import Any, List

# The module of each name, which is imported when the name is first used: worker processes need none of them.
_MODULES = {"autotune": "autotuner", "Autotuner": "autotuner"}
__all__ = ["autotune", "Autotuner"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tuneonce.triton' has no attribute '{name}'")
    return getattr(importlib.import_module(f"tuneonce.triton.{_MODULES[name]}"), name)


def __dir__() -> List[str]:
    return sorted({*globals(), *_MODULES})
