"""tuneonce: GPU kernels that tune themselves once and then launch at the cost of a plain launch.

    kernel = tuneonce.TunedKernel("bundles/rms_norm")   # a bundle: python -m tuneonce.export
    kernel(x, w, y, 1e-5)                               # the first call of a shape tunes, later ones launch

Importing is cheap: the C++ part is loaded when it is first used, torch never (see tuneonce.torch).
"""
import importlib
from typing import Any

_SEARCH = ("Hints", "SearchSpace", "Success", "Failure", "TuningResult", "exhaustive_search")
_NATIVE = ("Bundle", "TunedKernel", "disable_autotune", "Error", "CancelledError", "InvalidArgumentError",
           "DeadlineExceededError", "NotFoundError", "ResourceExhaustedError", "FailedPreconditionError",
           "UnimplementedError", "InternalError", "UnavailableError")
__all__ = ["doctor", "records", *_SEARCH, *_NATIVE]


def __getattr__(name: str) -> Any:
    if name in _NATIVE:
        value = getattr(importlib.import_module("tuneonce._tuneonce"), name)
    elif name in _SEARCH:
        value = getattr(importlib.import_module("tuneonce.search"), name)
    else:
        raise AttributeError(f"module 'tuneonce' has no attribute '{name}'")
    globals()[name] = value
    return value


def doctor() -> dict:
    """What this machine has to tune with, and what to do about what is missing."""
    import json
    from tuneonce import _tuneonce
    return json.loads(_tuneonce._doctor_json())


def records(path: str = "") -> list:
    """The records of a store; by default the user's."""
    import json
    from tuneonce import _tuneonce
    return json.loads(_tuneonce._records_json(str(path)))["records"]
