"""tuneonce: GPU kernels that tune themselves once and then launch at the cost of a plain launch.

    kernel = tuneonce.load("rms_norm")   # a bundle: by folder (python -m tuneonce.export makes one) or by name
    kernel(x, w, y, 1e-5)                # the first call of a shape tunes, later ones launch

Importing is cheap: the C++ part is loaded when it is first used, torch never (see tuneonce.torch).
"""
import importlib
import sys
from typing import Any, List

if sys.version_info < (3, 12):  # Later versions refuse to load the C++ part there themselves; these would hang.
    import _xxsubinterpreters
    if _xxsubinterpreters.get_current() != _xxsubinterpreters.get_main():
        raise ImportError("tuneonce works in a process's main interpreter alone, not in sub-interpreters")

# The module of each name, which is imported when the name is first used.
_MODULES = {
    "_tuneonce": ("Bundle", "TunedKernel", "disable_autotune", "warmup_all", "__version__", "Error", "CancelledError",
                  "InvalidArgumentError", "DeadlineExceededError", "NotFoundError", "ResourceExhaustedError",
                  "FailedPreconditionError", "UnimplementedError", "InternalError", "UnavailableError",
                  "DataLossError"),
    "search": ("Hints", "SearchSpace", "exhaustive_search"),
    "result": ("CandidateOutcome", "TuningRecord"),
    "observer": ("Observer",),
    "tracing": ("trace",),
    "reporting": ("Report", "report"),
    "launch_plan": ("LaunchPlan",),
    "pointer_table": ("PointerTable",),
    "typed": ("Counters", "Doctor", "WarmedKey"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = ["doctor", "families", "load", "records", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name == "families":
        return importlib.import_module("tuneonce.families")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tuneonce' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"tuneonce.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *_MODULE_OF, "families"})


def load(bundle: Any, device: str = "cuda", **options: Any) -> Any:
    """The TunedKernel of a bundle: of a folder (any path with a slash, any pathlib.Path), or of a name, which is looked for
    in the folders of TUNEONCE_BUNDLES, among the bundles that tuneonce brings (matmul, rms_norm, ...) and in the working
    directory. `options` are TunedKernel's."""
    from tuneonce import _tuneonce
    return _tuneonce.TunedKernel(bundle, device, **options)


def doctor() -> Any:
    """Returns the drivers and compilers of this machine, with advice: {ok, findings: [{name, found, detail, advice}]}."""
    import json
    from tuneonce import _tuneonce
    return json.loads(_tuneonce._doctor_json())


def records(path: Any = None) -> Any:
    """Returns the records of a store's file (str or os.PathLike; default: the user's store) as a list of TuningRecords."""
    from tuneonce import _tuneonce
    from tuneonce.result import from_json
    return from_json(_tuneonce._records_json(path))
