"""tuneonce: GPU kernels that tune themselves once and then launch at the cost of a plain launch.

    kernel = tuneonce.load("rms_norm")   # a bundle: by folder (python -m tuneonce.export makes one) or by name
    kernel(x, w, y, 1e-5)                # the first call of a shape tunes, later ones launch

Importing is cheap: the C++ part is loaded when it is first used, torch never (see tuneonce.torch).
"""
import importlib
from typing import Any

_SEARCH = ("Hints", "SearchSpace", "Success", "Failure", "TuningResult", "exhaustive_search")
_NATIVE = ("Bundle", "TunedKernel", "disable_autotune", "warmup_all", "Error", "CancelledError", "InvalidArgumentError",
           "DeadlineExceededError", "NotFoundError", "ResourceExhaustedError", "FailedPreconditionError",
           "UnimplementedError", "InternalError", "UnavailableError")
__all__ = ["Choice", "doctor", "load", "records", *_SEARCH, *_NATIVE]


def __getattr__(name: str) -> Any:
    if name in _NATIVE:
        value = getattr(importlib.import_module("tuneonce._tuneonce"), name)
    elif name in _SEARCH:
        value = getattr(importlib.import_module("tuneonce.search"), name)
    elif name == "Choice":
        value = importlib.import_module("tuneonce.choice").Choice
    else:
        raise AttributeError(f"module 'tuneonce' has no attribute '{name}'")
    globals()[name] = value
    return value


def load(bundle: Any, device: str = "cuda", **options: Any) -> Any:
    """The TunedKernel of a bundle: of a folder (any path with a slash, any pathlib.Path), or of a name, which is looked for
    in the folders of TUNEONCE_BUNDLES, among the bundles that tuneonce brings (matmul, rms_norm, ...) and in the working
    directory. `options` are TunedKernel's."""
    from tuneonce import _tuneonce
    return _tuneonce.TunedKernel(bundle, device, **options)


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
